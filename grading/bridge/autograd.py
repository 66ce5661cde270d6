"""Autograd across two processes: a backward pass here asks the side that computed a result."""

from __future__ import annotations

import contextlib

import torch

from grading.wire.channel import WireError
from grading.wire.tensors import DTYPES

#: What can be a default data type, by name.
DEFAULTS = frozenset(name for name, one in DTYPES.items() if one.is_floating_point)


class Bridge(torch.autograd.Function):
    """Results of the other side, as a function of the leaves that they depend on there."""

    @staticmethod
    def forward(ctx, token, raw, *inputs):
        """Return the results as they came."""
        ctx.token, ctx.count = token, len(inputs)
        ctx.set_materialize_grads(False)
        return tuple(raw)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *gradients):
        """Ask the other side for the gradients of the inputs."""
        found = ctx.token.backward(list(gradients))
        if (
            not isinstance(found, list)
            or len(found) != ctx.count
            or not all(part is None or type(part) is torch.Tensor for part in found)
        ):
            raise WireError("gradients that can't be read")
        return (None, None, *found)


def graph_leaves(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the leaves that tensors depend on."""
    found, seen = [], set()
    waiting = [tensor.grad_fn for tensor in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        waiting += [following for following, _ in node.next_functions]
    return found


class _NoGradients:
    """As torch.no_grad(), for a block that is entered often."""

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(torch.is_grad_enabled())
        torch._C._set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self.before.pop())


no_gradients = _NoGradients()


class Modes:
    """Has torch's modes and default data type as the other side has them, for a while."""

    def __init__(self, grad: bool, inference: bool, dtype: torch.dtype) -> None:
        self.grad, self.inference, self.dtype = grad, inference, dtype

    def __enter__(self) -> None:
        # What is done is undone where the rest can't be done.
        with contextlib.ExitStack() as stack:
            stack.callback(torch._C._set_grad_enabled, torch.is_grad_enabled())
            if torch.is_inference_mode_enabled() != self.inference:
                stack.enter_context(torch.inference_mode(self.inference))
            torch._C._set_grad_enabled(self.grad)
            if self.dtype is not torch.get_default_dtype():
                stack.callback(torch.set_default_dtype, torch.get_default_dtype())
                torch.set_default_dtype(self.dtype)
            self.undo = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self.undo.close()


def modes_of(message: dict) -> Modes:
    """Return the modes of the side that sends a message.

    Raises:
        WireError: if no side has such modes.

    """
    match message["modes"]:
        case [bool(grad), bool(inference), str(name)] if name in DEFAULTS:
            return Modes(grad, inference, DTYPES[name])
    raise WireError("modes that no process has")
