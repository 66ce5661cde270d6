"""Tables of phrases: on a phone a card for each row, which needs each cell's column by name.

Numbers are compared down a column, and such a table scrolls in its box. Phrases in several columns
are read along a row, of which a phone would show a part. The style sheet lays those out as cards;
a browser may then forget that they are tables, so their parts say what they are.
"""

from __future__ import annotations

import re
from typing import Any

from lxml import html
from sphinx.application import Sphinx

TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
#: KaTeX writes a formula for the eye, for the ear, and as TeX.
TEXT = ".//text()[not(ancestor::*[@class='katex-html' or self::annotation])]"
PHRASE = 10  # characters of a cell, in the mean
ROW = 40  # characters of a row behind its first cell, in the mean: fewer fit a phone


def name_cells(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give each table of phrases on a page what cards need."""
    if app.builder.format == "html" and "body" in context:
        context["body"] = TABLE.sub(lambda found: named(found[0]), context["body"])


def named(text: str) -> str:
    """Return a table's HTML, with roles and columns' names if it is one of phrases."""
    table = html.fragment_fromstring(text)
    names = [words(head) for head in table.xpath("./thead/tr[last()]/*")]
    rows = table.xpath("./tbody/tr")
    cells = [len(words(cell)) for row in rows for cell in row[1:]]
    mean = sum(cells) / max(len(cells), 1)
    if mean <= PHRASE or mean * (len(names) - 1) <= ROW or len(names) < 3:
        return text
    if any(len(row) != len(names) for row in rows):  # a cell over several columns
        return text
    table.classes.add("is-cards")
    table.set("role", "table")
    for row in table.iter("tr"):
        row.set("role", "row")
        for cell, name in zip(row, names, strict=False):
            is_head = row.getparent().tag == "thead"
            cell.set("role", "columnheader" if is_head else "cell")
            if name and words(cell) and cell is not row[0] and not is_head:
                cell.set("data-column", name)
    return html.tostring(table, encoding="unicode", with_tail=False)


def words(cell: html.HtmlElement) -> str:
    """Return a cell's text on one line, each formula once."""
    return " ".join("".join(cell.xpath(TEXT)).split())


def setup(app: Sphinx) -> None:
    """Work on the finished HTML of each page."""
    app.connect("html-page-context", name_cells)
