"""Fixtures: a course, a platform that counts, the tool registered with it, and its pages."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from tornado.testing import bind_unused_port

from grading.lms.lti.protocol import keys, platforms
from grading.lms.lti.protocol.client import Patience
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.platforms import Configuration
from grading.lms.lti.protocol.store import Course, Store
from grading.lms.lti.protocol.visit import from_claims
from grading.lms.lti.web.app import Web, server
from grading.lms.lti.web.results import CourseResults
from tests.grading.lms.lti import course
from tests.grading.lms.lti.stub import CLIENT, TEACHER, Stub


@pytest.fixture(scope="session")
def key_pair(tmp_path_factory: pytest.TempPathFactory) -> keys.Keys:
    """The tool's keys; made once."""
    return keys.load(tmp_path_factory.mktemp("keys") / "lti")


@pytest.fixture
def stub() -> Iterator[Stub]:
    """The platform."""
    platform = Stub()
    yield platform
    platform.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with every state; made once, since nbgrader takes seconds to make a gradebook."""
    return course.make(tmp_path_factory.mktemp("course"))


@pytest.fixture
def root(tmp_path: Path, prepared: Path) -> Path:
    """A course with every state, to be changed."""
    return Path(shutil.copytree(prepared, tmp_path / "course"))


@pytest.fixture
def tool(tmp_path: Path, stub: Stub, key_pair: keys.Keys) -> Tool:
    """The tool, registered with the platform."""
    configuration = Configuration("http://127.0.0.1:1", (stub.platform,))
    folder = tmp_path / "lti"
    platforms.save(folder, configuration)
    return Tool(configuration, key_pair, Store(folder))


@pytest.fixture
def visited(tool: Tool, stub: Stub) -> int:
    """The number of a course that a teacher came from."""
    stub.set_up(tool.store)
    claims = stub.claims(tool.public_url, "t01", TEACHER)
    return tool.store.enter(from_claims(claims, CLIENT))


@dataclass
class Naps:
    """Sleeps that only take note."""

    slept: list[float] = field(default_factory=list)

    @property
    def patience(self) -> Patience:
        """Retries without waiting."""
        return Patience(sleep=self.slept.append)


@pytest.fixture
def naps() -> Naps:
    """What retries would have slept."""
    return Naps()


class Pages:
    """The tool's pages, served from a thread, and a browser of sorts for each visitor."""

    def __init__(self, tool: Tool, books: Callable[[Course], CourseResults]) -> None:
        self.tool, self.ready, self.url = tool, threading.Event(), ""
        self._books = books
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), daemon=True
        )
        self._thread.start()
        assert self.ready.wait(10), "the pages are not served"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        socket, port = bind_unused_port(address="127.0.0.1")
        self.url = f"http://127.0.0.1:{port}"
        if not self.tool.secure:
            self.tool.configuration = Configuration(
                self.url, self.tool.configuration.platforms
            )
        listening = server(Web(self.tool, self._books))
        listening.add_socket(socket)
        self.ready.set()
        await self._stop.wait()
        listening.stop()

    def close(self) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def visitor(self) -> requests.Session:
        """Return somebody without cookies."""
        session = requests.Session()
        session.trust_env = False
        return session


@pytest.fixture
def pages(tool: Tool, root: Path, stub: Stub) -> Iterator[Pages]:
    """The tool's pages, for the platform's course."""
    stub.set_up(tool.store)
    served = Pages(
        tool, lambda _course: CourseResults(course.url(root), root / "feedback")
    )
    yield served
    served.close()
