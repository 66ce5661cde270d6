"""What the harness executes of a notebook, and what its forks share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.harness import assignment, pages, runner, sample

#: Each stands below the first task, and above the second.
DRAWS = 'plt.plot([double(1)])\nopen("drawn", "w").close()'
BINDS = "seen = len(plt.__name__)"


def load(folder: Path, *cells: str) -> assignment.Assignment:
    """Return the sample with pyplot, and more cells between its two tasks."""
    notebook = sample.source_notebook()["cells"]
    notebook[1:1] = [sample.code("import matplotlib.pyplot as plt")]
    place = 1 + next(
        number for number, cell in enumerate(notebook) if "## Task 2" in cell["source"]
    )
    notebook[place:place] = [sample.code(text) for text in cells]
    made = sample.make(folder)
    sample.write(made / "sample.ipynb", sample.notebook(notebook, executed=True))
    return assignment.load(made)


def left_out(loaded: assignment.Assignment, *jobs: runner.Job) -> list[str]:
    """Return the texts of the cells that are not executed."""
    kept = runner.needed(loaded, list(jobs))
    assert kept == [cell for cell in loaded.cells if cell in kept], "in their order"
    return [cell.source for cell in loaded.cells if cell not in kept]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        ([DRAWS], [DRAWS]),
        ([BINDS], [BINDS]),
        ([BINDS, "print(seen)"], []),
        ([BINDS, f"{DRAWS}\nseen"], [f"{DRAWS}\nseen", BINDS]),
        ([DRAWS, "print(globals())"], []),
        ([DRAWS, "this is no Python"], []),
        (["print(double(1))"], []),
    ],
)
def test_a_cell_that_draws_for_nobody_is_left_out(
    tmp_path: Path, cells: list[str], texts: list[str]
) -> None:
    """Unless a later cell reads what it binds, or may read any name."""
    assert sorted(left_out(load(tmp_path, *cells))) == sorted(texts)


@pytest.mark.slow
def test_a_cell_whose_name_an_answer_reads_is_kept(tmp_path: Path) -> None:
    """Whatever the reference solution reads."""
    loaded = load(tmp_path, DRAWS, BINDS)
    text = "def total(values):\n    return seen and sum(map(double, values))\n"
    assert left_out(loaded, runner.Job({"total": text})) == [DRAWS]
    assert left_out(loaded, runner.Job({"double": sample.DOUBLE})) == [DRAWS, BINDS]
    _, (outcome,) = runner.run(loaded, [runner.Job({"total": text})])
    assert outcome.cells["total--plain"].points == 3
    assert not (loaded.path.parent / "drawn").exists()


@pytest.mark.slow
def test_a_fork_has_memory_of_its_own_in_large_pages() -> None:
    """What it writes, its parent does not see."""
    kept = [bytearray(b"a" * (8 << 20))]
    pages.join()
    if not (child := os.fork()):
        kept[0][:] = b"b" * len(kept[0])
        os._exit(kept[0].count(b"a") > 0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert kept[0].count(b"b") == 0
