"""Measures a running session from the warm process, and ends it at its limits."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import select
import signal
import socket
from typing import Protocol

from grading.sandbox import limits

TICK_SECONDS = 0.05
OUTPUT_KEPT = 4096
MESSAGE_BYTES = 1 << 16


class Zygote(Protocol):
    """What is needed of the warm process."""

    control: socket.socket
    limits: limits.Limits
    memory: int
    memory_slack: int
    volumes: list[str]

    def others(self) -> list[int]:
        """Return the ids of all other processes."""

    def kill_others(self) -> None:
        """Kill all other processes."""


class Watch:
    """Waits for the end of a session; reads its output and measures it meanwhile."""

    def __init__(self, zygote: Zygote, child: int, out: int) -> None:
        self.zygote = zygote
        self.child = child
        self.out = out
        # The session can open its end for reading, too, and take away what was seen to be there.
        os.set_blocking(out, False)
        self.fd = os.pidfd_open(child)
        self.limit: str | None = None
        self.status = 0
        self.ended = False
        self.reaped_cpu = self.cpu = 0.0
        self.peak = 0
        self.written = 0
        self.kept: collections.deque[bytes] = collections.deque(maxlen=4)

    def run(self) -> None:
        """Return when the session's own process has ended, or was made to."""
        poll = select.poll()
        for fd in (self.fd, self.out, self.zygote.control.fileno()):
            poll.register(fd, select.POLLIN)
        while not self.ended:
            for fd, _ in poll.poll(TICK_SECONDS * 1000):
                if fd == self.out and not self._drain():
                    poll.unregister(self.out)
                elif fd == self.zygote.control.fileno():
                    order = self.zygote.control.recv(MESSAGE_BYTES)
                    if not order:
                        os._exit(0)  # the grader is gone: the kernel ends the rest
                    self._obey(json.loads(order))
            self._reap()
            if not self.ended:
                self._measure()
        self._drain()

    def _obey(self, order: dict) -> None:
        """Stop the session, or send its own process a signal."""
        if order["do"] != "signal":
            self._stop("stopped")
            return
        with contextlib.suppress(ProcessLookupError):  # ended, and not reaped yet
            signal.pidfd_send_signal(self.fd, order["number"])

    def _drain(self) -> bool:
        """Count and keep what was written to 1 and 2; False at its end."""
        try:
            data = os.read(self.out, 1 << 16)
        except BlockingIOError:
            return True
        self.written += len(data)
        self.kept.append(data[-OUTPUT_KEPT:])
        if self.written > self.zygote.limits.output_bytes:
            self._stop("output")
        return bool(data)

    def _stop(self, limit: str) -> None:
        self.limit = self.limit or limit
        self.zygote.kill_others()

    def _reap(self) -> None:
        """Collect ended processes: the session's own, and orphans."""
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status, usage = os.wait4(-1, os.WNOHANG)
                if not process:
                    return
                self.reaped_cpu += usage.ru_utime + usage.ru_stime
                self.cpu = max(self.cpu, self.reaped_cpu)
                if process == self.child:
                    self.status, self.ended = status, True
                    self._explain()

    def _measure(self) -> None:
        """Stop the session if its processes together use too much.

        One process that takes too much memory is to get an error instead, and no end.
        """
        most = self.zygote.limits
        volumes = self.zygote.volumes
        usage = limits.measure(self.zygote.others(), self.zygote.memory, volumes)
        self.cpu = max(self.cpu, self.reaped_cpu + usage.cpu_seconds)
        self.peak = max(self.peak, usage.memory_bytes)
        for limit, used, allowed in (
            ("cpu", self.cpu, most.cpu_seconds),
            (
                "memory",
                usage.memory_bytes,
                most.memory_bytes + self.zygote.memory_slack,
            ),
            ("processes", usage.processes, most.processes + 1),
            (
                "files",
                usage.descriptors,
                (most.processes + 1) * limits.DESCRIPTORS_EACH,
            ),
            ("files", limits.count_files(volumes), limits.MOST_FILES),
            ("sockets", limits.count_sockets() if volumes else 0, limits.MOST_SOCKETS),
        ):
            if used > allowed:
                self._stop(limit)
                return

    def _explain(self) -> None:
        """Name the limit behind the signal that ended the session's own process."""
        if self.limit or not os.WIFSIGNALED(self.status):
            return
        most = self.zygote.limits
        if os.WTERMSIG(self.status) == signal.SIGXCPU or self.cpu >= most.cpu_seconds:
            self.limit = "cpu"
        elif self.peak > 0.8 * most.memory_bytes:
            self.limit = "memory"
        else:
            self.limit = "killed"

    def tail(self) -> str:
        """Return the end of what was written to 1 and 2."""
        return b"".join(self.kept)[-OUTPUT_KEPT:].decode(errors="replace")

    def close(self) -> None:
        """Close its descriptors."""
        os.close(self.fd)
        os.close(self.out)
