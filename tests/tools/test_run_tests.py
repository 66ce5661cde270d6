"""The steps of ``make test``: each has a limit, and one that hangs is ended and explained."""

import os
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


def test_a_step_that_hangs_fails_the_run_and_the_others_go_on(monkeypatch, capsys):
    step = [sys.executable, "-c"]
    monkeypatch.setattr(
        run_tests,
        "steps",
        lambda fast, release: [
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
        lambda fast, release: [
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
