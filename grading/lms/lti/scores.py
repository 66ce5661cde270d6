"""What is said to a platform about a student's grade, by its state."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from pylti1p3.grade import Grade

from grading.standing import Standing
from grading.states import State


@dataclass(frozen=True)
class Message:
    """A score without its user and time (Assignment and Grade Services 2.0, 3.4).

    `given` is None where there is no score to give: a platform ignores the numbers of a message
    whose grading progress is not FullyGraded.
    """

    given: float | None
    maximum: float
    activity: str
    grading: str
    comment: str

    @property
    def digest(self) -> str:
        """A fingerprint of all that the message says."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def text(self, user: str, milliseconds: int) -> str:
        """Return the message as it is sent, about a user and with a time."""
        grade = (
            Grade().set_user_id(user).set_timestamp(timestamp(milliseconds))
            .set_activity_progress(self.activity).set_grading_progress(self.grading)
            .set_comment(self.comment))
        if self.given is not None:
            grade.set_score_given(self.given).set_score_maximum(self.maximum)
        return grade.get_value()


def timestamp(milliseconds: int) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC, with three digits of a second."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}+00:00"


def message(standing: Standing, *, missing_as_zero: bool = False) -> Message | None:
    """Return what to send about a standing, None if nothing is to be sent."""
    most = standing.max_points
    if standing.state is State.GRADED and standing.waiting:
        return Message(None, most, "Submitted", "PendingManual",
                       "A person still has to grade a part of it.")
    if standing.state is State.GRADED and standing.points is not None and most > 0:
        given = round(max(0.0, standing.points), 4)
        return Message(given, most, "Completed", "FullyGraded", _tasks(standing))
    if standing.state is State.FAILED:
        return Message(None, most, "Submitted", "Failed",
                       "Could not be graded yet; this is not a zero.")
    if standing.state is State.MISSING and missing_as_zero and most > 0:
        return Message(0.0, most, "Initialized", "FullyGraded", "Nothing was handed in.")
    return None


def why_not(standing: Standing) -> str:
    """Return why nothing is sent about a standing."""
    if standing.state is State.SUSPECT:
        return "a person has to look first"
    if standing.state is State.MISSING:
        return "nothing was handed in"
    return "there are no points yet"


def _tasks(standing: Standing) -> str:
    """Return the points by task, for the comment; names and numbers, nothing a student wrote."""
    parts = [f"{task} {points:g}/{most:g}"
             for task, (points, most) in standing.notebook_points.items()]
    if standing.late_penalty:
        parts.append(f"late: -{standing.late_penalty:g}")
    return ", ".join(parts)[:1000]
