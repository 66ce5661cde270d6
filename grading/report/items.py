"""How difficult each test was, and whether it tells those who know the rest from those who do not.

Difficulty is the mean share of a test's points that the class has, so 1 is a test that everybody
passes. Discrimination is the correlation of that share with the points in all *other* tasks: tests
of one task fail together, so they would vouch for each other. Intervals are of the bootstrap: the
class is drawn anew from itself, with replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grading.course.states import Result, task_of
from grading.course.submission import Form

#: How often the class is drawn anew, and the share of the draws that an interval holds.
DRAWS, LEVEL = 1000, 0.95
#: A test that tells less than this does not say who understood.
LOW = 0.1
#: Fewer students than this have no intervals: they would say nothing.
FEWEST = 10


@dataclass(frozen=True)
class Estimate:
    """A number with the ends of its interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Item:
    """One test: its difficulty, its discrimination, and what is odd about it."""

    test: str
    most: float
    difficulty: Estimate
    discrimination: Estimate
    flags: tuple[str, ...]


def items(form: Form, results: Sequence[Result], *, seed: int = 0) -> list[Item]:
    """Return the tests of an assignment, in its order.

    Args:
        form: the assignment.
        results: of those who have points.
        seed: of the draws.

    """
    most = {test: points for test, points in form.most.items() if points}
    if not results or not most:
        return []
    tests = list(most)
    # (students, tests): the share of each test's points; what a person has to grade counts as 0.
    points = np.array(
        [[one.points.get(test) or 0.0 for test in tests] for one in results]
    )
    shares = points / np.array(list(most.values()))
    names = np.array([task_of(test) for test in tests])
    rests = np.stack(
        [points[:, names != name].sum(axis=1) for name in names], axis=1
    )  # (students, tests)
    count = len(results)
    generator = np.random.default_rng(seed)
    drawn = generator.integers(count, size=(DRAWS, count)) if count >= FEWEST else None
    return [
        _item(test, most[test], shares[:, column], rests[:, column], drawn)
        for column, test in enumerate(tests)
    ]


def _item(
    test: str,
    most: float,
    share: np.ndarray,
    rest: np.ndarray,
    drawn: np.ndarray | None,
) -> Item:
    """Return one test's numbers; share, rest: (students,)."""
    difficulty = Estimate(float(share.mean()))
    found = correlations(share[None], rest[None])[0]
    discrimination = Estimate(None if np.isnan(found) else float(found))
    if drawn is not None:
        difficulty = Estimate(difficulty.value, *_interval(share[drawn].mean(axis=1)))
        if discrimination.value is not None:
            draws = correlations(share[drawn], rest[drawn])
            discrimination = Estimate(
                discrimination.value, *_interval(draws[~np.isnan(draws)])
            )
    flags = []
    if share.max() <= 0:
        flags.append("nobody passes")
    elif share.min() >= 1:
        flags.append("everybody passes")
    elif discrimination.value is not None and discrimination.value < LOW:
        flags.append(f"D < {LOW:g}")
    return Item(test, most, difficulty, discrimination, tuple(flags))


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Pearson's correlation of each row, NaN where one is constant.

    Shapes: a and b (rows, n) -> (rows,).
    """
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    scale[scale < 1e-12] = np.nan
    return (a * b).sum(axis=1) / scale


def _interval(draws: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """Return the ends between which LEVEL of the draws lie."""
    if not len(draws):
        return None, None
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
