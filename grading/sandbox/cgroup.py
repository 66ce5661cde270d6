"""A worker's processor and control group.

Limits on processes can't see all memory: the kernel's own, for one. A control group (version 2)
counts it. The grader makes one below its own, or below one of those above it, wherever that has
the controllers and this user may write.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import socket
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = {"memory", "pids"}
#: Processes of a worker beside its session's: bubblewrap, the warm process.
PROCESSES_BESIDE = 8
#: Bytes for the kernel's tables, the worker's pipes and such.
BYTES_BESIDE = 64 << 20
REMOVE_SECONDS = 2.0
#: Runs a program in a control group; where that fails, the program runs without.
ENTER = '{ echo 0 > "$0/cgroup.procs"; } 2>/dev/null; exec "$@"'

_numbers = itertools.count(1)


def core() -> tuple[int, socket.socket | None]:
    """Return a processor that no other worker has, and what claims it until it is closed.

    Where all are taken, it is any of them, without a claim.
    """
    cores = sorted(os.sched_getaffinity(0))
    for number in cores:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0grading-processor-{number}")  # a name without a file
        except OSError:
            claim.close()
        else:
            return number, claim
    return secrets.choice(cores), None


class Group:
    """A control group of one worker.

    Args:
        folder: of the control group.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, call: list[str]) -> list[str]:
        """Return a program's call that begins in this group."""
        return ["/bin/sh", "-c", ENTER, str(self.folder), *call]

    @property
    def holds(self) -> bool:
        """Whether any process is in it."""
        return bool((self.folder / "cgroup.procs").read_text(encoding="ascii").strip())

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Limit memory of every kind, swap included, and processes.

        Raises:
            OSError: if the kernel refuses.

        """
        for name, value in (
            ("memory.swap.max", 0),
            ("memory.max", memory_bytes + BYTES_BESIDE),
            ("pids.max", processes + PROCESSES_BESIDE),
        ):
            # A kernel without swap has no such file.
            if name != "memory.swap.max" or (self.folder / name).exists():
                (self.folder / name).write_text(str(value), encoding="ascii")

    @property
    def killed(self) -> int:
        """How many processes were ended since they took too much memory."""
        with contextlib.suppress(OSError):
            for line in (
                (self.folder / "memory.events").read_text(encoding="ascii").splitlines()
            ):
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self) -> None:
        """Kill what is left in it, and remove it; if it can't be yet, a later worker does."""
        deadline = time.monotonic() + REMOVE_SECONDS
        if (kill := self.folder / "cgroup.kill").exists():  # since Linux 5.14
            with contextlib.suppress(OSError):
                kill.write_text("1", encoding="ascii")
        while self.folder.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)


def group(root: Path = ROOT, own: str | None = None) -> Group | None:
    """Return a new control group, or None where none can be made.

    Args:
        root: where control groups are.
        own: the group of this process, as /proc/self/cgroup has it.

    """
    own = own or Path("/proc/self/cgroup").read_text(encoding="utf-8")
    lines = [line[3:] for line in own.splitlines() if line.startswith("0::/")]
    here = root / lines[0].lstrip("/") if lines else root
    if ".." in here.parts:  # outside of what this container sees
        return None
    for folder in (here, *here.parents):
        if not folder.is_relative_to(root):
            return None
        with contextlib.suppress(OSError):
            if not CONTROLLERS - set(_words(folder / "cgroup.controllers")):
                return _below(folder)
    return None


def _below(folder: Path) -> Group:
    """Make a group below this one.

    Raises:
        OSError: if this user may not, or the controllers can't be had.

    """
    for name in sorted(CONTROLLERS):
        if name not in _words(folder / "cgroup.subtree_control"):
            with contextlib.suppress(OSError):
                (folder / "cgroup.subtree_control").write_text(
                    f"+{name}", encoding="ascii"
                )
    if CONTROLLERS - set(_words(folder / "cgroup.subtree_control")):
        raise PermissionError(
            f"{folder}: holds processes, so that groups below have no limits"
        )
    for old in folder.glob("grading-*-*"):  # of a grader that was killed
        if not Path("/proc", old.name.split("-")[1]).exists():
            with contextlib.suppress(OSError):
                old.rmdir()
    made = folder / f"grading-{os.getpid()}-{next(_numbers)}"
    made.mkdir()
    return Group(made)


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()
