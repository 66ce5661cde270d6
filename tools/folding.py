"""Folds the test and helper cells of the exercises (solutions/) and says what is in them.

    python -m tools.folding

A test cell begins with a title that names it and its points: what JupyterLab and Colab show of a
folded cell. `solutions/points.py` becomes a cell below the helpers, and the last code cell prints
the points so far. `make check` asks whether all is so.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import nbformat

from grading.course import files
from grading.course.notebooks import ROOT, SEPARATOR, joined, notebooks_in

TITLE = re.compile(r"\A# @title .*\n")
#: What folds a cell: in JupyterLab, and in Colab.
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}
POINTS, COUNTER, SUM = "points.py", "points-counter", "points-so-far"
SAID = (
    "Run the next cell for your points so far. It counts the visible tests that you ran; "
    "grading runs hidden ones as well."
)


def titled(source: str, name: str, points: float) -> str:
    """Return the source of a test cell with its title as the first line."""
    plural = "" if points == 1 else "s"
    title = f"# @title Test {name} ({points:g} point{plural})\n"
    return title + TITLE.sub("", source)


def is_test(cell: dict) -> bool:
    """Tell whether a cell is a test: one that has points and is no answer."""
    tags = cell["metadata"].get("nbgrader", {})
    return bool(tags.get("grade")) and not tags.get("solution")


def counter(solutions: Path) -> str:
    """Return the source of the cell that counts points."""
    text = (solutions / POINTS).read_text(encoding="utf-8")
    return text.partition("# %% points\n")[2].strip("\n")


def fold(notebook: nbformat.NotebookNode, solutions: Path) -> None:
    """Fold a notebook's tests and helpers, in place, and write what stands above them."""
    kept = [
        cell for cell in notebook.cells if cell.id not in (COUNTER, SUM, f"text-{SUM}")
    ]
    old = {cell.id: cell for cell in notebook.cells}
    tasks: dict[str, float] = {}
    cells = []
    for cell in kept:
        tags = cell.metadata.get("nbgrader", {})
        if is_test(cell):
            name, points = tags.get("grade_id", ""), tags.get("points") or 0
            task = name.partition(SEPARATOR)[0]
            tasks[task] = tasks.get(task, 0) + points
            cell.source = titled(cell.source, name, points)
        if is_test(cell) or tags.get("grade_id") == "helpers":
            cell.metadata.update(FOLDED)
        cells.append(cell)
        if tags.get("grade_id") == "helpers":
            cells.append(locked(old, COUNTER, counter(solutions)))
    last = max((n for n, cell in enumerate(cells, 1) if is_test(cell)), default=0)
    rows = "".join(f'        "{task}": {most:g},\n' for task, most in tasks.items())
    cells[last:last] = [
        markdown(old, f"text-{SUM}", SAID),
        locked(
            old,
            SUM,
            f"# @title Points so far\n_points_so_far(\n    {{\n{rows}    }}\n)",
        ),
    ]
    notebook.cells = cells


def markdown(old: dict, name: str, text: str) -> nbformat.NotebookNode:
    """Return a cell of text."""
    cell = old.get(name) or nbformat.v4.new_markdown_cell(id=name)
    cell.source = text
    return cell


def locked(old: dict, name: str, source: str) -> nbformat.NotebookNode:
    """Return a folded code cell that no student changes."""
    cell = old.get(name) or nbformat.v4.new_code_cell(id=name)
    cell.source = source
    cell.metadata.update(FOLDED)
    cell.metadata["nbgrader"] = {
        "grade": False,
        "grade_id": name,
        "locked": True,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    return cell


def differences(notebook: dict, solutions: Path) -> list[tuple[int, str]]:
    """Return which cells are not as `fold` makes them: index, and what is wrong.

    A course without a cell that counts points folds nothing.
    """
    if not (solutions / POINTS).exists():
        return []
    wanted = nbformat.from_dict(notebook)
    wanted = nbformat.reads(nbformat.writes(wanted), as_version=4)
    fold(wanted, solutions)
    cells = notebook["cells"]
    here = {cell.get("id"): (place, cell) for place, cell in enumerate(cells)}
    found = []
    for cell in wanted.cells:
        if cell.id not in here:
            found.append((len(cells) - 1, f"above here, {cell.id} is missing"))
            continue
        at, now = here[cell.id]
        if joined(now["source"]) != cell.source:
            found.append((at, "its first line or its text isn't what it must say"))
        elif now["metadata"] != cell.metadata:
            found.append((at, "isn't folded"))
    found = sorted(dict(reversed(found)).items())  # the first of each cell
    if not found and [cell.id for cell in wanted.cells] != [c.get("id") for c in cells]:
        found.append((0, f"{COUNTER} or {SUM} stands in another place"))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Fold every assignment's notebook."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.folding", description=__doc__
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    solutions = parser.parse_args(arguments).root.resolve() / "solutions"
    for folder in sorted(path for path in solutions.iterdir() if path.is_dir()):
        for path in notebooks_in(folder):
            notebook = nbformat.read(path, as_version=4)
            fold(notebook, solutions)
            text = nbformat.writes(notebook) + "\n"
            if text != path.read_text(encoding="utf-8"):
                files.write(path, text)
                print(f"{path}: changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
