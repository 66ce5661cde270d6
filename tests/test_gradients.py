"""No test asks for a gradient in a way that PyTorch answers with advice to the test's author."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from grading.course.notebooks import ROOT

#: What tests call that comes of their own program, or a module's weights.
OURS = {"_expected", "_want", "_wanted", "_cut", "_state"}
NOTEBOOKS = sorted((ROOT / "solutions").glob("*/*.ipynb"))


def bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def read(node: ast.AST) -> set[str]:
    """Return the names that some code reads."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def asked(source: str, answered: set[str]) -> list[str]:
    """Return the calls of autograd.grad that stop where an answer cuts a gradient off.

    answered: the names that a student defines.
    """
    found, theirs = [], set(answered)
    nodes = [node for node in ast.walk(ast.parse(source)) if hasattr(node, "lineno")]
    for node in sorted(nodes, key=lambda node: (node.end_lineno, -node.col_offset)):
        if isinstance(node, ast.Assign) and read(node.value) & theirs:
            theirs |= set(bound(node)) - OURS
        elif isinstance(node, ast.Assign):
            theirs -= set(bound(node))
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "torch.autograd.grad"
            and not any(keyword.arg == "allow_unused" for keyword in node.keywords)
            and read(node.args[0]) & theirs
        ):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_a_gradient_that_an_answer_cuts_off_is_told_in_words(path: Path) -> None:
    """By `flowing`, or by allow_unused=True and an assert."""
    answered: dict[str, set[str]] = {}
    found = []
    for cell in nbformat.read(path, 4).cells:
        task, _, aspect = (
            cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("--")
        )
        if cell.cell_type != "code" or not task:
            continue
        if not aspect:
            names = [
                node.name
                for node in ast.parse(cell.source).body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
            ]
            answered.setdefault(task, set()).update(names)
        elif aspect != "contract":
            found += [
                f"{task}--{aspect}: {call}"
                for call in asked(cell.source, answered.get(task, set()))
            ]
    assert answered
    assert found == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("y = mine(x)\nz = y.sum()\ntorch.autograd.grad(z, x)", 1),
        ("torch.autograd.grad(mine(x).sum(), [x, w])", 1),
        ("y = mine(x)\ntorch.autograd.grad(y, x, allow_unused=True)", 0),
        ("y = mine(x)\nflowing(y, x)", 0),
        ("y = ours(x)\ntorch.autograd.grad(y, x)", 0),
    ],
)
def test_such_calls_are_found(source: str, count: int) -> None:
    """In what comes of a student's function, and nowhere else."""
    assert len(asked(source, {"mine"})) == count
