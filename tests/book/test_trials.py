"""The training loop of chapter 7's claims is the one that its reader sees."""

import ast
import inspect
import textwrap

from book import trials
from grading.course.notebooks import ROOT, cells


def loop(source):
    """Return the statements of the function ``train`` in a source, without its docstring."""
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "train"
    )
    return [ast.unparse(statement) for statement in function.body[1:]]


def test_claims_train_by_the_loop_on_the_page():
    on_page = [
        loop(cell.source.replace("trials.", ""))
        for cell in cells(ROOT / "book" / "07-translator.ipynb")
        if cell.source.startswith("def train(")
    ]
    ours = loop(textwrap.dedent(inspect.getsource(trials.train)))
    assert on_page == [ours]
