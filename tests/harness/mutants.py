"""Makes wrong answers by rule and lists those that the tests of an assignment do not catch.

    python -m tests.harness.mutants [ASSIGNMENT] [TASK] [--most 60] [--record FILE]

Each mutant is the reference solution, or a right answer of the bank, after one change by a rule of
tests/harness/mutation.py. It is put into the source notebook in place of its task's solution, and
is *killed* by the first point that it loses. Dropped are those that do not run: all that they fail
with is an error of their own code.

tests/answers/<assignment>.equal.toml lists mutants that do the same as what they are made of, each
with the reason. One that is killed after all, and one that no rule makes any more, is a problem.

    [[equal]]
    task = "soft-lookup"
    diff = '''
    -    if temperature <= 0:
    +    if temperature == 0:'''
    why = "..."

The exit status is 1 if there are survivors or problems.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness.answers import assignments, failing
from tests.harness.assignment import Assignment, BankError
from tests.harness.bank import code_lines, read_bank
from tests.harness.mutation import Mutant, mutants
from tests.harness.runner import Job, Outcome, run

ANSWERS = ROOT / "tests" / "answers"

#: Errors that say that the code of a mutant does not run on tensors of these kinds at all.
NOT_RUNNING = (
    *("NameError", "SyntaxError", "AttributeError", "TypeError", "UnboundLocalError"),
    *("NotImplementedError", "RecursionError", "ZeroDivisionError", "IndexError"),
)


@dataclass
class Tally:
    """What became of the mutants of one task."""

    task: str
    made: int = 0
    broken: int = 0
    killed: int = 0
    hung: list[str] = field(default_factory=list)
    equal: int = 0
    survivors: list[Mutant] = field(default_factory=list)

    def line(self) -> str:
        """Return the tally as one line."""
        return (
            f"  {self.task}: {self.made} made, {self.broken} do not run, "
            f"{self.killed} killed, {len(self.hung)} ended at the time limit, "
            f"{self.equal} equal, {len(self.survivors)} survive"
        )


def choose(assignment: Assignment, answers: Path, task: str, most: int) -> list[Mutant]:
    """Return the mutants of a task: of its reference first, then of its right answers.

    Where there are more than `most`, a drawn share of them, the same at each run, with every rule
    that made one.
    """
    bank, problems = read_bank(assignment, answers)
    if problems:
        raise BankError("\n".join(problems))
    cell = assignment.cells[assignment.tasks[task].index]
    reference = "\n".join(code_lines(cell.source))
    bases = [("reference", reference)] + [
        (answer.name, answer.source)
        for answer in bank
        if answer.task == task and answer.is_right
    ]
    found: list[Mutant] = []
    for base, source in bases:
        made = list(mutants(task, base, source))
        if len(found) + len(made) > most:
            random.Random(f"{task} {base}").shuffle(made)
            seen: dict[str, int] = {}
            ranks = []
            for mutant in made:
                seen[mutant.rule] = seen.get(mutant.rule, 0) + 1
                ranks.append(seen[mutant.rule])
            order = sorted(range(len(made)), key=ranks.__getitem__)
            made = [made[index] for index in order[: most - len(found)]]
        found += made
        if len(found) >= most:
            break
    return found


def read_equal(assignment: Assignment, answers: Path) -> list[dict[str, str]]:
    """Return the list of equal mutants.

    Raises:
        BankError: if an entry has not task, diff and a reason, or names no task.

    """
    path = answers / f"{assignment.name}.equal.toml"
    if not path.exists():
        return []
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equal", [])
    except tomllib.TOMLDecodeError as error:
        raise BankError(f"{path}: {error}") from None
    for number, entry in enumerate(entries, 1):
        if missing := {"task", "diff", "why"} - {
            key for key, text in entry.items() if text
        }:
            raise BankError(f"{path}: entry {number}: no {', '.join(sorted(missing))}")
        if entry["task"] not in assignment.tasks:
            raise BankError(f"{path}: entry {number}: no task {entry['task']}")
    return entries


def judge(
    assignment: Assignment,
    tasks: list[str],
    answers: Path,
    most: int = 60,
    processes: int = 1,
    limit: int = 40,
) -> tuple[list[Tally], list[str]]:
    """Run the mutants of some tasks; return a tally for each, and problems with the list."""
    entries = [e for e in read_equal(assignment, answers) if e["task"] in tasks]
    known = {(entry["task"], entry["diff"].strip("\n")) for entry in entries}
    chosen = [
        mutant for task in tasks for mutant in choose(assignment, answers, task, most)
    ]
    jobs = [Job({m.task: m.source}, until=m.task, stop=True) for m in chosen]
    reference, outcomes = run(assignment, jobs, processes, limit)
    for task in tasks:
        if lost := failing(assignment.tasks[task], reference):
            raise BankError(f"the reference loses points in {', '.join(sorted(lost))}")
    tallies = {task: Tally(task) for task in tasks}
    problems, met = [], set()
    for mutant, outcome in zip(chosen, outcomes, strict=True):
        tally, listed = tallies[mutant.task], (mutant.task, mutant.diff) in known
        tally.made += 1
        met.add((mutant.task, mutant.diff))
        if outcome.died.startswith("TimeoutError"):
            tally.hung.append(f"{mutant.rule}: {mutant.diff}")
        elif not loses(assignment, mutant, outcome):
            if listed:
                tally.equal += 1
            else:
                tally.survivors.append(mutant)
        elif listed:
            problems.append(
                f"{mutant.task}: listed as equal, but it loses points:\n{mutant.diff}"
            )
        elif does_not_run(assignment, mutant, outcome):
            tally.broken += 1
        else:
            tally.killed += 1
    problems += [
        f"{task}: listed as equal, but no rule makes it:\n{diff}"
        for task, diff in sorted(known - met)
    ]
    return list(tallies.values()), problems


def loses(assignment: Assignment, mutant: Mutant, outcome: Outcome) -> bool:
    """Return whether a mutant loses a point of its task, or its process ended."""
    return bool(outcome.died or failing(assignment.tasks[mutant.task], outcome))


def does_not_run(assignment: Assignment, mutant: Mutant, outcome: Outcome) -> bool:
    """Return whether what ends a mutant is an error of its own code, not a test's words."""
    cells = [outcome.cells.get(mutant.task)]
    cells += [
        outcome.cells.get(test.grade_id) for test in assignment.tasks[mutant.task].tests
    ]
    errors = [cell.error for cell in cells if cell is not None and cell.error]
    return bool(errors) and errors[0].split(":")[0] in NOT_RUNNING


def report(name: str, tallies: list[Tally], problems: list[str]) -> str:
    """Return all of it as text: a line for each task, below it its survivors."""
    lines = [name]
    for tally in tallies:
        lines.append(tally.line())
        for mutant in tally.survivors:
            lines.append(f"    survives: {mutant.rule}, of {mutant.base}")
            lines += [f"      {line}" for line in mutant.diff.splitlines()]
        lines += [f"    hangs: {text.splitlines()[0]}" for text in tally.hung]
    return "\n".join(lines + [f"  PROBLEM: {text}" for text in problems])


def as_record(tallies: list[Tally]) -> dict:
    """Return what a run leaves behind, by task."""
    return {
        tally.task: {
            "made": tally.made,
            "do not run": tally.broken,
            "killed": tally.killed,
            "ended at the time limit": len(tally.hung),
            "equal": tally.equal,
            "survive": [f"{m.rule}, of {m.base}\n{m.diff}" for m in tally.survivors],
        }
        for tally in tallies
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a mutant survives, 2 if the command makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.harness.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("assignment", nargs="?", help="its folder's name, or its start")
    parser.add_argument("task", nargs="?", help="one task only")
    parser.add_argument("--most", type=int, default=60, help="mutants of a task")
    parser.add_argument(
        "--processes", type=int, default=1, help="how many run at a time"
    )
    parser.add_argument("--limit", type=int, default=40, help="seconds each may take")
    parser.add_argument("--record", type=Path, help="a file for the counts, as JSON")
    parser.add_argument("--solutions", type=Path, default=ROOT / "solutions")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    options = parser.parse_args(arguments)
    failed, record = False, {}
    try:
        for folder in assignments(options.solutions, options.assignment):
            loaded = form.load(folder)
            if options.task not in (None, *loaded.tasks):
                known = ", ".join(loaded.tasks)
                raise BankError(f"{folder}: no task {options.task}; it has {known}")
            tasks = [options.task] if options.task else list(loaded.tasks)
            tallies, problems = judge(
                loaded,
                tasks,
                options.answers,
                options.most,
                options.processes,
                options.limit,
            )
            print(report(loaded.name, tallies, problems), flush=True)
            record[loaded.name] = as_record(tallies)
            failed = failed or bool(problems) or any(t.survivors for t in tallies)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.record:
        text = json.dumps(record, indent=1, ensure_ascii=False)
        options.record.write_text(text + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
