"""Grading one submission: its points, its state, and whose fault a failure is."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbgrader.utils import determine_grade, is_grade

from grading.course import submission
from grading.course.states import NOT_RUN, STUCK, Result, State
from grading.course.submission import Form, RebuiltCell
from grading.course.text import MOST, clean
from grading.run import autograded, pipeline, pool, sandbox_runner
from grading.run.batch import with_doubts
from grading.run.pipeline import Graded, Times, run_all
from grading.run.runner import CellOutcome, EngineError, TestOutcome
from grading.run.steps import Steps
from grading.verdict.cells import CellRun
from tests.grading import fakes, helpers
from tests.harness import sample

NOTHING = dict.fromkeys(helpers.FULL, 0.0)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


@pytest.fixture
def form(small: Path) -> Form:
    """The sample assignment."""
    return submission.load(
        small / "exercises" / sample.NAME / "sample.ipynb",
        small / "solutions" / sample.NAME / "sample.ipynb",
    )


def grade(form: Form, notebook: dict, **options: object) -> Graded:
    """Grade a notebook with the engine of the tests."""
    return pipeline.grade_one(
        form.rebuild(json.dumps(notebook).encode()), fakes.FakeEngine(), **options
    )


def with_test(form: Form, grade_id: str, source: str) -> dict:
    """Return the cells of a form in which one test cell has another text."""
    cells = [
        RebuiltCell(**{**vars(cell), "source": source})
        if cell.grade_id == grade_id
        else cell
        for cell in form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode()).cells
    ]
    return pipeline.Rebuilt(tuple(cells), ())


def test_right_wrong_and_untouched(form: Form) -> None:
    """Full points, some, none; the messages of what failed, and what was left as released."""
    right = grade(form, helpers.fill(helpers.RIGHT)).result
    assert (right.state, right.points, right.messages) == (
        State.GRADED,
        helpers.FULL,
        {},
    )
    wrong = grade(form, helpers.fill(helpers.WRONG)).result
    assert wrong.points == {
        "double--small": 0.0,
        "double--zero": 1.0,
        "total--plain": 0.0,
    }
    assert "a sign was lost" in wrong.messages["double--small"]
    stub = grade(form, helpers.release()).result
    assert (stub.points, stub.unchanged) == (NOTHING, ["double", "total"])


def test_a_process_that_ends_costs_its_own_task(form: Form) -> None:
    """The next task is graded in a fresh process; the incident is told."""
    answers = {**helpers.RIGHT, "double": "def double(x):\n    raise SystemExit"}
    answers["total"] = "def total(values):\n    return 2 * sum(values)"
    found = grade(form, helpers.fill(answers)).result
    assert found.points == {**NOTHING, "total--plain": 3.0}
    assert found.state is State.GRADED
    assert found.reasons == [
        "ended in double--small: its process stopped",
        "ended in double--zero: its process stopped",
    ]
    answers["double"] = "LIMIT = 'memory'\nraise SystemExit"
    found = grade(form, helpers.fill(answers)).result
    assert found.points == {**NOTHING, "total--plain": 3.0}
    assert found.reasons == ["ended in double: limit on memory"]


HANG = "global LIMIT\n    LIMIT = 'time'\n    raise SystemExit"


def test_a_task_that_hangs_is_tried_once(form: Form) -> None:
    """Its other tests did not run, and say so; what stands in them is there for later ones."""
    answers = {
        **helpers.RIGHT,
        "double": f"def double(x):\n    {HANG}",
        "total": "def total(values):\n    return 2 * sum(values)",
    }
    found = grade(form, helpers.fill(answers)).result
    assert (found.state, found.points) == (
        State.GRADED,
        {**NOTHING, "total--plain": 3.0},
    )
    assert found.messages["double--zero"] == NOT_RUN
    assert found.reasons == ["ended in double--small: limit on time"]
    answers["double"] = (
        "LIMIT = 'time'\nraise SystemExit"  # no test needs to hang again
    )
    found = grade(form, helpers.fill(answers)).result
    assert found.messages["double--small"] == found.messages["double--zero"] == NOT_RUN
    assert found.reasons == ["ended in double: limit on time"]
    assert found.points == {**NOTHING, "total--plain": 3.0}


def with_own_cells(*sources: str) -> dict:
    """Return right answers with cells of the student's own before them."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"][1:1] = [sample.code(source) for source in sources]
    return notebook


def test_ends_without_number_cost_nobody_a_point(form: Form) -> None:
    """Not even those of cells of the student's own, one after the other."""
    found = grade(form, with_own_cells(*["raise SystemExit"] * 30)).result
    assert (found.state, found.points) == (State.GRADED, helpers.FULL), found.messages


def test_own_cells_try_a_hanging_task_once(form: Form) -> None:
    """Before its test and after it, measured or not; what somebody needs is executed all the same.

    Nothing else is left out, and the others' tests run.
    """
    notebook = helpers.fill(
        {
            "double": f"def double(x):\n    {HANG}",
            "total": "def total(values):\n    return 2 * sum(values)",
        }
    )
    tries = [
        "double(3)",
        "for i in range(3):\n    print(double(i))",
        "%time double(3)",
        "%%time\nfound = double(5)",
        "%timeit -n 10 -r 3 double(3)",
        "assert double(3) == 6",
    ]
    own = [*map(sample.code, tries), sample.code("SEEN = 1")]
    notebook["cells"] = [
        part
        for cell in notebook["cells"]
        for part in (own if cell is helpers.find(notebook, "double--small") else [])
        + [cell]
    ] + own
    found = grade(form, notebook).result
    assert found.reasons == [
        "ended in a cell of the student's own: limit on time",
        "ended in double--small: limit on time",
    ]
    assert found.points == {**NOTHING, "total--plain": 3.0}


@pytest.mark.parametrize(
    "source",
    [
        "kept = double(1)",
        "def kept():\n    return double(1)",
        "kept = []\ndouble(1)",
        "import math as kept\ndouble(1)",
    ],
)
def test_what_an_own_cell_gives_to_another_is_executed(form: Form, source: str) -> None:
    """Though a task hangs that it calls: it may end for these arguments."""
    hangs = f"def double(x):\n    if x == 1:\n        return 2\n    {HANG}"
    notebook = helpers.fill(
        {
            "double": hangs,
            "total": "kept\ndef total(values):\n    return 2 * sum(values)",
        }
    )
    notebook["cells"].insert(helpers.place(notebook, "total"), sample.code(source))
    found = grade(form, notebook).result
    assert found.points == {**NOTHING, "total--plain": 3.0}, found.messages


class Clock:
    """A time that passes while cells run which say so, and not otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(pipeline.time, "monotonic", lambda: self.now)
        for name in ("run", "test"):
            monkeypatch.setattr(
                fakes.FakeProcess,
                name,
                self.executing(getattr(fakes.FakeProcess, name)),
            )

    def executing(self, execute: Callable) -> Callable:
        """Return a method of FakeProcess, with the time that it takes."""

        def slowly(
            process: fakes.FakeProcess, source: str, **options: object
        ) -> object:
            found = execute(process, source, **options)
            self.now += process.namespace.pop("SECONDS", 0)
            return found

        return slowly


def test_what_one_pass_leaves_runs_in_a_second(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh process without the cells that hung; and what both leave is no zero."""
    clock = Clock(monkeypatch)
    hangs = "SECONDS = 60; LIMIT = 'time'\nraise SystemExit"
    found = grade(form, with_own_cells(*[hangs] * 6)).result
    assert (found.state, found.points) == (State.GRADED, helpers.FULL)
    assert "ended in the whole submission: limit on time" in found.reasons
    clock.now = 0.0
    graded = grade(form, with_own_cells(*[hangs] * 11))
    found = graded.result
    assert (found.state, found.points, found.total) == (State.FAILED, {}, 0.0)
    assert found.reasons[0] == (
        "no time was left for double--small, double--zero, total--plain"
    )
    assert clock.now < pipeline.PASSES * Times().submission + 2 * 60


def test_a_slow_cell_is_paid_for_once_in_each_process(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hanging task and own cells of 45 seconds cost no other task a point."""
    Clock(monkeypatch)
    notebook = with_own_cells("SECONDS = 45", "SECONDS = 45")
    hanging = f"def double(x):\n    global SECONDS\n    SECONDS = 60\n    {HANG}"
    answers = {
        "double": hanging,
        "total": "def total(values):\n    return 2 * sum(values)",
    }
    found = grade(form, helpers.fill(answers, notebook)).result
    assert (found.state, found.points) == (
        State.GRADED,
        {**NOTHING, "total--plain": 3.0},
    )


def test_a_submission_that_is_not_measured_is_never_a_zero(
    form: Form, small: Path
) -> None:
    """Also not one that is suspect, or that has doubts; and it has no graded notebook."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--zero")["metadata"]["nbgrader"]["points"] = 50
    job = pipeline.load(
        {"student": "ann", "path": str(helpers.hand_in(small, "ann", notebook))}
    )
    answer = pipeline.grade_data(
        form, fakes.FakeEngine(), job, Times(submission=-1.0), {}
    )
    found = Result.from_json(answer["result"])
    assert (found.state, found.points, answer["notebook"]) == (State.FAILED, {}, None)
    doubted = with_doubts(replace(found, doubts=["double--small"]), set())
    assert doubted.state is State.FAILED


def test_a_word_alone_is_worth_a_look_and_holds_nothing_up(form: Form) -> None:
    """A comment is no proof: the points count, and the teacher sees the word beside them."""
    for text in ("# as /proc/self/maps shows", "open('/proc/self/status').read()"):
        found = grade(form, with_own_cells(text)).result
        assert (found.state, found.points, found.suspicions) == (
            State.GRADED,
            helpers.FULL,
            [],
        )
        assert [reason[:20] for reason in found.reasons] == ["worth a look: inner:"]
        assert not any("inner" in note for note in found.notes), (
            "the student's page shows these"
        )


@pytest.mark.parametrize(
    ("last", "points"),
    [("0.5", 0.5), ("0", 0.0), ("2.0", 2.0), ("-1", 2.0), ("'x'", 2.0)],
)
def test_partial_credit_by_nbgraders_rule(form: Form, last: str, points: float) -> None:
    """A number as the last expression of a test; nbgrader finds the same in the notebook."""
    rebuilt = with_test(form, "double--small", last)
    graded = pipeline.grade_one(rebuilt, fakes.FakeEngine())
    assert graded.result.points["double--small"] == points
    text = autograded.notebook(rebuilt, graded.outcomes, graded.result.points, {})
    cells = [
        cell for cell in nbformat.reads(text, as_version=4).cells if is_grade(cell)
    ]
    assert determine_grade(cells[0]) == (points, 2.0)


def test_too_much_credit_is_the_tests_fault(form: Form) -> None:
    """The submission is failed, not given or refused the points."""
    with pytest.raises(
        EngineError, match="double--small ends with 3, but gives at most 2"
    ):
        pipeline.grade_one(with_test(form, "double--small", "3.0"), fakes.FakeEngine())


def test_the_graded_notebook_says_the_same_as_the_grades(form: Form) -> None:
    """nbgrader's own rule, applied to the cells, finds the points of every test."""
    for answers in (helpers.RIGHT, helpers.WRONG, {}):
        rebuilt = form.rebuild(json.dumps(helpers.fill(answers)).encode())
        graded = pipeline.grade_one(rebuilt, fakes.FakeEngine())
        text = autograded.notebook(rebuilt, graded.outcomes, graded.result.points, {})
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        found = {
            c.metadata.nbgrader.grade_id: determine_grade(c)[0]
            for c in notebook.cells
            if is_grade(c)
        }
        assert found == graded.result.points


def test_tampering_is_suspect(form: Form) -> None:
    """Changed tags, and a process that breaks the rules of its channel."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--zero")["metadata"]["nbgrader"]["points"] = 50
    found = grade(form, notebook).result
    assert (found.state, found.points) == (State.SUSPECT, helpers.FULL)
    assert found.reasons == ["re-tagged: double--zero: points changed in its metadata"]

    class Forger(fakes.FakeProcess):
        def test(self, source: str) -> TestOutcome:
            return TestOutcome("Lost: nonsense", died=True, tampered="spoke nonsense")

    class Stayer(fakes.FakeProcess):
        left = ("processes survive: [7]",)

    engine = fakes.FakeEngine()
    engine.open = Stayer
    found = pipeline.grade_one(
        form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode()), engine
    ).result
    assert (found.state, found.points) == (State.SUSPECT, helpers.FULL)
    assert found.reasons == ["left in the sandbox: processes survive: [7]"]

    engine.open = Forger
    rebuilt = form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode())
    found = pipeline.grade_one(rebuilt, engine).result
    assert (found.state, found.total) == (State.SUSPECT, 0.0)
    assert "double--small: spoke nonsense" in found.reasons


def test_what_a_test_defines_is_there_in_the_next_process(form: Form) -> None:
    """A loop costs the test in which it is, and not the later ones that use its functions."""

    class Loops(fakes.FakeProcess):
        def test(self, source: str) -> TestOutcome:
            found = super().test(source)
            return (
                TestOutcome("TimeoutError: a loop", died=True)
                if "LOOP" in source
                else found
            )

    def changed(cell: RebuiltCell) -> RebuiltCell:
        text = {
            "double--small": "def twice(x):\n    return x + x\nLOOP = 1",
            "double--zero": "assert twice(0) == 0",
        }.get(cell.grade_id, cell.source)
        return replace(cell, source=text)

    rebuilt = form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode())
    engine = fakes.FakeEngine()
    engine.open = Loops
    cells = tuple(changed(cell) for cell in rebuilt.cells)
    found = pipeline.grade_one(replace(rebuilt, cells=cells), engine).result
    assert found.points == {**helpers.FULL, "double--small": 0.0}, found.messages


def test_a_test_in_which_the_grader_got_stuck_still_defines_its_functions(
    form: Form,
) -> None:
    """Later tests may use them; but not if it was their definition that never ended."""
    rebuilt = with_test(form, "double--small", "def twice(x):\n    return x + x")
    cells = [
        replace(cell, source="assert twice(3) == 6")
        if cell.grade_id == "total--plain"
        else cell
        for cell in rebuilt.cells
    ]
    index = next(n for n, c in enumerate(cells) if c.grade_id == "double--small")
    rebuilt = replace(rebuilt, cells=tuple(cells))
    for steps, points in ((["test"], 3.0), (["test", "recall"], 0.0)):
        stuck = [f"{step} {index}" for step in steps]
        left_out = Steps(stuck=stuck)
        found = pipeline.grade_one(rebuilt, fakes.FakeEngine(), steps=left_out).result
        assert found.points == {**NOTHING, "total--plain": points}, found.messages


def test_helpers_of_a_given_cell_outlive_its_process(form: Form) -> None:
    """Whatever a submission did to the process in which that cell ran."""
    started: list[fakes.FakeProcess] = []

    class DiesEarly(fakes.FakeProcess):
        def __init__(self) -> None:
            super().__init__()
            started.append(self)

        def run(self, source: str, *, here: bool, owns: tuple = ()) -> CellOutcome:
            if here and len(started) == 1:
                return CellOutcome("SystemExit: 1", died=True)
            return super().run(source, here=here, owns=owns)

    rebuilt = with_test(form, "double--zero", "assert helper(0) == 0")
    cells = [
        replace(cell, source="def helper(x):\n    return x")
        if cell.role == "setup"
        else cell
        for cell in rebuilt.cells
    ]
    engine = fakes.FakeEngine()
    engine.open = DiesEarly
    found = pipeline.grade_one(replace(rebuilt, cells=tuple(cells)), engine).result
    assert found.points == helpers.FULL, found.messages


def test_a_fault_of_the_grader_is_failed(form: Form, small: Path) -> None:
    """Neither a zero nor the end of the run."""
    path = helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    job = pipeline.load({"student": "ann", "path": str(path)})
    answer = pipeline.grade_data(form, fakes.BrokenEngine(), job, Times(), {})
    found = Result.from_json(answer["result"])
    assert (found.state, found.points, answer["notebook"]) == (State.FAILED, {}, None)
    assert found.reasons == ["the grader failed: EngineError: no process left"]


def test_the_pool_survives_its_jobs() -> None:
    """A job that kills its process, or hangs, is that job's answer; the others are done."""
    jobs = [{"do": what} for what in ("a", "die", "b", "hang", "c", "die", "d")]
    done = dict(pool.run(jobs, "tests.grading.fakes:Jobs", {}, processes=2, deadline=8))
    assert sorted(done) == list(range(7))
    assert {done[number].get("did") for number in (0, 2, 4, 6)} == {"a", "b", "c", "d"}
    assert {done[number]["lost"] for number in (1, 5)} == {
        "the grading process ended (SIGKILL)"
    }
    assert done[3]["lost"] == "grading took longer than 8 s"


@pytest.mark.parametrize(
    ("answers", "own", "points", "ended"),
    [
        (
            {"double": fakes.STUCK, "total": fakes.ALONE},
            "",
            {"total--plain": 3.0},
            ["double--small"],
        ),
        (
            {"total": fakes.NATIVE},
            "",
            {"double--small": 2.0, "double--zero": 1.0},
            ["total"],
        ),
        ({}, fakes.NATIVE, helpers.FULL, ["a cell of the student's own"]),
        (
            {"double": fakes.STUCK, "total": fakes.NATIVE},
            fakes.NATIVE,
            {},
            ["a cell of the student's own", "double--small", "total"],
        ),
    ],
)
def test_native_code_that_hangs_costs_what_a_loop_costs(
    form: Form,
    small: Path,
    answers: dict[str, str],
    own: str,
    points: dict[str, float],
    ended: list[str],
) -> None:
    """Its task, and nothing else: neither a task beside it, nor another submission."""
    notebook = helpers.fill({**helpers.RIGHT, **answers})
    notebook["cells"][1:1] = [sample.code(own)] if own else []
    paths = {
        "ann": helpers.hand_in(small, "ann", notebook),
        "bob": helpers.hand_in(small, "bob", helpers.fill(helpers.RIGHT)),
    }
    jobs = [{"student": name, "path": str(path)} for name, path in paths.items()]
    times = Times(cell=2.0)
    settings = {
        "form": form,
        "factory": "tests.grading.fakes:make",
        "options": {},
        "times": times,
        "sums": {},
    }
    do = functools.partial(pool.run, processes=1)
    found = {
        job["student"]: result for job, result, _ in run_all(jobs, settings, times, do)
    }
    assert (found["bob"].state, found["bob"].points) == (State.GRADED, helpers.FULL)
    ann = found["ann"]
    assert (ann.state, ann.points) == (State.GRADED, {**NOTHING, **points}), (
        ann.messages
    )
    assert ann.stops == [f"ended in {where}: limit on time" for where in ended]
    errors = {ann.messages[name] for name in ann.points if not ann.points[name]}
    assert errors <= {STUCK, NOT_RUN}


def test_a_process_that_is_spent_gets_no_other_job() -> None:
    """As one in which a test was interrupted in the middle of an import."""
    jobs = [{"do": what} for what in ("a", "b", "spend", "c", "d")]
    done = dict(
        pool.run(jobs, "tests.grading.fakes:Jobs", {}, processes=1, deadline=60)
    )
    makers = [done[number]["by"] for number in range(5)]
    assert makers[:2] == [makers[2]] * 2
    assert makers[3] == makers[4] != makers[2]


def test_of_what_a_cell_prints_only_what_is_shown_is_kept() -> None:
    """Two thousand cells may print 200 000 characters each."""

    class Talker:
        def run_cell(self, *_: object, **__: object) -> CellRun:
            return CellRun(True, stdout="x" * 100_000, stderr="y" * 100_000)

    process = object.__new__(sandbox_runner.SandboxedProcess)
    process.student = Talker()
    output = process.run("", here=False).output
    assert len(output) == MOST + 1
    assert clean(output) == clean("x" * 100_000)
