"""The policy for late work: what it takes, and that it stays within its bounds."""

from __future__ import annotations

import pytest
from traitlets import TraitError
from traitlets.config import Config

from grading.gradebook.late import DAY, LatePolicy, penalty_of


def config(
    plugin: str = "grading.gradebook.late.LatePolicy", **options: float
) -> Config:
    """Return a configuration, as nbgrader_config.py makes one."""
    made = Config()
    made.AssignLatePenalties.plugin_class = plugin
    for name, value in options.items():
        made.LatePolicy[name] = value
    return made


@pytest.mark.parametrize(
    ("seconds", "taken"),
    [
        (0, 0.0),
        (600, 0.0),
        (601, 1.0),
        (600 + DAY, 1.0),
        (601 + DAY, 2.0),
        (30 * DAY, 5.0),
    ],
)
def test_each_day_begun_after_the_grace_costs(seconds: float, taken: float) -> None:
    """A tenth of ten points a day, half of them at most, nothing in the first ten minutes."""
    penalty = penalty_of(config(percent_per_day=10, most_percent=50, grace_minutes=10))
    assert penalty("s01", 10.0, seconds) == taken


def test_nothing_is_taken_by_default() -> None:
    """Neither without a configuration nor with the policy as it is."""
    for made in (Config(), config()):
        assert penalty_of(made)("s01", 10.0, 100 * DAY) == 0.0


def test_a_penalty_is_within_the_points() -> None:
    """Also one of another plugin: nbgrader's own takes all."""
    made = config("nbgrader.plugins.LateSubmissionPlugin")
    made.LateSubmissionPlugin.penalty_method = "zero"
    assert penalty_of(made)("s01", 7.5, 1.0) == 7.5
    assert penalty_of(config(percent_per_day=100))("s01", 0.0, DAY) == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"percent_per_day": -1},
        {"percent_per_day": 101},
        {"most_percent": -5},
        {"grace_minutes": -1},
    ],
)
def test_impossible_values_are_refused(options: dict[str, float]) -> None:
    """With traitlets' own error, which names the option."""
    with pytest.raises(TraitError, match=next(iter(options))):
        penalty_of(config(**options))


def test_it_is_one_of_nbgraders_plugins() -> None:
    """nbgrader asks for None where there is no penalty."""
    policy = LatePolicy(percent_per_day=10)
    assert policy.late_submission_penalty("s01", 10.0, 0.0) is None
    assert policy.late_submission_penalty("s01", 10.0, 5.0) == 1.0
