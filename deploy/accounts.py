"""Unix accounts for the hub's users, each with a home and an inbox that others can't open.

Runs as root, in the hub's process, just before a user's server starts.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import subprocess
from pathlib import Path

from deploy.settings import Settings

#: The hub makes names of this form only (see lti.username), so it never touches another account.
NAME = re.compile(r"u[a-z2-7]{12}")
ROLES = ("instructors", "students")


class AccountError(RuntimeError):
    """An account that the system would not make, or that is somebody else's."""


def group(settings: Settings, role: str) -> str:
    """Return the Unix group of a role in the course."""
    return f"{settings.hub.course}-{role}"


def ensure_groups(settings: Settings) -> None:
    """Make the course's groups, where they are missing."""
    for role in ROLES:
        name = group(settings, role)
        try:
            grp.getgrnam(name)
        except KeyError:
            _run("groupadd", "--system", name)


def ensure(settings: Settings, name: str, role: str) -> pwd.struct_passwd:
    """Make a user's account, home and inbox, or bring them up to date; return the account.

    Args:
        settings: the hub's settings.
        name: the user's name on the hub.
        role: "instructors" or "students"; it becomes the account's only group.

    Raises:
        AccountError: if the name is not one of the hub's, or the system refuses.

    """
    found = account(settings, name, role)
    home = settings.hub.homes / name
    own(home, found.pw_uid, found.pw_gid, 0o700)
    if role == "students":
        inbox(settings, found)
    else:
        link(home / "course", settings.hub.state / "course")
        link(home / "roster.csv", settings.hub.state / "roster" / "roster.csv")
    return found


def account(settings: Settings, name: str, role: str) -> pwd.struct_passwd:
    """Make a user's account alone, or give it its group; the same errors as `ensure`."""
    if not NAME.fullmatch(name) or role not in ROLES:
        raise AccountError(f"not an account of the hub: {name!r} ({role!r})")
    home = settings.hub.homes / name
    wanted = grp.getgrnam(group(settings, role))
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        _run(
            "useradd",
            "--no-create-home",
            "--home-dir",
            str(home),
            "--no-user-group",
            "--gid",
            wanted.gr_name,
            "--shell",
            "/bin/bash",
            name,
        )
        found = pwd.getpwnam(name)
    if found.pw_dir != str(home):
        raise AccountError(
            f"the account {name} exists, with another home: {found.pw_dir}"
        )
    if found.pw_gid != wanted.gr_gid:
        _run("usermod", "--gid", wanted.gr_name, "--groups", "", name)
        found = pwd.getpwnam(name)
    return found


def inbox(settings: Settings, account: pwd.struct_passwd) -> Path:
    """Make the folders through which a student hands in; return what is the exchange to them."""
    exchange = settings.hub.state / "exchange"
    teachers = grp.getgrnam(group(settings, "instructors")).gr_gid
    top = exchange / "inboxes" / account.pw_name
    # The folders above `inbound` are root's: a student can't put a link in its place.
    for folder in (top, top / settings.hub.course):
        own(folder, 0, teachers, 0o751)
    own(top / settings.hub.course / "inbound", account.pw_uid, teachers, 0o2770)
    link(
        top / settings.hub.course / "outbound",
        exchange / settings.hub.course / "outbound",
    )
    return top


def own(folder: Path, uid: int, gid: int, mode: int) -> None:
    """Make a folder with this owner and mode; one that is there gets them again.

    Raises:
        AccountError: if something else is in its place.

    """
    if not folder.exists() and not folder.is_symlink():
        folder.mkdir(mode=0o700)
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise AccountError(f"{folder}: expected a folder: {error.strerror}") from None
    try:
        os.fchown(descriptor, uid, gid)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def link(place: Path, target: Path) -> None:
    """Make a link, unless something is there already."""
    if not place.is_symlink() and not place.exists():
        place.symlink_to(target)


def _run(*command: str) -> None:
    """Run a program of the system; raise AccountError with its last words if it fails."""
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AccountError(f"{command[0]}: {error}") from None
    if done.returncode:
        raise AccountError(f"{command[0]}: {done.stderr.strip() or 'failed'}")
