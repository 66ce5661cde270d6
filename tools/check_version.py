"""CHANGELOG.md begins with the version of pyproject.toml: part of `make release`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from grading.course.notebooks import ROOT


def check(root: Path = ROOT) -> list[str]:
    """Return a line for each way in which version and changelog disagree."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    version = settings["project"]["version"]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+?)\s*$", changes, re.MULTILINE)
    if not sections:
        return ["CHANGELOG.md: no section `## version`"]
    if sections[0].split()[0] == version:
        return []
    return [
        f"CHANGELOG.md: its first section is {sections[0]!r}, and pyproject.toml has version "
        f"{version}: give the section the version that is released"
    ]


if __name__ == "__main__":
    problems = check()
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)
