"""Grades submissions: one by `grade_one`, many in several processes by `run_all`."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from grading.course import demos, handed_in, submission
from grading.course.handed_in import SubmissionError
from grading.course.states import (
    ENDED,
    NO_TIME,
    NOT_RUN,
    Result,
    State,
    credit,
    failed,
    task_of,
)
from grading.course.submission import Form, Rebuilt, RebuiltCell
from grading.course.text import clean
from grading.run import autograded, runner
from grading.run.pool import Step
from grading.run.runner import CellOutcome, Engine, EngineError, Process, TestOutcome
from grading.run.steps import SECONDS, Steps, unwatched

#: Roles that run on the trusted side, and in the student's process.
HERE, THERE = {"setup", "given"}, {"setup", "given", "demo", "extra", "solution"}

#: How many findings of one submission are kept.
MOST_FINDINGS = 40


#: How often a submission may take its time: what the first pass left runs in the second.
PASSES = 2


@dataclass(frozen=True)
class Times:
    """How long one pass over a submission may take, in seconds; the cell that runs then may end.

    `cell` is for one cell, seen from outside: native code can't be interrupted from within.
    """

    submission: float = 300.0
    cell: float = SECONDS


@dataclass
class Graded:
    """A result, and what came out of each cell by its index; spent: see `pool.run`."""

    result: Result
    outcomes: dict[int, CellOutcome | TestOutcome] = field(default_factory=dict)
    spent: bool = False


def grade_one(
    rebuilt: Rebuilt,
    worker: Engine,
    *,
    student: str = "",
    times: Times | None = None,
    steps: Steps | None = None,
) -> Graded:
    """Grade one submission.

    A process that dies costs the cell in which it died. The others are executed in a fresh one,
    without that cell. A task that hangs is over: its other tests don't run, and give no points.
    What the first pass has no time for runs in a second; if that is not enough either, the
    submission is failed, for nobody knows what the rest is worth. A cell in which an earlier
    process got stuck does not run, and counts as one that hangs.

    Args:
        rebuilt: the submission.
        worker: starts its process.
        student: whose it is.
        times: limits on the whole.
        steps: by which its cells are executed.

    Raises:
        EngineError: if the machinery fails.

    """
    run = _Run(rebuilt, worker, times or Times(), steps or Steps())
    started = time.monotonic()
    try:
        run.go()
    finally:
        run.bury()
    suspicions = [
        str(f) for f in rebuilt.findings if f.severity == "suspect"
    ] + run.tampering
    to_look_at = [
        f"worth a look: {f}" for f in rebuilt.findings if f.severity == "look"
    ]
    notes = [str(f) for f in rebuilt.findings if f.severity == "note"]
    unrun = [f"{NO_TIME} {', '.join(run.unrun)}"] if run.unrun else []
    result = Result(
        student,
        State.FAILED if unrun else State.SUSPECT if suspicions else State.GRADED,
        points={} if unrun else run.points,
        messages=run.messages,
        told=run.told,
        doubts=run.doubts,
        reasons=[
            clean(text, 500)
            for text in (unrun + suspicions + run.incidents + to_look_at)[
                :MOST_FINDINGS
            ]
        ],
        notes=[clean(text, 500) for text in notes[:MOST_FINDINGS]],
        unchanged=[
            c.grade_id for c in rebuilt.cells if c.role == "solution" and c.unchanged
        ],
        suspicions=[clean(text, 500) for text in suspicions[:MOST_FINDINGS]],
        seconds=time.monotonic() - started,
        sandboxed=worker.sandboxed,
    )
    return Graded(result, run.outcomes, run.spent)


class _Run:
    """One submission while it is graded."""

    def __init__(
        self, rebuilt: Rebuilt, worker: Engine, times: Times, steps: Steps
    ) -> None:
        self.cells, self.worker, self.times = rebuilt.cells, worker, times
        self.steps = steps
        self.passes, self.until = 1, time.monotonic() + times.submission
        self.process: Process | None = None
        self.history: list[tuple[int, RebuiltCell]] = []
        self.hanging: set[str] = set()  # tasks
        self.avoided: set[str] = set()  # the names that they offer
        self.blamed: set[str] = set()  # those that a cell called which hung
        self.unrun: list[str] = []
        self.outcomes: dict[int, CellOutcome | TestOutcome] = {}
        self.points: dict[str, float | None] = {}
        self.messages: dict[str, str] = {}
        self.told: dict[str, str] = {}
        self.reached = False  # whether hidden lines have run
        self.doubts: list[str] = []
        self.spent = False
        self.incidents: list[str] = []
        self.tampering: list[str] = []

    def go(self) -> None:
        """Execute the cells in order."""
        left_out = demos.needless(self.cells)
        for index, cell in enumerate(self.cells):
            if cell.role == "test":
                self._test(index, cell)
            elif (
                cell.is_graded
            ):  # written answers are graded by a person, as in nbgrader
                unanswered = cell.role == "solution" and cell.unchanged
                self.points[cell.grade_id] = 0.0 if unanswered else None
            runs = (
                cell.role in THERE
                and cell.cell_type == "code"
                and index not in left_out
            )
            if runs and not self._shows_hanging(index, cell) and self._ready():
                self._run(index, cell)

    def _shows_hanging(self, index: int, cell: RebuiltCell) -> bool:
        """Tell whether a cell only tries out a task that hangs: the release's, or an own one."""
        if cell.role == "demo" and self.avoided:
            names = demos.names_of(cell.source)
            return names is not None and bool(names[0] & self.avoided)
        hanging = self.avoided | self.blamed
        return (
            cell.role == "extra"
            and bool(hanging)
            and bool(hanging & demos.called(cell.source))
            and not demos.is_needed(self.cells, index)
        )

    def _run(self, index: int, cell: RebuiltCell) -> None:
        """Execute a cell in the student's process."""
        outcome = self._execute(index, cell)
        self.outcomes[index] = outcome
        if cell.role == "solution" and outcome.error and not cell.unchanged:
            self.messages[cell.grade_id] = clean(outcome.error, 2000)
        if not outcome.died:
            self.history.append((index, cell))
            return
        self._died(index, cell)
        if cell.role in HERE:  # what it defines for tests is wanted all the same
            self.history.append((index, replace(cell, role="test")))

    def _ready(self) -> bool:
        """Have a process in which everything so far was executed; False if no time is left."""
        while True:
            if time.monotonic() > self.until:
                if self.passes == PASSES:
                    return False
                self.passes += 1
                self.until += self.times.submission
                self._note_end("the whole submission", "time")
            elif self.process is not None:
                return True
            else:
                self._start()

    def _start(self) -> None:
        """Start a process, and execute in it what was executed so far, unless it dies of that."""
        self.process = self.worker.open()
        for index, cell in list(self.history):
            if time.monotonic() > self.until:
                return
            if cell.role == "test":
                self.steps.recall(self.process, index, cell)
            elif self._execute(index, cell).died:
                self.history.remove((index, cell))
                self._died(index, cell)
                return

    def _execute(self, index: int, cell: RebuiltCell) -> CellOutcome:
        return self.steps.run(self.process, index, cell, here=cell.role in HERE)

    def _test(self, index: int, cell: RebuiltCell) -> None:
        """Execute a test cell and note its points."""
        if task_of(cell.grade_id) in self.hanging:
            outcome = TestOutcome(NOT_RUN, told=NOT_RUN)
            if self.process is not None:
                self.steps.recall(self.process, index, cell)
        elif self._ready():
            outcome = self.steps.test(self.process, index, cell)
        else:
            self.unrun.append(cell.grade_id)
            return
        self.outcomes[index] = outcome
        self.reached = self.reached or outcome.reached
        self.history.append((index, cell))  # a later test may use what it defines
        try:
            points = 0.0 if outcome.error else credit(outcome.credit, cell.points)
        except ValueError as error:  # the test is wrong, not the answer
            raise EngineError(
                f"the test {cell.grade_id} {error}: mend it in solutions/"
            ) from None
        self.points[cell.grade_id] = points
        if outcome.error:
            self.messages[cell.grade_id] = clean(outcome.error, 2000)
            told = outcome.told if self.reached else outcome.error
            self.told[cell.grade_id] = clean(told, 2000)
        if outcome.doubt:
            self.doubts.append(cell.grade_id)
        if outcome.tampered:
            self.tampering.append(f"{cell.grade_id}: {outcome.tampered}")
        if outcome.died:
            self._died(index, cell)

    def _died(self, index: int, cell: RebuiltCell) -> None:
        """Note that the process is gone, and where; a task that takes too long is over."""
        where = cell.grade_id or "a cell of the student's own"
        limit = self._note_end(where, "time" if self.steps.hung(index) else "")
        if limit in ("time", "cpu") and cell.role in ("solution", "test"):
            self.hanging.add(task_of(cell.grade_id))
            for other in self.cells:
                if task_of(other.grade_id) == task_of(cell.grade_id):
                    self.avoided.update(other.owns)
        elif limit in ("time", "cpu"):
            offered = {name for other in self.cells for name in other.owns}
            self.blamed |= offered & demos.called(cell.source)

    def _note_end(self, where: str, limit: str = "") -> str:
        """End the process, and note that it did; return the limit that it hit."""
        limit = self.bury() or limit
        self.incidents.append(
            f"{ENDED} {where}"
            + (f": limit on {limit}" if limit else ": its process stopped")
        )
        return limit

    def bury(self) -> str:
        """End the process; return the limit that it hit."""
        process, self.process = self.process, None
        if process is None:
            return ""
        limit = process.close()
        self.spent = self.spent or getattr(process, "spent", False)
        self.tampering += [
            f"left in the sandbox: {what}" for what in getattr(process, "left", ())
        ]
        return limit


def load(job: dict) -> dict:
    """Return a job as it is sent to the process that does it: with the file instead of its path.

    That process may be on another machine.
    """
    try:
        return {"student": job["student"], "data": handed_in.read(Path(job["path"]))}
    except SubmissionError as error:
        return {"student": job["student"], "unreadable": clean(str(error), 500)}


@contextlib.contextmanager
def handler(
    form: Form, factory: str, options: dict, times: Times, sums: dict[str, str]
) -> Iterator[Callable[[dict, Step], dict]]:
    """Yield the function that does one job of `load`, for a process of an executor.

    Args:
        form: the assignment.
        factory: "module:function" that makes the engine.
        options: the factory's arguments.
        times: limits on each submission.
        sums: nbgrader's checksums of the test cells.

    """
    worker = runner.make(factory, form, **options)
    try:
        yield lambda job, step: grade_data(form, worker, job, times, sums, step)
    finally:
        worker.close()


def grade_data(
    form: Form,
    worker: Engine,
    job: dict,
    times: Times,
    sums: dict[str, str],
    step: Step = unwatched,
) -> dict:
    """Grade the file in a job; whatever happens, return a result.

    Args:
        form: the assignment.
        worker: starts the process.
        job: of `load`.
        times: limits.
        sums: nbgrader's checksums of the test cells.
        step: see `pool.Step`.

    Returns:
        `result` and, if there are points, `notebook`: both as text.

    """
    student, data, text, spent = job["student"], job.get("data", b""), None, False
    known = {
        "content": hashlib.sha256(data).hexdigest() if "data" in job else "",
        "fingerprint": submission.fingerprint(form, data) if "data" in job else "",
        "draw": form.draw,
    }
    try:
        if "unreadable" in job:
            raise SubmissionError(job["unreadable"])
        rebuilt = form.rebuild(data)
        graded = grade_one(
            rebuilt,
            worker,
            student=student,
            times=times,
            steps=Steps(step, times.cell, job.get("stuck", ())),
        )
        spent = graded.spent
        result = replace(graded.result, **known)
        if result.state.has_points:
            text = autograded.notebook(rebuilt, graded.outcomes, result.points, sums)
    except SubmissionError as error:
        result = failed(
            student, clean(str(error), 500), sandboxed=worker.sandboxed, **known
        )
    except Exception as error:  # one submission must not stop the others
        reason = clean(f"the grader failed: {type(error).__name__}: {error}", 500)
        result = failed(student, reason, sandboxed=worker.sandboxed, **known)
    return {"result": result.to_json(), "notebook": text, "spent": spent}


def run_all(
    jobs: list[dict], settings: dict, times: Times, do: Callable[..., Iterator]
) -> Iterator[tuple[dict, Result, str | None]]:
    """Grade files; yield each job with its result and its graded notebook.

    Args:
        jobs: `student` and `path` of each.
        settings: the arguments of `handler`.
        times: limits on each submission.
        do: an executor's `run`.

    """
    # Within this time grade_one ends by itself, unless it hangs.
    deadline = PASSES * times.submission + 180
    for number, answer in do(
        jobs, "grading.run.pipeline:handler", settings, deadline=deadline, load=load
    ):
        job = jobs[number]
        if "lost" in answer:
            yield job, failed(job["student"], clean(answer["lost"], 500)), None
        else:
            yield job, Result.from_json(answer["result"]), answer["notebook"]
