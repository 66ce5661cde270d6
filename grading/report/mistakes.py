"""Groups a class by what it misunderstood: in each task, by the mistake that the tests name.

A failed test says where it looked and, where it can tell, which mistake gives this result:

    output of two layers, pre-norm: the mask is missing from layer 2 on. Every layer gets it.
    \\_____________________________/  \\__________________________________________________/
               the place                                the mistake

Students belong together whose tests name the same mistake, whichever test named it first. Where no
test names one, those belong together whose answers give the same wrong numbers, since everybody's
tests have the same inputs, or, without numbers, fail the same tests in the same way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from grading.course.states import NOT_RUN, STUB, STUCK, Result, task_of
from grading.course.submission import Form
from grading.feedback import words

#: What only says that, or where, something is wrong.
LOCATED = re.compile(
    r"at index|expected .+, got |entries (?:differ|are NaN)|has NaN| is wrong|are wrong|"
    r"stopped with an error: \w+\.?$|gives no reason|differs? from"
)
#: The sizes of arguments that a message repeats, such as "(x (3, 2, 4), mask (3, 4))".
SIZES = re.compile(r" \([A-Za-z_]\w* \([\d, ]*\)(?:, [A-Za-z_]\w* \([\d, ]*\))*\)")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
#: What is said of a task whose code had to be stopped.
UNENDED = "the code ended Python, or took too long"
UNENDED_KINDS = (
    *("TimeoutError", "StudentLost"),
    *(error.partition(":")[0] for error in (NOT_RUN, STUCK)),
)
#: Digits of a number that two programs of one mistake have in common.
DIGITS = 3


@dataclass(frozen=True)
class Failure:
    """A failed test in two parts: where it looked, and what it says of the mistake.

    `is_named` tells whether it says which mistake, or only that something is wrong.
    """

    test: str
    place: str
    text: str
    is_named: bool


@dataclass(frozen=True)
class Group:
    """Students who made one mistake.

    Attributes:
        task: the task.
        text: the mistake, or where the tests see that there is one.
        is_named: whether the tests say which mistake.
        students: by name.
        tests: which tests failed, and for how many of them.
        message: the whole message that the first of them got.

    """

    task: str
    text: str
    is_named: bool
    students: tuple[str, ...]
    tests: dict[str, int]
    message: str


@dataclass(frozen=True)
class Task:
    """How a class did in a task: who solved it, who left it as it was, and the mistakes."""

    name: str
    title: str
    statement: str
    most: float
    points: dict[str, float]
    solved: tuple[str, ...]
    unanswered: tuple[str, ...]
    groups: tuple[Group, ...]


def failure(test: str, message: str) -> Failure:
    """Return what a test's message says."""
    told = words.message(message)
    if told.kind:
        return Failure(test, "", f"{told.kind}: {told.text}", True)
    if message.partition(":")[0] in UNENDED_KINDS:
        return Failure(test, "", UNENDED, True)
    text = " ".join(SIZES.sub("", told.text).split())
    place, found, mistake = text.partition(": ")
    if not found or LOCATED.search(
        place
    ):  # "RMSNorm is wrong: each ..." is one sentence
        place, mistake = "", text
    return Failure(test, place, mistake, not LOCATED.search(mistake))


def key(failures: Iterable[Failure]) -> tuple[str, ...]:
    """Return what the failures of two students who made one mistake have in common."""
    failures = list(failures)
    for one in failures:
        if one.is_named:
            return ("named", NUMBER.sub("#", one.text))
    numbers = next((one for one in failures if NUMBER.search(one.text)), None)
    if numbers is not None:
        failures = [numbers]
    return tuple(
        NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", part)
        for one in failures
        for part in (one.test, one.place, one.text)
    )


def tasks(form: Form, results: Iterable[Result]) -> list[Task]:
    """Return the tasks of an assignment with what the class made of them.

    Args:
        form: the assignment.
        results: of those who have points.

    """
    results = sorted(results, key=lambda result: result.student)
    titles, most = words.titles(form), form.most
    tests: dict[str, list[str]] = defaultdict(list)
    cells: dict[str, list[str]] = defaultdict(list)
    statements, last = {}, ""
    for cell in form.cells:
        if cell.role == "text":
            last = cell.source
        elif cell.role == "solution":
            statements.setdefault(task_of(cell.grade_id), last)
        if cell.role in ("test", "solution"):
            (tests if cell.role == "test" else cells)[task_of(cell.grade_id)].append(
                cell.grade_id
            )
    return [
        _task(
            (name, titles.get(name, name), statements.get(name, "")),
            tests[name],
            cells[name],
            most,
            results,
        )
        for name in tests
    ]


def _task(
    about: tuple[str, str, str],
    tests: list[str],
    cells: list[str],
    most: dict[str, float],
    results: list[Result],
) -> Task:
    """Return one task; about: its name, title and statement."""
    points = {
        result.student: sum(result.points.get(test) or 0.0 for test in tests)
        for result in results
    }
    maximum = sum(most[test] for test in tests)
    solved, unanswered = [], []
    found: dict[tuple[str, ...], list[tuple[str, list[Failure], str]]] = {}
    for result in results:
        failed = [
            test
            for test in tests
            if result.messages.get(test) and (result.points.get(test) or 0) < most[test]
        ]
        if points[result.student] >= maximum:
            solved.append(result.student)
        elif _is_open(result, cells, failed):
            unanswered.append(result.student)
        elif failed:
            failures = [failure(test, result.messages[test]) for test in failed]
            message = next(
                (result.messages[one.test] for one in failures if one.is_named),
                result.messages[failed[0]],
            )
            found.setdefault(key(failures), []).append(
                (result.student, failures, message)
            )
    groups = sorted(
        (_group(about[0], members) for members in found.values()),
        key=lambda group: (-len(group.students), not group.is_named, group.text),
    )
    return Task(
        *about, maximum, points, tuple(solved), tuple(unanswered), tuple(groups)
    )


def _is_open(result: Result, cells: list[str], failed: list[str]) -> bool:
    """Tell whether a student left a task as it was handed out."""
    return all(cell in result.unchanged for cell in cells) or (
        bool(failed) and all(STUB in result.messages[test] for test in failed)
    )


def _group(task: str, members: list[tuple[str, list[Failure], str]]) -> Group:
    """Return a group; its text is what most of its students read."""
    texts = Counter()
    for _, failures, _ in members:
        one = next((one for one in failures if one.is_named), failures[0])
        place = one.place if one.place and not one.is_named else ""
        texts[f"{place}: {one.text}" if place else one.text] += 1
    failed = Counter(one.test for _, failures, _ in members for one in failures)
    return Group(
        task,
        texts.most_common(1)[0][0],
        any(one.is_named for one in members[0][1]),
        tuple(student for student, _, _ in members),
        dict(failed.most_common()),
        members[0][2],
    )
