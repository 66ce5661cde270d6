"""The rebuilt notebook: the release's cells and tests, the student's code, and what was odd."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.course import handed_in, submission
from grading.course.handed_in import SubmissionError
from grading.course.notebooks import ROOT, NotebookError
from grading.course.submission import Form, Rebuilt
from tests.grading import helpers
from tests.harness import sample


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course with the sample assignment."""
    return helpers.make_course(tmp_path / "course")


@pytest.fixture
def form(small: Path) -> Form:
    """The sample assignment."""
    return submission.load(
        small / "exercises" / sample.NAME / "sample.ipynb",
        small / "solutions" / sample.NAME / "sample.ipynb",
    )


def rebuilt(form: Form, notebook: dict) -> Rebuilt:
    """Rebuild a notebook that was not written to a file."""
    return form.rebuild(json.dumps(notebook).encode())


def kinds(found: Rebuilt) -> dict[str, str]:
    """Return the severities of the findings by kind."""
    return {finding.kind: finding.severity for finding in found.findings}


def texts(found: Rebuilt, *roles: str) -> list[str]:
    """Return the text of the cells with these roles."""
    return [cell.source for cell in found.cells if cell.role in roles]


def test_an_honest_submission(form: Form) -> None:
    """Solutions are the student's, tests the source's with hidden parts, nothing is found."""
    found = rebuilt(form, helpers.fill(helpers.RIGHT))
    assert texts(found, "solution") == list(helpers.RIGHT.values())
    assert texts(found, "test") == [
        sample.DOUBLE_SMALL,
        sample.DOUBLE_ZERO,
        sample.TOTAL_PLAIN,
    ]
    assert texts(found, "setup") == ["import math"]
    assert found.findings == ()
    assert form.most == helpers.FULL


def test_no_reference_solution_and_no_hidden_test_in_the_students_cells(
    form: Form,
) -> None:
    """What runs in the student's process holds neither."""
    found = rebuilt(form, helpers.release())
    own = "\n".join(texts(found, "setup", "given", "demo", "extra", "solution"))
    assert "BEGIN SOLUTION" not in own
    assert "HIDDEN" not in own
    assert "sign was lost" not in own
    assert all(cell.unchanged for cell in found.cells if cell.role == "solution")


def test_edited_and_deleted_tests_are_put_back(form: Form) -> None:
    """Whatever is done to a test cell, it is the source's that runs."""
    notebook = helpers.fill(helpers.WRONG)
    helpers.find(notebook, "double--small")["source"] = "assert True"
    notebook["cells"].remove(helpers.find(notebook, "total--plain"))
    found = rebuilt(form, notebook)
    assert texts(found, "test") == [
        sample.DOUBLE_SMALL,
        sample.DOUBLE_ZERO,
        sample.TOTAL_PLAIN,
    ]
    assert kinds(found) == {"edited": "note", "missing": "note"}


def test_a_deleted_solution_is_the_stub(form: Form) -> None:
    """The other answers stay."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"].remove(helpers.find(notebook, "double"))
    found = rebuilt(form, notebook)
    assert helpers.STUB in texts(found, "solution")[0]
    assert texts(found, "solution")[1] == helpers.RIGHT["total"]
    assert kinds(found) == {"missing": "note"}


@pytest.mark.parametrize(
    "upper", ["# my notes", "import itertools", "def double(x):\n    return 0"]
)
def test_a_split_or_copied_cell_runs_in_all_its_parts(form: Form, upper: str) -> None:
    """The parts run in order; the last is the answer."""
    notebook = helpers.fill(helpers.RIGHT)
    place = helpers.place(notebook, "double")
    notebook["cells"].insert(place, copy.deepcopy(notebook["cells"][place]))
    notebook["cells"][place]["source"] = upper
    found = rebuilt(form, notebook)
    assert texts(found, "extra", "solution")[:2] == [upper, helpers.RIGHT["double"]]
    assert kinds(found) == {"duplicated": "note"}


@pytest.mark.parametrize("where", ["above", "below", "at the end"])
def test_a_copy_of_the_stub_costs_no_answer(form: Form, where: str) -> None:
    """Somebody keeps the cell as it was handed out, or pastes it once more."""
    notebook = helpers.fill(helpers.RIGHT)
    place = helpers.place(notebook, "double")
    stub = copy.deepcopy(helpers.find(helpers.release(), "double"))
    places = {"above": place, "below": place + 1, "at the end": len(notebook["cells"])}
    notebook["cells"].insert(places[where], stub)
    found = rebuilt(form, notebook)
    assert texts(found, "extra", "solution") == list(helpers.RIGHT.values())
    assert not any(cell.unchanged for cell in found.cells)
    assert kinds(found)["duplicated"] == "note"


def test_moved_cells_run_at_their_place(form: Form) -> None:
    """Tests moved above a fake function run where the release has them."""
    notebook = helpers.fill(helpers.RIGHT)
    test = helpers.find(notebook, "total--plain")
    notebook["cells"].remove(test)
    notebook["cells"].insert(0, test)
    found = rebuilt(form, notebook)
    order = [cell.grade_id for cell in found.cells if cell.grade_id]
    assert order == ["double", "double--small", "double--zero", "total", "total--plain"]
    assert kinds(found) == {"moved": "note"}


@pytest.mark.parametrize(
    "change", [{"points": 100}, {"grade": False}, {"solution": True}, {"locked": False}]
)
def test_changed_tags_are_suspect_and_without_effect(form: Form, change: dict) -> None:
    """Nobody changes how a cell is graded by accident."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--zero")["metadata"]["nbgrader"].update(change)
    found = rebuilt(form, notebook)
    assert kinds(found)["re-tagged"] == "suspect"
    assert {
        cell.grade_id: cell.points for cell in found.cells if cell.is_graded
    } == helpers.FULL


@pytest.mark.parametrize("name", ["grade", "solution", "locked", "points"])
def test_tags_that_are_gone_are_suspect_and_without_effect(
    form: Form, name: str
) -> None:
    """A tag that is not there is no error of the grader's."""
    notebook = helpers.fill(helpers.RIGHT)
    del helpers.find(notebook, "double--zero")["metadata"]["nbgrader"][name]
    found = rebuilt(form, notebook)
    assert kinds(found)["re-tagged"] == "suspect"
    assert {
        cell.grade_id: cell.points for cell in found.cells if cell.is_graded
    } == helpers.FULL


#: What may stand in a notebook's JSON in any place.
ODD = (
    None,
    True,
    -1,
    float("nan"),
    10**400,
    "",
    "double",
    "\ud800",
    [],
    [[None]],
    {},
    {"grade_id": "double"},
)


def places(value: object, place: tuple = ()) -> Iterator[tuple]:
    """Yield the place of each part of some JSON."""
    if place:
        yield place
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, part in inner:
        yield from places(part, (*place, name))


def test_no_part_of_a_notebook_makes_the_grader_fail(form: Form) -> None:
    """Whatever stands in any one place, or is gone: it is graded, or said to be no notebook."""
    notebook = helpers.fill(helpers.RIGHT)
    for *above, last in list(places(notebook)):
        changed = copy.deepcopy(notebook)
        holder = functools.reduce(lambda part, name: part[name], above, changed)
        for value in ODD:
            holder[last] = value
            with contextlib.suppress(SubmissionError):
                rebuilt(form, changed)
        del holder[last]
        with contextlib.suppress(SubmissionError):
            rebuilt(form, changed)


def test_a_copy_of_a_released_cell_is_not_looked_at(small: Path) -> None:
    """Some editors drop a copy's tags; what the course wrote in it is none of its owner's words."""
    source = sample.source_notebook()
    text = "import sys\nget_ipython().events.register('post_execute', print)"
    source["cells"].insert(1, sample.code(text, "counter"))
    paths = [
        small / part / sample.NAME / "sample.ipynb"
        for part in ("exercises", "solutions")
    ]
    released = helpers.release(source)
    for path, content in zip(paths, (released, source), strict=True):
        sample.write(path, content)
    notebook = helpers.fill(helpers.RIGHT, released)
    notebook["cells"].append({**sample.code(text), "id": "copied"})
    assert "inner" not in kinds(rebuilt(submission.load(*paths), notebook))


def test_a_graded_cell_of_the_students_own_is_suspect(form: Form) -> None:
    """It gets no points."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"].append(sample.graded("bonus", "assert True", 50))
    found = rebuilt(form, notebook)
    assert kinds(found)["unknown"] == "suspect"
    assert {
        cell.grade_id for cell in found.cells if cell.is_graded
    } == helpers.FULL.keys()


def test_added_and_edited_cells_run_at_their_place_in_the_students_process(
    form: Form,
) -> None:
    """An import added to the first cell, and a helper function between two tasks."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"][1]["source"] = "import math\nimport itertools"
    helper = "def helper():\n    return 2"
    notebook["cells"].insert(helpers.place(notebook, "total"), sample.code(helper))
    notebook["cells"].insert(0, sample.markdown("<script>alert(1)</script>"))
    found = rebuilt(form, notebook)
    assert texts(found, "setup", "extra", "solution") == [
        "import math",
        "import math\nimport itertools",
        helpers.RIGHT["double"],
        helper,
        helpers.RIGHT["total"],
    ]
    assert kinds(found) == {"extra": "note"}
    assert not any("script" in cell.source for cell in found.cells)


def test_cells_without_tags_are_found_by_their_id(form: Form) -> None:
    """Some editors drop nbgrader's metadata."""
    notebook = helpers.fill(helpers.RIGHT)
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    found = rebuilt(form, notebook)
    assert texts(found, "solution") == list(helpers.RIGHT.values())
    assert kinds(found) == {"untagged": "note"}


def test_harmless_differences_of_programs(form: Form) -> None:
    """Windows line ends, a byte order mark, lists of lines, no cell ids, a cell made Markdown."""
    notebook = helpers.fill(helpers.RIGHT)
    for cell in notebook["cells"]:
        del cell["id"]
        cell["source"] = cell["source"].replace("\n", "\r\n").splitlines(keepends=True)
    helpers.find(notebook, "total")["cell_type"] = "markdown"
    notebook["nbformat_minor"] = 2
    found = form.rebuild(b"\xef\xbb\xbf" + json.dumps(notebook).encode())
    assert texts(found, "solution") == list(helpers.RIGHT.values())
    assert kinds(found) == {"re-typed": "note"}


def test_half_a_character_does_no_harm(form: Form) -> None:
    """JSON may hold half a surrogate pair, which no file and no database takes."""
    found = rebuilt(form, helpers.fill({"double": "x = '\ud800'"}))
    texts(found, "solution")[0].encode()


NONSENSE = [
    {"cells": [1, None, [], {}]},
    {"cells": [{"cell_type": [], "metadata": 3, "source": {"a": 1}}]},
    {"cells": [{"metadata": {"nbgrader": {"grade_id": ["double"]}}}]},
]

BROKEN = [
    (b"", "not a notebook"),
    (b"{", "not a notebook"),
    (bytes(range(256)) * 40, "not a notebook"),
    (b"\xff\xfe" + "{}".encode("utf-16-le"), "not a notebook"),
    (b"[" * 200_000, "not a notebook"),
    (b"9" * 10_000, "not a notebook"),
    (b"[]", "but not a notebook"),
    (
        json.dumps({"nbformat": 3, "worksheets": []}).encode(),
        "notebook format 3, expected 4",
    ),
    (
        json.dumps({"nbformat": 5, "cells": []}).encode(),
        "notebook format 5, expected 4",
    ),
    (json.dumps({"nbformat": "4", "cells": []}).encode(), "format '4', expected 4"),
    (
        json.dumps({"nbformat": None, "cells": []}).encode(),
        "notebook format None, expected 4",
    ),
    (json.dumps({"nbformat": 4}).encode(), "no list of cells"),
    (json.dumps({"nbformat": 4, "cells": []}).encode(), "no cell of this assignment"),
    *[
        (json.dumps({"nbformat": 4, **odd}).encode(), "no cell of this assignment")
        for odd in NONSENSE
    ],
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_what_is_no_notebook(form: Form, data: bytes, message: str) -> None:
    """Each has a message that a student understands."""
    with pytest.raises(SubmissionError, match=message):
        form.rebuild(data)


def test_what_is_no_file(tmp_path: Path) -> None:
    """Links, folders, pipes, huge files and absent ones are refused, not read."""
    real = tmp_path / "real.ipynb"
    real.write_text("{}", encoding="utf-8")
    assert handed_in.read(real) == b"{}"
    link = tmp_path / "link.ipynb"
    link.symlink_to(real)
    with pytest.raises(SubmissionError, match=r"link\.ipynb is a link"):
        handed_in.read(link)
    pipe = tmp_path / "pipe.ipynb"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe):
        with pytest.raises(SubmissionError, match="is not a file"):
            handed_in.read(path)
    with pytest.raises(SubmissionError, match="cannot be opened"):
        handed_in.read(tmp_path / "none.ipynb")
    huge = tmp_path / "huge.ipynb"
    with huge.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(SubmissionError, match="100 MiB, and at most 20"):
        handed_in.read(huge)


@pytest.mark.parametrize(("source", "copies"), [("1\n" * 130_000, 1), ("x = 1", 2000)])
def test_more_code_than_anybody_writes_is_not_read(
    form: Form, source: str, copies: int
) -> None:
    """A megabyte of it takes a gigabyte to parse, in the grader's own process."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"] += [
        sample.code(source) | {"id": f"x{number}"} for number in range(copies)
    ]
    with pytest.raises(
        SubmissionError, match=r"characters of your own code in [\d,]+ cells"
    ):
        form.rebuild(json.dumps(notebook).encode())
    notebook["cells"] = notebook["cells"][: len(helpers.release()["cells"]) + 900]
    notebook["cells"][-1]["source"] = "x = 1\n" * 10_000
    assert form.rebuild(json.dumps(notebook).encode()).cells


#: What takes much more memory than it has bytes; the last ones have almost as many parts as may be.
FLOODS = [
    (b"{}", 6_000_000),
    (b'"ab"', 4_000_000),
    (b'"\\"', 5_000_000),
    (b'{"cell_type":"code","source":"x"}', 600_000),
    (b'"' + b'\\"' * 9_000_000 + b'"', 1),
    (b"[]", 990_000),
    (b'{"cell_type":"code","source":"x"}', 9_900),
]
MEASURE = """
import resource, sys
from pathlib import Path
from grading.course import handed_in, submission
from tests.grading.course.test_submission import FLOODS
form = submission.load(Path(sys.argv[1]), Path(sys.argv[2]))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
b",".join([b"{}"] * 6_000_000)
before = peak()
for part, count in FLOODS:
    try:
        form.rebuild(b'{"nbformat": 4, "cells": [' + b",".join([part] * count) + b"]}")
    except handed_in.SubmissionError as error:
        print(str(error)[:60])
print(peak() - before)
"""


@pytest.mark.slow
def test_no_file_takes_much_memory_to_read(small: Path) -> None:
    """Not even one of 20 MiB made of the smallest parts, in the grader's own process."""
    paths = [
        small / kind / sample.NAME / "sample.ipynb"
        for kind in ("exercises", "solutions")
    ]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    *said, more = done.stdout.splitlines()
    assert len(said) == len(FLOODS)
    assert sum("more than 2,000,000" in line for line in said) == 4
    assert int(more) < 250, f"{more} MiB"


def test_a_large_honest_notebook_is_read(form: Form) -> None:
    """Figures of MiB, a table of numbers, and very much output in lines."""
    notebook = helpers.fill(helpers.RIGHT)
    cell = notebook["cells"][-1]
    cell["outputs"] = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": "iVBOR" * 2_000_000},
        },
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {
                "application/json": [[number / 7 for number in range(100)]] * 1000
            },
        },
        {"output_type": "stream", "name": "stdout", "text": ["a line\n"] * 200_000},
    ]
    data = json.dumps(notebook).encode()
    assert len(data) > 12 << 20
    assert form.rebuild(data).cells


def test_more_cells_than_anybody_has_are_not_read(form: Form) -> None:
    """Cells of text included: it says how many there are."""
    notebook = helpers.fill(helpers.RIGHT)
    notebook["cells"] += [{"cell_type": "markdown", "source": "a"}] * 10_000
    with pytest.raises(
        SubmissionError, match=r"has 10,0\d\d cells, and at most 10,000 are read"
    ):
        form.rebuild(json.dumps(notebook).encode())


def test_release_and_source_must_belong_together(small: Path) -> None:
    """A release that is out of date is not graded against."""
    release = small / "exercises" / sample.NAME / "sample.ipynb"
    source = small / "solutions" / sample.NAME / "sample.ipynb"
    notebook = helpers.release()
    helpers.find(notebook, "double--zero")["source"] += "\nassert True"
    sample.write(release, notebook)
    with pytest.raises(NotebookError, match=r"double--zero.*make exercises"):
        submission.load(release, source)
    notebook = helpers.release()
    notebook["cells"].remove(helpers.find(notebook, "double--zero"))
    sample.write(release, notebook)
    with pytest.raises(
        NotebookError, match=r"double--zero missing: run `make exercises`"
    ):
        submission.load(release, source)


def test_the_fingerprint_follows_tests_and_text(form: Form, small: Path) -> None:
    """Another answer or another test is another fingerprint."""
    data = json.dumps(helpers.release()).encode()
    first = submission.fingerprint(form, data)
    assert submission.fingerprint(form, data) == first
    assert submission.fingerprint(form, data + b" ") != first
    notebook = sample.source_notebook()
    helpers.find(notebook, "double--small")["source"] += (
        "\n### BEGIN HIDDEN TESTS\nx\n### END HIDDEN TESTS"
    )
    source = sample.write(small / "solutions" / sample.NAME / "sample.ipynb", notebook)
    other = submission.load(small / "exercises" / sample.NAME / "sample.ipynb", source)
    assert submission.fingerprint(other, data) != first


@pytest.mark.parametrize(
    "name",
    sorted(path.name for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir()),
)
def test_every_assignment_of_the_course_can_be_rebuilt(name: str) -> None:
    """Untouched release notebooks have no findings, and as many points as the source gives."""
    source = next((ROOT / "solutions" / name).glob("*.ipynb"))
    release = ROOT / "exercises" / name / source.name
    found = submission.load(release, source).rebuild(handed_in.read(release))
    assert found.findings == ()
    assert sum(cell.points for cell in found.cells) > 0
    assert {cell.role for cell in found.cells} >= {
        "setup",
        "given",
        "solution",
        "test",
        "text",
    }
