"""Grades submissions: one by `grade_one`, many in several processes by `run_all`."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from grading import autograded, demos, engine, submission
from grading.autograded import clean
from grading.engine import CellOutcome, Engine, EngineError, Process, TestOutcome
from grading.states import Result, State, failed
from grading.submission import Form, Rebuilt, RebuiltCell, SubmissionError

#: Roles that run on the trusted side, and in the student's process.
HERE, THERE = {"setup", "given"}, {"setup", "given", "demo", "extra", "solution"}

#: How many findings of one submission are kept.
MOST_FINDINGS = 40


@dataclass(frozen=True)
class Times:
    """How long a submission may take, in seconds, and how often its process is started again."""

    submission: float = 300.0
    restarts: int = 8


@dataclass
class Graded:
    """A result, and what came out of each cell by its index; spent: see `pool.run`."""

    result: Result
    outcomes: dict[int, CellOutcome | TestOutcome] = field(default_factory=dict)
    spent: bool = False


def grade_one(rebuilt: Rebuilt, worker: Engine, *, student: str = "", times: Times | None = None
              ) -> Graded:
    """Grade one submission.

    A process that dies costs the cell in which it died. The others are executed in a fresh one, so
    an endless loop in one task does not take the points of the next.

    Args:
        rebuilt: the submission.
        worker: starts its process.
        student: whose it is.
        times: limits on the whole.

    Raises:
        EngineError: if the machinery fails.

    """
    run = _Run(rebuilt, worker, times or Times())
    started = time.monotonic()
    try:
        run.go()
    finally:
        run.bury()
    suspicions = [str(f) for f in rebuilt.findings if f.severity == "suspect"] + run.tampering
    notes = [str(f) for f in rebuilt.findings if f.severity != "suspect"]
    result = Result(
        student,
        State.SUSPECT if suspicions else State.GRADED,
        points=run.points,
        messages=run.messages,
        quoted=run.quoted,
        doubts=run.doubts,
        reasons=[clean(text, 500) for text in (suspicions + run.incidents)[:MOST_FINDINGS]],
        notes=[clean(text, 500) for text in notes[:MOST_FINDINGS]],
        unchanged=[c.grade_id for c in rebuilt.cells if c.role == "solution" and c.unchanged],
        suspicions=[clean(text, 500) for text in suspicions[:MOST_FINDINGS]],
        seconds=time.monotonic() - started,
        sandboxed=worker.sandboxed,
    )
    return Graded(result, run.outcomes, run.spent)


class _Run:
    """One submission while it is graded."""

    def __init__(self, rebuilt: Rebuilt, worker: Engine, times: Times) -> None:
        self.cells, self.worker, self.times = rebuilt.cells, worker, times
        self.until = time.monotonic() + times.submission
        self.process: Process | None = None
        self.starts = 0
        self.history: list[RebuiltCell] = []
        self.outcomes: dict[int, CellOutcome | TestOutcome] = {}
        self.points: dict[str, float | None] = {}
        self.messages: dict[str, str] = {}
        self.quoted: dict[str, list[str]] = {}
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
            elif cell.is_graded:  # written answers are graded by a person, as in nbgrader
                unanswered = cell.role == "solution" and cell.unchanged
                self.points[cell.grade_id] = 0.0 if unanswered else None
            there = cell.role in THERE and cell.cell_type == "code" and index not in left_out
            if there and self._ready():
                outcome = self._execute(cell)
                self.outcomes[index] = outcome
                if cell.role == "solution" and outcome.error and not cell.unchanged:
                    self.messages[cell.grade_id] = clean(outcome.error, 2000)
                if outcome.died:
                    self._died(cell.grade_id or "a cell of the student's own")
                else:
                    self.history.append(cell)

    def _ready(self) -> bool:
        """Have a process in which everything so far was executed; False if none can be had."""
        while self.process is None:
            if self.starts > self.times.restarts or time.monotonic() > self.until:
                return False
            self.starts += 1
            self.process = self.worker.open()
            for cell in list(self.history):
                if cell.role == "test":
                    self.process.recall(cell.source)
                elif self._execute(cell).died:
                    self.history.remove(cell)
                    self._died(cell.grade_id or "a cell of the student's own")
                    break
        if time.monotonic() > self.until:
            self._died("the whole submission", "time")
            return False
        return True

    def _execute(self, cell: RebuiltCell) -> CellOutcome:
        return self.process.run(cell.source, here=cell.role in HERE, owns=cell.owns)

    def _test(self, index: int, cell: RebuiltCell) -> None:
        """Execute a test cell and note its points."""
        if self._ready():
            outcome = self.process.test(cell.source)
        else:
            outcome = TestOutcome("NotRun: the submission had used up its time or its restarts "
                                  "before this test")
        self.outcomes[index] = outcome
        self.history.append(cell)  # a later test may use what it defines
        self.points[cell.grade_id] = 0.0 if outcome.error else credit(cell, outcome.credit)
        if outcome.error:
            self.messages[cell.grade_id] = clean(outcome.error, 2000)
            if outcome.quoted:
                self.quoted[cell.grade_id] = [clean(line, 2000) for line in outcome.quoted]
        if outcome.doubt:
            self.doubts.append(cell.grade_id)
        if outcome.tampered:
            self.tampering.append(f"{cell.grade_id}: {outcome.tampered}")
        if outcome.died:
            self._died(cell.grade_id)

    def _died(self, where: str, limit: str = "") -> None:
        """Note that the process is gone."""
        limit = self.bury() or limit
        self.incidents.append(
            f"ended in {where}" + (f": limit on {limit}" if limit else ": its process stopped"))

    def bury(self) -> str:
        """End the process; return the limit that it hit."""
        process, self.process = self.process, None
        if process is None:
            return ""
        limit = process.close()
        self.spent = self.spent or getattr(process, "spent", False)
        self.tampering += [f"left in the sandbox: {what}" for what in getattr(process, "left", ())]
        return limit


def credit(cell: RebuiltCell, value: float | None) -> float:
    """Return the points of a test cell without error that ended with this number, if with one.

    Raises:
        EngineError: if the number is above the cell's points: the test is wrong, not the answer.

    """
    if value is None or value < 0 or math.isnan(value):
        return cell.points
    if value > cell.points:
        raise EngineError(
            f"the test {cell.grade_id} ends with {value:g}, but gives at most {cell.points:g}: "
            "mend it in solutions/")
    return float(value)


def load(job: dict) -> dict:
    """Return a job as it is sent to the process that does it: with the file instead of its path.

    That process may be on another machine.
    """
    try:
        return {"student": job["student"], "data": submission.read(Path(job["path"]))}
    except SubmissionError as error:
        return {"student": job["student"], "unreadable": clean(str(error), 500)}


@contextlib.contextmanager
def handler(form: Form, factory: str, options: dict, times: Times, sums: dict[str, str]
            ) -> Iterator[Callable[[dict], dict]]:
    """Yield the function that does one job of `load`, for a process of an executor.

    Args:
        form: the assignment.
        factory: "module:function" that makes the engine.
        options: the factory's arguments.
        times: limits on each submission.
        sums: nbgrader's checksums of the test cells.

    """
    worker = engine.make(factory, form, **options)
    try:
        yield lambda job: grade_data(form, worker, job, times, sums)
    finally:
        worker.close()


def grade_data(form: Form, worker: Engine, job: dict, times: Times, sums: dict[str, str]) -> dict:
    """Grade the file in a job; whatever happens, return a result.

    Args:
        form: the assignment.
        worker: starts the process.
        job: of `load`.
        times: limits.
        sums: nbgrader's checksums of the test cells.

    Returns:
        `result` and, if there are points, `notebook`: both as text.

    """
    student, data, text, spent = job["student"], job.get("data", b""), None, False
    known = {
        "content": hashlib.sha256(data).hexdigest() if "data" in job else "",
        "fingerprint": submission.fingerprint(form, data) if "data" in job else "",
    }
    try:
        if "unreadable" in job:
            raise SubmissionError(job["unreadable"])
        rebuilt = form.rebuild(data)
        graded = grade_one(rebuilt, worker, student=student, times=times)
        spent = graded.spent
        result = replace(graded.result, **known)
        text = autograded.notebook(rebuilt, graded.outcomes, result.points, sums)
    except SubmissionError as error:
        result = failed(student, clean(str(error), 500), sandboxed=worker.sandboxed, **known)
    except Exception as error:  # one submission must not stop the others
        reason = clean(f"the grader failed: {type(error).__name__}: {error}", 500)
        result = failed(student, reason, sandboxed=worker.sandboxed, **known)
    return {"result": result.to_json(), "notebook": text, "spent": spent}


def run_all(jobs: list[dict], settings: dict, times: Times, do: Callable[..., Iterator]
            ) -> Iterator[tuple[dict, Result, str | None]]:
    """Grade files; yield each job with its result and its graded notebook.

    Args:
        jobs: `student` and `path` of each.
        settings: the arguments of `handler`.
        times: limits on each submission.
        do: an executor's `run`.

    """
    # Within this time grade_one ends by itself, unless it hangs.
    deadline = 2 * times.submission + 120
    for number, answer in do(
        jobs, "grading.pipeline:handler", settings, deadline=deadline, load=load
    ):
        job = jobs[number]
        if "lost" in answer:
            yield job, failed(job["student"], clean(answer["lost"], 500)), None
        else:
            yield job, Result.from_json(answer["result"]), answer["notebook"]
