"""A class graded by the command: bad files, runs that are killed, states, late work.

The submissions' code runs in this process here (tests/grading/fakes.py): what is tested is what
happens around it. tests/test_class_graded.py grades a class in the sandbox.
"""

from __future__ import annotations

import contextlib
import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grading.__main__ import main
from grading.course.notebooks import ROOT
from grading.course.states import State
from grading.gradebook.standing import Standing, standings
from grading.run.preparation import only_one
from tests.grading import fakes, helpers, killing
from tests.harness import sample

FAKE = ["--engine", "tests.grading.fakes:make", "--jobs", "1"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


def run(small: Path, *arguments: str) -> int:
    """Grade the class."""
    return main(["run", "90", "--root", str(small), *FAKE, *arguments])


def url(small: Path) -> str:
    """Return the gradebook's address."""
    return f"sqlite:///{small / 'gradebook.db'}"


def standing(small: Path) -> dict[str, Standing]:
    """Return how everybody stands."""
    found = standings(url(small), sample.NAME, submitted=small / "submitted")
    return {one.student: one for one in found}


def rows(small: Path) -> dict[str, tuple[str, str]]:
    """Return state and score of everybody in grades.csv."""
    with (small / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["student_id"]: (row["state"], row["score"])
            for row in csv.DictReader(file)
        }


def page(small: Path, student: str) -> str:
    """Return a student's feedback."""
    path = small / "feedback" / student / sample.NAME / "sample.html"
    return path.read_text(encoding="utf-8")


def hand_in_bad(small: Path) -> set[str]:
    """Hand in everything that is no notebook; return whose."""
    helpers.hand_in(small, "not-json", "{")
    helpers.hand_in(small, "garbage", bytes(range(256)) * 100)
    helpers.hand_in(small, "old-format", {"nbformat": 3, "worksheets": []})
    helpers.hand_in(
        small, "no-cells", {"nbformat": 4, "nbformat_minor": 5, "cells": []}
    )
    helpers.hand_in(small, "deep", "[" * 100_000)
    with helpers.hand_in(small, "huge", "").open("wb") as file:
        file.truncate(100 * 2**20)
    link = helpers.hand_in(small, "link", "")
    link.unlink()
    link.symlink_to(small / "solutions" / sample.NAME / "sample.ipynb")
    pipe = helpers.hand_in(small, "pipe", "")
    pipe.unlink()
    os.mkfifo(pipe)
    (small / "submitted" / "folder-link").symlink_to(small / "submitted" / "good")
    helpers.hand_in(small, "two\nlines", helpers.fill(helpers.RIGHT))
    return {
        "not-json",
        "garbage",
        "old-format",
        "no-cells",
        "deep",
        "huge",
        "link",
        "pipe",
        "folder-link",
        "two\N{REPLACEMENT CHARACTER}lines",
    }


def test_one_bad_submission_never_stops_the_others(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Each is failed, with a reason and no score; honest ones have their points."""
    helpers.hand_in(small, "good", helpers.fill(helpers.RIGHT))
    odd = 'zoë+1, "z" [x]*?'
    helpers.hand_in(small, odd, helpers.fill(helpers.WRONG))
    bad = hand_in_bad(small)
    (small / "submitted" / "ida").mkdir()
    misnamed = helpers.hand_in(small, "max", helpers.fill(helpers.RIGHT))
    misnamed.rename(misnamed.with_name("mine.ipynb"))
    assert run(small, "--jobs", "2") == 1
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    found = rows(small)
    assert found.pop("good") == ("graded", "6.0")
    assert found.pop(odd) == ("graded", "1.0")
    assert found.pop("ida") == found.pop("max") == ("missing", "")
    unwritable = {"two\N{REPLACEMENT CHARACTER}lines"}
    assert found == dict.fromkeys(bad - unwritable, ("failed", ""))
    table = {line.split("  ")[0]: line for line in printed.out.splitlines()}
    for student in bad:
        assert f"{student} " in table[student]
        assert " failed " in table[student]
        assert not (small / "autograded" / student).exists()
    assert "no sample.ipynb, only mine.ipynb" in table["max"]
    assert "graded" in page(small, odd).lower()

    # Again, after one was mended: only what has no points yet is graded.
    helpers.hand_in(small, "not-json", helpers.fill(helpers.RIGHT))
    before = (
        (small / "autograded" / "good" / sample.NAME / "sample.ipynb")
        .stat()
        .st_mtime_ns
    )
    assert run(small) == 1
    assert rows(small)["not-json"] == ("graded", "6.0")
    after = (
        (small / "autograded" / "good" / sample.NAME / "sample.ipynb")
        .stat()
        .st_mtime_ns
    )
    assert after == before


def test_reference_solutions_that_lose_points_stop_the_run(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Before anybody has a grade."""
    notebook = sample.source_notebook()
    helpers.find(notebook, "double")["source"] = sample.DOUBLE.replace("2 * x", "3 * x")
    sample.write(small / "solutions" / sample.NAME / "sample.ipynb", notebook)
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert run(small) == 2
    error = capsys.readouterr().err
    assert (
        "the reference solutions don't get full points here, so nobody was graded"
        in error
    )
    assert "double--small: AssertionError: double(3) is 6, got 9" in error
    with contextlib.closing(Gradebook(url(small))) as book:
        assert book.students == []


def test_a_suspect_is_cleared_by_a_person(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Who, when and why; over another run, but not for another file or another finding."""
    helpers.hand_in_all_states(small)
    assert run(small) == 1
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        assert book.find_submission(sample.NAME, "sam").needs_manual_grade
    capsys.readouterr()
    clear = [
        "clear",
        "90",
        "sam",
        "--root",
        str(small),
        "--who",
        "T. Eacher",
        "--reason",
    ]
    assert main([*clear, "  "]) == 2
    assert "--reason: say in a few words" in capsys.readouterr().err
    assert main([*clear, "an editor\ndid it"]) == 0
    printed = capsys.readouterr().out
    assert "sam: cleared, graded with 6 points" in printed
    assert "re-tagged: double--zero: points changed" in printed
    assert main([*clear[:2], "good", *clear[3:], "x"]) == 2
    assert "good: graded, not suspect" in capsys.readouterr().err
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        assert not book.find_submission(sample.NAME, "sam").needs_manual_grade

    for arguments in ([], ["--force"]):
        assert run(small, *arguments) == 1
        assert standing(small)["sam"].state is State.GRADED
        assert rows(small)["sam"] == ("graded", "6.0")
    capsys.readouterr()
    assert main(["states", "90", "--root", str(small)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["failed", "missing", *["graded"] * 3]
    told = next(line for line in lines if line.startswith("graded   sam"))
    assert "cleared by T. Eacher on 2" in told
    assert told.endswith(": an editor did it")

    tampered = helpers.fill(helpers.RIGHT)
    for name in ("double--zero", "total--plain"):
        helpers.find(tampered, name)["metadata"]["nbgrader"]["points"] = 50
    helpers.hand_in(small, "sam", tampered)
    assert run(small) == 1
    assert standing(small)["sam"].state is State.SUSPECT
    assert main(["states", "90", "--only", "suspect", "--root", str(small)]) == 0
    assert capsys.readouterr().out.strip().splitlines()[-1].startswith("suspect  sam")


def test_a_new_submission_is_graded_and_points_by_hand_stay(small: Path) -> None:
    """A changed file is graded anew; what a person gave in formgrader is kept, as in nbgrader."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.WRONG))
    helpers.hand_in(small, "bob", helpers.fill(helpers.WRONG))
    assert run(small) == 0
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        book.find_grade("double--zero", "sample", sample.NAME, "ann").manual_score = 0.5
        book.find_grade(
            "total--plain", "sample", sample.NAME, "ann"
        ).extra_credit = 0.25
        book.find_comment(
            "double", "sample", sample.NAME, "ann"
        ).manual_comment = "nearly"
        book.db.commit()
    assert "0.75" not in page(small, "ann")
    assert standing(small)["ann"].points == 0.75
    assert run(small) == 0
    assert rows(small)["ann"] == ("graded", "0.75")
    assert "0.75" in page(small, "ann"), "the page follows points given by hand"
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    waiting = standing(small)["ann"]
    assert (waiting.points, waiting.reasons) == (
        0.75,
        ("handed in again since it was graded: run the grader",),
    )
    assert run(small) == 0
    assert standing(small)["ann"].points == 2.0 + 0.5 + 3.25
    assert standing(small)["ann"].notebook_points == {
        "double": (2.5, 3.0),
        "total": (3.25, 3.0),
    }
    assert rows(small)["bob"] == ("graded", "1.0")
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        found = book.find_submission(sample.NAME, "ann")
        assert found.needs_manual_grade
        assert found.notebooks[0].comments[0].comment == "nearly"


def test_late_work_costs_what_the_policy_says(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """nbgrader's due date, timestamp and extension; a new date or policy without grading again."""
    config = small / "nbgrader_config.py"
    plain = config.read_text(encoding="utf-8")
    for student, stamp in {
        "early": "2030-01-31 12:00:00 UTC",
        "late": "2030-02-02 13:00:00 UTC",
        "never": "",
        "odd": "the day after",
    }.items():
        path = helpers.hand_in(small, student, helpers.fill(helpers.RIGHT))
        if stamp:
            (path.parent / "timestamp.txt").write_text(stamp, encoding="utf-8")
    assert run(small) == 0
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        book.update_or_create_assignment(sample.NAME, duedate="2030-01-31 22:00:00 UTC")
    assert run(small) == 0
    seconds = {name: one.late_seconds for name, one in standing(small).items()}
    assert seconds == {"early": 0.0, "late": 39 * 3600.0, "never": 0.0, "odd": 0.0}
    assert all(one.points == 6.0 for one in standing(small).values()), (
        "no penalty by default"
    )
    assert (
        "odd: timestamp.txt can't be read: not counted as late"
        in capsys.readouterr().err
    )
    stamp = small / "submitted" / "odd" / sample.NAME / "timestamp.txt"
    stamp.write_text("2030-02-01 00:00:00 CET", encoding="utf-8")
    assert run(small) == 0
    assert standing(small)["odd"].late_seconds == 3600
    stamp.unlink()

    config.write_text(f"{plain}\nc.LatePolicy.percent_per_day = 25\n", encoding="utf-8")
    before = (
        (small / "autograded" / "late" / sample.NAME / "sample.ipynb")
        .stat()
        .st_mtime_ns
    )
    capsys.readouterr()
    assert run(small) == 0
    late = standing(small)["late"]
    assert (late.points, late.raw_points, late.late_penalty) == (3.0, 6.0, 3.0)
    assert rows(small)["late"] == ("graded", "3.0")
    assert "1 d 15 h (-3)" in capsys.readouterr().out
    after = (
        (small / "autograded" / "late" / sample.NAME / "sample.ipynb")
        .stat()
        .st_mtime_ns
    )
    assert after == before, "not graded again"
    with contextlib.closing(Gradebook(url(small), "attention")) as book:
        book.grant_extension(sample.NAME, "late", days=1)
    assert run(small) == 0
    assert standing(small)["late"].points == 4.5
    assert "4.5" in page(small, "late")

    config.write_text(f"{plain}\nc.LatePolicy.percent_per_day = -1\n", encoding="utf-8")
    assert run(small) == 2
    assert "nbgrader_config.py: " in capsys.readouterr().err


def test_without_a_sandbox_the_report_says_so(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """The flag must be given by name, and its use is in the gradebook's ledger."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert run(small, "--unsafe-no-sandbox") == 0
    assert "warning: graded without a sandbox" in capsys.readouterr().out
    assert run(small) == 0
    assert "warning: graded without a sandbox" in capsys.readouterr().out


def test_a_second_run_at_the_same_time_is_refused(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Two would grade everybody twice."""
    helpers.hand_in(small, "ann", helpers.release())
    with only_one(small):
        assert run(small) == 2
    assert "another run is grading course" in capsys.readouterr().err


def test_killed_inside_a_write(small: Path) -> None:
    """kill -9 at each moment of a submission's transaction."""
    killing.check(small, url(small))


def recorded(small: Path) -> dict[str, str]:
    """Return who is in the ledger; the gradebook, if there is one yet, holds nothing in part."""
    if not (small / "gradebook.db").exists():
        return {}
    with contextlib.closing(sqlite3.connect(small / "gradebook.db")) as db:
        assert db.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    return killing.recorded(url(small))


def test_killed_at_any_moment_and_run_again(small: Path, tmp_path: Path) -> None:
    """kill -9, again and again: nothing is half written, lost, or graded twice once it is there."""
    students = [f"student-{number:02}" for number in range(12)]
    for student in students:
        helpers.hand_in(small, student, helpers.fill(helpers.RIGHT))
    log = tmp_path / "starts.txt"
    log.touch()
    environment = {**os.environ, fakes.LOG: str(log), fakes.DELAY: "0.05"}
    command = [
        sys.executable,
        "-m",
        "grading",
        "run",
        "90",
        "--root",
        str(small),
        *FAKE,
    ]

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def wait_for(process: subprocess.Popen, count: int) -> None:
        """Wait until so many are in the ledger."""
        until = time.monotonic() + 120
        while len(recorded(small)) < count and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.05)

    kills = 0
    for count in (0, 1, 6):  # the first while it starts
        process = start()
        if count:
            wait_for(process, count)
        else:
            time.sleep(1.0)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        known = recorded(small)
        assert len(known) >= count
    assert kills == 3
    assert len(known) < len(students)
    children = {int(line) for line in log.read_text(encoding="utf-8").split()}
    assert children
    until = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until, "the processes of a killed run end, too"
        time.sleep(0.05)
    log.write_text("", encoding="utf-8")
    assert start().wait() == 0
    # The reference solutions, and those who were not yet there.
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1 + len(students) - len(
        known
    )
    assert rows(small) == dict.fromkeys(students, ("graded", "6.0"))
