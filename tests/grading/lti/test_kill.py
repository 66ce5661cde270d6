"""Publishing is killed at every kind of moment; afterwards each score is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from grading.lms.lti import keys, platforms
from grading.lms.lti.ledger import SENT, Ledger
from grading.lms.lti.platforms import Configuration
from grading.lms.lti.store import Store
from grading.lms.lti.visit import from_claims
from tests.grading.lti import course
from tests.grading.lti.stub import CLIENT, TEACHER, Answer, Stub

ROOT = Path(__file__).resolve().parents[3]
EXTRA = 12

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with some more students."""
    return course.make(tmp_path_factory.mktemp("big"), EXTRA)


class Run:
    """Publishes by the command line, in a process that can be killed."""

    def __init__(self, root: Path, stub: Stub, tool: Path, key_pair: keys.Keys) -> None:
        self.root, self.stub, self.folder = root, stub, tool
        configuration = Configuration("http://127.0.0.1:1", (stub.platform,))
        platforms.save(tool, configuration)
        keys.write_private(tool / keys.PRIVATE, key_pair.private.encode())
        self.store = Store(tool)
        claims = stub.claims(configuration.public_url, "t01", TEACHER)
        self.number = self.store.save_course(from_claims(claims, CLIENT))
        self.course = self.store.course(self.number)
        students = [*course.STUDENTS, *(f"x{number:03d}" for number in range(EXTRA))]
        self.store.add_links(
            self.course, {f"u-{name}": (name, "test") for name in students})
        self.process: subprocess.Popen | None = None

    def start(self) -> subprocess.Popen:
        """Start publishing."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grading.lms.lti", "publish", course.ASSIGNMENT,
             "--root", str(self.root), "--folder", str(self.folder),
             "--db", course.url(self.root)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return self.process

    def kill(self) -> None:
        """Kill it as nothing can be refused."""
        os.kill(self.process.pid, signal.SIGKILL)

    def killed_at(self, step: str, number: int) -> Callable[[str, dict], Answer | None]:
        """Return a hook that kills at the n-th step of a kind."""
        seen = Counter()

        def hook(now: str, _score: dict) -> Answer | None:
            seen[now] += 1
            if (now, seen[now]) == (step, number):
                self.kill()
            return None

        return hook


@pytest.mark.parametrize(("step", "number"), [
    ("arrived", 1), ("taken", 1), ("arrived", 7), ("taken", 7), ("taken", 14)])
def test_killed_while_sending(
    big: Path, stub: Stub, tmp_path: Path, key_pair: keys.Keys, step: str, number: int
) -> None:
    """Killed when the n-th score has arrived, or was taken: nothing is lost, nothing counts twice.

    What arrived before the kill is not taken again: it is found there, or the platform has its
    time already.
    """
    run = Run(big, stub, tmp_path / "lti", key_pair)
    stub.hook = run.killed_at(step, number)
    assert run.start().wait(120) == -signal.SIGKILL
    assert len(stub.taken) < len(expected())
    stub.hook = lambda _step, _score: None
    output, _ = run.start().communicate(timeout=120)
    assert run.process.returncode == 0, output
    taken = Counter(score["userId"] for score in stub.taken)
    assert taken == Counter(dict.fromkeys(expected(), 1)), "each score counts once"
    # At most the one message whose answer was never read went out again, word for word.
    texts = Counter(str(sorted(score.items())) for score in stub.posts)
    assert sum(texts.values()) - len(texts) <= 1
    assert_settled(run)
    posts = len(stub.posts)
    assert run.start().wait(120) == 0
    assert len(stub.posts) == posts, "a third run sends nothing"


def test_killed_at_random_moments(
    big: Path, stub: Stub, tmp_path: Path, key_pair: keys.Keys
) -> None:
    """Killed again and again, in writing and in waiting, until a run comes to its end."""
    run = Run(big, stub, tmp_path / "lti", key_pair)
    run.store.save_line_item(run.number, course.ASSIGNMENT, f"{stub.url}/line_items/0")
    stub.line_items[f"{stub.url}/line_items/0"] = {"id": f"{stub.url}/line_items/0"}
    kills = 0
    for delay in (0.0, 0.002, 0.004, 0.001, 0.006, 0.003):
        process = run.start()
        # The clock starts at the first score of this run; then the moment is anybody's guess.
        arrived = len(stub.posts)
        while process.poll() is None and len(stub.posts) == arrived:
            time.sleep(0.001)
        time.sleep(delay)
        if process.poll() is None:
            run.kill()
            kills += 1
        process.communicate(timeout=120)
    output, _ = run.start().communicate(timeout=120)
    assert run.process.returncode == 0, output
    assert kills >= 3, "the runs were too fast to be killed"
    assert Counter(score["userId"] for score in stub.taken) == Counter(expected())
    assert len(stub.posts) - len(stub.taken) <= kills
    assert_settled(run)


def expected() -> list[str]:
    """Return the users about whom something is sent."""
    return [f"u-{name}" for name in ("s01", "s02", "s03")] + [
        f"u-x{number:03d}" for number in range(EXTRA)]


def assert_settled(run: Run) -> None:
    """Check that the ledger says what the platform has."""
    (item,) = run.stub.line_items
    ledger = Ledger(run.store, run.course.issuer + " " + run.course.client_id, item)
    latest = ledger.latest()
    assert {row.state for row in latest.values()} == {SENT}
    there = {user: score["timestamp"] for (_, user), score in run.stub.scores.items()}
    assert latest.keys() == there.keys()
    assert all(there[user] in row.body for user, row in latest.items())
