"""When each student handed in: from a table, Moodle's worksheet, or what Canvas's API answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from grading.lms.files import moodle
from grading.lms.files.csv_files import Table, parse_table, read_bytes
from grading.lms.files.roster import Member, Roster
from grading.lms.outcome import Problem, shown

#: The headings of a table of times, and those that name a student.
WHEN = ("submitted_at", "timestamp", "time")
KEYS = {
    "id": "id",
    "student": "id",
    "student_id": "id",
    "lms_user_id": "lms_user_id",
    "sis_user_id": "sis_user_id",
    "email": "email",
    "login": "login",
}
#: How the months begin that Moodle writes, and where German differs.
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
GERMAN = {"jän": "jan", "mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
MOODLE = re.compile(
    r"(?P<day>\d{1,2})\.?\s+(?P<month>[^\W\d]{3,})\.?\s+(?P<year>\d{4}),?\s+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[AaPp]\.?[Mm])?"
)

#: A student's text in the file, the place there, and the time.
Found = Iterator[tuple[str, list[Member], datetime]]


def read_times(
    path: Path, roster: Roster, zone: tzinfo | None = None
) -> tuple[dict[str, datetime], list[str]]:
    """Return when each student handed in, and a line for each row that names nobody, or several.

    Args:
        path: a CSV file with a column for the time and one for the student; Moodle's worksheet; or
            the JSON of Canvas's `/api/v1/courses/…/assignments/…/submissions`.
        roster: the students. Where it has nobody, each id of a table counts.
        zone: of times that name none; a worksheet's are those of whoever exported it.

    Raises:
        Problem: if a time can't be read, naming the row.

    """
    data = read_bytes(path)
    text = data.removeprefix(b"while(1);").lstrip()
    if text[:1] in (b"[", b"{"):
        found = _canvas(text, path.name, roster)
    else:
        table = parse_table(data, path.name)
        headings = [heading.casefold() for heading in table.headings]
        when = next((headings.index(name) for name in WHEN if name in headings), None)
        if when is None:
            found = _worksheet(table, roster, zone)
        else:
            found = _rows(table, when, roster, zone)
    times: dict[str, datetime] = {}
    lost = []
    for who, members, time in found:
        if len(members) == 1:
            times[members[0].id] = time
        else:
            several = ", ".join(sorted(member.id for member in members))
            lost.append(
                f"{who}: {f'{several} could be meant' if several else 'nobody here'}"
            )
    return times, lost


def _rows(table: Table, when: int, roster: Roster, zone: tzinfo | None) -> Found:
    """Yield the rows of a table with a heading for the time."""
    keys = [
        (column, KEYS[name])
        for column, heading in enumerate(table.headings)
        if (name := heading.casefold()) in KEYS
    ]
    if not keys:
        raise Problem(f"{table.name}: expected a column of {', '.join(KEYS)}")
    for row in table.rows:
        text = table.get(row, when).strip()
        if not text:
            continue
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise Problem(
                f"{table.name}: row {row + 1}: expected a time such as "
                f"2026-01-31T23:59:00+01:00, got {text[:60]!r}"
            ) from None
        cells = [(key, table.get(row, column).strip()) for column, key in keys]
        members: dict[str, Member] = {}
        for key, cell in cells:
            members |= {member.id: member for member in roster.by(key, cell)}
            if key == "id" and cell and not len(roster):
                members[cell] = Member(cell)
        named = " ".join(cell for _, cell in cells if cell)
        yield (
            f"row {row + 1}, {shown(named, 60)}",
            list(members.values()),
            time if time.tzinfo else time.replace(tzinfo=zone or UTC),
        )


def _canvas(data: bytes, name: str, roster: Roster) -> Found:
    """Yield what Canvas's API says of an assignment's submissions."""
    try:
        for one in json.loads(data):
            if one["submitted_at"] is not None:
                user = str(one["user_id"])
                time = datetime.fromisoformat(one["submitted_at"])
                yield (
                    f"Canvas's {shown(user, 40)}",
                    roster.by("lms_user_id", user),
                    time,
                )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(
            f"{name}: expected a list of submissions with user_id and submitted_at, as "
            f"Canvas's API answers it: {type(error).__name__}: {error}"
        ) from None


def _worksheet(table: Table, roster: Roster, zone: tzinfo | None) -> Found:
    """Yield Moodle's times of the last change of each submission."""
    try:
        sheet = moodle.sheet_of(table)
    except Problem:
        raise Problem(
            f"{table.name}: expected a column {WHEN[0]} beside one of {', '.join(KEYS)}, "
            "or Moodle's grading worksheet"
        ) from None
    if zone is None:
        raise Problem(
            f"{table.name}: Moodle's times name no zone: give --zone, as --zone Europe/Berlin"
        )
    column = _submitted(sheet)
    matched, _ = moodle.match(sheet, roster)
    for row in table.rows:
        text = table.get(row, column).strip()
        if text not in ("", "-"):
            who = f"row {row + 1}, {shown(table.get(row, sheet.participant), 60)}"
            members = [matched[row]] if row in matched else []
            yield who, members, moodle_time(text, zone)


def _submitted(sheet: moodle.Sheet) -> int:
    """Return the column of the submissions' times: the first with times behind the maximum.

    The grades' times stand in a later one, and both hold a dash where there is none.
    """
    table = sheet.table
    columns = []
    for column in range(sheet.grade + 2, len(table.headings)):
        cells = {table.get(row, column).strip() for row in table.rows} - {""}
        if cells and all(cell == "-" or MOODLE.search(cell) for cell in cells):
            columns.append(column)
    if len(columns) < 2:
        raise Problem(
            f"{table.name}: expected two columns with times behind the maximum, of the "
            f"submissions and of the grades, found {len(columns)}"
        )
    return columns[0]


def moodle_time(text: str, zone: tzinfo) -> datetime:
    """Return a time as Moodle writes it, as "Tuesday, 24 November 2026, 7:09 PM".

    Raises:
        Problem: if it is none, or its month is in another language than English or German.

    """
    found = MOODLE.search(text)
    begins = found["month"][:3].casefold() if found else ""
    place = MONTHS.find(GERMAN.get(begins, begins)) if begins else -1
    if place < 0:
        raise Problem(
            f"expected a time in English or German, as 24 November 2026, 19:09, got "
            f"{shown(text, 60)!r}: switch Moodle's language for the download"
        )
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + 12 * (found["half"][0] in "pP")
    try:
        return datetime(
            int(found["year"]),
            place // 4 + 1,
            int(found["day"]),
            hour,
            int(found["minute"]),
            tzinfo=zone,
        )
    except ValueError as error:
        raise Problem(f"{shown(text, 60)!r} is no time: {error}") from None
