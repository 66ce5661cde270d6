"""The traps page names a test of the library for each error: they exist under those names."""

from __future__ import annotations

import ast
import re

import nbformat

from grading.course.notebooks import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def sections() -> dict[str, str]:
    """Return the Markdown of each trap, from its label to the next one's."""
    cells = nbformat.read(ROOT / "book" / "traps.ipynb", as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    parts = re.split(r"^\(trap-([a-z-]+)\)=$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_trap_says_where_it_is_right() -> None:
    """A page of the book and a test, for each."""
    traps = sections()
    assert len(traps) > 20
    missing = [
        name
        for name, text in traps.items()
        if "**Right in the book**" not in text or not NAMED.search(text)
    ]
    assert not missing


def test_the_tests_that_it_names_exist() -> None:
    """No test was renamed behind the page's back."""
    named = {pair for text in sections().values() for pair in NAMED.findall(text)}
    missing = []
    for file, name in sorted(named):
        path = ROOT / file
        tree = (
            ast.parse(path.read_text(encoding="utf-8"))
            if path.exists()
            else ast.Module([], [])
        )
        functions = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        if name not in functions:
            missing.append(f"{file}::{name}")
    assert not missing
