"""Which scores leave the gradebook, and how numbers are written.

Only `graded` is a score. `failed` and `suspect` are held back with a line each; `missing` is a zero
only where that was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from grading.course.states import State
from grading.gradebook.standing import Person, Standing
from grading.lms.files.imports import Origin
from grading.lms.files.roster import Member, Roster, merge
from grading.lms.outcome import Problem, Report, Verdict

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Score:
    """What is sent for one student; `points` out of `most`."""

    member: Member
    points: Decimal
    most: Decimal

    def text(self, decimal: str = ".") -> str:
        """Return the points with two decimals."""
        return write_number(self.points, decimal)


def write_number(number: Decimal, decimal: str = ".") -> str:
    """Return a number with two decimals, rounded half up."""
    return f"{number.quantize(CENT, ROUND_HALF_UP):f}".replace(".", decimal)


def read_number(text: str) -> Decimal | None:
    """Return the number in a cell, with a point or a comma; None if it is none."""
    bare = text.strip().replace("\N{NO-BREAK SPACE}", "").replace(" ", "")
    if "," in bare and "." in bare:  # the last of them separates the decimals
        first = "," if bare.rindex(".") > bare.rindex(",") else "."
        bare = bare.replace(first, "")
    bare = bare.replace(",", ".")
    whole = bare.lstrip("-").replace(".", "", 1)
    return (
        Decimal(bare)
        if whole.isascii() and whole.isdigit() and len(bare) < 20
        else None
    )


def people(
    known: Iterable[Person], roster: Roster, record: dict[str, Origin]
) -> Roster:
    """Return all that is known about each student: from the gradebook, the roster and imports."""
    found = Roster(roster.members.values())
    for person in known:
        member = found.members.get(person.id, Member(person.id))
        found.put(
            merge(
                member,
                first_name=person.first_name,
                last_name=person.last_name,
                email=person.email,
                lms_user_id=person.lms_user_id,
                sis_user_id=person.sis_user_id,
                login=person.login,
            )
        )
    for student, origin in record.items():
        key = {"canvas": "lms_user_id", "moodle": "participant"}.get(origin.kind)
        if key and student in found.members:
            found.put(merge(found.members[student], **{key: origin.owner}))
    return found


def scores(
    standings: list[Standing],
    roster: Roster,
    report: Report,
    *,
    missing_as_zero: bool = False,
    scale_to: Decimal | None = None,
) -> list[Score]:
    """Return the scores that may be sent; the others get a line in the report.

    Args:
        standings: one assignment's, each student once.
        roster: who they are.
        report: takes a line for each student who is left out.
        missing_as_zero: send 0 for those who handed in nothing.
        scale_to: the maximum in the LMS, if it is another one than the assignment's.

    Raises:
        Problem: if the assignment has no points.

    """
    found = []
    for one in sorted(standings, key=lambda one: one.student):
        most = Decimal(str(one.max_points))
        if not most.is_finite() or most <= 0:
            raise Problem(f"{one.assignment}: expected a maximum above 0, got {most}")
        reason = "; ".join(one.reasons)
        points = one.points
        if one.state is State.MISSING:
            if not missing_as_zero:
                report.add(
                    Verdict.SKIPPED, one.student, "", "missing: nothing handed in"
                )
                continue
            points = 0.0
        elif one.state is not State.GRADED:
            report.add(
                Verdict.REFUSED, one.student, "", f"{one.state}: not a score: {reason}"
            )
            continue
        if one.waiting:
            report.add(
                Verdict.SKIPPED, one.student, "", f"not graded to the end: {reason}"
            )
            continue
        if points is None or not math.isfinite(points) or points < 0:
            report.add(
                Verdict.REFUSED, one.student, "", f"no score that can be sent: {points}"
            )
            continue
        number = Decimal(str(points))
        if scale_to is not None:
            number, most = number * scale_to / most, scale_to
        member = roster.members.get(one.student, Member(one.student))
        found.append(Score(member, number, most))
    return found


def sent(report: Report, score: Score, where: str, before: str = "") -> None:
    """Note that a score is in the file."""
    was = f", was {before}" if before and before != score.text() else ""
    report.add(Verdict.SENT, score.member.id, where, f"{score.text()}{was}")


def only(found: list[Member]) -> Member | None:
    """Return the one student in a list, None if there are none or several."""
    return found[0] if len(found) == 1 else None


def twins(keys: list[tuple[str, ...]]) -> set[int]:
    """Return the places of those that share a key with another."""
    seen: dict[str, list[int]] = {}
    for place, own in enumerate(keys):
        for key in set(own):
            seen.setdefault(key, []).append(place)
    return {place for places in seen.values() if len(places) > 1 for place in places}
