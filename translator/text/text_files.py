"""Text a sentence a line, from a file or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from translator.errors import TranslatorError


class TextError(TranslatorError):
    """A text is not in the encoding that was expected."""


def check_is_text(text: str) -> None:
    """Raise TextError for a text of bytes that Python could not decode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"character {error.start + 1} is not utf-8 text: "
            "give a file, with its --encoding"
        ) from None


def read_lines(path: Path | None, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a file, or of standard input for None, without their ends.

    A byte-order mark at the start is dropped; only line feeds, with or without a carriage return
    before them, end a line.
    Raises TextError that names the line where the bytes are not text in this encoding, and
    OSError for a file that cannot be read.
    """
    if path is None and sys.stdin is None:
        raise TextError("standard input is closed: give a text, or --file")
    data = sys.stdin.buffer.read() if path is None else path.read_bytes()
    name = "standard input" if path is None else str(path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TextError(
            f"{name}, line {line}: byte 0x{data[error.start]:02x} is not {encoding} text; "
            "give the right one with --encoding, such as latin-1 or utf-16"
        ) from None
    except (LookupError, UnicodeError):  # the latter: a codec that reads no text
        raise TextError(f"--encoding: {encoding} is not known") from None
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
