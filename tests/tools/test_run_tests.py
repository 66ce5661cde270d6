"""The steps of ``make test``: each has a limit, and one that hangs is ended and explained."""

import os
import subprocess
import sys

import pytest

from tools import run_tests

pytestmark = pytest.mark.slow

HANGS = """
import os, time
def wait_for_ever():
    time.sleep(600)
child = os.fork()  # unlike a process of its own, it has nothing to load first
if child:
    open(__file__ + ".pid", "w").write(str(child))
wait_for_ever()
"""


#: Tests that end their workers: first, last, alone in their files; and what must run all the same.
DEADLY = """
import os, pytest
@pytest.mark.parametrize("number", range(4))
def test_some(number):
    if number == {}:
        os._exit(1)
"""


@pytest.mark.parametrize("fast", [True, False])
def test_each_step_has_a_limit(fast):
    titles = [title for title, _ in run_tests.steps(fast)]
    assert titles
    assert set(titles) <= run_tests.MINUTES.keys()


@pytest.mark.parametrize(("code", "status"), [("pass", 0), ("raise SystemExit(3)", 3)])
def test_a_step_ends_with_its_own_status(code, status):
    assert run_tests.run([sys.executable, "-c", code], minutes=1) == status


def test_a_step_that_hangs_is_ended_with_all_it_started_and_says_where_it_stood(
    tmp_path, capfd
):
    script = tmp_path / "hangs.py"
    script.write_text(HANGS, encoding="utf-8")
    assert run_tests.run([sys.executable, str(script)], minutes=5 / 60) is None
    child = int((tmp_path / "hangs.py.pid").read_text(encoding="utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    said = capfd.readouterr().err
    assert "Not ended within" in said
    assert f"{child}: " in said
    assert said.count("in wait_for_ever") == 2


@pytest.mark.parametrize("flags", [run_tests.PARALLEL, run_tests.WAITING])
def test_a_test_that_ends_its_worker_fails_alone(flags, tmp_path):
    """It is named at once, it isn't started again, and all others run; xdist's own would hang."""
    for name, number in {"a": 0, "b": 3, "c": 9, "d": 1, "e": 9}.items():
        (tmp_path / f"test_{name}.py").write_text(DEADLY.format(number))
    (tmp_path / "test_f.py").write_text("import os\ndef test_f():\n    os._exit(1)\n")
    (tmp_path / "test_g.py").write_text("def test_g():\n    assert 1 > 2\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *flags,
            f"--rootdir={tmp_path}",
            tmp_path,
        ],
        cwd=run_tests.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "5 failed, 17 passed" in done.stdout
    at_once, _, at_the_end = done.stdout.partition("= FAILURES =")
    for said in (at_once, at_the_end):
        named = {line.split()[1] for line in said.splitlines() if line[:7] == "FAILED "}
        assert sorted(name.rpartition("/")[2] for name in named) == [
            "test_a.py::test_some[0]",
            "test_b.py::test_some[3]",
            "test_d.py::test_some[1]",
            "test_f.py::test_f",
            "test_g.py::test_g",
        ]


def test_a_step_that_hangs_fails_the_run_and_the_others_go_on(monkeypatch, capsys):
    step = [sys.executable, "-c"]
    monkeypatch.setattr(
        run_tests,
        "steps",
        lambda *args: [
            ("lint", [*step, "import time; time.sleep(600)"]),
            ("tests", [*step, "pass"]),
        ],
    )
    monkeypatch.setattr(run_tests, "MINUTES", {"lint": 1 / 60, "tests": 1})
    assert run_tests.main([]) == 1
    said = capsys.readouterr().out
    assert "lint: ended, since it hung" in said
    assert "tests: passed" in said
    assert "Failed: lint." in said


def test_a_step_beside_another_is_told_about_after_it(monkeypatch, capfd, tmp_path):
    """Both run at a time, each waiting for a file of the other's; the one that fails is named."""
    code = "import pathlib, time\npathlib.Path({!r}).touch()\nprint('says', {!r}, flush=True)\n"
    code += (
        "while not pathlib.Path({!r}).exists(): time.sleep(0.01)\nraise SystemExit({})"
    )
    one, other = str(tmp_path / "book"), str(tmp_path / "tests")
    step = [sys.executable, "-c"]
    monkeypatch.setattr(
        run_tests,
        "steps",
        lambda *args: [
            ("book", [*step, code.format(one, "one", other, 3)]),
            ("tests", [*step, code.format(other, "other", one, 0)]),
        ],
    )
    monkeypatch.setattr(run_tests, "MINUTES", {"book": 1, "tests": 1})
    assert run_tests.main([]) == 1
    said = capfd.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in said] == [
        "== tests",
        "says other",
        "== tests: passed",
        "== book",
        "says one",
        "== book: failed",
        "Failed: book.",
    ]
