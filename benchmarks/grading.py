"""How fast a class is graded, side by side with nbgrader's own autograder: `make bench`.

    python -m benchmarks.grading                  48 submissions both ways, then 10, 50 and 500
    python -m benchmarks.grading --students 24    as many as in a small class
    python -m benchmarks.grading --quick          6 both ways, then 2 and 12

What a run costs once (a sandbox with torch in it for each core) weighs less in a larger class. 48
is the class of one lecture; a run with fewer says what a small class gains.

Everybody hands in right answers of tests/answers, no two the same file. Both ways start from the
same folder and the same gradebook, run on the same cores, and must give everybody full points for
every test: a fast grader that does not grade is no result. Here the time includes the sandbox, the
reference solutions that are graded first, grades.csv and the feedback pages; `nbgrader autograde`
writes no feedback. The CPU time is that of all processes, also of those in the sandbox.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grading.course import files, layout, notebooks, release
from tests.harness.assignment import load
from tests.harness.bank import read_bank

#: Measures a command in a process of its own, to which also the orphans of the sandbox come.
MEASURE = """
import contextlib, ctypes, json, os, resource, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
began = time.monotonic()
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
wall = time.monotonic() - began
with contextlib.suppress(ChildProcessError):
    while True:
        os.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": code, "wall": wall, "cpu": used.ru_utime + used.ru_stime}))
"""
#: How many are graded both ways if nothing is said.
STUDENTS = 48
OURS, STOCK = "here", "nbgrader autograde"


class BenchError(RuntimeError):
    """The comparison can't be made, or would be none; the message says why."""


@dataclass(frozen=True)
class Cost:
    """What grading some submissions took, in seconds."""

    submissions: int
    wall: float
    cpu: float

    @property
    def per_minute(self) -> float:
        """Submissions a minute."""
        return 60 * self.submissions / self.wall


def ratio(ours: Cost, stock: Cost) -> float:
    """Return how many times as many submissions a minute are graded here.

    Raises:
        ValueError: if the two did not grade the same number.

    """
    if ours.submissions != stock.submissions:
        raise ValueError(
            f"stock: expected {ours.submissions} submissions, got {stock.submissions}"
        )
    return ours.per_minute / stock.per_minute


def steps(costs: Sequence[Cost]) -> list[dict[str, float]]:
    """Return what one submission more costs, between each size and the next larger one.

    What a run costs once (imports, the reference solutions) falls out of the difference.

    Raises:
        ValueError: if there are fewer than two sizes, or one of them twice.

    """
    ordered = sorted(costs, key=lambda cost: cost.submissions)
    sizes = [cost.submissions for cost in ordered]
    if len(set(sizes)) != len(sizes) or len(sizes) < 2:
        raise ValueError(f"costs: expected at least two sizes, each once, got {sizes}")
    found = []
    for small, large in itertools.pairwise(ordered):
        more = large.submissions - small.submissions
        found.append(
            {
                "from": small.submissions,
                "to": large.submissions,
                "wall": (large.wall - small.wall) / more,
                "cpu": (large.cpu - small.cpu) / more,
            }
        )
    return found


def right_answers(root: Path, assignment: str) -> dict[str, list[str]]:
    """Return the right answers to each task of an assignment.

    Raises:
        BenchError: if there are none.

    """
    try:
        loaded = load(root / "solutions" / assignment)
    except ValueError as error:
        raise BenchError(str(error)) from None
    bank, problems = read_bank(loaded, root / "tests" / "answers")
    found = {
        task: [
            answer.source for answer in bank if answer.task == task and answer.is_right
        ]
        for task in loaded.tasks
    }
    if problems or not all(found.values()):
        problems = problems or [
            f"no right answers to every task in tests/answers/{assignment}/"
        ]
        raise BenchError("\n".join(problems))
    return found


def fill(released: dict, answers: dict[str, list[str]], number: int) -> dict:
    """Return the notebook of student `number`: other answers than the last one's."""
    notebook = json.loads(json.dumps(released))
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers:
            choice = answers[name][number % len(answers[name])]
            number //= len(answers[name])
            cell["source"] = choice
    return notebook


def make_release(root: Path, folder: Path, assignment: str) -> Path:
    """Make a course with an assignment, released; return the released notebook.

    Raises:
        BenchError: if nbgrader can't release the assignment.

    """
    shutil.copy(root / "nbgrader_config.py", folder)
    shutil.copytree(root / "solutions" / assignment, folder / "solutions" / assignment)
    done = release.nbgrader(folder, "generate_assignment", assignment)
    if done.returncode:
        raise BenchError(
            f"nbgrader generate_assignment: {release.complaint(done.stderr)}"
        )
    return notebooks.notebooks_in(folder / "exercises" / assignment)[0]


def hand_in(folder: Path, student: str, path: Path, notebook: dict) -> None:
    """Write a student's notebook; path: that of the release, which names the assignment."""
    target = folder / "submitted" / student / path.parent.name / path.name
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(notebook), encoding="utf-8")


def make_course(root: Path, folder: Path, assignment: str, students: int) -> None:
    """Make a course with an assignment that a number of students handed in, and a gradebook.

    Raises:
        BenchError: if nbgrader can't release the assignment.

    """
    path = make_release(root, folder, assignment)
    released, answers = notebooks.read(path), right_answers(root, assignment)
    for number in range(students):
        student = f"s{number + 1:04}"
        notebook = fill(released, answers, number)
        notebook["cells"].append(
            {
                "cell_type": "markdown",
                "id": "own",
                "metadata": {},
                "source": f"By {student}.",
            }
        )
        hand_in(folder, student, path, notebook)


def check(folder: Path, assignment: str, students: int) -> None:
    """Make sure that everybody has full points for every test.

    Raises:
        BenchError: if somebody has not.

    """
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        found = list(book.find_assignment(assignment).submissions)
        for submission in found:
            grades = [
                grade for notebook in submission.notebooks for grade in notebook.grades
            ]
            lost = [
                grade.name
                for grade in grades
                if grade.auto_score != grade.max_score or grade.needs_manual_grade
            ]
            if lost or not grades:
                raise BenchError(
                    f"{submission.student_id} has not full points for "
                    f"{', '.join(lost) or 'anything'}"
                )
    if len(found) != students:
        raise BenchError(f"{len(found)} of {students} submissions were graded")


def measure(command: list[str], folder: Path, submissions: int) -> Cost:
    """Return what a command costs.

    Raises:
        BenchError: if it fails.

    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(notebooks.ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {"code": done.returncode or 1}
    if found["code"]:
        raise BenchError(f"{' '.join(command[1:4])} failed:\n{done.stderr[-2000:]}")
    return Cost(submissions, found["wall"], found["cpu"])


def grade_here(
    folder: Path, assignment: str, jobs: int, more: Sequence[str] = ()
) -> list[str]:
    """Return the command that grades a course's submissions here."""
    return [
        sys.executable,
        "-m",
        "grading",
        "run",
        assignment,
        "--root",
        str(folder),
        "--jobs",
        str(jobs),
        *more,
    ]


def grade_stock(folder: Path, assignment: str, jobs: int) -> list[str]:
    """Return the command by which nbgrader does, one after the other."""
    # nbgrader_config.py has another exporter, which grades as this side does.
    own = "--Autograde.exporter_class=nbconvert.exporters.NotebookExporter"
    return [sys.executable, "-m", "nbgrader", "autograde", assignment, own]


@contextlib.contextmanager
def cores(count: int) -> Iterator[None]:
    """Let this process and what it starts use so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cost_of(
    root: Path,
    assignment: str,
    students: int,
    jobs: int,
    command: Callable[..., list[str]],
) -> Cost:
    """Make a class, grade it by a command, and check that it is graded; return what it cost.

    Raises:
        BenchError: if somebody did not get full points.

    """
    with tempfile.TemporaryDirectory(prefix="grading-bench-") as scratch:
        folder = Path(scratch)
        make_course(root, folder, assignment, students)
        found = measure(command(folder, assignment, jobs), folder, students)
        check(folder, assignment, students)
    return found


def bench(
    root: Path,
    wanted: str,
    *,
    students: int,
    sizes: Sequence[int],
    jobs: int,
    stock: bool = True,
    say: Callable[[str], None] = print,
) -> dict:
    """Return all measurements as a dictionary for JSON.

    Args:
        root: the course's folder.
        wanted: the assignment's name, or how it begins.
        students: how many submissions are graded both ways.
        sizes: how many are graded here to see whether the cost of one is the same.
        jobs: how many at a time; the number of cores, too.
        stock: whether to measure nbgrader as well.
        say: takes lines about the progress.

    Raises:
        BenchError: if something was not graded.

    """
    assignment = layout.find(root, wanted).assignment
    found: dict = {
        "assignment": assignment,
        "cores": jobs,
        "load_before": os.getloadavg()[0],
        "costs": {},
        "sizes": [],
    }
    arms = {OURS: grade_here, **({STOCK: grade_stock} if stock else {})}
    costs = {}
    with cores(jobs):
        for name, command in arms.items():
            say(f"{students} submissions: {name}")
            costs[name] = cost_of(root, assignment, students, jobs, command)
            found["costs"][name] = {
                **asdict(costs[name]),
                "per_minute": costs[name].per_minute,
            }
        if stock:
            found["ratio"] = ratio(costs[OURS], costs[STOCK])
        by_size = {students: costs[OURS]}
        for size in sizes:
            if size not in by_size:
                say(f"{size} submissions: {OURS}")
                by_size[size] = cost_of(root, assignment, size, jobs, grade_here)
    found["load_after"] = os.getloadavg()[0]
    found["sizes"] = [asdict(by_size[size]) for size in sorted(by_size)]
    if len(by_size) > 1:
        found["one_more"] = steps(list(by_size.values()))
    return found


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.grading", description=__doc__.splitlines()[0]
    )
    made.add_argument("--assignment", default="02", help="its name, or how it begins")
    made.add_argument("--students", type=int, help="how many are graded both ways")
    made.add_argument(
        "--sizes", type=int, nargs="*", help="how many are graded here, one by one"
    )
    made.add_argument(
        "--jobs", type=int, default=2, help="how many at a time, and cores"
    )
    made.add_argument("--quick", action="store_true", help="a few submissions")
    made.add_argument("--json", type=Path, help="write the measurements here")
    made.add_argument(
        "--root", type=Path, default=notebooks.ROOT, help="the course's folder"
    )
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure as the command line says; print and save a table. 1 if it can't be done."""
    args = parser().parse_args(arguments)
    students = args.students or (6 if args.quick else STUDENTS)
    sizes = (
        args.sizes
        if args.sizes is not None
        else (2, 12)
        if args.quick
        else (10, 50, 500)
    )
    target = args.json or args.root / "_build" / "grading-bench.json"
    try:
        found = bench(
            args.root.resolve(),
            args.assignment,
            students=students,
            sizes=sizes,
            jobs=args.jobs,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except (BenchError, layout.GradingError, ValueError) as error:
        print(f"python -m benchmarks.grading: {error}", file=sys.stderr)
        return 1
    files.write(target, json.dumps(found, indent=1) + "\n")
    print(f"{table(found)}\n\n{target}")
    return 0


def table(found: dict) -> str:
    """Return the measurements as text."""
    lines = [
        f"{found['assignment']}, {found['cores']} cores, load before "
        f"{found['load_before']:.1f}, after {found['load_after']:.1f}",
        "",
        f"{'':20}{'submissions':>12}{'wall s':>9}{'CPU s':>9}{'a minute':>10}",
    ]
    lines += [
        f"{name:20}{cost['submissions']:12}{cost['wall']:9.1f}{cost['cpu']:9.1f}"
        f"{cost['per_minute']:10.1f}"
        for name, cost in found["costs"].items()
    ]
    if "ratio" in found:
        lines.append(f"{found['ratio']:.1f} times as many a minute")
    if "one_more" in found:
        lines += ["", f"{'here':20}{'submissions':>12}{'wall s':>9}{'CPU s':>9}"]
        lines += [
            f"{'':20}{cost['submissions']:12}{cost['wall']:9.1f}{cost['cpu']:9.1f}"
            for cost in found["sizes"]
        ]
        lines += [
            "",
            f"{'one submission more':20}{'from - to':>12}{'wall ms':>9}{'CPU ms':>9}",
        ]
        for step in found["one_more"]:
            place = f"{step['from']} - {step['to']}"
            lines.append(
                f"{'':20}{place:>12}{1000 * step['wall']:9.0f}{1000 * step['cpu']:9.0f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
