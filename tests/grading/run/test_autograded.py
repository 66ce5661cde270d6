"""The graded notebook stays small, whatever a submission prints."""

from __future__ import annotations

from grading.course.submission import Rebuilt, RebuiltCell
from grading.course.text import MOST
from grading.run import autograded
from grading.run.runner import CellOutcome


def test_what_thousands_of_cells_print_is_cut() -> None:
    """All together, and the first ones show theirs; each error keeps its first words."""
    cells = tuple(RebuiltCell("extra", "f()") for _ in range(2000))
    outcomes = {
        index: CellOutcome("ValueError: " + "y" * 9000, "x" * MOST)
        for index in range(2000)
    }
    text = autograded.notebook(Rebuilt(cells, ()), outcomes, {}, {})
    assert "x" * MOST in text
    assert text.count("ValueError: yyy") == 2000
    assert len(text) < 4 << 20, len(text)
