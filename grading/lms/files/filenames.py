"""Reads from a file's name in an LMS's zip whose it is.

A student chooses the name of the file and often the name that the LMS shows, so both may hold
what looks like somebody else's number. A name that can be read in two ways is settled by the
roster, or not at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grading.lms.files.archive import Entry


@dataclass(frozen=True)
class Claim:
    """One way to read a file's name.

    `owner` is the number by which the LMS knows the student ("" if it gives none), `name` the
    student's name as the LMS writes it there, `file` what the student called the file, `number`
    the LMS's own number of the file, which grows with time (Canvas).
    """

    entry: Entry
    owner: str
    name: str
    file: str
    number: int | None = None
    late: bool = False
    prefix: str = ""


#: Why a file of the zip is left out though its name can be read.
TEXT_ENTRY = "text typed into the LMS, not a notebook"


def canvas(entry: Entry) -> list[Claim]:
    """Return how a name of Canvas's zip can be read: `name[_LATE]_<user>_<file's number>_file`.

    Canvas leaves letters, digits and underscores of the sortable name, in lower case. A name or a
    file with numbers between underscores makes more than one reading.
    """
    parts = entry.parts[-1].split("_")
    claims = []
    for place in range(len(parts) - 2):
        user, number = parts[place], parts[place + 1]
        if user.isascii() and user.isdigit() and number.isascii() and number.isdigit():
            late = place > 0 and parts[place - 1] == "LATE"
            name = "_".join(parts[: place - 1] if late else parts[:place])
            file = "_".join(parts[place + 2 :])
            prefix = "_".join(parts[:place])
            claims.append(Claim(entry, user, name, file, int(number), late, prefix))
    return claims


def canvas_text(entry: Entry) -> bool:
    """Tell whether it is what Canvas writes for a text or a link instead of a file."""
    return bool(re.search(r"_\d+_(text|link)\.html$", entry.parts[-1]))


def canvas_anonymous(entry: Entry) -> bool:
    """Tell whether Canvas hid whose it is."""
    return bool(re.match(r"(LATE_)?anon_", entry.parts[-1]))


MOODLE = re.compile(
    r"(?P<name>.*?)_(?P<owner>\d+)_(?P<kind>assignsubmission|assignfeedback)_"
    r"(?P<plugin>[a-z]+)(?:_(?P<file>.*))?",
    re.DOTALL | re.ASCII,
)


def moodle(entry: Entry) -> tuple[Claim | None, str]:
    """Return how a name of Moodle's zip is read, and the kind of submission.

    `First Last_<participant>_assignsubmission_file_/file`, since 4.1 without the last underscore,
    or as one file name without a folder. Moodle writes no underscore into the name, so that the
    first place that fits is the right one.
    """
    for place, part in enumerate(entry.parts):
        found = MOODLE.fullmatch(part)
        if found:
            rest = [found["file"] or "", *entry.parts[place + 1 :]]
            file = "/".join(piece for piece in rest if piece)
            return Claim(
                entry,
                found["owner"].lstrip("0") or "0",
                found["name"].strip(),
                file,
                prefix=part,
            ), found["plugin"]
    return None, ""


def plain(entry: Entry, assignment: str, notebook: str, shift: int) -> Claim | None:
    """Return how a plain folder's name is read; None if it names nobody.

    `<student>/<assignment>/<notebook>`, `<student>/<notebook>`, `<student>_<notebook>` or
    `<student>.ipynb`, below `shift` folders that hold everything.
    """
    parts = entry.parts[shift:]
    if len(parts) == 1:
        stem = parts[0].rpartition(".")[0] or parts[0]
        wanted = notebook.rpartition(".")[0]
        for tail in (f"_{wanted}", f"-{wanted}"):
            if stem.endswith(tail) and len(stem) > len(tail):
                return Claim(entry, stem[: -len(tail)], "", notebook)
        return (
            Claim(entry, stem, "", notebook)
            if not same_notebook(parts[0], notebook)
            else None
        )
    if len(parts) > 2 and parts[1] != assignment and assignment in parts[1:-1]:
        return None
    if len(parts) > 2 and parts[1] == assignment:
        return Claim(entry, parts[0], "", "/".join(parts[2:]))
    return Claim(entry, parts[0], "", "/".join(parts[1:]))


def same_notebook(file: str, wanted: str) -> bool:
    """Tell whether a file has a notebook's name, perhaps with the number of a resubmission.

    Canvas adds -1, -2, browsers add (1).
    """
    stem, dot, ending = file.rpartition("/")[2].rpartition(".")
    goal = wanted.rpartition(".")[0].casefold()
    if not dot or ending.casefold() != "ipynb":
        return False
    stem = stem.casefold().strip()
    return (
        stem == goal
        or re.sub(r"(-\d{1,4}|[ _]?\(\d{1,3}\))$", "", stem).strip() == goal
    )


def order(file: str) -> int:
    """Return the number that a resubmission's name ends with, 0 if none."""
    found = re.search(r"-(\d{1,4})\.ipynb$", file, re.IGNORECASE)
    return int(found[1]) if found else 0


def shared_folders(entries: list[Entry], assignment: str, notebook: str) -> int:
    """Return how many folders hold everything, as in a zip made of a folder.

    The folder of a student, or of the assignment, isn't one of them.
    """
    tops = {entry.parts[0] for entry in entries}
    shortest = min((len(entry.parts) for entry in entries), default=1)
    if len(tops) != 1 or shortest < 2:
        return 0
    if any(len(e.parts) > 1 and e.parts[1] == assignment for e in entries):
        return 0  # <student>/<assignment>/…
    if shortest == 2:  # <folder>/<student>.ipynb, or one student's folder
        files = [
            entry.parts[-1]
            for entry in entries
            if entry.parts[-1].lower().endswith(".ipynb")
        ]
        return int(
            len(files) > 1 and not any(same_notebook(file, notebook) for file in files)
        )
    return 1
