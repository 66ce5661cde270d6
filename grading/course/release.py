"""Release notebooks, which nbgrader makes of the sources; and how nbgrader is called."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from grading.course.notebooks import ROOT, NotebookError

#: Points that cells had in earlier releases: {assignment: {grade_id: [points, ...]}}.
EARLIER = "earlier.json"


class GenerationError(RuntimeError):
    """nbgrader could not make a release notebook; the message holds what it said."""


def assignments(root: Path = ROOT) -> list[str]:
    """Return the names of the assignments in solutions/."""
    return sorted(
        path.name for path in (root / "solutions").glob("[0-9]*") if path.is_dir()
    )


def earlier_points(solutions: Path) -> dict[str, dict[str, list[float]]]:
    """Return what points cells had in earlier releases, where they had others or are gone.

    Raises:
        NotebookError: if the file that says so can't be read.

    """
    path = solutions / EARLIER
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise NotebookError(
            f"{path}: {error}: take the file from the repository again"
        ) from None


def generate(target: Path, root: Path = ROOT, name: str = "[0-9]*") -> None:
    """Make release notebooks in a folder, without a gradebook.

    Args:
        target: where the folders of the assignments go.
        root: the course: the folder with nbgrader_config.py and solutions/.
        name: an assignment, or a pattern for several.

    Raises:
        GenerationError: if nbgrader refuses.

    """
    result = nbgrader(
        root,
        "generate_assignment",
        name,
        "--no-db",
        f"--CourseDirectory.release_directory={target}",
    )
    made = {path.name for path in target.glob("*")} if target.is_dir() else set()
    wanted = set(assignments(root)) if "*" in name else {name}
    if result.returncode or made != wanted:
        missing = ", ".join(sorted(wanted - made)) or name
        raise GenerationError(
            f"nbgrader could not make {missing}:\n{complaint(result.stderr)}"
        )


def nbgrader(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run an nbgrader command in the course, and return what it did and said."""
    command = [sys.executable, "-m", "nbgrader", *arguments]
    # nbgrader starts `alembic` by its name, which is found only in an activated environment.
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("MPLBACKEND", None)  # figures are shown by the kernel's own backend
    return subprocess.run(
        command,
        cwd=root,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def complaint(log: str) -> str:
    """Return the errors of a log of nbgrader, without colours and repetition."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", log)
    lines = [
        line.strip()
        for line in text.splitlines()
        if re.search(r"\b(ERROR|CRITICAL)\b|Error: ", line) and "Traceback" not in line
    ]
    return (
        "\n".join(f"  {line}" for line in dict.fromkeys(lines))
        or f"  {text.strip()[-600:]}"
    )
