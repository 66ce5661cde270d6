"""Static analysis of a cell: which names it binds, and which it needs."""

from __future__ import annotations

import ast
import re
import symtable

#: What no answer to an exercise names: the parts of the grader that run beside it, other
#: processes, and the parts of Jupyter by which a cell changes how others are executed.
INNER = re.compile(
    "|".join(
        (
            r"(?:from|import)[ \t]+grading\b",
            r"\bgrading\.(?:bridge|run|sandbox|verdict|wire)\b",
            r"\bStudentPeer\b|\b_wire_\w+",
            r"/proc/(?:self|1|\d+|[{*])|/dev/(?:fd|shm)\b",
            r"\bprocess_vm_\w+|\bPTRACE\w*|\bptrace\b",
            r"get_ipython\(\)\s*\.\s*(?:ast_transf|input_transf|run_cell|events|kernel)",
            r"\bast_transformers\b|\binput_transformers\w*|\brun_cell_async\b|\bgradebook\.db\b",
        )
    )
)

#: Python 3.11 looks for each field of an f-string from the string's beginning: 80,000 of them,
#: which fit into a submission, take it half a minute in which nothing can interrupt it.
MOST_BRACES = 2000


def parsed(source: str) -> ast.Module:
    """Return the tree of a student's code, in a time that grows with its length alone.

    Raises:
        SyntaxError: if it is no Python.
        ValueError: if it has too many braces, or a null character.
        RecursionError, MemoryError: if it is nested too deep.

    """
    if source.count("{") > MOST_BRACES:
        raise ValueError(f"more than {MOST_BRACES} opening braces in one piece of code")
    return ast.parse(source)


def bound_names(source: str) -> set[str]:
    """Return the names that a cell's text binds at its top level.

    Raises:
        SyntaxError: if it is no Python.

    """
    table = symtable.symtable(source, "<cell>", "exec")
    return {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }


def inner_parts(source: str) -> list[str]:
    """Return the words of a cell that name the grader's inner parts, or another process's."""
    return sorted(set(INNER.findall(source)))


def offered_names(source: str) -> set[str]:
    """Return what a cell of the reference solution offers to a test.

    These are the names that it binds and, with a dot before them, the attributes and methods of
    its classes: `.weight`, `.__len__`. A function that yields offers `.__next__`.

    Raises:
        SyntaxError: if it is no Python.

    """
    found = bound_names(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            found |= {".__iter__", ".__next__"}
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(f".{node.attr}")
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found.add(f".{part.name}")
                for name in (
                    ast.walk(part)
                    if isinstance(part, (ast.Assign, ast.AnnAssign))
                    else ()
                ):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        found.add(f".{name.id}")
    return found


def needed_names(source: str) -> set[str]:
    """Return the names that a cell reads while it is executed, and does not bind itself.

    What stands in the body of a function is read later, when it is called.

    Raises:
        SyntaxError: if it is no Python.

    """
    finder = _Finder()
    finder.visit(ast.parse(source))
    called = {name for name in finder.read if name in finder.bodies}
    read = set(finder.read)
    waiting = list(called)
    seen = set()
    while waiting:  # a function of this cell that this cell calls: its body is read now
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        inner = _Finder()
        for statement in finder.bodies[name]:
            inner.visit(statement)
        read |= inner.read - inner.local
        waiting += [found for found in inner.read if found in finder.bodies]
    return read - finder.local - bound_names(source)


class _Finder(ast.NodeVisitor):
    """Collects names that are read outside the bodies of functions."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.local: set[str] = set()
        self.bodies: dict[str, list[ast.AST]] = {}

    def visit_Name(self, node: ast.Name) -> None:
        (self.read if isinstance(node.ctx, ast.Load) else self.local).add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        for part in (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults):
            if part is not None:
                self.visit(part)
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names += [part for part in (arguments.vararg, arguments.kwarg) if part]
        stores = [ast.Name(argument.arg, ast.Store()) for argument in names]
        self.bodies[node.name] = [*stores, *node.body]

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        inner = _Finder()
        inner.visit(node.body)
        names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.read |= inner.read - {argument.arg for argument in names}
        for default in node.args.defaults:
            self.visit(default)
