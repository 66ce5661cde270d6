"""Runs a notebook's cells with some solution cells replaced, without a Jupyter kernel.

One fresh process, forked from one that has only imported the libraries, executes the notebook's
cells with the reference solutions. Where a job's first answer belongs, it forks; the child executes
the answer and what follows. So libraries are imported once, earlier cells are executed once, and
no answer can touch another. Needs os.fork: Linux, macOS, WSL.

What hidden tests work out by themselves they work out once for many jobs, as in grading.

A cell scores as in grading: an error gives zero. A warning costs nothing, though `nbgrader
autograde` takes the points of a cell that writes on stderr. Cells that draw for nobody are left
out.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import importlib
import io
import json
import linecache
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import types
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from grading.course import demos
from grading.course.notebooks import Cell
from grading.course.states import credit
from grading.verdict.memory import Memory
from tests.harness import pages
from tests.harness.assignment import Assignment, Task

#: Imported before the first fork where the notebook uses them.
LIBRARIES = ("torch", "numpy", "matplotlib.pyplot")

#: Seconds after its limit when a job that silenced its alarm is killed.
GRACE = 2

#: So many forks from one place are worth the time that large pages take.
MANY = 10
#: So many jobs are worth a run of the reference, to keep what hidden tests work out.
SOME = 3


@dataclass(frozen=True)
class Job:
    """One run: the text of some solution cells by task.

    `visible_only` leaves the hidden tests out. `until` names the task after whose last test cell
    the run ends; with None the notebook runs to its end. `stop` ends it at the first test cell that
    loses points.
    """

    answers: dict[str, str]
    visible_only: bool = False
    until: str | None = None
    stop: bool = False


@dataclass(frozen=True)
class CellResult:
    """What became of one solution or test cell; `error` is "Type: message"."""

    points: float = 0.0
    error: str = ""
    stderr: str = ""

    @property
    def message(self) -> str:
        """What a student reads under the cell, or nothing."""
        return self.error or self.stderr


@dataclass
class Outcome:
    """Results of one job by grade_id; `died` says why there are none."""

    cells: dict[str, CellResult] = field(default_factory=dict)
    seconds: float = 0.0
    died: str = ""


def run(
    assignment: Assignment,
    jobs: list[Job],
    processes: int = 2,
    limit: int = 60,
    whole: bool = True,
    remember: bool = True,
) -> tuple[Outcome, list[Outcome]]:
    """Run jobs and return the outcome of the reference solutions, and each job's.

    Args:
        assignment: the notebook and its tasks.
        jobs: what to put in which solution cells.
        processes: how many jobs run at a time.
        limit: seconds after which a job is killed.
        whole: run the reference solutions to the notebook's end, not only to where the last job
            begins. Each job has its own end.
        remember: whether jobs may compare with what was worked out once, as in grading.

    Raises:
        RuntimeError: if the process with the reference solutions died.

    """
    assignment = replace(assignment, cells=needed(assignment, jobs))
    # Its server starts at the first run. Where it cannot import the module, each run imports.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.harness.warm"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(
                _serve, assignment, jobs, processes, limit, whole, remember
            ).result()
        except BrokenProcessPool:
            raise RuntimeError(
                f"{assignment.path}: the reference solutions end their process, or one cell of "
                f"them takes more than {limit} s"
            ) from None


def needed(assignment: Assignment, jobs: list[Job]) -> list[Cell]:
    """Return the cells without those that draw, and bind no name that is read later.

    Nothing is left out before a cell that may look names up by their text.
    """
    answers = {text for job in jobs for text in job.answers.values()}
    read = {
        name for text in answers for name in (demos.names_of(text) or [frozenset()])[0]
    }
    kept: list[Cell] = []
    for index in reversed(range(len(assignment.cells))):
        cell = assignment.cells[index]
        test = assignment.tests.get(cell.grade_id)
        names = demos.names_of(test.full if test else cell.source)
        if names is None or names[0] & demos.BY_TEXT:
            return [*assignment.cells[: index + 1], *reversed(kept)]
        graded = test is not None or cell.is_solution
        if graded or demos.PLOTTING not in names[0] or names[1] & read:
            kept.append(cell)
            read |= names[0]
    return kept[::-1]


def _serve(
    assignment: Assignment,
    jobs: list[Job],
    processes: int,
    limit: int,
    whole: bool,
    remember: bool,
) -> tuple[Outcome, list[Outcome]]:
    """Execute the reference notebook; fork each job where its first answer belongs."""
    _prepare(assignment)
    order = list(assignment.tasks)
    starts = [
        min((order.index(task) for task in job.answers), default=-1) for job in jobs
    ]
    with tempfile.TemporaryDirectory() as folder:
        children = _Children(Path(folder), processes, limit)
        notebook = _Notebook(assignment, Path(folder) / "stderr")
        if remember and sum(not job.visible_only for job in jobs) >= SOME:
            notebook.memory = Memory()
            _remember(notebook, children, limit, Path(folder))
        for position, cell in enumerate(assignment.cells):
            if cell.is_solution:
                here = starts.count(order.index(cell.grade_id))
                _make_forks_cheap(assignment.tasks[cell.grade_id], here)
                for number, (job, start) in enumerate(zip(jobs, starts, strict=True)):
                    if start == order.index(cell.grade_id):
                        children.start(
                            number, _run_job, (notebook, job, position, limit)
                        )
                if not whole and order.index(cell.grade_id) >= max(starts):
                    break
            signal.alarm(limit)
            notebook.execute(cell)
            signal.alarm(0)
        outcomes = children.collect()
        # A job without answers is the reference itself.
        done = [outcomes.get(number, notebook.outcome) for number in range(len(jobs))]
    return notebook.outcome, done


def _remember(
    notebook: _Notebook, children: _Children, limit: int, folder: Path
) -> None:
    """Have a child run the reference, and keep here what its tests worked out.

    Where it doesn't come to its end, each job works it out for itself.
    """
    place = folder / "memory"
    child = children.context.Process(target=_work_out, args=(notebook, limit, place))
    child.start()
    child.join()
    if place.exists():
        notebook.memory.cells = {
            source: {number: pickle.loads(one) for number, one in kept.items()}
            for source, kept in pickle.loads(place.read_bytes()).items()
        }


def _work_out(notebook: _Notebook, limit: int, place: Path) -> None:
    """In a child: execute the reference notebook, and write what its tests worked out."""
    for cell in notebook.assignment.cells:
        signal.alarm(limit)
        notebook.execute(cell)
    written: dict[str, dict[int, bytes]] = {}
    for source, kept in notebook.memory.cells.items():
        written[source] = {}
        for number, one in kept.items():
            with contextlib.suppress(AttributeError, TypeError, pickle.PicklingError):
                text = pickle.dumps(one)  # not what holds a lambda
                if b"__main__" not in text:  # nor what the notebook defines
                    written[source][number] = text
    partial = place.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(written))
    partial.rename(place)


def _make_forks_cheap(task: Task, count: int) -> None:
    """Do once what each of so many answers to a task would do again."""
    if not count:
        return
    for test in task.tests:
        for text in (test.visible, test.full):
            with contextlib.suppress(SyntaxError, ValueError):  # told where it is run
                compiled(text, f"<{test.grade_id}>")
    if count >= MANY:
        pages.join()


def _prepare(assignment: Assignment) -> None:
    """Make this process like a fresh kernel: one thread, no screen, nothing shown."""
    os.environ.update(OMP_NUM_THREADS="1", MPLBACKEND="Agg", CUDA_VISIBLE_DEVICES="")
    text = "\n".join(cell.source for cell in assignment.cells)
    for library in LIBRARIES:
        if library.partition(".")[0] in text:
            importlib.import_module(library)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    # The kernel's backend shows figures, Agg warns that it cannot.
    warnings.filterwarnings("ignore", message=".*non-interactive.*cannot be shown")
    gc.collect()
    gc.freeze()  # what is imported is never collected: forks then share its memory
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
    os.chdir(assignment.path.parent)


class _Notebook:
    """A namespace, and the results of the cells executed in it."""

    def __init__(self, assignment: Assignment, stderr: Path) -> None:
        self.assignment = assignment
        self.job = Job({})
        self.outcome = Outcome()
        self.memory: Memory | None = None
        # As in a kernel, user code is the module __main__.
        module = types.ModuleType("__main__")
        module.__dict__.update(__builtins__=builtins, display=lambda *_, **__: None)
        sys.modules["__main__"] = module
        self.namespace = module.__dict__
        self.redirect(stderr)

    def redirect(self, stderr: Path) -> None:
        """Send stderr, also what compiled code writes there, to a file."""
        self.stderr = stderr
        stderr.touch()
        descriptor = os.open(stderr, os.O_WRONLY | os.O_APPEND)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), write_through=True
        )

    def execute(self, cell: Cell) -> None:
        """Execute one cell, and note what became of it if it is a solution or a test."""
        name = cell.grade_id
        test = self.assignment.tests.get(name)
        source = cell.source
        if test is not None:
            source = test.visible if self.job.visible_only else test.full
        elif cell.is_solution:
            source = self.job.answers.get(name, source)
        if test is not None and self.memory is not None:
            self.memory.begin(source)
            self.namespace["course_memory"] = self.memory
        before = self.stderr.stat().st_size
        error, value = "", None
        try:
            value = self._evaluate(source, f"<{name or cell}>")
        except BaseException as raised:  # a kernel survives whatever a cell raises
            error = describe(raised)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
        with self.stderr.open(encoding="utf-8", errors="replace") as file:
            file.seek(before)
            noise = file.read()
        if test is not None:
            points = 0.0 if error else credit(number(value), test.points)
            self.outcome.cells[name] = CellResult(points, error)
        elif cell.is_solution:
            self.outcome.cells[name] = CellResult(0.0, error, noise)

    def _evaluate(self, source: str, filename: str) -> object:
        """Execute a cell's text and return the value of its last expression, or None."""
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        body, last = compiled(source, filename)
        exec(body, self.namespace)
        return None if last is None else eval(last, self.namespace)


@functools.cache
def compiled(
    source: str, filename: str
) -> tuple[types.CodeType, types.CodeType | None]:
    """Return a cell's statements, and its last one if that is an expression, as code."""
    tree = ast.parse(source, filename)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = ast.Expression(tree.body.pop().value)
        last = compile(expression, filename, "eval")
    return compile(tree, filename, "exec"), last


def describe(raised: BaseException) -> str:
    """Return "Type: message" of an exception."""
    return f"{type(raised).__name__}: {raised}"


def number(value: object) -> float | None:
    """Return the number that a test cell's last value is shown as, None if it is none.

    nbgrader reads it from the notebook.
    """
    try:
        return float(repr(value))
    except ValueError:
        return None


def _run_job(
    notebook: _Notebook, job: Job, position: int, limit: int, target: Path
) -> None:
    """In a child: execute the notebook from the job's first answer on, and write the outcome."""
    os.setsid()  # what it starts or signals as a group is its own
    signal.alarm(limit)  # not caught: the kernel of the machine ends the process
    started = time.monotonic()
    notebook.job = job
    notebook.redirect(target.with_suffix(".stderr"))
    last = job.until and notebook.assignment.tasks[job.until].tests[-1].grade_id
    for cell in notebook.assignment.cells[position:]:
        notebook.execute(cell)
        if last and cell.grade_id == last:
            break
        test = notebook.assignment.tests.get(cell.grade_id)
        if (
            job.stop
            and test
            and notebook.outcome.cells[test.grade_id].points < test.points
        ):
            break
    notebook.outcome.seconds = time.monotonic() - started
    partial = target.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(notebook.outcome)), encoding="utf-8")
    partial.rename(target)


class _Children:
    """Forked jobs, at most so many at a time, each with a file for its outcome."""

    def __init__(self, folder: Path, processes: int, limit: int) -> None:
        self.folder = folder
        self.processes = processes
        self.limit = limit
        self.context = multiprocessing.get_context("fork")
        self.children: dict[int, multiprocessing.Process] = {}
        self.ends: dict[int, float] = {}
        self.overdue: set[int] = set()

    def start(self, number: int, target, arguments: tuple) -> None:
        """Fork a job, after waiting for a free place."""
        self._wait(self.processes)
        child = self.context.Process(
            target=target, args=(*arguments, self._file(number))
        )
        child.start()
        self.children[number] = child
        self.ends[number] = time.monotonic() + self.limit + GRACE

    def _wait(self, places: int) -> None:
        """Wait until fewer than so many jobs run; kill those that outlive their own alarm."""
        while (
            len(running := [n for n, c in self.children.items() if c.is_alive()])
            >= places
        ):
            first = min(running, key=self.ends.__getitem__)
            multiprocessing.connection.wait(
                [self.children[number].sentinel for number in running],
                max(0.0, self.ends[first] - time.monotonic()),
            )
            if time.monotonic() >= self.ends[first] and self.children[first].is_alive():
                os.killpg(self.children[first].pid, signal.SIGKILL)
                self.children[first].join()
                self.overdue.add(first)

    def collect(self) -> dict[int, Outcome]:
        """Wait for all jobs and return their outcomes by number."""
        self._wait(1)
        outcomes = {}
        for number, child in self.children.items():
            outcomes[number] = Outcome()
            if number in self.overdue or child.exitcode == -signal.SIGALRM:
                outcomes[number].died = f"TimeoutError: ran longer than {self.limit} s"
                continue
            with contextlib.suppress(FileNotFoundError):
                saved = json.loads(self._file(number).read_text(encoding="utf-8"))
                cells = {
                    name: CellResult(**cell) for name, cell in saved["cells"].items()
                }
                outcomes[number] = Outcome(cells, saved["seconds"])
                continue
            outcomes[
                number
            ].died = f"SystemExit: the process ended with code {child.exitcode}"
        return outcomes

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.json"
