"""The translator's page in Node.js, with a worker that only takes notes of what it is asked.

Its answers are given one message at a time, so that a test can look between two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.site.document import (
    LIVE,
    Node,
    open_page,
    run_with_document,
    translator_html,
)

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


@contextmanager
def run_page() -> Iterator[Node]:
    """Yield a process of Node.js where the page's scripts have run."""
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


def new_page(process: Node) -> Callable:
    """Return a function that evaluates JavaScript on a new page, before anything was loaded."""
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


def step(text: str, token: int, p: float = 0.5) -> dict:
    """Return a token as the worker sends it."""
    top = [{"id": token + n, "text": f"{text}{n}", "logP": -n - 1} for n in range(5)]
    top[0]["text"] = text
    weights = {"self": [[[1.0]]], "cross": [[[0.2, 0.3, 0.5]]]}
    return {"id": token, "text": text, "logP": math.log(p), "top": top, **weights}


def draft(node: Callable, text: str) -> None:
    """Let the worker answer with the beginning of a translation."""
    answer(node, type="draft", text=text)


def source(node: Callable, text: str = "", **more: object) -> None:
    """Let the worker answer with a translation, and with the tokens of what was read."""
    about = {"tokens": SOURCE, "weights": [[[1 / 3] * 9]], "notes": []}
    read = {"sentences": ["Ein Hund"], "read": "Ein Hund", "standIns": []}
    message = {"type": "source", "text": text} | about | read | more
    answer(node, **message)


def translated(
    node: Callable, *texts: str, chrf: float | None = 71.6, ended: bool = True
) -> None:
    """Let the worker answer the latest question to its end."""
    whole = "".join(texts).strip()
    source(node, whole)
    for n, text in enumerate((*texts, "<eos>")):
        answer(
            node, type="token", step=step(text, 10 * n + 3 if text != "<eos>" else 2)
        )
    answer(node, type="done", text=whole, ended=ended, chrf=chrf, perToken=12.4)


def write(node: Callable, text: str) -> None:
    """Type a text and press Enter."""
    node(
        "(text) => { page.text.value = text; page.text.focus(); dom.press('Enter'); }",
        text,
    )


def load(node: Callable) -> None:
    """Load the translator, all of it."""
    node("() => page.find('load').click()")
    for name in CONTENTS:
        arrive(node, name)
    answer(node, type="ready")
