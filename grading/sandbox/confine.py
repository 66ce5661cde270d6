"""Calls to the Linux kernel that take rights away from a process for good.

Needs nothing but the C library. Filtered system calls fail with EPERM, as for want of a right.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CLONE_NEWUSER = 0x10000000
#: Every flag of clone() that makes a namespace.
CLONE_NEW_ANY = 0x7E020000
ALL = 0xFFFFFFFF
#: AF_UNIX and AF_NETLINK. Others may leave the namespace, or have buffers of many MiB.
FAMILIES = (1, 16)
#: What fcntl may do: F_DUPFD to F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ. A lease or a delegation
#: makes others wait who open the file; locks of ranges and larger pipes take the kernel's memory.
FILE_CONTROL = (0, 1, 2, 3, 4, 1030, 1032)
#: SO_SNDBUF, SO_RCVBUF and their twins for the privileged.
BUFFER_SIZES = (7, 8, 32, 33)

#: Refused: numbers on x86_64 and aarch64, from the kernel's asm/unistd.h.
REFUSED = {
    # reading or steering another process
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    # what neighbours would feel: the processor, a quota that all of a user's processes share,
    # the disk, the cache of its files
    "sched_setaffinity": (203, 122),
    "inotify_init": (253, 26),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "io_setup": (206, 0),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "fadvise64": (221, 223),
    # what would outlive the session's processes, or escape the count of its memory
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "vmsplice": (278, 75),
    "landlock_create_ruleset": (444, 444),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # large and often attacked parts of the kernel that no exercise needs
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "personality": (135, 92),
}
CLONE3 = (435, 435)
#: Calls of which an argument decides: its number, the bits of it that count, and whether they must
#: be or must not be one of these values.
CHECKED = {
    "clone": ((56, 220), 0, CLONE_NEW_ANY, True, (0,)),
    "socket": ((41, 198), 0, ALL, True, FAMILIES),
    "socketpair": ((53, 199), 0, ALL, True, FAMILIES),
    "setsockopt": ((54, 208), 2, ALL, False, BUFFER_SIZES),
    "fcntl": ((72, 25), 1, ALL, True, FILE_CONTROL),
    # of this process only
    "prlimit64": ((302, 261), 0, ALL, True, (0,)),
    # SCHED_OTHER: ZeroMQ gives each thread the policy that it has, and ends where it may not
    "sched_setscheduler": ((144, 119), 1, ALL, True, (0,)),
    # MAP_SHARED and MAP_ANONYMOUS together: memory that no process needs to show as its own
    "mmap": ((9, 222), 3, 0x21, False, (0x21,)),
}

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library.

    Raises:
        OSError: with the kernel's reason.

    """
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process.

    Raises:
        OSError: if the kernel refuses.

    """
    zero = ctypes.c_ulong(0)
    _call("prctl", option, ctypes.c_ulong(value), zero, zero, zero)


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def drop_capabilities() -> None:
    """Give up every capability, and the way to get one back by executing a file.

    Raises:
        OSError: if the kernel refuses.

    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
    _call(
        "capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(24)
    )


def become(user: int) -> None:
    """Become this unprivileged user and group, in a user namespace of its own where allowed.

    Raises:
        OSError: if the kernel refuses the user.

    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    prctl(PR_SET_DUMPABLE, 1)  # the files below belong to root otherwise
    with contextlib.suppress(
        OSError
    ):  # not allowed everywhere, and the user has no rights anyway
        _call("unshare", CLONE_NEWUSER)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{user} {user} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)


def program(machine: str) -> bytes | None:
    """Return the filter of system calls as BPF for a machine, or None if it is not known."""
    if machine not in _MACHINES:
        return None
    column, architecture = _MACHINES[machine]
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    missing = 0x00050000 | errno.ENOSYS
    code: list[tuple[int, int, int, int]] = []

    def load(offset: int) -> None:
        code.append((0x20, 0, 0, offset))

    def end(value: int) -> None:
        code.append((0x06, 0, 0, value))

    def unless_equal(value: int, skip: int) -> None:
        code.append((0x15, 0, skip, value))

    load(4)
    code.append((0x15, 1, 0, architecture))
    end(refuse)  # 32-bit calls have other numbers
    load(0)
    if machine == "x86_64":
        code.append((0x35, 0, 1, 0x40000000))  # so do those of the x32 interface
        end(refuse)
    for numbers in REFUSED.values():
        unless_equal(numbers[column], 1)
        end(refuse)
    unless_equal(CLONE3[column], 1)
    end(
        missing
    )  # its flags lie in memory, out of the filter's sight: the C library tries clone
    for numbers, argument, bits, wanted, values in CHECKED.values():
        unless_equal(numbers[column], 4 + len(values))
        load(16 + 8 * argument)
        code.append((0x54, 0, 0, bits))
        for position in range(len(values)):
            code.append((0x15, len(values) - position, 0, values[position]))
        end(refuse if wanted else allow)
        end(allow if wanted else refuse)
    end(allow)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def filter_system_calls() -> bool:
    """Filter the system calls of this process and its children; False on an unknown machine.

    Raises:
        OSError: if the kernel refuses.

    """
    filtered = program(platform.machine())
    if filtered is None:
        return False
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    code = ctypes.create_string_buffer(filtered, len(filtered))
    head = struct.pack("@HP", len(filtered) // 8, ctypes.addressof(code))
    fprog = ctypes.create_string_buffer(head, len(head))
    two, zero = ctypes.c_ulong(2), ctypes.c_ulong(0)
    _call(
        "prctl",
        PR_SET_SECCOMP,
        two,
        ctypes.c_void_p(ctypes.addressof(fprog)),
        zero,
        zero,
    )
    return True
