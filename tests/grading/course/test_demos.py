"""Figures that nobody needs are not drawn; whatever a later cell may need is executed."""

from __future__ import annotations

import ast
import symtable
import sys

import pytest

from grading.course import notebooks, submission
from grading.course.bindings import MOST_BRACES
from grading.course.demos import called, names_of, needless
from grading.course.notebooks import ROOT
from grading.course.submission import RebuiltCell
from grading.feedback.error_text import syntax_problem
from grading.report.alike import shape

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


def calls(source: str) -> int:
    """Return how many functions are called, and generators resumed, to read a cell."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        names_of.__wrapped__(source)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", ["a + ", "(a, ) + ", "a if a else "])
def test_work_grows_with_the_length_of_a_cell_alone(piece: str) -> None:
    """Also where its parts lie one inside the other."""
    short, long = (calls(f"x = {piece * count}a") for count in (100, 800))
    assert short > 100
    assert long < 8.5 * short


@pytest.fixture
def read_by_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what Python's parser is asked to read, in C, where no call can be counted."""
    seen: list[str] = []
    for module, name in ((ast, "parse"), (symtable, "symtable")):
        real = getattr(module, name)

        def note(source: str, *options: object, real: object = real) -> object:
            seen.append(source)
            return real(source, *options)

        monkeypatch.setattr(module, name, note)
    return seen


@pytest.mark.parametrize("fields", [MOST_BRACES + 1, 80_000])
def test_an_endless_f_string_is_not_read(
    fields: int, read_by_python: list[str]
) -> None:
    """Python 3.11 needs a time that grows with the square of its fields."""
    source = f"x = f'{'{a}' * fields}'\nf(x)"
    assert names_of(source) is None
    assert called(source) == frozenset()
    assert syntax_problem(source) == ""
    text, size = shape(source)
    assert (text, size) == ("".join(source.split()), len(text) // 4)
    assert read_by_python == []
    assert needless([RebuiltCell("demo", DRAW), RebuiltCell("extra", source)]) == set()


def test_a_long_f_string_is_read(read_by_python: list[str]) -> None:
    """What an honest cell may hold."""
    source = f"x = f'{'{a}' * MOST_BRACES}'\nf(x)"
    names_of.cache_clear()
    assert names_of(source) == ({"a", "f"}, {"x"})
    assert called(source) == {"f"}
    assert read_by_python
