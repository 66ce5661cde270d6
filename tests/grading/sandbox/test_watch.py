"""What the warm process does with a session's output and files, without a sandbox."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

from grading.sandbox.watch import Watch
from grading.sandbox.zygote import Zygote


def test_output_that_somebody_took_away_is_not_waited_for() -> None:
    """A session can read the pipe in which its output comes: then nothing is there any more.

    Who waits for more neither measures the session nor ends it.
    """
    out, into = os.pipe()
    warm = SimpleNamespace(limits=SimpleNamespace(output_bytes=100))
    watch = Watch(warm, os.getpid(), out)
    try:
        assert not os.get_blocking(out)
        assert watch._drain()
        os.write(into, b"word")
        assert watch._drain()
        assert watch.tail() == "word"
        os.close(into)
        assert not watch._drain()
    finally:
        watch.close()


def test_folders_with_the_names_that_clearing_gives(tmp_path: Path) -> None:
    """They are cleared like all others."""
    for name in (".0/a/b", ".1/c/d", "x/y/z", "x/.0/.0/.0", ".2"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".3", ".4", "x/.1", "x/y/.5"):
        (tmp_path / name).touch()
    Zygote._clear(None, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
