"""The ``quiz`` directive: one question, several choices, an explanation for each.

Written as a task list; ``[x]`` marks what is right::

    :::{quiz}
    :name: quiz-2-rows
    Which axis does the softmax run over?

    - [ ] The queries

      Then each key's weights would sum to 1.
    - [x] The keys

      Each query's weights sum to 1.
    :::

Without JavaScript each choice carries its explanation, folded.
"""

from __future__ import annotations

from html import escape
from string import ascii_uppercase
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class QuizNode(nodes.container):
    """The whole question."""


class QuizQuestion(nodes.container):
    """What is asked."""


class QuizChoice(nodes.container):
    """One choice: its label (first child) and its explanation (second child)."""


class QuizLabel(nodes.container):
    """The text of a choice."""


class QuizWhy(nodes.container):
    """Why a choice is right or wrong."""


class Quiz(SphinxDirective):
    """Turn a question and a task list into a form."""

    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        # The claims that the quiz rests on, for tools/check_claims.py; the page does not show them.
        "claims": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return the quiz, or raise an error that says which part is missing."""
        name = self.options.get("name")
        if not name:
            raise self.error("quiz: give it a name, e.g. ':name: quiz-2-rows'")
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        lists = [n for n in content.children if isinstance(n, nodes.bullet_list)]
        if len(lists) != 1:
            raise self.error(
                f"quiz {name}: expected one list of choices, found {len(lists)}"
            )
        choices = [self.choice(name, item) for item in lists[0].children]
        if sum(choice["right"] for choice in choices) != 1:
            raise self.error(
                f"quiz {name}: mark exactly one choice as right, with '- [x]'"
            )
        quiz = QuizNode(ids=[nodes.make_id(name)], classes=["quiz"])
        self.set_source_info(quiz)
        question = QuizQuestion("", *(n for n in content.children if n is not lists[0]))
        quiz += [question, *choices]
        return [quiz]

    def choice(self, name: str, item: nodes.list_item) -> QuizChoice:
        """Turn a task-list item into a choice."""
        box = next(
            (
                raw
                for raw in item.findall(nodes.raw)
                if "task-list-item-checkbox" in raw.astext()
            ),
            None,
        )
        if box is None:
            raise self.error(
                f"quiz {name}: every choice starts with '- [ ]' or '- [x]'"
            )
        right = "checked" in box.astext().replace("task-list-item-checkbox", "")
        box.parent.remove(box)
        label, *why = item.children
        if not why:
            raise self.error(
                f"quiz {name}: the choice {label.astext()!r} has no explanation"
            )
        first = label.children[0] if label.children else None
        if isinstance(first, nodes.Text):
            label.replace(first, nodes.Text(str(first).lstrip()))
        return QuizChoice(
            "", QuizLabel("", *label.children), QuizWhy("", *why), right=right
        )


def visit_quiz(self: HTML5Translator, node: QuizNode) -> None:
    """Open the form; the legend is what a screen reader says on entering it."""
    name = node["ids"][0]
    self.body.append(
        f'<form class="quiz" id="{name}"><fieldset aria-labelledby="{name}-question">'
    )
    for index, choice in enumerate(node.findall(QuizChoice)):
        choice["key"] = f"{name}-{index}"
        choice["group"] = name
        choice["letter"] = ascii_uppercase[index]


def depart_quiz(self: HTML5Translator, node: QuizNode) -> None:
    """Close the form with the button and the place for the verdict."""
    self.body.append(
        '</fieldset><div class="quiz-foot"><button type="submit" class="quiz-check" hidden>'
        'Check</button><p class="quiz-verdict" role="status"></p></div></form>\n'
    )


def visit_question(self: HTML5Translator, node: QuizQuestion) -> None:
    """Open the question."""
    name = node.parent["ids"][0]
    self.body.append('<p class="quiz-title">Question</p>')
    self.body.append(f'<div class="quiz-question" id="{name}-question">')


def visit_choice(self: HTML5Translator, node: QuizChoice) -> None:
    """Open a choice."""
    right = "true" if node["right"] else "false"
    self.body.append(f'<div class="quiz-choice" data-right="{right}">')


def visit_label(self: HTML5Translator, node: QuizLabel) -> None:
    """Open the radio button's label; the letter names a choice that is all formula."""
    key, group, letter = (
        escape(node.parent[part]) for part in ("key", "group", "letter")
    )
    self.body.append(
        f'<label for="{key}"><input type="radio" id="{key}" name="{group}" value="{key}">'
        f'<span class="quiz-letter">{letter}</span><span class="quiz-label">'
    )


def depart_label(self: HTML5Translator, node: QuizLabel) -> None:
    """Close the label."""
    self.body.append("</span></label>")


def visit_why(self: HTML5Translator, node: QuizWhy) -> None:
    """Open the explanation, folded until the choice is made."""
    verdict = "Right" if node.parent["right"] else "Not this one"
    self.body.append(
        '<details class="quiz-why"><summary>Why?</summary>'
        f'<div><p class="quiz-mark">{verdict}.</p>'
    )


def depart_why(self: HTML5Translator, node: QuizWhy) -> None:
    """Close the explanation."""
    self.body.append("</div></details>")


def close_div(self: HTML5Translator, node: nodes.Node) -> None:
    """Close a block."""
    self.body.append("</div>")


def setup(app: Sphinx) -> None:
    """Register the directive and how its nodes are written."""
    app.add_directive("quiz", Quiz)
    app.add_node(QuizNode, html=(visit_quiz, depart_quiz))
    app.add_node(QuizQuestion, html=(visit_question, close_div))
    app.add_node(QuizChoice, html=(visit_choice, close_div))
    app.add_node(QuizLabel, html=(visit_label, depart_label))
    app.add_node(QuizWhy, html=(visit_why, depart_why))
