"""Fixtures: the built site, a web server for it, and browser contexts."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.site.pages import PREFIX, SITE, documents

#: Seconds in which a browser paints what has arrived of a page.
PAUSE = 0.7


class Handler(SimpleHTTPRequestHandler):
    """Serve the site under its published path, with its own page for wrong addresses."""

    def translate_path(self, path: str) -> str:
        """Map the published path to the folder; anything else does not exist."""
        if not path.startswith(PREFIX):
            return str(SITE / "outside-the-published-path")
        return super().translate_path(path.removeprefix(PREFIX.rstrip("/")))

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer a wrong address as a static host does: status 404 and the site's 404.html."""
        body = (SITE / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def copyfile(self, source: BinaryIO, outputfile: BinaryIO) -> None:
        """Send a file; of `page.html?first=9000` so many octets, and the rest after a while."""
        if first := re.search(r"\?first=(\d+)", self.path):
            outputfile.write(source.read(int(first[1])))
            outputfile.flush()
            time.sleep(PAUSE)
        super().copyfile(source, outputfile)

    def log_message(self, *args: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site; fails when it is missing or lacks a page."""
    missing = [name for name in documents() if not (SITE / f"{name}.html").exists()]
    if missing:
        pytest.fail(
            f"{', '.join(missing)} is not in {SITE.relative_to(SITE.parents[1])}: run `make book`",
            pytrace=False,
        )
    return SITE


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    """The address of the site, served as it will be published."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}{PREFIX}"
    httpd.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def new_context(browser: object) -> Iterator[Callable[..., object]]:
    """A function that opens a browser context without animations; all are closed at the end."""
    contexts = []

    def make(**options: object) -> object:
        context = browser.new_context(reduced_motion="reduce", **options)
        context.set_default_timeout(30_000)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()
