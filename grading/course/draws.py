"""Draws hidden inputs from a secret of the course.

Solutions and hidden tests are public with the repository, and so are the seeds in them. A course
keeps a secret of its own; from it each test cell gets a number, which grading adds to the seeds of
the cell's hidden part:

    ### BEGIN HIDDEN TESTS
    course_seed = 1302857714

In the notebooks, `course_seed` is 0, and the helper `seeded` adds it to its seed. The secret itself
never leaves this process: what travels is the numbers, and one does not tell another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

#: The name in test cells, and the file in the course's folder that holds the secret.
NAME, FILE = "course_seed", "course_secret"
#: Says where the secret is, in place of nbgrader_config.py: a file, as environments are inherited.
VARIABLE = "COURSE_SECRET_FILE"

BEGIN = re.compile(r"^### BEGIN HIDDEN TESTS[^\n]*\n", re.MULTILINE)
#: The end of a hidden part, where something stands below: a cell's last number is its points.
END = re.compile(r"^### END HIDDEN TESTS[^\n]*\n(?=\s*\S)", re.MULTILINE)
#: What the secret is: 32 random bytes in hexadecimal.
FORM = re.compile(r"[0-9a-f]{64}")


class SecretError(RuntimeError):
    """The course's secret can't be used; the message says what to do."""


def place(root: Path, configured: str = "") -> Path:
    """Return where a course's secret is: as the environment says, the configuration, or usual."""
    return root / Path(os.environ.get(VARIABLE) or configured or FILE).expanduser()


def make(path: Path) -> None:
    """Write a new secret, for its owner only.

    Raises:
        SecretError: if there is one.

    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SecretError(
            f"{path}: there is a secret already. With another one, hidden tests draw other inputs: "
            "what is graded would be graded again. To change it all the same, move the file away"
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")


def read(path: Path) -> bytes:
    """Return a course's secret, b"" if it has none.

    Raises:
        SecretError: if others could have read it, or it is none.

    """
    try:
        with path.open(encoding="ascii") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(1000).strip()
    except FileNotFoundError:
        return b""
    except (OSError, UnicodeDecodeError) as error:
        why = (
            getattr(error, "strerror", None)
            or "not a secret of `python -m grading secret`"
        )
        raise SecretError(f"{path}: {why}") from None
    if mode & 0o027:  # a group may read it: a course's instructors
        raise SecretError(
            f"{path}: its mode is {mode:03o}, so others may have read it. Close it: "
            f"chmod 600 {path}"
        )
    if not FORM.fullmatch(text):
        raise SecretError(
            f"{path}: not complete, or not made by `python -m grading secret`"
        )
    return bytes.fromhex(text)


def label(secret: bytes) -> str:
    """Return what tells one secret from another without telling it, "" for none."""
    return hmac.digest(secret, b"label", hashlib.sha256).hex()[:12] if secret else ""


def seeds(secret: bytes, assignment: str, names: Iterable[str]) -> dict[str, int]:
    """Return the number of each test cell, by grade_id; {} without a secret."""
    # PyTorch's generator takes 32 bits of a seed; what is added to must stay below.
    return (
        {
            name: int.from_bytes(
                hmac.digest(secret, f"{assignment}\0{name}".encode(), hashlib.sha256)[
                    :4
                ]
            )
            >> 1
            for name in names
        }
        if secret
        else {}
    )


def draw(source: str, seed: int | None) -> str:
    """Return a test cell whose hidden part draws its inputs with a number; None: as it stands."""
    if seed is None:
        return source
    # What students see draws as it does for them: before, between and after hidden parts, and also
    # where the hidden part of an earlier cell failed.
    drawn = BEGIN.sub(rf"\g<0>{NAME} = {seed}\n", source)
    return f"{NAME} = 0\n" + END.sub(rf"\g<0>{NAME} = 0\n", drawn)
