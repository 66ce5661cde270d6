"""The roster: students and the names and numbers by which each LMS knows them.

`roster.csv` is a table with nbgrader's columns (`nbgrader db student import` reads it as it is)
and those that only an LMS needs. It may have been saved by a spreadsheet program: with
semicolons, a byte order mark, or in the encoding of an old Windows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from grading.gradebook.spreadsheet import guarded, is_formula
from grading.lms.files.csv_files import Table, make_table, read_table, write_whole
from grading.lms.outcome import Problem, shown

#: What Canvas calls the student of its "student view" in a gradebook.
TEST_STUDENT = "Student, Test"
#: Names that Windows keeps for devices, with or without an ending.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
#: What breaks nbgrader's files, a path, or a file system.
FORBIDDEN = set('/\\:*?"<>|+,')


@dataclass(frozen=True)
class Member:
    """A student: `id` is the folder below submitted/; the rest is "" where it isn't known.

    `lms_user_id` is Canvas's ID, or Moodle's id of the user. `participant` is the number by which
    Moodle calls the student in one assignment ("Participant 17"): another one in the next.
    """

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    sis_user_id: str = ""
    login: str = ""
    participant: str = ""

    @property
    def full_name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def sortable_name(self) -> str:
        """Last and first name, as Canvas sorts them."""
        return ", ".join(part for part in (self.last_name, self.first_name) if part)


FIELDS = tuple(field.name for field in fields(Member))

#: The headings that other tables have for these fields, in lower case.
HEADINGS = {
    "student_id": "id",
    "student id": "id",
    "username": "login",
    "sis login id": "login",
    "first name": "first_name",
    "firstname": "first_name",
    "given name": "first_name",
    "last name": "last_name",
    "lastname": "last_name",
    "surname": "last_name",
    "family name": "last_name",
    "email address": "email",
    "e-mail": "email",
    "id number": "sis_user_id",
    "sis user id": "sis_user_id",
    "identifier": "participant",
    "vorname": "first_name",
    "nachname": "last_name",
    "e-mail-adresse": "email",
    "anmeldename": "login",
    "benutzername": "login",
    "id-nummer": "sis_user_id",
    "matrikelnummer": "sis_user_id",
    "vollständiger name": "name",
    "full name": "name",
    "student": "name",
    "name": "name",
}


class Roster:
    """The students, found by what an LMS calls them."""

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self.members: dict[str, Member] = {}
        self._index: dict[tuple[str, str], dict[str, None]] = {}
        for member in members:
            self.put(member)

    def __len__(self) -> int:
        return len(self.members)

    def add(self, member: Member) -> None:
        """Add a student, or replace one of the same id.

        Raises:
            Problem: if the id can't be a folder's name.

        """
        problem = id_problem(member.id)
        if problem:
            raise Problem(f"student id {shown(member.id, 80)!r}: {problem}")
        self.put(member)

    def put(self, member: Member) -> None:
        """Add a student, or replace one of the same id, whatever the id."""
        old = self.members.get(member.id)
        for key in _keys(old) if old is not None else ():
            self._index.get(key, {}).pop(member.id, None)
        self.members[member.id] = member
        for key in _keys(member):
            self._index.setdefault(key, {})[member.id] = None

    def by(self, key: str, text: str) -> list[Member]:
        """Return the students with this value of a field."""
        return [m for m in self.by_folded(key, text) if getattr(m, key) == text]

    def by_folded(self, key: str, text: str) -> list[Member]:
        """Return the students with this value of a field, in upper or lower case."""
        return self._found((key, text.casefold())) if text else []

    def by_name(self, name: str) -> list[Member]:
        """Return the students of this name, in either order, whatever case and punctuation."""
        wanted = slug(name)
        return self._found(("name", wanted)) if wanted else []

    def _found(self, key: tuple[str, str]) -> list[Member]:
        return [self.members[student] for student in self._index.get(key, ())]

    def to_bytes(self) -> bytes:
        """Return roster.csv, without the numbers that hold for one assignment only."""
        people = sorted(
            self.members.values(), key=lambda m: (m.last_name, m.first_name, m.id)
        )
        rows = [[guarded(text) for text in astuple(member)[:-1]] for member in people]
        return make_table([list(FIELDS[:-1]), *rows])

    def write(self, path: Path) -> None:
        """Write roster.csv as a whole."""
        write_whole(path, self.to_bytes())


def slug(name: str) -> str:
    """Return a name's letters and digits, without case and accents."""
    spread = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in spread if c.isalnum())


def _keys(member: Member) -> Iterable[tuple[str, str]]:
    """Yield under which keys a student is found."""
    for name in FIELDS:
        if text := getattr(member, name):
            yield name, text.casefold()
    for text in slugs(member):
        yield "name", text


def slugs(member: Member) -> set[str]:
    """Return what a student's name can look like to `slug`."""
    first, last = member.first_name, member.last_name
    return {slug(first + last), slug(last + first)} - {""}


def id_problem(name: str) -> str:
    """Return why a student's id can't be the name of a folder here, "" if it can."""
    if not name:
        return "empty"
    if len(name) > 128 or len(name.encode("utf-8", "replace")) > 240:
        return "longer than 128 characters"
    odd = sorted({c for c in name if c in FORBIDDEN or not c.isprintable()})
    if odd:
        return f"{' '.join(shown(c) for c in odd)} can't stand in it"
    if name[0] in ". " or name[-1] in ". ":
        return "it begins or ends with a dot or a blank"
    if DEVICES.fullmatch(name):
        return "Windows keeps this name for a device"
    return ""


def read_roster(
    path: Path, columns: dict[str, str] | None = None, id_from: str = ""
) -> Roster:
    """Read a roster: roster.csv itself, a Canvas gradebook, or a table that Moodle exported.

    Args:
        path: the CSV file.
        columns: headings by field, for tables with headings of their own.
        id_from: the field that becomes the student's id where the table has no column for it.

    Raises:
        Problem: if it can't be read, an id is missing or twice there, or not a folder's name.

    """
    table = read_table(path)
    places = _places(table, columns or {})
    if "id" not in places and not id_from:
        id_from = next(
            (
                name
                for name in (
                    "login",
                    "email",
                    "sis_user_id",
                    "lms_user_id",
                    "participant",
                )
                if name in places
            ),
            "",
        )
    if "id" not in places and id_from not in places:
        known = ", ".join(table.headings[:12])
        raise Problem(
            f"{path.name}: no column with the students' ids. It has: {shown(known)}. "
            "Name one with --columns id=HEADING"
        )
    roster = Roster()
    folded: dict[str, int] = {}
    for row in table.rows:
        if not any(
            table.get(row, column).strip() for column in range(len(table.raw[row]))
        ):
            continue
        member = _member(table, row, places, id_from)
        if member is None:
            continue
        if key := folded.get(member.id.casefold()):
            raise Problem(
                f"{path.name}: row {row + 1}: the id {shown(member.id, 80)!r} stands in "
                f"row {key}, too (upper and lower case count as one)"
            )
        folded[member.id.casefold()] = row + 1
        try:
            roster.add(member)
        except Problem as error:
            raise Problem(f"{path.name}: row {row + 1}: {error}") from None
    if not len(roster):
        raise Problem(f"{path.name}: nobody in it")
    return roster


def is_test_student(name: str, found: dict[str, str]) -> bool:
    """Tell whether a row is Canvas's student for trying out: no SIS id, a hash for a login."""
    login = found.get("login", "")
    return (
        name == TEST_STUDENT
        and not found.get("sis_user_id")
        and (not login or re.fullmatch("[0-9a-f]{40}", login) is not None)
    )


def is_canvas(headings: list[str]) -> bool:
    """Tell whether these are the headings of Canvas's gradebook."""
    return (
        "Section" in headings
        and "ID" in headings
        and (headings[0] == "Student" or headings[:2] == ["LastName", "FirstName"])
    )


def _places(table: Table, columns: dict[str, str]) -> dict[str, int]:
    """Return which column holds which field; "name" is a full name."""
    headings, places = table.headings, {}
    canvas = is_canvas(headings)
    for column, heading in enumerate(headings):
        key = heading.casefold().replace("\N{NO-BREAK SPACE}", " ")
        if canvas and key == "id":
            key = "lms_user_id"
        name = HEADINGS.get(key, key)
        if name in (*FIELDS, "name"):
            places.setdefault(name, column)
    for name, heading in columns.items():
        if name not in (*FIELDS, "name"):
            raise Problem(
                f"--columns: {name}: expected one of {', '.join(FIELDS)}, name"
            )
        if heading not in headings:
            raise Problem(f"--columns: {table.name} has no column {heading!r}")
        places[name] = headings.index(heading)
    if (
        "id" in places
        and columns.get("id") is None
        and places.get("name") is not None
        and (
            headings[places["id"]].casefold() == "id"
            and "section" in map(str.casefold, headings)
        )
    ):
        del places["id"]  # Canvas's
    return places


def _member(
    table: Table, row: int, places: dict[str, int], id_from: str
) -> Member | None:
    """Return one row's student; None for a row of Canvas's that is no student."""
    found = {
        name: _unguarded(clean(table.get(row, column)))
        for name, column in places.items()
    }
    name = found.pop("name", "")
    if is_canvas(table.headings):
        if "Points Possible" in table.get(row, 0) or not any(
            table.get(row, column).strip() for column in range(2)
        ):
            return None
        name = _unquoted(name)
        if is_test_student(name, found):
            return None
    if found.get("participant"):
        found["participant"] = (re.findall(r"\d+", found["participant"]) or [""])[-1]
    if name and not (found.get("first_name") or found.get("last_name")):
        found["first_name"], found["last_name"] = split_name(name)
    if "id" not in places:
        found["id"] = found.get(id_from, "") or found.get("lms_user_id", "")
    if not found.get("id"):
        raise Problem(f"{table.name}: row {row + 1}: no id")
    return Member(**found)


def clean(text: str) -> str:
    """Return a cell's text as one line, in the usual form of its letters."""
    text = unicodedata.normalize("NFC", text)
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _unquoted(name: str) -> str:
    """Return a name that Canvas wrote as ="=…", because a spreadsheet would compute it."""
    return (
        name[2:-1]
        if name.startswith('="') and name.endswith('"') and len(name) > 3
        else name
    )


def _unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text.startswith("'") and is_formula(text.lstrip("'")) else text


def split_name(name: str) -> tuple[str, str]:
    """Return the first and last name of "Last, First" or "First Last"."""
    if "," in name:
        last, _, first = name.partition(",")
        return first.strip(), last.strip()
    first, _, last = name.strip().rpartition(" ")
    return (first, last) if first else (last, "")


def merge(old: Member, **known: str) -> Member:
    """Return a student with what was not known before."""
    return replace(
        old,
        **{key: text for key, text in known.items() if text and not getattr(old, key)},
    )
