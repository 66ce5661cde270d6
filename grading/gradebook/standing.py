"""Each student's state and points for an assignment, read from the gradebook.

This is what everything after grading reads: the table, the export, the feedback and the LMS. It
combines nbgrader's points (those given by hand, too), the states of the ledger, what people
cleared, and the late penalty. It changes nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.course import handed_in
from grading.course.database import GradebookError, reading
from grading.course.handed_in import SubmissionError
from grading.course.layout import ODD_NAME, is_name, shown_name
from grading.course.states import Result, State, task_of
from grading.gradebook import ledger
from grading.gradebook.ledger import Clearance, Entry


@dataclass(frozen=True)
class Person:
    """A student of the gradebook's roster; texts are "" where the roster has none."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    sis_user_id: str = ""
    login: str = ""


@dataclass(frozen=True)
class Standing:
    """One student's grade for one assignment.

    `points` are those to hand on: with what people gave by hand, after the late penalty. They are
    None unless the state is graded or suspect. `notebook_points` are by task, before the penalty:
    (points, most). `comments` are those that people wrote in formgrader, by task. `graded_at` is
    in UTC, None if the grader never saw a submission. `waiting` counts the answers that a person
    has to grade: their points are not in the sum.
    """

    student: str
    assignment: str
    state: State
    points: float | None
    max_points: float
    reasons: tuple[str, ...] = ()
    late_seconds: float = 0.0
    notebook_points: dict[str, tuple[float, float]] = field(
        default_factory=dict, hash=False
    )
    graded_at: datetime | None = None
    late_penalty: float = 0.0
    submitted_at: datetime | None = None
    comments: dict[str, str] = field(default_factory=dict, hash=False)
    waiting: int = 0

    @property
    def raw_points(self) -> float | None:
        """The points before the late penalty."""
        if self.points is None:
            return None
        return sum(points for points, _ in self.notebook_points.values())


@dataclass
class _Submitted:
    """What nbgrader's tables hold about one submission."""

    timestamp: datetime | None
    late_seconds: float
    penalty: float = 0.0
    grades: list[tuple[str, Grade]] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)


def roster(db_url: str) -> list[Person]:
    """Return the students of a gradebook, by last name, first name and id.

    Raises:
        GradebookError: if there is no gradebook, or it can't be read.

    """
    with reading(db_url) as engine, Session(engine) as session:
        more = ledger.people(session.connection())
        people = [
            Person(
                row.id,
                row.first_name or "",
                row.last_name or "",
                row.email or "",
                row.lms_user_id or "",
                *more.get(row.id, ("", "")),
            )
            for row in session.scalars(select(Student))
        ]
    return sorted(
        people, key=lambda person: (person.last_name, person.first_name, person.id)
    )


def standings(
    db_url: str, assignment: str, *, submitted: Path | None = None
) -> list[Standing]:
    """Return how each student of the roster stands in an assignment, by student.

    Args:
        db_url: the gradebook.
        assignment: its name there.
        submitted: nbgrader's folder of submissions. Given it, a file that was never graded shows
            as failed instead of missing, and one that changed since it was graded is told.

    Raises:
        GradebookError: if there is no such gradebook or assignment, or it can't be read.

    """
    with reading(db_url) as engine, Session(engine) as session:
        most = _most(session, assignment)
        entries = ledger.entries(session.connection(), assignment)
        cleared = ledger.clearances(session.connection(), assignment)
        there = _submissions(session, assignment)
        students = set(session.scalars(select(Student.id)))
        names = session.scalars(
            select(Notebook.name)
            .join(Assignment, Notebook.assignment_id == Assignment.id)
            .where(Assignment.name == assignment)
        ).all()
    handed_in = {}
    if submitted is not None:
        handed_in = _handed_in(
            submitted, assignment, {f"{name}.ipynb" for name in names}
        )
    odd = {shown_name(name) for name in handed_in if not is_name(name)}
    graded = [entry for entry in entries.values() if entry.result.state.has_points]
    draw = max(graded, key=lambda entry: entry.written).result.draw if graded else ""
    return [
        _standing(
            assignment,
            most,
            name,
            entries.get(name),
            cleared.get(name),
            there.get(name),
            handed_in.get(name),
            draw,
        )
        for name in sorted(students | {name for name in handed_in if is_name(name)})
    ] + [
        Standing(name, assignment, State.FAILED, None, sum(most.values()), (ODD_NAME,))
        for name in sorted(odd)
    ]


def _most(session: Session, assignment: str) -> dict[str, float]:
    """Return the most points of each graded cell."""
    names = list(session.scalars(select(Assignment.name).order_by(Assignment.name)))
    if assignment not in names:
        raise GradebookError(
            f"no assignment {assignment!r} in the gradebook. Known: {', '.join(names) or 'none'}"
        )
    found = {}
    for kind in (GradeCell, TaskCell):
        query = select(kind.name, kind.max_score).join(
            Notebook, kind.notebook_id == Notebook.id
        )
        query = query.join(Assignment, Notebook.assignment_id == Assignment.id)
        found.update(session.execute(query.where(Assignment.name == assignment)).all())
    return found


def _submissions(session: Session, assignment: str) -> dict[str, _Submitted]:
    """Return each submission with its grades, in two queries."""
    query = select(SubmittedAssignment, Assignment.duedate).join(
        Assignment, SubmittedAssignment.assignment_id == Assignment.id
    )
    found: dict[str, _Submitted] = {}
    for row, due in session.execute(query.where(Assignment.name == assignment)):
        late = 0.0
        if due is not None and row.timestamp is not None:
            if row.extension is not None:
                due = due + row.extension
            late = max(0.0, (row.timestamp - due).total_seconds())
        found[row.student_id] = _Submitted(row.timestamp, late)
    grades = (
        select(SubmittedAssignment.student_id, BaseCell.name, Grade)
        .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
        .join(
            SubmittedAssignment,
            SubmittedNotebook.assignment_id == SubmittedAssignment.id,
        )
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(BaseCell, Grade.cell_id == BaseCell.id)
        .where(Assignment.name == assignment)
    )
    for student, name, grade in session.execute(grades):
        found[student].grades.append((name, grade))
    penalties = (
        select(
            SubmittedAssignment.student_id, SubmittedNotebook.late_submission_penalty
        )
        .join(
            SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id
        )
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .where(Assignment.name == assignment)
    )
    for student, penalty in session.execute(penalties):
        found[student].penalty += penalty or 0.0
    comments = (
        select(SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment)
        .join(SubmittedNotebook, Comment.notebook_id == SubmittedNotebook.id)
        .join(
            SubmittedAssignment,
            SubmittedNotebook.assignment_id == SubmittedAssignment.id,
        )
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(BaseCell, Comment.cell_id == BaseCell.id)
        .where(Assignment.name == assignment, Comment.manual_comment.is_not(None))
        .order_by(BaseCell.name)
    )
    for student, name, text in session.execute(comments):
        task, known = task_of(name), found[student].comments
        if text.strip():
            known[task] = (
                f"{known[task]}\n{text.strip()}" if task in known else text.strip()
            )
    return found


def _handed_in(folder: Path, assignment: str, names: set[str]) -> dict[str, str]:
    """Return the digest of what each student has handed in, "" where the grader would not read."""
    found = {}
    for path in folder.glob(f"*/{assignment}/*.ipynb"):
        if path.name in names and not path.parent.parent.name.startswith("."):
            try:
                found[path.parent.parent.name] = digest(handed_in.read(path))
            except SubmissionError:
                found[path.parent.parent.name] = ""
    return found


def digest(data: bytes) -> str:
    """Return what tells one submitted file from every other."""
    return hashlib.sha256(data).hexdigest()


def _standing(
    assignment: str,
    most: dict[str, float],
    student: str,
    entry: Entry | None,
    clearance: Clearance | None,
    submitted: _Submitted | None,
    content: str | None,
    draw: str,
) -> Standing:
    """Return how one student stands."""
    state, reasons = _state(entry, clearance, submitted, content)
    if entry is not None and state.has_points and entry.result.draw != draw:
        reasons.append(
            "graded with other hidden inputs than the last one graded: see "
            "`python -m grading run`"
        )
    points, tasks, penalty, waiting = None, {}, 0.0, 0
    if state.has_points:
        tasks = {task_of(name): (0.0, 0.0) for name in most}
        for name, grade in submitted.grades:
            task = task_of(name)
            sums = tasks.get(task, (0.0, 0.0))
            tasks[task] = (
                sums[0] + (grade.score or 0.0),
                sums[1] + most.get(name, 0.0),
            )
        penalty = submitted.penalty
        points = max(0.0, sum(given for given, _ in tasks.values()) - penalty)
        waiting = sum(
            g.auto_score is None and g.manual_score is None for _, g in submitted.grades
        )
        if waiting:
            what = "1 answer waits" if waiting == 1 else f"{waiting} answers wait"
            reasons.append(f"{what} for a person: those points are not in the sum")
    stamp = submitted.timestamp if submitted else None
    return Standing(
        student,
        assignment,
        state,
        points,
        sum(most.values()),
        tuple(reasons),
        submitted.late_seconds if submitted else 0.0,
        tasks,
        entry.written if entry and entry.result.state is not State.MISSING else None,
        penalty,
        stamp.replace(tzinfo=UTC) if stamp else None,
        submitted.comments if submitted else {},
        waiting,
    )


def _state(
    entry: Entry | None,
    clearance: Clearance | None,
    submitted: _Submitted | None,
    content: str | None,
) -> tuple[State, list[str]]:
    """Return a student's state, with the reasons."""
    if entry is not None:
        result = entry.result
        state, reasons = result.state, list(result.reasons)
        if content is not None and state is State.MISSING:
            return State.FAILED, ["handed in, but not graded yet: run the grader"]
        if content and result.content and content != result.content:
            reasons.append("handed in again since it was graded: run the grader")
        if (
            state is State.SUSPECT
            and clearance is not None
            and clearance.covers(result)
        ):
            state = State.GRADED
            reasons.append(str(clearance))
        if state.has_points and _lost(result, submitted):
            return State.FAILED, [
                "its points are gone from the gradebook: grade it with --force"
            ]
    elif submitted is None:
        if content is not None:
            return State.FAILED, ["handed in, but not graded yet: run the grader"]
        return State.MISSING, ["nothing handed in"]
    else:  # graded by nbgrader's own autograder
        lost = not submitted.grades or any(
            grade.auto_score is None and grade.needs_manual_grade
            for _, grade in submitted.grades
        )
        state = State.FAILED if lost else State.GRADED
        reasons = ["nbgrader gave no score"] if lost else []
    by_hand = (
        submitted is not None
        and submitted.grades
        and all(grade.manual_score is not None for _, grade in submitted.grades)
    )
    if state is State.FAILED and by_hand:
        return State.GRADED, [*reasons, "all points given by hand"]
    return state, reasons


def _lost(result: Result, submitted: _Submitted | None) -> bool:
    """Tell whether points that were written are there no more, as after nbgrader's autograder."""
    if submitted is None or not submitted.grades:
        return True
    return any(
        grade.auto_score is None
        and grade.manual_score is None
        and result.points.get(name) is not None
        for name, grade in submitted.grades
    )
