"""The translator's page in Node.js: what it asks its worker, shows and says, message by message.

test_live_page.py has the page in a browser, with the real worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.site.document import Node
from tests.site.translator_page import (
    answer,
    draft,
    is_seen,
    load,
    new_page,
    posted,
    run_page,
    source,
    status,
    step,
    translated,
    write,
)

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the page's scripts have run."""
    with run_page() as node:
        yield node


@pytest.fixture
def ready(process: Node) -> Callable:
    """A function that evaluates JavaScript on a page with the translator loaded."""
    node = new_page(process)
    load(node)
    return node


@pytest.mark.parametrize("how", ["onerror", "failed"])
def test_a_worker_that_fails_says_so(ready: Callable, how: str) -> None:
    """Whether the browser reports it or the worker does."""
    if how == "failed":
        answer(ready, type="failed", error="RangeError: too deep")
    else:
        ready("() => worker.onerror({ message: 'RangeError: too deep' })")
    assert status(ready) == (
        "Something went wrong: RangeError: too deep. Reload the page to start again."
    )
    assert is_seen(ready)


# Translating


def test_what_is_written_grows_and_the_end_is_announced(ready: Callable) -> None:
    """As it is found; then confidence by word, the expected grade, one line to be read out."""
    write(ready, "Ein Hund.")
    question = {"type": "translate", "text": "Ein Hund.", "prefix": [], "off": []}
    assert posted(ready).items() >= (question | {"at": 0}).items()
    assert (status(ready), is_seen(ready)) == ("Translating.", True)
    assert not ready("() => dom.shown('.live-result')")
    for text in ("A", "A do"):
        draft(ready, text)
        assert ready("() => dom.texts('.live-output')") == [text]
    note = "Only 1 of 2 words were in the training. Is this German?"
    source(ready, "A dog", notes=[note])
    assert ready("() => dom.texts('.live-notes li')") == [note]
    assert ready("() => dom.texts('.live-pieces')") == ["Ein · Hund · (end)"]
    for text in (" A", " do", "g", "<eos>"):
        answer(ready, type="token", step=step(text, 3))
        assert ready("() => dom.texts('.live-output')") == ["A dog"]
    assert not ready("() => dom.shown('.live-after')")
    answer(ready, type="done", text="A dog", ended=True, chrf=71.6, perToken=12.4)
    assert (status(ready), is_seen(ready)) == ("Translated: A dog", False)
    assert ready("() => dom.shown('.live-after') && !dom.shown('.live-unended')")
    assert ready("() => dom.texts('.live-word small')") == ["50 %", "25 %", "50 %"]
    assert ready("() => dom.texts('.live-quality')") == [
        "Translations with this confidence had about 72 of 100 chrF on validation "
        "sentences. 12 ms a token on this machine."
    ]


SHOWN = "(names) => names.map((name) => dom.shown(`.live-${name}`))"


def test_where_there_is_nothing_to_translate_nothing_is_looked_into(
    ready: Callable,
) -> None:
    """The text stands as it is, with a note; a search that waited is forgotten."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    write(ready, "12 + 3")
    ready("() => dom.change(page.beam.alpha, { value: 0.5 })")
    source(ready, "12 + 3", tokens=[], sentences=[], read="", notes=["Nothing."])
    answer(ready, type="done", text="12 + 3", ended=True, chrf=None, perToken=None)
    assert ready("() => dom.texts('.live-output')") == ["12 + 3"]
    assert ready("() => dom.texts('.live-notes li')") == ["Nothing."]
    assert ready(SHOWN, ["result", "after", "source", "read"]) == [True, *[False] * 3]
    assert posted(ready)["type"] == "translate"
    write(ready, "Ein Hund")
    translated(ready, " A", " dog")
    assert (
        ready(SHOWN, ["after", "source", "read", "which"]) == [True] * 2 + [False] * 2
    )


def test_what_the_model_read_is_said_where_it_is_not_the_text(ready: Callable) -> None:
    """A name that stood for another; of several sentences one is looked into, then another."""
    write(ready, "Das ist Solveig. Ein Hund.")
    two = ["Das ist Solveig.", "Ein Hund."]
    swap = {"read": "Das ist Tom.", "standIns": [["Tom", "Solveig"]]}
    source(ready, "This is Solveig. A dog.", sentences=two, **swap)
    for n, text in enumerate((" This", " is", " Tom", ".", "<eos>")):
        answer(ready, type="token", step=step(text, 10 * n + 3))
    done = {"type": "done", "text": "This is Solveig. A dog.", "perToken": 1}
    answer(ready, **done, ended=True, chrf=70)
    assert ready("() => dom.texts('.live-read')") == [
        "The model read: Das ist Tom. In it Tom stood for Solveig."
    ]
    assert ready("() => dom.texts('.live-output')") == ["This is Solveig. A dog."]
    assert ready("() => dom.texts('.live-token')[2]") == "Tom"
    options = "() => dom.all('.live-sentence option').map((one) => one.textContent)"
    assert ready(options) == ["1. Das ist Solveig.", "2. Ein Hund."]
    ready("() => dom.change(page.find('sentence'), { value: '1' })")
    assert (
        posted(ready).items() >= {"at": 1, "prefix": [], "text": " ".join(two)}.items()
    )
    source(ready, "This is Solveig. A dog.", sentences=two, read="Ein Hund.")
    answer(ready, type="token", step=step(" A", 3))
    answer(ready, **done, ended=True, chrf=70)
    assert ready("() => dom.texts('.live-read')") == ["The model read: Ein Hund."]
    assert ready("() => page.find('sentence').value") == "1"
    # Another word, a head off and the beam are about this sentence; a new text begins anew.
    ready("() => dom.all('.live-token')[0].click()")
    ready("() => dom.all('.live-choices button')[1].click()")
    assert posted(ready).items() >= {"at": 1, "prefix": [4]}.items()
    write(ready, "Ein Hund.")
    assert posted(ready)["at"] == 0


def test_the_translation_is_brought_into_view(ready: Callable) -> None:
    """Of a new text, and of one with a head off; not where another word was chosen."""
    ready(
        """() => {
          globalThis.scrolled = 0;
          page.find("output").scrollIntoView = () => { scrolled += 1; };
        }"""
    )
    write(ready, "Ein Hund.")
    draft(ready, "A")
    translated(ready, " A", " dog")
    assert ready("() => scrolled") == 1
    ready("() => page.attention.switch.click()")
    translated(ready, " The", " end")
    assert ready("() => scrolled") == 2
    ready("() => page.find('all-on').click()")
    translated(ready, " A", " dog")
    assert ready("() => scrolled") == 3
    ready("() => dom.all('.live-token')[1].click()")
    ready("() => dom.all('.live-choices button')[1].click()")
    translated(ready, " A", " cat")
    assert ready("() => scrolled") == 3


def test_who_asks_and_who_does_not(ready: Callable) -> None:
    """Button, Enter and an example do; Shift+Enter, and Enter that ends a composed word, do not."""
    count = "() => worker.posted.length"
    before = ready(count)
    ready("() => { page.text.focus(); dom.press('Enter', { shiftKey: true }); }")
    ready("() => dom.press('Enter', { isComposing: true })")
    assert ready(count) == before
    ready("() => dom.all('.live-form button')[0].click()")
    assert ready(count) == before + 1
    ready("() => dom.all('.live-example')[1].click()")
    assert posted(ready)["text"] == "Guten Morgen!"
    assert ready("() => page.text.value") == "Guten Morgen!"


def test_answers_to_an_earlier_question_are_dropped(ready: Callable) -> None:
    """Two questions quickly after each other: only the second's answer is shown."""
    write(ready, "Ein Hund.")
    draft(ready, "A")
    earlier = ready("() => page.number")
    write(ready, "Guten Morgen!")
    for message in (
        {"type": "token", "step": step(" old", 3)},
        {"type": "done", "text": "old", "ended": True, "chrf": 1, "perToken": 1},
    ):
        answer(ready, number=earlier, **message)
    answer(ready, number=earlier, type="draft", text="old")
    assert "old" not in ready("() => dom.texts('.live-output')[0]")
    assert status(ready) == "Translating."
    translated(ready, " Good", " morning")
    assert status(ready) == "Translated: Good morning"


def test_a_refusal_is_said_and_marks_the_field(ready: Callable) -> None:
    """Nothing of the sentence before is left to be asked about; the next one clears the mark."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    write(ready, " ")
    answer(ready, type="refused", error="Write a German sentence first.")
    assert status(ready) == "Write a German sentence first."
    assert is_seen(ready)
    assert ready("() => page.text.getAttribute('aria-invalid')") == "true"
    assert ready("() => document.activeElement === page.text")
    assert not ready("() => dom.shown('.live-result') || dom.shown('.live-after')")
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    assert ready("() => page.text.getAttribute('aria-invalid')") is None
    assert ready("() => dom.shown('.live-result') && dom.shown('.live-after')")


def test_nothing_and_no_end_are_told(ready: Callable) -> None:
    """An empty translation has a word for it; one that is cut off a line."""
    write(ready, "Ein Hund.")
    translated(ready, ended=False, chrf=None)
    assert ready("() => dom.texts('.live-output')") == ["(nothing)"]
    assert status(ready) == "Translated: (nothing)"
    assert ready("() => dom.shown('.live-unended')")
    assert ready("() => dom.texts('.live-quality')") == [
        "12 ms a token on this machine."
    ]


def test_html_is_text(ready: Callable) -> None:
    """What the reader or the model writes makes no element."""
    write(ready, "<b>Hund</b>")
    translated(ready, " <b>", "dog")
    assert ready("() => dom.all('.live-translator b').length") == 0
    assert ready("() => dom.texts('.live-output')") == ["<b>dog"]


# Another word


def test_decoding_goes_on_from_another_word(ready: Callable) -> None:
    """What stood before it is kept and given; the focus comes back to it; it can be undone."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    ready("() => dom.all('.live-token')[1].click()")
    ready("() => dom.all('.live-choices button')[2].click()")
    assert posted(ready)["prefix"] == [3, 15]
    translated(ready, " A", " cat", " too", chrf=80)
    assert ready("() => dom.texts('.live-token.is-chosen')") == ["cat"]
    assert ready("() => dom.active()") == "cat, 50 %, chosen by you"
    assert "chrF" not in ready("() => dom.texts('.live-quality')[0]"), (
        "not its own choice"
    )
    # Once more, further on: what was chosen before stays.
    ready("() => dom.all('.live-token')[2].click()")
    ready("() => dom.all('.live-choices button')[1].click()")
    assert posted(ready)["prefix"] == [3, 13, 24]
    translated(ready, " A", " cat", " now")
    assert ready("() => dom.shown('.live-undo')")
    ready("() => page.find('undo').click()")
    assert posted(ready)["prefix"] == []
    translated(ready, " A", " dog")
    assert not ready("() => dom.shown('.live-undo')")
    assert ready("() => dom.active()") == "A, 50 %"


def test_a_new_sentence_forgets_the_words_of_the_last(ready: Callable) -> None:
    """While it is decoded there is no token to press, and no choice left open."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    ready("() => dom.all('.live-token')[1].click()")
    write(ready, "Guten Morgen!")
    assert posted(ready)["prefix"] == []
    source(ready)
    assert not ready(
        "() => dom.all('.live-token').length || dom.shown('.live-choices')"
    )


# Heads that are off


def test_heads_off_and_the_translation_beside_what_it_was(ready: Callable) -> None:
    """The question names them; both translations stand there; all come on again."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    ready("() => page.attention.switch.click()")
    assert posted(ready)["off"] == ["cross 0 0"]
    translated(ready, " The", " end")
    assert ready("() => dom.texts('.live-off-list li')") == [
        "head 1 of layer 1, cross-attention"
    ]
    assert ready("() => dom.texts('.live-before')") == ["With all heads on: A dog"]
    assert "chrF" not in ready("() => dom.texts('.live-quality')[0]")
    assert ready("() => page.attention.switch.getAttribute('aria-pressed')") == "true"
    # Another sentence: first with all heads, unseen, then without this one.
    write(ready, "Guten Morgen!")
    assert posted(ready)["off"] == []
    translated(ready, " Good", " morning")
    assert posted(ready)["off"] == ["cross 0 0"]
    assert ready("() => dom.texts('.live-output')") == ["The end"], "still the old one"
    translated(ready, " Good", " morning")
    assert ready("() => dom.texts('.live-before')") == [
        "The translation is the same as with all heads."
    ]
    ready("() => page.find('all-on').click()")
    assert posted(ready)["off"] == []
    translated(ready, " Good", " morning")
    assert not ready("() => dom.shown('.live-off')")
    assert ready("() => document.activeElement === page.attention.switch")


def test_all_heads_of_all_kinds_off_at_once(ready: Callable) -> None:
    """One question after the other, each with one more; the last is answered."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    for kind in ("cross", "encoder", "decoder"):
        ready("(kind) => dom.change(page.attention.kind, { value: kind })", kind)
        ready("() => page.attention.switch.click()")
    names = ["cross 0 0", "encoder 0 0", "decoder 0 0"]
    assert posted(ready)["off"] == names
    translated(ready, " x", ended=False)
    assert len(ready("() => dom.texts('.live-off-list li')")) == 3
    ready("() => page.attention.switch.click()")
    assert posted(ready)["off"] == names[:2], "pressed again, one is on"


# The beam

TREE = {
    "type": "tree",
    "alpha": 1.4,
    "nodes": [
        {"parent": -1, "id": 3, "text": " A", "logP": -1, "length": 1, "fate": "kept"},
        {
            "parent": 0,
            "id": 2,
            "text": "<eos>",
            "logP": -2,
            "length": 2,
            "fate": "ended",
        },
    ],
    "hypotheses": [
        {
            "node": 1,
            "tokens": [3],
            "text": "A",
            "logP": -2,
            "score": -1.5,
            "ended": True,
        }
    ],
}


def test_the_beam_is_asked_for_what_stands_there(ready: Callable) -> None:
    """Size and α go with the question; the best is announced; a new sentence clears the tree."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    ready("() => page.find('search').click()")
    question = {"type": "beam", "text": "Ein Hund.", "size": 2, "alpha": 1}
    assert posted(ready).items() >= question.items()
    assert (status(ready), is_seen(ready)) == ("Searching.", True)
    answer(ready, **TREE)
    assert (status(ready), is_seen(ready)) == ("The beam's best: A", False)
    assert ready("() => dom.shown('.live-beam-results')")
    write(ready, "Guten Morgen!")
    assert not ready("() => dom.shown('.live-beam-results')")


def test_a_search_waits_for_the_translation(ready: Callable) -> None:
    """The penalty moved during decoding: the sentence comes to its end, then the latest search."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    ready("() => page.attention.switch.click()")
    source(ready)
    ready("() => dom.change(page.beam.alpha, { value: 0.5 })")
    ready("() => dom.change(page.beam.alpha, { value: 0 })")
    assert posted(ready)["type"] == "translate"
    translated(ready, " The", " end")
    assert ready("() => dom.texts('.live-output')") == ["The end"]
    assert posted(ready).items() >= {"type": "beam", "alpha": 0, "size": 2}.items()
    answer(ready, **TREE)
    assert ready("() => worker.posted.filter((one) => one.type === 'beam').length") == 1
    # A new sentence in the meantime: what waited is forgotten.
    write(ready, "Ein Hund.")
    ready("() => dom.change(page.beam.alpha, { value: 2 })")
    write(ready, "Guten Morgen!")
    translated(ready, " Good")  # with all heads on
    translated(ready, " Good")
    assert posted(ready)["type"] == "translate"
