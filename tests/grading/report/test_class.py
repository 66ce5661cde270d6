"""A class of five hundred whose mistakes are known, none of which was written beside the tests.

tests/classes/02-self-attention/<task>.py has answers as students write them, each headed by the
mistake in it. One mistake comes in several programs; the bank of wrong answers has none of them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from grading.course import submission
from grading.course.notebooks import ROOT
from grading.course.states import Result, State, task_of
from grading.course.submission import Form
from grading.report import mistakes
from tests.harness import assignment
from tests.harness.runner import Job, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAME = "02-self-attention"
ANSWERS = ROOT / "tests" / "classes" / NAME
STUDENTS, SEEDS = 500, (1, 2, 3)
Answer = tuple[
    str, dict[str, str]
]  # the mistake, and the message of each test that fails


def answers() -> list[tuple[str, str, str]]:
    """Return (task, mistake, program) of each answer."""
    found = []
    for path in sorted(ANSWERS.glob("*.py")):
        parts = re.split(r"^# %% mistake: (\w+)\n", path.read_text(), flags=re.M)
        found += [
            (path.stem, *pair) for pair in zip(parts[1::2], parts[2::2], strict=True)
        ]
    return found


@pytest.fixture(scope="module")
def form() -> Form:
    """Assignment 2, as it is graded."""
    notebook = Path(NAME, "self-attention.ipynb")
    return submission.load(ROOT / "exercises" / notebook, ROOT / "solutions" / notebook)


@pytest.fixture(scope="module")
def judged() -> dict[str, list[Answer]]:
    """What the tests say of each answer, by task."""
    loaded = assignment.load(ROOT / "solutions" / NAME)
    texts = answers()
    jobs = [Job({task: text}, until=task) for task, _, text in texts]
    found: dict[str, list[Answer]] = {}
    for (task, mistake, _), outcome in zip(
        texts, run(loaded, jobs, processes=1, limit=60)[1], strict=True
    ):
        messages = {
            name: cell.error
            for name, cell in outcome.cells.items()
            if task_of(name) == task and name != task and cell.error
        }
        found.setdefault(task, []).append((mistake, messages))
    return found


def make(
    form: Form, judged: dict[str, list[Answer]], seed: int
) -> tuple[list[Result], dict[tuple[str, str], str]]:
    """Return a class, and the mistake of each (task, student) that made one."""
    draw = random.Random(seed)
    made: dict[tuple[str, str], str] = {}
    results = []
    # Some mistakes are common, most are rare; which ones, each class decides anew.
    weights = {}
    for task, known in judged.items():
        names = sorted({name for name, _ in known})
        draw.shuffle(names)
        weights[task] = {name: 1 / (rank + 1) for rank, name in enumerate(names)}
    for number in range(STUDENTS):
        student = f"s{number:03}"
        points, messages = dict(form.most), {}
        skill = draw.random()
        for task, known in judged.items():
            if draw.random() < skill:
                continue
            mistake = draw.choices(*zip(*weights[task].items(), strict=True))[0]
            said = draw.choice([said for name, said in known if name == mistake])
            made[task, student] = mistake
            messages |= said
            points |= dict.fromkeys(said, 0.0)
        results.append(Result(student, State.GRADED, points=points, messages=messages))
    return results, made


def test_the_answers_are_wrong_and_not_in_the_bank(
    judged: dict[str, list[Answer]],
) -> None:
    """Sixty of them, every one loses points; none is the text of a bank's answer."""
    assert len(answers()) == 60
    silent = [
        (task, mistake)
        for task, known in judged.items()
        for mistake, messages in known
        if not messages
    ]
    assert silent == []
    bank = "".join(
        path.read_text() for path in (ROOT / "tests" / "answers" / NAME).glob("*.py")
    )
    assert not [text for _, _, text in answers() if text.strip() in bank]


@pytest.mark.parametrize("seed", SEEDS)
def test_three_in_four_are_in_the_right_group(
    form: Form, judged: dict[str, list[Answer]], seed: int
) -> None:
    """A student is if most of the group made the same mistake, and most who made it are there."""
    results, made = make(form, judged, seed)
    right = 0
    for task in mistakes.tasks(form, results):
        labels = [Counter(made[task.name, s] for s in g.students) for g in task.groups]
        homes = {
            mistake: max(range(len(labels)), key=lambda n: labels[n][mistake])
            for mistake in set().union(*labels)
        }
        for number, counts in enumerate(labels):
            mistake, count = counts.most_common(1)[0]
            right += count * (homes[mistake] == number)
    assert right >= 0.75 * len(made), f"{right} of {len(made)}"


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_are_in_the_order_of_the_mistakes(
    form: Form, judged: dict[str, list[Answer]], seed: int
) -> None:
    """The commonest mistake of a task is its first group; four in five pairs are in order."""
    results, made = make(form, judged, seed)
    ordered, pairs = 0, 0
    for task in mistakes.tasks(form, results):
        true = Counter(name for (of, _), name in made.items() if of == task.name)
        ranked: list[str] = []
        for group in task.groups:
            name = Counter(made[task.name, s] for s in group.students).most_common(1)
            if name[0][0] not in ranked:
                ranked.append(name[0][0])
        assert ranked[0] == true.most_common(1)[0][0], task.name
        for a, first in enumerate(ranked):
            for second in ranked[a + 1 :]:
                pairs += true[first] != true[second]
                ordered += true[first] > true[second]
    assert ordered >= 0.8 * pairs, f"{ordered} of {pairs}"
