"""A submission's process without a sandbox, for the tests of grading/verdict/cells.py."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from collections.abc import Iterator

from grading.bridge import student as untrusted
from grading.verdict.cells import Student, run_test_cell
from grading.wire.channel import Channel


@contextlib.contextmanager
def submission(
    *cells: str,
    given: str = "import torch\nfrom torch import nn\nimport math",
    call_timeout: float = 60.0,
    offers: set[str] | None = None,
) -> Iterator[Student]:
    """Fork a process, execute cells in it, and yield the trusted side of it.

    offers: what the reference solution offers; None lets a test use all of the submission.
    """
    importlib.import_module("tests.harness.warm")  # else each of them loads that anew
    to_child, to_parent = os.pipe(), os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(to_child[1])
            os.close(to_parent[0])
            untrusted.serve(to_child[0], to_parent[1])
        finally:
            os._exit(0)
    os.close(to_child[0])
    os.close(to_parent[1])
    channel = Channel(to_parent[0], to_child[1])
    try:
        student = Student(channel, call_timeout=call_timeout, strict=offers is not None)
        if given:
            assert student.run_given(given, 60).ok
        for cell in cells:
            student.run_cell(cell, 60, owns=tuple(offers or ()))
        yield student
    finally:
        channel.close()
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def passes(solution: str, test: str) -> None:
    """Assert that a test passes on a submission."""
    with submission(solution) as student:
        result = run_test_cell(student, test, timeout=60)
    assert result.passed, f"{result.error_name}: {result.message}"


def fails(solution: str, test: str) -> str:
    """Assert that a test fails on a submission that stays alive; return the message."""
    with submission(solution) as student:
        result = run_test_cell(student, test, timeout=60)
    assert not result.passed
    assert not result.student_died
    return result.message
