"""The gradebook on a real PostgreSQL server: as in SQLite, and whole after each kill."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook, get_alembic_version
from sqlalchemy import create_engine, inspect, text

from grading.__main__ import main
from grading.course import database, release
from grading.course.database import GradebookError
from grading.course.states import Result, State
from grading.gradebook.standing import roster, standings
from grading.gradebook.writer import GradebookWriter
from tests.grading import helpers, killing, servers
from tests.harness import sample

pytestmark = pytest.mark.slow

FAKE = ["--engine", "tests.grading.fakes:make", "--jobs", "1"]


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    """A server of this file's own."""
    yield from servers.serve()


@pytest.fixture
def url(server: servers.Server, request: pytest.FixtureRequest) -> str:
    """An empty database."""
    return server.make(request.node.name)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


def test_a_new_gradebook_is_made_in_one_transaction(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error before its end leaves no table; then it is made, with nbgrader's version number."""

    def fail() -> str:
        raise OSError("the machine went away")

    with monkeypatch.context() as broken:
        broken.setattr(database, "version", fail)
        with pytest.raises(GradebookError, match="the machine went away"):
            GradebookWriter(url)
    engine = create_engine(url)
    assert inspect(engine).get_table_names() == []
    with GradebookWriter(url, "attention"):
        assert {"alembic_version", "grading_ledger", "grade"} <= set(
            inspect(engine).get_table_names()
        )
    with engine.connect() as connection:
        made = (
            connection.execute(text("SELECT version_num FROM alembic_version"))
            .scalars()
            .all()
        )
    engine.dispose()
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    assert made == [get_alembic_version()]


def test_the_same_grades_as_in_sqlite(small: Path, url: str) -> None:
    """A class in all four states, graded into both; nbgrader's own export reads it, too."""
    helpers.hand_in_all_states(small)
    for given in ([], ["--db", url]):
        assert main(["run", "90", "--root", str(small), *FAKE, *given]) == 1
    lite = standings(f"sqlite:///{small / 'gradebook.db'}", sample.NAME)
    there = standings(url, sample.NAME)
    assert {one.state for one in there} == set(State)

    def comparable(found: list) -> list:
        return [
            (o.student, o.state, o.points, o.reasons, o.notebook_points) for o in found
        ]

    assert comparable(there) == comparable(lite)
    assert [person.id for person in roster(url)] == [one.student for one in there]
    target = small / "by-nbgrader.csv"
    done = release.nbgrader(small, "export", f"--db={url}", "--to", str(target))
    assert done.returncode == 0, done.stderr
    with target.open(encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert scores == {
        one.student: "" if one.points is None else str(one.points) for one in there
    }


def test_clearing_and_points_by_hand(small: Path, url: str) -> None:
    """Both stay over another run."""
    helpers.hand_in_all_states(small)
    run = ["run", "90", "--root", str(small), "--db", url, *FAKE]
    assert main(run) == 1
    suspect = next(
        o.student for o in standings(url, sample.NAME) if o.state is State.SUSPECT
    )
    assert (
        main(
            [
                "clear",
                "90",
                suspect,
                "--reason",
                "an editor did it",
                "--root",
                str(small),
                "--db",
                url,
            ]
        )
        == 0
    )
    with contextlib.closing(Gradebook(url, "attention")) as book:
        book.find_grade(
            "double--zero", "sample", sample.NAME, "good"
        ).manual_score = 0.5
        book.db.commit()
    assert main([*run, "--force"]) == 1
    found = {one.student: one for one in standings(url, sample.NAME)}
    assert found[suspect].state is State.GRADED
    assert "an editor did it" in found[suspect].reasons[-1]
    assert found["good"].points == 5.5


def test_killed_while_it_writes(small: Path, url: str) -> None:
    """kill -9 at each moment of a submission's transaction."""
    killing.check(small, url)


def test_one_run_at_a_time(url: str) -> None:
    """Also from two machines, which share no lock file; a killed one leaves no lock."""
    with GradebookWriter(url, alone=True):
        with pytest.raises(GradebookError, match="another run is writing"):
            GradebookWriter(url, alone=True)
        GradebookWriter(url).close()  # clearing and reading go on
    GradebookWriter(url, alone=True).close()


def test_a_restart_of_the_server_is_survived(
    server: servers.Server, small: Path, url: str
) -> None:
    """The connection is lost between two submissions: the next one is written on a new one."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert main(["run", "90", "--root", str(small), "--db", url, *FAKE]) == 0
    with GradebookWriter(url, "attention", alone=True) as book:
        server.stop()
        server.start()
        book.save(
            sample.NAME, "sample", Result("bob", State.GRADED, dict(helpers.FULL))
        )
    assert [one.points for one in standings(url, sample.NAME)] == [6.0, 6.0]


def test_a_server_that_does_not_answer(
    server: servers.Server, small: Path, url: str, capsys: pytest.CaptureFixture
) -> None:
    """One line that names the database, without its password, and what to look at."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))

    def message(address: str) -> str:
        assert main(["run", "90", "--root", str(small), "--db", address, *FAKE]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said
        return said

    said = message(f"postgresql://{servers.ROLE}:secret@/nowhere?host={server.folder}")
    assert "nowhere" in said
    assert "is the name in the URL right?" in said
    assert "secret" not in said
    assert "is the server running" in message(
        f"postgresql://{servers.ROLE}@/x?host={small}"
    )
    assert "is the server running" in message("postgresql://x:y@127.0.0.1:1/grades")
