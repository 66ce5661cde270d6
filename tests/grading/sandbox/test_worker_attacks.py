"""Attacks from inside the sandbox: each ends within its limits, reaches nothing, leaves nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from errno import ENOSYS, EPERM, ESRCH
from pathlib import Path

import pytest

from grading.sandbox.bubblewrap import ENVIRONMENT, FILES
from tests.grading.conftest import ask

ROOT = Path(__file__).resolve().parents[3]
USER = "65534"


def assert_as_new(worker):
    """Check that the next session finds the worker as the first one found it."""
    found, end = ask(worker, "find_traces")
    folders = found["files"]
    assert folders.pop("/tmp") == ["home", "mpl", "tmp", "work"]
    assert not any(folders.values()), folders
    assert found["attributes"] == []
    assert found["times"] == [False, 0o700]
    assert not found["environment"]
    assert found["modules"] == [False, False, False]
    assert found["random"] == pytest.approx(
        0.8444218515250481
    )  # the first number after seed 0
    assert found["umask"] == 0o077
    assert found["shared"] == -1
    assert found["processes"] == 2
    assert end.left == ()
    assert worker.healthy


def test_no_network(worker):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        targets = [("127.0.0.1", port), ("1.1.1.1", 53), ("169.254.169.254", 80)]
        found, _ = ask(worker, "network", *targets)
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert set(found.values()) == {"PermissionError"}, found


def test_nothing_of_the_machine_can_be_read(worker, tmp_path):
    gradebook = tmp_path / "gradebook.db"
    gradebook.write_text("grades")
    closed = [
        gradebook,
        ROOT / "pyproject.toml",
        ROOT / "solutions",
        ROOT / "tests",
        ROOT / ".git",
        ROOT / "grading",
        Path.home() / ".bashrc",
        Path.home() / ".ssh",
        "/etc/shadow",
        "/etc/hosts",
        "/etc/ssl",
        "/var/lib",
        "/usr/share/doc",
        "/usr/local/share",
        "/usr/local/bin",
        "/home",
        "/run",
        "/proc/1/root/etc",
        "/proc/kcore",
        "/sys/kernel",
        "/dev/vda",
        "/dev/mem",
        "/dev/kmsg",
        "/tmp/grading",
    ]
    found, _ = ask(worker, "read", *map(str, closed))
    assert all(found.values()), [path for path, error in found.items() if not error]


def test_only_the_students_side_of_the_grader_is_there(worker):
    rooms = sorted({Path(name).parent.name for name in FILES})
    places = ["/grader", "/grader/grading", *(f"/grader/grading/{r}" for r in rooms)]
    found, _ = ask(worker, "listing", *places, "/", "/etc", "/dev/shm")
    assert found["/grader"] == ["attacks.py", "attacks_neighbours.py", "grading"]
    assert found["/grader/grading"] == rooms == ["bridge", "sandbox", "wire"]
    for room in rooms:
        assert [f"{room}/{name}" for name in found[f"/grader/grading/{room}"]] == [
            name for name in sorted(FILES) if name.startswith(f"{room}/")
        ]
    trusted = (
        *("verdict/cells", "bridge/proxies", "bridge/redaction", "bridge/trusted"),
        "sandbox/worker",
    )
    for name in trusted:
        assert (ROOT / "grading" / f"{name}.py").is_file()
        assert f"{name}.py" not in FILES
    assert set(found["/etc"]) <= {
        "alternatives",
        "fonts",
        "ld.so.cache",
        "localtime",
        "passwd",
    }
    assert not {"home", "var", "run", "mnt", "srv", "opt"} & set(found["/"])
    assert ask(worker, "read", str(ROOT))[0][str(ROOT)], "the course's folder is there"


def test_nothing_outside_scratch_can_be_written(worker):
    closed = [
        "/",
        "/usr",
        "/usr/lib",
        "/etc",
        "/etc/passwd",
        "/dev",
        "/grader",
        "/grader/grading",
        "/grader/grading/sandbox/zygote.py",
        "/proc/sys/kernel/core_pattern",
        "/proc/1/oom_score_adj",
        "/proc/sysrq-trigger",
        "/sys",
        sys.base_prefix,
        ENVIRONMENT,
        f"{ENVIRONMENT}/lib",
        os.path.dirname(os.__file__),
        os.__file__,
        "/proc/sys/kernel/hostname",
    ]
    found, _ = ask(worker, "write", *closed)
    assert all(found.values()), [path for path, error in found.items() if not error]
    assert_as_new(worker)


def test_fork_bomb(workers):
    worker = workers(wall_seconds=1.5, processes=16)
    answer, end = ask(worker, "fork_bomb")
    assert answer == "started" or answer is None
    assert end.limit in {"time", "cpu", "processes"}
    assert end.left == ()
    assert_as_new(worker)


def test_processes_are_counted(workers):
    worker = workers(processes=8)
    made, end = ask(worker, "count_forks")
    assert end.left == ()
    assert made is not None, (
        "the session was ended before the kernel refused it a process"
    )
    assert made <= 8
    assert_as_new(worker)


@pytest.mark.parametrize("step", [1 << 20, 1 << 14])
def test_a_process_that_takes_memory_gets_an_error(workers, step):
    worker = workers(memory_bytes=64 << 20)
    answer, end = ask(worker, "memory", step, 0.5)
    assert answer == "MemoryError"
    assert end.limit is None
    assert_as_new(worker)


def test_memory_that_was_freed_can_be_taken_again(workers):
    """As a loop over tensors does; 200 times what may be held at a time."""
    worker = workers(memory_bytes=128 << 20)
    failed, end = ask(worker, "freed_again", 19 << 20, 200)
    assert failed == [0, 0, 0]
    assert end.limit is None


def test_memory_of_all_processes_together_is_limited(workers):
    worker = workers(memory_bytes=64 << 20)
    answer, end = ask(worker, "memory_of_many", 32 << 20)
    assert answer is None
    assert (end.signal, end.limit, end.left) == (9, "memory", ())
    assert end.memory_bytes > 64 << 20
    assert_as_new(worker)


@pytest.mark.parametrize("attack", ["spin", "spin_in_children"])
def test_processor_time_is_limited(workers, attack):
    worker = workers(cpu_seconds=1)
    answer, end = ask(worker, attack)
    assert answer is None
    assert (end.limit, end.left) == ("cpu", ())
    assert end.cpu_seconds >= 0.9
    assert_as_new(worker)


def test_an_endless_loop_that_ignores_signals(workers):
    worker = workers(wall_seconds=0.5)
    assert ask(worker, "loop")[1].limit == "time"
    assert_as_new(worker)


def test_files_are_limited_one_by_one_and_together(worker):
    found, end = ask(worker, "big_file")
    assert found == ["OSError", "OSError", "OSError"]
    assert end.limit is None
    assert_as_new(worker)


def test_a_million_files(workers):
    worker = workers()
    answer, end = ask(worker, "many_files")
    assert answer is None
    assert (end.limit, end.left) == ("files", ())
    assert_as_new(worker)


def test_a_flood_of_output(workers):
    worker = workers(output_bytes=1 << 20)
    answer, end = ask(worker, "flood")
    assert answer is None
    assert (end.signal, end.limit) == (9, "output")
    assert len(end.output) <= 4096
    assert_as_new(worker)


def test_nobody_survives_a_session(worker):
    answer, end = ask(
        worker, "daemon"
    )  # its pipe's end is seen although survivors held it
    assert answer == "left"
    assert end.left == ()
    assert_as_new(worker)


def test_the_warm_process_can_not_be_killed(worker):
    found, end = ask(worker, "kill_zygote")
    assert end.code == 0
    assert len(found) > 30
    assert_as_new(worker)


def test_the_warm_process_can_not_be_read_or_steered(worker):
    found, _ = ask(worker, "steer_zygote")
    assert found.pop("pidfd") == ""  # the signal is dropped
    assert {found.pop("attach"), found.pop("seize"), found.pop("read")} <= {
        EPERM,
        ESRCH,
    }
    assert set(found.values()) == {"PermissionError"}, found
    assert_as_new(worker)


def test_the_kernel_gives_no_way_out(worker):
    found, _ = ask(worker, "kernel")
    assert found.pop("setuid") in {
        "PermissionError",
        "OSError",
    }  # refused, or nobody is root there
    assert set(found.values()) <= {EPERM, ENOSYS, 1}, found
    assert_as_new(worker)


def test_a_session_reaches_nothing_of_the_next(worker):
    for _ in range(2):
        answer, end = ask(worker, "leave_traces")
        assert answer == "done"
        assert end.left == ()
        assert_as_new(worker)


def test_two_workers_do_not_see_each_other(workers):
    first, second = workers(), workers()
    with first.session("attacks:loop"):
        assert_as_new(second)
        one, _ = ask(second, "identity")
    other, _ = ask(first, "identity")
    for name in ("pid", "net", "ipc", "mnt"):
        assert one["namespaces"][name] != other["namespaces"][name]


def test_stopped_processes_are_killed_too(workers):
    worker = workers(wall_seconds=1.0)
    session = worker.session("attacks:loop")
    for process in _sessions(worker._process.pid):
        os.kill(process, signal.SIGSTOP)
    assert os.read(session.read_fd, 1) == b""
    end = session.close()
    assert end.limit == "time"


def _sessions(process: int) -> list[int]:
    """Return a process's grandchildren: the sessions of a worker."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [
        int(inner)
        for child in text.split()
        for inner in Path(f"/proc/{child}/task/{child}/children").read_text().split()
    ]


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0, reason="runs the tests of this folder as another user"
)
def test_all_of_this_holds_for_a_grader_without_rights(bubblewrap):
    setpriv, bwrap = shutil.which("setpriv"), shutil.which("bwrap")
    assert setpriv, "setpriv (util-linux) is needed to become another user"
    needed = [sys.base_prefix, sys.prefix, str(ROOT)]
    # A private /tmp; and where a folder on the way is closed to others, only what is needed of it.
    hidden = {"/tmp"} | {
        str(p)
        for name in needed
        for p in Path(name).parents
        if not p.stat().st_mode & 0o001
    }
    here = ["--dev-bind", "/", "/"]
    for folder in sorted(hidden):
        if not any(str(parent) in hidden for parent in Path(folder).parents):
            here += ["--perms", "1777", "--tmpfs", folder]
    for name in sorted(needed):
        parents = [str(parent) for parent in reversed(Path(name).parents)]
        if hidden & set(parents):
            for parent in parents[
                min(parents.index(p) for p in hidden & set(parents)) + 1 :
            ]:
                here += ["--dir", parent]
            here += ["--ro-bind", name, name]
    done = subprocess.run(
        [
            bwrap,
            *here,
            "--",
            setpriv,
            "--reuid",
            USER,
            "--regid",
            USER,
            "--clear-groups",
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-p",
            "no:cacheprovider",
            *(
                f"tests/grading/sandbox/test_{name}.py"
                for name in ("worker", "worker_attacks", "neighbours", "cgroup")
            ),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            "CI": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert re.search(r"\d\d passed, [2-4] skipped", done.stdout), done.stdout[-500:]
