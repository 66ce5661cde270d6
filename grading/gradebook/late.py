"""The penalty for late work, as nbgrader's late-submission plugin.

nbgrader calls it for a submission whose timestamp.txt is after the assignment's due date (with
the student's extension). It is set in nbgrader_config.py:

    c.AssignLatePenalties.plugin_class = "grading.gradebook.late.LatePolicy"
    c.LatePolicy.percent_per_day = 10
    c.LatePolicy.most_percent = 50
    c.LatePolicy.grace_minutes = 15
"""

from __future__ import annotations

import math

from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Float
from traitlets.config import Config

from grading.gradebook.writer import Penalty

DAY = 24 * 60 * 60


class LatePolicy(LateSubmissionPlugin):
    """Takes off a percentage of the points that were earned, for each day that has begun."""

    percent_per_day = Float(
        0.0,
        min=0.0,
        max=100.0,
        help="Percent of the points for each day begun; 0 takes nothing.",
    ).tag(config=True)
    most_percent = Float(
        100.0, min=0.0, max=100.0, help="Percent of the points that are taken at most."
    ).tag(config=True)
    grace_minutes = Float(
        0.0, min=0.0, help="Minutes after the due date that cost nothing."
    ).tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to take off, None for none.

        Args:
            student_id: whose it is.
            score: the points of the notebook.
            total_seconds_late: seconds after the due date.

        """
        late = total_seconds_late - 60 * self.grace_minutes
        if late <= 0 or not self.percent_per_day:
            return None
        percent = min(self.percent_per_day * math.ceil(late / DAY), self.most_percent)
        return round(score * percent / 100, 2)


def penalty_of(config: Config) -> Penalty:
    """Return the penalty that a course's configuration of nbgrader sets, within its bounds.

    Raises:
        traitlets.TraitError: if the configuration names no plugin, or a value out of range.

    """
    nbgraders = AssignLatePenalties(config=config)
    nbgraders.init_plugin()

    def penalty(student: str, points: float, seconds: float) -> float:
        if seconds <= 0:
            return 0.0
        taken = (
            nbgraders.plugin_inst.late_submission_penalty(student, points, seconds)
            or 0.0
        )
        return min(max(float(taken), 0.0), max(points, 0.0))

    return penalty
