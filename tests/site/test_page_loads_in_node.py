"""The translator's page in Node.js while it loads: how far it is, and what is missing.

test_live_page.py loads it in a browser, from a server and from the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.site.document import Node
from tests.site.translator_page import (
    CONTENTS,
    answer,
    arrive,
    is_seen,
    new_page,
    progress,
    run_page,
    status,
)

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the page's scripts have run."""
    with run_page() as node:
        yield node


@pytest.fixture
def node(process: Node) -> Callable:
    """A function that evaluates JavaScript on a page before anything was loaded."""
    return new_page(process)


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


def test_a_reload_while_it_loaded_leaves_no_dead_button(node: Callable) -> None:
    """Firefox gives a button back as it was: disabled."""
    node("() => page.find('load').click()")
    assert node("() => page.find('load').disabled")
    node("() => { new LivePage(page.root); }")
    assert not node("() => page.find('load').disabled")


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
