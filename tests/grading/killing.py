"""Kills the grader with SIGKILL at a chosen moment of a chosen write to the gradebook."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from pathlib import Path

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Engine

from tests.grading import fakes, helpers

#: Moments of one submission's transaction: before a statement, and around the commit.
STATEMENTS = {
    "the student": "INSERT INTO student ",
    "the points": "UPDATE grade ",
    "the state": "INSERT INTO grading_ledger",
}
MOMENTS = (*STATEMENTS, "before the commit", "after the commit")

STUDENTS = {f"s{number:02}": number % 2 == 0 for number in range(8)}


def arm(moment: str, count: int) -> None:
    """Have this process killed at the count-th occasion of the moment."""
    seen = {"moment": 0, "transaction": False}

    def fire() -> None:
        seen["moment"] += 1
        if seen["moment"] == count:
            os.kill(os.getpid(), signal.SIGKILL)

    @event.listens_for(Engine, "before_cursor_execute")
    def look(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO grading_ledger"):
            seen["transaction"] = True
        if moment in STATEMENTS and statement.startswith(STATEMENTS[moment]):
            fire()

    @event.listens_for(Engine, "commit")
    def commit(connection: object) -> None:
        if not seen["transaction"]:
            return
        seen["transaction"] = False
        if moment == "before the commit":
            fire()
        if moment == "after the commit":
            connection.connection.dbapi_connection.commit()
            fire()


def run(small: Path, url: str, log: Path, *killed: str) -> int:
    """Grade in another process; return its exit status.

    It is a fork of this one, which has imported all that grading needs.
    """
    from grading.__main__ import main

    command = ["run", "90", "--root", str(small), "--db", url, "--jobs", "1"]
    command += ["--engine", "tests.grading.fakes:make"]
    said = small.parent / "said.txt"
    process = os.fork()
    if not process:
        status = 3
        try:
            gc.freeze()  # connections of this process are not its own
            sys.stdout = sys.stderr = said.open("w", encoding="utf-8", buffering=1)
            os.dup2(sys.stderr.fileno(), 2)
            os.environ[fakes.LOG] = str(log)
            if killed:
                arm(killed[0], int(killed[1]))
            status = main(command)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status in (0, -signal.SIGKILL), said.read_text(encoding="utf-8")
    return status


def recorded(url: str) -> dict[str, str]:
    """Return who is in the ledger, and assert that the gradebook holds nothing in part."""
    engine = create_engine(url)
    with (
        engine.connect() as db
    ):  # what is read belongs together, also while somebody writes
        if engine.dialect.name != "sqlite":
            db.execution_options(isolation_level="REPEATABLE READ")
        else:
            db.exec_driver_sql("BEGIN")
            assert db.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        assert db.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
        ledger = dict(
            db.execute(text("SELECT student, state FROM grading_ledger")).all()
        )
        submitted = dict(
            db.execute(
                text(
                    "SELECT s.student_id, count(g.id) FROM submitted_assignment s "
                    "JOIN submitted_notebook n ON n.assignment_id = s.id "
                    "JOIN grade g ON g.notebook_id = n.id AND g.auto_score IS NOT NULL "
                    "GROUP BY s.student_id"
                )
            ).all()
        )
        rows = {
            row[0]
            for row in db.execute(text("SELECT student_id FROM submitted_assignment"))
        }
        students = {row[0] for row in db.execute(text("SELECT id FROM student"))}
    engine.dispose()
    assert submitted == dict.fromkeys(ledger, len(helpers.FULL))
    assert students == rows == ledger.keys()
    return ledger


def check(small: Path, url: str) -> None:
    """Kill a run at each moment, look each time at what it left, and let the last one end.

    What is there is whole, what was written stays, and nobody who is there is graded again.
    """
    from grading.gradebook.standing import standings
    from tests.harness import sample

    for student, right in STUDENTS.items():
        answers = helpers.RIGHT if right else helpers.WRONG
        helpers.hand_in(small, student, helpers.fill(answers))
    log = small.parent / "starts.txt"
    before = 0
    for moment in MOMENTS:
        log.write_text("", encoding="utf-8")
        assert run(small, url, log, moment, "2") == -signal.SIGKILL, moment
        now = len(recorded(url))
        assert now - before == (2 if moment == "after the commit" else 1), moment
        starts = len(log.read_text(encoding="utf-8").splitlines())
        assert starts >= 3, "the solutions, and two who were not there"
        before = now
    log.write_text("", encoding="utf-8")
    assert run(small, url, log) == 0
    starts = log.read_text(encoding="utf-8").splitlines()
    assert len(starts) == 1 + len(STUDENTS) - before, (
        "the solutions, and who was not there"
    )
    assert recorded(url) == dict.fromkeys(STUDENTS, "graded")
    points = {one.student: one.points for one in standings(url, sample.NAME)}
    assert points == {
        student: 6.0 if right else 1.0 for student, right in STUDENTS.items()
    }
    pages = [
        path.parent.parent.name for path in (small / "feedback").glob("*/*/sample.html")
    ]
    assert sorted(pages) == sorted(STUDENTS)
    log.write_text("", encoding="utf-8")
    assert run(small, url, log) == 0
    assert log.read_text(encoding="utf-8") == "", "nothing is graded twice"
