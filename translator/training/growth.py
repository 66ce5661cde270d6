"""Layers that are added to a trained model and change nothing until they are trained."""

from __future__ import annotations

import torch

from transformer.decoder import DecoderLayer
from transformer.encoder import EncoderLayer


@torch.no_grad()
def begin_as_identity(layer: EncoderLayer | DecoderLayer) -> None:
    """Set what each sublayer adds to the residual stream to zero, by its last projection.

    The layer must be pre-norm: post-norm would still normalise the sum. The other weights stay
    random, so that the last projections get gradients at once, and these get theirs from them.
    """
    last = [layer.self_attention.out_proj, layer.feed_forward.linear2]
    if isinstance(layer, DecoderLayer):
        last.append(layer.cross_attention.out_proj)
    for projection in last:
        projection.weight.zero_()
        projection.bias.zero_()
