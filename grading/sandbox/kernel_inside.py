"""IPython's kernel as a session of the sandbox, started in there by grading.sandbox.kernel.

The warm process imports this file, so that kernels are forks in which everything is there. Jupyter
hands the sockets over as open descriptors, already bound: nothing of their folder is seen here.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

import ipykernel.debugger
import ipykernel.ipkernel
import ipykernel.zmqshell
import matplotlib.backends
import zmq
from ipykernel.heartbeat import Heartbeat
from ipykernel.kernelapp import IPKernelApp

matplotlib.backends.backend_registry.list_all()  # asks all installed packages, once

# A debugger listens on TCP, where nobody can reach it. So it isn't offered.
ipykernel.debugger._is_debugpy_available = False

# So does the pipe for what forks of the kernel print: they go without.
warnings.filterwarnings("ignore", "Couldn't bind IOPub Pipe")


class HandedHeartbeat(Heartbeat):
    """The heartbeat on a socket that is bound already."""

    descriptor = -1

    def _try_bind_socket(self) -> None:
        self.socket.setsockopt(zmq.USE_FD, self.descriptor)
        super()._try_bind_socket()


class SandboxedApp(IPKernelApp):
    """The kernel on sockets that are bound already."""

    #: The descriptor for each number that Jupyter calls a port.
    descriptors: dict[int, int] = {}  # noqa: RUF012 - not a trait

    def _try_bind_socket(self, s: zmq.Socket, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.descriptors[port])
        return super()._try_bind_socket(s, port)

    def init_control(self, context: zmq.Context) -> None:
        """Open the control channel; the debugger's way into the shell channel leads nowhere."""
        super().init_control(context)
        self.debug_shell_socket.disconnect(
            self.shell_socket.getsockopt(zmq.LAST_ENDPOINT)
        )

    def init_heartbeat(self) -> None:
        """Start the heartbeat."""
        self.heartbeat = HandedHeartbeat(
            zmq.Context(), (self.transport, self.ip, self.hb_port)
        )
        self.heartbeat.descriptor = self.descriptors[self.hb_port]
        self.heartbeat.start()


def serve(read_fd: int, write_fd: int) -> None:
    """Be a kernel until Jupyter asks it to leave.

    Args:
        read_fd: a line of JSON ("connection", "descriptors", "files") and what the files hold.
        write_fd: not used.

    """
    with open(read_fd, "rb") as pipe:
        order = json.loads(pipe.readline())
        for name, size in order["files"]:
            path = os.path.join(os.getcwd(), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(pipe.read(size))
    os.close(write_fd)
    connection = os.path.join(os.environ["TMPDIR"], "kernel.json")
    ip = os.path.join(os.environ["TMPDIR"], "kernel")
    with open(connection, "w", encoding="utf-8") as file:
        json.dump({**order["connection"], "ip": ip}, file)
    sys.path[:] = ["", *(path for path in sys.path if path != "/grader")]
    SandboxedApp.descriptors = {
        int(port): fd for port, fd in order["descriptors"].items()
    }
    app = SandboxedApp.instance()
    app.initialize(
        ["-f", connection, "--matplotlib=inline", "--HistoryManager.enabled=False"]
    )
    app.start()
