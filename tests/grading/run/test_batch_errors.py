"""What the command says where it can't do its work: one line, why, and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course.notebooks import ROOT
from tests.grading import helpers

FAKE = ["--engine", "tests.grading.fakes:make", "--jobs", "1"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


def test_messages_say_what_to_do(small: Path, capsys: pytest.CaptureFixture) -> None:
    """One line and no traceback for what a teacher can put right."""

    def message(*arguments: str) -> str:
        assert main([*arguments, "--root", str(small)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said
        return said

    assert "Known: 90-sample. For example: make grade ASSIGNMENT=90-sample" in message(
        "run"
    )
    assert "no assignment is called '91'" in message("run", "91")
    layout = "submitted/<student>/90-sample/sample.ipynb"
    assert f"there is no folder submitted/. Put each notebook at {layout}" in message(
        "run", "90"
    )
    (small / "submitted").mkdir()
    assert f"submitted/ is empty. Put each notebook at {layout}" in message("run", "90")
    (small / "submitted" / "ann").mkdir()
    assert "nobody handed in 90-sample (ann: nothing handed in)" in message("run", "90")
    assert not (small / "gradebook.db").exists()
    said = message("states", "90")
    assert "there is no gradebook" in said
    assert f"if {small} is not the course's folder, name that with --root" in said
    assert "there is no gradebook" in message("clear", "90", "ann", "--reason", "x")
    helpers.hand_in(small, "ann", helpers.release())
    assert "--jobs: expected at least 1, got 0" in message("run", "90", "--jobs", "0")
    assert "no folder of bob in submitted/" in message("run", "90", "--student", "bob")
    text = message("run", "90", "--db", "grades.db")
    assert (
        "expected sqlite:///FILE or postgresql://USER@HOST/NAME, got 'grades.db'"
        in text
    )
    text = message("run", "90", "--db", "sqlite:////dev/null/x.db")
    assert "gradebook sqlite:////dev/null/x.db can't be opened" in text
    (small / "broken.db").write_bytes(b"not a database" * 100)
    text = message("run", "90", "--db", f"sqlite:///{small / 'broken.db'}")
    assert "the file is damaged, or is something else" in text
    shutil.rmtree(small / "exercises")
    assert "run `make exercises`" in message("run", "90")
    (small / "nbgrader_config.py").write_text("c = nothing", encoding="utf-8")
    text = message("states", "90")
    assert "exercises/90-sample/sample.ipynb: run `make exercises`" in text


def test_nobody_who_reads_on_is_no_error(small: Path) -> None:
    """As for `| head`: the command ends without a word, and not as if all had been told."""
    helpers.hand_in(small, "ann", helpers.fill(helpers.RIGHT))
    assert main(["run", "90", "--root", str(small), *FAKE]) == 0
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "grading", "states", "90", "--root", small],
            cwd=ROOT,
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_engine_that_does_not_start(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """Its own words arrive: what to install."""
    helpers.hand_in(small, "ann", helpers.release())
    arguments = [
        "--root",
        str(small),
        "--jobs",
        "1",
        "--engine",
        "tests.grading.fakes:make_none",
    ]
    assert main(["run", "90", *arguments]) == 2
    assert capsys.readouterr().err.strip().endswith("apt-get install bubblewrap")


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (
            ["--ro-bind", "{course}", "{course}"],
            "Read-only file system. the folder is read-only",
        ),
        (["--size", "1200000", "--tmpfs", "{course}"], "the disk is full: make room"),
    ],
)
def test_a_folder_that_cannot_be_written(
    small: Path, bubblewrap: None, view: list[str], words: str
) -> None:
    """A read-only course, and one on a full disk: one line, and what is there stays whole."""
    for number in range(40):
        helpers.hand_in(small, f"s{number:02}", helpers.fill(helpers.RIGHT))
    copy = small.parent / "copy"
    shutil.copytree(small, copy)
    places = [part.format(course=small) for part in view]
    fill = f"cp -r {copy}/. {small}/ 2>/dev/null; " if "--tmpfs" in view else ""
    grader = [sys.executable, "-m", "grading", "run", "90", "--root", str(small), *FAKE]
    done = subprocess.run(
        [
            "bwrap",
            "--dev-bind",
            "/",
            "/",
            *places,
            "sh",
            "-c",
            f'{fill}exec "$@"',
            "sh",
            *grader,
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("python -m grading: ")
    assert words in last
    assert "Traceback" not in done.stderr
