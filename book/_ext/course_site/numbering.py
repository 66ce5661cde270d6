"""Number chapters, figures, tables and equations: the second figure of chapter 2 is 2.2.

Sphinx takes chapter numbers from a page's place in the table of contents. Here they come from
the file name (book/02-self-attention.ipynb), so that chapter 2 is chapter 2 from the first day.
Pages without a number count 1, 2, 3 on their own.
"""

from __future__ import annotations

import copy
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

CHAPTER = re.compile(r"book/(\d\d)-")


def number_title(app: Sphinx, doctree: nodes.document) -> None:
    """Put the chapter's number before its title, for the heading and for the navigation."""
    match = CHAPTER.match(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    if match and title is not None:
        title.insert(0, nodes.Text(f"{int(match[1])}. "))


def restore(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Give Sphinx back its own numbers of the last build: by them it finds what has changed."""
    env.toc_fignumbers = getattr(env, "course_fignumbers", env.toc_fignumbers)


def renumber(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Replace the book-wide numbers by (chapter, count within the page)."""
    env.course_fignumbers = copy.deepcopy(env.toc_fignumbers)
    for docname, kinds in env.toc_fignumbers.items():
        match = CHAPTER.match(docname)
        prefix = (int(match[1]),) if match else ()
        for numbers in kinds.values():
            for count, key in enumerate(
                sorted(numbers, key=lambda k: numbers[k]), start=1
            ):
                numbers[key] = (*prefix, count)
    return []


def setup(app: Sphinx) -> None:
    """Number titles before Sphinx collects them, and the rest after Sphinx's own numbering."""
    app.connect("doctree-read", number_title, priority=100)
    app.connect("env-before-read-docs", restore)
    app.connect("env-get-updated", renumber, priority=900)
