"""Reads a zip or folder from an LMS, trusting no name and no size in it.

A name of the archive never becomes a path: it only tells whose file it is. Files are read one at
a time, up to a limit that the file's own header has no say in.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grading.course.handed_in import MAX_BYTES, SubmissionError
from grading.course.handed_in import read as read_file
from grading.lms.outcome import Problem

#: The largest table of contents that is read, in bytes: well over 50,000 files.
MAX_DIRECTORY = 8 << 20
MAX_ENTRIES = 50_000
#: What one import may unpack, in bytes.
MAX_TOTAL = 4 << 30
#: How deep a folder is searched.
MAX_DEPTH = 8
#: What computers add by themselves.
LITTER = {"__MACOSX", ".ipynb_checkpoints", ".DS_Store", "Thumbs.db", "desktop.ini"}

END, LOCATOR, END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
#: The methods whose unpacking can be bounded; every LMS uses one of them.
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class Unreadable(ValueError):
    """One file can't be taken; the message says why."""


@dataclass(frozen=True)
class Entry:
    """One file: its name with slashes, and why it can't be read, if so.

    `modified` is the time in the archive: local to whoever packed it, without a zone.
    """

    name: str
    problem: str = ""
    size: int = 0
    modified: datetime | None = None
    handle: object = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The folders and the file's own name."""
        return tuple(self.name.split("/"))


class Source:
    """A zip or a folder, read within bounds.

    Raises:
        Problem: if there is no such file, or it is no zip.

    """

    def __init__(self, path: Path, *, max_total: int = MAX_TOTAL) -> None:
        self.path, self.left = path, max_total
        self._zip: zipfile.ZipFile | None = None
        if path.is_dir():
            return
        if not path.is_file():
            raise Problem(f"{path}: no such file or folder")
        size = directory_size(path)
        if size > MAX_DIRECTORY:
            raise Problem(
                f"{path.name}: its table of contents has {size:,} bytes, at most "
                f"{MAX_DIRECTORY:,} are read: unpack it and import the folder"
            )
        try:
            self._zip = zipfile.ZipFile(path)
        except UnicodeDecodeError:
            raise Problem(
                f"{path.name}: a file name in it is not the UTF-8 that the zip says it "
                "is: unpack it and import the folder"
            ) from None
        except (
            zipfile.BadZipFile,
            OSError,
            NotImplementedError,
            struct.error,
            ValueError,
        ) as error:
            raise Problem(f"{path.name}: no zip that can be read: {error}") from None
        if len(self._zip.infolist()) > MAX_ENTRIES:
            raise Problem(
                f"{path.name}: more than {MAX_ENTRIES:,} files: is it the right zip?"
            )

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    def entries(self) -> Iterator[Entry]:
        """Yield the files in order; what computers add by themselves is left out."""
        found = self._in_zip() if self._zip is not None else _in_folder(self.path)
        seen: set[str] = set()
        for entry in found:
            if LITTER & set(entry.parts) or entry.parts[-1].startswith("._"):
                continue
            if not entry.problem and entry.name in seen:
                entry = Entry(entry.name, "the archive has another file of this name")
            seen.add(entry.name)
            yield entry

    def _in_zip(self) -> Iterator[Entry]:
        for info in self._zip.infolist():
            # zipfile's own question fails where the name is empty (as in one that is damaged).
            if not info.filename.endswith("/"):
                yield _entry(info)

    def read(self, entry: Entry, most: int = MAX_BYTES) -> bytes:
        """Return a file's content.

        Raises:
            Unreadable: if it is too large, damaged, encrypted, or no plain file.

        """
        if entry.problem:
            raise Unreadable(entry.problem)
        if entry.size > most:
            raise Unreadable(too_large(entry.size, most))
        if entry.size > self.left:
            raise Unreadable("the archive unpacks to more than one import may take")
        if isinstance(entry.handle, Path):
            try:
                data = read_file(entry.handle, most)
            except SubmissionError as error:
                raise Unreadable(str(error)) from None
        else:
            data = self._unpack(entry.handle, most)
        self.left -= len(data)
        return data

    def _unpack(self, info: zipfile.ZipInfo, most: int) -> bytes:
        try:
            with self._zip.open(info) as file:
                data = file.read(most + 1)  # however much the header says
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            ValueError,
            NotImplementedError,
            struct.error,
        ) as error:
            raise Unreadable(f"damaged in the zip: {error}") from None
        if len(data) > most:
            raise Unreadable(too_large(len(data), most))
        return data


def too_large(size: int, most: int) -> str:
    """Return why a file of this size is not read."""
    return (
        f"{size / 2**20:,.0f} MiB, and at most {most / 2**20:.0f} are read: clear the outputs "
        "and hand in again"
    )


def _entry(info: zipfile.ZipInfo) -> Entry:
    """Return one entry of a zip, with what speaks against it."""
    name, mode = name_of(info), info.external_attr >> 16
    kind = stat.S_IFMT(mode) if info.create_system == 3 else 0
    problem = name_problem(name)
    if "\0" in info.orig_filename:
        problem = "its name has a NUL in it"
    elif kind == stat.S_IFLNK:
        problem = "a link, not a file"
    elif kind not in (0, stat.S_IFREG):
        problem = "no plain file"
    elif info.flag_bits & 0x1:
        problem = "encrypted"
    elif info.compress_type not in METHODS:
        problem = f"packed by a method ({info.compress_type}) that is not read"
    try:
        modified = datetime(*info.date_time)
    except ValueError:
        modified = None
    return Entry(name, problem, info.file_size, modified, info)


def name_of(info: zipfile.ZipInfo) -> str:
    """Return an entry's name; where the zip doesn't say UTF-8 and it is, it counts as UTF-8."""
    name = info.filename
    if not info.flag_bits & 0x800:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    return unicodedata.normalize("NFC", name.replace("\\", "/"))


def name_problem(name: str) -> str:
    """Return what is wrong with an entry's name, "" if nothing."""
    parts = name.split("/")
    if name.startswith("/") or (len(name) > 1 and name[1] == ":"):
        return "its name is an absolute path"
    if ".." in parts:
        return "its name leads out of the archive"
    if "" in parts or "." in parts:
        return "its name has an empty part"
    if any(not c.isprintable() for c in name):
        return "its name has control or invisible characters"
    if len(parts) > MAX_DEPTH or max(map(len, parts)) > 255:
        return "its name is too long or too deep"
    return ""


def _in_folder(top: Path) -> Iterator[Entry]:
    """Yield the files below a folder; links are named, not followed."""
    waiting: list[tuple[Path, str, int]] = [(top, "", 0)]
    count = 0
    while waiting:
        folder, prefix, depth = waiting.pop()
        for item in sorted(os.scandir(folder), key=lambda item: item.name):
            name = unicodedata.normalize("NFC", prefix + item.name)
            count += 1
            if count > MAX_ENTRIES:
                raise Problem(
                    f"{top}: more than {MAX_ENTRIES:,} files: is it the right folder?"
                )
            if item.is_symlink():
                yield Entry(name, "a link, not a file")
            elif item.is_dir():
                if depth < MAX_DEPTH and item.name not in LITTER:
                    waiting.append((Path(item.path), f"{name}/", depth + 1))
            else:
                status = item.stat(follow_symlinks=False)
                plain = stat.S_ISREG(status.st_mode)
                problem = name_problem(name) if plain else "no plain file"
                modified = datetime.fromtimestamp(status.st_mtime)
                yield Entry(name, problem, status.st_size, modified, Path(item.path))


def directory_size(path: Path) -> int:
    """Return the size of a zip's table of contents as the zip gives it; 0 where there is none.

    Python's zipfile reads as much at once, before anything can be checked.

    Raises:
        Problem: if the zip has two tables, of which programs read one or the other.

    """
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        start = max(0, length - (1 << 16) - 22)
        file.seek(start)
        tail = file.read()
        place = len(tail) - 22
        if place < 0 or tail[place : place + 4] != END or tail[-2:] != b"\0\0":
            place = tail.rfind(END)
        if place < 0 or len(tail) < place + 22:
            return 0
        # The comment of the right one ends where the file does; another may stand in the comment.
        fitting = {
            one.start()
            for one in re.finditer(END, tail)
            if tail[one.start() + 20 : one.start() + 22]
            == struct.pack("<H", max(0, len(tail) - one.start() - 22))
        }
        if fitting - {place}:
            raise Problem(
                f"{path.name}: has two tables of contents, and programs differ on which "
                "one they read: unpack it and import the folder"
            )
        size = struct.unpack_from("<L", tail, place + 12)[0]
        position = start + place
        if position >= 76:  # room for the two records of a large zip
            file.seek(position - 76)
            large = file.read(76)
            if large[:4] == END64 and large[56:60] == LOCATOR:
                size = max(
                    0 if size == 0xFFFFFFFF else size,
                    struct.unpack_from("<Q", large, 40)[0],
                )
    return size
