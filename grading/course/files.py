"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

#: How the names begin of files that are not yet at their place; a killed process may leave one.
PARTIAL = ".partial-"


def write(
    target: Path,
    content: str | bytes,
    *,
    mode: int = 0o644,
    replace: bool = True,
    durable: bool = False,
) -> None:
    """Write a file under another name beside its place, then rename it; make its folder if need be.

    Args:
        target: its place.
        content: bytes, or text that is written as UTF-8.
        mode: who may read it, as for `chmod`. Before it is at its place, its owner alone.
        replace: whether it takes the place of a file that is there.
        durable: whether it has reached the disk before it is at its place.

    Raises:
        FileExistsError: if there is a file that is not to be replaced.
        OSError: if it can't be written; then everything is as before.

    """
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=PARTIAL)
    made = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        made.chmod(mode)
        if replace:
            made.replace(target)
        else:
            os.link(made, target)
    finally:
        made.unlink(missing_ok=True)
