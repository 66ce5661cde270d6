"""Canvas's rules for a score, written down by themselves: what is refused, and what one changes.

The rules are those of Canvas's scores controller. Nothing of the tool is used here, so that both
can't be wrong in the same way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime

from tests.grading.lms.lti.stub import Answer, Stub

EXTENSION = "https://canvas.instructure.com/lti/submission"
REQUIRED = ("userId", "activityProgress", "gradingProgress", "timestamp")


@dataclass
class Submission:
    """What Canvas's gradebook has about one student and one assignment."""

    attempt: int = 0
    submitted_at: float | None = None
    score: float | None = None
    comments: list[str] = field(default_factory=list)


def moment(text: object) -> float | None:
    """Return an ISO 8601 time with its zone as seconds, None if it is none."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found.timestamp() if found.tzinfo else None


class Canvas(Stub):
    """The platform with Canvas's rules for scores.

    `submissions` is its gradebook; `results` is what its service shows of it: only those whom a
    tool gave a score. `attempts` is how many the assignment allows, None for any number. `no_such`
    are users who are no students of the course.
    """

    product = "canvas"

    def __init__(self) -> None:
        super().__init__()
        self.submissions: dict[tuple[str, str], Submission] = {}
        self.results: dict[tuple[str, str], dict] = {}
        self.attempts: int | None = None
        self.no_such: set[str] = set()
        self.clock = time.time

    def submission(self, item: str, user: str) -> Submission:
        """Return a student's submission, which Canvas makes where there is none."""
        return self.submissions.setdefault((item, user), Submission())

    def hand_in(self, item: str, user: str) -> None:
        """Have a student hand something in at Canvas itself."""
        found = self.submission(item, user)
        found.attempt, found.submitted_at = found.attempt + 1, self.clock()

    def type_in(self, item: str, user: str, score: float | None) -> None:
        """Have a teacher type a score in; a result is changed where there is one, and not made."""
        self.submission(item, user).score = score
        if (item, user) in self.results:
            self.results[item, user]["resultScore"] = score

    def refusal(self, item: str, score: dict) -> tuple[int, str] | None:
        """Return why a score is refused, None if it is not."""
        if score.get("userId") in self.no_such:
            return 422, "User not found in course or is not a student"
        absent = [name for name in REQUIRED if not score.get(name)]
        if absent:
            return 400, f"param is missing or the value is empty: {absent[0]}"
        sent, there = (
            moment(score["timestamp"]),
            self.results.get((item, score["userId"])),
        )
        if sent is None:
            return 400, "not a valid timestamp"
        if there and there["updated"] > sent:
            return 400, "Provided timestamp before last updated timestamp"
        if not self.ignores(score) and "scoreMaximum" not in score:
            return 422, "ScoreMaximum not supplied when ScoreGiven present."
        if not self.ignores(score) and float(score["scoreMaximum"]) < 0:
            return 422, "ScoreMaximum must be greater than or equal to 0"
        extension = score.get(EXTENSION) or {}
        if extension.get("submitted_at"):
            handed_in = moment(extension["submitted_at"])
            if handed_in is None:
                return 400, "Provided submitted_at timestamp not a valid timestamp"
            if handed_in > self.clock() + 60:
                return 400, "Provided submitted_at timestamp in the future"
        if extension.get("submission_type") == "online_upload" and not extension.get(
            "content_items"
        ):
            return (
                422,
                "Content items must be provided with submission type 'online_upload'",
            )
        used = self.submission(item, score["userId"]).attempt
        if self.is_new(score) and self.attempts is not None and used >= self.attempts:
            return 422, "The maximum number of allowed attempts has been reached"
        return None

    @staticmethod
    def ignores(score: dict) -> bool:
        """Tell whether a message is one without score: the score that stands is then taken away."""
        counts = score.get("gradingProgress") in ("FullyGraded", "PendingManual")
        return not counts or score.get("scoreGiven") is None

    @staticmethod
    def is_new(score: dict) -> bool:
        """Tell whether a score is handed in as homework, too: unless it says that it is not."""
        extension = score.get(EXTENSION) or {}
        return (
            extension.get("new_submission") is not False
            and extension.get("submission_type") != "none"
        )

    def score(self, item: str, score: dict) -> Answer:
        """Take a score, or say why not."""
        self.posts.append(score)
        instead = self.hook("arrived", score)
        if instead:
            return instead
        with self.lock:
            refused = self.refusal(item, score)
            if refused:
                return Answer(refused[0], body={"errors": {"message": refused[1]}})
            self.take(item, score)
        return self.hook("taken", score) or Answer(
            200, body={"resultUrl": f"{item}/results/1"}
        )

    def take(self, item: str, score: dict) -> None:
        """Do what an accepted score does."""
        user, extension = score["userId"], score.get(EXTENSION) or {}
        found = self.submission(item, user)
        if self.is_new(score):
            found.attempt += 1
            found.submitted_at = moment(extension.get("submitted_at")) or self.clock()
        if self.ignores(score):
            found.score = None
        else:
            most = float(score["scoreMaximum"])
            scale = self.line_items[item]["scoreMaximum"] / most if most else 1.0
            found.score = float(score["scoreGiven"]) * scale
        if score.get("comment"):
            found.comments.append(score["comment"])
        self.results[item, user] = {
            "userId": user,
            "resultScore": score.get("scoreGiven"),
            "resultMaximum": score.get("scoreMaximum"),
            "comment": score.get("comment"),
            "updated": moment(score["timestamp"]),
        }
        self.taken.append(score)

    def shown(self, item: str) -> list[dict]:
        """Return the results that the service shows."""
        return [result for (where, _), result in self.results.items() if where == item]
