"""What the tests of the sandbox share: workers that are quick to start."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grading.sandbox.bubblewrap import SandboxMissing
from grading.sandbox.limits import Limits
from grading.sandbox.worker import Exit, Worker

#: What is quick enough for `make check`; the others start sandboxes or grade a class.
QUICK = {
    "test_files",
    "test_notebooks",
    "test_text",
    "test_channel",
    "test_submission",
    "test_verdict",
    "test_demos",
    "test_late",
    "test_magics",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of this folder that are not quick out of `make check`."""
    here = Path(__file__).parent
    for item in items:
        ours = item.path.is_relative_to(here) and "lms" not in item.path.parts
        if ours and item.path.stem not in QUICK:
            item.add_marker(pytest.mark.slow)


ATTACKS = [
    Path(__file__).parent / "attacks" / f"{name}.py"
    for name in ("attacks", "attacks_neighbours")
]


def make_worker(
    *, sandbox: bool = True, preload: tuple[str, ...] = (), **limits: float
) -> Worker:
    """Return a worker that knows the attacks, without torch unless asked for."""
    limits = {
        "wall_seconds": 60.0,
        "memory_bytes": 256 << 20,
        "file_bytes": 8 << 20,
        **limits,
    }
    return Worker(Limits(**limits), sandbox=sandbox, preload=preload, modules=ATTACKS)


def ask(worker: Worker, attack: str, *arguments: object) -> tuple[object, Exit]:
    """Run an attack; return its answer (None if it gave none), and how its session ended.

    Args:
        worker: where.
        attack: a function of attacks.py, or "module:function".
        arguments: what it is told.

    """
    with worker.session(attack if ":" in attack else f"attacks:{attack}") as session:
        with contextlib.suppress(BrokenPipeError):  # most attacks read nothing
            os.write(session.write_fd, json.dumps(arguments).encode())
        data = b""
        while part := os.read(session.read_fd, 1 << 16):
            data += part
    return json.loads(data) if data else None, session.close()


def processes_with(word: str) -> list[str]:
    """Return the ids of this machine's processes with a word in their command."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in command and int(name) != os.getpid():
            found.append(name)
    return found


@pytest.fixture(scope="session")
def bubblewrap() -> None:
    """Skip with the reason where no sandbox can be made; fail there if CI=true."""
    reason = ""
    try:
        make_worker().close()
    except SandboxMissing as missing:
        reason = str(missing).splitlines()[0]
    if reason and os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"CI=true and no sandbox: {reason}", pytrace=False)
    if reason:
        pytest.skip(f"no sandbox: {reason}")


@pytest.fixture
def workers(bubblewrap: None) -> Iterator[Callable[..., Worker]]:
    """Make workers that are closed after the test."""
    made: list[Worker] = []

    def make(**options: object) -> Worker:
        made.append(make_worker(**options))
        return made[-1]

    yield make
    for worker in made:
        worker.close()


@pytest.fixture(scope="session")
def worker(bubblewrap: None) -> Iterator[Worker]:
    """One worker for tests that leave it healthy, as each of them asserts."""
    with make_worker() as shared:
        yield shared
