"""An exercise alone: one downloaded notebook, torch, Matplotlib, JupyterLab, on any system."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.course import notebooks, release
from grading.course.notebooks import ROOT
from tests.harness import only

pytestmark = pytest.mark.slow

#: What the set-up page tells a student to install.
INSTALLED = ("torch", "matplotlib", "jupyterlab")


def answered(name: str) -> list[str]:
    """Return a release notebook's code cells with the reference's answers in place of the stubs."""
    folder = Path(name)
    (source,) = notebooks.notebooks_in(ROOT / "solutions" / folder)
    (release,) = notebooks.notebooks_in(ROOT / "exercises" / folder)
    answers = {
        cell.grade_id: cell.source
        for cell in notebooks.cells(source)
        if cell.is_solution
    }
    return [
        answers[cell.grade_id] if cell.is_solution else cell.source
        for cell in notebooks.cells(release)
        if cell.kind == "code"
    ]


@pytest.mark.parametrize("name", release.assignments(ROOT))
def test_all_visible_tests_pass_beside_nothing(name: str, tmp_path: Path) -> None:
    """No package but those, what they pull in and the standard library; no file of the course."""
    done = only.run(INSTALLED, answered(name), tmp_path, ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("import seaborn", "No module named 'seaborn'"),
        ("import nbgrader", "No module named 'nbgrader'"),
        (
            "from transformer.attention import attention",
            "No module named 'transformer'",
        ),
        (f"open({str(ROOT / 'README.md')!r})", "reads "),
        ("open('exercises/README.md')", "No such file"),
        ("raise NotImplementedError", "NotImplementedError"),
    ],
)
def test_the_test_above_can_fail(cell: str, told: str, tmp_path: Path) -> None:
    """A package of the course's own environment, or a file of it, is not there."""
    done = only.run(INSTALLED, ["import math", cell], tmp_path, ROOT)
    assert done.returncode == 1
    assert told in done.stderr


def test_what_is_installed_is_what_the_page_says() -> None:
    """The command on the set-up page brings in those packages, NumPy among what they pull in."""
    page = (ROOT / "book" / "setup.md").read_text(encoding="utf-8")
    assert f"pip install {' '.join(INSTALLED)}" in page
    assert {"numpy", "ipykernel"} <= only.packages(INSTALLED)
    assert not {"nbgrader", "distributed"} & only.packages(INSTALLED)
