"""The kernel "Python 3 (sandboxed)", through Jupyter's own programs."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.multikernelmanager import MultiKernelManager
from nbclient.exceptions import DeadKernelError
from nbconvert.preprocessors import ExecutePreprocessor

from grading.__main__ import main
from grading.check import execution
from grading.course.notebooks import ROOT
from grading.sandbox import kernel
from grading.sandbox.bubblewrap import SandboxMissing
from tests.grading import helpers
from tests.grading.conftest import processes_with
from tests.grading.sandbox.kernels import PATIENCE, Kernel

#: What starts quickly, for tests that need no torch.
LIGHT = ("matplotlib", "matplotlib_inline.backend_inline", "kernel_inside")


@pytest.fixture(scope="module")
def installed(
    bubblewrap: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The kernelspec, installed where this process's Jupyter finds it; private folders."""
    prefix = tmp_path_factory.mktemp("prefix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(prefix / "runtime"))
        patch.delenv("XDG_RUNTIME_DIR", raising=False)
        assert main(["kernel", "install", "--prefix", str(prefix)]) == 0
        yield prefix


@pytest.fixture(scope="module")
def light() -> Iterator[kernel.Reserve]:
    """Sandboxes without torch; the next test gets the last one's, as long as it is healthy."""

    class Reserve(kernel.Reserve):
        def fill(self, limits: kernel.Limits) -> None:
            """Make none in advance."""

    reserve = Reserve()
    yield reserve
    reserve.empty()


@pytest.fixture
def kernels(
    installed: Path, light: kernel.Reserve, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Kernel]]:
    """Start kernels that are ended after the test."""
    monkeypatch.setattr(kernel, "PRELOAD", LIGHT)
    monkeypatch.setattr(kernel, "RESERVE", light)
    made: list[Kernel] = []

    def make(**options: object) -> Kernel:
        made.append(Kernel(**{"keep_warm": True, **options}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def warm(installed: Path) -> Iterator[Kernel]:
    """One kernel as it is installed, for tests that leave it alive."""
    one = Kernel()
    yield one
    one.close()


def test_a_kernel_executes_over_ipc_with_torch_imported(warm):
    assert warm.ask(
        "'torch' in sys.modules and 'numpy' in sys.modules"
    )  # before any import
    done = warm.run("import torch\nprint('said')\nint(torch.arange(4).sum())")
    assert (done.status, done.text) == ("ok", "said\n")
    assert done.data == [{"text/plain": "6"}]
    assert warm.run("1 / 0").error == "ZeroDivisionError: division by zero"
    assert warm.manager.transport == "ipc"
    info = json.loads(Path(warm.manager.connection_file).read_text(encoding="utf-8"))
    assert info["transport"] == "ipc"
    folder = Path(info["ip"]).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 5
    # Nothing listens on this machine, nor in the kernel's own network.
    assert warm.ask("os.readlink('/proc/self/ns/net')") != os.readlink(
        "/proc/self/ns/net"
    )
    for table in ("tcp", "tcp6", "udp", "udp6", "raw"):
        assert warm.ask(f"open('/proc/net/{table}').read().splitlines()")[1:] == []


def test_figures_and_shell_commands_work(warm):
    done = warm.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    assert [sorted(data) for data in done.data] == [["image/png", "text/plain"]]
    assert warm.run("!echo from a shell").text.strip() == "from a shell"
    assert warm.run("%timeit -n 1 -r 1 None").status == "ok"


def test_a_kernel_is_nobody_with_the_graders_confinement(warm):
    status = dict(
        line.split(":", 1)
        for line in warm.ask("open('/proc/self/status').read()").splitlines()
    )
    assert "0" not in status["Uid"].split()
    assert {
        int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")
    } == {0}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    warm.run("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)")
    assert warm.ask("[libc.unshare(0x10000000), ctypes.get_errno()]") == [-1, 1]
    for policy, error in (
        ("OTHER", ""),
        ("BATCH", "PermissionError"),
        ("IDLE", "PermissionError"),
    ):
        for process in (0, 1):  # itself, and the warm process
            change = f"os.sched_setscheduler({process}, os.SCHED_{policy}, os.sched_param(0))"
            assert warm.run(change).error.partition(":")[0] == error, change


def test_a_session_gets_open_files_and_signals(worker):
    ours, theirs = os.pipe()
    with worker.session("attacks:identity", [theirs]) as session:
        os.close(theirs)
        with open(session.read_fd, closefd=False) as pipe:
            assert json.load(pipe)["files"] == [0, 1, 2, 3, 4, 5]
    assert os.read(ours, 1) == b"", "the warm process keeps what a session got"
    os.close(ours)
    with worker.session("attacks:wait_for_end") as session:
        session.signal(signal.SIGTERM)
        assert session.wait(PATIENCE)
    end = session.close()
    assert (end.signal, end.limit, end.left) == (15, "killed", ())
    session.signal(signal.SIGTERM)  # it has ended: nobody minds
    assert worker.healthy


def test_the_network_is_out_of_reach(warm):
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = server.getsockname()[1]
        for place in (("127.0.0.1", here), ("192.0.2.1", 80), ("2001:db8::1", 80)):
            warm.run(
                "import socket\ntry:\n"
                f"    socket.create_connection({place!r}, timeout=5); reached = 'reached'\n"
                "except OSError as error:\n    reached = type(error).__name__, error.errno"
            )
            name, number = warm.ask("reached")
            assert number == errno.EPERM, (place, name)
    assert warm.provisioner._place not in warm.ask("open('/proc/net/unix').read()")


def test_files_of_the_course_and_the_home_are_not_there(kernels, monkeypatch, tmp_path):
    monkeypatch.setenv("GRADING_SECRET", "token")
    course = helpers.make_course(tmp_path / "course")
    own = helpers.hand_in(course, "s01", helpers.release()).parent
    other = helpers.hand_in(course, "s02", helpers.release())
    (course / "gradebook.db").write_text("grades")
    (own / "helper.py").write_text("value = 7\n")
    (own / "part").mkdir()
    (own / "part" / "numbers.txt").write_text("1 2\n")
    (own / "grades").symlink_to(course / "gradebook.db")
    (own / "others").symlink_to(course / "submitted")
    (own / ".hidden").write_text("")
    paths = [
        str(path)
        for path in (
            course,
            course / "gradebook.db",
            other,
            course / "solutions",
            own,
            ROOT,
            "/etc/shadow",
            "/var/tmp",
            *Path.home().iterdir(),
        )
        if not sys.base_prefix.startswith(str(path))
    ]
    for folder in ("", "."):
        one = kernels(cwd=own, folder=folder)
        assert one.ask(f"[path for path in {paths!r} if os.path.exists(path)]") == []
        assert not one.ask(f"os.path.exists({one.provisioner._place!r})")
        assert "token" not in str(one.ask("dict(os.environ)"))
        seen = one.ask(
            "sorted(os.path.relpath(os.path.join(place, name)) "
            "for place, _, names in os.walk('.') for name in names)"
        )
        assert seen == (
            ["helper.py", "part/numbers.txt", "sample.ipynb"] if folder else []
        )
    assert one.ask("__import__('helper').value") == 7
    one.run("open('helper.py', 'w').write('changed'); open('new', 'w').write('new')")
    assert (own / "helper.py").read_text() == "value = 7\n"
    assert not (own / "new").exists()


def test_a_folder_that_is_too_large_is_refused(monkeypatch, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 3000)
    monkeypatch.setattr(kernel, "MOST_BYTES", 2000)
    with pytest.raises(ValueError, match="expected at most 1000 files"):
        kernel.files_of(tmp_path)


def test_an_interrupt_reaches_the_cell(warm):
    for code in (
        "import time; time.sleep(100)",
        "while True: pass",
        "import subprocess; subprocess.run(['sleep', '100'])",
    ):
        # Otherwise the kernel aborts what it is asked right after an error.
        asked = warm.client.execute(code, stop_on_error=False)
        until = time.monotonic() + PATIENCE
        while True:  # until it is busy with it
            message = warm.client.get_iopub_msg(timeout=PATIENCE)
            if message["msg_type"] == "execute_input":
                break
            assert time.monotonic() < until
        time.sleep(0.2)
        warm.manager.interrupt_kernel()
        reply = warm.client.get_shell_msg(timeout=PATIENCE)
        assert reply["parent_header"]["msg_id"] == asked
        assert reply["content"]["ename"] == "KeyboardInterrupt", code
    assert warm.ask("1 + 1") == 2


def test_a_restart_gives_a_fresh_kernel_in_the_same_sandbox(warm):
    warm.run(
        "kept = 1\nopen('/tmp/tmp/file', 'w').write('x')\nopen('/dev/shm/file', 'w')"
        ".write('x')\nimport torch; torch.manual_seed(5); torch.kept = 1"
    )
    warm.run(
        "import subprocess; subprocess.Popen(['sleep', '271828'], start_new_session=True)"
    )
    assert processes_with("271828")
    sandbox = warm.provisioner._worker._process.pid
    began = time.monotonic()
    warm.restart()
    took = time.monotonic() - began
    assert warm.run("kept").error.startswith("NameError")
    assert warm.ask("os.listdir('/tmp/tmp') + os.listdir('/dev/shm')") == [
        "kernel.json"
    ]
    assert not warm.ask("hasattr(__import__('torch'), 'kept')")
    assert processes_with("271828") == []
    assert warm.provisioner._worker._process.pid == sandbox
    assert took < PATIENCE / 2


def test_a_shutdown_leaves_no_process_and_no_folder(kernels, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for now in (False, True):
        one = kernels(keep_warm=False)
        one.run(
            "import subprocess; subprocess.Popen(['sleep', '314159'], start_new_session=True)"
        )
        outer, place = one.provisioner._worker._process.pid, one.provisioner._place
        assert Path(place).parent == tmp_path
        assert processes_with("314159")
        connection = Path(one.manager.connection_file)
        one.close(now)
        assert not one.manager.is_alive()
        assert processes_with("314159") == []
        assert not os.path.exists(f"/proc/{outer}")
        assert not os.path.exists(place)
        assert not connection.exists()
        assert list(tmp_path.iterdir()) == []


def test_a_dead_kernel_is_known_to_be_dead(kernels):
    one = kernels()
    for code, status in (
        ("import os; os._exit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("", -9),
    ):
        assert one.manager.is_alive()
        if code:
            one.client.execute(code)
        else:
            outer = one.provisioner._worker._process.pid
            children = Path(f"/proc/{outer}/task/{outer}/children").read_text()
            os.kill(int(children), signal.SIGKILL)  # the sandbox's process 1
        one.wait_for_death()
        assert execution.finish(one.provisioner.poll()) == status
        one.restart()
        assert one.ask("1 + 1") == 2


SWELL = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        kept = b"x" * (100 << 20)
        time.sleep(100)
time.sleep(100)
"""
MANY = """
import threading, time
for _ in range(100):
    threading.Thread(target=time.sleep, args=(2,)).start()
"""


def ends(one: Kernel, code: str, caplog: pytest.LogCaptureFixture) -> str:
    """Execute what ends the kernel; return what the log says about it."""
    caplog.clear()
    one.client.execute(code)
    one.wait_for_death()
    assert execution.finish(one.provisioner.wait()) != 0
    return caplog.text


def test_a_kernel_keeps_its_limits_and_the_log_names_the_one_that_ended_it(
    kernels, caplog
):
    one = kernels(
        memory_bytes=256 << 20, cpu_seconds=5, processes=30, file_bytes=1 << 20
    )
    assert one.run("kept = bytearray(400 << 20)").error.startswith("MemoryError")
    assert "Errno 27" in one.run("open('large', 'wb').write(bytes(2 << 20))").error
    assert one.run(MANY).error.startswith("RuntimeError: can't start new thread")
    assert one.ask("1 + 1") == 2
    one.restart()
    assert "ended by its limit: memory." in ends(one, SWELL, caplog)
    one.restart()
    assert "ended by its limit: cpu." in ends(one, "while True: pass", caplog)
    one = kernels(wall_seconds=3.0, connect=False)
    assert "ended by its limit: time." in ends(
        one, "import time; time.sleep(100)", caplog
    )


def test_two_kernels_do_not_see_each_other(kernels):
    one, other = kernels(), kernels()
    assert one.provisioner._worker is not other.provisioner._worker
    one.run(
        "open('/tmp/tmp/mine', 'w').write('x'); open('/dev/shm/mine', 'w').write('x')\n"
        "import subprocess; subprocess.Popen(['sleep', '161803'])"
    )
    assert not other.ask(
        "[p for p in ('/tmp/tmp/mine', '/dev/shm/mine') if os.path.exists(p)]"
    )
    seen = other.ask(
        "[open(f'/proc/{name}/cmdline').read() for name in os.listdir('/proc') "
        "if name.isdigit()]"
    )
    assert len(seen) == 2, "its own process and the warm one"
    assert "161803" not in str(seen)
    assert other.run("os.kill(-1, 9)").error.startswith(
        "ProcessLookupError"
    )  # nobody is there
    assert other.run("os.kill(1, 9)").status == "ok"  # not heard
    other.client.execute("os.kill(os.getpid(), 9)")
    other.wait_for_death()
    assert one.ask("1 + 1") == 2
    assert processes_with("161803")


def test_a_server_keeps_one_sandbox_warm(installed, monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "PRELOAD", LIGHT)
    monkeypatch.setattr(kernel, "RESERVE", kernel.Reserve())
    limits = kernel.make_limits({})
    server = MultiKernelManager(
        default_kernel_name=kernel.NAME, connection_dir=str(tmp_path)
    )
    first = server.get_kernel(server.start_kernel()).provisioner
    spare = kernel.RESERVE._spare[limits].result(PATIENCE)
    assert spare is not first._worker
    number = server.start_kernel()
    second = server.get_kernel(number).provisioner
    assert second._worker is spare
    assert kernel.RESERVE._spare[limits].result(PATIENCE) not in (first._worker, spare)
    server.shutdown_all(now=True)
    assert not spare.healthy, "one in reserve is enough"
    last = kernel.RESERVE._spare[limits].result()
    assert last.healthy
    kernel.RESERVE.empty()
    assert not last.healthy


def children() -> list[str]:
    """Return the ids of this process's children."""
    return " ".join(
        path.read_text() for path in Path("/proc/self/task").glob("*/children")
    ).split()


def test_nbconvert_executes_a_notebook_with_it(installed, monkeypatch):
    monkeypatch.setattr(kernel, "PRELOAD", LIGHT)
    before = sorted(children())
    cells = [
        "import os; x = 20",
        "print(os.listdir('/home') if os.path.exists('/home') else x)",
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in cells]
    )
    ExecutePreprocessor(kernel_name=kernel.NAME, timeout=PATIENCE).preprocess(book)
    assert book.cells[1].outputs[0]["text"] == "20\n"
    assert sorted(children()) == before
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import os; os._exit(1)")]
    )
    with pytest.raises(DeadKernelError):
        ExecutePreprocessor(kernel_name=kernel.NAME, timeout=PATIENCE).preprocess(book)


def test_without_bubblewrap_the_error_says_what_to_install(
    installed, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match="apt install bubblewrap") as missing:
        KernelManager(kernel_name=kernel.NAME).start_kernel()
    assert "--unsafe-no-sandbox" not in str(missing.value)
    assert "The kernel python3" in str(missing.value)
