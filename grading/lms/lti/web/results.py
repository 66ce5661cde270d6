"""The data behind the pages: a course's students, standings, feedback files and reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Assignment
from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.course.database import reading
from grading.gradebook.standing import Person, Standing, roster, standings

#: The largest feedback page or report that is served, in bytes.
LARGEST = 20 * 2**20


def read_page(path: Path) -> bytes | None:
    """Return a page, None if it is larger than a page is."""
    return path.read_bytes() if path.stat().st_size <= LARGEST else None


@dataclass(frozen=True)
class CourseResults:
    """The gradebook and the feedback folder of a course; everything is read anew when asked for.

    Raises:
        GradebookError: from each call, if there is no gradebook, or it can't be read.

    """

    url: str
    feedback: Path

    def people(self) -> list[Person]:
        """Return the students, by name."""
        return roster(self.url)

    def assignments(self) -> list[str]:
        """Return the assignments' names."""
        with reading(self.url) as engine, Session(engine) as session:
            return sorted(session.scalars(select(Assignment.name)))

    def standings(self, assignment: str) -> list[Standing]:
        """Return how each student stands, as the gradebook has it."""
        return standings(self.url, assignment)

    def counts(self, assignment: str) -> dict[str, int]:
        """Return how many students are in each state."""
        return dict(Counter(str(one.state) for one in self.standings(assignment)))

    def feedback_pages(self, student: str, assignment: str) -> list[str]:
        """Return the names of a student's feedback pages for an assignment."""
        folder = self._folder(student, assignment)
        if folder is None:
            return []
        return sorted(
            path.name
            for path in folder.glob("*.html")
            if path.is_file() and not path.is_symlink()
        )

    def feedback_page(self, student: str, assignment: str, name: str) -> bytes | None:
        """Return a feedback page, None if there is no such page.

        Only a name from the folder's own list is opened, so no name leads anywhere else.
        """
        if name not in self.feedback_pages(student, assignment):
            return None
        return read_page(self._folder(student, assignment) / name)

    def report(self, assignment: str) -> bytes | None:
        """Return the report on the class, None if `python -m grading report` made none.

        The assignment is one of the gradebook's. Reports stand beside the feedback.
        """
        folder = self.feedback.parent / "reports"
        path = folder / assignment / "report.html"
        if assignment not in self.assignments() or path.resolve() != (
            folder.resolve() / assignment / "report.html"
        ):
            return None
        return read_page(path) if path.is_file() else None

    def _folder(self, student: str, assignment: str) -> Path | None:
        """Return a student's folder for an assignment, None if it is not where it should be."""
        folder = self.feedback
        for part in (student, assignment):
            if not part or part != Path(part).name or part.startswith("."):
                return None
            folder = folder / part
            if folder.is_symlink() or not folder.is_dir():
                return None
        return folder
