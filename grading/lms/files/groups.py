"""Who hands in together: a table of groups, as Canvas exports its own."""

from __future__ import annotations

from pathlib import Path

from grading.lms.files.csv_files import read_table
from grading.lms.files.roster import Roster
from grading.lms.outcome import Problem, shown

GROUP = ("group_name", "group", "groups", "gruppe", "gruppen", "team")
#: In Canvas's table, `user_id` is the SIS id, and `canvas_user_id` is Canvas's own.
KEYS = {
    "canvas_user_id": "lms_user_id",
    "lms_user_id": "lms_user_id",
    "id": "id",
    "student_id": "id",
    "user_id": "sis_user_id",
    "sis_user_id": "sis_user_id",
    "login_id": "login",
    "login": "login",
    "email": "email",
    "e-mail-adresse": "email",
}


def read_groups(
    path: Path, roster: Roster
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the students of each group, and a line for each row that names nobody.

    Raises:
        Problem: if there is no column for the group or for the student, or somebody is in two.

    """
    table = read_table(path)
    headings = [heading.casefold() for heading in table.headings]
    places = [headings.index(name) for name in GROUP if name in headings]
    keys = [
        (headings.index(name), key) for name, key in KEYS.items() if name in headings
    ]
    if not places or not keys:
        raise Problem(
            f"{path.name}: expected a column group_name, and one of "
            f"{', '.join(KEYS)}; it has: {shown(', '.join(table.headings))}"
        )
    groups: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    lost = []
    for row in table.rows:
        name = table.get(row, places[0]).strip()
        cells = [(key, table.get(row, column).strip()) for column, key in keys]
        found = next(
            (some for key, cell in cells if (some := roster.by(key, cell))), []
        )
        if not name:
            continue
        if len(found) != 1:
            named = " ".join(cell for _, cell in cells if cell)
            lost.append(f"row {row + 1}, {shown(named, 60)}: nobody here")
            continue
        student = found[0].id
        if where.setdefault(student, name) != name:
            raise Problem(
                f"{path.name}: row {row + 1}: {student} is in {where[student]}, too"
            )
        if student not in groups.setdefault(name, []):
            groups[name].append(student)
    return {name: tuple(members) for name, members in groups.items()}, lost
