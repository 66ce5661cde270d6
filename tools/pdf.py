"""Print the book as one PDF beside the website: ``make pdf``.

The pages of the built site are put into one document, whose links stay inside it, and Chromium
prints that. It prints twice: the first time tells on which page each chapter begins.
"""

import argparse
import posixpath
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Error, sync_playwright
from pypdf import PageObject, PdfReader

from tools import build_book, chromium

ROOT = Path(__file__).resolve().parent.parent
STYLE = Path(__file__).with_suffix(".css")
#: Parts of the table of contents that are printed; exercises are done, not read.
PARTS = ("Start here", "Chapters", "Reference")
NAME = "course.pdf"  # as in book/_ext/course_site/course_pdf.py
#: A4 less its margins, in CSS pixels.
TEXT_WIDTH = int((210 - 2 * 18) / 25.4 * 96)
#: What reaches beyond the text, innermost, and the page that it is on.
TOO_WIDE = """width => [...document.querySelectorAll("article.bd-article")]
  .filter(article => article.scrollWidth > width)
  .map(article => {
    const wide = [...article.querySelectorAll(":not(.katex *)")]
      .filter(tag => tag.getBoundingClientRect().right > width + 1).at(-1) ?? article;
    return `${article.id}: <${wide.localName}> ${wide.textContent.trim().slice(0, 60)}`;
  })"""
FOOTER = (
    '<div style="width: 100%; text-align: center; font: 8pt sans-serif; color: #555">'
    '<span class="pageNumber"></span></div>'
)
#: What only a screen can use, and cells that the site folds: their figures and tables stay.
LEFT_OUT = (
    "script, noscript, button, input, .headerlink, details.above-input, .predict-verdict, "
    ".quiz-verdict, .quiz-foot, .course-exercise-box .box-actions"
)


class PdfError(Exception):
    """The book cannot be printed; the message says why, and what to do."""


def printed_pages(toc: dict) -> list[tuple[str, list[str]]]:
    """Return the printed parts of a table of contents: captions, and their pages' names."""
    return [
        (
            part["caption"],
            [posixpath.splitext(chapter["file"])[0] for chapter in part["chapters"]],
        )
        for part in toc["parts"]
        if part["caption"] in PARTS
    ]


def anchor(page: str, fragment: str = "") -> str:
    """Return the one document's id for a page, or for an id on it."""
    return f"{page.replace('/', '-')}--{fragment}".removesuffix("--")


def rename_ids(article: Tag, page: str) -> None:
    """Make the ids of a page differ from those of all others, and what points to them follow."""
    for tag in article.find_all(id=True):
        tag["id"] = anchor(page, tag["id"])
    for name in ("for", "aria-labelledby", "aria-describedby"):
        for tag in article.find_all(attrs={name: True}):
            ids = tag[name] if isinstance(tag[name], list) else tag[name].split()
            tag[name] = " ".join(anchor(page, id) for id in ids)


def turn_links(article: Tag, page: str, printed: set[str], website: str) -> None:
    """Point links to printed pages into the document, and others to the published site."""
    for tag in article.find_all("a", href=True):
        parts = urlsplit(tag["href"])
        if parts.scheme:
            continue
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(page), parts.path)
            if parts.path
            else f"{page}.html"
        )
        name = target.removesuffix(".html")
        if name in printed:
            tag["href"] = f"#{anchor(name, parts.fragment)}"
        else:
            fragment = f"#{parts.fragment}" if parts.fragment else ""
            tag["href"] = urljoin(website, target) + fragment


def read_page(site: Path, page: str, printed: set[str], website: str) -> Tag:
    """Return a page's article, ready to stand in the document."""
    path = site / f"{page}.html"
    if not path.is_file():
        raise PdfError(
            f"{path}: the built site lacks this page, which _toc.yml has; run make book"
        )
    article = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml").find("article")
    for tag in article.select(LEFT_OUT):
        tag.decompose()
    for tag in article.find_all("details"):
        tag["open"] = ""
    rename_ids(article, page)
    turn_links(article, page, printed, website)
    for tag in article.find_all("img", src=True):
        folder = site / posixpath.dirname(page)
        tag["src"] = (folder / tag["src"]).resolve().as_uri()
        tag.attrs.pop("loading", None)  # what is not on the screen is printed, too
    article["id"] = anchor(page)
    return article


def contents(
    parts: list[tuple[str, list[str]]],
    titles: dict[str, str],
    numbers: dict[str, int],
) -> str:
    """Return the table of contents as HTML, with page numbers where they are known."""
    lines = []
    for caption, pages in parts:
        lines.append(f'<p class="part">{caption}</p><ol>')
        lines += [
            f'<li><a href="#{anchor(page)}">{titles[page]}</a>'
            f"<span>{numbers.get(page, '')}</span></li>"
            for page in pages
        ]
        lines.append("</ol>")
    return "\n".join(lines)


def document(
    site: Path, config: dict, toc: dict, numbers: dict[str, int]
) -> tuple[str, list[str]]:
    """Return the whole book as HTML, and the names of its pages in order."""
    parts = printed_pages(toc)
    pages = [page for _, names in parts for page in names]
    website = config["html"]["baseurl"]
    articles = {page: read_page(site, page, set(pages), website) for page in pages}
    titles = {page: article.h1.get_text().strip() for page, article in articles.items()}
    styles = "".join(
        f'<link rel="stylesheet" href="{path.as_uri()}">'
        for path in (
            site / "_static" / "site.css",
            *sorted((site / "_static" / "katex").glob("*.css")),
            STYLE,
        )
    )
    title = config["title"]
    body = "\n".join(str(article) for article in articles.values())
    return (
        f'<!DOCTYPE html><html lang="en" data-theme="light" data-mode="light"><head>'
        f'<meta charset="utf-8"><title>{title}</title>{styles}</head><body>'
        f'<section class="title-page"><h1>{title}</h1>'
        f'<p><a href="{website}">{website}</a></p>'
        "<p>The website has the exercises, the code behind the figures, and figures "
        "that answer.</p>"
        f"<nav>{contents(parts, titles, numbers)}</nav></section>"
        f'<main class="bd-article-container">{body}</main></body></html>'
    ), pages


def print_document(page: object, source: Path, out: Path) -> None:
    """Print an HTML file by an open page of Chromium.

    Raises PdfError where something is wider than the paper: Chromium would print all smaller.
    """
    page.emulate_media(media="print")
    page.set_viewport_size({"width": TEXT_WIDTH, "height": 1000})
    page.goto(source.as_uri(), wait_until="load", timeout=300_000)
    page.evaluate("document.fonts.ready")
    if wide := page.evaluate(TOO_WIDE, TEXT_WIDTH):
        raise PdfError(
            f"wider than the paper: {'; '.join(wide[:5])}: mend it in tools/pdf.css, or on the page"
        )
    page.pdf(
        path=out,
        format="A4",
        margin={"top": "18mm", "bottom": "18mm", "left": "18mm", "right": "18mm"},
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
        print_background=True,
        outline=True,
        tagged=True,
    )


def first_pages(pdf: Path, pages: list[str]) -> dict[str, int]:
    """Return the number of the page in the PDF on which each page of the site begins."""
    reader = PdfReader(pdf)
    found = reader.named_destinations
    return {
        page: reader.get_destination_page_number(found[f"/{anchor(page)}"]) + 1
        for page in pages
    }


def fonts(page: PageObject) -> list[dict]:
    """Return the fonts of a page, descendants in place of composite ones."""
    found = []
    for reference in page.get("/Resources", {}).get("/Font", {}).values():
        font = reference.get_object()
        inner = font.get("/DescendantFonts")
        found.append(inner[0].get_object() if inner else font)
    return found


def not_embedded(reader: PdfReader) -> list[str]:
    """Name the fonts that a reader's machine must have, each with its first page."""
    found: dict[str, int] = {}
    for number, page in enumerate(reader.pages, start=1):
        for font in fonts(page):
            # The glyphs of a Type 3 font are drawings in the file.
            keys = font.get("/FontDescriptor", {}).keys()
            inside = {"/FontFile", "/FontFile2", "/FontFile3"} & set(keys)
            if font["/Subtype"] != "/Type3" and not inside:
                found.setdefault(str(font["/BaseFont"]), number)
    return [f"{name} (page {number})" for name, number in found.items()]


def make(root: Path, site: Path, out: Path, page: object) -> int:
    """Print the site of a course by an open page of Chromium; return the number of pages.

    ``out`` appears when it is whole. Raises PdfError where the site lacks a page, or a font isn't
    in the file.
    """
    config, toc = (
        yaml.safe_load((root / name).read_text(encoding="utf-8"))
        for name in ("_config.yml", "_toc.yml")
    )
    source, draft = (out.with_name(f".{out.stem}{end}") for end in (".html", ".part"))
    numbers: dict[str, int] = {}
    try:
        for _ in range(2):
            html, pages = document(site, config, toc, numbers)
            source.write_text(html, encoding="utf-8")
            print_document(page, source, draft)
            numbers = first_pages(draft, pages)
        reader = PdfReader(draft)
        if lacking := not_embedded(reader):
            raise PdfError(f"fonts that aren't in the file: {', '.join(lacking)}")
        draft.replace(out)
    finally:
        source.unlink(missing_ok=True)
        draft.unlink(missing_ok=True)
    return len(reader.pages)


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(argv).root.resolve()
    if status := build_book.main(["--root", str(root)]):
        return status
    site = root / "_build" / "html"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium.find(), args=["--no-sandbox"]
            )
            pages = make(root, site, site / NAME, browser.new_page())
    except PdfError as error:
        print(error, file=sys.stderr)
        return 1
    except Error as error:
        print(
            f"Chromium did not print the book: {str(error).splitlines()[0]}\n"
            f"({chromium.INSTALL})",
            file=sys.stderr,
        )
        return 1
    # The landing page links what is there: it is written once more.
    if status := build_book.main(["--root", str(root), "--keep-pdf"]):
        return status
    print(f"{pages} pages: {site / NAME}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
