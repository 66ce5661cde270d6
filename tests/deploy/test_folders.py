"""What the hub keeps on disk: keys, the exercises' repository, the copy of the course."""

from __future__ import annotations

import dataclasses
import os
import stat
import subprocess
import sys
import types
from pathlib import Path

import pytest
from traitlets.config import Config

from deploy import folders, links
from deploy.settings import SettingsError, load
from grading.course import draws
from tests.deploy.machine import ROOT


def git(repository: Path, *command: str) -> str:
    """Return what git says of a repository."""
    return subprocess.run(
        ["git", "--git-dir", str(repository), *command],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def test_the_repository_holds_released_notebooks_alone(tmp_path: Path) -> None:
    """At its top one folder for each assignment; a new version only where something changed."""
    exercises, repository = tmp_path / "exercises", tmp_path / "exercises.git"
    for name in ("01-a/a.ipynb", "02-b/b.ipynb", "02-b/.secret", "notes.txt"):
        (exercises / name).parent.mkdir(parents=True, exist_ok=True)
        (exercises / name).write_text(name, encoding="utf-8")
    assert folders.publish(exercises, repository, "main")
    assert not folders.publish(exercises, repository, "main")
    assert git(repository, "ls-tree", "-r", "--name-only", "main").split("\n") == [
        "01-a/a.ipynb",
        "02-b/b.ipynb",
    ]
    (exercises / "01-a/a.ipynb").write_text("changed", encoding="utf-8")
    assert folders.publish(exercises, repository, "main")
    assert git(repository, "show", "main:01-a/a.ipynb") == "changed"
    assert git(repository, "rev-list", "--count", "main") == "2"
    assert "course@localhost" in git(repository, "log", "-1", "--format=%ae", "main")


@pytest.fixture
def made(tmp_path: Path) -> object:
    """Settings whose folders are this test's."""
    read = load(ROOT / "deploy" / "hub.example.toml")
    hub = dataclasses.replace(read.hub, state=tmp_path)
    (tmp_path / "secrets").mkdir(mode=0o700)
    return dataclasses.replace(read, hub=hub)


def test_who_monitors_reads_numbers_and_nothing_else(
    made: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's configuration, executed: each service has its own role, and a kept token."""
    login = types.ModuleType("deploy.lti")
    login.CourseLTI13Authenticator = object
    monkeypatch.setitem(sys.modules, "deploy.lti", login)
    monkeypatch.setenv("ATTENTION_HUB_CONFIG", "anything")
    monkeypatch.setattr("deploy.settings.load", lambda _path: made)
    config = Config()
    source = (ROOT / "deploy" / "jupyterhub_config.py").read_text(encoding="utf-8")
    exec(
        compile(source, "jupyterhub_config.py", "exec"), {"get_config": lambda: config}
    )
    services = {one["name"]: one for one in config.JupyterHub.services}
    roles = {
        name: role["scopes"]
        for role in config.JupyterHub.load_roles
        for name in role.get("services", ())
    }
    assert roles["monitoring"] == ["read:metrics"]
    token = (made.hub.state / "secrets" / "metrics_token").read_text().strip()
    assert services["monitoring"]["api_token"] == token
    assert services.keys() == roles.keys()


def test_a_key_is_made_once(made: object) -> None:
    """Random, kept, closed to others; one that others could read is not used any more."""
    key, other = folders.secret(made, "one"), folders.secret(made, "two")
    assert len(bytes.fromhex(key)) == 32
    assert key != other
    assert folders.secret(made, "one") == key
    path = made.hub.state / "secrets" / "one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(SettingsError, match="others may have read it"):
        folders.secret(made, "one")
    path.chmod(0o600)
    path.write_text("", encoding="ascii")
    with pytest.raises(SettingsError, match="not complete"):
        folders.secret(made, "one")


def test_the_course_gets_a_secret_once(tmp_path: Path) -> None:
    """Hidden inputs are drawn from it; instructors read it, and a later start keeps it."""
    folders.make_secret(tmp_path, os.getgid())
    path = tmp_path / draws.FILE
    secret = draws.read(path)
    assert len(secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    folders.make_secret(tmp_path, os.getgid())
    assert draws.read(path) == secret
    assert draws.FILE not in folders.COURSE


def test_links_never_fetch_the_answers(tmp_path: Path, capsys) -> None:
    """Neither the hub nor its links take the repository that solutions/ is in."""
    (tmp_path / "solutions").mkdir()
    for command in (
        ["init", "--quiet"],
        ["remote", "add", "origin", "git@git.example.org:me/course.git"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    for repository in ("https://git.example.org/me/course", f"file://{tmp_path}/.git"):
        with pytest.raises(SettingsError, match="make student-edition"):
            folders.check_repository(repository, tmp_path)
    folders.check_repository("https://git.example.org/me/student-edition", tmp_path)
    folders.check_repository("", tmp_path)
    assert (
        links.main(
            ["--hub", "https://hub.example.org", "--repository", f"file://{ROOT}"]
        )
        == 2
    )
    assert "holds solutions/" in capsys.readouterr().err


def test_a_closed_folder_is_named(tmp_path: Path) -> None:
    """Users could not start anything below it."""
    place = tmp_path / "closed" / "course" / "python"
    place.parent.mkdir(parents=True)
    with pytest.raises(SettingsError, match="make -C deploy install"):
        folders.check_reachable([place], "make -C deploy install")
    place.touch()
    (tmp_path / "closed").chmod(0o700)
    with pytest.raises(SettingsError, match=r"closed is closed to them"):
        folders.check_reachable([place], "")


def test_all_that_is_installed_is_pinned() -> None:
    """The hub's requirements, the proxy, and where one file repeats the course's own pins."""
    course = {
        line.split()[0]
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    }
    names = {pin.split("==")[0]: pin for pin in course}
    lines = [
        line.split()[0]
        for line in (ROOT / "deploy" / "requirements.txt").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    assert lines
    for line in lines:
        assert "==" in line
        assert names.get(line.split("==")[0], line) == line
    lock = (ROOT / "deploy" / "package-lock.json").read_text(encoding="utf-8")
    assert '"configurable-http-proxy": "5.3.0"' in lock
    assert "resolved" not in lock


def test_logins_end_with_their_course(tmp_path: Path) -> None:
    """Where a course is taken off the list, or no list was kept; not where one is added."""
    example = load(ROOT / "deploy" / "hub.example.toml")

    def start(**courses: tuple[str, ...]) -> bool:
        """Start with these courses; tell whether those who were in still are."""
        (tmp_path / "hub.sqlite").write_text("users")
        (tmp_path / "hub.sqlite-journal").write_text("")
        told = folders.forget_logins(
            dataclasses.replace(
                example,
                hub=dataclasses.replace(example.hub, state=tmp_path),
                lti=dataclasses.replace(example.lti, courses=courses),
            )
        )
        there = [
            (tmp_path / name).exists() for name in ("hub.sqlite", "hub.sqlite-journal")
        ]
        assert there == [not told] * 2
        return not told

    assert not start(d1=("c1",)), "the version before let everybody in"
    assert start(d1=("c1",))
    assert start(d1=("c1", "c2"), d2=("c1",))
    assert not start(d1=("c1", "c2"))
    assert not start(d1=("c2",))
    assert not start(d2=("c2",))
    (tmp_path / "courses.json").write_text("{")
    assert not start(d2=("c2",))
