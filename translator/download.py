"""Downloads that can be interrupted: checked by SHA-256, resumed, and in place only when whole."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from translator.errors import DownloadError, explain_os_error
from translator.files import sha256, write_text

_CHUNK = 1 << 16
_HEADERS = {
    "User-Agent": "attention-course-translator/0.1",
    "Accept-Encoding": "identity",
}
# Answers after which another attempt may go better.
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _Interrupted(Exception):
    """The connection failed or ended too early: another attempt may go on from here."""


class _Unfit(Exception):
    """What has come cannot be gone on with: begin again."""


def download(
    url: str,
    path: str | Path,
    *,
    expected: str | None = None,
    attempts: int = 4,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> Path:
    """Download a file unless it is there, and return its path.

    expected: its SHA-256. Where that is None the hash of the first download is recorded beside
    the file, as NAME.sha256, and checked from then on. What has come is kept in NAME.part and
    gone on with by a range request, in this call (`attempts` of them, with rising pauses in
    seconds) or a later one. The file appears only when it is whole and its hash is right.
    Raises DownloadError: not reachable, not found, the wrong hash, no space left.
    """
    path = Path(path)
    record = path.with_name(f"{path.name}.sha256")
    known = expected or _recorded(record)
    if path.is_file():
        if known is None:
            write_text(record, f"{sha256(path)}  {path.name}\n")
        else:
            check_hash(path, known)
        return path
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch_all(url, part, attempts, timeout, pause)
        found = sha256(part)
        if known is not None and found != known:
            _forget(part)
            raise DownloadError(
                f"{url}: expected a file with SHA-256 {known}, got {found}; it was not kept"
            )
        os.replace(part, path)
        _tag(part).unlink(missing_ok=True)
        if expected is None:
            write_text(record, f"{found}  {path.name}\n")
    except OSError as error:
        raise DownloadError(
            f"{path}: cannot be written: {explain_os_error(error)}; what has come is kept, "
            "the same command goes on"
        ) from error
    return path


def check_hash(path: Path, expected: str) -> None:
    """Raise DownloadError unless the file has this SHA-256."""
    found = sha256(path)
    if found != expected:
        raise DownloadError(
            f"{path}: expected SHA-256 {expected}, got {found}; delete the file to download it "
            "again"
        )


def _fetch_all(
    url: str, part: Path, attempts: int, timeout: float, pause: float
) -> None:
    """Fetch until `part` is whole; raises DownloadError after the last attempt."""
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _fetch(url, part, timeout)
            return
        except _Unfit as error:
            _forget(part)
            reason = str(error)
        except _Interrupted as error:
            reason = str(error)
    raise DownloadError(
        f"{url}: {reason} ({attempts} attempts); the same command goes on"
    )


def _fetch(url: str, part: Path, timeout: float) -> None:
    """Make one request, for the rest of what `part` lacks, and append what comes."""
    have = part.stat().st_size if part.is_file() else 0
    tag = _read_tag(_tag(part))
    # Go on only where the server can say that it is still the same file.
    if have and (tag.get("url") != url or not tag.get("validator")):
        _forget(part)
        have = 0
    headers = dict(_HEADERS)
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag["validator"]}
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        )
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                raise _Unfit("the server refuses to go on") from None
            if error.code in _PASSING:
                raise _Interrupted(
                    f"the server answers {error.code} {error.reason}"
                ) from None
            raise DownloadError(
                f"{url}: the server answers {error.code} {error.reason}"
            ) from None
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(
            f"cannot be reached: {getattr(error, 'reason', error)}"
        ) from None
    except ValueError as error:
        raise DownloadError(
            f"{url}: not an address that can be downloaded: {error}"
        ) from None
    with response:
        have = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        validator = response.headers.get("ETag") or response.headers.get(
            "Last-Modified"
        )
        if validator and validator.startswith("W/"):
            validator = response.headers.get("Last-Modified")  # weak tags fit no range
        write_text(_tag(part), json.dumps({"url": url, "validator": validator}))
        with open(part, "ab" if have else "wb") as file:
            _append(response, file, part.name.removesuffix(".part"), have, total)
    if total is not None and part.stat().st_size != total:
        raise _Interrupted(f"ended after {part.stat().st_size} of {total} bytes")


def _append(
    response: http.client.HTTPResponse,
    file: Any,
    name: str,
    have: int,
    total: int | None,
) -> None:
    # disable=None: no bar where stderr is not a terminal.
    with tqdm(
        desc=name,
        initial=have,
        total=total,
        unit="B",
        unit_scale=True,
        disable=None,
        leave=False,
    ) as bar:
        for chunk in _chunks(response):
            file.write(chunk)
            bar.update(len(chunk))
        file.flush()
        os.fsync(file.fileno())


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(_CHUNK)
        except http.client.IncompleteRead as error:
            yield error.partial
            raise _Interrupted("the connection ended early") from None
        except (OSError, http.client.HTTPException) as error:
            raise _Interrupted(f"the connection failed: {error}") from None
        if not chunk:
            return
        yield chunk


def _tag(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_tag(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag(part).unlink(missing_ok=True)


def _recorded(record: Path) -> str | None:
    """Return the hash that the first download left, or None."""
    try:
        words = record.read_text(encoding="ascii").split()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return (
        words[0]
        if words and len(words[0]) == hashlib.sha256().digest_size * 2
        else None
    )
