"""Code that never ends, in the real sandbox and a real assignment: what it costs, and what not."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grading.course import notebooks, submission
from grading.course.notebooks import ROOT
from grading.course.states import NOT_RUN, STUCK, Result, State, task_of
from grading.course.submission import Form
from grading.run import pipeline, pool
from grading.run.sandbox_runner import SandboxEngine
from tests.grading import fakes
from tests.grading.attacks import hostile

SECONDS = 8.0
#: A loop that takes a core for as long as it may, and one that leaves it to other tests.
BUSY = "while True:\n    pass"
FOREVER = "while True:\n    __import__('time').sleep(0.1)"


@pytest.fixture(scope="module")
def form() -> Form:
    """A real assignment with eight tasks."""
    paths = [
        ROOT / room / hostile.NAME / f"{hostile.NOTEBOOK}.ipynb"
        for room in ("exercises", "solutions")
    ]
    return submission.load(*paths)


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[SandboxEngine]:
    """One worker for all, with short limits for cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grading.run.sandbox_runner.CELL_SECONDS", SECONDS)
        made = SandboxEngine()
        yield made
        made.close()


def answered(answers: dict[str, str], *own: str) -> dict:
    """Return the reference solutions with other answers to some tasks, and own cells above."""
    notebook = notebooks.read(
        ROOT / "solutions" / hostile.NAME / f"{hostile.NOTEBOOK}.ipynb"
    )
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("nbgrader", {})
        if tags.get("solution"):
            text = answers.get(tags["grade_id"], notebooks.joined(cell["source"]))
            cell["source"] = re.sub(r"(?m)^ *### (BEGIN|END) SOLUTION\n?", "", text)
    notebook["cells"][1:1] = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
        for text in own
    ]
    return notebook


def tasks_of(form: Form) -> dict[str, str]:
    """Return the reference's answer to each task, by its name."""
    notebook = answered({})
    found = {
        cell["metadata"].get("nbgrader", {}).get("grade_id"): cell["source"]
        for cell in notebook["cells"]
    }
    return {
        cell.grade_id: found[cell.grade_id]
        for cell in form.cells
        if cell.role == "solution"
    }


def hanging(source: str) -> str:
    """Return an answer whose functions and methods never end."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.parse(FOREVER).body[0])
    return ast.unparse(tree)


def graded(
    form: Form, engine: SandboxEngine, notebook: dict, times: pipeline.Times
) -> Result:
    """Return a submission's result."""
    job = {"student": "ann", "data": json.dumps(notebook).encode()}
    return Result.from_json(pipeline.grade_data(form, engine, job, times, {})["result"])


def test_each_task_costs_itself(form: Form, engine: SandboxEngine) -> None:
    """However many hang, when they are called or when they are defined; own cells cost nothing."""
    tasks = tasks_of(form)
    *called, defined, _ = tasks
    answers = {name: hanging(tasks[name]) for name in called[::3]}
    answers[defined] = f"{tasks[defined]}\n{FOREVER}"
    own = [BUSY, "import time\ntime.sleep(2)", FOREVER]
    found = graded(form, engine, answered(answers, *own), pipeline.Times())
    assert found.state is State.GRADED, found.reasons
    expected = {
        name: 0.0 if task_of(name) in answers else points
        for name, points in form.most.items()
    }
    assert found.points == expected, found.messages
    stopped = [reason for reason in found.reasons if reason.endswith("limit on time")]
    assert len(stopped) == len(answers) + 2, stopped
    assert {found.messages[name] for name in expected if task_of(name) == defined} == {
        NOT_RUN
    }


def test_what_no_time_is_left_for_is_no_zero(form: Form, engine: SandboxEngine) -> None:
    """The submission is failed, and says which tests did not run."""
    times = pipeline.Times(submission=SECONDS)
    found = graded(form, engine, answered({}, *[FOREVER] * 4), times)
    assert (found.state, found.points) == (State.FAILED, {})
    assert found.reasons[0].startswith("no time was left for soft-lookup--")
    assert found.seconds < pipeline.PASSES * times.submission + 3 * SECONDS + 30


def test_native_code_of_a_test_costs_its_task(form: Form, tmp_path: Path) -> None:
    """The process that waits for it is killed from outside, with its sandbox, and another one
    grades the rest.
    """
    first, *_ = tests = [cell for cell in form.cells if cell.role == "test"]
    stuck = replace(
        form,
        cells=tuple(
            replace(cell, source=fakes.NATIVE, drawn="") if cell is first else cell
            for cell in form.cells
        ),
    )
    path = tmp_path / "notebook.ipynb"
    path.write_text(json.dumps(answered({})), encoding="utf-8")
    times = pipeline.Times(cell=SECONDS)
    settings = {
        "form": stuck,
        "factory": "grading.run.sandbox_runner:make",
        "options": {},
        "times": times,
        "sums": {},
    }
    job = {"student": "ann", "path": str(path)}
    do = functools.partial(pool.run, processes=1)
    [(_, found, text)] = pipeline.run_all([job], settings, times, do)
    assert found.state is State.GRADED, found.reasons
    over = {c.grade_id for c in tests if task_of(c.grade_id) == task_of(first.grade_id)}
    expected = {n: 0.0 if n in over else most for n, most in form.most.items()}
    assert found.points == expected, found.messages
    assert found.messages == dict.fromkeys(over, NOT_RUN) | {first.grade_id: STUCK}
    assert STUCK.partition(": ")[2] in text
