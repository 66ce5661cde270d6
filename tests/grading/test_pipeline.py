"""Grading one submission and a class: the four states, bad files, and runs that are killed."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import determine_grade, is_grade

from grading import autograded, pipeline, pool, submission
from grading.__main__ import main
from grading.engine import EngineError, TestOutcome
from grading.pipeline import Graded, Times
from grading.states import Result, State
from grading.submission import Form, RebuiltCell
from tests.grading import fakes, helpers
from tests.harness import sample
from tools.notebooks import ROOT

FAKE = ["--engine", "tests.grading.fakes:make"]
NOTHING = dict.fromkeys(helpers.FULL, 0.0)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


@pytest.fixture
def form(small: Path) -> Form:
    """The sample assignment."""
    return submission.load(
        small / "exercises" / sample.NAME / "sample.ipynb",
        small / "solutions" / sample.NAME / "sample.ipynb",
    )


def grade(form: Form, notebook: dict, **options: object) -> Graded:
    """Grade a notebook with the engine of the tests."""
    return pipeline.grade_one(
        form.rebuild(json.dumps(notebook).encode()), fakes.FakeEngine(), **options)


def with_test(form: Form, grade_id: str, source: str) -> dict:
    """Return the cells of a form in which one test cell has another text."""
    cells = [
        RebuiltCell(**{**vars(cell), "source": source}) if cell.grade_id == grade_id else cell
        for cell in form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode()).cells
    ]
    return pipeline.Rebuilt(tuple(cells), ())


def test_right_wrong_and_untouched(form: Form) -> None:
    """Full points, some, none; the messages of what failed, and what was left as released."""
    right = grade(form, helpers.fill(helpers.RIGHT)).result
    assert (right.state, right.points, right.messages) == (State.GRADED, helpers.FULL, {})
    wrong = grade(form, helpers.fill(helpers.WRONG)).result
    assert wrong.points == {"double--small": 0.0, "double--zero": 1.0, "total--plain": 0.0}
    assert "a sign was lost" in wrong.messages["double--small"]
    stub = grade(form, helpers.release()).result
    assert (stub.points, stub.unchanged) == (NOTHING, ["double", "total"])


def test_a_process_that_ends_costs_its_own_task(form: Form) -> None:
    """The next task is graded in a fresh process; the incident is told."""
    answers = {**helpers.RIGHT, "double": "def double(x):\n    raise SystemExit"}
    answers["total"] = "def total(values):\n    return 2 * sum(values)"
    found = grade(form, helpers.fill(answers)).result
    assert found.points == {**NOTHING, "total--plain": 3.0}
    assert found.state is State.GRADED
    assert found.reasons == [
        "ended in double--small: its process stopped", "ended in double--zero: its process stopped"]
    answers["double"] = "LIMIT = 'memory'\nraise SystemExit"
    found = grade(form, helpers.fill(answers)).result
    assert found.points == {**NOTHING, "total--plain": 3.0}
    assert found.reasons == ["ended in double: limit on memory"]


def test_restarts_and_time_have_an_end(form: Form) -> None:
    """What could not be run gives no points and says so; the submission is graded all the same."""
    answers = {**helpers.RIGHT, "double": "def double(x):\n    raise SystemExit"}
    for times in (Times(restarts=0), Times(submission=-1.0)):
        found = grade(form, helpers.fill(answers), times=times).result
        assert (found.state, found.points["total--plain"]) == (State.GRADED, 0.0)
        assert "used up its time or its restarts" in found.messages["total--plain"]


@pytest.mark.parametrize(
    ("last", "points"), [("0.5", 0.5), ("0", 0.0), ("2.0", 2.0), ("-1", 2.0), ("'x'", 2.0)])
def test_partial_credit_by_nbgraders_rule(form: Form, last: str, points: float) -> None:
    """A number as the last expression of a test; nbgrader finds the same in the notebook."""
    rebuilt = with_test(form, "double--small", last)
    graded = pipeline.grade_one(rebuilt, fakes.FakeEngine())
    assert graded.result.points["double--small"] == points
    text = autograded.notebook(rebuilt, graded.outcomes, graded.result.points, {})
    cells = [cell for cell in nbformat.reads(text, as_version=4).cells if is_grade(cell)]
    assert determine_grade(cells[0]) == (points, 2.0)


def test_too_much_credit_is_the_tests_fault(form: Form) -> None:
    """The submission is failed, not given or refused the points."""
    with pytest.raises(EngineError, match="double--small ends with 3, but gives at most 2"):
        pipeline.grade_one(with_test(form, "double--small", "3.0"), fakes.FakeEngine())


def test_the_graded_notebook_says_the_same_as_the_grades(form: Form) -> None:
    """nbgrader's own rule, applied to the cells, finds the points of every test."""
    for answers in (helpers.RIGHT, helpers.WRONG, {}):
        rebuilt = form.rebuild(json.dumps(helpers.fill(answers)).encode())
        graded = pipeline.grade_one(rebuilt, fakes.FakeEngine())
        text = autograded.notebook(rebuilt, graded.outcomes, graded.result.points, {})
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        found = {c.metadata.nbgrader.grade_id: determine_grade(c)[0]
                 for c in notebook.cells if is_grade(c)}
        assert found == graded.result.points


def test_output_is_plain_and_bounded() -> None:
    """No control characters for a teacher's terminal, and not more than a page."""
    assert autograded.clean("a\x1b[31mb\x00\n\té") == "a\N{REPLACEMENT CHARACTER}[31mb" \
        "\N{REPLACEMENT CHARACTER}\n\té"
    assert len(autograded.clean("x" * 10**6)) <= autograded.MOST + 1


def test_tampering_is_suspect(form: Form) -> None:
    """Changed tags, and a process that breaks the rules of its channel."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--zero")["metadata"]["nbgrader"]["points"] = 50
    found = grade(form, notebook).result
    assert (found.state, found.points) == (State.SUSPECT, helpers.FULL)
    assert found.reasons == ["re-tagged: double--zero: points changed in its metadata"]

    class Forger(fakes.FakeProcess):
        def test(self, source: str) -> TestOutcome:
            return TestOutcome("Lost: nonsense", died=True, tampered="spoke nonsense")

    engine = fakes.FakeEngine()
    engine.open = Forger
    rebuilt = form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode())
    found = pipeline.grade_one(rebuilt, engine).result
    assert (found.state, found.total) == (State.SUSPECT, 0.0)
    assert "double--small: spoke nonsense" in found.reasons


def test_a_fault_of_the_grader_is_failed(form: Form, small: Path) -> None:
    """Neither a zero nor the end of the run."""
    path = helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    job = {"student": "ann", "path": str(path)}
    answer = pipeline.grade_file(form, fakes.BrokenEngine(), job, Times(), {})
    found = Result.from_json(answer["result"])
    assert (found.state, found.points, answer["notebook"]) == (State.FAILED, {}, None)
    assert found.reasons == ["the grader failed: EngineError: no process left"]


def test_the_pool_survives_its_jobs() -> None:
    """A job that kills its process, or hangs, is that job's answer; the others are done."""
    jobs = [{"do": what} for what in ("a", "die", "b", "hang", "c", "die", "d")]
    done = dict(pool.run(jobs, "tests.grading.fakes:Jobs", {}, processes=2, deadline=8))
    assert sorted(done) == list(range(7))
    assert {done[number].get("did") for number in (0, 2, 4, 6)} == {"a", "b", "c", "d"}
    assert {done[number]["lost"] for number in (1, 5)} == {"the grading process ended (SIGKILL)"}
    assert done[3]["lost"] == "grading took longer than 8 s"


def rows(small: Path) -> dict[str, tuple[str, str]]:
    """Return state and score of everybody in grades.csv."""
    with (small / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: (row["state"], row["score"]) for row in csv.DictReader(file)}


def hand_in_bad(small: Path) -> set[str]:
    """Hand in everything that is no notebook; return whose."""
    helpers.hand_in(small, "not-json", "{")
    helpers.hand_in(small, "garbage", bytes(range(256)) * 100)
    helpers.hand_in(small, "old-format", {"nbformat": 3, "worksheets": []})
    helpers.hand_in(small, "no-cells", {"nbformat": 4, "nbformat_minor": 5, "cells": []})
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
    helpers.hand_in(small, "a, comma", helpers.fill(helpers.RIGHT))
    return {"not-json", "garbage", "old-format", "no-cells", "deep", "huge", "link", "pipe",
            "folder-link", "a, comma"}


def test_one_bad_submission_never_stops_the_others(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Each is failed, with a reason and no score; honest ones have their points."""
    helpers.hand_in(small, "good", helpers.fill(helpers.RIGHT))
    helpers.hand_in(small, "zoë", helpers.fill(helpers.WRONG))
    bad = hand_in_bad(small)
    (small / "submitted" / "ida").mkdir()
    assert main(["run", "90", "--root", str(small), "--jobs", "2", *FAKE]) == 1
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    found = rows(small)
    assert found.pop("good") == ("graded", "6.0")
    assert found.pop("zoë") == ("graded", "1.0")
    assert found.pop("ida") == ("missing", "")
    assert found == dict.fromkeys(bad - {"a, comma"}, ("failed", ""))
    for student in bad:
        assert f"failed: {student}: " in printed.out
        assert not (small / "autograded" / student).exists()

    # Again, after one was mended: only what has no points yet is graded.
    helpers.hand_in(small, "not-json", helpers.fill(helpers.RIGHT))
    before = (small / "autograded" / "good" / sample.NAME / "sample.ipynb").stat().st_mtime_ns
    assert main(["run", "90", "--root", str(small), "--jobs", "1", *FAKE]) == 1
    assert rows(small)["not-json"] == ("graded", "6.0")
    after = (small / "autograded" / "good" / sample.NAME / "sample.ipynb").stat().st_mtime_ns
    assert after == before


def test_reference_solutions_that_lose_points_stop_the_run(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Before anybody has a grade."""
    notebook = sample.source_notebook()
    helpers.find(notebook, "double")["source"] = sample.DOUBLE.replace("2 * x", "3 * x")
    sample.write(small / "solutions" / sample.NAME / "sample.ipynb", notebook)
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert main(["run", "90", "--root", str(small), "--jobs", "1", *FAKE]) == 1
    error = capsys.readouterr().err
    assert "the reference solutions don't get full points here, so nobody was graded" in error
    assert "double--small: AssertionError: double(3) is 6, got 9" in error
    with contextlib.closing(Gradebook(f"sqlite:///{small / 'gradebook.db'}")) as book:
        assert book.students == []


def test_messages_say_what_to_do(small: Path, capsys: pytest.CaptureFixture) -> None:
    """No traceback for what a teacher can put right."""

    def message(*arguments: str) -> str:
        assert main(["run", *arguments, "--root", str(small)]) in (1, 2)
        return capsys.readouterr().err

    assert "Known: 90-sample" in message()
    layout = "submitted/<student>/90-sample/sample.ipynb"
    assert f"there is no folder submitted/. Put each notebook at {layout}" in message("90")
    (small / "submitted").mkdir()
    assert f"submitted/ is empty. Put each notebook at {layout}" in message("90")
    helpers.hand_in(small, "ann", helpers.release())
    assert "--jobs: expected at least 1, got 0" in message("90", "--jobs", "0")
    assert "no folder of bob in submitted/" in message("90", "--student", "bob")
    text = message("90", "--engine", "tests.grading.fakes:make_none", "--jobs", "1")
    assert text.strip().endswith("apt-get install bubblewrap")


def test_without_a_sandbox_the_report_says_so(small: Path, capsys: pytest.CaptureFixture) -> None:
    """The flag must be given by name, and its use is in the gradebook's ledger."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    arguments = ["run", "90", "--root", str(small), "--jobs", "1", *FAKE]
    assert main([*arguments, "--unsafe-no-sandbox"]) == 0
    assert "warning: graded without a sandbox" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "warning: graded without a sandbox" in capsys.readouterr().out


def recorded(small: Path) -> dict[str, str]:
    """Return who is in the ledger, and assert that the gradebook holds nothing in part."""
    if not (small / "gradebook.db").exists():
        return {}
    with contextlib.closing(sqlite3.connect(small / "gradebook.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        ledger = dict(db.execute("SELECT student, state FROM grading_ledger"))
        submitted = dict(db.execute(
            "SELECT s.student_id, count(g.id) FROM submitted_assignment s "
            "JOIN submitted_notebook n ON n.assignment_id = s.id "
            "JOIN grade g ON g.notebook_id = n.id AND g.auto_score IS NOT NULL "
            "GROUP BY s.student_id"))
        students = {row[0] for row in db.execute("SELECT id FROM student")}
    assert submitted == dict.fromkeys(ledger, len(helpers.FULL))
    assert students == ledger.keys()
    return ledger


def test_killed_at_any_moment_and_run_again(small: Path, tmp_path: Path) -> None:
    """kill -9, again and again: nothing is half written, lost, or graded twice once it is there."""
    students = [f"student-{number:02}" for number in range(12)]
    for number, student in enumerate(students):
        answers = helpers.RIGHT if number % 2 else helpers.WRONG
        helpers.hand_in(small, student, helpers.fill(answers))
    log = tmp_path / "starts.txt"
    log.touch()
    environment = {**os.environ, fakes.LOG: str(log), fakes.DELAY: "0.05", "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable, "-m", "grading", "run", "90", "--root", str(small), "--jobs", "1", *FAKE]

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)

    def wait_for(process: subprocess.Popen, count: int) -> None:
        """Wait until so many are in the ledger."""
        until = time.monotonic() + 120
        while len(recorded(small)) < count and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)

    kills = 0
    for count in (0, 1, 4, 9):  # the first while it starts
        process = start()
        if count:
            wait_for(process, count)
        else:
            time.sleep(1.0)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        known = recorded(small)
        assert len(known) >= count
    assert kills == 4
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
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1 + len(students) - len(known)
    assert recorded(small) == dict.fromkeys(students, "graded")
    assert rows(small) == {
        student: ("graded", "6.0" if number % 2 else "1.0")
        for number, student in enumerate(students)
    }
    log.write_text("", encoding="utf-8")
    assert start().wait() == 0
    assert log.read_text(encoding="utf-8") == "", "nothing is graded twice"


def test_check_tells_a_student(small: Path, capsys: pytest.CaptureFixture) -> None:
    """What fails and what is not answered, by the visible tests alone, without solutions/."""
    shutil.rmtree(small / "solutions")
    path = helpers.hand_in(small, "ann", helpers.fill({"double": helpers.WRONG["double"]}))
    assert main(["check", str(path), "--root", str(small), *FAKE]) == 1
    printed = capsys.readouterr().out
    assert "not answered: total" in printed
    assert "visible tests: 3 of 6 points" in printed, "the hidden test alone finds this mistake"
    helpers.hand_in(small, "ann", helpers.fill({**helpers.RIGHT, "double": "def double(x):\n  5"}))
    assert main(["check", str(path), "--root", str(small), *FAKE]) == 1
    assert "double--small: AssertionError: double(3) is 6, got None" in capsys.readouterr().out
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert main(["check", str(path), "--root", str(small), *FAKE]) == 0
    path.write_text("{", encoding="utf-8")
    assert main(["check", str(path), "--root", str(small), *FAKE]) == 1
    assert "mend: sample.ipynb is not a notebook" in capsys.readouterr().out
    other = path.rename(path.with_name("other.ipynb"))
    assert main(["check", str(other), "--root", str(small), *FAKE]) == 1
    assert "Known: sample.ipynb. Don't rename" in capsys.readouterr().err


def test_a_second_run_at_the_same_time_is_refused(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Two would grade everybody twice."""
    from grading.course import only_one

    helpers.hand_in(small, "ann", copy.deepcopy(helpers.release()))
    with only_one(small):
        assert main(["run", "90", "--root", str(small), *FAKE]) == 1
    assert "another run is grading course" in capsys.readouterr().err
