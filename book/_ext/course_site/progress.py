"""What a reader can have done: the questions of each chapter, for assets/progress.js.

Written before the pages are, as ``_static/course-tasks.js``: by page, in the order of the book, the
title and the keys under which the browser keeps an answer (assets/course.js).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .numbering import CHAPTER
from .predict import PredictNode
from .quiz import QuizNode

SCRIPT = "course-tasks.js"
#: Where a page's metadata keep its tasks.
KEY = "course_tasks"


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note the predictions and quizzes of a chapter, before its title has its number."""
    if not CHAPTER.match(app.env.docname):
        return
    kinds = {PredictNode: "predict", QuizNode: "quiz"}
    app.env.metadata[app.env.docname][KEY] = [
        f"{kinds[type(node)]}:{node['ids'][0]}"
        for node in doctree.findall(lambda node: type(node) in kinds)
    ]


def write(app: Sphinx, env: Any) -> None:
    """Write the script, also where no page was read again."""
    if app.builder.format != "html":
        return
    tasks = {
        name: {"title": env.titles[name].astext(), "tasks": about[KEY]}
        for name, about in sorted(env.metadata.items())
        if KEY in about
    }
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    text = json.dumps(tasks, ensure_ascii=False, indent=1)
    (static / SCRIPT).write_text(f"var courseTasks = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Collect and write; the script is one of those that all pages share."""
    app.connect("doctree-read", collect)
    app.connect("env-updated", write)
    app.connect("builder-inited", lambda app: app.add_js_file(SCRIPT))
