"""Proves the tests of each assignment: right answers score full, wrong ones lose points.

    python -m tests.harness.answers check [ASSIGNMENT] [--task TASK]

Each answer of the bank is run in the source notebook in place of its task's reference solution.
Asked of a right answer: every point of the notebook. Asked of a wrong answer: it loses points on
its own task, and one of the messages that the student reads there matches its pattern.

    python -m tests.harness.answers judge ASSIGNMENT FILES [--json]

Answers that lie elsewhere: see tests/harness/judge.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness import judge
from tests.harness.assignment import Assignment
from tests.harness.bank import Answer, read_bank
from tests.harness.listed import read_listed
from tests.harness.report import Report, Row, Rules
from tests.harness.runner import Job, run
from tests.harness.verdict import (
    failing,
    judge_messages,
    judge_wrong,
    losses,
    lulls,
    tell,
)


def check(
    folder: Path,
    answers: Path,
    task: str | None = None,
    rules: Rules | None = None,
    processes: int = 2,
    limit: int = 60,
) -> Report:
    """Run the bank of one assignment and return the verdict.

    Args:
        folder: the assignment's folder below solutions/.
        answers: the folder that holds the banks.
        task: run the answers to this task only.
        rules: sizes asked for; by default those of the course.
        processes: how many answers run at a time.
        limit: seconds that one answer may take.

    Raises:
        BankError: if the notebook has not the form that the harness reads.

    """
    rules = rules or Rules()
    assignment = form.load(folder)
    if task is not None and task not in assignment.tasks:
        raise form.BankError(
            f"{folder}: no task {task}; it has {', '.join(assignment.tasks)}"
        )
    bank, problems = read_bank(assignment, answers)
    warned = read_listed(assignment, answers).warned
    report = Report(assignment.name, problems=problems)
    report.problems += sizes(assignment, bank, rules, answers)
    bank = [answer for answer in bank if task in (None, answer.task)]

    right = [answer for answer in bank if answer.is_right]
    wrong = [answer for answer in bank if not answer.is_right]
    together = mixed(right)
    jobs = [Job({one.task: one.source for one in mix}) for mix in together]
    jobs += [
        Job({answer.task: answer.source}, True, until=answer.task) for answer in wrong
    ]
    reference, outcomes = run(assignment, jobs, processes, limit)
    report.problems += losses(
        assignment, reference, f"{assignment.path}: the reference solution"
    )

    report.rows = [
        Row(item) for name, item in assignment.tasks.items() if task in (None, name)
    ]
    rows = {row.task.name: row for row in report.rows}
    for answer in right:
        rows[answer.task].right += 1
    found = zip(together, outcomes[: len(together)], strict=True)
    for mix in [mix for mix, full in found if losses(assignment, full, "")]:
        report.problems += blame(assignment, mix, processes, limit)

    # Hidden tests are run only where the visible ones have not settled the matter.
    runs = {
        str(answer): [visible]
        for answer, visible in zip(wrong, outcomes[len(together) :], strict=True)
    }
    open_ones = [
        answer
        for answer in wrong
        if not failing(rows[answer.task].task, *runs[str(answer)])
        or judge_messages(answer, rows[answer.task].task, runs[str(answer)])
    ]
    jobs = [
        Job({answer.task: answer.source}, until=answer.task) for answer in open_ones
    ]
    _, outcomes = (
        run(assignment, jobs, processes, limit, whole=False) if jobs else (None, [])
    )
    for answer, full in zip(open_ones, outcomes, strict=True):
        runs[str(answer)].append(full)
    fatal: set[str] = set()
    for answer in wrong:
        row, outcomes = rows[answer.task], runs[str(answer)]
        fatal |= failing(row.task, *outcomes)
        report.problems += judge_wrong(answer, row, outcomes)
        lulling = answer.name in row.hidden and lulls(row.task, outcomes[-1])
        if lulling and (answer.task, answer.name) not in warned:
            report.problems.append(
                f"{answer}: passes all that is visible, and then loses more than half of "
                f"the points of {answer.task}: let a visible test tell, or list it as "
                "warned of"
            )
    report.problems += tell(report.rows, wrong, runs, rules if task is None else None)
    idle = [
        test.grade_id
        for row in report.rows
        for test in row.task.tests
        if row.wrong and test.grade_id not in fatal
    ]
    if idle:
        report.notes.append(f"no wrong answer is seen to fail {', '.join(idle)}")
    return report


def mixed(right: list[Answer]) -> list[list[Answer]]:
    """Return the right answers in notebooks of one for each task, as few as hold them all."""
    mixes: list[dict[str, Answer]] = []
    for answer in right:
        free = [mix for mix in mixes if answer.task not in mix]
        mixes += [] if free else [{}]
        (free or mixes[-1:])[0][answer.task] = answer
    return [list(mix.values()) for mix in mixes]


def blame(
    assignment: Assignment, mix: list[Answer], processes: int, limit: int
) -> list[str]:
    """Return what is wrong with right answers that lose points in one notebook."""
    jobs = [Job({answer.task: answer.source}) for answer in mix]
    _, outcomes = run(assignment, jobs, processes, limit, whole=False)
    problems = [
        line
        for answer, full in zip(mix, outcomes, strict=True)
        for line in losses(assignment, full, f"{answer}: a right answer")
    ]
    names = ", ".join(map(str, mix))
    return problems or [f"{names}: right alone, but not in one notebook"]


def sizes(
    assignment: Assignment, answers: Iterable[Answer], rules: Rules, folder: Path
) -> list[str]:
    """Return a line for each thing there are too few of."""
    problems = []
    if len(assignment.tasks) < rules.tasks:
        problems.append(
            f"{assignment.path}: {len(assignment.tasks)} tasks, expected at least {rules.tasks}"
        )
    counts = Counter((answer.task, answer.is_right) for answer in answers)
    for name in assignment.tasks:
        for is_right, least in ((True, rules.right), (False, rules.wrong)):
            if (found := counts[name, is_right]) < least:
                kind = "right" if is_right else "wrong"
                place = folder / assignment.name / f"{name}.py"
                problems.append(
                    f"{place}: {found} {kind} answers, expected at least {least}"
                )
    return problems


def assignments(solutions: Path, name: str | None) -> list[Path]:
    """Return the folders of all assignments, or of those whose name begins so.

    Raises:
        BankError: if there is none.

    """
    folders = form.discover(solutions)
    chosen = [path for path in folders if path.name.startswith(name or "")]
    if not chosen:
        known = ", ".join(path.name for path in folders)
        raise form.BankError(f"{solutions}: no assignment {name}; there are {known}")
    return chosen


def check_all(args: argparse.Namespace) -> int:
    """Print a table for each assignment asked for; 1 if there is any problem."""
    reports = [
        check(
            folder,
            args.answers,
            args.task,
            None,
            args.processes,
            args.limit,
        )
        for folder in assignments(args.solutions, args.assignment)
    ]
    print("\n\n".join(report.table() for report in reports))
    return 1 if any(report.problems for report in reports) else 0


def judge_files(args: argparse.Namespace) -> int:
    """Print what answers that lie elsewhere score; 1 if some cannot be judged."""
    folders = assignments(args.solutions, args.assignment)
    if len(folders) > 1:
        names = ", ".join(path.name for path in folders)
        raise form.BankError(
            f"{args.assignment}: more than one assignment begins so: {names}"
        )
    assignment = form.load(folders[0])
    report = judge.judge(assignment, args.files, args.processes, args.limit)
    print(json.dumps(report, indent=1) if args.json else judge.table(report))
    print(
        "\n".join(report["problems"]),
        end="\n" * bool(report["problems"]),
        file=sys.stderr,
    )
    return 1 if report["problems"] else 0


def main(arguments: list[str] | None = None) -> int:
    """Run one of the two commands; 2 if it makes no sense."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.answers")
    commands = parser.add_subparsers(required=True)
    for name, run_it, text in (
        ("check", check_all, __doc__),
        ("judge", judge_files, judge.__doc__),
    ):
        command = commands.add_parser(
            name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.set_defaults(run=run_it)
        command.add_argument(
            "--processes", type=int, default=2, help="how many run at a time"
        )
        command.add_argument(
            "--limit", type=int, default=60, help="seconds an answer may take"
        )
        command.add_argument("--solutions", type=Path, default=ROOT / "solutions")
        which = "its folder's name, or the start of it"
        if name == "check":
            command.add_argument("assignment", nargs="?", help=which)
            command.add_argument("--task", help="run the answers to one task only")
            command.add_argument(
                "--answers", type=Path, default=ROOT / "tests" / "answers"
            )
        else:
            command.add_argument("assignment", help=which)
            command.add_argument("files", nargs="+", type=Path, metavar="FILES")
            command.add_argument("--json", action="store_true", help="for programs")
    args = parser.parse_args(arguments)
    try:
        return args.run(args)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
