"""An assignment, read from its notebook.

An assignment is a folder of solutions/ with one notebook. A *task* of it is one solution cell,
whose grade_id is the task's name, and the test cells whose grade_id is `<task>--<aspect>`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from grading.course import draws, notebooks
from grading.course.notebooks import Cell


class BankError(ValueError):
    """Assignments or answers that have not the form they need; the message names the file."""


@dataclass(frozen=True)
class TestCell:
    """One graded cell: its name, its points, all of its text and the part that students see."""

    __test__ = False  # pytest: not a class of tests

    grade_id: str
    points: float
    full: str
    visible: str


@dataclass
class Task:
    """One solution cell, by its place in the notebook, and the test cells that grade it."""

    name: str
    index: int
    tests: list[TestCell] = field(default_factory=list)

    @property
    def points(self) -> float:
        """What the task is worth."""
        return sum(test.points for test in self.tests)


@dataclass(frozen=True)
class Assignment:
    """A source notebook: its code cells in order, and its tasks."""

    name: str
    path: Path
    cells: list[Cell]
    tasks: dict[str, Task]

    @property
    def tests(self) -> dict[str, TestCell]:
        """Every test cell by its grade_id."""
        return {
            test.grade_id: test for task in self.tasks.values() for test in task.tests
        }


def discover(solutions: Path) -> list[Path]:
    """Return the assignment folders below solutions/.

    Raises:
        BankError: if there is none: a harness with nothing to check must not pass.

    """
    found = sorted(
        p for p in solutions.glob("*") if p.is_dir() and not p.name.startswith(".")
    )
    if not found:
        raise BankError(f"{solutions}: no assignment there")
    return found


def load(folder: Path, secret: bytes = b"") -> Assignment:
    """Return the assignment in a folder of solutions/.

    Args:
        folder: the assignment.
        secret: what hidden inputs are drawn from, if not those of the repository.

    Raises:
        BankError: if its notebook has not the form that the harness reads.

    """
    found = notebooks.notebooks_in(folder)
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise BankError(
            f"{folder}: expected one notebook in an assignment, found {names}"
        )
    path = found[0]
    cells = [cell for cell in notebooks.cells(path) if cell.kind == "code"]
    tasks: dict[str, Task] = {}
    for index, cell in enumerate(cells):
        if cell.is_solution:
            if cell.grade_id in tasks:
                raise BankError(
                    f"{path}: {cell}: two solution cells have this grade_id"
                )
            tasks[cell.grade_id] = Task(cell.grade_id, index)
        elif cell.is_test:
            name, separator, aspect = cell.grade_id.partition(notebooks.SEPARATOR)
            if not (separator and aspect and name in tasks):
                raise BankError(
                    f"{path}: {cell}: a test cell is named <task>--<aspect> after a solution cell "
                    f"above it; known so far: {', '.join(tasks) or 'none'}"
                )
            if not cell.nbgrader.get("points"):
                raise BankError(f"{path}: {cell}: a test cell without points")
            points = float(cell.nbgrader["points"])
            visible, _ = notebooks.split_hidden(cell)
            seed = draws.seeds(secret, folder.name, [cell.grade_id]).get(cell.grade_id)
            full = draws.draw(cell.source, seed)
            tasks[name].tests.append(TestCell(cell.grade_id, points, full, visible))
    for task in tasks.values():
        if not task.tests:
            raise BankError(f"{path}: {cells[task.index]}: a task without a test cell")
    return Assignment(folder.name, path, cells, tasks)
