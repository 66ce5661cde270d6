"""What a session in the sandbox may use, how that is imposed, and how it is measured.

Runs on both sides: the grader names the limits, the warm process inside the sandbox imposes them.
"""

from __future__ import annotations

import contextlib
import os
import resource
from dataclasses import dataclass, fields

#: Room in the address space beside the data: mapped files, stacks, the allocator's reservations.
ADDRESS_SLACK = 1 << 30
OPEN_FILES = 256
#: Files in the scratch folders and in shared memory, sockets, and descriptors for each process
#: that is allowed: each takes memory of the kernel's, a socket or a pipe with all that is in it.
MOST_FILES, MOST_SOCKETS, DESCRIPTORS_EACH = 20_000, 128, 64
#: Left alone, glibc takes large blocks from its heap once one was freed, and an aligned block
#: doesn't fit into the hole that one of its size has left: a loop over tensors of 19 MB filled
#: 2 GiB. From here on each has a mapping of its own, and goes back to the system.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20)}
#: Bytes of a process that RLIMIT_DATA leaves out, or that the kernel has not counted yet.
COUNT_SLACK = 16 << 20


@dataclass(frozen=True)
class Limits:
    """What one session may use, all its processes together.

    `memory_bytes` counts what comes on top of the warm process, scratch files included. Those may
    hold twice `file_bytes`, and each file at most `file_bytes`. `output_bytes` bounds what is
    written to the file descriptors 1 and 2; what goes through the session's own pipe is its
    reader's to bound. `processes` counts threads as well.

    Raises:
        ValueError: if a limit is not a positive number, or a whole number is needed.

    """

    wall_seconds: float = 180.0
    cpu_seconds: int = 120
    memory_bytes: int = 2 << 30
    processes: int = 32
    file_bytes: int = 256 << 20
    output_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        """Refuse what is not a limit."""
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 < value < float("inf"):
                raise ValueError(
                    f"{field.name}: expected a positive number, got {value!r}"
                )
            if field.name != "wall_seconds" and not isinstance(value, int):
                raise ValueError(
                    f"{field.name}: expected a whole number, got {value!r}"
                )


@dataclass(frozen=True)
class Usage:
    """What processes use: seconds of CPU (with their ended children), bytes, threads, files.

    `descriptors` are those that a process has room for, of 64 or 256: more is not told.
    """

    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    processes: int = 0
    descriptors: int = 0


def impose(limits: Limits, *, own_namespace: bool) -> None:
    """Limit this process and what it will start.

    Memory is limited by RLIMIT_DATA: it counts what can be written, so that torch's reservations
    and mapped libraries do not matter. RLIMIT_AS bounds shared mappings, which it leaves out.
    RLIMIT_NPROC counts a user's processes, outside of the sandbox as well on a kernel before
    5.14, and nothing for root: it is set only where the sandbox has a user of its own.
    """
    size = _status("self").get("VmSize", 0)
    data = _status("self").get("VmData", 0)
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_DATA: data + limits.memory_bytes,
        resource.RLIMIT_AS: size + limits.memory_bytes + ADDRESS_SLACK,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_MEMLOCK: 1 << 16,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: OPEN_FILES,  # timers, too: one count for all of a user's
    }
    if own_namespace:
        wanted[resource.RLIMIT_NPROC] = limits.processes + 1  # the warm process counts
    for kind, value in wanted.items():
        most = resource.getrlimit(kind)[1]
        hard = (
            value + 1 if kind == resource.RLIMIT_CPU else value
        )  # SIGXCPU, then SIGKILL
        if most != resource.RLIM_INFINITY:
            value, hard = min(value, most), min(hard, most)
        resource.setrlimit(kind, (value, hard))


def measure(processes: list[int], base_memory: int, volumes: list[str]) -> Usage:
    """Return what these processes use; one that ends meanwhile counts as nothing.

    Shared memory is what the volumes hold: a page stays there when no process shows it any more.
    Without volumes it is what processes show.

    Args:
        processes: their ids.
        base_memory: bytes that each of them shares with the warm process, not counted.
        volumes: where their files are, each the root of a file system in memory.

    """
    ticks = os.sysconf("SC_CLK_TCK")
    cpu, memory, shared, threads, descriptors = 0.0, 0, 0, 0, 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{process}/stat", "rb") as file:
                numbers = file.read().rpartition(b")")[2].split()  # from the state on
            status = _status(process)
            cpu += sum(int(number) for number in numbers[11:15]) / ticks
            threads += int(numbers[17])
            memory += max(0, status.get("RssAnon", 0) - base_memory) + sum(
                status.get(name, 0) for name in ("VmSwap", "VmPTE", "HugetlbPages")
            )
            shared += status.get("RssShmem", 0)
            descriptors += status.get("FDSize", 0)
    held = [os.statvfs(folder) for folder in volumes]
    kept = sum((one.f_blocks - one.f_bfree) * one.f_frsize for one in held)
    return Usage(cpu, memory + max(shared, kept), threads, descriptors)


def count_files(folders: list[str]) -> int:
    """Return how many files these file systems hold; each folder is the root of one."""
    found = [os.statvfs(folder) for folder in folders]
    return sum(one.f_files - one.f_ffree for one in found)


def count_sockets() -> int:
    """Return how many sockets there are in this process's network namespace."""
    with open("/proc/net/sockstat", encoding="ascii") as file:
        return int(file.readline().split()[2])


def unfilled_memory() -> int:
    """Return the bytes by which one process may exceed its limit before it gets an error.

    RLIMIT_DATA counts what a process has reserved. A fork may first fill what this process had
    reserved and not used. The rest is for its stack, and for the kernel's count of pages, which
    is some pages behind on each processor.
    """
    sizes = _status("self")
    return max(0, sizes.get("VmData", 0) - sizes.get("RssAnon", 0)) + COUNT_SLACK


def private_memory() -> int:
    """Return the bytes of this process's own memory that its forks will share with it."""
    return _status("self").get("RssAnon", 0)


def fingerprint() -> dict[str, object]:
    """Return what another process of the same user could have changed about this one."""
    kinds = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    with open("/proc/self/oom_score_adj", encoding="ascii") as file:
        score = file.read()
    return {
        "limits": {kind: resource.getrlimit(getattr(resource, kind)) for kind in kinds},
        "cpus": sorted(os.sched_getaffinity(0)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "scheduler": os.sched_getscheduler(0),
        "folder": os.getcwd(),
        "oom_score_adj": score,
        "threads": len(os.listdir("/proc/self/task")),
    }


def _status(process: int | str) -> dict[str, int]:
    """Return the numbers in /proc/<process>/status; sizes are in bytes."""
    numbers = {}
    with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            number, _, unit = value.strip().partition(" ")
            if number.isdecimal() and unit in ("", "kB"):
                numbers[name] = int(number) * (1024 if unit else 1)
    return numbers
