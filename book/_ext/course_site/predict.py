"""The ``predict`` directive: a question whose answer, the next code cell's output, stays folded.

The choices are a plain list; nothing marks the right one, since the run decides::

    :::{predict}
    :name: predict-1-long
    How many of the longest sentences come out right?

    - about half
    - nearly none
    :::

Without choices the reader writes a line instead. What follows the cell and gives the answer away
stands in a ``{after-predict}`` block, and is folded with it. Without JavaScript all is shown.
"""

from __future__ import annotations

from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

FOLDED = "predicted"


class PredictNode(nodes.container):
    """The whole form."""


class PredictQuestion(nodes.container):
    """What is asked."""


class PredictChoice(nodes.container):
    """The text of one choice."""


class Predict(SphinxDirective):
    """Ask for a guess before the next cell's output is shown."""

    has_content = True
    option_spec: ClassVar = {"name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the form, or raise an error that says which part is missing."""
        name = self.options.get("name")
        if not name:
            raise self.error("predict: give it a name, e.g. ':name: predict-1-long'")
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        lists = [n for n in content.children if isinstance(n, nodes.bullet_list)]
        question = [n for n in content.children if n not in lists]
        choices = [item for one in lists for item in one.children]
        if not question or len(lists) > 1 or len(choices) == 1:
            raise self.error(
                f"predict {name}: expected a question, then one list of at least two choices, "
                "or none for a line to be written"
            )
        form = PredictNode(ids=[nodes.make_id(name)])
        self.set_source_info(form)
        form += PredictQuestion("", *question)
        for item in choices:
            inline = item.children[0] if item.children else nodes.paragraph()
            form += PredictChoice("", *inline.children)
        return [form]


class AfterPredict(SphinxDirective):
    """What would give the answer away."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the block."""
        block = nodes.container(classes=["after-predict"])
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Name, on the next code cell and the blocks behind it, the form that folds them."""
    for form in doctree.findall(PredictNode):
        name, cell = form["ids"][0], None
        for node in form.findall(descend=False, siblings=True, include_self=False):
            if isinstance(node, PredictNode):
                break
            if cell is None and node.get("nb_element") == "cell_code":
                cell = node
                node["classes"] += [FOLDED, f"of-{name}"]
            elif "after-predict" in node.get("classes", []):
                node["classes"] += [FOLDED, f"of-{name}"]
        if cell is None:
            raise ExtensionError(
                f"{app.env.docname}: predict {name}: no code cell follows in its section"
            )


def visit_form(self: HTML5Translator, node: PredictNode) -> None:
    """Open the form."""
    name = node["ids"][0]
    self.body.append(
        f'<form class="predict" id="{name}"><fieldset aria-labelledby="{name}-question">'
    )


def depart_form(self: HTML5Translator, node: PredictNode) -> None:
    """Close the form: a line to write where there are no choices, the button, the verdict."""
    name = node["ids"][0]
    if not any(isinstance(child, PredictChoice) for child in node.children):
        self.body.append(
            f'<label class="predict-line">Your guess <input type="text" name="{name}" '
            'autocomplete="off"></label>'
        )
    self.body.append(
        '</fieldset><div class="quiz-foot"><button type="submit" class="quiz-check" hidden>'
        "Show what happens</button>"
        '<p class="predict-verdict" role="status"></p></div></form>\n'
    )


def visit_question(self: HTML5Translator, node: PredictQuestion) -> None:
    """Open the question."""
    name = node.parent["ids"][0]
    self.body.append('<p class="quiz-title">Predict first</p>')
    self.body.append(f'<div class="quiz-question" id="{name}-question">')


def visit_choice(self: HTML5Translator, node: PredictChoice) -> None:
    """Open a choice."""
    name = node.parent["ids"][0]
    index = node.parent.index(node)
    key = escape(f"{name}-{index}")
    self.body.append(
        f'<div class="quiz-choice"><label for="{key}"><input type="radio" id="{key}" '
        f'name="{name}" value="{key}"><span class="quiz-label">'
    )


def depart_choice(self: HTML5Translator, node: PredictChoice) -> None:
    """Close a choice."""
    self.body.append("</span></label></div>")


def close_div(self: HTML5Translator, node: nodes.Node) -> None:
    """Close a block."""
    self.body.append("</div>")


def setup(app: Sphinx) -> None:
    """Register the directives, how the form is written, and the folding."""
    app.add_directive("predict", Predict)
    app.add_directive("after-predict", AfterPredict)
    app.add_node(PredictNode, html=(visit_form, depart_form))
    app.add_node(PredictQuestion, html=(visit_question, close_div))
    app.add_node(PredictChoice, html=(visit_choice, depart_choice))
    app.connect("doctree-read", fold)
