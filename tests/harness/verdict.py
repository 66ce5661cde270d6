"""How an answer fared: points that it loses, what a student reads about it, what that proves."""

from __future__ import annotations

from tests.harness import naming
from tests.harness.assignment import Assignment, Task
from tests.harness.bank import Answer
from tests.harness.report import Row, Rules
from tests.harness.runner import Outcome

#: A wrong answer that fails with one of these does not run at all: it proves nothing.
BROKEN = (
    "NameError",
    "SyntaxError",
    "IndentationError",
    "ImportError",
    "ModuleNotFoundError",
)


def losses(assignment: Assignment, outcome: Outcome, who: str) -> list[str]:
    """Return a line for each cell at which an outcome that should be full loses points."""
    if outcome.died:
        return [f"{who} ended: {outcome.died}"]
    problems = [
        f"{who} fails in {name}: {cell.message}"
        for name, cell in outcome.cells.items()
        if name in assignment.tasks and cell.message
    ]
    for test in assignment.tests.values():
        cell = outcome.cells.get(test.grade_id)
        if cell is None or cell.points < test.points:
            got = "nothing" if cell is None else f"{cell.points:g} of {test.points:g}"
            words = "" if cell is None else shorten(cell.message)
            problems.append(f"{who} scores {got} in {test.grade_id}: {words}")
    return problems


def failing(task: Task, *outcomes: Outcome) -> set[str]:
    """Return the names of the task's test cells that lose points in any of the outcomes."""
    return {
        test.grade_id
        for outcome in outcomes
        for test in task.tests
        if test.grade_id not in outcome.cells
        or outcome.cells[test.grade_id].points < test.points
    }


def lulls(task: Task, full: Outcome) -> bool:
    """Return whether an answer that passes what is visible loses more than half of its points."""
    names = failing(task, full)
    got = {name: cell.points for name, cell in full.cells.items() if name in names}
    lost = sum(
        t.points - got.get(t.grade_id, 0) for t in task.tests if t.grade_id in names
    )
    return bool(full.died) or lost > task.points / 2


def judge_wrong(answer: Answer, row: Row, runs: list[Outcome]) -> list[str]:
    """File a wrong answer in its task's row and return what is wrong with it, one line each.

    `runs` holds the outcome with visible tests, and perhaps the outcome with all tests.
    """
    if failing(row.task, runs[0]):
        row.visible.append(answer.name)
    elif failing(row.task, *runs):
        row.hidden.append(answer.name)
    else:
        row.survivors.append(answer.name)
        return [f"{answer}: survives: full score on {answer.task}"]
    return judge_messages(answer, row.task, runs)


def judge_messages(answer: Answer, task: Task, runs: list[Outcome]) -> list[str]:
    """Return a line if a wrong answer fails without running, or without the message it states."""
    for outcome in runs:
        definition = outcome.cells.get(answer.task)
        if definition is not None and definition.error:
            return [f"{answer}: broken answer: its own cell ends in {definition.error}"]
    read = messages(task, runs)
    broken = [message for message in read if message.split(":")[0] in BROKEN]
    if broken:
        return [f"{answer}: broken answer: {shorten(broken[0])}"]
    if not any(answer.message.search(message) for message in read):
        shown = " | ".join(map(shorten, read))
        return [
            f"{answer}: no message matches {answer.message.pattern!r}; "
            f"the student reads: {shown or 'nothing'}"
        ]
    return []


def shorten(message: str, width: int = 300) -> str:
    """Return a message on one line of bounded length."""
    line = " ".join(message.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def tell(
    rows: list[Row],
    wrong: list[Answer],
    runs: dict[str, list[Outcome]],
    rules: Rules | None,
) -> list[str]:
    """File wrong answers as named or located; return a line for each that misleads.

    With `rules`, too few that are named are a problem as well.
    """
    problems = []
    for row in rows:
        told = [
            naming.Told(answer, tuple(messages(row.task, runs[str(answer)])))
            for answer in wrong
            if answer.task == row.task.name
        ]
        named, located, misleading = naming.split(told)
        row.named = [one.answer.name for one in named]
        row.located = [one.answer.name for one in located]
        problems += misleading
    named, located = (
        sum(len(getattr(row, x)) for row in rows) for x in ("named", "located")
    )
    if rules and named < rules.named * (named + located):
        problems.append(
            f"{named} of {named + located} wrong answers are named, expected "
            f"{100 * rules.named:g} %: sharpen patterns where the message says more, "
            "and messages where it does not"
        )
    return problems


def messages(task: Task, runs: list[Outcome]) -> list[str]:
    """Return what a student reads about an answer to a task, each text once."""
    found = [outcome.died for outcome in runs if outcome.died]
    for outcome in runs:
        tests = [test.grade_id for test in task.tests if test.grade_id in outcome.cells]
        found += [
            outcome.cells[test].message
            for test in tests
            if test in failing(task, outcome)
        ]
    return list(dict.fromkeys(found))
