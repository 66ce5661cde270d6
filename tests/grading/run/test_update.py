"""An update of the course in mid-term: grades before and after, and what is said of them.

A class was graded; then a test asks for more, another is worth more, and the notebooks that
students have are of the earlier release.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grading.__main__ import main
from grading.course import notebooks
from grading.course.states import State
from tests.grading import helpers
from tests.grading.run.test_batch import run, small, standing, url  # noqa: F401 - a fixture
from tests.harness import sample
from tools import exercises

#: Asks for more; SIX was right by the tests of before, and no longer is.
MORE = sample.TOTAL_PLAIN.replace(
    "### END", "assert total([4]) == 8, 'more than six'\n### END"
)
SIX = {**helpers.RIGHT, "total": "def total(values):\n    return 6 * bool(values)"}


def update(root: Path, *, total: str = sample.TOTAL_PLAIN, zero: float = 1) -> None:
    """Change the assignment as an update does."""
    notebook = sample.source_notebook()
    helpers.find(notebook, "total--plain")["source"] = total
    helpers.find(notebook, "double--zero")["metadata"]["nbgrader"]["points"] = zero
    release(root, notebook)


def release(root: Path, source: dict) -> None:
    """Write the assignment and its release, as `make exercises` does, but without nbgrader."""
    sample.write(root / "solutions" / sample.NAME / "sample.ipynb", source)
    kept, made = root / "exercises" / sample.NAME, root / "made"
    sample.write(made / "sample.ipynb", helpers.release(source))
    exercises.note_points(root, sample.NAME, made, kept)
    shutil.rmtree(kept)
    made.rename(kept)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class with every state, a point by hand, an extension and a clearance, graded."""
    root = helpers.make_course(tmp_path_factory.mktemp("update") / "course")
    helpers.hand_in_all_states(root)
    stamp = helpers.hand_in(root, "ann", helpers.fill(SIX)).with_name("timestamp.txt")
    stamp.write_text("2030-01-31 12:00:00 UTC", encoding="utf-8")
    assert run(root) == 1, "eve's is no notebook"
    with contextlib.closing(Gradebook(url(root), "attention")) as book:
        grade = book.find_grade("double--zero", "sample", sample.NAME, "good")
        grade.manual_score = 0.5
        book.find_comment("double", "sample", sample.NAME, "good").manual_comment = "ok"
        book.db.commit()
        book.grant_extension(sample.NAME, "ann", days=3)
    clear = ["clear", "90", "sam", "--root", str(root), "--reason", "an editor"]
    assert main(clear) == 0
    return root


@pytest.fixture
def graded(prepared: Path, tmp_path: Path) -> Path:
    """A copy of that course."""
    return Path(shutil.copytree(prepared, tmp_path / "course"))


def points(root: Path) -> dict[str, tuple[State, float | None, float]]:
    """Return how everybody stands, and of how many points."""
    return {
        name: (one.state, one.points, one.max_points)
        for name, one in standing(root).items()
    }


def test_grades_before_and_after(graded: Path, capsys: pytest.CaptureFixture) -> None:
    """By new tests, everybody; what people gave stays; each change is said by name."""
    before = points(graded)
    assert before["ann"] == (State.GRADED, 6.0, 6.0)
    update(graded, total=MORE, zero=2)
    capsys.readouterr()
    assert run(graded) == 1
    said = capsys.readouterr().err
    assert "double--zero: 1 points before, now 2; total--plain: another text" in said
    assert (
        "ann: 6 points before, now 4: double--zero 1 -> 2, total--plain 3 -> 0" in said
    )
    assert "good: 6 points before, now 7: double--zero 1 -> 2" in said
    after = points(graded)
    assert after.keys() == before.keys()
    assert {name: state for name, (state, *_) in after.items()} == {
        name: state for name, (state, *_) in before.items()
    }, "points of an earlier release are no tampering, a clearance holds"
    assert after["ann"] == (State.GRADED, 4.0, 7.0)
    assert after["good"] == (State.GRADED, 5.5, 7.0), "half a point by hand stays"
    with contextlib.closing(Gradebook(url(graded), "attention")) as book:
        comment = book.find_comment("double", "sample", sample.NAME, "good")
        assert comment.comment == "ok"
        ann = book.find_submission(sample.NAME, "ann")
        assert ann.extension.days == 3
        assert ann.timestamp.isoformat() == "2030-01-31T12:00:00"
    assert run(graded) == 1
    assert "before, now" not in capsys.readouterr().err, "said once"


def test_an_update_that_fails_here_changes_no_grade(
    graded: Path, capsys: pytest.CaptureFixture
) -> None:
    """Solutions without full points: the gradebook is as before, points and what they are of."""
    before = points(graded)
    table = (graded / "grades.csv").read_bytes()
    update(graded, total="assert False, 'broken'", zero=2)
    assert run(graded) == 2
    assert "don't get full points here" in capsys.readouterr().err
    assert points(graded) == before
    assert (graded / "grades.csv").read_bytes() == table


def test_nobody_is_left_with_a_grade_by_the_tests_of_before(
    graded: Path, capsys: pytest.CaptureFixture
) -> None:
    """One student alone is not graded by new tests; the message says which tests are new."""
    before = points(graded)
    update(graded, zero=2)
    assert run(graded, "--student", "ann") == 2
    said = capsys.readouterr().err
    assert "double--zero: 1 points before, now 2" in said
    assert "without --student" in said
    assert points(graded) == before


def test_a_test_that_is_gone_is_refused_and_nothing_is_lost(
    graded: Path, capsys: pytest.CaptureFixture
) -> None:
    """The grades of the earlier assignment stay; the message says what to do."""
    before = points(graded)
    notebook = sample.source_notebook()
    notebook["cells"].remove(helpers.find(notebook, "double--zero"))
    release(graded, notebook)
    assert run(graded) == 2
    assert "Give the changed assignment a new name" in capsys.readouterr().err
    assert points(graded) == before


def test_an_earlier_release_is_no_tampering_in_a_class_not_graded_yet(
    small: Path,  # noqa: F811
) -> None:
    """Points changed twice: who began then is not suspect, a cheat is."""
    for student, worth in {"ann": 1, "bob": 2, "cat": 3, "eve": 50}.items():
        if worth < 4:
            update(small, zero=worth)
        notebook = notebooks.read(small / "exercises" / sample.NAME / "sample.ipynb")
        helpers.find(notebook, "double--zero")["metadata"]["nbgrader"]["points"] = worth
        helpers.hand_in(small, student, helpers.fill(helpers.RIGHT, notebook))
    assert run(small) == 0
    states = {name: one.state for name, one in standing(small).items()}
    assert states == {
        **dict.fromkeys(("ann", "bob", "cat"), State.GRADED),
        "eve": State.SUSPECT,
    }


def test_a_record_of_points_that_cannot_be_read_is_named(
    graded: Path, capsys: pytest.CaptureFixture
) -> None:
    """No traceback, and no class that is suspect as a whole."""
    (graded / "solutions" / exercises.EARLIER).write_text("{", encoding="utf-8")
    assert run(graded) == 2
    assert "earlier.json: " in capsys.readouterr().err
