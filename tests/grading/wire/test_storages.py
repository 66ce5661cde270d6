"""What a test writes into memory just before it lets go of it is told to the submission."""

from __future__ import annotations

import pytest

from grading.verdict.cells import run_test_cell
from tests.grading.wall import passes, submission

CELL = """
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
    def forward(self): return self.seen.tolist()

kept, given = torch.zeros(4), []
def whole(): return kept
def half(): return kept[:2]
def give(x): given.append(x)
def now(): return (given[0] if given else kept).tolist()
def nothing(): pass
def fresh(): return torch.zeros(1 << 16)
"""
#: Other messages come between: what the last one brought is held anyway.
STEP = "def step():\n    x = {}\n    nothing()\n    nothing()\n    x.add_(1)\nstep()\n"


@pytest.mark.parametrize(
    ("what", "then"),
    {
        "a buffer": ("m.seen", "m() == [1, 1], m()"),
        "a state dict": ("m.state_dict()['seen']", "m() == [1, 1], m()"),
        "a result": ("whole()", "now() == [1, 1, 1, 1], now()"),
        "a view": ("half()", "now() == [1, 1, 0, 0], now()"),
        "an argument": ("torch.zeros(3)\n    give(x)", "now() == [1, 1, 1], now()"),
    }.values(),
)
def test_a_change_is_told_before_its_memory_goes(what: str, then: str) -> None:
    """In a notebook the submission's code sees it as well."""
    passes(CELL, f"m = Counts()\n{STEP.format(what)}assert {then}")


def test_memory_that_a_test_let_go_of_is_soon_free() -> None:
    """Of each result that the submission does not keep, and of each that it does."""
    test = "for _ in range(40):\n    fresh()\n    whole()\nnothing()\nnothing()"
    with submission(CELL) as student:
        run = run_test_cell(student, test)
        assert run.passed, run.message
        assert student.peer.storages.kept == []
