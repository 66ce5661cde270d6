"""Memory in large pages: a fork of a process that has torch then costs a third."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

SIZE = 2 << 20
#: Linux since 6.1: make large pages of these now.
MADV_COLLAPSE = 25


def join() -> None:
    """Have the kernel keep this process's own memory in pages of 2 MiB.

    A fork copies an entry for each page, 60,000 of them where they have 4 KiB, and its end clears
    them again. Where the kernel can't or has no room, forks cost what they cost.
    """
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    text = maps.read_text(encoding="utf-8", errors="replace")
    call = ctypes.CDLL(None).madvise
    for start, end in re.findall(
        r"(?m)^(\w+)-(\w+) rw-p \w+ 00:00 0 *(?:\[heap\])?$", text
    ):
        first = -(-int(start, 16) // SIZE) * SIZE
        for place in range(first, int(end, 16) - SIZE + 1, SIZE):
            call(ctypes.c_void_p(place), ctypes.c_size_t(SIZE), MADV_COLLAPSE)
