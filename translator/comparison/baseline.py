"""nn.Transformer in our model's place, for a comparison in the same conditions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transformer.decoder import causal_mask, decoder_from_torch
from transformer.encoder import encoder_from_torch
from transformer.model import Transformer, transformer_to_torch


class TorchTransformer(nn.Module):
    """Our embeddings, positions and output around PyTorch's two stacks.

    model: a Transformer with final norms, whose stacks are taken over, weights included; it must
    not be used afterwards.
    """

    def __init__(self, model: Transformer):
        super().__init__()
        self.stacks = transformer_to_torch(model)
        self.shell = model
        del model.encoder, model.decoder

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits (B, T, V) for source (B, S) and the target (B, T) shifted right."""
        shell = self.shell
        src_padding, tgt_padding = (
            src == shell.pad_id,
            tgt == shell.pad_id,
        )  # True = hidden
        hidden = self.stacks(
            shell.embed(src, shell.src_embedding),
            shell.embed(tgt, shell.tgt_embedding),
            tgt_mask=~causal_mask(tgt.shape[1], device=tgt.device),
            src_key_padding_mask=src_padding,
            tgt_key_padding_mask=tgt_padding,
            memory_key_padding_mask=src_padding,
        )
        return shell.output_proj(hidden)  # (B, T, D) -> (B, T, V)

    @torch.no_grad()
    def to_ours(self) -> Transformer:
        """Return a Transformer with these weights, to decode with; this one is used up."""
        model = self.shell
        model.encoder = encoder_from_torch(self.stacks.encoder)
        model.decoder = decoder_from_torch(self.stacks.decoder)
        return model
