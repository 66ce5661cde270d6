"""Grades a class: reads submitted/, writes the gradebook, autograded/ and grades.csv.

A run may be killed at any moment. Each submission's points and state come into the gradebook in
one transaction; the next run skips what is there and unchanged, and grades the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.utils import parse_utc
from sqlalchemy.exc import OperationalError
from traitlets.config import PyFileConfigLoader

from grading import pipeline, submission
from grading.autograded import checksums, clean
from grading.gradebook import Book, GradebookError, StateCsvExport
from grading.pipeline import Times
from grading.states import Result, State, failed
from grading.submission import Form, SubmissionError
from tools import grade as stock
from tools import notebooks
from tools.grade import GradingError

#: The name that stands for the source notebook, which is graded first.
REFERENCE = "(the solutions)"


@dataclass(frozen=True)
class Options:
    """How a class is graded; None means what nbgrader_config.py says, or nbgrader's default."""

    submitted: Path | None = None
    db: str | None = None
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    sandbox: bool = True
    students: tuple[str, ...] = ()
    force: bool = False
    engine: str = "grading.sandboxed:make"
    times: Times = field(default_factory=Times)


@dataclass(frozen=True)
class Course:
    """Where one assignment's files are."""

    root: Path
    assignment: str
    release: Path
    source: Path
    submitted: Path
    url: str
    course: str

    @property
    def notebook(self) -> str:
        """nbgrader's name of the notebook."""
        return self.source.stem

    @property
    def layout(self) -> str:
        """Where a submission belongs, in words."""
        return f"{self.submitted.name}/<student>/{self.assignment}/{self.source.name}"


@dataclass(frozen=True)
class Done:
    """A graded class."""

    assignment: str
    form: Form
    results: list[Result]


def find(root: Path, wanted: str, options: Options) -> Course:
    """Return where an assignment's files are.

    Raises:
        GradingError: if it isn't there, or not as expected.

    """
    assignment = stock.find_assignment(root, wanted)
    found = notebooks.notebooks_in(root / "solutions" / assignment)
    if len(found) != 1:
        raise GradingError(f"solutions/{assignment}: expected one notebook, found {len(found)}")
    release = root / "exercises" / assignment / found[0].name
    if not release.is_file():
        raise GradingError(f"there is no exercises/{assignment}/{found[0].name}: run "
                           "`make exercises`")
    config = {}
    if (root / "nbgrader_config.py").is_file():
        loaded = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
        config = loaded.get("CourseDirectory", {})
    url = options.db or config.get("db_url") or f"sqlite:///{root / 'gradebook.db'}"
    course = config.get("course_id") or "default_course"
    submitted = options.submitted or root / "submitted"
    return Course(root, assignment, release, found[0], submitted, url, course)


def find_submissions(course: Course) -> dict[str, Path | Result]:
    """Return for each student the submitted file, or why there is none.

    Raises:
        GradingError: if there is no folder of submissions, or nobody in it.

    """
    folder = course.submitted
    if not folder.is_dir():
        raise GradingError(f"there is no folder {folder.name}/. Put each notebook at "
                           f"{course.layout}")
    names = sorted(
        entry.name for entry in os.scandir(folder)
        if not entry.name.startswith(".") and (entry.is_dir() or entry.is_symlink())
    )
    if not names:
        raise GradingError(f"{folder.name}/ is empty. Put each notebook at {course.layout}")
    return {name: _find_one(course, name) for name in names}


def _find_one(course: Course, student: str) -> Path | Result:
    """Return one student's file, or why there is none."""
    folder = course.submitted / student / course.assignment
    path = folder / course.source.name
    if not is_name(student):
        return failed(clean(student, 128), "rename the folder: nbgrader's files break at a plus "
                      "sign, a comma, a quotation mark, a control character, or at a name of more "
                      "than 128 characters")
    for place in (folder.parent, folder):
        if place.is_symlink():
            return failed(student, f"{place.name} is a link, not a folder: copy the files there")
    if path.is_symlink() or path.exists():
        return path
    others = sorted(p.name for p in folder.glob("*.ipynb")) if folder.is_dir() else []
    reason = "nothing handed in"
    if folder.is_dir():
        reason = f"no {path.name}" + (f", only {', '.join(others[:5])}" if others else "")
    return Result(student, State.MISSING, reasons=[clean(reason, 300)])


def is_name(student: str) -> bool:
    """Tell whether nbgrader's files can hold a student's name."""
    odd = [c for c in student if c in stock.FORBIDDEN or not c.isprintable()]
    return not odd and len(student) <= 128


def timestamp(path: Path) -> str | None:
    """Return when a submission was handed in, from nbgrader's timestamp.txt, if it can be read."""
    with contextlib.suppress(SubmissionError, ValueError, OverflowError):
        text = submission.read(path.parent / "timestamp.txt", 200).decode().strip()
        if text:
            return str(parse_utc(text))
    return None


def register(course: Course, form: Form, book: Book) -> None:
    """Have the assignment's cells in the gradebook, as `nbgrader generate_assignment` puts them.

    Raises:
        GradingError: if nbgrader refuses.
        GradebookError: if cells changed since submissions were graded.

    """
    if book.is_registered(course.assignment, course.notebook, form):
        return
    with tempfile.TemporaryDirectory() as scratch:
        made = f"sqlite:///{scratch}/made.db"
        stock.run(
            course.root, "reading the tests", "generate_assignment", course.assignment, "--force",
            f"--CourseDirectory.release_directory={scratch}/release", f"--db={made}")
        with contextlib.closing(Gradebook(made, course.course)) as source:
            book.register(course.assignment, source)


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Let one run at a time grade a course; a killed run leaves no lock behind.

    Raises:
        GradingError: if another run is going on.

    """
    with (root / ".grading.lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise GradingError(
                f"another run is grading {root.name}: wait until it has ended") from None
        yield


def write_whole(target: Path, text: str) -> None:
    """Write a file so that it is never there in part."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=target.parent, prefix=".partial-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(made, 0o644)
    os.replace(made, target)


def save(course: Course, book: Book, result: Result, notebook: str | None, path: Path) -> None:
    """Write one student's notebook and grade: the notebook first, and the grade as a whole."""
    target = (
        course.root / "autograded" / result.student / course.assignment / course.source.name)
    if notebook is not None:
        write_whole(target, notebook)
    else:
        shutil.rmtree(target.parent, ignore_errors=True)  # of an earlier submission
    for attempt in range(5):
        try:
            book.save(course.assignment, course.notebook, result, timestamp(path))
            return
        except OperationalError as error:  # formgrader is writing
            if attempt == 4:
                raise GradebookError(f"the gradebook can't be written: {error.orig}") from error
            time.sleep(1)


def grade(root: Path, wanted: str, options: Options | None = None,
          say: Callable[[str], None] = print) -> Done:
    """Grade an assignment's submissions.

    Args:
        root: the course's folder.
        wanted: the assignment's name, or how it begins.
        options: how.
        say: takes lines about the progress.

    Raises:
        GradingError: if there is nothing to grade, or the machinery does not work.
        GradebookError: if the gradebook can't be used.

    """
    options = options or Options()
    course = find(root, wanted, options)
    form = submission.load(course.release, course.source)
    found = find_submissions(course)
    if unknown := set(options.students) - found.keys():
        raise GradingError(f"no folder of {', '.join(sorted(unknown))} in {course.submitted.name}/")
    with only_one(root), Book(course.url, course.course) as book:
        register(course, form, book)
        known = book.results(course.assignment)
        todo = []
        for student, entry in found.items():
            if options.students and student not in options.students:
                continue
            if isinstance(entry, Path):
                if options.force or not _is_done(form, entry, known.get(student)):
                    todo.append({"student": student, "path": str(entry)})
            elif entry.state is State.MISSING:
                _save_missing(course, book, entry, known.get(student), say)
            elif is_name(student):
                save(course, book, entry, None, course.submitted / student / course.assignment)
        _grade_all(course, form, book, todo, options, say)
        results = _collect(course, book, found)
        StateCsvExport(to=str(root / "grades.csv"), assignment=[course.assignment]).export(
            book.gradebook)
    return Done(course.assignment, form, results)


def _is_done(form: Form, path: Path, known: Result | None) -> bool:
    """Tell whether this very file has points by these very tests."""
    if known is None or not known.state.has_points:
        return False
    try:
        return known.fingerprint == submission.fingerprint(form, submission.read(path))
    except SubmissionError:
        return False


def _save_missing(course: Course, book: Book, result: Result, known: Result | None,
                  say: Callable[[str], None]) -> None:
    """Note that nothing was handed in, unless there is a grade of something that was."""
    if known is not None and known.state.has_points:
        say(f"{result.student}: the notebook is gone since it was graded; the grade stays")
    elif known is None or known.reasons != result.reasons:
        book.save(course.assignment, course.notebook, result)


def _grade_all(course: Course, form: Form, book: Book, todo: list[dict], options: Options,
               say: Callable[[str], None]) -> None:
    """Grade files, and save each result as it comes; the reference solutions come first."""
    if not todo:
        return
    jobs = [{"student": REFERENCE, "path": str(course.source)}, *todo]
    settings = {
        "release": str(course.release), "source": str(course.source), "factory": options.engine,
        "options": {"sandbox": options.sandbox}, "times": asdict(options.times),
        "sums": checksums(form),
    }
    proven, waiting, done, started = False, [], 0, time.monotonic()
    say(f"grading {len(todo)} notebooks")
    for job, result, text in pipeline.run_pool(jobs, settings, options.jobs, options.times):
        if job["student"] == REFERENCE:
            _check_reference(form, result)
            proven = True
        else:
            waiting.append((job, result, text))
        while proven and waiting:
            job, result, text = waiting.pop(0)
            save(course, book, result, text, Path(job["path"]))
            done += 1
            passed = time.monotonic() - started
            say(f"[{done}/{len(todo)}] {result.state}  {result.student}  ({passed:.0f} s)")


def _check_reference(form: Form, result: Result) -> None:
    """Make sure that right answers get full points here, before anyone's grade is written.

    Raises:
        GradingError: if they don't.

    """
    lost = [
        f"  {name}: {result.messages.get(name, 'no message')}"
        for name, points in form.most.items()
        if result.points.get(name) is not None and result.points[name] < points
    ]
    if not result.state.has_points or lost:
        why = "\n".join(lost) or f"  {'; '.join(result.reasons)}"
        raise GradingError(
            "the reference solutions don't get full points here, so nobody was graded. Mend the "
            f"tests or the machine first:\n{why}")


def _collect(course: Course, book: Book, found: dict[str, Path | Result]) -> list[Result]:
    """Return every student's result, also of those who have no folder."""
    known = book.results(course.assignment)
    results = []
    for student in sorted(book.students() | found.keys()):
        entry = found.get(student)
        if isinstance(entry, Result) and entry.state is State.FAILED:
            results.append(entry)
        elif student in known:
            results.append(known[student])
        elif not isinstance(entry, Path):
            reason = ["nothing handed in"]
            results.append(Result(student, State.MISSING, reasons=reason))
    return results


def table(form: Form, results: list[Result]) -> str:
    """Return the grades as text: a row for each student, a column for each task, then reasons."""
    most = Result("", State.GRADED, points=dict(form.most)).by_task
    lines = [["student", "state", *most, "total"]]
    for result in results:
        points = {task: f"{value:g}" for task, value in result.by_task.items()}
        if not result.state.has_points:
            points = {}
        total = f"{result.total:g}" if result.state.has_points else "-"
        tasks = [points.get(task, "-") for task in most]
        lines.append([result.student, str(result.state), *tasks, total])
    lines.append(["of", "", *(f"{value:g}" for value in most.values()), f"{sum(most.values()):g}"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rows = [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rows += [f"{r.state}: {r.student}: {'; '.join(r.reasons)}" for r in results if r.reasons]
    text = "\n".join(rows)
    if any(not result.sandboxed for result in results if result.state.has_points):
        text += ("\nwarning: graded without a sandbox: the submissions' code could read and change "
                 "what you can")
    return text
