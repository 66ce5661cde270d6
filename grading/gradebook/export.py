"""The grades as CSV (`nbgrader export`): nbgrader's columns, the state, no score where none is.

nbgrader's exporter writes 0.0 for a submission that could not be graded and for one that was never
handed in, and does not quote: a comma in a name shifts the row. This one also keeps a spreadsheet
from computing what a student put into a name. It is set in nbgrader_config.py:

    c.ExportApp.plugin_class = "grading.gradebook.export.StateCsvExport"
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import ClassVar

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin

from grading.course import files
from grading.gradebook.spreadsheet import guarded
from grading.gradebook.standing import Person, Standing, roster, standings

#: What nbgrader writes into its CSV files, and what is added.
COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
ADDED = ("state", "reason")


class StateCsvExport(ExportPlugin):
    """nbgrader's CSV exporter, with the state, and without a score where there is none."""

    #: Where the file goes if nothing is said.
    default: ClassVar[str] = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write the file; the columns are nbgrader's own, then `state` and `reason`."""
        url = gradebook.engine.url.render_as_string(hide_password=False)
        wanted = {str(name) for name in self.assignment}
        who = {str(name) for name in self.student}
        people = [person for person in roster(url) if not who or person.id in who]
        table = io.StringIO(newline="")
        writer = csv.writer(table)
        writer.writerow([*COLUMNS, *ADDED])
        for assignment in gradebook.assignments:
            if wanted and assignment.name not in wanted:
                continue
            found = {one.student: one for one in standings(url, assignment.name)}
            for person in people:
                if person.id in found:
                    writer.writerow(_row(assignment.duedate, person, found[person.id]))
        files.write(Path(self.to or self.default), table.getvalue())


def _row(due: object, person: Person, standing: Standing) -> list:
    """Return one student's row."""
    stamp = standing.submitted_at
    row = {
        "assignment": standing.assignment,
        "duedate": due,
        "timestamp": stamp and stamp.replace(tzinfo=None),
        "student_id": person.id,
        "last_name": person.last_name,
        "first_name": person.first_name,
        "email": person.email,
        "max_score": standing.max_points,
        "state": str(standing.state),
        "reason": "; ".join(standing.reasons),
    }
    row |= {key: guarded(text) for key, text in row.items() if isinstance(text, str)}
    if standing.points is not None:
        row.update(
            raw_score=standing.raw_points,
            score=standing.points,
            late_submission_penalty=standing.late_penalty,
        )
    return ["" if row.get(key) is None else row[key] for key in (*COLUMNS, *ADDED)]
