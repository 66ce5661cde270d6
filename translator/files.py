"""Files that are whole or not there at all: written beside their place, then renamed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CHUNK = 1 << 20


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader finds the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Give a temporary folder to fill; it takes the place of `path` when all went well.

    After an error what was at `path` is still there, and the temporary folder is gone. A kill
    leaves what was at `path`, and the temporary folder beside it. A folder that is replaced is
    moved aside first and removed last; a kill between the two renames leaves both beside `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{path.name}.new-", dir=path.parent))
    try:
        yield work
        for file in work.rglob("*"):
            if file.is_file():  # some libraries write for the owner alone
                os.chmod(file, 0o666 & ~_umask())
            _sync(file)
        os.chmod(work, 0o777 & ~_umask())
        old = None
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
            os.rename(path, old / path.name)
        try:
            os.rename(work, path)
        except BaseException:
            if old is not None:
                os.rename(old / path.name, path)
            raise
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
        _sync(path.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sync(path: Path) -> None:
    """Make sure a file or folder is on the disk, where the system can do that."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
