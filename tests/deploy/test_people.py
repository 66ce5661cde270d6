"""Accounts, roles and the roster that a login makes."""

from __future__ import annotations

import asyncio
import importlib
import re
import stat
import sys
import tomllib
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import traitlets.config
from tornado.web import HTTPError

from deploy import accounts
from deploy.people import NotAdmitted, admit, note, username
from grading.lms.files.roster import read_roster
from grading.lms.lti.protocol.membership import CLAIM

MEMBER = "http://purl.imsglobal.org/vocab/lis/v2/membership"


def test_an_account_belongs_to_one_user_of_one_platform() -> None:
    """The same at every login, another for anybody else, and fit for Unix and nbgrader."""
    names = {
        username(issuer, subject)
        for issuer in ("https://a", "https://b")
        for subject in ("1", "2", "root", "../x", "u" * 300, "ü")
    }
    assert len(names) == 12
    assert all(accounts.NAME.fullmatch(name) for name in names)
    assert username("https://a", "1") == username("https://a", "1")
    # Where one ends and the other begins makes a difference.
    assert username("https://a/", "b") != username("https://a", "/b")


COURSES = {"d1": ("c1", "c2"), "d2": ("c3",)}


def claims(**changes: object) -> dict[str, object]:
    """Return what a checked launch of the course says; `changes` replace claims, None removes."""
    made = {
        "sub": "17",
        "given_name": "Zoë",
        f"{CLAIM}deployment_id": "d1",
        f"{CLAIM}context": {"id": "c1", "title": "Attention"},
        f"{CLAIM}resource_link": {"id": "link-1"},
        f"{CLAIM}roles": [f"{MEMBER}#Learner"],
    }
    made |= {
        f"{CLAIM}{name}" if name != "sub" else name: value
        for name, value in changes.items()
    }
    return {name: value for name, value in made.items() if value is not None}


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([f"{MEMBER}#Learner"], "students"),
        ([f"{MEMBER}#Instructor"], "instructors"),
        (
            [f"{MEMBER}/Instructor#TeachingAssistant", f"{MEMBER}#Learner"],
            "instructors",
        ),
        (["Instructor"], "instructors"),
        (["Learner"], "students"),
        ([f"{MEMBER}#Mentor"], None),
        (
            ["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"],
            None,
        ),
        (
            [
                "http://purl.imsglobal.org/vocab/lis/v2/system/person#Administrator",
                f"{MEMBER}#Learner",
            ],
            "students",
        ),
        ([f"http://evil.example/{MEMBER}#Instructor"], None),
        ([], None),
        ("Instructor", None),
        (None, None),
    ],
)
def test_the_role_in_the_course_decides(roles: object, expected: str | None) -> None:
    """A teacher elsewhere is none here, and who has no role gets nothing."""
    if expected is None:
        with pytest.raises(NotAdmitted, match="students and instructors of the course"):
            admit(claims(roles=roles), COURSES)
    else:
        assert admit(claims(roles=roles), COURSES) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"context": {"id": "c9"}},
        {"context": {"id": "c3"}},
        {"deployment_id": "d2"},
        {"deployment_id": "d9"},
        {"context": {"id": "C1"}},
        {"context": {"id": "c1 "}},
        {"context": None},
        {"context": {}},
        {"context": {"id": None}},
        {"context": {"id": ["c1"]}},
        {"context": {"title": "c1"}},
        {"context": "c1"},
        {"deployment_id": None},
        {"deployment_id": ["d1"]},
        {"context": None, "resource_link": {"id": "c1"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("role", ["Instructor", "Learner"])
def test_another_course_is_refused(role: str, changes: dict) -> None:
    """The same context on another deployment is another course; no context is none."""
    with pytest.raises(NotAdmitted, match=r"course (that )?you come from"):
        admit(claims(roles=[f"{MEMBER}#{role}"], **changes), COURSES)


def test_a_teacher_is_told_how_to_add_the_course() -> None:
    """As a line to copy; a student is not told, and a hub without courses lets nobody in."""
    teacher = claims(roles=[f"{MEMBER}#Instructor"], context={"id": 'c"9'})
    with pytest.raises(NotAdmitted, match="can add it") as told:
        admit(teacher, COURSES)
    line = str(told.value).rpartition(": ")[2]
    assert tomllib.loads(line) == {"d1": ['c"9']}
    with pytest.raises(NotAdmitted) as told:
        admit(claims(context={"id": "c9"}), COURSES)
    assert "c9" not in str(told.value)
    with pytest.raises(NotAdmitted, match="not set up"):
        admit(claims(), {})
    for number, (deployment, context) in enumerate(
        (("d1", "c1"), ("d1", "c2"), ("d2", "c3"))
    ):
        assert (
            admit(
                claims(
                    deployment_id=deployment, context={"id": context}, sub=str(number)
                ),
                COURSES,
            )
            == "students"
        )


@pytest.fixture
def authenticator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """deploy/lti.py as it is, on stand-ins for the packages that only the hub has."""

    class Base(traitlets.config.Configurable):
        issuer = traitlets.Unicode("https://lms.example.org", config=True)

    for name, parts in (
        ("", {}),
        (".lti13", {}),
        (".lti13.auth", {"LTI13Authenticator": Base}),
        (".lti13.handlers", {"LTI13LoginInitHandler": object}),
    ):
        module = types.ModuleType(f"ltiauthenticator{name}")
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "deploy.lti", raising=False)
    made = importlib.import_module("deploy.lti").CourseLTI13Authenticator
    monkeypatch.delitem(sys.modules, "deploy.lti")
    return made


def log_in(authenticator: Any, data: dict) -> dict:
    """Run the authenticator on checked claims."""
    # In a thread of its own: the browser's tests leave a loop running in this one.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(
            asyncio.run, authenticator.authenticate(None, data)
        ).result()


def test_the_authenticator_asks_for_the_course(
    authenticator: Any, tmp_path: Path
) -> None:
    """A foreign teacher gets 403 with the sentence, no account, and no line in the roster."""
    roster = tmp_path / "roster.csv"
    made = authenticator(courses=COURSES, roster=str(roster))
    for role in ("Instructor", "Learner"):
        for changes in (
            {"context": {"id": "c9"}},
            {"context": None},
            {"deployment_id": "d2"},
        ):
            with pytest.raises(HTTPError, match="come from") as refused:
                log_in(made, claims(roles=[f"{MEMBER}#{role}"], **changes))
            assert refused.value.status_code == 403
    assert not roster.exists()
    with pytest.raises(HTTPError):
        log_in(authenticator(), claims())
    with pytest.raises(traitlets.TraitError):
        authenticator(courses={"d1": "c123"})  # of which "c1" is a part
    with pytest.raises(HTTPError, match="who you are"):
        log_in(made, claims(sub=None))
    name = username("https://lms.example.org", "17")
    assert log_in(made, claims()) == {
        "name": name,
        "groups": ["students"],
        "auth_state": None,
    }
    assert name in roster.read_text(encoding="utf-8")
    assert log_in(made, claims(roles=[f"{MEMBER}/Instructor#TeachingAssistant"]))[
        "groups"
    ] == ["instructors"]


def test_the_roster_is_what_grading_reads(tmp_path: Path) -> None:
    """Commas, quotes and umlauts survive; a second login changes a row, and adds none."""
    path = tmp_path / "roster.csv"
    one = {
        "id": "uaaaaaaaaaaaa",
        "first_name": 'Zoë "Zo"',
        "last_name": "Müller, dr.",
        "email": "z@lms.example",
        "lms_user_id": "17",
    }
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


@pytest.mark.parametrize(
    "name", ["root", "u" * 13 + "x", "../etc", "U234567abcdef", ""]
)
def test_other_accounts_are_never_touched(name: str) -> None:
    """Whatever a user of the hub may be called."""
    with pytest.raises(accounts.AccountError, match=re.escape(repr(name))):
        accounts.ensure(None, name, "students")
