"""Limits on the trusted side, while a test cell is executed: its time, its memory, its output."""

from __future__ import annotations

import contextlib
import ctypes
import io
import resource
import threading
from collections.abc import Iterator

#: Bytes that one submission may need on the trusted side, as for a list of what it yields.
ROOM = 2 << 30


class TestTimeout(BaseException):
    """A test cell ran for too long on the trusted side."""

    __test__ = False


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Show nothing of what is printed in a block."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


class MemoryLimit:
    """Bounds the memory of this process while a cell is executed: too much is a MemoryError.

    A submission can return numbers without end, and a test may want them all in a list.

    Args:
        before: bytes of this process before the submission's first cell. What a cell leaves
            behind counts for the next ones: else a little more would be allowed each time.

    """

    _lock, _count, _before = threading.Lock(), 0, (0, 0)

    def __init__(self, before: int) -> None:
        self._wanted = before + ROOM

    def __enter__(self) -> None:
        with MemoryLimit._lock:
            MemoryLimit._count += 1
            if MemoryLimit._count == 1:
                MemoryLimit._before = soft, hard = resource.getrlimit(
                    resource.RLIMIT_DATA
                )
                if all(
                    limit == resource.RLIM_INFINITY or self._wanted < limit
                    for limit in (soft, hard)
                ):
                    resource.setrlimit(resource.RLIMIT_DATA, (self._wanted, hard))

    def __exit__(self, *_: object) -> None:
        with MemoryLimit._lock:
            MemoryLimit._count -= 1
            if MemoryLimit._count == 0:
                resource.setrlimit(resource.RLIMIT_DATA, MemoryLimit._before)


def data_size() -> int:
    """Return the bytes of this process that RLIMIT_DATA counts; 0 where the system has no /proc."""
    with (
        contextlib.suppress(OSError),
        open("/proc/self/status", encoding="ascii") as file,
    ):
        for line in file:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0


@contextlib.contextmanager
def interrupt(seconds: float | None) -> Iterator[None]:
    """Raise TestTimeout in this thread after so many seconds, and again while that is swallowed.

    Python swallows what is raised in a `__del__`, and a test may catch everything.
    """
    if seconds is None:
        yield
        return
    lock, over, thread = (
        threading.Lock(),
        threading.Event(),
        ctypes.c_ulong(threading.get_ident()),
    )
    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch() -> None:
        wait = seconds + 1.0  # a call's own limit comes first
        while not over.wait(wait):
            with lock:
                if not over.is_set():
                    throw(thread, ctypes.py_object(TestTimeout))
            wait = 1.0

    try:
        threading.Thread(target=watch, daemon=True).start()
        yield
    finally:
        # What was raised before the lock was taken arrives in `set`, at the latest. Taken back, it
        # would leave CPython 3.11 waiting for it: then no code can be traced, it never ends.
        while True:
            try:
                with lock:
                    over.set()
                break
            except TestTimeout:
                continue
