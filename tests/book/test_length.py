"""Chapters 5 to 8 are short, and ask their reader something."""

from __future__ import annotations

import nbformat
import pytest

from grading.course.notebooks import ROOT

#: The most words of text, and lines of code that stand unfolded.
WORDS = {
    "05-positions": 4000,
    "06-decoder": 4000,
    "07-translator": 6000,
    "08-one-block-many-models": 4000,
}
LINES = 450
FOLDED = {"hide-input", "hide-cell"}


@pytest.fixture(params=WORDS)
def chapter(request: pytest.FixtureRequest) -> tuple[str, nbformat.NotebookNode]:
    """A chapter's name, and the chapter as it is committed."""
    path = ROOT / "book" / f"{request.param}.ipynb"
    return request.param, nbformat.read(path, as_version=4)


def test_a_chapter_is_short(chapter: tuple[str, nbformat.NotebookNode]) -> None:
    """Its words, quizzes and formulas included, and its lines."""
    name, notebook = chapter
    words = sum(
        len(cell.source.split()) for cell in notebook.cells if cell.cell_type != "code"
    )
    lines = sum(
        len(cell.source.splitlines())
        for cell in notebook.cells
        if cell.cell_type == "code" and not FOLDED & set(cell.metadata.get("tags", []))
    )
    assert words <= WORDS[name]
    assert lines <= LINES


def test_a_chapter_asks(chapter: tuple[str, nbformat.NotebookNode]) -> None:
    """At least three predictions, and two cells to fill in, each with a solution."""
    _, notebook = chapter
    text = "\n".join(cell.source for cell in notebook.cells)
    assert text.count(":::{predict}") >= 3
    unsolved = [
        cell for cell in notebook.cells if "raise NotImplementedError" in cell.source
    ]
    solutions = [
        cell
        for cell in notebook.cells
        if "hide-cell" in cell.metadata.get("tags", []) and "your_turn(" in cell.source
    ]
    assert len(unsolved) >= 2
    assert len(solutions) == len(unsolved)
