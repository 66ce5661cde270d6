"""Downloads from a local server that breaks off, refuses, lies and changes its mind."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from translator.download import download
from translator.errors import DownloadError

DATA = bytes(range(256)) * 2000
HASH = hashlib.sha256(DATA).hexdigest()


class Server:
    """A web server with one file, and how it behaves.

    breaks: after how many bytes each of the next answers ends. statuses: what the next answers
    are instead of the file. ranges: whether it can go on in the middle. requests: the Range
    header of each request so far.
    """

    def __init__(self) -> None:
        self.data, self.etag, self.ranges = DATA, '"one"', True
        self.breaks: list[int] = []
        self.statuses: list[int] = []
        self.requests: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/corpus.bin"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.requests.append(asked)
        if self.statuses:
            handler.send_error(self.statuses.pop(0))
            return
        same = handler.headers.get("If-Range") == self.etag
        begin = (
            int(asked.split("=")[1].rstrip("-"))
            if asked and self.ranges and same
            else 0
        )
        if begin >= len(self.data):
            handler.send_error(416)
            return
        body = self.data[begin:]
        handler.send_response(206 if begin else 200)
        if self.etag:
            handler.send_header("ETag", self.etag)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.breaks.pop(0)] if self.breaks else body)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(
        target=server.http.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def fetch(server: Server, folder: Path, **settings) -> Path:
    settings = {"expected": HASH, "pause": 0.01, "timeout": 5, **settings}
    return download(server.url, folder / "corpus.bin", **settings)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_is_downloaded_once(server: Server, tmp_path: Path) -> None:
    path = fetch(server, tmp_path / "new" / "folder")
    assert path.read_bytes() == DATA
    assert names(path.parent) == {"corpus.bin"}
    assert fetch(server, tmp_path / "new" / "folder") == path
    assert server.requests == [None]


def test_an_interrupted_download_goes_on_where_it_ended(
    server: Server, tmp_path: Path
) -> None:
    server.breaks = [1000, 5000]
    assert fetch(server, tmp_path).read_bytes() == DATA
    assert server.requests == [None, "bytes=1000-", "bytes=6000-"]
    assert names(tmp_path) == {"corpus.bin"}


def test_also_in_a_later_call(server: Server, tmp_path: Path) -> None:
    server.breaks = [1000, 0]
    with pytest.raises(
        DownloadError, match=r"ended after 1000 of 512000 bytes \(2 attempts\)"
    ):
        fetch(server, tmp_path, attempts=2)
    assert not (tmp_path / "corpus.bin").exists()
    assert (tmp_path / "corpus.bin.part").read_bytes() == DATA[:1000]
    assert fetch(server, tmp_path).read_bytes() == DATA
    assert server.requests[-1] == "bytes=1000-"


def test_a_server_without_ranges_sends_everything_again(
    server: Server, tmp_path: Path
) -> None:
    server.ranges = False
    server.breaks = [1000]
    assert fetch(server, tmp_path).read_bytes() == DATA


def test_a_file_that_changed_meanwhile_is_not_patched_together(
    server: Server, tmp_path: Path
) -> None:
    server.data, server.breaks, server.etag = b"old" * 1000, [900], '"zero"'
    with pytest.raises(DownloadError):
        fetch(server, tmp_path, expected=None, attempts=1)
    server.data, server.etag = DATA, '"one"'
    assert fetch(server, tmp_path, expected=None).read_bytes() == DATA


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_firm_tag_it_begins_again(
    server: Server, tmp_path: Path, etag: str
) -> None:
    server.etag = etag
    server.breaks = [1000]
    assert fetch(server, tmp_path).read_bytes() == DATA
    assert server.requests == [None, None]


def test_a_part_that_is_too_long_is_thrown_away(server: Server, tmp_path: Path) -> None:
    server.breaks = [1000]
    with pytest.raises(DownloadError):
        fetch(server, tmp_path, attempts=1)
    (tmp_path / "corpus.bin.part").write_bytes(DATA + b"more")
    assert fetch(server, tmp_path).read_bytes() == DATA
    assert len(server.requests) == 3  # 416 to the range, then the whole file


def test_the_wrong_file_is_refused_and_not_kept(server: Server, tmp_path: Path) -> None:
    server.data = DATA[:-1] + b"?"
    wrong = hashlib.sha256(server.data).hexdigest()
    with pytest.raises(
        DownloadError, match=f"expected a file with SHA-256 {HASH}, got {wrong}"
    ):
        fetch(server, tmp_path)
    assert names(tmp_path) == set()


def test_a_file_that_is_there_is_checked(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.bin").write_bytes(b"damaged")
    with pytest.raises(
        DownloadError, match=r"corpus\.bin: expected SHA-256 .* delete the file"
    ):
        fetch(server, tmp_path)
    assert server.requests == []


def test_the_first_hash_is_recorded_and_holds_from_then_on(
    server: Server, tmp_path: Path
) -> None:
    path = fetch(server, tmp_path, expected=None)
    assert (tmp_path / "corpus.bin.sha256").read_text() == f"{HASH}  corpus.bin\n"
    fetch(server, tmp_path, expected=None)
    path.write_bytes(b"damaged")
    with pytest.raises(DownloadError, match=f"expected SHA-256 {HASH}"):
        fetch(server, tmp_path, expected=None)
    path.unlink()
    server.data = b"another version"
    with pytest.raises(DownloadError, match="it was not kept"):
        fetch(server, tmp_path, expected=None)


def test_a_file_put_there_by_hand_is_recorded(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.bin").write_bytes(DATA)
    fetch(server, tmp_path, expected=None)
    assert HASH in (tmp_path / "corpus.bin.sha256").read_text()
    assert server.requests == []


def test_passing_trouble_is_waited_out(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    assert fetch(server, tmp_path).read_bytes() == DATA
    assert len(server.requests) == 3


def test_a_file_that_is_not_there_is_said_at_once(
    server: Server, tmp_path: Path
) -> None:
    server.statuses = [404] * 9
    with pytest.raises(DownloadError, match="the server answers 404 Not Found"):
        fetch(server, tmp_path)
    assert len(server.requests) == 1


def test_no_server_and_no_address(tmp_path: Path, server: Server) -> None:
    server.http.server_close()  # nobody listens on this port any more
    with pytest.raises(DownloadError, match=r"cannot be reached: .* \(2 attempts\)"):
        fetch(server, tmp_path, attempts=2)
    with pytest.raises(DownloadError, match="not an address"):
        download("no-address", tmp_path / "x")


@pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="needs a device that is always full"
)
def test_a_full_disk_is_said(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.bin.part").symlink_to("/dev/full")
    with pytest.raises(
        DownloadError, match=r"corpus\.bin: cannot be written: no space left"
    ):
        fetch(server, tmp_path)
    assert not (tmp_path / "corpus.bin").exists()
