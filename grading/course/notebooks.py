"""Reading notebooks as plain JSON: cells, nbgrader's metadata and its marked regions.

Standard library only, so that every check can use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BEGIN_HIDDEN, END_HIDDEN = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"
BEGIN_SOLUTION, END_SOLUTION = "BEGIN SOLUTION", "END SOLUTION"

#: Stands between the task and the aspect in the grade_id of a test cell.
SEPARATOR = "--"


class NotebookError(ValueError):
    """A notebook that cannot be read as the course needs it; the message names file and cell."""


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook, with the words by which a message names it."""

    path: Path
    index: int
    data: dict

    @property
    def source(self) -> str:
        """The text, whether the file stores it as one string or as a list of lines."""
        return joined(self.data.get("source", ""))

    @property
    def kind(self) -> str:
        """`code`, `markdown` or `raw`."""
        return self.data.get("cell_type", "")

    @property
    def metadata(self) -> dict:
        """The cell's metadata."""
        return self.data.get("metadata", {})

    @property
    def nbgrader(self) -> dict:
        """What nbgrader keeps about the cell; empty where it keeps nothing."""
        return self.metadata.get("nbgrader") or {}

    @property
    def grade_id(self) -> str:
        """nbgrader's name of the cell, empty where there is none."""
        return self.nbgrader.get("grade_id") or ""

    @property
    def is_solution(self) -> bool:
        """Whether a student writes in it."""
        return bool(self.nbgrader.get("solution"))

    @property
    def is_test(self) -> bool:
        """Whether it is an autograded test."""
        return (
            bool(self.nbgrader.get("grade"))
            and not self.is_solution
            and self.kind == "code"
        )

    @property
    def outputs(self) -> list[dict]:
        """Stored outputs."""
        return self.data.get("outputs") or []

    def __str__(self) -> str:
        names = [f"id {self.data['id']}"] if self.data.get("id") else []
        if self.grade_id and self.grade_id != self.data.get("id"):
            names.append(f"grade_id {self.grade_id}")
        return f"cell {self.index + 1}" + (f" ({', '.join(names)})" if names else "")


def joined(text: str | list[str]) -> str:
    """Return multi-line text of a notebook file as one string."""
    return text if isinstance(text, str) else "".join(text)


def read(path: Path) -> dict:
    """Return the notebook's JSON.

    Raises:
        NotebookError: if the file is not a notebook of format 4.

    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise NotebookError(f"{path}: not a notebook: {error}") from None
    if not isinstance(notebook, dict) or "cells" not in notebook:
        raise NotebookError(f"{path}: not a notebook: it has no cells")
    return notebook


def cells(path: Path, notebook: dict | None = None) -> Iterator[Cell]:
    """Yield the cells of a notebook file, in order."""
    for index, data in enumerate((notebook or read(path))["cells"]):
        yield Cell(path, index, data)


def regions(cell: Cell, begin: str, end: str) -> list[tuple[int, int]]:
    """Return the marked regions of a cell as pairs of line numbers, markers included.

    Raises:
        NotebookError: where regions are nested, not closed or closed twice.

    """
    try:
        return marked(cell.source, begin, end)
    except ValueError as error:
        raise NotebookError(f"{cell.path}: {cell}: {error}") from None


def marked(source: str, begin: str, end: str) -> list[tuple[int, int]]:
    """Return the marked regions of a text as pairs of line numbers from 0, markers included.

    Raises:
        ValueError: where regions are nested, not closed or closed twice.

    """
    found, start = [], None
    for number, line in enumerate(source.split("\n")):
        if begin in line:
            if start is not None:
                raise ValueError(f"{begin} inside {begin}")
            start = number
        elif end in line:
            if start is None:
                raise ValueError(f"{end} without {begin}")
            found.append((start, number))
            start = None
    if start is not None:
        raise ValueError(f"{begin} without {end}")
    return found


def hidden_lines(source: str) -> frozenset[int]:
    """Return the numbers, from 1, of the lines of a test that students don't see.

    Raises:
        ValueError: as `marked` does.

    """
    return frozenset(
        number + 1
        for first, last in marked(source, BEGIN_HIDDEN, END_HIDDEN)
        for number in range(first, last + 1)
    )


def split_hidden(cell: Cell) -> tuple[str, str]:
    """Return what a student sees of a test cell, and what is hidden from them."""
    lines = cell.source.split("\n")
    hidden: list[str] = []
    for begin, end in reversed(regions(cell, BEGIN_HIDDEN, END_HIDDEN)):
        hidden[:0] = lines[begin + 1 : end]
        del lines[begin : end + 1]
    return "\n".join(lines), "\n".join(hidden)


def has_statements(source: str) -> bool:
    """Return whether Python text is more than blank lines and comments."""
    return any(
        line.strip() and not line.lstrip().startswith("#")
        for line in source.split("\n")
    )


def notebooks_in(folder: Path) -> list[Path]:
    """Return the notebooks below a folder, sorted, without checkpoints."""
    return sorted(
        path
        for path in folder.rglob("*.ipynb")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
