# Exported from book/06-decoder.ipynb by `make library`.
# Edit the chapter, not this file.

"""The whole Transformer, and greedy decoding (chapter 6)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.decoder import (
    Decoder,
    LayerCache,
    decoder_from_torch,
    decoder_to_torch,
    target_mask,
)
from transformer.encoder import (
    Encoder,
    check_dropout,
    check_positive,
    encoder_from_torch,
    encoder_to_torch,
    names_to_torch,
)
from transformer.positional import LearnedEncoding, SinusoidalEncoding, TokenEmbedding


class Transformer(nn.Module):
    """An encoder reads the source, a decoder writes the target.

    src_vocab_size, tgt_vocab_size: number of tokens. pad_id: the id of padding, in
    both.
    d_model, num_heads, d_ff, dropout, norm_first, activation: as in EncoderLayer;
    dropout is also applied to the sum of embedding and position.
    num_encoder_layers, num_decoder_layers: N of each stack. final_norm: as in Encoder.
    positions: "sinusoidal", "learned" (at most max_len of them) or "none".
    tie_output: the output projection is the target embedding's matrix.
    share_embeddings: source and target have one embedding, for a joint vocabulary.
    Raises ValueError for a size below 1, an unknown kind of positions, a pad_id outside
    the vocabularies, or shared embeddings of two different vocabularies.
    Source: Vaswani et al. (2017), section 3; the tied output: Press and Wolf
    (2017), section 3.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        pad_id: int,
        d_model: int = 512,
        num_heads: int = 8,
        d_ff: int = 2048,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dropout: float = 0.1,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        final_norm: bool | None = None,
        positions: str = "sinusoidal",
        max_len: int = 512,
        tie_output: bool = True,
        share_embeddings: bool = False,
    ):
        super().__init__()
        check_positive(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        check_dropout(dropout)
        if not 0 <= pad_id < min(src_vocab_size, tgt_vocab_size):
            raise ValueError(
                "pad_id: expected an id of both vocabularies, 0 to "
                f"{min(src_vocab_size, tgt_vocab_size) - 1}, got {pad_id}"
            )
        if share_embeddings and src_vocab_size != tgt_vocab_size:
            raise ValueError(
                "share_embeddings: expected one vocabulary size, got src_vocab_size ="
                f" {src_vocab_size} and tgt_vocab_size = {tgt_vocab_size}"
            )
        self.pad_id, self.d_model = pad_id, d_model
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model)
        self.tgt_embedding = (
            self.src_embedding
            if share_embeddings
            else TokenEmbedding(tgt_vocab_size, d_model)
        )
        self.positions = make_positions(positions, d_model, max_len)
        layer = {
            "d_model": d_model,
            "num_heads": num_heads,
            "d_ff": d_ff,
            "dropout": dropout,
            "norm_first": norm_first,
            "activation": activation,
            "final_norm": final_norm,
        }
        self.encoder = Encoder(num_encoder_layers, **layer)
        self.decoder = Decoder(num_decoder_layers, **layer)
        self.output_proj = nn.Linear(d_model, tgt_vocab_size, bias=False)
        if tie_output:
            self.output_proj.weight = (
                self.tgt_embedding.weight
            )  # one Parameter, two names
        else:
            nn.init.normal_(self.output_proj.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)

    def embed(self, ids: Tensor, embedding: TokenEmbedding, offset: int = 0) -> Tensor:
        """Embed, scale, add positions from offset on, drop: (B, T) -> (B, T, D)."""
        check_ids("ids", ids)
        x = embedding(ids)  # (B, T) -> (B, T, D)
        if self.positions is not None:
            x = self.positions(x, offset)
        return self.dropout(x)

    def encode(
        self, src: Tensor, src_mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Read the source: (B, S) -> memory (B, S, D).

        src_mask: as Encoder.forward's mask; None hides the padding.
        Returns memory, and with need_weights one (B, h, S, S) a layer, else None.
        Raises ValueError if src is not (B, S), or B or S is 0, or an id is unknown.
        """
        check_ids("src", src)
        if src_mask is None:
            src_mask = padding_mask(src, self.pad_id)  # (B, S) -> (B, 1, S)
        return self.encoder(self.embed(src, self.src_embedding), src_mask, need_weights)

    def init_cache(self, memory: Tensor, max_len: int) -> list[LayerCache]:
        """Prepare for decoding step by step; see Decoder.init_cache."""
        return self.decoder.init_cache(memory, max_len)

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor | None,
        memory_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        need_weights: bool = False,
        cache: list[LayerCache] | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]] | None]:
        """Return logits for the token after each of tgt: (B, T) -> (B, T, vocab).

        memory, memory_mask, cache: as in Decoder.forward. memory_mask is usually
        padding_mask(src, pad_id). tgt holds only the new tokens where there is a cache.
        tgt_mask: None means causal and, without a cache, no padding.
        Returns logits, and with need_weights the weights of Decoder.forward, else None.
        Raises ValueError if tgt is not (B, T), or B or T is 0, or does not fit into the
        cache.
        """
        check_ids("tgt", tgt)
        if tgt_mask is None and cache is None:
            tgt_mask = target_mask(tgt, self.pad_id)  # (B, T) -> (B, T, T)
        offset = cache[0].length if cache else 0
        x = self.embed(tgt, self.tgt_embedding, offset)
        x, weights = self.decoder(x, memory, tgt_mask, memory_mask, need_weights, cache)
        return self.output_proj(x), weights  # (B, T, D) -> (B, T, vocab)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits (B, T, vocab) for source (B, S) and the target (B, T) shifted
        right.

        Padding is hidden on both sides, and each position sees the target up to itself.
        Raises ValueError as encode and decode, or if the batch sizes differ.
        """
        check_ids("src", src)
        check_ids("tgt", tgt)
        if len(tgt) != len(src):
            raise ValueError(
                f"tgt: expected the batch size {len(src)} of src, got {len(tgt)}"
            )
        memory, _ = self.encode(src)
        logits, _ = self.decode(tgt, memory, padding_mask(src, self.pad_id))
        return logits


def make_positions(kind: str, d_model: int, max_len: int) -> nn.Module | None:
    """Return the module that adds positions of this kind, or None for "none".

    Source: Vaswani et al. (2017), section 3.5; learned: Gehring et al. (2017), section
    3.1.
    """
    if kind == "sinusoidal":
        return SinusoidalEncoding(d_model)
    if kind == "learned":
        return LearnedEncoding(max_len, d_model)
    if kind == "none":
        return None
    raise ValueError(
        f'positions: expected "sinusoidal", "learned" or "none", got {kind!r}'
    )


def check_ids(name: str, ids: Tensor) -> None:
    """Raise ValueError unless ids is an integer tensor (B, T) with B and T of at least
    1.

    Source: this course.
    """
    if ids.dim() != 2 or 0 in ids.shape:
        raise ValueError(
            f"{name}: expected token ids (B, T) of at least one sequence and one token,"
            f" got shape {tuple(ids.shape)}"
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name}: expected dtype torch.int64, got {ids.dtype}")


def transformer_from_torch(
    module: nn.Transformer,
    src_vocab_size: int,
    tgt_vocab_size: int,
    *,
    pad_id: int,
    **settings,
) -> Transformer:
    """Return a Transformer whose two stacks have a copy of the weights of
    nn.Transformer.

    Embeddings and output projection, which nn.Transformer does not have, are new.
    settings: the positions, max_len, tie_output and share_embeddings of Transformer.
    Raises ValueError as encoder_from_torch.
    Source: torch.nn.Transformer; Vaswani et al. (2017), section 3.
    """
    encoder, decoder = (
        encoder_from_torch(module.encoder),
        decoder_from_torch(module.decoder),
    )
    layer = encoder.layers[0]
    model = Transformer(
        src_vocab_size,
        tgt_vocab_size,
        pad_id=pad_id,
        d_model=encoder.d_model,
        num_heads=layer.self_attention.num_heads,
        d_ff=layer.feed_forward.d_ff,
        dropout=layer.dropout.p,
        num_encoder_layers=1,
        num_decoder_layers=1,
        **settings,
    )
    model.encoder, model.decoder = encoder, decoder
    return model.to(layer.norm1.weight).train(module.training)


def transformer_to_torch(model: Transformer) -> nn.Transformer:
    """Return nn.Transformer, batch first, with a copy of the two stacks' weights.

    Raises ValueError for a model without final norms, which nn.Transformer always has.
    Source: torch.nn.Transformer; Vaswani et al. (2017), section 3.
    """
    if model.encoder.norm is None or model.decoder.norm is None:
        raise ValueError(
            "model: expected final_norm=True, as nn.Transformer has, got none"
        )
    layer = model.encoder.layers[0]
    module = nn.Transformer(
        model.d_model,
        layer.self_attention.num_heads,
        dropout=layer.dropout.p,
        batch_first=True,
        custom_encoder=encoder_to_torch(model.encoder),
        custom_decoder=decoder_to_torch(model.decoder),
    ).to(layer.norm1.weight)
    # nn.Transformer draws new weights for the stacks that it is given: copy them again.
    module.encoder.load_state_dict(names_to_torch(model.encoder.state_dict()))
    module.decoder.load_state_dict(names_to_torch(model.decoder.state_dict()))
    return module.train(model.training)


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    src: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool = True,
) -> Tensor:
    """Write the likeliest next token, again and again, until each sentence has ended.

    src: (B, S). max_len: the most tokens to write, the end included.
    use_cache: False computes the whole target again at each step; the result is the
    same. Returns (B, T) with T <= max_len: what follows bos_id, eos_id included where
    it came, and model.pad_id after it. Padding is never written before the end. The
    model runs in eval mode and is left in the mode it was in. Raises ValueError for
    max_len below 1, for a bos_id or eos_id that is no word of the target, and for a src
    that the model refuses.
    Source: Vaswani et al. (2017), section 3 (auto-regressive).
    """
    check_positive(max_len=max_len)
    for name, token in (("bos_id", bos_id), ("eos_id", eos_id)):
        if not 0 <= token < model.tgt_embedding.vocab_size or token == model.pad_id:
            raise ValueError(
                f"{name}: expected an id in 0 to {model.tgt_embedding.vocab_size - 1}"
                f" other than pad_id = {model.pad_id}, got {token}"
            )
    was_training = model.training
    model.eval()
    try:
        memory, _ = model.encode(src)
        memory_mask = padding_mask(src, model.pad_id)
        cache = model.init_cache(memory, max_len) if use_cache else None
        written = torch.full(
            (len(src), 1), bos_id, dtype=torch.int64, device=src.device
        )
        ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
        for _ in range(max_len):
            new = written[:, -1:] if use_cache else written  # (B, 1), or (B, i)
            logits, _ = model.decode(new, memory, memory_mask, cache=cache)
            logits[:, -1, model.pad_id] = -torch.inf
            token = logits[:, -1].argmax(dim=-1)  # (B, T, vocab) -> (B,)
            token = token.masked_fill(ended, model.pad_id)
            written = torch.cat(
                [written, token[:, None]], dim=1
            )  # (B, i) -> (B, i + 1)
            ended = ended | (token == eos_id)
            if ended.all():
                break
        return written[:, 1:]
    finally:
        model.train(was_training)
