# Exported from book/06-decoder.ipynb by `make library`.
# Edit the chapter, not this file.

"""Causal masks, the key/value cache, the decoder layer and the decoder (chapter 6)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.encoder import (
    FeedForward,
    LayerNorm,
    check_positive,
    layer_settings,
    names_from_torch,
    names_to_torch,
    torch_layer_settings,
    torch_norm,
)
from transformer.multihead import MultiHeadAttention


def causal_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each position attend to itself and to what came before it.

    query_len: T_q. key_len: T_k, at least T_q; None means T_q. The queries are the last
    T_q of the T_k positions, so the last query sees every key. Returns a boolean mask
    (T_q, T_k), True = may attend. Raises ValueError for query_len below 1 or key_len
    below query_len.
    Source: Vaswani et al. (2017), section 3.2.3.
    """
    check_positive(query_len=query_len)
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError(
            f"key_len: expected at least query_len = {query_len}, got {key_len}"
        )
    full = torch.ones(query_len, key_len, dtype=torch.bool, device=device)
    return full.tril(diagonal=key_len - query_len)


def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Let each position attend to the real tokens up to itself: causal and padding
    mask.

    ids: (B, T) token ids. pad_id: the id that stands for padding.
    Returns a boolean mask (B, T, T), True = may attend.
    Raises ValueError if ids is not of shape (B, T).
    Source: Vaswani et al. (2017), section 3.2.3.
    """
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[-1], device=ids.device)


class LayerCache:
    """The keys and values of one decoder layer, for decoding step by step without
    gradients.

    memory_key, memory_value: (B, h, S, d_h), projected once. max_len: T, the most
    target positions; their keys and values take B h T d_h numbers each.
    Source: Shazeer (2019), section 2.4.
    """

    def __init__(self, memory_key: Tensor, memory_value: Tensor, max_len: int):
        batch_size, num_heads, _, d_head = memory_key.shape
        self.memory_key, self.memory_value = memory_key, memory_value
        self.key = memory_key.new_empty(batch_size, num_heads, max_len, d_head)
        self.value = torch.empty_like(self.key)
        self.length, self.max_len = 0, max_len

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store (B, h, T_new, d_h) after what is there; return all so far, (B, h, T,
        d_h).

        Raises ValueError if they do not fit into max_len.
        """
        end = self.length + key.shape[2]
        if end > self.max_len:
            raise ValueError(
                f"cache: expected at most max_len = {self.max_len} positions, got {end}"
            )
        self.key[:, :, self.length : end] = key
        self.value[:, :, self.length : end] = value
        self.length = end
        return self.key[:, :, :end], self.value[:, :, :end]

    def select(self, rows: Tensor) -> None:
        """Keep the sequences with these indices (B_new,), in this order; repeats are
        allowed.
        """
        for name in ("memory_key", "memory_value", "key", "value"):
            setattr(
                self, name, getattr(self, name)[rows]
            )  # (B, h, ...) -> (B_new, h, ...)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention and a feed-forward network, each with a
    residual.

    d_model: width D. num_heads: h. d_ff: inner width of the feed-forward network.
    dropout, norm_first, activation, eps: as in EncoderLayer.
    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
    ):
        super().__init__()
        self.d_model, self.norm_first = d_model, norm_first
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(
            d_model, d_ff, dropout=dropout, activation=activation
        )
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, eps) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Tensor, tuple[Tensor | None, Tensor | None]]:
        """Transform (B, T, D) -> (B, T, D); see Decoder.forward for the arguments.

        Returns the output, and the weights of self-attention (B, h, T, T_k) and of
        cross-attention (B, h, T, S) of this same pass, each None without need_weights.
        """

        def attend_to_itself(y):
            attention = self.self_attention
            if cache is None:
                return attention(y, y, y, tgt_mask, need_weights)
            key, value = cache.append(*attention.project_key_value(y, y))
            return attention.attend(
                attention.project_query(y), key, value, tgt_mask, need_weights
            )

        def attend_to_memory(y):
            attention = self.cross_attention
            if cache is None:
                return attention(y, memory, memory, memory_mask, need_weights)
            query = attention.project_query(y)
            key, value = cache.memory_key, cache.memory_value
            return attention.attend(query, key, value, memory_mask, need_weights)

        if self.norm_first:
            attended, self_weights = attend_to_itself(self.norm1(x))
            x = x + self.dropout(attended)
            attended, cross_weights = attend_to_memory(self.norm2(x))
            x = x + self.dropout(attended)
            x = x + self.dropout(self.feed_forward(self.norm3(x)))
        else:
            attended, self_weights = attend_to_itself(x)
            x = self.norm1(x + self.dropout(attended))
            attended, cross_weights = attend_to_memory(x)
            x = self.norm2(x + self.dropout(attended))
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
        return x, (self_weights, cross_weights)


class Decoder(nn.Module):
    """A stack of decoder layers, each of which looks at the same memory.

    num_layers: N. The rest is for each DecoderLayer; final_norm: as in Encoder.
    Raises ValueError for num_layers below 1.
    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
        final_norm: bool | None = None,
    ):
        super().__init__()
        check_positive(num_layers=num_layers)
        self.d_model = d_model
        self.layers = nn.ModuleList(
            DecoderLayer(
                d_model,
                num_heads,
                d_ff,
                dropout=dropout,
                norm_first=norm_first,
                activation=activation,
                eps=eps,
            )
            for _ in range(num_layers)
        )
        use_norm = norm_first if final_norm is None else final_norm
        self.norm = LayerNorm(d_model, eps) if use_norm else None

    def init_cache(self, memory: Tensor, max_len: int) -> list[LayerCache]:
        """Project memory (B, S, D) for each layer, and make room for max_len positions.

        Raises ValueError for max_len below 1.
        """
        check_positive(max_len=max_len)
        return [
            LayerCache(
                *layer.cross_attention.project_key_value(memory, memory), max_len
            )
            for layer in self.layers
        ]

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = False,
        cache: list[LayerCache] | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]] | None]:
        """Transform (B, T, D) -> (B, T, D).

        memory: (B, S, D), the output of the encoder's last layer; with a cache it is
        not read.
        tgt_mask: boolean, True = may attend, broadcastable to (B, h, T, T_k); None
        means causal.
        memory_mask: the same to (B, h, T, S); padding_mask(src, pad_id), which is (B,
        1, S), hides the padding of the source.
        cache: from init_cache; x holds the positions after those that are in it, and
        T_k counts both. Without a cache T_k = T. Returns the output, and with
        need_weights for each layer the weights of self-attention (B, h, T, T_k) and of
        cross-attention (B, h, T, S), else None. Raises ValueError for a shape that does
        not fit, or more positions than the cache holds.
        """
        self._check(x, memory, cache)
        seen = cache[0].length if cache else 0
        if tgt_mask is None:
            tgt_mask = causal_mask(x.shape[1], seen + x.shape[1], device=x.device)
        all_weights = []
        for i, layer in enumerate(self.layers):
            layer_cache = cache[i] if cache else None
            x, weights = layer(
                x, memory, tgt_mask, memory_mask, need_weights, layer_cache
            )
            all_weights.append(weights)
        if self.norm is not None:
            x = self.norm(x)
        return x, all_weights if need_weights else None

    def _check(
        self, x: Tensor, memory: Tensor | None, cache: list[LayerCache] | None
    ) -> None:
        if x.dim() != 3 or x.shape[-1] != self.d_model or 0 in x.shape:
            raise ValueError(
                f"x: expected shape (B, T, d_model = {self.d_model}), got"
                f" {tuple(x.shape)}"
            )
        if cache is None:
            if memory is None:
                raise ValueError(
                    "memory: expected the encoder's output or a cache, got neither"
                )
            if (
                memory.dim() != 3
                or len(memory) != len(x)
                or memory.shape[-1] != self.d_model
            ):
                raise ValueError(
                    f"memory: expected shape (B = {len(x)}, S, d_model ="
                    f" {self.d_model}), got {tuple(memory.shape)}"
                )
            return
        if len(cache) != len(self.layers):
            raise ValueError(
                f"cache: expected one for each of {len(self.layers)} layers, got"
                f" {len(cache)}"
            )
        first = cache[0]
        if len(x) != len(first.key):
            raise ValueError(
                f"x: expected the cache's batch size {len(first.key)}, got {len(x)}"
            )
        if first.length + x.shape[1] > first.max_len:
            raise ValueError(
                f"x: expected at most {first.max_len - first.length} more positions"
                f" (max_len = {first.max_len}, {first.length} in the cache), got"
                f" {x.shape[1]}"
            )


def decoder_from_torch(module: nn.TransformerDecoder) -> Decoder:
    """Return a Decoder with a copy of the weights of PyTorch's; batch first in either
    case.

    Raises ValueError for layers without biases, or layers of different kinds.
    Source: torch.nn.TransformerDecoder; Vaswani et al. (2017), section 3.1.
    """
    decoder = Decoder(len(module.layers), **layer_settings(module))
    decoder.to(module.layers[0].linear1.weight)
    decoder.load_state_dict(names_from_torch(module.state_dict()))
    return decoder.train(module.training)


def decoder_to_torch(decoder: Decoder) -> nn.TransformerDecoder:
    """Return PyTorch's decoder, batch first, with a copy of a Decoder's weights.

    Source: torch.nn.TransformerDecoder; Vaswani et al. (2017), section 3.1.
    """
    module = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(**torch_layer_settings(decoder)),
        len(decoder.layers),
        norm=torch_norm(decoder),
    )
    module.to(decoder.layers[0].norm1.weight)
    module.load_state_dict(names_to_torch(decoder.state_dict()))
    return module.train(decoder.training)
