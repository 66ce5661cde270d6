"""The measure of the tests: every assignment's bank of answers, and the harness that runs it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from grading.course.notebooks import ROOT
from tests.harness import answers, assignment, bank, runner, sample

SMALL = answers.Rules(tasks=2, right=2, wrong=2)


FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())


@pytest.mark.slow
@pytest.mark.reads("solutions/{folder}", "solutions/*.py", "tests/answers/{folder}*")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_answers_fare_as_they_should(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    """Right answers score full; wrong ones lose points with a message that names the mistake."""
    report = answers.check(folder, ROOT / "tests" / "answers")
    record_property("table", report.table())  # conftest.py prints it
    assert not report.problems, "\n".join(["", *report.problems])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_bank_is_read_and_complete(folder: Path) -> None:
    """Each answer can be made, no two are the same, and there are enough; nothing is run."""
    loaded = assignment.load(folder)
    found, problems = bank.read_bank(loaded, ROOT / "tests" / "answers")
    problems += answers.sizes(
        loaded, found, answers.Rules(), ROOT / "tests" / "answers"
    )
    assert not problems, "\n".join(["", *problems])


@pytest.mark.slow
def test_what_is_worked_out_once_changes_no_outcome() -> None:
    """Right answers and wrong ones end as they do where each run works out all by itself."""
    loaded = assignment.load(FOLDERS[-1])
    found, _ = bank.read_bank(loaded, ROOT / "tests" / "answers")
    mixes = answers.mixed([answer for answer in found if answer.is_right])[:2]
    some = random.Random(0).sample([one for one in found if not one.is_right], 8)
    jobs = [
        runner.Job({answer.task: answer.source for answer in mix})
        for mix in (*mixes, *([one] for one in some))
    ]
    assert len(jobs) >= runner.SOME
    kept, anew = (
        [outcome.cells for outcome in runner.run(loaded, jobs, remember=remember)[1]]
        for remember in (True, False)
    )
    assert kept == anew


def test_assignments_and_banks_belong_together() -> None:
    """There is an assignment, and no folder of answers to an assignment that is gone."""
    known = {folder.name for folder in assignment.discover(ROOT / "solutions")}
    assert known == {folder.name for folder in FOLDERS}, (
        "an assignment is called NN-title"
    )
    banks = {
        path.name for path in (ROOT / "tests" / "answers").iterdir() if path.is_dir()
    }
    assert banks <= known, (
        f"answers to no assignment: {', '.join(sorted(banks - known))}"
    )


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The sample assignment with its bank; returns the folder of the assignment."""
    return sample.make(tmp_path)


def judge(folder: Path, **options: object) -> answers.Report:
    """Check a sample assignment with the sample's rules."""
    options = {"rules": SMALL, **options}
    return answers.check(folder, folder.parent.parent / "answers", **options)


def add(folder: Path, task: str, text: str) -> str:
    """Add an answer to the sample's bank; returns the file and the line where it begins."""
    path = folder.parent.parent / "answers" / sample.NAME / f"{task}.py"
    before = sample.BANK.get(task, "")
    sample.write(path, before + text)
    return f"{path}:{len(before.splitlines()) + 1}"


@pytest.mark.slow
def test_a_good_bank_has_no_problems(made: Path) -> None:
    """The sample passes, and its table counts what its bank holds."""
    report = judge(made)
    assert report.problems == []
    rows = {row.task.name: row for row in report.rows}
    assert rows["double"].right == 2
    assert rows["double"].visible == ["plus_two"]
    assert rows["double"].hidden == ["sign"], "only the hidden tests call it with -1"
    assert rows["total"].visible == ["single", "first"]
    table = [line.split() for line in report.table().splitlines()]
    assert ["double", "3", "2", "2", "1", "1", "0", "2", "0"] in table
    assert ["total", "6", "4", "4", "3", "1", "0", "4", "0"] in table


@pytest.mark.slow
def test_right_answers_that_bear_no_other_are_reported(made: Path) -> None:
    """They run in one notebook; who is right alone is not blamed alone."""
    add(
        made,
        "double",
        "# %% right: own\ndef step(x):\n    return x\n\n"
        "def double(x):\n    return x + step(x)\n",
    )
    add(
        made,
        "total",
        "# %% right: own\ndef step(x):\n    return double(x) + 1\n\n"
        "def total(values):\n    return sum(step(x) - 1 for x in values)\n",
    )
    (problem,) = judge(made).problems
    assert re.search(
        "right own.*right own: right alone, but not in one notebook", problem
    )


def test_an_answer_that_lulls_is_reported(made: Path) -> None:
    """Visible tests pass it, hidden ones take more than half: the statement must warn."""
    listed = made.parent.parent / "answers" / f"{sample.NAME}.equal.toml"
    listed.unlink()
    (problem,) = judge(made).problems
    assert "wrong sign: passes all that is visible" in problem


def test_too_few_that_are_named_are_reported(made: Path) -> None:
    """The share is that of the whole assignment, and nothing where one task is asked."""
    rules = answers.Rules(2, 2, 2, named=1.1)
    (problem,) = judge(made, rules=rules).problems
    assert "4 of 4 wrong answers are named, expected 110 %" in problem
    assert judge(made, rules=rules, task="total").problems == []


def test_one_task_alone(made: Path) -> None:
    """With a task named, only its answers are run."""
    report = judge(made, task="total")
    assert [row.task.name for row in report.rows] == ["total"]
    assert report.rows[0].right == 2
    with pytest.raises(assignment.BankError, match="no task nothing"):
        judge(made, task="nothing")


BAD = {
    "survivor": (
        "double",
        "# %% wrong: survivor | says: anything\ndef double(x):\n    return x * 2\n",
        r"survivor: survives",
    ),
    "right that fails": (
        "double",
        "# %% right: not\n# -     return 2 * x\n# +     return 3 * x\n",
        r"right not: a right answer scores 0 of 2 in double--small: AssertionError",
    ),
    "right that breaks a later task": (
        "double",
        "# %% right: text\nclass Two(int):\n    def __radd__(self, other):\n        return None\n\n"
        "def double(x):\n    return Two(2 * x)\n",
        r"right text: a right answer scores 0 of 3 in total--plain",
    ),
    "message that does not name it": (
        "double",
        "# %% wrong: silent | says: axis\n# adds one\ndef double(x):\n    return x + 1\n",
        r"silent: no message matches 'axis'; the student reads: AssertionError: double",
    ),
    "unknown task": (
        "treble",
        "# %% right: one\ndef treble(x):\n    return 3 * x\n",
        r"treble\.py: no task of 90-sample",
    ),
    "same code twice": (
        "double",
        "# %% right: again\ndef double(x):\n    # the same\n    return x + x\n",
        r"right again: the same code as .*double\.py:1: right add",
    ),
    "the reference itself": (
        "double",
        "# %% right: again\ndef double(x):\n    return 2 * x\n",
        r"right again: the same code as the reference",
    ),
    "unknown name": (
        "double",
        "# %% wrong: name | says: NameError\n# -     return 2 * x\n# +     return y\n",
        r"wrong name: broken answer: NameError",
    ),
    "fails by itself": (
        "double",
        "# %% wrong: itself | says: oops\n# raises\nraise ValueError('oops')\n",
        r"wrong itself: broken answer: its own cell ends in ValueError: oops",
    ),
    "ends the process": (
        "double",
        "# %% right: exit\nimport os\n\ndef double(x):\n    os._exit(3)\n",
        r"right exit: a right answer ended: SystemExit: the process ended with code 3",
    ),
    "over time": (
        "double",
        "# %% right: slow\nimport time\n\ndef double(x):\n    time.sleep(60)\n",
        r"right slow: a right answer ended: TimeoutError: ran longer than 1 s",
    ),
    "over time without an alarm": (
        "double",
        "# %% right: deaf\nimport signal, time\n\ndef double(x):\n    signal.alarm(0)\n"
        "    time.sleep(60)\n",
        r"right deaf: a right answer ended: TimeoutError: ran longer than 1 s",
    ),
}


@pytest.mark.parametrize(
    "line", ["import sys; sys.stderr.write('hm')", "import os; os.write(2, b'low')"]
)
def test_a_warning_costs_nothing(made: Path, line: str) -> None:
    """As in grading; also where compiled code writes it."""
    add(
        made,
        "double",
        f"# %% right: noise\ndef double(x):\n    {line}\n    return 2 * x\n",
    )
    assert judge(made, limit=1).problems == []


@pytest.mark.parametrize(
    ("task", "text", "problem"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] * ("over time" in name))
        for name, case in BAD.items()
    ],
)
def test_a_bad_answer_is_reported(
    made: Path, task: str, text: str, problem: str
) -> None:
    """Each kind of bad answer is reported by file, line and name, and nothing else is."""
    where = add(made, task, text)
    report = judge(made, limit=1)
    assert report.problems, "not reported"
    odd = [line for line in report.problems if not re.search(problem, line)]
    assert len(odd) < len(report.problems), f"expected {problem}, got {report.problems}"
    assert all(line.startswith(where) for line in odd), odd


def test_a_small_bank_is_reported(made: Path) -> None:
    """Too few tasks and too few answers are problems; the rules of the course ask for more."""
    report = judge(made, rules=answers.Rules())
    assert any("2 tasks, expected at least 6" in line for line in report.problems)
    assert any(
        "double.py: 2 wrong answers, expected" in line for line in report.problems
    )
    report = judge(made, rules=answers.Rules(2, 3, 2))
    assert (
        sum("2 right answers, expected at least 3" in line for line in report.problems)
        == 2
    )


def test_a_task_without_answers_is_reported(made: Path) -> None:
    """A task without a file is named, and a file or folder without a task."""
    folder = made.parent.parent / "answers" / sample.NAME
    (folder / "total.py").rename(folder / "sum.py")
    (folder / "total").mkdir()
    problems = judge(made).problems
    assert f"{folder / 'total.py'}: 0 right answers, expected at least 2" in problems
    assert f"{folder / 'sum.py'}: no task of {sample.NAME} has this name" in problems
    assert (
        f"{folder / 'total'}: the answers to a task are one file, <task>.py" in problems
    )


def test_a_wrong_reference_is_reported(made: Path) -> None:
    """The source notebook's own solutions must score full."""
    path = made / "sample.ipynb"
    path.write_text(path.read_text().replace("return 2 * x", "return 2 + x"))
    assert any(
        "the reference solution scores 0" in line for line in judge(made).problems
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"total--plain"', '"sum--plain"', "named <task>--<aspect>"),
        ('"total--plain"', '"total-plain"', "named <task>--<aspect>"),
        ('"grade_id": "total"', '"grade_id": "double"', "two solution cells"),
        ('"points": 3', '"points": 0', "without points"),
        ("### END HIDDEN TESTS", "###", "without END HIDDEN TESTS"),
    ],
)
def test_a_misshapen_notebook_is_refused(
    made: Path, old: str, new: str, message: str
) -> None:
    """The harness names file and cell where it can't tell tasks from tests."""
    path = made / "sample.ipynb"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        judge(made)
    assert str(path) in str(caught.value)
    assert "cell " in str(caught.value)


def test_nothing_to_check_is_no_success(tmp_path: Path) -> None:
    """An empty solutions/ is an error, not a pass."""
    (tmp_path / "solutions").mkdir()
    with pytest.raises(assignment.BankError, match="no assignment"):
        assignment.discover(tmp_path / "solutions")
    assert answers.main(["check", "--solutions", str(tmp_path / "solutions")]) == 2


def test_a_mix_of_answers_is_scored_cell_by_cell(made: Path) -> None:
    """Answers to several tasks run in one notebook; each cell has its own points."""
    loaded = assignment.load(made)
    mix = runner.Job(
        {"double": "def double(x):\n    return abs(2 * x)\n", "total": sample.TOTAL}
    )
    reference, (outcome,) = runner.run(loaded, [mix])
    points = {name: outcome.cells[name].points for name in loaded.tests}
    assert points == {"double--small": 0, "double--zero": 1, "total--plain": 3}
    assert sum(cell.points for cell in reference.cells.values()) == 6


@pytest.mark.parametrize(
    ("value", "points"), [(None, 2), (0.5, 0.5), (1, 1), (True, 2), ("0.5", 2), (-1, 2)]
)
def test_partial_credit_is_counted_as_nbgrader_does(
    value: object, points: float
) -> None:
    """A number as the last expression is the cell's score; anything else is full score."""
    from nbformat.v4 import new_code_cell, new_output
    from nbgrader.utils import determine_grade

    cell = new_code_cell(
        metadata={"nbgrader": {"grade": True, "solution": False, "points": 2}}
    )
    if value is not None:
        data = {"text/plain": repr(value)}
        cell.outputs = [new_output("execute_result", data=data, execution_count=1)]
    assert runner.credit(value, 2) == points == determine_grade(cell)[0]
