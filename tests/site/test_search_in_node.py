"""Search by section (search.js) in Node.js: what is found, in which order, and how it is quoted.

test_search.py has it in a browser, with the sections of the site.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest

from tests.site.document import ASSETS, Node, open_page, run_with_document
from tests.site.pages import ROOT

pytestmark = pytest.mark.timeout(60)

LONG = " ".join(f"word{n}" for n in range(40))


def section(url: str, page: str, heading: str, text: str = "") -> dict:
    """Return a section as the site lists it."""
    return {"url": url, "page": page, "heading": heading, "terms": "", "text": text}


SECTIONS = [
    section("book/02.html", "Attention", "Attention", "The heads come later."),
    section("book/03.html#heads", "Many heads", "Heads", f"{LONG} softmax {LONG}"),
    section("book/traps.html#h", "Heads in traps", "Heads", "Heads, and heads."),
    section(
        "book/04.html#norm", "Encoder", "Layer normalisation", "A warm-up <b>helps</b>."
    ),
    section(
        "book/07.html#s", "Translator", "Label smoothing", "Softens one-hot targets."
    ),
    *(
        section(f"book/05.html#{n}", "Positions", f"Waves {n}", "sinus")
        for n in range(35)
    ),
]
PAGE = """<div class="bd-search-container"><form class="bd-search"><input></form></div>
<div id="search-results"></div>"""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Node.js, where the search page's scripts have run."""
    sections = tmp_path_factory.mktemp("sections") / "sections.js"
    sections.write_text(
        f"var courseSections = {json.dumps(SECTIONS)};", encoding="utf-8"
    )
    (library,) = (ROOT / "book" / "vendor" / "minisearch").glob("*.js")
    with run_with_document([library, sections, ASSETS / "search.js"]) as node:
        node.evaluate(
            """() => {
              globalThis.begin = document.listeners.DOMContentLoaded.at(-1);
              globalThis.setTimeout = (use) => { use(); }; // nobody waits here
            }"""
        )
        yield node


@pytest.fixture
def search(process: Node) -> Callable:
    """A function that opens the search page with a query, and returns what is shown."""

    def found(query: str, typed: str | None = None) -> dict:
        open_page(process, PAGE, f"https://example.org/search.html?q={query}")
        process.evaluate("() => begin()")
        if typed is not None:
            process.evaluate(
                "(text) => dom.change(dom.find('input'), { value: text })", typed
            )
        return process.evaluate(
            """() => ({ status: dom.find("[role=status]").textContent, address: location.href,
              links: dom.all(".search-sections a").map((one) => one.href),
              pages: dom.texts(".search-page"), marked: dom.texts("mark"),
              excerpts: dom.texts(".search-excerpt"), field: dom.find("input").value })"""
        )

    return found


def test_a_heading_comes_first_and_a_trap_last(search: Callable) -> None:
    """ "heads" in a heading, in the text, on a page that explains no chapter."""
    found = search("heads")
    assert found["links"] == ["book/03.html#heads", "book/traps.html#h", "book/02.html"]
    assert found["status"] == "3 sections"
    assert found["pages"][0] == "Many heads"
    assert found["field"] == "heads"


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("normalization", "book/04.html#norm"),
        ("head's", "book/03.html#heads"),
        ("warmup", "book/04.html#norm"),
        ("smoothng", "book/07.html#s"),
        ("label%20smoothing", "book/07.html#s"),
        ("SOFTMAX", "book/03.html#heads"),
    ],
)
def test_other_spellings_find_it(search: Callable, query: str, url: str) -> None:
    """American, with an apostrophe, without a hyphen, with a letter missing, in capitals."""
    assert search(query)["links"][0] == url


def test_spellings_of_one_word_are_one_term(process: Node) -> None:
    """So that they count alike, and not as slips."""
    terms = {
        "Normalization": "normalisation",
        "normalizing": "normalising",
        "head's": "head",
        "head’s": "head",
        "Heads": "head",
        "loss": "loss",
        "bus": "bus",
        "size": "sise",
        "Penalties": "penalty",
        "dies": "die",
        "classes": "class",
        "batches": "batch",
    }
    assert process.evaluate("(all) => all.map(searchTerm)", list(terms)) == [
        *terms.values()
    ]
    words = process.evaluate("(text) => searchWords(text)", "a warm-up, 2 W_O")
    assert [word for word in words if word] == [
        *("a", "warm", "up", "2", "W", "O", "warmup", "WO")
    ]
    pattern = process.evaluate("(terms) => patternOf(terms).source", ["penalty"])
    assert re.search(pattern.replace("\\p{L}", "a-z"), "Two penalties", re.I)


def test_the_excerpt_is_cut_around_the_word(search: Callable) -> None:
    """At words' borders, the word marked; HTML of a text is text."""
    found = search("softmax")
    (excerpt,) = found["excerpts"]
    assert excerpt.startswith("… word")
    assert excerpt.endswith(" …")
    assert " softmax " in excerpt
    assert found["marked"] == ["softmax"]
    assert "<b>helps</b>" in search("helps")["excerpts"][0]
    assert search("helps")["marked"] == ["helps"]


def test_nothing_one_and_many_are_said(search: Callable) -> None:
    """And an empty field says nothing; what one types stands in the address."""
    assert search("")["status"] == ""
    assert search("zzz")["status"] == "No section has “zzz”. Try another word for it."
    assert search("softmax")["status"] == "One section"
    many = search("waves")
    assert many["status"] == "The 30 best sections"
    assert len(many["links"]) == 30
    typed = search("zzz", typed="label smoothing")
    assert typed["links"][0] == "book/07.html#s"
    assert typed["address"].endswith("?q=label+smoothing")
    assert search("waves", typed=" ")["links"] == []
