"""Code with fewer elements: what has the colour of its block needs none of its own.

Of a chapter's 18,000 elements, code had two thirds; half of those were names and punctuation.
In a line of text, an option such as `--index-url` is marked: it may not break behind its hyphens.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Text
from sphinx.application import Sphinx

BLOCK = re.compile(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', re.S)
#: Numbers with commas between them, and strings on several lines.
RUN = re.compile(
    r'<span class="m[if]">[^<]*</span>(?:, *<span class="m[if]">[^<]*</span>)+'
    r'|<span class="s2">[^<]*</span>(?:\s+<span class="s2">[^<]*</span>)+'
)
TAG = re.compile(r"<[^>]*>")
OPTION = re.compile(r'<span class="pre">(?=--?\w[\w-]{0,20}</span>)')


@cache
def plain(*styles: str) -> re.Pattern[str]:
    """Return what finds the elements that look like the block itself in all of these styles."""
    names = [
        short
        for token, short in STANDARD_TYPES.items()
        if short
        and all(
            looks.style_for_token(token) == looks.style_for_token(Text)
            for looks in map(get_style_by_name, styles)
        )
    ]
    return re.compile(rf'<span class="(?:{"|".join(names)})">([^<]*)</span>')


def joined(run: re.Match[str]) -> str:
    """Return neighbours of one colour as one element; what is between them takes it, too."""
    return f"{run[0].partition('>')[0]}>{TAG.sub('', run[0])}</span>"


def lighten(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Take those elements out of a page's code."""
    if app.builder.format != "html" or "body" not in context:
        return
    options = app.builder.theme.get_options(app.config.html_theme_options)
    styles = [options.get(f"pygments_{kind}_style") for kind in ("light", "dark")]
    if not all(styles):  # another theme, with one style for both
        return
    element = plain(*styles)
    context["body"] = BLOCK.sub(
        lambda match: RUN.sub(joined, element.sub(r"\1", match[0])), context["body"]
    )


def mark_options(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the options of a page's inline code a class of their own."""
    if app.builder.format == "html" and "body" in context:
        context["body"] = OPTION.sub('<span class="pre is-option">', context["body"])


def setup(app: Sphinx) -> None:
    """Come before the page is written."""
    app.connect("html-page-context", lighten)
    app.connect("html-page-context", mark_options)
