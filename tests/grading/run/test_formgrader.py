"""Formgrader's buttons grade in the sandbox and write this course's pages, for real."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from grading.course import layout, release
from grading.course.states import State
from grading.gradebook.standing import standings
from tests.grading import helpers
from tests.harness import sample

STUDENTS = ("s01", "s02", "s03", "s04")
#: Answers right, and leaves a file wherever it may.
INTRUDER = """import contextlib, pathlib
for folder in {folders!r}:
    with contextlib.suppress(OSError):
        (pathlib.Path(folder) / "owned").write_text("by a student")
print("<script>alert(1)</script>")
def double(x):
    return 2 * x
"""


@pytest.fixture(scope="module", autouse=True)
def one_process() -> Iterator[None]:
    """A button grades in one process: a second would import torch for one student."""

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess:
        return done(
            [*command, "--jobs", "1"] if "grading" in command else command, **options
        )

    done = subprocess.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grading.run.formgrader.subprocess.run", run)
        yield


@pytest.fixture(scope="module")
def course(bubblewrap: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with an intruder, an honest student, a copied notebook and a broken one."""
    root = helpers.make_course(tmp_path_factory.mktemp("formgrader") / "course")
    folders = [str(root), str(root.parent), str(Path.home()), "/tmp"]
    intruder = {**helpers.RIGHT, "double": INTRUDER.format(folders=folders)}
    helpers.hand_in(root, "s01", helpers.fill(intruder))
    helpers.hand_in(root, "s02", helpers.fill(helpers.WRONG))
    odd = helpers.fill(helpers.RIGHT)
    helpers.find(odd, "double--small")["metadata"]["nbgrader"]["points"] = 50
    helpers.hand_in(root, "s03", odd)
    helpers.hand_in(root, "s04", "no notebook")
    return root


@pytest.fixture(scope="module")
def graded(course: Path) -> dict[str, dict]:
    """What the button said of each student; each press starts a sandbox."""
    api = buttons(course)
    return {name: api.autograde(sample.NAME, name) for name in STUDENTS}


def buttons(root: Path, **changed: str) -> NbGraderAPI:
    """Return what Formgrader's buttons call."""
    config = layout.read_config(root)
    config.CourseDirectory.root = str(root)
    for name, value in changed.items():
        config.CourseDirectory[name] = value
    return NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)


def states(root: Path) -> dict[str, tuple[State, float | None]]:
    """Return everybody's state and points."""
    found = standings(f"sqlite:///{root / 'gradebook.db'}", sample.NAME)
    return {one.student: (one.state, one.points) for one in found}


def test_autograde_is_sandboxed_and_knows_the_states(
    course: Path, graded: dict[str, dict]
) -> None:
    """The intruder leaves nothing behind; suspect and failed stay what they are; log and pages."""
    for student in ("s01", "s02", "s03"):
        done = graded[student]
        assert done["success"], done
        assert "sandbox" not in done["log"]
        assert ("suspect: s03: re-tagged" in done["log"]) == (student == "s03")
    assert not graded["s04"]["success"]
    assert "failed: s04: sample.ipynb is not a notebook" in graded["s04"]["error"]
    assert states(course) == {
        "s01": (State.GRADED, 6.0),
        "s02": (State.GRADED, 1.0),
        "s03": (State.SUSPECT, 6.0),
        "s04": (State.FAILED, None),
    }
    for folder in (course, course.parent, Path.home(), Path("/tmp")):
        assert not (folder / "owned").exists(), folder
    assert (course / "autograded" / "s01" / sample.NAME / "sample.ipynb").exists()


def test_generate_feedback_writes_our_pages(
    course: Path, graded: dict[str, dict]
) -> None:
    """Of everybody who was graded, without their scripts and hidden tests."""
    assert graded["s01"]["success"]
    page = course / "feedback" / "s01" / sample.NAME / "sample.html"
    page.unlink()
    done = buttons(course).generate_feedback(sample.NAME, "s01")
    assert done["success"], done
    text = page.read_text(encoding="utf-8")
    assert "Content-Security-Policy" in text
    assert "<script>" not in text
    assert "HIDDEN" not in text
    assert states(course)["s01"] == (State.GRADED, 6.0)


def test_what_cannot_be_graded_here_is_refused(tmp_path: Path) -> None:
    """Other folders than the grader's, an unknown gradebook: the button says why."""
    course = helpers.make_course(tmp_path / "course")
    helpers.hand_in(course, "s01", helpers.fill(helpers.RIGHT))
    done = buttons(course, autograded_directory="elsewhere").autograde(
        sample.NAME, "s01"
    )
    assert not done["success"]
    assert "autograded_directory is 'elsewhere'" in done["error"]
    done = buttons(course, db_url="oracle://nowhere").autograde(sample.NAME, "s01")
    assert not done["success"]
    assert not (course / "autograded").exists()
    assert not (course / "elsewhere").exists()


def test_the_command_does_the_same(course: Path, graded: dict[str, dict]) -> None:
    """`nbgrader autograde` grades who is new here, and keeps what was graded."""
    assert graded["s01"]["success"]
    kept = course / "autograded" / "s01" / sample.NAME / "sample.ipynb"
    first = kept.stat().st_mtime_ns
    helpers.hand_in(course, "s05", helpers.fill(helpers.WRONG))
    done = release.nbgrader(course, "autograde", sample.NAME)
    assert done.returncode == 1, "s04 is failed"
    assert "failed: s04" in done.stderr
    assert states(course) == {
        "s01": (State.GRADED, 6.0),
        "s02": (State.GRADED, 1.0),
        "s03": (State.SUSPECT, 6.0),
        "s04": (State.FAILED, None),
        "s05": (State.GRADED, 1.0),
    }
    assert kept.stat().st_mtime_ns == first, "graded once"
