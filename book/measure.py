"""What a chapter needs to measure: time, peak memory, the slope of a law; and a progress bar."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from IPython.display import clear_output
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm


def best_time(run: Callable[[], object], repeats: int = 5) -> float:
    """The seconds that ``run()`` takes: the fastest of ``repeats``, after one to warm up.

    Other programs can only slow a run down, so the fastest says most about the code.
    """
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peak_memory(run: Callable[[], object]) -> int:
    """The bytes that ``run()`` holds at its worst moment, beyond what was held before it.

    PyTorch's profiler reports each block that the CPU allocator hands out or takes back, those
    inside a kernel included; the peak is the highest running total.
    """
    with (
        _quiet_profiler(),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof,
    ):
        run()
    events = [
        e for e in prof.profiler.kineto_results.events() if e.name() == "[memory]"
    ]
    events.sort(key=lambda event: event.start_ns())
    return int(max(np.cumsum([event.nbytes() for event in events]), default=0))


def slope(sizes: Iterable[float], values: Iterable[float]) -> float:
    """The p of the law value = c * size^p that fits best on log axes."""
    return float(np.polyfit(np.log(list(sizes)), np.log(list(values)), deg=1)[0])


def progress(items: Iterable, description: str) -> Iterator:
    """Yield ``items`` under a progress bar which is gone when they are: the page stays clean.

    What the cell printed before the bar ended is cleared with it: print afterwards.
    """
    yield from tqdm(
        items, desc=description, file=sys.stdout, leave=False, mininterval=0.5
    )
    clear_output()


@contextmanager
def _quiet_profiler():
    """Drop the lines that the profiler's C++ side writes on stderr at each start and stop."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            caught.seek(0)
            for line in caught.read().decode(errors="replace").splitlines():
                if "ActivityProfilerHandler" not in line:
                    print(line, file=sys.stderr)
