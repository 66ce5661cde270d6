"""The untrusted side: runs a student's cells and answers what the tests ask of them.

Nothing of a test comes here but the arguments of its calls. All of this file may be changed by the
code that it runs; the trusted side relies on nothing that it says beyond what a result may be.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import operator
import os
import random
import sys
import traceback
import types
import weakref

import torch
from torch import nn
from torch.autograd.graph import increment_version

from grading.bridge.callbacks import (
    SPECIAL,
    RemoteCallable,
    RemoteIterator,
    RemoteModule,
    remote_number,
)
from grading.bridge.exceptions import describe_error
from grading.bridge.magics import Introduction, Shell
from grading.bridge.peer import Peer
from grading.wire.channel import Channel, WireClosed, WireError
from grading.wire.containers import changeable, contents, same, snapshot
from grading.wire.leaves import place_of
from grading.wire.tensor_codec import Outgoing, Unsupported

#: Characters of output that are kept of a cell.
OUTPUT = 100_000
#: Iterators of nn.Module's methods (parameters, modules, ...) are sent whole.
MODULE_FILE = nn.Module.parameters.__code__.co_filename


class Output(io.StringIO):
    """What was printed, up to a length; beside that, a stream such as Jupyter's.

    What other programs write to its descriptor is no part of it.
    """

    encoding, errors = "UTF-8", "strict"

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor, self.name = (
            descriptor,
            ("stdin", "stdout", "stderr")[descriptor],
        )

    def fileno(self) -> int:
        """Return the descriptor that this stands for."""
        return self.descriptor

    def write(self, text: str) -> int:
        """Keep a text, or what there is room for."""
        super().write(text[: max(0, OUTPUT - self.tell())])
        return len(text)

    def close(self) -> None:
        """Stay open: what was printed is still to be read."""


class Listed:
    """What an iterator of nn.Module's gave."""

    def __init__(self, parts: list) -> None:
        self.parts = parts


def listed(value: object) -> object:
    """Return a value; parameters(), modules() and the like with all that they give."""
    if (
        isinstance(value, types.GeneratorType)
        and value.gi_code.co_filename == MODULE_FILE
    ):
        return Listed(list(value))
    return value


class StudentPeer(Peer):
    """The student's side of the wall."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel, first=1, weak=False)
        self.objects: dict[int, list] = {}  # number -> [object, how often it was sent]
        self.numbers: dict[int, int] = {}
        self.next_object = 0
        self.remotes: dict[int, object] = {}
        self.loans: list = []
        #: Tensors without a gradient that the submission keeps, by number.
        self.plain: weakref.WeakValueDictionary[int, torch.Tensor] = (
            weakref.WeakValueDictionary()
        )
        self.told_held: tuple[set[int], set[int]] = set(), set()
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace = module.__dict__
        self.shell = Shell(self.namespace)
        self.namespace.update(
            display=lambda *_, **__: None, get_ipython=lambda: self.shell
        )
        Introduction(self.shell)

    def answer(self, message: dict) -> dict:
        """Serve a request, with the trusted side's random numbers; say whether some were drawn."""
        if message.get("rng"):
            torch.set_rng_state(
                torch.frombuffer(bytearray.fromhex(message["rng"]), dtype=torch.uint8)
            )
        if message.get("random"):
            version, numbers, gauss = message["random"]
            random.setstate((version, tuple(numbers), gauss))
        before = torch.get_rng_state()
        outer = self.loans, self.borrowed
        self.loans, self.borrowed = [], {}
        try:
            reply = super().answer(message)
        finally:
            self.loans, self.borrowed = outer
        reply["drew"] = not torch.equal(before, torch.get_rng_state())
        held = self.storages.held, self.leaves.held
        if self.told_held != held:
            self.told_held = held
            reply["held"] = [[*numbers] for numbers in held]
        return reply

    def _absorb(self, message: dict) -> None:
        # Code may keep what it made of a weight by how often that was changed in place. Asked
        # first: what follows may let go of it here, and code has it still.
        for number in message.get("counted", ()):
            tensor = self.leaves.get(number)
            if tensor is not None and not tensor.is_inference():
                increment_version(tensor)
        super()._absorb(message)

    def forget(self, gone: dict) -> None:
        """Drop also objects that no proxy stands for any more."""
        super().forget(gone)
        for number, count in gone["refs"]:
            entry = self.objects.get(number)
            if entry is not None:
                entry[1] -= count
                if entry[1] <= 0:
                    self.numbers.pop(id(entry[0]), None)
                    del self.objects[number]

    # -- references

    def recognise(self, entry: dict, tensor: torch.Tensor) -> torch.Tensor:
        """Return the object that came before for a tensor of a test's, where the submission has it.

        So code finds again what it keeps by the tensor itself, as it does in a notebook.
        """
        number = entry.get("n")
        if number is None:
            return tensor
        known = self.plain.get(number)
        places = [
            place_of(one, self.storages) for one in (known, tensor) if one is not None
        ]
        if known is None or known.requires_grad or places[0] != places[1]:
            known = self.plain[number] = tensor
        elif known._wire_version != entry["v"]:
            increment_version(known)
        known._wire_version = entry["v"]
        return known

    def encode_reference(self, value: object, out: Outgoing) -> list:
        """Return a reference to an object of this process, or of a test."""
        remote = remote_number(value)
        if remote is not None:
            return ["X", remote]
        if type(value) is Listed:
            return ["I", *[self.encode(part, out, 1) for part in value.parts]]
        number = self.numbers.get(id(value))
        if number is None:
            number, self.next_object = self.next_object, self.next_object + 1
            self.numbers[id(value)] = number
            self.objects[number] = [value, 0]
        self.objects[number][1] += 1
        kind = type(value)
        info = {
            "type": kind.__name__,
            "special": [
                name
                for name in SPECIAL
                if any(name in base.__dict__ for base in kind.__mro__[:-1])
            ],
            "module": isinstance(value, nn.Module),
        }
        if isinstance(value, type) and issubclass(value, BaseException):
            info["error"] = [
                base.__name__ for base in value.__mro__ if base.__module__ == "builtins"
            ]
            info["name"] = value.__name__
        return ["P", number, info]

    def decode_reference(self, tree: list) -> object:
        """Return an object of this process, something of a test, or a function by its name."""
        tag, what, *rest = tree
        if tag == "P":
            return self.objects[what][0]
        if tag == "A":
            found = importlib.import_module(what)
            for name in rest[0].split("."):
                found = getattr(found, name)
            return found
        if tag == "X":
            if what not in self.remotes:
                kinds = {"m": RemoteModule, "i": RemoteIterator}
                self.remotes[what] = kinds.get(rest[0], RemoteCallable)(
                    self, what, rest[1]
                )
            return self.remotes[what]
        raise WireError(f"a value of an unknown kind {tag!r}")

    # -- what the trusted side asks for

    def on_exec(self, message: dict) -> dict:
        """Execute a cell; return what it printed and how it ended."""
        printed = sys.stdout, sys.stderr = Output(1), Output(2)
        error = None
        try:
            self.shell.cell(message["source"])
        except BaseException as raised:
            frames = traceback.extract_tb(raised.__traceback__)[1:]
            own = [frame for frame in frames if frame.filename.startswith("<cell ")]
            error = {
                **describe_error(raised),
                "text": "".join(
                    [
                        *traceback.format_list(own),
                        *traceback.format_exception_only(raised),
                    ]
                )[:OUTPUT],
            }
        finally:
            sys.stdout, sys.stderr = Output(1), Output(2)
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        return {
            "error": error,
            "stdout": printed[0].getvalue(),
            "stderr": printed[1].getvalue(),
        }

    def on_name(self, message: dict) -> object:
        """Return what a name stands for."""
        try:
            return self.namespace[message["name"]]
        except KeyError:
            raise NameError(f"name '{message['name']}' is not defined") from None

    def on_call(self, message: dict) -> object:
        """Call an object, or a method of it."""
        target, arguments, options = self.decode(message["call"], message)
        if "method" in message:
            target = getattr(target, message["method"])
        self.loans = [
            (part, contents(part)) for part in changeable((arguments, options))
        ]
        self.borrowed = {id(part): place for place, (part, _) in enumerate(self.loans)}
        return listed(target(*arguments, **options))

    def changes(self) -> dict:
        """Return which arguments the call changed, and not only a tensor's numbers."""
        changed = [
            (place, snapshot(part))
            for place, (part, before) in enumerate(self.loans)
            if not same(contents(part), before)
        ]
        return {"changed": changed} if changed else {}

    def on_get(self, message: dict) -> object:
        """Return an attribute."""
        return getattr(self.decode(message["target"], message), message["name"])

    def on_set(self, message: dict) -> None:
        """Set an attribute."""
        target, value = self.decode(message["target"], message)
        setattr(target, message["name"], value)

    def on_delete(self, message: dict) -> None:
        """Delete an attribute."""
        delattr(self.decode(message["target"], message), message["name"])

    def on_special(self, message: dict) -> object:
        """Apply one of Python's own operations."""
        name = message["name"]
        target, *arguments = self.decode(message["call"], message)
        if name == "isinstance":
            return isinstance(arguments[0], target)
        if name == "dir":
            return sorted(str(found) for found in dir(target))
        functions = {
            "repr": repr,
            "str": str,
            "deepcopy": copy.deepcopy,
            "copy": copy.copy,
            "__len__": len,
            "__iter__": iter,
            "__next__": next,
            "__bool__": bool,
            "__getitem__": operator.getitem,
        }
        if name in functions:
            return functions[name](target, *arguments)
        return getattr(type(target), name)(target, *arguments)


def serve(read_fd: int, write_fd: int) -> None:
    """Serve the trusted side until it closes the channel."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.path.insert(
        0, os.getcwd()
    )  # as in Jupyter: a cell may write a module and import it
    with contextlib.suppress(OSError, ValueError):
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  as long as the process
    sys.stdout, sys.stderr = Output(1), Output(2)
    channel = Channel(read_fd, write_fd)
    peer = StudentPeer(channel)
    while True:
        try:
            channel.send(peer.answer(channel.receive()))
            peer.storages.keep_held()
            peer.leaves.keep_held()
        except (WireClosed, Unsupported):
            return
