"""Back the hub up, and restore it: `make -C deploy backup`, `make -C deploy restore FROM=…`.

python -m deploy.backup save /var/backups/attention-hub     a folder in it, named by the time
python -m deploy.backup restore /var/backups/attention-hub/2026-03-01T02-00-00

A backup has the databases as they were at one moment each, the rest of the hub's folder, the homes,
who has which role, and the settings. It appears as a whole or not at all, while the hub runs.
"""

from __future__ import annotations

import argparse
import contextlib
import grp
import hashlib
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from deploy import accounts
from deploy.accounts import AccountError
from deploy.hub import CONFIG
from deploy.settings import Settings, SettingsError, load

#: The databases below the hub's folder: copied by SQLite itself, since they may be written to.
DATABASES = ("*.sqlite", "course/*.db", "course/lti/*.db")
SUMS, ROLES, CONFIG_COPY = "SHA256SUMS", "accounts.json", "settings.toml"
STATE, HOMES = "state.tar.gz", "homes.tar.gz"


def save(settings: Settings, config: Path, target: Path) -> Path:
    """Write a backup into a folder; return its own folder there.

    Raises:
        SettingsError: if something can't be read or written. Nothing is left behind.

    """
    state, homes = settings.hub.state, settings.hub.homes
    for inside in (state, homes):
        if target.resolve().is_relative_to(inside.resolve()):
            raise SettingsError(f"{target}: a backup can't lie in {inside} itself")
    if not state.is_dir():
        raise SettingsError(f"there is no {state}: nothing to back up")
    target.mkdir(parents=True, exist_ok=True)
    os.chmod(target, 0o700)
    made = target / f".partial-{os.getpid()}"
    made.mkdir(mode=0o700)
    try:
        databases = copy_databases(state, made / "databases")
        skip = [
            f"{name}{end}"
            for name in databases
            for end in ("", "-wal", "-shm", "-journal")
        ]
        pack(made / STATE, state, ["."], [*skip, "proxy.pid"])
        people = roles(settings)
        pack(made / HOMES, homes, sorted(people))
        (made / ROLES).write_text(json.dumps(people, indent=1), encoding="utf-8")
        shutil.copy(config, made / CONFIG_COPY)
        (made / SUMS).write_text(sums(made), encoding="utf-8")
        place = target / time.strftime("%Y-%m-%dT%H-%M-%S")
        made.rename(place)
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(f"the backup could not be made: {error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


def copy_databases(state: Path, place: Path) -> list[str]:
    """Copy each SQLite database as it is at one moment; return their places in the hub's folder."""
    found = sorted(
        path
        for pattern in DATABASES
        for path in state.glob(pattern)
        if path.is_file() and not path.is_symlink()
    )
    for path in found:
        copy = place / path.relative_to(state)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.closing(
                sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            ) as old,
            contextlib.closing(sqlite3.connect(copy)) as new,
        ):
            old.backup(new)
            said = new.execute("PRAGMA integrity_check").fetchone()[0]
        if said != "ok":
            raise SettingsError(f"{path}: the database is damaged: {said}")
        info = path.stat()
        os.chown(copy, info.st_uid, info.st_gid)
        copy.chmod(info.st_mode & 0o777)
    return [str(path.relative_to(state)) for path in found]


def roles(settings: Settings) -> dict[str, str]:
    """Return the role of each user who has a home, by Unix group."""
    found = {}
    for path in settings.hub.homes.iterdir():
        if (
            accounts.NAME.fullmatch(path.name)
            and path.is_dir()
            and not path.is_symlink()
        ):
            with contextlib.suppress(KeyError):
                group = grp.getgrgid(pwd.getpwnam(path.name).pw_gid).gr_name
                role = group.removeprefix(f"{settings.hub.course}-")
                if role in accounts.ROLES:
                    found[path.name] = role
    return found


def pack(file: Path, folder: Path, names: list[str], without: list[str] = ()) -> None:
    """Pack files with owners by name; what changes meanwhile is packed as it was found."""
    excluded = [f"--exclude=./{name}" for name in without]
    command = ["tar", "--create", "--gzip", f"--file={file}", f"--directory={folder}"]
    done = subprocess.run(
        [*command, "--one-file-system", "--anchored", *excluded, "--files-from=-"],
        input="".join(f"{name}\n" for name in names),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode > 1:  # 1: a file changed while it was read
        raise SettingsError(f"{folder} can't be packed: {done.stderr.strip()[-300:]}")


def unpack(file: Path, folder: Path) -> None:
    """Unpack files with their owners, by name, and their modes."""
    done = subprocess.run(
        ["tar", "--extract", "--gzip", f"--file={file}", f"--directory={folder}", "-p"],
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SettingsError(f"{file} can't be unpacked: {done.stderr.strip()[-300:]}")


def sums(folder: Path) -> str:
    """Return the digests of a backup's files, as sha256sum writes them."""
    lines = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name != SUMS:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            lines.append(f"{digest}  {path.relative_to(folder)}\n")
    return "".join(lines)


def restore(settings: Settings, place: Path) -> list[str]:
    """Put a backup's folder and homes in their places; return the users.

    Raises:
        SettingsError: if the backup is not whole, the hub runs, or something is there already.
        AccountError: if an account can't be made.

    """
    for name in (STATE, HOMES, ROLES, SUMS):
        if not (place / name).is_file():
            raise SettingsError(f"{place}: not a backup of the hub: it has no {name}")
    if (place / SUMS).read_text(encoding="utf-8") != sums(place):
        raise SettingsError(f"{place}: a file is not as it was saved: see {SUMS}")
    state, homes = settings.hub.state, settings.hub.homes
    people = json.loads((place / ROLES).read_text(encoding="utf-8"))
    check_stopped(settings)
    there = [
        path for path in (state, *(homes / name for name in people)) if _full(path)
    ]
    if there:
        raise SettingsError(
            f"{there[0]} is there already ({len(there)} in all). Nothing is overwritten: "
            "move them away first"
        )
    accounts.ensure_groups(settings)
    for name, role in people.items():
        accounts.account(settings, name, role)
    parts = []
    try:
        for whole, file in ((state, STATE), (homes, HOMES)):
            part = whole.parent / f".restoring-{whole.name}"
            parts.append(part)
            part.mkdir(mode=0o700, parents=True)
            unpack(place / file, part)
        if (place / "databases").is_dir():
            for path in sorted((place / "databases").rglob("*")):
                if path.is_file():
                    new = parts[0] / path.relative_to(place / "databases")
                    shutil.copy2(path, new)
                    info = path.stat()
                    os.chown(new, info.st_uid, info.st_gid)
        homes.mkdir(parents=True, exist_ok=True)
        for name in people:
            with contextlib.suppress(FileNotFoundError):
                (homes / name).rmdir()  # an empty one, else it would have been refused
            (parts[1] / name).rename(homes / name)
        with contextlib.suppress(FileNotFoundError):
            state.rmdir()
        parts[0].rename(state)
    except OSError as error:
        raise SettingsError(f"not restored: {error}") from error
    finally:
        for part in parts:
            shutil.rmtree(part, ignore_errors=True)
    return sorted(people)


def check_stopped(settings: Settings) -> None:
    """Raise SettingsError where the hub's proxy runs."""
    try:
        number = int((settings.hub.state / "proxy.pid").read_text())
        os.kill(number, 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return
    raise SettingsError(f"the hub runs (its proxy is process {number}): stop it first")


def _full(path: Path) -> bool:
    """Tell whether something stands at a place; an empty folder is nothing."""
    return path.is_symlink() or (
        path.exists() and (not path.is_dir() or any(path.iterdir()))
    )


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status, 2 if nothing was done."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.backup", description=__doc__.splitlines()[0]
    )
    parser.add_argument("action", choices=["save", "restore"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, default=CONFIG)
    args = parser.parse_args(argv)
    try:
        settings = load(args.config)
        if args.action == "save":
            print(f"backed up: {save(settings, args.config, args.folder)}")
        else:
            people = restore(settings, args.folder)
            print(f"restored: {settings.hub.state}, and {len(people)} homes")
    except (SettingsError, AccountError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
