"""Warn about every image that has no text alternative (with -W: fail the build)."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

ADVICE = (
    "In a notebook, add it to the cell's metadata: mystnb: {image: {alt: ...}}; "
    "in Markdown, write ![what one sees](file)."
)
RAW_IMAGE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
RAW_ALT = re.compile(r"""\balt\s*=\s*(["'])\s*\S.*?\1""", re.IGNORECASE | re.DOTALL)


def name_of(node: nodes.Node) -> str:
    """Return how an author would look for this image: the figure's name, its caption, its file."""
    parent = node
    while parent is not None and not isinstance(parent, nodes.figure):
        parent = parent.parent
    if parent is not None:
        names = parent.get("names") or parent.get("ids")
        if names:
            return f"figure {names[0]!r}"
        caption = next(iter(parent.findall(nodes.caption)), None)
        if caption is not None:
            return f"the figure with the caption {caption.astext()[:60]!r}"
    cell = parent_cell(node)
    where = f" (output of code cell {cell})" if cell else ""
    return f"image {str(node.get('uri', '')).rsplit('/', 1)[-1]!r}{where}"


def parent_cell(node: nodes.Node) -> str:
    """Return the id or index of the notebook cell that made this image, or an empty string."""
    while node is not None:
        if isinstance(node, nodes.container) and node.get("nb_element") == "cell_code":
            return str(
                node.get("cell_metadata", {}).get("id") or node.get("cell_index", "")
            )
        node = node.parent
    return ""


def check_images(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Warn for each image of ``docname`` whose alternative text is missing or is its file name."""
    for node in doctree.findall(nodes.image):
        alt = str(node.get("alt", "")).strip()
        uri = str(node.get("uri", ""))
        # A missing alt silently becomes the file's path further down the line.
        if alt and alt != uri and alt.rsplit("/", 1)[-1] != uri.rsplit("/", 1)[-1]:
            continue
        logger.warning(
            "%s: %s has no alternative text. %s",
            docname,
            name_of(node),
            ADVICE,
            location=docname,
            type="course",
            subtype="alt",
        )
    for node in doctree.findall(nodes.raw):
        if "html" not in node.get("format", ""):
            continue
        for tag in RAW_IMAGE.findall(node.astext()):
            if not RAW_ALT.search(tag):
                logger.warning(
                    '%s: %s has no alternative text. Add alt="what one sees".',
                    docname,
                    tag[:120],
                    location=docname,
                    type="course",
                    subtype="alt",
                )


def setup(app: Sphinx) -> None:
    """Check when each page's images are known: after the notebook's outputs were chosen."""
    app.connect("doctree-resolved", check_images)
