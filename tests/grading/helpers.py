"""Submissions of the sample assignment, made without running nbgrader."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

from grading.course.notebooks import BEGIN_SOLUTION, ROOT, Cell, split_hidden
from tests.harness import sample

STUB = 'raise NotImplementedError("Replace this line with your code.")'

RIGHT = {
    "double": sample.sources("double")["add"],
    "total": sample.sources("total")["loop"],
}
WRONG = {
    "double": sample.sources("double")["sign"],
    "total": sample.sources("total")["first"],
}

#: What RIGHT earns.
FULL = {"double--small": 2.0, "double--zero": 1.0, "total--plain": 3.0}


def release(source: dict | None = None) -> dict:
    """Return the sample, or another source notebook, as nbgrader would release it."""
    notebook = copy.deepcopy(source or sample.source_notebook())
    for index, cell in enumerate(notebook["cells"]):
        if BEGIN_SOLUTION in cell["source"]:
            head = cell["source"].partition("    ### BEGIN")[0]
            cell["source"] = head + f"    {STUB}"
        cell["source"] = split_hidden(Cell(Path("sample"), index, cell))[0]
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
    return notebook


def fill(answers: dict[str, str], notebook: dict | None = None) -> dict:
    """Return the release notebook with the text of some solution cells replaced."""
    notebook = copy.deepcopy(notebook or release())
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell["source"] = answers[name]
    return notebook


def find(notebook: dict, grade_id: str) -> dict:
    """Return the cell of this name."""
    return next(
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def place(notebook: dict, grade_id: str) -> int:
    """Return the index of the cell of this name."""
    return notebook["cells"].index(find(notebook, grade_id))


def hand_in(root: Path, student: str, content: dict | str | bytes) -> Path:
    """Write a student's notebook."""
    path = root / "submitted" / student / sample.NAME / "sample.ipynb"
    if isinstance(content, bytes):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path
    return sample.write(path, content)


def hand_in_all_states(root: Path) -> None:
    """Hand in a class in which every state occurs."""
    hand_in(root, "good", fill(RIGHT))
    hand_in(root, 'zoë, "z"', fill(WRONG))
    tampered = fill(RIGHT)
    find(tampered, "double--zero")["metadata"]["nbgrader"]["points"] = 50
    hand_in(root, "sam", tampered)
    hand_in(root, "eve", "{")
    (root / "submitted" / "ida").mkdir()


def make_course(root: Path) -> Path:
    """Make a course with the sample assignment, released, and nothing handed in."""
    root.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", root)
    sample.make(root)
    sample.write(root / "exercises" / sample.NAME / "sample.ipynb", release())
    return root
