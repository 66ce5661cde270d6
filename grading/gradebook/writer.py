"""Writes nbgrader's gradebook in whole transactions, with states in a table beside.

nbgrader commits after each small change, so a run that is killed leaves half a submission. Here
its own API works inside one transaction a submission: points, comments, the late penalty and the
state appear together or not at all.

What others need stands here by name: `standings` and `roster` (how a class stands), and
`StateCsvExport` (what `nbgrader export` uses, by nbgrader_config.py).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.utils import parse_utc
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import scoped_session, sessionmaker

from grading.course import database
from grading.course.database import GradebookError
from grading.course.states import Result, State
from grading.gradebook import ledger

#: How often a submission's grade is written, a second apart, while the database is busy.
ATTEMPTS = 5

Found = TypeVar("Found")

#: Returns the late penalty for a student, their points, and the seconds that they are late.
Penalty = Callable[[str, float, float], float]


def no_penalty(student: str, points: float, seconds: float) -> float:
    """Take nothing off."""
    return 0.0


class GradebookWriter:
    """A gradebook that is open to be written, with its ledger.

    Raises:
        GradebookError: if the database can't be opened, or (alone) another run has it.

    """

    def __init__(
        self, url: str, course: str = "default_course", *, alone: bool = False
    ) -> None:
        self.url, self.course = url, course
        database.prepare(url, ledger.METADATA)
        with database.explained(url, "opened"):
            self.gradebook = Gradebook(url, course)
            ledger.METADATA.create_all(self.gradebook.engine)
            database.index(self.gradebook.engine)
            self._lock = self.gradebook.engine.connect()
            if alone and not database.take(self._lock, "run"):
                self.close()
                raise GradebookError(
                    f"another run is writing to {database.shown(url)}: wait until it has ended"
                )

    def close(self) -> None:
        """Close the database."""
        self._lock.close()
        self.gradebook.close()

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Make nbgrader's API write in one transaction: all of it, or none after an error."""
        ordinary = self.gradebook.db
        with self.gradebook.engine.connect() as connection, connection.begin():
            # nbgrader's commits write to the connection; only leaving this block commits there.
            make = sessionmaker(
                bind=connection, join_transaction_mode="rollback_only", autoflush=False
            )
            self.gradebook.db = scoped_session(make)
            try:
                yield connection
                self.gradebook.db.flush()
            finally:
                self.gradebook.db.remove()
                self.gradebook.db = ordinary
        ordinary.remove()  # what it read before is no longer so

    def write(self, change: Callable[[Connection], Found]) -> Found:
        """Do a change in one transaction, and return what it returns.

        While another program (formgrader) writes, or after the server was restarted, it is tried
        again for a while.

        Raises:
            GradebookError: if the database can't be written.

        """
        for attempt in range(ATTEMPTS):
            try:
                with self.transaction() as connection:
                    return change(connection)
            except InvalidEntry as error:
                raise GradebookError(f"nbgrader refuses an entry: {error}") from error
            except SQLAlchemyError as error:
                passing = isinstance(error, DBAPIError) and (
                    error.connection_invalidated
                    or "database is locked" in str(error.orig)
                )
                if not passing or attempt == ATTEMPTS - 1:
                    raise database.problem(self.url, "written", error) from error
                time.sleep(1)
        raise AssertionError("not reached: the last attempt returns or raises")

    def results(self, assignment: str) -> dict[str, Result]:
        """Return what the ledger holds for an assignment, by student."""
        with (
            database.explained(self.url, "read"),
            self.gradebook.engine.connect() as connection,
        ):
            found = ledger.entries(connection, assignment)
        return {student: entry.result for student, entry in found.items()}

    def pages(self, assignment: str) -> dict[str, str]:
        """Return the digest of each student's page of feedback that was written."""
        with (
            database.explained(self.url, "read"),
            self.gradebook.engine.connect() as connection,
        ):
            return ledger.pages(connection, assignment)

    def note_pages(self, assignment: str, digests: dict[str, str]) -> None:
        """Note that pages of feedback were written, by student."""

        def change(connection: Connection) -> None:
            for student, digest in digests.items():
                ledger.note_page(connection, assignment, student, digest)

        self.write(change)

    def students(self) -> set[str]:
        """Return the ids of all students."""
        with self.transaction():
            return {student.id for student in self.gradebook.students}

    def save(
        self,
        assignment: str,
        notebook: str,
        result: Result,
        timestamp: str | None = None,
        penalty: Penalty = no_penalty,
    ) -> None:
        """Write a submission's points, late penalty and state, in one transaction.

        Raises:
            GradebookError: if the database can't be written, or has not the cells that were graded.

        """
        self.write(
            lambda connection: self._save(
                connection, assignment, notebook, result, timestamp, penalty
            )
        )

    def _save(
        self,
        connection: Connection,
        assignment: str,
        notebook: str,
        result: Result,
        timestamp: str | None,
        penalty: Penalty,
    ) -> None:
        """Write a submission, inside a transaction."""
        book = self.gradebook
        book.update_or_create_student(result.student)
        if result.state is not State.MISSING:
            submission = book.update_or_create_submission(
                assignment, result.student, timestamp=timestamp
            )
            found = [nb for nb in submission.notebooks if nb.name == notebook]
            if not found:
                raise GradebookError(
                    f"no notebook {notebook} of {assignment} in the gradebook"
                )
            known = ledger.clearances(connection, assignment, result.student)
            clearance = known.get(result.student)
            cleared = clearance is not None and clearance.covers(result)
            self._write_grades(found[0], result, cleared)
            found[0].late_submission_penalty = penalty(
                result.student,
                sum(score(grade) for grade in found[0].grades),
                late_seconds(submission),
            )
        ledger.note(connection, assignment, result)

    def update_late(
        self, assignment: str, penalty: Penalty, stamps: dict[str, str | None]
    ) -> None:
        """Bring times and late penalties up to date, without grading again.

        A due date, an extension, a time, the policy, or points by hand may be new.

        Args:
            assignment: its name.
            penalty: the policy.
            stamps: when students handed in; who is not in it keeps the time that is there.

        Raises:
            GradebookError: if the database can't be written.

        """
        self.write(lambda _: self._update_late(assignment, penalty, stamps))

    def _update_late(
        self, assignment: str, penalty: Penalty, stamps: dict[str, str | None]
    ) -> None:
        """Bring times and late penalties up to date, inside a transaction."""
        query = (
            self.gradebook.db.query(SubmittedNotebook, SubmittedAssignment)
            .join(
                SubmittedAssignment,
                SubmittedNotebook.assignment_id == SubmittedAssignment.id,
            )
            .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
            .filter(Assignment.name == assignment)
        )
        for notebook, submission in query.all():
            if submission.student_id in stamps:
                stamp = parse_utc(stamps[submission.student_id])
                if submission.timestamp != stamp:
                    submission.timestamp = stamp
            wanted = penalty(
                submission.student_id, notebook.score, late_seconds(submission)
            )
            if (notebook.late_submission_penalty or 0.0) != wanted:
                notebook.late_submission_penalty = wanted

    def clear(self, assignment: str, student: str, who: str, reason: str) -> Result:
        """Note that a person found nothing wrong with a suspect submission; return its result.

        Raises:
            GradebookError: if it is not suspect, or the database can't be written.

        """

        def change(connection: Connection) -> Result:
            entry = ledger.entries(connection, assignment).get(student)
            if entry is None or entry.result.state is not State.SUSPECT:
                state = entry.result.state if entry else "not graded"
                raise GradebookError(
                    f"{student}: {state}, not suspect: there is nothing to clear in {assignment}. "
                    f"`python -m grading states {assignment}` lists who is"
                )
            ledger.note_clearance(connection, assignment, entry.result, who, reason)
            for notebook in self.gradebook.find_submission(
                assignment, student
            ).notebooks:
                self._write_grades(notebook, entry.result, cleared=True)
            return entry.result

        return self.write(change)

    def _write_grades(
        self, notebook: SubmittedNotebook, result: Result, cleared: bool
    ) -> None:
        """Write the points into the rows that nbgrader made, by nbgrader's rules."""
        grades = {grade.name: grade for grade in notebook.grades}
        if result.state.has_points and grades.keys() != result.points.keys():
            odd = ", ".join(sorted(grades.keys() ^ result.points.keys()))
            raise GradebookError(
                f"the gradebook has other cells than the assignment: {odd}"
            )
        for name, grade in grades.items():
            grade.auto_score = result.points[name] if result.state.has_points else None
            grade.needs_manual_grade = (
                grade.auto_score is None
                or grade.manual_score is not None
                or (result.state is State.SUSPECT and not cleared)
            )
        for comment in notebook.comments:
            comment.auto_comment = (
                "No response." if comment.name in result.unchanged else None
            )
        self.gradebook.db.flush()

    def cells(
        self, assignment: str, notebook: str
    ) -> dict[str, tuple[str, float | None]]:
        """Return text and points of an assignment's cells by name; {} if it has none yet."""
        if not _has(self.gradebook.find_notebook, notebook, assignment):
            return {}
        with self.transaction():
            found = self.gradebook.find_notebook(notebook, assignment)
            graded = [*found.grade_cells, *found.task_cells]
            points = {cell.name: cell.max_score for cell in graded}
            return {c.name: (c.source, points.get(c.name)) for c in found.source_cells}

    def register(self, assignment: str, source: Gradebook) -> None:
        """Copy an assignment's cells from a gradebook that `nbgrader generate_assignment` made.

        Raises:
            GradebookError: if there are submissions, and cells were added or removed since.

        """
        with self.transaction():
            # The due date of an assignment that is there stays as it is.
            if not _has(self.gradebook.find_assignment, assignment):
                course = source.find_assignment(assignment).course_id
                self.gradebook.add_assignment(assignment, course_id=course)
            for notebook in source.find_assignment(assignment).notebooks:
                self._register_notebook(assignment, notebook)

    def _register_notebook(self, assignment: str, notebook: object) -> None:
        """Copy a notebook's cells, as nbgrader's SaveCells would."""
        book, name = self.gradebook, notebook.name
        kinds = ("grade", "solution", "task", "source")
        if _has(book.find_notebook, name, assignment):
            old = book.find_notebook(name, assignment)
            changed = [
                cell
                for kind in kinds
                for cell in {c.name for c in getattr(old, f"{kind}_cells")}
                ^ {c.name for c in getattr(notebook, f"{kind}_cells")}
            ]
            if changed and old.submissions:
                cells = ", ".join(sorted(set(changed)))
                raise GradebookError(
                    f"{assignment}: cells were added or removed after submissions had been "
                    f"graded: {cells}. Give the changed assignment a new name, or remove the old "
                    f"grades: nbgrader db assignment remove {assignment} --force"
                )
            if changed:
                book.remove_notebook(name, assignment)
        if not _has(book.find_notebook, name, assignment):
            book.add_notebook(name, assignment, kernelspec=notebook.kernelspec)
        for kind in kinds:
            write = getattr(book, f"update_or_create_{kind}_cell")
            for cell in getattr(notebook, f"{kind}_cells"):
                values = cell.to_dict()
                for key in ("id", "name", "notebook", "assignment"):
                    values.pop(key, None)
                write(cell.name, name, assignment, **values)


def _has(find: object, *names: str) -> bool:
    """Tell whether one of the gradebook's find methods finds something."""
    try:
        find(*names)
    except MissingEntry:
        return False
    return True


def score(grade: Grade) -> float:
    """Return the points of one cell, by nbgrader's rule."""
    given = grade.auto_score if grade.manual_score is None else grade.manual_score
    return 0.0 if given is None else given + (grade.extra_credit or 0.0)


def late_seconds(submission: SubmittedAssignment) -> float:
    """Return by how much a submission was late; an extension without a due date is none."""
    if submission.assignment.duedate is None:
        return 0.0
    return float(submission.total_seconds_late)
