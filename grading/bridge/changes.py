"""Changes that a submission makes to a test's own data: noted, undone, and rejected on request.

A test may work out what it expects after a call, from the call's arguments. A submission that
writes zeros into them would then be right with zeros. So a test that passes after such changes is
executed again, and they are not let through; and no change of a test's data outlives the test.
"""

from __future__ import annotations

import torch
from torch import nn

from grading.wire.containers import refill
from grading.wire.storages import Storages, as_octets, content, masked, octets


class Changes:
    """The changes since the last `undo`.

    Attributes:
        refused: whether changes are not let through.

    """

    def __init__(self) -> None:
        self.refused = False
        self.memories: dict[int, bytes] = {}
        #: Containers and tensors with what they held, in which memory and shape.
        self.parts: list[tuple[object, object]] = []
        self.leaves: list[
            tuple[torch.Tensor, torch.Tensor, bool, torch.Tensor | None]
        ] = []
        #: Modules, by id, with whether they were in training mode.
        self.modes: dict[int, tuple[nn.Module, bool]] = {}

    def __bool__(self) -> bool:
        """Whether there are some; a mode that was set back is none."""
        turned = any(module.training != mode for module, mode in self.modes.values())
        return bool(self.memories or self.parts or self.leaves or turned)

    def set_back(self) -> None:
        """Have all modules in the mode in which they were."""
        for module, mode in self.modes.values():
            module.training = mode
        self.modes = {}

    @torch.no_grad()
    def undo(self, storages: Storages) -> None:
        """Have everything as it was; the other side is told with the next message."""
        self.set_back()
        for tensor, data, needs_grad, grad in reversed(self.leaves):
            tensor.data, tensor.grad = data, grad
            tensor.requires_grad_(needs_grad)
        for part, held in reversed(self.parts):
            refill(part, held)
        for number, before in self.memories.items():
            storage = storages.get(number)
            if storage is not None:
                # It may have grown.
                octets(storage)[: len(before)].copy_(as_octets(before))
        self.memories, self.parts, self.leaves = {}, [], []


class WatchedStorages(Storages):
    """Memory of the trusted side, where the other side's changes of a test's own are noted."""

    def __init__(self, first: int, weak: bool, changes: Changes) -> None:
        super().__init__(first, weak)
        self.first, self.changes = first, changes

    def write(self, number: object, blob: bytes) -> None:
        """Take over the bytes that the other side sent, or note only that it has them."""
        storage = self.get(number)
        if storage is None or number % 2 != self.first % 2:
            super().write(number, blob)
            return
        if number not in self.changes.memories:
            self.changes.memories[number] = content(storage)
        if not self.changes.refused:
            super().write(number, blob)
            return
        self.grow(number, storage, len(blob))
        # What it is known to hold there is not what is here: so it is sent back.
        entry = self.entries[number]
        fits = entry[2] is not None and entry[2].numel() == len(blob)
        entry[1] = masked(as_octets(blob), entry[2]) if fits else blob
