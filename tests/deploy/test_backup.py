"""Backups and upgrades, on folders that stand for a hub's."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy import accounts, backup, upgrade
from deploy.settings import Settings, SettingsError, load
from tests.deploy.machine import ROOT

EXAMPLE = ROOT / "deploy" / "hub.example.toml"
STUDENT, TEACHER = "uaaaaaaaaaaaa", "ubbbbbbbbbbbb"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A hub with a student and a teacher, a running database, and no real accounts."""
    read = load(EXAMPLE)
    place = dataclasses.replace(
        read.hub, state=tmp_path / "state", homes=tmp_path / "home"
    )
    settings = dataclasses.replace(read, hub=place)
    group = {"attention-students": 50001, "attention-instructors": 50002}
    names = {number: name for name, number in group.items()}
    gids = {STUDENT: 50001, TEACHER: 50002}
    monkeypatch.setattr(
        backup.pwd, "getpwnam", lambda n: SimpleNamespace(pw_gid=gids[n])
    )
    monkeypatch.setattr(
        backup.grp, "getgrgid", lambda n: SimpleNamespace(gr_name=names[n])
    )
    monkeypatch.setattr(accounts, "ensure_groups", lambda _settings: None)
    made: list = []
    monkeypatch.setattr(accounts, "account", lambda _s, *who: made.append(who))
    monkeypatch.setattr(backup, "made", made, raising=False)
    files = {
        "state/secrets/cookie_secret": "key",
        "state/course/submitted/x/02/a.ipynb": "{}",
        "state/course/submitted/x/02/mine.db": "no database",
        "state/roster/roster.csv": "id",
        f"home/{STUDENT}/notes with blank.txt": "mine",
        f"home/{TEACHER}/.bashrc": "x",
        "home/somebody/else.txt": "not the hub's",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "state" / "secrets").chmod(0o700)
    (tmp_path / "home" / STUDENT / "out").symlink_to("/etc/passwd")
    (tmp_path / "state" / "course" / "lti").mkdir()
    for name in ("hub.sqlite", "course/gradebook.db", "course/lti/lti.db"):
        with contextlib.closing(sqlite3.connect(tmp_path / "state" / name)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE t (x, y)")
            database.commit()
    return settings


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """Return each file below a folder with its mode and text; links as what they name."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.readlink(path)
            if path.is_symlink()
            else path.read_text(errors="replace"),
        )
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or path.is_file())
        and path.suffix not in (".db", ".sqlite")
        and not path.name.endswith(("-wal", "-shm"))
    }


def rows(state: Path, name: str) -> list[tuple]:
    """Return a database's rows."""
    with contextlib.closing(sqlite3.connect(state / name)) as database:
        return database.execute("SELECT x, y FROM t ORDER BY x").fetchall()


def test_what_was_saved_while_the_hub_ran_is_restored(
    hub: Settings, tmp_path: Path
) -> None:
    """Files, modes, links, databases in the middle of writing; on a machine without any of it."""
    begun, stop = threading.Event(), threading.Event()

    def write() -> None:
        with contextlib.closing(
            sqlite3.connect(hub.hub.state / "course/gradebook.db", timeout=30)
        ) as database:
            number = 0
            while not stop.is_set():
                with database:  # both or neither
                    database.execute("INSERT INTO t VALUES (?, 0)", (number,))
                    database.execute("UPDATE t SET y = 1 WHERE x = ?", (number,))
                number += 1
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(10)
    try:
        place = backup.save(hub, EXAMPLE, tmp_path / "backups")
    finally:
        stop.set()
        writer.join()
    state, home = tree(hub.hub.state), tree(hub.hub.homes)
    before = {k: v for k, v in home.items() if not k.startswith("somebody")}
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads((place / "accounts.json").read_text()) == {
        STUDENT: "students",
        TEACHER: "instructors",
    }

    hub.hub.state.rename(tmp_path / "old")
    hub.hub.homes.rename(tmp_path / "old-home")
    assert backup.restore(hub, place) == [STUDENT, TEACHER]
    assert backup.made == [(STUDENT, "students"), (TEACHER, "instructors")]
    assert tree(hub.hub.state) == state
    assert tree(hub.hub.homes) == before
    found = rows(hub.hub.state, "course/gradebook.db")
    assert found
    assert all(y == 1 for _, y in found), "a half of a transaction"
    assert rows(hub.hub.state, "hub.sqlite") == []
    assert (hub.hub.state / "secrets").stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.glob(".restoring*"))


def test_nothing_is_overwritten(hub: Settings, tmp_path: Path) -> None:
    """Neither the folder nor a home; and nothing is restored beside a running hub."""
    place = backup.save(hub, EXAMPLE, tmp_path / "backups")
    before = tree(tmp_path)
    with pytest.raises(SettingsError, match="is there already"):
        backup.restore(hub, place)
    hub.hub.state.rename(tmp_path / "old")
    with pytest.raises(
        SettingsError, match=rf"home/{STUDENT} is there already \(2 in all"
    ):
        backup.restore(hub, place)
    (tmp_path / "old").rename(hub.hub.state)
    (hub.hub.state / "proxy.pid").write_text(str(os.getpid()))
    with pytest.raises(SettingsError, match="the hub runs"):
        backup.restore(hub, place)
    (hub.hub.state / "proxy.pid").unlink()
    assert tree(tmp_path) == before


def test_a_backup_that_is_not_whole_is_refused(hub: Settings, tmp_path: Path) -> None:
    """A byte that changed, a file that is missing, a damaged database."""
    place = backup.save(hub, EXAMPLE, tmp_path / "backups")
    hub.hub.state.rename(tmp_path / "old")
    hub.hub.homes.rename(tmp_path / "old-home")
    data = bytearray((place / "state.tar.gz").read_bytes())
    data[len(data) // 2] ^= 1
    (place / "state.tar.gz").write_bytes(data)
    with pytest.raises(SettingsError, match="not as it was saved"):
        backup.restore(hub, place)
    (place / "homes.tar.gz").unlink()
    with pytest.raises(SettingsError, match="has no homes"):
        backup.restore(hub, place)
    assert not hub.hub.state.exists()

    (tmp_path / "old").rename(hub.hub.state)
    (tmp_path / "old-home").rename(hub.hub.homes)
    (hub.hub.state / "hub.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4000))
    with pytest.raises(SettingsError, match=r"could not be made|damaged"):
        backup.save(hub, EXAMPLE, tmp_path / "more")
    assert not list((tmp_path / "more").iterdir()), "a half of a backup"
    with pytest.raises(SettingsError, match="can't lie in"):
        backup.save(hub, EXAMPLE, hub.hub.state / "backups")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two versions, whose Makefiles say what was asked for."""
    root = tmp_path / "checkout"
    (root / "deploy").mkdir(parents=True)
    git = [
        "git",
        "-C",
        str(root),
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
    ]
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    for version, status in (("v1", "true"), ("v2", "true"), ("v3", "false")):
        (root / "Makefile").write_text(f"env:\n\t@echo {version} env >> log\n")
        (root / "deploy" / "Makefile").write_text(
            f"install:\n\t@{status}\ncheck:\n\t@echo check $(CONFIG) >> ../log\n"
        )
        subprocess.run([*git, "add", "Makefile", "deploy"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", version], check=True)
        subprocess.run([*git, "tag", version], check=True)
    subprocess.run([*git, "checkout", "--quiet", "v1"], check=True)
    return root


def test_an_upgrade_saves_first_and_says_how_to_go_back(
    hub: Settings, tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that does not install stops it; changed files and a running hub prevent it."""
    monkeypatch.setattr(upgrade, "load", lambda _config: hub)
    monkeypatch.setattr(upgrade, "HERE", tmp_path / "bin-of")
    program = tmp_path / "bin-of" / ".venv" / "bin" / "jupyterhub"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$@" >> {checkout}/log\n')
    program.chmod(0o755)
    first = upgrade.git(checkout, "rev-parse", "HEAD")

    saved = upgrade.upgrade(EXAMPLE, "v2", tmp_path / "backups", checkout)
    assert (saved / "state.tar.gz").is_file()
    assert (checkout / "log").read_text().splitlines() == [
        "v2 env",
        f"upgrade-db --JupyterHub.db_url=sqlite:///{hub.hub.state}/hub.sqlite",
        f"check {EXAMPLE}",
    ]
    with pytest.raises(SettingsError, match=r"install` failed\. To go back: git"):
        upgrade.upgrade(EXAMPLE, "v3", tmp_path / "later", checkout)
    assert list((tmp_path / "later").iterdir())
    upgrade.git(checkout, "checkout", "--quiet", first)
    with pytest.raises(SettingsError, match="git rev-parse"):
        upgrade.upgrade(EXAMPLE, "v9", tmp_path / "never", checkout)
    (checkout / "Makefile").write_text("mine")
    with pytest.raises(SettingsError, match="changed by hand"):
        upgrade.upgrade(EXAMPLE, "v2", tmp_path / "never", checkout)
    (hub.hub.state / "proxy.pid").write_text(str(os.getpid()))
    with pytest.raises(SettingsError, match="the hub runs"):
        upgrade.upgrade(EXAMPLE, "v2", tmp_path / "never", checkout)
    assert not (tmp_path / "never").exists()
