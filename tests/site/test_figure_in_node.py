"""What live figures are made of (figure.js) in Node.js: each control, field and table, by value.

test_live_figures.py has the chapters' figures in a browser; test_figures_in_node.py moves each of
them at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.site.document import LIVE, Node, open_page, run_with_document

pytestmark = pytest.mark.timeout(60)

FIGURE = """<div class="live-figure" data-live="{name}">
<script type="application/json">{{"size": 3}}</script><img alt="still"></div>"""


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the script has run."""
    with run_with_document([LIVE / "parts.js", LIVE / "figure.js"]) as node:
        node.evaluate(
            """() => {
              globalThis.begin = document.listeners.DOMContentLoaded.at(-1);
              globalThis.problems = [];
              process.on("uncaughtException", (error) => problems.push(error.message));
              globalThis.waiting = [];
              globalThis.setTimeout = (use, _, text) => waiting.push(() => use(text)) - 1;
              globalThis.clearTimeout = (which) => { delete waiting[which]; };
            }"""
        )
        yield node


@pytest.fixture
def node(process: Node) -> Callable:
    """A function that evaluates JavaScript on a page with one figure, not yet alive."""
    open_page(process, FIGURE.format(name="one"))
    process.evaluate(
        """() => {
          globalThis.used = [];
          globalThis.use = (value) => used.push(value);
          globalThis.figure = new LiveFigure(dom.find("[data-live]"));
          dom.find("[data-live]").append(figure.body);
        }"""
    )
    return process.evaluate


def test_a_figure_that_fails_leaves_the_others_and_its_still_one(process: Node) -> None:
    """What stood there is replaced only when the script has worked."""
    names = ("good", "bad", "last")
    open_page(process, "".join(FIGURE.format(name=name) for name in names))
    node = process.evaluate
    node(
        """() => {
          const build = (figure) => figure.add(make("p", {}, `size ${figure.data.size}`));
          Object.assign(liveFigures, { good: build, last: build });
          liveFigures.bad = (figure) => { build(figure); throw new Error("no weights"); };
          problems.length = 0;
          begin();
        }"""
    )
    alive = (
        "() => dom.all('.live-figure').map((one) => one.classList.contains('is-live'))"
    )
    assert node(alive) == [True, False, True]
    assert node(
        "() => dom.all('.live-figure').map((one) => one.querySelectorAll('img').length)"
    ) == [
        0,
        1,
        0,
    ]
    assert node("() => dom.texts('.live-figure p')") == ["size 3", "size 3"]
    assert node("() => problems") == ["no weights"]


def test_a_choice(node: Callable) -> None:
    """Radio buttons of one name with a legend; the value that was given comes back."""
    node(
        """() => {
          const options = [[1, "one"], [null, "none"], ["x", "ex"]];
          globalThis.made = figure.choice("Kind", options, "x", use);
        }"""
    )
    assert node("() => dom.texts('legend')") == ["Kind"]
    checked = "() => dom.all('input').map((one) => one.checked)"
    assert node(checked) == [False, False, True]
    node("() => { for (const n of [0, 1]) dom.all('input')[n].click(); }")
    # A click is an input and a change; the group listens to one of them.
    assert node("() => used") == [1, None]
    assert node("() => new Set(dom.all('input').map((one) => one.name)).size") == 1
    node("() => made.set('x')")
    assert node(checked) == [False, False, True]
    node("() => made.set(undefined)")
    assert node(checked) == [False, False, False]


def test_a_slider_says_its_value(node: Callable) -> None:
    """Beside it and to screen readers; the figure is told a number; a new end moves it."""
    node(
        """() => { globalThis.made = figure.slider("τ", { min: 0, max: 4, step: 0.5, value: 1 },
          (value) => `${fixed(value, 1)} units`, use); }"""
    )
    says = "() => [dom.find('output').textContent, made.input.getAttribute('aria-valuetext')]"
    assert node(says) == ["1.0 units"] * 2
    node("() => dom.change(made.input, { value: 2.5 })")
    assert node(says) == ["2.5 units"] * 2
    assert node("() => used") == [2.5]
    node("() => made.set(7, 9)")
    assert node(says) == ["7.0 units"] * 2
    assert node("() => [made.input.max, used.length]") == [9, 1]


def test_a_line_of_text_and_a_button(node: Callable) -> None:
    """Both in the row of the controls before; what is not a control begins a new row."""
    node(
        "() => { figure.text('Word', 'a', use); figure.button('Next', () => use('next')); }"
    )
    node(
        "() => { dom.change(dom.find('input'), { value: 'ab' }); dom.find('button').click(); }"
    )
    assert node("() => used") == ["ab", "next"]
    node("() => { figure.line(); figure.button('More', use); }")
    assert node(
        "() => dom.all('.live-controls').map((one) => one.children.length)"
    ) == [2, 1]


def test_switches_are_one_tab_stop(node: Callable) -> None:
    """Each says whether it is on; arrow keys go from one to the next, not beyond the ends."""
    node(
        """() => {
          globalThis.on = [true, false, false];
          globalThis.made = figure.switches("Heads", ["1", "2", "3"], (i) => on[i], (i) => {
            on[i] = !on[i];
            made.update();
          });
        }"""
    )
    pressed = """() => dom.all(".live-switches button").map(
      (one) => one.getAttribute("aria-pressed"))"""
    assert node(pressed) == ["true", "false", "false"]
    node("() => dom.all('.live-switches button')[2].click()")
    assert node(pressed) == ["true", "false", "true"]
    walk = node(
        """(keys) => {
          dom.find(".live-switches [tabindex='0']").focus();
          return keys.map((key) => { dom.press(key); return document.activeElement.textContent; });
        }""",
        ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp"],
    )
    assert walk == ["1", "2", "3", "3", "2"]


GRID = """(pressable) => {
  globalThis.weight = [[0, 0.25, 0.75], [1, 0, 0]];
  globalThis.made = figure.grid({
    label: "Weights", corner: "query", rows: ["a", "b"], columns: ["x", "y", "z"],
    about: (i, j) => ({ text: fixed(weight[i][j], 2), label: `${i},${j}`, weight: weight[i][j],
      marks: weight[i][j] ? "" : "is-off", pressed: pressable ? weight[i][j] > 0 : undefined }),
    row: (i) => ({ name: `row ${i}`, note: i ? "last" : "", marks: i ? "is-last" : "" }),
    column: (j) => (j ? ["x", "y", "z"][j] : "first"),
    onPress: pressable ? (i, j) => { use([i, j]); weight[i][j] = 1; made.update(); } : null,
  });
}"""


@pytest.mark.parametrize("pressable", [True, False])
def test_a_grid(node: Callable, pressable: bool) -> None:
    """Names, notes, numbers, colours and marks; one tab stop; fields that can be pressed or not."""
    node(GRID, pressable)
    field = "tbody button" if pressable else "tbody td"
    state = """(field) => dom.all(field).map((one) => [
      one.textContent, one.getAttribute("aria-label"),
      one.style.getPropertyValue("--w"), one.className, one.getAttribute("aria-pressed")])"""
    pressed = (lambda value: str(value > 0).lower()) if pressable else (lambda _: None)

    def expected(weights: list[list[float]]) -> list:
        return [
            [f"{w:.2f}", f"{i},{j}", f"{w:g}", "" if w else "is-off", pressed(w)]
            for i, row in enumerate(weights)
            for j, w in enumerate(row)
        ]

    assert node(state, field) == expected([[0, 0.25, 0.75], [1, 0, 0]])
    assert node("() => dom.texts('thead th')") == ["query", "first", "y", "z"]
    assert node("() => dom.find('table').classList.contains('has-names')")
    rows = node(
        "() => dom.all('tbody th').map((one) => [one.textContent, one.className])"
    )
    assert rows == [["row 0", ""], ["row 1last", "is-last"]]
    assert node("() => dom.find('table').getAttribute('aria-readonly')") == (
        None if pressable else "true"
    )
    walk = node(
        """([field, keys]) => {
          dom.find(`${field}[tabindex='0']`).focus();
          return keys.map(([key, ctrlKey]) => {
            dom.press(key, { ctrlKey });
            return dom.active();
          });
        }""",
        [
            field,
            [
                ["End", False],
                ["ArrowDown", False],
                ["ArrowRight", False],
                ["Home", True],
            ],
        ],
    )
    assert walk == ["0,2", "1,2", "1,2", "0,0"]
    node("(field) => dom.all(field)[5].click()", field)
    assert node("() => used") == ([[1, 2]] if pressable else [])
    if pressable:
        assert node(state, field) == expected([[0, 0.25, 0.75], [1, 0, 1]])


def test_bars(node: Callable) -> None:
    """A length and a text for each name, again after an update."""
    node(
        """() => {
          globalThis.share = 0.25;
          globalThis.update = figure.bars("Top two", ["a", "b"], (i) => {
            const value = i ? 1 - share : share;
            return { value, text: percent(value) };
          });
        }"""
    )
    shown = """() => dom.all("li").map(
      (one) => [one.textContent, one.querySelector("i").style.getPropertyValue("--w")])"""
    assert node(shown) == [["a25 %", "0.25"], ["b75 %", "0.75"]]
    node("() => { share = 0.5; update(); }")
    assert node(shown) == [["a50 %", "0.5"], ["b50 %", "0.5"]]


def test_a_line_is_read_out_once_it_rests(node: Callable) -> None:
    """While a slider moves, only what it comes to; at once before the figure is shown."""
    node(
        "() => { globalThis.say = figure.line(); figure.body.remove(); say('first'); }"
    )
    line = """() => {
      const line = figure.body.querySelector(".live-says");
      return [line.textContent, line.getAttribute("aria-busy")];
    }"""
    assert node(line) == ["first", None]
    node(
        "() => { dom.find('[data-live]').append(figure.body); say('second'); say('third'); }"
    )
    assert node(line) == ["first", "true"]
    assert node("() => waiting.filter(Boolean).length") == 1
    node("() => waiting.forEach((use) => use())")
    assert node(line) == ["third", None]


def test_the_numbers_as_a_table(node: Callable) -> None:
    """A header, rows that are named, in a box that can be reached; written anew each time."""
    node("() => { globalThis.fill = figure.numbers('Weights of the row'); }")
    for rows in ([["dog", "0.25"], ["cat", "0.75"]], [["bird", "1.00"]]):
        node("(rows) => fill(['key', 'weight'], rows)", rows)
        assert node("() => dom.texts('thead th')") == ["key", "weight"]
        found = """() => dom.all("tbody tr").map(
          (one) => one.children.map((cell) => cell.textContent))"""
        assert node(found) == rows
    assert node("() => dom.all('tbody th').every((one) => one.scope === 'row')")
    assert node("() => dom.find('.live-scroll').tabIndex") == 0
    assert node("() => dom.texts('summary')") == ["The numbers as a table"]


def test_a_drawing_has_a_name_and_an_id_is_used_once(node: Callable) -> None:
    """For who does not see it; ids tell two figures of one kind apart."""
    node(
        """() => {
          const svg = figure.drawing("Two clocks", 20, 10);
          svg.append(figure.shape("g", { class: "hands" }, figure.shape("line", { x2: 5 })));
        }"""
    )
    drawn = "(name) => dom.find('svg').getAttribute(name)"
    assert [node(drawn, name) for name in ("viewBox", "role", "aria-label")] == [
        "0 0 20 10",
        "img",
        "Two clocks",
    ]
    assert node("() => dom.find('svg .hands line').getAttribute('x2')") == "5"
    assert node("() => [figure.id(), figure.id()]") == ["live-one-0-1", "live-one-0-2"]
