"""Give each page a description, for search engines and for links shared elsewhere.

A page says it itself (``og:description`` in a notebook's metadata or a page's front matter);
otherwise its first paragraph is used, formulas left out.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 200
TOO_SHORT = 40


def plain(node: nodes.Node) -> str:
    """Return the text of ``node`` without formulas and raw HTML."""
    if isinstance(node, nodes.math | nodes.math_block | nodes.raw):
        return ""
    if isinstance(node, nodes.Text):
        return str(node)
    return "".join(plain(child) for child in node.children)


def first_paragraph(doctree: nodes.document) -> str:
    """Return the first paragraph long enough to say something, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(plain(paragraph).split())
        if len(text) >= TOO_SHORT:
            return (
                text
                if len(text) <= LONGEST
                else text[:LONGEST].rsplit(" ", 1)[0] + " …"
            )
    return ""


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Set the description before sphinxext.opengraph writes its own, which shows raw LaTeX."""
    if doctree is None:
        return
    context["meta"] = meta = context.get("meta") or {}
    text = meta.get("og:description") or first_paragraph(doctree) or context["title"]
    meta["og:description"] = text
    if 'name="description"' not in context["metatags"]:
        context["metatags"] += (
            f'\n<meta name="description" content="{escape(text)}" />\n'
        )


def setup(app: Sphinx) -> None:
    """Run before sphinxext.opengraph (priority 500)."""
    app.connect("html-page-context", describe, priority=400)
