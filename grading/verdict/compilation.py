"""Code of test cells and of the release, compiled once for everybody, with its author's words."""

from __future__ import annotations

import ast
import functools
import types

from grading.bridge.magics import plain
from grading.bridge.redaction import noted, words
from grading.course.bindings import bound_names, needed_names
from grading.course.notebooks import hidden_lines

#: The names of the files that code of a test and of the release stands in.
TEST, GIVEN = "<test>", "<given>"

#: Statements that only define something: they ask nothing of a submission.
DEFINITIONS = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef


@functools.lru_cache(maxsize=1024)
def compiled(
    source: str,
) -> tuple[
    types.CodeType, types.CodeType | None, types.CodeType | None, frozenset[str]
]:
    """Return a test cell's code, the same for everybody.

    Returns:
        its code before the first hidden line that is no definition, that from there on, its last
        expression, and its author's words.

    Raises:
        SyntaxError: if it is no Python.

    """
    tree = ast.parse(source, TEST)
    lines = hidden_lines(source)
    texts = words(tree, lines)
    tree = noted(tree)
    last = (
        tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    )
    hidden = [
        place
        for place, node in enumerate([*tree.body, *([last] if last else [])])
        if node.lineno in lines and not isinstance(node, DEFINITIONS)
    ]
    place = hidden[0] if hidden else len(tree.body)
    seen, rest = [
        compile(ast.Module(part, []), TEST, "exec", dont_inherit=True)
        for part in (tree.body[:place], tree.body[place:])
    ]
    value = last and compile(
        ast.Expression(last.value), TEST, "eval", dont_inherit=True
    )
    return seen, rest if hidden else None, value, texts


@functools.lru_cache(maxsize=256)
def given_cell(
    source: str,
) -> tuple[types.CodeType, frozenset[str], frozenset[str], frozenset[str]]:
    """Return the code of a cell of the release, the names it needs, those it binds, its texts.

    Raises:
        SyntaxError: if it is no Python.

    """
    text = plain(source)
    tree = ast.parse(text, GIVEN)
    texts = words(tree)
    code = compile(noted(tree), GIVEN, "exec", dont_inherit=True)
    return code, frozenset(needed_names(text)), frozenset(bound_names(text)), texts


@functools.lru_cache(maxsize=256)
def definitions(source: str) -> tuple[tuple[types.CodeType, ...], frozenset[str]]:
    """Return the code of each import, function and class at the top of a test cell, and texts."""
    try:
        tree = ast.parse(source, TEST)
    except SyntaxError:
        return (), frozenset()
    texts = words(tree, hidden_lines(source))
    return tuple(
        compile(ast.Module([node], []), TEST, "exec", dont_inherit=True)
        for node in noted(tree).body
        if isinstance(node, DEFINITIONS)
    ), texts
