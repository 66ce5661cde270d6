"""The instructor's command line.

    python -m grading run ASSIGNMENT         grade submitted/<student>/ASSIGNMENT/<notebook>.ipynb
    python -m grading check NOTEBOOK         for students: what a grader would find in a notebook
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# Processes of the pool import this file, too: what is slow to import stands in the functions.
from tools.notebooks import ROOT, NotebookError


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    made = argparse.ArgumentParser(
        prog="python -m grading", description="Grade submissions, each in a process of its own.")
    commands = made.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="grade an assignment's submissions")
    run.add_argument("assignment", nargs="?", default="", help="its name, or how it begins")
    run.add_argument("--submitted", type=Path, help="the folder of submissions")
    run.add_argument("--db", help="the gradebook's URL, as sqlite:///gradebook.db")
    run.add_argument("--jobs", type=int, help="how many at a time")
    run.add_argument("--student", action="append", help="only this one; may be repeated")
    run.add_argument("--force", action="store_true", help="grade also what is graded already")
    check = commands.add_parser("check", help="tell a student what a grader would find")
    check.add_argument("notebook", type=Path)
    for command in (run, check):
        command.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
        command.add_argument(
            "--unsafe-no-sandbox", action="store_true",
            help="run the notebook's code with your rights: it can read and change what you can")
        command.add_argument("--engine", help=argparse.SUPPRESS)
    return made


def run(given: argparse.Namespace) -> int:
    """Grade a class; 1 if a submission failed."""
    from grading import course
    from grading.states import State

    if given.jobs is not None and given.jobs < 1:
        print(f"python -m grading: --jobs: expected at least 1, got {given.jobs}", file=sys.stderr)
        return 2
    chosen = {
        "submitted": given.submitted and given.submitted.resolve(), "db": given.db,
        "jobs": given.jobs, "students": given.student and tuple(given.student),
        "engine": given.engine,
    }
    options = course.Options(
        sandbox=not given.unsafe_no_sandbox, force=given.force,
        **{name: value for name, value in chosen.items() if value is not None})
    root = given.root.resolve()
    done = course.grade(root, given.assignment, options, say=progress)
    print(f"\n{course.table(done.form, done.results)}\n")
    print(f"grades: grades.csv\nnotebooks with results: autograded/<student>/{done.assignment}/")
    return 1 if any(result.state is State.FAILED for result in done.results) else 0


def check(given: argparse.Namespace) -> int:
    """Tell a student what a grader would find; 1 if something should be mended."""
    from grading import check

    findings = check.check(
        given.notebook, given.root.resolve(), sandbox=not given.unsafe_no_sandbox,
        **({"factory": given.engine} if given.engine else {}))
    print("\n".join(findings.lines))
    return 0 if findings.fine else 1


def progress(line: str) -> None:
    """Print a line about the progress."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; 1 if something failed or can't be done."""
    from grading.gradebook import GradebookError
    from grading.pool import PoolError
    from tools.grade import GradingError

    given = parser().parse_args(arguments)
    try:
        return {"run": run, "check": check}[given.command](given)
    except (GradingError, GradebookError, PoolError, NotebookError) as error:
        print(f"python -m grading: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; what is graded is kept: run the command again to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
