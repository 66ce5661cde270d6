"""The files of the built site: metadata, links, images, nothing from elsewhere, no answers."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import pytest

from tests.site.pages import (
    BASE_URL,
    CONFIG,
    PREFIX,
    ROOT,
    SPECIAL,
    documents,
    soup,
    source_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("site")]

every_document = pytest.mark.parametrize("name", documents())
every_page = pytest.mark.parametrize("name", [*documents(), *SPECIAL])

LOADING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "use": "href",
}
ANSWERS = ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS")


def meta(name: str, key: str) -> str:
    """Return the content of a page's meta tag."""
    tag = soup(name).find("meta", attrs={"property": key}) or soup(name).find(
        "meta", attrs={"name": key}
    )
    return tag["content"].strip() if tag else ""


def test_the_site_holds_these_pages_and_no_others(site: Path) -> None:
    """A page outside the table of contents would be published without anyone's knowing."""
    built = {
        str(path.relative_to(site).with_suffix(""))
        for path in site.rglob("*.html")
        if path.relative_to(site).parts[0] not in {"_static", "reports"}
    }
    assert built == {*documents(), *SPECIAL}


@every_page
def test_page_has_a_title_a_language_and_one_main_heading(name: str) -> None:
    """Search engines, tabs and screen readers need them."""
    page = soup(name)
    assert page.title.text.strip()
    assert page.html["lang"] == "en"
    headings = [
        h for h in page.select("main h1") if not h.find_parent(id="jb-print-docs-body")
    ]
    assert len(headings) == 1, [h.text for h in headings]


@every_document
def test_page_describes_itself(name: str) -> None:
    """Description, preview and canonical address; no LaTeX in what others quote."""
    description = meta(name, "description")
    assert len(description) >= 40
    assert not re.search(r"[\\$]", description), description
    assert meta(name, "og:description")
    assert meta(name, "og:title")
    assert meta(name, "og:url") == f"{BASE_URL}{name}.html"
    assert meta(name, "og:image").startswith(BASE_URL)
    assert meta(name, "og:image:alt")
    assert soup(name).find("link", rel="canonical")["href"] == f"{BASE_URL}{name}.html"


def test_preview_image_is_in_the_site(site: Path) -> None:
    """The address in og:image leads to a PNG of the size that previews use."""
    path = site / meta("index", "og:image").removeprefix(BASE_URL)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1200, 630)


def test_sitemap_lists_every_page(site: Path) -> None:
    """And neither the search page nor the page for wrong addresses."""
    tree = ElementTree.parse(site / "sitemap.xml")
    found = sorted(
        tag.text
        for tag in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")
    )
    assert found == sorted(f"{BASE_URL}{name}.html" for name in documents())


@every_page
def test_page_loads_nothing_from_elsewhere(name: str) -> None:
    """The site works offline."""
    page = soup(name)
    used = [
        tag[attribute]
        for element, attribute in LOADING.items()
        for tag in page.find_all(element)
        if tag.has_attr(attribute)
    ]
    links = page.find_all("link", href=True)
    used += [tag["href"] for tag in links if tag["rel"] not in (["canonical"],)]
    outside = [url for url in used if re.match(r"(https?:)?//", url)]
    assert not outside


def test_style_sheets_load_nothing_from_elsewhere(site: Path) -> None:
    """Fonts and icons are in the site as well."""
    for path in (site / "_static").rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(url\(\s*[\"']?|@import\s+[\"'])(https?:)?//", text), (
            path.name
        )


@every_page
def test_internal_links_and_anchors_lead_somewhere(name: str, site: Path) -> None:
    """Every relative link has its file, every fragment its element."""
    here = site / f"{name}.html"
    broken = []
    for tag in soup(name).find_all("a", href=True):
        url = urlparse(tag["href"])
        if url.scheme or url.netloc:
            continue
        path = unquote(url.path)
        if path.startswith(
            "/"
        ):  # the page for wrong addresses links by the published path
            target = site / path.removeprefix(PREFIX)
        else:
            target = (here.parent / path).resolve() if path else here
        if not target.is_file():
            broken.append(tag["href"])
        elif url.fragment and target.suffix == ".html":
            page = soup(str(target.relative_to(site).with_suffix("")))
            if not page.find(id=url.fragment) and url.fragment != "":
                broken.append(tag["href"])
    assert not broken


@every_page
def test_a_name_and_its_number_stay_on_one_line(name: str) -> None:
    """“Fig.” at the end of a line, and “1.7” at the beginning of the next, are hard to read."""
    links = [tag.text for tag in soup(name).select("a .std-numref")]
    assert not [text for text in links if " " in text]


@every_page
def test_images_have_text_alternatives(name: str) -> None:
    """Decoration has alt="" and stands in a link with text; everything else says what one sees.

    A drawing that a phone shows in parts says it once, at the first of them.
    """
    for image in soup(name).find_all("img"):
        alt = image.get("alt")
        decorative = (
            alt == "" and image.find_parent("a") and image.find_parent("a").text.strip()
        )
        parts = image.find_parent(class_="figure-parts")
        if parts and image is not parts.find("img"):
            assert (alt, image["aria-hidden"]) == ("", "true")
            continue
        assert decorative or (alt or "").strip(), image
        assert "jupyter_execute" not in (alt or ""), (
            f"a file name is no alternative: {alt}"
        )
    for drawing in soup(name).select('svg[role="img"]'):
        assert drawing.find("title") or drawing.get("aria-label"), drawing.get("class")


@every_document
def test_drawings_turn_dark(name: str) -> None:
    """Screenshots keep their colours; what a cell draws is an SVG, which follows the theme."""
    kept = soup(name).select(".cell img.keeps-colours")
    assert not kept, "set_style() of book.figures makes it an SVG"


@every_document
def test_folds_say_what_is_inside(name: str) -> None:
    """By `code_prompt_show`, where course_site.folds can read no more than that it is code."""
    said = [fold.text.strip() for fold in soup(name).select("details > summary")]
    assert not [words for words in said if words.startswith("Show the code (")]


@every_document
def test_headings_skip_no_level(name: str) -> None:
    """h1, h2, h3: in order, so that the outline can be read."""
    levels = [
        int(h.name[1]) for h in soup(name).select("article :is(h1, h2, h3, h4, h5, h6)")
    ]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@every_document
def test_nothing_unrendered_is_on_the_page(name: str) -> None:
    """No traceback, no raw directive, no unresolved reference."""
    page = soup(name)
    shown = page.find("article")
    assert "Traceback (most recent call last)" not in shown.text
    assert not shown.select(".output.traceback, .system-message, .problematic")
    prose = " ".join(p.text for p in shown.find_all("p"))
    assert not re.search(r"(:::|```)\{\w+\}|\{(numref|eq|cite:\w|ref)\}`", prose)


@pytest.mark.parametrize(
    "name", [name for name in documents() if name.startswith("exercises/")]
)
class TestExercisePage:
    """An exercise is shown without its answers, and can be taken along or opened."""

    def test_the_notebook_offered_is_the_released_one(
        self, name: str, site: Path
    ) -> None:
        """The download is a valid notebook, byte for byte what `make exercises` made."""
        link = soup(name).select_one("a.box-action[download]")
        path = (site / f"{name}.html").parent / link["href"]
        assert path.read_bytes() == source_of(name).read_bytes()
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4
        assert "NotImplementedError" in path.read_text(encoding="utf-8")

    def test_no_answer_and_no_hidden_test_is_published(
        self, name: str, site: Path
    ) -> None:
        """Neither on the page nor in the notebook nor in the search index."""
        for path in (site / f"{name}.html", site / "_sources" / f"{name}.ipynb"):
            text = path.read_text(encoding="utf-8")
            assert not [word for word in ANSWERS if word in text], path

    def test_launch_links_come_from_the_configuration(self, name: str) -> None:
        """Colab opens this notebook of the configured repository and branch."""
        repository = urlparse(CONFIG["repository"]["url"]).path
        colab = CONFIG["launch_buttons"]["colab_url"]
        branch = CONFIG["repository"]["branch"]
        links = {
            tag.text.strip(): tag["href"] for tag in soup(name).select("a.box-action")
        }
        assert (
            links["Open in Colab"]
            == f"{colab}/github{repository}/blob/{branch}/{name}.ipynb"
        )
        hub = [text for text in links if "JupyterHub" in text]
        placeholder = "example.org" in CONFIG["launch_buttons"]["jupyterhub_url"]
        assert bool(hub) != placeholder, "a placeholder leads nowhere"

    def test_cells_say_what_they_are(self, name: str) -> None:
        """Every stub is labelled as the student's, every test with its points."""
        page = soup(name)
        cells = json.loads(source_of(name).read_text(encoding="utf-8"))["cells"]
        kinds = [
            c["metadata"]["nbgrader"]
            for c in cells
            if "nbgrader" in c["metadata"] and c["cell_type"] == "code"
        ]
        answers = sum(kind["solution"] for kind in kinds)
        tests = sum(kind["grade"] and not kind["solution"] for kind in kinds)
        assert len(page.select(".exercise-answer .exercise-label")) == answers > 0
        assert len(page.select(".exercise-test .exercise-label")) == tests > 0


class TestLandingPage:
    """The front page says only what is true now."""

    def test_open_chapters_are_the_chapters_that_exist(self) -> None:
        """The syllabus links a chapter as soon as, and only when, it is in the book."""
        items = soup("index").select("ol.syllabus > li")
        shown = {
            int(item.select_one(".number").text): item.select_one("a") for item in items
        }
        chapters = {
            int(match[1]): name
            for name in documents()
            if (match := re.match(r"book/(\d\d)-", name))
        }
        opened = {number: link["href"] for number, link in shown.items() if link}
        assert opened == {number: f"{name}.html" for number, name in chapters.items()}
        for item in items:
            expected = "" if item.select_one("a") else "planned"
            assert item.select_one(".state").text == expected

    def test_the_code_on_the_front_page_runs(self) -> None:
        """The first Python block, as written; it ends in an assertion."""
        text = (ROOT / "index.md").read_text(encoding="utf-8")
        code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
        assert code.strip().splitlines()[-1].startswith("assert ")
        exec(compile(code, "index.md", "exec"), {})

    def test_the_three_doors_open(self) -> None:
        """Read, do, teach: each card leads on."""
        cards = soup("index").select(".sd-card")
        titles = [card.select_one(".sd-card-title").text.strip() for card in cards]
        assert titles == ["Read", "Do", "Teach"]
        assert all(card.select_one("a[href]") for card in cards)
