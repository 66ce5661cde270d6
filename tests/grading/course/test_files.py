"""Files are there whole or not at all, and only for whom they are meant."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from grading.course import files


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("content", ["Grüße\n", "Grüße\n".encode()])
def test_it_is_there_in_a_new_folder(
    content: str | bytes, durable: bool, tmp_path: Path
) -> None:
    """With what it was given, for everybody to read, and nothing beside it."""
    target = tmp_path / "a" / "b" / "file"
    files.write(target, content, durable=durable)
    assert target.read_bytes() == "Grüße\n".encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert names(target.parent) == ["file"]


def test_a_private_one_is_never_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither at its place nor while it is written."""
    modes = []

    def look(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fsync", look)
    target = tmp_path / "key"
    files.write(target, b"secret", mode=0o600, durable=True)
    assert modes == [0o600]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_one_that_fails_leaves_the_old_one(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, for example; nothing else is left either."""
    target = tmp_path / "file"
    files.write(target, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        *{"fsync": (os, "fsync"), "replace": (Path, "replace")}[at], full
    )
    with pytest.raises(OSError, match="No space left"):
        files.write(target, "new", durable=True)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_the_first_one_stays_where_asked(tmp_path: Path) -> None:
    """Of two that make the same file, one is told that it is late."""
    target = tmp_path / "file"
    files.write(target, "first", replace=False)
    with pytest.raises(FileExistsError):
        files.write(target, "second", replace=False)
    assert target.read_text() == "first"
    assert names(tmp_path) == ["file"]
