"""Notebooks that are the same but for names and layout, and those that are not."""

from __future__ import annotations

import pytest

from grading.report import alike

FIRST = '''
import math


def attend(query, keys, values, mask=None):
    """Return outputs and weights."""
    # scale first
    scores = query @ keys.T / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    weights = weights.nan_to_num(0.0)
    return weights @ values, weights


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        out, maps = attend(query=x, keys=x, values=x)
        return x + self.linear(out), [row.sum() for row in maps]
'''
SECOND = '''
import math
def attend(query, keys, values, mask: "bool" = None) -> tuple:
    s: torch.Tensor = query @ keys.T / math.sqrt( query.shape[-1] )   # mine
    if mask is not None: s = s.masked_fill(~mask, float('-inf'))
    probabilities = s.softmax(dim=-1); probabilities = probabilities.nan_to_num(0.0)
    return (probabilities @ values, probabilities)
class Layer(nn.Module):
    """My layer."""
    def __init__(self, width):
        super().__init__(); self.out = nn.Linear(width, width)
    def forward(self, tokens):
        """Go."""
        a, b = attend(query=tokens, keys=tokens, values=tokens)
        return tokens + self.out(a), [r.sum() for r in b]
'''


def groups(*sources: str) -> list[tuple[str, ...]]:
    """Return who is alike among students who wrote these, each into one cell."""
    written = {f"s{n}": {"task": source * 3} for n, source in enumerate(sources)}
    return [group.students for group in alike.alike(written)]


def test_names_comments_and_layout_do_not_hide_it() -> None:
    """Docstrings, annotations, quotes and line breaks neither."""
    assert groups(FIRST, SECOND) == [("s0", "s1")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + self", "x - self"),
        ("dim=-1", "dim=-2"),
        ("0.0", "1.0"),
        ("keys.T", "values.T"),
        ("math.sqrt", "math.exp"),
        ("softmax", "log_softmax"),
        ("    weights = weights.nan_to_num(0.0)\n", ""),
    ],
)
def test_another_program_is_another_one(old: str, new: str) -> None:
    """One operator, number, method or argument is enough."""
    assert old in FIRST
    assert groups(FIRST, FIRST.replace(old, new, 1)) == []


def test_names_that_change_places_are_another_program() -> None:
    """Numbers are given by place: a and b swapped in use do not fit."""
    swapped = FIRST.replace("out, maps = attend", "maps, out = attend")
    assert groups(FIRST, swapped) == []


def test_short_notebooks_and_other_tasks_say_nothing() -> None:
    """What is short agrees by chance; the same text in another cell is another answer."""
    written = {"s0": {"a": "x = 1"}, "s1": {"a": "y = 1"}}
    assert alike.alike(written) == []
    assert alike.alike({"s0": {"a": FIRST * 3}, "s1": {"b": FIRST * 3}}) == []
    assert alike.alike({"s0": {}, "s1": {}}) == []


@pytest.mark.parametrize(
    "source",
    [
        "def broken(:\n    pass\n" * 200,
        "a = " + "(" * 5000,
        "a = " + "-" * 50_000 + "1",
    ],
)
def test_what_is_no_program_is_compared_as_text(source: str) -> None:
    """A notebook that does not compile, or goes too deep, stops nothing."""
    assert groups(source, source + "\n\n") == [("s0", "s1")]
    assert groups(source, source + "b") == []
