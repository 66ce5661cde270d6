"""The real engine with short limits: attacks that only end at a limit end soon."""

from __future__ import annotations

from grading import sandboxed
from grading.sandbox import Limits

#: Seconds for one cell.
CELL_SECONDS = 6.0
LIMITS = Limits(
    wall_seconds=60.0,
    cpu_seconds=10,
    memory_bytes=768 << 20,
    processes=24,
    file_bytes=8 << 20,
)


def make(sandbox: bool = True) -> sandboxed.SandboxEngine:
    """Return the engine."""
    sandboxed.CELL_SECONDS, sandboxed.LIMITS = CELL_SECONDS, LIMITS
    return sandboxed.make(sandbox)
