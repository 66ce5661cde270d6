"""The view of the beam in Node.js: the tree and the hypotheses, by value.

The search is the page's own, with a model of six tokens whose numbers can be worked out by hand;
test_live_page.py has the real model, in a browser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import LIVE, Node, open_translator, run_with_document

pytestmark = pytest.mark.timeout(60)

SCRIPTS = [
    LIVE / f"{name}.js" for name in ("tokenizer", "model", "search", "parts", "beam")
]


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


#: What the model gives after a beginning; the rest is next to impossible.
MODEL = {
    "": {"a": 0.8, "b": 0.2},
    "a": {"c": 0.55, "<eos>": 0.4, "b": 0.05},
    "b": {"c": 0.7, "<eos>": 0.3},
    "ac": {"<eos>": 0.7, "b": 0.3},
    "bc": {"<eos>": 1},
}
TOKENS = {"<eos>": 2, "a": 3, "b": 4, "c": 5}
#: Candidates of a beam of two, the likeliest of a length first: beginning, token, its fate.
TREE = [
    ("", "a", "kept, on the best path"),
    ("", "b", "kept"),
    ("a", "c", "kept"),
    ("a", "<eos>", "ended here"),
    ("b", "c", "kept"),
    ("b", "<eos>", "pruned"),
    ("ac", "<eos>", "ended here"),
    ("bc", "<eos>", "ended here"),
    ("ac", "b", "kept"),
]
SHORT, LONG = math.log(0.8 * 0.4), math.log(0.8 * 0.55 * 0.7)


def penalised(log_p: float, length: int, alpha: float) -> float:
    """Return a score by the formula of Wu et al. (2016), which the chapter gives."""
    return log_p / ((5 + length) / 6) ** alpha


@pytest.fixture
def beam(node: Callable) -> Callable:
    """A page whose beam searches with the model of six tokens."""
    node(
        """([table, ids]) => {
          const texts = Object.fromEntries(Object.entries(ids).map(([text, id]) => [id, text]));
          Transformer.copyCache = (cache) => ({ past: cache.past });
          const model = {
            startCache: () => ({ past: "" }),
            stepAll(ids, caches) {
              return ids.map((id, n) => this.step(id, caches[n]));
            },
            step(id, cache) {
              if (id !== Tokenizer.BOS) cache.past += texts[id];
              const logits = new Float64Array(6).fill(Math.log(1e-7));
              const next = Object.entries(table[cache.past] || { "<eos>": 1 });
              for (const [text, p] of next) logits[ids[text]] = Math.log(p);
              return { logits };
            },
          };
          globalThis.view = new BeamView(root, (size, alpha) => {
            asked.push([size, alpha]);
            const { hypotheses, nodes } = beamSearch(model, null, { limit: 6, size, alpha });
            const say = (id) => (id === Tokenizer.EOS ? "<eos>" : ` ${texts[id] ?? "?"}`);
            view.show({
              alpha,
              hypotheses: hypotheses.map(
                (one) => ({ ...one, text: one.tokens.map(say).join("").trim() })),
              nodes: nodes.map((one) => ({ ...one, text: say(one.id) })),
            });
          });
          dom.change(view.alpha, { value: 0 });
        }""",
        [MODEL, TOKENS],
    )
    return node


ROWS = """(table) => dom.all(`${table} tbody tr`).map(
  (row) => row.children.map((one) => one.textContent))"""
FOUND, TREE_TABLE = ".live-hypotheses", ".live-tree"


def number(text: str) -> float:
    """Return the number that a cell shows."""
    return float(text.replace("\N{MINUS SIGN}", "-"))


def test_a_text_that_was_found_twice_is_marked(node: Callable) -> None:
    """The same letters from other tokens; one that has no end is another."""
    texts = [("a b", True), ("a b", True), ("c", True), ("a b", False), ("c", True)]
    rows = node(
        """(texts) => {
          const one = { parent: -1, id: 3, text: "a", logP: -1, length: 1, fate: "kept" };
          const found = { node: 0, tokens: [3], logP: -1, score: -1 };
          const view = new BeamView(root, () => {});
          const hypotheses = texts.map(([text, ended]) => ({ ...found, text, ended }));
          view.show({ alpha: 0, nodes: [one], hypotheses });
          return dom.all(".live-hypotheses tbody th").map((cell) => cell.textContent);
        }""",
        texts,
    )
    again = " (cut into tokens differently)"
    assert rows == ["a b", f"a b{again}", "c", "a b … (no end)", f"c{again}"]


def test_the_penalty_changes_who_is_best(beam: Callable) -> None:
    """Log-probability, length and score of each; another α by the slider, another order."""
    for alpha, order in ((0, ["a", "a c"]), (2, ["a c", "a"])):
        beam("(alpha) => dom.change(view.alpha, { value: alpha })", alpha)
        assert beam("() => asked.at(-1)") == [2, alpha]
        rows = beam(ROWS, FOUND)
        assert [row[1] for row in rows] == order
        assert [row[0] for row in rows] == ["1.", "2."]
        for _, text, log_p, length, score in rows:
            own, tokens = (SHORT, 2) if text == "a" else (LONG, 3)
            assert number(log_p) == pytest.approx(own, abs=0.005)
            assert int(length) == tokens
            assert number(score) == pytest.approx(
                penalised(own, tokens, alpha), abs=0.0005
            )
        caption = beam("() => dom.find('.live-hypotheses caption').textContent")
        assert caption.endswith(f"α = {alpha}.0")
        best = beam(
            "() => dom.all('.live-node').filter((one) => one.classList.contains('is-best')).length"
        )
        assert best == (2 if alpha == 0 else 3), "the path of the best hypothesis"


def test_the_slider_names_its_value_and_searches_when_it_is_let_go(
    beam: Callable,
) -> None:
    """While it moves nothing is searched; size and button search, too."""
    before = beam("() => asked.length")
    beam("() => { view.alpha.value = 1.3; view.alpha.fire('input'); }")
    assert beam("() => [view.alphaText.textContent, asked.length]") == ["1.3", before]
    beam("() => view.alpha.fire('change')")
    beam("() => dom.change(view.size, { value: 3 })")
    beam("() => view.button.click()")
    assert beam("(n) => asked.slice(n)", before) == [[2, 1.3], [3, 1.3], [3, 1.3]]


def test_the_tree_has_every_candidate_in_its_place(beam: Callable) -> None:
    """A column a length, the likeliest on top; fate in words, sign and class; lines to parents."""
    found = beam(
        """() => dom.all("[role=treeitem]").map((item) => ({
          label: item.getAttribute("aria-label"), text: item.textContent, kinds: item.className,
          place: item.getAttribute("style").match(/[\\d.]+/g).map(Number),
          level: item.getAttribute("aria-level"), of: item.getAttribute("aria-setsize"),
          at: item.getAttribute("aria-posinset"),
          expanded: item.getAttribute("aria-expanded") }))"""
    )
    by_label = {one["label"]: one for one in found}
    lines: dict[int, int] = {}
    for beginning, token, fate in TREE:
        length = len(beginning) + 1
        p = math.prod(
            MODEL[(beginning + token)[:n]][[*beginning, token][n]]
            for n in range(length)
        )
        name = "(end)" if token == "<eos>" else token
        log_p = f"{math.log(p):.2f}".replace("-", "\N{MINUS SIGN}")
        item = by_label[f"{name}, token {length}, log-probability {log_p}, {fate}"]
        assert item["level"] == str(length)
        line = lines.get(length, 0)
        lines[length] = line + 1
        assert item["place"] == pytest.approx([7 * (length - 1), 1.85 * line])  # in rem
        kind = fate.split(",")[0].split()[0]
        assert f"is-{kind}" in item["kinds"]
        sign = {"pruned": "✕ ", "ended": "■ "}.get(kind, "")
        assert item["text"] == sign + name
        if beginning in {"a", "b"}:
            assert (item["at"], item["of"]) == ("1" if token == "c" else "2", "2")
        goes_on = any(other == beginning + token for other, *_ in TREE)
        assert (item["expanded"] == "true") == goes_on
    edges = beam(
        "() => dom.find('.live-tree [role=tree]').innerHTML.split('<path').length - 1"
    )
    assert edges == sum(one["level"] > "1" for one in found)


def test_pruned_branches_are_hidden_and_the_tree_read_as_a_table(
    beam: Callable,
) -> None:
    """Without them only what was kept or ended; a row says what stood before."""
    beam("() => view.showPruned.click()")
    assert not [one for one in beam("() => dom.texts('[role=treeitem]')") if "✕" in one]
    assert beam("() => dom.all('[role=treeitem]').length") == beam(
        "() => view.result.nodes.filter((one) => one.fate !== 'pruned').length"
    )
    beam("() => view.showPruned.click()")
    beam("() => view.asTable.click()")
    rows = beam(ROWS, TREE_TABLE)
    assert len(rows) == beam("() => view.result.nodes.length")
    found = {(row[0], row[1]): row for row in rows}
    for beginning, token, fate in TREE:
        name = "(end)" if token == "<eos>" else token
        row = found[" ".join(beginning) or "(begin)", name]
        assert row[3] == fate
    assert beam(
        "() => [view.box.tabIndex, view.asTable.getAttribute('aria-pressed')]"
    ) == [0, "true"]


STEPS_IN_TREE = [
    ("ArrowRight", "c, token 2"),
    ("ArrowDown", "(end), token 2"),
    ("ArrowRight", "(end), token 2"),
    ("ArrowUp", "c, token 2"),
    ("ArrowRight", "(end), token 3"),
    ("ArrowLeft", "c, token 2"),
    ("ArrowLeft", "a, token 1"),
    ("ArrowLeft", "a, token 1"),
    ("ArrowDown", "b, token 1"),
    ("ArrowUp", "a, token 1"),
    ("ArrowUp", "a, token 1"),
]


def test_the_tree_is_walked_by_arrow_keys(beam: Callable) -> None:
    """To the first child and back, up and down a column; at an end one stays."""
    walk = beam(
        """(keys) => {
          dom.find("[role=treeitem][tabindex='0']").focus();
          return [dom.active(), ...keys.map((key) => { dom.press(key); return dom.active(); })]
            .map((label) => label.split(", log")[0]);
        }""",
        [key for key, _ in STEPS_IN_TREE],
    )
    assert walk == ["a, token 1", *(place for _, place in STEPS_IN_TREE)]


def test_what_did_not_end_says_so_and_a_new_sentence_clears(node: Callable) -> None:
    """A hypothesis cut off at the limit; and nothing is left when another sentence comes."""
    node(
        """() => {
          globalThis.view = new BeamView(root, () => {});
          const node = { parent: -1, id: 3, text: " a", logP: -1, length: 1, fate: "kept" };
          const one = { node: 0, tokens: [3], text: "a", logP: -1, score: -1, ended: false };
          view.show({ alpha: 1, nodes: [node], hypotheses: [one] });
        }"""
    )
    assert node(ROWS, FOUND) == [["1.", "a … (no end)", "−1.00", "1", "−1.000"]]
    assert node("() => dom.shown('.live-beam-results')")
    node("() => view.clear()")
    assert not node("() => dom.shown('.live-beam-results')")
    node("() => view.showPruned.click()")  # draws nothing, and fails at nothing
