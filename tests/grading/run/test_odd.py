"""Legal but odd notebooks in the real sandbox: whoever has the right answers has the points."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator

import pytest

from grading.course import submission
from grading.course.states import Result, State
from grading.course.submission import Form
from grading.run import pipeline
from grading.run.sandbox_runner import SandboxEngine
from tests.grading import helpers
from tests.grading.run.odd import ANSWERS, OWN_CELLS
from tests.harness import sample

#: name -> what makes the file of the solved notebook; the answers in it are right.
FILES: dict[str, Callable[[dict], dict | str | bytes]] = {}


def odd(function: Callable) -> Callable:
    """Register something that students or their programs do to a file."""
    FILES[function.__name__.replace("_", " ")] = function
    return function


def dumped(notebook: dict, **options: object) -> bytes:
    """Return the bytes of a notebook."""
    return json.dumps(notebook, **options).encode()


for _minor in range(6):

    @odd
    def format_4(notebook: dict, minor: int = _minor) -> dict:
        """Older formats know no ids of cells."""
        notebook["nbformat_minor"] = minor
        for cell in notebook["cells"] if minor < 5 else ():
            cell.pop("id", None)
        return notebook

    FILES[f"format 4.{_minor}"] = FILES.pop("format 4")


@odd
def format_of_the_future(notebook: dict) -> dict:
    return {**notebook, "nbformat_minor": 99, "extra": {"x": 1}}


@odd
def lines_as_lists(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return notebook


@odd
def windows(notebook: dict) -> bytes:
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")
    return b"\xef\xbb\xbf" + dumped(notebook, indent=1).replace(b"\n", b"\r\n")


@odd
def old_mac(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r")
    return notebook


@odd
def written_in_one_line_of_unicode(notebook: dict) -> bytes:
    notebook["cells"].insert(0, sample.markdown("# Größe 🎉 變數"))
    return dumped(notebook, ensure_ascii=False, separators=(",", ":"))


@odd
def blank_lines_around(notebook: dict) -> bytes:
    return b"\n\n" + dumped(notebook, indent=4) + b"\n\n\n"


@odd
def half_a_letter(notebook: dict) -> dict:
    notebook["cells"].insert(1, sample.code("x = '\ud83c'"))
    return notebook


@odd
def another_kernel(notebook: dict) -> dict:
    notebook["metadata"]["kernelspec"] = {
        "display_name": "my env",
        "language": "python",
        "name": "conda-env-x",
    }
    return notebook


@odd
def no_metadata(notebook: dict) -> dict:
    return {**notebook, "metadata": {}}


@odd
def metadata_of_colab(notebook: dict) -> dict:
    notebook["metadata"] |= {
        "accelerator": "GPU",
        "colab": {"provenance": [], "gpuType": "T4"},
    }
    for cell in notebook["cells"]:
        cell["metadata"] |= {
            "id": "a" * 12,
            "outputId": "x",
            "colab": {"base_uri": "y"},
        }
    return notebook


@odd
def metadata_of_vscode(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["metadata"] |= {
            "vscode": {"languageId": "python"},
            "collapsed": True,
            "tags": ["x"],
        }
    return notebook


@odd
def metadata_of_widgets(notebook: dict) -> dict:
    notebook["metadata"]["widgets"] = {
        "application/vnd.jupyter.widget-state+json": {"state": {}}
    }
    return notebook


@odd
def nbgraders_metadata_gone(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    return notebook


@odd
def an_older_schema(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["metadata"].get("nbgrader", {}).update(schema_version=1, checksum="0" * 32)
    return notebook


@odd
def attachments(notebook: dict) -> dict:
    notebook["cells"][0]["attachments"] = {"a.png": {"image/png": "iVBORw0KGgo="}}
    return notebook


@odd
def big_outputs(notebook: dict) -> dict:
    text = {"output_type": "stream", "name": "stdout", "text": ["a line\n"] * 200_000}
    image = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": "A" * 2_000_000},
    }
    outputs = [text, image]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=outputs, execution_count=3)
            outputs = [image]
    return notebook


@odd
def outputs_missing(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    return notebook


@odd
def outputs_of_errors(notebook: dict) -> dict:
    error = {
        "output_type": "error",
        "ename": "E",
        "evalue": "x",
        "traceback": ["\x1b[31mx"],
    }
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [error]
    return notebook


@odd
def the_same_id_everywhere(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["id"] = "same"
    return notebook


@odd
def ids_made_anew(notebook: dict) -> dict:
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"new-{number}"
    return notebook


@odd
def text_changed(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = "## My own words"
    return notebook


@odd
def text_deleted(notebook: dict) -> dict:
    notebook["cells"] = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    return notebook


@odd
def deleted_tests(notebook: dict) -> dict:
    notebook["cells"] = [
        c
        for c in notebook["cells"]
        if not c["metadata"].get("nbgrader", {}).get("grade")
    ]
    return notebook


@odd
def changed_tests(notebook: dict) -> dict:
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["source"] = "print('mine')\n" + cell["source"]
    return notebook


@odd
def moved_tests(notebook: dict) -> dict:
    notebook["cells"].sort(
        key=lambda c: bool(c["metadata"].get("nbgrader", {}).get("grade"))
    )
    return notebook


@odd
def copied_tests(notebook: dict) -> dict:
    found = copy.deepcopy(helpers.find(notebook, "double--small"))
    notebook["cells"].insert(helpers.place(notebook, "double--small"), found)
    return notebook


@odd
def imports_deleted(notebook: dict) -> dict:
    notebook["cells"] = [c for c in notebook["cells"] if c["source"] != "import math"]
    return notebook


@odd
def tasks_in_another_order(notebook: dict) -> dict:
    one, other = helpers.place(notebook, "double"), helpers.place(notebook, "total")
    cells = notebook["cells"]
    cells[one], cells[other] = cells[other], cells[one]
    return notebook


@odd
def cells_in_reverse(notebook: dict) -> dict:
    notebook["cells"].reverse()
    return notebook


@odd
def an_answer_copied(notebook: dict) -> dict:
    """The last of two cells with one name counts; the first was a try."""
    first = copy.deepcopy(helpers.find(notebook, "double"))
    first["source"] = "def double(x):\n    return None  # first try"
    notebook["cells"].insert(helpers.place(notebook, "double"), first)
    return notebook


@odd
def an_answer_in_two_cells(notebook: dict) -> dict:
    cell = helpers.find(notebook, "double")
    upper = {**copy.deepcopy(cell), "source": "def half_of_it(x):\n    return x"}
    cell["source"] = "def double(x):\n    return half_of_it(x) + half_of_it(x)"
    notebook["cells"].insert(helpers.place(notebook, "double"), upper)
    return notebook


@odd
def an_answer_with_its_helper_in_a_cell_above(notebook: dict) -> dict:
    notebook["cells"].insert(helpers.place(notebook, "double"), sample.code("TWO = 2"))
    helpers.find(notebook, "double")["source"] = "def double(x):\n    return TWO * x"
    return notebook


@odd
def an_answer_with_its_helper_in_a_cell_below(notebook: dict) -> dict:
    notebook["cells"].insert(
        helpers.place(notebook, "double") + 1, sample.code("TWO = 2")
    )
    helpers.find(notebook, "double")["source"] = "def double(x):\n    return TWO * x"
    return notebook


@odd
def an_answer_below_its_stub(notebook: dict) -> dict:
    answer = helpers.find(notebook, "double")["source"]
    helpers.find(notebook, "double")["source"] = f"def double(x):\n    {helpers.STUB}"
    notebook["cells"].insert(helpers.place(notebook, "double") + 1, sample.code(answer))
    return notebook


@odd
def an_answer_with_what_cells_above_left(notebook: dict) -> dict:
    """Their values, and a task that they began."""
    above = [
        "import asyncio\nasync def two(): return 2\ntask = asyncio.create_task(two())",
        "40 + 2",
    ]
    notebook["cells"][1:1] = [sample.code(source) for source in above]
    helpers.find(notebook, "double")["source"] = (
        "assert 42 in Out.values() and _ == 42\nTWO = await task\n"
        "def double(x):\n    return TWO * x"
    )
    return notebook


@odd
def an_answer_in_a_text_cell(notebook: dict) -> dict:
    helpers.find(notebook, "double")["cell_type"] = "markdown"
    return notebook


@odd
def an_answer_unlocked_by_hand(notebook: dict) -> dict:
    helpers.find(notebook, "double")["metadata"] |= {
        "editable": True,
        "deletable": False,
    }
    return notebook


@odd
def raw_cells_between(notebook: dict) -> dict:
    raw = {"cell_type": "raw", "metadata": {}, "source": "raw"}
    notebook["cells"] = [
        part for cell in notebook["cells"] for part in (cell, dict(raw))
    ]
    return notebook


@odd
def empty_cells_between(notebook: dict) -> dict:
    notebook["cells"] = [
        part
        for cell in notebook["cells"]
        for part in (sample.code(""), cell, sample.code("\n "))
    ]
    return notebook


@odd
def cells_of_unknown_kinds(notebook: dict) -> dict:
    notebook["cells"] += [
        {"cell_type": "sql", "source": "select 1"},
        {"cell_type": "code"},
        {},
    ]
    return notebook


@odd
def five_hundred_cells(notebook: dict) -> dict:
    notebook["cells"][1:1] = [
        sample.code(f"x{number} = {number}") for number in range(500)
    ]
    return notebook


#: Files that nobody can grade, and what is said about them.
REFUSED = {
    "format 3": (
        {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []},
        "has notebook format 3, expected 4: open it in JupyterLab",
    ),
    "a script": (b"def double(x):\n    return 2 * x\n", "is not a notebook"),
    "a page": (b"<!doctype html><html></html>", "is not a notebook"),
    "utf-16": (
        dumped(helpers.fill(helpers.RIGHT)).decode().encode("utf-16"),
        "is not a notebook",
    ),
    "nothing": (b"", "is not a notebook"),
    "half a file": (dumped(helpers.fill(helpers.RIGHT))[:900], "is not a notebook"),
    "another notebook": (
        sample.notebook([sample.code("1")]),
        "holds no cell of this assignment",
    ),
}


def with_own(source: str) -> dict:
    """Return right answers with a cell before and after them."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"] = [sample.code(source), *notebook["cells"], sample.code(source)]
    return notebook


KINDS: dict[str, Callable[[], dict | str | bytes]] = {
    **{
        f"own cell: {name}": lambda text=text: with_own(text)
        for name, text in OWN_CELLS.items()
    },
    **{
        f"answer: {name}": lambda text=text: helpers.fill(
            {**helpers.RIGHT, "double": text}
        )
        for name, text in ANSWERS.items()
    },
    **{
        f"file: {name}": lambda change=change: change(helpers.fill(helpers.RIGHT))
        for name, change in FILES.items()
    },
}


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Form:
    """The sample assignment."""
    root = helpers.make_course(tmp_path_factory.mktemp("odd") / "course")
    release = root / "exercises" / sample.NAME / "sample.ipynb"
    return submission.load(release, root / "solutions" / sample.NAME / "sample.ipynb")


@pytest.fixture(scope="module")
def engine(bubblewrap: None, form: Form) -> Iterator[SandboxEngine]:
    """One worker for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grading.run.sandbox_runner.CELL_SECONDS", 20.0)
        made = SandboxEngine()
        yield made
        made.close()


def graded(form: Form, engine: SandboxEngine, content: dict | str | bytes) -> Result:
    """Return what a file gets."""
    data = dumped(content) if isinstance(content, dict) else content
    job = {"student": "ann", "data": data}
    return Result.from_json(
        pipeline.grade_data(form, engine, job, pipeline.Times(), {})["result"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_right_answers_have_their_points(
    form: Form, engine: SandboxEngine, kind: str
) -> None:
    """Whatever stands around them; nobody is suspect, and no limit was hit."""
    found = graded(form, engine, KINDS[kind]())
    assert found.points == helpers.FULL, found.messages
    assert found.state is State.GRADED, found.reasons
    assert all(reason.startswith("worth a look: ") for reason in found.reasons), (
        found.reasons
    )


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_notebook_is_failed(
    form: Form, engine: SandboxEngine, kind: str
) -> None:
    """With a line that says what to do, and no zero."""
    content, told = REFUSED[kind]
    found = graded(form, engine, content)
    assert (found.state, found.points) == (State.FAILED, {})
    assert told in found.reasons[0]


def test_there_are_enough() -> None:
    """Of the kinds that a class of some hundred hands in."""
    assert len(KINDS) > 150
