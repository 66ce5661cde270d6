"""The runner inside Gradescope: the sandbox, or another user where there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from grading.run.runner import Engine, EngineError
from grading.run.sandbox_runner import LIMITS, SandboxedProcess, SandboxEngine
from grading.sandbox.bubblewrap import SandboxMissing
from grading.sandbox.worker import Worker, WorkerBroken

#: Whoever this is, nobody else is: the student's code, where there is no sandbox.
USER = 61183


class OtherUserWorker(Worker):
    """The warm process without a sandbox, as a user who can't read the tests or this process."""

    def _start(self, call: list[str], place: str, *fds: int) -> None:
        """Start it by setpriv, in a folder of its own."""
        for folder, _, files in os.walk(place):
            os.chown(folder, USER, USER)
            for file in files:
                os.chown(os.path.join(folder, file), USER, USER)
        setpriv = [
            shutil.which("setpriv") or "/usr/bin/setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--no-new-privs",
        ]
        super()._start([*setpriv, *call], place, *fds)


class OtherUserEngine:
    """Runs submissions as another user; needs to be root."""

    sandboxed = False

    def __init__(self) -> None:
        self.worker = OtherUserWorker(LIMITS, sandbox=False)

    def open(self) -> SandboxedProcess:
        """Start a submission's process.

        Raises:
            EngineError: if it does not start.

        """
        try:
            if not self.worker.healthy:
                self.worker = OtherUserWorker(LIMITS, sandbox=False)
            return SandboxedProcess(self.worker)
        except (WorkerBroken, ValueError, OSError) as error:
            raise EngineError(
                f"the submission's process does not start: {error}"
            ) from error

    def close(self) -> None:
        """End it."""
        self.worker.close()


def make(place: Path) -> Engine:
    """Return the engine that can be had here, and write into the log which one it is.

    Raises:
        EngineError: if there is none that keeps the tests from the student's code.

    """
    try:
        engine = SandboxEngine(sandbox=True)
    except (SandboxMissing, WorkerBroken) as error:
        reason = str(error).strip().splitlines()[0]
    else:
        print("sandbox: bubblewrap", flush=True)
        return engine
    if os.geteuid() != 0:
        raise EngineError(
            f"no sandbox ({reason}), and not root: the student's code could read the "
            "tests"
        )
    os.chmod(place, 0o700)
    print(
        f"no sandbox here ({reason}): the student's code runs as user {USER}, who can't read the "
        "tests. It can use the network, if the container has one.",
        flush=True,
    )
    return OtherUserEngine()
