"""Canvas's gradebook CSV: written anew, or filled into one that Canvas exported.

What Canvas's importer does with it: the first row must begin with Student and ID and have Section;
a column `Title (id)` is an assignment, one with an unknown id a new one. A row is a student by ID,
else SIS User ID, SIS Login ID, name. `EX` is excused. A blank cell clears a grade that is there;
a column that is not in the file stays as it is. So only the columns that identify students and the
assignment's own are written, and anew only rows with a score.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from grading.gradebook.spreadsheet import is_formula
from grading.lms.files.csv_files import Table, make_table, safe
from grading.lms.files.exports import (
    Score,
    only,
    read_number,
    sent,
    twins,
    write_number,
)
from grading.lms.files.roster import Member, Roster, clean, is_canvas, slugs
from grading.lms.outcome import Problem, Report, Verdict, shown

HEADINGS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
#: Canvas takes a row with this in its first cell for the one with the maximum.
MAXIMUM = "Points Possible"
#: A heading with one of these in it is a sum of Canvas's own, never an assignment.
SUMS = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")
TITLE = re.compile(r"(?P<title>.*)\s\((?P<id>\d+)\)", re.DOTALL | re.ASCII)
#: What stands in a cell instead of a score, and stays.
KEPT = {"EX": "excused in Canvas", "N/A": "not assigned to this student in Canvas"}


def heading(title: str, number: str | None) -> str:
    """Return a column's heading, "Title (id)".

    Raises:
        Problem: if Canvas would not take it for this assignment.

    """
    text = clean(title)
    if not text or is_formula(text):
        raise Problem(
            f"title {shown(title, 60)!r}: empty, or a formula for a spreadsheet"
        )
    if SUMS.search(text) or text in (
        *HEADINGS,
        "LastName",
        "FirstName",
        "Integration ID",
        "Root Account",
    ):
        raise Problem(
            f"title {text!r}: Canvas takes a column of this name for one of its own"
        )
    if number is not None and not (number.isascii() and number.isdigit()):
        raise Problem(
            f"assignment id: expected digits, as in the assignment's address, got "
            f"{shown(number, 40)!r}"
        )
    return f"{text} ({number})" if number else text


def gradebook(
    scores: list[Score], column: str, most: Decimal, everyone: Roster, report: Report
) -> bytes:
    """Return a gradebook with one assignment and the students who have a score.

    Args:
        scores: what is sent.
        column: the heading, as `heading` makes it.
        most: the points possible.
        everyone: to know which names are unique.
        report: takes a line a student.

    """
    rows = [
        [*HEADINGS, column],
        [f"    {MAXIMUM}", "", "", "", "", write_number(most)],
    ]
    made = [_row(score.member, everyone) for score in scores]
    shared = twins(
        [
            tuple(f"{index}:{part}" for index, part in enumerate(row[1:4]) if part)
            for row, _ in made
        ]
    )
    for place, (score, (row, problem)) in enumerate(zip(scores, made, strict=True)):
        if not problem and place in shared:
            problem = "shares its number, SIS id or login with another student"
        if problem:
            report.add(Verdict.REFUSED, score.member.id, "", problem)
        else:
            rows.append([*row, "", score.text()])
            sent(report, score, column)
    return make_table(rows)


def _row(member: Member, everyone: Roster) -> tuple[list[str], str]:
    """Return the cells by which Canvas finds a student, and why it would not."""
    number = member.lms_user_id
    if number and not (number.isascii() and number.isdigit()):
        return [], f"lms_user_id: expected Canvas's number, got {shown(number, 40)!r}"
    sis, login = member.sis_user_id, member.login
    if number:
        sis, login = ("" if is_formula(part) else part for part in (sis, login))
    elif is_formula(sis) or is_formula(login):
        return (
            [],
            "no lms_user_id, and its SIS id or login is a formula for a spreadsheet",
        )
    name = member.sortable_name
    if not (number or sis or login):
        if not name:
            return (
                [],
                "neither lms_user_id, sis_user_id, login nor name: write one into the roster",
            )
        if len(everyone.by_name(name)) > 1:
            return (
                [],
                "found by name only, and others have it: write lms_user_id into the roster",
            )
        if safe(name) != name:
            return [], "found by name only, and the name is a formula for a spreadsheet"
    if MAXIMUM in name:
        name = f"student {number or sis or login}"
    return [safe(name), number, sis, login], ""


@dataclass(frozen=True)
class Columns:
    """Where things stand in a gradebook that Canvas exported."""

    info: list[int]
    names: tuple[int, ...]
    number: int
    sis: int | None
    login: int | None
    grade: int
    title: str


def find_columns(table: Table, title: str, number: str | None) -> Columns:
    """Return the columns of an exported gradebook; the assignment's by its id, else its title.

    Raises:
        Problem: if it isn't one, or hasn't the assignment.

    """
    headings = table.headings
    if len(headings) < 4 or not is_canvas(headings):
        raise Problem(
            f"{table.name}: not a gradebook that Canvas exported: its first row doesn't "
            "begin with Student,ID,…,Section"
        )
    info = list(range(headings.index("Section") + 1))
    found = {}
    for column in range(len(info), len(headings)):
        match = TITLE.fullmatch(headings[column])
        if match and not SUMS.search(headings[column]):
            found[column] = match
    wanted = [
        c for c, match in found.items() if number is not None and match["id"] == number
    ]
    if number is None:
        wanted = [
            c for c, m in found.items() if m["title"].casefold() == title.casefold()
        ]
        if not wanted and len(found) == 1:
            wanted = list(found)
    if len(wanted) != 1:
        known = "; ".join(shown(headings[column], 80) for column in found) or "none"
        raise Problem(
            f"{table.name}: {len(wanted)} columns for {number or title!r}. "
            f"Assignments in it: {known}. Name one with --column-id"
        )
    places = {name: headings.index(name) for name in HEADINGS if name in headings}
    names = (0, 1) if headings[0] == "LastName" else (0,)
    return Columns(
        info,
        names,
        headings.index("ID"),
        places.get("SIS User ID"),
        places.get("SIS Login ID"),
        wanted[0],
        headings[wanted[0]],
    )


def points_possible(table: Table, columns: Columns) -> Decimal | None:
    """Return the assignment's maximum in Canvas, if the file tells it.

    Raises:
        Problem: if the column can only be read.

    """
    for row in table.rows:
        if _is_maximum(table, columns, row):
            text = table.get(row, columns.grade)
            if re.search(r"read\s+only", text):
                raise Problem(
                    f"{columns.title}: Canvas says that this column is read only"
                )
            return read_number(text)
    return None


def _is_maximum(table: Table, columns: Columns, row: int) -> bool:
    """Tell whether a row has the points possible; a student of that name has a number, too."""
    number = table.get(row, columns.number).strip()
    return MAXIMUM in table.get(row, 0) and not number.isdigit()


def is_student(table: Table, columns: Columns, row: int) -> bool:
    """Tell whether a row is a student's."""
    cells = [table.get(row, column) for column in range(len(table.raw[row]))]
    return not _is_maximum(table, columns, row) and not all(
        re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE)
        for cell in cells
    )


def fill(
    table: Table, columns: Columns, scores: list[Score], roster: Roster, report: Report
) -> bytes:
    """Return an exported gradebook with one assignment's scores, and without the others.

    Students without a score are left out: Canvas would take their cells, which are as old as the
    export, for new grades.
    """
    by_student = {score.member.id: score for score in scores}
    rows = [row for row in table.rows if is_student(table, columns, row)]
    matched = _match(table, columns, rows, roster, report)
    done, written = set(), set()
    for row, member in matched.items():
        name = shown(_name(table, columns, row), 80)
        before = table.get(row, columns.grade).strip()
        score = by_student.get(member.id)
        done.add(member.id)
        if score is not None and before.upper() in KEPT:
            report.add(
                Verdict.SKIPPED, member.id, name, f"{KEPT[before.upper()]}: it stays"
            )
        elif score is not None:
            table.raw[row] += [""] * (columns.grade + 1 - len(table.raw[row]))
            table.set(row, columns.grade, score.text())
            written.add(row)
            sent(report, score, name, before)
    for student in by_student.keys() - done:
        report.add(
            Verdict.REFUSED,
            student,
            "",
            f"not in {table.name}, or not to be told apart",
        )
    for row in rows:
        number = table.get(row, columns.number).strip()
        # Canvas goes by the number: names that a spreadsheet would compute can change, and one
        # by which Canvas would take the row for the maximum.
        for column in columns.names if number.isdigit() else ():
            name = table.get(row, column)
            if MAXIMUM in name:
                table.set(row, column, f"student {number}")
            elif is_formula(name):
                table.set(row, column, safe(name))
    return table.to_bytes([*columns.info, columns.grade], set(rows) - written)


def _match(
    table: Table, columns: Columns, rows: list[int], roster: Roster, report: Report
) -> dict[int, Member]:
    """Return each row's student, by ID, SIS id, login, and then by a name that is unique."""
    names: dict[str, int] = {}
    for row in rows:
        for key in _name_keys(table, columns, row):
            names[key] = names.get(key, 0) + 1
    matched: dict[int, Member] = {}
    used: dict[str, int] = {}
    for row in rows:
        sis, login = (
            table.get(row, columns.sis).strip(),
            table.get(row, columns.login).strip(),
        )
        found = (
            only(roster.by("lms_user_id", table.get(row, columns.number).strip()))
            or only(roster.by("sis_user_id", sis))
            or only(roster.by("login", login))
            or roster.members.get(sis)
            or roster.members.get(login)
        )
        if found is None:
            keys = _name_keys(table, columns, row)
            one = only(roster.by_name(_name(table, columns, row)))
            number = table.get(row, columns.number).strip()
            if (
                one is not None
                and all(names[key] == 1 for key in keys)
                and (one.lms_user_id in ("", number))
            ):
                found = one
        name = shown(_name(table, columns, row), 80)
        if found is None:
            report.add(Verdict.SKIPPED, "", name, "not in the gradebook here")
        elif found.id in used:
            report.add(
                Verdict.REFUSED,
                found.id,
                name,
                f"row {used[found.id] + 1} is the same student",
            )
        else:
            used[found.id] = row
            matched[row] = found
    return matched


def _name(table: Table, columns: Columns, row: int) -> str:
    """Return a row's sortable name, also where Canvas wrote it as ="=…"."""
    parts = [table.get(row, column) for column in columns.names]
    return ", ".join(
        part[2:-1] if part.startswith('="') and part.endswith('"') else part
        for part in parts
    )


def _name_keys(table: Table, columns: Columns, row: int) -> set[str]:
    """Return what a row's name can look like."""
    last, _, first = _name(table, columns, row).partition(",")
    return slugs(Member("", first, last))
