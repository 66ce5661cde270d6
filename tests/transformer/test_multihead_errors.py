"""Bad input to multi-head attention: a ValueError that names the argument, expected and got."""

import re

import pytest
import torch
from torch import nn

from transformer.multihead import (
    BatchedHeads,
    ListOfHeads,
    MultiHeadAttention,
    average_heads,
    from_torch,
    mask_keys,
    merge_heads,
    split_heads,
    to_torch,
)

B, H, T_Q, T_K, D = 2, 4, 3, 5, 8


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (8, 3),
            {},
            r"num_heads: expected a divisor of d_model = 8, got 3 \(remainder 2\)",
        ),
        ((8, 16), {}, "num_heads: expected a divisor of d_model = 8, got 16"),
        ((8, 0), {}, "num_heads: expected a positive number, got 0"),
        ((0, 1), {}, "d_model: expected a positive number, got 0"),
        ((8, 2), {"kdim": 0}, "kdim: expected a positive width or None, got 0"),
        ((8, 2), {"vdim": -1}, "vdim: expected a positive width or None, got -1"),
        ((8, 2), {"dropout": 1.0}, r"dropout: expected a share in \[0, 1\), got 1.0"),
        ((8, 2), {"dropout": -0.1}, r"dropout: expected a share in \[0, 1\), got -0.1"),
    ],
)
def test_bad_sizes(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(*arguments, **options)


@pytest.mark.parametrize("kind", [ListOfHeads, BatchedHeads])
def test_bad_sizes_of_the_other_two(kind):
    with pytest.raises(
        ValueError, match="num_heads: expected a divisor of d_model = 8, got 3"
    ):
        kind(8, 3)


@pytest.mark.parametrize(
    ("query", "key", "value", "message"),
    [
        (
            (B, T_Q, 7),
            (B, T_K, 6),
            (B, T_K, 9),
            "query: expected shape .*d_model = 8.*7",
        ),
        ((B, T_Q, D), (B, T_K, D), (B, T_K, 9), "key: expected shape .*kdim = 6.*8"),
        ((B, T_Q, D), (B, T_K, 6), (B, T_K, 6), "value: expected shape .*vdim = 9.*6"),
        ((T_Q, D), (B, T_K, 6), (B, T_K, 9), r"query: expected shape .*got \(3, 8\)"),
        ((B, T_Q, D), (B, T_K, 6), (B, H, T_K, 9), "value: expected shape .*got"),
        (
            (0, T_Q, D),
            (0, T_K, 6),
            (0, T_K, 9),
            r"query: expected at least one .*got.*\(0, 3, 8\)",
        ),
        ((B, 0, D), (B, T_K, 6), (B, T_K, 9), "query: expected at least one .*got"),
        ((B, T_Q, D), (B, 0, 6), (B, 0, 9), "key: expected at least one .*got"),
        (
            (B, T_Q, D),
            (1, T_K, 6),
            (B, T_K, 9),
            "key: expected the batch size 2 of query, got 1",
        ),
        (
            (B, T_Q, D),
            (B, T_K, 6),
            (3, T_K, 9),
            "value: expected the batch size 2 .*got 3",
        ),
        (
            (B, T_Q, D),
            (B, T_K, 6),
            (B, 4, 9),
            "value: expected the length T_k = 5 of key, got 4",
        ),
    ],
)
def test_bad_inputs(query, key, value, message):
    attention = MultiHeadAttention(D, H, kdim=6, vdim=9)
    with pytest.raises(ValueError, match=message):
        attention(torch.randn(query), torch.randn(key), torch.randn(value))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((B, T_K), "goes through mask_keys"),
        ((T_K, T_Q), ""),
        ((T_K,), ""),
        ((H, T_Q, T_K), r"needs four axes, mask\[None\]"),
        ((B * H, T_Q, T_K), r"mask.view\(B, h, T_q, T_k\)"),
        ((B, T_K, T_Q), ""),
        ((B, 3, T_Q, T_K), ""),
        ((H, B, T_Q, T_K), ""),
        ((1, B, H, T_Q, T_K), ""),
    ],
)
def test_bad_mask_shapes(shape, hint, need_weights):
    attention = MultiHeadAttention(D, H)
    query, memory = torch.randn(B, T_Q, D), torch.randn(B, T_K, D)
    mask = torch.ones(shape, dtype=torch.bool)
    message = rf"mask: expected .*\(2, 4, 3, 5\), got .*{hint}"
    with pytest.raises(ValueError, match=message) as caught:
        attention(query, memory, memory, mask, need_weights=need_weights)
    assert re.search(re.escape(f"got {tuple(shape)}"), str(caught.value))
    assert hint or ";" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_bad_mask_dtypes(dtype):
    attention, x = MultiHeadAttention(D, H), torch.randn(B, T_Q, D)
    for need_weights in (True, False):
        with pytest.raises(
            ValueError, match=f"mask: expected dtype torch.bool .*got {dtype}"
        ):
            attention(
                x, x, x, torch.ones(T_Q, T_Q, dtype=dtype), need_weights=need_weights
            )
    with pytest.raises(
        ValueError, match=f"may_attend: expected dtype torch.bool, got {dtype}"
    ):
        mask_keys(torch.ones(B, T_K, dtype=dtype))


def test_bad_shapes_of_the_helpers():
    with pytest.raises(
        ValueError, match=r"may_attend: expected shape \(B, T_k\), got \(2, 1, 5\)"
    ):
        mask_keys(torch.ones(B, 1, T_K, dtype=torch.bool))
    with pytest.raises(
        ValueError, match=r"x: expected shape \(B, T, D\), got \(3, 8\)"
    ):
        split_heads(torch.randn(T_Q, D), 2)
    with pytest.raises(
        ValueError, match=r"x: expected shape \(B, h, T, d_h\), got \(2, 3, 8\)"
    ):
        merge_heads(torch.randn(B, T_Q, D))
    with pytest.raises(ValueError, match=r"weights: expected shape .*got \(2, 3, 5\)"):
        average_heads(torch.randn(B, T_Q, T_K))


class Louder(MultiHeadAttention):
    """A subclass that computes something else from the same weights."""

    def attend(self, q, k, v, mask=None, need_weights=False):
        return super().attend(2 * q, k, v, mask, need_weights)


class TorchLouder(nn.MultiheadAttention):
    """The same of PyTorch's module."""


def test_converters_refuse_what_a_subclass_adds():
    with pytest.raises(
        ValueError, match=r"attention: expected a MultiHeadAttention .* got Louder"
    ):
        to_torch(Louder(D, H))
    with pytest.raises(
        ValueError, match=r"module: expected a MultiheadAttention .* got TorchLouder"
    ):
        from_torch(TorchLouder(D, H))


@pytest.mark.parametrize("training", [True, False])
def test_converters_keep_dropout_and_mode(training):
    module = nn.MultiheadAttention(D, H, dropout=0.3).train(training)
    attention = from_torch(module)
    back = to_torch(attention)
    assert (attention.dropout, attention.training) == (0.3, training)
    assert (back.dropout, back.training) == (0.3, training)
