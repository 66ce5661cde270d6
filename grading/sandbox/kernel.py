"""A Jupyter kernel in the grader's sandbox: "Python 3 (sandboxed)".

For looking at a stranger's notebook in JupyterLab, or executing it with nbconvert, without letting
its code see the gradebook, other submissions, your home or the network.

A kernelspec names a *provisioner*, Jupyter's own extension point for where kernels run. This one
makes each kernel a session of a grading sandbox (`grading.sandbox.worker`): the same confinement,
the same limits, the same warm process with torch imported, from which the kernel is forked.

Jupyter talks to it over Unix sockets (ZeroMQ's transport ipc). They lie in a folder of mode 0700,
are bound here, and reach the kernel as open descriptors. So the folder isn't in the sandbox, and
there is no file of this machine that the kernel can write.

Two kernels never share a sandbox at the same time: one could see the other's files and processes,
and signal them. So one warm process can't serve all. Instead, where a server starts one kernel
after the other, one more sandbox is kept warm in reserve: the next kernel is forked there, at once.
A restarted kernel is a new fork in its own sandbox, cleared as it is between two submissions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import stat
import tempfile
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_client.connect import port_names
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.multikernelmanager import MultiKernelManager
from jupyter_client.provisioning import KernelProvisionerBase
from traitlets import Bool, Dict, Unicode, default

from grading.sandbox.bubblewrap import UNSAFE, SandboxMissing, find_bubblewrap
from grading.sandbox.limits import Limits
from grading.sandbox.worker import Exit, Session, Worker, WorkerBroken

#: What Jupyter calls the kernel, and the entry point in pyproject.toml.
NAME, PROVISIONER = "python3-sandboxed", "course-sandbox"
KERNELSPEC = {
    "display_name": "Python 3 (sandboxed)",
    "language": "python",
    "name": NAME,
}
#: A person reads and thinks meanwhile: more time than for grading, the same memory.
LIMITS = Limits(wall_seconds=12 * 3600.0, cpu_seconds=3600, processes=64)
PRELOAD = (
    "torch",
    "torch.optim",
    "torch.autograd",
    "numpy",
    "matplotlib",
    "matplotlib_inline.backend_inline",
    "kernel_inside",
)
INSIDE = Path(__file__).with_name("kernel_inside.py")
#: What a kernel gets of its folder, at most.
MOST_BYTES, MOST_FILES = 64 << 20, 1000
#: The first descriptor of a session after its two pipes.
FIRST_DESCRIPTOR = 5

WITHOUT = (
    "The kernel python3 needs no sandbox, and runs a notebook's code with your rights: use "
    "it where you trust who wrote it."
)


def make_limits(given: dict[str, float]) -> Limits:
    """Return the limits of a kernel.

    Raises:
        ValueError: if one is unknown, or not a positive number.

    """
    if unknown := sorted(given.keys() - asdict(LIMITS).keys()):
        raise ValueError(
            f"limits: expected some of {', '.join(asdict(LIMITS))}, got {unknown[0]}"
        )
    return Limits(**{**asdict(LIMITS), **given})


def spec(limits: dict[str, float] | None = None, folder: str = "") -> dict:
    """Return the kernelspec.

    A program that knows no provisioners would run its `argv` with the teacher's rights. So that
    does nothing but fail.

    Args:
        limits: those that are others than the kernel's usual ones.
        folder: whose files the kernel gets a copy of: "" for none, "." for the notebook's own.

    Raises:
        ValueError: if a limit is unknown, or not a positive number.

    """
    refuse = (
        "raise SystemExit('this program starts kernels without their provisioner: the "
        "notebook would run outside of the sandbox. Use JupyterLab or nbconvert.')"
    )
    return {
        "argv": ["python", "-c", refuse, "{connection_file}"],
        "display_name": KERNELSPEC["display_name"],
        "language": KERNELSPEC["language"],
        "interrupt_mode": "signal",
        "metadata": {
            "debugger": False,
            "kernel_provisioner": {
                "provisioner_name": PROVISIONER,
                "config": {
                    "limits": asdict(make_limits(limits or {})),
                    "folder": folder,
                },
            },
        },
    }


def files_of(folder: Path) -> list[tuple[str, bytes]]:
    """Return the ordinary files in a folder and below, as pairs of (relative path, content).

    Links are left out, hidden files as well: a link may lead to the gradebook. Raises ValueError
    if there are too many, or they are too large.
    """
    found: list[tuple[str, bytes]] = []
    size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                continue
            with open(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
            ) as file:
                found.append(
                    (str(path.relative_to(folder)), file.read(MOST_BYTES + 1 - size))
                )
            size += len(found[-1][1])
            if size > MOST_BYTES or len(found) > MOST_FILES:
                raise ValueError(
                    f"{folder}: expected at most {MOST_FILES} files of {MOST_BYTES >> 20} MiB "
                    "together, got more: the kernel gets a copy of them"
                )
    return found


class Reserve:
    """Makes sandboxes, and keeps one warm that no kernel has."""

    def __init__(self) -> None:
        # A sandbox dies with the thread that made it: this one lasts as long as the process.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="sandbox")
        self._lock = threading.Lock()
        self._spare: dict[Limits, Future[Worker]] = {}

    def _make(self, limits: Limits) -> Future[Worker]:
        return self._maker.submit(Worker, limits, preload=PRELOAD, modules=[INSIDE])

    def take(self, limits: Limits) -> Worker:
        """Return the warm sandbox, or a new one if there is none.

        Raises:
            SandboxMissing: if none can be made.
            WorkerBroken: if it does not start.

        """
        with self._lock:
            spare = self._spare.pop(limits, None)
        if spare is not None and spare.exception() is None and spare.result().healthy:
            return spare.result()
        return self._make(limits).result()

    def fill(self, limits: Limits) -> None:
        """Begin to make a warm sandbox, if there is none."""
        with self._lock:
            if limits not in self._spare:
                self._spare[limits] = self._make(limits)

    def give_back(self, worker: Worker, keep: bool) -> None:
        """Take a sandbox whose session has ended; close it if it isn't kept."""
        with self._lock:
            if keep and worker.healthy and worker.limits not in self._spare:
                future = self._spare[worker.limits] = Future()
                future.set_result(worker)
                return
        worker.close()

    def empty(self) -> None:
        """Close what is in reserve."""
        with self._lock:
            spares, self._spare = self._spare, {}
        for spare in spares.values():
            if spare.exception() is None:
                spare.result().close()


RESERVE = Reserve()


class SandboxProvisioner(KernelProvisionerBase):
    """Runs one kernel, as a session of a sandbox."""

    limits = Dict(
        help="what the kernel may use; see grading.sandbox.limits", config=True
    )
    folder = Unicode(
        "",
        help="whose files the kernel gets a copy of: '' for none, '.' for those "
        "beside the notebook",
        config=True,
    )
    keep_warm = Bool(
        help="keep a warm sandbox in reserve for the next kernel; by default where "
        "a server runs many",
        config=True,
    )

    _session: Session | None = None
    _worker: Worker | None = None
    _place: str | None = None
    _asked = False  # whether it was told to end

    @default("keep_warm")
    def _keep_warm(self) -> bool:
        return isinstance(getattr(self.parent, "parent", None), MultiKernelManager)

    @property
    def has_process(self) -> bool:
        """Whether there is a kernel, alive or just ended."""
        return self._session is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Choose the transport and the sockets' folder, and write the connection file.

        Raises:
            SandboxMissing: if there is no bubblewrap; the message says how to install it.

        """
        check_bubblewrap()
        make_limits(self.limits)
        if self._place is None:
            self._place = _private_folder()
            weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        self.parent.transport, self.parent.ip = "ipc", f"{self._place}/kernel"
        self.parent.write_connection_file()
        self.connection_info = self.parent.get_connection_info()
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Fork the kernel in its sandbox; return its connection information.

        Nothing of `cmd` and of the environment is used.

        Raises:
            SandboxMissing: if the sandbox can't be made.
            ValueError: if its folder holds too much.

        """
        folder = kwargs.get("cwd") if self.folder == "." else self.folder
        self._asked = False
        await asyncio.to_thread(self._launch, folder)
        if self.keep_warm:
            RESERVE.fill(self._worker.limits)
        return self.connection_info

    def _launch(self, folder: str | None) -> None:
        """Start the session, and tell it how to be a kernel."""
        files = files_of(Path(folder)) if folder else []
        ports = [self.connection_info[name] for name in port_names]
        listening = _listen(self._place, ports)
        order = {
            "connection": {
                **self.connection_info,
                "key": self.connection_info["key"].decode(),
            },
            "descriptors": {
                port: FIRST_DESCRIPTOR + place for place, port in enumerate(ports)
            },
            "files": [(name, len(data)) for name, data in files],
        }
        try:
            with _explained():
                self._session = self._start([one.fileno() for one in listening])
        finally:
            for one in listening:
                one.close()
        to = self._session.write_fd
        with (
            contextlib.suppress(BrokenPipeError),
            open(to, "wb", closefd=False) as pipe,
        ):
            pipe.write(json.dumps(order).encode() + b"\n")
            for _, data in files:
                pipe.write(data)

    def _start(self, descriptors: list[int]) -> Session:
        """Start a session, in a new sandbox if the one that there is does not answer."""
        entry, limits = "kernel_inside:serve", make_limits(self.limits)
        if self._worker is not None and not self._worker.healthy:
            self._worker.close()
            self._worker = None
        self._worker = self._worker or RESERVE.take(limits)
        try:
            return self._worker.session(entry, descriptors)
        except WorkerBroken:
            self._worker.close()
            self._worker = RESERVE.take(limits)
            return self._worker.session(entry, descriptors)

    async def poll(self) -> int | None:
        """Return None while the kernel runs, else its exit status."""
        if self._session is None:
            return 0
        if self._session.running:
            return None
        return _status(self._session.close())

    async def wait(self) -> int | None:
        """Wait for the kernel's end, and say which limit ended it."""
        if self._session is None:
            return 0
        while self._session.running:
            await asyncio.sleep(0.02)
        return self._finish()

    def _finish(self) -> int:
        session, self._session = self._session, None
        end = session.close()
        if end.limit not in (None, "killed"):
            self.log.warning(
                "The sandboxed kernel was ended by its limit: %s.", end.limit
            )
        elif not self._asked:
            self.log.warning("The sandboxed kernel ended by itself.\n%s", end.output)
        return _status(end)

    async def send_signal(self, signum: int) -> None:
        """Send the kernel a signal."""
        self._asked = self._asked or signum in (9, 15)
        if self._session is not None and signum:
            self._session.signal(signum)

    async def shutdown_requested(self, restart: bool = False) -> None:
        """Note that the kernel is to end."""
        self._asked = True

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel, and with it all its processes."""
        await self.send_signal(9)

    async def terminate(self, restart: bool = False) -> None:
        """Ask the kernel to end."""
        await self.send_signal(15)

    async def cleanup(self, restart: bool = False) -> None:
        """Remove what the kernel had; before a restart its sandbox stays."""
        if self._session is not None:
            await asyncio.to_thread(self._finish)
        if restart:
            return
        if self._worker is not None:
            worker, self._worker = self._worker, None
            await asyncio.to_thread(RESERVE.give_back, worker, self.keep_warm)
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            self._place = None


def _status(end: Exit) -> int:
    """Return an exit status as Popen has it."""
    return end.code if end.code is not None else -(end.signal or 9)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Say what helps a person who starts kernels, not one who grades."""
    try:
        yield
    except SandboxMissing as missing:
        raise SandboxMissing(str(missing).replace(UNSAFE, WITHOUT)) from None


def check_bubblewrap() -> None:
    """Refuse where there is no bubblewrap.

    Raises:
        SandboxMissing: saying how to install it.

    """
    with _explained():
        find_bubblewrap()


def _private_folder() -> str:
    """Make a folder that only its owner can enter, with a short path: a socket's has 107 bytes."""
    wanted = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")
    places = [
        place for place in wanted if 0 < len(place) < 80 and os.access(place, os.W_OK)
    ]
    return tempfile.mkdtemp(prefix="kernel-", dir=places[0] if places else None)


def _listen(place: str, ports: list[int]) -> list[socket.socket]:
    """Return a listening socket for each port; the kernel can't see in which folder they are."""
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY)
    made = []
    try:
        for port in ports:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{place}/kernel-{port}")
            made.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            made[-1].bind(f"/proc/self/fd/{folder}/kernel-{port}")
            made[-1].listen(64)
            made[-1].setblocking(False)
    except OSError:
        for one in made:
            one.close()
        raise
    finally:
        os.close(folder)
    return made


class SandboxedOnly(KernelSpecManager):
    """For a server that starts this kernel and no other, whatever it is asked for."""

    folder = Unicode("", help="whose files kernels get a copy of", config=True)

    def __init__(self, **options: Any) -> None:
        """Begin to make the first kernel's sandbox."""
        super().__init__(**options)
        RESERVE.fill(make_limits({}))

    def find_kernel_specs(self) -> dict[str, str]:
        """Return the one name, and where its logo would be."""
        return {NAME: self.folder}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return the one kernelspec, by any name."""
        return KernelSpec(resource_dir=self.folder, **spec(folder=self.folder))
