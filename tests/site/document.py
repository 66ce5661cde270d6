"""Runs the site's scripts in Node.js with a document to work on (dom.js), without a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from bs4 import BeautifulSoup, Tag

from tests.site.node import Node, run_in_node
from tests.site.pages import ROOT

ASSETS = ROOT / "book" / "assets"
LIVE = ASSETS / "live"
ADDRESS = "https://example.org/book/page.html"
DOCUMENT = Path(__file__).with_name("dom.js")


@contextmanager
def run_with_document(scripts: Iterable[Path]) -> Iterator[Node]:
    """Yield a process of Node.js in which scripts have run that a page would have loaded."""
    with run_in_node([DOCUMENT, *scripts]) as node:
        yield node


def tree(element: Tag) -> list:
    """Return an element as dom.build takes it: [tag, attributes, children]."""
    attributes = {
        name: " ".join(value) if isinstance(value, list) else value
        for name, value in element.attrs.items()
    }
    children = [
        tree(child) if isinstance(child, Tag) else str(child)
        for child in element.children
    ]
    return [element.name, attributes, children]


def open_page(node: Node, html: str, address: str = ADDRESS) -> None:
    """Show a page with this body; the scripts learn of it by `dom.begin()`."""
    soup = BeautifulSoup(f"<body>{html}</body>", "html.parser")
    node.evaluate("(all) => dom.open(...all)", [tree(soup.body)[2], address])


def extension() -> ModuleType:
    """Return what puts the translator into its page."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    try:
        from course_site import live_translator
    finally:
        sys.path.pop(0)
    return live_translator


def live_scripts(last: str) -> list[Path]:
    """Return the scripts of the translator's page in its order, up to one of them."""
    names = extension().SCRIPTS
    return [LIVE / f"{name}.js" for name in names[: names.index(last) + 1]]


def translator_html(**more: object) -> str:
    """Return the controls of the translator's page, as the site has them."""
    manifest = {
        "scripts": {"words.js": 1_000_000, "part-01.js": 2_000_000},
        "parameters": 5_000_000,
        "longest": 60,
        "alpha": 1.0,
        "beamSize": 2,
    }
    return extension().fill_in(manifest | more, ["Ein Hund.", "Guten Morgen!"])


def open_translator(node: Node) -> None:
    """Show the translator's controls, none of them hidden, for a view alone.

    `root` is their element; `said` and `asked` are lists for what the view tells the page.
    """
    open_page(node, translator_html())
    node.evaluate(
        """() => {
          for (const name of ["translator", "work", "after"]) {
            dom.find(`.live-${name}`).hidden = false;
          }
          Object.assign(globalThis, { root: dom.find(".live-translator"), said: [], asked: [] });
        }"""
    )
