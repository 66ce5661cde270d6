"""Answers that lie elsewhere, judged by the command, as another program would call it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grading.course.notebooks import ROOT
from tests.harness import answers as command_line
from tests.harness import sample

pytestmark = pytest.mark.slow

ANSWERS = {
    "double/right_shift.py": "def double(x):\n    return x << 1\n",
    "double/right_late.py": "def double(x):\n    return str(2 * x) if x > 1 else 2 * x\n",
    "double/wrong_sign.py": "def double(x):\n    return abs(2 * x)\n",
    "double/wrong_two.py": "def double(x):\n    return x + 2\n",
    "double/idea.py": "def double(x):\n    return x * 2\n",
    "double/wrong_hangs.py": "import time\n\ndef double(x):\n    time.sleep(60)\n",
    "double/wrong_dies.py": "import os\n\ndef double(x):\n    os.kill(0, 9)\n",
    "double/wrong_own.py": "raise KeyError('own')\n",
    "double/__pycache__/wrong_cache.py": "what?\n",
    "double/notes.txt": "not an answer\n",
}
SIGN = "AssertionError: double(-1) is -2, got 2: a sign was lost"
TWO = "AssertionError: double(3) is 6, got 5: is it x + 2?"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The sample assignment, and a folder of answers to it; returns the folder above both."""
    sample.make(tmp_path)
    for name, text in ANSWERS.items():
        sample.write(tmp_path / "mine" / name, text)
    return tmp_path


def call(
    made: Path, *arguments: object, process: bool = False
) -> subprocess.CompletedProcess:
    """Run the command from another folder; here, where torch is loaded once for all calls."""
    command = ["judge", "--limit", "1", "--solutions", str(made / "solutions")]
    command += map(str, arguments)
    if process:
        return subprocess.run(
            [sys.executable, "-m", "tests.harness.answers", *command],
            cwd=made,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
            start_new_session=True,  # an answer kills its group
        )
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(made),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = command_line.main(command)
        except SystemExit as refused:  # argparse
            status = refused.code
    return subprocess.CompletedProcess(command, status, out.getvalue(), err.getvalue())


def judged(
    made: Path, *files: object, process: bool = False
) -> tuple[dict, dict[str, dict]]:
    """Return what the command prints for programs, and its answers by name."""
    done = call(made, "90", *files, "--json", process=process)
    report = json.loads(done.stdout)
    assert done.returncode == bool(report["problems"])
    assert done.stderr.splitlines() == report["problems"]
    return report, {answer["name"]: answer for answer in report["answers"]}


def test_a_folder(made: Path) -> None:
    """Points, messages of both parts, what is lost elsewhere, what hangs, dies or breaks."""
    report, answers = judged(made, "mine", process=True)
    assert report["assignment"] == sample.NAME
    assert report["unanswered"] == {"mine": ["total"]}
    assert report["problems"] == []
    assert len(report["answers"]) == len(ANSWERS) - 2
    assert answers["sign"] == {
        "task": "double",
        "name": "sign",
        "kind": "wrong",
        "file": "mine/double/wrong_sign.py",
        "cells": {
            "double--small": {
                "points": 0.0,
                "maximum": 2.0,
                "visible": "",
                "hidden": SIGN,
            },
            "double--zero": {
                "points": 1.0,
                "maximum": 1.0,
                "visible": "",
                "hidden": "",
            },
        },
        "lost": 2.0,
        "error": "",
        "died": "",
        "seconds": answers["sign"]["seconds"],
    }
    small = answers["two"]["cells"]["double--small"]
    assert (small["visible"], small["hidden"], answers["two"]["lost"]) == (TWO, "", 3.0)
    assert (answers["shift"]["kind"], answers["shift"]["lost"]) == ("right", 0)
    assert (answers["idea"]["kind"], answers["idea"]["lost"]) == ("unknown", 0)
    assert answers["late"]["cells"]["total--plain"]["visible"] == ""
    assert answers["late"]["cells"]["total--plain"]["hidden"].startswith("TypeError")
    assert answers["hangs"]["died"] == "TimeoutError: ran longer than 1 s"
    assert answers["dies"]["died"] == "SystemExit: the process ended with code -9"
    assert answers["hangs"]["lost"] == answers["dies"]["lost"] == 3
    assert answers["own"]["error"] == "KeyError: 'own'"
    assert answers["own"]["cells"]["double--zero"]["visible"].startswith("NameError")


def test_a_solved_notebook(made: Path) -> None:
    """Each cell is found by its grade_id; what was handed out and left so is no answer."""
    notebook = sample.source_notebook()
    first, second = (
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    )
    first["source"] = "def double(x):\n    return x + 2"
    notebook["cells"] += [
        sample.code("def total(values): return 6"),
        sample.markdown("Done."),
    ]
    sample.write(made / "ann.ipynb", notebook)
    second["source"] = (
        "def total(values):\n    raise NotImplementedError('Replace this line')"
    )
    sample.write(made / "ben.ipynb", notebook)
    report, _ = judged(made, "ann.ipynb", made / "ben.ipynb")
    assert report["unanswered"] == {"ann.ipynb": [], str(made / "ben.ipynb"): ["total"]}
    found = [
        (answer["file"], answer["task"], answer["kind"], answer["name"], answer["lost"])
        for answer in report["answers"]
    ]
    assert found == [
        ("ann.ipynb", "double", "unknown", "ann", 3),
        (str(made / "ben.ipynb"), "double", "unknown", "ben", 3),
        ("ann.ipynb", "total", "unknown", "ann", 0),
    ]


def test_files_of_the_bank_and_single_ones(made: Path) -> None:
    """A bank is judged as it stands; so is one answer, from inside its folder."""
    report, answers = judged(made, f"answers/{sample.NAME}", "mine/double/idea.py")
    assert {
        name: (answer["task"], answer["kind"]) for name, answer in answers.items()
    } == {
        "add": ("double", "right"),
        "shift": ("double", "right"),
        "idea": ("double", "unknown"),
        "plus_two": ("double", "wrong"),
        "sign": ("double", "wrong"),
        "loop": ("total", "right"),
        "late": ("total", "right"),
        "single": ("total", "wrong"),
        "first": ("total", "wrong"),
    }
    assert [name for name, answer in answers.items() if answer["lost"]] == [
        "plus_two",
        "sign",
        "single",
        "first",
    ]
    assert report["unanswered"][f"answers/{sample.NAME}"] == []


BAD = {
    "mine/treble/wrong_x.py": (
        "x = 1\n",
        "mine/treble/wrong_x.py: neither its folder nor the",
    ),
    "mine/double/wrong_x.py": (
        "\ndef double(x)\n",
        "mine/double/wrong_x.py:2: double: SyntaxErr",
    ),
    "mine/double/wrong_bytes.py": (
        "\0",
        "mine/double/wrong_bytes.py:1: double: SyntaxError: sou",
    ),
    "mine/total/latin.py": (
        b"# \xe9\n",
        "mine/total/latin.py: not a text: 'utf-8' codec",
    ),
    "mine/total.py": (
        "# %% wrong: x\n",
        "mine/total.py:1: '# %% wrong: x': an answer begins",
    ),
    "mine/x.ipynb": ("{", "mine/x.ipynb: not a notebook: Expecting property name"),
    "mine/y.ipynb": ('{"cells": [1]}', "mine/y.ipynb: not a notebook"),
}


def test_what_cannot_be_judged_is_named(made: Path) -> None:
    """By file and line; the rest is judged all the same."""
    for name, (text, _) in BAD.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    sample.write(made / "z.ipynb", sample.notebook([]))
    (made / "none").mkdir()
    report, answers = judged(
        made, "mine", "gone", "none", "z.ipynb", "mine/double/notes.txt"
    )
    expected = [
        *(message for _, message in BAD.values()),
        "gone: there is no such file",
        "none: no answers to 90-sample",
        "z.ipynb: no answers to 90-sample",
        "mine/double/notes.txt: neither a folder, nor a notebook, nor an answer in Python",
    ]
    for message in expected:
        assert [line for line in report["problems"] if line.startswith(message)], (
            message
        )
    assert len(answers) == len(ANSWERS) - 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("91", "mine"), "no assignment 91; there are 90-sample"),
        (("90",), "the following arguments are required: FILES"),
    ],
)
def test_a_command_that_makes_no_sense(
    made: Path, arguments: tuple, message: str
) -> None:
    """Nothing is printed but the reason, and the status is 2."""
    done = call(made, *arguments, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_reference_that_fails_judges_nothing(made: Path) -> None:
    """Whatever an answer loses beside it would mean nothing."""
    path = made / "solutions" / sample.NAME / "sample.ipynb"
    path.write_text(
        path.read_text(encoding="utf-8").replace("return 2 * x", "return 2 + x")
    )
    done = call(made, "90", "mine/double/idea.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the reference solution scores 0 of 2 in double--small" in done.stderr


def test_the_table(made: Path) -> None:
    """For a reader: one line for an answer, and one for each message."""
    done = call(made, "90", "mine/double/wrong_sign.py", "mine/double/wrong_own.py")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == sample.NAME
    assert lines[1].startswith("double  wrong sign: 1 of 3 points, ")
    assert lines[2] == f"double--small, hidden: {SIGN}"
    assert "its own cell: KeyError: 'own'" in lines
    assert lines[-1] == "mine/double/wrong_own.py: no answer to total"
