"""The Score message for a student's state and points (Assignment and Grade Services).

Canvas takes a score for a new attempt at the assignment, unless its extension says otherwise: then
students are late who were not, and who has no attempts left gets no grade. And a message without a
score, about a failure say, takes away the score that stands. Other platforms ignore the extension.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from pylti1p3.grade import Grade

from grading.course.states import State
from grading.gradebook.standing import Standing

#: Canvas's extension to a score.
SUBMISSION = "https://canvas.instructure.com/lti/submission"


@dataclass(frozen=True)
class Message:
    """A score without its user and time (Assignment and Grade Services 2.0, 3.4).

    `given` is None where there is no score to give: a platform ignores the numbers of a message
    whose grading progress is not FullyGraded. `submitted_at` is when the student handed in; it goes
    along, and is no news by itself.
    """

    given: float | None
    maximum: float
    activity: str
    grading: str
    comment: str
    submitted_at: datetime | None = None

    @property
    def digest(self) -> str:
        """A fingerprint of all that the message says about the grade."""
        said = asdict(self)
        del said["submitted_at"]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def text(self, user: str, milliseconds: int, now: int) -> str:
        """Return the message as it is sent.

        Args:
            user: whom it is about.
            milliseconds: its time.
            now: the time; nothing was handed in later than that, whatever a file's clock said.

        """
        submission: dict[str, object] = {"new_submission": False}
        grade = (
            Grade()
            .set_user_id(user)
            .set_timestamp(timestamp(milliseconds))
            .set_activity_progress(self.activity)
            .set_grading_progress(self.grading)
            .set_comment(self.comment)
            .set_extra_claims({SUBMISSION: submission})
        )
        if self.submitted_at is not None:
            handed_in = int(self.submitted_at.timestamp() * 1000)
            if handed_in <= now:
                submission["submitted_at"] = timestamp(handed_in)
                grade.set_submitted_at(timestamp(handed_in))
        if self.given is not None:
            grade.set_score_given(self.given).set_score_maximum(self.maximum)
        return grade.get_value()


def timestamp(milliseconds: int) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC, with three digits of a second."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}+00:00"


def message(standing: Standing, *, missing_as_zero: bool = False) -> Message | None:
    """Return what to send about a standing, None if nothing is to be sent."""
    made = _message(standing, missing_as_zero)
    if made is None or standing.state is State.MISSING:
        return made
    return replace(made, submitted_at=standing.submitted_at)


def _message(standing: Standing, missing_as_zero: bool) -> Message | None:
    most = standing.max_points
    if standing.state is State.GRADED and standing.waiting:
        return Message(
            None,
            most,
            "Submitted",
            "PendingManual",
            "A person still has to grade a part of it.",
        )
    if standing.state is State.GRADED and standing.points is not None and most > 0:
        given = round(max(0.0, standing.points), 4)
        return Message(given, most, "Completed", "FullyGraded", _tasks(standing))
    if standing.state is State.FAILED:
        return Message(
            None,
            most,
            "Submitted",
            "Failed",
            "Could not be graded yet; this is not a zero.",
        )
    if standing.state is State.MISSING and missing_as_zero and most > 0:
        return Message(
            0.0, most, "Initialized", "FullyGraded", "Nothing was handed in."
        )
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
    parts = [
        f"{task} {points:g}/{most:g}"
        for task, (points, most) in standing.notebook_points.items()
    ]
    if standing.late_penalty:
        parts.append(f"late: -{standing.late_penalty:g}")
    return ", ".join(parts)[:1000]
