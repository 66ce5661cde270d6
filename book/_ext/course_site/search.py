"""Search by section: what the search page looks through, written as a script.

Sphinx's own search ranks whole pages, and quotes LaTeX and code. Here each section of each page
is an entry with its page's title, its heading and its text, without formulas, code and outputs,
and the other words for it that search.toml lists.
MiniSearch (book/vendor/minisearch) makes the index in the reader's browser, from file:// too, and
assets/search.js shows what it finds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

from lxml import html
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

LIBRARY = Path(__file__).parents[2] / "vendor" / "minisearch" / "minisearch.js"
DATA = "course-sections.js"
OTHERS = "book/_ext/course_site/search.toml"
INLINE = {"a", "b", "code", "em", "i", "kbd", "span", "strong", "sub", "sup"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
#: Code, pictures, controls; and of elements of a class: printed tables, links to claims.
SKIPPED_TAGS = {"pre", "script", "style", "svg", "button", "form", "summary"}
SKIPPED_CLASSES = {"headerlink", "claim-mark", "admonition-title", "dataframe"}
#: The longest formula that reads well without its layout, in characters.
SHORT = 12


def sections(
    page: Path, address: str, others: dict[str, list[str]]
) -> Iterator[dict[str, str]]:
    """Yield the sections of a written page, the page itself first.

    Each has `url`, `page` (the page's title), `heading`, `terms` (what stands in bold, where a
    chapter introduces a word, and what `others` has for it, by its id) and `text`.
    """
    tree = html.parse(str(page), html.HTMLParser(encoding="utf-8"))
    title = ""
    for section in tree.xpath("//article//section"):
        heading = next((child for child in section if child.tag in HEADINGS), None)
        if heading is None:
            continue
        name = plain(text_of(heading))
        title = title or name
        bold: list[str] = []
        own = [child for child in section if child is not heading]
        text = "".join(text_of(child, bold) for child in own if child.tag != "section")
        yield {
            "url": f"{address}#{section.get('id')}",
            "page": title,
            "heading": name,
            "terms": plain(", ".join([*bold, *others.get(section.get("id"), [])])),
            "text": plain(text),
        }


def text_of(element: html.HtmlElement, bold: list[str] | None = None) -> str:
    """Return an element's text as one reads it, and add to `bold` what stands in bold."""
    # The tag of a comment is a function.
    if not isinstance(element.tag, str) or element.tag in SKIPPED_TAGS:
        return " "
    classes = set(element.get("class", "").split())
    if classes & SKIPPED_CLASSES:
        return " "
    if "katex" in classes:
        return formula(element)
    text = element.text or ""
    for child in element:
        text += text_of(child, bold) + (child.tail or "")
    if element.tag in {"strong", "dfn"} and bold is not None:
        bold.append(text)
    return text if element.tag in INLINE else f" {text} "


def formula(element: html.HtmlElement) -> str:
    """Return a short formula's characters, and dots for a long one."""
    parts = element.xpath(
        ".//math/semantics/*[1]//text() | .//math/semantics/*[1]//msqrt"
    )
    text = "".join(part if isinstance(part, str) else "√" for part in parts)
    return text if len(text) <= SHORT else "…"


def plain(text: str) -> str:
    """Return a text on one line, no space before a mark that ends a word."""
    return re.sub(r" ([.,;:?!)])(?!\w)", r"\1", " ".join(text.split()))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write all sections of all pages that stand in the site."""
    if exception or app.builder.format != "html":
        return
    found = []
    path = Path(app.srcdir, OTHERS)
    others = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in sorted(app.env.found_docs):
        page = Path(app.builder.get_outfilename(name))
        if page.exists():
            course = not name.startswith("exercises/")  # which name no chapter
            own = others.pop(Path(name).name, {}) if course else {}
            new = list(sections(page, app.builder.get_target_uri(name), own))
            for missing in own.keys() - {one["url"].partition("#")[2] for one in new}:
                logger.warning("%s: %s has no section called %s", OTHERS, name, missing)
            found += new
    for name in others:
        logger.warning("%s: there is no page called %s", OTHERS, name)
    static = Path(app.outdir, "_static")
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    # In a script, "</script>" and the two line ends that JSON allows need care.
    text = text.replace("</", "<\\/").replace("\u2028", " ").replace("\u2029", " ")
    (static / DATA).write_text(f"var courseSections = {text};\n", encoding="utf-8")
    copyfile(LIBRARY, static / LIBRARY.name)


def setup(app: Sphinx) -> None:
    """Come when all pages are written."""
    app.connect("build-finished", write)
