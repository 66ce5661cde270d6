"""The instructor's command line.

    python -m grading run ASSIGNMENT         grade submitted/<student>/ASSIGNMENT/<notebook>.ipynb
    python -m grading secret                 make the course's secret: hidden tests draw from it
    python -m grading states ASSIGNMENT      list who is graded, missing, failed or suspect
    python -m grading report ASSIGNMENT      what the class misunderstood: a page and a table
    python -m grading clear ASSIGNMENT STUDENT --reason "..."
                                             note that a suspect submission is what it seems
    python -m grading open ASSIGNMENT STUDENT
                                             a copy in JupyterLab, its code in the sandbox
    python -m grading kernel install         the sandboxed kernel, for Jupyter's other programs
    python -m grading check NOTEBOOK         for students: what a grader would find in a notebook
    python -m grading lms ...                to and from a learning management system

Exit status: 0 done; 1 done, but some submission failed, or something should be mended; 2 the
command could not do its work: the last line says why, and what to do.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import select
import signal
import sys
from pathlib import Path

# Processes of the pool import this file, too: what is slow to import stands in the functions.
from grading.check import review
from grading.course.notebooks import ROOT, NotebookError
from grading.lms import cli as lms
from grading.run import fast_imports, pool

#: What helps where the system refuses to write or read.
ADVICE = {
    errno.ENOSPC: "the disk is full: make room, then run the command again",
    errno.EDQUOT: "your quota is used up: make room, then run the command again",
    errno.EROFS: "the folder is read-only: work in a copy of the course that you can write",
    errno.EACCES: "you may not: give yourself the right to, or run as another user",
    errno.EPERM: "you may not: give yourself the right to, or run as another user",
}


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    made = argparse.ArgumentParser(
        prog="python -m grading",
        description="Grade submissions, each in a process of its own.",
    )
    commands = made.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="grade an assignment's submissions")
    run.set_defaults(function=run_command)
    run.add_argument("--submitted", type=Path, help="the folder of submissions")
    run.add_argument("--jobs", type=int, help="how many at a time")
    run.add_argument(
        "--executor", help="where they are graded: local, or a Dask cluster's address"
    )
    run.add_argument(
        "--student", action="append", help="only this one; may be repeated"
    )
    run.add_argument(
        "--force", action="store_true", help="grade also what is graded already"
    )

    secret = commands.add_parser("secret", help="make the course's secret, once")
    secret.set_defaults(function=secret_command)

    states = commands.add_parser("states", help="list everybody's state")
    states.set_defaults(function=states_command)
    states.add_argument("--submitted", type=Path, help="the folder of submissions")
    states.add_argument("--only", choices=["graded", "missing", "failed", "suspect"])

    report = commands.add_parser("report", help="say what the class misunderstood")
    report.set_defaults(function=report_command)
    report.add_argument("--submitted", type=Path, help="the folder of submissions")
    report.add_argument(
        "--candidates",
        type=Path,
        metavar="FOLDER",
        help="write answers there whose mistakes the bank of wrong answers lacks",
    )

    clear = commands.add_parser(
        "clear", help="note that a suspect submission is what it seems"
    )
    clear.set_defaults(function=clear_command)
    check = commands.add_parser("check", help="tell a student what a grader would find")
    check.set_defaults(function=check_command)
    check.add_argument("notebook", type=Path, help="the notebook, or its folder")

    for command in (run, states, report, clear):
        command.add_argument(
            "assignment",
            nargs="?" if command is run else None,
            default="",
            help="its name, or how it begins",
        )
        command.add_argument(
            "--db", help="the gradebook's URL: sqlite:///FILE or postgresql://…"
        )
    clear.add_argument("student")
    clear.add_argument("--reason", required=True, help="what you saw, in a few words")
    clear.add_argument(
        "--who", help="your name, if another than the one you are logged in by"
    )
    run.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run the notebook's code with your rights: it can read and change what you can",
    )
    run.add_argument("--engine", help=argparse.SUPPRESS)
    for command in (run, secret, states, report, clear, check):
        command.add_argument(
            "--root", type=Path, default=ROOT, help="the course's folder"
        )
    review.add_commands(commands)
    lms.add_commands(commands)
    return made


def run_command(args: argparse.Namespace) -> int:
    """Grade a class; 1 if a submission failed."""
    if args.jobs is not None and args.jobs < 1:
        return refuse(f"--jobs: expected at least 1, got {args.jobs}")
    with fast_imports.imports():
        from grading.course.states import State
        from grading.run import batch, preparation, summary

    chosen = {
        "submitted": args.submitted and args.submitted.resolve(),
        "db": args.db,
        "jobs": args.jobs,
        "students": args.student and tuple(args.student),
        "engine": args.engine,
        "executor": args.executor,
    }
    options = preparation.Options(
        sandbox=not args.unsafe_no_sandbox,
        force=args.force,
        progress=True,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    done = batch.grade(args.root.resolve(), args.assignment, options)
    unsandboxed = any(
        not result.sandboxed
        for result in done.results.values()
        if result.state.has_points
    )
    name = done.course.assignment
    print(f"\n{summary.table(done.standings, unsandboxed)}\n")
    print(
        f"grades: grades.csv\nnotebooks with results: autograded/<student>/{name}/\n"
        f"feedback: feedback/<student>/{name}/"
    )
    return 1 if any(one.state is State.FAILED for one in done.standings) else 0


def secret_command(args: argparse.Namespace) -> int:
    """Make the secret from which hidden inputs are drawn."""
    from grading.course import draws, layout
    from grading.course.database import GradebookError, reading
    from grading.gradebook import ledger

    root = args.root.resolve()
    path = layout.secret_file(root)
    try:
        draws.make(path)
    except draws.SecretError as error:
        return refuse(str(error))
    print(
        f"made: {path}\nHidden tests now draw their inputs from it. Keep a copy where you keep "
        "passwords: with the same secret come the same grades. Never commit it."
    )
    with (
        contextlib.suppress(GradebookError),  # nothing is graded yet
        reading(layout.database_url(root)) as engine,
        engine.connect() as connection,
    ):
        if ledger.graded(connection):
            print(
                "The gradebook holds grades without it: grade those assignments anew, with "
                "--force."
            )
    return 0


def states_command(args: argparse.Namespace) -> int:
    """List everybody's state."""
    from grading.course import layout
    from grading.gradebook.standing import standings
    from grading.run import summary

    root = args.root.resolve()
    found = layout.find(root, args.assignment, submitted=args.submitted, db=args.db)
    class_ = standings(found.url, found.assignment, submitted=found.submitted)
    print(summary.listing([one for one in class_ if args.only in (None, one.state)]))
    return 0


def report_command(args: argparse.Namespace) -> int:
    """Write the report on the class."""
    from grading.course import layout
    from grading.report import make

    root = args.root.resolve()
    found = layout.find(root, args.assignment, submitted=args.submitted, db=args.db)
    for path in make.make(found, candidates=args.candidates):
        print(path)
    return 0


def clear_command(args: argparse.Namespace) -> int:
    """Note that a suspect submission is what it seems."""
    from grading.course import layout
    from grading.gradebook import suspects

    found = layout.find(args.root.resolve(), args.assignment, db=args.db)
    result = suspects.clear(found, args.student, args.reason, args.who)
    print(
        f"{args.student}: cleared, graded with {result.total:g} points. What had been found:"
    )
    print("\n".join(f"  {reason}" for reason in result.suspicions))
    return 0


def check_command(args: argparse.Namespace) -> int:
    """Tell a student what a grader would find; 1 if something should be mended."""
    from grading.check import findings as check_findings

    findings = check_findings.check(args.notebook, args.root.resolve())
    print("\n".join(findings.lines))
    return 0 if findings.fine else 1


def refuse(message: str) -> int:
    """Say why the command can't do its work; return the exit status."""
    print(f"python -m grading: {message}", file=sys.stderr)
    return 2


def prepare(args: argparse.Namespace) -> None:
    """Let the processes that grade import torch while this one imports nbgrader."""
    if args.command == "run" and args.executor in (None, "local") and not args.engine:
        jobs = (os.cpu_count() or 1) if args.jobs is None else args.jobs
        pool.prepare(jobs, ("grading.run.pipeline", "grading.run.sandbox_runner"))


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    args = parser().parse_args(arguments)
    try:
        status = perform(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` has
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # for Python's last flush
        return 128 + signal.SIGPIPE
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if (ROOT / package).is_dir():
            raise
        extra = "do" if args.command == "check" else "grade"
        return refuse(
            f"the package {package} is not installed: make env EXTRAS={extra}"
        )


def is_unread() -> bool:
    """Tell whether whoever read the output has closed it."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def perform(args: argparse.Namespace) -> int:
    """Do what the command line says; what a teacher can put right is told in one line."""
    prepare(args)
    with fast_imports.imports():
        from grading.course.database import GradebookError
        from grading.course.layout import GradingError
        from grading.sandbox.bubblewrap import SandboxMissing

    try:
        return args.function(args)
    except (
        GradingError,
        GradebookError,
        pool.PoolError,
        NotebookError,
        SandboxMissing,
    ) as error:
        return refuse(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_unread():
            raise
        place = f"{error.filename}: " if error.filename else ""
        advice = ADVICE.get(
            error.errno, "nothing that is graded is lost: mend it, and run again"
        )
        return refuse(f"{place}{error.strerror or error}. {advice}")
    except KeyboardInterrupt:
        print(
            "\nstopped; what is graded is kept: run the command again to go on",
            file=sys.stderr,
        )
        return 130
    finally:
        pool.discard()


if __name__ == "__main__":
    sys.exit(main())
