"""The script of the 404 page in Node.js: where its style is looked for, and what leads there.

test_pages.py has it in a browser, on a server, in another folder and from the disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import Node, open_page, run_with_document
from tests.site.pages import ROOT

pytestmark = pytest.mark.timeout(60)

TEMPLATE = ROOT / "book" / "_templates" / "not_found.html"
PUBLISHED = "/course/"
PAGE = """<link rel="stylesheet" href="/course/_static/site.css">
<a href="/course/index.html">Start</a> <a href="https://example.org/course/">Elsewhere</a>
<form action="/course/search.html"></form> <img src="/course/logo.svg">
<button class="pst-js-only"></button>"""
#: Runs the script anew, and gives the browser's events to it: fail(), load().
BEGIN = """(code) => {
  const waits = {};
  globalThis.addEventListener = (type, use) => { waits[type] = use; };
  const add = document.addEventListener;
  document.addEventListener = (type, use) => { waits[`document ${type}`] = use; };
  document.readyState = "complete";
  new Function(code)();
  document.addEventListener = add;
  const target = dom.find("link");
  target.rel = "stylesheet";
  globalThis.fail = () => { waits.error({ target }); return target.getAttribute("href"); };
  globalThis.load = () => waits["document load"]({ target });
  globalThis.ready = () => waits.DOMContentLoaded?.();
}"""
ADDRESSES = """() => [...dom.all("a").map((a) => a.getAttribute("href")),
  dom.find("form").getAttribute("action"), dom.find("img").getAttribute("src"),
  dom.find("button").hidden]"""
AS_WRITTEN = [
    *("/course/index.html", "https://example.org/course/", "/course/search.html"),
    *("/course/logo.svg", False),
]


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js with a document."""
    with run_with_document([]) as node:
        yield node


@pytest.fixture
def show(process: Node) -> Callable:
    """A function that opens the page at an address, and returns what evaluates JavaScript."""
    (code,) = re.findall(r"<script>(.*?)</script>", TEMPLATE.read_text(), re.DOTALL)
    code = code.replace("{{ published_path }}", PUBLISHED)
    assert "{{" not in code

    def opened(address: str) -> Callable:
        open_page(process, PAGE, address)
        process.evaluate(BEGIN, code)
        return process.evaluate

    return opened


def test_where_the_style_is_found_at_once_nothing_changes(show: Callable) -> None:
    """The site lies where it was published."""
    evaluate = show("https://example.org/course/no/such.html")
    evaluate("() => load()")
    assert evaluate(ADDRESSES) == AS_WRITTEN


def test_the_style_is_looked_for_in_each_folder_above(show: Callable) -> None:
    """Addresses follow it to where it is found; other sites' addresses stay."""
    evaluate = show("https://example.org/copy/of/it/no/such.html")
    tried = [evaluate("() => fail()") for _ in range(3)]
    assert tried == [
        f"{folder}_static/site.css"
        for folder in ("/copy/of/it/no/", "/copy/of/it/", "/copy/of/")
    ]
    evaluate("() => load()")
    assert evaluate(ADDRESSES) == [
        *("/copy/of/index.html", "https://example.org/course/"),
        *("/copy/of/search.html", "/copy/of/logo.svg", True),
    ]


def test_the_search_for_the_style_ends(show: Callable) -> None:
    """Above the topmost folder there is none: the last address stays."""
    evaluate = show("https://example.org/a/b.html")
    tried = [evaluate("() => fail()") for _ in range(6)]
    assert tried[:2] == ["/a/_static/site.css", "/_static/site.css"]
    assert set(tried[2:]) == {"/_static/site.css"}
    assert evaluate(ADDRESSES) == AS_WRITTEN


def test_what_was_not_read_yet_is_led_when_it_is(show: Callable) -> None:
    """The style may come before the rest of the page."""
    evaluate = show("https://example.org/x/y.html")
    evaluate("() => { document.readyState = 'loading'; fail(); load(); }")
    assert evaluate(ADDRESSES) == AS_WRITTEN
    evaluate("() => ready()")
    assert evaluate(ADDRESSES)[0] == "/x/index.html"


def test_failed_pictures_and_scripts_do_not_matter(
    show: Callable, process: Node
) -> None:
    """Only a style's error starts the search for it."""
    show("https://example.org/x/y.html")
    process.evaluate("() => { dom.find('link').rel = 'icon'; }")
    assert process.evaluate("() => fail()") == "/course/_static/site.css"
