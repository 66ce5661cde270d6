"""Search by section: the right one first or second, quoted in words, from the disk too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.site.document import run_with_document
from tests.site.pages import ROOT, documents, soup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

QUESTIONS = ROOT / "tests" / "site" / "queries.tsv"
FIND = """(queries) => {
  const index = makeIndex(courseSections);
  const found = (query) => findSections(index, courseSections, query);
  return queries.map((query) => found(query).map(({ id }) => courseSections[id].url));
}"""
#: What somebody types, and where the answer stands: a page, or a section of it.
QUERIES = {
    "positional encoding": "book/05-positions.html",
    "label smoothing": "book/07-translator.html#label-smoothing-twice-defined",
    "softmax axis": "book/02-self-attention.html#trap-a-softmax-over-the-wrong-axis",
    "layer norm": "book/04-encoder.html",
    "beam search": "book/07-translator.html#greedy-or-beam",
    "byte pair encoding": "book/07-translator.html#pieces-of-words",
    "causal mask": "book/06-decoder.html#the-causal-mask",
    "warmup": "book/04-encoder.html#warming-up",
    "dropout": "book/04-encoder.html#dropout",
    "kv cache": "book/06-decoder.html#step-by-step-with-a-cache",
    "residual connections": "book/04-encoder.html#add-do-not-replace",
    "BLEU score": "book/07-translator.html#how-good-is-it",
    "why divide by sqrt d_k": "book/02-self-attention.html#why-divide-by-sqrt-d-k",
    "canvas": "book/teaching-lms.html#canvas-from-empty-to-graded",
    "moodle": "book/teaching-lms.html#moodle-from-empty-to-graded",
    "linear attention": "exercises/02-self-attention/self-attention.html#task-6-linear-attention",
    "Canvas grades": "book/teaching-lms.html#canvas-from-empty-to-graded",
    "teacher forcing": "book/01-rnn-attention.html#teach-it",
    "tokenization": "book/07-translator.html#pieces-of-words",
    "vision transformer": "book/08-one-block-many-models.html#an-image-is-a-sentence-of-patches",
    "scaled dot-product attention": "book/02-self-attention.html#attention-complete",
    "cross attention": "book/06-decoder.html#looking-at-the-source",
    "feed forward network": "book/04-encoder.html#a-network-for-each-word",
    "how to install": "book/setup.html",
    "rotary": "book/05-positions.html#rotary-positions",
    "gradient clipping": "book/07-translator.html#what-makes-it-fast",
    "mixed precision": "book/07-translator.html#what-makes-it-fast",
    "bucketing": "book/07-translator.html#batches-of-equally-many-tokens",
    "softmax temperature": "book/08-one-block-many-models.html#temperature-and-top-k",
    "number of heads": "book/03-multi-head-attention.html#what-a-head-costs",
    "what is a token": "book/07-translator.html#pieces-of-words",
    "why mask the future": "book/06-decoder.html#the-causal-mask",
    "how to submit an exercise": "book/setup.html#doing-an-exercise",
    "seq2seq": "book/01-rnn-attention.html#one-vector-for-a-sentence",
    # Words that no page has: search.toml knows them.
    "vanishing gradient rnn": "book/01-rnn-attention.html#one-vector-for-a-sentence",
    "attention weights sum to one": "book/01-rnn-attention.html#looking-back",
    "bahdanau attention": "book/01-rnn-attention.html#six-ways-to-score",
    "alignment": "book/01-rnn-attention.html#where-it-looks",
    "quadratic complexity": "book/02-self-attention.html#what-it-costs",
    "prune heads": "book/03-multi-head-attention.html#remove-one-head-at-a-time",
    "skip connection": "book/04-encoder.html#add-do-not-replace",
    "length generalization": "book/05-positions.html#longer-than-in-training",
    "what is a transformer": "book/06-decoder.html#the-whole-model",
    "learning rate schedule": "book/07-translator.html#a-rate-that-rises-first",
    "contrastive learning": "book/08-one-block-many-models.html#the-loss",
    "glossary": "book/notation.html",
    "padding mask": "book/02-self-attention.html#the-mask-of-a-padded-batch",
    "prerequisites": "index.html#who-it-is-for",
    "docker": "book/teaching-lms.html#a-hub-of-your-own",
    "sentiment": "book/08-one-block-many-models.html#a-label-for-a-text",
    "regrade": "book/teaching.html#points-by-hand-and-grading-again",
    "oversmoothing": "book/04-encoder.html#words-that-grow-alike",
    "over-smoothing": "book/04-encoder.html#words-that-grow-alike",
    "submit assignment": "book/setup.html#doing-an-exercise",
    "how do I check my answer": "book/setup.html#doing-an-exercise",
}


@pytest.mark.parametrize("origin", ["server", "disk"])
def test_the_right_section_is_first_or_second(
    origin: str, server: str, site: Path, new_context: Callable
) -> None:
    """Each is typed into the page's field, and quoted with one of its words marked."""
    page = new_context().new_page()
    base = server if origin == "server" else f"{site.as_uri()}/"
    page.goto(f"{base}search.html")
    field = page.locator(".bd-search-container form.bd-search input")
    status = page.locator("#search-results [role=status]")
    missed = {}
    for query, wanted in QUERIES.items():
        field.fill("")
        page.wait_for_function(
            "document.querySelector('[role=status]').textContent === ''"
        )
        field.fill(query)
        page.locator(".search-sections li").first.wait_for()
        assert "section" in status.inner_text()
        links = page.locator(".search-sections a").evaluate_all(
            "all => all.slice(0, 2).map(a => a.getAttribute('href'))"
        )
        if not any(link.startswith(wanted) for link in links):
            missed[query] = links
    assert not missed
    assert page.locator(".search-sections mark").count()


def test_questions_of_a_stranger_find_their_section(site: Path) -> None:
    """Most of them, in the first place or the first three.

    queries.tsv: what somebody typed who knew the pages, and neither the search nor its words, with
    one or two sections that answer it. It measures the rules of search.js: no word of search.toml
    may come from there.
    """
    static = site / "_static"
    names = ("minisearch.js", "course-sections.js", "search.js")
    rows = [line.split("\t") for line in QUESTIONS.read_text("utf-8").splitlines()]
    with run_with_document([static / name for name in names]) as node:
        found = node.evaluate(FIND, [query for query, *_ in rows])
    places = []
    for urls, (_, *answers) in zip(found, rows, strict=True):
        right = {f"book/{one.replace('#', '.html#')}" for one in answers if one}
        places.append(next((n for n, url in enumerate(urls, 1) if url in right), 99))
    first, three = sum(n == 1 for n in places), sum(n <= 3 for n in places)
    assert len(places) == 80
    assert (first >= 0.75 * 80, three >= 0.85 * 80) == (True, True), (first, three)


def test_what_nobody_wrote_is_not_found(server: str, new_context: Callable) -> None:
    """It says so, and how many sections it found otherwise."""
    page = new_context().new_page()
    page.goto(f"{server}search.html?q={quote('zyzzyva')}")
    status = page.locator("#search-results [role=status]")
    assert "zyzzyva" in status.inner_text()
    assert page.locator(".search-sections li").count() == 0
    page.locator(".bd-search-container form.bd-search input").fill("polarities")
    page.wait_for_url("**/search.html?q=polarities")
    page.locator(".search-sections li").first.wait_for()
    found = page.locator(".search-sections li").count()
    assert re.match(rf"{found} sections|One section", status.inner_text())


def test_every_section_is_in_the_index_once_and_readable(site: Path) -> None:
    """Of every page; without LaTeX, code, or the text of links to claims."""
    text = (site / "_static" / "course-sections.js").read_text(encoding="utf-8")
    entries = json.loads(text.removeprefix("var courseSections = ").rstrip(";\n"))
    by_url = {entry["url"]: entry for entry in entries}
    assert len(by_url) == len(entries)
    for name in documents():
        wanted = {
            f"{name}.html#{section['id']}"
            for section in soup(name).select("article section")
            if section.find(re.compile("^h[1-6]$"), recursive=False)
        }
        assert wanted
        assert wanted == {url for url in by_url if url.startswith(f"{name}.html#")}
    for entry in entries:
        said = f"{entry['heading']} {entry['text']}"
        assert not re.search(r"\\(frac|text|operatorname|sqrt|mathrm)\b|#$", said), said
        if entry["url"].startswith("book/0"):  # a page is called so
            assert "how we know" not in said, entry["url"]
    assert sum(bool(entry["text"]) for entry in entries) > 0.9 * len(entries)


def test_an_excerpt_shows_markup_as_text(server: str, new_context: Callable) -> None:
    """A text with tags in it is shown, and not made part of the page."""
    page = new_context().new_page()
    page.goto(f"{server}search.html")
    line = page.evaluate(
        """excerpt(
            'before <img src=x onerror=alert(1)> attention', patternOf(['attention'])
        ).outerHTML"""
    )
    assert "<img" not in line
    assert "&lt;img" in line
    assert "<mark>attention</mark>" in line
