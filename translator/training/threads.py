"""How many threads pay on this machine, now."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

#: How much faster more threads have to be: a machine that is busy would share them.
GAIN = 1.1


def fastest_threads(work: Callable[[], object], most: int, rounds: int = 3) -> int:
    """Return with how many threads PyTorch does some work fastest: 1, 2, 4, … up to `most`.

    Twice as many have to be faster by GAIN, or fewer are taken. The number is left set.
    """
    counts = [2**k for k in range(most.bit_length()) if 2**k < most] + [most]
    best, least = 1, float("inf")
    for count in counts:
        torch.set_num_threads(count)
        work()  # threads are started
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
        if GAIN * min(took) > least:
            break
        best, least = count, min(took)
    torch.set_num_threads(best)
    return best
