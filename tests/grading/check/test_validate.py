"""The Validate button's answer; tests/test_lab.py presses it in JupyterLab."""

from __future__ import annotations

from pathlib import Path

from grading.check import validate
from grading.check.file import Item
from grading.check.findings import Report, Task
from grading.feedback.words import Message


def test_a_fine_notebook_is_a_success() -> None:
    """Nothing to mend, and notes only: the button's own word for success."""
    tasks = [Task("Task 1", tests=2)]
    notes = [Item("the outputs take 3 MB", "Clear them.", mend=False)]
    assert validate.answer(Report("A", Path("a.ipynb"), notes, tasks)) == {}


def test_everything_to_mend_is_shown_as_text() -> None:
    """Findings, stubs and messages of tests; what could be HTML is escaped."""
    tasks = [
        Task(
            "Task 1",
            answered=False,
            tests=1,
            failed=[("small", Message("never shown"))],
        ),
        Task(
            "Task 2",
            tests=1,
            failed=[("big", Message("<img src=x onerror=alert(1)>", "Odd"))],
        ),
    ]
    items = [Item("the cell “x” is missing", "Take it from a fresh copy.")]
    shown = validate.answer(Report("A", Path("a.ipynb"), items, tasks))["failed"]
    assert [entry["source"] for entry in shown] == [
        "The cell “x” is missing.",
        "Task 1",
        "Task 2: big",
    ]
    assert shown[0]["raw_error"] == "Take it from a fresh copy."
    assert "Not answered yet." in shown[1]["error"]
    assert "Odd: &lt;img src=x onerror=alert(1)&gt;" in shown[2]["error"]
    assert "<img" not in shown[2]["error"]


def test_the_course_is_found_above_the_notebook(tmp_path: Path) -> None:
    """Wherever the server's folder is."""
    notebook = tmp_path / "course" / "exercises" / "01" / "a.ipynb"
    notebook.parent.mkdir(parents=True)
    assert validate.course_of(notebook) == tmp_path / "course"
