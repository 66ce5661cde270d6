"""What the subcommands do: reads the course and the options, writes one file, returns a report."""

from __future__ import annotations

import argparse
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grading.course import layout
from grading.course.layout import Course
from grading.gradebook.writer import Book, roster, standings
from grading.lms.files import canvas as canvas_files
from grading.lms.files import exports, imports, packing
from grading.lms.files import moodle as moodle_files
from grading.lms.files.csv_files import read_table, write_whole
from grading.lms.files.exports import Score, read_number
from grading.lms.files.imports import Options, Target
from grading.lms.files.outcome import Problem, Report, Verdict
from grading.lms.files.roster import Member, Roster, merge, read_roster
from grading.lms.gradescope import autograder

__all__ = [
    "canvas",
    "feedback",
    "gradescope",
    "moodle",
    "roster_command",
    "take",
    "worksheet",
    "write_whole",
]


def _course(given: argparse.Namespace) -> Course:
    """Return where the assignment's files are."""
    submitted = getattr(given, "submitted", None)
    return layout.find(
        given.root.resolve(),
        given.assignment,
        submitted=submitted and submitted.absolute(),
        db=getattr(given, "db", None),
    )


def _roster(given: argparse.Namespace) -> tuple[Roster, Path]:
    """Return the roster and its place; an empty one if there is none."""
    default = given.root.resolve() / "roster.csv"
    path = given.roster or default
    if given.roster is None and not default.exists():
        return Roster(), default
    return read_roster(path, _columns(given)), default


def _columns(given: argparse.Namespace) -> dict[str, str]:
    """Return the headings that were named."""
    for text in given.columns:
        if "=" not in text:
            raise Problem(f"--columns: expected FIELD=HEADING, got {text!r}")
    return dict(text.split("=", 1) for text in given.columns)


def roster_command(given: argparse.Namespace) -> Report:
    """Bring a list of students into roster.csv and the gradebook."""
    report = Report(f"students of {given.file.name}", given.dry_run)
    found = read_roster(given.file, _columns(given), given.id_from)
    root = given.root.resolve()
    path = root / "roster.csv"
    known = read_roster(path) if path.exists() else Roster()
    for member in found.members.values():
        old = known.members.get(member.id)
        new = merge(member, **vars(old)) if old else member
        report.add(
            Verdict.SAME if new == old else Verdict.TAKEN,
            member.id,
            "",
            member.full_name,
        )
        known.add(new)
    if not given.dry_run:
        known.write(path)
        config = layout.read_config(root)
        course = config.get("CourseDirectory", {}).get("course_id") or "default_course"
        url = layout.database_url(root, given.db, config)
        with Book(url, course) as book, book.transaction():
            for member in found.members.values():
                book.gradebook.update_or_create_student(
                    member.id, **_columns_of(member)
                )
    return report


def _columns_of(member: Member) -> dict[str, str]:
    """Return what nbgrader's table of students holds of one."""
    names = ("first_name", "last_name", "email", "lms_user_id")
    return {name: text for name in names if (text := getattr(member, name))}


def take(given: argparse.Namespace) -> Report:
    """Put submissions into their places."""
    course = _course(given)
    known, path = _roster(given)
    named = set(known.members)
    if given.worksheet is not None:
        sheet = moodle_files.read_sheet(given.worksheet)
        if len(known):
            moodle_files.link(sheet, known)
        else:
            known = moodle_files.sheet_roster(sheet)
    try:
        zone = ZoneInfo(given.file_times) if given.file_times else None
    except (ZoneInfoNotFoundError, ValueError):
        raise Problem(
            f"--file-times: expected a zone such as Europe/Berlin, got "
            f"{given.file_times!r}"
        ) from None
    times = imports.read_times(given.times, known) if given.times else {}
    options = Options(
        given.kind, given.replace, given.add_unknown, given.dry_run, times, zone
    )
    target = Target(course.submitted, course.assignment, course.source.name)
    report = imports.take(given.source, target, known, options)
    if set(known.members) - named or not path.exists() or given.roster is not None:
        report.notes.append(
            f"students: {len(known)}, in {path.name}; "
            f"`lms roster {path.name}` brings their names into the gradebook"
        )
    if not given.dry_run and len(known):
        everyone = read_roster(path) if path.exists() else Roster()
        for member in known.members.values():
            everyone.put(merge(member, **vars(everyone.members.get(member.id, member))))
        everyone.write(path)
    return report


def _out(given: argparse.Namespace, *read: Path | None) -> None:
    """Refuse to overwrite what was read, or a folder."""
    if given.out.is_dir():
        raise Problem(f"--out {given.out}: expected a file, it is a folder")
    for path in read:
        if path is not None and given.out.resolve() == path.resolve():
            raise Problem(
                f"--out {given.out}: the file that was read is not overwritten: name "
                "another"
            )


def _write(given: argparse.Namespace, data: bytes, report: Report) -> Report:
    """Write the file, unless it is a dry run or would hold nothing."""
    if not report.count(Verdict.SENT):
        report.notes.append(f"{given.out.name} was not written: it would hold nothing")
    elif not given.dry_run:
        write_whole(given.out, data)
        report.notes.append(f"written: {given.out}")
    return report


class _Grades:
    """One assignment's standings, and whose they are."""

    def __init__(self, given: argparse.Namespace, what: str) -> None:
        self.given = given
        self.course = _course(given)
        self.report = Report(f"{what} of {self.course.assignment}", given.dry_run)
        self.standings = standings(
            self.course.url, self.course.assignment, submitted=self.course.submitted
        )
        known, _ = _roster(given)
        target = Target(
            self.course.submitted, self.course.assignment, self.course.source.name
        )
        self.record = imports.read_record(target.record)
        self.people = exports.people(roster(self.course.url), known, self.record)

    def scores(self, most: Decimal | None = None) -> list[Score]:
        """Return what may be sent; `most` is the maximum in the LMS, if it is known.

        Raises:
            Problem: if the maxima differ, and nothing was said about that.

        """
        given, scale = self.given, None
        if given.scale_to is not None:
            scale = read_number(given.scale_to)
            if scale is None or scale <= 0:
                raise Problem(
                    f"--scale-to: expected points above 0, got {given.scale_to!r}"
                )
        if most is not None and most != (scale or self.most):
            raise Problem(
                f"the maximum is {most} in the LMS and {scale or self.most} here: give "
                f"--scale-to {most}, or change it there"
            )
        found = exports.scores(
            self.standings,
            self.people,
            self.report,
            missing_as_zero=given.missing_as_zero,
            scale_to=scale,
        )
        self.sends = scale or self.most
        return found

    @property
    def most(self) -> Decimal:
        """The assignment's maximum here."""
        if not self.standings:
            raise Problem(f"{self.course.assignment}: nobody is in the gradebook")
        return Decimal(str(self.standings[0].max_points))


def canvas(given: argparse.Namespace) -> Report:
    """Write a gradebook for Canvas."""
    _out(given, given.template)
    grades = _Grades(given, "Canvas gradebook")
    title = given.title or grades.course.assignment
    if given.template is not None:
        table = read_table(given.template)
        columns = canvas_files.find_columns(table, title, given.column_id)
        scores = grades.scores(canvas_files.points_possible(table, columns))
        data = canvas_files.fill(table, columns, scores, grades.people, grades.report)
        return _write(given, data, grades.report)
    if given.column_id is None and not given.new_column:
        raise Problem(
            "Canvas would propose a new assignment: give --template (a gradebook that it "
            "exported) or --column-id (the number in the assignment's address), or say "
            "--new-column"
        )
    column = canvas_files.heading(title, given.column_id)
    scores = grades.scores()
    data = canvas_files.gradebook(
        scores, column, grades.sends, grades.people, grades.report
    )
    return _write(given, data, grades.report)


def moodle(given: argparse.Namespace) -> Report:
    """Write a gradebook for Moodle."""
    _out(given, given.participants)
    grades = _Grades(given, "Moodle gradebook")
    known = read_table(given.participants) if given.participants else None
    data = moodle_files.gradebook(
        grades.scores(),
        given.title or grades.course.assignment,
        given.by,
        grades.report,
        known=known,
        unlimited=given.unlimited,
        decimal=_decimal(given) or ".",
    )
    return _write(given, data, grades.report)


def _decimal(given: argparse.Namespace) -> str | None:
    return {"point": ".", "comma": ",", None: None}[given.decimal]


def worksheet(given: argparse.Namespace) -> Report:
    """Fill Moodle's worksheet."""
    _out(given, given.worksheet)
    grades = _Grades(given, "Moodle worksheet")
    sheet = moodle_files.read_sheet(given.worksheet, given.grade_column)
    scores = grades.scores(sheet.most)
    data = moodle_files.fill(
        sheet, scores, grades.people, grades.report, decimal=_decimal(given)
    )
    return _write(given, data, grades.report)


def feedback(given: argparse.Namespace) -> Report:
    """Write a zip of feedback."""
    _out(given, given.worksheet)
    grades = _Grades(given, f"feedback for {given.layout.title()}")
    if given.worksheet is not None:
        moodle_files.link(moodle_files.read_sheet(given.worksheet), grades.people)
    pages = {
        one.student: grades.course.feedback_file(one.student)
        for one in grades.standings
    }
    files = packing.feedback(
        grades.standings,
        pages,
        grades.people.members,
        grades.record,
        given.layout,
        grades.report,
    )
    if given.layout == "canvas":
        grades.report.notes.append(
            "Canvas shows each file under the name that the student had "
            "given it; it is a notebook that shows the feedback"
        )
    return _write(given, packing.make_zip(files), grades.report)


def gradescope(given: argparse.Namespace) -> Report:
    """Write an autograder for Gradescope."""
    _out(given)
    course = _course(given)
    report = Report(f"Gradescope autograder of {course.assignment}", given.dry_run)
    data = autograder.autograder(
        course.root,
        course.release,
        course.source,
        zero_for_unreadable=given.zero_for_unreadable,
        secret=layout.read_secret(course.root, course.config),
    )
    report.add(Verdict.SENT, "", given.out.name, f"{len(data):,} bytes")
    return _write(given, data, report)
