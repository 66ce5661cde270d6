"""Accounts, roles and the roster that a login makes."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from deploy import accounts
from deploy.people import CLAIM, note, role, username
from grading.lms.people import read_roster

MEMBER = "http://purl.imsglobal.org/vocab/lis/v2/membership"


def test_an_account_belongs_to_one_user_of_one_platform() -> None:
    """The same at every login, another for anybody else, and fit for Unix and nbgrader."""
    names = {username(issuer, subject) for issuer in ("https://a", "https://b")
             for subject in ("1", "2", "root", "../x", "u" * 300, "ü")}
    assert len(names) == 12
    assert all(accounts.NAME.fullmatch(name) for name in names)
    assert username("https://a", "1") == username("https://a", "1")
    # Where one ends and the other begins makes a difference.
    assert username("https://a/", "b") != username("https://a", "/b")


@pytest.mark.parametrize(("roles", "expected"), [
    ([f"{MEMBER}#Learner"], "students"),
    ([f"{MEMBER}#Instructor"], "instructors"),
    ([f"{MEMBER}/Instructor#TeachingAssistant", f"{MEMBER}#Learner"], "instructors"),
    (["Instructor"], "instructors"),
    (["Learner"], "students"),
    ([f"{MEMBER}#Mentor"], None),
    (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"], None),
    (["http://purl.imsglobal.org/vocab/lis/v2/system/person#Administrator",
      f"{MEMBER}#Learner"], "students"),
    ([f"http://evil.example/{MEMBER}#Instructor"], None),
    ([], None),
    ("Instructor", None),
    (None, None),
])
def test_the_role_in_the_course_decides(roles: object, expected: str | None) -> None:
    """A teacher elsewhere is none here, and who has no role gets nothing."""
    assert role({f"{CLAIM}roles": roles}) == expected


def test_the_roster_is_what_grading_reads(tmp_path: Path) -> None:
    """Commas, quotes and umlauts survive; a second login changes a row, and adds none."""
    path = tmp_path / "roster.csv"
    one = {"id": "uaaaaaaaaaaaa", "first_name": 'Zoë "Zo"', "last_name": "Müller, dr.",
           "email": "z@lms.example", "lms_user_id": "17"}
    two = one | {"id": "ubbbbbbbbbbbb", "lms_user_id": "18", "first_name": "x" * 900}
    note(path, one)
    note(path, two)
    note(path, one | {"email": "new@lms.example"})
    roster = read_roster(path)
    assert sorted(roster.members) == ["uaaaaaaaaaaaa", "ubbbbbbbbbbbb"]
    found = roster.members["uaaaaaaaaaaaa"]
    assert (found.first_name, found.last_name) == ('Zoë "Zo"', "Müller, dr.")
    assert (found.email, found.lms_user_id) == ("new@lms.example", "17")
    assert len(roster.members["ubbbbbbbbbbbb"].first_name) == 200
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["roster.csv"]


@pytest.mark.parametrize("name", ["root", "u" * 13 + "x", "../etc", "U234567abcdef", ""])
def test_other_accounts_are_never_touched(name: str) -> None:
    """Whatever a user of the hub may be called."""
    with pytest.raises(accounts.AccountError, match=re.escape(repr(name))):
        accounts.ensure(None, name, "students")
