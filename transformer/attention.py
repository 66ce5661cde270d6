# Exported from book/02-self-attention.ipynb by `make library`.
# Edit the chapter, not this file.

"""Scaled dot-product attention, its masks, and self-attention with one head (chapter
2).
"""

import math

import torch
from torch import Tensor, nn


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that a query may attend to; zeros where there are none.

    scores: (..., T_q, T_k).
    mask: boolean, broadcastable to scores, True = may attend; None allows all.
    Returns weights (..., T_q, T_k) whose rows sum to 1, or to 0 where the mask allows
    nothing. An allowed score that is NaN or +infinity makes its row NaN.
    Raises ValueError if mask is not boolean or does not broadcast to scores.
    Source: Vaswani et al. (2017), section 3.2.3 (masking by -inf); the rule for
    empty rows is that of torch.nn.functional.scaled_dot_product_attention.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    _check_mask(mask, scores.shape)
    empty = ~mask.any(dim=-1, keepdim=True)  # (..., T_q, T_k) -> (..., T_q, 1)
    scores = scores.masked_fill(~mask, -torch.inf)
    scores = scores.masked_fill(empty, 0.0)  # softmax of -inf alone would be NaN
    return torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)


def _check_mask(mask: Tensor, shape: torch.Size) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask: expected dtype torch.bool (True = may attend), got {mask.dtype}"
        )
    from_the_right = zip(mask.shape[::-1], shape[::-1], strict=False)
    fits = all(size in (1, wanted) for size, wanted in from_the_right)
    if mask.dim() > len(shape) or not fits:
        raise ValueError(
            f"mask: expected a shape broadcastable to the scores {tuple(shape)}, "
            f"got {tuple(mask.shape)}"
        )


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Let every query attend to the real tokens of its sequence, and to no padding.

    ids: (B, T) token ids. pad_id: the id that stands for padding.
    Returns a boolean mask (B, 1, T), True at real tokens, for scores (B, T_q, T).
    For scores with heads, (B, h, T_q, T), add the axis of the heads:
    padding_mask(...).unsqueeze(1) is (B, 1, 1, T).
    Raises ValueError if ids is not of shape (B, T).
    Source: Vaswani et al. (2017), section 3.2.3 (masking by -inf); the polarity is
    that of torch.nn.functional.scaled_dot_product_attention.
    """
    if ids.dim() != 2:
        raise ValueError(f"ids: expected shape (B, T), got {tuple(ids.shape)}")
    return (ids != pad_id).unsqueeze(1)  # (B, T) -> (B, 1, T)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well their keys match each query.

    query: (..., T_q, d_k). key: (..., T_k, d_k). value: (..., T_k, d_v).
    mask: boolean, broadcastable to (..., T_q, T_k), True = may attend; None allows all.
    Returns (output, weights) of shapes (..., T_q, d_v) and (..., T_q, T_k). A query
    that may attend to nothing gets zeros. Weights are those before any dropout.
    A forbidden key and value must be finite, since 0 times infinity is NaN; in float16
    scores above 65,504 overflow, and their row is NaN.
    Raises ValueError if the shapes do not fit, or if the mask is not boolean.
    Source: Vaswani et al. (2017), section 3.2.1, equation 1.
    """
    _check_shapes(query, key, value)
    d_k = query.shape[-1]
    # Dividing the query equals dividing the scores, with less work where T_k > d_k.
    # (..., T_q, d_k) @ (..., d_k, T_k) -> (..., T_q, T_k)
    scores = (query / math.sqrt(d_k)) @ key.transpose(-2, -1)
    weights = masked_softmax(scores, mask)
    # (..., T_q, T_k) @ (..., T_k, d_v) -> (..., T_q, d_v)
    return weights @ value, weights


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 2:
            raise ValueError(
                f"{name}: expected at least 2 dimensions (..., T, d), got shape "
                f"{tuple(tensor.shape)}"
            )
        if tensor.shape[:-2] != query.shape[:-2]:
            raise ValueError(
                f"{name}: expected the leading dimensions {tuple(query.shape[:-2])} "
                f"of query, got {tuple(tensor.shape[:-2])}"
            )
    if key.shape[-1] != query.shape[-1]:
        raise ValueError(
            f"key: expected the width d_k = {query.shape[-1]} of query, "
            f"got {key.shape[-1]}"
        )
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"value: expected the length T_k = {key.shape[-2]} of key, "
            f"got {value.shape[-2]}"
        )


class SelfAttention(nn.Module):
    """Attention with one head, and learned queries, keys and values.

    d_model: width of the vectors that come in. d_k: width of queries and keys.
    d_v: width of the values, and of what comes out.
    Raises ValueError for a width below 1.
    Source: Vaswani et al. (2017), section 3.2.1; projections: section 3.2.2, h = 1.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        for name, width in (("d_model", d_model), ("d_k", d_k), ("d_v", d_v)):
            if width < 1:
                raise ValueError(f"{name}: expected a positive width, got {width}")
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let each position of x attend to memory, or to x itself without a memory.

        x: (B, T_q, d_model). memory: (B, T_k, d_model).
        mask: boolean, broadcastable to (B, T_q, T_k), True = may attend.
        Returns (output, weights) of shapes (B, T_q, d_v) and (B, T_q, T_k).
        Raises ValueError if a width is not d_model, or if the mask does not fit.
        """
        memory = x if memory is None else memory
        for name, tensor in (("x", x), ("memory", memory)):
            if tensor.shape[-1] != self.W_q.in_features:
                raise ValueError(
                    f"{name}: expected the width d_model = {self.W_q.in_features}, "
                    f"got {tensor.shape[-1]}"
                )
        query = self.W_q(x)  # (B, T_q, d_model) -> (B, T_q, d_k)
        key = self.W_k(memory)  # (B, T_k, d_model) -> (B, T_k, d_k)
        value = self.W_v(memory)  # (B, T_k, d_model) -> (B, T_k, d_v)
        return scaled_dot_product_attention(query, key, value, mask)
