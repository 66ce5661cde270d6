"""Clears a suspect submission, on a teacher's word."""

from __future__ import annotations

import getpass

from grading.course import database
from grading.course.database import GradebookError
from grading.course.layout import Course, GradingError
from grading.course.states import Result
from grading.gradebook.writer import GradebookWriter


def clear(course: Course, student: str, reason: str, who: str | None = None) -> Result:
    """Note that a suspect submission was looked at and is what it seems; return its result.

    The clearance holds for this file and these findings. Another file by the same student, or
    another finding in this one, is suspect again.

    Args:
        course: the assignment.
        student: whose it is.
        reason: what the person saw.
        who: the person; by default whoever is logged in.

    Raises:
        GradingError: if no reason is given.
        GradebookError: if it is not suspect, or the database can't be written.

    """
    if not reason.strip():
        raise GradingError("--reason: say in a few words why it is no tampering")
    path = database.file_of(course.url)
    if path is not None and not path.exists():
        raise GradebookError(f"there is no gradebook {path.name}: grade first")
    with GradebookWriter(course.url, course.course) as book:
        return book.clear(course.assignment, student, who or login(), reason.strip())


def login() -> str:
    """Return the name of whoever is logged in."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
