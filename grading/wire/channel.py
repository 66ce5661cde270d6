"""Framed messages between the two processes.

A frame is 16 bytes (magic, length of the header, length of the body), a header in JSON and the raw
bytes of tensors. Nothing is ever unpickled. Whatever does not have this form, is too large or too
deeply nested is a WireError: the other side may be hostile.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time

MAGIC = b"GRW1"
PREFIX = struct.Struct("!4sIQ")
#: Lists in lists in a header; values that people return are far below.
MAX_DEPTH = 200
#: JSON is a small part of a message; what is large are the bytes of tensors.
MAX_HEADER = 16 << 20
CHUNK = 1 << 16
#: Bytes of tensors that are copied into one piece with the header, instead of sent one by one.
TOGETHER = 1 << 16
#: A message that holds itself nests without end: that is an error all the same.
encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


class WireError(Exception):
    """The other side sent something that is no message, or nothing can be sent."""


class WireClosed(WireError):
    """The other side is gone."""


class WireTimeout(WireError):
    """The other side did not answer, or did not read, in time."""


class Channel:
    """Messages over a pair of file descriptors.

    A message is a dict of what JSON can hold, and under "blobs" a list of bytes.
    """

    def __init__(
        self, read_fd: int, write_fd: int, *, max_bytes: int = 256 << 20
    ) -> None:
        self.read_fd, self.write_fd, self.max_bytes = read_fd, write_fd, max_bytes
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._pending = bytearray()
        self._closed = False
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(read_fd, select.POLLIN)
        self._writable.register(write_fd, select.POLLOUT)

    def send(self, message: dict, timeout: float | None = None) -> None:
        """Send a message.

        Raises:
            WireError: if it is too large or no JSON; WireClosed, WireTimeout if it can't be sent.

        """
        message = dict(message)
        blobs = message.pop("blobs", [])
        try:
            header = encode({"m": message, "b": [*map(len, blobs)]}).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise WireError(f"a message that JSON can't hold: {error}") from None
        size = sum(map(len, blobs))
        if size > self.max_bytes or len(header) > min(MAX_HEADER, self.max_bytes):
            raise WireError(
                f"a message of {len(header) + size} bytes; the limit is {self.max_bytes} bytes, "
                f"and {MAX_HEADER} for what is not in a tensor"
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        start = PREFIX.pack(MAGIC, len(header), size) + header
        if (
            size <= TOGETHER
        ):  # one call of the system's, and one awakening of the other side
            self._write(b"".join([start, *blobs]), deadline)
            return
        for part in (start, *blobs):
            self._write(part, deadline)

    def receive(self, timeout: float | None = None) -> dict:
        """Wait for a message and return it.

        Raises:
            WireError: for anything that is not a message within the limits.
            WireClosed: at the end of the file. WireTimeout: after so many seconds.

        """
        deadline = None if timeout is None else time.monotonic() + timeout
        magic, header_size, size = PREFIX.unpack(self._read(PREFIX.size, deadline))
        if magic != MAGIC:
            raise WireError("bytes that are no message")
        if header_size > min(MAX_HEADER, self.max_bytes) or size > self.max_bytes:
            raise WireError(
                f"a message of {header_size + size} bytes; allowed: {self.max_bytes}"
            )
        raw = self._read(header_size, deadline)
        try:
            header = json.loads(raw)
            message, lengths = header["m"], header["b"]
            if (
                raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
            ):  # else it can't be that deep
                check_depth(message)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise WireError(
                f"a header that can't be read: {type(error).__name__}"
            ) from None
        if (
            not isinstance(message, dict)
            or not isinstance(lengths, list)
            or any(type(length) is not int or length < 0 for length in lengths)
        ):
            raise WireError("a header without the expected parts")
        if sum(lengths) != size:
            raise WireError("the lengths in a header don't add up to its body")
        if size > TOGETHER:  # one by one, so that the whole is never there twice
            message["blobs"] = [bytes(self._read(n, deadline)) for n in lengths]
            return message
        body, place, message["blobs"] = bytes(self._read(size, deadline)), 0, []
        for length in lengths:
            message["blobs"].append(body[place : place + length])
            place += length
        return message

    def forget(self) -> None:
        """Drop what has come and was not read: it may be much."""
        self._pending = bytearray()

    def close(self) -> None:
        """Close both descriptors."""
        if not self._closed:
            self._closed = True
            for descriptor in {self.read_fd, self.write_fd}:
                os.close(descriptor)

    def _read(self, count: int, deadline: float | None) -> bytearray:
        while len(self._pending) < count:
            self._wait(self._readable, deadline)
            try:
                part = os.read(self.read_fd, CHUNK)
            except BlockingIOError:
                continue
            except OSError as error:
                raise WireClosed(f"the other side is gone: {error.strerror}") from None
            if not part:
                raise WireClosed("the other side is gone")
            self._pending += part
        found = self._pending[:count]
        del self._pending[:count]
        return found

    def _write(self, data: bytes, deadline: float | None) -> None:
        if self._closed:
            raise WireClosed("the channel is closed")
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.write_fd, view[:CHUNK]) :]
            except BlockingIOError:
                self._wait(self._writable, deadline)
            except OSError as error:
                raise WireClosed(f"the other side is gone: {error.strerror}") from None

    def _wait(self, poll: select.poll, deadline: float | None) -> None:
        if self._closed:
            raise WireClosed("the channel is closed")
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not poll.poll(None if left is None else left * 1000):
            raise WireTimeout("no answer in time")


def check_depth(value: object, limit: int = MAX_DEPTH) -> None:
    """Raise ValueError if lists and dicts are nested more deeply than the limit."""
    layer = [value]
    for _ in range(limit):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not layer:
            return
    raise ValueError(f"nested more than {limit} deep")
