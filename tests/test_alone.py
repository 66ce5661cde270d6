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


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Every exercise, answered, from one process that has loaded what all of them load."""
    programs = {name: answered(name) for name in release.assignments(ROOT)}
    folder, first = tmp_path_factory.mktemp("alone"), ("torch._dynamo", "matplotlib")
    return only.run(INSTALLED, programs, folder, ROOT, first)


@pytest.mark.parametrize("name", release.assignments(ROOT))
def test_all_visible_tests_pass_beside_nothing(
    name: str, ran: dict[str, str | None]
) -> None:
    """No package but those, what they pull in and the standard library; no file of the course."""
    assert ran[name] is None, ran[name]


FAILING = {
    "import seaborn": "No module named 'seaborn'",
    "import nbgrader": "No module named 'nbgrader'",
    "from transformer.attention import attention": "No module named 'transformer'",
    f"open({str(ROOT / 'README.md')!r})": "reads ",
    "open('exercises/README.md')": "No such file",
    "raise NotImplementedError": "NotImplementedError",
}


def test_the_test_above_can_fail(tmp_path: Path) -> None:
    """A package of the course's own environment, or a file of it, is not there."""
    programs = {f"{n}": ["import math", cell] for n, cell in enumerate(FAILING)}
    found = only.run(INSTALLED, {**programs, "good": ["import math"]}, tmp_path, ROOT)
    assert found.pop("good") is None
    for (cell, told), said in zip(FAILING.items(), found.values(), strict=True):
        assert said, cell
        assert told in said


def test_what_is_installed_is_what_the_page_says() -> None:
    """The command on the set-up page brings in those packages, NumPy among what they pull in."""
    page = (ROOT / "book" / "setup.md").read_text(encoding="utf-8")
    assert f"pip install {' '.join(INSTALLED)}" in page
    assert {"numpy", "ipykernel"} <= only.packages(INSTALLED)
    assert not {"nbgrader", "distributed"} & only.packages(INSTALLED)
