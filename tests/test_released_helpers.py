"""No function of the release gives what a task asks for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grading.course.notebooks import ROOT, cells, notebooks_in
from tests.harness import released, sample

pytestmark = pytest.mark.slow

FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())

ATTENTION = '''def attention(query, key, value):
    """Return scaled dot-product attention."""
    ### BEGIN SOLUTION
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value
    ### END SOLUTION'''

FUSED = """def fused(value, query, key, scale=None):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=scale)"""

CALL = """query, key, value = torch.randn(3, 4, 5)
got = attention(query, key, value)
expected = {expected}
assert torch.allclose(got, expected, atol=1e-4), "not what the kernel gives"
"""


@pytest.mark.reads("solutions/{folder}", "solutions/*.py")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_no_released_function_is_an_answer(folder: Path) -> None:
    """Called with the arguments of a test, in any order, none returns a value of the task's.

    What the reference solutions call themselves is a tool that students are given.
    """
    tools = {
        node.id
        for path in notebooks_in(folder)
        for cell in cells(path)
        if cell.is_solution
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Name)
    }
    solved = released.solved(folder)
    assert {pair for pair in solved if pair.partition(" for ")[0] not in tools} == set()


@pytest.mark.parametrize("place", ["given", "visible", "hidden"])
def test_a_function_that_solves_a_task_is_noticed(tmp_path: Path, place: str) -> None:
    """In a given cell or a visible test it is, whatever the order of its arguments."""
    begin, end = "### BEGIN HIDDEN TESTS\n", "\n### END HIDDEN TESTS\n"
    test = CALL.format(expected="fused(value, query, key)")
    tests = {
        "given": test,
        "visible": f"{FUSED}\n\n\n{test}",
        "hidden": f"{begin}{FUSED}{end}value = 1\n{begin}{test}{end}",
    }
    cells = [sample.code("import torch")]
    if place == "given":
        cells.append(
            sample.code(FUSED, "given", grade=False, solution=False, locked=True)
        )
    cells += [
        sample.solution("attention", ATTENTION),
        sample.graded("attention--value", tests[place], 1),
    ]
    sample.write(tmp_path / "sample.ipynb", sample.notebook(cells))
    found = released.solved(tmp_path)
    assert found == ({} if place == "hidden" else {"fused for attention": 1})
