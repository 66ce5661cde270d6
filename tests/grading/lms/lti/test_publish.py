"""Publishing scores: what is sent, once, in order, and what a failing platform changes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.gradebook.writer import GradebookWriter
from grading.lms.lti.grades.outbox import INTENDED, REFUSED, SENT, Outbox, alone
from grading.lms.lti.grades.publish import Report, Step, plan, publish
from grading.lms.lti.grades.scores import message, timestamp
from grading.lms.lti.protocol import services
from grading.lms.lti.protocol.client import retry_after
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.web.results import CourseResults
from grading.lms.lti.web.teacher_pages import find_line_item
from tests.grading.lms.lti import course
from tests.grading.lms.lti.conftest import Naps
from tests.grading.lms.lti.stub import Answer, Stub

pytestmark = pytest.mark.slow

USERS = {student: f"u{student[1:]}" for student in course.STUDENTS}


class Publisher:
    """Publishes the test course to the stub."""

    def __init__(self, tool: Tool, number: int, root: Path, naps: Naps) -> None:
        self.store, self.course = tool.store, tool.store.course(number)
        self.services = services.services(tool, self.course, naps.patience)
        self.book = CourseResults(course.url(root), root / "feedback")

    def line_item(self) -> str:
        """Return the assignment's line item."""
        return find_line_item(
            self.store,
            self.course,
            self.services,
            course.ASSIGNMENT,
            self.book.standings(course.ASSIGNMENT),
        )

    def publish(self, **options: object) -> Report:
        """Publish."""
        return publish(
            self.store,
            self.services,
            self.line_item(),
            self.book.standings(course.ASSIGNMENT),
            USERS,
            **options,
        )

    def outbox(self) -> Outbox:
        """Return the assignment's outbox."""
        return Outbox(
            self.store,
            f"{self.course.issuer} {self.course.client_id}",
            self.line_item(),
        )


@pytest.fixture
def publisher(tool: Tool, visited: int, root: Path, naps: Naps) -> Publisher:
    """Publishes the test course."""
    return Publisher(tool, visited, root, naps)


def test_states_decide_what_is_sent(publisher: Publisher, stub: Stub) -> None:
    """Points for graded, `Failed` without a score for failed, nothing for suspect and missing."""
    report = publisher.publish()
    by_user = {score["userId"]: score for score in stub.taken}
    assert by_user.keys() == {"u01", "u02", "u03"}
    assert (by_user["u01"]["scoreGiven"], by_user["u01"]["scoreMaximum"]) == (7.5, 10.0)
    assert by_user["u01"]["gradingProgress"] == "FullyGraded"
    assert by_user["u01"]["comment"] == "soft-lookup 5/5, scores 2.5/5"
    assert by_user["u02"]["scoreGiven"] == 0.0, "a graded zero is a score"
    assert by_user["u03"]["gradingProgress"] == "Failed"
    assert "scoreGiven" not in by_user["u03"], "a failure must not carry a score"
    assert (report.sent, report.kept, report.failed) == (3, 2, 0)


def test_what_waits_for_a_person_is_pending(publisher: Publisher, stub: Stub) -> None:
    """No score while a cell has no points; the score once a person gave them in formgrader."""
    root = Path(publisher.book.feedback).parent
    course.grade(root, "s01", State.GRADED, (2.0, 3.0, None))
    publisher.publish()
    (pending,) = [score for score in stub.taken if score["userId"] == "u01"]
    assert (pending["gradingProgress"], pending["activityProgress"]) == (
        "PendingManual",
        "Submitted",
    )
    assert "scoreGiven" not in pending
    publisher.publish()
    assert len([score for score in stub.taken if score["userId"] == "u01"]) == 1, (
        "said once"
    )
    with GradebookWriter(course.url(root)) as book:
        grade = book.gradebook.find_grade(
            "scores--scaled", course.NOTEBOOK, course.ASSIGNMENT, "s01"
        )
        grade.manual_score, grade.needs_manual_grade = 4.0, False
        book.gradebook.db.commit()
    publisher.publish()
    last = [score for score in stub.taken if score["userId"] == "u01"][-1]
    assert (last["gradingProgress"], last["scoreGiven"]) == ("FullyGraded", 9.0)


def test_missing_only_if_asked(publisher: Publisher, stub: Stub) -> None:
    """A zero for what is missing is sent when it's asked for; suspect still is not."""
    publisher.publish(missing_as_zero=True)
    by_user = {score["userId"]: score for score in stub.taken}
    assert by_user["u05"]["scoreGiven"] == 0.0
    assert "u04" not in by_user


def test_second_time_sends_nothing(publisher: Publisher, stub: Stub) -> None:
    """What the platform has is not sent again; what changed is, with a later time."""
    publisher.publish()
    first = len(stub.posts)
    again = publisher.publish()
    assert len(stub.posts) == first
    assert (again.sent, again.unchanged) == (0, 3)
    root = Path(publisher.book.feedback).parent
    course.grade(root, "s01", State.GRADED, (2.0, 3.0, 5.0))
    publisher.publish()
    course.grade(root, "s01", State.GRADED, (2.0, 3.0, 2.5))
    publisher.publish()
    mine = [score for score in stub.taken if score["userId"] == "u01"]
    assert [score["scoreGiven"] for score in mine] == [7.5, 10.0, 7.5], (
        "going back is news, too"
    )
    times = [score["timestamp"] for score in mine]
    assert times == sorted(set(times))


def test_line_item_is_made_once(publisher: Publisher, stub: Stub) -> None:
    """One line item an assignment, also when the tool's note of it was lost."""
    first = publisher.line_item()
    with publisher.store.transaction() as connection:
        connection.execute("DELETE FROM line_items")
    assert publisher.line_item() == first
    (item,) = stub.line_items.values()
    assert (item["tag"], item["scoreMaximum"]) == (course.ASSIGNMENT, 10)


def test_a_deleted_column_is_made_again(publisher: Publisher, stub: Stub) -> None:
    """Whoever deletes it in the LMS gets a new one with all scores, and not 404 for ever."""
    publisher.publish()
    gone = publisher.line_item()
    del stub.line_items[gone]
    sent = len(stub.taken)
    assert publisher.publish().fine
    assert publisher.line_item() != gone
    assert [item for item, _ in stub.scores].count(publisher.line_item()) == 3
    assert len(stub.taken) == sent + 3
    assert len(stub.line_items) == 1


def test_a_column_that_cannot_be_asked_for_is_kept(
    publisher: Publisher, stub: Stub
) -> None:
    """A platform that errs, or shows no columns, does not get a second one."""
    known = publisher.line_item()
    ours = publisher.services
    stub.override = lambda path: Answer(403) if path.endswith("/0") else None
    with pytest.raises(LtiError, match="status 403"):
        publisher.publish()
    few = tuple(scope for scope in ours.course.scopes if "lineitem" not in scope)
    ours.course = replace(ours.course, scopes=few)
    assert publisher.line_item() == known
    assert len(stub.line_items) == 1


def test_times_grow_although_the_clock_goes_back(publisher: Publisher) -> None:
    """Each message about a user is later than the one before, by at least a millisecond."""
    outbox = publisher.outbox()
    clock = iter([1000.5, 1000.5, 900.0, 2000.0])
    outbox.now = lambda: next(clock)
    stamps = []
    for points in range(4):
        standing = Standing("s01", course.ASSIGNMENT, State.GRADED, float(points), 10.0)
        stamps.append(outbox.intend("u01", message(standing)).stamp)
    assert stamps == [1000500, 1000501, 1000502, 2000000]
    assert timestamp(1000502) == "1970-01-01T00:16:40.502+00:00"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_tries_again(publisher: Publisher, stub: Stub, naps: Naps, status: int) -> None:
    """A platform that is busy twice gets every score once, and waits grow."""
    failures = iter([Answer(status), Answer(status)])
    stub.hook = lambda step, _: next(failures, None) if step == "arrived" else None
    report = publisher.publish()
    assert report.fine
    assert len(stub.taken) == 3
    assert len(naps.slept) == 2
    assert 0.5 <= naps.slept[0] <= 1 <= naps.slept[1] <= 2


def test_waits_as_long_as_it_is_asked_to(
    publisher: Publisher, stub: Stub, naps: Naps
) -> None:
    """Retry-After is honoured, as seconds and as a date."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    failures = iter(
        [Answer(429, {"Retry-After": "17"}), Answer(503, {"Retry-After": soon})]
    )
    stub.hook = lambda step, _: next(failures, None) if step == "arrived" else None
    assert publisher.publish().fine
    assert naps.slept[0] == 17
    assert 55 <= naps.slept[1] <= 60


def test_gives_up_where_the_wait_is_too_long(publisher: Publisher, stub: Stub) -> None:
    """Asked to come back in an hour, the run ends, and the next one does what is left."""
    stub.hook = lambda step, _: (
        Answer(429, {"Retry-After": "3600"}) if step == "arrived" else None
    )
    report = publisher.publish()
    assert len(stub.posts) == 1, "nobody else's score is tried"
    assert report.failed == 3
    assert "3600 seconds" in report.lines[0]
    stub.hook = lambda _step, _score: None
    assert publisher.publish().fine
    assert len(stub.taken) == 3


def test_answer_lost_after_it_was_taken(publisher: Publisher, stub: Stub) -> None:
    """Behind an error 500 the score had been taken: the conflict that follows says so."""
    failures = iter([Answer(500)])
    stub.hook = lambda step, _: next(failures, None) if step == "taken" else None
    assert publisher.publish().fine
    assert stub.answers[409] == 1
    assert len(stub.taken) == 3
    assert {row.state for row in publisher.outbox().latest().values()} == {SENT}


def test_conflict_at_the_first_try_is_no_success(
    publisher: Publisher, stub: Stub
) -> None:
    """Somebody else's later score is in the way: that is told, not taken for ours."""
    item = publisher.line_item()
    stub.scores[item, "u01"] = {
        "timestamp": "2999-01-01T00:00:00.000+00:00",
        "scoreGiven": 1,
        "scoreMaximum": 10,
        "userId": "u01",
    }
    report = publisher.publish()
    assert (report.sent, report.failed) == (2, 1)
    assert report.lines == ["s01: refused: status 409"]
    assert publisher.outbox().latest()["u01"].state == REFUSED


def test_refusal_stops_only_its_student(publisher: Publisher, stub: Stub) -> None:
    """A user who left the course is told about; the others get their scores; later it's tried."""
    stub.hook = lambda step, score: (
        Answer(404) if (step, score["userId"]) == ("arrived", "u01") else None
    )
    report = publisher.publish()
    assert (report.sent, report.failed) == (2, 1)
    stub.hook = lambda _step, _score: None
    assert publisher.publish().sent == 1


def test_found_there_is_not_sent_again(publisher: Publisher, stub: Stub) -> None:
    """After a kill between sending and noting, the platform's result settles the row."""
    publisher.publish()
    with publisher.store.transaction() as connection:
        connection.execute("UPDATE scores SET state = 'intended'")
    sent = len(stub.posts)
    assert publisher.publish().fine
    # Only the message without a score leaves no result to find: it goes out with its own time.
    assert [score["userId"] for score in stub.posts[sent:]] == ["u03"]
    assert len(stub.taken) == 3, "nothing was changed a second time"
    assert {row.state for row in publisher.outbox().latest().values()} == {SENT}


def test_intended_and_not_arrived_is_sent(publisher: Publisher, stub: Stub) -> None:
    """After a kill between noting and sending, the very same text goes out."""
    outbox = publisher.outbox()
    standing = next(
        one
        for one in publisher.book.standings(course.ASSIGNMENT)
        if one.student == "s01"
    )
    row = outbox.intend("u01", message(standing))
    assert outbox.latest()["u01"].state == INTENDED
    steps = plan([standing], USERS, outbox)
    assert steps[0].step is Step.AGAIN
    assert publisher.publish().fine
    assert json.loads(row.body) in stub.taken


def test_only_one_publishes(publisher: Publisher, stub: Stub) -> None:
    """A second run at the same time is refused, and sends nothing."""
    with alone(publisher.store), pytest.raises(LtiError, match="right now"):
        publisher.publish()
    assert stub.posts == []
    assert publisher.publish().fine


def test_access_token_is_kept_and_renewed(publisher: Publisher, stub: Stub) -> None:
    """One token serves a run; one that the platform refuses is replaced."""
    publisher.publish()
    before = stub.tokens
    failures = iter([Answer(401)])
    stub.hook = lambda step, _: next(failures, None) if step == "arrived" else None
    course.grade(
        Path(publisher.book.feedback).parent, "s02", State.GRADED, (1.0, 1.0, 1.0)
    )
    assert publisher.publish().fine
    assert stub.tokens == before + 1


@given(st.text(max_size=40))
def test_any_retry_after_is_a_wait(value: str) -> None:
    """No header makes a wait negative, or an error."""
    assert retry_after(value, 0.0) >= 0


def test_answers_waiting_for_nobody(publisher: Publisher) -> None:
    """A student whom the platform does not know is told about, not sent."""
    standings = publisher.book.standings(course.ASSIGNMENT)
    steps = {step.standing.student: step for step in plan(standings, {}, None)}
    assert steps["s01"].step is Step.KEEP
    assert "nobody" in steps["s01"].why
