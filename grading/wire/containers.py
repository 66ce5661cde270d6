"""Lists, dicts, sets and tensors among a call's arguments: what they hold, and what changed."""

from __future__ import annotations

import collections

import torch

from grading.wire.channel import WireError

CONTAINERS = (
    list,
    set,
    dict,
    collections.deque,
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
)
#: Deeper than that, what a function returned is no result but an attack or a cycle.
DEEPEST = 60


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
