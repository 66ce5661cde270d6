"""What the hub keeps on disk, made or brought up to date before it starts.

<state>/secrets/         root only: keys, generated at the first start
<state>/hub.sqlite       the hub's database
<state>/courses.json     the courses that were let in at the last start
<state>/exercises.git    what links fetch: exercises/ and nothing else
<state>/jupyter/         the kernel that notebooks run in: the course's environment
<state>/exchange/        released and handed-in assignments (see user/inboxes.py)
<state>/course/          instructors only: sources, submissions, gradebook
<state>/roster/          instructors only: who is who, noted at each login
"""

from __future__ import annotations

import grp
import json
import os
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

from deploy import accounts
from deploy.repositories import holds_answers
from deploy.settings import ROOT, Settings, SettingsError
from grading.course import draws, files

#: What instructors need of the course to grade it; copied, and overwritten at each start.
COURSE = ("exercises", "grading", "solutions", "nbgrader_config.py")
#: What holds answers: closed to everybody but root in the checkout itself.
CLOSED = ("solutions", "tests", ".git")
#: What users' servers need of the checkout: must be open to everybody.
NEEDED = (
    ".venv/bin/python",
    "deploy/.venv/bin/jupyterhub-singleuser",
    "deploy/user/students/nbgrader_config.py",
)


def prepare(settings: Settings, root: Path = ROOT) -> None:
    """Make or mend all folders.

    Raises:
        SettingsError: if the checkout lacks something, or users could not reach it.
        AccountError: if the system refuses a group or a folder.

    """
    state = settings.hub.state
    check_repository(settings.hub.repository, root)
    check_reachable([root / name for name in NEEDED], "make -C deploy install")
    accounts.ensure_groups(settings)
    teachers = grp.getgrnam(accounts.group(settings, "instructors")).gr_gid
    state.mkdir(parents=True, exist_ok=True)
    settings.hub.homes.mkdir(parents=True, exist_ok=True)
    exchange = state / "exchange"
    own = accounts.own
    own(state, 0, 0, 0o711)
    own(state / "secrets", 0, 0, 0o700)
    own(exchange, 0, 0, 0o755)
    own(exchange / "inboxes", 0, teachers, 0o751)
    own(exchange / settings.hub.course, 0, teachers, 0o2775)
    own(exchange / settings.hub.course / "outbound", 0, teachers, 0o2775)
    own(
        exchange / settings.hub.course / "inbound", 0, teachers, 0o2770
    )  # nobody uses it
    own(state / "course", 0, teachers, 0o2770)
    own(state / "course" / "submitted", 0, teachers, 0o2770)
    own(state / "roster", 0, teachers, 0o2750)
    forget_logins(settings)
    database = state / "hub.sqlite"
    database.touch(mode=0o600)
    database.chmod(0o600)
    close(root)
    copy_course(root, state / "course", teachers)
    make_secret(state / "course", teachers)
    write_kernel(root, state)
    if not settings.hub.repository:
        publish(root / "exercises", state / "exercises.git", settings.hub.branch)


def forget_logins(settings: Settings) -> bool:
    """End all logins if a course was taken off the list, or none was asked for before; tell so.

    A login lasts for weeks, and a token that a user has made may last longer. The hub's database
    has both, and nothing else that counts: accounts, homes and what was handed in stay.
    """
    record = settings.hub.state / "courses.json"
    now = {
        deployment: list(contexts)
        for deployment, contexts in settings.lti.courses.items()
    }
    try:
        before = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        before = None
    kept = before is not None and all(
        set(contexts) <= set(now.get(deployment, ()))
        for deployment, contexts in before.items()
    )
    if not kept:
        for path in settings.hub.state.glob("hub.sqlite*"):
            path.unlink()
    files.write(record, json.dumps(now), mode=0o600)
    return not kept


def secret(settings: Settings, name: str) -> str:
    """Return a key that is generated once and kept for root only.

    Raises:
        SettingsError: if others could have read it.

    """
    path = settings.hub.state / "secrets" / name
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise SettingsError(
            f"{path}: its mode is {mode:03o}, so others may have read it. Delete "
            "it: the hub makes a new one, and everybody logs in again"
        )
    text = path.read_text(encoding="ascii")
    if len(text) != 64:
        raise SettingsError(f"{path}: not complete. Delete it, and start again")
    return text


def check_reachable(paths: list[Path], remedy: str) -> None:
    """Raise SettingsError unless every user may read these files."""
    for path in paths:
        if not path.exists():
            raise SettingsError(f"there is no {path}: run `{remedy}`")
        for folder in Path(os.path.realpath(path)).parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise SettingsError(
                    f"users can't reach {path}: {folder} is closed to them. Put "
                    "the course where all may read, for example into /opt"
                )


def check_repository(repository: str, root: Path) -> None:
    """Raise SettingsError if links would fetch this checkout's repository, answers and all."""
    if holds_answers(repository, root):
        raise SettingsError(
            f"[hub] repository: {repository} holds solutions/: links would hand "
            "out the answers. Name a repository of the student edition (make "
            "student-edition), or leave it empty"
        )


def close(root: Path) -> None:
    """Close the folders with answers to everybody but root."""
    for name in CLOSED:
        folder = root / name
        if folder.is_dir():
            accounts.own(folder, 0, 0, 0o700)


def make_secret(course: Path, teachers: int) -> None:
    """Make the secret from which hidden inputs are drawn, once, for instructors to read."""
    path = draws.place(course)
    if not path.exists():
        draws.make(path)
    _open_to(path, teachers, 0o640)


def copy_course(root: Path, target: Path, teachers: int) -> None:
    """Copy what instructors need; readable to their group, changed in the checkout only."""
    for name in COURSE:
        source, place = root / name, target / name
        if not source.exists():
            raise SettingsError(
                f"there is no {source}: the checkout of the course is not complete"
            )
        made = target / f".partial-{name}"
        old = target / f".old-{name}"
        for leftover in (made, old):
            _remove(leftover)
        if source.is_dir():
            shutil.copytree(
                source,
                made,
                ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
            )
            for folder, _, files in os.walk(made):
                _open_to(Path(folder), teachers, 0o2750)
                for file in files:
                    _open_to(Path(folder, file), teachers, 0o640)
        else:
            shutil.copyfile(source, made)
            _open_to(made, teachers, 0o640)
        if place.exists():
            place.rename(old)
        made.rename(place)
        _remove(old)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _open_to(path: Path, gid: int, mode: int) -> None:
    """Give a path to root and a group."""
    os.chown(path, 0, gid, follow_symlinks=False)
    os.chmod(path, mode)


def write_kernel(root: Path, state: Path) -> None:
    """Have notebooks run in the course's environment, and servers in the hub's."""
    folder = state / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [
            str(root / ".venv" / "bin" / "python"),
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "metadata": {"debugger": True},
    }
    files.write(folder / "kernel.json", json.dumps(spec, indent=1))
    # Git refuses to read what belongs to somebody else, unless told that it may.
    config = state / "gitconfig"
    files.write(config, f"[safe]\n\tdirectory = {state / 'exercises.git'}\n")
    for path in (state / "jupyter", state / "jupyter" / "kernels", folder):
        path.chmod(0o755)
    for path in (config, folder / "kernel.json"):
        path.chmod(0o644)


def publish(exercises: Path, repository: Path, branch: str) -> bool:
    """Put the released assignments into a repository of their own; tell whether they changed.

    Only these files are in it, in any of its versions: no answers, no hidden tests.

    Raises:
        SettingsError: if git fails.

    """
    if not (repository / "HEAD").exists():
        _git(
            None,
            "init",
            "--quiet",
            "--bare",
            f"--initial-branch={branch}",
            str(repository),
        )
    place = {
        "GIT_DIR": str(repository),
        "GIT_WORK_TREE": str(exercises),
        "GIT_INDEX_FILE": str(repository / "publish.index"),
    }
    _git(place, "read-tree", "--empty")
    _git(place, "add", "--all", "--force", "--", ":(glob)*/*.ipynb")
    tree = _git(place, "write-tree")
    head = f"refs/heads/{branch}"
    last = _git(place, "rev-parse", "--verify", "--quiet", head, fails=True)
    if last and _git(place, "rev-parse", f"{last}^{{tree}}") == tree:
        return False
    parents = ["-p", last] if last else []
    commit = _git(place, "commit-tree", tree, *parents, "-m", "Exercises")
    _git(place, "update-ref", head, commit, *([last] if last else []))
    return True


def _git(place: dict[str, str] | None, *command: str, fails: bool = False) -> str:
    """Run git with no settings but its own, and return what it prints."""
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "course"), ("EMAIL", "course@localhost"))
    }
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C",
        **who,
        **(place or {}),
    }
    done = subprocess.run(
        ["git", *command],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        umask=0o022,
    )
    if done.returncode and not fails:
        raise SettingsError(f"git {command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
