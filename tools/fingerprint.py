"""A hash of the code that a function runs: its own, and all of the course's that it reaches.

Names are followed through the source, without running it: from the function to the functions,
classes and constants of its module that it names, to what those name, and across imports into the
course's other modules. Docstrings, comments, layout and the order of definitions do not count. It
is an over-approximation: a name counts wherever it stands, also where a local variable hides it,
and so do all statements of a reached module that bind no name. What other packages do, and files
of data, do not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grading.course.notebooks import ROOT

#: Packages of the course whose code counts.
PACKAGES = ("book", "transformer", "translator")
#: Decorators that hold a claim's words and threshold; they run nothing.
DECLARING = {"claim", "exact"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Import = ast.Import | ast.ImportFrom
Reached = Iterator[tuple["Module", ast.stmt]]

#: The course's files and when they were changed, by root: what `load` has read.
_states: dict[Path, list[tuple[Path, int]]] = {}


def fingerprint(module: str, function: str, root: Path = ROOT) -> str:
    """Return a hash of what ``function`` of ``module`` ("book.claims.chapter_01") runs.

    Raises ValueError where there is no such function.
    """
    _forget_what_changed(root)
    start = load(root, module)
    waiting = [] if start is None else list(start.resolve(function))
    if not waiting:
        raise ValueError(f"{module}: no function {function} in its source")
    parts: dict[int, str] = {}
    while waiting:
        where, node = waiting.pop()
        if id(node) not in parts:
            parts[id(node)], reached = where.look(node)
            waiting += reached
    text = "\n".join(sorted(parts.values()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def source_of(root: Path, name: str) -> Path | None:
    """Return the source file of a module of the course, or None for any other module."""
    if name.partition(".")[0] not in PACKAGES:
        return None
    path = root.joinpath(*name.split("."))
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)


def _forget_what_changed(root: Path) -> None:
    """Forget all modules where a file of any of them has changed since the last look."""
    state = [
        (path, path.stat().st_mtime_ns)
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    ]
    if _states.get(root) != state:
        load.cache_clear()
        _states[root] = state


@functools.cache  # most claims reach the same hundreds of definitions
def load(root: Path, name: str) -> Module | None:
    """Return a module of the course, or None for any other."""
    path = source_of(root, name)
    if path is None:
        return None
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    module = Module(root, name, package)
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, Definition):
            statement.decorator_list = [
                one for one in statement.decorator_list if not _declares(one)
            ]
        names = list(bindings(statement))
        for bound in names:
            module.bound.setdefault(bound, []).append(statement)
        if not names and not is_text(statement):
            module.loose.append(statement)
        for node in ast.walk(statement):
            if isinstance(node, Import):
                module.note_modules(node)
    return module


def _declares(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and (
        getattr(decorator.func, "id", "") in DECLARING
    )


@dataclass
class Module:
    """The top level of a source file: which statements bind a name, and which bind none."""

    root: Path
    name: str
    package: str
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    loose: list[ast.stmt] = field(default_factory=list)
    #: The course's modules that the source imports as such: {name there: module}.
    modules: dict[str, str] = field(default_factory=dict)
    #: What `look` has found, by the statement's id.
    looked: dict[int, tuple[str, list]] = field(default_factory=dict, repr=False)

    def look(self, statement: ast.stmt) -> tuple[str, list[tuple[Module, ast.stmt]]]:
        """Return a statement of this module as text, and what it reaches."""
        if id(statement) not in self.looked:
            text = f"{self.name} {dump(statement)}"
            found = {id(node): (where, node) for where, node in self.reached(statement)}
            self.looked[id(statement)] = text, list(found.values())
        return self.looked[id(statement)]

    def origin(self, node: ast.ImportFrom) -> str:
        """Return the absolute name of the module that names are imported from."""
        if not node.level:
            return node.module or ""
        above = self.package.split(".")
        above = above[: len(above) - node.level + 1]
        return ".".join([*above, *filter(None, [node.module])])

    def note_modules(self, node: Import) -> None:
        """Remember which of the imported names are modules of the course."""
        for alias in node.names:
            name = alias.name
            if isinstance(node, ast.ImportFrom):
                name = f"{self.origin(node)}.{name}"
            if source_of(self.root, name):
                self.modules[alias.asname or alias.name] = name

    def resolve(self, name: str) -> Reached:
        """Yield the statements that make what ``name`` stands for, here or where it comes from."""
        for statement in self.bound.get(name, ()):
            if isinstance(statement, Import):
                yield from self.imported(statement, name)
            else:
                yield self, statement

    def imported(self, node: Import, only: str = "") -> Reached:
        """Yield what an import of names takes from the course; of one of them, if given."""
        other = isinstance(node, ast.ImportFrom) and load(self.root, self.origin(node))
        if not other:
            return
        for alias in node.names:
            if alias.name == "*":
                for name in list(other.bound):
                    yield from other.resolve(name)
            elif only in ("", alias.asname or alias.name):
                yield from other.resolve(alias.name)

    def reached(self, statement: ast.stmt) -> Reached:
        """Yield what a statement of this module names, imports included."""
        yield from ((self, loose) for loose in self.loose)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield from self.resolve(node.id)
            elif isinstance(node, ast.Attribute):
                yield from self.attribute(node)
            elif isinstance(node, Import):
                yield from self.imported(node)

    def attribute(self, node: ast.Attribute) -> Reached:
        """Yield what ``a.b.name`` stands for where ``a.b`` is a module of the course."""
        parts, value = [], node.value
        while isinstance(value, ast.Attribute):
            parts.insert(0, value.attr)
            value = value.value
        if not isinstance(value, ast.Name):
            return
        dotted = ".".join([value.id, *parts])
        for alias, name in self.modules.items():
            if dotted == alias or dotted.startswith(f"{alias}."):
                other = load(self.root, name + dotted.removeprefix(alias))
                if other:
                    yield from other.resolve(node.attr)


def bindings(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(statement, Definition):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, Definition):
            yield node.name


def is_text(node: object) -> bool:
    """Tell whether a statement is a docstring, or another text that does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def dump(node: object) -> str:
    """Return a syntax tree as text, alike on every Python: no docstrings, nothing empty."""
    if isinstance(node, list):
        return f"[{' '.join(dump(part) for part in node if not is_text(part))}]"
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = (
        f"{name}={dump(value)}"
        for name, value in ast.iter_fields(node)
        if value is not None and value != [] and name not in ("ctx", "type_comment")
    )
    return f"{type(node).__name__}({' '.join(fields)})"
