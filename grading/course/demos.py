"""Finds cells of the release that grading can skip: plots and printed examples.

A figure takes longer to draw than most answers take to test, and nobody looks at it: outputs are
kept as text. It is left out where no cell that runs later in the submission's process reads a name
that its cell binds. Tests run elsewhere, and read only what the reference solutions offer.
"""

from __future__ import annotations

import ast
import functools
import re
import symtable
from collections.abc import Iterator, Sequence

from grading.course.bindings import parsed
from grading.course.submission import RebuiltCell

#: The name by which a cell of the release draws.
PLOTTING = "plt"
#: By these a cell may read any name.
BY_TEXT = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "get_ipython", "__main__"}
)
#: A measurement, to its statement.
MEASURES = re.compile(
    r"^%(?:time|timeit|prun)(?:[ \t]+-[a-zA-Z]\w*(?:[ \t]+\d+\b)?)*[ \t]+", re.M
)
#: What has names of its own.
SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@functools.lru_cache(maxsize=4096)
def names_of(source: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return which names of the module a cell takes from earlier cells, and which it binds.

    A name whose first use is that it is bound comes from nowhere. Lines that speak to Jupyter count
    as blank; None is returned for what is no Python, too deeply nested, or takes long to read.
    """
    plain = "\n".join(
        "" if line.startswith(("%", "!")) else line for line in source.split("\n")
    )
    try:
        return _names_of(plain)
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # the last two: nested too deep
        return None


def _names_of(source: str) -> tuple[frozenset[str], frozenset[str]]:
    tree, table = parsed(source), symtable.symtable(source, "<cell>", "exec")
    read, bound = set(), set()
    waiting = [table]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        for symbol in scope.get_symbols():
            name, top = symbol.get_name(), scope is table
            binds = (
                symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            )
            if binds and (top or symbol.is_declared_global()):
                bound.add(name)
            if symbol.is_referenced() and (top or symbol.is_global()):
                read.add(name)
    first: dict[str, bool] = {}
    for name, reads in _uses(tree):
        first.setdefault(name, reads)
    return frozenset(
        name for name in read | bound if first.get(name, False)
    ), frozenset(bound)


def _uses(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield the names in a tree as they are used in time, each with whether it is read.

    What is bound in an inner scope is not bound in the module, and is left out. Each node is
    visited once, however deep it lies.
    """
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]  # the next one at the end
    while waiting:
        node, inner = waiting.pop()
        if isinstance(node, ast.Name):
            reads = not isinstance(node.ctx, ast.Store)
            if reads or not inner:
                yield node.id, reads
            continue
        inner = inner or isinstance(node, SCOPES)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, True
        parts = list(ast.iter_child_nodes(node))
        if isinstance(
            node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor)
        ):
            loops = isinstance(node, (ast.For, ast.AsyncFor))
            value = node.iter if loops else node.value
            # It is worked out before it gets a name.
            parts.sort(key=lambda part: part is not value)
        waiting += [(part, inner) for part in reversed(parts)]


def needless(cells: Sequence[RebuiltCell]) -> set[int]:
    """Return the indices of the cells that draw for nobody.

    Nothing is left out before a cell that is no Python, or that may look names up by their text.
    """
    offered = {name for cell in cells for name in cell.owns}
    needed: set[str] = set()
    found: set[int] = set()
    for index in reversed(range(len(cells))):
        cell = cells[index]
        if cell.cell_type != "code" or cell.role == "test":
            continue
        names = names_of(cell.source)
        if names is None or names[0] & BY_TEXT:
            return found
        read, bound = names
        if cell.role == "demo" and PLOTTING in read and not bound & (needed | offered):
            found.add(index)
        else:
            needed |= read
    return found


def called(source: str) -> frozenset[str]:
    """Return which names of the module a cell calls; none of what is no Python."""
    source = MEASURES.sub("", source)
    names = names_of(source)
    if names is None:
        return frozenset()
    text = re.sub(r"^[%!].*", "", source, flags=re.M)
    return names[0] & {
        node.func.id
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def is_needed(cells: Sequence[RebuiltCell], index: int) -> bool:
    """Tell whether a cell binds what a test or a later cell reads."""
    names = [
        names_of(MEASURES.sub("", cell.source))
        for cell in cells[index:]
        if cell.cell_type == "code" and cell.role != "test"
    ]
    if None in names or any(read & BY_TEXT for read, _ in names[1:]):
        return True
    offered = {name for cell in cells for name in cell.owns}
    return bool(names[0][1] & offered.union(*(read for read, _ in names[1:])))
