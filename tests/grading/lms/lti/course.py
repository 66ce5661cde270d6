"""A small course for the tests: a gradebook with every state, and feedback files."""

from __future__ import annotations

from pathlib import Path

from grading.course.states import Result, State
from grading.gradebook.writer import GradebookWriter

ASSIGNMENT, NOTEBOOK = "02-self-attention", "self-attention"

#: The graded cells and their points.
CELLS = {"soft-lookup--shape": 2.0, "soft-lookup--values": 3.0, "scores--scaled": 5.0}

#: Who is in the gradebook. Two have the same name; one has a formula for one.
STUDENTS = {
    "s01": ("Ada", "Müller", "s01@example.org"),
    "s02": ("Ada", "Müller", "s02@example.org"),
    "s03": ("=cmd()", "<b>O'Brien</b>", "s03@example.org"),
    "s04": ("Émile", "Ñandú, Jr.", "s04@example.org"),
    "s05": ("Wen", "李", "s05@example.org"),
}

#: The states they are in, and the points of the three cells.
STATES = {
    "s01": (State.GRADED, (2.0, 3.0, 2.5)),
    "s02": (State.GRADED, (0.0, 0.0, 0.0)),
    "s03": (State.FAILED, None),
    "s04": (State.SUSPECT, (2.0, 3.0, 5.0)),
    "s05": (State.MISSING, None),
}


def url(root: Path) -> str:
    """Return the gradebook's URL."""
    return f"sqlite:///{root / 'gradebook.db'}"


def make(root: Path, extra: int = 0) -> Path:
    """Make a course in a folder; `extra` adds that many graded students, x000 and on."""
    states = dict(STATES)
    students = dict(STUDENTS)
    for number in range(extra):
        name = f"x{number:03d}"
        students[name] = ("Extra", name, f"{name}@example.org")
        states[name] = (State.GRADED, (1.0, 1.0, float(number % 6)))
    with GradebookWriter(url(root)) as book:
        gradebook = book.gradebook
        gradebook.add_assignment(ASSIGNMENT)
        gradebook.add_notebook(NOTEBOOK, ASSIGNMENT)
        for name, points in CELLS.items():
            gradebook.add_grade_cell(
                name, NOTEBOOK, ASSIGNMENT, max_score=points, cell_type="code"
            )
        for name, (first, last, email) in students.items():
            gradebook.add_student(name, first_name=first, last_name=last, email=email)
    for name, (state, points) in states.items():
        grade(root, name, state, points)
        if state is not State.MISSING:
            page = root / "feedback" / name / ASSIGNMENT / f"{NOTEBOOK}.html"
            page.parent.mkdir(parents=True)
            page.write_text(
                f"<p>feedback of {name}</p><script>document.title = 'run'</script>",
                encoding="utf-8",
            )
    return root


def grade(root: Path, student: str, state: State, points: tuple | None) -> None:
    """Write a student's grade."""
    given = dict(zip(CELLS, points, strict=True)) if points else {}
    reasons = [] if state is State.GRADED else [f"{state} in the test"]
    with GradebookWriter(url(root)) as book:
        book.save(
            ASSIGNMENT, NOTEBOOK, Result(student, state, points=given, reasons=reasons)
        )
