"""A task that a student has not begun costs its own points, and none of another task's."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

import pytest

from grading.course import notebooks, release, submission
from grading.course.notebooks import ROOT, SEPARATOR
from grading.course.states import State
from grading.run import pipeline, sandbox_runner
from tests.harness import assignment as form
from tests.harness import runner
from tests.test_class_graded import fill

NAMES = release.assignments(ROOT)
#: What each test depends on: the assignment, and what grades it.
READS = (
    *("solutions/{name}", "solutions/*.py", "exercises/{name}"),
    *(
        f"grading/{room}"
        for room in ("course", "wire", "verdict", "bridge", "sandbox", "run")
    ),
)


def bound(node: ast.AST) -> set[str]:
    """Return the names that a statement defines, arguments of functions included."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            found.add(part.name)
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            found.add(part.id)
        elif isinstance(part, ast.arg):
            found.add(part.arg)
        elif isinstance(part, ast.alias):
            found.add((part.asname or part.name).partition(".")[0])
    return found


def definitions_above_asserts(tree: ast.Module) -> set[str]:
    """Return what a cell defines before anything in it can fail: at its top."""
    found = set()
    for node in tree.body:
        if not isinstance(
            node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        ):
            break
        found |= bound(node)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_test_needs_what_another_tasks_test_defines(name: str) -> None:
    """That test may stop before it, and would take this one with it."""
    assignment = form.load(ROOT / "solutions" / name)
    late: dict[str, str] = {}
    problems = []
    for cell in assignment.cells:
        if cell.kind != "code":
            continue
        tree = ast.parse(cell.source)
        mine = bound(tree)
        if cell.grade_id not in assignment.tests:
            late = {word: test for word, test in late.items() if word not in mine}
            continue
        task = cell.grade_id.partition(SEPARATOR)[0]
        used = {
            part.id
            for part in ast.walk(tree)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        problems += [
            f"{cell.grade_id} uses {word} of {late[word]}"
            for word in sorted(used - mine)
            if word in late and late[word].partition(SEPARATOR)[0] != task
        ]
        late |= dict.fromkeys(mine - definitions_above_asserts(tree), cell.grade_id)
    assert not problems, "\n".join(["", *problems])


def halves(assignment: form.Assignment) -> list[tuple[set[str], dict[str, str]]]:
    """Return two sets of open tasks, every second one and the others, with all tasks' texts."""
    path = ROOT / "exercises" / assignment.name / assignment.path.name
    blank = {cell.grade_id: cell.source for cell in notebooks.cells(path)}
    solved = {
        task: assignment.cells[assignment.tasks[task].index].source
        for task in assignment.tasks
    }
    return [
        (opened, {task: (blank if task in opened else solved)[task] for task in solved})
        for opened in (set(list(solved)[begin::2]) for begin in (0, 1))
    ]


def points(assignment: form.Assignment, opened: set[str]) -> dict[str, float]:
    """Return the points of each test where these tasks are open and all others are right."""
    return {
        name: 0.0 if name.partition(SEPARATOR)[0] in opened else test.points
        for name, test in assignment.tests.items()
    }


@pytest.mark.reads(*READS)
@pytest.mark.parametrize("name", NAMES)
def test_open_tasks_cost_no_other_in_one_process(name: str) -> None:
    """As stock nbgrader executes a notebook."""
    assignment = form.load(ROOT / "solutions" / name)
    cases = halves(assignment)
    jobs = [runner.Job(answers) for _, answers in cases]
    _, outcomes = runner.run(assignment, jobs, 2, limit=120, whole=False)
    for (opened, _), outcome in zip(cases, outcomes, strict=True):
        assert not outcome.died, outcome.died
        found = {test: outcome.cells[test].points for test in assignment.tests}
        said = {test: outcome.cells[test].message for test in found if not found[test]}
        assert found == points(assignment, opened), said


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[sandbox_runner.SandboxEngine]:
    """A sandbox for all of them."""
    made = sandbox_runner.make()
    yield made
    made.close()


@pytest.mark.reads(*READS)
@pytest.mark.parametrize("half", [0, 1], ids=["even", "odd"])
@pytest.mark.parametrize("name", NAMES)
def test_open_tasks_cost_no_other_in_the_sandbox(
    engine: sandbox_runner.SandboxEngine, name: str, half: int
) -> None:
    """So that each task is open once, and solved once."""
    assignment = form.load(ROOT / "solutions" / name)
    opened, answers = halves(assignment)[half]
    path = ROOT / "exercises" / name / assignment.path.name
    graded = submission.load(path, assignment.path)
    data = json.dumps(fill(notebooks.read(path), answers)).encode()
    result = pipeline.grade_one(graded.rebuild(data), engine).result
    assert (result.state, result.reasons) == (State.GRADED, [])
    assert result.points == points(assignment, opened), result.messages
