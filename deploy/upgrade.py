"""Take another version of the course: `make -C deploy upgrade VERSION=v1.2`, with the hub stopped.

Backs up, checks the version out, installs what it pins, brings the hub's database up to date, and
reads the settings. The first step that fails ends it, and says how to go back.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from deploy import backup
from deploy.hub import CONFIG, HERE
from deploy.settings import ROOT, SettingsError, load


def git(root: Path, *words: str) -> str:
    """Return what git says; SettingsError with its words if it fails."""
    done = subprocess.run(
        ["git", "-C", str(root), *words], text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise SettingsError(f"git {words[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def steps(config: Path, database: Path) -> list[list[str]]:
    """Return the commands that follow on the checkout, at the top of it."""
    return [
        ["make", "env"],
        ["make", "-C", "deploy", "install"],
        [
            str(HERE / ".venv" / "bin" / "jupyterhub"),
            "upgrade-db",
            f"--JupyterHub.db_url=sqlite:///{database}",
        ],
        ["make", "-C", "deploy", "check", f"CONFIG={config}"],
    ]


def upgrade(config: Path, version: str, backups: Path, root: Path = ROOT) -> Path:
    """Take a version; return the backup that was made before.

    Raises:
        SettingsError: if the hub runs, files were changed by hand, or a step fails.

    """
    settings = load(config)
    backup.check_stopped(settings)
    if git(root, "status", "--porcelain", "--untracked-files=no"):
        raise SettingsError(f"{root}: files were changed by hand: commit them first")
    before = git(root, "rev-parse", "HEAD")
    git(root, "fetch", "--tags")
    git(root, "rev-parse", "--verify", "--end-of-options", f"{version}^{{commit}}")
    saved = backup.save(settings, config, backups)
    git(root, "checkout", "--quiet", "--detach", version)
    for step in steps(config, settings.hub.state / "hub.sqlite"):
        if subprocess.run(step, check=False, cwd=root).returncode:
            raise SettingsError(
                f"`{' '.join(step)}` failed. To go back: git -C {root} checkout {before}, "
                f"make env and make -C deploy install; the hub's folder is in {saved}"
            )
    return saved


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.upgrade", description=__doc__.splitlines()[0]
    )
    parser.add_argument("version", help="a tag, a branch or a commit")
    parser.add_argument("--backups", type=Path, required=True, help="where backups go")
    parser.add_argument("--config", type=Path, default=CONFIG)
    args = parser.parse_args(argv)
    try:
        saved = upgrade(args.config, args.version, args.backups)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"upgraded to {args.version}; before it, {saved} was saved. Start the hub.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
