"""The tables that this grader adds to nbgrader's database: states, attempts, clearances, and more.

nbgrader has no word for "could not be graded". The states live in tables of their own: nbgrader
does not look at them, and `nbgrader db upgrade` leaves them alone.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    Float,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import Connection

from grading.course.states import Result

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

#: Who looked at a suspect submission and found nothing wrong; rows are added, never changed.
CLEARED = Table(
    "grading_cleared",
    METADATA,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("written", Float, primary_key=True),
    Column("content", String(64), nullable=False),
    Column("suspicions", Text, nullable=False),
    Column("who", String(128), nullable=False),
    Column("reason", Text, nullable=False),
)

#: Which page of feedback was written last.
PAGES = Table(
    "grading_pages",
    METADATA,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
)

#: Each file that was graded, by its content; a row is added for a new one, never changed.
ATTEMPTS = Table(
    "grading_attempts",
    METADATA,
    Column("assignment", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("content", String(64), primary_key=True),
    Column("points", Float),
    Column("written", Float, nullable=False),
)

#: By what an institution knows a student; nbgrader has one id of an LMS, and no room for these.
PEOPLE = Table(
    "grading_people",
    METADATA,
    Column("student", String(128), primary_key=True),
    Column("sis_user_id", String(255), nullable=False),
    Column("login", String(255), nullable=False),
)


@dataclass(frozen=True)
class Attempt:
    """A file that was graded: its points then, None if it had none, and when (UTC)."""

    points: float | None
    written: datetime


@dataclass(frozen=True)
class Entry:
    """What the ledger holds for one student: the result, and when it was written (UTC)."""

    result: Result
    written: datetime


@dataclass(frozen=True)
class Clearance:
    """A person's word that a suspect submission is what it seems, for one file and its findings."""

    student: str
    content: str
    suspicions: tuple[str, ...]
    who: str
    reason: str
    written: datetime

    def covers(self, result: Result) -> bool:
        """Tell whether the person saw this very file, and all that is suspect about it."""
        return self.content == result.content and set(result.suspicions) <= set(
            self.suspicions
        )

    def __str__(self) -> str:
        return f"cleared by {self.who} on {self.written:%Y-%m-%d}: {self.reason}"


def moment(seconds: float) -> datetime:
    """Return a time of the ledger."""
    return datetime.fromtimestamp(seconds, UTC)


def entries(connection: Connection, assignment: str) -> dict[str, Entry]:
    """Return what is noted about an assignment, by student; {} if no run was ever made."""
    if not inspect(connection).has_table(LEDGER.name):
        return {}
    query = select(LEDGER.c.student, LEDGER.c.result, LEDGER.c.written).where(
        LEDGER.c.assignment == assignment
    )
    return {
        row.student: Entry(Result.from_json(row.result), moment(row.written))
        for row in connection.execute(query)
    }


def graded(connection: Connection) -> bool:
    """Tell whether anything is noted about an assignment."""
    return (
        inspect(connection).has_table(LEDGER.name)
        and connection.execute(select(LEDGER.c.student).limit(1)).first() is not None
    )


def clearances(
    connection: Connection, assignment: str, student: str | None = None
) -> dict[str, Clearance]:
    """Return each student's last clearance for an assignment, or one student's."""
    if not inspect(connection).has_table(CLEARED.name):
        return {}
    query = (
        select(CLEARED)
        .where(CLEARED.c.assignment == assignment)
        .order_by(CLEARED.c.written)
    )
    if student is not None:
        query = query.where(CLEARED.c.student == student)
    return {
        row.student: Clearance(
            row.student,
            row.content,
            tuple(json.loads(row.suspicions)),
            row.who,
            row.reason,
            moment(row.written),
        )
        for row in connection.execute(query)
    }


def note(connection: Connection, assignment: str, result: Result) -> None:
    """Write a result in place of the student's former one."""
    connection.execute(
        delete(LEDGER).where(
            LEDGER.c.assignment == assignment, LEDGER.c.student == result.student
        )
    )
    connection.execute(
        insert(LEDGER).values(
            assignment=assignment,
            student=result.student,
            state=str(result.state),
            fingerprint=result.fingerprint,
            result=result.to_json(),
            written=time.time(),
        )
    )
    note_attempt(connection, assignment, result)


def note_attempt(connection: Connection, assignment: str, result: Result) -> None:
    """Add a graded file to a student's attempts, unless it is among them."""
    row = {
        "assignment": assignment,
        "student": result.student,
        "content": result.content,
    }
    known = select(ATTEMPTS.c.written).where(
        *(ATTEMPTS.c[name] == value for name, value in row.items())
    )
    if result.content and connection.execute(known).first() is None:
        points = result.total if result.state.has_points else None
        row |= {"points": points, "written": time.time()}
        connection.execute(insert(ATTEMPTS).values(**row))


def attempts(connection: Connection, assignment: str) -> dict[str, list[Attempt]]:
    """Return the files of each student that were graded, the oldest first."""
    if not inspect(connection).has_table(ATTEMPTS.name):
        return {}
    query = (
        select(ATTEMPTS)
        .where(ATTEMPTS.c.assignment == assignment)
        .order_by(ATTEMPTS.c.written)
    )
    found: dict[str, list[Attempt]] = {}
    for row in connection.execute(query):
        found.setdefault(row.student, []).append(
            Attempt(row.points, moment(row.written))
        )
    return found


def note_clearance(
    connection: Connection, assignment: str, result: Result, who: str, reason: str
) -> None:
    """Write who cleared a suspect result, and why."""
    connection.execute(
        insert(CLEARED).values(
            assignment=assignment,
            student=result.student,
            written=time.time(),
            content=result.content,
            suspicions=json.dumps(result.suspicions),
            who=who[:128],
            reason=reason,
        )
    )


def people(connection: Connection) -> dict[str, tuple[str, str]]:
    """Return each student's SIS id and login, where a roster had one."""
    if not inspect(connection).has_table(PEOPLE.name):
        return {}
    query = select(PEOPLE.c.student, PEOPLE.c.sis_user_id, PEOPLE.c.login)
    return {student: (sis, login) for student, sis, login in connection.execute(query)}


def note_person(
    connection: Connection, student: str, sis_user_id: str, login: str
) -> None:
    """Write down a student's SIS id and login, "" for one that is not known."""
    connection.execute(delete(PEOPLE).where(PEOPLE.c.student == student))
    connection.execute(
        insert(PEOPLE).values(
            student=student, sis_user_id=sis_user_id[:255], login=login[:255]
        )
    )


def pages(connection: Connection, assignment: str) -> dict[str, str]:
    """Return the digest of each student's page."""
    query = select(PAGES.c.student, PAGES.c.digest).where(
        PAGES.c.assignment == assignment
    )
    return dict(connection.execute(query).all())


def note_page(
    connection: Connection, assignment: str, student: str, digest: str
) -> None:
    """Write down a page's digest."""
    connection.execute(
        delete(PAGES).where(
            PAGES.c.assignment == assignment, PAGES.c.student == student
        )
    )
    connection.execute(
        insert(PAGES).values(assignment=assignment, student=student, digest=digest)
    )
