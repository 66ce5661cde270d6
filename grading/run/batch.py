"""Grades a class: reads submitted/, writes the gradebook, autograded/, feedback/ and grades.csv.

A run may be killed at any moment. Each submission's points and state come into the gradebook in
one transaction; the next run skips what is there and unchanged, and grades the rest.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm import tqdm
from traitlets import TraitError

from grading.course import files, layout
from grading.course.layout import Course, GradingError
from grading.course.states import Result, State
from grading.course.submission import Form
from grading.feedback import page as feedback_page
from grading.gradebook.export import StateCsvExport
from grading.gradebook.late import penalty_of
from grading.gradebook.standing import Standing, standings
from grading.gradebook.writer import GradebookWriter, Penalty
from grading.run import pipeline
from grading.run.autograded import checksums
from grading.run.executors import open_executor
from grading.run.preparation import (
    Options,
    begin,
    check_draw,
    check_reference,
    difference,
    is_done,
    only_one,
    read_form,
    register,
    sweep,
)

#: The name that stands for the source notebook, which is graded first.
REFERENCE = "(the solutions)"
#: Said where a course has no secret.
NO_SECRET = (
    "Hidden tests ask what everybody can read in the repository, so a table of answers "
    "gets their points. A secret of your own changes that: python -m grading secret"
)


@dataclass(frozen=True)
class Done:
    """A graded class: what the grader found by student, and how each stands."""

    course: Course
    form: Form
    results: dict[str, Result]
    standings: list[Standing]


@dataclass
class _Run:
    """One run, while it goes on."""

    course: Course
    form: Form
    book: GradebookWriter
    options: Options
    penalty: Penalty
    stamps: dict[str, str | None] = field(default_factory=dict)
    known: dict[str, Result] = field(default_factory=dict)

    def read_stamps(self, found: dict[str, Path | Result]) -> None:
        """Find out when each submission was handed in."""
        for student, entry in found.items():
            if isinstance(entry, Path):
                self.stamps[student], wrong = layout.timestamp(entry)
                if wrong:
                    self.say(f"{student}: {wrong}")

    def save(self, result: Result, notebook: str | None = None) -> None:
        """Write one student's notebook and grade: the notebook first, and the grade as a whole."""
        course = self.course
        target = course.graded_file(result.student)
        if notebook is not None:
            files.write(target, notebook)
        else:
            shutil.rmtree(target.parent, ignore_errors=True)  # of an earlier submission
        stamp = self.stamps.get(result.student)
        self.book.save(course.assignment, course.notebook, result, stamp, self.penalty)

    def save_missing(self, result: Result, known: Result | None) -> None:
        """Note that nothing was handed in, unless there is a grade of something that was."""
        if known is not None and known.state.has_points:
            self.say(
                f"{result.student}: the notebook is gone since it was graded; the grade stays"
            )
        elif known is None or known.reasons != result.reasons:
            self.book.save(self.course.assignment, self.course.notebook, result)

    def say(self, line: str) -> None:
        """Print one line above the progress bar."""
        if self.options.progress:
            tqdm.write(" ".join(line.split()), file=sys.stderr)

    def bar(self, count: int, what: str) -> tqdm:
        """Return a progress bar; in a file it is a line now and then."""
        return tqdm(
            total=count,
            desc=what,
            unit="",
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.2 if sys.stderr.isatty() else 10,
            disable=not self.options.progress,
        )

    def grade(self, todo: list[dict]) -> None:
        """Grade files, and save each result as it comes; the reference solutions come first."""
        if not todo:
            return
        jobs = [{"student": REFERENCE, "path": str(self.course.source)}, *todo]
        settings = {
            "form": self.form,
            "factory": self.options.engine,
            "options": {"sandbox": self.options.sandbox},
            "times": self.options.times,
            "sums": checksums(self.form),
        }
        proven, waiting, usual = False, [], set()
        with (
            open_executor(self.options.executor, self.options.jobs) as executor,
            self.bar(len(todo), f"grading {self.course.assignment}") as bar,
        ):
            for job, result, text in pipeline.run_all(
                jobs, settings, self.options.times, executor.run
            ):
                if job is jobs[0]:
                    check_reference(self.form, result)
                    register(self.course, self.form, self.book)
                    proven, usual = True, set(result.doubts)
                else:
                    waiting.append((result, text))
                while proven and waiting:
                    result, text = waiting.pop(0)
                    result = with_doubts(result, usual)
                    self.save(result, text)
                    if told := difference(self.known.get(result.student), result):
                        self.say(told)
                    if result.state is not State.GRADED:
                        self.say(
                            f"{result.state}: {result.student}: {'; '.join(result.reasons)}"
                        )
                    bar.update()

    def write_feedback(self, found: list[Standing], results: dict[str, Result]) -> None:
        """Write the pages that are not as they should be: new grades, points by hand, a new date.

        A page that can't be made is told, and does not stop the others.
        """
        course, form = self.course, self.form
        written = self.book.pages(course.assignment)
        todo = []
        for one in found:
            result = results.get(one.student)
            if result is not None and one.state is not State.MISSING:
                digest = page_digest(one, result, form)
                page = course.feedback_file(one.student)
                if written.get(one.student) != digest or not page.exists():
                    todo.append((one, digest))
        done = {}
        with self.bar(len(todo), "writing feedback") as bar:
            for one, digest in todo:
                file = course.graded_file(one.student)
                text = file.read_text(encoding="utf-8") if file.exists() else None
                try:
                    with feedback_page.limited(feedback_page.PAGE_SECONDS):
                        feedback_page.write(
                            course.root, one, results[one.student], form, text
                        )
                except (
                    ValueError,
                    TypeError,
                    LookupError,
                    RecursionError,
                    TimeoutError,
                ) as error:
                    self.say(
                        f"no feedback for {one.student}: {type(error).__name__}: {error}"
                    )
                else:
                    done[one.student] = digest
                bar.update()
        self.book.note_pages(course.assignment, done)


def with_doubts(result: Result, usual: set[str]) -> Result:
    """Return a result that is suspect if a test passed by a change of the test's own data.

    Args:
        result: of a submission.
        usual: tests that pass by such a change for the reference solutions as well.

    """
    doubts = [
        f"{name}: passes only because the code changes what the test compares with"
        for name in result.doubts
        if name not in usual
    ]
    if not doubts or not result.state.has_points:
        return result
    return replace(
        result,
        state=State.SUSPECT,
        reasons=[*doubts, *result.reasons],
        suspicions=[*doubts, *result.suspicions],
    )


def grade(root: Path, wanted: str, options: Options | None = None) -> Done:
    """Grade an assignment's submissions.

    Args:
        root: the course's folder.
        wanted: the assignment's name, or how it begins.
        options: how.

    Raises:
        GradingError: if there is nothing to grade, or the machinery does not work.
        GradebookError: if the gradebook can't be used.
        PoolError: if no process can grade.
        OSError: if a file can't be written; what is graded by then is kept.

    """
    options = options or Options()
    course = layout.find(root, wanted, submitted=options.submitted, db=options.db)
    form = read_form(course)
    found = layout.find_submissions(course)
    if unknown := set(options.students) - found.keys():
        raise GradingError(
            f"no folder of {', '.join(sorted(unknown))} in {course.submitted.name}/"
        )
    try:
        penalty = penalty_of(course.config)
    except TraitError as error:
        raise GradingError(f"nbgrader_config.py: {error}") from error
    with only_one(root), GradebookWriter(course.url, course.course, alone=True) as book:
        run = _Run(course, form, book, options, penalty)
        sweep(course)
        run.known = book.results(course.assignment)
        known = {name: run.known[name] for name in found.keys() & run.known.keys()}
        if update := begin(course, form, book, known, options):
            run.say(update)
        run.read_stamps(found)
        check_draw(form, known, options)
        todo = []
        for student, entry in found.items():
            if options.students and student not in options.students:
                continue
            if isinstance(entry, Path):
                if options.force or not is_done(form, entry, known.get(student)):
                    todo.append({"student": student, "path": str(entry)})
            elif entry.state is State.MISSING:
                run.save_missing(entry, known.get(student))
            elif layout.is_name(student):
                run.save(entry)
        if todo and not form.draw:
            run.say(NO_SECRET)
        run.grade(todo)
        register(course, form, book)
        book.update_late(course.assignment, penalty, run.stamps)
        results = book.results(course.assignment)
        class_ = standings(course.url, course.assignment, submitted=course.submitted)
        run.write_feedback(class_, results)
        StateCsvExport(
            to=str(root / "grades.csv"), assignment=[course.assignment]
        ).export(book.gradebook)
    shown = {one.student for one in class_}
    odd = [
        entry
        for student, entry in found.items()
        if not layout.is_name(student) and entry.student not in shown
    ]
    most = sum(form.most.values())
    class_ += [
        Standing(
            entry.student,
            course.assignment,
            entry.state,
            None,
            most,
            tuple(entry.reasons),
        )
        for entry in odd
    ]
    return Done(course, form, results, class_)


def page_digest(standing: Standing, result: Result, form: Form) -> str:
    """Return what tells one page of feedback from every other."""
    text = f"{standing!r}\0{result.to_json()}\0{form.fingerprint}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
