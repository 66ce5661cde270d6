"""The warm process inside the sandbox: imports the libraries once, forks a child a session.

It takes its orders as JSON from a control socket, which no child gets. It is process 1 of the
sandbox's own process namespace: the kernel drops signals that other processes in there send it,
and kills all of them when it ends. After a session it kills what is left and clears what is
writable; what it can't clear, it reports, and the grader throws the worker away.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass

from grading.sandbox import confine, limits
from grading.sandbox.watch import MESSAGE_BYTES, Watch

CLEAR_SECONDS = 5.0
#: Where a session's read and write ends are in its process; what else it gets comes after them.
READ_FD, WRITE_FD = 3, 4
MOST_DESCRIPTORS = 16
#: Added to a session's nice value: the grader's own processes come first, also on its processor.
NICE = 5


@dataclass(frozen=True)
class Setup:
    """What the grader tells a new worker."""

    limits: limits.Limits
    preload: tuple[str, ...]
    scratch: str
    shared: str | None  # the folder of POSIX shared memory, if it is the sandbox's own
    user: int | None  # whom to become
    core: int | None  # the processor to stay on
    sandboxed: bool


class Zygote:
    """Serves one grader over the control socket."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        message = json.loads(control.recv(MESSAGE_BYTES))
        message["limits"] = limits.Limits(**message["limits"])
        message["preload"] = tuple(message["preload"])
        self.setup = Setup(**message)
        self.limits = self.setup.limits
        if self.setup.sandboxed and os.getpid() != 1:
            raise RuntimeError("the sandbox has no process namespace of its own")
        if self.setup.core is not None:
            os.sched_setaffinity(0, {self.setup.core})
        if self.setup.user is not None:
            for folder in (self.setup.scratch, self.setup.shared):
                os.chown(
                    folder, self.setup.user, self.setup.user
                )  # of its own: it may reset them
            confine.become(self.setup.user)
        if self.setup.sandboxed:
            confine.drop_capabilities()
        else:
            confine.prctl(
                confine.PR_SET_CHILD_SUBREAPER, 1
            )  # orphans come here, as to process 1
        confine.die_with_parent()  # the change of user has undone it
        confine.prctl(confine.PR_SET_DUMPABLE, 0)  # no ptrace, no /proc/<pid>/mem
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Roots of file systems of this sandbox alone, in which sessions can write.
        self.volumes = (
            [self.setup.scratch, self.setup.shared] if self.setup.sandboxed else []
        )
        self._set_environment()
        self._folders()
        self._warm()
        self._clear(self.setup.scratch)
        self.fingerprint = limits.fingerprint()
        self.memory = limits.private_memory()
        self.memory_slack = limits.unfilled_memory()
        self._send(event="ready", memory=self.memory + self.memory_slack)

    def _set_environment(self) -> None:
        """Set the environment of this process and of each session: the same paths each time."""
        scratch = self.setup.scratch
        os.environ.clear()
        os.environ.update(
            {
                "HOME": f"{scratch}/home",
                "TMPDIR": f"{scratch}/tmp",
                "MPLCONFIGDIR": f"{scratch}/mpl",
                "XDG_CACHE_HOME": f"{scratch}/home",
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "USER": "student",
                "LOGNAME": "student",
                "MPLBACKEND": "Agg",
                "PYTHONHASHSEED": "0",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                "CUDA_VISIBLE_DEVICES": "",
                **limits.MALLOC,
            }
        )

    def _folders(self) -> None:
        """Make a session's folders."""
        for name in ("home", "tmp", "mpl", "work"):
            os.mkdir(os.path.join(self.setup.scratch, name), 0o700)

    def _warm(self) -> None:
        """Import what sessions need, and check that what a fork would share is harmless."""
        gc.disable()  # an import makes much and leaves little to collect
        for name in self.setup.preload:
            importlib.import_module(name)
        if "matplotlib" in self.setup.preload:
            importlib.import_module("matplotlib.pyplot")
        if "torch" in sys.modules:
            torch = sys.modules["torch"]
            torch.set_num_threads(1)
        if "torch.optim" in self.setup.preload:
            weight = torch.nn.Parameter(torch.zeros(1))
            weight.grad = torch.zeros(1)
            torch.optim.Adam(
                [weight]
            ).step()  # the first optimiser imports for a second
        if "torch.autograd" in self.setup.preload:
            weight = torch.zeros(1, requires_grad=True)
            torch.autograd.grad(
                2 * weight, weight, torch.ones(1)
            )  # imports for half a second
        self._check_warm()
        gc.collect()
        gc.freeze()  # never collected: forks share its memory
        gc.enable()

    def _check_warm(self) -> None:
        """Refuse to fork threads, or memory that all sessions would share.

        Raises:
            RuntimeError: naming what is in the way.

        """
        deadline = time.monotonic() + 10
        while (threads := len(os.listdir("/proc/self/task"))) > 1:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"the warm process has {threads} threads, it must have one"
                )
            time.sleep(0.01)  # of a library's timer that is about to end
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            shared = [
                line.strip() for line in file if line.split()[1].startswith("rw-s")
            ]
        if shared:
            raise RuntimeError(
                f"the warm process has memory that sessions would share: {shared}"
            )

    def _send(self, **message: object) -> None:
        self.control.send(json.dumps(message).encode())

    def serve(self) -> None:
        """Run sessions, one after the other, until the grader closes the control socket."""
        while True:
            data, fds, _, _ = socket.recv_fds(
                self.control, MESSAGE_BYTES, MOST_DESCRIPTORS
            )
            if not data:
                return
            order = json.loads(data)
            if order["do"] != "session":
                continue  # a stop or a signal that crossed the session's own end
            try:
                module, _, name = order["entry"].partition(":")
                entry = getattr(importlib.import_module(module), name)
                self._check_warm()
            except Exception as error:
                self._send(event="refused", reason=f"{type(error).__name__}: {error}")
                for fd in fds:
                    os.close(fd)
                continue
            self._run(entry, fds)

    def _run(self, entry: object, fds: list[int]) -> None:
        """Fork one session, watch it, clear up, and report."""
        self._folders()
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            _child(self, entry, fds, into)
        os.close(into)
        for fd in fds:
            os.close(fd)
        watch = Watch(self, child, out)
        self._send(event="started")
        try:
            watch.run()
            left = self._clear_all()
        finally:
            watch.close()
        changed = [
            name
            for name, value in limits.fingerprint().items()
            if value != self.fingerprint[name]
        ]
        if changed:
            left.append(f"the warm process was changed: {', '.join(changed)}")
        status = watch.status
        self._send(
            event="ended",
            code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            limit=watch.limit,
            cpu_seconds=round(watch.cpu, 3),
            memory_bytes=watch.peak,
            output=watch.tail(),
            left=left,
        )

    def others(self) -> list[int]:
        """Return the ids of all other processes in the sandbox; without one, of descendants."""
        me = os.getpid()
        found = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and int(name) != me
        ]
        if self.setup.sandboxed:
            return found
        parents = {}
        for process in found:
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{process}/stat", "rb") as file,
            ):
                parents[process] = int(file.read().rpartition(b")")[2].split()[1])
        tree = collections.deque([me])
        mine: list[int] = []
        while tree:
            parent = tree.popleft()
            children = [process for process, its in parents.items() if its == parent]
            mine += children
            tree += children
        return mine

    def kill_others(self) -> None:
        """Send SIGKILL to all other processes; in the sandbox, at once."""
        if self.setup.sandboxed and os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        for process in self.others():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _clear_all(self) -> list[str]:
        """Remove every trace of the session; return what could not be removed."""
        deadline = time.monotonic() + CLEAR_SECONDS
        while True:
            self.kill_others()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            survivors = self.others()
            if not survivors or time.monotonic() > deadline:
                break
            time.sleep(0.002)
        left = [f"processes survive: {survivors[:10]}"] if survivors else []
        for folder in (self.setup.scratch, self.setup.shared):
            if folder is not None:
                try:
                    self._clear(folder)
                except OSError as error:
                    left.append(f"{folder} can't be cleared: {error.strerror}")
        if self.setup.sandboxed:
            for kind in ("shm", "sem", "msg"):
                with open(f"/proc/sysvipc/{kind}", encoding="ascii") as file:
                    if len(file.readlines()) > 1:
                        left.append(f"System V objects are left: {kind}")
        return left

    def _clear(self, folder: str) -> None:
        """Empty a folder, however deep and whatever its rights, and reset its own attributes."""
        os.chmod(folder, 0o700)
        spare = 0
        while entries := list(os.scandir(folder)):
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                for inner in list(os.scandir(entry.path)):
                    if inner.is_dir(
                        follow_symlinks=False
                    ):  # one level up: no path grows long
                        os.chmod(inner.path, 0o700)
                        while os.path.lexists(free := f"{folder}/.{spare}"):
                            spare += 1
                        os.rename(inner.path, free)
                    else:
                        os.unlink(inner.path)
                os.rmdir(entry.path)
        for name in os.listxattr(folder):
            os.removexattr(folder, name)
        os.utime(folder, (0, 0))


def _child(zygote: Zygote, entry: object, fds: list[int], output: int) -> None:
    """Become a session: its own descriptors, folders, limits, generators; run the entry, exit."""
    code = 1
    try:
        zygote.control.detach()
        last = READ_FD + len(fds) - 1
        high = [os.dup(fd) for fd in (*fds, output)]
        while min(high) <= last:
            high = [os.dup(fd) for fd in high]
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in (
            (null, 0),
            (high[-1], 1),
            (high[-1], 2),
            *zip(high[:-1], range(READ_FD, last + 1), strict=True),
        ):
            os.dup2(source, target, inheritable=target < READ_FD)
        os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))
        os.setsid()
        confine.die_with_parent()
        os.chdir(os.path.join(zygote.setup.scratch, "work"))
        os.umask(0o077)
        os.nice(NICE)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(OSError):  # if memory runs out, not the grader
            confine.prctl(confine.PR_SET_DUMPABLE, 1)
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
                file.write("1000")
        confine.prctl(confine.PR_SET_DUMPABLE, 0)
        limits.impose(zygote.limits, own_namespace=zygote.setup.sandboxed)
        if zygote.setup.sandboxed:
            confine.filter_system_calls()
        random.seed(0)
        for name, seed in (("numpy", "random.seed"), ("torch", "manual_seed")):
            if name in sys.modules:
                function = sys.modules[name]
                for part in seed.split("."):
                    function = getattr(function, part)
                function(0)
        entry(READ_FD, WRITE_FD)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def main(control: int) -> None:
    """Serve the grader at the other end of this socket until it closes it."""
    os.closerange(3, control)  # what bubblewrap may have left open
    os.closerange(control + 1, os.sysconf("SC_OPEN_MAX"))
    with socket.socket(fileno=control) as connection:
        Zygote(connection).serve()
