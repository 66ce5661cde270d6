"""sitemap.xml: all pages of the site, also where a build wrote few of them again.

sphinx-sitemap lists what a build has written, which after a small change is a page or two.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the address of each document; the search is none."""
    if exception or app.builder.format != "html" or not app.config.html_baseurl:
        return
    root = ElementTree.Element("urlset", xmlns=NAMESPACE)
    for name in sorted(app.env.found_docs):
        url = ElementTree.SubElement(root, "url")
        address = f"{app.config.html_baseurl.rstrip('/')}/{name}.html"
        ElementTree.SubElement(url, "loc").text = address
    ElementTree.ElementTree(root).write(
        Path(app.outdir, "sitemap.xml"), xml_declaration=True, encoding="utf-8"
    )


def setup(app: Sphinx) -> None:
    """Write at the end, when all pages are known."""
    app.connect("build-finished", write)
