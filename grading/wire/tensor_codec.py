"""Tensors as entries of messages: plain ones, leaves of autograd, and those with a history."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from grading.wire import tensors as wire_tensors
from grading.wire.channel import MAX_HEADER, WireError
from grading.wire.generators import Generators
from grading.wire.leaves import Leaves
from grading.wire.storages import Storages, fill, is_integer
from grading.wire.tensors import LARGE, NAMES


class Unsupported(TypeError):
    """A value that can't pass between the two processes; the message names it."""


@dataclass(slots=True)
class Outgoing:
    """What a message being made holds besides its values."""

    reply: bool
    tensors: list[dict] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)
    keep: list = field(default_factory=list)
    new_storages: list[int] = field(default_factory=list)
    new_leaves: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)
    members: dict[int, torch.Tensor] = field(default_factory=dict)
    #: Containers by id: which one it is, and the size of what it holds, None while it is encoded.
    shared: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    size: int = 0
    bytes: int = 0

    def grow(self, characters: int) -> None:
        """Count what comes into the message's header.

        Raises:
            Unsupported: if that would be too much.

        """
        self.size += characters
        if self.size > MAX_HEADER * 3 // 4:
            raise Unsupported("a value of many millions of parts or characters")

    def blob(self, data: bytes) -> int:
        """Add bytes; return their place."""
        self.blobs.append(data)
        return len(self.blobs) - 1


class TensorCodec:
    """The tables of tensors, and the way from them to entries of a message and back."""

    def __init__(self, first: int, weak: bool, max_bytes: int) -> None:
        self.first, self.max_bytes = first, max_bytes
        self.storages, self.leaves = (
            Storages(first, weak),
            Leaves(first, weak),
        )
        self.generators = Generators()
        self.sent: dict[
            int, torch.Tensor
        ] = {}  # tensors with a history, until the call is over
        self.next_sent = first
        self.lent: list = []  # what the call in progress may change of its arguments
        self.borrowed: dict[int, int] = {}  # on the other side: their places, by id

    # -- whether a plain tensor came before: defined by the two sides

    def identify(self, tensor: torch.Tensor) -> dict:
        """Return what tells the other side that a plain tensor is one that it had before."""
        return {}

    def recognise(self, entry: dict, tensor: torch.Tensor) -> torch.Tensor:
        """Return the object that stands for a plain tensor that came before, or a new one's."""
        return tensor

    # -- entries of a message

    def encode_tensor(self, tensor: torch.Tensor, out: Outgoing) -> int:
        """Enter a tensor in a message; return its place there."""
        if id(tensor) in out.index:
            return out.index[id(tensor)]
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Unsupported(
                f"a {type(tensor).__name__}, which is a subclass of torch.Tensor: "
                "a plain torch.Tensor is expected"
            )
        if (
            tensor.layout is not torch.strided
            or tensor.device.type != "cpu"
            or (tensor.dtype not in NAMES)
        ):
            raise Unsupported(
                f"a tensor of layout {tensor.layout}, dtype {tensor.dtype} on {tensor.device}: "
                "a dense tensor on the CPU is expected"
            )
        entry: dict = {}
        place = len(out.tensors)
        out.tensors.append(entry)
        out.index[id(tensor)] = place
        out.keep.append(tensor)
        out.members[place] = tensor
        returned = self.sent_id(tensor)
        if returned is not None:
            entry.update(k="sent", id=returned)
        elif tensor.requires_grad and not tensor.is_leaf:
            entry.update(self.place(tensor, out))
            if out.reply:
                entry["k"] = "out"
                out.outputs.append(place)
            else:
                entry.update(k="sent", id=self.next_sent)
                self.sent[self.next_sent] = tensor
                self.next_sent += 2
        elif (
            tensor.requires_grad
            or type(tensor) is torch.nn.Parameter
            or self.leaves.id_of(tensor) is not None  # it needed gradients before
        ):
            self.encode_leaf(tensor, entry, out)
        else:
            entry.update(self.place(tensor, out), **self.identify(tensor))
        return place

    def encode_leaf(self, tensor: torch.Tensor, entry: dict, out: Outgoing) -> None:
        """Enter a tensor that gets, or got, gradients."""
        number = self.leaves.id_of(tensor)
        if number is None:
            number = self.leaves.add(tensor)
            out.new_leaves.append(number)
        is_parameter = type(tensor) is torch.nn.Parameter
        # A plain one may have come before gradients were asked of it.
        entry.update(
            self.place(tensor, out),
            **({} if is_parameter else self.identify(tensor)),
            k="leaf",
            id=number,
            rg=tensor.requires_grad,
            p=is_parameter,
        )

    def sent_id(self, tensor: torch.Tensor) -> int | None:
        """Return the id of a tensor that came here as an argument with a history."""
        number = getattr(tensor, "_wire_sent", None)
        if number is None:
            return None
        stand = self.received(number)
        if (
            stand is tensor
        ):  # unless it was changed in place: then it has another history
            same = (
                not hasattr(stand, "_wire_leaf") or stand.grad_fn is stand._wire_history
            )
            return number if same else None
        if stand is not None and getattr(stand, "_wire_leaf", None) is tensor:
            return number
        if stand is None and tensor.is_leaf and tensor.requires_grad:
            raise Unsupported("a gradient to an argument of a call that is long over")
        return None

    def received(self, number: object) -> torch.Tensor | None:
        """Return the stand-in of the other side's tensor with a history."""
        return self.sent.get(number) if is_integer(number) else None

    def place(self, tensor: torch.Tensor, out: Outgoing) -> dict:
        """Return how a tensor lies in a memory that is, or comes, in the table."""
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.detach().resolve_conj().resolve_neg()
        size, storage = tensor.nbytes, tensor.untyped_storage()
        length = storage.nbytes()
        if size > min(self.max_bytes, LARGE + 2 * length):
            raise Unsupported(f"a tensor of {size} bytes, in memory of {length}")
        if length > LARGE + 2 * size:
            tensor = tensor.detach().clone()
            storage = tensor.untyped_storage()
            length = storage.nbytes()
        if size and length < wire_tensors.end_of(tensor):
            raise Unsupported("a tensor whose memory was taken away")
        number = self.storages.id_of(storage)
        if number is None:
            out.bytes += length
            if out.bytes > self.max_bytes // 2:
                raise Unsupported(f"tensors of {out.bytes} bytes")
            number = self.storages.add(storage)
            out.new_storages.append(number)
            out.keep.append(storage)
        self.storages.expose(number, tensor)
        return wire_tensors.describe(tensor, number)

    def decode_tensors(self, message: dict) -> list[torch.Tensor]:
        """Return the tensors of a message, those with a history of the other side's as raw ones."""
        found = []
        for entry in message.get("tensors", []):
            kind, number = entry.get("k"), entry.get("id")
            if kind == "sent":
                tensor = self.received(number)
                if tensor is None:
                    if not is_integer(number) or number % 2 == self.first % 2:
                        raise WireError("a tensor with a history that is gone")
                    tensor = wire_tensors.stand_in(
                        entry, self.storages, self.max_bytes, number
                    )
                    self.sent[number] = tensor
            elif kind == "leaf":
                tensor = self.leaves.get(number)
                if tensor is not None:
                    self.leaves.named.add(number)
                else:
                    if not is_integer(number) or number % 2 == self.first % 2:
                        raise WireError("a leaf that was never sent")
                    tensor = wire_tensors.rebuild(entry, self.storages, self.max_bytes)
                    wanted = bool(entry.get("rg")) and tensor.dtype.is_floating_point
                    if entry.get("p"):
                        tensor = torch.nn.Parameter(tensor, requires_grad=wanted)
                    else:
                        tensor = self.recognise(entry, tensor).requires_grad_(wanted)
                    self.leaves.add(tensor, number)
            else:
                tensor = wire_tensors.rebuild(entry, self.storages, self.max_bytes)
                tensor = self.recognise(entry, tensor)
            found.append(tensor)
        return found

    def new_storage(
        self, number: object, size: object, blob: bytes
    ) -> torch.UntypedStorage:
        """Enter a memory that the other side made."""
        if not is_integer(number) or number % 2 == self.first % 2 or size != len(blob):
            raise WireError("a memory that can't be read")
        storage = torch.UntypedStorage(len(blob))
        fill(storage, blob)
        self.storages.add(storage, number, blob)
        return storage
