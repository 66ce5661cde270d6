"""nbgrader's `autograde` and `generate_feedback`, and formgrader's buttons, done by this grader.

nbgrader's own autograder runs students' code with the rights of whoever clicks, without states. So
these buttons do what `make grade` does. nbgrader lets a course choose the exporter by which it
converts notebooks; nbgrader_config.py chooses these, which grade instead and leave it nothing to
convert:

    c.Autograde.exporter_class = "grading.run.formgrader.AutogradeExporter"
    c.GenerateFeedback.exporter_class = "grading.run.formgrader.FeedbackExporter"
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import BaseConverter, NbGraderException

from grading.course.database import GradebookError
from grading.course.states import State
from grading.gradebook.standing import standings

#: Where the grader and its tools are; jupyter and nbgrader start elsewhere.
ROOT = Path(__file__).resolve().parents[2]


class AutogradeExporter(NotebookExporter):
    """Grades the converter's submissions by `python -m grading run`."""

    #: The folders that the grader writes into; nbgrader lets them have other names.
    folders: ClassVar[dict[str, str]] = {
        "source_directory": "solutions",
        "release_directory": "exercises",
        "autograded_directory": "autograded",
        "feedback_directory": "feedback",
    }
    again = True

    def __init__(self, parent: object = None, **options: object) -> None:
        """Grade, if this belongs to a converter that is about to start.

        Raises:
            NbGraderException: if that fails, or a submission fails; the message says why.

        """
        super().__init__(parent=parent, **options)
        if isinstance(parent, BaseConverter):
            students, parent.assignments = _students(parent), {}
            self._grade(parent, students)

    def _grade(self, converter: BaseConverter, students: list[str]) -> None:
        course = converter.coursedir
        for name, usual in self.folders.items():
            if getattr(course, name) != usual:
                raise NbGraderException(
                    f"CourseDirectory.{name} is {getattr(course, name)!r}: this course grades "
                    f"with {usual!r} only"
                )
        root, url = Path(course.root).resolve(), _url(converter)
        command = [
            sys.executable,
            "-m",
            "grading",
            "run",
            course.assignment_id,
            "--root",
            str(root),
            "--submitted",
            str(root / course.submitted_directory),
        ]
        if course.student_id != "*":
            command += [f"--student={student}" for student in students]
        if self.again and converter.force:
            command.append("--force")
        if url != _url(converter, given=False):
            command += ["--db", url]
        # The grader is where this file is, also when the course's folder is another.
        found = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
            ),
        }
        done = subprocess.run(
            command, cwd=root, env=found, text=True, capture_output=True, check=False
        )
        for line in (*done.stderr.splitlines(), *done.stdout.splitlines()):
            if line.strip() and "%|" not in line:  # no progress bar
                converter.log.info(line)
        if done.returncode not in (0, 1):
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise NbGraderException(f"not graded: {last}")
        lost = [
            f"{one.state}: {one.student}: {'; '.join(one.reasons)}"
            for one in standings(url, course.assignment_id)
            if one.student in students and one.state is State.FAILED
        ]
        if lost:
            converter.log.error("\n".join(lost))
            raise NbGraderException("\n".join(lost))


class FeedbackExporter(AutogradeExporter):
    """Writes the students' pages, and grades what was not graded yet."""

    again = False


def _students(converter: BaseConverter) -> list[str]:
    """Return the students whose notebooks the converter found."""
    pattern = converter._format_source(
        "(?P<assignment_id>.*)", "(?P<student_id>.*)", escape=True
    )
    found = [re.match(pattern, folder) for folder in converter.assignments]
    return sorted({match.group("student_id") for match in found if match})


def _url(converter: BaseConverter, given: bool = True) -> str:
    """Return the gradebook's URL: the converter's (given), or that of nbgrader_config.py."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from grading.course import layout

    root = Path(converter.coursedir.root).resolve()
    try:
        return layout.database_url(root, converter.coursedir.db_url if given else None)
    except (layout.GradingError, GradebookError) as error:
        raise NbGraderException(str(error)) from error
