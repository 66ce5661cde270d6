"""What a folded cell says of itself: what is inside, and how many lines.

A chapter names what it folds by `code_prompt_show`. Of cells that do not, MyST-NB says "Show code
cell source": here they say what can be read from their code.
"""

from __future__ import annotations

import ast

from docutils import nodes
from sphinx.application import Sphinx

DEFAULT = "Show code cell {type}"
MOST_NAMES = 3


def name_folds(app: Sphinx, doctree: nodes.document) -> None:
    """Give each folded cell of a page its words."""
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode") in {None, "output"}:
            continue
        block = next(cell.findall(nodes.literal_block), None)
        if block is None:
            continue
        code = block.astext()
        lines = len(code.splitlines())
        shown = cell["prompt_show"]
        if shown == DEFAULT:
            draws = "figure" in cell.get("cell_metadata", {}).get("mystnb", {})
            shown = words_for(code, draws or next(cell.findall(nodes.figure), None))
            cell["prompt_hide"] = "Hide it"
        cell["prompt_show"] = f"{shown} ({lines} line{'s' * (lines != 1)})"


def words_for(code: str, draws: object) -> str:
    """Return what a cell's code is: imports, a figure's drawing, what it defines, or code.

    Code that does not parse, such as one with a magic command, is just code.
    """
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return "Show the code"
    if draws:
        return "Show how the figure is drawn"
    if any(isinstance(part, ast.Import | ast.ImportFrom) for part in body[:2]):
        return "Show the imports"
    kinds = ast.FunctionDef | ast.ClassDef
    names = [part.name for part in body if isinstance(part, kinds)]
    if not names:
        return "Show the code"
    more = " and more" if len(names) > MOST_NAMES else ""
    return f"Show {', '.join(names[:MOST_NAMES])}{more}"


def setup(app: Sphinx) -> None:
    """Come when a page is read; MyST-NB folds when it is written."""
    app.connect("doctree-read", name_folds)
