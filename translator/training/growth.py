"""Begin with a trained translator's weights; layers that it lacks change nothing at first."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from transformer.decoder import DecoderLayer
from transformer.encoder import EncoderLayer
from translator.config import ModelConfig
from translator.data.tokenizer import Tokenizer
from translator.decoding.model_folder import Translator
from translator.errors import TrainingError
from translator.training import checkpoints


def grow(
    model: nn.Module, sizes: ModelConfig, tokenizer: Tokenizer, translator: Translator
) -> dict[str, Any]:
    """Give a model the translator's weights, in place; return where they are from, for records.

    Layers that it lacks come on top of its own and add nothing at first, so that the deeper
    model begins as the same function (Chen et al. 2016, "Net2Net").
    sizes, tokenizer: the model's. Raises TrainingError where the translator's vocabulary or sizes
    are others, where it has more layers, or where it has fewer and norm_first is false.
    """
    if translator.tokenizer.to_json() != tokenizer.to_json():
        raise TrainingError(
            "the translator to start from has another vocabulary than the data: prepare "
            "them again with --vocabulary and its folder"
        )
    weights = translator.model.state_dict()
    old = translator.config.model
    more = " ".join(
        f"--set model.{name}={getattr(old, name)}"
        for name in ("num_encoder_layers", "num_decoder_layers")
        if getattr(old, name) > getattr(sizes, name)
    )
    if more:
        raise TrainingError(f"the translator to start from has more layers: {more}")
    added = [
        *model.encoder.layers[old.num_encoder_layers :],
        *model.decoder.layers[old.num_decoder_layers :],
    ]
    if added and not sizes.norm_first:
        raise TrainingError(
            "the translator to start from has fewer layers: with model.norm_first = false "
            "new ones would change what it computes"
        )
    for layer in added:
        begin_as_identity(layer)
    grown = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if name not in weights and added
    }
    try:
        model.load_state_dict({**grown, **weights})
    except RuntimeError as error:  # PyTorch names what differs, a line each
        first = " ".join(str(error).splitlines()[1:2]).strip()
        raise TrainingError(
            f"the translator to start from has other sizes: {first}"
        ) from None
    return {
        "config": translator.config.to_dict(),
        "weights": checkpoints.digest(weights),
    }


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
