"""A sandboxed kernel for a test, with a client."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from grading.sandbox import kernel

#: Seconds for one answer of a kernel, on a busy machine.
PATIENCE = 180


@dataclass
class Done:
    """What a kernel answered to one cell."""

    status: str = ""
    error: str = ""
    text: str = ""
    data: list[dict] = field(default_factory=list)


class Kernel:
    """A kernel, and a client that is connected to it."""

    closed = False

    def __init__(
        self,
        cwd: Path | None = None,
        folder: str = "",
        keep_warm: bool = False,
        connect: bool = True,
        **limits: float,
    ) -> None:
        class Specs(KernelSpecManager):
            def get_kernel_spec(self, name: str) -> object:
                found = super().get_kernel_spec(name)
                config = found.metadata["kernel_provisioner"]["config"]
                config["limits"].update(limits)
                config.update(folder=folder, keep_warm=keep_warm)
                return found

        self.manager = KernelManager(
            kernel_name=kernel.NAME, kernel_spec_manager=Specs()
        )
        self.manager.start_kernel(**({"cwd": str(cwd)} if cwd else {}))
        self.connect(wait=connect)

    def connect(self, wait: bool = True) -> None:
        """Open the channels, and wait until the kernel answers."""
        self.client = self.manager.client()
        self.client.start_channels()
        if wait:
            self.client.wait_for_ready(timeout=PATIENCE)

    @property
    def provisioner(self) -> kernel.SandboxProvisioner:
        return self.manager.provisioner

    def run(self, code: str) -> Done:
        """Execute a cell."""
        done = Done()

        def hear(message: dict) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                done.text += content["text"]
            elif message["msg_type"] in ("execute_result", "display_data"):
                done.data.append(content["data"])

        reply = self.client.execute_interactive(
            code, timeout=PATIENCE, output_hook=hear, allow_stdin=False
        )["content"]
        done.status = reply["status"]
        if done.status == "error":
            done.error = f"{reply['ename']}: {reply['evalue']}"
        return done

    def ask(self, expression: str) -> object:
        """Return an expression's value."""
        done = self.run(f"import json, os, sys\nprint(json.dumps({expression}))")
        assert done.status == "ok", done.error
        return json.loads(done.text)

    def wait_for_death(self) -> None:
        """Wait until the manager says so."""
        until = time.monotonic() + PATIENCE
        while self.manager.is_alive():
            assert time.monotonic() < until, "the kernel lives"
            time.sleep(0.05)

    def restart(self) -> None:
        """Start a new kernel in the place of the old one."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self.connect()

    def close(self, now: bool = False) -> None:
        """End the kernel, unless it was already."""
        if not self.closed:
            self.closed = True
            self.client.stop_channels()
            self.manager.shutdown_kernel(now=now)
