"""The real engine with short limits: attacks that only end at a limit end soon."""

from __future__ import annotations

from grading.run import sandbox_runner
from grading.sandbox.limits import Limits

#: Seconds for one cell.
CELL_SECONDS = 6.0
LIMITS = Limits(
    wall_seconds=60.0,
    cpu_seconds=10,
    memory_bytes=768 << 20,
    processes=24,
    file_bytes=8 << 20,
)


def make(sandbox: bool = True) -> sandbox_runner.SandboxEngine:
    """Return the engine."""
    sandbox_runner.CELL_SECONDS, sandbox_runner.LIMITS = CELL_SECONDS, LIMITS
    return sandbox_runner.make(sandbox)
