"""An update as one CUDA graph: recorded once for each shape, then replayed without the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from translator.data.batching import Batch

Update = Callable[[list[Batch]], tuple[Tensor, Tensor]]
#: Updates before the recording, so that kernels are chosen and memory is there.
WARM_UP = 3


@dataclass
class _Recorded:
    graph: torch.cuda.CUDAGraph
    parts: list[Batch]
    results: tuple[Tensor, Tensor]


class GraphedUpdate:
    """Does what `update` does with micro-batches on a GPU, by one graph for their shapes.

    update: changes weights and optimiser in place and returns two numbers as tensors; it may read
    from the host nothing that changes, so rate and number of tokens are tensors, too.
    state: returns all tensors that an update changes; the warm-up's changes are taken back.
    """

    def __init__(self, update: Update, state: Callable[[], Iterable[Tensor]]):
        self.update, self.state = update, state
        self.recorded: dict[tuple, _Recorded] = {}
        # One of them runs at a time and begins from nothing, so all may use the same memory.
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, parts: list[Batch]) -> tuple[Tensor, Tensor]:
        """Update once; the results are overwritten by the next update of these shapes."""
        key = tuple(tuple(part.src.shape) for part in parts)
        if key not in self.recorded:
            self.recorded[key] = self._record(parts)
        recorded = self.recorded[key]
        for static, part in zip(recorded.parts, parts, strict=True):
            for name in ("src", "tgt_in", "tgt_out"):
                getattr(static, name).copy_(getattr(part, name), non_blocking=True)
        recorded.graph.replay()
        return recorded.results

    def _record(self, parts: list[Batch]) -> _Recorded:
        static = [part.map(torch.clone) for part in parts]
        with torch.no_grad():  # copies with gradients would tie theirs to this stream
            saved = [tensor.clone() for tensor in self.state()]
        random = torch.cuda.get_rng_state()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.update(static)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            results = self.update(static)
        with torch.no_grad():
            for tensor, before in zip(self.state(), saved, strict=True):
                tensor.copy_(before)
        # This update draws what it would have drawn unrecorded, also in a run that was resumed.
        torch.cuda.set_rng_state(random)
        return _Recorded(graph, static, results)
