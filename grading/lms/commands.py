"""The subcommands of `python -m grading lms`: each writes one file and returns a report."""

from __future__ import annotations

import argparse
import hashlib
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grading.course import layout
from grading.course.layout import Course
from grading.gradebook.ledger import note_person
from grading.gradebook.standing import roster, standings
from grading.gradebook.writer import GradebookWriter
from grading.lms.files import canvas as canvas_files
from grading.lms.files import exports, imports, packing
from grading.lms.files import moodle as moodle_files
from grading.lms.files.csv_files import read_table, write_whole
from grading.lms.files.exports import Score, read_number
from grading.lms.files.groups import read_groups
from grading.lms.files.imports import Options, Target
from grading.lms.files.roster import Member, Roster, merge, read_roster
from grading.lms.files.times import read_times
from grading.lms.gradescope import autograder
from grading.lms.outcome import Problem, Report, Verdict

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


def _course(args: argparse.Namespace) -> Course:
    """Return where the assignment's files are."""
    submitted = getattr(args, "submitted", None)
    return layout.find(
        args.root.resolve(),
        args.assignment,
        submitted=submitted and submitted.absolute(),
        db=getattr(args, "db", None),
    )


def _roster(args: argparse.Namespace) -> tuple[Roster, Path]:
    """Return the roster and its place; an empty one if there is none."""
    default = args.root.resolve() / "roster.csv"
    path = args.roster or default
    if args.roster is None and not default.exists():
        return Roster(), default
    return read_roster(path, _columns(args)), default


def _columns(args: argparse.Namespace) -> dict[str, str]:
    """Return the headings that were named."""
    for text in args.columns:
        if "=" not in text:
            raise Problem(f"--columns: expected FIELD=HEADING, got {text!r}")
    return dict(text.split("=", 1) for text in args.columns)


def roster_command(args: argparse.Namespace) -> Report:
    """Bring a list of students into roster.csv and the gradebook."""
    report = Report(f"students of {args.file.name}", args.dry_run)
    found = read_roster(args.file, _columns(args), args.id_from)
    root = args.root.resolve()
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
    if not args.dry_run:
        known.write(path)
        config = layout.read_config(root)
        course = config.get("CourseDirectory", {}).get("course_id") or "default_course"
        url = layout.database_url(root, args.db, config)
        with GradebookWriter(url, course) as book, book.transaction() as connection:
            for student in found.members:
                member = known.members[student]
                book.gradebook.update_or_create_student(student, **_columns_of(member))
                note_person(connection, student, member.sis_user_id, member.login)
    return report


def _columns_of(member: Member) -> dict[str, str]:
    """Return what nbgrader's table of students holds of one."""
    names = ("first_name", "last_name", "email", "lms_user_id")
    return {name: text for name in names if (text := getattr(member, name))}


def take(args: argparse.Namespace) -> Report:
    """Put submissions into their places."""
    course = _course(args)
    known, path = _roster(args)
    named = set(known.members)
    # A roster that imports alone have written has no say about who belongs to the course.
    mark = course.submitted / imports.RECORDS / "roster.sha256"
    learned = args.roster is None and _digest(path) in ("", _read(mark))
    hidden: set[str] = set()
    if args.worksheet is not None:
        sheet = moodle_files.read_sheet(args.worksheet)
        if sheet.name is None:  # anonymous: nobody's name is known, nor learned
            for member in moodle_files.sheet_roster(sheet).members.values():
                known.put(member)
                hidden.add(member.id)
        elif len(known):
            moodle_files.link(sheet, known)
        else:
            known = moodle_files.sheet_roster(sheet)
    times, groups = {}, {}
    lost: list[tuple[str, str]] = []
    for file in args.times:
        found, lines = read_times(file, known, _zone("--zone", args.zone))
        times |= found
        lost += [(file.name, text) for text in lines]
    if args.groups:
        groups, lines = read_groups(args.groups, known)
        lost += [(args.groups.name, text) for text in lines]
    options = Options(
        args.kind,
        args.replace,
        args.add_unknown or learned,
        args.dry_run,
        times,
        _zone("--file-times", args.file_times),
        groups,
    )
    target = Target(course.submitted, course.assignment, course.source.name)
    report = imports.take(args.source, target, known, options)
    for name in sorted(set(times) - set(known.members)):
        lost.append(("--times", f"{name}: nobody here"))
    for where, text in lost:
        report.add(Verdict.REFUSED, "", where, text)
    for student in hidden:
        del known.members[student]
    if hidden:
        report.notes.append(
            "the submissions are anonymous: their grades go back by this worksheet alone, "
            "and no name is written into the roster"
        )
    elif set(known.members) - named or not path.exists() or args.roster is not None:
        report.notes.append(
            f"students: {len(known)}, in {path.name}; "
            f"`lms roster {path.name}` brings their names into the gradebook"
        )
    if not args.dry_run and len(known):
        everyone = read_roster(path) if path.exists() else Roster()
        for member in known.members.values():
            everyone.put(merge(member, **vars(everyone.members.get(member.id, member))))
        everyone.write(path)
        if learned:
            write_whole(mark, _digest(path).encode())
    return report


def _digest(path: Path) -> str:
    """Return what tells a file's content from every other, "" if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _read(path: Path) -> str:
    """Return a file's text, "none" if it is not there."""
    return path.read_text(encoding="utf-8") if path.is_file() else "none"


def _zone(option: str, name: str | None) -> ZoneInfo | None:
    """Return a time zone by its name."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        raise Problem(
            f"{option}: expected a zone such as Europe/Berlin, got {name!r}"
        ) from None


def _out(args: argparse.Namespace, *read: Path | None) -> None:
    """Refuse to overwrite what was read, or a folder."""
    if args.out.is_dir():
        raise Problem(f"--out {args.out}: expected a file, it is a folder")
    for path in read:
        if path is not None and args.out.resolve() == path.resolve():
            raise Problem(
                f"--out {args.out}: the file that was read is not overwritten: name "
                "another"
            )


def _write(args: argparse.Namespace, data: bytes, report: Report) -> Report:
    """Write the file, unless it is a dry run or would hold nothing."""
    if not report.count(Verdict.SENT):
        report.notes.append(f"{args.out.name} was not written: it would hold nothing")
    elif not args.dry_run:
        write_whole(args.out, data)
        report.notes.append(f"written: {args.out}")
    return report


class _Grades:
    """One assignment's standings, and whose they are."""

    def __init__(self, args: argparse.Namespace, what: str) -> None:
        self.args = args
        self.course = _course(args)
        self.report = Report(f"{what} of {self.course.assignment}", args.dry_run)
        self.standings = standings(
            self.course.url, self.course.assignment, submitted=self.course.submitted
        )
        known, _ = _roster(args)
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
        scale = None
        if self.args.scale_to is not None:
            scale = read_number(self.args.scale_to)
            if scale is None or scale <= 0:
                raise Problem(
                    f"--scale-to: expected points above 0, got {self.args.scale_to!r}"
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
            missing_as_zero=self.args.missing_as_zero,
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


def canvas(args: argparse.Namespace) -> Report:
    """Write a gradebook for Canvas."""
    _out(args, args.template)
    grades = _Grades(args, "Canvas gradebook")
    title = args.title or grades.course.assignment
    if args.template is not None:
        table = read_table(args.template)
        columns = canvas_files.find_columns(table, title, args.column_id)
        scores = grades.scores(canvas_files.points_possible(table, columns))
        data = canvas_files.fill(table, columns, scores, grades.people, grades.report)
        return _write(args, data, grades.report)
    if args.column_id is None and not args.new_column:
        raise Problem(
            "Canvas would propose a new assignment: give --template (a gradebook that it "
            "exported) or --column-id (the number in the assignment's address), or say "
            "--new-column"
        )
    column = canvas_files.heading(title, args.column_id)
    scores = grades.scores()
    data = canvas_files.gradebook(
        scores, column, grades.sends, grades.people, grades.report
    )
    return _write(args, data, grades.report)


def moodle(args: argparse.Namespace) -> Report:
    """Write a gradebook for Moodle."""
    _out(args, args.participants)
    grades = _Grades(args, "Moodle gradebook")
    known = read_table(args.participants) if args.participants else None
    data = moodle_files.gradebook(
        grades.scores(),
        args.title or grades.course.assignment,
        args.by,
        grades.report,
        known=known,
        unlimited=args.unlimited,
        decimal=_decimal(args) or ".",
    )
    return _write(args, data, grades.report)


def _decimal(args: argparse.Namespace) -> str | None:
    return {"point": ".", "comma": ",", None: None}[args.decimal]


def worksheet(args: argparse.Namespace) -> Report:
    """Fill Moodle's worksheet."""
    _out(args, args.worksheet)
    grades = _Grades(args, "Moodle worksheet")
    sheet = moodle_files.read_sheet(args.worksheet, args.grade_column)
    scores = grades.scores(sheet.most)
    data = moodle_files.fill(
        sheet, scores, grades.people, grades.report, decimal=_decimal(args)
    )
    return _write(args, data, grades.report)


def feedback(args: argparse.Namespace) -> Report:
    """Write a zip of feedback."""
    _out(args, args.worksheet)
    grades = _Grades(args, f"feedback for {args.layout.title()}")
    if args.worksheet is not None:
        moodle_files.link(moodle_files.read_sheet(args.worksheet), grades.people)
    pages = {
        one.student: grades.course.feedback_file(one.student)
        for one in grades.standings
    }
    files = packing.feedback(
        grades.standings,
        pages,
        grades.people.members,
        grades.record,
        args.layout,
        grades.report,
    )
    if args.layout == "canvas":
        grades.report.notes.append(
            "Canvas shows each file under the name that the student had "
            "given it; it is a notebook that shows the feedback"
        )
    return _write(args, packing.make_zip(files), grades.report)


def gradescope(args: argparse.Namespace) -> Report:
    """Write an autograder for Gradescope."""
    _out(args)
    course = _course(args)
    report = Report(f"Gradescope autograder of {course.assignment}", args.dry_run)
    data = autograder.autograder(
        course.root,
        course.release,
        course.source,
        zero_for_unreadable=args.zero_for_unreadable,
        visibility=args.visibility,
        cleared=args.cleared,
        secret=layout.read_secret(course.root, course.config),
    )
    report.add(Verdict.SENT, "", args.out.name, f"{len(data):,} bytes")
    return _write(args, data, report)
