"""What a folder's name, a timestamp or closed folders can do to a whole class: nothing.

The submissions' code runs in this process here (tests/grading/fakes.py).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course import layout
from grading.course.layout import parse_time
from grading.gradebook.standing import standings
from grading.run.batch import REFERENCE
from tests.grading import helpers
from tests.harness import sample

FAKE = ["--engine", "tests.grading.fakes:make", "--jobs", "1"]
ODD = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment, in which one student handed in."""
    root = helpers.make_course(tmp_path / "course")
    helpers.hand_in(root, "good", helpers.fill(helpers.RIGHT))
    return root


def run(small: Path, command: str = "run") -> int:
    """Grade the class, or list its states."""
    return main(
        [command, "90", "--root", str(small), *(FAKE if command == "run" else [])]
    )


def states(small: Path) -> dict[str, tuple[str, float | None]]:
    """Return everybody's state and points."""
    url = f"sqlite:///{small / 'gradebook.db'}"
    found = standings(url, sample.NAME, submitted=small / "submitted")
    assert len({one.student for one in found}) == len(found)
    return {one.student: (str(one.state), one.points) for one in found}


NAMES = (
    "\x1b[2J\x1b[31mred\nfake  graded  6",
    os.fsdecode(b"bad\xff\xfe"),
    "\u202eevil",
    "x" * 200,
    "a\\..\\b",
)


def test_a_folders_name_plays_no_tricks_on_who_reads_the_table(
    small: Path, capsys: pytest.CaptureFixture
) -> None:
    """It is shown once, without control characters, and has no grade."""
    for name in NAMES:
        helpers.hand_in(small, name, helpers.fill(helpers.RIGHT))
    (small / "submitted" / "empty\t").mkdir()
    names = {layout.shown_name(name) for name in NAMES}
    assert run(small) == 1
    tables = {"run": capsys.readouterr().out}
    assert run(small, "states") == 0
    tables["states"] = capsys.readouterr().out
    for table in tables.values():
        assert all(c.isprintable() for c in table.replace("\n", ""))
        assert not any(line.startswith("fake") for line in table.splitlines())
        for name in names:
            [row] = [line for line in table.splitlines() if name in line]
            assert "failed" in row
            assert "rename the folder" in row
    assert f"empty{ODD}" in tables["run"]
    assert states(small) == {
        "good": ("graded", 6.0),
        **dict.fromkeys(names, ("failed", None)),
    }


def test_a_student_whose_folder_is_called_like_the_solutions(small: Path) -> None:
    """Is a student like any other, and does not stop the run with wrong answers."""
    helpers.hand_in(small, REFERENCE, helpers.fill(helpers.WRONG))
    assert run(small) == 0
    assert states(small) == {"good": ("graded", 6.0), REFERENCE: ("graded", 1.0)}


def test_a_reason_stays_on_its_line(small: Path, capsys: pytest.CaptureFixture) -> None:
    """What a notebook holds can't look like a line about somebody else."""
    notebook = helpers.fill(helpers.RIGHT)
    cell = sample.code("1") | {"id": "more"}
    cell["metadata"] = {
        "nbgrader": {"grade": True, "grade_id": "x\ngraded: good: 99 points"}
    }
    notebook["cells"].append(cell)
    helpers.hand_in(small, "sam", notebook)
    assert run(small) == 0
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    assert any(
        "suspect: sam: unknown: x graded: good: 99 points" in line for line in lines
    )
    assert not any(line.startswith("graded: good") for line in lines)


STAMPS = (
    "2030-01-31 12:00:00 ../../../etc/passwd",
    "2030-01-31 12:00:00 Europe/../../../etc/passwd",
    "2030-01-31 12:00:00 /dev/stdin",
    "2030-01-31 12:00:00 PIPE",
    "1e999",
    "NaN",
    "\0 \0 \0",
    "9999-12-31 23:59:59 -99999",
    "1 2 99999999999999999999",
)


def test_a_timestamp_stops_nobody(small: Path, capsys: pytest.CaptureFixture) -> None:
    """No file that it names is opened, as a pipe that never ends, and the class is graded."""
    for number, text in enumerate(STAMPS):
        folder = helpers.hand_in(
            small, f"s{number}", helpers.fill(helpers.RIGHT)
        ).parent
        os.mkfifo(folder / "pipe")
        (folder / "timestamp.txt").write_text(
            text.replace("PIPE", str(folder / "pipe"))
        )
    assert run(small) == 0
    told = capsys.readouterr().err
    for number in range(len(STAMPS)):
        assert f"s{number}: timestamp.txt can't be read: not counted as late" in told
    assert set(states(small).values()) == {("graded", 6.0)}


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2030-01-31 12:00:00 UTC", 12),
        ("2030-01-31 12:00:00.25 America/Argentina/Buenos_Aires", 15),
        ("2030-01-31T12:00:00+01:00", 11),
        ("Thu, 31 Jan 2030 12:00:00 GMT", 12),
        ("2030/01/31 12:00", 12),
        ("2030-01-31 12:00:00 CET", 11),
    ],
)
def test_times_are_read_in_the_forms_that_programs_write(text: str, hour: int) -> None:
    """nbgrader's own, with any zone, and the usual others."""
    assert parse_time(text).hour == hour


def test_a_folder_that_the_grader_may_not_enter_stops_nobody(
    small: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is failed, with the system's reason; so is a notebook that can't be read."""
    helpers.hand_in(small, "closed", helpers.fill(helpers.RIGHT))
    helpers.hand_in(small, "unreadable", helpers.fill(helpers.RIGHT))
    stat, opened = os.stat, os.open

    def no_stat(path: str, *args: object, **options: object) -> os.stat_result:
        if "submitted/closed/" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *args, **options)

    def no_open(path: str, *args: object, **options: object) -> int:
        if "/submitted/closed/" in str(path) or "/submitted/unreadable/" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    # The tests may run as root, whom no folder is closed to.
    monkeypatch.setattr(os, "stat", no_stat)
    monkeypatch.setattr(os, "open", no_open)
    assert run(small) == 1
    table = capsys.readouterr().out
    assert "its folder can't be read: Permission denied" in table
    assert "sample.ipynb cannot be opened: Permission denied" in table
    found = states(small)
    assert found.pop("good") == ("graded", 6.0)
    assert found == dict.fromkeys(("closed", "unreadable"), ("failed", None))
