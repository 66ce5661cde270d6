"""The chapters' live figures in Node.js: their scripts, with a figure that only takes notes.

test_live_figures.py compares their numbers in the browser with Python's. Here each control is moved
at random, to its ends as well, without a page: nothing throws, and what would be shown can be read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.site.node import run_in_node
from tests.site.test_live_figures import FIGURES, LIVE, every_figure

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("site"),
]

MOVES = 60
#: What no reader should see; a line may speak of NaN.
SLIPS, NO_NUMBERS = ("undefined", "null", "[object"), ("NaN", "Infinity")
#: An element of no page: all that is asked of it does nothing, and gives another one.
ELEMENTS = """
const element = () => new Proxy(function () {}, {
  get: (held, name) => (name === Symbol.toPrimitive ? () => "" : held[name] ?? element()),
  set: (held, name, value) => { held[name] = value; return true; },
  apply: () => element(),
});
document.createElement = element;
document.createElementNS = element;
"""
#: Has the methods of a LiveFigure; notes its controls, its line and its table.
NOTES = """
class Notes {
  constructor(data) {
    Object.assign(this, { data, controls: [], said: null, table: null, fields: [] });
  }
  control(values, use) { this.controls.push({ values, use }); return element(); }
  choice(legend, options, value, use) {
    this.control(options.map(([own]) => own), use);
    return { element: element(), set() {} };
  }
  slider(label, { min, max, step, value }, show, use) {
    const control = { values: null, use };
    const reach = (most) => {
      const count = Math.floor((most - min) / step + 1e-9);
      control.values = Array.from({ length: count + 1 }, (_, i) => min + i * step);
    };
    reach(max);
    this.controls.push(control);
    this.fields.push(() => [show(value)]);
    return { input: element(), set: (wanted, most = max) => reach(most) };
  }
  text(label, value, use) {
    return this.control([value, "", "a", "Übersetzung", "👋 x", "  two  words "], use);
  }
  button(text, use) { return this.control([null], use); }
  switches(label, names, isOn, use) {
    this.control(names.map((_, i) => i), use);
    const update = () => names.forEach((_, i) => isOn(i));
    return { bar: element(), update };
  }
  grid({ rows, columns, about, row = () => ({}), column = (j) => columns[j], onPress = null }) {
    const update = () => rows.forEach((_, i) => {
      row(i);
      columns.forEach((_, j) => { column(j); this.seen(about(i, j)); });
    });
    if (onPress) {
      const places = rows.flatMap((_, i) => columns.map((_, j) => [i, j]));
      this.control(places, (at) => onPress(...at));
    }
    update();
    return { table: element(), update };
  }
  bars(label, names, about) {
    const update = () => names.forEach((_, i) => this.seen(about(i)));
    update();
    return update;
  }
  seen(parts) {
    for (const part of Object.values(parts)) {
      if (typeof part === "number" && !Number.isFinite(part)) throw new Error(`shows ${part}`);
      if (typeof part === "string") this.said = `${this.said ?? ""} ${part}`.slice(-2000);
    }
  }
  line() { return (text) => { this.spoken = text; }; }
  numbers() { return (header, rows) => { this.table = { header, rows }; }; }
  add(made) { return made; }
  drawing() { return element(); }
  shape() { return element(); }
}
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable]:
    """A function that evaluates JavaScript where all figures' scripts have run."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "notes.js").write_text(ELEMENTS + NOTES, encoding="utf-8")
    scripts = [LIVE / "parts.js", LIVE / "figure.js"]
    scripts += sorted((LIVE / "figures").glob("*.js"))
    with run_in_node([*scripts, folder / "notes.js"]) as runner:
        yield runner.evaluate


def shown(node: Callable) -> dict:
    """Return what the figure would show: its line, its table, how many values each control has."""
    return node(
        """() => ({ line: noted.spoken, table: noted.table, more: noted.said,
          controls: noted.controls.map((control) => control.values.length) })"""
    )


@every_figure
def test_a_figure_is_moved_about(node: Callable, name: str) -> None:
    """Whatever its controls are set to, line and table can be read; and they answer."""
    rng = random.Random(name)
    node(
        """([name, data]) => {
          globalThis.noted = new Notes(data);
          liveFigures[name](noted);
        }""",
        [name, FIGURES[name].data],
    )
    found = []
    for _ in range(MOVES):
        state = shown(node)
        cells = [str(part) for row in state["table"]["rows"] for part in row]
        texts = [state["line"], *state["table"]["header"], state["more"] or "", *cells]
        assert state["line"], "it says what it shows"
        assert not [text for text in texts for slip in SLIPS if slip in text], texts
        assert not [cell for cell in cells for slip in NO_NUMBERS if slip in cell], (
            cells
        )
        widths = {len(row) for row in state["table"]["rows"]}
        assert widths <= {len(state["table"]["header"])}, "rows as long as their header"
        found.append((state["line"], str(state["table"])))
        which = rng.randrange(len(state["controls"]))
        count = state["controls"][which]
        value = rng.choice([0, count - 1, rng.randrange(count)])
        node(
            """([which, value]) => {
              const { values, use } = noted.controls[which];
              use(values[value]);
            }""",
            [which, value],
        )
    assert len(set(found)) > 3, "it answers"
