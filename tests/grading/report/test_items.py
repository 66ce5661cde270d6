"""Difficulty and discrimination against textbook values, and their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from grading.course.states import Result, State
from grading.report import items


@dataclass
class Form:
    """The points of each test: all that is asked of an assignment's form."""

    most: dict[str, float]


FORM = Form({"a--one": 2.0, "a--two": 3.0, "b--one": 5.0, "c--one": 4.0})


def class_of(shares: np.ndarray) -> list[Result]:
    """Return results; shares: (students, tests), of the points."""
    return [
        Result(
            f"s{n:03}",
            State.GRADED,
            points={
                test: float(share * most)
                for (test, most), share in zip(FORM.most.items(), row, strict=True)
            },
        )
        for n, row in enumerate(shares)
    ]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_discrimination_is_the_correlation_with_the_other_tasks(
    seed: int, count: int
) -> None:
    """As scipy computes it; tests of the same task are no part of the rest."""
    shares = np.random.default_rng(seed).random((count, 4))
    found = items.items(FORM, class_of(shares))
    points = shares * np.array(list(FORM.most.values()))
    rests = {"a": points[:, 2:], "b": points[:, [0, 1, 3]], "c": points[:, :3]}
    for column, item in enumerate(found):
        want = stats.pearsonr(shares[:, column], rests[item.test[0]].sum(1)).statistic
        assert item.discrimination.value == pytest.approx(want, abs=1e-9)
        assert item.difficulty.value == pytest.approx(shares[:, column].mean())


def test_the_flags_name_what_tells_nothing() -> None:
    """Nobody, everybody, and a test that the weak pass rather than the strong."""
    generator = np.random.default_rng(0)
    strong = generator.random(60) < 0.5
    shares = np.stack([np.zeros(60), np.ones(60), strong, ~strong], axis=1)
    flags = {item.test: item.flags for item in items.items(FORM, class_of(shares))}
    assert flags["a--one"] == ("nobody passes",)
    assert flags["a--two"] == ("everybody passes",)
    assert flags["c--one"] == ("D < 0.1",)
    constant = items.items(FORM, class_of(shares))[0]
    assert constant.discrimination == items.Estimate(None)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of 200 classes with a known difficulty and correlation, about 95 in 100."""
    generator = np.random.default_rng(1)
    count, skill = 80, 0.6
    hits = np.zeros(2)
    for _ in range(200):
        normal = generator.standard_normal((count, 4))
        normal[:, 3] = skill * normal[:, 2] + np.sqrt(1 - skill**2) * normal[:, 3]
        normal[:, :2] = 0  # so that the rest of test c is test b
        one = items.items(FORM, class_of(normal))[3]
        hits += (
            one.difficulty.low <= 0 <= one.difficulty.high,
            one.discrimination.low <= skill <= one.discrimination.high,
        )
    assert (hits / 200 >= 0.88).all()
    assert (hits / 200 <= 0.99).all()


def test_a_small_class_has_no_intervals_and_an_empty_one_no_tests() -> None:
    """An interval of three students would promise what it can't keep."""
    found = items.items(FORM, class_of(np.eye(4)[:3]))
    assert all(item.difficulty.low is None for item in found)
    assert items.items(FORM, []) == []
