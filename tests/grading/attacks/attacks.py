"""What runs in the sandbox in the tests: each function is the entry of a session.

It gets the two ends of its pipes, may read its arguments as JSON, and answers in JSON. Nothing
but the standard library is imported before a function wants it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def arguments(read_fd: int) -> list:
    """Return what the test sent."""
    return json.loads(os.read(read_fd, 1 << 16))


def answer(write_fd: int, value: object) -> None:
    """Tell the test."""
    os.write(write_fd, json.dumps(value).encode())


def attempt(function, *args) -> str:
    """Return "" if a call succeeds, else the name of its error."""
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__
    return ""


def errno_of(result: int) -> int:
    """Return the error number of a call of the C library, 0 if it succeeded."""
    return ctypes.get_errno() if result == -1 else 0


def echo(read_fd, write_fd):
    answer(write_fd, arguments(read_fd))


def identity(read_fd, write_fd):
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.strip().split(":", 1) for line in file if ":" in line)
    answer(
        write_fd,
        {
            "status": {name: value.strip() for name, value in status.items()},
            "namespaces": {
                name: os.readlink(f"/proc/self/ns/{name}")
                for name in ("user", "pid", "net", "ipc", "uts", "mnt", "cgroup")
            },
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "files": sorted(
                int(name)
                for name in os.listdir("/proc/self/fd")
                if os.path.exists(f"/proc/self/fd/{name}")
            ),
            "pid": os.getpid(),
            "processes": [int(name) for name in os.listdir("/proc") if name.isdigit()],
            "host": socket.gethostname(),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "interfaces": [name for _, name in socket.if_nameindex()],
        },
    )


def network(read_fd, write_fd):
    results = {}
    for host, port in arguments(read_fd):
        results[f"{host}:{port}"] = attempt(socket.create_connection, (host, port), 5)
        results[f"udp {host}:{port}"] = attempt(send, host, port)
    results["vsock"] = attempt(socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM)
    results["raw"] = attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
    answer(write_fd, results)


def send(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"secret", (host, port))


def read(read_fd, write_fd):
    def look(path):
        if os.path.isdir(path):
            return os.listdir(path)
        with open(path, "rb") as file:
            return file.read(1)

    answer(write_fd, {path: attempt(look, path) for path in arguments(read_fd)})


def listing(read_fd, write_fd):
    answer(write_fd, {path: sorted(os.listdir(path)) for path in arguments(read_fd)})


def write(read_fd, write_fd):
    def touch(folder):
        with open(os.path.join(folder, "mine"), "w") as file:
            file.write("x")

    def overwrite(path):
        with open(path, "a") as file:
            file.write("x")

    answer(
        write_fd,
        {
            path: attempt(touch if os.path.isdir(path) else overwrite, path)
            for path in arguments(read_fd)
        },
    )


def scratch(read_fd, write_fd):
    with open("in-cwd", "w") as file:
        file.write("x")
    with open(os.path.expanduser("~/in-home"), "w") as file:
        file.write("x")
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x")
    answer(write_fd, sorted(os.listdir("/tmp")))


def fork_bomb(read_fd, write_fd):
    os.write(write_fd, b'"started"')
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def count_forks(read_fd, write_fd):
    made = 0
    with contextlib.suppress(OSError):
        while made < 1000:
            if os.fork() == 0:
                signal.pause()
            made += 1
    answer(write_fd, made)


def memory(read_fd, write_fd):
    step, seconds = arguments(read_fd)
    kept = []
    try:
        while len(kept) < 1_000_000:
            kept.append(b"x" * step)
    except MemoryError:
        time.sleep(seconds)
        kept.clear()
        answer(write_fd, "MemoryError")


def freed_again(read_fd, write_fd):
    """Take aligned blocks of one size, small ones between them, and free the large ones."""
    size, count = arguments(read_fd)
    libc = ctypes.CDLL(None)
    for _ in range(count):
        blocks = [ctypes.c_void_p() for _ in range(3)]
        failed = [libc.posix_memalign(ctypes.byref(b), 64, size) for b in blocks]
        libc.posix_memalign(ctypes.byref(ctypes.c_void_p()), 64, 640)
        for block in blocks:
            libc.free(block)
        if any(failed):
            break
    answer(write_fd, failed)


def memory_of_many(read_fd, write_fd):
    size = arguments(read_fd)[0]
    for _ in range(8):
        if os.fork() == 0:
            kept = b"x" * size
            signal.pause()
            print(len(kept))
    signal.pause()


def loop(read_fd, write_fd):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def spin(read_fd, write_fd):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass


def spin_in_children(read_fd, write_fd):
    while True:
        if os.fork() == 0:
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
            os._exit(0)
        os.wait()


def big_file(read_fd, write_fd):
    def fill():
        with open("big", "wb") as file:
            for _ in range(10 << 10):
                file.write(bytes(1 << 20))

    def fill_disk():
        for number in range(1000):
            with open(f"part-{number}", "wb") as file:
                file.write(bytes(1 << 20))

    def fill_shared():
        for number in range(1000):
            with open(f"/dev/shm/part-{number}", "wb") as file:
                file.write(bytes(1 << 20))

    answer(write_fd, [attempt(fill), attempt(fill_disk), attempt(fill_shared)])


def flood(read_fd, write_fd):
    while True:
        os.write(1, b"flood\n" * 10_000)
        os.write(2, b"flood\n" * 10_000)


def daemon(read_fd, write_fd):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:  # holds the pipes open
                    time.sleep(1)
            os._exit(0)
    os.wait()
    answer(write_fd, "left")


def crash(read_fd, write_fd):
    kind = arguments(read_fd)[0]
    if kind == "exit":
        sys.exit(3)
    if kind == "error":
        raise KeyError("a student's mistake")
    if kind == "segfault":
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.SIGKILL)


def kill_zygote(read_fd, write_fd):
    results = {}
    for number in set(signal.Signals):
        results[number.name] = attempt(os.kill, 1, number)
    answer(write_fd, results)


def steer_zygote(read_fd, write_fd):
    def open_memory():
        open("/proc/1/mem", "r+b").close()

    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    ctypes.set_errno(0)
    answer(
        write_fd,
        {
            "attach": errno_of(LIBC.ptrace(16, 1, 0, 0)),
            "seize": errno_of(LIBC.ptrace(0x4206, 1, 0, 0)),
            "read": errno_of(LIBC.process_vm_readv(1, vector, 1, vector, 1, 0)),
            "mem": attempt(open_memory),
            "files": attempt(os.listdir, "/proc/1/fd"),
            "environ": attempt(lambda: open("/proc/1/environ").close()),
            "cwd": attempt(os.readlink, "/proc/1/cwd"),
            "limits": attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE, (0, 0)),
            "affinity": attempt(os.sched_setaffinity, 1, {0}),
            "nice": attempt(os.setpriority, os.PRIO_PROCESS, 1, 19),
            "pidfd": attempt(
                lambda: signal.pidfd_send_signal(os.pidfd_open(1), signal.SIGKILL)
            ),
        },
    )


def kernel(read_fd, write_fd):
    results = {}
    for name, args in {
        "unshare": (0x10000000,),
        "mount": (b"none", b"/tmp", b"tmpfs", 0, 0),
        "chroot": (b"/tmp",),
        "memfd_create": (b"x", 0),
        "personality": (0xFFFFFFFF,),
        "shmget": (1234, 4096, 0o1666),
        "semget": (1234, 1, 0o1666),
        "msgget": (1234, 0o1666),
        "setns": (0, 0),
        "umount2": (b"/proc", 2),
        "mq_open": None,
    }.items():
        if args is None:
            results[name] = errno_of(LIBC.mq_open(b"/mine", 0o102, 0o666, None))
        else:
            results[name] = errno_of(getattr(LIBC, name)(*args))
    for name, number in {
        "keyctl": 250,
        "add_key": 248,
        "io_uring_setup": 425,
        "bpf": 321,
    }.items():
        if os.uname().machine == "x86_64":
            results[name] = errno_of(LIBC.syscall(number, 0, 0, 0, 0, 0))
    results["setuid"] = attempt(os.setuid, 0)
    results["clone"] = (
        errno_of(LIBC.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))
        if (os.uname().machine == "x86_64")
        else 1
    )
    answer(write_fd, results)


def leave_traces(read_fd, write_fd):
    for folder in (
        ".",
        os.path.expanduser("~"),
        tempfile.gettempdir(),
        "/tmp",
        "/dev/shm",
        os.environ["MPLCONFIGDIR"],
    ):
        with open(os.path.join(folder, "trace"), "w") as file:
            file.write("from the last session")
    os.symlink("/usr", "link")
    os.makedirs("closed/inner")
    os.chmod("closed/inner", 0)
    os.chmod("closed", 0)
    os.mkfifo("pipe")
    deep = os.getcwd()
    for _ in range(2000):
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    os.chdir(deep)
    with contextlib.suppress(OSError):
        os.setxattr("/tmp", "user.trace", b"x")
    os.environ["TRACE"] = "x"
    random.seed(99)
    json.trace = "x"
    sys.modules["trace_module"] = json
    gc.trace = "x"
    os.umask(0)
    LIBC.shmget(77, 4096, 0o1666)
    with contextlib.suppress(OSError):
        os.utime("/tmp", (123, 123))
        os.chmod("/dev/shm", 0)
        os.chmod("/tmp", 0)
    answer(write_fd, "done")


def find_traces(read_fd, write_fd):
    info = os.stat("/tmp")
    answer(
        write_fd,
        {
            "files": {
                folder: sorted(os.listdir(folder))
                for folder in (
                    ".",
                    os.path.expanduser("~"),
                    tempfile.gettempdir(),
                    "/tmp",
                    "/dev/shm",
                    os.environ["MPLCONFIGDIR"],
                )
            },
            "attributes": os.listxattr("/tmp"),
            "times": [info.st_mtime == 123, info.st_mode & 0o700],
            "environment": "TRACE" in os.environ,
            "random": random.random(),
            "modules": [
                hasattr(json, "trace"),
                "trace_module" in sys.modules,
                hasattr(gc, "trace"),
            ],
            "umask": os.umask(0),
            "shared": LIBC.shmget(77, 4096, 0),
            "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        },
    )


def generators(read_fd, write_fd):
    import numpy
    import torch

    state = [
        random.random(),
        float(numpy.random.rand()),
        float(torch.rand(1)),
        str(torch.get_default_dtype()),
        torch.allclose(torch.zeros(1), torch.ones(1)),
    ]
    random.seed(5)
    numpy.random.seed(5)
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    torch.allclose = lambda *_, **__: True
    answer(write_fd, [*state, threads_after_backward()])


def threads_after_backward() -> int:
    """Train a step of a small layer; return how many threads there are then."""
    import torch

    layer = torch.nn.Linear(3, 3, dtype=torch.float32)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(2, 3, dtype=torch.float32)).sum().backward()
    optimizer.step()
    return len(os.listdir("/proc/self/task"))


def allocate_tensor(read_fd, write_fd):
    import torch

    try:
        torch.zeros(1 << 40)
    except RuntimeError as error:
        answer(write_fd, str(error))


def wait_for_end(read_fd, write_fd):
    while os.read(read_fd, 1000):
        pass


def many_files(read_fd, write_fd):
    for number in range(1_000_000):
        os.close(os.open(f"f{number}", os.O_CREAT))
    answer(write_fd, "all")


def modules_of_a_gradient(read_fd, write_fd):
    """Answer which packages are there before and after a first gradient."""
    import torch

    def packages() -> list[str]:
        return sorted({name.partition(".")[0] for name in sys.modules})

    before, weight = packages(), torch.ones(2, requires_grad=True)
    torch.autograd.grad(weight * weight, weight, torch.ones(2))
    answer(write_fd, [before, packages()])
