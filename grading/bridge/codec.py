"""Values as parts of messages: plain ones by value, tensors through tables, all else by reference.

A value is None, a truth value, a number or a string as it is in JSON, or a list whose first entry
says what follows. Only exact types go by value: an instance of a subclass, which may lie in
`__eq__`, is a reference, and arrives as a proxy that is equal to nothing.

A list, dict, set or deque that occurs twice in one message is one object on the other side, too.
Two things of a notebook are not carried over, and no test may depend on them. A container or array
of numpy's that comes again in a *later* message is another object then. And what a submission
keeps of a call's arguments and changes in a later call is told only where it is a tensor's
numbers: not an item of a list, nor a tensor's shape, nor that it needs a gradient. So a test's own
data stay as they are, where `nbgrader autograde` would see them change.
"""

from __future__ import annotations

import collections
import keyword
import random
from dataclasses import dataclass, field

import numpy as np
import torch

from grading.bridge import tensors as bridge_tensors
from grading.bridge.generators import Generators
from grading.bridge.leaves import Leaves
from grading.bridge.tensors import DTYPES, LARGE, NAMES, is_integer
from grading.bridge.wire import MAX_HEADER, WireError

SEQUENCES = {
    "l": list,
    "t": tuple,
    "S": set,
    "F": frozenset,
    "Q": collections.deque,
    "Z": torch.Size,
}
MAPPINGS = {"d": dict, "o": collections.OrderedDict, "c": collections.Counter}
TAGS = {kind: tag for tag, kind in (SEQUENCES | MAPPINGS).items()}
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS = (
    list,
    set,
    dict,
    collections.deque,
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
)
ARRAYS = "?bhilqBHILQefdFD"
#: Deeper than that, what a function returned is no result but an attack or a cycle.
DEEPEST = 60
#: Parts of the values in a message, where one that occurs twice counts twice: code that walks
#: through them must come to an end.
MOST_PARTS = MAX_HEADER // 2


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


class Codec:
    """Tables, and the way from values to messages and back. Subclasses say what a reference is."""

    def __init__(self, first: int, weak: bool, max_bytes: int) -> None:
        self.first, self.max_bytes = first, max_bytes
        self.storages, self.leaves = (
            bridge_tensors.Storages(first, weak),
            Leaves(first, weak),
        )
        self.generators = Generators()
        self.sent: dict[
            int, torch.Tensor
        ] = {}  # tensors with a history, until the call is over
        self.next_sent = first
        self.lent: list = []  # what the call in progress may change of its arguments
        self.borrowed: dict[int, int] = {}  # on the other side: their places, by id

    # -- references: defined by the two sides

    def encode_reference(self, value: object, out: Outgoing) -> list:
        """Return the reference to a value that does not go by value."""
        raise NotImplementedError

    def decode_reference(self, tree: list) -> object:
        """Return what a reference stands for here."""
        raise NotImplementedError

    def identify(self, tensor: torch.Tensor) -> dict:
        """Return what tells the other side that a plain tensor is one that it had before."""
        return {}

    def recognise(self, entry: dict, tensor: torch.Tensor) -> torch.Tensor:
        """Return the object that stands for a plain tensor that came before, or a new one's."""
        return tensor

    # -- values

    def encode(self, value: object, out: Outgoing, depth: int = 0) -> object:
        """Return a value as a part of a message.

        Raises:
            Unsupported: if it can't pass.

        """
        kind = type(value)
        out.grow(26 if kind not in (str, bytes) else 6 * len(value))
        if value is None or kind in (bool, float, str):
            return value
        if kind is int:
            return value if abs(value) < 1 << 63 else ["i", hex(value)]
        if depth > DEEPEST:
            raise Unsupported(f"a value nested more than {DEEPEST} deep")
        if kind in CONTAINERS:
            if id(value) in self.borrowed:
                return ["K", self.borrowed[id(value)]]
            return self.encode_container(value, out, depth)
        if isinstance(value, torch.Tensor):
            return ["T", self.encode_tensor(value, out)]
        if kind in (tuple, frozenset, torch.Size):
            return [TAGS[kind], *[self.encode(part, out, depth + 1) for part in value]]
        if kind in VIEWS:  # as an argument a tuple, which nobody can change
            return self.encode((list if out.reply else tuple)(value), out, depth)
        if kind is torch.dtype and value in NAMES:
            return ["D", NAMES[value]]
        if kind is torch.device and value.type == "cpu":
            return ["C"]
        if kind is bytes:
            return ["b", value.hex()]
        if kind is complex:
            return ["z", value.real, value.imag]
        if kind is slice:
            return [
                "s",
                *[
                    self.encode(p, out, depth + 1)
                    for p in (value.start, value.stop, value.step)
                ],
            ]
        if kind is range:
            return ["r", value.start, value.stop, value.step]
        if value is Ellipsis or value is NotImplemented:
            return ["e" if value is Ellipsis else "n"]
        if isinstance(value, np.generic) and value.dtype.char in ARRAYS:
            return ["N", value.dtype.str, [], out.blob(value.tobytes()), True]
        if kind is np.ndarray and value.dtype.char in ARRAYS:
            return [
                "N",
                value.dtype.str,
                list(value.shape),
                out.blob(value.tobytes()),
                False,
            ]
        if isinstance(value, tuple) and kind.__module__ == "torch.return_types":
            return ["t", *[self.encode(part, out, depth + 1) for part in tuple(value)]]
        if isinstance(value, tuple) and isinstance(
            getattr(kind, "_fields", None), tuple
        ):
            return [
                "f",
                kind.__name__,
                list(kind._fields),
                *[self.encode(part, out, depth + 1) for part in tuple(value)],
            ]
        if isinstance(value, (torch.Generator, random.Random)):
            number = self.generators.id_of(value, add=not self.first)
            if number is not None:
                return ["G", number]
        return self.encode_reference(value, out)

    def encode_container(self, value: object, out: Outgoing, depth: int) -> list:
        """Return a container as a part of a message, or which earlier part it is."""
        if id(value) in out.shared:
            place, size = out.shared[id(value)]
            if size is None:
                raise Unsupported("a container that holds itself")
            out.grow(size)
            return ["R", place]
        out.keep.append(value)  # so that no other one gets its id
        place, before = len(out.shared), out.size
        out.shared[id(value)] = place, None
        if isinstance(value, dict):
            parts = [
                [self.encode(key, out, depth + 1), self.encode(part, out, depth + 1)]
                for key, part in value.items()
            ]
        else:
            parts = [self.encode(part, out, depth + 1) for part in value]
        out.shared[id(value)] = place, out.size - before
        return [TAGS.get(type(value), "d"), *parts]

    def decode(self, tree: object, message: dict) -> object:
        """Return the value of a part of a message.

        Raises:
            WireError: if it is none.

        """
        message["parts"] += 1
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is not list or not tree or type(tree[0]) is not str:
            raise WireError("a value that can't be read")
        tag, *rest = tree
        try:
            return self._decode(tag, rest, tree, message)
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            OverflowError,
        ) as error:
            raise WireError(
                f"a value that can't be read: {type(error).__name__}"
            ) from None

    def _decode(self, tag: str, rest: list, tree: list, message: dict) -> object:
        if tag in SEQUENCES or tag in MAPPINGS:
            shared, before = message["shared"], message["parts"]
            place = len(shared)
            if shareable := tag in MAPPINGS or SEQUENCES[tag] in CONTAINERS:
                shared.append(None)
            if tag in SEQUENCES:
                made = SEQUENCES[tag](self.decode(part, message) for part in rest)
            else:
                made = MAPPINGS[tag]()
                # Step by step: what is slow on purpose can be interrupted.
                for key, part in rest:
                    made[self.decode(key, message)] = self.decode(part, message)
            if shareable:
                shared[place] = made, message["parts"] - before
            return made
        if tag == "R":
            found, parts = message["shared"][rest[0]]
            message["parts"] += parts
            if message["parts"] > MOST_PARTS:
                raise WireError("a value of many millions of parts")
            return found
        if tag == "T":
            if not is_integer(rest[0]) or rest[0] < 0:
                raise WireError("a tensor that is not in the message")
            return message["found"][rest[0]]
        if tag == "K":
            return self.lent[rest[0]]
        if tag == "i":
            return int(rest[0], 16)
        if tag == "D":
            return DTYPES[rest[0]]
        if tag == "C":
            return torch.device("cpu")
        if tag == "b":
            return bytes.fromhex(rest[0])
        if tag == "z":
            return complex(*rest)
        if tag == "s":
            return slice(*[self.decode(part, message) for part in rest])
        if tag == "r":
            return range(*rest)
        if tag in ("e", "n"):
            return Ellipsis if tag == "e" else NotImplemented
        if tag == "N":
            return decode_array(*rest, message["blobs"])
        if tag == "f":
            return decode_namedtuple(
                rest[0], rest[1], [self.decode(p, message) for p in rest[2:]]
            )
        if tag == "G":
            return self.generators.entries[rest[0]][0]
        return self.decode_reference(tree)

    # -- tensors

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
        elif tensor.requires_grad or type(tensor) is torch.nn.Parameter:
            number = self.leaves.id_of(tensor)
            if number is None:
                number = self.leaves.add(tensor)
                out.new_leaves.append(number)
            entry.update(
                self.place(tensor, out),
                k="leaf",
                id=number,
                rg=tensor.requires_grad,
                p=type(tensor) is torch.nn.Parameter,
            )
        else:
            entry.update(self.place(tensor, out), **self.identify(tensor))
        return place

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
        if size and length < bridge_tensors.end_of(tensor):
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
        return bridge_tensors.describe(tensor, number)

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
                    tensor = bridge_tensors.stand_in(
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
                    tensor = bridge_tensors.rebuild(
                        entry, self.storages, self.max_bytes
                    )
                    wanted = bool(entry.get("rg")) and tensor.dtype.is_floating_point
                    if entry.get("p"):
                        tensor = torch.nn.Parameter(tensor, requires_grad=wanted)
                    else:
                        tensor.requires_grad_(wanted)
                    self.leaves.add(tensor, number)
            else:
                tensor = bridge_tensors.rebuild(entry, self.storages, self.max_bytes)
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
        bridge_tensors.fill(storage, blob)
        self.storages.add(storage, number, blob)
        return storage


def changeable(value: object, depth: int = 0, seen: set[int] | None = None) -> list:
    """Return the lists, dicts, sets and plain tensors in a value, in an order both sides find.

    A tensor is plain if it needs no gradient: changes of the others are told as those of leaves.

    Args:
        value: which lives on, so that ids stay unique.
        depth: how deep it lies in another one.
        seen: ids of what was found already.

    """
    kind, seen = type(value), set() if seen is None else seen
    if (kind is torch.Tensor and value.requires_grad) or id(value) in seen:
        return []
    found = [value] if kind is torch.Tensor or kind in CONTAINERS else []
    seen.update(map(id, found))
    if kind in (list, tuple, collections.deque):
        parts = value
    elif kind in CONTAINERS and kind is not set:
        parts = value.values()
    else:
        return found
    for part in parts if depth <= DEEPEST else ():
        found += changeable(part, depth + 1, seen)
    return found


def contents(part: object) -> list | tuple:
    """Return what a container holds, or how a tensor lies in its memory, to be compared later."""
    if type(part) is torch.Tensor:
        memory, place = part.untyped_storage()._cdata, part.storage_offset()
        return memory, part.dtype, part.shape, part.stride(), place
    return (
        list(part)
        if type(part) in (list, set, collections.deque)
        else [item for pair in part.items() for item in pair]
    )


def snapshot(part: object) -> object:
    """Return what `refill` takes to make a container or a tensor what it is now."""
    if type(part) is torch.Tensor:
        return part.data
    return dict(part) if isinstance(part, dict) else list(part)


def same(now: list | tuple, before: list | tuple) -> bool:
    """Tell whether a container holds the same objects or equal plain values."""
    if type(before) is tuple:  # of a tensor
        return now == before
    return len(now) == len(before) and all(
        a is b
        or (type(a) is type(b) and type(a) in (int, float, str, bool, tuple) and a == b)
        for a, b in zip(now, before, strict=True)
    )


def refill(part: object, held: object) -> None:
    """Give a container what it holds on the other side, or a tensor the place that it has there.

    Raises:
        WireError: if it can't be changed to that.

    """
    if type(part) is torch.Tensor:
        if type(held) is not torch.Tensor:
            raise WireError("a tensor that is none any more")
        part.data = held.detach()
        return
    if type(held) is not (dict if isinstance(part, dict) else list):
        raise WireError("a container that can't be changed")
    part.clear()
    if isinstance(part, (dict, set)):
        part.update(held)
    else:
        part.extend(held)


def decode_array(
    kind: str, shape: list, place: int, scalar: bool, blobs: list
) -> object:
    """Return a numpy array, or a number of numpy's."""
    dtype = np.dtype(kind)
    if dtype.char not in ARRAYS:
        raise WireError("an array of objects")
    array = np.frombuffer(bytes(blobs[place]), dtype=dtype).reshape(shape).copy()
    return array[()] if scalar else array


def decode_namedtuple(name: str, fields: list, parts: list) -> tuple:
    """Return a named tuple of a class made here."""
    fine = all(
        type(f) is str and f.isidentifier() and not keyword.iskeyword(f) for f in fields
    )
    if not (fine and str(name).isidentifier() and len(fields) == len(parts) <= 100):
        raise WireError("a named tuple that can't be read")
    return collections.namedtuple(name, fields, rename=True)(*parts)
