"""A class graded for real: nbgrader's grades are the points that the answers deserve.

The class is made from the bank of answers of one assignment. What each student should get is
computed by the answer harness, cell by cell, without nbgrader.
"""

from __future__ import annotations

import copy
import csv
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.harness import assignment as form
from tests.harness import runner, sample
from tools import exercises, grade, notebooks
from tools.notebooks import ROOT, SEPARATOR

NAME = "02-self-attention"
MISSING = "ida-missing"


@dataclass
class Class:
    """A graded class: the course's folder, who answered what, who should get what, and got it."""

    course: Path
    assignment: form.Assignment
    answers: dict[str, dict[str, str]]
    expected: dict[str, dict[str, float]]
    results: dict[str, grade.Result]


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


def make_answers(assignment: form.Assignment, bank: list[form.Answer]) -> dict[str, dict[str, str]]:
    """Return the class: for each student, the text that they wrote in which solution cells."""
    tasks = list(assignment.tasks)
    right = {task: [a.source for a in bank if a.task == task and a.is_right] for task in tasks}
    wrong = {task: [a.source for a in bank if a.task == task and not a.is_right] for task in tasks}
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


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Class:
    """Make the class, work out what it deserves, and let nbgrader grade it."""
    course = tmp_path_factory.mktemp("course")
    make_course(course, NAME)
    assignment = form.load(ROOT / "solutions" / NAME)
    bank, problems = form.read_bank(assignment, ROOT / "tests" / "answers")
    assert not problems
    answers = make_answers(assignment, bank)

    path = next(iter(notebooks.notebooks_in(course / "exercises" / NAME)))
    release = notebooks.read(path)
    stubs = {cell.grade_id: cell.source for cell in notebooks.cells(path) if cell.is_solution}
    for student, texts in answers.items():
        notebook = fill(release, texts)
        if student == "jo-easier-tests":
            for cell in notebook["cells"]:
                if SEPARATOR in cell["metadata"].get("nbgrader", {}).get("grade_id", ""):
                    cell["source"] = "assert True"
        if student == "kim-split-cells":
            first = next(
                number for number, cell in enumerate(notebook["cells"])
                if cell["metadata"].get("nbgrader", {}).get("solution")
            )
            upper = copy.deepcopy(notebook["cells"][first])
            upper.update(id="upper-half", source="# My notes")
            notebook["cells"].insert(first, upper)
        folder = course / "submitted" / student / NAME
        sample.write(folder / path.name, notebook)
    (course / "submitted" / MISSING).mkdir()
    stamp = course / "submitted" / "ada-all-right" / NAME / "timestamp.txt"
    stamp.write_text("2030-01-31 12:00:00 UTC", encoding="utf-8")

    jobs = [runner.Job({**stubs, **texts}) for texts in answers.values()]
    _, outcomes = runner.run(assignment, jobs)
    expected = {
        student: {name: outcome.cells[name].points for name in assignment.tests}
        for student, outcome in zip(answers, outcomes, strict=True)
    }
    results = {result.student: result for result in grade.grade(course, NAME)}
    return Class(course, assignment, answers, expected, results)


@pytest.fixture
def gradebook(graded: Class) -> Iterator[Gradebook]:
    """The class's gradebook, opened."""
    with Gradebook(f"sqlite:///{graded.course / 'gradebook.db'}") as opened:
        yield opened


@pytest.mark.slow
def test_the_class_is_not_all_alike(graded: Class) -> None:
    """The expected grades hold full scores, zeros, and scores between: a real comparison."""
    most = sum(test.points for test in graded.assignment.tests.values())
    totals = {student: sum(cells.values()) for student, cells in graded.expected.items()}
    assert len(totals) >= 8
    for student in ("ada-all-right", "björn-übt-größer", "kim-split-cells"):
        assert totals[student] == most
    assert totals["hal-untouched"] == 0
    between = {total for total in totals.values() if 0 < total < most}
    assert len(between) >= 3, totals


@pytest.mark.slow
def test_each_cell_is_graded_as_deserved(graded: Class, gradebook: Gradebook) -> None:
    """Every test cell of every student has the points that the harness expects."""
    notebook = graded.assignment.path.stem
    wrong = []
    for student, cells in graded.expected.items():
        for name, points in cells.items():
            found = gradebook.find_grade(name, notebook, NAME, student)
            if found.needs_manual_grade or found.auto_score != pytest.approx(points):
                wrong.append(f"{student}: {name}: {found.auto_score}, expected {points}")
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.slow
def test_each_task_and_total_is_graded_as_deserved(graded: Class, gradebook: Gradebook) -> None:
    """Sums by task in the printed table, and totals in the gradebook."""
    for student, cells in graded.expected.items():
        result = graded.results[student]
        assert result.state == "graded"
        for task in graded.assignment.tasks.values():
            deserved = sum(cells[test.grade_id] for test in task.tests)
            assert result.points[task.name] == pytest.approx(deserved), (student, task.name)
        submission = gradebook.find_submission(NAME, student)
        assert submission.score == pytest.approx(sum(cells.values())), student
        assert submission.max_score == sum(test.points for test in graded.assignment.tests.values())
    assert graded.results[MISSING].state == "missing"


@pytest.mark.slow
def test_a_wrong_answer_costs_its_task_only(graded: Class) -> None:
    """Partial credit: one mistake takes points of its own task, and leaves the others whole."""
    _, task, *_ = graded.assignment.tasks.values()
    for name, points in graded.expected["gil-one-mistake"].items():
        most = graded.assignment.tests[name].points
        if not name.startswith(task.name + SEPARATOR):
            assert points == most, name
    assert graded.results["gil-one-mistake"].points[task.name] < task.points


@pytest.mark.slow
def test_edited_tests_do_not_help(graded: Class) -> None:
    """Tests replaced by `assert True` are put back before grading."""
    assert graded.results["jo-easier-tests"].cells == graded.expected["jo-easier-tests"]
    lost = [task for task in graded.assignment.tasks.values()
            if graded.results["jo-easier-tests"].points[task.name] < task.points]
    assert len(lost) == len(graded.assignment.tasks)


@pytest.mark.slow
def test_feedback_is_written_for_each(graded: Class) -> None:
    """A page for everyone who handed in, with their score and the messages of failed tests."""
    for student, cells in graded.expected.items():
        page = graded.course / "feedback" / student / NAME / f"{graded.assignment.path.stem}.html"
        text = page.read_text(encoding="utf-8")
        score = re.search(r"Score:\s*([\d.]+)\s*/\s*([\d.]+)", text)
        assert score is not None, student
        assert float(score.group(1)) == pytest.approx(sum(cells.values())), student
        if student == "eve-all-wrong":
            assert "AssertionError" in text
        if student == "hal-untouched":
            assert "NotImplementedError" in text
    assert not (graded.course / "feedback" / MISSING).exists()


@pytest.mark.slow
def test_the_csv_file_holds_the_grades(graded: Class) -> None:
    """grades.csv has a row for each student; who is missing has no score."""
    with (graded.course / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows.keys() == graded.expected.keys() | {MISSING}
    for student, cells in graded.expected.items():
        row = rows[student]
        assert (row["assignment"], row["state"]) == (NAME, "graded")
        assert float(row["score"]) == pytest.approx(sum(cells.values()))
        assert float(row["max_score"]) == sum(
            test.points for test in graded.assignment.tests.values()
        )
    assert rows["ada-all-right"]["timestamp"].startswith("2030-01-31 12:00")
    assert (rows[MISSING]["state"], rows[MISSING]["score"]) == ("missing", "")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment, released, and nothing handed in."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    sample.make(tmp_path)
    sample.write(
        tmp_path / "exercises" / sample.NAME / "sample.ipynb",
        # Stands in for the release notebook: these tests hand in nothing else of it.
        sample.source_notebook(),
    )
    return tmp_path


@pytest.mark.slow
def test_what_cannot_be_graded_is_no_zero(small: Path, capsys: pytest.CaptureFixture) -> None:
    """A broken file is failed, a misnamed one missing; the others are graded; no score is made up.

    Graded again after the file was mended, the student has a grade.
    """
    exercises.write(small)
    released = small / "exercises" / sample.NAME / "sample.ipynb"
    notebook = notebooks.read(released)
    answers = {task: files[next(iter(files))] for task, files in sample.BANK.items()}
    good = fill(notebook, answers)
    without_tests = copy.deepcopy(good)
    without_tests["cells"] = [
        cell for cell in good["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") != "double--small"
    ]
    hand_in = {"good": good, "broken": "{", "deleted": without_tests}
    for student, content in hand_in.items():
        sample.write(small / "submitted" / student / sample.NAME / "sample.ipynb", content)
    sample.write(small / "submitted" / "misnamed" / sample.NAME / "mine.ipynb", good)

    assert grade.main(["90", "--root", str(small)]) == 1, "a failed submission is an exit status"
    printed = capsys.readouterr().out
    assert "failed: broken: " in printed
    assert "missing: misnamed: no sample.ipynb, only mine.ipynb" in printed
    with (small / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: (row["state"], row["score"]) for row in csv.DictReader(file)}
    assert rows == {
        "good": ("graded", "6.0"),
        "deleted": ("graded", "6.0"),
        "broken": ("failed", ""),
        "misnamed": ("missing", ""),
    }

    for student in ("good", "deleted", "misnamed"):
        shutil.rmtree(small / "submitted" / student)
    mended = json.dumps(fill(notebook, {"double": answers["double"]}))
    sample.write(small / "submitted" / "broken" / sample.NAME / "sample.ipynb", mended)
    assert grade.main(["90", "--root", str(small)]) == 0
    again = {result.student: (result.state, result.total) for result in grade.read_grades(
        small, sample.NAME, {"broken": ""}, {})}
    assert again["broken"] == ("graded", 3.0)


def test_messages_say_what_to_do(small: Path, capsys: pytest.CaptureFixture) -> None:
    """No folder, an empty one, an unknown assignment, an impossible name, nobody: no traceback."""

    def message(*arguments: str) -> str:
        assert grade.main([*arguments, "--root", str(small)]) == 1
        return capsys.readouterr().err

    assert "Known: 90-sample. For example: make grade ASSIGNMENT=90-sample" in message()
    assert "no assignment is called '91'" in message("91")
    layout = "submitted/<student>/90-sample/sample.ipynb"
    assert f"there is no folder submitted/. Put each notebook at {layout}" in message("90-sample")
    (small / "submitted").mkdir()
    assert f"submitted/ is empty. Put each notebook at {layout}" in message("90-sample")
    (small / "submitted" / "ann").mkdir()
    assert "nobody handed in 90-sample (ann: nothing handed in)" in message("90-sample")
    (small / "submitted" / "bob, junior").mkdir()
    assert "submitted/bob, junior: rename the folder" in message("90-sample")
    assert not (small / "gradebook.db").exists()
