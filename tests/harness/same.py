"""Runs the mutants that are listed as equal with inputs that were drawn anew.

    python -m tests.harness.same [ASSIGNMENT] [--draws 10]

A class grades with a secret, and its hidden tests draw other inputs than those of the repository. A
mutant that computes the same passes whatever the secret is. Each draw asks every case of its task's
contract with other numbers: twenty cases and ten draws are 200 inputs. The exit status is 1 if a
mutant loses a point.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness.answers import assignments
from tests.harness.bank import read_bank
from tests.harness.listed import read_listed
from tests.harness.mutants import ANSWERS, choose, loses
from tests.harness.runner import Job, run


def differing(folder: Path, answers: Path, draws: int, limit: int = 40) -> list[str]:
    """Return a line for each listed mutant that loses points, and how many were run before."""
    loaded = form.load(folder)
    bank, _ = read_bank(loaded, answers)
    equal = read_listed(loaded, answers).equal
    chosen = [
        mutant
        for task in loaded.tasks
        if (diffs := frozenset(diff for name, diff in equal if name == task))
        for mutant in choose(loaded, bank, task, 0, diffs)
    ]
    jobs = [Job({m.task: m.source}, until=m.task, stop=True) for m in chosen]
    lines = [f"{loaded.name}: {len(chosen)} mutants, {draws} draws"]
    for number in range(draws if jobs else 0):
        drawn = form.load(folder, f"draw {number}".encode())
        _, outcomes = run(drawn, jobs, 1, limit, whole=False)
        lines += [
            f"  draw {number}: {mutant.task}: loses points:\n{mutant.diff}"
            for mutant, outcome in zip(chosen, outcomes, strict=True)
            if loses(drawn, mutant, outcome)
        ]
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a listed mutant is not equal, 2 if the command makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.harness.same",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("assignment", nargs="?", help="its folder's name, or its start")
    parser.add_argument("--draws", type=int, default=10, help="how many secrets")
    parser.add_argument("--solutions", type=Path, default=ROOT / "solutions")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    options = parser.parse_args(arguments)
    failed = False
    try:
        for folder in assignments(options.solutions, options.assignment):
            lines = differing(folder, options.answers, options.draws)
            print("\n".join(lines), flush=True)
            failed |= len(lines) > 1
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
