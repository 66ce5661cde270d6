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

import numpy as np
import torch

from grading.wire.channel import MAX_HEADER, WireError
from grading.wire.containers import CONTAINERS, DEEPEST
from grading.wire.storages import is_integer
from grading.wire.tensor_codec import Outgoing, TensorCodec, Unsupported
from grading.wire.tensors import DTYPES, NAMES

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
ARRAYS = "?bhilqBHILQefdFD"
#: Parts of the values in a message, where one that occurs twice counts twice: code that walks
#: through them must come to an end.
MOST_PARTS = MAX_HEADER // 2


class Codec(TensorCodec):
    """The way from values to messages and back. Subclasses say what a reference is."""

    # -- references: defined by the two sides

    def encode_reference(self, value: object, out: Outgoing) -> list:
        """Return the reference to a value that does not go by value."""
        raise NotImplementedError

    def decode_reference(self, tree: list) -> object:
        """Return what a reference stands for here."""
        raise NotImplementedError

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
