"""Mend what axe-core finds in the HTML of the theme and of the libraries."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

MENDS = (
    # A <summary> may not be renamed: its visible text is its name.
    (re.compile(r'(<summary)\s+aria-label="[^"]*"'), r"\1"),
    # sphinxcontrib-bibtex's list is not made of list items.
    (re.compile(r'<div role="list" (class="citation-list")'), r"<div \1"),
    (re.compile(r'(<div [^>]*class="citation"[^>]*) role="doc-biblioentry"'), r"\1"),
    # The execution table: words, which every font has and every screen reader says.
    (re.compile(r"(<td[^>]*><p>)✅(</p>)"), r"\1passed\2"),
    (re.compile(r"(<td[^>]*><p>)❌(</p>)"), r"\1failed\2"),
    # A task list's box needs a name of its own.
    (
        re.compile(r'<input class="task-list-item-checkbox"( checked="checked")?'),
        lambda match: (
            '<input class="task-list-item-checkbox" aria-label="'
            + ("done" if match[1] else "open")
            + '"'
            + (match[1] or "")
        ),
    ),
)


def mend(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Apply every mend to the page's body."""
    body = context.get("body")
    if not body:
        return
    for pattern, replacement in MENDS:
        body = pattern.sub(replacement, body)
    context["body"] = body


def setup(app: Sphinx) -> None:
    """Work on the finished HTML of each page."""
    app.connect("html-page-context", mend)
