"""Feedback in the layouts that Moodle and Canvas take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.course.states import State
from grading.lms.files import imports, packing
from grading.lms.files.imports import Options, Origin
from grading.lms.files.roster import Member, Roster
from grading.lms.outcome import Report
from tests.grading.lms.files.oracles import canvas_feedback, moodle_feedback
from tests.grading.lms.files.samples import (
    NAME,
    NOTEBOOK,
    entries,
    make_zip,
    notebook,
    standing,
    target,
)

PAGE = (
    "<!doctype html><html><head><style>b{color:red}</style></head>"
    "<body class='x'><p>Emmy: 40 of 60</p></body></html>"
)
CLASS = [
    standing("s01"),
    standing("s02"),
    standing("s03", None, State.FAILED),
    standing("s04", 60.0, State.SUSPECT),
    standing("s05", None, State.MISSING),
    standing("s06"),
]


def pages(root: Path, *without: str) -> dict[str, Path]:
    """Write a page for each student."""
    found = {}
    for one in CLASS:
        path = root / "feedback" / one.student / NAME / "sample.html"
        found[one.student] = path
        if one.student not in without:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PAGE)
    return found


def test_moodle_attaches_each_page_to_its_participant(tmp_path: Path) -> None:
    """Only graded students; who has no number or no page gets a line."""
    members = {
        "s01": Member("s01", "Emmy_Maria", "Noether / O'Neill", participant="501"),
        "s02": Member("s02", participant="502"),
        "s06": Member("s06", "No", "Number"),
    }
    report = Report("test")
    files = packing.feedback(CLASS, pages(tmp_path), members, {}, "moodle", report)
    data = packing.make_zip(files)
    assert moodle_feedback(data, {501, 502, 503}) == {
        501: ["sample.html"],
        502: ["sample.html"],
    }
    assert {content.decode() for content in entries(data).values()} == {PAGE}
    reasons = {line.student: line.reason for line in report.lines if line.reason}
    assert "failed: no feedback" in reasons["s03"]
    assert "suspect: no feedback" in reasons["s04"]
    assert "--worksheet" in reasons["s06"]
    report = Report("test")
    packing.feedback(CLASS, pages(tmp_path / "b", "s01"), members, {}, "moodle", report)
    assert "no page" in {line.student: line.reason for line in report.lines}["s01"]


def test_canvas_attaches_each_page_to_the_submission_it_came_from(
    tmp_path: Path,
) -> None:
    """From Canvas's download, through the import's notes, back to Canvas."""
    zip_ = make_zip(
        tmp_path / "s.zip",
        {
            "noetheremmy_11_101_sample.ipynb": notebook("a"),
            "ångström_öbergsøren_LATE_12_102_sample-1.ipynb": notebook("b"),
        },
    )
    people = [
        Member("s01", "Emmy", "Noether", lms_user_id="11"),
        Member("s02", "Søren", "Ångström_Öberg", lms_user_id="12"),
    ]
    imports.take(zip_, target(tmp_path), Roster(people), Options())
    record = imports.read_record(target(tmp_path).record)
    report = Report("test")
    files = packing.feedback(CLASS, pages(tmp_path), {}, record, "canvas", report)
    found = canvas_feedback(packing.make_zip(files), {101: 11, 102: 12})
    assert set(found) == {11, 12}
    assert all(name.endswith(".ipynb") for name in found.values())
    shown = json.loads(files[found[11]])
    html = shown["cells"][0]["outputs"][0]["data"]["text/html"]
    assert html == "<style>b{color:red}</style><p>Emmy: 40 of 60</p>"
    assert shown["nbformat"] == 4
    reasons = {line.student: line.reason for line in report.refused}
    assert "import Canvas's zip" in reasons["s06"]


def test_the_notebook_for_canvas_is_a_valid_one() -> None:
    """As nbformat sees it."""
    import nbformat

    nbformat.validate(nbformat.reads(packing.as_notebook(PAGE).decode(), as_version=4))


@settings(max_examples=300, deadline=None)
@given(
    prefix=st.text(max_size=20),
    user=st.integers(0, 10**9),
    number=st.integers(0, 10**9),
)
def test_canvas_finds_a_page_whatever_the_name_was(
    prefix: str, user: int, number: int
) -> None:
    """Also where the name holds numbers, slashes, or nothing."""
    origin = Origin("canvas", str(user), prefix, NOTEBOOK, number)
    name, problem = packing.canvas_name(origin, "sample")
    assert not problem
    assert canvas_feedback(packing.make_zip({name: b""}), {number: user}) == {
        user: name
    }


@settings(max_examples=300, deadline=None)
@given(
    first=st.text(max_size=30), last=st.text(max_size=30), number=st.integers(0, 10**9)
)
def test_moodle_finds_a_page_whatever_the_name_is(
    first: str, last: str, number: int
) -> None:
    """Also where it holds underscores, dots, slashes, other people's numbers, or nothing."""
    name, problem = packing.moodle_name(
        Member("s", first, last, participant=str(number)), "a.html"
    )
    assert not problem
    assert moodle_feedback(packing.make_zip({name: b""}), {number}) == {
        number: ["a.html"]
    }


def test_a_zip_comes_out_the_same_each_time() -> None:
    """No times, one order, rights as said."""
    files = {"b": b"2", "a": b"1"}
    assert packing.make_zip(files) == packing.make_zip(dict(sorted(files.items())))
    with pytest.raises(ValueError, match="relative paths"):
        packing.make_zip({"../a": b""})
