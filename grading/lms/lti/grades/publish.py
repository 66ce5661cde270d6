"""Publishes an assignment's scores to a course: a plan first, then each message by the outbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from pylti1p3.exception import LtiServiceException

from grading.gradebook.standing import Standing
from grading.lms.lti.grades.outbox import INTENDED, REFUSED, SENT, Entry, Outbox, alone
from grading.lms.lti.grades.scores import Message, message, why_not
from grading.lms.lti.protocol.client import NoAnswer
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.services import Services
from grading.lms.lti.protocol.store import Store


class Step(StrEnum):
    """What is to do about a student."""

    SEND = "send"
    AGAIN = "make sure"
    NOTHING = "nothing to do"
    KEEP = "not sent"


@dataclass(frozen=True)
class Plan:
    """What is to do about one student; `user` is the platform's id, "" if it is not known."""

    standing: Standing
    user: str
    step: Step
    why: str
    message: Message | None = None


@dataclass
class Report:
    """What came of publishing: how many of each, and a line for each that needs a person."""

    sent: int = 0
    unchanged: int = 0
    kept: int = 0
    failed: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """Whether everything that was to be sent is there."""
        return self.failed == 0

    def __str__(self) -> str:
        return (
            f"{self.sent} sent, {self.unchanged} were there already, {self.kept} not to be "
            f"sent, {self.failed} failed"
        )


#: Why a message without a score is not sent.
STANDS = "a grade may stand there, which this would take away"


def plan(
    standings: Iterable[Standing],
    users: dict[str, str],
    outbox: Outbox | None,
    *,
    missing_as_zero: bool = False,
    hidden: bool = False,
) -> list[Plan]:
    """Return what is to do about each student; nothing is sent.

    Args:
        standings: how the students stand.
        users: the platform's user ids, by student.
        outbox: what was sent, None if nothing was.
        missing_as_zero: send a zero where nothing was handed in.
        hidden: whether the platform may have grades that it shows to no tool.

    """
    latest, scored = (outbox.latest(), outbox.scored()) if outbox else ({}, set())
    plans = []
    for standing in standings:
        user = users.get(standing.student, "")
        wanted = message(standing, missing_as_zero=missing_as_zero)
        plans.append(
            _plan(standing, user, wanted, latest.get(user), hidden or user in scored)
        )
    return plans


def _plan(
    standing: Standing,
    user: str,
    wanted: Message | None,
    row: Entry | None,
    stands: bool,
) -> Plan:
    if wanted is None:
        return Plan(standing, user, Step.KEEP, why_not(standing))
    if not user:
        return Plan(standing, "", Step.KEEP, "the platform has nobody for this student")
    if wanted.given is None and stands:
        return Plan(standing, user, Step.KEEP, STANDS)
    if row is None or row.digest != wanted.digest:
        why = "new" if row is None else "changed"
        return Plan(standing, user, Step.SEND, why, wanted)
    if row.state == SENT:
        return Plan(standing, user, Step.NOTHING, "the platform has it", wanted)
    if row.state == INTENDED:
        return Plan(
            standing, user, Step.AGAIN, "it may or may not have arrived", wanted
        )
    return Plan(standing, user, Step.SEND, f"refused before: {row.detail}", wanted)


def publish(
    store: Store,
    services: Services,
    line_item: str,
    standings: Iterable[Standing],
    users: dict[str, str],
    *,
    missing_as_zero: bool = False,
    say: Callable[[Plan, str], None] = lambda _plan, _outcome: None,
) -> Report:
    """Send what is not there yet; a second call, also after a kill, does only what is left.

    Args:
        store: where the outbox is.
        services: the course's services.
        line_item: where the scores go.
        standings: how the students stand.
        users: the platform's user ids, by student.
        missing_as_zero: send a zero where nothing was handed in.
        say: is told each student's plan and what came of it.

    Raises:
        LtiError: if somebody else is publishing.

    """
    report = Report()
    with alone(store):
        course = services.course
        outbox = Outbox(
            store, f"{course.issuer} {course.client_id}", line_item, store.now
        )
        latest = outbox.latest()
        silent = ""
        for step in plan(
            standings,
            users,
            outbox,
            missing_as_zero=missing_as_zero,
            hidden=course.hides_grades,
        ):
            name = step.standing.student
            if step.step in (Step.NOTHING, Step.KEEP):
                outcome = step.why
                report.unchanged += step.step is Step.NOTHING
                report.kept += step.step is Step.KEEP
            elif silent:
                outcome = "not tried: the platform does not answer"
                report.failed += 1
            else:
                try:
                    if step.message.given is None and services.may_have_score(
                        line_item, step.user
                    ):
                        outcome = STANDS
                        report.kept += 1
                    else:
                        outcome = _send(
                            outbox, services, line_item, step, latest.get(step.user)
                        )
                        report.sent += 1
                except LtiServiceException as error:
                    outcome = f"refused: status {error.response.status_code}"
                    report.failed += 1
                    report.lines.append(f"{name}: {outcome}")
                except (NoAnswer, LtiError) as error:
                    # What is left stays for the next run: nobody is served by more waiting.
                    outcome = silent = str(error)
                    report.failed += 1
                    report.lines.append(f"{name}: {outcome}; publish again later")
            say(step, outcome)
    return report


def _send(
    outbox: Outbox, services: Services, line_item: str, step: Plan, row: Entry | None
) -> str:
    """Send one message, or make sure that it is there; returns what came of it."""
    before = step.step is Step.AGAIN
    if before and _has(services, line_item, row):
        outbox.settle(row, SENT, "found there")
        return "it had arrived"
    entry = row if before else outbox.intend(step.user, step.message)
    try:
        accepted = services.send(line_item, entry.body, maybe_there=before)
    except LtiServiceException as error:
        outbox.settle(entry, REFUSED, f"status {error.response.status_code}")
        raise
    outbox.settle(entry, SENT, "accepted" if accepted else "there already")
    return "sent" if accepted else "it had arrived"


def _has(services: Services, line_item: str, row: Entry) -> bool:
    """Tell whether the platform's result is for certain that of a message."""
    wanted = json.loads(row.body)
    if wanted.get("scoreGiven") is None:
        return False  # a message without score leaves no result to read
    found = services.result(line_item, row.user)
    if not found or found.get("resultScore") is None or not found.get("resultMaximum"):
        return False
    there = found["resultScore"] / found["resultMaximum"]
    same = abs(there - wanted["scoreGiven"] / wanted["scoreMaximum"]) < 1e-6
    return same and found.get("comment") == wanted.get("comment")
