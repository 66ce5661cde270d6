"""Publishing to Canvas, by its own rules: no score is a hand-in, and no grade is taken away."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.lti.grades.outbox import INTENDED, Outbox
from grading.lms.lti.grades.publish import STANDS, Report, Step, plan, publish
from grading.lms.lti.grades.scores import message
from grading.lms.lti.protocol import services
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.platforms import Configuration
from grading.lms.lti.protocol.services import Services
from grading.lms.lti.protocol.visit import from_claims
from tests.grading.lms.lti import course
from tests.grading.lms.lti.canvas import EXTENSION, Canvas
from tests.grading.lms.lti.conftest import Naps
from tests.grading.lms.lti.stub import CLIENT, TEACHER, Answer, Stub

pytestmark = pytest.mark.slow

USER = "u01"


@pytest.fixture
def stub() -> Iterator[Canvas]:
    """The platform."""
    platform = Canvas()
    yield platform
    platform.close()


class Class:
    """One student's way through an assignment, published to a platform."""

    def __init__(self, tool: Tool, stub: Stub, offered: Services) -> None:
        self.tool, self.stub, self.services = tool, stub, offered
        self.most = 10.0
        self.line_item = f"{stub.url}/line_items/{len(stub.line_items)}"
        stub.line_items[self.line_item] = {"id": self.line_item, "scoreMaximum": 20}

    def publish(
        self,
        state: State,
        points: float | None = None,
        *,
        zero: bool = False,
        **values: object,
    ) -> Report:
        """Publish how the student stands."""
        standing = Standing(
            "s01", course.ASSIGNMENT, state, points, self.most, **values
        )
        return publish(
            self.tool.store,
            self.services,
            self.line_item,
            [standing],
            {"s01": USER},
            missing_as_zero=zero,
        )

    def outbox(self) -> Outbox:
        """Return the assignment's outbox."""
        one = self.services.course
        return Outbox(self.tool.store, f"{one.issuer} {one.client_id}", self.line_item)


@pytest.fixture
def entered(tool: Tool, visited: int, stub: Stub, naps: Naps) -> Services:
    """The services of a course that a teacher came from."""
    return services.services(tool, tool.store.course(visited), naps.patience)


@pytest.fixture
def one(tool: Tool, stub: Stub, entered: Services) -> Class:
    """One student."""
    return Class(tool, stub, entered)


SCORE = {
    "userId": USER,
    "activityProgress": "Completed",
    "gradingProgress": "FullyGraded",
    "timestamp": "2026-01-02T03:04:05.678+00:00",
    "scoreGiven": 5,
    "scoreMaximum": 10,
}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 200),
        ({"userId": ""}, 400),
        ({"timestamp": None}, 400),
        ({"timestamp": "soon"}, 400),
        ({"timestamp": "2026-01-02T03:04:05"}, 400),
        ({"activityProgress": None}, 400),
        ({"gradingProgress": None}, 400),
        ({"scoreMaximum": None}, 422),
        ({"scoreMaximum": -1}, 422),
        ({"timestamp": "2026-01-01T00:00:00+00:00"}, 400),
        ({"userId": "nobody"}, 422),
        ({"scoreGiven": None, "scoreMaximum": None}, 200),
        ({"gradingProgress": "Failed", "scoreMaximum": None}, 200),
        ({EXTENSION: {"submitted_at": "yesterday"}}, 400),
        ({EXTENSION: {"submitted_at": "2999-01-01T00:00:00+00:00"}}, 400),
        (
            {EXTENSION: {"submission_type": "online_upload", "new_submission": False}},
            422,
        ),
    ],
)
def test_the_rules_refuse(stub: Canvas, changes: dict, status: int) -> None:
    """The oracle says no where Canvas does."""
    item = f"{stub.url}/line_items/0"
    stub.line_items[item] = {"scoreMaximum": 10}
    stub.no_such.add("nobody")
    assert stub.score(item, SCORE).status == 200
    before = (stub.submission(item, USER).attempt, len(stub.taken))
    sent = {
        key: value for key, value in {**SCORE, **changes}.items() if value is not None
    }
    assert stub.score(item, sent).status == status
    assert (status == 200) is (
        (stub.submission(item, USER).attempt, len(stub.taken)) != before
    )


@pytest.mark.parametrize(
    ("changes", "attempts", "score"),
    [
        ({}, 1, 5.0),
        ({EXTENSION: {"new_submission": False}}, 0, 5.0),
        ({EXTENSION: {"submission_type": "none"}}, 0, 5.0),
        ({EXTENSION: {}}, 1, 5.0),
        ({"gradingProgress": "PendingManual"}, 1, 5.0),
        ({"gradingProgress": "Pending"}, 1, None),
        ({"gradingProgress": "Failed"}, 1, None),
        ({"gradingProgress": "NotReady"}, 1, None),
        ({"gradingProgress": "PendingManual", "scoreGiven": None}, 1, None),
    ],
)
def test_the_rules_change(
    stub: Canvas, changes: dict, attempts: int, score: float | None
) -> None:
    """What a score does to attempts, and to the score that stands."""
    item = f"{stub.url}/line_items/0"
    stub.line_items[item] = {"scoreMaximum": 10}
    stub.type_in(item, USER, 9.0)
    sent = {
        key: value for key, value in {**SCORE, **changes}.items() if value is not None
    }
    assert stub.score(item, sent).status == 200
    found = stub.submission(item, USER)
    assert (found.attempt, found.score) == (attempts, score)


def test_a_score_is_no_submission(one: Class, stub: Canvas) -> None:
    """Students who used up their attempts get their grade, and nobody becomes late."""
    stub.hand_in(one.line_item, USER)
    handed_in = stub.submission(one.line_item, USER).submitted_at
    stub.attempts = 1
    for points in (5.0, 7.5):
        assert one.publish(State.GRADED, points).fine
    found = stub.submission(one.line_item, USER)
    assert (found.attempt, found.submitted_at, found.score) == (1, handed_in, 15.0)


def test_hand_in_time_is_the_students(one: Class, stub: Canvas) -> None:
    """Where the gradebook knows when a notebook came, the score says so; it is no news by itself.

    A time from the future is not believed: Canvas would refuse the score for it.
    """
    early = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    assert one.publish(State.GRADED, 5.0, submitted_at=early).fine
    sent = stub.taken[-1]
    assert sent[EXTENSION] == {
        "new_submission": False,
        "submitted_at": "2026-01-02T03:04:05.678+00:00",
    }
    assert sent["submission"] == {"submittedAt": "2026-01-02T03:04:05.678+00:00"}
    later = datetime.now(UTC) + timedelta(hours=1)
    assert one.publish(State.GRADED, 5.0, submitted_at=later).unchanged == 1
    assert one.publish(State.GRADED, 6.0, submitted_at=later).fine
    assert stub.taken[-1][EXTENSION] == {"new_submission": False}
    assert "submission" not in stub.taken[-1]
    one.publish(State.MISSING, zero=True, submitted_at=early)
    assert stub.taken[-1][EXTENSION] == {"new_submission": False}


def test_hand_in_time_where_the_clock_went_back(one: Class, stub: Canvas) -> None:
    """A message's time may run ahead of the clock; what is handed in may not."""
    outbox = one.outbox()
    outbox.now = lambda: time.time() + 7200
    outbox.intend(USER, message(Standing("s01", "a", State.GRADED, 1.0, 10.0)))
    soon = datetime.now(UTC) + timedelta(seconds=3600)
    assert one.publish(State.GRADED, 2.0, submitted_at=soon).fine
    assert "submitted_at" not in stub.taken[-1][EXTENSION]


def test_refused_hand_in_time_is_not_taken_for_a_conflict(
    one: Class, stub: Canvas
) -> None:
    """Canvas's complaint about one time does not say that it has the score."""
    answers = iter(
        [Answer(500), Answer(400, body="Provided submitted_at timestamp in the future")]
    )
    stub.hook = lambda step, _: next(answers, None) if step == "arrived" else None
    assert one.publish(State.GRADED, 5.0).failed == 1
    assert one.publish(State.GRADED, 5.0).sent == 1


FAILURES = [
    (State.FAILED, {}),
    (State.GRADED, {"points": 1.0, "waiting": 1}),
    (State.SUSPECT, {}),
]


@pytest.mark.parametrize(("state", "values"), FAILURES, ids=str)
def test_a_failure_takes_no_grade_away(
    one: Class, stub: Canvas, state: State, values: dict
) -> None:
    """Ours, sent before; or a teacher's, which Canvas shows to no tool."""
    one.publish(State.GRADED, 7.5)
    (step,) = plan(
        [
            Standing(
                "s01",
                "a",
                state,
                values.get("points"),
                10.0,
                waiting=values.get("waiting", 0),
            )
        ],
        {"s01": USER},
        None,
        hidden=one.services.course.hides_grades,
    )
    assert step.step is Step.KEEP, "said before"
    report = one.publish(state, **values)
    assert (report.kept, report.sent, report.failed) == (1, 0, 0)
    assert stub.submission(one.line_item, USER).score == 15.0
    other = Class(one.tool, stub, one.services)
    stub.type_in(other.line_item, USER, 3.0)
    assert other.publish(state, **values).kept == 1
    assert stub.submission(other.line_item, USER).score == 3.0
    # The grade that comes after all is sent as ever.
    assert one.publish(State.GRADED, 8.0).sent == 1


STEPS = st.one_of(
    st.tuples(st.just("graded"), st.integers(0, 20)),
    st.tuples(
        st.sampled_from(
            [
                "failed",
                "suspect",
                "waiting",
                "missing",
                "zero",
                "hand in",
                "retry",
                "clock",
            ]
        ),
        st.just(0),
    ),
    st.tuples(st.just("type in"), st.integers(0, 20)),
)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEPS, max_size=8), allowed=st.sampled_from([None, 0, 1]))
def test_whatever_happens(
    tool: Tool, stub: Canvas, entered: Services, steps: list, allowed: int | None
) -> None:
    """Attempts are the student's own, a grade stays until a newer one, nothing is refused."""
    student, stub.attempts = Class(tool, stub, entered), allowed
    item, hand_ins, expected = student.line_item, 0, None
    begin = {status: count for status, count in stub.answers.items() if status >= 400}
    for kind, number in steps:
        before = len(stub.taken)
        if kind == "hand in":
            stub.hand_in(item, USER)
            hand_ins += 1
        elif kind == "type in":
            stub.type_in(item, USER, float(number))
            expected = float(number)
        elif kind == "retry":  # killed before the answer was noted
            with tool.store.transaction() as connection:
                connection.execute("UPDATE scores SET state = ?", (INTENDED,))
        elif kind == "clock":
            tool.store.now = lambda: time.time() - 3600
        elif kind == "waiting":
            student.publish(State.GRADED, 1.0, waiting=1)
        elif kind == "graded":
            student.publish(State.GRADED, number / 2, submitted_at=datetime.now(UTC))
        else:
            student.publish(
                State.MISSING if kind == "zero" else State(kind), zero=kind == "zero"
            )
        if len(stub.taken) > before:
            expected = stub.taken[-1]["scoreGiven"] * 2
        found = stub.submission(item, USER)
        assert (found.attempt, found.score) == (hand_ins, expected)
    tool.store.now = time.time
    assert {
        status: count for status, count in stub.answers.items() if status >= 400
    } == begin


class Plain(Stub):
    """A platform that is not Canvas, and takes a score away as Canvas does."""


@pytest.fixture
def plain(tool: Tool, naps: Naps) -> Iterator[Class]:
    """One student on another platform."""
    platform = Plain()
    tool.configuration = Configuration(tool.public_url, (platform.platform,))
    platform.set_up(tool.store)
    number = tool.store.enter(
        from_claims(platform.claims(tool.public_url, "t01", TEACHER), CLIENT)
    )
    yield Class(
        tool,
        platform,
        services.services(tool, tool.store.course(number), naps.patience),
    )
    platform.close()


def test_elsewhere_a_failure_is_told_where_nothing_stands(plain: Class) -> None:
    """Told once; not over a grade of ours, nor over one that somebody else gave."""
    assert plain.publish(State.FAILED).sent == 1
    assert plain.stub.taken[-1]["gradingProgress"] == "Failed"
    assert plain.publish(State.FAILED).unchanged == 1
    assert plain.publish(State.GRADED, 5.0).sent == 1
    plain.stub.shown = (
        lambda _item: []
    )  # what we sent counts, also where no result shows it
    assert plain.publish(State.FAILED).kept == 1
    del plain.stub.shown
    other = Class(plain.tool, plain.stub, plain.services)
    plain.stub.scores[other.line_item, USER] = {
        "userId": USER,
        "scoreGiven": 3,
        "scoreMaximum": 10,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    said = []
    publish(
        other.tool.store,
        other.services,
        other.line_item,
        [Standing("s01", "a", State.FAILED, None, 10.0)],
        {"s01": USER},
        say=lambda _step, outcome: said.append(outcome),
    )
    assert said == [STANDS]


def test_elsewhere_what_can_not_be_read_may_stand(plain: Class) -> None:
    """No right to read results, or no answer: then no failure is told, and the rest is sent."""
    plain.stub.hook = lambda _step, _score: None
    ordinary = plain.stub.answer
    plain.stub.answer = lambda *request: (
        Answer(403) if request[1].endswith("/results") else ordinary(*request)
    )
    standings = [
        Standing("s01", "a", State.FAILED, None, 10.0),
        Standing("s02", "a", State.GRADED, 5.0, 10.0),
    ]
    report = publish(
        plain.tool.store,
        plain.services,
        plain.line_item,
        standings,
        {"s01": "u01", "s02": "u02"},
    )
    assert (report.kept, report.sent, report.failed) == (1, 1, 0)
    with plain.tool.store.transaction() as connection:
        connection.execute(
            "UPDATE courses SET scopes = ?",
            (
                json.dumps(
                    [
                        scope
                        for scope in plain.services.course.scopes
                        if "result" not in scope
                    ]
                ),
            ),
        )
    blind = services.services(plain.tool, plain.tool.store.courses()[-1])
    assert blind.may_have_score(plain.line_item, USER)
    assert len(plain.stub.posts) == 1


def test_platform_is_unknown_before_its_first_launch(plain: Class) -> None:
    """A course that was set up and not yet opened may be Canvas's."""
    with plain.tool.store.transaction() as connection:
        connection.execute("UPDATE courses SET product = '?'")
    unopened = services.services(plain.tool, plain.tool.store.courses()[-1])
    assert Class(plain.tool, plain.stub, unopened).publish(State.FAILED).kept == 1


def test_platform_stays_canvas(tool: Tool, visited: int, stub: Canvas) -> None:
    """A launch that does not say what the platform is makes no other of it."""
    stub.product = ""
    tool.store.enter(from_claims(stub.claims(tool.public_url), CLIENT))
    assert tool.store.course(visited).hides_grades


def test_hand_in_times_do_not_send_again_what_was_sent_before(one: Class) -> None:
    """The fingerprint of a grade is what it was before hand-in times went along."""
    standing = Standing("s01", "a", State.GRADED, 5.0, 10.0)
    timed = Standing(
        "s01", "a", State.GRADED, 5.0, 10.0, submitted_at=datetime.now(UTC)
    )
    assert (
        message(standing).digest
        == message(timed).digest
        == ("6049a347860b085e6db7508ccb842d2704bc92c7de58a72129e528902652b6e5")
    )
