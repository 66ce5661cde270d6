"""Figures in the dark: drawings change light for dark, what speaks by brightness stays as it is.

A heatmap's text speaks of bright squares, so its colours stay. Its class tells the style sheet.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

#: How matplotlib writes the colours of a heatmap into an SVG.
MAPS = (b"<image", b"QuadMesh")


def keeps_colours(path: Path) -> bool:
    """Return whether an image is a photograph, a screenshot, or a drawing with a heatmap in it."""
    if path.suffix != ".svg" or not path.is_file():
        return True
    text = path.read_bytes()
    return any(mark in text for mark in MAPS)


def mark(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give the images of a page that must stay as they are their class."""
    for node in doctree.findall(nodes.image):
        if keeps_colours(Path(app.srcdir, node["uri"])):
            node["classes"].append("keeps-colours")


def setup(app: Sphinx) -> None:
    """Mark when each page's images are known."""
    app.connect("doctree-resolved", mark)
