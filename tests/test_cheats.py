"""No hidden test is passed by an answer that costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.course.notebooks import ROOT
from tests.harness import cheats, sample

FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_hidden_tests_are_passed_by_no_cheat(folder: Path) -> None:
    """Zeros, noise, an argument, an old result, …: each hidden test asks for a value."""
    assert {
        name: passed for name, passed in cheats.gains(folder).items() if passed
    } == {}


@pytest.mark.parametrize(
    ("hidden", "passed"),
    [
        ("assert double(-1) == -2", []),
        (
            "assert double(5) == double(5)",
            ["zeros", "ones", "NaN", "a constant", "an argument"],
        ),
        ("assert double(0) == 0", ["zeros", "NaN"]),
        ("assert isinstance(double(4), int)", [*cheats.CHEATS, cheats.STALE]),
    ],
)
def test_relations_are_noticed(tmp_path: Path, hidden: str, passed: list[str]) -> None:
    """A test that compares two calls with each other is passed by what is the same each time."""
    folder = sample.make(tmp_path)
    notebook = sample.source_notebook()
    [cell] = [
        cell for cell in notebook["cells"] if cell["source"] == sample.DOUBLE_SMALL
    ]
    visible = sample.DOUBLE_SMALL.partition("### BEGIN")[0]
    cell["source"] = f"{visible}### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    sample.write(folder / "sample.ipynb", notebook)
    found = cheats.gains(folder)["double--small"]
    assert set(passed) <= set(found)
    assert bool(passed) == bool(found)
