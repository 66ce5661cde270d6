"""The decoder: causal masks, parity with PyTorch's, no leak, the key/value cache."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from transformer.attention import masked_softmax, padding_mask
from transformer.decoder import (
    Decoder,
    DecoderLayer,
    LayerCache,
    causal_mask,
    decoder_from_torch,
    decoder_to_torch,
    target_mask,
)
from transformer.encoder import names_to_torch

torch.set_num_threads(1)
exam = settings(max_examples=25, deadline=None, derandomize=True)
exact = {"rtol": 0, "atol": 1e-10}


@st.composite
def cases(draw, max_layers=3):
    """Sizes, place of the norm, activation and a seed; every size may be 1 or odd."""
    heads = draw(st.integers(1, 3))
    return {
        "batch": draw(st.integers(1, 4)),
        "src": draw(st.integers(1, 6)),
        "tgt": draw(st.integers(1, 6)),
        "layers": draw(st.integers(1, max_layers)),
        "heads": heads,
        "d_model": heads * draw(st.integers(1, 5)),
        "d_ff": draw(st.integers(1, 12)),
        "norm_first": draw(st.booleans()),
        "final_norm": draw(st.sampled_from([None, True, False])),
        "activation": draw(st.sampled_from([F.relu, F.gelu])),
        "seed": draw(st.integers(0, 10_000)),
    }


def randomise(module):
    """Give every parameter random entries, so that no bias is 0 and no scale is 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module


def make_decoder(case, dtype=torch.float64, dropout=0.0):
    torch.manual_seed(case["seed"])
    decoder = Decoder(
        case["layers"],
        case["d_model"],
        case["heads"],
        case["d_ff"],
        dropout=dropout,
        norm_first=case["norm_first"],
        activation=case["activation"],
        final_norm=case["final_norm"],
    )
    return randomise(decoder).to(dtype)


def make_torch_decoder(case, dtype):
    """PyTorch's decoder of the case's sizes, with random weights."""
    torch.manual_seed(case["seed"])
    layer = nn.TransformerDecoderLayer(
        case["d_model"],
        case["heads"],
        case["d_ff"],
        dropout=0.0,
        activation=case["activation"],
        batch_first=True,
        norm_first=case["norm_first"],
    )
    norm = nn.LayerNorm(case["d_model"]) if case["final_norm"] else None
    return randomise(nn.TransformerDecoder(layer, case["layers"], norm)).to(dtype)


def make_inputs(case, dtype=torch.float64):
    """Target and memory vectors that record gradients, and which places are real tokens."""
    x = torch.randn(
        case["batch"], case["tgt"], case["d_model"], dtype=dtype, requires_grad=True
    )
    memory = torch.randn(
        case["batch"], case["src"], case["d_model"], dtype=dtype, requires_grad=True
    )
    real_tgt, real_src = (
        torch.arange(n)
        < torch.randint(1, n + 1, (case["batch"], 1))  # at least one real token
        for n in (case["tgt"], case["src"])
    )
    return x, memory, real_tgt, real_src


# Masks


@given(st.integers(1, 9), st.integers(0, 5))
def test_causal_mask_is_the_past_of_the_last_positions(query_len, old):
    mask = causal_mask(query_len, query_len + old)
    assert mask.shape == (query_len, query_len + old)
    assert mask.dtype == torch.bool
    for i in range(query_len):
        for j in range(query_len + old):
            assert mask[i, j] == (j <= i + old)
    assert torch.equal(causal_mask(query_len), causal_mask(query_len, query_len))


@given(
    st.lists(
        st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=4
    ),
    st.integers(0, 5),
)
def test_target_mask_is_past_and_real(rows, pad_id):
    ids = torch.tensor(rows)
    mask = target_mask(ids, pad_id)
    assert mask.shape == (len(rows), 4, 4)
    for b, row in enumerate(rows):
        for i in range(4):
            assert mask[b, i].tolist() == [
                j <= i and row[j] != pad_id for j in range(4)
            ]


def test_weights_zeroed_after_the_softmax_are_another_function():
    scores = torch.randn(5, 5)
    before = masked_softmax(scores, causal_mask(5))
    after = torch.softmax(scores, dim=-1) * causal_mask(5)
    assert_close(before.sum(dim=-1), torch.ones(5))
    assert not torch.allclose(after.sum(dim=-1), torch.ones(5), atol=1e-2)


# Parity


def compare(ours, theirs, case, dtype, tolerance):
    x, memory, real_tgt, real_src = make_inputs(case, dtype)
    mask = causal_mask(case["tgt"])
    expected = theirs(
        x,
        memory,
        tgt_mask=~mask,
        tgt_key_padding_mask=~real_tgt,
        memory_key_padding_mask=~real_src,
    )
    result = ours(x, memory, real_tgt[:, None] & mask, real_src[:, None])[0]
    assert_close(result, expected, **tolerance)
    upstream = torch.randn_like(result)
    our_grads = torch.autograd.grad(result, [x, memory, *ours.parameters()], upstream)
    names = ["x", "memory", *(name for name, _ in ours.named_parameters())]
    our_grads = names_to_torch(dict(zip(names, our_grads, strict=True)))
    their_names = ["x", "memory", *(name for name, _ in theirs.named_parameters())]
    their_grads = torch.autograd.grad(
        expected, [x, memory, *theirs.parameters()], upstream
    )
    for name, grad in zip(their_names, their_grads, strict=True):
        assert_close(our_grads.pop(name), grad, **tolerance)
    assert not our_grads


@exam
@given(cases(), st.booleans())
def test_decoder_from_torch_has_its_values_and_gradients(case, training):
    theirs = make_torch_decoder(case, torch.float64).train(training)
    ours = decoder_from_torch(theirs)
    assert ours.training == training
    compare(ours, theirs, case, torch.float64, exact)


@pytest.mark.parametrize("norm_first", [False, True])
def test_parity_in_float32(norm_first):
    case = {
        "batch": 3,
        "src": 7,
        "tgt": 5,
        "layers": 2,
        "heads": 4,
        "d_model": 16,
        "d_ff": 32,
        "norm_first": norm_first,
        "final_norm": True,
        "activation": F.relu,
        "seed": 1,
    }
    ours = Decoder(
        2, 16, 4, 32, norm_first=norm_first, final_norm=True
    )  # Xavier, as in use
    compare(
        ours, decoder_to_torch(ours), case, torch.float32, {"rtol": 1e-5, "atol": 1e-5}
    )


@exam
@given(cases(max_layers=1))
def test_a_layer_equals_pytorchs_layer(case):
    theirs = make_torch_decoder(case | {"final_norm": None}, torch.float64)
    ours = decoder_from_torch(theirs)
    compare(ours.layers[0], theirs.layers[0], case, torch.float64, exact)


@exam
@given(cases())
def test_converters_are_inverse(case):
    ours = make_decoder(case)
    again = decoder_from_torch(decoder_to_torch(ours))
    state = ours.state_dict()
    assert again.state_dict().keys() == state.keys()
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, state[name])
    x, memory, *_ = make_inputs(case)
    assert torch.equal(again(x, memory)[0], ours(x, memory)[0])


# Behaviour


@exam
@given(cases(), st.booleans())
def test_the_future_changes_nothing_in_the_past(case, training):
    decoder = make_decoder(case).train(training)
    x, memory, *_ = make_inputs(case)
    t = case["seed"] % case["tgt"]
    changed = x.detach().clone()
    changed[:, t + 1 :] = 100 * torch.randn_like(changed[:, t + 1 :])
    assert_close(
        decoder(changed, memory)[0][:, : t + 1], decoder(x, memory)[0][:, : t + 1]
    )
    grad = torch.autograd.grad(decoder(x, memory)[0][:, : t + 1].sum(), x)[0]
    assert not grad[:, t + 1 :].any()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_the_jacobian_is_lower_triangular_also_under_dropout(training, norm_first):
    torch.manual_seed(0)
    decoder = Decoder(2, 8, 2, 16, dropout=0.3, norm_first=norm_first).train(training)
    x, memory = torch.randn(1, 5, 8), torch.randn(1, 3, 8)
    jacobian = torch.autograd.functional.jacobian(lambda y: decoder(y, memory)[0], x)
    norms = jacobian[0, :, :, 0].transpose(1, 2).flatten(2).norm(dim=-1)  # (T, T)
    assert not norms.triu(diagonal=1).any()
    assert (norms.diagonal() > 0).all()


@exam
@given(cases(), st.integers(0, 3))
def test_contents_and_length_of_padding_change_nothing(case, extra):
    decoder = make_decoder(case)
    x, memory, real_tgt, real_src = make_inputs(case)
    real_tgt = torch.ones_like(real_tgt)
    kept = [x, *decoder.parameters()]
    output = decoder(x, memory, None, real_src[:, None])[0]
    upstream = torch.randn_like(output)
    grads = torch.autograd.grad(output, kept, upstream)

    noise = torch.where(real_src[..., None], memory, 100 * torch.randn_like(memory))
    noise = F.pad(noise, (0, 0, 0, extra), value=7.0)
    longer = F.pad(x, (0, 0, 0, extra), value=-3.0)
    keys = F.pad(real_tgt, (0, extra))[:, None] & causal_mask(case["tgt"] + extra)
    padded = decoder(longer, noise, keys, F.pad(real_src, (0, extra))[:, None])[0]
    assert_close(padded[:, : case["tgt"]], output, **exact)
    again = torch.autograd.grad(padded[:, : case["tgt"]], kept, upstream)
    assert_close(again, grads, rtol=1e-9, atol=1e-10)


@exam
@given(cases())
def test_maps_are_of_the_same_forward_and_rows_sum_to_one_or_zero(case):
    decoder = make_decoder(case)
    x, memory, real_tgt, real_src = make_inputs(case)
    real_src[0] = False  # an empty source
    tgt_mask = real_tgt[:, None] & causal_mask(case["tgt"])
    fused, nothing = decoder(x, memory, tgt_mask, real_src[:, None])
    output, maps = decoder(x, memory, tgt_mask, real_src[:, None], need_weights=True)
    assert nothing is None
    assert_close(output, fused, **exact)
    assert len(maps) == case["layers"]
    b, h, t, s = case["batch"], case["heads"], case["tgt"], case["src"]
    for to_itself, to_memory in maps:
        assert to_itself.shape == (b, h, t, t)
        assert to_memory.shape == (b, h, t, s)
        assert not to_itself.masked_fill(tgt_mask[:, None], 0).any()
        assert_close(to_itself.sum(dim=-1), torch.ones(b, h, t, dtype=x.dtype))
        expected = real_src.any(dim=-1).to(x.dtype)[:, None, None].expand(b, h, t)
        assert_close(to_memory.sum(dim=-1), expected)
    grads = torch.autograd.grad(output.sum(), [x, memory, *decoder.parameters()])
    assert all(torch.isfinite(grad).all() for grad in (output, *grads))
    assert not grads[1][0].any()


def test_inputs_are_not_mutated():
    decoder = Decoder(1, 4, 2, 8)
    x, memory, mask = (
        torch.randn(2, 3, 4),
        torch.randn(2, 5, 4),
        torch.ones(2, 1, 5).bool(),
    )
    copies = [tensor.clone() for tensor in (x, memory, mask)]
    decoder(x, memory, None, mask)
    cache = decoder.init_cache(memory, 3)
    with torch.no_grad():
        decoder(x, None, None, mask, cache=cache)
    for tensor, copy in zip((x, memory, mask), copies, strict=True):
        assert torch.equal(tensor, copy)


# The cache


@exam
@given(cases(), st.data())
def test_step_by_step_equals_all_at_once(case, data):
    decoder = make_decoder(case).eval()
    x, memory, _, real_src = make_inputs(case)
    parts, left = [], case["tgt"]
    while left:
        parts.append(data.draw(st.integers(1, left)))
        left -= parts[-1]
    with torch.no_grad():
        whole, maps = decoder(x, memory, None, real_src[:, None], need_weights=True)
        cache = decoder.init_cache(memory, case["tgt"] + data.draw(st.integers(0, 2)))
        outputs, seen = [], 0
        for part in x.split(parts, dim=1):
            output, rows = decoder(part, None, None, real_src[:, None], True, cache)
            outputs.append(output)
            new = slice(seen, seen + part.shape[1])
            seen += part.shape[1]
            for (own, cross), (row, cross_row) in zip(maps, rows, strict=True):
                assert_close(row, own[:, :, new, :seen])
                assert_close(cross_row, cross[:, :, new])
    assert all(layer.length == case["tgt"] for layer in cache)
    assert_close(torch.cat(outputs, dim=1), whole, **exact)


@exam
@given(cases(), st.data())
def test_selected_rows_go_on_as_if_they_had_always_been_there(case, data):
    decoder = make_decoder(case).eval()
    x, memory, _, real_src = make_inputs(case)
    rows = torch.tensor(
        data.draw(st.lists(st.integers(0, case["batch"] - 1), min_size=1, max_size=6))
    )
    following = torch.randn(len(rows), 2, case["d_model"], dtype=torch.float64)
    with torch.no_grad():
        cache = decoder.init_cache(memory, case["tgt"] + 2)
        decoder(x, None, None, real_src[:, None], cache=cache)
        for layer in cache:
            layer.select(rows)
        stepped = decoder(following, None, None, real_src[rows, None], cache=cache)[0]
        whole = decoder(
            torch.cat([x[rows], following], dim=1),
            memory[rows],
            None,
            real_src[rows, None],
        )[0]
    assert_close(stepped, whole[:, case["tgt"] :], **exact)


def test_layer_cache_keeps_what_is_appended():
    memory = torch.randn(2, 3, 5, 4)
    cache = LayerCache(memory, memory + 1, max_len=3)
    first, second = torch.randn(2, 3, 2, 4), torch.randn(2, 3, 1, 4)
    cache.append(first, -first)
    key, value = cache.append(second, -second)
    assert torch.equal(key, torch.cat([first, second], dim=2))
    assert torch.equal(value, -key)
    assert cache.length == cache.max_len == 3
    with pytest.raises(
        ValueError, match=r"cache: expected at most max_len = 3 .* got 4"
    ):
        cache.append(second, second)


# Errors


def test_errors_name_the_argument():
    decoder = Decoder(2, 4, 2, 8)
    x, memory = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    too_short = torch.ones(2, 1, 4, dtype=torch.bool)
    small_cache = decoder.init_cache(memory, 2)
    wrong = (
        (r"query_len: expected a positive", lambda: causal_mask(0)),
        (r"key_len: expected at least query_len = 3, got 2", lambda: causal_mask(3, 2)),
        (r"ids: expected shape \(B, T\)", lambda: target_mask(torch.ones(3).long(), 0)),
        (r"num_layers: expected a positive", lambda: Decoder(0, 4, 2, 8)),
        (r"num_heads: expected a divisor", lambda: DecoderLayer(5, 2, 8)),
        (r"dropout: expected a share", lambda: DecoderLayer(4, 2, 8, dropout=1.0)),
        (r"memory: expected the encoder's output", lambda: decoder(x, None)),
        (
            r"memory: expected shape \(B = 2, S, d_model = 4\)",
            lambda: decoder(x, memory[:1]),
        ),
        (r"memory: expected shape", lambda: decoder(x, torch.randn(2, 5, 6))),
        (r"mask: expected", lambda: decoder(x, memory, None, too_short)),
        (
            r"mask: expected dtype torch.bool",
            lambda: decoder(x, memory, torch.ones(3, 3)),
        ),
        (
            r"x: expected shape \(B, T, d_model = 4\)",
            lambda: decoder(x[..., :3], memory),
        ),
        (r"x: expected shape", lambda: decoder(x[:, :0], memory)),
        (r"max_len: expected a positive", lambda: decoder.init_cache(memory, 0)),
        (r"x: expected at most 2 more", lambda: decoder(x, None, cache=small_cache)),
        (
            r"x: expected the cache's batch size 2, got 1",
            lambda: decoder(x[:1], None, cache=decoder.init_cache(memory, 4)),
        ),
        (
            r"cache: expected one for each of 2 layers, got 1",
            lambda: decoder(x, None, cache=decoder.init_cache(memory, 4)[:1]),
        ),
        (
            r"cache: expected one for each of 2 layers, got 0",
            lambda: decoder(x, None, cache=[]),
        ),
    )
    for message, call in wrong:
        with pytest.raises(ValueError, match=message):
            call()


def test_torch_decoders_that_cannot_be_converted():
    no_bias = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, bias=False), 1)
    with pytest.raises(ValueError, match="module: expected bias=True"):
        decoder_from_torch(no_bias)
    mixed = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)
    mixed.layers[1].norm_first = True
    with pytest.raises(ValueError, match="module: expected layers of one kind"):
        decoder_from_torch(mixed)


def test_a_target_mask_of_padding_rows_leaves_no_row_empty():
    ids = torch.tensor([[3, 4, 9, 9]])  # the pad id is 9
    assert target_mask(ids, 9).any(dim=-1).all()
    assert torch.equal(target_mask(ids, 9)[0, -1], padding_mask(ids, 9)[0, 0])
