"""The Validate button's answer; tests/test_lab.py presses it in JupyterLab."""

from __future__ import annotations

from pathlib import Path

from grading.check import validate
from grading.check.file import Item
from grading.check.findings import Report, Task
from grading.feedback.words import Message


def test_a_fine_notebook_is_a_success() -> None:
    """Nothing to mend, and notes only: no word of all tests, since some are hidden."""
    tasks = [Task("Task 1", tests=2, points=4, earned=4)]
    notes = [Item("the outputs take 3 MB", "Clear them.", mend=False)]
    [shown] = validate.answer(Report("A", Path("a.ipynb"), notes, tasks))["failed"]
    assert shown["source"].startswith("4 of 4 points by the tests that you can see;")
    assert shown["raw_error"].splitlines() == [
        "All the tests that you can see pass.",
        "Grading runs more tests, with other sizes and values.",
        "",
        "Solved",
        "Task 1, 4 of 4 points",
    ]


def test_solved_failed_and_open_tasks_are_told_apart_with_points() -> None:
    """Findings first, then each task in its state; what could be HTML is escaped."""
    tasks = [
        Task(
            "Task 1",
            answered=False,
            tests=1,
            failed=[("small", Message("never shown"))],
            points=3,
        ),
        Task(
            "Task 2",
            tests=2,
            failed=[("big", Message("<img src=x onerror=alert(1)>", "Odd"))],
            points=5,
            earned=2,
        ),
        Task("Task 3", tests=1, points=4, earned=4),
        Task("Task 4", tests=1, unrun=1, points=1),
    ]
    items = [Item("the cell “x” is missing", "Take it from a fresh copy.")]
    [shown] = validate.answer(Report("A", Path("a.ipynb"), items, tasks))["failed"]
    assert shown["source"] == (
        "6 of 13 points by the tests that you can see; "
        "tasks: 1 solved, 2 not right yet, 1 open"
    )
    assert shown["raw_error"].splitlines() == [
        "The cell “x” is missing.",
        "Take it from a fresh copy.",
        "",
        "Not right yet: Task 2, 2 of 5 points",
        "big: Odd: <img src=x onerror=alert(1)>",
        "",
        "Not right yet: Task 4, 0 of 1 points",
        "1 did not run",
        "",
        "Open",
        "Task 1, 0 of 3 points",
        "",
        "Solved",
        "Task 3, 4 of 4 points",
    ]
    assert "big: Odd: &lt;img src=x onerror=alert(1)&gt;" in shown["error"]
    assert "<img" not in shown["error"]


def test_the_course_is_found_above_the_notebook(tmp_path: Path) -> None:
    """Wherever the server's folder is."""
    notebook = tmp_path / "course" / "exercises" / "01" / "a.ipynb"
    notebook.parent.mkdir(parents=True)
    assert validate.course_of(notebook) == tmp_path / "course"
