"""A program whose extra is not installed: one line that says which command installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grading.course.notebooks import ROOT
from grading.run.executors import open_executor
from grading.run.pool import PoolError

pytestmark = pytest.mark.slow

#: Runs a program as if a package were not there.
PROGRAM = """
import sys
package, room, *arguments = sys.argv[1:]
sys.modules[package] = None
sys.argv = [room, *arguments]
import runpy
runpy.run_module(room, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("nbgrader", "grading run 02", "grade"),
        ("nbgrader", "grading states 02", "grade"),
        ("nbgrader", "grading check exercises/02-self-attention", "do"),
        ("cryptography", "grading lms publish 02", "grade"),
        ("tokenizers", "translator translate Hallo", "translate"),
    ],
)
def test_the_command_that_installs_it_is_named(
    package: str, command: str, extra: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, package, *command.split()],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        f"the package {package} is not installed: make env EXTRAS={extra}"
    )


def test_a_module_of_the_course_itself_that_is_lost_is_a_fault() -> None:
    """No command installs it: the traceback says where it was wanted."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            "grading.course.layout",
            "grading",
            "run",
            "02",
        ],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" in done.stderr
    assert "EXTRAS" not in done.stderr


@pytest.mark.parametrize("spec", ["dask", "dask:LocalCluster", "tcp://127.0.0.1:8786"])
def test_dask_that_is_missing_is_named(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(
            PoolError, match=r"Dask is not installed(.|\n)*make env EXTRAS=grade"
        ),
        open_executor(spec, 1),
    ):
        pass
