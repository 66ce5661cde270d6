"""Rules for the source notebooks of the exercises (solutions/).

They were run once, are graded as nbgrader and the answer harness need it, run alike on every
system, and keep out of the way of a student's own names.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache

from grading.course import notebooks
from grading.course.notebooks import Cell
from tools import folding

Problems = Iterator[tuple[Cell | None, str]]

#: What an exercise may import: it runs alone, on Linux, macOS and Windows. Of the standard library,
#: only what is the same on all of them: no processes, signals, files or paths.
EXERCISE_LIBRARIES = {"torch", "numpy", "matplotlib"}
EXERCISE_MODULES = {
    "collections",
    "copy",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "random",
    "re",
    "string",
    "textwrap",
    "time",
    "types",
    "typing",
    "unicodedata",
    "warnings",
}
#: What it may not call: these read or write files, start processes or need a compiler.
EXERCISE_CALLS = {
    "open",
    "__import__",
    "save",
    "load",
    "savefig",
    "tofile",
    "fromfile",
    "savetxt",
    "loadtxt",
    "spawn",
    "DataLoader",
}

#: Locked cells whose names the notebook tells students about.
TOLD = ("helpers", "given", folding.COUNTER)


def run_once(notebook: dict, cells: list[Cell]) -> Problems:
    """Every code cell was executed, in order, without an error and without noise on stderr."""
    last = 0
    for cell in cells:
        if cell.kind != "code":
            continue
        count = cell.data.get("execution_count")
        if count is None:
            if cell.source.strip():
                yield cell, "was not executed: run the whole notebook, then save it"
            continue
        if count != last + 1:
            yield (
                cell,
                f"was executed as number {count} after {last}: run it once, in order",
            )
        last = count
        for output in cell.outputs:
            if output.get("output_type") == "error":
                yield (
                    cell,
                    f"stored an error: {output.get('ename')}: {output.get('evalue')}",
                )
            elif output.get("name") == "stderr":
                yield (
                    cell,
                    f"wrote to stderr, which costs points: {output_text(output)[:80]!r}",
                )
    timed = [cell for cell in cells if "execution" in cell.metadata]
    for cell in timed[:1]:
        yield (
            cell,
            (
                f"stored the times of its execution, as did {len(timed) - 1} more cells: "
                "remove metadata.execution, or execute with record_timing=False"
            ),
        )


def graded_as_meant(notebook: dict, cells: list[Cell]) -> Problems:
    """nbgrader's metadata: each grade_id once, points, tests after their task, hidden tests."""
    seen: dict[str, Cell] = {}
    tasks: dict[str, tuple[Cell, list[Cell]]] = {}
    for cell in cells:
        name = cell.grade_id
        if cell.nbgrader and not name:
            yield cell, "has nbgrader's metadata and no grade_id"
            continue
        if name in seen and name:
            yield (
                cell,
                f"has the grade_id of cell {seen[name].index + 1}: a duplicate grade_id",
            )
            continue
        seen[name] = cell
        if cell.is_solution:
            tasks[name] = (cell, [])
            if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
                yield (
                    cell,
                    "a task's grade_id is lower-case words joined by single hyphens",
                )
            if not notebooks.regions(
                cell, notebooks.BEGIN_SOLUTION, notebooks.END_SOLUTION
            ):
                yield (
                    cell,
                    f"has no ### {notebooks.BEGIN_SOLUTION}: its signature would be lost",
                )
        elif cell.nbgrader.get("grade"):
            points = cell.nbgrader.get("points")
            if not isinstance(points, (int, float)) or points <= 0:
                yield cell, f"a test cell without points (points: {points})"
            task, separator, aspect = name.partition(notebooks.SEPARATOR)
            if task in tasks and separator and aspect:
                tasks[task][1].append(cell)
            else:
                yield (
                    cell,
                    "a test cell is called <task>--<aspect> and stands below its task",
                )
            if not cell.nbgrader.get("locked"):
                yield cell, "a test cell is locked"
        elif notebooks.regions(cell, notebooks.BEGIN_HIDDEN, notebooks.END_HIDDEN):
            yield cell, "hidden tests outside a test cell"
    for cell, tests in tasks.values():
        hidden = [notebooks.split_hidden(test)[1] for test in tests]
        if not tests:
            yield cell, "a task without a test cell"
        elif not any(map(notebooks.has_statements, hidden)):
            yield cell, "none of the task's test cells has hidden tests"
    if not tasks:
        yield None, "has no task: no solution cell"


def stands_alone(notebook: dict, cells: list[Cell]) -> Problems:
    """An exercise needs torch, numpy and matplotlib, no file beside it and no one system."""
    for cell in cells:
        if cell.kind == "code":
            for problem in leaning(cell.source):
                yield cell, problem


@cache  # the helpers of the tests are the same in each notebook
def leaning(source: str) -> tuple[str, ...]:
    """Return a line for each import or call of a cell that an exercise may not have."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return (f"is not plain Python: {error.msg} (line {error.lineno})",)
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        for name in names:
            package = name.partition(".")[0]
            if package in sys.stdlib_module_names and package not in EXERCISE_MODULES:
                found.append(
                    f"imports {package}; an exercise runs alike on every system"
                )
            elif package not in EXERCISE_LIBRARIES | EXERCISE_MODULES:
                found.append(
                    f"imports {package}; an exercise runs with torch, numpy, matplotlib"
                )
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in EXERCISE_CALLS or ast.unparse(node.func) == "torch.compile":
                found.append(
                    f"calls {called}; an exercise runs alone, alike on every system"
                )
    return tuple(found)


def names_apart(notebook: dict, cells: list[Cell]) -> Problems:
    """What a test or a drawing binds begins with an underscore, and overwrites no student's helper.

    Free to bind what they like: the first code cell (imports), answers, the locked cells of TOLD,
    and locked cells without points for names that the text names.
    """
    code = [cell for cell in cells if cell.kind == "code"]
    text = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    for cell in code[1:]:
        given = cell.nbgrader.get("locked") and not cell.nbgrader.get("grade")
        if cell.is_solution or (given and cell.nbgrader.get("grade_id") in TOLD):
            continue
        for name, line in bound_names(cell.source):
            named = given and re.search(rf"`{re.escape(name)}\b", text)
            if not name.startswith("_") and not named:
                yield (
                    cell,
                    f"binds {name} (line {line}), which may be a student's: call it _{name}",
                )


def given_kept(notebook: dict, cells: list[Cell]) -> Problems:
    """No test binds a name of a given cell: run again, the tests that read it would fail."""
    given = {
        name: cell
        for cell in cells
        if cell.kind == "code"
        and cell.nbgrader.get("locked")
        and not cell.nbgrader.get("grade")
        for name, _ in bound_names(cell.source)
    }
    for cell in cells:
        if cell.kind != "code" or not cell.nbgrader.get("grade"):
            continue
        for name, line in bound_names(cell.source):
            if name in given and name != "_":
                told = given[name].nbgrader["grade_id"]
                yield (
                    cell,
                    f"binds {name} (line {line}), which {told} gives: rename one",
                )


def folded(notebook: dict, cells: list[Cell]) -> Problems:
    """Tests and helpers are folded, below lines that say what is in them."""
    solutions = cells[0].path.parent.parent
    for place, problem in folding.differences(notebook, solutions):
        yield cells[place], f"{problem}: run `python -m tools.folding`"


@cache  # asked of each cell by two rules, and of each helper by every test that uses it
def bound_names(source: str) -> tuple[tuple[str, int], ...]:
    """Return the global names that a cell binds, each with the line that first does."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()  # stands_alone says so
    found: dict[str, int] = {}
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        names = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [(each.asname or each.name).split(".")[0] for each in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names = [node.id]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names = [node.name]
        for name in names:
            found[name] = min(node.lineno, found.get(name, node.lineno))
        scopes = (
            ast.FunctionDef,
            ast.AsyncFunctionDef,
            ast.ClassDef,
            ast.Lambda,
            ast.ListComp,
            ast.SetComp,
            ast.DictComp,
            ast.GeneratorExp,
        )
        if not isinstance(node, scopes):
            todo += ast.iter_child_nodes(node)
    return tuple(sorted(found.items(), key=lambda item: item[1]))


def output_text(output: dict) -> str:
    """Return the readable part of a stored output."""
    plain = output.get("data", {}).get("text/plain", "")
    trace = "\n".join(output.get("traceback", []))
    return notebooks.joined(output.get("text", "")) + notebooks.joined(plain) + trace
