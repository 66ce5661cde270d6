"""The first cell of "Train on a GPU", wherever the course is: run without packages and network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

PACKAGES = {
    "matplotlib",
    "numpy",
    "py3langid",
    "sacrebleu",
    "safetensors",
    "tokenizers",
    "tqdm",
}
#: In pip's place: notes its arguments, and makes an empty module of each package.
PIP = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "pip.jsonl", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
for name in sys.argv[1:]:
    if "==" in name:
        (here / f"{name.split('==')[0]}.py").touch()
"""
GIT = '#!/bin/sh\necho "$@" >> {log}\ncp -r {course} course\n'


class Machine:
    """A notebook's machine: a folder to work in, uploads, pip and git, and no packages."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.folder = root, folder
        for name in ("work", "site", "bin", "kaggle/input", "content/drive/MyDrive"):
            (folder / name).mkdir(parents=True)
        (folder / "site" / "pip.py").write_text(PIP, encoding="utf-8")
        git = folder / "bin" / "git"
        git.write_text(GIT.format(log=folder / "git.log", course=self.course("remote")))
        git.chmod(0o755)
        notebook = nbformat.read(root / "book" / "train-on-a-gpu.ipynb", as_version=4)
        (cell,) = (cell for cell in notebook.cells if cell.id == "gpu-setup")
        self.source = cell.source
        for place in ("kaggle/input", "content/drive/MyDrive"):
            assert f'"/{place}"' in self.source
            self.source = self.source.replace(f'"/{place}"', f'"{folder / place}"')

    def course(self, *place: str) -> Path:
        """Put the course somewhere; only what the cell looks for is in it."""
        folder = self.folder.joinpath(*place)
        (folder / "translator").mkdir(parents=True)
        (folder / "translator" / "__init__.py").touch()
        (folder / "translator" / "cli.py").touch()
        shutil.copy(self.root / "requirements.txt", folder)
        return folder

    def zipped(self, place: str) -> None:
        """Put a .zip of the course somewhere, with a folder in it, as from GitHub."""
        folder = self.course("to-zip", "course-main")
        shutil.make_archive(
            str(self.folder / place / "course-main"), "zip", folder.parent
        )

    def run(self, address: str = "") -> subprocess.CompletedProcess[str]:
        """Run the cell in a new process, and print the folder that it found."""
        source = self.source.replace('COURSE = ""', f'COURSE = "{address}"', 1)
        code = f"{source}\nimport tokenizers, tqdm\nprint(root)"
        return subprocess.run(
            [sys.executable, "-S", "-c", code],
            cwd=self.folder / "work",
            env={
                "PATH": f"{self.folder / 'bin'}:{os.defpath}",
                "PYTHONPATH": str(self.folder / "site"),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def finds(self, address: str = "") -> Path:
        """Run the cell and return where it found the course."""
        done = self.run(address)
        assert done.returncode == 0, done.stderr
        return Path(done.stdout.splitlines()[-1])

    @property
    def installed(self) -> list[list[str]]:
        """The arguments of each call of pip."""
        log = self.folder / "site" / "pip.jsonl"
        lines = log.read_text().splitlines() if log.is_file() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def machine(root: Path, tmp_path: Path) -> Machine:
    return Machine(root, tmp_path)


def check_packages(machine: Machine) -> None:
    (arguments,) = machine.installed
    assert arguments[:2] == ["install", "-q"]
    pinned = dict(argument.split("==") for argument in arguments[2:])
    assert set(pinned) == PACKAGES
    lines = (machine.root / "requirements.txt").read_text().splitlines()
    for name, version in pinned.items():
        assert any(f"{line} ".startswith(f"{name}=={version} ") for line in lines)


def test_cloned(machine: Machine) -> None:
    assert machine.finds("https://example.org/course") == machine.folder / "work/course"
    log = machine.folder / "git.log"
    assert log.read_text() == "clone --depth 1 https://example.org/course course\n"
    check_packages(machine)
    # Again: all is there.
    assert machine.finds("https://example.org/course") == machine.folder / "work/course"
    assert len(log.read_text().splitlines()) == len(machine.installed) == 1


@pytest.mark.parametrize(
    "place",
    [
        "work/course",
        "work/course-main/course-main",
        "kaggle/input/course",
        "kaggle/input/datasets/somebody/course/course-main",
        "content/drive/MyDrive/course",
    ],
)
def test_uploaded_as_a_folder(place: str, machine: Machine) -> None:
    folder = machine.course(place)
    assert machine.finds() == folder
    check_packages(machine)
    assert not (machine.folder / "git.log").exists()


@pytest.mark.parametrize("place", ["work", "content/drive/MyDrive"])
def test_uploaded_as_a_zip(place: str, machine: Machine) -> None:
    uploads = machine.folder / place
    (uploads / "begun.zip").write_bytes(b"PK\x03\x04 half of it")
    with zipfile.ZipFile(uploads / "another.zip", "w") as archive:
        archive.writestr("notes.txt", "no course")
    machine.zipped(place)
    # An address is not asked where there is an upload.
    found = machine.finds("https://example.org/course")
    assert found == machine.folder / "work" / "course" / "course-main"
    check_packages(machine)
    assert not (machine.folder / "git.log").exists()


def test_the_notebook_inside_the_course(machine: Machine) -> None:
    (machine.folder / "work").rmdir()
    folder = machine.course("work")
    assert machine.finds() == folder
    check_packages(machine)


def test_already_installed(machine: Machine) -> None:
    folder = machine.course("site")
    for name in PACKAGES:
        (folder / f"{name}.py").touch()
    assert machine.finds("https://example.org/course") == folder
    assert machine.installed == []
    assert not (machine.folder / "git.log").exists()


def test_only_what_is_missing_is_installed(machine: Machine) -> None:
    machine.course("work", "course")
    for name in PACKAGES - {"sacrebleu"}:
        (machine.folder / "site" / f"{name}.py").touch()
    machine.finds()
    (arguments,) = machine.installed
    assert [argument.split("==")[0] for argument in arguments[2:]] == ["sacrebleu"]


def test_nowhere(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 1
    said = "no course here: upload its folder or a .zip of it, or set COURSE\n"
    assert done.stderr == said
    assert machine.installed == []
