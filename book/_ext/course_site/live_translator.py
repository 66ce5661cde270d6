"""The ``live-translator`` directive: a translator at work in the page, offline too.

Its content is a list of example sentences, its argument the folder of a translator, seen from the
book's root::

    :::{live-translator} models/de-en
    - Guten Morgen!
    :::

The translator's data are written into the site as scripts, as `python -m translator web` does; the
page loads them when its reader asks for it. Sizes on the page are those of the data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

#: In the order in which one needs another; page.js is the last.
SCRIPTS = (
    *("loader", "tokenizer", "model", "search"),
    *("lexicon", "units", "postal", "times", "titles", "letters"),
    *("numbers", "markup", "completeness", "sentences"),
    *("copying", "pieces", "lines", "checks", "worker"),
    *("parts", "words", "attention", "beam", "page"),
)
TEMPLATE = Path(__file__).with_name("live-translator.html")
#: Where a page's metadata name its translator.
KEY = "live_translator"


def write_data(app: Sphinx, folder: str) -> dict[str, Any]:
    """Write a translator's scripts into the site, unless they are there; return the manifest."""
    from translator.export.web_export import write_web

    data = Path(app.outdir, "_static", "live", "data")
    return write_web(Path(app.srcdir, folder), data)


def fill_in(manifest: dict[str, Any], examples: list[str]) -> str:
    """Return the controls' HTML."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
    )
    return templates.get_template(TEMPLATE.name).render(
        megabytes=f"{sum(manifest['scripts'].values()) / 1e6:.1f}",
        millions=f"{manifest['parameters'] / 1e6:.1f}",
        longest=manifest["longest"],
        alpha=manifest["alpha"],
        beam_size=manifest["beamSize"],
        examples=examples,
    )


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
        self.env.note_dependency(str(TEMPLATE))
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        examples = [item.astext() for item in content.findall(nodes.list_item)]
        if not examples:
            raise self.error("live-translator: expected a list of example sentences")
        html = fill_in(manifest, examples)
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
