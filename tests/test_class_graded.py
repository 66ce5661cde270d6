"""A class graded for real: in the sandbox, by the command, and nbgrader goes on with the result.

The class is made from the bank of answers of one assignment. What each student should get is
computed by the answer harness, cell by cell, without any grader.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grading.course import notebooks, release
from grading.course.notebooks import ROOT, SEPARATOR
from grading.course.states import State
from grading.run import batch
from grading.run.batch import Done
from grading.run.preparation import Options
from grading.sandbox.bubblewrap import SandboxMissing
from grading.sandbox.worker import Worker
from tests.harness import assignment as form
from tests.harness import runner, sample
from tests.harness.bank import Answer, read_bank

NAME = "02-self-attention"
NOTEBOOK = "self-attention"
MISSING, BROKEN, SUSPECT = "ida-missing", "zed-broken", 'sam, "suspect"'

pytestmark = pytest.mark.slow


@dataclass
class Class:
    """A graded class: the course's folder, who deserves what in which cell, and what each got."""

    root: Path
    assignment: form.Assignment
    expected: dict[str, dict[str, float]]
    done: Done


def make_course(folder: Path, name: str) -> None:
    """Copy what a teacher needs for one assignment."""
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for room in ("solutions", "exercises"):
        shutil.copytree(ROOT / room / name, folder / room / name)


def fill(release: dict, answers: dict[str, str]) -> dict:
    """Return the release notebook with the text of some solution cells replaced."""
    notebook = copy.deepcopy(release)
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell["source"] = answers[name]
    return notebook


def make_answers(
    assignment: form.Assignment, bank: list[Answer]
) -> dict[str, dict[str, str]]:
    """Return the class: for each student, the text that they wrote in which solution cells."""
    tasks = list(assignment.tasks)
    right = {
        task: [a.source for a in bank if a.task == task and a.is_right]
        for task in tasks
    }
    wrong = {
        task: [a.source for a in bank if a.task == task and not a.is_right]
        for task in tasks
    }
    return {
        "ada-all-right": {task: right[task][0] for task in tasks},
        "björn-übt-größer": {task: right[task][-1] for task in tasks},
        "cleo-first-half": {task: right[task][0] for task in tasks[: len(tasks) // 2]},
        "dan-every-other": {
            task: (right[task][-1] if number % 2 else wrong[task][0])
            for number, task in enumerate(tasks)
        },
        "eve-all-wrong": {task: wrong[task][1] for task in tasks},
        "fay-other-mistakes": {
            task: wrong[task][2 + number % 3] for number, task in enumerate(tasks)
        },
        "gil-one-mistake": {
            task: (wrong[task][3] if number == 1 else right[task][0])
            for number, task in enumerate(tasks)
        },
        "hal-untouched": {},
        "jo-easier-tests": {task: wrong[task][0] for task in tasks},
        "kim-split-cells": {task: right[task][0] for task in tasks},
    }


def disturb(student: str, notebook: dict) -> None:
    """Do to a notebook what students and their programs do."""
    cells = notebook["cells"]
    if student == "jo-easier-tests":
        for cell in cells:
            if SEPARATOR in cell["metadata"].get("nbgrader", {}).get("grade_id", ""):
                cell["source"] = "assert True"
    if student == "kim-split-cells":
        first = next(
            number
            for number, cell in enumerate(cells)
            if cell["metadata"].get("nbgrader", {}).get("solution")
        )
        upper = copy.deepcopy(cells[first])
        upper.update(id="upper-half", source="# My notes")
        cells.insert(first, upper)
    if student == "ada-all-right":  # Windows, an older Jupyter, and cells of one's own
        notebook["nbformat_minor"] = 2
        cells.insert(1, sample.code("import warnings\nwarnings.warn('on stderr')"))
        for cell in cells:
            cell.pop("id", None)
            cell["source"] = notebooks.joined(cell["source"]).replace("\n", "\r\n")
    if student == SUSPECT:
        test = next(
            cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")
        )
        test["metadata"]["nbgrader"]["points"] = 1000


def need_sandbox() -> None:
    """Skip with the reason where no sandbox can be made; fail there if CI=true."""
    reason = ""
    try:
        Worker(preload=()).close()
    except SandboxMissing as missing:
        reason = str(missing).splitlines()[0]
    if reason and os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"CI=true and no sandbox: {reason}", pytrace=False)
    if reason:
        pytest.skip(f"no sandbox: {reason}")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Class:
    """Make the class, work out what it deserves, and grade it."""
    need_sandbox()
    root = tmp_path_factory.mktemp("course")
    make_course(root, NAME)
    assignment = form.load(ROOT / "solutions" / NAME)
    bank, problems = read_bank(assignment, ROOT / "tests" / "answers")
    assert not problems
    answers = make_answers(assignment, bank)
    answers[SUSPECT] = answers["ada-all-right"]
    path = root / "exercises" / NAME / f"{NOTEBOOK}.ipynb"
    release = notebooks.read(path)
    for student, texts in answers.items():
        notebook = fill(release, texts)
        disturb(student, notebook)
        sample.write(root / "submitted" / student / NAME / path.name, notebook)
    stamp = root / "submitted" / "ada-all-right" / NAME / "timestamp.txt"
    stamp.write_text("2030-01-31 12:00:00 UTC", encoding="utf-8")
    sample.write(root / "submitted" / BROKEN / NAME / path.name, "{")
    (root / "submitted" / MISSING).mkdir()

    stubs = {
        cell.grade_id: cell.source for cell in notebooks.cells(path) if cell.is_solution
    }
    jobs = [runner.Job({**stubs, **texts}) for texts in answers.values()]
    _, outcomes = runner.run(assignment, jobs, whole=False)
    expected = {
        student: {name: outcome.cells[name].points for name in assignment.tests}
        for student, outcome in zip(answers, outcomes, strict=True)
    }
    # A second process would import torch again; test_attacks_code.py has two of them.
    return Class(root, assignment, expected, batch.grade(root, NAME, Options(jobs=1)))


@pytest.fixture
def gradebook(graded: Class) -> Iterator[Gradebook]:
    """The class's gradebook, opened by nbgrader."""
    with Gradebook(f"sqlite:///{graded.root / 'gradebook.db'}", "attention") as opened:
        yield opened


def test_the_class_is_not_all_alike(graded: Class) -> None:
    """The expected grades hold full scores, zeros, and scores between: a real comparison."""
    most = sum(test.points for test in graded.assignment.tests.values())
    totals = {
        student: sum(cells.values()) for student, cells in graded.expected.items()
    }
    for student in ("ada-all-right", "björn-übt-größer", "kim-split-cells"):
        assert totals[student] == most
    assert totals["hal-untouched"] == 0
    assert len({total for total in totals.values() if 0 < total < most}) >= 3, totals


def test_every_cell_is_graded_as_deserved(graded: Class, gradebook: Gradebook) -> None:
    """For every student and test cell, in nbgrader's gradebook."""
    wrong = []
    for student, cells in graded.expected.items():
        for name, points in cells.items():
            found = gradebook.find_grade(name, NOTEBOOK, NAME, student)
            if found.auto_score != pytest.approx(points):
                message = graded.done.results[student].messages.get(name, "")
                wrong.append(
                    f"{student}: {name}: {found.auto_score}, not {points}: {message}"
                )
    assert not wrong, "\n".join(["", *wrong])


def test_states_and_points(graded: Class) -> None:
    """Everybody has a state; sums by task and in total are those of the cells."""
    found = {one.student: one for one in graded.done.standings}
    assert {student: one.state for student, one in found.items()} == {
        **dict.fromkeys(graded.expected, State.GRADED),
        SUSPECT: State.SUSPECT,
        BROKEN: State.FAILED,
        MISSING: State.MISSING,
    }
    assert found[BROKEN].points is found[MISSING].points is None
    for student, cells in graded.expected.items():
        assert found[student].points == pytest.approx(sum(cells.values()))
        for task in graded.assignment.tasks.values():
            deserved = sum(cells[test.grade_id] for test in task.tests)
            points, most = found[student].notebook_points[task.name]
            assert (points, most) == (pytest.approx(deserved), task.points), (
                student,
                task.name,
            )
    assert all(result.sandboxed for result in graded.done.results.values())


def test_a_wrong_answer_costs_its_task_only(graded: Class) -> None:
    """Partial credit: one mistake takes points of its own task, and leaves the others whole."""
    _, task, *_ = graded.assignment.tasks.values()
    standing = next(o for o in graded.done.standings if o.student == "gil-one-mistake")
    for name, (points, most) in standing.notebook_points.items():
        assert (points < most) == (name == task.name)


def test_edited_tests_do_not_help(graded: Class) -> None:
    """Tests replaced by `assert True` are put back before grading."""
    standing = next(o for o in graded.done.standings if o.student == "jo-easier-tests")
    assert all(points < most for points, most in standing.notebook_points.values())


def test_feedback_names_the_mistake(graded: Class) -> None:
    """A page for everyone who handed in; a failed test's own words are on it."""
    for student in (*graded.expected, BROKEN):
        page = graded.root / "feedback" / student / NAME / f"{NOTEBOOK}.html"
        assert page.is_file(), student
    assert not (graded.root / "feedback" / MISSING).exists()
    result = graded.done.results["eve-all-wrong"]
    lost = [
        name for name, points in graded.expected["eve-all-wrong"].items() if points == 0
    ]
    assert lost
    assert all(len(result.messages[name]) > 20 for name in lost)


def nbgrader(root: Path, *arguments: str) -> None:
    """Run one of nbgrader's own commands on the result."""
    done = release.nbgrader(root, *arguments)
    assert done.returncode == 0, done.stderr


def test_nbgrader_exports_the_scores(graded: Class, tmp_path: Path) -> None:
    """`nbgrader export` writes what grades.csv holds: no zero for failed and missing."""
    nbgrader(graded.root, "export", "--to", str(tmp_path / "grades.csv"))
    text = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert text == (graded.root / "grades.csv").read_text(encoding="utf-8")
    rows = {row["student_id"]: row for row in csv.DictReader(text.splitlines())}
    assert rows.keys() == {*graded.expected, BROKEN, MISSING}
    for student, cells in graded.expected.items():
        assert float(rows[student]["score"]) == pytest.approx(sum(cells.values()))
        assert float(rows[student]["max_score"]) == sum(
            test.points for test in graded.assignment.tests.values()
        )
    assert rows["ada-all-right"]["timestamp"].startswith("2030-01-31 12:00")
    assert (rows[BROKEN]["state"], rows[BROKEN]["score"]) == ("failed", "")
    assert (rows[MISSING]["state"], rows[MISSING]["score"]) == ("missing", "")


def test_formgrader_shows_the_result(graded: Class, gradebook: Gradebook) -> None:
    """Its table of the class has everybody's score, and each notebook can be opened."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "server",
        "--allow-root",
        "--no-browser",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.open_browser=False",
    ]
    server = subprocess.Popen(
        command, cwd=graded.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def fetch(page: str) -> str:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/formgrader/{page}"
        ) as answer:
            return answer.read().decode()

    try:
        until = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                fetch("api/assignments")
                break
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.5)
        odd = urllib.parse.quote(SUSPECT)
        for page in (
            f"manage_submissions/{NAME}",
            f"gradebook/{NAME}/{NOTEBOOK}",
            f"manage_students/{odd}/{NAME}",
        ):
            assert "nbgrader" in fetch(page)
        grades = json.loads(fetch(f"api/submitted_notebooks/{NAME}/{NOTEBOOK}"))
        assert {entry["student"] for entry in grades} == {*graded.expected}
        table = {
            entry["student"]: entry
            for entry in json.loads(fetch(f"api/submissions/{NAME}"))
        }
        for student, cells in graded.expected.items():
            assert table[student]["score"] == pytest.approx(sum(cells.values()))
            assert table[student]["autograded"]
            assert table[student]["needs_manual_grade"] == (student == SUSPECT)
        assert not table[BROKEN]["autograded"], "formgrader: not graded yet, no score"
        for student in ("eve-all-wrong", SUSPECT):
            found = gradebook.find_submission(NAME, student).notebooks[0]
            assert "soft_lookup" in fetch(f"submissions/{found.id}/")
        eve = gradebook.find_submission(NAME, "eve-all-wrong").notebooks[0]
        assert "AssertionError" in fetch(f"submissions/{eve.id}/")
    finally:
        server.terminate()
        server.wait()


def test_nbgraders_own_autograder_agrees(graded: Class, tmp_path: Path) -> None:
    """A student graded again by nbgrader, in a copy of the gradebook, keeps every point."""
    copied = tmp_path / "gradebook.db"
    shutil.copy(graded.root / "gradebook.db", copied)
    student = "gil-one-mistake"
    nbgrader(
        graded.root,
        "autograde",
        NAME,
        "--student",
        student,
        "--force",
        "--Autograde.exporter_class=nbconvert.exporters.NotebookExporter",
        f"--db=sqlite:///{copied}",
        f"--CourseDirectory.autograded_directory={tmp_path}",
    )
    with Gradebook(f"sqlite:///{copied}", "attention") as book:
        for name, points in graded.expected[student].items():
            found = book.find_grade(name, NOTEBOOK, NAME, student)
            assert found.auto_score == pytest.approx(points), name
