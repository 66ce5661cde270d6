"""Notebooks that are the same but for names and layout: a sign, not a proof.

Two answers are the same if their syntax trees are, once names that the student chose are numbered
in the order in which they occur, and docstrings, annotations and comments are gone. A notebook
counts by all its answers together: one short answer is the same by chance, eight long ones are not.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from grading.course.bindings import parsed

#: Nodes of a syntax tree: notebooks with less that was written say nothing.
LEAST_NODES = 300


@dataclass(frozen=True)
class Alike:
    """Students whose answers are the same, how many tasks they answered, and how long that is."""

    students: tuple[str, ...]
    answers: int
    nodes: int


class _Numbered(ast.NodeTransformer):
    """Numbers the names that a program binds, and drops what explains it."""

    def __init__(self, own: set[str]) -> None:
        self.own = own
        self.numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        """Return a name's number, the name itself where it is not the student's."""
        if name not in self.own:
            return name
        return self.numbers.setdefault(name, f"n{len(self.numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Number a variable."""
        node.id = self._number(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Number an attribute that the program sets, such as a layer of a module."""
        node.attr = self._number(node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Number an argument, without its annotation."""
        node.arg, node.annotation = self._number(node.arg), None
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Number the name of an argument in a call, as that of a helper's is."""
        node.arg = node.arg and self._number(node.arg)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Drop an annotation, and with it what only declares."""
        if node.value is None:
            return None
        made = ast.Assign([node.target], node.value)
        return self.generic_visit(ast.copy_location(made, node))

    def _function(self, node: ast.FunctionDef) -> ast.AST:
        """Number a function's name, without its docstring and annotations."""
        node.name, node.returns = self._number(node.name), None
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Number a class's name, without its docstring."""
        node.name, node.body = self._number(node.name), _without_docstring(node.body)
        return self.generic_visit(node)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a body without the text at its beginning."""
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[1:] or [ast.Pass()]
    return body


def shape(source: str) -> tuple[str, int]:
    """Return what stays of a program without names and layout, and its number of nodes.

    A program that can't be read is its text without spaces.
    """
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        text = "".join(source.split())
        return text, len(text) // 4
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    bound |= {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    try:
        numbered = _Numbered(bound).visit(tree)
        return ast.dump(numbered), sum(1 for _ in ast.walk(numbered))
    except RecursionError:
        text = "".join(source.split())
        return text, len(text) // 4


def alike(answers: Mapping[str, Mapping[str, str]]) -> list[Alike]:
    """Return the groups of students whose notebooks are alike, the longest notebooks first.

    Args:
        answers: by student and cell, what they wrote; cells as handed out are left out.

    """
    found: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, tuple[int, int]] = {}
    shapes: dict[str, tuple[str, int]] = {}  # many answers come more than once
    for student, cells in sorted(answers.items()):
        parts, nodes = [], 0
        for name, source in sorted(cells.items()):
            if source not in shapes:
                shapes[source] = shape(source)
            text, count = shapes[source]
            parts.append(f"{name}\0{text}")
            nodes += count
        if nodes >= LEAST_NODES:
            digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
            found[digest].append(student)
            sizes[digest] = (len(cells), nodes)
    groups = [
        Alike(tuple(students), *sizes[digest])
        for digest, students in found.items()
        if len(students) > 1
    ]
    return sorted(groups, key=lambda group: (-group.nodes, group.students))
