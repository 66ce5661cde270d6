"""nbgrader's gradebook, written in whole transactions, with the states in a table beside.

nbgrader commits after each small change, so a run that is killed leaves half a submission. Here
its own API works inside one transaction a submission: points, comments and the state appear
together or not at all. The states live in a table of their own, `grading_ledger`, in the same
database: nbgrader does not look at it, and `nbgrader db upgrade` leaves it alone.

nbgrader has no word for "could not be graded": its exporter writes 0.0 for it. A failed submission
has no automatic score here (formgrader shows that it needs a person), and `StateCsvExport` is
nbgrader's exporter with a column for the state, that leaves the score of such a row empty:

    nbgrader export --exporter=grading.gradebook.StateCsvExport
"""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin
from sqlalchemy import Column, Float, MetaData, String, Table, Text, delete, insert, select
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import scoped_session, sessionmaker

from grading.states import Result, State
from grading.submission import Form

METADATA = MetaData()

#: One row for each assignment and student: what the last run knew.
LEDGER = Table(
    "grading_ledger",
    METADATA,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("result", Text, nullable=False),
    Column("written", Float, nullable=False),
)

#: What nbgrader writes into its CSV files, and what is added.
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)
ADDED = ("state", "reason")


class GradebookError(RuntimeError):
    """The gradebook can't be used so; the message says what to do."""


class Book:
    """A gradebook that is open, with its ledger.

    Raises:
        GradebookError: if the database can't be opened.

    """

    def __init__(self, url: str, course: str = "default_course") -> None:
        self.url, self.course = url, course
        _find_programs()
        try:
            _create(url, course)
            self.gradebook = Gradebook(url, course)
            METADATA.create_all(self.gradebook.engine)
        except (SQLAlchemyError, ImportError, OSError) as error:
            raise GradebookError(
                f"the gradebook {make_url(url).render_as_string()} can't be opened: {error}"
            ) from error

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.gradebook.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Make nbgrader's API write in one transaction: all of it, or none after an error."""
        ordinary = self.gradebook.db
        with self.gradebook.engine.connect() as connection, connection.begin():
            # nbgrader's commits write to the connection; only leaving this block commits there.
            make = sessionmaker(
                bind=connection, join_transaction_mode="rollback_only", autoflush=False)
            self.gradebook.db = scoped_session(make)
            try:
                yield connection
                self.gradebook.db.flush()
            finally:
                self.gradebook.db.remove()
                self.gradebook.db = ordinary
        ordinary.remove()  # what it read before is no longer so

    def results(self, assignment: str) -> dict[str, Result]:
        """Return what the ledger holds for an assignment, by student."""
        query = select(LEDGER.c.student, LEDGER.c.result).where(LEDGER.c.assignment == assignment)
        with self.gradebook.engine.connect() as connection:
            return {student: Result.from_json(text) for student, text in connection.execute(query)}

    def students(self) -> set[str]:
        """Return the ids of all students."""
        with self.transaction():
            return {student.id for student in self.gradebook.students}

    def save(self, assignment: str, notebook: str, result: Result, timestamp: str | None = None
             ) -> None:
        """Write a submission's points and state, in one transaction.

        Raises:
            GradebookError: if the gradebook has not the cells that were graded.

        """
        with self.transaction() as connection:
            book = self.gradebook
            book.update_or_create_student(result.student)
            if result.state is not State.MISSING:
                submission = book.update_or_create_submission(
                    assignment, result.student, timestamp=timestamp)
                found = [nb for nb in submission.notebooks if nb.name == notebook]
                if not found:
                    raise GradebookError(f"no notebook {notebook} of {assignment} in the gradebook")
                self._write_grades(found[0], result)
            row = {"assignment": assignment, "student": result.student}
            connection.execute(delete(LEDGER).where(
                LEDGER.c.assignment == assignment, LEDGER.c.student == result.student))
            connection.execute(insert(LEDGER).values(
                **row, state=str(result.state), fingerprint=result.fingerprint,
                result=result.to_json(), written=time.time()))

    def _write_grades(self, notebook: object, result: Result) -> None:
        """Write the points into the rows that nbgrader made, by nbgrader's rules."""
        grades = {grade.name: grade for grade in notebook.grades}
        if result.state.has_points and grades.keys() != result.points.keys():
            odd = ", ".join(sorted(grades.keys() ^ result.points.keys()))
            raise GradebookError(f"the gradebook has other cells than the assignment: {odd}")
        for name, grade in grades.items():
            grade.auto_score = result.points[name] if result.state.has_points else None
            grade.needs_manual_grade = (
                grade.auto_score is None
                or grade.manual_score is not None
                or result.state is State.SUSPECT
            )
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.name in result.unchanged else None
        self.gradebook.db.flush()

    def is_registered(self, assignment: str, notebook: str, form: Form) -> bool:
        """Tell whether the gradebook has the cells of an assignment as they are now."""
        if not _has(self.gradebook.find_notebook, notebook, assignment):
            return False
        with self.transaction():
            found = self.gradebook.find_notebook(notebook, assignment)
            sources = {cell.name: cell.source for cell in found.source_cells}
            graded = [*found.grade_cells, *found.task_cells]
            points = {cell.name: cell.max_score for cell in graded}
        wanted = {cell.grade_id: cell.source for cell in form.cells if cell.grade_id}
        return sources == wanted and points == form.most

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
                cell for kind in kinds
                for cell in {c.name for c in getattr(old, f"{kind}_cells")}
                ^ {c.name for c in getattr(notebook, f"{kind}_cells")}
            ]
            if changed and old.submissions:
                cells = ", ".join(sorted(set(changed)))
                raise GradebookError(
                    f"{assignment}: cells were added or removed after submissions had been "
                    f"graded: {cells}. Give the changed assignment a new name, or remove the old "
                    f"grades: nbgrader db assignment remove {assignment} --force")
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


def _find_programs() -> None:
    """Let nbgrader find `alembic`, which it starts by its name, in an environment not activated."""
    here, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([here, path])


def _create(url: str, course: str) -> None:
    """Make a new SQLite gradebook beside its place and move it there, so that it's never half."""
    address = make_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return
    target = Path(address.database)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".gradebook-") as folder:
        made = Path(folder) / "gradebook.db"
        with Gradebook(f"sqlite:///{made}", course) as book:
            METADATA.create_all(book.engine)
        with contextlib.suppress(FileExistsError):  # somebody else was faster
            os.link(made, target)


class StateCsvExport(ExportPlugin):
    """nbgrader's CSV exporter, with the state, and without a score where there is none.

    A student without a row in the ledger, graded by nbgrader alone, has the state "graded".
    """

    #: Where the file goes if nothing is said.
    default: ClassVar[str] = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write the file; the columns are nbgrader's own, then `state` and `reason`."""
        METADATA.create_all(gradebook.engine)
        with gradebook.engine.connect() as connection:
            ledger = {
                (row.assignment, row.student): Result.from_json(row.result)
                for row in connection.execute(select(LEDGER))
            }
        wanted = {str(name) for name in self.assignment}
        who = {str(name) for name in self.student}
        target = Path(self.to or self.default)
        partial = target.with_name(f".{target.name}.partial")
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*COLUMNS, *ADDED])
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    here = not wanted or assignment.name in wanted
                    if here and (not who or student.id in who):
                        result = ledger.get((assignment.name, student.id))
                        writer.writerow(_row(gradebook, assignment, student, result))
        partial.replace(target)


def _row(book: Gradebook, assignment: object, student: object, result: Result | None) -> list:
    """Return one student's row."""
    try:
        submission = book.find_submission(assignment.name, student.id)
    except MissingEntry:
        submission = None
    state = result.state if result else State.GRADED if submission else State.MISSING
    row = {
        "assignment": assignment.name, "duedate": assignment.duedate, "student_id": student.id,
        "last_name": student.last_name, "first_name": student.first_name, "email": student.email,
        "max_score": assignment.max_score, "state": str(state),
        "reason": "; ".join(result.reasons) if result else "",
    }
    if submission is not None:
        row["timestamp"] = submission.timestamp
    # Where a person has given every point by hand, there is a score although the machine had none.
    by_hand = submission is not None and all(
        grade.manual_score is not None for nb in submission.notebooks for grade in nb.grades)
    if submission is not None and (state.has_points or by_hand):
        penalty = submission.late_submission_penalty
        row.update(
            raw_score=submission.score, late_submission_penalty=penalty,
            score=max(0.0, submission.score - penalty))
    return ["" if row.get(key) is None else row[key] for key in (*COLUMNS, *ADDED)]
