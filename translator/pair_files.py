"""Files of sentence pairs: two columns, two files, or those of a zip file.

All are UTF-8, and may be compressed by gzip.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

from translator.errors import CorpusError

Pairs = list[tuple[str, str]]


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 file, which may be compressed by gzip.

    Raises CorpusError for a missing or empty file, a damaged archive, and bytes that are not
    UTF-8, with the number of the line.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise CorpusError(f"{path}: expected a file, got a folder") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: damaged gzip file: {error}") from None
    return _decode(data, str(path))


def read_tsv(path: str | Path) -> Pairs:
    """Read a source, a tab and a target from each line.

    An empty line is an empty pair, which cleaning drops and counts. Raises CorpusError as
    `read_lines`, and for a line of more or fewer than two columns, with its number.
    """
    return [
        _columns(line, 2, f"{path}, line {n}")
        for n, line in enumerate(read_lines(path), 1)
    ]


def read_parallel(source: str | Path, target: str | Path) -> Pairs:
    """Read two files in which line i of one translates line i of the other.

    Raises CorpusError as `read_lines`, where the numbers of lines differ, and where both files
    say the same.
    """
    one, other = read_lines(source), read_lines(target)
    if one == other:
        raise CorpusError(
            f"{target}: has the same contents as {source}: give the file of the other language"
        )
    if len(one) != len(other):
        raise CorpusError(
            f"{target}: expected {len(one)} lines, as many as {source}, got {len(other)}"
        )
    return list(zip(one, other, strict=True))


def read_zip(path: Path, name: str) -> Pairs:
    """Read English, tab, German, tab, attribution in a zip file; return German and English.

    name: of the file in it. Raises CorpusError as `read_tsv`.
    """
    pairs = [
        _columns(line, 3, f"{path}, {name}, line {n}")
        for n, line in enumerate(_lines_of_zip(path, name), 1)
    ]
    return [(german, english) for english, german in pairs]


def _columns(line: str, number: int, where: str) -> tuple[str, str]:
    columns = line.split("\t") if line else [""] * number
    if len(columns) != number:
        raise CorpusError(
            f"{where}: expected {number} columns separated by tabs, got {len(columns)}: "
            f"{line[:60]!r}"
        )
    return columns[0], columns[1]


def _lines_of_zip(path: Path, name: str) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return _decode(archive.read(name), f"{path}, {name}")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise CorpusError(f"{path}: damaged zip file: {error}") from None
    except KeyError:
        raise CorpusError(f"{path}: expected a file {name} in it, found none") from None


def _decode(data: bytes, name: str) -> list[str]:
    """Split bytes at line feeds and decode them; a byte-order mark and carriage returns go."""
    if not data.strip():
        raise CorpusError(f"{name}: expected lines of text, got an empty file")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise CorpusError(f"{name}: expected UTF-8, got UTF-16; convert the file first")
    lines = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    out = []
    for number, line in enumerate(lines, 1):
        try:
            out.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{name}, line {number}: expected UTF-8, got byte 0x{line[error.start]:02X} "
                f"at column {error.start + 1}; is the file Latin-1 or Windows-1252?"
            ) from None
    return out
