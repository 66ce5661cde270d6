"""The ``live-translator`` directive: a translator at work in the page, offline too.

Its content is a list of example sentences, its argument the folder of a translator, seen from the
book's root::

    :::{live-translator} models/de-en
    - Guten Morgen!
    :::

The translator's data are written into the site as scripts (`python -m translator web` does the same);
a page loads them when its reader asks for it. Sizes on the page are those of the data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.util.docutils import SphinxDirective

#: In the order in which one needs another; page.js is the last.
SCRIPTS = (
    *("loader", "tokenizer", "model", "search", "checks", "worker"),
    *("parts", "words", "attention", "beam", "page"),
)
TEMPLATE = "live-translator.html"
#: Where a page's metadata name its translator.
KEY = "live_translator"


def write_data(app: Sphinx, folder: str) -> dict[str, Any]:
    """Write a translator's scripts into the site, unless they are there; return the manifest."""
    from translator.decoding.web_export import write_web

    data = Path(app.outdir, "_static", "live", "data")
    return write_web(Path(app.srcdir, folder), data)


class LiveTranslator(SphinxDirective):
    """Put the translator's controls on the page."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the controls; without JavaScript they stay hidden."""
        folder = self.arguments[0]
        app = self.env.app
        manifest = write_data(app, folder)
        self.env.metadata[self.env.docname][KEY] = folder
        for path in Path(app.srcdir, folder).glob("*.*"):
            self.env.note_dependency(str(path))
        self.env.note_dependency(str(Path(app.srcdir, "book", "_templates", TEMPLATE)))
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        examples = [item.astext() for item in content.findall(nodes.list_item)]
        if not examples:
            raise self.error("live-translator: expected a list of example sentences")
        templates = BuiltinTemplateLoader()
        templates.init(app.builder)
        size = sum(manifest["scripts"].values())
        html = templates.render(
            TEMPLATE,
            {
                "millions": f"{manifest['parameters'] / 1e6:.1f}",
                "megabytes": f"{size / 1e6:.1f}",
                "longest": manifest["longest"],
                "alpha": manifest["alpha"],
                "beam_size": manifest["beamSize"],
                "examples": examples,
            },
        )
        return [nodes.raw("", html, format="html")]


def add_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the page's own scripts where there is a translator, and nowhere else."""
    if KEY not in app.env.metadata.get(pagename, {}):
        return
    for name in SCRIPTS:
        app.add_js_file(f"live/{name}.js")
    app.add_css_file("live/live.css")


def keep_data(app: Sphinx, env: Any) -> None:
    """Write the data also where no page was read again: they may have been deleted."""
    if app.builder.format != "html":
        return
    for about in env.metadata.values():
        if KEY in about:
            write_data(app, about[KEY])


def setup(app: Sphinx) -> None:
    """Register the directive, its scripts and its data."""
    app.add_directive("live-translator", LiveTranslator)
    app.connect("env-updated", keep_data)
    app.connect("html-page-context", add_scripts)
