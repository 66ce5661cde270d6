"""An assignment and its bank of answers, read from files.

An assignment is a folder of solutions/ with one notebook. A *task* of it is one solution cell,
whose grade_id is the task's name, and the test cells whose grade_id is `<task>--<aspect>`.
The bank is tests/answers/<assignment>/<task>/right_*.py and wrong_*.py; each file is the text of
a whole solution cell. The first line of a wrong answer is `# message: <pattern>`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tools import notebooks
from tools.notebooks import Cell

MESSAGE_LINE = re.compile(r"#\s*message:\s*(\S.*)")


class BankError(ValueError):
    """Assignments or answers that do not have the form above; the message names the file."""


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
        return {test.grade_id: test for task in self.tasks.values() for test in task.tests}


@dataclass(frozen=True)
class Answer:
    """One file of the bank."""

    path: Path
    task: str
    is_right: bool
    source: str
    message: re.Pattern | None = None

    def __str__(self) -> str:
        return "/".join(self.path.parts[-3:])


def discover(solutions: Path) -> list[Path]:
    """Return the assignment folders below solutions/.

    Raises:
        BankError: if there is none: a harness with nothing to check must not pass.

    """
    found = sorted(p for p in solutions.glob("*") if p.is_dir() and not p.name.startswith("."))
    if not found:
        raise BankError(f"{solutions}: no assignment there")
    return found


def load(folder: Path) -> Assignment:
    """Return the assignment in a folder of solutions/.

    Raises:
        BankError: if its notebook has not the form that the harness reads.

    """
    found = notebooks.notebooks_in(folder)
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise BankError(f"{folder}: expected one notebook in an assignment, found {names}")
    path = found[0]
    cells = [cell for cell in notebooks.cells(path) if cell.kind == "code"]
    tasks: dict[str, Task] = {}
    for index, cell in enumerate(cells):
        if cell.is_solution:
            if cell.grade_id in tasks:
                raise BankError(f"{path}: {cell}: two solution cells have this grade_id")
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
            tasks[name].tests.append(TestCell(cell.grade_id, points, cell.source, visible))
    for task in tasks.values():
        if not task.tests:
            raise BankError(f"{path}: {cells[task.index]}: a task without a test cell")
    return Assignment(folder.name, path, cells, tasks)


def read_bank(assignment: Assignment, answers: Path) -> tuple[list[Answer], list[str]]:
    """Return the answers to an assignment, and what is wrong with the files, one line each."""
    folder = answers / assignment.name
    bank: list[Answer] = []
    problems: list[str] = []
    if not folder.is_dir():
        return bank, [f"{folder}: no answers to {assignment.name}"]
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__")):
            continue
        if path.name not in assignment.tasks:
            problems.append(f"{path}: no task of {assignment.name} has this name")
            continue
        for file in sorted(path.iterdir()):
            if file.name.startswith((".", "__")):
                continue
            try:
                bank.append(read_answer(file, path.name))
            except BankError as error:
                problems.append(str(error))
    problems += duplicates(bank)
    return bank, problems


def read_answer(path: Path, task: str) -> Answer:
    """Return the answer in a file of the bank.

    Raises:
        BankError: if its name, its first line or its Python cannot be read.

    """
    kind, separator, _ = path.stem.partition("_")
    if path.suffix != ".py" or kind not in {"right", "wrong"} or not separator:
        raise BankError(f"{path}: an answer is called right_<name>.py or wrong_<name>.py")
    source = path.read_text(encoding="utf-8")
    try:
        ast.parse(source, str(path))
    except SyntaxError as error:
        raise BankError(f"{path}: broken answer: SyntaxError: {error}") from None
    if kind == "right":
        return Answer(path, task, True, source)
    match = MESSAGE_LINE.fullmatch(source.split("\n", 1)[0].strip())
    if match is None:
        raise BankError(f"{path}: the first line of a wrong answer is `# message: <pattern>`")
    try:
        pattern = re.compile(match.group(1), re.IGNORECASE)
    except re.error as error:
        problem = f"{path}: the pattern of the first line is no regular expression: {error}"
        raise BankError(problem) from None
    if pattern.search(""):
        raise BankError(f"{path}: the pattern of the first line matches anything")
    return Answer(path, task, False, source, pattern)


def duplicates(bank: list[Answer]) -> list[str]:
    """Return a line for each pair of answers to one task that are the same code."""
    seen: dict[tuple[str, str], Answer] = {}
    problems = []
    for answer in bank:
        key = (answer.task, ast.dump(ast.parse(answer.source)))
        if key in seen:
            problems.append(f"{answer.path}: the same code as {seen[key].path.name}")
        seen.setdefault(key, answer)
    return problems


def count_kinds(bank: list[Answer]) -> Counter[tuple[str, bool]]:
    """Return how many answers there are by (task, is_right)."""
    return Counter((answer.task, answer.is_right) for answer in bank)
