"""The tool with a real platform, Open edX's own LTI code, in a real browser."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
import requests

from grading.course.states import State
from tests.grading.lms.lti import course
from tests.grading.lms.lti.platform import environment
from tests.grading.lms.lti.platform.serve import COURSE, OTHER, TASK

ROOT = Path(__file__).resolve().parents[4]
SERVE = environment.HERE / "serve.py"

pytestmark = pytest.mark.slow


@dataclass
class World:
    """A platform, the tool, and the course behind it."""

    platform: str
    tool: str
    root: Path
    log: Path
    registered: str

    def state(self) -> dict:
        """Return what the platform holds."""
        return requests.get(f"{self.platform}/state", timeout=30).json()

    def course(self, user: int, link: str = "") -> str:
        """Return the platform's page for a user, with the tool in a frame."""
        return f"{self.platform}/course?user={user}" + (
            f"&link={requests.utils.quote(link)}" if link else ""
        )


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def tool_command(root: Path, command: str, *options: str) -> list[str]:
    """Return one of the tool's commands for a course."""
    return [
        sys.executable,
        "-m",
        "grading.lms.lti",
        command,
        "--root",
        str(root),
        *options,
    ]


def wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            requests.get(url, timeout=5)
            return
        except requests.ConnectionError:
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[World]:
    """The platform and the tool, registered with each other by the tool's own commands."""
    folder = tmp_path_factory.mktemp("world")
    root = Path(shutil.copytree(prepared, folder / "course"))
    platform_url, tool_url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    started = []
    try:
        log = folder / "platform.log"
        with log.open("w") as errors:
            platform = subprocess.Popen(
                [
                    str(environment.python()),
                    str(SERVE),
                    "--port",
                    platform_url.rsplit(":")[-1],
                    "--folder",
                    str(folder),
                    "--tool",
                    tool_url,
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        started.append(platform)
        line = platform.stdout.readline()
        assert line, log.read_text()
        facts = json.loads(line)
        wait_for(f"{platform_url}/state", platform, log)
        first = subprocess.run(
            tool_command(root, "register", "--public-url", tool_url),
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        assert f"{tool_url}/jwks.json" in first.stdout
        options = [
            part
            for name, value in facts.items()
            for part in (f"--{name.replace('_', '-')}", value)
        ]
        second = subprocess.run(
            tool_command(root, "register", *options),
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        subprocess.run(
            tool_command(root, "course", "--add", COURSE),
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        tool_log = folder / "tool.log"
        with tool_log.open("w") as output:
            tool = subprocess.Popen(
                tool_command(
                    root,
                    "serve",
                    "--port",
                    tool_url.rsplit(":")[-1],
                    "--db",
                    course.url(root),
                ),
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        started.append(tool)
        wait_for(f"{tool_url}/health", tool, tool_log)
        yield World(
            platform_url, tool_url, root, tool_log, first.stdout + second.stdout
        )
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


@pytest.fixture
def visit(browser: object, world: World) -> Iterator[Callable[..., tuple]]:
    """A function that opens the platform's page as a user; returns the page and the frame."""
    contexts = []

    def opened(user: int, link: str = "") -> tuple:
        context = browser.new_context()
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(world.course(user, link))
        frame = page.frame_locator("iframe[title=Tool]")
        frame.locator("h1").wait_for()
        return page, frame

    yield opened
    for context in contexts:
        context.close()


def published(frame: object) -> str:
    """Press the button, and return what came of it."""
    for old in frame.get_by_role("status").all():
        old.evaluate("node => node.remove()")  # what the page says of the time before
    frame.get_by_role("button", name=re.compile("^Publish")).click()
    done = frame.get_by_role("status").filter(
        has_text=re.compile("failed|Nothing more")
    )
    done.wait_for()
    return done.inner_text()


def test_registration_tells_and_keeps_secrets(world: World) -> None:
    """The commands print what the platform needs; the private key stays in its file."""
    for part in ("/login", "/launch", "/jwks.json"):
        assert f"{world.tool}{part}" in world.registered
    folder = world.root / "lti"
    key = folder / "private-key.pem"
    for file in (key, folder / "platforms.json", folder / "lti.db"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = key.read_text().splitlines()[1]
    assert secret not in world.registered + world.log.read_text()
    assert "PRIVATE" not in world.registered + world.log.read_text()


def test_teacher_launches_matches_and_publishes(world: World, visit: Callable) -> None:
    """From the platform's page through login, roster and button to the platform's results."""
    _, frame = visit(1)
    assert frame.locator("h1").inner_text() == "Assignments"
    assert "Attention, 2026" in frame.locator("header").inner_text()
    frame.get_by_role("link", name="Roster", exact=True).click()
    frame.get_by_role("button", name=re.compile("Fetch")).click()
    frame.get_by_text("the e-mail address").first.wait_for()
    table = frame.locator("table").inner_text()
    assert "Ada Müller" in table
    assert "O'Brien <b>" in table
    values = [box.input_value() for box in frame.get_by_label("Student id").all()]
    assert sorted(values) == ["s01", "s02", "s03"]
    frame.get_by_role("link", name="Assignments").click()
    frame.get_by_role("link", name=course.ASSIGNMENT).click()
    assert "3 sent, 0 were there already, 2 not to be sent, 0 failed" in published(
        frame
    )
    state = world.state()
    assert [item["tag"] for item in state["line_items"]].count(course.ASSIGNMENT) == 1
    scores = {score["user"]: score for score in state["scores"]}
    assert scores.keys() == {"user-s01", "user-s02", "user-s03"}
    assert (scores["user-s01"]["given"], scores["user-s01"]["maximum"]) == (7.5, 10.0)
    assert scores["user-s02"]["given"] == 0.0
    assert scores["user-s03"]["progress"] == "Failed"
    assert scores["user-s03"]["given"] is None
    # The platform has each message's time as it was sent, to the thousandth of a second.
    with sqlite3.connect(world.root / "lti" / "lti.db") as connection:
        sent = dict(connection.execute("SELECT user, stamp FROM scores"))
    kept = {
        user: round(datetime.fromisoformat(score["timestamp"]).timestamp() * 1000)
        for user, score in scores.items()
    }
    assert kept == sent
    assert "0 sent, 3 were there already" in published(frame)
    assert world.state()["scores"] == state["scores"], "the second time changes nothing"


def test_result_is_read_back_after_a_kill(world: World) -> None:
    """A row whose outcome is unknown is settled by the platform's own result."""
    before = world.state()["scores"]
    with sqlite3.connect(world.root / "lti" / "lti.db") as connection:
        connection.execute("UPDATE scores SET state = 'intended'")
    done = subprocess.run(
        tool_command(
            world.root,
            "publish",
            course.ASSIGNMENT,
            "--db",
            course.url(world.root),
            "--course",
            "1",
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "s01  graded 7.5/10  it had arrived" in done.stdout
    # The failed one has no result; sent again with its own time, the platform says it has it.
    assert "s03  failed  it had arrived" in done.stdout
    assert world.state()["scores"] == before


def test_dry_run_sends_nothing(world: World) -> None:
    """The command line says what it would do."""
    before = world.state()["scores"]
    done = subprocess.run(
        tool_command(
            world.root,
            "publish",
            course.ASSIGNMENT,
            "--db",
            course.url(world.root),
            "--course",
            "1",
            "--dry-run",
            "--missing-as-zero",
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "s01  graded 7.5/10  nothing to do" in done.stdout
    assert "s04  suspect" in done.stdout
    assert world.state()["scores"] == before


def test_link_with_a_column_of_its_own(world: World, visit: Callable) -> None:
    """A link whose custom parameter names an assignment uses the column that the platform made."""
    _, frame = visit(1, TASK)
    assert frame.locator("h1").inner_text() == course.ASSIGNMENT
    # The same course: the tool now writes into the link's own column.
    assert "0 failed" in published(frame)
    grades = {grade["user"]: grade["score"] for grade in world.state()["grades"]}
    assert grades == {"user-s01": 7.5, "user-s02": 0.0}, "the platform's own gradebook"


def test_student_sees_the_own_feedback(world: World, visit: Callable) -> None:
    """A student reads the own page, without script; another's stays shut."""
    page, frame = visit(2)
    assert frame.locator("h1").inner_text() == "Your results"
    assert "7.5 / 10" in frame.locator("table").inner_text()
    with page.expect_response(re.compile("/feedback/")) as answer:
        frame.get_by_role("link", name=f"{course.NOTEBOOK}.html").click()
    assert answer.value.headers["content-security-policy"].startswith("sandbox;")
    assert "feedback of s01" in frame.locator("body").inner_text()
    inner = next(one for one in page.frames if "/feedback/" in one.url)
    assert inner.title() != "run", "a script of the feedback page ran"
    own = inner.url
    # What follows goes by addresses that no page shows; the cookies are the student's.
    for path, status in (
        (own.replace("/s01/", "/s02/"), 404),
        (f"{world.tool}/roster", 403),
        (f"{world.tool}/assignments/{course.ASSIGNMENT}", 403),
    ):
        answer = page.request.get(path)
        assert answer.status == status
        assert "This is not possible" in answer.text()
    assert page.request.get(own).status == 200


def test_another_course_of_the_platform(
    world: World, visit: Callable, tmp_path: Path
) -> None:
    """Its teacher and its students are refused; set up as the page says, it has its own grades."""
    before = world.state()
    _, frame = visit(2, OTHER)
    assert frame.locator("h1").inner_text() == "This is not possible"
    page, frame = visit(1, OTHER)
    told = frame.locator("main").inner_text()
    assert page.request.get(f"{world.tool}/roster").status == 401
    command = shlex.split(re.search(r"python -m grading lms (course \S+ \S+)", told)[1])
    second = Path(shutil.copytree(world.root, tmp_path / "second"))
    course.grade(second, "s01", State.GRADED, (1.0, 0.0, 0.0))
    subprocess.run(
        tool_command(world.root, *command, "--grades-of", str(second)),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    _, frame = visit(1, OTHER)
    assert "Biology, 2026" in frame.locator("header").inner_text()
    frame.get_by_role("link", name="Roster", exact=True).click()
    assert frame.get_by_label("Student id").all() == []
    frame.get_by_role("button", name=re.compile("Fetch")).click()
    frame.get_by_text("the e-mail address").first.wait_for()
    frame.get_by_role("link", name="Assignments").click()
    frame.get_by_role("link", name=course.ASSIGNMENT).click()
    assert "0 failed" in published(frame)
    after = world.state()["scores"]
    assert after[: len(before["scores"])] == before["scores"], (
        "the first course's stay as they are"
    )
    assert [score["given"] for score in after if score not in before["scores"]] == [
        1.0,
        0.0,
        None,
    ]
    _, frame = visit(2)
    assert "7.5 / 10" in frame.locator("table").inner_text()
    _, frame = visit(2, OTHER)
    assert "1 / 10" in frame.locator("table").inner_text()


def test_replay_in_the_browser_is_refused(world: World, visit: Callable) -> None:
    """The platform's own message, posted a second time by the same browser, opens nothing."""
    page, _ = visit(1)
    sent = []
    page.on(
        "request",
        lambda request: (
            sent.append(request.post_data)
            if request.url == f"{world.tool}/launch"
            else None
        ),
    )
    page.reload()
    page.frame_locator("iframe[title=Tool]").locator("h1").wait_for()
    assert sent
    answer = page.request.post(
        f"{world.tool}/launch",
        data=sent[0],
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status == 403
    assert "This is not possible" in answer.text()


def test_other_site_can_not_publish(world: World, visit: Callable) -> None:
    """A form on another page, sent by a teacher's own browser, changes nothing."""
    page, _ = visit(1)
    before = world.state()["scores"]
    other = page.context.new_page()
    # The platform's page stands for any other page here: the same browser, the teacher's cookies.
    other.goto(f"{world.platform}/state")
    with other.expect_response(re.compile("/publish$")) as answer:
        other.evaluate(
            """(url) => {
            const form = document.createElement('form');
            form.method = 'post'; form.action = url;
            document.body.append(form); form.submit();
        }""",
            f"{world.tool}/assignments/{course.ASSIGNMENT}/publish",
        )
    assert answer.value.status == 403
    assert world.state()["scores"] == before


def test_log_has_no_secrets(world: World) -> None:
    """After all of it: refusals are in the log, and no token, hint or query."""
    log = world.log.read_text()
    assert "refused" in log
    assert "eyJ" not in log
    assert "login_hint" not in log
    assert "id_token" not in log
    assert not re.search(r"state-[0-9a-f]{8}", log)


def test_the_environment_is_its_own() -> None:
    """The platform's packages are nowhere in the course's environment."""
    assert os.path.commonpath([sys.prefix, environment.folder()]) != sys.prefix
    with pytest.raises(ModuleNotFoundError):
        __import__("lti_consumer")
