"""Keys, the platforms' file, the database, who is who, and the command line."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.course.states import State
from grading.gradebook.standing import Person, Standing
from grading.lms.lti import cli
from grading.lms.lti.grades.scores import message
from grading.lms.lti.protocol import keys, platforms
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.platforms import Configuration, Platform
from grading.lms.lti.protocol.store import Store
from grading.lms.lti.web import identity
from tests.grading.lms.lti import course
from tests.grading.lms.lti.conftest import Naps
from tests.grading.lms.lti.stub import LEARNER, TEACHER, Stub
from tests.grading.lms.lti.test_publish import Publisher

PLATFORM = Platform(
    "https://lms.example.org",
    "client",
    "https://lms.example.org/auth",
    "https://lms.example.org/token",
    "https://lms.example.org/keys",
    ("1",),
)


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    """However many start at once, all have the same pair, in a file that others can't read."""
    folder, found = tmp_path / "lti", []
    old = os.umask(0)
    try:
        threads = [
            threading.Thread(target=lambda: found.append(keys.load(folder)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        os.umask(old)
    assert len({pair.private for pair in found}) == 1
    assert [path.name for path in folder.iterdir()] == [keys.PRIVATE]
    assert stat.S_IMODE((folder / keys.PRIVATE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "PRIVATE" not in repr(found[0])
    (folder / keys.PRIVATE).chmod(0o640)
    with pytest.raises(LtiError, match="chmod 600"):
        keys.load(folder)


def test_broken_key_is_told(tmp_path: Path) -> None:
    """A damaged file is not replaced behind its owner's back."""
    keys.write_private(tmp_path / keys.PRIVATE, b"nothing")
    with pytest.raises(LtiError, match="no private key"):
        keys.load(tmp_path)


def test_configuration_is_kept(tmp_path: Path) -> None:
    """What is saved is what is loaded; a platform that is registered again replaces itself."""
    configuration = Configuration("https://course.example.org", (PLATFORM,))
    platforms.save(tmp_path, configuration)
    assert platforms.load(tmp_path) == configuration
    changed = replace(PLATFORM, deployment_ids=("1", "2"))
    assert configuration.with_platform(changed).platforms == (changed,)
    other = replace(PLATFORM, client_id="other")
    assert configuration.with_platform(other).platforms == (PLATFORM, other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"public_url": "", "platforms": [{}]}',
        '{"public_url": "http://course.example.org", "platforms": []}',
        '{"public_url": "", "platforms": [{"issuer": "a", "surprise": 1}]}',
    ],
)
def test_damaged_configuration_is_told(tmp_path: Path, text: str) -> None:
    """A file that can't be read names itself."""
    (tmp_path / platforms.FILE).write_text(text)
    with pytest.raises(LtiError, match=r"platforms\.json"):
        platforms.load(tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "http://lms.example.org",
        "lms.example.org",
        "javascript:alert(1)",
        "https://",
        "https://user:word@lms.example.org",
        "https://lms.example.org; script-src *",
        "https://a b",
        "http://127.0.0.1.example.org",
        "https://lms.example.org'",
        "file:///etc",
    ],
)
def test_url_is_https_and_plain(url: str) -> None:
    """No other scheme, and nothing that would end up in a header; http on this machine alone."""
    with pytest.raises(ValueError, match="token_url"):
        platforms.check(replace(PLATFORM, token_url=url))
    assert platforms.check_url("http://localhost:1/a/", "x") == "http://localhost:1/a"
    assert platforms.check_url("http://[::1]:1", "x") == "http://[::1]:1"


def test_state_and_session_are_kept_as_hashes(
    tool: Tool, visited: int, stub: Stub
) -> None:
    """Who reads the database can't take over a launch or a session."""
    from grading.lms.lti.protocol.visit import from_claims

    tool.store.add_login("the-state", "the-nonce", "i", "c")
    secret = tool.store.open_session(
        visited, from_claims(stub.claims(tool.public_url, "t01", TEACHER), "client-1")
    )
    data = b"".join(
        path.read_bytes() for path in tool.store.file.parent.glob("lti.db*")
    )
    for hidden in ("the-state", "the-nonce", secret):
        assert hidden.encode() not in data
    assert stat.S_IMODE(tool.store.file.stat().st_mode) == 0o600


def test_login_is_taken_once(tool: Tool) -> None:
    """A wrong nonce uses the state up, too."""
    tool.store.add_login("s", "n", "i", "c")
    assert tool.store.take_login("s", "other") is None
    assert tool.store.take_login("s", "n") is None
    tool.store.add_login("s", "n", "i", "c")
    assert tool.store.take_login("s", "n") == ("i", "c")


def member(user: str, role: str = LEARNER, **values: str) -> dict:
    """Return a roster's entry."""
    return {"user_id": user, "roles": [role], **values}


def matched(
    members: list[dict], students: list[Person], known: dict | None = None
) -> identity.Match:
    """Match a roster."""
    return identity.match(
        {one["user_id"]: one for one in members}, students, known or {}
    )


def test_best_way_decides() -> None:
    """The LMS id counts more than the institution's, and that more than the address."""
    students = [
        Person("s01", lms_user_id="u1", email="a@example.org"),
        Person("s02", email="B@example.org"),
        Person("s03"),
    ]
    found = matched(
        [
            member("u1", email="b@example.org "),
            member("u2", email="b@EXAMPLE.org"),
            member("u3", lis_person_sourcedid="s03"),
            member("u4"),
            member("t1", TEACHER, email="a@example.org"),
        ],
        students,
    )
    assert {user: student for user, (student, _) in found.new.items()} == {
        "u1": "s01",
        "u3": "s03",
    }
    assert "fits several" in found.doubtful["u2"], (
        "two have this address: it decides nothing"
    )
    assert found.strangers == ["u4"]


def test_known_pair_stays() -> None:
    """Who takes on somebody's address does not become that person."""
    students = [
        Person("s01", email="a@example.org"),
        Person("s02", email="b@example.org"),
    ]
    known = {"u1": ("s01", "the e-mail address")}
    found = matched(
        [member("u1", email="b@example.org"), member("u2", email="a@example.org")],
        students,
        known,
    )
    assert found.new == {}
    assert "somebody else" in found.doubtful["u2"]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), max_size=6)
)
def test_nobody_is_two_people(pairs: list[tuple[str, str]]) -> None:
    """However ids and addresses are mixed up: one user for a student, one student for a user."""
    students = [
        Person(f"s{n}", email=email, lms_user_id=f"u{n}" if n % 2 else "")
        for n, (email, _) in enumerate(pairs)
    ]
    found = matched(
        [member(f"u{n + 1}", email=email) for n, (email, _) in enumerate(pairs)],
        students,
    )
    taken = [student for student, _ in found.new.values()]
    assert len(set(taken)) == len(taken)


@given(
    st.sampled_from(list(State)),
    st.none() | st.floats(0, 100),
    st.floats(0.5, 100),
    st.booleans(),
)
def test_only_graded_and_asked_for_zeros_are_scores(
    state: State, points: float | None, most: float, zero: bool
) -> None:
    """No failed or suspect submission ever carries a score."""
    made = message(Standing("s", "a", state, points, most), missing_as_zero=zero)
    if made is not None and made.given is not None:
        assert state is State.GRADED or (
            state is State.MISSING and zero and made.given == 0
        )
        assert made.grading == "FullyGraded"
    if state is State.SUSPECT:
        assert made is None
    if state is State.FAILED:
        assert (made.given, made.grading) == (None, "Failed")


def test_register_asks_for_what_is_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a platform is not registered; without one, the tool's own values are printed."""
    options = ["register", "--root", str(tmp_path)]
    assert cli.main(options) == 2
    assert "--public-url" in capsys.readouterr().err
    assert cli.main([*options, "--public-url", "https://course.example.org/"]) == 0
    assert "https://course.example.org/launch" in capsys.readouterr().out
    assert cli.main([*options, "--issuer", "https://lms.example.org"]) == 2
    error = capsys.readouterr().err
    assert "--client-id" in error
    assert "--deployment-id" in error
    assert (
        json.loads((tmp_path / "lti" / platforms.FILE).read_text())["platforms"] == []
    )
    assert cli.main(["serve", "--root", str(tmp_path)]) == 2
    assert "no platform is registered" in capsys.readouterr().err


def test_dry_run_says_and_sends_nothing(
    tool: Tool,
    visited: int,
    root: Path,
    stub: Stub,
    naps: Naps,
    key_pair: keys.Keys,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line a student, and not one request."""
    folder = tool.store.file.parent
    keys.write_private(folder / keys.PRIVATE, key_pair.private.encode())
    tool.store.add_links(visited, {"u01": ("s01", "test")})
    options = [
        "publish",
        "02",
        "--root",
        str(root),
        "--folder",
        str(folder),
        "--db",
        course.url(root),
    ]
    assert cli.main([*options, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(course.STUDENTS)
    assert lines[0] == "s01  graded 7.5/10  send: new"
    assert stub.paths == []
    assert cli.main([*options, "--course", "7"]) == 2
    assert "no such course" in capsys.readouterr().err
    Publisher(tool, visited, root, naps).publish()
    assert cli.main([*options, "--dry-run"]) == 0
    assert "s01  graded 7.5/10  nothing to do" in capsys.readouterr().out


def test_courses_are_told_apart(
    tool: Tool,
    visited: int,
    root: Path,
    stub: Stub,
    capsys: pytest.CaptureFixture[str],
    key_pair: keys.Keys,
) -> None:
    """With two courses, one has to be named; a launch without services forgets none."""
    from grading.lms.lti.protocol.visit import GRADES, MEMBERS, from_claims

    poor = stub.claims(tool.public_url, "u01", LEARNER, **{GRADES: None, MEMBERS: None})
    assert tool.store.enter(from_claims(poor, "client-1")) == visited
    assert tool.store.course(visited).line_items_url
    assert tool.store.course(visited).scopes
    assert (
        tool.store.set_up(stub.url, "client-1", "deployment-1", "course-2").id
        != visited
    )
    folder = tool.store.file.parent
    keys.write_private(folder / keys.PRIVATE, key_pair.private.encode())
    assert (
        cli.main(
            [
                "publish",
                "02",
                "--dry-run",
                "--root",
                str(root),
                "--folder",
                str(folder),
                "--db",
                course.url(root),
            ]
        )
        == 2
    )
    assert "--course 2   course-2" in capsys.readouterr().err


def test_store_needs_no_second_look(tmp_path: Path) -> None:
    """The database can be opened again by another process of the tool."""
    first, second = Store(tmp_path), Store(tmp_path)
    first.release(1, "a")
    assert second.released(1) == {"a"}
