"""The book as a PDF: three pages of the site, printed as all of it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, IndirectObject, NameObject

from tests.site.pages import ROOT
from tools import pdf

PAGES = (
    "book/notation.ipynb",
    "book/02-self-attention.ipynb",
    "book/bibliography",
)
MILLIMETRE = 72 / 25.4

pytestmark = pytest.mark.slow


def course(folder: Path, pages: tuple[str, ...]) -> Path:
    """Make the root of a course with these pages alone; return it."""
    chapters = [{"file": page} for page in pages]
    toc = {
        "root": "index",
        "parts": [
            {"caption": "Chapters", "chapters": chapters},
            {"caption": "Exercises", "chapters": [{"file": "not-there"}]},
        ],
    }
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    (folder / "_config.yml").write_text(config, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def printed(site: Path, browser: object, tmp_path_factory) -> PdfReader:
    """The PDF of three pages."""
    folder = tmp_path_factory.mktemp("pdf")
    out = folder / "course.pdf"
    pages = pdf.make(course(folder, PAGES), site, out, browser.new_page())
    assert sorted(path.name for path in folder.iterdir()) == [
        "_config.yml",
        "_toc.yml",
        "course.pdf",
    ]
    reader = PdfReader(out)
    assert len(reader.pages) == pages
    return reader


def outline(items: list, level: int = 1) -> list[tuple[int, object]]:
    """Return an outline's entries with their levels."""
    found = []
    for item in items:
        if isinstance(item, list):
            found += outline(item, level + 1)
        else:
            found.append((level, item))
    return found


def test_every_font_is_embedded(printed: PdfReader) -> None:
    assert any(pdf.fonts(page) for page in printed.pages)
    assert pdf.not_embedded(printed) == []


def test_a_font_that_is_not_embedded_is_named(
    site: Path, browser, tmp_path: Path, monkeypatch
) -> None:
    def typewritten(page: object, source: Path, out: Path) -> None:
        """Write a PDF with a font that each reader is thought to have."""
        sheet = PageObject.create_blank_page(width=595, height=842)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Courier"}
        name, one = NameObject("/F1"), DictionaryObject()
        one.update({NameObject(k): NameObject(v) for k, v in font.items()})
        inner = DictionaryObject({name: one})
        resources = DictionaryObject({NameObject("/Font"): inner})
        sheet[NameObject("/Resources")] = resources
        writer = PdfWriter()
        writer.add_page(sheet)
        writer.write(out)

    monkeypatch.setattr(pdf, "print_document", typewritten)
    monkeypatch.setattr(pdf, "first_pages", lambda *_: {})
    root = course(tmp_path, PAGES[:1])
    with pytest.raises(pdf.PdfError, match=r"aren't in the file: /Courier \(page 1\)"):
        pdf.make(root, site, tmp_path / "course.pdf", browser.new_page())
    assert not list(tmp_path.glob("*course*"))


def test_nothing_reaches_into_the_right_margin(printed: PdfReader) -> None:
    """Code is widest: its letters are all 0.6 of their size wide."""
    widest = 0.0
    for number, page in enumerate(printed.pages, start=1):
        limit = float(page.mediabox.width) - 15 * MILLIMETRE

        def look(text, matrix, text_matrix, font, size, limit=limit, number=number):
            nonlocal widest
            name = str(font["/BaseFont"]) if font else ""
            if "Mono" not in name or not text.strip():
                return
            scale = abs(matrix[0] * text_matrix[0])
            left = matrix[0] * text_matrix[4] + matrix[4]
            for line in text.splitlines():
                right = left + 0.6 * scale * size * len(line.rstrip())
                widest = max(widest, right / limit)
                assert right <= limit, f"page {number}: {line!r}"

        page.extract_text(visitor_text=look)
    assert widest > 0.5, "some code was measured"


def test_links_stay_inside_or_lead_to_the_website(printed: PdfReader) -> None:
    known = {name.removeprefix("/") for name in printed.named_destinations}
    inside = outside = 0
    for page in printed.pages:
        for annotation in page.get("/Annots", []):
            link = annotation.get_object()
            if link.get("/Subtype") != "/Link":
                continue
            action = link.get("/A", {})
            if uri := action.get("/URI"):
                assert uri.startswith(("https://", "http://")), uri
                outside += 1
                continue
            target = link.get("/Dest", action.get("/D"))
            if not isinstance(target, IndirectObject | list):
                assert str(target).removeprefix("/") in known, target
            inside += 1
    assert inside > 50
    assert outside > 10


def test_contents_and_outline_tell_the_right_pages(printed: PdfReader) -> None:
    contents = printed.pages[0].extract_text()
    at = {
        item.title: printed.get_destination_page_number(item)
        for level, item in outline(printed.outline)
        if level == 1
    }
    titles = [title for title in at if title in contents][
        1:
    ]  # the book's own comes first
    assert [title.split(". ")[-1] for title in titles] == [
        "Notation",
        "Self-attention",
        "Bibliography",
    ]
    for title in titles:
        number = int(re.search(rf"{re.escape(title)}\s*(\d+)", contents)[1])
        assert number == at[title] + 1
        assert title in printed.pages[number - 1].extract_text()


def test_nothing_of_the_screen_is_printed(printed: PdfReader) -> None:
    text = "\n".join(page.extract_text() for page in printed.pages)
    assert "Show what happens" not in text
    assert "Hide code cell source" not in text
    assert "Predict first" in text
    assert "scaled_dot_product_attention" in text


def test_what_is_wider_than_the_paper_is_named(
    site: Path, browser, tmp_path: Path, monkeypatch
) -> None:
    style = tmp_path / "wide.css"
    style.write_text(f"{pdf.STYLE.read_text()}\npre {{ width: 300mm; }}")
    monkeypatch.setattr(pdf, "STYLE", style)
    root = course(tmp_path, PAGES[:1])
    with pytest.raises(
        pdf.PdfError, match="wider than the paper: book-notation: <pre>"
    ):
        pdf.make(root, site, tmp_path / "course.pdf", browser.new_page())
    assert not list(tmp_path.glob("*course*"))


def test_a_page_that_was_not_built(site: Path, browser, tmp_path: Path) -> None:
    root = course(tmp_path, ("book/notation.ipynb", "book/missing"))
    with pytest.raises(pdf.PdfError, match=r"missing\.html: the built site lacks"):
        pdf.make(root, site, tmp_path / "course.pdf", browser.new_page())
    assert not list(tmp_path.glob("*course*"))
