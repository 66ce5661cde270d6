"""The table at the end of a run, and advice for the teacher."""

from __future__ import annotations

from collections import Counter

from grading.course.states import State
from grading.gradebook.standing import Standing

HEADINGS = ("student", "state", "points", "late", "reason")

#: Characters of a reason in the table; `states` and grades.csv have all of it.
LONGEST = 120

UNSANDBOXED = (
    "warning: graded without a sandbox: the submissions' code could read and change "
    "what you can"
)


def duration(seconds: float) -> str:
    """Return a time in two units at most: 3 d 4 h, 25 min."""
    minutes = int(seconds // 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def late(standing: Standing) -> str:
    """Return by how much a submission was late, and what that cost; "" for nothing."""
    if not standing.late_seconds:
        return ""
    cost = f" (-{standing.late_penalty:g})" if standing.late_penalty else ""
    return duration(standing.late_seconds) + cost


def reasons(standing: Standing) -> str:
    """Return the reasons in one line."""
    return "; ".join(" ".join(reason.split()) for reason in standing.reasons)


def table(standings: list[Standing], unsandboxed: bool = False) -> str:
    """Return a class as text: a row for each student, then how many are in which state.

    Args:
        standings: in the order in which they are shown.
        unsandboxed: whether some were graded without a sandbox.

    """
    rows = [list(HEADINGS)]
    for one in standings:
        points = "-" if one.points is None else f"{one.points:g}"
        why = reasons(one)
        why = why if len(why) <= LONGEST else f"{why[:LONGEST]}…"
        rows.append([one.student, str(one.state), points, late(one), why])
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(
            text.rjust(width) if column == 2 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    count = Counter(one.state for one in standings)
    most = standings[0].max_points if standings else 0.0
    lines.append("")
    lines.append(f"of {most:g} points; " + ", ".join(f"{count[s]} {s}" for s in State))
    if count[State.SUSPECT]:
        lines.append(
            "suspect: look at the notebook, then: "
            'python -m grading clear ASSIGNMENT STUDENT --reason "..."'
        )
    if unsandboxed:
        lines.append(UNSANDBOXED)
    return "\n".join(lines)


def listing(standings: list[Standing]) -> str:
    """Return who is in which state, and why; those in doubt and without a grade first."""
    order = [State.SUSPECT, State.FAILED, State.MISSING, State.GRADED]
    ranked = sorted(standings, key=lambda one: (order.index(one.state), one.student))
    width = max((len(one.student) for one in ranked), default=0)
    return "\n".join(
        f"{one.state:<8} {one.student:<{width}}  {reasons(one)}".rstrip()
        for one in ranked
    )
