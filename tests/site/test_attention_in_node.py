"""The view of attention in Node.js: what it draws and how it answers, by value.

A small sentence has weights drawn at random; test_live_page.py has the real ones, in a browser.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import LIVE, Node, open_translator, run_with_document

pytestmark = pytest.mark.timeout(60)

SCRIPTS = [LIVE / f"{name}.js" for name in ("parts", "attention")]


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the scripts have run that the view needs."""
    with run_with_document(SCRIPTS) as node:
        yield node


@pytest.fixture
def node(process: Node) -> Callable:
    """A function that evaluates JavaScript where the controls are on a new page."""
    open_translator(process)
    return process.evaluate


SIZES = {"heads": 2, "encoderLayers": 3, "decoderLayers": 2}
SOURCE = ["Ein", " Hund", "<eos>"]
WRITTEN = [" A", " dog", "<eos>"]
QUERIES = {
    "encoder": ["Ein", "Hund", "(end)"],
    "decoder": ["A", "dog", "(end)"],
    "cross": ["A", "dog", "(end)"],
}
KEYS = {
    "encoder": ["Ein", "Hund", "(end)"],
    "decoder": ["(begin)", "A", "dog"],
    "cross": ["Ein", "Hund", "(end)"],
}
NAMES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


def weights(rng: random.Random, count: int) -> list[float]:
    """Return some that sum to 1."""
    found = [rng.random() for _ in range(count)]
    return [one / sum(found) for one in found]


def sentence() -> dict:
    """Return what page.js gives the view: tokens, and weights of each layer and head."""
    rng = random.Random(0)
    heads = range(SIZES["heads"])

    def layers(count: int, width: int) -> list:
        return [[weights(rng, width) for _ in heads] for _ in range(count)]

    encoder = [
        [[w for _ in SOURCE for w in weights(rng, len(SOURCE))] for _ in heads]
        for _ in range(SIZES["encoderLayers"])
    ]
    depth = SIZES["decoderLayers"]
    steps = [
        {"text": text, "self": layers(depth, t + 1), "cross": layers(depth, 3)}
        for t, text in enumerate(WRITTEN)
    ]
    return {"source": SOURCE, "encoder": encoder, "steps": steps}


RESULT = sentence()


def expected(kind: str, layer: int, head: int | None) -> list[list[float | None]]:
    """Return the weights that the view is to show, a row a query; None where none may look."""
    if head is None:
        both = [expected(kind, layer, one) for one in range(SIZES["heads"])]
        return [
            [None if a is None else (a + b) / 2 for a, b in zip(*rows, strict=True)]
            for rows in zip(*both, strict=True)
        ]
    if kind == "encoder":
        flat = RESULT["encoder"][layer][head]
        return [flat[0:3], flat[3:6], flat[6:9]]
    which = "self" if kind == "decoder" else "cross"
    rows = [step[which][layer][head] for step in RESULT["steps"]]
    return [row + [None] * (3 - len(row)) for row in rows]


@pytest.fixture
def attention(node: Callable) -> Callable:
    """A page that shows the sentence's attention, all heads on."""
    node(
        """([sizes, result]) => {
          globalThis.view = new AttentionView(root, sizes, {
            toggle: (names) => asked.push(names), say: (text) => said.push(text) });
          view.show(result, new Set());
        }""",
        [SIZES, RESULT],
    )
    return node


def choose(node: Callable, kind: str, layer: int, head: int | None) -> None:
    """Choose in the three lists, as a reader does."""
    node(
        """([kind, layer, head]) => {
          dom.change(view.kind, { value: kind });
          dom.change(view.layer, { value: layer });
          dom.change(view.head, { value: head });
        }""",
        [kind, layer, "all" if head is None else head],
    )


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_map_of_each_layer_and_head(attention: Callable, kind: str) -> None:
    """Query, key and weight of every field, in words and as a colour; of all heads the mean."""
    for layer in range(SIZES[f"{'encoder' if kind == 'encoder' else 'decoder'}Layers"]):
        for head in (None, 0, 1):
            choose(attention, kind, layer, head)
            found = attention(
                """() => dom.all(".live-grid tbody tr").map((row) => row.querySelectorAll("td").map(
                  (cell) => [cell.getAttribute("aria-label"), cell.getAttribute("style"),
                    cell.classList.contains("is-hidden")]))"""
            )
            for i, row in enumerate(expected(kind, layer, head)):
                for j, weight in enumerate(row):
                    query, key = QUERIES[kind][i], KEYS[kind][j]
                    label, style, hidden = found[i][j]
                    if weight is None:
                        says = f"query {query} may not look at {key}, which comes later"
                        assert (label, style, hidden) == (says, "--w: 0", True)
                        continue
                    assert label == f"query {query}, key {key}, {weight:.2f}"
                    assert float(style.removeprefix("--w: ")) == pytest.approx(weight)
                    assert not hidden
            name = "all heads, averaged" if head is None else f"head {head + 1}"
            title = f"{NAMES[kind]}, layer {layer + 1}, {name}"
            assert attention("() => said.at(-1)") == f"{title}."
            caption = f"{title}: a row for each query, a column for each key"
            assert (
                attention("() => dom.find('.live-grid caption').textContent").lower()
                == caption.lower()
            )
            heads = attention("() => dom.texts('.live-grid th')")
            assert heads == ["query", *KEYS[kind], *QUERIES[kind]]


def test_a_kind_has_its_own_layers(attention: Callable) -> None:
    """Three of the encoder, two of the decoder; the last is shown first."""
    for kind, count in (("encoder", 3), ("decoder", 2)):
        attention("(kind) => dom.change(view.kind, { value: kind })", kind)
        names = [f"layer {n} of {count}" for n in range(1, count + 1)]
        assert attention("() => dom.texts('.live-layer option')") == names
        assert attention("() => view.layer.value") == str(count - 1)


#: A key, whether with Control, and the field that it leads to, of nine.
WALK = [
    ("ArrowRight", False, 1),
    ("ArrowDown", False, 4),
    ("ArrowLeft", False, 3),
    ("ArrowLeft", False, 3),
    ("End", False, 5),
    ("Home", False, 3),
    ("End", True, 8),
    ("ArrowDown", False, 8),
    ("ArrowUp", False, 5),
    ("Home", True, 0),
    ("a", False, 0),
]


def test_the_map_is_walked_by_arrow_keys(attention: Callable) -> None:
    """One tab stop; at an edge one stays; Home and End, with Control from corner to corner."""
    choose(attention, "cross", 0, 0)
    assert (
        attention("() => dom.find('.live-grid table').getAttribute('role')") == "grid"
    )
    assert attention("() => view.readout.textContent").startswith("Point at a field")
    walk = attention(
        """(keys) => {
          const cells = dom.all("[role=gridcell]");
          dom.find("[role=gridcell][tabindex='0']").focus();
          return keys.map(([key, ctrlKey]) => {
            dom.press(key, { ctrlKey });
            const stops = dom.all("[role=gridcell][tabindex='0']");
            if (stops.length !== 1 || stops[0] !== document.activeElement) throw new Error("stops");
            if (view.readout.textContent !== dom.active()) throw new Error("readout");
            return cells.indexOf(document.activeElement);
          });
        }""",
        [[key, control] for key, control, _ in WALK],
    )
    assert walk == [place for *_, place in WALK]


def test_the_map_as_a_table(attention: Callable) -> None:
    """The same numbers as text, without widgets, in a box that can be reached; and back."""
    choose(attention, "decoder", 1, 1)
    attention("() => view.asTable.click()")
    cells = attention("() => dom.texts('.live-grid td')")
    numbers = [weight for row in expected("decoder", 1, 1) for weight in row]
    assert cells == ["–" if one is None else f"{one:.2f}" for one in numbers]
    state = """() => [view.asTable.getAttribute("aria-pressed"), view.box.tabIndex,
      dom.all(".live-grid [role]").length > 0, view.readout.textContent !== ""]"""
    assert attention(state) == ["true", 0, False, False]
    attention("() => view.asTable.click()")
    assert attention(state) == ["false", -1, True, True]


def test_heads_to_switch_off_are_named(attention: Callable) -> None:
    """One, or all of a layer; the button says whether what is shown is off."""
    says = "() => [view.switch.textContent, view.switch.getAttribute('aria-pressed')]"
    choose(attention, "cross", 1, 0)
    assert attention(says) == ["Switch this head off and translate again", "false"]
    attention("() => view.switch.click()")
    choose(attention, "encoder", 2, None)
    assert attention(says) == ["Switch these heads off and translate again", "false"]
    attention("() => view.switch.click()")
    assert attention("() => asked") == [
        ["cross 1 0"],
        ["encoder 2 0", "encoder 2 1"],
    ]
    show = "([result, off]) => view.show(result, new Set(off))"
    attention(show, [RESULT, ["encoder 2 0"]])
    assert attention(says)[1] == "false", "only one of the two"
    attention(show, [RESULT, ["encoder 2 0", "encoder 2 1"]])
    assert attention(says) == ["Switch these heads on and translate again", "true"]
    caption = "() => dom.find('.live-grid caption').textContent.split(':')[0]"
    title = "Encoder self-attention, layer 3, all heads, averaged"
    assert attention(caption) == f"{title}, switched off"
    choose(attention, "encoder", 1, None)
    assert attention(says)[1] == "false", "of another layer"
    assert attention(caption) == title.replace("3", "2")
    assert attention("() => AttentionView.describe('cross 1 0')") == (
        "head 1 of layer 2, cross-attention"
    )
