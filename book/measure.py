"""What a chapter needs to measure: time, memory, chains of operations, laws; a progress bar."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from IPython.display import clear_output
from torch import Tensor
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


def processor_time(run: Callable[[], object], repeats: int = 7) -> float:
    """The seconds of this thread's own work in ``run()``: the least of ``repeats``.

    Time that other programs take from the processor does not count.
    """
    run()
    found = []
    for _ in range(repeats):
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return min(found)


def longest_chain(output: Tensor) -> int:
    """The most operations that had to wait for each other on the way to ``output``.

    It is the longest path through the operations that autograd recorded; parameters and the
    moving of a result count as operations, too.
    """
    depth: dict[object, int] = {}
    waiting = [output.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [other for other, _ in node.next_functions if other is not None]
        missing = [other for other in before if other not in depth]
        waiting += missing
        if not missing:
            depth[waiting.pop()] = 1 + max((depth[one] for one in before), default=0)
    return depth[output.grad_fn]


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
