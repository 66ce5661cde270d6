"""What Canvas's and Moodle's importers do with a file, written from their documented behaviour.

They share no code with what is tested: CSV goes through Python's own strict parser.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import dataclass, field


class Rejected(Exception):
    """The importer stops; nothing is imported."""


def rows_of(data: bytes, separator: str = ",") -> list[list[str]]:
    """Return the rows of a CSV file in UTF-8."""
    text = data.decode("utf-8-sig")
    try:
        return list(
            csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        )
    except csv.Error as error:
        raise Rejected(f"malformed: {error}") from error


@dataclass(frozen=True)
class CanvasUser:
    """A student of a Canvas course."""

    id: int
    name: str
    sortable: str
    sis: str = ""
    login: str = ""


@dataclass
class CanvasCourse:
    """A Canvas course: its students, and its assignments by id."""

    users: list[CanvasUser]
    assignments: dict[int, str]
    grades: dict[tuple[int, int], str] = field(default_factory=dict)
    new_assignments: list[str] = field(default_factory=list)
    new_students: list[str] = field(default_factory=list)
    points: dict[int, str] = field(default_factory=dict)

    def upload(self, data: bytes) -> None:
        """Import a gradebook."""
        first = data.decode("utf-8-sig").splitlines()[:3]
        consistent = {}
        for mark in ",;":
            counts = {
                len(row) for line in first for row in csv.reader([line], delimiter=mark)
            }
            consistent[mark] = counts.pop() if len(counts) == 1 else 0
        mark = ";" if consistent[";"] > consistent[","] else ","
        header, *rows = rows_of(data, mark)
        if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1]:
            raise Rejected("invalid header row")
        places, info = {}, 2
        for column, name in enumerate(header[2:5], 2):
            if name in ("SIS User ID", "SIS Login ID"):
                places[name] = column
                info = column + 1
        if "Section" not in header[info]:
            raise Rejected("invalid header row: no Section")
        columns = {}
        for column in range(info + 1, len(header)):
            if re.search(
                "(Current|Final|Override) (Score|Points|Grade)", header[column]
            ):
                continue
            match = re.fullmatch(r"(.*)\s\((\d+)\)", header[column])
            if match and int(match[2]) in self.assignments:
                columns[column] = int(match[2])
                continue
            same = [
                key
                for key, title in self.assignments.items()
                if title == header[column]
            ]
            if same:
                columns[column] = same[0]
            else:
                self.new_assignments.append(header[column])
        for row in rows:
            if all(not cell.strip() for cell in row):
                continue
            if "Points Possible" in row[0]:
                self.points = {
                    key: row[c] for c, key in columns.items() if c < len(row)
                }
            elif not all(
                re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", c) for c in row
            ):
                self._student(row, places, columns)

    def _student(
        self, row: list[str], places: dict[str, int], columns: dict[int, int]
    ) -> None:
        number = re.match(
            r"\s*(-?\d+)", row[1]
        )  # as Ruby's to_i: what follows is ignored
        found = [u for u in self.users if row[1] and number and u.id == int(number[1])]
        for key, name in (("SIS User ID", "sis"), ("SIS Login ID", "login")):
            if not found and key in places and row[places[key]]:
                found = [u for u in self.users if getattr(u, name) == row[places[key]]]
        if not found:
            found = [u for u in self.users if row[0] in (u.name, u.sortable)]
        if not found:
            self.new_students.append(row[0])
            return
        for column, key in columns.items():
            grade = row[column].strip() if column < len(row) else ""
            if re.fullmatch(r"-?[0-9.,]+%?", grade):
                parts = re.split("[,.]", grade)
                grade = (
                    "".join(parts[:-1]) + "." + parts[-1] if len(parts) > 1 else grade
                )
            if grade == "":
                self.grades.pop((found[0].id, key), None)  # a blank cell clears a grade
            else:
                self.grades[found[0].id, key] = grade

    def scores(self, key: int) -> dict[int, str]:
        """Return the grades of one assignment."""
        return {
            user: grade for (user, found), grade in self.grades.items() if found == key
        }


def moodle_gradebook(
    data: bytes, users: set[str], *, unlimited: bool = False
) -> dict[str, float]:
    """Import a gradebook: the first column maps to users, the second to grades; all or nothing."""
    header, *rows = rows_of(data)
    if len(header) < 2:
        raise Rejected("fewer than two columns")
    grades: dict[str, float] = {}
    user = None
    for row in rows:
        if len(row) != len(header):
            raise Rejected("a row has another number of fields")
        if row[0] not in ("", "0"):  # PHP: both are empty
            user = row[0]
            if user not in users:
                raise Rejected(f"unknown user {user!r}")
        if user is None:
            raise Rejected("no user")
        if row[1] in ("", "-"):
            continue
        if not re.fullmatch(r"-?\d+(\.\d+)?", row[1]):
            raise Rejected(f"bad grade {row[1]!r}")
        if float(row[1]) > 100 and not unlimited:
            raise Rejected("grade too large")
        grades[user] = float(row[1])
    return grades


def moodle_worksheet(
    data: bytes,
    headings: tuple[str, str, str],
    word: str,
    decimal: str,
    most: float,
    separator: str = ",",
) -> dict[int, float]:
    """Import a worksheet; `headings` are those of id, grade and time in the site's language."""
    header, *rows = rows_of(data, separator)
    try:
        number, grade, _ = (header.index(name) for name in headings)
    except ValueError:
        raise Rejected("invalid worksheet") from None
    grades = {}
    for row in rows:
        if len(row) != len(header):
            raise Rejected("a row has another number of fields")
        text = row[grade].replace(" ", "").replace(decimal, ".")
        match = re.match(
            r"-?\d+(\.\d+)?", text
        )  # PHP's (float): what follows is ignored
        participant = row[number][len(word) :]
        if text and match and 0 <= float(match[0]) <= most and participant.isdigit():
            grades[int(participant)] = float(match[0])
    return grades


def moodle_feedback(data: bytes, participants: set[int]) -> dict[int, list[str]]:
    """Return which files Moodle would attach for which participant."""
    found: dict[int, list[str]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if parts[-1][0] in ".~":
                continue
            while parts:
                info = parts.pop(0).split("_", 4)
                if (
                    len(info) < 4
                    or not info[1].isdigit()
                    or int(info[1]) not in participants
                ):
                    continue
                if (info[2], info[3]) not in {
                    ("assignsubmission", "file"),
                    ("assignfeedback", "file"),
                }:
                    continue
                rest = [*info[4:], *parts]
                found.setdefault(int(info[1]), []).append(
                    "/".join(p for p in rest if p)
                )
                break
    return found


def canvas_feedback(data: bytes, attachments: dict[int, int]) -> dict[int, str]:
    """Return which file Canvas would attach for which user; attachments: their user by number."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for path in archive.namelist():
            name = path.rpartition("/")[2]
            parts = name.split("_")
            numbers = [int(part) for part in parts if re.fullmatch(r"\d+", part)][:2]
            if (
                len(numbers) < 2
                or parts[-1].startswith("link")
                or name.startswith("._")
            ):
                continue
            if attachments.get(numbers[1]) == numbers[0]:
                found[numbers[0]] = path
    return found


def spreadsheet_computes(text: str) -> bool:
    """Tell whether a spreadsheet program would run what a cell holds, and not show it."""
    bare = text.lstrip(" \t\r\n")
    if not bare or bare.startswith("'"):
        return False
    if bare[0] in "=@":
        return True
    # + and - begin a formula, too; without a call, a link or a reference it does nothing.
    return bare[0] in "+-" and re.search(r"[()|!\d]", bare) is not None
