"""Writes what mutants are told beside what was changed, for somebody who reads it critically.

    python -m tests.harness.told ASSIGNMENT [TASK]

Each mutant's one change is known, so it shows whether a message is true of it. Mutants with the
same messages stand together below them. Those that lose no point or do not run are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness.answers import assignments
from tests.harness.assignment import Assignment, BankError
from tests.harness.bank import read_bank
from tests.harness.mutants import ANSWERS, choose, does_not_run
from tests.harness.runner import Job, run
from tests.harness.verdict import failing


def told(
    assignment: Assignment,
    task: str,
    answers: Path,
    most: int = 60,
    processes: int = 1,
    limit: int = 40,
) -> str:
    """Return the messages of a task, each set with the mutants that get it.

    Raises:
        BankError: if the bank has problems.

    """
    bank, wrong = read_bank(assignment, answers)
    if wrong:
        raise BankError("\n".join(wrong))
    chosen = choose(assignment, bank, task, most)
    jobs = [Job({task: mutant.source}, until=task) for mutant in chosen]
    _, outcomes = run(assignment, jobs, processes, limit, whole=False)
    groups: dict[str, list[str]] = {}
    for number, (mutant, outcome) in enumerate(zip(chosen, outcomes, strict=True), 1):
        lost = failing(assignment.tasks[task], outcome)
        if outcome.died or not lost or does_not_run(assignment, mutant, outcome):
            continue
        messages = "\n".join(
            f"[{test.grade_id}] {outcome.cells[test.grade_id].error}"
            for test in assignment.tasks[task].tests
            if test.grade_id in lost
        )
        diff = "\n".join(f"      {line}" for line in mutant.diff.splitlines())
        groups.setdefault(messages, []).append(
            f"  {number}: {mutant.rule}, of {mutant.base}\n{diff}"
        )
    return f"# {task}\n\n" + "\n\n".join(
        "\n".join([messages, *mutants]) for messages, mutants in groups.items()
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 2 if it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.harness.told",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("assignment", help="its folder's name, or its start")
    parser.add_argument("task", nargs="?", help="one task only")
    parser.add_argument("--most", type=int, default=60, help="mutants of a task")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        for folder in assignments(ROOT / "solutions", options.assignment):
            loaded = form.load(folder)
            if options.task not in (None, *loaded.tasks):
                known = ", ".join(loaded.tasks)
                raise BankError(f"{folder}: no task {options.task}; it has {known}")
            for task in [options.task] if options.task else loaded.tasks:
                size = options.most, options.processes
                print(told(loaded, task, ANSWERS, *size), end="\n\n", flush=True)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
