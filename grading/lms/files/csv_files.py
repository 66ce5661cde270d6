"""CSV files in an LMS's dialect: read whatever it is, written back byte for byte.

What a spreadsheet program would take for a formula is made plain text here, and only that: names
with hyphens, apostrophes or a lone dash stay as they are.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from grading.course import files
from grading.course.handed_in import SubmissionError
from grading.course.handed_in import read as read_file
from grading.gradebook.spreadsheet import is_formula
from grading.lms.outcome import Problem

MAX_BYTES = 32 << 20
SEPARATORS = (",", ";", "\t")
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass
class Table:
    """A CSV file, field by field as written.

    `raw` holds the fields with their quotes, `ends` the line end of each row. Row 0 has the
    headings.
    """

    raw: list[list[str]]
    ends: list[str]
    separator: str = ","
    encoding: str = "utf-8"
    bom: bytes = b""
    name: str = "the table"
    skipped: set[int] = field(default_factory=set)

    @property
    def headings(self) -> list[str]:
        """The values of the first row, without blanks around them."""
        return [value(part).strip() for part in self.raw[0]]

    @property
    def rows(self) -> range:
        """The numbers of the rows below the headings."""
        return range(1, len(self.raw))

    def get(self, row: int, column: int | None) -> str:
        """Return a field's value; "" beyond the end of a short row, or for no column."""
        if column is None or column >= len(self.raw[row]):
            return ""
        return value(self.raw[row][column])

    def set(self, row: int, column: int, text: str) -> None:
        """Change a field; one that was in quotes stays in quotes."""
        quoted = self.raw[row][column].startswith('"')
        self.raw[row][column] = quote(text, self.separator, always=quoted)

    def to_bytes(
        self, columns: list[int] | None = None, without: Collection[int] = ()
    ) -> bytes:
        """Return the file, or only some of its columns; unchanged fields byte for byte.

        without: rows that are left out.
        """
        lines = []
        for number, (row, end) in enumerate(zip(self.raw, self.ends, strict=True)):
            if number in without:
                continue
            kept = (
                row
                if columns is None
                else [row[column] if column < len(row) else "" for column in columns]
            )
            lines.append(self.separator.join(kept) + end)
        return self.bom + "".join(lines).encode(self.encoding)


def read_table(path: Path) -> Table:
    """Read a CSV file; the first row tells the separator.

    UTF-8 with or without a byte order mark and UTF-16 with one are recognised; what is neither
    is read as Windows-1252, or as Latin-1 where it isn't that either.

    Raises:
        Problem: if there is none, or it is no table.

    """
    return parse_table(read_bytes(path), path.name)


def read_bytes(path: Path) -> bytes:
    """Return a file that is no larger than a table of a course can be.

    Raises:
        Problem: if it can't be read.

    """
    try:
        return read_file(path, MAX_BYTES)
    except SubmissionError as error:
        raise Problem(str(error)) from None


def parse_table(data: bytes, name: str = "the table") -> Table:
    """Return the table in these bytes.

    Raises:
        Problem: if they hold none.

    """
    bom = next((mark for mark, _ in BOMS if data.startswith(mark)), b"")
    text, encoding = _decode(data[len(bom) :], dict(BOMS).get(bom), name)
    if not text.strip():
        raise Problem(f"{name}: empty")
    if "\0" in text:
        raise Problem(f"{name}: no text: save it as CSV, not as a spreadsheet")
    counts = {mark: _count(text, mark) for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: counts[mark])
    raw, ends = _split(text, separator, name)
    return Table(raw, ends, separator, encoding, bom, name)


def _decode(data: bytes, told: str | None, name: str) -> tuple[str, str]:
    """Return the text and its encoding, which gives back the same bytes."""
    for encoding in [told] if told else ["utf-8", "cp1252", "latin-1"]:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.encode(encoding, "replace") == data:
            return text, encoding
    raise Problem(f"{name}: not the {told} that its first bytes say it is")


def _count(text: str, separator: str) -> int:
    """Return how often a separator stands in the first row, outside quotes."""
    count, inside = 0, False
    for c in text:
        if c == '"':
            inside = not inside
        elif c in "\r\n" and not inside:
            break
        elif c == separator and not inside:
            count += 1
    return count


def _split(text: str, separator: str, name: str) -> tuple[list[list[str]], list[str]]:
    """Return the fields as written, row by row, and the rows' ends; blank rows stay rows."""
    raw: list[list[str]] = []
    ends: list[str] = []
    row: list[str] = []
    place, length = 0, len(text)
    while place < length or row:
        start = place
        if place < length and text[place] == '"':
            place = _after_quotes(text, place)
            if place < 0:
                raise Problem(
                    f"{name}: row {len(raw) + 1}: a quotation mark is never closed"
                )
        while place < length and text[place] not in (separator, "\r", "\n"):
            place += 1
        row.append(text[start:place])
        if place < length and text[place] == separator:
            place += 1
            if place < length:
                continue
            row.append("")
        end = (
            text[place : place + 2]
            if text[place : place + 2] == "\r\n"
            else text[place : place + 1]
        )
        place += len(end)
        raw.append(row)
        ends.append(end)
        row = []
    return raw, ends


def _after_quotes(text: str, place: int) -> int:
    """Return the place after a quoted part; -1 if it has no end."""
    while True:
        place = text.find('"', place + 1)
        if place < 0:
            return -1
        if text[place + 1 : place + 2] != '"':
            return place + 1
        place += 1


def value(raw: str) -> str:
    """Return what a field as written means."""
    if not raw.startswith('"'):
        return raw
    end = _after_quotes(raw, 0)
    return raw[1 : end - 1].replace('""', '"') + raw[end:]


def quote(text: str, separator: str = ",", *, always: bool = False) -> str:
    """Return a value as a field is written."""
    needed = (
        always or any(c in text for c in f'{separator}"\r\n') or text != text.strip()
    )
    return '"' + text.replace('"', '""') + '"' if needed else text


def make_table(rows: list[list[str]], separator: str = ",") -> bytes:
    """Return rows as a CSV file in UTF-8 with Windows line ends, as RFC 4180 has it."""
    lines = [separator.join(quote(cell, separator) for cell in row) for row in rows]
    return "".join(f"{line}\r\n" for line in lines).encode()


def safe(text: str) -> str:
    """Return a text that is shown as it is; one that would be a formula gets an apostrophe."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return f"'{plain}" if is_formula(text) or is_formula(plain) else plain


def write_whole(target: Path, data: bytes) -> None:
    """Write a file so that it is never there in part.

    Raises:
        Problem: if it can't be written.

    """
    try:
        files.write(target, data)
    except OSError as error:
        raise Problem(f"{target}: can't be written: {error.strerror}") from None
