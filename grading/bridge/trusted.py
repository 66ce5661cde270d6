"""The trusted side: asks a submission's process, and serves what it asks in turn."""

from __future__ import annotations

import builtins
import importlib
import random
import time
import types
import weakref
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

from grading.bridge.changes import Changes, WatchedStorages
from grading.bridge.exceptions import error_class
from grading.bridge.peer import Peer
from grading.bridge.proxies import Offer, Proxy, StudentLost, Wire, proxy_class, wire_of
from grading.wire.channel import Channel, WireClosed, WireError, WireTimeout
from grading.wire.containers import refill, snapshot
from grading.wire.generators import PythonsNumbers, read_state
from grading.wire.leaves import changes_of
from grading.wire.storages import is_integer
from grading.wire.tensor_codec import Outgoing, Unsupported

#: Packages whose functions and classes are passed by name: the other side has its own.
BY_NAME = (
    "torch",
    "math",
    "builtins",
    "operator",
    "functools",
    "itertools",
    "collections",
)


class TrustedPeer(Peer):
    """The trusted side of the wall."""

    def __init__(
        self, channel: Channel, call_timeout: float | None, strict: bool = False
    ) -> None:
        super().__init__(channel, first=0, weak=True)
        self.offer = Offer(strict)
        self.call_timeout = call_timeout
        self.deadline: float | None = None
        self.lost: StudentLost | None = None
        self.exported: list = []  # what tests passed, by number; kept, so ids stay unique
        self.numbers: dict[int, int] = {}
        self.proxies: dict[int, object] = {}  # number -> weak reference to its proxy
        self.plain = WeakIdKeyDictionary()  # tensor without a gradient -> its number
        self.next_plain = 0
        self.state: torch.Tensor | None = (
            None  # of the generator, as the other side has it
        )
        self.numbers_of_python = PythonsNumbers()
        self.altered = Changes()
        self.storages = WatchedStorages(0, True, self.altered)

    # -- the conversation

    def request(self, operation: str, values: dict, **plain: object) -> object:
        """Ask the submission's process; raise StudentLost if it can't answer any more."""
        if self.lost is not None:
            raise self.lost
        try:
            return super().request(operation, values, **plain)
        except StopIteration:
            if operation == "special":  # the end of an iterator
                raise
            # As in a generator: else a function could end what goes through its results.
            raise RuntimeError("the submission's code raised StopIteration") from None
        except MemoryError:
            self.lose(
                "memory", "what the submission's process sent takes too much memory"
            )
        except WireTimeout:
            self.lose("time", "the submission's code did not answer in time")
        except WireClosed:
            self.lose("died", "the submission's process ended")
        except WireError as error:
            self.lose("wire", f"the submission's process sent {error}")
        raise self.lost

    def take(self, answer: dict) -> object:
        """Return the value of an answer; note changed arguments."""
        before = (
            [(part, snapshot(part)) for part in self.lent]
            if answer.get("changed")
            else []
        )
        try:
            return super().take(answer)
        finally:
            self.altered.parts += before
            for part, held in before if self.altered.refused else ():
                refill(part, held)
            if (
                self.altered.refused and self.depth == 1
            ):  # while the call lasts it holds
                self.altered.set_back()

    def change_leaf(
        self, number: int, found: list, place: int, needs_grad: bool, grad: int | None
    ) -> None:
        """Make a leaf what it is on the other side; note that of a test's own."""
        tensor = self.leaves.get(number)
        if tensor is not None and number % 2 == self.first % 2:
            self.altered.leaves.append(
                (tensor, tensor.data, tensor.requires_grad, tensor.grad)
            )
            if self.altered.refused:
                self.leaves.entries[number][1] = ()  # so it is sent back
                return
        super().change_leaf(number, found, place, needs_grad, grad)

    def forget(self, gone: dict) -> None:
        """Drop what the other side no longer needs.

        Raises:
            WireError: if it lets go of memory or of a leaf. It holds all of them as long as this
                side does; without its entry, a change of a test's own data could not be undone.

        """
        if gone["storages"] or gone["leaves"]:
            raise WireError("word that it needs no memory any more")
        super().forget(gone)

    def empty(self) -> None:
        """Forget what the other side sent, and what was sent to it."""
        for table in (
            *(self.storages.entries, self.leaves.entries, self.sent, self.calls),
            *(self.pins, self.exported, self.proxies, self.lent, self.plain),
            self.storages.kept,
        ):
            table.clear()
        self.altered = self.storages.changes = Changes()
        self.current = {}
        if self.lost is not None:  # its traceback leads to the last message
            self.lost = StudentLost(self.lost.reason, str(self.lost))

    def lose(self, reason: str, text: str) -> None:
        """Note that nothing more can be asked."""
        if self.lost is None:
            self.lost = StudentLost(reason, text)
            self.channel.forget()

    def fatal(self) -> tuple:
        """Return the errors that end the conversation."""
        return (WireError, StudentLost)

    def patience(self) -> float | None:
        """Return for how many seconds from now an answer is waited for."""
        left = (
            None
            if self.deadline is None
            else max(0.0, self.deadline - time.monotonic())
        )
        return min(
            (t for t in (left, self.call_timeout) if t is not None), default=None
        )

    def wait(self) -> dict:
        """Return the next message; note if the global generator was used there."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise WireTimeout("no answer, but questions without end")
        message = self.channel.receive(self.patience())
        if message.get("held"):
            self.note_held(message["held"])
        if message.get("drew") is True:
            torch.rand(
                1
            )  # so that a test sees it; and the other side goes on with its own
            self.state = torch.get_rng_state()
        return message

    def note_held(self, held: object) -> None:
        """Note which memories and leaves the submission's code holds."""
        try:
            memories, leaves = map(set, held)
            fine = all(map(is_integer, memories | leaves))
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise WireError("numbers of memories that can't be read")
        # No more than there are: each is looked at before each message.
        self.storages.held = memories & self.storages.entries.keys()
        self.leaves.held = leaves & self.leaves.entries.keys()

    def prepare(self, message: dict) -> None:
        """Send the state of the global generators if a test changed it."""
        super().prepare(message)
        state = torch.get_rng_state()
        if self.state is None or not torch.equal(state, self.state):
            self.state = state
            message["rng"] = state.numpy().tobytes().hex()
        if self.numbers_of_python.changed():
            message["random"] = read_state(random)

    def _compose(self, message: dict, values: dict, reply: bool) -> dict:
        message["counted"] = self.leaves.counted()
        return super()._compose(message, values, reply)

    # -- references

    def identify(self, tensor: torch.Tensor) -> dict:
        """Return a plain tensor's number, and how often it was changed in place."""
        number = self.plain.get(tensor)
        if number is None:
            number = self.plain[tensor] = self.next_plain
            self.next_plain += 1
        return {"n": number, "v": changes_of(tensor)}

    def encode_reference(self, value: object, out: Outgoing) -> list:
        """Return a reference to an object of the submission, or to one that a test passes.

        Raises:
            Unsupported: if a test passes what the submission could not use.

        """
        if isinstance(value, Proxy):
            return ["P", wire_of(value).number]
        named = by_name(value)
        if named is not None:
            return ["A", *named]
        kind = (
            "m"
            if isinstance(value, nn.Module)
            else "i"
            if isinstance(value, Iterator)
            else "c"
        )
        if kind == "c" and not callable(value):
            raise Unsupported(
                f"a test passes a {type(value).__name__}: tensors, numbers, strings, containers of "
                "those, functions, modules, iterators and generators of random numbers can be "
                "passed to a submission"
            )
        number = self.numbers.setdefault(id(value), len(self.exported))
        if number == len(self.exported):
            self.exported.append(value)
        return [
            "X",
            number,
            kind,
            str(getattr(value, "__name__", type(value).__name__)),
        ]

    def decode_reference(self, tree: list) -> object:
        """Return a proxy, or the test's own object that the submission hands back."""
        tag, *rest = tree
        if tag == "X":
            return self.target(rest[0])
        if tag == "I":
            return iter([self.decode(part, self.current) for part in rest])
        if tag != "P" or not is_integer(rest[0]):
            raise WireError("a value of an unknown kind")
        number, info = rest
        if "error" in info:
            return error_class(tuple(str(base) for base in info["error"][:50]))
        proxy = self.proxies[number]() if number in self.proxies else None
        if proxy is None:
            inner = info["module"] is True and self.asked == "get"
            names = self.offer.special(info["special"], inner)
            proxy = object.__new__(
                proxy_class(self.offer.type_name(info["type"]), names)
            )
            object.__setattr__(
                proxy, "_wire", Wire(self, number, info["module"] is True)
            )
            self.proxies[number] = weakref.ref(proxy)
        wire_of(proxy).count += 1
        return proxy

    def decode(self, tree: object, message: dict) -> object:
        """Return the value of a part of a message."""
        self.current = message
        return super().decode(tree, message)

    def _decode(self, tag: str, rest: list, tree: list, message: dict) -> object:
        if tag == "f":  # whose class has a name that the submission chose
            rest = ["namedtuple", *rest[1:]]
        found = super()._decode(tag, rest, tree, message)
        if tag == "f":
            try:
                for name, part in zip(type(found)._fields, found, strict=True):
                    if isinstance(part, Proxy):
                        self.offer.check(name, False, type(found).__name__)
            except AttributeError:
                # A field `allclose` that is a function of the submission: no test finds it.
                return tuple(found)
        return found

    # -- what the submission may ask for: only objects that a test passed

    def target(self, number: object) -> object:
        """Return an object that a test passed."""
        if not is_integer(number) or not 0 <= number < len(self.exported):
            raise WireError("something that no test passed")
        return self.exported[number]

    def on_use(self, message: dict) -> object:
        """Use an object that a test passed, in the ways that are allowed for its kind."""
        target, what = self.target(message["target"]), message["what"]
        arguments, options = self.decode(message["call"], message)
        if what == "call":
            return target(*arguments, **options)
        if what == "next" and isinstance(target, Iterator):
            return next(target)
        if not isinstance(target, nn.Module):
            raise AttributeError(f"{what} of a function that a test passed")
        if what == "length":
            return len(target)
        if what == "item":
            return target[arguments[0]]
        name, *arguments = arguments
        if what == "parts" and name in ("parameters", "buffers", "modules"):
            if name == "modules":
                return dict(target.named_children())
            return dict(getattr(target, f"named_{name}")(recurse=False))
        if what == "set" and name == "training":
            self.altered.modes.setdefault(id(target), (target, target.training))
            target.training = bool(arguments[0])
            return None
        if what == "get" and not str(name).startswith("_"):
            found = getattr(target, name)
            if isinstance(
                found, (torch.Tensor, nn.Module, bool, int, float, str, type(None))
            ):
                return found
        raise AttributeError(
            f"{type(target).__name__} of a test: {name!r:.60} can't be used"
        )


def by_name(value: object) -> tuple[str, str] | None:
    """Return the module and the name of a function or class that the other side has as well."""
    name = getattr(value, "__qualname__", None)
    module = getattr(value, "__module__", None)
    if not isinstance(name, str) or "<" in name or isinstance(value, nn.Module):
        return None
    for place in (module, "torch", "torch.nn.functional", "math"):
        if not isinstance(place, str) or place.partition(".")[0] not in BY_NAME:
            continue
        try:
            found: object = (
                builtins if place == "builtins" else importlib.import_module(place)
            )
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        if found is value and not isinstance(value, types.ModuleType):
            return place, name
    return None
