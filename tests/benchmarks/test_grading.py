"""The comparison's arithmetic, and that it compares: both ways everybody is graded, in full."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from benchmarks import grading
from benchmarks.grading import OURS, STOCK, BenchError, Cost, ratio, steps
from grading.__main__ import main
from grading.course import release
from tests.grading import helpers
from tests.harness import sample

pytestmark = pytest.mark.slow

FAKE = ["--engine", "tests.grading.fakes:make"]
GRADE = grading.grade_here


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment and its bank of answers."""
    root = helpers.make_course(tmp_path / "course")
    (root / "tests").mkdir()
    (root / "answers").rename(root / "tests" / "answers")
    return root


def test_the_ratio_is_of_submissions_a_minute() -> None:
    """Six in 30 s are 12 a minute; the same six in 3 minutes are 2: six times as many."""
    ours, stock = Cost(6, wall=30.0, cpu=50.0), Cost(6, wall=180.0, cpu=150.0)
    assert (ours.per_minute, stock.per_minute) == (12.0, 2.0)
    assert ratio(ours, stock) == 6.0
    with pytest.raises(ValueError, match="expected 6 submissions, got 5"):
        ratio(ours, Cost(5, 1.0, 1.0))


def test_a_class_is_no_handful() -> None:
    """If nothing is said, both ways grade a class, and the sizes reach a large course."""
    assert grading.STUDENTS >= 24
    args = grading.parser().parse_args([])
    assert (args.students, args.sizes, args.quick) == (None, None, False)


def test_one_submission_more() -> None:
    """What a run costs once, here 7 s and 9 s of CPU, falls out; growth shows."""
    costs = [Cost(n, wall=7 + 0.5 * n, cpu=9 + n) for n in (50, 10, 500)]
    assert steps(costs) == [
        {"from": 10, "to": 50, "wall": 0.5, "cpu": 1.0},
        {"from": 50, "to": 500, "wall": 0.5, "cpu": 1.0},
    ]
    square = steps([Cost(n, wall=n * n / 100, cpu=1.0) for n in (10, 50, 500)])
    assert square[1]["wall"] > 8 * square[0]["wall"]
    for wrong in ([Cost(10, 1.0, 1.0)], [Cost(10, 1.0, 1.0), Cost(10, 2.0, 2.0)]):
        with pytest.raises(ValueError, match="at least two sizes, each once"):
            steps(wrong)


def test_time_of_all_processes_is_counted(tmp_path: Path) -> None:
    """Also that of a process whose parent was killed before it: so sandboxes end."""
    orphan = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        while time.process_time() < 0.6: pass\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    found = grading.measure([sys.executable, "-c", orphan], tmp_path, 3)
    assert found.submissions == 3
    assert found.cpu > 0.6
    with pytest.raises(BenchError, match="its last words"):
        grading.measure(
            [sys.executable, "-c", "raise SystemExit('its last words')"], tmp_path, 1
        )


def test_no_two_hand_in_the_same(small: Path, tmp_path: Path) -> None:
    """All answers of the bank are used, each right; no file is another's."""
    folder = tmp_path / "class"
    folder.mkdir()
    grading.make_course(small, folder, sample.NAME, 5)
    files = list((folder / "submitted").glob("s*/90-sample/sample.ipynb"))
    assert len({path.read_bytes() for path in files}) == len(files) == 5
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    assert "x + x" in texts
    assert "2 * (x + 1) - 2" in texts
    assert "abs(2 * x)" not in texts, "a wrong answer"
    with pytest.raises(BenchError, match="91-other: expected one notebook"):
        grading.right_answers(small, "91-other")
    (small / "tests" / "answers" / sample.NAME / "total.py").unlink()
    with pytest.raises(BenchError, match="no right answers to every task"):
        grading.right_answers(small, sample.NAME)


def here(folder: Path, assignment: str, jobs: int) -> list[str]:
    """Return the command of this side, with the tests' own engine."""
    return GRADE(folder, assignment, jobs, FAKE)


def test_both_ways_grade_everybody_in_full(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nbgrader's own autograder and this one, on the sample; then the table and the file."""
    monkeypatch.setattr(grading, "grade_here", here)
    command = ["--students", "2", "--sizes", "3", "--jobs", "1", "--assignment", "90"]
    assert grading.main([*command, "--quick", "--root", str(small)]) == 0
    found = json.loads(
        (small / "_build" / "grading-bench.json").read_text(encoding="utf-8")
    )
    assert found["assignment"] == sample.NAME
    assert {name: cost["submissions"] for name, cost in found["costs"].items()} == {
        OURS: 2,
        STOCK: 2,
    }
    ours, stock = (
        Cost(2, found["costs"][name]["wall"], found["costs"][name]["cpu"])
        for name in (OURS, STOCK)
    )
    assert found["ratio"] == pytest.approx(stock.wall / ours.wall)
    assert [cost["submissions"] for cost in found["sizes"]] == [2, 3]
    assert found["one_more"][0]["wall"] == pytest.approx(
        found["sizes"][1]["wall"] - found["sizes"][0]["wall"]
    )
    text = grading.table(found)
    assert f"{found['ratio']:.1f} times as many a minute" in text
    assert "load before" in text


def lazy(folder: Path, assignment: str, jobs: int) -> list[str]:
    """Return a command that grades nobody, quickly."""
    return [sys.executable, "-c", "pass"]


def test_what_is_not_graded_is_no_result(small: Path, tmp_path: Path) -> None:
    """A command that does nothing, one that grades half the class, and one lost point."""
    with pytest.raises(BenchError, match="0 of 2 submissions were graded"):
        grading.cost_of(small, sample.NAME, 2, 1, lazy)
    folder = tmp_path / "class"
    folder.mkdir()
    grading.make_course(small, folder, sample.NAME, 3)
    run = ["run", "90", "--root", str(folder), "--jobs", "1", *FAKE]
    assert main([*run, "--student", "s0001", "--student", "s0002"]) == 1, "one to go"
    with pytest.raises(BenchError, match="2 of 3 submissions were graded"):
        grading.check(folder, sample.NAME, 3)
    grading.check(folder, sample.NAME, 2)
    helpers.hand_in(folder, "s0002", helpers.fill(helpers.WRONG))
    assert main([*run, "--student", "s0002"]) == 1
    with pytest.raises(BenchError, match="s0002 has not full points for double--small"):
        grading.check(folder, sample.NAME, 2)


def test_an_assignment_that_nobody_can_release_is_told(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nbgrader's own words arrive."""
    monkeypatch.setattr(
        release,
        "nbgrader",
        lambda *_: argparse.Namespace(
            returncode=1, stderr="[AssignApp | ERROR] out of order"
        ),
    )
    with pytest.raises(BenchError, match="out of order"):
        grading.make_course(small, tmp_path, sample.NAME, 1)
