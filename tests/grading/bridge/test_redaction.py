"""What a message tells: its author's words, not the values between them."""

from __future__ import annotations

import pytest

from grading.verdict.cells import run_test_cell
from tests.grading.wall import submission

HELPER = """import torch
def explain(name, got, want, mistakes=None):
    for text, value in (mistakes or {}).items():
        if got == value:
            return f"{name}: {text}"
    return f"{name}: expected {want:.3f}, got {got!r}. ".rstrip()
"""
GIVES = "def f(x): return x\ndef name(x): return 'leak' + str(x)"


@pytest.mark.parametrize(
    ("test", "message", "told"),
    [
        (
            "assert f(2) == 3, explain('f', f(2), 3)",
            "f: expected 3.000, got 2.",
            "f: expected …, got ….",
        ),
        (
            "assert f(2) == 3, explain('f', f(2), 3, {'a sign': 2})",
            "f: a sign",
            "f: a sign",
        ),
        (
            "assert f(2) == 3, 'in ' + explain('f', f(2), 3) + ' so'",
            "in f: expected 3.000, got 2. so",
            "…f: expected …, got …. …",
        ),
        (
            "x = torch.ones(2, 3)\nassert 0, f'shape {tuple(f(x).shape)}, "
            "{x.dtype} at index {[1, 2]}'",
            "shape (2, 3), torch.float32 at index [1, 2]",
            "shape (2, 3), torch.float32 at index [1, 2]",
        ),
        (
            "assert 0, f'shape {f(torch.ones(77, 0)).shape}'",
            "shape torch.Size([77, 0])",
            "shape …",
        ),
        (
            "assert 0, f'got {name(5)} and {[name(5), name(6)]}'",
            "got leak5 and ['leak5', 'leak6']",
            "got … and […, …]",
        ),
        ("assert 0, name(5)", "leak5", "…"),
        ("assert 0, str(f(7654321))", "7654321", "…"),
    ],
)
def test_values_are_left_out(test: str, message: str, told: str) -> None:
    """Of numbers, texts and lists; shapes of small numbers and the author's words stay."""
    with submission(GIVES) as student:
        student.run_given(HELPER)
        found = run_test_cell(student, test)
    assert (found.message, found.told) == (message, told)


def test_hidden_lines_are_noticed() -> None:
    """Not definitions, which ask nothing of a submission; and not before they run."""
    hidden = "### BEGIN HIDDEN TESTS\n{}\n### END HIDDEN TESTS\nassert f(1) == 1\n"
    with submission(GIVES) as student:
        for lines, first, reached in (
            ("assert f(1)", "", True),
            ("def g(): pass", "", False),
            ("f(1)", "assert 0\n", False),
        ):
            found = run_test_cell(student, first + hidden.format(lines))
            assert found.reached is reached, lines
