"""Objects of a submission as a test sees them: proxies, and what a test may ask of them."""

from __future__ import annotations

import functools

import torch
from torch import nn

from grading.bridge.callbacks import SPECIAL
from grading.bridge.peer import Peer
from grading.bridge.redaction import FOREIGN, is_type

#: Names of Python's own that a proxy hands on; all others of the form __x__ it has not.
PLAIN_DUNDERS = {"__name__", "__doc__", "__qualname__", "__module__", "__wrapped__"}
#: What only a tensor has: an object of a submission that answers to these names is none, and must
#: not decide a comparison, or learn what it is compared with.
TENSORS = frozenset(dir(torch.Tensor))
MODULES = frozenset(dir(nn.Module))
#: The part of them that is refused where no reference solution says what else is expected.
COMPARISONS = {"eq", "ne", "equal", "allclose", "isclose", "dist"}
#: Methods of a module that a test calls at once: asking for them would be a message of its own.
METHODS = frozenset(
    {"train", "eval", "to", "state_dict", "load_state_dict"}
    | {"parameters", "named_parameters", "zero_grad"}
)
LONGEST_REPR = 2000


class StudentLost(BaseException):
    """The submission's process ended, hung or spoke nonsense: no except clause of a test hides it.

    `reason` is "died", "time", "memory" or "wire".
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Offer:
    """What a test may use of a submission: no more than the reference solution offers.

    A test is written against the reference. An object that can do more than the reference's,
    such as a list that says something else each time, is not what the test asked for.

    Attributes:
        strict: False lets tests use all, where there is no reference.
        names: of functions, classes and values; with a dot before them, of attributes.

    """

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.names: set[str] = set()

    def check(self, name: str, module: bool, kind: str) -> None:
        """Raise AttributeError if an object must not have an attribute of this name."""
        refused = TENSORS - MODULES if module else TENSORS
        if not self.strict:
            refused = set() if module else COMPARISONS
        if (
            name in refused
            and f".{name}" not in self.names
            and name not in PLAIN_DUNDERS
        ):
            raise AttributeError(
                f"a {kind} of the submission is no tensor: it has no {name!r} here"
            )

    def type_name(self, name: object) -> str:
        """Return what a type of the submission's is called here: its name could carry an input."""
        known = isinstance(name, str) and (is_type(name) or name in self.names)
        return name if known else FOREIGN

    def special(self, given: list, inner: bool) -> tuple[str, ...]:
        """Return which of Python's own methods a proxy gets, of those that its object has.

        Args:
            given: the methods that the object has.
            inner: whether it is a module that was found inside another object.

        """
        return tuple(
            name
            for name in SPECIAL
            if name in given
            and (
                not self.strict
                or name == "__call__"
                or f".{name}" in self.names
                or (inner and name in ("__len__", "__getitem__", "__iter__"))
            )
        )


class Proxy:
    """Stands for an object of the submission; equal to nothing but itself."""

    __slots__ = ("__weakref__", "_wire")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__") and name not in PLAIN_DUNDERS:
            raise AttributeError(name)
        wire_of(self).peer.offer.check(name, wire_of(self).module, type(self).__name__)
        if name in METHODS and wire_of(self).module:
            return functools.partial(call_method, self, name)
        return wire_of(self).peer.request("get", {"target": self}, name=name)

    def __setattr__(self, name: str, value: object) -> None:
        wire_of(self).peer.request("set", {"target": (self, value)}, name=name)

    def __delattr__(self, name: str) -> None:
        wire_of(self).peer.request("delete", {"target": self}, name=name)

    def __repr__(self) -> str:
        text = special(self, "repr")
        return text[:LONGEST_REPR] if type(text) is str else f"<{type(self).__name__}>"

    def __str__(self) -> str:
        text = special(self, "str")
        return text[:LONGEST_REPR] if type(text) is str else f"<{type(self).__name__}>"

    def __dir__(self) -> list:
        return special(self, "dir")

    def __copy__(self) -> object:
        return special(self, "copy")

    def __deepcopy__(self, memo: dict) -> object:
        return special(self, "deepcopy")

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Proxy) and special(self, "isinstance", value) is True

    def __mro_entries__(self, bases: tuple) -> tuple:
        raise TypeError("a test can't make a subclass of a class of the submission")

    def __reduce_ex__(self, protocol: object) -> object:
        raise TypeError(
            f"a {type(self).__name__} of the submission can't be copied to here"
        )

    @property
    def __class__(self) -> type:
        """What isinstance asks for: nn.Module for a module."""
        return nn.Module if wire_of(self).module else type(self)

    def __del__(self) -> None:
        wire = wire_of(self)
        wire.peer.gone["refs"].append([wire.number, wire.count])


class Wire:
    """Which object a proxy stands for, and how often it was sent."""

    __slots__ = ("count", "module", "number", "peer")

    def __init__(self, peer: Peer, number: int, module: bool) -> None:
        self.peer, self.number, self.module, self.count = peer, number, module, 0


def wire_of(proxy: Proxy) -> Wire:
    """Return what is behind a proxy."""
    return object.__getattribute__(proxy, "_wire")


def special(proxy: Proxy, name: str, *arguments: object) -> object:
    """Have one of Python's own operations done on the other side."""
    return wire_of(proxy).peer.request(
        "special", {"call": (proxy, *arguments)}, name=name
    )


def call(proxy: Proxy, /, *arguments: object, **options: object) -> object:
    """Call what a proxy stands for."""
    return wire_of(proxy).peer.request("call", {"call": (proxy, arguments, options)})


def call_method(proxy: Proxy, name: str, /, *arguments: object, **options: object):
    """Call a method of what a proxy stands for."""
    return wire_of(proxy).peer.request(
        "call", {"call": (proxy, arguments, options)}, method=name
    )


def _special(name: str) -> object:
    def method(self: Proxy, *arguments: object) -> object:
        return special(self, name, *arguments)

    return method


@functools.lru_cache(maxsize=4096)
def proxy_class(name: str, names: tuple[str, ...]) -> type[Proxy]:
    """Return a class of proxies with a type's name and these of Python's own methods."""
    methods = {
        found: call if found == "__call__" else _special(found) for found in names
    }
    return type(name, (Proxy,), {"__slots__": (), **methods})
