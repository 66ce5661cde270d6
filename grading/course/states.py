"""The four states of a submission, and the result of grading one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from grading.course.notebooks import SEPARATOR


class State(StrEnum):
    """What a grade is worth.

    graded: the points are the submission's.
    missing: nothing was handed in.
    failed: the grader could not grade it. There are no points: it is not a zero.
    suspect: graded, and something in it hardly happens by accident: a person must look.
    """

    GRADED = "graded"
    MISSING = "missing"
    FAILED = "failed"
    SUSPECT = "suspect"

    @property
    def has_points(self) -> bool:
        """Whether there are points to write down and to export."""
        return self in (State.GRADED, State.SUSPECT)


#: Stands for what a student is not told of a message.
HOLE = "…"
#: The line of a released answer cell; its error tells nothing but that nobody replaced it.
STUB = "Replace this line with your code."


def task_of(grade_id: str) -> str:
    """Return the task to which a cell belongs."""
    return grade_id.partition(SEPARATOR)[0]


def credit(value: object, most: float) -> float:
    """Return the points of a test that passed and ended with a number, if with one.

    Without a number (True is none), or with a negative one or NaN, they are all.

    Raises:
        ValueError: if the number is above the test's points.

    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return most
    if value > most:
        raise ValueError(f"ends with {value:g}, but gives at most {most:g}")
    return float(value)


#: The error of a test that did not run.
NOT_RUN = "NotRun: the code of this task had to be stopped before"
#: The error of a test in native code that could not be interrupted.
STUCK = (
    "Stuck: the test did not end in time, and could only be stopped with its process"
)

#: How reasons begin that say where a submission's process was ended, and which tests did not run.
ENDED, NO_TIME = "ended in", "no time was left for"


@dataclass
class Result:
    """One student's grade for one assignment.

    `points` and `messages` are by grade_id of the graded cells. Points are None where a person has
    to grade by hand. `told` is what the student may read of a message. `reasons` say why a
    submission is missing, failed or suspect, and what limits it hit; in a graded one, also words
    that are worth a look. `doubts` name tests that pass only when the submission may change the
    test's data. `notes` say how it differed from the release without harm. `unchanged` names
    solution cells that were left as released. `suspicions` are those of the reasons that make a
    submission suspect. `content` tells what was graded, `fingerprint` what was graded and by which
    tests, `draw` by which secret of the course its hidden inputs were drawn, "" for none.
    """

    student: str
    state: State
    points: dict[str, float | None] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)
    seconds: float = 0.0
    fingerprint: str = ""
    content: str = ""
    sandboxed: bool = True
    draw: str = ""

    @property
    def total(self) -> float:
        """The sum of the points."""
        return sum(points or 0.0 for points in self.points.values())

    @property
    def by_task(self) -> dict[str, float]:
        """The points summed by task: the part of a grade_id before the double dash."""
        sums: dict[str, float] = {}
        for name, points in self.points.items():
            task = task_of(name)
            sums[task] = sums.get(task, 0.0) + (points or 0.0)
        return sums

    @property
    def stops(self) -> list[str]:
        """Those of the reasons that say where the submission's process ended."""
        return [reason for reason in self.reasons if reason.startswith(ENDED)]

    def to_json(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Return the result that `to_json` wrote.

        Raises:
            ValueError: if the text is no result.

        """
        try:
            values = json.loads(text)
            values.pop("quoted", None)  # of results graded before there was `told`
            return cls(**{**values, "state": State(values["state"])})
        except (TypeError, KeyError) as error:
            raise ValueError(
                f"text: expected a result as JSON, got {text[:80]!r}"
            ) from error


def failed(student: str, reason: str, **known: object) -> Result:
    """Return the result of a submission that could not be graded; known: other fields of it."""
    return Result(student, State.FAILED, reasons=[reason], **known)
