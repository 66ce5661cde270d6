"""The real engine with short limits: attacks that only end at a limit end soon.

What runs in a sandbox comes after everybody else's work, so that an honest cell of half a second
takes many seconds on a busy machine: the limits grow with the number of programs that wait.
"""

from __future__ import annotations

import os

from grading.run import sandbox_runner
from grading.sandbox.limits import Limits

#: Seconds for one cell, and for all of a submission, on a machine that does nothing else.
CELL_SECONDS, SUBMISSION_SECONDS = 5.0, 45.0
#: Where the processes of a class find how busy the machine was when it was graded.
SHARE = "TESTS_SHARE"


def measure() -> float:
    """Return how many programs wait for each core, one at least, and tell processes to come.

    Workers of pytest that have just started are not in the machine's average yet.
    """
    workers = float(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    waiting = max(os.getloadavg()[0], workers)
    share = max(1.0, waiting / (os.cpu_count() or 1))
    os.environ[SHARE] = str(share)
    return share


def make(sandbox: bool = True) -> sandbox_runner.SandboxEngine:
    """Return the engine."""
    share = float(os.environ[SHARE])
    sandbox_runner.CELL_SECONDS = CELL_SECONDS * share
    sandbox_runner.LIMITS = Limits(
        wall_seconds=60.0 * share,
        cpu_seconds=6,
        memory_bytes=768 << 20,
        processes=24,
        file_bytes=8 << 20,
    )
    return sandbox_runner.make(sandbox)
