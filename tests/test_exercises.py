"""Release notebooks: nothing hidden in them, and stubs that fail cleanly.

That exercises/ is what solutions/ make is one of the rules of tools/check_notebooks.py, which
test_notebook_rules.py tries on the course.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client import KernelManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from nbgrader.utils import determine_grade, is_grade

from grading.course import demos, notebooks, release
from grading.course.notebooks import ROOT
from tests.harness import sample
from tools import exercises

SOURCES = [
    path
    for name in release.assignments(ROOT)
    for path in notebooks.notebooks_in(ROOT / "solutions" / name)
]

#: Leaves nothing of what the notebook before has defined and hooked up.
RESET = """for _hook in list(get_ipython().events.callbacks["post_run_cell"]):
    if _hook.__module__ == "__main__":
        get_ipython().events.unregister("post_run_cell", _hook)
%reset -f"""


def release_of(source: Path) -> Path:
    """Return the release notebook of a source notebook."""
    return ROOT / "exercises" / source.relative_to(ROOT / "solutions")


def test_there_are_assignments() -> None:
    """The tests below have something to look at."""
    assert SOURCES


def bound_first(source: str) -> set[str]:
    """Return the names of functions and classes before the first line that may fail."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {one.asname or one.name for one in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            break
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_test_that_fails_takes_no_other_with_it(source: Path) -> None:
    """What a test cell uses of another one stands there before anything that may fail."""
    known, late, problems = set(dir(builtins)), {}, []
    for cell in notebooks.cells(source):
        names = demos.names_of(cell.source) if cell.kind == "code" else None
        if names is None:
            continue
        read, bound = names
        if not cell.is_test:
            known |= bound
            continue
        problems += [
            f"{cell.grade_id} needs {name}, which {late[name]} may not come to bind"
            for name in sorted((read - bound - known) & late.keys())
        ]
        first = bound_first(cell.source)
        known |= first
        late |= dict.fromkeys(bound - known, cell.grade_id)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_nothing_hidden_is_released(source: Path) -> None:
    """No marker, no line of a hidden test, no line of a solution is in the release notebook."""
    release = release_of(source).read_text(encoding="utf-8")
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "END HIDDEN"):
        assert marker not in release
    released = {
        line.strip()
        for cell in notebooks.cells(release_of(source))
        for line in cell.source.split("\n")
    }
    # A line may be in a hidden test and also, by right, in what a student sees.
    open_lines: set[str] = set()
    secret: dict[str, str] = {}
    for cell in notebooks.cells(source):
        lines = cell.source.split("\n")
        hidden: set[int] = set()
        for begin, end in (
            (notebooks.BEGIN_HIDDEN, notebooks.END_HIDDEN),
            (notebooks.BEGIN_SOLUTION, notebooks.END_SOLUTION),
        ):
            for first, last in notebooks.regions(cell, begin, end):
                hidden |= set(range(first, last + 1))
        for number, line in enumerate(lines):
            if number in hidden:
                secret.setdefault(line.strip(), str(cell))
            else:
                open_lines.add(line.strip())
    # Closing brackets and the like tell nothing.
    secret = {
        line: cell for line, cell in secret.items() if any(map(str.isalnum, line))
    }
    assert len(secret) > 10, (
        "hardly anything is hidden: is this test looking in the right place?"
    )
    leaked = {
        line: cell for line, cell in secret.items() if line in released - open_lines
    }
    assert not leaked
    assert len(secret.keys() - open_lines) > 10


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """One kernel for all notebooks: it imports torch once."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("kernel")))
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.reads("solutions/*/{source}", "exercises/*/{source}")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_an_untouched_release_notebook_scores_zero(
    source: Path, kernel: KernelManager
) -> None:
    """Run as handed out, each test ends in NotImplementedError, and nothing else fails."""
    notebook = nbformat.read(release_of(source), as_version=4)
    notebook.cells.insert(0, new_code_cell(RESET))
    NotebookClient(notebook, km=kernel, timeout=60, allow_errors=True).execute()
    assert not notebook.cells.pop(0).outputs
    scores, problems = [], []
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code":
            continue
        errors = [output for output in cell.outputs if output.output_type == "error"]
        where = f"{release_of(source)}: cell {number} (id {cell.id})"
        if not is_grade(cell):
            # A cell that draws what the student's function returns has to wait for it, too.
            problems += [
                f"{where}: {error.ename}: {error.evalue}"
                for error in errors
                if error.ename != "NotImplementedError"
            ]
        elif [error.ename for error in errors] != ["NotImplementedError"]:
            names = ", ".join(error.ename for error in errors) or "no error"
            problems.append(f"{where}: expected NotImplementedError, got {names}")
        else:
            scores.append(determine_grade(cell))
    assert not problems, "\n".join(["", *problems])
    assert scores
    assert sum(score for score, _ in scores) == 0
    loaded = {
        cell.grade_id: cell.nbgrader["points"]
        for cell in notebooks.cells(source)
        if cell.is_test
    }
    assert sum(most for _, most in scores) == sum(loaded.values()) > 0


@pytest.mark.slow
def test_release_changes_what_it_must(tmp_path: Path) -> None:
    """On a small assignment: the stub, the locks, no outputs, hidden tests gone."""
    (tmp_path / "nbgrader_config.py").write_bytes(
        (ROOT / "nbgrader_config.py").read_bytes()
    )
    sample.make(tmp_path)
    assert exercises.write(tmp_path) == [sample.NAME]
    path = tmp_path / "exercises" / sample.NAME / "sample.ipynb"
    released = {cell.grade_id: cell for cell in notebooks.cells(path) if cell.grade_id}
    assert released["double"].source == (
        'def double(x):\n    """Return 2x."""\n'
        '    raise NotImplementedError("Replace this line with your code.")'
    )
    assert "double(-1)" not in path.read_text(encoding="utf-8")
    assert released["double--small"].source.startswith("assert double(3) == 6")
    assert released["double--small"].metadata["editable"] is False
    assert [cell for cell in notebooks.cells(path) if cell.outputs] == []

    first = path.read_bytes()
    assert exercises.write(tmp_path) == [], "made again, it is the same"
    assert path.read_bytes() == first
    notebook = notebooks.read(path)
    zero = next(c for c in notebook["cells"] if c["source"] == [sample.DOUBLE_ZERO])
    zero["metadata"]["nbgrader"]["points"] = 7
    sample.write(path, notebook)
    assert exercises.write(tmp_path) == [sample.NAME]
    assert path.read_bytes() == first
    earlier = exercises.earlier_points(tmp_path / "solutions")
    assert earlier == {sample.NAME: {"double--zero": [7]}}
    assert {child.name for child in tmp_path.iterdir()} == {
        "answers",
        "exercises",
        "nbgrader_config.py",
        "solutions",
    }, "nothing else is left behind, no gradebook either"


@pytest.mark.slow
def test_a_refused_release_leaves_the_old_one(tmp_path: Path) -> None:
    """When nbgrader cannot make an assignment, exercises/ stays as it was."""
    (tmp_path / "nbgrader_config.py").write_bytes(
        (ROOT / "nbgrader_config.py").read_bytes()
    )
    folder = sample.make(tmp_path)
    old = sample.write(tmp_path / "exercises" / sample.NAME / "sample.ipynb", "old")
    path = folder / "sample.ipynb"
    text = path.read_text(encoding="utf-8").replace("### END SOLUTION", "###")
    path.write_text(text, encoding="utf-8")
    assert exercises.main(["--root", str(tmp_path)]) == 1
    assert old.read_text(encoding="utf-8") == "old"
