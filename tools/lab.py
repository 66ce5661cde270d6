"""Open JupyterLab: ``make lab`` on the exercises, ``make lab STAFF=1`` on the whole course.

A student sees the exercises alone, without nbgrader's panels for teachers; a teacher's file browser
begins at the course's folder, where nbgrader_config.py lies, so that the Formgrader finds the
course. The Validate button is the course's own in both.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: No request to the outside for news: the course works offline.
NEWS = ("@jupyterlab/apputils-extension:announcements",)
#: What nbgrader adds to JupyterLab, but for the Validate button.
TEACHERS = tuple(
    f"@jupyter/nbgrader:{name}"
    for name in (
        "menu",
        "formgrader",
        "create-assignment",
        "assignment-list",
        "course-list",
    )
)


def command(root: Path, *options: str, staff: bool = False) -> list[str]:
    """Return the command that serves the course at ``root``; run it with ``root`` as its cwd."""
    folder = root if staff else root / "exercises"
    asked = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab{'/tree/exercises' if staff else ''}",
        # The Validate button says what `python -m grading check` says.
        "--ServerApp.jpserver_extensions={'grading.check.validate': True}",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        asked.append("--allow-root")  # in a container, where there is nobody else
    return [*asked, *options]


def environment(folder: Path, *, staff: bool = False) -> dict[str, str]:
    """Write to ``folder`` which plugins stay away; return an environment in which Jupyter knows."""
    away = NEWS if staff else NEWS + TEACHERS
    config = folder / "labconfig" / "page_config.json"
    config.parent.mkdir(parents=True)
    config.write_text(
        json.dumps({"disabledExtensions": dict.fromkeys(away, True)}), encoding="utf-8"
    )
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    path = os.pathsep.join(filter(None, (str(folder), others)))
    return {**os.environ, "JUPYTER_CONFIG_PATH": path}


def main(argv: list[str] | None = None) -> int:
    """Command line; further options go to JupyterLab. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--staff", action="store_true", help="show the whole course")
    args, options = parser.parse_known_args(argv)
    if not (ROOT / "exercises").is_dir():
        print("There is no folder exercises/: run `make exercises`.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command(ROOT, *options, staff=args.staff),
            cwd=ROOT,
            env=environment(Path(folder), staff=args.staff),
        )
        # Whoever ends this program ends the server, too, and with it the kernels.
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the server has it, too, and asks back
                continue


if __name__ == "__main__":
    raise SystemExit(main())
