"""How a tensor lies in memory that both processes have, and what stands for it there."""

from __future__ import annotations

import math

import torch

from grading.wire.channel import WireError
from grading.wire.storages import Storages

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
#: A small view of a memory larger than this travels alone, without what else is in that memory.
LARGE = 16 << 20


def end_of(tensor: torch.Tensor) -> int:
    """Return the bytes of memory up to a tensor's last number."""
    if tensor.is_contiguous():
        return tensor.storage_offset() * tensor.itemsize + tensor.nbytes
    last = sum(
        (n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)
    )
    return (tensor.storage_offset() + last + 1) * tensor.itemsize


def describe(tensor: torch.Tensor, storage_id: int) -> dict:
    """Return how a tensor lies in a memory."""
    shape, offset = tensor.shape, tensor.storage_offset()
    entry = {"s": storage_id, "dt": NAMES[tensor.dtype], "sh": shape}
    # An axis of length 0 or 1 may have any stride.
    if offset or not tensor.is_contiguous() or min(shape, default=2) < 2:
        entry.update(st=tensor.stride(), of=offset)
    return entry


def rebuild(entry: dict, storages: Storages, max_bytes: int) -> torch.Tensor:
    """Return the tensor of a description, without a gradient.

    Raises:
        WireError: if it does not fit into its memory.

    """
    shape, stride, offset = entry.get("sh"), entry.get("st"), entry.get("of", 0)
    dtype, number = DTYPES.get(str(entry.get("dt"))), entry.get("s")
    storage = storages.get(number)
    if (
        dtype is None
        or storage is None
        or not all_sizes(shape)
        or not (stride is None or (all_sizes(stride) and len(stride) == len(shape)))
        or not all_sizes([offset])
    ):
        raise WireError("a tensor that can't be read")
    count = math.prod(shape)
    last = count - 1
    if stride is not None:
        last = sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if count * dtype.itemsize > max_bytes or (
        count and (offset + last + 1) * dtype.itemsize > storage.nbytes()
    ):
        raise WireError("a tensor that does not fit into its memory")
    if count * dtype.itemsize > LARGE + 2 * storage.nbytes():
        # An expanded one costs its sender nothing, and a test hours that can't be interrupted.
        raise WireError("a tensor far larger than its memory")
    storages.named.add(number)
    tensor = torch.empty(0, dtype=dtype)
    if stride is None:
        tensor.set_(storage, offset if count else 0, shape)
    else:
        tensor.set_(storage, offset if count else 0, shape, stride)
    if count and not storages.shows(entry["s"], tensor):
        raise WireError("a tensor in memory that it was not given")
    if dtype is torch.bool:
        storages.note_booleans(entry["s"], tensor)
        storages.check_booleans(entry["s"])
    return tensor


def all_sizes(numbers: object) -> bool:
    """Tell whether part of a message is a list of sizes, strides or places that can be."""
    if type(numbers) is not list or len(numbers) > 64:
        return False
    for (
        number
    ) in numbers:  # not by all(): asked of each tensor, which costs a generator
        if type(number) is int and 0 <= number < 1 << 40:
            continue
        return False
    return True


class _Same(torch.autograd.Function):
    """The same numbers in the same memory, as something that was computed from a leaf."""

    @staticmethod
    def forward(ctx, leaf, held):
        """Return the tensor that is held in a list: so autograd does not take it for a view."""
        return held[0]

    @staticmethod
    def backward(ctx, gradient):
        """Hand the gradient on."""
        return gradient, None


def stand_in(
    entry: dict, storages: Storages, max_bytes: int, number: int
) -> torch.Tensor:
    """Return what stands here for the other side's tensor with a history.

    It is no leaf either, so code may change it in place. Gradients arrive at its `_wire_leaf`.
    """
    leaf = rebuild(entry, storages, max_bytes).requires_grad_()
    with torch.enable_grad():
        made = _Same.apply(leaf, [rebuild(entry, storages, max_bytes)])
    made._wire_leaf, made._wire_history = leaf, made.grad_fn
    made._wire_sent = leaf._wire_sent = number
    return made
