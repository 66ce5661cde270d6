"""What keeps grading fast: what is imported once, and work that does not grow with the class.

No test here measures time: each counts what took the time.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import event
from sqlalchemy.engine import Engine

from grading.course import submission
from grading.course.notebooks import ROOT
from grading.run import batch, pool, preparation, sandbox_runner
from grading.run.fast_imports import imports
from grading.run.pool import Step
from grading.sandbox.worker import Worker
from tests.grading import helpers
from tests.grading.conftest import ask
from tests.harness import sample

#: Packages that take longer to import than a submission to grade.
HEAVY = (
    "sympy",
    "torch.distributed.tensor",
    "torch._inductor",
    "lark",
    "matplotlib.pyplot",
)

SIZES = (3, 6, 9)


def loaded_by(program: str, heavy: tuple[str, ...] = HEAVY) -> list[str]:
    """Return which of the heavy packages a fresh process has after a program."""
    end = f"import sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{end}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout.splitlines()[-1].replace("'", '"'))


def test_no_grammars_are_parsed_to_grade() -> None:
    """Neither the grader's master nor nbgrader imports a parser generator (requirements.txt)."""
    assert loaded_by("import grading.run.batch, nbgrader.api, jsonschema") == []


def test_who_runs_no_tests_imports_no_torch() -> None:
    """The master of a class and what talks to learning platforms: torch is for the workers.

    Nor do the workers of the tests, whose engine runs no tensors: a class of them is soon graded.
    """
    program = "import grading.run.batch, grading.lms.cli, grading.run.pipeline, tests.grading.fakes"
    found = loaded_by(program, heavy=("torch", "matplotlib"))
    assert found == []


def test_garbage_is_not_collected_while_importing() -> None:
    """Afterwards it is collected again, also where an import failed."""

    def fail() -> None:
        assert not gc.isenabled()
        raise ImportError

    with pytest.raises(ImportError), imports():
        fail()
    assert gc.isenabled()


def test_comparing_tensors_imports_nothing() -> None:
    """The canaries pass on the trusted side, assert_close among them, and import no cluster."""
    found = loaded_by(
        "import grading.run.sandbox_runner\nfrom grading.verdict import cells\n"
        "assert cells.canary() == ''\n"
        "import torch\ntry: torch.testing.assert_close(torch.ones(1), torch.zeros(1))\n"
        "except AssertionError: pass\nelse: raise SystemExit('the canary lies')"
    )
    assert found == []


@pytest.mark.parametrize("warm", [True, False])
def test_a_gradient_imports_nothing_in_a_session(
    workers: Callable[..., Worker], warm: bool
) -> None:
    """The first gradient imports for half a second: the warm process has done that."""
    preload = ("torch", "torch.autograd") if warm else ("torch",)
    worker = workers(preload=preload, memory_bytes=1 << 30, processes=64)
    before, after = ask(worker, "modules_of_a_gradient")[0]
    assert ("sympy" in before, "sympy" in after) == (warm, True)
    assert not warm or set(after) == set(before)
    assert worker.healthy


def test_the_warm_process_knows_what_the_assignment_needs() -> None:
    """Words of the assignment's cells decide; for any assignment it is all."""

    def form(text: str) -> submission.Form:
        return submission.Form(
            "x.ipynb", (submission.RebuiltCell("test", text),), {}, ""
        )

    assert sandbox_runner.needed(form("x = 1")) == []
    assert sandbox_runner.needed(form("loss.backward(); x.grad")) == ["torch.autograd"]
    assert sandbox_runner.needed(form("optim.Adam(p)")) == ["torch.optim"]
    assert sandbox_runner.needed(None) == ["torch.optim", "torch.autograd"]


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Collect all SQL statements."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        found.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


def test_work_grows_with_the_class_and_no_faster(
    tmp_path: Path, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three submissions more cost the same when there are six as when there are three.

    Counted: statements to the database by their text, and files that the master opens or replaces.
    """
    opened: collections.Counter[str] = collections.Counter()
    begin = os.replace

    def replace(*arguments: object) -> None:
        opened["replaced"] += 1
        begin(*arguments)

    monkeypatch.setattr(os, "replace", replace)
    counts = []
    for size in SIZES:
        root = helpers.make_course(tmp_path / f"course{size}")
        for number in range(size):
            helpers.hand_in(root, f"s{number}", helpers.fill(helpers.RIGHT))
        statements.clear()
        opened.clear()
        options = preparation.Options(jobs=1, engine="tests.grading.fakes:make")
        done = batch.grade(root, sample.NAME, options)
        assert [one.points for one in done.standings] == [6.0] * size
        counts.append(
            collections.Counter(" ".join(s.split()) for s in statements) + opened
        )
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert first == second
    assert first["replaced"] == 2 * 3, (
        "the graded notebook and the page of each student"
    )
    assert first.total() < 45 * 3, f"{first.total() / 3:.0f} steps for one submission"


def test_no_statement_reads_everybodys_rows(
    tmp_path: Path, statements: list[str]
) -> None:
    """SQLite finds a submission's rows by an index, also in a gradebook that nbgrader made."""
    root = helpers.make_course(tmp_path / "course")
    url = f"sqlite:///{root / 'gradebook.db'}"
    Gradebook(url).close()
    helpers.hand_in(root, "s1", helpers.fill(helpers.RIGHT))
    options = preparation.Options(jobs=1, engine="tests.grading.fakes:make")
    batch.grade(root, sample.NAME, options)
    one_row = re.compile(
        r"\? = (grade|comment|submitted_notebook)\.(notebook|assignment)_id"
    )
    asked = [
        one
        for one in set(statements)
        if one.startswith("SELECT") and one_row.search(one)
    ]
    assert len(asked) > 2
    with contextlib.closing(sqlite3.connect(root / "gradebook.db")) as connection:
        for one in asked:
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN {one}", ["x"] * one.count("?")
            )
            steps = [row[-1] for row in plan]
            read = [
                step
                for step in steps
                if re.match(r"SCAN (grade|comment|submitted)\w*$", step)
            ]
            assert not read, f"{read}: {one}"


def test_a_pool_starts_its_processes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight jobs are done by two processes, those that were prepared."""
    started = []
    begin = subprocess.Popen

    def popen(*arguments: object, **options: object) -> subprocess.Popen:
        started.append(arguments)
        return begin(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    pool.prepare(2, ("json",))
    jobs = [{"do": str(number)} for number in range(8)]
    answers = dict(
        pool.run(jobs, "tests.grading.fakes:Jobs", {}, processes=2, deadline=60)
    )
    assert [answers[number]["did"] for number in range(8)] == [str(n) for n in range(8)]
    assert len({answer["by"] for answer in answers.values()}) <= 2
    assert len(started) == 2


def test_a_process_of_the_pool_collects_garbage_when_it_works() -> None:
    """It does not while it imports."""
    [(_, answer)] = pool.run(
        [{}], "tests.grading.run.test_speed:collects", {}, processes=1, deadline=60
    )
    assert answer == {"at start": False, "at work": True}


class collects:
    """Says whether garbage is collected."""

    def __enter__(self) -> collects:
        import gc

        self.start = gc.isenabled()
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def __call__(self, job: dict, step: Step) -> dict:
        """Answer."""
        import gc

        return {"at start": self.start, "at work": gc.isenabled()}
