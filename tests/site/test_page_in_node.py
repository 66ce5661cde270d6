"""The translator's page in Node.js: loading, asking, what is said; its worker only takes notes.

Its answers are written here, one message at a time, so that a test can look between two of them.
test_live_page.py has the page in a browser, with the real worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import (
    LIVE,
    Node,
    open_page,
    run_with_document,
    translator_html,
)

pytestmark = pytest.mark.timeout(60)

NAMES = ("loader", "parts", "words", "attention", "beam", "page")
MANIFEST = {
    "scripts": {"part-01.js": 2_000_000, "part-02.js": 500_000, "words.js": 500_000},
    "bytes": 4,
    "model": {"heads": 1, "encoderLayers": 1, "decoderLayers": 1},
}
SOURCE = ["Ein", " Hund", "<eos>"]
#: What arrives with a script that was loaded.
CONTENTS = {
    "manifest.js": "(manifest) => { LiveData.manifest = manifest; }",
    "part-01.js": "() => LiveData.part(0, btoa('abc'))",
    "part-02.js": "() => LiveData.part(1, btoa('d'))",
    "words.js": "() => { LiveData.words = { tokens: [], merges: [] }; }",
}


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the page's scripts have run."""
    with run_with_document(LIVE / f"{name}.js" for name in NAMES) as node:
        node.evaluate(
            """() => {
              globalThis.onPage = document.listeners.DOMContentLoaded.at(-1);
              globalThis.startWorker = () => {
                globalThis.worker = { posted: [], postMessage(one) { this.posted.push(one); } };
                return worker;
              };
            }"""
        )
        yield node


@pytest.fixture
def node(process: Node) -> Callable:
    """A function that evaluates JavaScript on a new page, before anything was loaded."""
    open_page(process, translator_html())
    process.evaluate(
        """() => {
          Object.assign(LiveData, { manifest: null, words: null, parts: [] });
          globalThis.worker = null;
          onPage();
          globalThis.page = dom.find(".live-translator").livePage;
        }"""
    )
    return process.evaluate


def arrive(node: Callable, name: str) -> None:
    """Let a script arrive, with what it holds."""
    node(CONTENTS[name], MANIFEST)
    node("(name) => dom.arrive(name)", name)


def status(node: Callable) -> str:
    """Return what the page says."""
    return node("() => page.status.textContent")


def is_seen(node: Callable) -> bool:
    """Return whether the line is shown, too, and not only read out."""
    return not node("() => page.status.classList.contains('live-only-said')")


def progress(node: Callable) -> list:
    """Return the share that the bar shows, and the words beside it."""
    return node(
        "() => [Number(page.find('bar-loaded').value), dom.texts('.live-progress-text')[0]]"
    )


def answer(node: Callable, **message: object) -> None:
    """Let the worker answer the latest question."""
    number = {"number": node("() => page.number")}
    node("(data) => worker.onmessage({ data })", number | message)


def posted(node: Callable) -> dict:
    """Return the latest question to the worker."""
    return node("() => worker.posted.at(-1)")


@pytest.fixture
def ready(node: Callable) -> Callable:
    """A page with the translator loaded."""
    node("() => page.find('load').click()")
    for name in CONTENTS:
        arrive(node, name)
    answer(node, type="ready")
    return node


def step(text: str, token: int, p: float = 0.5) -> dict:
    """Return a token as the worker sends it."""
    top = [{"id": token + n, "text": f"{text}{n}", "logP": -n - 1} for n in range(5)]
    top[0]["text"] = text
    weights = {"self": [[[1.0]]], "cross": [[[0.2, 0.3, 0.5]]]}
    return {"id": token, "text": text, "logP": math.log(p), "top": top, **weights}


def source(node: Callable, notes: tuple[str, ...] = ()) -> None:
    """Let the worker answer with the source's tokens."""
    weights = [[[1 / 3] * 9]]
    answer(node, type="source", tokens=SOURCE, notes=notes, weights=weights)


def translated(
    node: Callable, *texts: str, chrf: float | None = 71.6, ended: bool = True
) -> None:
    """Let the worker answer the latest question to its end."""
    source(node)
    for n, text in enumerate((*texts, "<eos>")):
        answer(
            node, type="token", step=step(text, 10 * n + 3 if text != "<eos>" else 2)
        )
    text = "".join(texts).strip()
    answer(node, type="done", text=text, ended=ended, chrf=chrf, perToken=12.4)


def write(node: Callable, text: str) -> None:
    """Type a text and press Enter."""
    node(
        "(text) => { page.text.value = text; page.text.focus(); dom.press('Enter'); }",
        text,
    )


# Loading


def test_loading_shows_how_far_it_is(node: Callable) -> None:
    """A bar and megabytes after each script; nothing before the button; the worker gets all."""
    assert node("() => dom.asked.length") == 0
    assert not node("() => dom.shown('.live-progress') || dom.shown('.live-work')")
    node("() => { page.find('load').click(); page.find('load').click(); }")
    assert node("() => dom.asked.map((one) => one.src)") == [
        "https://example.org/_static/live/data/manifest.js"
    ], "a second press loads nothing twice"
    assert status(node) == "Loading."
    assert node("() => page.find('load').disabled && dom.shown('.live-progress')")
    arrive(node, "manifest.js")
    for name, share, text in (
        ("part-01.js", 2 / 3, "2.0 of 3.0 MB"),
        ("part-02.js", 2.5 / 3, "2.5 of 3.0 MB"),
        ("words.js", 1, "3.0 of 3.0 MB"),
    ):
        assert node("() => worker") is None
        arrive(node, name)
        assert progress(node) == [pytest.approx(share, abs=1e-6), text]
    started = node(
        "() => [worker.posted[0].type, [...new Uint8Array(worker.posted[0].buffer)]]"
    )
    assert started == ["start", [97, 98, 99, 100]]
    assert not node("() => dom.shown('.live-work')"), "not before the worker is ready"
    node("() => page.find('load').focus()")
    answer(node, type="ready")
    assert status(node) == "The translator is ready."
    assert node("() => dom.shown('.live-work') && !dom.shown('.live-loading')")


def test_the_focus_goes_to_the_text_only_from_the_button(node: Callable) -> None:
    """Who went on reading elsewhere is left there."""
    for place, goes in (("null", True), ("dom.find('.elsewhere')", False)):
        open_again(node)
        node(f"() => {place}?.focus()")
        for name in CONTENTS:
            arrive(node, name)
        answer(node, type="ready")
        assert node("() => document.activeElement === page.text") is goes


def open_again(node: Callable) -> None:
    """Begin to load on a page that has a link beside the translator."""
    node(
        """() => {
          const link = dom.build(["a", { class: "elsewhere", href: "#" }, ["elsewhere"]]);
          document.body.append(link);
          Object.assign(LiveData, { manifest: null, words: null, parts: [] });
          page.find("loading").hidden = false;
          page.find("load").disabled = false;
          page.find("load").click();
        }"""
    )


@pytest.mark.parametrize("lost", ["manifest.js", "part-02.js", "words.js"])
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_what_is_missing_is_said_and_loaded_again(
    node: Callable, lost: str, how: str
) -> None:
    """The name of the file; "Try again" asks for what is not there yet, and for nothing else."""
    node("() => page.find('load').click()")
    for name in CONTENTS:
        if name == lost:
            break
        arrive(node, name)
    node("([name, isThere]) => dom.arrive(name, isThere)", [lost, how == "damaged"])
    problem = {"missing": "could not be loaded", "damaged": "is damaged"}[how]
    assert status(node) == f"The translator is not complete: {lost} {problem}."
    assert is_seen(node)
    assert node(
        "() => [page.find('load').disabled, page.find('load').textContent]"
    ) == [
        False,
        "Try again",
    ]
    node("() => { dom.asked = []; page.find('load').click(); }")
    assert node("() => dom.asked.map((one) => one.src.split('/').pop())") == [lost]
    for name in list(CONTENTS)[list(CONTENTS).index(lost) :]:
        arrive(node, name)
    answer(node, type="ready")
    assert status(node) == "The translator is ready."


def test_weights_of_another_size_start_nothing(node: Callable) -> None:
    """Bytes are counted."""
    node("() => page.find('load').click()")
    for name in CONTENTS:
        if name == "part-02.js":
            node("() => LiveData.part(1, btoa('too much'))")
            node("(name) => dom.arrive(name)", name)
        else:
            arrive(node, name)
    assert "expected 4 bytes of weights" in status(node)
    assert not node("() => dom.shown('.live-work')")


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


def test_tokens_come_one_by_one_and_the_end_is_announced(ready: Callable) -> None:
    """Each as it arrives; then confidence by word, the expected grade, one line to be read out."""
    write(ready, "Ein Hund.")
    question = {"type": "translate", "text": "Ein Hund.", "prefix": [], "off": []}
    assert posted(ready).items() >= question.items()
    assert (status(ready), is_seen(ready)) == ("Translating.", True)
    assert not ready("() => dom.shown('.live-result')")
    source(ready, ("Only 1 of 2 words were in the training. Is this German?",))
    assert ready("() => dom.texts('.live-notes li')") == [
        "Only 1 of 2 words were in the training. Is this German?"
    ]
    assert ready("() => dom.texts('.live-pieces')") == ["Ein · Hund · (end)"]
    written = []
    for text in (" A", " do", "g", "<eos>"):
        answer(ready, type="token", step=step(text, 3))
        written.append(ready("() => dom.texts('.live-output')[0]"))
    assert written == [" A", " A do", " A dog", " A dog"]
    assert not ready("() => dom.shown('.live-after')")
    answer(ready, type="done", text="A dog", ended=True, chrf=71.6, perToken=12.4)
    assert (status(ready), is_seen(ready)) == ("Translated: A dog", False)
    assert ready("() => dom.shown('.live-after') && !dom.shown('.live-unended')")
    assert ready("() => dom.texts('.live-word small')") == ["50 %", "25 %", "50 %"]
    assert ready("() => dom.texts('.live-quality')") == [
        "Translations with this confidence had about 72 of 100 chrF on validation "
        "sentences. 12 ms a token on this machine."
    ]


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
    source(ready)
    earlier = ready("() => page.number")
    write(ready, "Guten Morgen!")
    for message in (
        {"type": "token", "step": step(" old", 3)},
        {"type": "done", "text": "old", "ended": True, "chrf": 1, "perToken": 1},
    ):
        answer(ready, number=earlier, **message)
    assert "old" not in ready("() => dom.texts('.live-output')[0]")
    assert status(ready) == "Translating."
    translated(ready, " Good", " morning")
    assert status(ready) == "Translated: Good morning"


def test_a_refusal_is_said_and_marks_the_field(ready: Callable) -> None:
    """Nothing of the sentence before is left to be asked about; the next one clears the mark."""
    write(ready, "Ein Hund.")
    translated(ready, " A", " dog")
    write(ready, "12")
    answer(ready, type="refused", error="There is nothing to translate: no letters.")
    assert status(ready) == "There is nothing to translate: no letters."
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
