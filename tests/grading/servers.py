"""Servers of one's own for a test: PostgreSQL in a temporary folder, and a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from grading.course.notebooks import ROOT

#: Debian keeps the server's programs out of PATH.
DEBIAN = Path("/usr/lib/postgresql")
ROLE = "grader"


def find_programs() -> Path | None:
    """Return the folder with initdb and postgres, None if there is none."""
    newest = sorted(DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name))[
        ::-1
    ]
    found = shutil.which("initdb")
    places = [*newest, *([Path(found).resolve().parent] if found else [])]
    return next((place for place in places if (place / "postgres").is_file()), None)


def without_server(reason: str) -> None:
    """Fail where a server must be there (CI=true), skip with the reason elsewhere."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"CI=true and no PostgreSQL: {reason}", pytrace=False)
    pytest.skip(f"no PostgreSQL: {reason}")


class Server:
    """A server that listens on nothing but its socket."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(
            tempfile.mkdtemp(prefix="pg-")
        )  # a socket's path must be short
        self.user: str | None = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self.user = "nobody"
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, -1)
        self.process: subprocess.Popen | None = None
        self._run(
            "initdb",
            "--no-locale",
            "--encoding=UTF8",
            "--auth=trust",
            "--no-sync",
            f"--username={ROLE}",
            "--pgdata",
            str(self.folder / "data"),
        )
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self.programs / program), *arguments],
            user=self.user,
            cwd=self.folder,
            extra_groups=[] if self.user else None,
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    str(self.programs / "postgres"),
                    "-D",
                    str(self.folder / "data"),
                    "-F",
                    "-c",
                    "listen_addresses=",
                    "-c",
                    f"unix_socket_directories={self.folder}",
                ],
                user=self.user,
                extra_groups=[] if self.user else None,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, "the server ended at its start"
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.1)

    def stop(self) -> None:
        """End it at once, as `pg_ctl stop -m fast` does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def close(self) -> None:
        """End it and remove its files."""
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, name: str) -> str:
        """Return the URL of a database, as nbgrader and psycopg take it."""
        return f"postgresql://{ROLE}@/{name}?host={self.folder}"

    def make(self, name: str) -> str:
        """Make an empty database; return its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


def serve() -> Iterator[Server]:
    """Yield a server, for a fixture."""
    programs = find_programs()
    if programs is None:
        without_server("its programs are not installed (apt-get install postgresql)")
    server = Server(programs)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def dask_cluster(workers: int) -> Iterator[str]:
    """Start a scheduler and workers of one process each; yield the scheduler's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    many = ["--nworkers", str(workers), "--nthreads", "1", "--death-timeout", "60"]
    commands = [
        ["scheduler", "--host", address, "--no-dashboard", "--no-show"],
        ["worker", address, *many, "--no-dashboard"],
    ]
    with contextlib.ExitStack() as stack:
        for command in commands:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *command],
                    cwd=ROOT,
                    env=environment,
                    start_new_session=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        wait_for_workers(address, workers)
        yield address


def wait_for_workers(address: str, count: int) -> dict:
    """Return the cluster's workers as soon as there are so many."""
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)
        return client.scheduler_info(n_workers=-1)["workers"]
