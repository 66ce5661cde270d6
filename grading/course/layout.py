"""Where a course's files are: assignments, submissions in nbgrader's layout, its configuration."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc
from traitlets.config import Config, PyFileConfigLoader

from grading.course import database, draws, handed_in, notebooks, release
from grading.course.handed_in import SubmissionError
from grading.course.states import Result, State, failed
from grading.course.text import clean, plain

#: The most characters of a student's name that nbgrader's tables hold.
LONGEST_NAME = 128
#: What is said of a folder with another name.
ODD_NAME = (
    f"rename the folder: the gradebook holds names of at most {LONGEST_NAME} characters, "
    "none of them a control character or a backslash"
)
#: What a time is written with. A slash stands in a date or in the name of a time zone, which is a
#: file's: from elsewhere than the system's time zones none may be read.
TIME = re.compile(r"(?:[\w:., +-]|(?<=\w)/(?=\w))+", re.ASCII)


class GradingError(RuntimeError):
    """Something that a teacher can put right; the message says how."""


@dataclass(frozen=True)
class Course:
    """Where one assignment's files are, and how the course is configured."""

    root: Path
    assignment: str
    release: Path
    source: Path
    submitted: Path
    url: str
    course: str
    config: Config

    @property
    def notebook(self) -> str:
        """nbgrader's name of the notebook."""
        return self.source.stem

    @property
    def layout(self) -> str:
        """Where a submission belongs, in words."""
        return f"{self.submitted.name}/<student>/{self.assignment}/{self.source.name}"

    def graded_file(self, student: str) -> Path:
        """Return where formgrader looks for a student's graded notebook."""
        return self.root / "autograded" / student / self.assignment / self.source.name

    def feedback_file(self, student: str) -> Path:
        """Return where a student's page is."""
        return (
            self.root / "feedback" / student / self.assignment / f"{self.notebook}.html"
        )


def read_config(root: Path) -> Config:
    """Return what the course's nbgrader_config.py sets.

    Raises:
        GradingError: if the file can't be run.

    """
    if not (root / "nbgrader_config.py").is_file():
        return Config()
    try:
        return PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    except (
        Exception
    ) as error:  # the file is a program: whatever it raises is its mistake
        raise GradingError(
            f"nbgrader_config.py: {type(error).__name__}: {error}"
        ) from error


def database_url(
    root: Path, given: str | None = None, config: Config | None = None
) -> str:
    """Return the gradebook's URL: the given one, else the course's, else nbgrader's default.

    A file without a leading slash lies in the course's folder, where nbgrader runs.

    Raises:
        GradingError: if nbgrader_config.py can't be run.
        GradebookError: if it is no URL.

    """
    config = read_config(root) if config is None else config
    url = (
        given
        or config.get("CourseDirectory", {}).get("db_url")
        or "sqlite:///gradebook.db"
    )
    path = database.file_of(url)
    if path is not None and not path.is_absolute():
        return f"sqlite:///{root / path}"
    return url


def read_secret(root: Path, config: Config | None = None) -> bytes:
    """Return the secret from which hidden inputs are drawn, b"" if the course has none.

    Raises:
        GradingError: if it can't be used.

    """
    try:
        return draws.read(secret_file(root, config))
    except draws.SecretError as error:
        raise GradingError(str(error)) from None


def secret_file(root: Path, config: Config | None = None) -> Path:
    """Return where the course's secret is, or would be.

    Raises:
        GradingError: if nbgrader_config.py can't be run.

    """
    config = read_config(root) if config is None else config
    return draws.place(root, str(config.get("Grading", {}).get(draws.FILE) or ""))


def find_assignment(root: Path, wanted: str) -> str:
    """Return the name of the assignment that a teacher means by it or by its beginning.

    Raises:
        GradingError: if there is no such assignment, or more than one.

    """
    known = release.assignments(root)
    found = [name for name in known if name == wanted] or [
        name for name in known if wanted and name.startswith(wanted)
    ]
    if len(found) != 1:
        what = f"no assignment is called {wanted!r}" if wanted else "name an assignment"
        if len(found) > 1:
            what = f"{wanted!r} may be {' or '.join(found)}"
        raise GradingError(
            f"{what}. Known: {', '.join(known) or 'none'}. "
            f"For example: make grade ASSIGNMENT={(known or ['02-self-attention'])[0]}"
        )
    return found[0]


def find(
    root: Path, wanted: str, *, submitted: Path | None = None, db: str | None = None
) -> Course:
    """Return where an assignment's files are.

    Args:
        root: the course's folder.
        wanted: the assignment's name, or how it begins.
        submitted: the folder of submissions, if another than the course's.
        db: the gradebook's URL, if another than the course's.

    Raises:
        GradingError: if it isn't there, or not as expected.
        GradebookError: if the gradebook's URL is none.

    """
    assignment = find_assignment(root, wanted)
    found = notebooks.notebooks_in(root / "solutions" / assignment)
    if len(found) != 1:
        raise GradingError(
            f"solutions/{assignment}: expected one notebook, found {len(found)}"
        )
    release = root / "exercises" / assignment / found[0].name
    if not release.is_file():
        raise GradingError(
            f"there is no exercises/{assignment}/{found[0].name}: run `make exercises`"
        )
    config = read_config(root)
    course = config.get("CourseDirectory", {}).get("course_id") or "default_course"
    return Course(
        root,
        assignment,
        release,
        found[0],
        submitted or root / "submitted",
        database_url(root, db, config),
        course,
        config,
    )


def find_submissions(course: Course) -> dict[str, Path | Result]:
    """Return for each student the submitted file, or why there is none.

    Raises:
        GradingError: if there is no folder of submissions, or nobody handed in.

    """
    folder = course.submitted
    place = f"Put each notebook at {course.layout}"
    if not folder.is_dir():
        raise GradingError(f"there is no folder {folder.name}/. {place}")
    try:
        names = sorted(
            entry.name
            for entry in os.scandir(folder)
            if not entry.name.startswith(".") and (entry.is_dir() or entry.is_symlink())
        )
    except OSError as error:
        raise GradingError(f"{folder.name}/ can't be read: {error.strerror}") from error
    if not names:
        raise GradingError(f"{folder.name}/ is empty. {place}")
    found = {name: _find_one(course, name) for name in names}
    missing = {
        name: one.reasons[0]
        for name, one in found.items()
        if isinstance(one, Result) and one.state is State.MISSING
    }
    if len(missing) == len(found):
        looked = "; ".join(
            f"{name}: {reason}" for name, reason in list(missing.items())[:10]
        )
        raise GradingError(f"nobody handed in {course.assignment} ({looked}). {place}")
    return found


def _find_one(course: Course, student: str) -> Path | Result:
    """Return one student's file, or why there is none."""
    folder = course.submitted / student / course.assignment
    path = folder / course.source.name
    if not is_name(student):
        return failed(shown_name(student), ODD_NAME)
    try:
        for place in (folder.parent, folder):
            if place.is_symlink():
                return failed(
                    student,
                    f"{place.name} is a link, not a folder: copy the files there",
                )
        if path.is_symlink() or path.exists():
            return path
        others = (
            sorted(p.name for p in folder.iterdir() if p.suffix == ".ipynb")
            if (folder.is_dir())
            else []
        )
    except OSError as error:
        return failed(student, f"its folder can't be read: {error.strerror}")
    reason = "nothing handed in"
    if folder.is_dir():
        reason = f"no {path.name}" + (
            f", only {', '.join(others[:5])}" if others else ""
        )
    return Result(student, State.MISSING, reasons=[clean(reason, 300)])


def is_name(student: str) -> bool:
    """Tell whether the gradebook can hold a student's name."""
    return (
        student.isprintable() and len(student) <= LONGEST_NAME and "\\" not in student
    )


def shown_name(student: str) -> str:
    """Return a student's name as it can be shown, whatever the folder is called."""
    return plain(student)[:LONGEST_NAME]


def parse_time(text: str) -> datetime:
    """Return the time (UTC) of a timestamp.txt, which may be a student's.

    Raises:
        ValueError: if it is none.

    """
    if not TIME.fullmatch(text) or ".." in text:
        raise ValueError("expected a time such as 2030-01-31 12:00:00 UTC")
    try:
        return parse_utc(text)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"no time: {type(error).__name__}") from None


def timestamp(path: Path) -> tuple[str | None, str]:
    """Return when a submission was handed in, from nbgrader's timestamp.txt, and what is wrong.

    Without the file nothing is known and nothing wrong: the submission does not count as late.
    """
    file = path.parent / "timestamp.txt"
    if not file.exists() and not file.is_symlink():
        return None, ""
    try:
        text = handed_in.read(file, 200).decode().strip()
        return str(parse_time(text)) if text else None, ""
    except (SubmissionError, ValueError):
        return None, "timestamp.txt can't be read: not counted as late"
