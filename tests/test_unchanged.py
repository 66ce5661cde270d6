"""Tests that `make test` leaves out: only while nothing that they depend on has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import unchanged

ROOT = Path(__file__).resolve().parent.parent

#: Two marked tests, of which one reads a module, and one that has no mark.
TESTS = """
import pytest
from tests.harness.twice import twice

@pytest.mark.reads("data/{name}.txt")
@pytest.mark.parametrize("name", ["one", "two"])
def test_marked(name, request):
    text = (request.config.rootpath / "data" / f"{name}.txt").read_text()
    assert twice(int(text)) == 2 * int(text)

def test_unmarked():
    pass
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A small repository with the plugin and its options."""
    for package in unchanged.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("requirements.txt", "constraints.txt"):
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["reads(patterns): what it depends on"]\n'
    )
    harness = tmp_path / "tests" / "harness"
    harness.mkdir()
    (harness / "__init__.py").touch()
    shutil.copy(unchanged.__file__, harness / "unchanged.py")
    options, _, hooks = (
        (ROOT / "tests" / "conftest.py")
        .read_text(encoding="utf-8")
        .partition("def pytest_addoption")[2]
        .partition("@pytest.hookimpl(wrapper=True)")
    )
    assert hooks
    (tmp_path / "tests" / "conftest.py").write_text(
        "import pytest\nfrom tests.harness import unchanged\n\n\n"
        f"def pytest_addoption{options}"
    )
    (harness / "twice.py").write_text("def twice(x):\n    return x + x\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.txt").write_text("1")
    (tmp_path / "data" / "two.txt").write_text("2")
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    return tmp_path


def run(course: Path, *options: str) -> tuple[int, str]:
    """Run its tests; return the exit status and what was said."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs"]
    result = subprocess.run(
        [*command, *options, "tests"],
        cwd=course,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


def skipped(course: Path, *options: str) -> int:
    """Run its tests; return how many were left out. None fails."""
    status, said = run(course, "--skip-unchanged", *options)
    assert status == 0, said
    assert f"{unchanged.REASON}" in said or "skipped" not in said
    passed = int(said.rpartition(" passed")[0].split()[-1])
    return 3 - passed


@pytest.mark.slow
def test_what_has_passed_is_left_out_until_something_changes(course: Path) -> None:
    """Its data, what it imports, its own file, a conftest, the libraries: each counts."""
    assert skipped(course) == 0, "nothing is on record, and nothing is written"
    assert not (course / "tests" / "unchanged.json").exists()
    workers = ("-p", "xdist", "-n", "2")
    assert skipped(course, "--record-unchanged", *workers) == 0
    assert skipped(course, *workers) == 2
    status, said = run(course)
    assert status == 0
    assert "3 passed" in said, "who asks for no more gets all"

    for name, left_out in (
        ("data/one.txt", 1),
        ("tests/harness/twice.py", 0),
        ("tests/test_some.py", 0),
        ("tests/conftest.py", 0),
        ("constraints.txt", 0),
    ):
        path = course / name
        before = path.read_text()
        path.write_text(f"{before}\n")
        assert skipped(course) == left_out, name
        path.write_text(before)
    assert skipped(course) == 2, "as before"


def test_what_fails_leaves_the_record(course: Path) -> None:
    """It is run again each time; the other's place in the record stays."""
    assert skipped(course, "--record-unchanged") == 0
    (course / "data" / "one.txt").write_text("none")
    status, _ = run(course, "--skip-unchanged", "--record-unchanged")
    assert status == 1
    record = json.loads((course / "tests" / "unchanged.json").read_text())
    assert list(record) == ["tests/test_some.py::test_marked[two]"]


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("data/three.txt", "names no file: data/three.txt"),
        ("data/{folder}", "names the parameter 'folder', which the test does not have"),
    ],
)
def test_a_mark_that_names_nothing_is_an_error(
    course: Path, mark: str, said: str
) -> None:
    """What it should name could change, and the test would stay left out."""
    path = course / "tests" / "test_some.py"
    path.write_text(path.read_text().replace("data/{name}.txt", mark, 1))
    status, words = run(course, "--skip-unchanged")
    assert status != 0
    assert said in words


def test_a_record_that_is_none_is_an_error(course: Path) -> None:
    """Its file is named."""
    (course / "tests" / "unchanged.json").write_text("[")
    status, words = run(course, "--skip-unchanged")
    assert status != 0
    assert "unchanged.json: not a record of tests" in words


def test_the_record_names_tests_that_are_there() -> None:
    """One that is gone, or has lost its mark, is not on record."""
    for name in unchanged.read(unchanged.FILE):
        path, test = name.partition("[")[0].split("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        above, definition, _ = text.partition(f"\ndef {test}(")
        assert definition, f"{name} is gone"
        assert "@pytest.mark.reads(" in above.rpartition("\n\n\n")[2], name
