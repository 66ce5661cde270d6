"""What the machine has: how many threads pay, and whether it computes in bf16."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

#: How much faster more threads have to be: a machine that is busy would share them.
GAIN = 1.1
_CPU_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


def supports_bf16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether a device multiplies matrices in bf16 itself, rather than by other means."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    # "flags" of x86, "Features" of Arm
    flags = (line for line in lines if line.startswith(("flags", "Features")))
    return bool(_CPU_FLAGS & set(next(flags, "").split()))


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
