"""Reads a file that a student handed in: a regular notebook of bounded size, or an error."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import stat
from pathlib import Path

#: The largest notebook that is read. An assignment with its figures takes less than 2 MiB.
MAX_BYTES = 20 * 2**20

#: The most code of a student's own that is read, in characters, and in how many cells. What code
#: means takes a thousand times its memory to work out, and that is worked out in the grader.
MOST_CODE, MOST_CELLS = 250_000, 2000


#: Texts, numbers and brackets in the JSON of a notebook, and cells in it: each takes up to thirty
#: times its size in memory. Figures of some MiB and 100,000 lines of output are no tenth of this.
MOST_PARTS, MOST_IN_FILE = 2_000_000, 10_000
#: What such a part begins with or ends with. A repetition that ends in + gives nothing back.
_PART = re.compile(rb'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"?|[\[{,]')


class SubmissionError(ValueError):
    """A file that is no notebook of the assignment; the message says what a student can do."""


def read(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a submitted file; links, devices and huge files are not read.

    Raises:
        SubmissionError: if it is no ordinary file of a reasonable size.

    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SubmissionError(
                f"{path.name} is a link, not a file: hand in the notebook itself"
            ) from None
        raise SubmissionError(
            f"{path.name} cannot be opened: {error.strerror}"
        ) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SubmissionError(f"{path.name} is not a file: hand in the notebook itself")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1) if status.st_size <= max_bytes else b""
    if status.st_size > max_bytes or len(data) > max_bytes:
        raise SubmissionError(
            f"{path.name} has {status.st_size / 2**20:.0f} MiB, and at most "
            f"{max_bytes / 2**20:.0f} are read: clear the outputs and hand in again"
        )
    return data


def parse(data: bytes, name: str = "the file") -> list[dict]:
    """Return the cells of a notebook, as dictionaries; anything odd inside them stays.

    Raises:
        SubmissionError: if it is no notebook of format 4, or has more parts than any.

    """
    if (
        sum(1 for _ in itertools.islice(_PART.finditer(data), MOST_PARTS + 1))
        > MOST_PARTS
    ):
        raise SubmissionError(
            f"{name} has more than {MOST_PARTS:,} lines, texts and numbers: clear the outputs and "
            "hand in again"
        )
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        kind = (
            "nested too deeply"
            if isinstance(error, RecursionError)
            else str(error)[:120]
        )
        raise SubmissionError(
            f"{name} is not a notebook ({kind}): save it in Jupyter and hand in again"
        ) from None
    if not isinstance(notebook, dict):
        raise SubmissionError(
            f"{name} is JSON, but not a notebook: hand in the .ipynb file"
        )
    form, cells = notebook.get("nbformat"), notebook.get("cells")
    if form != 4:
        raise SubmissionError(
            f"{name} has notebook format {form!r:.20}, expected 4: open it in JupyterLab, "
            "save it and hand in again"
        )
    if not isinstance(cells, list):
        raise SubmissionError(f"{name} has no list of cells: hand in the .ipynb file")
    if len(cells) > MOST_IN_FILE:
        raise SubmissionError(
            f"{name} has {len(cells):,} cells, and at most {MOST_IN_FILE:,} are read: delete those "
            "that aren't yours or the assignment's, and hand in again"
        )
    return [cell for cell in cells if isinstance(cell, dict)]


def check_size(name: str, texts: list[str]) -> None:
    """Refuse more code of a student's own than anybody writes.

    Raises:
        SubmissionError: naming how much there is, and what to do.

    """
    size = sum(map(len, texts))
    if size > MOST_CODE or len(texts) > MOST_CELLS:
        raise SubmissionError(
            f"{name} has {size:,} characters of your own code in {len(texts):,} cells, and at most "
            f"{MOST_CODE:,} in {MOST_CELLS:,} are graded: take out data and copies that stand in "
            "code cells, and hand in again"
        )
