"""The view of the words in Node.js: confidence and choices, by value.

test_live_page.py has it in a browser, with what the translator says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import LIVE, Node, open_translator, run_with_document

pytestmark = pytest.mark.timeout(60)

SCRIPTS = [LIVE / f"{name}.js" for name in ("parts", "words")]


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


def word(text: str, p: float, token: int) -> dict:
    """Return a step whose token has this probability, with four others."""
    others = [((1 - p) / 4, f" o{n}", 10 + n) for n in range(4)]
    top = [(p, text, token), *others]
    return {
        "id": token,
        "text": text,
        "logP": math.log(p),
        "top": [{"logP": math.log(q), "text": t, "id": i} for q, t, i in top],
    }


STEPS = [
    word(" good", 0.9, 3),
    word("bye", 0.5, 4),
    word(" dog", 0.996, 5),
    word(".", 0.7, 6),
    word("<eos>", 0.8, 2),
]


@pytest.fixture
def words(node: Callable) -> Callable:
    """A page that shows five tokens in four words, the second chosen by the reader."""
    node(
        """(steps) => {
          globalThis.view = new WordsView(root, (index, id) => asked.push([index, id]));
          view.show(steps, 2);
        }""",
        STEPS,
    )
    return node


def test_confidence_by_word(words: Callable) -> None:
    """A word's is the product of its tokens', as a number and as a bar; an end is a word."""
    assert words("() => dom.texts('.live-word small')") == [
        "45 %",
        "over 99 %",
        "70 %",
        "80 %",
    ]
    bars = words("() => dom.all('.live-bar').map((one) => one.getAttribute('style'))")
    shares = [float(style.removeprefix("--p: ")) for style in bars]
    assert shares == pytest.approx([0.45, 0.996, 0.7, 0.8])
    labels = "() => dom.all('.live-token').map((one) => one.getAttribute('aria-label'))"
    assert words(labels) == [
        "good, 90 %",
        "bye, 50 %, chosen by you",
        "dog, over 99 %",
        "., 70 %",
        "(end), 80 %",
    ]
    chosen = "() => dom.all('.live-token.is-chosen').map((one) => one.textContent)"
    assert words(chosen) == ["bye"]


def test_tokens_are_one_tab_stop(words: Callable) -> None:
    """Arrow keys, Home and End; at an end one stays."""
    walk = words(
        """(keys) => {
          dom.find(".live-token[tabindex='0']").focus();
          return keys.map((key) => {
            dom.press(key);
            if (dom.all(".live-token[tabindex='0']").length !== 1) throw new Error("stops");
            return document.activeElement.textContent;
          });
        }""",
        ["ArrowLeft", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"],
    )
    assert walk == ["good", "bye", "(end)", "(end)", ".", "good"]


def test_five_choices_open_and_one_is_taken(words: Callable) -> None:
    """What it is now is marked; a press asks to go on from another, with its place and id."""
    words("() => dom.all('.live-token')[1].click()")
    assert words("() => view.choices.hidden") is False
    assert words("() => dom.find('#live-choices-title').textContent") == (
        "Instead of “bye”, after “good”"
    )
    assert words(
        """() => view.choices.querySelectorAll("button").map(
          (one) => [one.getAttribute("aria-label"), one.getAttribute("aria-pressed")])"""
    ) == [
        ["bye, 50 %, as it is", "true"],
        *([f"o{n}, 13 %", "false"] for n in range(4)),
    ]
    assert words("() => dom.active()") == "bye, 50 %, as it is"
    assert words("() => dom.all('[aria-expanded=true]').length") == 1
    words("() => view.choices.querySelectorAll('button')[2].click()")
    assert words("() => asked") == [[1, 11]]


def test_choices_close_again(words: Callable) -> None:
    """Escape gives the focus back; a second press closes; another token's take their place."""
    is_open = "() => [view.choices.hidden, dom.texts('[aria-expanded=true]')]"
    words("() => dom.all('.live-token')[0].click()")
    assert words("() => dom.find('#live-choices-title').textContent") == (
        "Instead of “good”, as the first token"
    )
    words("() => dom.press('Escape')")
    assert words(is_open) == [True, []]
    assert words("() => dom.active()") == "good, 90 %"
    words(
        "() => { dom.all('.live-token')[0].click(); dom.all('.live-token')[0].click(); }"
    )
    assert words(is_open) == [True, []]
    words(
        "() => { dom.all('.live-token')[0].click(); dom.all('.live-token')[2].click(); }"
    )
    assert words(is_open) == [False, ["dog"]]
    words("() => view.focus(99)")
    assert words("() => dom.active()") == "(end), 80 %"
    words("() => view.clear()")
    assert words(is_open) == [True, []]
    assert words("() => dom.all('.live-token').length") == 0
