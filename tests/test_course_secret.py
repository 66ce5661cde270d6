"""Solutions and hidden tests are public: answers copied from them must not pass under a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.course import draws, notebooks
from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness import table
from tests.harness.bank import read_bank
from tests.harness.runner import Job, Outcome, run
from tests.harness.verdict import losses

FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())
SECRET = bytes([1]) * 32
#: Three under which tests took what rounding did to a right answer for a mistake.
UNLUCKY = [bytes([number, 7 * number % 251]) * 16 for number in (11, 12, 13)]


def passed(assignment: form.Assignment, outcome: Outcome) -> set[str]:
    """Return the test cells that give full points."""
    assert not outcome.died, outcome.died
    return {
        test.grade_id
        for test in assignment.tests.values()
        if outcome.cells[test.grade_id].points == test.points
    }


@pytest.mark.slow
@pytest.mark.reads("solutions/{folder}", "solutions/*.py", "tests/answers/{folder}*")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_table_of_answers_loses_every_test(folder: Path, tmp_path: Path) -> None:
    """By the repository's inputs it has all points, by a secret's none; right answers keep all."""
    public, place = form.load(folder), tmp_path / "table"
    # One after the other: what the first writes, the second reads.
    jobs = [table.job(public, place, write=write) for write in (True, False)]
    _, (_, copied) = run(public, jobs, processes=1, limit=300, whole=False)
    assert passed(public, copied) == public.tests.keys(), "the attack is a good one"

    drawn = form.load(folder, SECRET)
    bank, _ = read_bank(drawn, ROOT / "tests" / "answers")
    right = Job({answer.task: answer.source for answer in bank if answer.is_right})
    reference, (copied, other) = run(
        drawn, [table.job(drawn, place, write=False), right], limit=300
    )
    assert passed(drawn, copied) == set()
    assert not losses(drawn, reference, "the reference solution")
    assert not losses(drawn, other, "a right answer")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.reads("solutions/{folder}", "solutions/*.py", "tests/answers/{folder}*")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_right_answers_keep_their_points_under_any_secret(folder: Path) -> None:
    """All of the bank: no threshold and no tolerance fits one draw, or one algorithm, only."""
    lost = []
    for secret in UNLUCKY:
        drawn = form.load(folder, secret)
        bank, _ = read_bank(drawn, ROOT / "tests" / "answers")
        right = {
            task: [one for one in bank if one.is_right and one.task == task]
            for task in drawn.tasks
        }
        # The n-th answer to each task in one notebook, from the front again where they end.
        together = [
            {task: ones[n % len(ones)] for task, ones in right.items()}
            for n in range(max(map(len, right.values())))
        ]
        jobs = [
            Job({task: one.source for task, one in answers.items()})
            for answers in together
        ]
        reference, outcomes = run(drawn, jobs, limit=300)
        for outcome, answers in zip(
            [reference, *outcomes], [{}, *together], strict=True
        ):
            who = ", ".join(one.name for one in answers.values()) or "the reference"
            lost += losses(drawn, outcome, f"with {secret[:1]!r}: {who}")
    assert not lost, "\n".join(["", *lost])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_hidden_part_can_be_drawn(folder: Path) -> None:
    """Each test cell has one, at the left margin, and in each notebook seeds add `course_seed`."""
    (path,) = notebooks.notebooks_in(folder)
    helpers = 0
    for cell in notebooks.cells(path):
        if cell.is_test:
            assert notebooks.split_hidden(cell)[1].strip(), cell
            begun = len(
                notebooks.regions(cell, notebooks.BEGIN_HIDDEN, notebooks.END_HIDDEN)
            )
            assert draws.draw(cell.source, 7).count(f"{draws.NAME} = 7\n") == begun, (
                cell
            )
        elif f"{draws.NAME} = 0" in cell.source:
            helpers += 1
            names: dict = {}
            exec(
                "import math, torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
                + cell.source,
                names,
            )
            before = names["seeded"](5, (3,)), names["integers"](5, 0, 10**6)
            names[draws.NAME] = 1
            after = names["seeded"](5, (3,)), names["integers"](5, 0, 10**6)
            assert not before[0].equal(after[0])
            assert before[1] != after[1]
    assert helpers == 1
