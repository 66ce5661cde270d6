"""Hidden regions of test cells: found, split off, and refused where their marks do not match."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.course.notebooks import (
    Cell,
    NotebookError,
    hidden_lines,
    marked,
    split_hidden,
)

BEGIN, END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
SOURCE = f"a = 1\n{BEGIN}\nb = 2\n{END}\nc = 3\n"


def cell(source: str) -> Cell:
    """Return the third cell of a notebook."""
    return Cell(Path("some.ipynb"), 2, {"cell_type": "code", "source": source})


@pytest.mark.parametrize(
    ("source", "seen", "hidden", "lines"),
    [
        (SOURCE, "a = 1\nc = 3\n", "b = 2", {2, 3, 4}),
        ("a = 1", "a = 1", "", set()),
        (f"{BEGIN}\nb = 2\n{END}", "", "b = 2", {1, 2, 3}),
        (
            SOURCE + SOURCE,
            "a = 1\nc = 3\na = 1\nc = 3\n",
            "b = 2\nb = 2",
            {2, 3, 4, 7, 8, 9},
        ),
    ],
)
def test_hidden_parts_are_split_off(
    source: str, seen: str, hidden: str, lines: set[int]
) -> None:
    """What students see, what they do not, and the numbers of its lines."""
    assert split_hidden(cell(source)) == (seen, hidden)
    assert hidden_lines(source) == lines


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (f"{BEGIN}\n{BEGIN}\n{END}", "BEGIN HIDDEN TESTS inside BEGIN HIDDEN TESTS"),
        (f"{BEGIN}\nx = 1", "BEGIN HIDDEN TESTS without END HIDDEN TESTS"),
        (f"x = 1\n{END}", "END HIDDEN TESTS without BEGIN HIDDEN TESTS"),
    ],
)
def test_marks_that_do_not_match_are_refused(source: str, said: str) -> None:
    """The message names the file and the cell."""
    with pytest.raises(ValueError, match=said):
        marked(source, "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
    with pytest.raises(NotebookError, match=f"some.ipynb: cell 3: {said}"):
        split_hidden(cell(source))
