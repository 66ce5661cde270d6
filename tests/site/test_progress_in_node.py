"""What was read and answered (progress.js) in Node.js, by value.

test_progress.py has it in a browser, on the site's own pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.site.document import ASSETS, Node, open_page, run_with_document

pytestmark = pytest.mark.timeout(60)

TASKS = {
    "book/01-a": {"title": "1. Alpha", "tasks": ["predict:p", "quiz:q"]},
    "book/02-b": {"title": "2. Beta", "tasks": ["quiz:r"]},
}
SIDEBAR = """<nav class="bd-docs-nav"><a class="internal" href="../book/01-a.html">1. Alpha</a>
<a class="internal" href="../book/02-b.html">2. Beta</a>
<a class="internal" href="../book/traps.html">Traps</a></nav>"""
PANEL = """<section class="course-progress" hidden><a data-progress-continue hidden href="#"></a>
<button type="button" data-progress-save>Save</button><input type="file" data-progress-load>
<button type="button" data-progress-forget>Forget all</button>
<p data-progress-status></p></section><ol class="syllabus">
<li><span class="state"></span></li><li><span class="state"></span></li></ol>"""
CHAPTER = """<article><section id="alpha"><h1>1. Alpha<a class="headerlink">#</a></h1>
<section id="middle"><h2>Middle</h2><section id="root"><h3>Why <em>divide</em> by
<span class="katex"><math><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></math>
<span class="katex-html">dk</span></span>?<a class="headerlink">#</a></h3></section></section>
<section id="end"><h2>End</h2></section></section></article>"""
A, B = "https://example.org/book/01-a.html", "https://example.org/index.html"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Node.js, where the script has run."""
    tasks: Path = tmp_path_factory.mktemp("tasks") / "course-tasks.js"
    root = 'document.documentElement.dataset.content_root = "../";'
    tasks.write_text(
        f"{root}\nvar courseTasks = {json.dumps(TASKS)};", encoding="utf-8"
    )
    with run_with_document([tasks, ASSETS / "progress.js"]) as node:
        node.evaluate(
            """() => {
              globalThis.begin = document.listeners.DOMContentLoaded.at(-1);
              URL.createObjectURL = (blob) => { globalThis.saved = blob; return "blob:x"; };
              URL.revokeObjectURL = () => {};
            }"""
        )
        yield node


@pytest.fixture
def show(process: Node) -> Callable:
    """A function that opens a page, and returns what evaluates JavaScript there."""
    process.evaluate(
        "() => Object.keys(localStorage).forEach((key) => delete localStorage[key])"
    )

    def opened(html: str, address: str) -> Callable:
        open_page(process, SIDEBAR + html, address)
        process.evaluate(
            """() => {
              // An anchor knows the path that it leads to.
              for (const link of dom.all("a")) {
                link.pathname = new URL(link.href, location.href).pathname;
              }
              begin();
            }"""
        )
        return process.evaluate

    return opened


ANSWER = "([key, value]) => localStorage.setItem(key, value)"
MARKS = "() => dom.all('.bd-docs-nav a').map((one) => one.textContent)"
SEEN = """(names) => {
  const isIntersecting = (target) => names.includes(target.parentElement.id);
  const entry = ([, target]) => ({ target, isIntersecting: isIntersecting(target) });
  dom.watched[0][0](dom.watched.map(entry));
}"""


def test_reading_is_followed(show: Callable) -> None:
    """The place that was seen last; "read" when the last heading and most others came into view."""
    node = show(CHAPTER, A)
    assert node("() => dom.watched.length") == 4
    assert node(MARKS) == ["1. Alpha", "2. Beta", "Traps"]
    node(SEEN, ["alpha", "middle"])
    place = {"page": "book/01-a", "id": "middle", "title": "Middle"}
    assert json.loads(node("() => localStorage.getItem('progress:here')")) == place
    node(SEEN, ["root"])
    here = json.loads(node("() => localStorage.getItem('progress:here')"))
    assert here["id"] == "root"
    assert "".join(here["title"].split()) == "Whydivideby√dk?", (
        "a part of it, too, whole"
    )
    assert node(MARKS)[0] == "1. Alpha", "neither read nor answered"
    node("() => forget()")
    node = show(CHAPTER, A)
    node(SEEN, ["end"])
    assert node(MARKS)[0] == "1. Alpha", "a link to the end of a chapter was followed"
    node = show(CHAPTER, A)  # the other day
    node(SEEN, ["middle"])
    assert node("() => localStorage.getItem('read:/book/01-a.html')") == "1"
    mark = "1. Alpha0/2 (read, 0 of 2 questions answered)"
    assert node(MARKS) == [mark, "2. Beta", "Traps"]


def test_answers_are_counted(show: Callable) -> None:
    """Guesses and quizzes of this edition; a tick where all is done and read."""
    node = show(CHAPTER, A)
    for key in ("predict:/book/01-a.html#p", "quiz:/book/01-a.html#old"):
        node(ANSWER, [key, "1"])
    node("() => markSidebar()")
    assert node(MARKS)[0] == "1. Alpha1/2 (1 of 2 questions answered)"
    node(ANSWER, ["quiz:/book/01-a.html#q", "1"])
    node("() => markSidebar()")
    assert node(MARKS)[0] == "1. Alpha2/2 (2 of 2 questions answered)", "not read"
    node(ANSWER, ["read:/book/01-a.html", "1"])
    node("() => markSidebar()")
    assert node(MARKS)[0] == "1. Alpha✓ (read, 2 of 2 questions answered)"
    node("() => { forget(); markSidebar(); }")
    assert node(MARKS)[0] == "1. Alpha"


LANDING = """() => ({ link: dom.find("[data-progress-continue]").textContent,
  href: dom.find("[data-progress-continue]").href,
  hidden: dom.find("[data-progress-continue]").hidden,
  states: dom.texts(".state"), status: dom.find("[data-progress-status]").textContent,
  empty: dom.find(".course-progress").classList.contains("is-empty") })"""


def test_the_landing_page_leads_back(show: Callable) -> None:
    """To the section; each chapter's state; nothing at first."""
    found = show(PANEL, B)(LANDING)
    assert (found["hidden"], found["empty"]) == (True, True)
    assert found["states"] == ["", ""]
    node = show(CHAPTER, A)
    node(SEEN, ["middle"])
    node(ANSWER, ["quiz:/book/02-b.html#r", "1"])
    found = show(PANEL, B)(LANDING)
    assert found["link"] == "Go on with 1. Alpha: Middle"
    assert found["href"] == "https://example.org/book/01-a.html#middle"
    assert (found["hidden"], found["empty"]) == (False, False)
    assert found["states"] == ["", "1 of 1 questions answered"]


def test_progress_moves_to_another_device(show: Callable) -> None:
    """What was saved is loaded under the addresses of the other; the status says so."""
    node = show(CHAPTER, A)
    node(SEEN, ["alpha", "end"])
    node(ANSWER, ["quiz:/book/01-a.html#q", "q-2"])
    node(ANSWER, ["theme", "dark"])
    node = show(PANEL, B)
    node("() => dom.find('[data-progress-save]').click()")
    assert node(LANDING)["status"].startswith("Saved.")
    node("() => { saved.text().then((text) => { globalThis.file = text; }); }")
    kept = json.loads(node("() => file"))
    page = {"read": True, "seen": ["alpha", "end"], "answers": {"quiz:q": "q-2"}}
    assert kept["pages"] == {"book/01-a": page}
    before = node("() => ({ ...localStorage })")
    node("() => { dom.find('[data-progress-forget]').click(); }")
    assert node("() => ({ ...localStorage })") == before, "asked first"
    assert "again" in node("() => dom.find('[data-progress-forget]').textContent")
    node("() => dom.find('[data-progress-forget]').click()")
    assert node("() => ({ ...localStorage })") == {"theme": "dark"}
    assert node("() => dom.find('[data-progress-forget]').textContent") == "Forget all"
    node("() => dom.find('[data-progress-forget]').click()")
    assert "again" in node("() => dom.find('[data-progress-forget]').textContent")
    load = """(text) => {
      const target = dom.find("[data-progress-load]");
      target.files = [{ text: async () => text }];
      target.fire("change");
    }"""
    node(load, json.dumps(kept))
    assert node(LANDING)["status"] == "Loaded."
    assert node("() => ({ ...localStorage })") == before
    for text, says in (
        ("{", "Not loaded: this file is no JSON"),
        ('{"version": 2, "pages": {}}', "Not loaded: this file holds no progress"),
        (
            '{"version": 1, "pages": {"book/09": {"read": true}}}',
            "Nothing in this file",
        ),
        ('{"version": 1, "pages": {"book/01-a": null}}', "Nothing in this file"),
        (
            '{"version": 1, "here": {"page": "book/01-a"}, "pages": {}}',
            "Nothing in this file",
        ),
    ):
        node(load, text)
        assert node(LANDING)["status"].startswith(says)
        assert node("() => ({ ...localStorage })") == before
