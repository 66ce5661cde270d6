"""One process, or one of several that torchrun started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist

from translator.device import choose_device


@dataclass(frozen=True)
class Processes:
    """Who we are among ``size`` processes, and where we compute."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and talks."""
        return self.rank == 0

    def total(self, number: float) -> float:
        """Return the sum of a number over all processes."""
        if self.size == 1:
            return number
        tensor = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return tensor.item()

    def agree(self, number: float) -> float:
        """Return the first process's number, in every process."""
        if self.size == 1:
            return number
        tensor = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(tensor, src=0)
        return tensor.item()

    def wait(self) -> None:
        """Return when every process has come here."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def started(device_name: str = "auto") -> Iterator[Processes]:
    """Yield this process's place; join the others if torchrun started us, and leave them after."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Processes(choose_device(device_name))
        return
    device = choose_device(device_name)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(device, dist.get_rank(), dist.get_world_size())
        # Whoever leaves closes its connections, and gloo may end a process that still uses one.
        dist.barrier()
    finally:
        dist.destroy_process_group()
