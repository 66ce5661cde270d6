"""The list of all pages, for the 404 page, whose links work from any depth, and for the search."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlparse

from sphinx.application import Sphinx
from sphinx.config import Config


def set_prefix(app: Sphinx, config: Config) -> None:
    """Take the path of the published site from html_baseurl: one place for the address."""
    path = urlparse(config.html_baseurl).path
    config.notfound_urls_prefix = path if path.endswith("/") else path + "/"
    config.ogp_site_url = config.html_baseurl


def list_pages(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the template the path and the contents: [(part, [(document, title), ...]), ...]."""
    if pagename not in (app.config.notfound_pagename, "search"):
        return
    context["published_path"] = app.config.notfound_urls_prefix
    site_map = app.config.external_site_map
    context["course_parts"] = [
        (
            tree.caption,
            [(name, app.env.titles[name].astext()) for name in documents(app, tree)],
        )
        for tree in site_map.root.subtrees
    ]


def documents(app: Sphinx, tree: Any) -> list[str]:
    """Return the documents of one part; the table of contents may name files with their suffix."""
    suffixes = tuple(app.config.source_suffix)
    names = [str(item) for item in tree.files()]
    return [
        next((name.removesuffix(s) for s in suffixes if name.endswith(s)), name)
        for name in names
    ]


def setup(app: Sphinx) -> None:
    """Set the prefix early; list the pages when the 404 page is written."""
    app.connect("config-inited", set_prefix)
    app.connect("html-page-context", list_pages)
