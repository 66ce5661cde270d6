"""Runs untrusted code: one bubblewrap sandbox a worker, one forked process a session.

A worker has namespaces of its own for processes, network, mounts, IPC, users and host name. It
sees the system and the Python environment read-only, and nothing else of this machine. In it
waits a process that has torch imported; each session is a fork of it, with fresh folders.

    with Worker(Limits(wall_seconds=60)) as worker:
        with worker.session("grading.bridge.student:serve") as session:
            channel = Channel(session.read_fd, session.write_fd, max_bytes=1 << 26)
        print(session.close().limit)

Linux only. A worker dies with the thread that made it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grading.sandbox import cgroup
from grading.sandbox.bubblewrap import (
    CLOSED,
    FILES,
    GRADING,
    HELP,
    SandboxMissing,
    command,
    contents,
    find_bubblewrap,
    unreadable,
)
from grading.sandbox.limits import MALLOC, Limits

#: Ids that nobody is expected to have, for a grader that is root. One a worker.
USERS = range(61184, 65520)
START_SECONDS = 120.0
#: How long a session may take to end by itself when it is closed, and a worker to clear up.
GRACE_SECONDS = 1.0
ANSWER_SECONDS = 20.0
MESSAGE_BYTES = 1 << 16


class WorkerBroken(RuntimeError):
    """A worker did not start, or was thrown away: make a new one."""


@dataclass(frozen=True)
class Exit:
    """How a session ended.

    `code` is the exit status, or None where `signal` ended it. `limit` names the limit that was
    hit: "time", "cpu", "memory", "output", "processes", "files", "sockets" (too many of them),
    "killed" (ended by a signal that no limit explains, or still busy when it was closed), or None.
    `output` is the end of what was written to the descriptors 1 and 2: a student's text. `left`
    says why the worker was thrown away afterwards, if it was.
    """

    code: int | None = None
    signal: int | None = None
    limit: str | None = None
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    output: str = ""
    left: tuple[str, ...] = ()


class Worker:
    """A sandbox with a warm process in it, which runs one session at a time.

    Args:
        limits: what each session may use.
        sandbox: False runs the same warm process with the grader's rights and no isolation.
        preload: modules to import before the first session.
        modules: Python files that sessions can import, besides this package's student side.

    Attributes:
        healthy: False once it was closed or thrown away; it then takes no more sessions.
        sandboxed: whether student code is isolated.

    Raises:
        SandboxMissing: if the sandbox can't be made.
        WorkerBroken: if the warm process does not start.

    """

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        *,
        sandbox: bool = True,
        preload: Sequence[str] = ("torch", "torch.optim", "numpy", "matplotlib"),
        modules: Sequence[Path] = (),
    ) -> None:
        self.limits = limits
        self.sandboxed = sandbox
        self.healthy = True
        self._current: Session | None = None
        self._folder: str | None = None
        core, self._claim = cgroup.core() if sandbox else (None, None)
        self._group = cgroup.group() if sandbox else None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        setup = {
            "limits": asdict(limits),
            "preload": tuple(preload),
            "scratch": "/tmp",
            "shared": "/dev/shm",
            "user": None,
            "core": core,
            "sandboxed": sandbox,
        }
        if sandbox and os.geteuid() == 0:
            setup["user"] = secrets.choice(USERS)
        try:
            with theirs, contextlib.ExitStack() as stack:
                if sandbox:
                    bwrap, files = find_bubblewrap(), {}
                    for target, data in contents(
                        modules, setup["user"] or 1000
                    ).items():
                        file = stack.enter_context(tempfile.TemporaryFile())
                        file.write(data)
                        file.seek(0)
                        files[target] = file.fileno()
                    start = command(bwrap, limits, files)
                    if self._group is not None:
                        start = self._group.start(start)
                    self._start(start, "/grader", theirs.fileno(), *files.values())
                else:
                    self._folder = tempfile.mkdtemp(prefix="grading-")
                    setup.update(scratch=self._copy(self._folder, modules), shared=None)
                    self._start([sys.executable], self._folder, theirs.fileno())
        except BaseException:
            self._control.close()
            self._errors.close()
            self._remove_traces()
            raise
        self._send(setup)
        answer = self._receive(START_SECONDS)
        if answer is None or answer["event"] != "ready":
            words = self._words()
            self.close()
            if sandbox and words.startswith("bwrap: "):
                raise SandboxMissing(HELP.format(reason=words))
            if setup["user"] is not None and (path := unreadable()):
                raise SandboxMissing(CLOSED.format(path=path, prefix=sys.prefix))
            raise WorkerBroken(
                f"the worker's warm process did not start:\n{words or 'it said nothing'}\n"
                f"It needs these modules: {', '.join(preload)}."
            )
        if self._group is not None and not self._group.holds:  # it can't be entered
            self._group.remove()
            self._group = None
        if self._group is not None:
            try:
                self._group.limit(
                    answer["memory"] + limits.memory_bytes, limits.processes
                )
            except OSError as error:
                self.close()
                raise WorkerBroken(
                    f"the worker's control group takes no limit: {error}"
                ) from None

    def _start(self, call: list[str], place: str, *fds: int) -> None:
        """Start the warm process; `fds` begin with its control socket."""
        program = (
            f"import sys; sys.path.insert(0, {place!r}); "
            "from grading.sandbox import zygote; "
        )
        self._process = subprocess.Popen(
            [*call, "-s", "-P", "-B", "-c", f"{program}zygote.main({fds[0]})"],
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            cwd="/",
            pass_fds=fds,
            # Also for threads that libraries start when they are loaded. The rest it sets itself.
            env={
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "PYTHONHASHSEED": "0",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                **MALLOC,
            },
        )

    def _copy(self, place: str, modules: Sequence[Path]) -> str:
        """Put the student side's files into a folder, for want of a sandbox; return scratch."""
        for name in FILES:
            os.makedirs(os.path.dirname(f"{place}/grading/{name}"), exist_ok=True)
            shutil.copy(GRADING / name, f"{place}/grading/{name}")
        for path in modules:
            shutil.copy(path, place)
        os.mkdir(f"{place}/scratch")
        return f"{place}/scratch"

    def _words(self) -> str:
        """Return the end of what the warm process said."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:]

    def _send(self, message: dict, fds: Sequence[int] = ()) -> None:
        """Send an order; if nobody is there to take it, `_receive` finds out."""
        with contextlib.suppress(OSError):
            socket.send_fds(self._control, [json.dumps(message).encode()], fds)

    def _receive(self, seconds: float) -> dict | None:
        """Return the warm process's next message, or None if there is none in time."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        with contextlib.suppress(OSError):
            if poll.poll(max(0.0, seconds) * 1000) and (
                data := self._control.recv(MESSAGE_BYTES)
            ):
                return json.loads(
                    data
                )  # it comes from this package's code in the sandbox
        return None

    def session(
        self,
        entry: str = "grading.bridge.student:serve",
        descriptors: Sequence[int] = (),
    ) -> Session:
        """Start a session: a fresh process that calls entry(read_fd, write_fd).

        Args:
            entry: "module:function", which must be importable in the sandbox.
            descriptors: open files that it gets as well, as 5, 6 and so on.

        Raises:
            WorkerBroken: if the worker was thrown away.
            RuntimeError: if its last session is not closed.
            ValueError: if there is no such function.

        """
        if not self.healthy:
            raise WorkerBroken("this worker was closed or thrown away: make a new one")
        if self._current is not None and not self._current.closed:
            raise RuntimeError(
                "a worker runs one session at a time: close the last one first"
            )
        self._current = Session(self, entry, descriptors)
        return self._current

    @property
    def killed(self) -> int:
        """How many processes its control group has ended for their memory."""
        return self._group.killed if self._group is not None else 0

    def discard(self) -> None:
        """Kill the sandbox with all that is in it, and remove what it left."""
        self.healthy = False
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # wakes a session's thread
        self._remove_traces()

    def _remove_traces(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._claim is not None:
            self._claim.close()
        if self._group is not None:
            self._group.remove()

    def close(self) -> None:
        """End the worker, and a session that still runs in it."""
        if self._current is not None:
            self._current.close()
        self.discard()
        self._control.close()
        self._errors.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """A process in the sandbox, and the pipes to it: made by `Worker.session`.

    Attributes:
        read_fd: what the process writes can be read here.
        write_fd: what is written here, the process reads.
        closed: whether `close` was called.

    """

    def __init__(
        self, worker: Worker, entry: str, descriptors: Sequence[int] = ()
    ) -> None:
        self._worker = worker
        self.closed = False
        self._exit = Exit()
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._killed = worker.killed
        their_read, self.write_fd = os.pipe()
        self.read_fd, their_write = os.pipe()
        self._pipes = {fd: _identity(fd) for fd in (self.read_fd, self.write_fd)}
        worker._send(
            {"do": "session", "entry": entry}, (their_read, their_write, *descriptors)
        )
        os.close(their_read)
        os.close(their_write)
        self._began = time.monotonic()
        answer = worker._receive(ANSWER_SECONDS)
        if answer is None or answer["event"] != "started":
            self.closed = True
            self._close_pipes()
            if answer is not None:
                raise ValueError(f"no session can run {entry!r}: {answer['reason']}")
            worker.discard()
            raise WorkerBroken(
                "the worker's warm process does not answer: make a new worker"
            )
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """Wait for the end of the session, or end it when its time is over."""
        worker = self._worker
        until = self._began + worker.limits.wall_seconds
        message = worker._receive(until - time.monotonic())
        expired = (
            message is None and time.monotonic() >= until and not self._stopped.is_set()
        )
        if expired:
            worker._send({"do": "stop"})
            message = worker._receive(ANSWER_SECONDS)
        stopped = "time" if expired else "killed"
        try:
            del message["event"]
            if message["limit"] == "stopped":
                message["limit"] = stopped
            if worker.killed > self._killed:
                message["limit"] = "memory"
            self._exit = Exit(**{**message, "left": tuple(message["left"])})
        except (
            TypeError,
            KeyError,
        ):  # no message, or one that the warm process never sends
            self._exit = Exit(limit=stopped, left=("the warm process does not answer",))
        if self._exit.left:
            worker.discard()
        self._ended.set()

    def _close_pipes(self) -> None:
        """Close the parent's ends, unless their reader did (and the number may be reused)."""
        for fd, identity in self._pipes.items():
            with contextlib.suppress(OSError):
                if _identity(fd) == identity:
                    os.close(fd)
        self._pipes = {}

    @property
    def running(self) -> bool:
        """Whether the session's own process is still there."""
        return not self._ended.is_set()

    def signal(self, number: int) -> None:
        """Send the session's own process a signal, if it still runs."""
        if self.running:
            self._worker._send({"do": "signal", "number": number})

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the session has ended and is cleared up; False if it still runs."""
        return self._ended.wait(seconds)

    def close(self) -> Exit:
        """End the session, clear up after it, and say how it ended.

        A process that reads the end of its pipe and leaves within a second ends in its own way;
        otherwise it is killed. Nothing of it is left after this: else the worker is thrown away.
        """
        if not self.closed:
            self.closed = True
            self._close_pipes()
            if not self._ended.wait(GRACE_SECONDS):
                self._stopped.set()
                self._worker._send({"do": "stop"})
                if not self._ended.wait(ANSWER_SECONDS):
                    self._worker.discard()
            self._ended.wait()
        return self._exit

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _identity(fd: int) -> tuple[int, int]:
    """Return what tells a file descriptor's pipe from others."""
    info = os.fstat(fd)
    return info.st_dev, info.st_ino
