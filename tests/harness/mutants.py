"""Makes wrong answers by rule and lists those that the tests of an assignment do not catch.

    python -m tests.harness.mutants [ASSIGNMENT] [TASK] [--record FILE [--changed | --fits]]

Each mutant is the reference solution, or a right answer of the bank, after one change by a rule of
tests/harness/mutation.py. It is put into the source notebook in place of its task's solution, and
is *killed* by the first point that it loses. Dropped are those that do not run: all that they fail
with is an error of their own code.

tests/answers/<assignment>.equal.toml lists mutants that do the same as what they are made of, each
with the reason (tests/harness/listed.py). One that is killed after all, and one that no rule makes
any more, is a problem.

A mutant that passes all that is visible and then loses more than half of its task's points *lulls*:
a student who makes this mistake believes that all is well. It is a problem, unless the list says
where the statement warns of it.

--record FILE puts the counts of each task into FILE as soon as they are known, and keeps those of
other tasks; with --changed only tasks are run that FILE does not fit (tests/harness/record.py).
With --fits nothing is run: what FILE does not fit is a problem.

The exit status is 1 if there are survivors or problems.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness import assignment as form
from tests.harness import record as records
from tests.harness.answers import assignments
from tests.harness.assignment import Assignment, BankError
from tests.harness.bank import Answer, code_lines, read_bank
from tests.harness.listed import read_listed
from tests.harness.mutation import Mutant, mutants
from tests.harness.runner import Job, Outcome, run
from tests.harness.verdict import failing, lulls

ANSWERS = ROOT / "tests" / "answers"

#: Errors that say that the code of a mutant does not run on tensors of these kinds at all.
NOT_RUNNING = (
    *("NameError", "SyntaxError", "AttributeError", "TypeError", "UnboundLocalError"),
    *("NotImplementedError", "RecursionError", "ZeroDivisionError", "IndexError"),
)


#: How many mutants of a task must run.
LEAST = 40


@dataclass
class Tally:
    """What became of the mutants of one task."""

    task: str
    made: int = 0
    broken: int = 0
    killed: int = 0
    by_visible: int = 0
    hung: list[Mutant] = field(default_factory=list)
    equal: int = 0
    warned: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    lulling: list[Mutant] = field(default_factory=list)

    def line(self) -> str:
        """Return the tally as one line."""
        return (
            f"  {self.task}: {self.made} made, {self.broken} do not run, "
            f"{self.killed} killed, {self.by_visible} of them by visible tests, "
            f"{len(self.hung)} ended at the time limit, {self.equal} equal, "
            f"{len(self.survivors)} survive, {len(self.lulling)} lull"
        )


def choose(
    assignment: Assignment,
    bank: list[Answer],
    task: str,
    most: int,
    listed: frozenset[str] = frozenset(),
) -> list[Mutant]:
    """Return the mutants of a task: of its reference first, then of its right answers.

    Where there are more than `most`, a drawn share of them, the same at each run, with every rule
    that made one; behind them those whose diffs are listed.
    """
    cell = assignment.cells[assignment.tasks[task].index]
    bases = [("reference", "\n".join(code_lines(cell.source)))] + [
        (answer.name, answer.source)
        for answer in bank
        if answer.task == task and answer.is_right
    ]
    found: list[Mutant] = []
    extra: list[Mutant] = []
    missing = set(listed)
    for base, source in bases:
        if len(found) >= most and not missing:
            break
        made = list(mutants(task, base, source))
        rest = []
        if len(found) + len(made) > most:
            random.Random(f"{task} {base}").shuffle(made)
            seen: dict[str, int] = {}
            ranks = []
            for mutant in made:
                seen[mutant.rule] = seen.get(mutant.rule, 0) + 1
                ranks.append(seen[mutant.rule])
            order = sorted(range(len(made)), key=ranks.__getitem__)
            made = [made[index] for index in order]
            made, rest = made[: most - len(found)], made[most - len(found) :]
        found += made
        missing -= {mutant.diff for mutant in made}
        for mutant in rest:
            if mutant.diff in missing:
                missing.remove(mutant.diff)
                extra.append(mutant)
    return found + extra


def judge(
    assignment: Assignment,
    tasks: list[str],
    answers: Path,
    most: int = 60,
    processes: int = 1,
    limit: int = 40,
) -> tuple[list[Tally], list[str]]:
    """Run the mutants of some tasks; return a tally for each, and problems with the lists."""
    listed = read_listed(assignment, answers)
    bank, wrong = read_bank(assignment, answers)
    if wrong:
        raise BankError("\n".join(wrong))
    names = {(answer.task, answer.name) for answer in bank}
    chosen = []
    for task in tasks:
        diffs = {
            text
            for name, text in listed.equal | (listed.warned - names)
            if name == task
        }
        chosen += choose(assignment, bank, task, most, frozenset(diffs))
    outcomes, passing = run_both(assignment, tasks, chosen, processes, limit)
    tallies = {task: Tally(task) for task in tasks}
    problems, met = [], set()
    for mutant, outcome, passes in zip(chosen, outcomes, passing, strict=True):
        tally, key = tallies[mutant.task], (mutant.task, mutant.diff)
        own, equal = assignment.tasks[mutant.task], key in listed.equal
        tally.made += 1
        met.add(key)
        if outcome.died.startswith("TimeoutError"):
            tally.hung.append(mutant)
        elif not loses(assignment, mutant, outcome):
            if equal:
                tally.equal += 1
            else:
                tally.survivors.append(mutant)
        elif equal:
            problems.append(
                f"{mutant.task}: listed as equal, but it loses points:\n{mutant.diff}"
            )
        elif does_not_run(assignment, mutant, outcome):
            tally.broken += 1
        else:
            tally.killed += 1
            tally.by_visible += not passes
        bad = passes and lulls(own, outcome)
        if bad and key in listed.warned:
            tally.warned += 1
        elif bad:
            tally.lulling.append(mutant)
        elif key in listed.warned:
            problems.append(
                f"{mutant.task}: listed as warned of, but a visible test tells, or it "
                f"costs half of the points at most:\n{mutant.diff}"
            )
    for kind, entries in (
        ("equal", listed.equal),
        ("warned of", listed.warned - names),
    ):
        problems += [
            f"{task}: listed as {kind}, but no rule makes it:\n{diff}"
            for task, diff in sorted(entries - met)
            if task in tasks
        ]
    return list(tallies.values()), problems


def judge_enough(
    assignment: Assignment,
    task: str,
    answers: Path,
    most: int = 60,
    processes: int = 1,
    limit: int = 40,
) -> tuple[Tally, list[str]]:
    """Judge a task's mutants, more of them where fewer than `LEAST` run."""
    while True:
        (tally,), problems = judge(assignment, [task], answers, most, processes, limit)
        if most < LEAST or tally.made - tally.broken >= LEAST or tally.made < most:
            return tally, problems
        most += LEAST // 2


def run_both(
    assignment: Assignment,
    tasks: list[str],
    chosen: list[Mutant],
    processes: int,
    limit: int,
) -> tuple[list[Outcome], list[bool]]:
    """Return what became of each mutant, and whether it passes all that is visible.

    All tests are run where the visible ones have not settled the matter.

    Raises:
        BankError: if the reference loses points of these tasks.

    """
    jobs = [Job({m.task: m.source}, True, m.task, stop=True) for m in chosen]
    reference, outcomes = run(assignment, jobs, processes, limit)
    for task in tasks:
        if lost := failing(assignment.tasks[task], reference):
            raise BankError(f"the reference loses points in {', '.join(sorted(lost))}")
    passing = [
        not loses(assignment, mutant, outcome)
        for mutant, outcome in zip(chosen, outcomes, strict=True)
    ]
    waiting = [index for index, passes in enumerate(passing) if passes]
    jobs = [
        Job({chosen[i].task: chosen[i].source}, until=chosen[i].task) for i in waiting
    ]
    if jobs:
        _, full = run(assignment, jobs, processes, limit, whole=False)
        for index, outcome in zip(waiting, full, strict=True):
            outcomes[index] = outcome
    return outcomes, passing


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
        for mutant, fate in [
            *((mutant, "survives") for mutant in tally.survivors),
            *((mutant, "lulls") for mutant in tally.lulling),
            *((mutant, "hangs") for mutant in tally.hung),
        ]:
            lines.append(f"    {fate}: {mutant.rule}, of {mutant.base}")
            lines += [f"      {line}" for line in mutant.diff.splitlines()]
    return "\n".join(lines + [f"  PROBLEM: {text}" for text in problems])


def as_record(tally: Tally, fits: str) -> dict:
    """Return what a run leaves behind about a task; `fits` is the digest of its sources."""
    texts = {
        name: [f"{m.rule}, of {m.base}\n{m.diff}" for m in found]
        for name, found in (
            ("ended at the time limit", tally.hung),
            ("survive", tally.survivors),
            ("lull", tally.lulling),
        )
    }
    return {
        "fits": fits,
        "made": tally.made,
        "do not run": tally.broken,
        "killed": tally.killed,
        "killed by visible tests": tally.by_visible,
        "equal": tally.equal,
        "warned of": tally.warned,
        **texts,
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
    parser.add_argument(
        "--changed", action="store_true", help="tasks alone that the record doesn't fit"
    )
    parser.add_argument(
        "--fits", action="store_true", help="run nothing, say what it doesn't fit"
    )
    parser.add_argument("--solutions", type=Path, default=ROOT / "solutions")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    options = parser.parse_args(arguments)
    if (options.changed or options.fits) and not options.record:
        parser.error("--changed and --fits need the record: --record FILE")
    failed = False
    try:
        for folder in assignments(options.solutions, options.assignment):
            loaded = form.load(folder)
            if options.task not in (None, *loaded.tasks):
                known = ", ".join(loaded.tasks)
                raise BankError(f"{folder}: no task {options.task}; it has {known}")
            tasks = [options.task] if options.task else list(loaded.tasks)
            failed |= run_tasks(loaded, tasks, options)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


def run_tasks(
    assignment: Assignment, tasks: list[str], options: argparse.Namespace
) -> bool:
    """Run some tasks as the command asks for; return whether there is any problem."""
    record = records.read(options.record) if options.record else {}
    digests = records.digests(assignment, options.answers)
    if options.changed or options.fits:
        changed = records.changed(record, assignment, digests)
        tasks = [task for task in tasks if task in changed]
    if options.fits:
        old = record.get(records.COMMON) != records.common()
        texts = [f"{assignment.name}: {task} has changed since" for task in tasks]
        texts += [f"{assignment.name}: rules or kit have changed since"] * old
        print("\n".join(texts or [f"{assignment.name}: the record fits"]))
        return bool(texts)
    failed = False
    for task in tasks:
        tally, problems = judge_enough(
            assignment,
            task,
            options.answers,
            options.most,
            options.processes,
            options.limit,
        )
        print(report(assignment.name, [tally], problems), flush=True)
        failed |= bool(problems or tally.survivors or tally.lulling)
        known = record.get(assignment.name, {})
        known[task] = as_record(tally, digests[task])
        if options.record:
            record[assignment.name] = {
                name: known[name] for name in assignment.tasks if name in known
            }
            record[records.COMMON] = records.common()
            records.write(options.record, dict(sorted(record.items())))
    return failed


if __name__ == "__main__":
    sys.exit(main())
