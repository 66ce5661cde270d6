"""What a session could do to its neighbours: entries for the tests, as in attacks.py."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import time

from attacks import LIBC, answer, arguments, errno_of

#: Calls by number, on x86_64 and aarch64.
CALLS = {
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "io_setup": (206, 0),
    "landlock_create_ruleset": (444, 444),
    "vmsplice": (278, 75),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "fadvise64": (221, 223),
}


def error_of(function, *args) -> int:
    """Return the error number of a call, 0 if it succeeds."""
    try:
        function(*args)
    except OSError as error:
        return error.errno
    return 0


def quotas(read_fd, write_fd):
    """Try what takes from others: a quota of the user's, a lock, a lease, the processor."""
    file = os.open("mine", os.O_RDWR | os.O_CREAT)
    os.write(file, bytes(4096))
    os.close(file)
    file = os.open("mine", os.O_RDONLY)
    pipe, _ = os.pipe()
    pair, _ = socket.socketpair()
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0)
    made = {
        "lease": error_of(fcntl.fcntl, file, 1024, fcntl.F_RDLCK),
        "delegation": error_of(fcntl.fcntl, file, 1040, lock),
        "notify": error_of(fcntl.fcntl, os.open(".", os.O_RDONLY), 1026, 2),
        "lock": error_of(fcntl.fcntl, file, 6, lock),
        "lock of a file": error_of(fcntl.fcntl, file, 37, lock),
        "size of a pipe": error_of(fcntl.fcntl, pipe, 1031, 1 << 20),
        "send buffer": error_of(
            pair.setsockopt, socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20
        ),
        "receive buffer": error_of(
            pair.setsockopt, socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20
        ),
        "internet": error_of(socket.socket, socket.AF_INET, socket.SOCK_STREAM),
        "all processors": error_of(os.sched_setaffinity, 0, range(os.cpu_count())),
        "priority": error_of(os.setpriority, os.PRIO_PROCESS, 0, -1),
        "batch": error_of(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0)),
        "shared memory": error_of(mmap.mmap, -1, 4096),
        "shared zeros": error_of(share_zeros),
    }
    column = ("x86_64", "aarch64").index(os.uname().machine)
    for name, numbers in CALLS.items():
        ctypes.set_errno(0)
        context = ctypes.create_string_buffer(64)
        made[name] = errno_of(
            LIBC.syscall(
                numbers[column],
                ctypes.c_long(file if name in ("syncfs", "fadvise64") else 1),
                context,
                0,
                4,
                0,
                0,
            )
        )
    answer(write_fd, made)


def share_zeros():
    mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096)


def ordinary(read_fd, write_fd):
    """Use what honest programs use: answers True, or fails."""
    import sqlite3
    import tempfile
    import threading
    from multiprocessing import get_context

    context = get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    array, queue = context.Array("i", 3), context.Queue()
    child = context.Process(target=lambda: (array.__setitem__(0, 5), queue.put("said")))
    child.start()
    assert queue.get() == "said"
    child.join()
    assert array[0] == 5
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory():
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b"x" * 4096)
        file.flush()
        assert mmap.mmap(file.fileno(), 0)[0] == 120
    assert mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)[0] == 0
    sqlite3.connect(":memory:").execute("create table t (x)")
    thread = threading.Thread(target=time.sleep, args=(0,))
    thread.start()
    thread.join()
    assert os.listdir("/usr/lib")
    answer(
        write_fd, [sorted(os.sched_getaffinity(0)), os.getpriority(os.PRIO_PROCESS, 0)]
    )


def hidden_memory(read_fd, write_fd):
    """Fill files in memory, and let go of the pages in this process."""
    size = arguments(read_fd)[0]
    for folder in ("/dev/shm", "/tmp"):
        file = os.open(f"{folder}/hidden", os.O_RDWR | os.O_CREAT)
        os.unlink(f"{folder}/hidden")
        os.ftruncate(file, size)
        region = mmap.mmap(file, size)
        for start in range(0, size, 4096):
            region[start] = 1
        region.madvise(mmap.MADV_DONTNEED)
    time.sleep(60)


def full_sockets(read_fd, write_fd):
    """Fill the buffers of many sockets, which the kernel keeps."""
    kept = []
    for _ in range(3):
        if os.fork() == 0:
            break
    with contextlib.suppress(OSError):
        while True:
            kept += socket.socketpair()
    for one in kept:
        one.setblocking(False)
        with contextlib.suppress(OSError):
            while True:
                one.send(bytes(1 << 15))
    signal.pause()


def many_descriptors(read_fd, write_fd):
    """Keep full pipes in many processes."""
    answer(write_fd, "started")
    for _ in range(20):
        if os.fork() == 0:
            with contextlib.suppress(OSError):
                while True:
                    _, end = os.pipe()
                    os.set_blocking(end, False)
                    os.write(end, bytes(1 << 16))
            signal.pause()
    signal.pause()
