"""Exercise pages: a box that says how to do them, and a label on each answer and test cell."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import urlparse

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

FOLDER = "exercises/"
BOX = "course-exercise-box"


def label_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put the kind of each nbgrader cell above it: the page shows what JupyterLab shows."""
    if not app.env.docname.startswith(FOLDER):
        return
    for cell in doctree.findall(nodes.container):
        grader = (cell.get("cell_metadata") or {}).get("nbgrader")
        if cell.get("nb_element") != "cell_code" or not grader:
            continue
        if grader.get("solution"):
            kind, text = "answer", "Your answer"
        elif grader.get("grade"):
            points = grader.get("points", 0)
            unit = "point" if points == 1 else "points"
            kind, text = "test", f"Test, {points:g} {unit} (read-only)"
        else:
            kind, text = "given", "Given (read-only)"
        cell["classes"] += ["exercise-cell", f"exercise-{kind}"]
        if kind == "answer":
            cell.insert(0, nodes.paragraph("", text, classes=["exercise-label"]))
        else:
            fold(cell, text)


def fold(cell: nodes.container, text: str) -> None:
    """Fold the code of ``cell`` behind its label: the page is read for its statements."""
    summary = f'<summary class="exercise-label">{escape(text)}</summary>'
    cell.insert(
        0, nodes.raw("", f'<details class="exercise-fold">{summary}', format="html")
    )
    cell.append(nodes.raw("", "</details>", format="html"))


def leave_out_placeholder(context: dict[str, Any]) -> None:
    """Offer no hub whose address still is the placeholder (example.org): it isn't there."""
    for group in context.get("header_buttons", []):
        if "buttons" in group:
            group["buttons"] = [
                button
                for button in group["buttons"]
                if not (urlparse(button.get("url", "")).hostname or "").endswith(
                    "example.org"
                )
            ]


def find_links(context: dict[str, Any]) -> dict[str, str]:
    """Return the launch links that the theme made from launch_buttons, by name."""
    return {
        button["text"]: button["url"]
        for group in context.get("header_buttons", [])
        if group.get("label") == "launch-buttons"
        for button in group["buttons"]
    }


def make_box(pagename: str, target: str, context: dict[str, Any]) -> str:
    """Return the HTML of the box for the exercise ``pagename``."""
    source = relative_uri(target, "_sources/" + context["sourcename"])
    setup_page = context["pathto"]("book/setup")
    items = [
        f'<a class="box-action" href="{source}" download>Download the notebook</a>',
        *(
            f'<a class="box-action" href="{escape(url)}">Open in {name}</a>'
            for name, url in find_links(context).items()
        ),
    ]
    return (
        f'<aside class="{BOX}" aria-label="How to do this exercise">'
        "<p><strong>This page is for reading.</strong> To do the exercise, run "
        f'<code>make lab</code> in the course\'s folder (<a href="{setup_page}">set-up</a>) and '
        f"open <code>{pagename.removeprefix(FOLDER)}.ipynb</code>, or take it from here:</p>"
        f'<p class="box-actions">{" ".join(items)}</p></aside>'
    )


def add_box(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the box under the page's title."""
    leave_out_placeholder(context)
    body = context.get("body")
    if not body or not pagename.startswith(FOLDER):
        return
    box = make_box(pagename, app.builder.get_target_uri(pagename), context)
    context["body"] = re.sub(r"</h1>", lambda _: "</h1>\n" + box, body, count=1)


def setup(app: Sphinx) -> None:
    """The box comes last: the theme makes the launch links at priorities up to 501."""
    app.connect("doctree-read", label_cells)
    app.connect("html-page-context", add_box, priority=900)
