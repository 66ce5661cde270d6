"""What stands before a run: the tests as they are now, the gradebook's cells, one run at a time."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from grading.course import (
    database,
    draws,
    files,
    handed_in,
    layout,
    release,
    submission,
)
from grading.course.handed_in import SubmissionError
from grading.course.layout import Course, GradingError
from grading.course.states import Result
from grading.course.submission import Form
from grading.gradebook import ledger
from grading.gradebook.writer import GradebookWriter
from grading.run.pipeline import Times


@dataclass(frozen=True)
class Options:
    """How a class is graded; None means what nbgrader_config.py says, or nbgrader's default."""

    submitted: Path | None = None
    db: str | None = None
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    executor: str = "local"
    sandbox: bool = True
    students: tuple[str, ...] = ()
    force: bool = False
    engine: str = "grading.run.sandbox_runner:make"
    times: Times = field(default_factory=Times)
    progress: bool = False


def changed_cells(course: Course, form: Form, book: GradebookWriter) -> dict[str, str]:
    """Return by name what is new about each cell, as the gradebook has it; {} if nothing is."""
    before = book.cells(course.assignment, course.notebook)
    now = form.texts_and_points
    changes = {}
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            changes[name] = "added" if old is None else "removed"
        elif old[1] != new[1]:
            changes[name] = f"{old[1]:g} points before, now {new[1]:g}"
        elif old != new:
            changes[name] = "another text"
    return changes


def begin(
    course: Course,
    form: Form,
    book: GradebookWriter,
    known: dict[str, Result],
    options: Options,
) -> str:
    """Have the gradebook ready for this run; return what is said of an update of the assignment.

    Changed cells of a class that has grades are registered only when the solutions have full points
    by them: until then the gradebook keeps the old ones, and grades and points belong together.

    Args:
        course: the assignment.
        form: its cells as they are now.
        book: the gradebook.
        known: the grades of those whose notebooks are there.
        options: whom to grade.

    Raises:
        GradingError: if some would keep a grade by the tests of before.
        GradebookError: if cells were added or removed since submissions were graded.

    """
    graded = {name for name, result in known.items() if result.state.has_points}
    changes = changed_cells(course, form, book)
    if not graded or {"added", "removed"} & set(changes.values()):
        register(course, form, book)
        return ""
    if not changes:
        return ""
    told = "; ".join(f"{name}: {change}" for name, change in changes.items())
    if options.students and graded - set(options.students):
        raise GradingError(
            f"the assignment has changed since {len(graded)} submissions were graded ({told}): "
            "grade everybody by the new tests, without --student"
        )
    return f"the assignment has changed, so all are graded again: {told}"


def difference(old: Result | None, new: Result) -> str:
    """Return how one file's points differ from those by earlier tests, "" if they don't."""
    if old is None or not old.state.has_points or old.content != new.content:
        return ""
    if not new.state.has_points:
        return f"{new.student}: {old.total:g} points before, now {new.state}"
    cells = [
        f"{name} {old.points.get(name, 0):g} -> {points:g}"
        for name, points in new.points.items()
        if old.points.get(name) != points
    ]
    return (
        f"{new.student}: {old.total:g} points before, now {new.total:g}: {', '.join(cells)}"
        if cells
        else ""
    )


def register(course: Course, form: Form, book: GradebookWriter) -> None:
    """Have the assignment's cells in the gradebook, as `nbgrader generate_assignment` puts them.

    Raises:
        GradingError: if nbgrader refuses.
        GradebookError: if cells changed since submissions were graded.

    """
    if not changed_cells(course, form, book):
        return
    with tempfile.TemporaryDirectory() as scratch:
        made = f"sqlite:///{scratch}/made.db"
        database.prepare(made, ledger.METADATA)
        config = copy.deepcopy(course.config)
        config.CourseDirectory.update(
            root=str(course.root), release_directory=f"{scratch}/release", db_url=made
        )
        # In this process: nbgrader's own command takes longer to start than to do this.
        nbgrader = NbGraderAPI(CourseDirectory(config=config), config=config)
        done = nbgrader.generate_assignment(course.assignment)
        if not done["success"]:
            said = done.get("log") or done["error"]
            raise GradingError(f"reading the tests failed:\n{release.complaint(said)}")
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
        except BlockingIOError:
            raise GradingError(
                f"another run is grading {root.name}: wait until it has ended"
            ) from None
        yield


def sweep(course: Course) -> None:
    """Remove what killed runs left behind: files that were not yet at their place."""
    for room in (
        ".",
        f"autograded/*/{course.assignment}",
        f"feedback/*/{course.assignment}",
    ):
        for path in course.root.glob(f"{room}/{files.PARTIAL}*"):
            path.unlink(missing_ok=True)
    for path in course.root.glob(".gradebook-*"):
        shutil.rmtree(path, ignore_errors=True)


def read_form(course: Course) -> Form:
    """Return the assignment's tests, with hidden inputs drawn from the course's secret.

    Raises:
        GradingError: if the secret can't be used.
        NotebookError: if release and source don't belong together.

    """
    form = submission.load(course.release, course.source)
    secret = layout.read_secret(course.root, course.config)
    return form.drawn(
        draws.seeds(secret, course.assignment, form.most), draws.label(secret)
    )


def check_draw(form: Form, known: dict[str, Result], options: Options) -> None:
    """Make sure that no class is graded partly by one secret and partly by another.

    Args:
        form: the tests, as they are drawn now.
        known: the grades of those who handed in.
        options: whom to grade, and whether again.

    Raises:
        GradingError: if some would keep a grade by another secret.

    """
    others = [
        name
        for name, result in known.items()
        if result.state.has_points and result.draw != form.draw
    ]
    if others and (options.students or not options.force):
        now = "is another one" if form.draw else "is not there"
        raise GradingError(
            f"{len(others)} submissions were graded with other hidden inputs: the course's secret "
            f"{now}, or they were graded before there was one. Put the file back as it was then, "
            "or grade everybody anew: --force, without --student"
        )


def check_reference(form: Form, result: Result) -> None:
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
            f"tests or the machine first:\n{why}"
        )


def is_done(form: Form, path: Path, known: Result | None) -> bool:
    """Tell whether this very file has points by these very tests."""
    if known is None or not known.state.has_points:
        return False
    try:
        return known.fingerprint == submission.fingerprint(form, handed_in.read(path))
    except SubmissionError:
        return False
