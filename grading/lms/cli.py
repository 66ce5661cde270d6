"""The command line: `python -m grading lms …`.

Exit status: 0 all was done; 1 done, and something was left out that a person should look at; 2
nothing was done, and the last line says why.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# The parser is made for every command of `python -m grading`: the rest is imported when needed.
from grading.course.notebooks import ROOT
from grading.lms.lti import cli as lti

EXAMPLES = """examples:
  python -m grading lms roster canvas-gradebook.csv
  python -m grading lms import submissions.zip 02-self-attention --dry-run
  python -m grading lms export canvas 02-self-attention --template gradebook.csv --out upload.csv
  python -m grading lms export worksheet 02 --worksheet Grades.csv --out Grades-filled.csv
  python -m grading lms export feedback 02 --for moodle --out feedback.zip
  python -m grading lms export gradescope 02 --out autograder.zip

Exit status: 0 done; 1 done, but something was left out (a line each); 2 nothing was done.
"""


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add `lms` with its subcommands to a parser's."""
    lms = commands.add_parser(
        "lms",
        help="to and from a learning management system",
        description="Takes submissions from an LMS, and brings grades and feedback to it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = lms.add_subparsers(dest="lms_command", required=True)
    _add_roster(kinds)
    _add_import(kinds)
    _add_export(kinds)
    lti.add_commands(kinds)


def _shared(parser: argparse.ArgumentParser, *, assignment: bool = True) -> None:
    """Add what most subcommands have."""
    if assignment:
        parser.add_argument("assignment", help="its name, or how it begins")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing, and say what would be done",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the report as JSON, too; - prints it instead of the text",
    )


def _roster_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--roster",
        type=Path,
        help="the students (default: roster.csv in the "
        "course's folder, if it is there)",
    )
    parser.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="FIELD=HEADING",
        help="the roster's own headings, as id=Matrikelnummer",
    )


def _add_roster(kinds: argparse._SubParsersAction) -> None:
    roster = kinds.add_parser(
        "roster",
        help="bring a list of students into roster.csv and the gradebook",
        description="Reads a list of students: a Canvas gradebook, a table that Moodle exported, "
        "or a CSV file with the columns id, first_name, last_name, email, lms_user_id.",
    )
    roster.add_argument("file", type=Path, help="the CSV file; comma, semicolon or tab")
    roster.add_argument(
        "--id-from",
        default="",
        choices=["", "login", "email", "sis_user_id", "lms_user_id"],
        help="what names a student's folder",
    )
    roster.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="FIELD=HEADING",
        help="the file's own headings, as id=Matrikelnummer",
    )
    roster.add_argument("--db", help="the gradebook's URL")
    _shared(roster, assignment=False)
    roster.set_defaults(function=_run("roster_command"))


def _add_import(kinds: argparse._SubParsersAction) -> None:
    take = kinds.add_parser(
        "import",
        help="put downloaded submissions into submitted/",
        description="Takes the notebooks from Canvas's bulk download, Moodle's “Download all "
        "submissions”, or a plain folder or zip. What is there already is never overwritten by an "
        "older one; what a newer one replaces is kept in submitted/.replaced/.",
    )
    take.add_argument("source", type=Path, help="a zip or a folder")
    _shared(take)
    _roster_options(take)
    take.add_argument(
        "--from",
        dest="kind",
        default="auto",
        choices=["auto", "canvas", "moodle", "folder"],
        help="how names are read (default: told by the names)",
    )
    take.add_argument(
        "--submitted", type=Path, help="where they go (default: submitted/)"
    )
    take.add_argument(
        "--worksheet",
        type=Path,
        help="Moodle's grading worksheet of this "
        "assignment: it has the students' numbers and addresses",
    )
    take.add_argument(
        "--times",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="when each student handed in: a CSV file with submitted_at and id, "
        "lms_user_id, sis_user_id, email or login; Moodle's worksheet; or what Canvas's "
        "API answers for the assignment's submissions",
    )
    take.add_argument(
        "--groups",
        type=Path,
        help="who hands in together: Canvas's table of groups, or a CSV file with group "
        "and id; who has no file of their own gets the group's",
    )
    take.add_argument(
        "--zone",
        help="the zone of times in --times that name none (default: UTC), as Europe/Berlin",
    )
    take.add_argument(
        "--file-times",
        metavar="ZONE",
        help="the times in the zip or folder count; "
        "those in a zip are local times of this zone, as Europe/Berlin",
    )
    take.add_argument(
        "--replace",
        action="store_true",
        help="take a differing notebook also where nothing tells which is newer",
    )
    take.add_argument(
        "--add-unknown",
        action="store_true",
        help="take also those who aren't in the roster",
    )
    take.set_defaults(function=_run("take"))


def _add_export(kinds: argparse._SubParsersAction) -> None:
    export = kinds.add_parser(
        "export",
        help="write files for an LMS: grades, feedback, an autograder",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = export.add_subparsers(dest="lms_file", required=True)

    canvas = files.add_parser("canvas", help="a gradebook CSV for Canvas")
    canvas.add_argument(
        "--template",
        type=Path,
        help="a gradebook that Canvas exported: its rows and its column are used",
    )
    canvas.add_argument(
        "--column-id", help="the number in the assignment's address in Canvas"
    )
    canvas.add_argument(
        "--new-column",
        action="store_true",
        help="without a template and a number: let Canvas propose a new assignment",
    )
    canvas.set_defaults(function=_run("canvas"))

    moodle = files.add_parser(
        "moodle", help="a gradebook CSV for Moodle's grade import"
    )
    moodle.add_argument(
        "--by",
        default="email",
        choices=["email", "username", "idnumber", "userid"],
        help="how Moodle finds a user",
    )
    moodle.add_argument(
        "--participants",
        type=Path,
        help="a table of the course's users from "
        "Moodle: whoever isn't in it is left out",
    )
    moodle.add_argument(
        "--unlimited", action="store_true", help="the site allows grades above 100"
    )
    moodle.set_defaults(function=_run("moodle"))

    sheet = files.add_parser(
        "worksheet", help="fill the grading worksheet that Moodle exported"
    )
    sheet.add_argument(
        "--worksheet", type=Path, required=True, help="the file from Moodle"
    )
    sheet.add_argument(
        "--grade-column", help="the heading of the grades, if that is unclear"
    )
    sheet.set_defaults(function=_run("worksheet"))

    feedback = files.add_parser("feedback", help="a zip of every student's feedback")
    feedback.add_argument(
        "--for", dest="layout", required=True, choices=["canvas", "moodle"]
    )
    feedback.add_argument(
        "--worksheet",
        type=Path,
        help="Moodle's grading worksheet: it has the students' numbers",
    )
    feedback.set_defaults(function=_run("feedback"))

    scope = files.add_parser("gradescope", help="an autograder zip for Gradescope")
    scope.add_argument(
        "--zero-for-unreadable",
        action="store_true",
        help="a file that can't be graded counts as zero, and the student reads why",
    )
    scope.add_argument(
        "--visibility",
        default="visible",
        choices=["visible", "after_due_date", "after_published", "hidden"],
        help="when students see points and messages of tests with hidden parts",
    )
    scope.add_argument(
        "--cleared",
        nargs="+",
        default=[],
        metavar="DIGEST",
        help="suspect notebooks that you have looked at: their points are sent; the log of "
        "such a submission shows its digest",
    )
    scope.set_defaults(function=_run("gradescope"))

    for command in (canvas, moodle, sheet, feedback, scope):
        _shared(command)
        command.add_argument(
            "--out", type=Path, required=True, help="the file to write"
        )
    for command in (canvas, moodle, sheet, feedback):
        command.add_argument("--db", help="the gradebook's URL")
        command.add_argument("--submitted", type=Path, help="the folder of submissions")
        _roster_options(command)
    for command in (canvas, moodle, sheet):
        command.add_argument(
            "--missing-as-zero",
            action="store_true",
            help="send 0 for those who handed in nothing",
        )
        command.add_argument(
            "--scale-to",
            metavar="POINTS",
            help="the maximum in the LMS, if it is another one than the assignment's",
        )
    for command in (canvas, moodle):
        command.add_argument(
            "--title", help="the assignment's title in the LMS (default: its name)"
        )
    for command in (moodle, sheet):
        command.add_argument(
            "--decimal",
            choices=["point", "comma"],
            help="the decimal separator (default: the file's, else a point)",
        )


def _run(name: str) -> object:
    """Return the function that runs a subcommand."""

    def run(args: argparse.Namespace) -> int:
        from grading.lms import commands as lms_commands
        from grading.lms.outcome import Problem

        try:
            report = getattr(lms_commands, name)(args)
            if args.json is not None and str(args.json) != "-":
                lms_commands.write_whole(args.json, report.to_json().encode())
        except Problem as error:
            print(f"python -m grading lms: {error}", file=sys.stderr)
            return 2
        print(report.to_json() if str(args.json) == "-" else report.text())
        return 1 if report.refused else 0

    return run
