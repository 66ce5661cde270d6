"""Notebooks, zips and standings for the tests of what goes to and from an LMS."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
from pathlib import Path

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.files.imports import Target

NAME, NOTEBOOK = "90-sample", "sample.ipynb"


def notebook(text: str = "1 + 1") -> bytes:
    """Return a small notebook."""
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": text,
    }
    whole = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole).encode()


def make_zip(
    path: Path, files: dict[str, bytes] | list[tuple[str | zipfile.ZipInfo, bytes]]
) -> Path:
    """Write a zip; names as given."""
    items = files.items() if isinstance(files, dict) else files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in items:
            if isinstance(name, zipfile.ZipInfo):
                name.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(name, data)
    return path


def link(name: str) -> zipfile.ZipInfo:
    """Return the entry of a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def patch(path: Path, change: object) -> Path:
    """Change the bytes of a zip, as a liar would."""
    path.write_bytes(change(path.read_bytes()))
    return path


def lie_about_size(data: bytes, size: int) -> bytes:
    """Write another unpacked size into the headers of the only file."""
    data = bytearray(data)
    struct.pack_into("<L", data, data.index(b"PK\x03\x04") + 22, size)
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + 24, size)
    return bytes(data)


def target(root: Path) -> Target:
    """Return where the sample's submissions go."""
    return Target(root / "submitted", NAME, NOTEBOOK)


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; links as what they point to."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else b"link"
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def standing(
    student: str,
    points: float | None = 40.0,
    state: State = State.GRADED,
    most: float = 60.0,
    *reasons: str,
) -> Standing:
    """Return one student's standing."""
    return Standing(student, NAME, state, points, most, reasons)


def entries(data: bytes) -> dict[str, bytes]:
    """Return a zip's files."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
