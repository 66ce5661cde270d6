"""What the site consists of: read from _toc.yml and _config.yml, so that new pages are covered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlparse

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
BASE_URL = CONFIG["html"]["baseurl"]
#: The path under which the site is published; the page for wrong addresses relies on it.
PREFIX = urlparse(BASE_URL).path
#: Pages that Sphinx makes by itself.
SPECIAL = ["search", "404"]
#: Takes away all of a page but what some selectors find: each key pressed lays it out anew.
KEEP_ONLY = """selectors => {
  const kept = [...document.querySelectorAll(selectors.join(", "))];
  for (const e of document.querySelectorAll("body *"))
    if (e.isConnected && !kept.some((one) => one.contains(e) || e.contains(one))) e.remove();
}"""


def documents() -> list[str]:
    """Return the pages of the table of contents, without suffix, in order."""
    return list(_walk(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))


def _walk(entry: dict) -> Iterator[str]:
    name = entry.get("file", entry.get("root"))
    if name:
        yield name.removesuffix(".ipynb").removesuffix(".md")
    for key in ("parts", "chapters", "sections", "subtrees", "entries"):
        for child in entry.get(key, []):
            yield from _walk(child)


def source_of(document: str) -> Path:
    """Return the file that a page is made from."""
    return next(
        path
        for suffix in (".ipynb", ".md")
        if (path := ROOT / f"{document}{suffix}").exists()
    )


@cache
def soup(name: str) -> BeautifulSoup:
    """Return the parsed HTML of a page of the built site."""
    return BeautifulSoup(
        (SITE / f"{name}.html").read_text(encoding="utf-8"), "html.parser"
    )
