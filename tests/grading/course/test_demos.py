"""Figures that nobody needs are not drawn; whatever a later cell may need is executed."""

from __future__ import annotations

import pytest

from grading.course import notebooks, submission
from grading.course.demos import names_of, needless
from grading.course.notebooks import ROOT
from grading.course.submission import RebuiltCell

FIGURE = (
    "import matplotlib.pyplot as plt\nfigure, ax = plt.subplots()\nweights = soft(x)"
)
DRAW = "figure, ax = plt.subplots()\nweights = soft(x)\nax.imshow(weights)"


@pytest.mark.parametrize(
    ("source", "read", "bound"),
    [
        ("x = 1\nprint(x)", {"print"}, {"x"}),
        ("x = x + 1", {"x"}, {"x"}),
        ("x += 1", {"x"}, {"x"}),
        ("for x in x: pass", {"x"}, {"x"}),
        ("for x in xs: y = x", {"xs"}, {"x", "y"}),
        ("def f():\n  return x\nx = 1", {"x"}, {"f", "x"}),
        ("def f():\n  x = 1\nprint(x)", {"print", "x"}, {"f"}),
        ("def f():\n  global x\n  x = 1", set(), {"f", "x"}),
        ("y = [x for x in xs]\nz = x", {"x", "xs"}, {"y", "z"}),
        ("class A(B):\n  x = y", {"B", "y"}, {"A"}),
        ("del x", {"x"}, {"x"}),  # what it leaves behind is another x: none
        ("import a.b as c\nfrom d import e", set(), {"c", "e"}),
        ("%matplotlib inline\nx = 1", set(), {"x"}),
    ],
)
def test_names_of_a_cell(source: str, read: set[str], bound: set[str]) -> None:
    """What it takes from before, and what it leaves behind."""
    found = names_of(source)
    assert found is not None
    assert found[1] == bound
    # A name more than is needed is on the safe side; functions that a cell defines are such names.
    assert read <= found[0]
    assert found[0] <= read | {"f"}
    assert names_of("what is this?") is None


@pytest.mark.parametrize(
    ("later", "role", "left_out"),
    [
        ("print('fine')", "extra", True),
        ("weights = 1", "extra", True),
        ("figure, ax = plt.subplots()", "demo", True),
        (
            "assert weights.sum() == 1",
            "test",
            True,
        ),  # tests don't see what a figure's cell binds
        ("print(weights)", "extra", False),
        ("def f():\n    return ax", "solution", False),
        ("print(globals())", "extra", False),
        ("eval('weights')", "extra", False),
        ("this is no Python", "extra", False),
    ],
)
def test_a_figure_is_left_out_if_nobody_needs_it(
    later: str, role: str, left_out: bool
) -> None:
    """By the names that later cells of the submission's process read."""
    cells = [RebuiltCell("demo", DRAW), RebuiltCell(role, later)]
    assert (0 in needless(cells)) == left_out


@pytest.mark.parametrize(
    "source", ["x = " + "1 + " * 3000 + "1", "x = " + "-" * 120_000 + "1"]
)
def test_a_cell_nested_too_deep_has_no_names(source: str) -> None:
    """Python executes the first: so it is no failure of the grader's."""
    assert names_of(source) is None


def test_only_figures_of_the_release_are_left_out() -> None:
    """Not a student's own, not a given cell, and not one that binds what an answer offers."""
    for role in ("extra", "solution", "given", "setup"):
        assert needless([RebuiltCell(role, DRAW)]) == set()
    assert needless([RebuiltCell("demo", "print(soft(x))")]) == set()
    answer = RebuiltCell("solution", "def weights(): ...", owns=("weights",))
    assert needless([answer, RebuiltCell("demo", DRAW)]) == set()
    chain = [RebuiltCell("demo", DRAW), RebuiltCell("demo", "plt.imshow(weights)")]
    assert needless(chain) == {0, 1}
    assert needless([*chain, RebuiltCell("extra", "weights")]) == {1}


def test_the_course_own_figures_are_left_out() -> None:
    """In every assignment that has one, the reference solutions do without some figure."""
    for path in notebooks.notebooks_in(ROOT / "exercises"):
        name = path.parent.name
        form = submission.load(path, ROOT / "solutions" / name / path.name)
        cells = form.rebuild(path.read_bytes()).cells
        drawn = {
            index
            for index, cell in enumerate(cells)
            if cell.role == "demo" and "plt." in cell.source
        }
        assert needless(cells) <= drawn
        assert bool(needless(cells)) == bool(drawn), name
