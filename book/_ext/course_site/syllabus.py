"""The ``syllabus`` directive: all chapters in order, linked as soon as they are in the book.

Written as a definition list, a chapter an entry; the first is chapter 1::

    :::{syllabus}
    Attention in recurrent networks
    : The bottleneck, and the look-up that frees it.
    :::

Which chapters are open is read from the table of contents, so that the page cannot promise more.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .numbering import CHAPTER


class SyllabusNode(nodes.container):
    """The list of chapters."""


class SyllabusItem(nodes.container):
    """One chapter: its title (first child), then what it is about."""


class SyllabusTitle(nodes.container):
    """The title of a chapter."""


class Syllabus(SphinxDirective):
    """Turn a definition list into the list of chapters."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the list, or raise an error when the content is something else."""
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        if len(content.children) != 1 or not isinstance(
            content[0], nodes.definition_list
        ):
            raise self.error(
                "syllabus: expected one definition list, an entry for each chapter"
            )
        syllabus = SyllabusNode()
        for number, entry in enumerate(content[0].children, start=1):
            title = SyllabusTitle("", *entry[0].children)
            syllabus += SyllabusItem("", title, *entry[1].children, number=number)
        return [syllabus]


def visit_syllabus(self: HTML5Translator, node: SyllabusNode) -> None:
    """Open the list; the chapters of the book are known now."""
    found = self.builder.env.found_docs
    chapters = {int(match[1]): name for name in found if (match := CHAPTER.match(name))}
    for item in node.findall(SyllabusItem):
        item["document"] = chapters.get(item["number"])
    self.body.append('<ol class="syllabus">\n')


def depart_syllabus(self: HTML5Translator, node: SyllabusNode) -> None:
    """Close the list."""
    self.body.append("</ol>\n")


def visit_item(self: HTML5Translator, node: SyllabusItem) -> None:
    """Open a chapter."""
    kind = ' class="is-open"' if node["document"] else ""
    self.body.append(f'<li{kind}><span class="number">{node["number"]}</span><div>')


def depart_item(self: HTML5Translator, node: SyllabusItem) -> None:
    """Close a chapter with its state."""
    # progress.js writes what of an open one is done.
    state = "" if node["document"] else "planned"
    self.body.append(f'</div><span class="state">{state}</span></li>\n')


def visit_title(self: HTML5Translator, node: SyllabusTitle) -> None:
    """Open the title, as a link if there is something to link to."""
    self.body.append("<p><strong>")
    document = node.parent["document"]
    if document:
        here = self.builder.current_docname
        self.body.append(f'<a href="{self.builder.get_relative_uri(here, document)}">')


def depart_title(self: HTML5Translator, node: SyllabusTitle) -> None:
    """Close the title."""
    self.body.append(
        "</a></strong></p>" if node.parent["document"] else "</strong></p>"
    )


def setup(app: Sphinx) -> None:
    """Register the directive and how its nodes are written."""
    app.add_directive("syllabus", Syllabus)
    app.add_node(SyllabusNode, html=(visit_syllabus, depart_syllabus))
    app.add_node(SyllabusItem, html=(visit_item, depart_item))
    app.add_node(SyllabusTitle, html=(visit_title, depart_title))
