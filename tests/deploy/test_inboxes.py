"""The exchange with an inbox for each student: nbgrader's submit and collect, and its cheats."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit
from traitlets.config import Config

from tests.deploy.machine import ROOT

sys.path.insert(0, str(ROOT / "deploy" / "user"))
from inboxes import CollectFromInboxes  # beside the configuration, not a package

sys.path.pop(0)
ASSIGNMENT = "02-b"


class Class:
    """A course with its exchange in a folder."""

    def __init__(self, folder: Path) -> None:
        self.exchange, self.course = folder / "exchange", folder / "course"
        self.home = folder / "home"
        (self.exchange / "attention" / "outbound" / ASSIGNMENT).mkdir(parents=True)
        (self.exchange / "attention" / "outbound" / ASSIGNMENT / "b.ipynb").touch()
        self.course.mkdir()

    def inbound(self, student: str) -> Path:
        """Make a student's inbox, as the hub does; return where submissions go."""
        top = self.exchange / "inboxes" / student / "attention"
        if not top.exists():
            (top / "inbound").mkdir(parents=True)
            (top / "outbound").symlink_to(self.exchange / "attention" / "outbound")
        return top / "inbound"

    def submit(self, student: str, text: str, claimed: str = "") -> None:
        """Hand in with nbgrader, in one's own name or another."""
        self.inbound(student)
        work = self.home / student / ASSIGNMENT
        work.mkdir(parents=True, exist_ok=True)
        (work / "b.ipynb").write_text(text, encoding="utf-8")
        config = Config()
        config.Exchange.root = str(self.exchange / "inboxes" / student)
        config.Exchange.cache = str(self.home / student / "cache")
        config.Exchange.assignment_dir = str(work.parent)
        config.CourseDirectory.update(
            course_id="attention",
            assignment_id=ASSIGNMENT,
            groupshared=True,
            student_id=claimed or student,
            root=str(work.parent),
        )
        ExchangeSubmit(
            coursedir=CourseDirectory(config=config),
            config=config,
            authenticator=Authenticator(config=config),
        ).start()

    def collect(self, update: bool = True, student: str = "*") -> dict[str, str]:
        """Collect with nbgrader; return who is there now, and with what."""
        config = Config()
        config.Exchange.root = str(self.exchange)
        config.CourseDirectory.update(
            course_id="attention",
            assignment_id=ASSIGNMENT,
            groupshared=True,
            root=str(self.course),
            student_id=student,
        )
        collector = CollectFromInboxes(
            coursedir=CourseDirectory(config=config),
            config=config,
            authenticator=Authenticator(config=config),
        )
        collector.update = update
        collector.start()
        found = (self.course / "submitted").glob(f"*/{ASSIGNMENT}/b.ipynb")
        return {path.parts[-3]: path.read_text(encoding="utf-8") for path in found}

    def stamp(self, student: str) -> str:
        """Return the time of a collected submission."""
        path = self.course / "submitted" / student / ASSIGNMENT / "timestamp.txt"
        return path.read_text(encoding="utf-8")


@pytest.fixture
def course(tmp_path: Path) -> Class:
    """A course without submissions."""
    return Class(tmp_path)


def test_what_is_handed_in_is_collected_once(course: Class) -> None:
    """By its inbox's student; a newer one replaces it, and only where it is asked for."""
    course.submit("s01", "one")
    course.submit("s02", "two")
    assert course.collect() == {"s01": "one", "s02": "two"}
    first = course.stamp("s01")
    course.submit("s01", "better")
    assert course.collect(update=False) == {"s01": "one", "s02": "two"}
    assert course.collect() == {"s01": "better", "s02": "two"}
    assert course.stamp("s01") > first
    again = course.stamp("s01")
    assert course.collect()["s01"] == "better"
    assert course.stamp("s01") == again
    course.submit("s02", "newest")
    assert course.collect(student="s01")["s02"] == "two"


def test_nobody_hands_in_for_another(course: Class) -> None:
    """The name in the submission is what its author wrote; the inbox is the hub's."""
    course.submit("s01", "mine")
    course.submit("s02", "forged", claimed="s01")
    assert course.collect() == {"s01": "mine", "s02": "forged"}


def test_nobody_turns_the_clock_back(course: Class) -> None:
    """Neither by timestamp.txt, nor the folder's name, nor the file's date."""
    course.submit("s01", "late")
    [made] = course.inbound("s01").iterdir()
    (made / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC\n", encoding="utf-8")
    os.utime(made / "b.ipynb", (0, 0))
    made.rename(made.with_name(f"s01+{ASSIGNMENT}+2001-01-01 00:00:00 UTC+x"))
    course.collect()
    assert course.stamp("s01") > "2026"


@pytest.mark.timeout(30)
def test_only_plain_files_of_the_inbox_are_read(course: Class, tmp_path: Path) -> None:
    """Links lead nowhere, a pipe does not hang, and others are collected all the same."""
    secret = tmp_path / "secret"
    secret.write_text("another's work", encoding="utf-8")
    inbound = course.inbound("s01")
    (inbound / f"s01+{ASSIGNMENT}+1+a").mkdir()
    (inbound / f"s01+{ASSIGNMENT}+1+a" / "b.ipynb").symlink_to(secret)
    stolen = tmp_path / "stolen" / "b.ipynb"
    stolen.parent.mkdir()
    stolen.write_text("stolen", encoding="utf-8")
    (inbound / f"s01+{ASSIGNMENT}+2+b").symlink_to(stolen.parent)
    (inbound / f"s01+{ASSIGNMENT}+3+c").write_text("a file", encoding="utf-8")
    (inbound / f"s01+{ASSIGNMENT}+4+d").mkdir()
    os.mkfifo(inbound / f"s01+{ASSIGNMENT}+4+d" / "b.ipynb")
    course.submit("s02", "fine")
    assert course.collect() == {"s02": "fine"}
    good = inbound / f"s01+{ASSIGNMENT}+0+e"
    good.mkdir()
    (good / "b.ipynb").write_text("good", encoding="utf-8")
    (good / "more").mkdir()
    (good / "passwd").symlink_to("/etc/passwd")
    assert course.collect() == {"s01": "good", "s02": "fine"}
    taken = course.course / "submitted" / "s01" / ASSIGNMENT
    assert {path.name for path in taken.iterdir()} == {"b.ipynb", "timestamp.txt"}


def test_a_submission_is_bounded(course: Class) -> None:
    """A file that is too large is left out, and of too many files some."""
    course.submit("s01", "fine")
    [made] = course.inbound("s01").iterdir()
    with (made / "big").open("wb") as file:
        file.truncate(10**9)
    for number in range(100):
        (made / f"x{number}").touch()
    assert course.collect() == {"s01": "fine"}
    taken = {
        path.name
        for path in (course.course / "submitted" / "s01" / ASSIGNMENT).iterdir()
    }
    assert "big" not in taken
    assert len(taken) <= CollectFromInboxes.max_files.default_value + 1


def test_without_inboxes_it_says_so(course: Class) -> None:
    """An exchange in the wrong place is not an empty class."""
    from nbgrader.exchange import ExchangeError

    with pytest.raises(ExchangeError, match="no inboxes"):
        course.collect()
