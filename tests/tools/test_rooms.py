"""The rooms' contracts (pyproject.toml): each import against them is named, and fails the step."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools import run_tests

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = CONFIG["tool"]["importlinter"]["root_packages"]


@pytest.fixture
def copied(tmp_path):
    """A copy of the rooms, without what is no code."""
    for name in PACKAGES:
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            ignore=lambda folder, names: [
                n
                for n in names
                if Path(folder, n).is_file() and Path(n).suffix != ".py"
            ],
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder):
    """Return what the step of `make check` says in a folder, and its status."""
    command = dict(run_tests.steps(fast=True))["rooms"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode


def test_the_course_keeps_its_contracts():
    said, status = lint(ROOT)
    assert status == 0, said


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("grading/course/text.py", "from grading.run import pool", "grading"),
        ("grading/wire/channel.py", "from grading.sandbox import limits", "grading"),
        (
            "grading/lms/files/csv_files.py",
            "from grading.lms import cli",
            "grading-lms",
        ),
        (
            "grading/lms/lti/grades/scores.py",
            "from grading.lms.lti.web import base",
            "grading-lti",
        ),
        (
            "grading/feedback/words.py",
            "from grading.feedback import page",
            "grading-circles",
        ),
        ("grading/course/text.py", "import transformer", "grading-apart"),
        ("deploy/lti.py", "from tools import lab", "tools"),
        ("transformer/attention.py", "import translator.config", "course"),
    ],
)
def test_an_import_against_a_contract_is_named(file, line, contract, copied):
    """By the two modules and the line, with what to do instead; also one inside a function."""
    path = copied / file
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n\ndef late():\n    {line}\n", encoding="utf-8")
    said, status = lint(copied)
    assert status == 1
    wanted = next(
        one
        for one in CONFIG["tool"]["importlinter"]["contracts"]
        if one["id"] == contract
    )
    assert f"{wanted['name']} BROKEN" in said
    assert wanted["broken_contract_guidance"] in said
    if contract != "grading-circles":  # which counts the imports between two modules
        module = file.removesuffix(".py").replace("/", ".")
        assert f"{module} -> " in said
        assert f"(l.{len(text.splitlines()) + 4})" in said


def test_a_room_without_a_place_is_named(copied):
    room = copied / "grading" / "attic"
    room.mkdir()
    (room / "__init__.py").write_text("", encoding="utf-8")
    said, status = lint(copied)
    assert status == 1
    assert "grading.attic" in said


def test_no_room_has_more_than_twelve_modules():
    """So that one finds one's way in it."""
    for package in ("grading", "translator", "transformer"):
        folders = {path.parent for path in (ROOT / package).rglob("*.py")}
        full = {
            folder.relative_to(ROOT).as_posix(): len(names)
            for folder in folders
            if len(names := [p for p in folder.glob("*.py") if p.stem != "__init__"])
            > 12
        }
        assert not full, full
