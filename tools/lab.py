"""Open JupyterLab on the exercises, with nbgrader's extensions on: ``make lab``.

The server's root is the course's folder, where nbgrader_config.py lies, so that the Formgrader
finds the course; the file browser opens in exercises/. The Validate button is the course's own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def command(root: Path, *options: str) -> list[str]:
    """Return the command that serves the course at ``root``; run it with ``root`` as its cwd."""
    asked = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={root}",
        "--LabApp.default_url=/lab/tree/exercises",
        # The Validate button says what `python -m grading check` says.
        "--ServerApp.jpserver_extensions={'grading.check.validate': True}",
        # No request to the outside for news: the course works offline.
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        asked.append("--allow-root")  # in a container, where there is nobody else
    return [*asked, *options]


def main(argv: list[str] | None = None) -> int:
    """Command line; further options go to JupyterLab. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    _, options = parser.parse_known_args(argv)
    if not (ROOT / "exercises").is_dir():
        print("There is no folder exercises/: run `make exercises`.", file=sys.stderr)
        return 2
    try:
        return subprocess.run(command(ROOT, *options), cwd=ROOT, check=False).returncode
    except KeyboardInterrupt:  # how one stops the server
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
