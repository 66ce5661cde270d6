"""Matches the files of an archive with students."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from grading.lms.files import filenames
from grading.lms.files.archive import Entry, Source
from grading.lms.files.filenames import Claim
from grading.lms.files.roster import (
    Member,
    Roster,
    clean,
    id_problem,
    merge,
    slug,
    slugs,
    split_name,
)
from grading.lms.outcome import Problem, Report, Verdict

KINDS = ("canvas", "moodle", "folder")


@dataclass
class Sorted:
    """The files by student; `times` are nbgrader's timestamp.txt beside them."""

    files: dict[str, list[Claim]] = field(default_factory=dict)
    times: dict[str, Entry] = field(default_factory=dict)
    learned: dict[str, Member] = field(default_factory=dict)


class Sorter:
    """Tells whose file is whose.

    Args:
        roster: the students. If it is empty, everybody in the archive is taken.
        kind: "canvas", "moodle" or "folder".
        add_unknown: take also those that the roster hasn't.
        report: where a file that can't be placed gets its line.

    """

    def __init__(
        self, roster: Roster, kind: str, report: Report, *, add_unknown: bool = False
    ) -> None:
        self.roster, self.kind, self.report = roster, kind, report
        self.open = add_unknown or not len(roster)
        self.found = Sorted()
        self.owners: dict[str, str] = {}
        #: Names that Moodle gives to several: all have one where it hides them.
        self.shared: set[str] = set()

    def sort(self, source: Source, assignment: str, notebook: str) -> Sorted:
        """Return the files by student."""
        entries = list(source.entries())
        if self.kind == "moodle":
            self.shared = _shared_names(entries)
        shift = (
            filenames.shared_folders(entries, assignment, notebook)
            if self.kind == "folder"
            else 0
        )
        for entry in entries:
            if entry.problem:
                self.report.add(Verdict.REFUSED, "", entry.name, entry.problem)
                continue
            if self.kind == "folder":
                claim = filenames.plain(entry, assignment, notebook, shift)
                if claim is not None and claim.file == "timestamp.txt":
                    if (member := self._plain(claim)) is not None:
                        self.found.times[member.id] = claim.entry
                    continue
            else:
                claim = (
                    self._canvas(entry)
                    if self.kind == "canvas"
                    else self._moodle(entry)
                )
            if claim is not None:
                self._place(claim)
            elif self.kind == "folder":
                self._skip(entry, "its name names no student of this assignment")
        return self.found

    def _skip(self, entry: Entry, reason: str) -> None:
        self.report.add(Verdict.SKIPPED, "", entry.name, reason)

    def _refuse(self, entry: Entry, reason: str) -> None:
        self.report.add(Verdict.REFUSED, "", entry.name, reason)

    def _canvas(self, entry: Entry) -> Claim | None:
        """Return the right reading of a name of Canvas's, or None with a line."""
        claims = filenames.canvas(entry)
        if not claims:
            if filenames.canvas_anonymous(entry):
                self._refuse(
                    entry,
                    "Canvas hid whose it is: switch anonymous grading off, or "
                    "download again after the names are shown",
                )
            elif filenames.canvas_text(entry):
                self._skip(entry, filenames.TEXT_ENTRY)
            else:
                self._refuse(
                    entry, "not a name that Canvas gives: name_<user>_<number>_<file>"
                )
            return None
        # A run of numbers can be read in more ways than one; one further on is the file's name.
        first = claims[0].prefix.count("_") if claims[0].prefix else -1
        run = [
            claim
            for index, claim in enumerate(claims)
            if (claim.prefix.count("_") if claim.prefix else -1) == first + index
        ]
        if any(self._is_test_student(claim) for claim in run):
            self._skip(entry, "handed in by Canvas's Test Student, who is nobody")
            return None
        if len(run) == 1:
            other = self._named(claims[0])
            if other is not None:
                self._refuse(entry, other)
                return None
            return claims[0]
        sure = [claim for claim in run if self._fits(claim)]
        if len(sure) != 1:
            self._refuse(
                entry,
                "numbers in its name make it unclear whose it is: give a roster "
                "with lms_user_id and names, or place it by hand",
            )
            return None
        return sure[0]

    def _is_test_student(self, claim: Claim) -> bool:
        """Tell whether it is of Canvas's student view, whom no roster has."""
        return claim.name == "teststudent" and not self.roster.by(
            "lms_user_id", claim.owner
        )

    def _fits(self, claim: Claim) -> bool:
        """Tell whether the roster has this number with this name."""
        return any(
            slug(claim.name) in slugs(m)
            for m in self.roster.by("lms_user_id", claim.owner)
        )

    def _named(self, claim: Claim) -> str | None:
        """Return why a number can't be believed: it is one student's, the name another's."""
        owners = self.roster.by("lms_user_id", claim.owner)
        if not owners or not claim.name or self._fits(claim):
            return None
        others = [
            m
            for m in self.roster.by_name(claim.name)
            if m.lms_user_id not in ("", claim.owner)
        ]
        if others:
            return (
                f"its number is {owners[0].id}'s and its name is {others[0].id}'s: place it by "
                "hand"
            )
        return None

    def _moodle(self, entry: Entry) -> Claim | None:
        """Return how a name of Moodle's is read, or None with a line."""
        claim, plugin = filenames.moodle(entry)
        if claim is None:
            self._refuse(
                entry,
                "not a name that Moodle gives: "
                "First Last_<number>_assignsubmission_file_/<file>",
            )
        elif plugin != "file" or not claim.file:
            self._skip(entry, filenames.TEXT_ENTRY)
            claim = None
        return claim

    def _place(self, claim: Claim) -> None:
        """Put a file to its student."""
        find = {
            "canvas": self._by_number,
            "moodle": self._by_number,
            "folder": self._plain,
        }
        member = find[self.kind](claim)
        if member is not None:
            self.found.files.setdefault(member.id, []).append(claim)

    def _key(self) -> str:
        """The field that holds this LMS's numbers."""
        return "lms_user_id" if self.kind == "canvas" else "participant"

    def _by_number(self, claim: Claim) -> Member | None:
        """Return the student of a number; without one in the roster, of the name."""
        key = self._key()
        found = self.roster.by(key, claim.owner)
        if not found:
            found = [
                m
                for m in self._of_name(claim.name)
                if getattr(m, key) in ("", claim.owner)
            ]
            if len(found) > 1:
                people = ", ".join(sorted(m.id for m in found))
                self._refuse(
                    claim.entry,
                    f"{people} have this name: write {key} {claim.owner} "
                    "into the roster",
                )
                return None
        if len(found) > 1:
            people = ", ".join(sorted(m.id for m in found))
            self._refuse(
                claim.entry, f"the roster gives {key} {claim.owner} to {people}"
            )
            return None
        if not found and claim.name in self.shared:
            self._refuse(
                claim.entry,
                f"Moodle calls several {claim.name!r}: give --worksheet, which tells "
                "them apart, also where the submissions are anonymous",
            )
            return None
        if not found:
            return self._new(claim)
        return self._learn(claim, merge(found[0], **{key: claim.owner}))

    def _of_name(self, name: str) -> list[Member]:
        """Return the students of a name; Moodle writes a team and a hyphen before it."""
        found = self.roster.by_name(name)
        while not found and self.kind == "moodle" and "-" in name:
            name = name.partition("-")[2]
            found = self.roster.by_name(name)
        return found

    def _plain(self, claim: Claim) -> Member | None:
        """Return the student of a plain name: an id, a login, an email or a name."""
        found = self.roster.members.get(claim.owner)
        for key in ("login", "email", "sis_user_id", "lms_user_id"):
            if found is None and len(some := self.roster.by(key, claim.owner)) == 1:
                found = some[0]
        if found is None:
            some = self.roster.by_name(claim.owner)
            if len(some) > 1:
                people = ", ".join(sorted(m.id for m in some))
                self._refuse(claim.entry, f"{people} have this name: use an id")
                return None
            found = some[0] if some else None
        return self._learn(claim, found) if found is not None else self._new(claim)

    def _learn(self, claim: Claim, member: Member) -> Member | None:
        """Note that an owner is this student; None if another owner is, too."""
        owner = f"{claim.owner}\0{claim.name}" if self.kind == "folder" else claim.owner
        before = self.owners.setdefault(member.id, owner)
        if before != owner and self.kind != "folder":
            self._refuse(
                claim.entry,
                f"{member.id} is number {before} already: two students of "
                "one name? Write their numbers into the roster",
            )
            return None
        if member != self.roster.members.get(member.id):
            self.roster.put(member)
            self.found.learned[member.id] = member
        return member

    def _new(self, claim: Claim) -> Member | None:
        """Return a student whom the roster hasn't, if that is wanted."""
        if not self.open:
            self._refuse(
                claim.entry,
                "not in the roster: write the student into it, or say --add-unknown",
            )
            return None
        first, last, name = "", "", claim.owner
        if self.kind == "moodle":  # its number is another one in the next assignment
            first, last = split_name(clean(claim.name))
            name = "-".join(re.findall(r"\w+", f"{first} {last}".casefold()))
        elif self.kind == "canvas":
            last = clean(claim.name)  # Canvas runs the names together
        known = {} if self.kind == "folder" else {self._key(): claim.owner}
        problem = id_problem(name)
        if problem:
            self._refuse(
                claim.entry, f"{name!r} can't be a student's folder: {problem}"
            )
            return None
        for other in self.roster.by_folded("id", name):
            self._refuse(
                claim.entry, f"{name} and {other.id} can't be told apart: give a roster"
            )
            return None
        member = Member(name, first, last, **known)
        try:
            self.roster.add(member)
        except Problem as error:
            self._refuse(claim.entry, str(error))
            return None
        self.found.learned[member.id] = member
        return self._learn(claim, member)


def _shared_names(entries: list[Entry]) -> set[str]:
    """Return the names under which Moodle gives files of several."""
    owners: dict[str, set[str]] = {}
    for entry in entries:
        claim = None if entry.problem else filenames.moodle(entry)[0]
        if claim is not None:
            owners.setdefault(claim.name, set()).add(claim.owner)
    return {name for name, numbers in owners.items() if len(numbers) > 1}


def guess(source: Source, assignment: str) -> str:
    """Return the kind of an archive by the names in it."""
    entries = [entry for entry in source.entries() if not entry.problem]
    if any(filenames.moodle(entry)[0] is not None for entry in entries):
        return "moodle"
    flat = [entry for entry in entries if len(entry.parts) == 1]
    named = [
        e
        for e in flat
        if filenames.canvas(e)
        or filenames.canvas_text(e)
        or filenames.canvas_anonymous(e)
    ]
    if flat and len(named) * 2 > len(entries):
        return "canvas"
    return "folder"


def choose(
    claims: list[Claim], notebook: str
) -> tuple[list[Claim], list[tuple[Claim, str]]]:
    """Return the files of one student that may be the notebook, and why the others are not.

    Of files that have the notebook's name, Canvas's latest; else the only notebook there is.
    """
    left: list[tuple[Claim, str]] = []
    found: list[Claim] = []
    for claim in claims:
        if claim.file.casefold().endswith(".ipynb"):
            found.append(claim)
        else:
            packed = claim.file.casefold().endswith(
                (".zip", ".tar", ".gz", ".7z", ".rar")
            )
            what = "an archive inside is not opened" if packed else "not a notebook"
            left.append((claim, f"{what}: the assignment is {notebook}"))
    named = [claim for claim in found if filenames.same_notebook(claim.file, notebook)]
    if named:
        left += [(claim, f"not {notebook}") for claim in found if claim not in named]
        if all(claim.number is not None for claim in named):
            latest = max(
                named, key=lambda claim: (claim.number, filenames.order(claim.file))
            )
            left += [(c, "handed in again later") for c in named if c is not latest]
            named = [latest]
        return named, left
    return found, left


def everyone(found: Sorted) -> Iterator[tuple[str, list[Claim]]]:
    """Yield each student with their files, by id."""
    yield from sorted(found.files.items())
