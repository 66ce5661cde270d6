"""Calibration: a line that never falls, and is that of a kept library."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from translator.decoding.confidence import GROUPS, Calibration, group_means

POINTS = st.lists(
    st.tuples(st.integers(-80, 0).map(lambda n: n / 16), st.integers(0, 100)),
    min_size=2,
    max_size=GROUPS,
    unique_by=lambda point: point[0],
)


@settings(deadline=None)  # the first call imports
@given(POINTS)
def test_it_is_isotonic_regression(points: list[tuple[float, float]]) -> None:
    """With a sentence a group, at the sentences that were not pooled with others."""
    x, y = map(np.array, zip(*points, strict=True))
    calibration = Calibration.fit(x, y)
    expected = IsotonicRegression().fit(x, y).predict(x)
    assert sorted(set(np.round(expected, 6))) == pytest.approx(
        sorted(set(np.round(calibration.chrf, 6))), abs=1e-5
    )
    assert list(calibration.log_probability) == sorted(calibration.log_probability)


@given(POINTS, st.floats(-9, 3), st.floats(0, 3))
def test_it_never_falls(points, value: float, more: float) -> None:
    calibration = Calibration.fit(*zip(*points, strict=True))
    low, high = map(calibration.expected_chrf, (value, value + more))
    assert low <= high + 1e-9
    scores = [score for _, score in points]
    assert min(scores) - 1e-9 <= low <= max(scores) + 1e-9


def test_it_finds_what_was_put_in() -> None:
    rng = np.random.default_rng(0)
    log_p = rng.uniform(-2, 0, 5000)
    chrf = 100 + 40 * log_p + rng.normal(0, 15, 5000)
    calibration = Calibration.fit(log_p, chrf)
    for value in (-1.8, -1.0, -0.2):
        assert calibration.expected_chrf(value) == pytest.approx(
            100 + 40 * value, abs=4
        )


def test_one_sentence_is_too_few() -> None:
    with pytest.raises(ValueError, match="at least 2 sentences"):
        Calibration.fit([-1.0], [50.0])


@given(st.lists(st.floats(-5, 0), min_size=1, max_size=50), st.integers(1, 10))
def test_groups_hold_every_sentence(values: list[float], groups: int) -> None:
    rows = group_means(values, values, groups)
    assert sum(size for *_, size in rows) == len(values)
    assert np.average(
        [r[1] for r in rows], weights=[r[2] for r in rows]
    ) == pytest.approx(np.mean(values))


def test_a_record_without_it_gives_none() -> None:
    assert Calibration.from_record({}) is None
    assert Calibration.from_record({"calibration": None}) is None
