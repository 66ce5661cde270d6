"""Figures that answer: a page with an element ``data-live="name"`` loads the script of that name.

The element comes from a cell (book/live.py) and holds its data, and what stands there without
JavaScript. The scripts lie in assets/live/: parts.js, figure.js, and figures/<name>.js.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHARED = ("parts", "figure")
FOLDER = Path(__file__).parents[2] / "assets" / "live" / "figures"
ELEMENT = re.compile(r'<div class="live-figure" data-live="([^"]*)"')


def add_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load what the page's figures need; a name without a script is a warning."""
    names = sorted(set(ELEMENT.findall(context.get("body") or "")))
    for name in names:
        if not (FOLDER / f"{name}.js").is_file():
            known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.js")))
            logger.warning(
                "%s: live figure %r has no script; there are %s",
                pagename,
                name,
                known,
                location=pagename,
                type="course",
                subtype="live",
            )
    if not names:
        return
    for name in (*SHARED, *(f"figures/{name}" for name in names)):
        app.add_js_file(f"live/{name}.js")


def setup(app: Sphinx) -> None:
    """Register the scripts; the style is small, and joined with that of all pages."""
    app.add_css_file("live/figure.css")
    app.connect("html-page-context", add_scripts)
