"""A class graded in the sandbox: the points are nbgrader's, and nbgrader goes on with the result.

What each student deserves is computed by the answer harness, cell by cell; that nbgrader gives the
same is tested in tests/test_class_graded.py.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grading import course
from grading.course import Options
from grading.sandbox import SandboxMissing, Worker
from grading.states import Result, State
from tests.harness import assignment as form
from tests.harness import runner, sample
from tests.test_class_graded import fill, make_answers, make_course
from tools import exercises, notebooks
from tools.notebooks import ROOT, SEPARATOR

NAME = "02-self-attention"
NOTEBOOK = "self-attention"

pytestmark = pytest.mark.slow


@dataclass
class Class:
    """A graded class: its folder, who deserves what in which cell, and what each got."""

    root: Path
    expected: dict[str, dict[str, float]]
    results: dict[str, Result]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Class:
    """Make the class, work out what it deserves, and grade it."""
    try:
        Worker(preload=()).close()
    except SandboxMissing as missing:
        pytest.skip(str(missing).splitlines()[0])
    root = tmp_path_factory.mktemp("course")
    make_course(root, NAME)
    assignment = form.load(ROOT / "solutions" / NAME)
    bank, problems = form.read_bank(assignment, ROOT / "tests" / "answers")
    assert not problems
    answers = make_answers(assignment, bank)
    path = root / "exercises" / NAME / f"{NOTEBOOK}.ipynb"
    release = notebooks.read(path)
    for student, texts in answers.items():
        notebook = fill(release, texts)
        disturb(student, notebook)
        sample.write(root / "submitted" / student / NAME / path.name, notebook)
    stamp = root / "submitted" / "ada-all-right" / NAME / "timestamp.txt"
    stamp.write_text("2030-01-31 12:00:00 UTC", encoding="utf-8")
    sample.write(root / "submitted" / "zed-broken" / NAME / path.name, "{")
    (root / "submitted" / "ida-missing").mkdir()

    stubs = {cell.grade_id: cell.source for cell in notebooks.cells(path) if cell.is_solution}
    jobs = [runner.Job({**stubs, **texts}) for texts in answers.values()]
    _, outcomes = runner.run(assignment, jobs)
    expected = {
        student: {name: outcome.cells[name].points for name in assignment.tests}
        for student, outcome in zip(answers, outcomes, strict=True)
    }
    results = course.grade(root, NAME, Options(jobs=2)).results
    return Class(root, expected, {result.student: result for result in results})


def disturb(student: str, notebook: dict) -> None:
    """Do to a notebook what students and their programs do."""
    cells = notebook["cells"]
    if student == "jo-easier-tests":
        for cell in cells:
            if SEPARATOR in cell["metadata"].get("nbgrader", {}).get("grade_id", ""):
                cell["source"] = "assert True"
    if student == "kim-split-cells":
        first = next(
            number for number, cell in enumerate(cells)
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


@pytest.fixture
def gradebook(graded: Class) -> Iterator[Gradebook]:
    """The class's gradebook, opened by nbgrader."""
    with Gradebook(f"sqlite:///{graded.root / 'gradebook.db'}", "attention") as opened:
        yield opened


def test_every_cell_has_the_points_that_nbgrader_gives(graded: Class, gradebook: Gradebook) -> None:
    """For every student and test cell; and the class is not all alike."""
    wrong = []
    for student, cells in graded.expected.items():
        for name, points in cells.items():
            found = gradebook.find_grade(name, NOTEBOOK, NAME, student)
            if found.needs_manual_grade or found.auto_score != pytest.approx(points):
                message = graded.results[student].messages.get(name, "")
                wrong.append(f"{student}: {name}: {found.auto_score}, not {points}: {message}")
    assert not wrong, "\n".join(["", *wrong])
    totals = {sum(cells.values()) for cells in graded.expected.values()}
    assert {0.0, 100.0} < totals
    assert len(totals) >= 5


def test_states(graded: Class) -> None:
    """Everybody has one."""
    found = {student: result.state for student, result in graded.results.items()}
    assert found == {
        **dict.fromkeys(graded.expected, State.GRADED),
        "zed-broken": State.FAILED, "ida-missing": State.MISSING,
    }
    assert all(result.sandboxed for result in graded.results.values())


def test_messages_name_the_mistake(graded: Class) -> None:
    """A failed test's own words arrive, for every test that was lost."""
    result = graded.results["eve-all-wrong"]
    lost = [name for name, points in graded.expected["eve-all-wrong"].items() if points == 0]
    assert lost
    assert all(len(result.messages[name]) > 20 for name in lost)


def nbgrader(root: Path, *arguments: str) -> None:
    """Run one of nbgrader's own commands on the result."""
    done = exercises.nbgrader(root, *arguments)
    assert done.returncode == 0, done.stderr


def test_nbgrader_exports_the_same_scores(graded: Class, tmp_path: Path) -> None:
    """`nbgrader export`, stock, has the score of everybody who has one."""
    nbgrader(graded.root, "export", "--to", str(tmp_path / "stock.csv"))
    for path in (tmp_path / "stock.csv", graded.root / "grades.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
        for student, cells in graded.expected.items():
            assert float(scores[student]) == pytest.approx(sum(cells.values()))
    assert (scores["zed-broken"], scores["ida-missing"]) == ("", "")


def test_nbgrader_writes_feedback_of_the_result(graded: Class) -> None:
    """`nbgrader generate_feedback` finds notebooks and scores as after its own autograder."""
    nbgrader(graded.root, "generate_feedback", NAME)
    for student, cells in graded.expected.items():
        page = graded.root / "feedback" / student / NAME / f"{NOTEBOOK}.html"
        score = re.search(r"Score:\s*([\d.]+)\s*/\s*([\d.]+)", page.read_text(encoding="utf-8"))
        assert score is not None, student
        assert float(score.group(1)) == pytest.approx(sum(cells.values())), student


def test_formgrader_shows_the_result(graded: Class, gradebook: Gradebook) -> None:
    """Its table of the class has everybody's score, and each notebook can be opened."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyter", "server", "--allow-root", "--no-browser",
        f"--port={port}", "--IdentityProvider.token=", "--ServerApp.open_browser=False",
    ]
    server = subprocess.Popen(
        command, cwd=graded.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fetch(page: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/formgrader/{page}") as answer:
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
        table = {entry["student"]: entry for entry in json.loads(fetch(f"api/submissions/{NAME}"))}
        for student, cells in graded.expected.items():
            assert table[student]["score"] == pytest.approx(sum(cells.values()))
            assert table[student]["autograded"]
            assert not table[student]["needs_manual_grade"]
        assert not table["zed-broken"]["autograded"], "formgrader: not graded yet, no score"
        found = gradebook.find_submission(NAME, "eve-all-wrong").notebooks[0]
        page = fetch(f"submissions/{found.id}/")
        assert "AssertionError" in page
        assert "soft_lookup" in page
    finally:
        server.terminate()
        server.wait()


def test_nbgraders_own_autograder_agrees_afterwards(graded: Class, tmp_path: Path) -> None:
    """The same student graded again by nbgrader, in the same gradebook, keeps every point."""
    nbgrader(graded.root, "autograde", NAME, "--student", "gil-one-mistake", "--force",
             f"--CourseDirectory.autograded_directory={tmp_path}")
    with Gradebook(f"sqlite:///{graded.root / 'gradebook.db'}", "attention") as book:
        for name, points in graded.expected["gil-one-mistake"].items():
            found = book.find_grade(name, NOTEBOOK, NAME, "gil-one-mistake")
            assert found.auto_score == pytest.approx(points), name
