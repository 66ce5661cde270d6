"""Positions: sinusoids, rotations, learned vectors, rotary and biased attention, embeddings."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from transformer.decoder import Decoder
from transformer.positional import (
    BiasedAttention,
    LearnedEncoding,
    RelativeBias,
    RotaryAttention,
    SinusoidalEncoding,
    TokenEmbedding,
    alibi_bias,
    frequencies,
    rotary,
    rotation_matrix,
    sinusoidal_encoding,
)

torch.set_num_threads(1)
exam = settings(max_examples=50, deadline=None, derandomize=True)

widths = st.integers(1, 33)  # odd and even
even_widths = st.integers(1, 16).map(lambda half: 2 * half)
bases = st.sampled_from([10000.0, 100.0, 2.0, 500000.0])
seeds = st.integers(0, 10_000)


def by_formula(pos, d_model, base=10000.0):
    """One row of the encoding by Python's own mathematics, column by column."""
    row = []
    for column in range(d_model):
        angle = pos / base ** (2 * (column // 2) / d_model)
        row.append(math.cos(angle) if column % 2 else math.sin(angle))
    return torch.tensor(row, dtype=torch.float64)


def draw(seed, *shape, dtype=torch.float64):
    return torch.randn(
        shape, generator=torch.Generator().manual_seed(seed), dtype=dtype
    )


# Sinusoids


@exam
@given(
    length=st.integers(0, 12), d_model=widths, offset=st.integers(0, 5000), base=bases
)
def test_each_entry_is_the_formula(length, d_model, offset, base):
    table = sinusoidal_encoding(
        length, d_model, offset=offset, base=base, dtype=torch.float64
    )
    assert table.shape == (length, d_model)
    for i in range(length):
        assert_close(
            table[i], by_formula(offset + i, d_model, base), rtol=0, atol=1e-10
        )


@exam
@given(d_model=widths, base=bases)
def test_frequencies_belong_to_pairs(d_model, base):
    omega = frequencies(d_model, base)
    assert omega.shape == (math.ceil(d_model / 2),)
    assert omega.dtype == torch.float64
    assert omega[0] == 1
    for i, value in enumerate(omega.tolist()):
        assert math.isclose(value, base ** (-2 * i / d_model), rel_tol=1e-12)


@pytest.mark.parametrize("d_model", [2, 4, 16, 64, 512])
def test_wavelengths_end_short_of_the_base(d_model):
    wavelengths = 2 * math.pi / frequencies(d_model)
    assert math.isclose(wavelengths[0], 2 * math.pi)
    longest = 2 * math.pi * 10000 ** ((d_model - 2) / d_model)
    assert math.isclose(wavelengths[-1], longest, rel_tol=1e-12)
    assert longest < 10000 * 2 * math.pi
    for i, shift in enumerate(
        wavelengths.tolist()
    ):  # a full turn of pair i, and of no other
        block = rotation_matrix(shift, d_model)[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
        assert_close(block, torch.eye(2, dtype=torch.float64), rtol=0, atol=1e-9)


@exam
@given(d_model=widths, offset=st.integers(0, 300), length=st.integers(0, 20))
def test_offset_is_a_slice_of_a_longer_table(d_model, offset, length):
    whole = sinusoidal_encoding(offset + length + 3, d_model)
    part = sinusoidal_encoding(length, d_model, offset=offset)
    assert torch.equal(part, whole[offset : offset + length])


def test_float32_is_exact_far_out():
    """Angles in float32 would be off by more than 1e-3 at these positions."""
    table = sinusoidal_encoding(3, 8, offset=100_000)
    assert table.dtype == torch.float32
    for i in range(3):
        assert_close(table[i].double(), by_formula(100_000 + i, 8), rtol=0, atol=1e-6)


@exam
@given(
    d_model=even_widths,
    pos=st.integers(0, 2000),
    k=st.integers(-2000, 2000),
    base=bases,
)
def test_a_step_is_a_rotation(d_model, pos, k, base):
    k = max(k, -pos)
    start = by_formula(pos, d_model, base)
    R = rotation_matrix(k, d_model, base=base)
    assert R.shape == (d_model, d_model)
    wanted = by_formula(pos + k, d_model, base)
    assert_close(R @ start, wanted, rtol=0, atol=1e-10)
    assert_close(start @ R.T, wanted, rtol=0, atol=1e-10)


@exam
@given(d_model=even_widths, k=st.integers(-500, 500), m=st.integers(-500, 500))
def test_rotations_add_up(d_model, k, m):
    both = rotation_matrix(k, d_model) @ rotation_matrix(m, d_model)
    assert_close(both, rotation_matrix(k + m, d_model), rtol=0, atol=1e-10)
    assert_close(
        rotation_matrix(-k, d_model), rotation_matrix(k, d_model).T, rtol=0, atol=1e-12
    )
    assert_close(
        rotation_matrix(0, d_model), torch.eye(d_model).double(), rtol=0, atol=0
    )
    # A rotation mixes the two features of a pair, and nothing else.
    pair = torch.arange(d_model) // 2
    assert not rotation_matrix(k, d_model)[pair[:, None] != pair].any()


def test_the_popular_wrong_rotations_fail():
    start, wanted = by_formula(7, 8), by_formula(10, 8)
    R = rotation_matrix(3, 8)
    assert not torch.allclose(R.T @ start, wanted, atol=0.1)  # minus on the other sine
    assert_close(
        R.T @ start, by_formula(4, 8), rtol=0, atol=1e-10
    )  # it walks backwards
    assert not torch.allclose(
        R.roll((1, 1), (0, 1)) @ start, wanted, atol=0.1
    )  # neighbours


@exam
@given(
    d_model=even_widths,
    p=st.integers(0, 900),
    q=st.integers(0, 900),
    k=st.integers(0, 900),
)
def test_dot_product_depends_on_the_distance_only(d_model, p, q, k):
    table = sinusoidal_encoding(1801, d_model, dtype=torch.float64)
    wanted = torch.cos(k * frequencies(d_model)).sum()
    assert_close(table[p] @ table[p + k], wanted, rtol=0, atol=1e-10)
    assert_close(table[q] @ table[q + k], wanted, rtol=0, atol=1e-10)


# The module that adds sinusoids


@exam
@given(
    batch=st.integers(1, 3),
    length=st.integers(1, 9),
    d_model=widths,
    offset=st.integers(0, 1200),
    base=bases,
    seed=seeds,
)
def test_sinusoids_are_added_in_and_beyond_the_table(
    batch, length, d_model, offset, base, seed
):
    x = draw(seed, batch, length, d_model, dtype=torch.float32)
    before = x.clone()
    output = SinusoidalEncoding(d_model, base=base)(x, offset)
    assert_close(
        output, x + sinusoidal_encoding(length, d_model, offset=offset, base=base)
    )
    assert torch.equal(x, before), "x is not changed"


def test_the_table_grows_when_needed_and_keeps_its_values():
    positions = SinusoidalEncoding(6)
    first = positions(torch.zeros(1, 20, 6))
    rows = len(positions.table)
    positions(torch.zeros(1, rows, 6))
    assert len(positions.table) == rows, "a table that is long enough stays"
    whole = positions(torch.zeros(1, rows + 1, 6))
    assert len(positions.table) > rows
    assert torch.equal(whole[:, :20], first)
    assert_close(whole[0], sinusoidal_encoding(rows + 1, 6))
    assert torch.equal(
        positions(torch.zeros(1, 1, 6), offset=rows)[0, 0], whole[0, rows]
    )


@exam
@given(
    length=st.integers(1, 12), d_model=widths, start=st.sampled_from([0, 3, 508, 2000])
)
def test_step_by_step_is_the_whole_at_once(length, d_model, start):
    positions = SinusoidalEncoding(d_model)
    x = draw(length, 2, length, d_model, dtype=torch.float32)
    whole = SinusoidalEncoding(d_model)(x, start)
    steps = [positions(x[:, t : t + 1], start + t) for t in range(length)]
    assert torch.equal(torch.cat(steps, dim=1), whole)


def test_nothing_of_it_is_in_a_checkpoint():
    positions = SinusoidalEncoding(6)
    positions(torch.zeros(1, 2000, 6))  # beyond the first table as well
    assert positions.state_dict() == {}
    assert list(positions.parameters()) == []
    SinusoidalEncoding(6).load_state_dict(positions.state_dict())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_it_moves_to_another_dtype(dtype):
    positions = SinusoidalEncoding(6).to(dtype)
    for length in (3, 700):  # before and after growth
        output = positions(torch.zeros(1, length, 6, dtype=dtype))
        assert output.dtype == dtype
        assert positions.table.dtype == torch.promote_types(dtype, torch.float32)
        assert_close(
            output[0].float(), sinusoidal_encoding(length, 6), rtol=0, atol=5e-3
        )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_round_trip_through_another_dtype_loses_nothing(dtype):
    positions = SinusoidalEncoding(6)
    before = positions.table.clone()
    assert torch.equal(positions.to(dtype).float().table, before)


def test_made_on_no_device_it_still_has_its_table():
    with torch.device("meta"):
        positions = SinusoidalEncoding(6)
    positions.to_empty(device="cpu")
    positions.load_state_dict({})
    x = torch.zeros(1, 5, 6)
    assert_close(positions(x)[0], sinusoidal_encoding(5, 6))


def test_far_out_it_computes_what_is_asked_for_and_no_more():
    positions = SinusoidalEncoding(6)
    x = torch.zeros(2, 3, 6)
    assert_close(positions(x, 200_000)[0], sinusoidal_encoding(3, 6, offset=200_000))
    assert len(positions.table) == 512


def test_it_keeps_the_dtype_of_x():
    output = SinusoidalEncoding(6)(torch.zeros(1, 3, 6, dtype=torch.bfloat16))
    assert output.dtype == torch.bfloat16


def test_it_moves_to_another_device():
    positions = SinusoidalEncoding(6).to("meta")  # a device that every machine has
    for length in (3, 700):
        assert positions(torch.zeros(1, length, 6, device="meta")).device.type == "meta"
        assert positions.table.device.type == "meta"


# Learned positions


@exam
@given(
    batch=st.integers(1, 3),
    length=st.integers(1, 8),
    offset=st.integers(0, 5),
    spare=st.integers(0, 4),
    d_model=widths,
    seed=seeds,
)
def test_learned_positions_are_an_embedding_of_the_index(
    batch, length, offset, spare, d_model, seed
):
    torch.manual_seed(seed)
    ours = LearnedEncoding(offset + length + spare, d_model).double()
    theirs = nn.Embedding(offset + length + spare, d_model).double()
    theirs.load_state_dict(ours.state_dict())
    x = draw(seed, batch, length, d_model).requires_grad_()
    before = x.detach().clone()
    output = ours(x, offset)
    expected = x + theirs(torch.arange(offset, offset + length))
    assert_close(output, expected, rtol=0, atol=1e-12)
    weight = draw(seed + 1, *output.shape)
    grads = torch.autograd.grad((output * weight).sum(), (x, ours.weight))
    wanted = torch.autograd.grad((expected * weight).sum(), (x, theirs.weight))
    for grad, want in zip(grads, wanted, strict=True):
        assert_close(grad, want, rtol=0, atol=1e-12)
    assert torch.equal(x.detach(), before)


@exam
@given(max_len=st.integers(1, 9), beyond=st.integers(1, 4), offset=st.integers(0, 12))
def test_learned_positions_end_with_their_table(max_len, beyond, offset):
    positions = LearnedEncoding(max_len, 4)
    positions(torch.zeros(2, max_len, 4))
    length = max(1, max_len + beyond - offset)
    with pytest.raises(ValueError, match=rf"max_len = {max_len}.*got {offset} to"):
        positions(torch.zeros(2, length, 4), offset)


def test_learned_positions_are_small_at_first():
    torch.manual_seed(0)
    assert abs(LearnedEncoding(500, 64).weight.std().item() - 0.02) < 0.001


# Embeddings


@exam
@given(
    vocab=st.integers(1, 12),
    d_model=widths,
    batch=st.integers(1, 3),
    length=st.integers(0, 6),
    seed=seeds,
)
def test_embedding_is_the_row_times_the_root_of_the_width(
    vocab, d_model, batch, length, seed
):
    torch.manual_seed(seed)
    embed = TokenEmbedding(vocab, d_model)
    ids = torch.randint(vocab, (batch, length))
    before = ids.clone()
    output = embed(ids)
    assert output.shape == (batch, length, d_model)
    assert_close(output, embed.weight[ids] * math.sqrt(d_model))
    assert torch.equal(embed(ids.int()), output)
    assert torch.equal(ids, before)


@pytest.mark.parametrize("d_model", [16, 64, 256])
def test_a_scaled_embedding_has_entries_of_variance_one(d_model):
    torch.manual_seed(0)
    embed = TokenEmbedding(2000, d_model)
    assert abs(embed.weight.var().item() * d_model - 1) < 0.05
    assert abs(embed(torch.arange(2000)).var().item() - 1) < 0.05


@pytest.mark.parametrize("ids", [[[0, 5]], [[0, -1]], [[7, 8, 9]]])
def test_unknown_ids_are_refused(ids):
    low, high = min(ids[0]), max(ids[0])
    with pytest.raises(ValueError, match=rf"ids: .* in 0 to 4, got {low} to {high}"):
        TokenEmbedding(5, 4)(torch.tensor(ids))


# Rotary positions


@exam
@given(
    length=st.integers(1, 9),
    d_head=even_widths,
    offset=st.integers(0, 2000),
    base=bases,
    seed=seeds,
)
def test_rotary_turns_each_row_by_its_rotation_matrix(
    length, d_head, offset, base, seed
):
    x = draw(seed, 2, 3, length, d_head)  # (B, h, T, d_h)
    before = x.clone()
    output = rotary(x, offset, base=base)
    for t in range(length):
        R = rotation_matrix(offset + t, d_head, base=base)
        assert_close(output[:, :, t], x[:, :, t] @ R, rtol=0, atol=1e-9)
    assert_close(output.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-10)
    assert torch.equal(x, before)


@exam
@given(
    length=st.integers(1, 8), d_head=even_widths, shift=st.integers(0, 3000), seed=seeds
)
def test_rotary_scores_depend_on_the_distance_only(length, d_head, shift, seed):
    q, k = draw(seed, 2, length, d_head)
    scores = rotary(q) @ rotary(k).T
    moved = rotary(q, shift) @ rotary(k, shift).T
    assert_close(moved, scores, rtol=0, atol=1e-9)
    for i in range(length):
        for j in range(length):
            by_distance = q[i] @ rotation_matrix(i - j, d_head) @ k[j]
            assert_close(scores[i, j], by_distance, rtol=0, atol=1e-9)


def test_rotary_at_position_zero_and_its_handedness():
    x = draw(0, 1, 6)
    assert torch.equal(rotary(x), x)
    one = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    assert_close(rotary(one)[1], torch.tensor([math.cos(1), math.sin(1)]).double())


@exam
@given(length=st.integers(1, 6), d_head=even_widths, seed=seeds)
def test_rotary_is_the_product_of_complex_numbers(length, d_head, seed):
    x = draw(seed, length, d_head)
    angles = torch.arange(length)[:, None] * frequencies(d_head)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * angles)
    assert_close(rotary(x), torch.view_as_real(turned).flatten(-2), rtol=0, atol=1e-10)


def test_rotary_keeps_dtype_and_passes_gradients():
    assert rotary(torch.zeros(3, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert rotary(torch.zeros(3, 4, device="meta")).device.type == "meta"
    x = draw(0, 2, 5, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotary(x, 3), x)


def test_rotary_in_half_precision_is_rounded_once():
    """Far out, too: as good as the result in float64, rounded to bfloat16."""
    x = draw(0, 4, 16).bfloat16()
    exact = rotary(x.double(), 100_000)
    assert torch.equal(rotary(x, 100_000), rotary(x.float(), 100_000).bfloat16())
    assert (rotary(x, 100_000) - exact).abs().max() < 0.01 * exact.abs().max()


# ALiBi


@exam
@given(
    heads=st.integers(1, 9),
    t_q=st.integers(1, 7),
    t_k=st.integers(1, 7),
    offset=st.integers(0, 9),
)
def test_alibi_is_slope_times_distance(heads, t_q, t_k, offset):
    bias = alibi_bias(heads, t_q, t_k, offset)
    assert bias.shape == (heads, t_q, t_k)
    for head in range(heads):
        slope = 2 ** (-8 * (head + 1) / heads)
        for i in range(t_q):
            for j in range(t_k):
                assert math.isclose(
                    bias[head, i, j],
                    -slope * abs(offset + i - j),
                    rel_tol=1e-6,
                    abs_tol=1e-12,
                )


def test_alibi_slopes_of_the_paper():
    slopes = -alibi_bias(8, 2, 1)[:, 1, 0]
    assert_close(slopes, torch.tensor([1 / 2**i for i in range(1, 9)]))


@exam
@given(length=st.integers(1, 9), heads=st.integers(1, 5))
def test_alibi_row_by_row_is_the_whole(length, heads):
    whole = alibi_bias(heads, length, length)
    rows = [alibi_bias(heads, 1, length, offset=t) for t in range(length)]
    assert torch.equal(torch.cat(rows, dim=1), whole)


# Attention with positions

HEADS, WIDTH, LENGTH = 4, 8, 5


def attentions():
    """Each kind, with a learned bias that is not zero."""
    torch.manual_seed(0)
    relative = RelativeBias(HEADS, 2)
    torch.nn.init.normal_(relative.table)
    return {
        "rotary": RotaryAttention(WIDTH, HEADS).double(),
        "relative": BiasedAttention(WIDTH, HEADS, relative).double(),
        "alibi": BiasedAttention(WIDTH, HEADS, partial(alibi_bias, HEADS)).double(),
    }


def by_loops(attention, x, allowed):
    """Output (B, T, D) and weights (B, h, T, T); allowed: (B, h, T, T)."""
    projected = [
        F.linear(x, weight, bias) for weight, bias in attention.projections()
    ]  # each (B, T, D)
    batch, length, d_head = len(x), x.shape[1], WIDTH // HEADS
    weights = torch.zeros(batch, HEADS, length, length, dtype=x.dtype)
    joined = torch.zeros_like(x)
    for b in range(batch):
        for head in range(HEADS):
            part = slice(head * d_head, (head + 1) * d_head)
            q, k, v = (y[b, :, part] for y in projected)
            for i in range(length):
                scores = torch.full((length,), -torch.inf, dtype=x.dtype)
                for j in range(length):
                    if not allowed[b, head, i, j]:
                        continue
                    if isinstance(attention, RotaryAttention):
                        R = rotation_matrix(i - j, d_head)
                        scores[j] = q[i] @ R @ k[j] / math.sqrt(d_head)
                    else:
                        bias = attention.bias(length, length)[head, i, j]
                        scores[j] = q[i] @ k[j] / math.sqrt(d_head) + bias
                if allowed[b, head, i].any():
                    weights[b, head, i] = scores.softmax(0)
            joined[b, :, part] = weights[b, head] @ v
    return attention.out_proj(joined), weights


@pytest.mark.parametrize("kind", ["rotary", "relative", "alibi"])
@pytest.mark.parametrize(
    "shape",
    [
        None,
        (LENGTH, LENGTH),
        (1, LENGTH),
        (HEADS, 1, LENGTH),  # as many sequences as heads: axes are not to be mixed up
        (HEADS, LENGTH, LENGTH),
        (1, 1, LENGTH),
        (HEADS, HEADS, LENGTH, LENGTH),
        (1, HEADS, LENGTH, 1),
    ],
)
def test_attention_with_positions_equals_loops(kind, shape):
    """Every shape of a mask, empty rows among them, with weights and without."""
    attention = attentions()[kind]
    x = draw(1, HEADS, LENGTH, WIDTH)  # B = h
    full = (HEADS, HEADS, LENGTH, LENGTH)
    mask, allowed = None, torch.ones(full, dtype=torch.bool)
    if shape is not None:
        mask = draw(2, *shape) > 0
        four = mask[:, None] if mask.dim() == 3 else mask
        allowed = four.expand(full)
    want, weights = by_loops(attention, x, allowed)
    output, none = attention(x, x, x, mask)
    assert none is None
    assert_close(output, want)
    output, found = attention(x, x, x, mask, need_weights=True)
    assert_close(output, want)
    assert_close(found, weights)
    alone = attention(x[1:2], x[1:2], x[1:2], _of_one(mask))[0]
    assert_close(alone, want[1:2])


def _of_one(mask):
    """The mask of the second sequence."""
    if mask is None or mask.dim() == 2 or len(mask) == 1:
        return mask
    return mask[1:2]


@pytest.mark.parametrize("kind", ["rotary", "relative", "alibi"])
@pytest.mark.parametrize("steps", [[1] * LENGTH, [2, 3], [4, 1]])
def test_with_a_cache_the_decoder_gives_what_it_gives_at_once(kind, steps):
    """Step by step, or some words at a time: keys and queries get the same positions."""
    torch.manual_seed(3)
    decoder = Decoder(2, WIDTH, HEADS, 16).double()
    for layer in decoder.layers:
        layer.self_attention = attentions()[kind]
    x, memory = draw(4, 2, LENGTH, WIDTH), draw(5, 2, 3, WIDTH)
    with torch.no_grad():
        whole, _ = decoder(x, memory)
        cache, found = decoder.init_cache(memory, LENGTH), []
        for part in x.split(steps, dim=1):
            found.append(decoder(part, None, cache=cache)[0])
    assert_close(torch.cat(found, dim=1), whole)


@pytest.mark.parametrize("kind", ["rotary", "relative", "alibi"])
def test_attention_with_positions_passes_gradients_and_drops(kind):
    attention = attentions()[kind]
    x = draw(6, 2, 3, WIDTH).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: attention(x, x, x)[0], x)
    kinds = {"rotary": (), "relative": (RelativeBias(HEADS, 2),)}
    extra = kinds.get(kind, (partial(alibi_bias, HEADS),))
    dropping = type(attention)(WIDTH, HEADS, *extra, dropout=0.5)
    y = draw(7, 2, 30, WIDTH).float()
    torch.manual_seed(0)
    first, second = dropping(y, y, y)[0], dropping(y, y, y)[0]
    assert not torch.equal(first, second)
    dropping.eval()
    assert torch.equal(dropping(y, y, y)[0], dropping(y, y, y)[0])


# Bad input

x4 = torch.zeros(1, 3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frequencies(0), "d_model: expected a positive number, got 0"),
        (lambda: frequencies(4, base=1.0), "base: expected a number above 1, got 1.0"),
        (lambda: sinusoidal_encoding(-1, 4), "length: .* got -1"),
        (lambda: sinusoidal_encoding(3, 0), "d_model: .* got 0"),
        (lambda: sinusoidal_encoding(3, 4, offset=-2), "offset: .* got -2"),
        (lambda: sinusoidal_encoding(3, 4, base=0.5), "base: .* got 0.5"),
        (
            lambda: rotation_matrix(1, 5),
            "d_model: expected a positive even number, got 5",
        ),
        (
            lambda: rotation_matrix(1, 0),
            "d_model: expected a positive even number, got 0",
        ),
        (lambda: rotation_matrix(1, 4, base=1), "base: .* got 1"),
        (lambda: SinusoidalEncoding(0), "d_model: .* got 0"),
        (lambda: SinusoidalEncoding(4, base=0), "base: .* got 0"),
        (
            lambda: SinusoidalEncoding(5)(x4),
            r"x: .* d_model = 5, got shape \(1, 3, 4\)",
        ),
        (
            lambda: SinusoidalEncoding(4)(x4[0, 0]),
            r"x: expected shape \(B, T, 4\), got \(4,\)",
        ),
        (lambda: SinusoidalEncoding(4)(x4, -1), "offset: .* got -1"),
        (lambda: LearnedEncoding(0, 4), "max_len: .* got 0"),
        (lambda: LearnedEncoding(4, 0), "d_model: .* got 0"),
        (
            lambda: LearnedEncoding(9, 5)(x4),
            r"x: .* d_model = 5, got shape \(1, 3, 4\)",
        ),
        (
            lambda: LearnedEncoding(9, 4)(x4[0, 0]),
            r"x: expected shape \(B, T, 4\), got \(4,\)",
        ),
        (lambda: LearnedEncoding(9, 4)(x4, -1), "offset: .* got -1"),
        (
            lambda: LearnedEncoding(2, 4)(x4),
            r"x: expected positions in 0 to 1 .* got 0 to 2",
        ),
        (lambda: TokenEmbedding(0, 4), "vocab_size: .* got 0"),
        (lambda: TokenEmbedding(4, 0), "d_model: .* got 0"),
        (lambda: TokenEmbedding(4, 4)(torch.zeros(1, 2)), "ids: .* got torch.float32"),
        (
            lambda: TokenEmbedding(4, 4)(torch.ones(1, 2).bool()),
            "ids: .* got torch.bool",
        ),
        (lambda: rotary(torch.zeros(3, 5)), r"x: .* even d_h\), got \(3, 5\)"),
        (lambda: rotary(torch.zeros(4)), r"x: .* even d_h\), got \(4,\)"),
        (lambda: rotary(x4, -1), "offset: .* got -1"),
        (lambda: rotary(x4, base=1.0), "base: .* got 1.0"),
        (lambda: alibi_bias(0, 2, 2), "num_heads: .* got 0"),
        (lambda: alibi_bias(2, 0, 2), "query_len: .* got 0"),
        (lambda: alibi_bias(2, 2, 0), "key_len: .* got 0"),
        (lambda: alibi_bias(2, 2, 2, -1), "offset: .* got -1"),
        (lambda: RelativeBias(0, 2), "num_heads: .* got 0"),
        (lambda: RelativeBias(2, 0), "max_offset: .* got 0"),
        (
            lambda: RotaryAttention(4, 2)(x4, x4[:, :2], x4[:, :2]),
            "query: expected at most as many as keys, T_k = 2, got 3",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
