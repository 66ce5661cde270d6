"""Points given from outside the student's process are nbgrader's points, for every assignment.

The answers are those of the banks in tests/answers, right and wrong ones, put together to whole
submissions: one answer a task. What nbgrader would give, cell by cell, comes from the harness of
tests/harness, which executes answers and tests in one process, as a kernel does.

A sample is taken by default: four submissions of each assignment, drawn with a seed of the
assignment's name, so that each task has two right answers and two wrong ones. With
GRADING_EQUAL=all every answer of every bank is in one submission. What is kept from one submission
to the next is worked out again and compared: it depends on nobody's answer.
"""

from __future__ import annotations

import inspect
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch

from grading.course import notebooks, release, submission
from grading.course.notebooks import ROOT, SEPARATOR
from grading.course.states import State
from grading.run import pipeline, sandbox_runner
from grading.verdict.memory import Memory
from tests.harness import assignment as form
from tests.harness import runner
from tests.harness.bank import Answer, read_bank
from tests.test_class_graded import fill

#: Answers that keep a list or a dictionary, or a note on a result: those leave the sandbox, or come
#: there, as copies, so that they lose points in one process only.
KEPT = (
    *("returns_a_kept_list", "list_kept", "kept_for_a_dictionary"),
    "turns_noted_on_the_heads",
)
#: Submissions of one assignment in the sample.
SAMPLE = 4
ALL = os.environ.get("GRADING_EQUAL") == "all"
#: What a test depends on: the assignment with its bank, and what grades it.
READS = (
    *(
        "solutions/{name}",
        "solutions/*.py",
        "tests/answers/{name}*",
        "exercises/{name}",
    ),
    *(
        f"grading/{room}"
        for room in ("course", "wire", "verdict", "bridge", "sandbox", "run")
    ),
)

pytestmark = pytest.mark.timeout(7200 if ALL else 600)


class Checked(Memory):
    """Works out again what it has kept, at the last submission, and counts what differs."""

    def __init__(self) -> None:
        super().__init__()
        self.used = self.differing = 0
        self.is_last = False

    def __call__(self, make: Callable[[], object], given: Sequence) -> object:
        """Return what is kept, compared."""
        contract = inspect.getclosurevars(make).nonlocals["self"]
        for value in values_used(contract.reference, set()):
            assert value is contract.given, f"its `given` lacks {value!r:.80}"
        before = self.kept.get(self.place + 1)
        found = super().__call__(make, given)
        if self.is_last and before is not None and found is before[1]:
            self.used += 1
            self.differing += not same(found, make())
        return found


def values_used(function: Callable, seen: set[int]) -> Iterator[object]:
    """Yield the containers, tensors and modules that a function of a test cell uses by name."""
    if not inspect.isfunction(function) or id(function) in seen:
        return
    seen.add(id(function))
    inner = [function.__code__]
    for code in inner:
        inner += [one for one in code.co_consts if inspect.iscode(one)]
    names = {name for code in inner for name in code.co_names}
    used = [dict.get(function.__globals__, name) for name in names]
    used += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in used:
        if isinstance(value, list | dict | set | torch.Tensor | torch.nn.Module):
            yield value
        elif function.__globals__ is getattr(value, "__globals__", None):
            yield from values_used(value, seen)


def same(one: object, other: object) -> bool:
    """Tell whether two results are the same, NaN included."""
    if isinstance(one, torch.Tensor):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[n], other[n]) for n in one)
    return one == other or (one != one and other != other)


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[sandbox_runner.SandboxEngine]:
    """A sandbox for all of them."""
    made = sandbox_runner.make()
    yield made
    made.close()


def students(
    assignment: form.Assignment, bank: list[Answer], most: int | None
) -> list[dict[str, Answer]]:
    """Return submissions, as one answer by task; together they hold `most` answers of each task.

    Args:
        assignment: whose tasks they answer.
        bank: the answers.
        most: how many submissions; None for as many as hold each answer at least once.

    """
    random_numbers = random.Random(assignment.path.stem)
    shuffled = {}
    for task in assignment.tasks:
        right = [answer for answer in bank if answer.task == task and answer.is_right]
        wrong = [
            answer for answer in bank if answer.task == task and not answer.is_right
        ]
        random_numbers.shuffle(right)
        random_numbers.shuffle(wrong)
        # Two right ones, which may differ where more than one result is right.
        first = [right.pop(), right.pop(), *wrong[: SAMPLE - 2]]
        random_numbers.shuffle(first)
        shuffled[task] = [*first, *wrong[SAMPLE - 2 :], *right]
    count = most or max(map(len, shuffled.values()))
    return [
        {task: answers[number % len(answers)] for task, answers in shuffled.items()}
        for number in range(count)
    ]


@pytest.mark.reads(*READS)
@pytest.mark.parametrize("name", release.assignments(ROOT))
def test_the_points_are_nbgraders(
    engine: sandbox_runner.SandboxEngine, name: str
) -> None:
    """For each submission and each test cell; nobody is suspect, and the class is not all alike."""
    assignment = form.load(ROOT / "solutions" / name)
    bank, problems = read_bank(assignment, ROOT / "tests" / "answers")
    assert not problems
    handed_in = students(assignment, bank, None if ALL else SAMPLE)
    if ALL:
        held = {str(answer) for one in handed_in for answer in one.values()}
        assert held == set(map(str, bank))
    jobs = [
        runner.Job({task: answer.source for task, answer in one.items()})
        for one in handed_in
    ]
    _, outcomes = runner.run(
        assignment,
        jobs,
        1 if ALL else 2,
        limit=600 if ALL else 60,
        whole=False,
        remember=False,
    )
    path = ROOT / "exercises" / name / assignment.path.name
    graded, release = submission.load(path, assignment.path), notebooks.read(path)
    wrong, scores = [], set()
    engine.memory = Checked()
    for job, one, outcome in zip(jobs, handed_in, outcomes, strict=True):
        assert not outcome.died, outcome.died
        engine.memory.is_last = one is handed_in[-1]
        data = json.dumps(fill(release, job.answers)).encode()
        result = pipeline.grade_one(graded.rebuild(data), engine).result
        assert (result.state, result.reasons) == (State.GRADED, []), result.reasons
        for test, cell in outcome.cells.items():
            if test not in assignment.tests:
                continue
            scores.add(cell.points / assignment.tests[test].points)
            answer = one[test.partition(SEPARATOR)[0]]
            if answer.name in KEPT:
                most = assignment.tests[test].points
                assert result.points[test] in (cell.points, most)
            elif result.points[test] != pytest.approx(cell.points):
                wrong.append(
                    f"{answer}: {test}: {result.points[test]}, nbgrader gives "
                    f"{cell.points}: {result.messages.get(test)}"
                )
    assert not wrong, "\n".join(["", *wrong])
    assert {0.0, 1.0} <= scores
    assert engine.memory.differing == 0 < engine.memory.used
