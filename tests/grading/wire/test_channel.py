"""Tests of grading/wire/channel.py: messages pass, and nothing else does."""

import json
import os
import struct

import pytest

from grading.wire.channel import (
    MAGIC,
    PREFIX,
    Channel,
    WireClosed,
    WireError,
    WireTimeout,
    check_depth,
)


@pytest.fixture
def pair():
    """Two channels that are connected to each other."""
    forth, back = os.pipe(), os.pipe()
    ends = (
        Channel(back[0], forth[1], max_bytes=4000),
        Channel(forth[0], back[1], max_bytes=4000),
    )
    yield ends
    for end in ends:
        end.close()


def raw(header: object, *blobs: bytes, lengths: list | None = None) -> bytes:
    """Return a frame made by hand."""
    lengths = [len(blob) for blob in blobs] if lengths is None else lengths
    text = (
        header
        if isinstance(header, bytes)
        else json.dumps({"m": header, "b": lengths}).encode()
    )
    return PREFIX.pack(MAGIC, len(text), sum(map(len, blobs))) + text + b"".join(blobs)


def test_a_message_arrives_as_it_was_sent(pair):
    left, right = pair
    message = {
        "a": [1, 2.5, None, "ß", True],
        "b": {"c": float("inf")},
        "blobs": [b"", b"\0\xff"],
    }
    left.send(message)
    left.send({"second": 2})
    assert right.receive(5) == message
    assert right.receive(5) == {"second": 2, "blobs": []}


def test_a_message_larger_than_a_pipe_arrives():
    forth, back = os.pipe(), os.pipe()
    left, right = Channel(back[0], forth[1]), Channel(forth[0], back[1])
    pid = os.fork()
    if not pid:
        left.send({"blobs": [bytes(3_000_000)]})
        os._exit(0)
    assert len(right.receive(30)["blobs"][0]) == 3_000_000
    os.waitpid(pid, 0)
    left.close()
    right.close()


@pytest.mark.parametrize(
    "message",
    [
        {"blobs": [bytes(5000)]},
        {"text": "x" * 5000},
        {"object": object()},
        {"set": {1}},
    ],
)
def test_what_is_too_large_or_no_json_is_not_sent(pair, message):
    with pytest.raises(WireError):
        pair[0].send(message)


@pytest.mark.parametrize(
    "frame",
    [
        b"garbage" * 10,
        PREFIX.pack(b"XXXX", 2, 0) + b"{}",
        PREFIX.pack(MAGIC, 5000, 0),
        PREFIX.pack(MAGIC, 2, 1 << 60) + b"{}",
        raw(b"{}"),
        raw(b"[1, 2]"),
        raw(b'"text"'),
        raw(b'{"m": '),
        raw(b"\xff\xfe"),
        raw([1]),
        raw({}, b"12", lengths=[3]),
        raw({}, b"12", lengths=[3, -1]),
        raw({}, lengths=["0"]),
        raw({}, lengths=7),
        raw(b"[" * 1000 + b"]" * 1000),
        raw(b'{"m": {"a": ' + b"[" * 300 + b"]" * 300 + b'}, "b": []}'),
    ],
    ids=range(16),
)
def test_what_is_no_message_is_an_error(pair, frame):
    left, right = pair
    os.write(left.write_fd, frame)
    with pytest.raises(WireError) as caught:
        right.receive(5)
    assert not isinstance(caught.value, (WireClosed, WireTimeout))


def test_end_of_file_is_told_apart(pair):
    left, right = pair
    os.write(left.write_fd, raw({"half": 1})[:20])
    left.close()
    with pytest.raises(WireClosed):
        right.receive(5)
    with pytest.raises(WireClosed):
        right.send({"to": "nobody"})


def test_silence_is_a_timeout(pair):
    with pytest.raises(WireTimeout):
        pair[1].receive(0.01)


def test_who_does_not_read_is_a_timeout():
    forth, back = os.pipe(), os.pipe()
    left, right = Channel(back[0], forth[1]), Channel(forth[0], back[1])
    with pytest.raises(WireTimeout):
        left.send({"blobs": [bytes(10_000_000)]}, timeout=0.05)
    left.close()
    right.close()


def test_a_closed_channel_says_so(pair):
    pair[0].close()
    pair[0].close()
    with pytest.raises(WireClosed):
        pair[0].receive(1)


def test_depth_counts_lists_and_dicts():
    nested: object = 1
    for _ in range(10):
        nested = [{"a": nested}]
    check_depth(nested, 20)
    with pytest.raises(ValueError, match="nested"):
        check_depth(nested, 19)


def test_the_prefix_is_sixteen_bytes():
    assert PREFIX.size == 16 == struct.calcsize("!4sIQ")
