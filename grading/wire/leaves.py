"""Leaves of autograd that both processes know: parameters, and inputs that get gradients."""

from __future__ import annotations

import sys
import weakref

import torch

from grading.wire.storages import Storages, Watched, is_integer


class Leaves(Watched):
    """Tensors at which gradients arrive, by id: own ones on the trusted side weakly.

    The other side's are held until nothing else here does: a change to one must be told.
    """

    def __init__(self, first: int, weak: bool) -> None:
        super().__init__()
        #: An entry is [function that returns the tensor, its state, how often it was changed].
        self.first, self.next, self.weak = first, first, weak
        self.fresh: list[int] = []  # those without a state

    def id_of(self, tensor: torch.Tensor) -> int | None:
        """Return a leaf's id, or None if it is not in the table."""
        number = getattr(tensor, "_wire_id", None)
        entry = self.entries.get(number) if is_integer(number) else None
        if entry is None or entry[0]() is not tensor:
            return None
        self.named.add(number)
        return number

    def add(self, tensor: torch.Tensor, number: int | None = None) -> int:
        """Enter a leaf, by a new id or by the other side's."""
        if number is None:
            number, self.next = self.next, self.next + 2
        own = number % 2 == self.first % 2
        holder = weakref.ref(tensor) if self.weak and own else (lambda: tensor)
        self.entries[number] = [holder, None, changes_of(tensor)]
        self.fresh.append(number)
        self.named.add(number)
        tensor._wire_id = number
        return number

    def note_states(self, storages: Storages) -> None:
        """Note the state of those that are new."""
        for number in self.fresh:
            if (tensor := self.get(number)) is not None:
                entry = self.entries[number]
                entry[1] = entry[1] or self.state(tensor, storages)
        self.fresh = []

    def counted(self) -> list[int]:
        """Return those that code here changed in place since this was asked last.

        Bytes alone don't tell: of what came from the other side no change is counted here.
        """
        found = []
        for number, entry in self.chosen(False):
            tensor = entry[0]()
            if tensor is not None and entry[2] != (now := changes_of(tensor)):
                entry[2] = now
                found.append(number)
        return found

    def chosen(self, everything: bool) -> list[tuple[int, list]]:
        """Return the ids and entries that are looked at now, those that are gone included."""
        found = dict(super().chosen(everything))
        if self.weak and not everything:
            found |= {n: e for n, e in self.entries.items() if e[0]() is None}
        return list(found.items())

    def get(self, number: object) -> torch.Tensor | None:
        """Return the leaf with an id, or None."""
        entry = self.entries.get(number) if is_integer(number) else None
        return None if entry is None else entry[0]()

    def is_idle(self, number: int) -> bool:
        """Tell whether the trusted side holds the other side's leaf in this table only.

        Neither a name nor a graph of autograd knows it: what could change it is gone.
        """
        if not self.weak or number % 2 == self.first % 2:
            return False
        return not self.is_held(number)

    def is_held(self, number: int) -> bool:
        """Tell whether anything but this table knows a leaf that it holds."""
        tensor = self.entries[number][0]()
        # The table's, this name's, and getrefcount's own; and one tensor below them.
        return sys.getrefcount(tensor) > 3 or tensor._use_count() > 1

    def state(self, tensor: torch.Tensor, storages: Storages) -> tuple:
        """Return what is compared to see whether a leaf changed otherwise than by its numbers."""
        grad = tensor.grad
        return (
            place_of(tensor, storages),
            tensor.requires_grad,
            None if grad is None else place_of(grad, storages),
        )


def changes_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was changed in place; 0 where nobody counts."""
    return 0 if tensor.is_inference() else tensor._version


def place_of(tensor: torch.Tensor, storages: Storages) -> tuple:
    """Return where a tensor lies, to see later whether it lies there still."""
    return (
        storages.ids.get(tensor.untyped_storage()._cdata),
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.storage_offset(),
    )
