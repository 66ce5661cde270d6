"""Executes a submission's cells in steps that another process watches: see `pool.Step`."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from grading.course.states import STUCK
from grading.course.submission import RebuiltCell
from grading.run.pool import Step
from grading.run.runner import CellOutcome, Process, TestOutcome

#: Seconds for one cell, seen from outside: more than a test takes that is executed twice and
#: interrupted.
SECONDS = 150.0
#: Why a cell does not run in which an earlier process got stuck.
UNREADABLE = "what the submission's process answered could not be read in time"


def unwatched(name: str, seconds: float) -> contextlib.AbstractContextManager[None]:
    """Be a step that no other process watches."""
    return contextlib.nullcontext()


class Steps:
    """What is done with each cell, by its index; where an earlier process got stuck, nothing.

    Args:
        step: see `pool.Step`.
        seconds: how long one may take.
        stuck: those in which earlier processes got stuck.

    """

    def __init__(
        self,
        step: Step = unwatched,
        seconds: float = SECONDS,
        stuck: Collection[str] = (),
    ) -> None:
        self.step, self.seconds, self.stuck = step, seconds, frozenset(stuck)

    def hung(self, index: int) -> bool:
        """Tell whether an earlier process got stuck in a cell, and not only in recalling it."""
        return not self.stuck.isdisjoint((f"run {index}", f"test {index}"))

    def run(
        self, process: Process, index: int, cell: RebuiltCell, *, here: bool
    ) -> CellOutcome:
        """Execute a cell in the student's process; see `Process.run`."""
        if (name := f"run {index}") in self.stuck:
            return CellOutcome(f"StudentLost: {UNREADABLE}", died=True)
        with self.step(name, self.seconds):
            return process.run(cell.source, here=here, owns=cell.owns)

    def test(self, process: Process, index: int, cell: RebuiltCell) -> TestOutcome:
        """Execute a test cell; see `Process.test`."""
        if (name := f"test {index}") in self.stuck:
            return TestOutcome(STUCK, died=True, told=STUCK)
        with self.step(name, self.seconds):
            return process.test(cell.drawn or cell.source)

    def recall(self, process: Process, index: int, cell: RebuiltCell) -> None:
        """Define again what a test cell defined; see `Process.recall`."""
        if (name := f"recall {index}") not in self.stuck:
            with self.step(name, self.seconds):
                process.recall(cell.source)
