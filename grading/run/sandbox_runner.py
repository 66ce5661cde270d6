"""The runner that grading uses: a submission's code in the sandbox, its tests in this process."""

from __future__ import annotations

import contextlib
import random

import torch

from grading.course.submission import Form
from grading.course.text import MOST
from grading.run.runner import CellOutcome, EngineError, TestOutcome
from grading.sandbox.limits import Limits
from grading.sandbox.worker import Worker, WorkerBroken
from grading.verdict.cells import Student, TestRun, run_test_cell
from grading.verdict.memory import Memory
from grading.wire.channel import Channel, WireError

#: Seconds for one cell, as in nbgrader_config.py.
CELL_SECONDS = 60.0

#: For one process. More than a pass of `pipeline.Times` and the cell at its end take: what many
#: slow cells use up is never laid to the one that runs at the moment.
LIMITS = Limits(wall_seconds=480.0, cpu_seconds=480)

# torch.testing asks of each pair whether they are tensors of a cluster, and imports those for a
# second to find out. None are ever here: the channel carries plain tensors.
torch.testing._comparison._HAS_DTENSOR = False

#: What the warm process imports.
PRELOAD = ("torch", "numpy", "matplotlib")
#: What it imports for an assignment in which a word occurs: the first optimiser of a process, and
#: the first gradient of what is no loss, import for longer than most submissions take.
BY_WORD = {"optim": "torch.optim", "grad": "torch.autograd"}


class SandboxedProcess:
    """One submission's process in the sandbox, and the namespace of its tests here.

    Once it is closed, `left` says what of it could not be cleared away, and `spent` whether a test
    was interrupted: nobody else's should run in this process, where an import may be half done.
    """

    left: tuple[str, ...] = ()
    spent = False

    def __init__(self, worker: Worker, memory: Memory | None = None) -> None:
        self.session = worker.session()
        self.student = Student(
            Channel(self.session.read_fd, self.session.write_fd),
            call_timeout=CELL_SECONDS,
            strict=True,
            memory=memory,
        )

    def run(
        self, source: str, *, here: bool, owns: tuple[str, ...] = ()
    ) -> CellOutcome:
        """Execute a cell there, and if it is the release's here as well."""
        if here:
            found = self.student.run_given(source, CELL_SECONDS)
        else:
            found = self.student.run_cell(source, CELL_SECONDS, owns=owns)
        error = "" if found.ok else f"{found.error_name}: {last_line(found.error_text)}"
        # No more than what is shown: a submission may have thousands of cells.
        output = (found.stdout + found.stderr)[: MOST + 1]
        return CellOutcome(error, output, found.student_died)

    def test(self, source: str) -> TestOutcome:
        """Execute a test cell here."""
        found = run_test_cell(self.student, source, timeout=CELL_SECONDS)
        tampered = found.tampered
        lost = self.student.peer.lost
        if lost is not None and lost.reason == "wire":
            tampered = "its process broke the rules of the channel to the tests"
        told = f"{found.error_name}: {found.told}" if found.error_name else ""
        return TestOutcome(
            error_of(found),
            found.credit,
            found.student_died,
            tampered,
            told,
            found.reached,
            found.doubt,
        )

    def recall(self, source: str) -> None:
        """Define again, here, what a test cell defined that ran beside an earlier process."""
        self.student.namespace().recall(source)

    def close(self) -> str:
        """End the process; return the limit that it hit."""
        lost = self.student.peer.lost
        self.spent = self.student.interrupted
        self.student.close()
        end = self.session.close()
        limit, self.left = end.limit, end.left
        if lost is not None and lost.reason in ("time", "memory"):
            return lost.reason
        return limit or ""


def last_line(text: str) -> str:
    """Return the last line of a traceback without the exception's name."""
    line = (text.strip().splitlines() or [""])[-1]
    return line.partition(": ")[2] or line


def error_of(run: TestRun) -> str:
    """Return "Type: message" of a failed test, "" of one that passed."""
    if run.passed:
        return ""
    name = run.error_name or "Error"
    return (
        run.message if run.message.startswith(f"{name}: ") else f"{name}: {run.message}"
    )


class SandboxEngine:
    """Holds a warm sandbox; one that misbehaved is replaced.

    Raises:
        SandboxMissing: if bubblewrap is not installed.

    """

    def __init__(
        self,
        sandbox: bool = True,
        preload: tuple[str, ...] = (*PRELOAD, *BY_WORD.values()),
    ) -> None:
        self.sandboxed, self.preload = sandbox, preload
        torch.set_num_threads(1)
        self.memory = Memory()
        self.worker = self._start()

    def _start(self) -> Worker:
        return Worker(LIMITS, sandbox=self.sandboxed, preload=self.preload)

    def open(self) -> SandboxedProcess:
        """Start a submission's process.

        Raises:
            EngineError: if the sandbox does not start.

        """
        # Each submission's tests find the same, whoever was graded before.
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.manual_seed(0)
        random.seed(0)
        try:
            if not self.worker.healthy:
                with contextlib.suppress(OSError):
                    self.worker.close()
                self.worker = self._start()
            return SandboxedProcess(self.worker, self.memory)
        except (WorkerBroken, WireError, ValueError, OSError) as error:
            raise EngineError(f"the sandbox does not start: {error}") from error

    def close(self) -> None:
        """End the sandbox."""
        self.worker.close()


def make(sandbox: bool = True, form: Form | None = None) -> SandboxEngine:
    """Return the engine, warm for an assignment."""
    return SandboxEngine(sandbox, (*PRELOAD, *needed(form)))


def needed(form: Form | None) -> list[str]:
    """Return what is imported for an assignment beside the ordinary; all of it for none."""
    return [
        module
        for word, module in BY_WORD.items()
        if form is None or any(word in cell.source for cell in form.cells)
    ]
