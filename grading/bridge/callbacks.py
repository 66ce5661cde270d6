"""What the student's side sees of functions, modules and iterators that a test passes."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from torch import nn

#: What a proxy may have of Python's own methods. No comparison and no arithmetic: an object that
#: lies in `<` or `-` must not decide what a test says about it.
SPECIAL = (
    "__call__",
    "__len__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__iter__",
    "__next__",
    "__reversed__",
    "__enter__",
    "__exit__",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
)


class RemoteCallable:
    """A function of a test."""

    def __init__(self, peer: Any, number: int, name: str) -> None:
        self._wire_peer, self._wire_number, self.__name__ = peer, number, name

    def __call__(self, *arguments: object, **options: object) -> object:
        """Call it on the other side."""
        return ask(self, "call", *arguments, **options)


class RemoteIterator(RemoteCallable):
    """An iterator of a test."""

    def __iter__(self) -> RemoteIterator:
        return self

    def __next__(self) -> object:
        return ask(self, "next")


class RemoteModule(nn.Module):
    """A module of a test: it runs on the other side, where its parts and its mode are as well.

    The rest is nn.Module's own: train, eval, parameters, state_dict and so on.
    """

    def __init__(self, peer: Any, number: int, name: str) -> None:
        self.__dict__["_wire_peer"], self.__dict__["_wire_number"] = peer, number
        super().__init__()
        self.__dict__["_wire_ready"] = True

    def forward(self, *arguments: object, **options: object) -> object:
        """Call it on the other side."""
        return ask(self, "call", *arguments, **options)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return ask(self, "get", name)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return ask(self, "get", "training")

    @training.setter
    def training(self, mode: bool) -> None:
        if "_wire_ready" in self.__dict__:  # not while nn.Module makes itself
            ask(self, "set", "training", bool(mode))

    def __len__(self) -> int:
        return ask(self, "length")

    def __getitem__(self, index: object) -> object:
        return ask(self, "item", index)

    def __iter__(self) -> Iterator:
        return iter(self._modules.values())


def _parts(kind: str) -> property:
    def read(self: RemoteModule) -> MappingProxyType:
        return MappingProxyType(ask(self, "parts", kind))

    def write(self: RemoteModule, value: object) -> None:
        """nn.Module makes these empty; here they are the other side's."""

    return property(read, write)


for _kind in ("parameters", "buffers", "modules"):
    setattr(RemoteModule, f"_{_kind}", _parts(_kind))


def ask(remote: Any, what: str, *arguments: object, **options: object) -> object:
    """Have something done with an object of a test."""
    return remote._wire_peer.request(
        "use",
        {"call": [list(arguments), options]},
        target=remote._wire_number,
        what=what,
    )


def remote_number(value: object) -> int | None:
    """Return the number of an object of a test, or None."""
    if type(value) in (RemoteCallable, RemoteIterator, RemoteModule):
        return value._wire_number
    return None
