"""The report on a class: one offline page for its teacher, and a table.

    reports/<assignment>/report.html    what the class understood, and how the tests did
    reports/<assignment>/mistakes.csv   a line for each student and task that lost points

The page has no script and needs no network; its links lead to the course's site. It names
students: it is not for them.
"""

from __future__ import annotations

import csv
import functools
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from grading.course import files
from grading.course.states import State, task_of
from grading.feedback import words
from grading.feedback.page import policy_of, templates
from grading.gradebook.ledger import Attempt
from grading.gradebook.spreadsheet import guarded
from grading.gradebook.standing import Standing
from grading.report.alike import Alike
from grading.report.bank import Bank
from grading.report.items import Estimate, Item
from grading.report.mistakes import Group, Task
from grading.report.sections import Finder

FOLDER = Path(__file__).parent
PAGE, TABLE = "report.html", "mistakes.csv"
#: Groups of a task that are shown at once, and names of a group.
MOST_GROUPS, MOST_NAMES = 8, 400
COLUMNS = (
    "task",
    "student",
    "points",
    "most",
    "mistake",
    "named by the tests",
    "students with it",
    "section",
    "wrong answers of the bank",
    "message",
)


@dataclass(frozen=True)
class Report:
    """All that the page shows; `when` is in UTC."""

    title: str
    assignment: str
    when: datetime
    standings: Sequence[Standing]
    tasks: Sequence[Task]
    items: Sequence[Item]
    alike: Sequence[Alike]
    attempts: Mapping[str, Sequence[Attempt]]
    bank: Bank
    finder: Finder
    site: str

    def link(self, group: Group) -> tuple[str, str] | None:
        """Return heading and address of the section that treats a mistake."""
        task = next(task for task in self.tasks if task.name == group.task)
        found = self.finder.find(task.title, task.statement, group.text)
        if found is None:
            return None
        return found.heading, f"{self.site}book/{found.page}.html#{found.anchor}"


def write(folder: Path, report: Report) -> list[Path]:
    """Write page and table; return where they are."""
    made = [(folder / PAGE, page(report)), (folder / TABLE, table(report))]
    for path, text in made:
        files.write(path, text.encode("utf-8", "replace"))
    return [path for path, _ in made]


def table(report: Report) -> str:
    """Return the table as CSV; no cell is a formula to a spreadsheet program."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow(
            guarded(cell) if isinstance(cell, str) else cell for cell in row
        )
    return text.getvalue()


def rows(report: Report) -> Iterator[tuple]:
    """Yield the lines of the table."""
    for task in report.tasks:
        for group in task.groups:
            section = report.link(group)
            for student in group.students:
                yield (
                    task.name,
                    student,
                    task.points[student],
                    task.most,
                    group.text,
                    "yes" if group.is_named else "no",
                    len(group.students),
                    section[0] if section else "",
                    " ".join(report.bank.names(group)),
                    words.message(group.message).text,
                )
        for student in task.unanswered:
            points = task.points[student]
            count = len(task.unanswered)
            yield (task.name, student, points, task.most, "not answered", "", count) + (
                ("",) * 3
            )


def page(report: Report) -> str:
    """Return the page."""
    style, policy = _style_sheet()
    counted = [one for one in report.standings if one.points is not None]
    points = sorted(one.points for one in counted)
    return _template().render(
        style=Markup(style),
        policy=policy,
        report=report,
        counted=counted,
        states=[
            (str(state), sum(one.state is state for one in report.standings))
            for state in State
        ],
        quartiles=statistics.quantiles(points, n=4) if len(points) > 1 else points * 3,
        most=max((one.max_points for one in report.standings), default=0.0),
        histogram=_histogram(counted),
        times=_times(counted),
        attempts=_attempts(report),
        most_groups=MOST_GROUPS,
        most_names=MOST_NAMES,
    )


def _histogram(counted: Sequence[Standing], bins: int = 10) -> list[tuple[str, int]]:
    """Return how many students have which share of the points."""
    if not counted or not counted[0].max_points:
        return []
    counts = [0] * bins
    for one in counted:
        share = max(0.0, one.points / one.max_points)
        counts[min(bins - 1, int(bins * share))] += 1
    width = counted[0].max_points / bins
    return [
        (f"{width * n:g} to {width * (n + 1):g}", count)
        for n, count in enumerate(counts)
    ]


def _times(counted: Sequence[Standing]) -> list[tuple[str, int, float, int]]:
    """Return, by quarter of the class in the order of handing in: when, how many, points, late."""
    timed = sorted(
        (one for one in counted if one.submitted_at is not None),
        key=lambda one: one.submitted_at,
    )
    quarters = [
        timed[len(timed) * n // 4 : len(timed) * (n + 1) // 4] for n in range(4)
    ]
    return [
        (
            f"{quarter[0].submitted_at:%d %b %H:%M} to {quarter[-1].submitted_at:%d %b %H:%M}",
            len(quarter),
            statistics.median(one.points for one in quarter),
            sum(one.late_seconds > 0 for one in quarter),
        )
        for quarter in quarters
        if quarter
    ]


def _attempts(report: Report) -> list[tuple[int, int, float, float]]:
    """Return by number of graded files: students, median points of their first and last file."""
    by_count: dict[int, list[Sequence[Attempt]]] = {}
    for attempts in report.attempts.values():
        scored = [one for one in attempts if one.points is not None]
        if scored:
            by_count.setdefault(len(scored), []).append(scored)
    return [
        (
            count,
            len(all_),
            statistics.median(one[0].points for one in all_),
            statistics.median(one[-1].points for one in all_),
        )
        for count, all_ in sorted(by_count.items())
    ]


def estimate(value: Estimate) -> str:
    """Return an estimate as text, with its interval if it has one."""
    if value.value is None:
        return "–"
    text = f"{value.value:.2f}"
    return (
        text if value.low is None else f"{text} ({value.low:.2f} to {value.high:.2f})"
    )


@functools.cache
def _style_sheet() -> tuple[str, str]:
    """Return the style sheet, and the policy that allows it alone, by its hash."""
    sheet = (FOLDER.parent / "feedback" / "page.css").read_text(encoding="utf-8")
    sheet += (FOLDER / "report.css").read_text(encoding="utf-8")
    return sheet, policy_of(sheet)


@functools.cache
def _template() -> object:
    environment = templates(FOLDER)
    environment.filters |= {
        "estimate": estimate,
        "number": lambda value: f"{round(value, 2):g}",
        "task": task_of,
        "aspect": words.aspect_of,
        "told": lambda message: words.message(message).text,
    }
    return environment.get_template("report.html.j2")
