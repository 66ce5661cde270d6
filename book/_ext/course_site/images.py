"""A page's images load when they come near, and have their place before that.

A chapter has some twenty drawings, each a document of its own for the browser. All at once they
cost a phone as much time as the page itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

IMAGE = re.compile(r'<img (?=[^>]*\bsrc="[^":]*_images/([^"/]+)")(?![^>]*\bloading=)')


def place(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give each image of a page its size, and let all but the first wait."""
    if app.builder.format != "html" or "body" not in context:
        return
    sources = {name: uri for uri, name in app.builder.images.items()}
    first = True

    def attributes(match: re.Match[str]) -> str:
        nonlocal first
        source = sources.get(match[1])
        size = source and get_image_size(str(Path(app.srcdir, source)))
        if not size:  # without a place of its own it would push the text when it comes
            return match[0]
        lazy = "" if first else 'loading="lazy" '
        first = False
        return f'<img {lazy}width="{size[0]}" height="{size[1]}" '

    context["body"] = IMAGE.sub(attributes, context["body"])


def setup(app: Sphinx) -> None:
    """Come before the page is written."""
    app.connect("html-page-context", place)
