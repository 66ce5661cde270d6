"""Properties of transformer.attention, and its parity with PyTorch's own kernel."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.attention import (
    SelfAttention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)

settings.register_profile("attention", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("attention")

SIZE = st.integers(1, 6)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@st.composite
def inputs(draw, dtype=None):
    """Query, key, value with sizes of their own, and a mask of any broadcastable shape or None."""
    B, T_q, T_k, d_k, d_v = (draw(SIZE) for _ in range(5))
    dtype = dtype or draw(st.sampled_from(list(TOLERANCE)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    sizes = ((B, T_q, d_k), (B, T_k, d_k), (B, T_k, d_v))
    tensors = [torch.randn(size, generator=generator, dtype=dtype) for size in sizes]
    shape = draw(
        st.sampled_from([None, (T_q, T_k), (B, 1, T_k), (B, T_q, T_k), (T_q, 1), (1,)])
    )
    mask = None
    if shape is not None:
        share = draw(st.sampled_from([0.0, 0.5, 0.9]))  # at 0.0 every row is empty
        mask = torch.rand(shape, generator=generator) < share
    return *tensors, mask


def value_and_gradients(attention, tensors):
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    output = attention(*leaves)
    # Any upstream gradient will do, as long as it is not the same everywhere.
    upstream = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return output, *torch.autograd.grad(output, leaves, upstream)


@given(inputs())
def test_equals_pytorch_in_value_and_gradient(case):
    *tensors, mask = case
    ours = value_and_gradients(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0], tensors
    )
    theirs = value_and_gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), tensors
    )
    tolerance = TOLERANCE[tensors[0].dtype]
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, atol=tolerance, rtol=tolerance)


@pytest.mark.slow
@given(inputs(torch.float64))
def test_gradients_pass_gradcheck(case):
    *tensors, mask = case
    tensors = [tensor.requires_grad_() for tensor in tensors]
    assert torch.autograd.gradcheck(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), tensors
    )


@given(inputs(torch.float64))
def test_rows_sum_to_one_or_zero_and_forbidden_weights_are_exactly_zero(case):
    *tensors, mask = case
    output, weights = scaled_dot_product_attention(*tensors, mask)
    allowed = torch.ones_like(weights) > 0 if mask is None else mask.expand_as(weights)
    assert weights[~allowed].eq(0).all()
    expected = allowed.any(dim=-1).to(weights.dtype)
    torch.testing.assert_close(weights.sum(dim=-1), expected)
    assert output[~allowed.any(dim=-1)].eq(0).all()


@given(inputs(torch.float64))
def test_each_query_is_answered_by_itself(case):
    query, key, value, mask = case
    together, _ = scaled_dot_product_attention(query, key, value, mask)
    for i in range(query.shape[1]):
        row = mask
        if mask is not None and mask.dim() > 1 and mask.shape[-2] > 1:
            row = mask[..., i : i + 1, :]
        alone, _ = scaled_dot_product_attention(query[:, i : i + 1], key, value, row)
        torch.testing.assert_close(alone[:, 0], together[:, i])


@given(inputs())
def test_inputs_are_not_changed(case):
    before = [None if tensor is None else tensor.clone() for tensor in case]
    scaled_dot_product_attention(*case)
    for tensor, copy in zip(case, before, strict=True):
        assert tensor is None or torch.equal(tensor, copy)


@given(st.integers(1, 4), st.integers(1, 7), st.integers(1, 5), st.integers(0, 2**31))
def test_permutation_equivariance(B, T, D, seed):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    module = SelfAttention(D, 3, 4).double()
    x = torch.randn(B, T, D, generator=generator, dtype=torch.float64)
    order = torch.randperm(T, generator=generator)
    output, weights = module(x)
    shuffled, shuffled_weights = module(x[:, order])
    torch.testing.assert_close(shuffled, output[:, order])
    torch.testing.assert_close(shuffled_weights, weights[:, order][:, :, order])


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from([0, 1, 7, -1]),
    st.integers(0, 2**31),
)
def test_contents_and_length_of_padding_change_nothing(B, T, extra, pad_id, seed):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(10, 20, (B, T + extra), generator=generator)
    ids[:, T:] = pad_id
    x = torch.randn(B, T + extra, 6, generator=generator, dtype=torch.float64)
    rubbish = x.clone()
    rubbish[:, T:] = 1e6
    torch.manual_seed(0)
    module = SelfAttention(6, 4, 5).double()
    short, _ = module(x[:, :T])
    for padded in (x, rubbish):
        output, weights = module(padded, mask=padding_mask(ids, pad_id))
        torch.testing.assert_close(output[:, :T], short)
        assert weights[..., T:].eq(0).all()


def test_padding_mask_shape_and_polarity():
    mask = padding_mask(torch.tensor([[5, 6, 3], [5, 3, 3]]), pad_id=3)
    assert mask.tolist() == [[[True, True, False]], [[True, False, False]]]


def test_scale_is_the_root_of_d_k():
    query, key = torch.full((1, 1, 4), 2.0), torch.tensor([[[1.0] * 4, [0.0] * 4]])
    _, weights = scaled_dot_product_attention(query, key, torch.ones(1, 2, 1))
    difference = math.log(weights[0, 0, 0] / weights[0, 0, 1])
    assert difference == pytest.approx(8 / math.sqrt(4), rel=1e-5)


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_large_scores_stay_finite(size):
    scores = torch.tensor([[size, 0.0, -size]], requires_grad=True)
    weights = masked_softmax(scores)
    assert weights.tolist() == [[1, 0, 0]]
    weights[0, 0].backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_type_and_mask(dtype):
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        30 * torch.randn(2, 4, 8, generator=generator) for _ in range(3)
    )
    mask = torch.rand(2, 4, 4, generator=generator) < 0.5
    mask[0, 0] = False
    output, weights = scaled_dot_product_attention(
        query.to(dtype), key.to(dtype), value.to(dtype), mask
    )
    assert output.dtype == weights.dtype == dtype
    assert output.isfinite().all()
    assert weights[~mask].eq(0).all()
    assert output[0, 0].eq(0).all()


def test_an_empty_row_sends_back_no_gradient():
    tensors = [torch.randn(1, 2, 3, requires_grad=True) for _ in range(3)]
    mask = torch.tensor([[False, False], [True, True]])
    output, _ = scaled_dot_product_attention(*tensors, mask)
    gradients = torch.autograd.grad(output[0, 0].sum(), tensors)
    assert all(gradient.eq(0).all() for gradient in gradients)


def test_no_step_of_the_backward_pass_holds_a_nan():
    scores = torch.randn(2, 3, requires_grad=True)
    torch.autograd.set_detect_anomaly(
        True
    )  # raises where any backward step returns NaN
    try:
        masked_softmax(scores, torch.tensor([[False] * 3, [True] * 3]))[1, 0].backward()
    finally:
        torch.autograd.set_detect_anomaly(False)
    assert scores.grad[0].eq(0).all()


def test_masked_softmax_does_not_change_its_scores():
    scores = torch.randn(2, 3)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([[False] * 3, [True, False, True]]))
    assert torch.equal(scores, before)


def test_leading_dimensions_are_free():
    query, key, value = (
        torch.randn(2, 3, 4, 5),
        torch.randn(2, 3, 6, 5),
        torch.randn(2, 3, 6, 7),
    )
    output, weights = scaled_dot_product_attention(
        query, key, value, torch.ones(2, 1, 1, 6) > 0
    )
    assert output.shape == (2, 3, 4, 7)
    assert weights.shape == (2, 3, 4, 6)


def test_self_attention_reads_a_memory_of_another_length():
    module = SelfAttention(d_model=8, d_k=3, d_v=5)
    output, weights = module(torch.randn(2, 4, 8), memory=torch.randn(2, 6, 8))
    assert output.shape == (2, 4, 5)
    assert weights.shape == (2, 4, 6)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {
        "W_q.weight": (3, 8),
        "W_k.weight": (3, 8),
        "W_v.weight": (5, 8),
    }


Q, K, V = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4), torch.zeros(2, 5, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: scaled_dot_product_attention(Q, torch.zeros(2, 5, 3), V),
            r"key: expected the width d_k = 4 of query, got 3",
        ),
        (
            lambda: scaled_dot_product_attention(Q, K, torch.zeros(2, 4, 6)),
            r"value: expected the length T_k = 5 of key, got 4",
        ),
        (
            lambda: scaled_dot_product_attention(Q, torch.zeros(1, 5, 4), V),
            r"key: expected the leading dimensions \(2,\) of query, got \(1,\)",
        ),
        (
            lambda: scaled_dot_product_attention(Q[0, 0], K, V),
            r"query: expected at least 2 dimensions",
        ),
        (
            lambda: scaled_dot_product_attention(Q, K, V, torch.zeros(3, 5)),
            r"mask: expected dtype torch\.bool \(True = may attend\), got torch\.float32",
        ),
        (
            lambda: scaled_dot_product_attention(Q, K, V, torch.ones(5, 3) > 0),
            r"mask: expected a shape broadcastable to the scores \(2, 3, 5\), got \(5, 3\)",
        ),
        (
            lambda: scaled_dot_product_attention(Q, K, V, torch.ones(1, 2, 3, 5) > 0),
            r"mask: expected",
        ),
        (
            lambda: padding_mask(torch.zeros(3), 0),
            r"ids: expected shape \(B, T\), got \(3,\)",
        ),
        (lambda: SelfAttention(8, 0, 4), r"d_k: expected a positive width, got 0"),
        (
            lambda: SelfAttention(8, 4, 4)(torch.zeros(1, 2, 7)),
            r"x: expected the width d_model = 8, got 7",
        ),
        (
            lambda: SelfAttention(8, 4, 4)(torch.zeros(1, 2, 8), torch.zeros(1, 2, 9)),
            r"memory: expected the width d_model = 8, got 9",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
def test_exports_with_a_batch_and_a_length_of_any_size():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = SelfAttention(8, 4, 6)

        def forward(self, x, mask):
            return self.attention(x, mask=mask)

    def batch(B, T):
        mask = torch.ones(B, 1, T, dtype=torch.bool)
        mask[0, 0, T // 2 :] = False
        return torch.randn(B, T, 8), mask

    B, T = torch.export.Dim("B"), torch.export.Dim("T")
    layer = Layer()
    sizes = ({0: B, 1: T}, {0: B, 2: T})
    exported = torch.export.export(layer, batch(3, 5), dynamic_shapes=sizes).module()
    for sizes in ((2, 4), (7, 9), (1, 3)):
        x, mask = batch(*sizes)
        torch.testing.assert_close(exported(x, mask), layer(x, mask))


@pytest.mark.parametrize("endless", [math.inf, math.nan])
def test_forbidden_keys_and_values_must_be_finite(endless):
    """As the docstring says, and as PyTorch's function has it: 0 times infinity is NaN."""
    x = torch.randn(1, 3, 4)
    x[0, 2] = endless
    mask = torch.tensor([[True, True, False]])
    output, weights = scaled_dot_product_attention(x, x, x, mask)
    assert weights[0, :2, 2].eq(0).all()
    assert output.isnan().all()
    theirs = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    assert theirs[0, :2].isnan().all()


def test_float16_overflows_beyond_its_largest_number():
    """Entries of 100 at d_k = 64 make scores of 80,000; those of 80 make 51,200."""
    for size, overflows in ((100.0, True), (80.0, False)):
        x = torch.full((1, 2, 64), size, dtype=torch.float16)
        output, _ = scaled_dot_product_attention(x, x, x)
        assert output.isnan().all() == overflows
        wider = x.to(torch.bfloat16)
        assert scaled_dot_product_attention(wider, wider, wider)[0].isfinite().all()
