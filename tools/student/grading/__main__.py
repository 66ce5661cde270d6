"""For students: `python -m grading check NOTEBOOK` says what a grader would find."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grading.check import findings
from grading.course.notebooks import ROOT, NotebookError


def main() -> int:
    """Check a notebook; 1 if something should be mended, 2 if it can't be checked."""
    parser = argparse.ArgumentParser(prog="python -m grading")
    parser.add_argument("command", choices=["check"])
    parser.add_argument("notebook", type=Path, help="the notebook, or its folder")
    try:
        report = findings.check(parser.parse_args().notebook, ROOT)
    except NotebookError as error:
        print(f"python -m grading: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.lines))
    return 0 if report.fine else 1


if __name__ == "__main__":
    sys.exit(main())
