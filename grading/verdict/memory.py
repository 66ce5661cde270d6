"""Keeps what tests work out by themselves, from one submission to the next.

What a contract expects depends on the test and on the course's secret, and on nobody's answer. To
work it out takes as long as all calls of a submission. It is kept in this process, which no code of
a submission reaches, and goes out to none: contracts compare with it, and call with other values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import CodeType

import torch

#: How many test cells' values are kept.
MOST_CELLS = 512


class Memory:
    """What was worked out, by test cell, by place in its run, and by what it depends on."""

    def __init__(self) -> None:
        self.cells: dict[str, dict[int, tuple[object, object]]] = {}
        self.begin("")

    def begin(self, source: str) -> None:
        """Begin a run of a test cell."""
        if len(self.cells) >= MOST_CELLS:
            self.cells.clear()
        self.kept, self.place = self.cells.setdefault(source, {}), 0

    def __call__(self, make: Callable[[], object], given: Sequence) -> object:
        """Return what make() returns, or what it returned at this place for the same values.

        What draws random numbers is made each time: the next draw depends on it.
        """
        self.place += 1
        # A submission chooses which calls come before, so that the same values may be given at
        # the same place to work out something else.
        given = (getattr(make, "__code__", None), *given)
        before = self.kept.get(self.place)
        if before is not None and alike(before[0], given):
            return before[1]
        state = torch.get_rng_state(), random.getstate()
        made = make()
        if (
            torch.equal(state[0], torch.get_rng_state())
            and state[1] == random.getstate()
        ):
            self.kept[self.place] = copied(given), made
        return made


def copied(value: object) -> object:
    """Return a value with copies of its tensors and containers."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)([copied(part) for part in value])
    if type(value) is dict:
        return {name: copied(part) for name, part in value.items()}
    return value


def alike(one: object, other: object) -> bool:
    """Tell whether two values are the same; False of what can't be compared, such as NaN."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype is other.dtype and torch.equal(one, other)
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(alike(one[n], other[n]) for n in one)
    return type(one) in (bool, int, float, str, CodeType) and one == other
