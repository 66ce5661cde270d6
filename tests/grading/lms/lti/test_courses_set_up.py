"""Setting courses up and taking them away, what is kept, and databases from before."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from grading.lms.lti import cli
from grading.lms.lti.protocol import keys, services
from grading.lms.lti.protocol.errors import LtiError, Refused
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.membership import CLAIM, place
from grading.lms.lti.protocol.platforms import Configuration, save
from grading.lms.lti.protocol.store import Store
from grading.lms.lti.protocol.visit import Visit, from_claims
from grading.lms.lti.web import identity
from tests.grading.lms.lti import course
from tests.grading.lms.lti.stub import (
    CLIENT,
    CONTEXT,
    DEPLOYMENT,
    LEARNER,
    TEACHER,
    Stub,
)
from tests.grading.lms.lti.test_courses import ASSISTANT, OTHER, dump

pytestmark = pytest.mark.slow


def command(tool: Tool, root: Path, key_pair: keys.Keys, *options: str) -> int:
    """Run `course` for a tool."""
    folder = tool.store.file.parent
    if not (folder / keys.PRIVATE).exists():
        keys.write_private(folder / keys.PRIVATE, key_pair.private.encode())
    return cli.main(["course", "--root", str(root), "--folder", str(folder), *options])


def test_command(
    tool: Tool,
    stub: Stub,
    root: Path,
    key_pair: keys.Keys,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Add, list, take away; what is unknown is named, and nothing is written."""
    assert command(tool, root, key_pair) == 0
    assert "No course is set up: nobody is let in" in capsys.readouterr().out
    assert (
        command(
            tool, root, key_pair, f"--add={CONTEXT}", f"--deployment-id={DEPLOYMENT}"
        )
        == 0
    )
    assert f"1  let in  {CONTEXT}" in capsys.readouterr().out
    claims = stub.claims(tool.public_url, "t01", TEACHER)
    assert tool.store.enter(from_claims(claims, CLIENT)) == 1
    assert command(tool, root, key_pair, f"--add={OTHER}") == 0
    assert "same gradebook as those of course 1" in capsys.readouterr().out
    own = root / "own"
    own.mkdir()
    assert command(tool, root, key_pair, "--add=course-3", f"--grades-of={own}") == 0
    assert "same gradebook" not in capsys.readouterr().out
    assert [one.root for one in tool.store.courses()] == [
        str(root),
        str(root),
        str(own),
    ]
    assert command(tool, root, key_pair, "--take-away", "2") == 0
    assert f"2  not let in  {OTHER}" in capsys.readouterr().out
    before = dump(tool.store)
    for options, told in (
        (("--add=x", "--deployment-id=deployment-2"), "--deployment-id"),
        (("--add=x", "--issuer=https://elsewhere.example.org"), "--issuer"),
        (("--add=x", "--grades-of=/nowhere"), "there is no folder /nowhere"),
        (("--take-away", "2"), "no such course"),
    ):
        assert command(tool, root, key_pair, *options) == 2
        assert told in capsys.readouterr().err
    assert dump(tool.store) == before
    tool.configuration = Configuration(
        tool.public_url, (replace(stub.platform, deployment_ids=("1", "2")),)
    )
    save(tool.store.file.parent, tool.configuration)
    assert command(tool, root, key_pair, "--add=x") == 2
    assert "say which" in capsys.readouterr().err


def test_publishing_reads_the_courses_own_gradebook(
    tool: Tool,
    stub: Stub,
    root: Path,
    tmp_path: Path,
    key_pair: keys.Keys,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command line takes the gradebook that the course was set up with, and that is open."""
    stub.set_up(tool.store)
    empty = tmp_path / "empty"
    empty.mkdir()
    tool.store.set_up(stub.url, CLIENT, DEPLOYMENT, OTHER, str(empty))
    command(tool, root, key_pair)
    options = [
        "publish",
        "02",
        "--dry-run",
        "--root",
        str(root),
        "--folder",
        str(tool.store.file.parent),
        "--db",
        course.url(root),
    ]
    assert cli.main([*options, "--course", "1"]) == 0
    assert cli.main([*options, "--course", "2"]) == 2
    assert "gradebook" in capsys.readouterr().err
    tool.store.take_away(1)
    assert cli.main([*options, "--course", "1"]) == 2
    assert "no such course" in capsys.readouterr().err


def test_own_gradebook_is_that_beside_the_tools_folder(
    tool: Tool, tmp_path: Path, key_pair: keys.Keys
) -> None:
    """It may be moved with the folder; any other one is named in full."""
    assert command(tool, tmp_path, key_pair, f"--add={CONTEXT}") == 0
    assert [one.root for one in tool.store.courses()] == [""]


def test_another_gradebook_has_other_students(tool: Tool, stub: Stub) -> None:
    """Student s01 of one gradebook is not s01 of the next: an old match counts no more."""
    first = stub.set_up(tool.store)
    tool.store.add_links(first.id, {"u01": ("s01", "test")})
    tool.store.release(first.id, course.ASSIGNMENT)
    visit = from_claims(stub.claims(tool.public_url, "t01", TEACHER), CLIENT)
    secret = tool.store.open_session(first.id, visit)
    assert stub.set_up(tool.store) == first
    assert tool.store.session(secret) is not None
    tool.store.set_up(stub.url, CLIENT, DEPLOYMENT, CONTEXT, "/another")
    assert tool.store.links(first.id) == {}
    assert tool.store.released(first.id) == set()
    assert tool.store.session(secret) is None


#: The tables that a change of form concerns, as the version before courses were set up made them.
OLD = """
CREATE TABLE sessions (
    key TEXT PRIMARY KEY, csrf TEXT NOT NULL, course INTEGER NOT NULL, user TEXT NOT NULL,
    name TEXT NOT NULL, role TEXT NOT NULL, expires REAL NOT NULL);
CREATE TABLE courses (
    id INTEGER PRIMARY KEY, issuer TEXT NOT NULL, client_id TEXT NOT NULL,
    deployment TEXT NOT NULL, context TEXT NOT NULL, title TEXT NOT NULL, members_url TEXT NOT NULL,
    line_items_url TEXT NOT NULL, scopes TEXT NOT NULL,
    UNIQUE (issuer, client_id, deployment, context));
CREATE TABLE links (
    issuer TEXT NOT NULL, client_id TEXT NOT NULL, user TEXT NOT NULL, student TEXT NOT NULL,
    how TEXT NOT NULL, PRIMARY KEY (issuer, client_id, user), UNIQUE (issuer, client_id, student));
"""


def old_database(folder: Path, *courses: tuple[str, str]) -> None:
    """Make a database of the version before; `courses` are (issuer, context)."""
    folder.mkdir(mode=0o700)
    with sqlite3.connect(folder / "lti.db") as connection:
        connection.executescript(OLD)
        for number, (issuer, name) in enumerate(courses, 1):
            connection.execute(
                "INSERT INTO courses VALUES (?, ?, ?, ?, ?, 'T', ?, ?, '[]')",
                (
                    number,
                    issuer,
                    CLIENT,
                    DEPLOYMENT,
                    name,
                    f"{issuer}/{name}",
                    f"{issuer}/i/{name}",
                ),
            )
        connection.execute(
            "INSERT INTO links VALUES ('https://a', ?, 'u01', 's01', 'test')", (CLIENT,)
        )
        connection.execute(
            "INSERT INTO sessions VALUES (?, 'c', 1, 'u', 'n', 'instructor', 9e12)",
            (hashlib.sha256(b"password").hexdigest(),),
        )
    connection.close()


def test_database_from_before(tmp_path: Path) -> None:
    """Nobody stays let in; what can only be this course's own is there when it is set up."""
    folder = tmp_path / "lti"
    old_database(folder, ("https://a", CONTEXT), ("https://b", CONTEXT))
    store = Store(folder)
    assert store.courses() == []
    assert [one.set_up for one in store.courses(all_known=True)] == [None, None]
    assert store.session("password") is None
    visit = Visit(
        "https://a", CLIENT, DEPLOYMENT, CONTEXT, "T", "t01", "", "instructor"
    )
    assert store.enter(visit) is None
    assert store.set_up("https://a", CLIENT, DEPLOYMENT, CONTEXT).id == 1
    assert store.course(1).members_url == "https://a/course-1"
    assert store.links(1) == {"u01": ("s01", "test")}
    again = Store(folder)
    assert again.courses() == store.courses()
    assert again.session("password") is None


def test_links_from_before_may_be_another_courses(tmp_path: Path) -> None:
    """Where two courses of a platform had been open, either's teacher may have made the links."""
    folder = tmp_path / "lti"
    old_database(folder, ("https://a", CONTEXT), ("https://a", OTHER))
    store = Store(folder)
    store.set_up("https://a", CLIENT, DEPLOYMENT, CONTEXT)
    assert store.links(1) == {}
    assert store.links(2) == {}


def test_owner_of_a_database_from_before(tmp_path: Path) -> None:
    """The owner's first launch sets up a course that the version before had let in, too."""
    folder = tmp_path / "lti"
    old_database(folder, ("https://a", CONTEXT))
    store = Store(folder)
    visit = Visit(
        "https://a", CLIENT, DEPLOYMENT, CONTEXT, "T", "t01", "", "instructor"
    )
    assert store.enter(visit, owner=True) == 1
    assert store.links(1) == {"u01": ("s01", "test")}


def test_set_up_courses_share_no_address(tmp_path: Path) -> None:
    """Also where both addresses are known from before."""
    folder = tmp_path / "lti"
    old_database(folder, ("https://a", CONTEXT), ("https://a", OTHER))
    with sqlite3.connect(folder / "lti.db") as connection:
        connection.execute("UPDATE courses SET members_url = 'https://a/same'")
    connection.close()
    store = Store(folder)
    store.set_up("https://a", CLIENT, DEPLOYMENT, CONTEXT)
    with pytest.raises(Refused, match="take one away"):
        store.set_up("https://a", CLIENT, DEPLOYMENT, OTHER)
    assert [one.id for one in store.courses()] == [1]


def test_place_names_both() -> None:
    """Deployment and context, both as texts."""
    assert place({f"{CLAIM}deployment_id": "1", f"{CLAIM}context": {"id": "2"}}) == (
        "1",
        "2",
    )
    with pytest.raises(ValueError, match="context id: expected a text"):
        place({f"{CLAIM}deployment_id": "1"})
    with pytest.raises(ValueError, match="deployment_id: expected a text"):
        place({f"{CLAIM}deployment_id": 1, f"{CLAIM}context": {"id": "2"}})


def test_members_of_another_course_by_the_service(
    tool: Tool, visited: int, stub: Stub
) -> None:
    """A roster without a context is taken, as one with the right one is."""
    offered = services.services(tool, tool.store.course(visited))
    for whose in ("", CONTEXT):
        stub.roster_of = whose
        assert offered.members() == {}
    stub.roster_of = OTHER
    with pytest.raises(LtiError, match="another course"):
        offered.members()


def test_ta_in_the_roster_is_a_teacher() -> None:
    """The roster goes by the same table as the launch."""
    assert identity.role_name({"roles": [ASSISTANT, LEARNER]}) == "teacher"
