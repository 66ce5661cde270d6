"""Tests and helpers of the exercises are folded, and count a student's points."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from grading.course.notebooks import ROOT, Cell, cells, notebooks_in, read
from tests.harness import sample
from tools import folding, source_notebooks

SOURCE = f"{sample.NAME}/sample.ipynb"


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    """The folder of a small course's solutions, folded."""
    sample.make(tmp_path)
    shutil.copy(ROOT / "solutions" / folding.POINTS, tmp_path / "solutions")
    assert folding.main(["--root", str(tmp_path)]) == 0
    return tmp_path / "solutions"


def problems(path: Path) -> list[tuple[str, str]]:
    """Return what the rule says of a notebook: a grade_id, and what is wrong."""
    notebook = read(path)
    found = source_notebooks.folded(notebook, list(cells(path, notebook)))
    return [(cell.grade_id, text) for cell, text in found]


def test_folding_again_changes_nothing(solutions: Path) -> None:
    """And what is folded has no problem."""
    path = solutions / SOURCE
    before = path.read_bytes()
    folding.main(["--root", str(solutions.parent)])
    assert path.read_bytes() == before
    assert problems(path) == []


SPOILT = {
    "unfolded": lambda cell: cell.metadata.pop("jupyter"),
    "other points": lambda cell: cell.metadata.nbgrader.update(points=9),
    "no title": lambda cell: cell.update(source=cell.source.partition("\n")[2]),
}


@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT.keys())
def test_a_test_that_is_not_folded_is_named(
    solutions: Path, change: Callable[[nbformat.NotebookNode], object]
) -> None:
    """By its cell, with what to do."""
    path = solutions / SOURCE
    notebook = nbformat.read(path, 4)
    (cell,) = [
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "double--zero"
    ]
    change(cell)
    nbformat.write(notebook, path)
    assert "double--zero" in dict(problems(path))
    assert "tools.folding" in dict(problems(path))["double--zero"]


def test_a_cell_that_is_missing_is_named(solutions: Path) -> None:
    """The one that prints the sum."""
    path = solutions / SOURCE
    notebook = nbformat.read(path, 4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != folding.SUM]
    nbformat.write(notebook, path)
    [(_, text)] = problems(path)
    assert f"{folding.SUM} is missing" in text


def outputs(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, str]]:
    """Return the printed text of each code cell, by its id."""
    for cell in notebook.cells:
        texts = [o.text for o in cell.get("outputs", ()) if o.get("name") == "stdout"]
        yield cell.id, "".join(texts)


@pytest.mark.slow
def test_points_are_counted_as_tests_run(solutions: Path) -> None:
    """A test that passes, one that fails, and one that passes after it has failed."""
    notebook = nbformat.read(solutions / SOURCE, 4)
    tests = [cell for cell in notebook.cells if folding.is_test(cell)]
    most = [cell.metadata.nbgrader.points for cell in tests]
    title = tests[0].source.partition("\n")[0]
    counter = [cell for cell in notebook.cells if cell.id == folding.COUNTER]
    assert not counter, "the small course has no helpers"
    first = nbformat.v4.new_code_cell(folding.counter(solutions), id="counter")
    again = nbformat.v4.new_code_cell(folding.counter(solutions), id="again")
    fails = nbformat.v4.new_code_cell(f"{title}\nassert 0", id="fails")
    passes = nbformat.v4.new_code_cell(f"{title}\nassert 1", id="passes")
    (total,) = [cell for cell in notebook.cells if cell.id == folding.SUM]
    notebook.cells = [first, again, fails, *notebook.cells[:-1], total, passes, total]
    for cell in notebook.cells:
        cell.metadata["tags"] = ["raises-exception"]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{number}-{cell.id}"
    NotebookClient(notebook, timeout=120).execute()
    found = dict(outputs(notebook))
    said = [text for name, text in found.items() if name.endswith("-fails")]
    assert said == [f"{title.split()[3]}: 0 of {most[0]:g} points\n"]
    sums = [text for name, text in found.items() if name.endswith(folding.SUM)]
    assert sums[-1].endswith(f"{sum(most):g} of {sum(most):g} points so far\n")


@pytest.mark.parametrize(
    "path",
    [p for f in sorted((ROOT / "solutions").glob("0*")) for p in notebooks_in(f)],
    ids=lambda p: p.stem,
)
def test_a_release_is_folded_like_its_source(path: Path) -> None:
    """Each test, with its title; and the sum comes last."""
    release = read(ROOT / "exercises" / path.parent.name / path.name)
    found = [Cell(path, n, data) for n, data in enumerate(release["cells"])]
    names = [cell.data["id"] for cell in found]
    for cell in found:
        if folding.is_test(cell.data):
            assert cell.metadata["jupyter"] == {"source_hidden": True}
            assert cell.source.startswith(f"# @title Test {cell.grade_id} (")
    assert folding.COUNTER in names
    assert not any(map(folding.is_test, release["cells"][names.index(folding.SUM) :]))
