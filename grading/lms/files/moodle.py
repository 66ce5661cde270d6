"""Moodle's two ways in: the course's gradebook CSV, and the worksheet of one assignment.

The gradebook's importer stops as a whole at one unknown user, one bad number, one grade above
100 (unless the site allows more): what could stop it is left out, with a line. An empty user
would count as the user of the row above.

The worksheet is the file that Moodle itself exported, in the language of whoever exported it. So
its columns are known by where they stand and what they hold: `Participant 17` in the first, the
grade before the maximum.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from grading.gradebook.spreadsheet import is_formula
from grading.lms.files.csv_files import Table, make_table, read_table
from grading.lms.files.exports import Score, only, read_number, sent, twins
from grading.lms.files.roster import Member, Roster, clean, merge, slug, split_name
from grading.lms.outcome import Problem, Report, Verdict, shown

#: How Moodle can be told whose a row is: our field, and a heading that says so.
KEYS = {
    "email": ("email", "Email address"),
    "username": ("login", "Username"),
    "idnumber": ("sis_user_id", "ID number"),
    "userid": ("lms_user_id", "User ID"),
}
#: The highest grade that a site takes which does not allow unlimited grades.
MOST = Decimal(100)


def gradebook(
    scores: list[Score],
    title: str,
    by: str,
    report: Report,
    *,
    known: Table | None = None,
    unlimited: bool = False,
    decimal: str = ".",
) -> bytes:
    """Return a CSV file for Moodle's grade import: one column for the user, one for the grade.

    Args:
        scores: what is sent.
        title: the heading of the grades.
        by: one of KEYS: what the user column holds.
        report: takes a line a student.
        known: a table of the course's users from Moodle; whoever isn't in it is left out.
        unlimited: whether the site allows grades above 100.
        decimal: the decimal separator.

    Raises:
        Problem: if grades are above what Moodle takes.

    """
    field, heading = KEYS[by]
    title = clean(title)
    if not title or is_formula(title):
        raise Problem(
            f"title {shown(title, 60)!r}: empty, or a formula for a spreadsheet"
        )
    if not unlimited and any(score.points > MOST for score in scores):
        raise Problem(
            "Moodle's import stops at a grade above 100: give --scale-to 100, or "
            "--unlimited if the site allows it"
        )
    spellings = _spellings(known, {getattr(score.member, field) for score in scores})
    users = [
        _user(getattr(score.member, field), field, by, spellings) for score in scores
    ]
    shared = twins([(text,) if text else () for text, _ in users])
    rows = []
    for place, (score, (text, problem)) in enumerate(zip(scores, users, strict=True)):
        if not problem and place in shared:
            problem = f"shares its {field} with another student"
        if problem:
            report.add(Verdict.REFUSED, score.member.id, "", problem)
        else:
            rows.append([text, score.text(decimal)])
            sent(report, score, shown(text, 80))
    return make_table([[heading, title], *rows])


def _user(
    text: str, field: str, by: str, spellings: dict[str, set[str]] | None
) -> tuple[str, str]:
    """Return the text by which Moodle finds a user, as Moodle spells it, and what is wrong."""
    problem = _user_problem(text, field, by)
    if problem or spellings is None:
        return text, problem
    found = spellings.get(text.casefold(), set())
    if text in found:
        return text, ""
    if len(found) == 1:
        return next(iter(found)), ""
    return text, f"{shown(text, 80)} is not among the users that Moodle exported"


def _user_problem(text: str, field: str, by: str) -> str:
    """Return why Moodle could not find this user, "" if it could."""
    if not text or text == "0":
        return f"no {field}: write it into the roster"
    if is_formula(text):
        return f"its {field} is a formula for a spreadsheet"
    if "\\" in text or text != text.strip() or not text.isprintable():
        return f"its {field} has a character that Moodle's import trips over"
    if by == "userid" and not (text.isascii() and text.isdigit()):
        return "lms_user_id: expected Moodle's number of the user"
    if by == "email" and text.count("@") != 1:
        return f"email: expected an address, got {shown(text, 80)!r}"
    return ""


def _spellings(table: Table | None, wanted: set[str]) -> dict[str, set[str]] | None:
    """Return how the users' column of a table spells each of its values."""
    if table is None:
        return None
    folded = {text.casefold() for text in wanted if text}
    columns = [
        [table.get(row, column).strip() for row in table.rows]
        for column in range(len(table.headings))
    ]
    best = max(
        columns, key=lambda cells: len(folded & {cell.casefold() for cell in cells})
    )
    if folded and not folded & {cell.casefold() for cell in best}:
        raise Problem(
            f"{table.name}: no column has any of these users: is it the right course?"
        )
    spellings: dict[str, set[str]] = {}
    for cell in best:
        spellings.setdefault(cell.casefold(), set()).add(cell)
    return spellings


@dataclass(frozen=True)
class Sheet:
    """A worksheet that Moodle exported; columns by number."""

    table: Table
    participant: int
    name: int | None
    grade: int
    most: Decimal
    decimal: str

    def number(self, row: int) -> str:
        """Return the participant's number in a row, "" where there is none."""
        found = PARTICIPANT.fullmatch(self.table.get(row, self.participant).strip())
        return found["number"].lstrip("0") or "0" if found else ""


PARTICIPANT = re.compile(r"(?P<word>\D*?)\s*(?P<number>\d+)", re.ASCII)


def read_sheet(path: Path, grade_heading: str | None = None) -> Sheet:
    """Read a grading worksheet.

    Args:
        path: the file as Moodle exported it.
        grade_heading: the heading of the grades, where the file leaves it open.

    Raises:
        Problem: if it isn't a worksheet with points.

    """
    return sheet_of(read_table(path), grade_heading)


def sheet_of(table: Table, grade_heading: str | None = None) -> Sheet:
    """Return a table as a grading worksheet, as `read_sheet` does."""
    rows = [
        row
        for row in table.rows
        if any(table.get(row, c) for c in range(len(table.raw[row])))
    ]
    if not rows:
        raise Problem(f"{table.name}: no students in it")
    short = [row + 1 for row in rows if len(table.raw[row]) != len(table.headings)]
    if short:
        raise Problem(
            f"{table.name}: row {short[0]}: {len(table.raw[short[0] - 1])} fields, the "
            f"first row has {len(table.headings)}"
        )
    participant = next(
        (c for c in range(len(table.headings)) if _is_identifier(table, rows, c)), None
    )
    if participant is None:
        raise Problem(
            f"{table.name}: no column holds a word and a number for each student, as in "
            "“Participant 17”: export the grading worksheet from Moodle again"
        )
    grade, most = _grade_column(table, rows, participant, grade_heading)
    name = participant + 1 if participant + 1 < grade - 1 else None
    commas = any(
        "," in table.get(row, column) for row in rows for column in (grade, grade + 1)
    )
    return Sheet(table, participant, name, grade, most, "," if commas else ".")


def _is_identifier(table: Table, rows: list[int], column: int) -> bool:
    """Tell whether a column holds one word and another number in each row."""
    found = [PARTICIPANT.fullmatch(table.get(row, column).strip()) for row in rows]
    if not all(found) or len({one["number"] for one in found}) != len(rows):
        return False
    words = {one["word"] for one in found}
    return len(words) == 1 and words != {""} and not set("+-@.,") & set(words.pop())


def _grade_column(
    table: Table, rows: list[int], participant: int, heading: str | None
) -> tuple[int, Decimal]:
    """Return the column of the grades, and the maximum that stands in the column after it."""
    found = {}
    for column in range(participant + 1, len(table.headings) - 1):
        maxima = {read_number(table.get(row, column + 1)) for row in rows}
        most = maxima.pop() if len(maxima) == 1 else None
        cells = [table.get(row, column).strip() for row in rows]
        numbers = [read_number(cell) for cell in cells if cell not in ("", "-")]
        if (
            most is not None
            and most > 0
            and all(n is not None and n <= most for n in numbers)
        ):
            found[column] = most
    if heading is not None:
        found = {c: most for c, most in found.items() if table.headings[c] == heading}
    if len(found) != 1:
        names = ", ".join(shown(table.headings[column], 60) for column in found)
        raise Problem(
            f"{table.name}: "
            + (
                f"several columns could hold the grades: {names}: name one with "
                "--grade-column"
                if found
                else "no column of grades before one with the maximum: is the "
                "assignment graded by points, not by a scale?"
            )
        )
    return next(iter(found.items()))


def match(sheet: Sheet, roster: Roster) -> tuple[dict[int, Member], dict[int, str]]:
    """Return each row's student, and why a row has none.

    By the participant's number, else by an address, ID number or user name in the row, else by a
    name that is unique here and there.
    """
    table = sheet.table
    rows = [row for row in table.rows if sheet.number(row)]
    names = Counter(slug(table.get(row, sheet.name)) for row in rows)
    matched, without, used = {}, {}, {}
    for row in rows:
        found = only(roster.by("participant", sheet.number(row)))
        personal = range(sheet.participant + 1, sheet.grade)
        for key in ("email", "sis_user_id", "login"):
            for column in personal:
                cell = table.get(row, column).strip()
                people = roster.by_folded(key, cell) if column != sheet.name else []
                found = found or only(
                    [m for m in people if m.participant in ("", sheet.number(row))]
                )
        name = table.get(row, sheet.name)
        if found is None and names[slug(name)] == 1:
            found = only(roster.by_name(name))
            if found is not None and found.participant not in ("", sheet.number(row)):
                found = None
        if found is None:
            without[row] = "not in the gradebook here, or several have this name"
        elif found.id in used:
            without[row] = f"row {used[found.id] + 1} is {found.id}, too"
        else:
            used[found.id] = row
            matched[row] = found
    return matched, without


def fill(
    sheet: Sheet,
    scores: list[Score],
    roster: Roster,
    report: Report,
    *,
    decimal: str | None = None,
) -> bytes:
    """Return the worksheet with the grades in it; nothing else in the file changes."""
    by_student = {score.member.id: score for score in scores}
    matched, without = match(sheet, roster)
    done = set()
    for row, member in matched.items():
        where = shown(sheet.table.get(row, sheet.participant), 60)
        score = by_student.get(member.id)
        done.add(member.id)
        if score is None:
            continue
        before = sheet.table.get(row, sheet.grade)
        if score.points > sheet.most:
            report.add(
                Verdict.REFUSED,
                member.id,
                where,
                f"{score.text()} is above the maximum "
                f"{sheet.most}, which Moodle leaves out without a word",
            )
            continue
        sheet.table.set(row, sheet.grade, score.text(decimal or sheet.decimal))
        sent(report, score, where, before.replace(",", "."))
    for row, reason in without.items():
        where = shown(sheet.table.get(row, sheet.participant), 60)
        report.add(Verdict.SKIPPED, "", where, reason)
    for student in sorted(by_student.keys() - done):
        report.add(
            Verdict.REFUSED,
            student,
            "",
            f"not in {sheet.table.name}, or not to be told apart",
        )
    return sheet.table.to_bytes()


def link(sheet: Sheet, roster: Roster) -> int:
    """Note each student's number in this assignment; return how many are known now."""
    matched, _ = match(sheet, roster)
    for row, member in matched.items():
        roster.put(merge(member, participant=sheet.number(row)))
    return len(matched)


def sheet_roster(sheet: Sheet) -> Roster:
    """Return the students of a worksheet, by address where it has one, else by name.

    An anonymous one has neither: its participants are students of their own.
    """
    roster = Roster()
    table = sheet.table
    for row in table.rows:
        if not sheet.number(row):
            continue
        if sheet.name is None:
            words = re.findall(r"\w+", table.get(row, sheet.participant).casefold())
            roster.add(Member("-".join(words), participant=sheet.number(row)))
            continue
        first, last = split_name(clean(table.get(row, sheet.name)))
        cells = [
            table.get(row, c).strip() for c in range(sheet.participant + 1, sheet.grade)
        ]
        email = next(
            (cell for cell in cells if cell.count("@") == 1 and " " not in cell), ""
        )
        name = email or "-".join(re.findall(r"\w+", f"{first} {last}".casefold()))
        if name in roster.members:
            raise Problem(
                f"{table.name}: row {row + 1}: {name} stands there twice: give a roster "
                "with ids"
            )
        roster.add(Member(name, first, last, email, participant=sheet.number(row)))
    return roster
