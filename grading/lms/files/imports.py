"""Puts an LMS's submissions into nbgrader's folders.

    submitted/<student>/<assignment>/<notebook>.ipynb    and timestamp.txt where a time is known
    submitted/.replaced/<student>/<assignment>/<n>/      what a later submission replaced
    submitted/.lms/<assignment>.json                     by which numbers the LMS knows each file

An import can be killed and run again: each file appears as a whole, and what is there already is
recognised.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grading.course.handed_in import SubmissionError, parse
from grading.course.handed_in import read as read_file
from grading.course.layout import parse_time
from grading.lms.files import matching
from grading.lms.files.archive import MAX_TOTAL, Entry, Source, Unreadable
from grading.lms.files.csv_files import write_whole
from grading.lms.files.filenames import Claim
from grading.lms.files.matching import Sorter
from grading.lms.files.roster import Roster, id_problem, merge
from grading.lms.outcome import Problem, Report, Verdict

REPLACED, RECORDS = ".replaced", ".lms"


@dataclass(frozen=True)
class Options:
    """How submissions are taken.

    `kind` is "auto" or one of claims.KINDS. `replace` takes a differing file also where nothing
    tells which is newer. `times` are known times by student id; `zone` says that the times in
    the archive count, in this zone. `groups` are those whose members get one file.
    """

    kind: str = "auto"
    replace: bool = False
    add_unknown: bool = False
    dry_run: bool = False
    times: dict[str, datetime] = field(default_factory=dict)
    zone: ZoneInfo | None = None
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    max_total: int = MAX_TOTAL


@dataclass(frozen=True)
class Target:
    """Where the submissions of one assignment go."""

    submitted: Path
    assignment: str
    notebook: str

    def folder(self, student: str) -> Path:
        """Return a student's folder of this assignment."""
        return self.submitted / student / self.assignment

    @property
    def record(self) -> Path:
        """The file that keeps the LMS's numbers."""
        return self.submitted / RECORDS / f"{self.assignment}.json"


@dataclass(frozen=True)
class Origin:
    """Where a submission came from; what a later export needs to send feedback back.

    Of kind "group", it is the file of another student, the `prefix`, for the group `owner`.
    """

    kind: str
    owner: str
    prefix: str
    file: str
    number: int | None = None
    late: bool = False
    sha256: str = ""


def read_record(path: Path) -> dict[str, Origin]:
    """Return what earlier imports noted, by student.

    Raises:
        Problem: if the file can't be read.

    """
    if not path.exists():
        return {}
    try:
        found = json.loads(read_file(path, 64 << 20))
        return {student: Origin(**origin) for student, origin in found.items()}
    except (SubmissionError, ValueError, TypeError, AttributeError) as error:
        raise Problem(
            f"{path}: can't be read ({error}): remove it and import again"
        ) from None


def take(source: Path, target: Target, roster: Roster, options: Options) -> Report:
    """Take an archive's submissions.

    Args:
        source: a zip or a folder.
        target: where they go.
        roster: the students; those learned from the archive are added to it.
        options: how.

    Raises:
        Problem: if nothing can be taken at all.

    """
    report = Report(
        f"import of {source.name} into {target.assignment}", options.dry_run
    )
    if target.submitted.is_symlink() or (
        target.submitted.exists() and not target.submitted.is_dir()
    ):
        raise Problem(f"{target.submitted}: expected a folder")
    for place in (
        target.submitted / REPLACED,
        target.submitted / RECORDS,
        target.record,
    ):
        if place.is_symlink():
            raise Problem(f"{place}: is a link: nothing is written through it")
    record = read_record(target.record)
    with Source(source, max_total=options.max_total) as archive:
        kind = (
            options.kind
            if options.kind != "auto"
            else matching.guess(archive, target.assignment)
        )
        report.notes.append(f"read as: {kind}")
        if kind == "moodle":
            for student, origin in record.items():
                if origin.kind == kind and student in roster.members:
                    member = roster.members[student]
                    roster.put(merge(member, participant=origin.owner))
        sorter = Sorter(roster, kind, report, add_unknown=options.add_unknown)
        found = sorter.sort(archive, target.assignment, target.notebook)
        taker = _Taker(archive, target, options, record, report, kind)
        for student, files in matching.everyone(found):
            taker.student(student, files, found.times.get(student))
        for name, members in options.groups.items():
            taker.share(name, members)
    if not report.lines:
        raise Problem(f"{source.name}: holds no files: is it the right one?")
    if not options.dry_run and taker.noted:
        text = {student: vars(origin) for student, origin in sorted(record.items())}
        write_whole(target.record, json.dumps(text, indent=1).encode())
    late = sorted(student for student, origin in taker.noted.items() if origin.late)
    if late:
        report.notes.append(f"marked late by Canvas: {', '.join(late)}")
    return report


class _Taker:
    """Takes one student's files after the other."""

    def __init__(
        self,
        archive: Source,
        target: Target,
        options: Options,
        record: dict[str, Origin],
        report: Report,
        kind: str,
    ) -> None:
        self.archive, self.target, self.options = archive, target, options
        self.record, self.report, self.kind = record, report, kind
        self.noted: dict[str, Origin] = {}
        #: The file of each student whose file could be told, with its digest and time.
        self.chosen: dict[str, tuple[Claim, str, datetime | None]] = {}
        self.folders = {_fold(name): name for name in _names(target.submitted)}

    def student(self, student: str, files: list[Claim], stamp: Entry | None) -> None:
        """Take the one right file of a student, with a line for each."""
        wanted, left = matching.choose(files, self.target.notebook)
        # Beside a notebook another file is one more file; alone it is a mistake to be told.
        verdict = Verdict.SKIPPED if wanted else Verdict.REFUSED
        for claim, reason in left:
            self.report.add(verdict, student, claim.entry.name, reason)
        contents: dict[str, Claim] = {}  # by digest: only the first is kept
        first = b""
        for claim in wanted:
            try:
                data = self.archive.read(claim.entry)
                parse(data, claim.file)
            except (Unreadable, SubmissionError) as error:
                self.report.add(Verdict.REFUSED, student, claim.entry.name, str(error))
            else:
                first = first or data
                digest = hashlib.sha256(data).hexdigest()
                if digest in contents:
                    self.report.add(
                        Verdict.SKIPPED,
                        student,
                        claim.entry.name,
                        "the same content as another file",
                    )
                contents.setdefault(digest, claim)
        if len(contents) > 1:
            for claim in contents.values():
                self.report.add(
                    Verdict.REFUSED,
                    student,
                    claim.entry.name,
                    f"{len(contents)} different notebooks of one student, and nothing tells which "
                    f"is {self.target.notebook}: place the right one by hand",
                )
        for digest, claim in contents.items():
            if len(contents) == 1:
                time = self._time(student, claim, stamp)
                self.chosen[student] = claim, digest, time
                origin = Origin(
                    self.kind,
                    claim.owner,
                    claim.prefix,
                    claim.file.rpartition("/")[2],
                    claim.number,
                    claim.late,
                    digest,
                )
                self._place(student, claim, first, origin, time)

    def share(self, group: str, members: tuple[str, ...]) -> None:
        """Give a group's file to those of its members who have none of their own here."""
        handed_in = [student for student in members if student in self.chosen]
        others = [student for student in members if student not in self.chosen]
        if len({self.chosen[student][1] for student in handed_in}) > 1:
            for student in others:
                self.report.add(
                    Verdict.REFUSED,
                    student,
                    "",
                    f"{', '.join(handed_in)} of {group} handed in different notebooks: "
                    "place the right one by hand",
                )
            return
        for student in others if handed_in else ():
            claim, digest, time = self.chosen[handed_in[0]]
            origin = Origin(
                "group", group, handed_in[0], "", claim.number, claim.late, digest
            )
            data = self.archive.read(claim.entry)
            time = self.options.times.get(student, time)
            note = f"handed in by {handed_in[0]} for {group}"
            self._place(student, claim, data, origin, time, note)

    def _time(self, student: str, claim: Claim, stamp: Entry | None) -> datetime | None:
        """Return when it was handed in, if anything says so."""
        if student in self.options.times:
            return self.options.times[student]
        if stamp is not None:
            try:
                text = self.archive.read(stamp, 200).decode()
                return parse_time(text.strip()).replace(tzinfo=UTC)
            except (Unreadable, ValueError) as error:
                self.report.add(
                    Verdict.SKIPPED, student, stamp.name, f"no time: {error}"
                )
        if self.options.zone is not None and claim.entry.modified is not None:
            local = claim.entry.modified.replace(tzinfo=self.options.zone)
            return local.astimezone(UTC)
        return None

    def _place(
        self,
        student: str,
        claim: Claim,
        data: bytes,
        origin: Origin,
        time: datetime | None,
        note: str = "",
    ) -> None:
        """Put a notebook into its place, unless a newer one is there."""
        problem = id_problem(student) or self._in_the_way(student)
        if problem:
            self.report.add(Verdict.REFUSED, student, claim.entry.name, problem)
            return
        path = self.target.folder(student) / self.target.notebook
        verdict, reason = self._compare(student, path, data, origin, time)
        if verdict in (Verdict.TAKEN, Verdict.REPLACED, Verdict.SAME):
            if note:
                reason = f"{note}; {reason}" if reason else note
            elif claim.file.rpartition("/")[2] != self.target.notebook and not reason:
                reason = f"handed in as {claim.file}"
            try:
                self._write(path, data, time, verdict)
            except (OSError, Problem) as error:
                self.report.add(
                    Verdict.REFUSED, student, claim.entry.name, f"not written: {error}"
                )
                return
            self.noted[student] = self.record[student] = origin
            self.folders[_fold(student)] = student
        self.report.add(verdict, student, claim.entry.name, reason)

    def _in_the_way(self, student: str) -> str:
        """Return what stands where a student's folder should be, "" if nothing."""
        other = self.folders.get(_fold(student), student)
        if other != student:
            return f"{other} is there already, and differs in case only"
        folder = self.target.folder(student)
        for place in (
            folder.parent,
            folder,
            folder / self.target.notebook,
            folder / "timestamp.txt",
        ):
            if place.is_symlink():
                return f"{place.name} is a link: nothing is written through it"
        for place in (folder.parent, folder):
            if place.exists() and not place.is_dir():
                return f"{place.name} is no folder"
        for place in (folder / self.target.notebook, folder / "timestamp.txt"):
            if place.exists() and not place.is_file():
                return f"{place.name} is no file"
        return ""

    def _compare(
        self, student: str, path: Path, data: bytes, new: Origin, time: datetime | None
    ) -> tuple[Verdict, str]:
        """Decide between a submission and the one that is there."""
        if not path.exists():
            return Verdict.TAKEN, ""
        old_data = path.read_bytes() if path.stat().st_size == len(data) else b""
        if old_data == data:
            return Verdict.SAME, ""
        old_time, old = stamp_of(path), self.record.get(student)
        if time is not None and old_time is not None and time != old_time:
            if time < old_time:
                return Verdict.SKIPPED, "older than the one that is here"
            return Verdict.REPLACED, "newer; the one before is kept aside"
        if (
            old
            and old.number
            and new.number
            and (
                (old.kind, old.owner) == (new.kind, new.owner)
                or "group" in (old.kind, new.kind)
            )
        ):
            if new.number < old.number:
                return (
                    Verdict.SKIPPED,
                    "older than the one that is here, by Canvas's numbers",
                )
            if new.number > old.number:
                return (
                    Verdict.REPLACED,
                    "newer, by Canvas's numbers; the one before is kept aside",
                )
        if self.options.replace:
            return Verdict.REPLACED, "as --replace says; the one before is kept aside"
        return Verdict.REFUSED, (
            "differs from the one that is here, and nothing tells which is "
            "newer: --replace takes this one"
        )

    def _write(
        self, path: Path, data: bytes, time: datetime | None, verdict: Verdict
    ) -> None:
        """Write a notebook and its time, each as a whole; keep what they replace."""
        if self.options.dry_run:
            return
        stamp = path.parent / "timestamp.txt"
        if verdict is Verdict.REPLACED:
            keep(self.target.submitted, path, stamp)
        if verdict is not Verdict.SAME:
            if time is None and stamp.exists():
                stamp.unlink()  # it was the time of another file
            write_whole(path, data)
        if time is not None and stamp_of(path) != time:
            text = time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC\n")
            write_whole(stamp, text.encode())


def keep(submitted: Path, *files: Path) -> Path:
    """Link files into a folder of their own below .replaced/, where nothing overwrites them."""
    assignment = files[0].parent
    place = submitted / REPLACED / assignment.parent.name / assignment.name
    place.mkdir(parents=True, exist_ok=True)
    number = 1 + max(
        (int(p.name) for p in place.iterdir() if p.name.isdecimal()), default=0
    )
    folder = place / str(number)
    folder.mkdir()
    for file in files:
        if file.exists():
            os.link(file, folder / file.name)
    return folder


def stamp_of(notebook: Path) -> datetime | None:
    """Return the time in the timestamp.txt beside a notebook, if there is one."""
    try:
        text = read_file(notebook.parent / "timestamp.txt", 200).decode()
        return parse_time(text.strip()).replace(tzinfo=UTC)
    except (SubmissionError, ValueError):
        return None


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, if it is there."""
    return os.listdir(folder) if folder.is_dir() else []


def _fold(name: str) -> str:
    """Return what two names share if some file system takes them for one."""
    return unicodedata.normalize("NFC", name).casefold()
