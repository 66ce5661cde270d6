"""The course's own assignments: right answers pass grading/verdict/cells.py, wrong ones fail.

That the reference passes every test cell, tests/grading/run/test_open_tasks.py finds in a sandbox.
"""

import functools
import hashlib

import pytest

from grading.course.bindings import bound_names
from grading.course.notebooks import ROOT
from grading.verdict.cells import TestRun, run_test_cell
from tests.grading.wall import submission
from tests.harness import assignment as assignments
from tests.harness import runner
from tests.harness.bank import Answer, read_bank

FOLDERS = {path.name: path for path in assignments.discover(ROOT / "solutions")}
#: So many wrong answers to each assignment in the quick run, and right ones.
SAMPLE = {False: 6, True: 2}


@functools.cache
def load(name: str) -> tuple[assignments.Assignment, list[Answer]]:
    """Return an assignment and its bank, in an order that has nothing to do with the names."""
    assignment = assignments.load(FOLDERS[name])
    bank, problems = read_bank(assignment, ROOT / "tests" / "answers")
    assert bank, name
    assert not problems
    return assignment, sorted(
        bank,
        key=lambda answer: hashlib.sha256(
            f"{answer.task} {answer.name}".encode()
        ).hexdigest(),
    )


def run(assignment: assignments.Assignment, answer: Answer) -> dict[str, TestRun]:
    """Return how the test cells of an answer's task end; cells that only show are left out."""
    found, last = {}, assignment.tasks[answer.task].tests[-1].grade_id
    with submission(given="") as student:
        for index, cell in enumerate(runner.needed(assignment, [])):
            name = cell.grade_id
            if cell.is_solution:
                chosen = answer.source if name == answer.task else cell.source
                student.run_cell(chosen, 60, owns=tuple(bound_names(cell.source)))
            elif not cell.is_test:
                if name or not index:
                    assert student.run_given(cell.source, 60).ok
            elif name.startswith(f"{answer.task}--"):
                found[name] = run_test_cell(student, cell.source)
                if name == last:
                    break
            else:  # later tests use what it defines
                student.namespace().recall(cell.source)
    return found


def check(assignment: assignments.Assignment, answer: Answer) -> None:
    """Assert that a right answer passes, and that a wrong one is told its mistake."""
    found = run(assignment, answer)
    told = [
        f"{test.error_name}: {test.message}"
        for test in found.values()
        if not test.passed
    ]
    assert found
    if answer.is_right:
        assert not told, f"{answer}: {told}"
    else:
        assert any(answer.message.search(text) for text in told), f"{answer}: {told}"


@pytest.mark.reads(
    *("solutions/{name}", "solutions/*.py", "tests/answers/{name}*"),
    *(f"grading/{room}" for room in ("course", "wire", "verdict", "bridge", "sandbox")),
)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_sample_of_answers_ends_as_in_a_kernel(name):
    assignment, bank = load(name)
    for kind, count in SAMPLE.items():
        for answer in [found for found in bank if found.is_right is kind][:count]:
            check(assignment, answer)
