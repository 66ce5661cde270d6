"""A class of five hundred, graded three times: SQLite, PostgreSQL, a Dask cluster.

    python -m benchmarks.large_class                         500 submissions, about an hour
    python -m benchmarks.large_class --students 60 --ways sqlite

In it sit 20 attackers, and 20 whose first task never ends; the others hand in answers of
tests/answers, right and wrong ones. Each way starts from the same folder, and all must give
everybody the same points. After that a part of the class is graded once more by SQLite while the
grader, one of its workers and a sandbox are killed (SIGKILL): what the next run completes must be
the same, too.

What one submission takes is told by kind, and for each fifth of the class in the order in which it
was graded; the memory is that of the process that was started. `--json` names the record; a later
call measures what it lacks.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.grading import MEASURE, BenchError, fill, hand_in, make_release
from grading.course import database, files, layout, notebooks
from grading.gradebook.ledger import Entry, entries
from tests.grading import servers
from tests.grading.attacks.hostile import calls
from tests.grading.attacks.process import PROCESS
from tests.grading.attacks.values import LIES
from tests.harness.assignment import load
from tests.harness.bank import Answer, read_bank

ATTACKERS = HANGING = 20
ENDLESS = (
    "def attack(name, args, options):\n    while True: pass",
    "import time\ndef attack(name, args, options):\n    time.sleep(10 ** 6)",
)
#: Shares of a class after which a part of the grader is killed.
KILLS = {"a worker": 0.2, "a sandbox": 0.4, "the grader": 0.6}
#: Of so many submissions.
KILLED_CLASS = 60
WAYS = ("sqlite", "postgresql", "dask")


def kinds(students: int, seed: int = 0) -> list[str]:
    """Return who is what: "honest", "attacker" or "hanging", the two evenly among the others.

    Raises:
        BenchError: if there are fewer than ten students.

    """
    if students < 10:
        raise BenchError(f"--students: expected at least 10, got {students}")
    share = min(1.0, students / 500)
    found = ["attacker"] * max(1, round(ATTACKERS * share))
    found += ["hanging"] * max(1, round(HANGING * share))
    found += ["honest"] * (students - len(found))
    random.Random(seed).shuffle(found)
    return found


def answers_of(
    bank: list[Answer], tasks: Sequence[str], random_numbers: random.Random
) -> dict[str, list[str]]:
    """Return one answer to each task, six of ten of them right."""
    found = {}
    for task in tasks:
        wants = random_numbers.random() < 0.6
        choice = [a.source for a in bank if a.task == task and a.is_right == wants]
        found[task] = [random_numbers.choice(choice)]
    return found


def make_class(root: Path, folder: Path, assignment: str, students: int) -> list[str]:
    """Make a course with an assignment that a class handed in; return what each student is.

    Raises:
        BenchError: if the bank of answers has problems, or nbgrader can't release.

    """
    path = make_release(root, folder, assignment)
    released, loaded = notebooks.read(path), load(root / "solutions" / assignment)
    bank, problems = read_bank(loaded, root / "tests" / "answers")
    if problems:
        raise BenchError("\n".join(problems))
    tasks, attacks = list(loaded.tasks), list({**LIES, **PROCESS}.values())
    right = {
        task: next(a.source for a in bank if a.task == task and a.is_right)
        for task in tasks
    }
    found = kinds(students)
    for number, kind in enumerate(found):
        own, answers = "", {task: [source] for task, source in right.items()}
        if kind == "honest":
            answers = answers_of(bank, tasks, random.Random(number))
        elif kind == "attacker":
            own = attacks[number % len(attacks)]
            answers = {t: [calls(source, "attack")] for t, source in right.items()}
        else:
            own = ENDLESS[number % 2]
            answers[tasks[0]] = [calls(right[tasks[0]], "attack")]
        notebook = fill(released, answers, 0)
        own = f"import torch\nfrom torch import nn\n{own}" if own else f"# {number}"
        notebook["cells"].insert(
            1,
            {
                "cell_type": "code",
                "id": "own",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": own,
            },
        )
        hand_in(folder, f"s{number:03}", path, notebook)
    return found


def ledger(url: str, assignment: str) -> dict[str, Entry]:
    """Return what the ledger holds, by student; {} where there is no gradebook to read yet."""
    try:
        with database.reading(url) as engine, engine.connect() as connection:
            return entries(connection, assignment)
    except database.GradebookError:
        return {}


def start(
    folder: Path, assignment: str, jobs: int, url: str, executor: str
) -> subprocess.Popen:
    """Start to grade, below a process that measures; its words go to run.log in the folder."""
    command = [sys.executable, "-c", MEASURE]
    command += [sys.executable, "-m", "grading", "run", assignment, "--root"]
    command += [str(folder), "--jobs", str(jobs), "--db", url]
    command += ["--executor", executor] if executor else []
    environment = {**os.environ, "PYTHONPATH": str(notebooks.ROOT)}
    with (folder / "run.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def watch(
    process: subprocess.Popen,
    graded: Callable[[], int],
    kills: dict[int, Callable[[psutil.Process], None]],
) -> list[tuple[float, int, int]]:
    """Wait for the end of a run; return seconds, submissions graded and bytes of memory, in turn.

    kills: what is done to the run once so many are graded, each once.
    """
    began, seen = time.monotonic(), []
    waiting = dict(sorted(kills.items()))
    main: psutil.Process | None = None
    while process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            # Later children are orphans of the grader that came to the measuring process.
            main = main or next(iter(psutil.Process(process.pid).children()), None)
            if main is not None:
                memory, count = main.memory_info().rss, graded()
                seen.append((time.monotonic() - began, count, memory))
                for least in [number for number in waiting if count >= number]:
                    waiting.pop(least)(main)
        time.sleep(0.5)
    if waiting:
        raise BenchError(f"not killed, since the run ended first: {list(waiting)}")
    return seen


def points(found: dict[str, Entry]) -> dict[str, tuple[str, float]]:
    """Return each student's state and points."""
    return {
        student: (str(entry.result.state), entry.result.total)
        for student, entry in sorted(found.items())
    }


def summary(
    found: dict[str, Entry], who: Sequence[str], seen: list[tuple[float, int, int]]
) -> dict[str, Any]:
    """Return what a run came to.

    Args:
        found: the ledger.
        who: what each student is, in the order of their names.
        seen: what `watch` returned.

    """
    kind = dict(zip((f"s{number:03}" for number in range(len(who))), who, strict=True))
    by_kind: dict[str, list[float]] = {}
    for student, entry in found.items():
        by_kind.setdefault(kind[student], []).append(entry.result.seconds)
    ordered = sorted(found, key=lambda student: found[student].written)
    honest = [found[s].result.seconds for s in ordered if kind[s] == "honest"]
    size = len(honest) / 5
    fifths = [honest[round(i * size) : round((i + 1) * size)] for i in range(5)]
    memory = [bytes_ for _, count, bytes_ in seen if count]
    return {
        "wall_seconds": seen[-1][0],
        "seconds_until_the_first": next((s for s, count, _ in seen if count), None),
        "states": dict(Counter(str(entry.result.state) for entry in found.values())),
        "seconds_each": {
            name: {"mean": statistics.mean(values), "most": max(values)}
            for name, values in sorted(by_kind.items())
        },
        "seconds_of_an_honest_one_by_fifth": [statistics.mean(part) for part in fifths],
        "memory_mib_by_fifth": [
            max(memory[i * len(memory) // 5 : (i + 1) * len(memory) // 5] or [0]) >> 20
            for i in range(5)
        ],
        "points_of_attackers": sum(
            found[student].result.total
            for student, name in kind.items()
            if name == "attacker"
        ),
    }


def kill(part: str) -> Callable[[psutil.Process], None]:
    """Return what kills a part of a run with SIGKILL."""

    def fire(main: psutil.Process) -> None:
        if part == "the grader":
            main.kill()
            return
        below = main.children(recursive=True)
        inside = [p for p in below if p.name() == "bwrap"]
        chosen = inside if part == "a sandbox" else main.children()
        if not chosen:
            raise BenchError(f"{part} is not there to be killed")
        chosen[0].kill()

    return fire


def grade(
    root: Path, assignment: str, students: int, way: str, jobs: int, kills: dict
) -> tuple[dict[str, tuple[str, float]], dict[str, Any]]:
    """Make a class and grade it, with kills a second time; return the grades and the summary.

    Raises:
        BenchError: if a submission has no state in the end.

    """
    with contextlib.ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="large-class-")
        folder = Path(stack.enter_context(scratch))
        who = make_class(root, folder, assignment, students)
        url, executor = f"sqlite:///{folder / 'gradebook.db'}", ""
        if way == "postgresql":
            server = stack.enter_context(contextlib.contextmanager(servers.serve)())
            url = server.make("grades")
        if way == "dask":
            executor = stack.enter_context(servers.dask_cluster(jobs))
        load = os.getloadavg()[0]
        for now in (kills, {}) if kills else ({},):
            process = start(folder, assignment, jobs, url, executor)
            seen = watch(process, lambda: len(ledger(url, assignment)), now)
        found = ledger(url, assignment)
        if len(found) != students:
            log = (folder / "run.log").read_text(encoding="utf-8", errors="replace")
            raise BenchError(f"{len(found)} of {students} are graded:\n{log[-2000:]}")
        cpu = json.loads(process.stdout.read())["cpu"] if not executor else None
        told = {"load": load, "cpu_seconds": cpu, **summary(found, who, seen)}
        return points(found), told


def measured_before(target: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Return an earlier record of the same class, to go on with; the new one if there is none.

    Raises:
        BenchError: if it is of another class.

    """
    if not target.is_file():
        return record
    before = json.loads(target.read_text(encoding="utf-8"))
    for key in ("assignment", "students", "jobs"):
        if before.get(key) != record[key]:
            raise BenchError(
                f"{target}: is of another class ({key} differs): name another file by "
                "--json, or delete it"
            )
    return before


def bench(
    root: Path,
    wanted: str,
    students: int,
    ways: Sequence[str],
    jobs: int,
    target: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measure what the record does not have yet, and return it; it is written after each way.

    Raises:
        BenchError: if two ways give somebody different points, or a submission has no state.

    """
    assignment = layout.find(root, wanted).assignment
    record: dict[str, Any] = {
        "assignment": assignment,
        "students": students,
        "jobs": jobs,
        "ways": {},
    }
    record = measured_before(target, record)
    for way in ways:
        if way in record["ways"]:
            continue
        say(f"{students} submissions: {way}")
        marks, told = grade(root, assignment, students, way, jobs, {})
        told["grades"] = hashlib.sha256(json.dumps(marks).encode()).hexdigest()
        record["ways"][way] = told
        if len({one["grades"] for one in record["ways"].values()}) > 1:
            raise BenchError(f"{way}: other grades than the ways before")
        files.write(target, json.dumps(record, indent=1) + "\n")
    if "killed" not in record:
        count = min(students, KILLED_CLASS)
        say(f"{count} submissions, undisturbed and with parts killed")
        whole, _ = grade(root, assignment, count, "sqlite", jobs, {})
        at = {int(share * count): kill(part) for part, share in KILLS.items()}
        killed, _ = grade(root, assignment, count, "sqlite", jobs, at)
        if killed != whole:
            other = [name for name in killed if killed[name] != whole[name]]
            raise BenchError(f"killed: other grades for {other}")
        record["killed"] = {"students": count, "parts": list(KILLS)}
        files.write(target, json.dumps(record, indent=1) + "\n")
    return record


def table(record: dict[str, Any]) -> str:
    """Return the record as text."""
    lines = [
        f"{record['assignment']}, {record['students']} submissions, {record['jobs']} "
        "at a time",
        f"{'':12}{'load':>5}{'wall s':>8}{'first s':>9}{'honest s':>10}{'a minute':>10}"
        f"{'attacker s':>12}{'hanging s':>11}{'MiB':>6}",
    ]
    for way, found in record["ways"].items():
        each = {name: value["mean"] for name, value in found["seconds_each"].items()}
        lines.append(
            f"{way:12}{found['load']:5.1f}{found['wall_seconds']:8.0f}"
            f"{found['seconds_until_the_first']:9.1f}{each['honest']:10.2f}"
            f"{60 * record['jobs'] / each['honest']:10.0f}{each['attacker']:12.2f}"
            f"{each['hanging']:11.1f}{max(found['memory_mib_by_fifth']):6}"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure as the command line says; print and save a table. 1 if it can't be done."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.large_class", description=__doc__.splitlines()[0]
    )
    made.add_argument("--assignment", default="02", help="its name, or how it begins")
    made.add_argument("--students", type=int, default=500)
    made.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    made.add_argument("--jobs", type=int, default=2, help="how many at a time")
    made.add_argument("--json", type=Path, help="write the measurements here")
    made.add_argument("--root", type=Path, default=notebooks.ROOT)
    args = made.parse_args(arguments)
    target = args.json or args.root / "_build" / "large-class-bench.json"
    try:
        record = bench(
            args.root.resolve(),
            args.assignment,
            args.students,
            args.ways,
            args.jobs,
            target,
            lambda line: print(line, file=sys.stderr, flush=True),
        )
    except (BenchError, layout.GradingError, ValueError) as error:
        print(f"python -m benchmarks.large_class: {error}", file=sys.stderr)
        return 1
    print(f"{table(record)}\n\n{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
