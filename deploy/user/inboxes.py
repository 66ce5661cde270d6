"""nbgrader's exchange with an inbox for each student, instead of one folder for all.

In nbgrader's own exchange, every student writes into one folder; the name of a submission says
whose it is and from when, and a student chooses both. Here `nbgrader submit` is unchanged, but it
writes into a folder that only its owner and the instructors can open, and `nbgrader collect`
believes nothing that a student wrote:

- whose a submission is, the inbox tells;
- when it came, the file system tells (the change time of its files, which nobody can set back);
- links, pipes and folders are left where they are, so nothing outside the inbox is ever read.

    <exchange>/<course>/outbound/<assignment>/                     what was released
    <exchange>/inboxes/<student>/<course>/inbound/<submission>/    what was handed in
    <exchange>/inboxes/<student>/<course>/outbound                 leads to the first
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from traitlets import Int

#: Read without following a link, and without waiting for a pipe's other end.
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextlib.contextmanager
def opened(name: str, folder: int | None = None, flags: int = PLAIN) -> Iterator[int]:
    """Open a file of a folder, and close it at the end."""
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def plain_files(folder: int, most: int) -> list[tuple[str, float]]:
    """Return names and change times of the regular files in an open folder, `most` at most."""
    found = []
    for name in sorted(os.listdir(folder)):
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(seen.st_mode):
            found.append((name, seen.st_ctime))
    return found[:most]


class CollectFromInboxes(ExchangeCollect):
    """`nbgrader collect`, and Formgrader's button, for this exchange."""

    max_files = Int(50, config=True, help="How many files of a submission are taken.")

    def init_src(self) -> None:
        """Find the newest submission in each inbox."""
        course, assignment = self.coursedir.course_id, self.coursedir.assignment_id
        if not course:
            self.fail("No course id specified. Re-run with --course flag.")
        inboxes = Path(self.root) / "inboxes"
        if not inboxes.is_dir():
            self.fail(f"There are no inboxes in {self.root}: has the hub been started?")
        wanted = self.coursedir.student_id
        self.src_records = []
        for inbox in sorted(inboxes.iterdir()):
            if wanted not in ("", "*", inbox.name):
                continue
            try:
                records = self.submissions(
                    inbox.name, inbox / course / "inbound", assignment
                )
            except OSError as error:
                self.log.error("%s: not collected: %s", inbox.name, error.strerror)
                continue
            if records:
                self.src_records.append(
                    max(records, key=lambda record: record["timestamp"])
                )

    def submissions(self, student: str, inbound: Path, assignment: str) -> list[dict]:
        """Return a record for each submission of an assignment in one inbox."""
        records = []
        if not inbound.is_dir():
            return records
        with opened(str(inbound), flags=PLAIN | os.O_DIRECTORY) as box:
            for name in sorted(os.listdir(box)):
                if name.split("+")[1:2] != [assignment]:
                    continue
                try:
                    with opened(name, box, PLAIN | os.O_DIRECTORY) as folder:
                        files = plain_files(folder, self.max_files)
                except (
                    OSError
                ) as error:  # a link, a file, a folder closed to instructors
                    self.log.warning(
                        "%s: a submission is left out: %s", student, error.strerror
                    )
                    continue
                changed = [when for file, when in files if file.endswith(".ipynb")]
                if changed:
                    when = datetime.fromtimestamp(max(changed), UTC)
                    records.append(
                        {
                            "username": student,
                            "filename": name,
                            "inbound": inbound,
                            "timestamp": when.replace(tzinfo=None),
                        }
                    )
        return records

    def copy_files(self) -> None:
        """Copy each submission that is new into the folder of submissions."""
        if not self.src_records:
            self.log.warning(
                "No submissions of '%s' for course '%s' to collect",
                self.coursedir.assignment_id,
                self.coursedir.course_id,
            )
        for record in self.src_records:
            student = record["username"]
            target = Path(
                self.coursedir.format_path(
                    self.coursedir.submitted_directory,
                    student,
                    self.coursedir.assignment_id,
                )
            )
            known = (
                self.coursedir.get_existing_timestamp(str(target))
                if target.is_dir()
                else None
            )
            if target.is_dir() and not (
                self.update and (known is None or record["timestamp"] > known)
            ):
                self.log.info("Submission already exists: %s", student)
                continue
            try:
                self.take(record, target)
            except OSError as error:
                self.log.error("%s: not collected: %s", student, error.strerror)
            else:
                self.log.info(
                    "Collecting submission: %s %s",
                    student,
                    self.coursedir.assignment_id,
                )

    def take(self, record: dict, target: Path) -> None:
        """Copy one submission's plain files, and note when it came."""
        made = target.with_name(f".partial-{target.name}")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        most = 1000 * self.coursedir.max_file_size
        with (
            opened(str(record["inbound"]), flags=PLAIN | os.O_DIRECTORY) as box,
            opened(record["filename"], box, PLAIN | os.O_DIRECTORY) as folder,
        ):
            for name, _ in plain_files(folder, self.max_files):
                with opened(name, folder) as source:
                    seen = os.fstat(source)
                    if not stat.S_ISREG(seen.st_mode) or name == "timestamp.txt":
                        continue
                    if seen.st_size > most:
                        self.log.warning(
                            "%s: %s is larger than %d bytes, and left out",
                            record["username"],
                            name,
                            most,
                        )
                        continue
                    copy(source, made / name, most)
        stamp = record["timestamp"].strftime("%Y-%m-%d %H:%M:%S.%f UTC\n")
        (made / "timestamp.txt").write_text(stamp, encoding="utf-8")
        if target.is_dir():
            shutil.rmtree(target)
        made.rename(target)


def copy(source: int, target: Path, most: int) -> None:
    """Copy an open file's bytes, `most` at most, into a new file."""
    with target.open("xb") as file:
        while most > 0 and (part := os.read(source, min(most, 1 << 20))):
            file.write(part)
            most -= len(part)
