"""Makes the report on a class from the gradebook and what was handed in."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.orm import Session

from grading.course import handed_in, submission
from grading.course.database import reading
from grading.course.handed_in import SubmissionError
from grading.course.layout import Course, GradingError
from grading.course.states import Result
from grading.course.submission import Form
from grading.feedback import words
from grading.gradebook import ledger
from grading.gradebook.standing import standings
from grading.report import alike, bank, items, mistakes, page
from grading.report.page import Report
from grading.report.sections import Finder, sections

BASE_URL = re.compile(r"^\s+baseurl:\s*(\S+)\s*$", re.MULTILINE)


def make(course: Course, *, candidates: Path | None = None) -> list[Path]:
    """Write the report on an assignment; return where its files are.

    Args:
        course: the assignment's files.
        candidates: where to write answers that the bank of wrong answers lacks, if anywhere.

    Raises:
        GradingError: if nobody has points yet.
        GradebookError: if there is no gradebook, or it can't be read.

    """
    class_ = standings(course.url, course.assignment)
    with reading(course.url) as engine, Session(engine) as session:
        connection = session.connection()
        entries = ledger.entries(connection, course.assignment)
        attempts = ledger.attempts(connection, course.assignment)
    counted = {one.student for one in class_ if one.state.has_points}
    results = [entry.result for student, entry in entries.items() if student in counted]
    if not results:
        raise GradingError(
            f"{course.assignment}: nobody has points yet. First: python -m grading run "
            f"{course.assignment}"
        )
    form = submission.load(course.release, course.source)
    tasks = mistakes.tasks(form, results)
    answers = {result.student: written(course, form, result) for result in results}
    known = bank.Bank(course.root / "tests" / "answers" / course.assignment)
    report = Report(
        words.title(form),
        course.assignment,
        datetime.now(UTC),
        class_,
        tasks,
        items.items(form, results),
        alike.alike(answers),
        attempts,
        known,
        Finder(sections(course.root / "book", course.assignment)),
        site(course.root),
    )
    made = page.write(folder(course.root, course.assignment), report)
    if candidates is not None:
        made += bank.write(candidates, tasks, known, answers)
    return made


def folder(root: Path, assignment: str) -> Path:
    """Return where the report on an assignment is."""
    return root / "reports" / assignment


def site(root: Path) -> str:
    """Return the address of the course's site, or of the one that was built here."""
    config = root / "_config.yml"
    found = BASE_URL.search(config.read_text("utf-8")) if config.is_file() else None
    return f"{found[1].rstrip('/')}/" if found else "../../_build/html/"


def written(course: Course, form: Form, result: Result) -> dict[str, str]:
    """Return what a student wrote into the answer cells, by cell; {} if the file is gone."""
    path = course.submitted / result.student / course.assignment / course.source.name
    try:
        rebuilt = form.rebuild(handed_in.read(path))
    except SubmissionError:
        return {}
    found = {}
    for cell in rebuilt.cells:
        if cell.role == "solution" and cell.cell_type == "code" and not cell.unchanged:
            found[cell.grade_id] = cell.source
    return found
