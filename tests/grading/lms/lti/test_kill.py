"""Publishing is killed at every kind of moment; afterwards each score is there once."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable

import pytest

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.lti.grades.outbox import SENT, Outbox
from grading.lms.lti.grades.publish import publish
from grading.lms.lti.protocol import services
from grading.lms.lti.protocol.launch import Tool
from tests.grading.lms.lti import course
from tests.grading.lms.lti.stub import Answer, Stub

pytestmark = pytest.mark.slow

#: How the students stand: two kinds of message are among them.
STANDINGS = [
    Standing(f"s{number:02d}", course.ASSIGNMENT, State.FAILED, None, 10.0)
    if number % 5 == 4
    else Standing(
        f"s{number:02d}", course.ASSIGNMENT, State.GRADED, float(number % 7), 10.0
    )
    for number in range(15)
]
USERS = {standing.student: f"u-{standing.student}" for standing in STANDINGS}


class Run:
    """Publishes in a process of its own, which can be killed as nothing can refuse."""

    def __init__(self, tool: Tool, number: int, stub: Stub) -> None:
        self.tool, self.stub = tool, stub
        self.course = tool.store.course(number)
        self.line_item = f"{stub.url}/line_items/0"
        stub.line_items[self.line_item] = {"id": self.line_item}
        self.process = 0

    def start(self) -> None:
        """Start publishing."""
        self.process = os.fork()
        if self.process:
            return
        code = 3
        try:
            code = 0 if self._publish() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _publish(self) -> bool:
        """Publish, in the process of its own."""
        offered = services.services(self.tool, self.course)
        return publish(self.tool.store, offered, self.line_item, STANDINGS, USERS).fine

    def kill(self) -> None:
        """Kill it."""
        os.kill(self.process, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end, and return its status: that of a kill is negative."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def running(self) -> bool:
        """Tell whether it still runs."""
        info = os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return info is None

    def killed_at(self, step: str, number: int) -> Callable[[str, dict], Answer | None]:
        """Return a hook that kills at the n-th step of a kind."""
        seen = Counter()

        def hook(now: str, _score: dict) -> Answer | None:
            seen[now] += 1
            if (now, seen[now]) == (step, number):
                self.kill()
            return None

        return hook

    def assert_settled(self) -> None:
        """Check that each score was taken once, and that the outbox says what the platform has."""
        taken = Counter(score["userId"] for score in self.stub.taken)
        assert taken == Counter(USERS.values()), "each score counts once"
        outbox = Outbox(
            self.tool.store,
            f"{self.course.issuer} {self.course.client_id}",
            self.line_item,
        )
        latest = outbox.latest()
        assert {row.state for row in latest.values()} == {SENT}
        there = {
            user: score["timestamp"] for (_, user), score in self.stub.scores.items()
        }
        assert latest.keys() == there.keys()
        assert all(there[user] in row.body for user, row in latest.items())


@pytest.fixture
def run(tool: Tool, visited: int, stub: Stub) -> Run:
    """Publishes the standings above."""
    return Run(tool, visited, stub)


@pytest.mark.parametrize("step", ["arrived", "taken"])
@pytest.mark.parametrize("number", [1, 5, 7, 14])
def test_killed_while_sending(run: Run, stub: Stub, step: str, number: int) -> None:
    """Killed when the n-th score has arrived, or was taken: nothing is lost, nothing counts twice.

    The one whose answer was never read is found in the platform's results. Where the message has
    no score (the fifth), there is nothing to find: it goes out again, word for word, and the
    platform says that it has it.
    """
    stub.hook = run.killed_at(step, number)
    run.start()
    assert run.wait() == -signal.SIGKILL
    assert len(stub.posts) < len(STANDINGS)
    stub.hook = lambda _step, _score: None
    run.start()
    assert run.wait() == 0
    run.assert_settled()
    again = Counter(str(sorted(score.items())) for score in stub.posts)
    assert sum(again.values()) - len(again) == (1 if number == 5 else 0)
    posts = len(stub.posts)
    run.start()
    assert run.wait() == 0
    assert len(stub.posts) == posts, "a third run sends nothing"


def test_killed_at_random_moments(run: Run, stub: Stub) -> None:
    """Killed again and again, in writing and in waiting, until a run comes to its end."""
    kills = 0
    for delay in (0.0, 0.002, 0.0005, 0.004, 0.001, 0.006, 0.003, 0.008):
        arrived = len(stub.posts)
        run.start()
        # The clock starts at the first score of this run; then the moment is anybody's guess.
        while run.running() and len(stub.posts) == arrived:
            time.sleep(0.0005)
        time.sleep(delay)
        if run.running():
            run.kill()
            kills += 1
        run.wait()
    run.start()
    assert run.wait() == 0
    assert kills >= 1, "no run could be killed"
    run.assert_settled()
    assert len(stub.posts) - len(stub.taken) <= kills


def test_killed_before_anything_was_sent(run: Run, stub: Stub) -> None:
    """Killed between writing the intention and sending: the same text goes out later."""
    ordinary = stub.answer

    def at_the_token(*request: object) -> Answer:
        if request[1] == "/token":
            run.kill()
        return ordinary(*request)

    stub.answer = at_the_token
    run.start()
    assert run.wait() == -signal.SIGKILL
    stub.answer = ordinary
    outbox = Outbox(
        run.tool.store, f"{run.course.issuer} {run.course.client_id}", run.line_item
    )
    (row,) = outbox.latest().values()
    assert stub.posts == []
    run.start()
    assert run.wait() == 0
    run.assert_settled()
    assert outbox.latest()[row.user].body == row.body
