"""Dropout whose masks are cut out of a pool: on a CPU drawing them anew takes a fifth of a step."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from transformer.encoder import FeedForward

#: Elements of a pool; a tensor with more of them has its mask drawn anew.
POOL_SIZE = 2**23


class PooledDropout(nn.Dropout):
    """Dropout that multiplies by a random stretch of a pool of masks, drawn once for all.

    p: the share dropped. to_float32: whether the result is float32 whatever came in, as the
    residual stream is: PyTorch adds mixed types many times more slowly on a CPU.
    """

    def __init__(self, p: float, to_float32: bool = False):
        super().__init__(p)
        self.to_float32 = to_float32

    def forward(self, x: Tensor) -> Tensor:
        """Drop in training mode: any shape, which it keeps."""
        if not self.training or not self.p:
            return x
        x = x.float() if self.to_float32 else x
        if x.numel() >= POOL_SIZE:
            return super().forward(x)
        start = int(torch.randint(POOL_SIZE - x.numel(), ()))
        return x * _pool(self.p, x.dtype)[start : start + x.numel()].view(x.shape)


def pool_dropout(model: nn.Module) -> None:
    """Replace every nn.Dropout of a model by PooledDropout of the same share."""
    for module in list(model.modules()):
        inside = isinstance(
            module, FeedForward
        )  # between two matrix products, both in bf16
        for name, child in list(module.named_children()):
            if type(child) is nn.Dropout:
                setattr(module, name, PooledDropout(child.p, to_float32=not inside))


@functools.cache
def _pool(p: float, dtype: torch.dtype) -> Tensor:
    drawn = torch.rand(POOL_SIZE, generator=torch.Generator().manual_seed(0)) >= p
    return drawn.to(dtype) / (1 - p)
