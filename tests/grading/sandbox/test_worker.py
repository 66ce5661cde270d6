"""Workers and sessions: what a session gets, how it ends, and what is left of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from grading.sandbox import bubblewrap as call
from grading.sandbox import confine
from grading.sandbox.bubblewrap import SandboxMissing
from grading.sandbox.limits import Limits
from grading.sandbox.worker import Worker, WorkerBroken
from tests.grading.conftest import ask, make_worker, processes_with

ROOT = Path(__file__).resolve().parents[3]


def test_a_session_talks_over_its_pipes(worker):
    for said in (["a"], ["b", 2]):
        answer, end = ask(worker, "echo", *said)
        assert answer == said
        assert (end.code, end.signal, end.limit, end.left) == (0, None, None, ())
    assert worker.healthy
    assert worker.sandboxed


def test_a_session_is_nobody_with_nothing(worker):
    found, _ = ask(worker, "identity")
    status = found["status"]
    assert set(status["Uid"].split()) != {"0"}
    # Groups of an ordinary grader stay, unmapped: there is nothing that they could open.
    assert set(status["Groups"].split()) <= {status["Gid"].split()[0], "65534"}
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert found["files"] == [0, 1, 2, 3, 4]
    assert found["core"] == [0, 0]
    assert found["interfaces"] == ["lo"]
    assert sorted(found["processes"]) == [1, found["pid"]]
    assert found["host"] == "sandbox"
    if os.geteuid() == 0 and not _may_make_user_namespaces():
        del found["namespaces"]["user"]  # the sandbox's user has no rights there either
    for name, inside in found["namespaces"].items():
        assert inside != os.readlink(f"/proc/self/ns/{name}"), f"{name} is the grader's"


def _may_make_user_namespaces() -> bool:
    """Whether this system lets users without rights make user namespaces."""
    program = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    return (
        subprocess.run(
            [*program, "unshare", "-U", "true"], capture_output=True
        ).returncode
        == 0
    )


def test_nothing_of_the_graders_environment_or_files_gets_in(
    workers, monkeypatch, tmp_path
):
    monkeypatch.setenv("GRADING_SECRET", "token")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (tmp_path / "gradebook.db").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        found, _ = ask(workers(), "identity")
    assert found["files"] == [0, 1, 2, 3, 4]
    assert "GRADING_SECRET" not in found["environment"]
    assert "token" not in str(found["environment"])
    assert str(ROOT) not in str(found["environment"])
    assert found["environment"]["HOME"] == "/tmp/home"
    assert found["folder"] == "/tmp/work"


def test_scratch_folders_are_there_and_new(worker):
    for _ in range(2):
        found, end = ask(worker, "scratch")
        assert found == ["home", "mpl", "tmp", "work"]
        assert end.left == ()


@pytest.mark.parametrize(
    ("kind", "code", "number", "limit", "word"),
    [
        ("exit", 3, None, None, ""),
        ("error", 1, None, None, 'KeyError: "a student\'s mistake"'),
        ("segfault", None, 11, "killed", ""),
        ("kill", None, 9, "killed", ""),
    ],
)
def test_how_a_session_ended_is_told(worker, kind, code, number, limit, word):
    _, end = ask(worker, "crash", kind)
    assert (end.code, end.signal, end.limit) == (code, number, limit)
    assert word in end.output
    assert worker.healthy


def test_a_session_that_waits_ends_when_it_is_closed(worker):
    with worker.session("attacks:wait_for_end") as session:
        assert session.running
    assert session.close().code == 0
    assert session.close() is session.close()
    assert not session.running


def test_a_session_that_does_not_want_to_end_is_killed_on_close(worker):
    with worker.session("attacks:loop") as session:
        pass
    end = session.close()
    assert (end.signal, end.limit, end.left) == (9, "killed", ())
    assert worker.healthy


def test_the_end_of_time_is_seen_by_who_reads(workers):
    worker = workers(wall_seconds=0.5)
    answer, end = ask(worker, "loop")
    assert answer is None
    assert (end.signal, end.limit, end.left) == (9, "time", ())
    assert worker.healthy
    assert ask(worker, "echo", 1)[0] == [1]


def test_a_reader_may_close_the_pipes_itself(worker):
    session = worker.session("attacks:wait_for_end")
    os.close(session.read_fd)
    os.close(session.write_fd)
    other = os.pipe()  # these get the numbers that were closed
    assert session.close().code == 0
    os.write(other[1], b"still open")
    assert os.read(other[0], 100) == b"still open"
    for descriptor in other:
        os.close(descriptor)


def test_one_session_at_a_time(worker):
    with (
        worker.session("attacks:wait_for_end"),
        pytest.raises(RuntimeError, match="close the"),
    ):
        worker.session("attacks:echo")


@pytest.mark.parametrize(
    "entry",
    ["attacks:nothing", "nothing:at_all", "grading.gradebook.writer:GradebookWriter"],
)
def test_an_entry_that_is_not_there_is_named(worker, entry):
    with pytest.raises(ValueError, match=f"can run '{entry}'.*(Error|attribute)"):
        worker.session(entry)
    assert ask(worker, "echo", 1)[0] == [1]


def test_sessions_leave_no_descriptor_and_no_thread_here(worker):
    ask(worker, "echo", 1)
    before = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    for _ in range(5):
        ask(worker, "echo", 1)
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) == before
    assert threading.active_count() <= threads


def test_torch_is_warm_seeded_and_in_one_thread(workers):
    worker = workers(preload=("torch", "numpy", "matplotlib"), memory_bytes=1 << 30)
    first, end = ask(worker, "generators")
    assert first == ask(worker, "generators")[0], (
        "a session's generators or modules reach the next"
    )
    assert first[3:] == ["torch.float32", False, 1]
    assert end.output == "", "torch or the machine said something"
    told, _ = ask(worker, "allocate_tensor")
    assert "memory" in told
    assert worker.healthy


def test_a_closed_worker_takes_no_session(workers):
    worker = workers()
    session = worker.session("attacks:loop")
    worker.close()
    assert not worker.healthy
    assert session.close().limit == "killed"
    with pytest.raises(WorkerBroken, match="make a new one"):
        worker.session("attacks:echo")
    worker.close()


def test_a_worker_whose_warm_process_dies_is_unhealthy(workers):
    worker = workers()
    session = worker.session("attacks:loop")
    outer = worker._process.pid
    os.kill(
        int(Path(f"/proc/{outer}/task/{outer}/children").read_text()), signal.SIGKILL
    )
    assert os.read(session.read_fd, 1) == b""
    end = session.close()
    assert end.limit == "killed"
    assert end.left == ("the warm process does not answer",)
    assert not worker.healthy


def test_workers_die_with_the_grader(bubblewrap):
    program = (
        "import os, sys; from tests.grading.conftest import make_worker\n"
        "worker = make_worker(); session = worker.session('attacks:loop')\n"
        "print(worker._process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == -9, done.stderr
    outer = int(done.stdout)
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{outer}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{outer}")


def test_a_module_that_is_not_there_is_named(bubblewrap):
    with pytest.raises(WorkerBroken, match="No module named 'no_such_module'"):
        make_worker(preload=("no_such_module",))


def test_without_bubblewrap_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing) as missing:
        Worker(preload=())
    for words in ("not installed", "apt install bubblewrap", "--unsafe-no-sandbox"):
        assert words in str(missing.value)


@pytest.fixture
def private(bubblewrap: None, tmp_path: Path) -> Iterator[Path]:
    """A copy of the grader that only its owner can read, with a Python environment of its own."""
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    venv.create(folder / "env", symlinks=True)
    for name in (
        "__init__.py",
        "sandbox/__init__.py",
        "sandbox/bubblewrap.py",
        "sandbox/cgroup.py",
        "sandbox/worker.py",
        *call.FILES,
    ):
        copied = folder / "grading" / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "grading" / name, copied)
    (folder / "told.py").write_text(
        "import os\ndef tell(r, w):\n    os.write(w, b'%d' % os.getuid())\n",
        encoding="utf-8",
    )
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    (packages / "needed.py").write_text("", encoding="utf-8")
    for path in (*(folder / "grading").rglob("*"), folder / "grading"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (folder / "told.py").chmod(0o600)
    yield folder
    for path in folder.rglob("*"):  # so that whoever made it can remove it
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


TELL = """
import os, pathlib
from grading.sandbox.worker import Worker
with Worker(preload=["needed"], modules=[pathlib.Path("told.py")]) as worker:
    with worker.session("told:tell") as session:
        print("user", os.read(session.read_fd, 100).decode())
"""


def tell(folder: Path) -> subprocess.CompletedProcess:
    """Start a worker of the copy, and have a session tell who it is."""
    return subprocess.run(
        [folder / "env/bin/python", "-c", TELL],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_a_folder_closed_to_others_is_no_hindrance(private):
    done = tell(private)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"user [1-9]\d+\n", done.stdout)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user reads his own environment"
)
def test_an_environment_closed_to_others_is_named_with_what_helps(private):
    (private / "env" / "lib").chmod(0o700)
    done = tell(private)
    assert done.returncode == 1
    last = done.stderr[done.stderr.index("SandboxMissing") :]
    assert "lib is closed to others" in last
    assert f"chmod -R go+rX {private / 'env'}" in last


def test_what_is_closed_beside_the_systems_python_is_not_its_business(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Such as /usr/lib/ssl/private, where Python is Debian's."""
    (tmp_path / "lib" / "ssl").mkdir(parents=True)
    (tmp_path / "lib" / "ssl").chmod(0o700)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert call.unreadable() == ""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "lib"))
    assert call.unreadable() == str(tmp_path / "lib" / "ssl")


def test_where_namespaces_are_forbidden_the_error_says_what_to_do(
    monkeypatch, tmp_path
):
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxMissing, match="No permissions") as missing:
        Worker(preload=())
    assert "apparmor_restrict_unprivileged_userns" in str(missing.value)


def test_other_systems_are_named(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxMissing, match="needs Linux, not darwin"):
        call.find_bubblewrap()


def test_without_a_sandbox_the_worker_says_so():
    with make_worker(sandbox=False) as worker:
        assert not worker.sandboxed
        folder = worker._folder
        assert ask(worker, "echo", 1)[0] == [1]
        found, end = ask(worker, "scratch")
        assert end.left == ()
        assert ask(worker, "memory", 1 << 20, 0)[0] == "MemoryError"
        assert ask(worker, "daemon")[1].left == ()
        found, _ = ask(worker, "identity")
        assert found["folder"] == f"{folder}/scratch/work"
        assert found["files"] == [0, 1, 2, 3, 4]
        assert processes_with(folder) == [str(worker._process.pid)]
    assert not os.path.exists(folder)


@pytest.mark.parametrize(
    "wrong",
    [
        {"wall_seconds": 0},
        {"cpu_seconds": 1.5},
        {"processes": -1},
        {"memory_bytes": "1 GB"},
        {"wall_seconds": float("nan")},
    ],
)
def test_limits_are_positive_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)


def test_limits_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Limits().processes = 3


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 0),
    "aarch64": ("/usr/include/asm-generic/unistd.h", 1),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_of_system_calls_are_the_kernels(machine):
    header, column = HEADERS[machine]
    if not os.path.exists(header):
        pytest.skip(f"the kernel's headers are not installed: {header}")
    text = Path(header).read_text(encoding="utf-8").split("\n")
    known = {}
    for line in text:
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR") and words[2].isdigit():
            known[words[1].split("_", 3)[-1]] = int(words[2])
    checked = 0
    checked_ones = {name: rule[0] for name, rule in confine.CHECKED.items()}
    for name, numbers in {**confine.REFUSED, **checked_ones}.items():
        if name in known:
            assert known[name] == numbers[column], name
            checked += 1
    assert checked > 50


def test_a_filter_refuses_what_it_does_not_know():
    assert confine.program("pdp11") is None
    for machine in HEADERS:
        assert len(confine.program(machine)) % 8 == 0
