"""No hidden test is passed by an answer that costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.course.notebooks import ROOT
from tests.harness import cheats, sample

FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())


@pytest.mark.slow
@pytest.mark.reads("solutions/{folder}", "solutions/*.py")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_hidden_tests_are_passed_by_no_cheat(folder: Path) -> None:
    """Zeros, noise, an argument, an old result, …: each hidden test asks for a value."""
    assert {
        name: passed for name, passed in cheats.gains(folder).items() if passed
    } == {}


#: Hidden tests, and the cheats that each lets through.
RELATIONS = {
    "assert double(-1) == -2": [],
    "assert double(5) == double(5)": [
        "zeros",
        "ones",
        "NaN",
        "a constant",
        "an argument",
    ],
    "assert double(0) == 0": ["zeros", "NaN"],
    "assert isinstance(double(4), int)": [*cheats.CHEATS, cheats.STALE],
}


@pytest.fixture(scope="module")
def gained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What passes each of them: one notebook, since a process with torch takes a second."""
    folder = sample.make(tmp_path_factory.mktemp("relations"))
    notebook = sample.source_notebook()
    cells = notebook["cells"]
    place = next(n for n, c in enumerate(cells) if c["source"] == sample.DOUBLE_SMALL)
    visible = sample.DOUBLE_SMALL.partition("### BEGIN")[0]
    cells[place : place + 1] = [
        sample.graded(
            f"double--{number}",
            f"{visible}### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS",
            1,
        )
        for number, hidden in enumerate(RELATIONS)
    ]
    sample.write(folder / "sample.ipynb", sample.notebook(cells, executed=True))
    found = cheats.gains(folder)
    return {hidden: found[f"double--{n}"] for n, hidden in enumerate(RELATIONS)}


@pytest.mark.slow
@pytest.mark.parametrize("hidden", RELATIONS)
def test_relations_are_noticed(gained: dict[str, list[str]], hidden: str) -> None:
    """A test that compares two calls with each other is passed by what is the same each time."""
    assert set(RELATIONS[hidden]) <= set(gained[hidden])
    assert bool(RELATIONS[hidden]) == bool(gained[hidden])
