"""The interface between the pipeline and the process that runs a submission's code.

The pipeline knows only these classes. `SandboxEngine` is the real one: the code runs in a sandbox,
the tests run here. Tests of the pipeline use a small one of their own.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Protocol

from grading.course.submission import Form


@dataclass(frozen=True)
class CellOutcome:
    """What became of a cell with student's or given code; `error` is "" or "Type: message"."""

    error: str = ""
    output: str = ""
    died: bool = False


@dataclass(frozen=True)
class TestOutcome:
    """What became of a test cell; `credit` is the number that it ended with, if any.

    `told` is what a student may read of `error` once hidden lines have run; `reached` says whether
    those of this test have. `doubt` says how a test fails that passes only when the submission may
    change the test's own data.
    """

    __test__ = False  # pytest: not a class of tests

    error: str = ""
    credit: float | None = None
    died: bool = False
    tampered: str = ""
    told: str = ""
    reached: bool = False
    doubt: str = ""


class Process(Protocol):
    """One submission's process, with the trusted namespace that belongs to it."""

    def run(
        self, source: str, *, here: bool, owns: tuple[str, ...] = ()
    ) -> CellOutcome:
        """Execute a cell in the student's process.

        Args:
            source: the cell.
            here: whether on the trusted side, too.
            owns: names that are the submission's from now on, for the tests.

        """

    def test(self, source: str) -> TestOutcome:
        """Execute a test cell on the trusted side."""

    def recall(self, source: str) -> None:
        """Define again what a test cell defined that ran beside an earlier process."""

    def close(self) -> str:
        """End the process; return the limit that it hit, or ""."""


class Engine(Protocol):
    """Starts the processes of submissions, one at a time."""

    sandboxed: bool

    def open(self) -> Process:
        """Start a fresh process.

        Raises:
            EngineError: if that isn't possible; not the submission's fault.

        """

    def close(self) -> None:
        """End everything."""


class EngineError(RuntimeError):
    """The machinery failed, not the submission."""


def make(where: str, form: Form, **options: object) -> Engine:
    """Return the engine that a function "module:name" makes; it may ask for the form."""
    module, _, name = where.partition(":")
    function = getattr(importlib.import_module(module), name)
    if "form" in inspect.signature(function).parameters:
        options["form"] = form
    return function(**options)
