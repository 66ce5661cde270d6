"""Hostile zips: refused or bounded, with a line a file; nothing outside the target."""

from __future__ import annotations

import os
import struct
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.lms.files import archive, imports
from grading.lms.files.imports import Options
from grading.lms.files.roster import Roster
from grading.lms.outcome import Problem, Report, Verdict
from tests.grading.lms.files.samples import (
    NOTEBOOK,
    lie_about_size,
    link,
    make_zip,
    notebook,
    patch,
    target,
    tree,
)

GOOD = "ada_11_101_sample.ipynb"


def take(path: Path, root: Path, **options: object) -> Report:
    """Import with no roster."""
    return imports.take(path, target(root), Roster(), Options(**options))


def make_bomb(path: Path, mebibytes: int) -> Path:
    """Write a zip of so many MiB of zeros, which is small."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
        made.open("eve_12_102_sample.ipynb", "w") as file,
    ):
        for _ in range(mebibytes):
            file.write(bytes(1 << 20))
    return path


def refused(report: Report, file: str) -> str:
    """Return why a file was refused; there must be one line about it."""
    lines = [line for line in report.lines if line.file == file]
    assert [line.verdict for line in lines] == [Verdict.REFUSED], report.text()
    return lines[0].reason


def only_good(report: Report, root: Path) -> None:
    """Assert that the one good file was taken, and nothing else written."""
    found = tree(root / "submitted")
    assert set(found) == {f"11/90-sample/{NOTEBOOK}", ".lms/90-sample.json"}, (
        report.text()
    )
    assert found[f"11/90-sample/{NOTEBOOK}"] == notebook("good")


@pytest.mark.parametrize(
    "name",
    [
        "../../evil_12_102_sample.ipynb",
        "/tmp/evil_12_102_sample.ipynb",
        "C:\\evil_12_102_sample.ipynb",
        "..\\evil_12_102_sample.ipynb",
        "a/../../evil_12_102_sample.ipynb",
        "a//evil_12_102_sample.ipynb",
        "./evil_12_102_sample.ipynb",
        "evil\x1b[2J_12_102_sample.ipynb",
        "evil\N{RIGHT-TO-LEFT OVERRIDE}_12_102_sample.ipynb",
        "x" * 300 + "_12_102_sample.ipynb",
        "/".join("abcdefghij") + "_12_102_sample.ipynb",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """The zip's names never become paths; those that try are named."""
    work = tmp_path / "deep" / "course"
    work.mkdir(parents=True)
    path = make_zip(
        work / "s.zip", [(name, notebook("evil")), (GOOD, notebook("good"))]
    )
    before = tree(tmp_path)
    report = take(path, work, kind="canvas")
    assert len(report.refused) == 1
    assert "name" in report.refused[0].reason
    assert "\x1b" not in report.text()
    only_good(report, work)
    written = {name for name in tree(tmp_path) if name not in before}
    assert all(name.startswith("deep/course/submitted/") for name in written)


def test_links_devices_and_encrypted_files_are_refused(tmp_path: Path) -> None:
    """What is no plain file isn't read."""
    device = zipfile.ZipInfo("dev_13_103_sample.ipynb")
    device.create_system, device.external_attr = 3, 0o020666 << 16
    path = make_zip(
        tmp_path / "s.zip",
        [
            (link("eve_12_102_sample.ipynb"), b"/etc/passwd"),
            (device, b""),
            (GOOD, notebook("good")),
        ],
    )
    report = take(path, tmp_path)
    assert refused(report, "eve_12_102_sample.ipynb") == "a link, not a file"
    assert refused(report, "dev_13_103_sample.ipynb") == "no plain file"
    only_good(report, tmp_path)

    def encrypt(data: bytes) -> bytes:
        data = bytearray(data)
        data[data.index(b"PK\x03\x04") + 6] |= 1
        data[data.index(b"PK\x01\x02") + 8] |= 1
        return bytes(data)

    path = patch(make_zip(tmp_path / "e.zip", {GOOD: notebook()}), encrypt)
    assert refused(take(path, tmp_path / "other"), GOOD) == "encrypted"


def test_a_bomb_is_refused_by_its_size(tmp_path: Path) -> None:
    """A header that says 200 MB, or 10 GB, is enough."""
    bomb = make_bomb(tmp_path / "b.zip", 200)
    assert bomb.stat().st_size < 2 << 20
    assert "200 MiB, and at most 20" in refused(
        take(bomb, tmp_path), "eve_12_102_sample.ipynb"
    )
    assert not (tmp_path / "submitted").exists()


@pytest.mark.parametrize("size", [10, 1 << 20, 0xFFFFFFFE])
def test_a_bomb_whose_header_lies_is_bounded(tmp_path: Path, size: int) -> None:
    """Whatever the header says, no more than the limit comes into memory, and nothing is taken."""
    bomb = patch(
        make_bomb(tmp_path / "b.zip", 100), lambda data: lie_about_size(data, size)
    )
    tracemalloc.start()
    try:
        reason = refused(take(bomb, tmp_path), "eve_12_102_sample.ipynb")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "damaged" in reason or "at most 20" in reason
    assert peak < 70 << 20
    assert not (tmp_path / "submitted").exists()


def test_the_whole_is_bounded(tmp_path: Path) -> None:
    """Many files below the limit of one are stopped by the limit of all."""
    files = {
        f"s_{n}_{n + 500}_sample.ipynb": notebook(f"{n}" + " " * 10_000)
        for n in range(10, 20)
    }
    report = take(make_zip(tmp_path / "s.zip", files), tmp_path, max_total=35_000)
    assert report.count(Verdict.TAKEN) == 3
    assert {line.reason for line in report.refused} == {
        "the archive unpacks to more than one import may take"
    }


def test_an_unpackable_method_is_refused(tmp_path: Path) -> None:
    """bzip2 and LZMA unpack without a bound in Python: they are not read."""
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("eve_12_102_sample.ipynb", notebook("evil"))
    assert "method" in refused(take(path, tmp_path), "eve_12_102_sample.ipynb")


def test_too_many_entries_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip of very many files is refused before it is read whole."""
    path = make_zip(tmp_path / "s.zip", {f"{n}.txt": b"" for n in range(300)})
    monkeypatch.setattr(archive, "MAX_ENTRIES", 200)
    with pytest.raises(Problem, match="more than 200 files"):
        take(path, tmp_path)
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 5_000)
    with pytest.raises(Problem, match="table of contents"):
        take(path, tmp_path)


def test_the_table_of_contents_is_measured_as_zipfile_does(tmp_path: Path) -> None:
    """Also with a comment, and with the records of a large zip."""
    path = make_zip(tmp_path / "s.zip", {GOOD: notebook()})
    size = archive.directory_size(path)
    with zipfile.ZipFile(path, "a") as made:
        made.comment = b"a comment"
    assert archive.directory_size(path) == size > 40
    plain = path.read_bytes()
    end = plain.index(b"PK\x05\x06")
    large = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 77_777_777, 0
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    path.write_bytes(plain[:end] + large + locator + plain[end:])
    assert archive.directory_size(path) == 77_777_777


@pytest.mark.parametrize("length", [0, 7])
def test_a_zip_of_two_tables_of_contents_is_refused(
    tmp_path: Path, length: int
) -> None:
    """One stands in the comment of the other, with a comment that ends in time or does not."""
    path = make_zip(tmp_path / "s.zip", {GOOD: notebook()})
    with zipfile.ZipFile(path, "a") as made:
        made.comment = b"see" + struct.pack(
            "<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, 0, 0, length
        )
    with pytest.raises(Problem, match="two tables of contents"):
        take(path, tmp_path)
    with zipfile.ZipFile(path, "a") as made:
        assert not made.namelist(), "zipfile reads the wrong one"


def test_an_archive_inside_that_is_not_packed_is_no_second_table(
    tmp_path: Path,
) -> None:
    """Its own end stands in the file, too."""
    inner = make_zip(tmp_path / "inner.zip", {"a.txt": b""}).read_bytes()
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as made:
        made.writestr(GOOD, notebook("good"))
        made.writestr("bob_12_102_inner.zip", inner)
    take(tmp_path / "s.zip", tmp_path)
    only_good(take(tmp_path / "s.zip", tmp_path), tmp_path)


@pytest.mark.parametrize("files", [{}, {"__MACOSX/a": b""}])
def test_an_archive_without_files_is_a_problem(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    """Whoever exported nothing wants to know."""
    with pytest.raises(Problem, match=r"s\.zip: holds no files"):
        take(make_zip(tmp_path / "s.zip", files), tmp_path)
    assert not (tmp_path / "submitted").exists()


@pytest.mark.slow
def test_many_large_notebooks_of_one_student_are_not_kept(tmp_path: Path) -> None:
    """One after the other comes into memory."""
    files = {
        f"ada_11_{n}_try-{n}.ipynb": notebook("1" * (18 << 20) + str(n))
        for n in range(8)
    }
    path = make_zip(tmp_path / "s.zip", files)
    files.clear()
    tracemalloc.start()
    try:
        report = take(path, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {line.reason[:22] for line in report.refused} == {"8 different notebooks "}
    assert peak < 110 << 20


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"no zip at all" * 100])
def test_what_is_no_zip_says_so(tmp_path: Path, content: bytes) -> None:
    """One clear line."""
    path = tmp_path / "s.zip"
    path.write_bytes(content)
    with pytest.raises(Problem, match=r"^s\.zip: no zip"):
        take(path, tmp_path)
    with pytest.raises(Problem, match="no such file"):
        take(tmp_path / "other.zip", tmp_path)


def test_damage_is_found(tmp_path: Path) -> None:
    """A byte changed within the data of one file costs that file."""
    path = make_zip(tmp_path / "s.zip", {"eve_12_102_sample.ipynb": os.urandom(3_000)})

    def damage(data: bytes) -> bytes:
        data = bytearray(data)
        data[200] ^= 255
        return bytes(data)

    assert "damaged" in refused(
        take(patch(path, damage), tmp_path), "eve_12_102_sample.ipynb"
    )


def test_names_in_the_wrong_encoding(tmp_path: Path) -> None:
    """UTF-8 that doesn't say so is read; a zip that says UTF-8 and isn't is refused."""
    name = "müller_12_102_sample.ipynb"
    wide = name.encode().decode("cp437")
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("m__ller_12_102_sample.ipynb", notebook())
    raw = path.read_bytes().replace(b"m__ller", "müller".encode())
    path.write_bytes(raw)
    with archive.Source(path) as source:
        assert [entry.name for entry in source.entries()] == [name]
    assert wide != name
    lying = make_zip(tmp_path / "l.zip", {"mü_12_102_sample.ipynb": notebook()})
    lying.write_bytes(lying.read_bytes().replace("mü".encode(), b"m\xff\xfe"))
    with pytest.raises(Problem, match="UTF-8"):
        take(lying, tmp_path)


def test_two_entries_of_one_name_and_a_name_with_nul(tmp_path: Path) -> None:
    """The second one is refused; so is a name that ends at a NUL for some programs."""
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(GOOD, notebook("good"))
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr(GOOD, notebook("evil"))
    report = take(path, tmp_path)
    assert "another file of this name" in report.refused[0].reason
    only_good(report, tmp_path)
    path = make_zip(tmp_path / "n.zip", {"eve_12_102_sample.ipynbX.txt": notebook()})
    path.write_bytes(path.read_bytes().replace(b"ipynbX", b"ipynb\0"))
    assert "NUL" in take(path, tmp_path / "n").refused[0].reason


def test_an_entry_without_a_name_is_refused(tmp_path: Path) -> None:
    """A NUL where the name begins leaves none: a line about it, and the good file is taken."""
    path = make_zip(
        tmp_path / "s.zip", {GOOD: notebook("good"), "mia_12_102_sample.ipynb": b"x"}
    )
    patch(path, lambda data: data.replace(b"mia_12", b"\0ia_12"))
    assert "NUL" in refused(take(path, tmp_path, kind="canvas"), "")
    only_good(take(path, tmp_path, kind="canvas"), tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b'{"nbformat": 3, "worksheets": []}',
        b'{"nbformat": 4, "cells": {}}',
        b"[" * 100_000,
        b"\xff\xfe",
        b"print(1)",
        b"",
        b'"text"',
        b"NaN",
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: bytes) -> None:
    """JSON that is no notebook, and what isn't JSON."""
    files = {"eve_12_102_sample.ipynb": content, GOOD: notebook("good")}
    report = take(make_zip(tmp_path / "s.zip", files), tmp_path)
    assert "hand in" in refused(report, "eve_12_102_sample.ipynb")
    only_good(report, tmp_path)


def test_an_archive_inside_is_not_opened(tmp_path: Path) -> None:
    """A student's zip stays closed."""
    inner = make_zip(tmp_path / "i.zip", {NOTEBOOK: notebook()}).read_bytes()
    path = make_zip(
        tmp_path / "s.zip", {"eve_12_102_work.zip": inner, GOOD: notebook("good")}
    )
    report = take(path, tmp_path)
    line = next(line for line in report.lines if line.file == "eve_12_102_work.zip")
    assert (line.verdict, line.student) == (Verdict.REFUSED, "12")
    assert "an archive inside is not opened" in line.reason
    only_good(report, tmp_path)


def test_a_folder_with_links_is_not_followed(tmp_path: Path) -> None:
    """Links in a folder are named; so are pipes."""
    folder = tmp_path / "in"
    (folder / "ada").mkdir(parents=True)
    (folder / "ada" / NOTEBOOK).symlink_to("/etc/passwd")
    (folder / "eve").symlink_to("/etc")
    os.mkfifo(folder / "pipe.ipynb")
    report = take(folder, tmp_path)
    assert {(line.file, line.reason) for line in report.refused} == {
        (f"ada/{NOTEBOOK}", "a link, not a file"),
        ("eve", "a link, not a file"),
        ("pipe.ipynb", "no plain file"),
    }
    assert not (tmp_path / "submitted").exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A student's folder that is a link, and a file where a folder should be."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "submitted").mkdir()
    (tmp_path / "submitted" / "11").symlink_to(outside)
    (tmp_path / "submitted" / "12").write_text("a file")
    path = make_zip(
        tmp_path / "s.zip", {GOOD: notebook(), "eve_12_102_sample.ipynb": notebook()}
    )
    report = take(path, tmp_path)
    assert "is a link" in refused(report, GOOD)
    assert "no folder" in refused(report, "eve_12_102_sample.ipynb")
    assert not list(outside.iterdir())
    (tmp_path / "submitted" / ".lms").symlink_to(outside)
    with pytest.raises(Problem, match="is a link"):
        take(path, tmp_path)


@settings(max_examples=300, deadline=None)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6
    ),
    cut=st.integers(0, 400),
)
def test_any_damage_ends_in_a_report_or_one_problem(changes: list, cut: int) -> None:
    """Bytes changed anywhere, the end cut off: no other error, and nothing but notebooks taken."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = make_zip(
            root / "s.zip", {GOOD: notebook("good"), "mü_12_102_sample.ipynb": b"x"}
        )
        data = bytearray(path.read_bytes())
        for place, value in changes:
            data[place % len(data)] = value
        path.write_bytes(data[: max(1, len(data) - cut)] if cut > 350 else data)
        try:
            take(path, root, kind="canvas")
        except Problem:
            return
        found = tree(root / "submitted") if (root / "submitted").exists() else {}
        for name, content in found.items():
            assert name == ".lms/90-sample.json" or content == notebook("good")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_very_many_students_at_once(tmp_path: Path) -> None:
    """Tens of thousands of small files take time in proportion, and a line each."""
    count = 20_000
    path = make_zip(
        tmp_path / "many.zip", {f"s{n}/{NOTEBOOK}": b"{}" for n in range(count)}
    )
    assert len(take(path, tmp_path / "course", add_unknown=True).refused) == count
