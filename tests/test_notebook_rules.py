"""Bad notebooks, each made from a good one: every one is reported, with its file and cell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grading.course import notebooks
from grading.course.notebooks import ROOT
from tests.harness import sample
from tools import check_notebooks, exercises

SOURCE = f"solutions/{sample.NAME}/sample.ipynb"
RELEASE = f"exercises/{sample.NAME}/sample.ipynb"
CHAPTER = "book/90-sample.ipynb"
FIGURE = 5  # where the chapter's figure cell is


def chapter() -> dict:
    """Return a small chapter without a flaw."""
    figure = sample.code("figure, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()")
    figure["metadata"]["mystnb"] = {
        "image": {"alt": "A line that rises from one to two."},
        "figure": {"name": "fig-line", "caption": "A line."},
    }
    return sample.notebook(
        [
            sample.markdown("# Sample\n\n![A box with an arrow](box.svg)"),
            sample.code("import matplotlib.pyplot as plt\nimport numpy as np"),
            sample.markdown("```python\n# a comment, no heading\n```"),
            sample.code("print(np.ones(2))"),
            sample.code("def double(x):\n    return 2 * x"),
            figure,
        ]
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course without a flaw: a chapter, an assignment and its release notebook."""
    course = tmp_path_factory.mktemp("good")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    sample.make(course)
    sample.write(course / CHAPTER, chapter())
    sample.write(
        course / "pyproject.toml", f'[tool.course.library]\n"{CHAPTER}" = "sample"\n'
    )
    exercises.write(course)
    return course


@pytest.fixture
def course(good: Path, tmp_path: Path) -> Path:
    """A copy of the flawless course, to be spoilt."""
    shutil.copytree(good, tmp_path / "course")
    return tmp_path / "course"


def cell(notebook: dict, name: str) -> dict:
    """Return the cell with this grade_id."""
    return next(
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == name
    )


def edit(path: Path, change: Callable[[dict], object]) -> None:
    """Change a notebook file in place."""
    notebook = notebooks.read(path)
    change(notebook)
    sample.write(path, notebook)


def test_the_course_keeps_its_rules() -> None:
    """Its chapters and assignments; exercises/ and transformer/ are what their programs make."""
    assert check_notebooks.check(ROOT) == []


@pytest.mark.slow
def test_a_good_course_has_no_problems(course: Path) -> None:
    """The course that the others are made from passes, generated files included."""
    assert check_notebooks.check(course) == []


def spoil_grade(name: str, **values: object) -> Callable[[dict], object]:
    """Return a change of a cell's nbgrader metadata; None deletes a key."""

    def change(notebook: dict) -> None:
        metadata = cell(notebook, name)["metadata"]["nbgrader"]
        metadata.update(values)
        for key in [key for key, value in metadata.items() if value is None]:
            del metadata[key]

    return change


def spoil_cell(index: int, **values: object) -> Callable[[dict], object]:
    """Return a change of a cell's own keys; None deletes a key."""

    def change(notebook: dict) -> None:
        for key, value in values.items():
            if value is None:
                del notebook["cells"][index][key]
            else:
                notebook["cells"][index][key] = value

    return change


def spoil_figure(part: str, key: str) -> Callable[[dict], object]:
    """Return a change that deletes a part of the figure's metadata."""
    return lambda notebook: notebook["cells"][FIGURE]["metadata"]["mystnb"][part].pop(
        key
    )


ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
NOISE = {"output_type": "stream", "name": "stderr", "text": "UserWarning: hm"}
VALUE = {"output_type": "stream", "name": "stdout", "text": ["[1. 1.]\n"]}
PRIVATE = {"output_type": "stream", "name": "stdout", "text": "see /home/someone/x.py"}

SPOILT = {
    # nbgrader's metadata
    "duplicate grade_id": (
        SOURCE,
        spoil_grade("double--zero", grade_id="double--small"),
        "cell 6",
        "duplicate",
    ),
    "test that binds a bare name": (
        SOURCE,
        spoil_cell(5, source="value = double(3)\nassert value == 6"),
        "cell 6",
        "binds value (line 1), which may be a student's: call it _value",
    ),
    "test that binds what a given cell gives": (
        SOURCE,
        lambda nb: (
            nb["cells"].insert(
                2,
                sample.code(
                    "_x = 1", "given-x", grade=False, solution=False, locked=True
                ),
            )
            or nb["cells"][6].update(source="_x = double(3)\nassert _x == 6")
        ),
        "cell 7",
        "binds _x (line 1), which given-x gives",
    ),
    "drawing that binds a bare name": (
        SOURCE,
        lambda nb: nb["cells"].append(
            {**sample.code("for x in range(2):\n    pass"), "id": "more"}
        ),
        "cell 10",
        "binds x (line 1)",
    ),
    "test cell without points": (
        SOURCE,
        spoil_grade("double--zero", points=None),
        "cell 6",
        "without points",
    ),
    "test cell of no points": (
        SOURCE,
        spoil_grade("double--zero", points=0),
        "cell 6",
        "without points",
    ),
    "test cell of no task": (
        SOURCE,
        spoil_grade("double--zero", grade_id="triple--zero"),
        "cell 6",
        "<task>--<aspect>",
    ),
    "unlocked test cell": (
        SOURCE,
        spoil_grade("double--zero", locked=False),
        "cell 6",
        "locked",
    ),
    "no grade_id": (
        SOURCE,
        spoil_grade("double--zero", grade_id=None),
        "cell 6",
        "no grade_id",
    ),
    "task name": (
        SOURCE,
        spoil_grade("total", grade_id="Total_1"),
        "cell 8",
        "lower-case",
    ),
    "task without hidden tests": (
        SOURCE,
        spoil_cell(8, source="assert total([1, 2]) == 6"),
        "cell 8",
        "hidden tests",
    ),
    "hidden tests not closed": (
        SOURCE,
        spoil_cell(8, source="### BEGIN HIDDEN TESTS\nx = 1"),
        "cell 9",
        "without END",
    ),
    "solution without markers": (
        SOURCE,
        spoil_cell(3, source="def double(x):\n    return 2"),
        "cell 4",
        "BEGIN SOLUTION",
    ),
    "solution not closed": (
        SOURCE,
        spoil_cell(3, source="### BEGIN SOLUTION\nx = 1"),
        "cell 4",
        "without END",
    ),
    "import of the library": (
        SOURCE,
        spoil_cell(1, source="import transformer"),
        "cell 2",
        "imports transformer",
    ),
    "import of one system's modules": (
        SOURCE,
        spoil_cell(1, source="from resource import getrusage"),
        "cell 2",
        "imports resource; an exercise runs alike on every system",
    ),
    "import of the system's paths": (
        SOURCE,
        spoil_cell(1, source="import os.path"),
        "cell 2",
        "imports os;",
    ),
    "a file beside the exercise": (
        SOURCE,
        spoil_cell(1, source="text = open('corpus.txt').read()"),
        "cell 2",
        "calls open;",
    ),
    "a compiler": (
        SOURCE,
        spoil_cell(1, source="f = torch.compile(f)"),
        "cell 2",
        "calls compile;",
    ),
    "weights beside the exercise": (
        SOURCE,
        spoil_cell(1, source="torch.load('model.pt')"),
        "cell 2",
        "calls load;",
    ),
    # execution
    "unexecuted cell": (
        SOURCE,
        lambda nb: nb["cells"][4].update(execution_count=None),
        "cell 5",
        "not executed",
    ),
    "executed out of order": (
        SOURCE,
        spoil_cell(4, execution_count=9),
        "cell 5",
        "in order",
    ),
    "stored error": (
        SOURCE,
        spoil_cell(4, outputs=[ERROR]),
        "cell 5",
        "ValueError: no",
    ),
    "stored stderr": (SOURCE, spoil_cell(4, outputs=[NOISE]), "cell 5", "stderr"),
    "stored times": (
        SOURCE,
        spoil_cell(1, metadata={"execution": {}}),
        "cell 2",
        "times of its execution",
    ),
    "chapter with outputs": (
        CHAPTER,
        spoil_cell(3, outputs=[VALUE]),
        "cell 4",
        "has outputs",
    ),
    "chapter with counts": (
        CHAPTER,
        spoil_cell(3, execution_count=1),
        "cell 4",
        "execution count",
    ),
    # figures and images
    "figure without alt": (
        CHAPTER,
        spoil_figure("image", "alt"),
        "cell 6",
        "mystnb.image.alt",
    ),
    "figure without caption": (
        CHAPTER,
        spoil_figure("figure", "caption"),
        "cell 6",
        "caption",
    ),
    "figure without name": (
        CHAPTER,
        spoil_figure("figure", "name"),
        "cell 6",
        "without a name",
    ),
    "figure without metadata": (
        CHAPTER,
        spoil_cell(5, metadata={}),
        "cell 6",
        "mystnb.image.alt",
    ),
    "alt that is the caption": (
        CHAPTER,
        lambda nb: nb["cells"][FIGURE]["metadata"]["mystnb"]["image"].update(
            alt="A line."
        ),
        "cell 6",
        "repeats its caption",
    ),
    "image without alt": (
        CHAPTER,
        spoil_cell(0, source="# Sample\n\n![](box.svg)"),
        "cell 1",
        "alternative text",
    ),
    "<img> without alt": (
        CHAPTER,
        spoil_cell(0, source='# Sample\n\n<img src="box.svg">'),
        "cell 1",
        "<img>",
    ),
    "directive without alt": (
        CHAPTER,
        spoil_cell(
            0, source="# Sample\n\n:::{figure} box.svg\n:name: fig-box\nBox\n:::"
        ),
        "cell 1",
        "{figure} without :alt:",
    ),
    # every notebook
    "second title": (
        CHAPTER,
        spoil_cell(2, source="# Again"),
        "cell 3",
        "second heading",
    ),
    "no title": (CHAPTER, spoil_cell(0, source="Text"), "", "no title"),
    "no cell id": (CHAPTER, spoil_cell(3, id=None), "cell 4", "no cell id"),
    "cell id twice": (
        CHAPTER,
        spoil_cell(3, id="cell-1"),
        "cell 4",
        "cell id of cell 2",
    ),
    "private path": (
        SOURCE,
        spoil_cell(4, outputs=[PRIVATE]),
        "cell 5",
        "path of one machine",
    ),
    "private path in text": (
        CHAPTER,
        spoil_cell(3, source="open('/Users/me/x')"),
        "cell 4",
        "path of one machine",
    ),
    "jupytext": (
        CHAPTER,
        lambda nb: nb["metadata"].update(jupytext={}),
        "",
        "metadata of jupytext",
    ),
    "other kernel": (
        CHAPTER,
        lambda nb: nb["metadata"]["kernelspec"].update(name="mine"),
        "",
        "kernel python3",
    ),
    "old format": (CHAPTER, lambda nb: nb.update(nbformat_minor=4), "", "format 4.5"),
    # generated notebooks
    "edited exercise": (
        RELEASE,
        spoil_cell(2, source="## Task one"),
        "cell 3 (id cell-2)",
        "source edited",
    ),
    "cell added to an exercise": (
        RELEASE,
        lambda nb: nb["cells"].append({**sample.markdown("More"), "id": "more"}),
        "cell 10 (id more)",
        "not in solutions/",
    ),
    "cell taken from an exercise": (
        RELEASE,
        lambda nb: nb["cells"].pop(1),
        "cell 2 (id cell-1)",
        "missing",
    ),
    "cells of an exercise moved": (
        RELEASE,
        lambda nb: nb["cells"].insert(1, nb["cells"].pop(2)),
        "",
        "cells moved",
    ),
}


@pytest.mark.parametrize(
    ("file", "change", "where", "what"), SPOILT.values(), ids=SPOILT.keys()
)
def test_a_spoilt_notebook_is_reported(
    good: Path,
    course: Path,
    file: str,
    change: Callable[[dict], object],
    where: str,
    what: str,
) -> None:
    """The report has a line that names the file, the cell and the flaw."""
    edit(course / file, change)
    problems = check_notebooks.check(course, generated=False)
    if file == RELEASE:
        compared = exercises.differences(good / "exercises", course / "exercises")
        problems += [line.replace(f"{course}/", "") for line in compared]
    assert any(
        line.startswith(f"{file}: {where}") and what in line for line in problems
    ), problems
    others = [line for line in problems if not line.startswith(file)]
    assert others == [], "a line about a file that is fine"


def test_no_json_is_reported(course: Path) -> None:
    """A notebook that cannot be read is named."""
    (course / CHAPTER).write_text("{", encoding="utf-8")
    problems = check_notebooks.check(course, generated=False)
    assert [
        line for line in problems if line.startswith(f"{CHAPTER}: not a notebook")
    ] == problems


def test_a_missing_exercise_is_reported(good: Path, course: Path) -> None:
    """A release notebook that nobody made."""
    (course / RELEASE).unlink()
    problems = exercises.differences(good / "exercises", course / "exercises")
    assert problems == [f"{course / RELEASE}: missing: run `make exercises`"]


@pytest.mark.slow
def test_nbgrader_refusing_is_reported(course: Path) -> None:
    """A source notebook that nbgrader cannot release is a problem, not a crash."""
    edit(course / SOURCE, spoil_grade("double--zero", grade_id="double--small"))
    assert any("nbgrader could not make" in line for line in exercises.check(course))


FIGURE_CODE = {
    "fig, ax = plt.subplots()": True,
    "draw(x)": True,
    "heatmap(ax, x)": True,
    "def again():\n    plt.plot([1])": False,
    "plt.close('all')": False,
    "plt.rcParams['x'] = 1": False,
    "set_style()": False,
    "y = x.plot": False,
    "print(1)": False,
    "%matplotlib inline": False,
}


@pytest.mark.parametrize(("source", "draws"), FIGURE_CODE.items())
def test_cells_that_draw_are_told_by_their_calls(source: str, draws: bool) -> None:
    """Direct calls and calls of functions that draw count; definitions and settings do not."""
    drawing = check_notebooks.Drawing()
    first = (
        "import matplotlib.pyplot as plt\n"
        "from book.figures import heatmap, set_style\n\ndef draw(x):\n    plt.plot(x)\n"
    )
    assert not drawing.is_drawn_by(notebooks.Cell(Path("x"), 0, sample.code(first)))
    assert (
        drawing.is_drawn_by(notebooks.Cell(Path("x"), 1, sample.code(source))) is draws
    )


@pytest.mark.slow
def test_the_command_fails_with_the_problems(course: Path) -> None:
    """Its exit status and its lines are what make check relies on, of generated files as well.

    A chapter with outputs, a module and an exercise that were edited, one of unknown origin.
    """
    edit(course / CHAPTER, spoil_cell(3, outputs=[VALUE]))
    sample.write(course / "transformer" / "sample.py", "x = 1\n")
    edit(course / RELEASE, spoil_cell(2, source="## Task one"))
    shutil.copy(course / RELEASE, (course / RELEASE).with_name("other.ipynb"))
    command = [sys.executable, "-m", "tools.check_notebooks", "--root", str(course)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    problems = result.stderr.splitlines()
    assert any(
        line.startswith(f"{CHAPTER}: cell 4 (id cell-3): has outputs")
        for line in problems
    ), problems
    assert any("transformer/sample.py" in line for line in problems), problems
    assert any(
        line.startswith(f"{RELEASE}: cell 3 (id cell-2): source") for line in problems
    ), problems
    assert any("other.ipynb: comes from nothing" in line for line in problems), problems
