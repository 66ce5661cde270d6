"""How the encoder behaves: padding, masks, maps, batches, dropout, and bad input."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from transformer.attention import padding_mask
from transformer.encoder import Encoder, EncoderLayer, FeedForward, LayerNorm

torch.set_num_threads(1)
exam = settings(max_examples=40, deadline=None, derandomize=True)

PAD = 3  # not 0, and an id that could be a word's


@st.composite
def cases(draw):
    """Sizes, placement of the norms, mode, and a seed."""
    heads, d_head = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    return {
        "batch": draw(st.integers(1, 4)),
        "length": draw(st.integers(1, 6)),
        "heads": heads,
        "d_model": heads * d_head,
        "d_ff": draw(st.integers(1, 9)),
        "num_layers": draw(st.integers(1, 3)),
        "norm_first": draw(st.booleans()),
        "training": draw(st.booleans()),
        "need_weights": draw(st.booleans()),
        "seed": draw(st.integers(0, 10_000)),
    }


def make_encoder(case, dropout=0.0):
    """An encoder in float64 with random weights, norms and biases included."""
    torch.manual_seed(case["seed"])
    encoder = Encoder(
        case["num_layers"],
        case["d_model"],
        case["heads"],
        case["d_ff"],
        norm_first=case["norm_first"],
        dropout=dropout,
    ).double()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    return encoder.train(case["training"])


def make_batch(case):
    """An input (B, T, D) and ids (B, T) with padding behind at least one word a sentence."""
    shape = (case["batch"], case["length"])
    lengths = torch.randint(1, case["length"] + 1, (case["batch"], 1))
    ids = torch.where(torch.arange(case["length"]) < lengths, 7, PAD).expand(shape)
    return torch.randn(*shape, case["d_model"], dtype=torch.float64), ids


def run(encoder, x, ids, direction, need_weights):
    """Output, and the gradients of x and of the parameters, for a loss on the real words."""
    real = ids != PAD
    leaf = x.clone().requires_grad_()
    output, _ = encoder(leaf, padding_mask(ids, PAD), need_weights)
    loss = (output * direction * real[..., None]).sum()
    return output[real], *torch.autograd.grad(loss, (leaf, *encoder.parameters()))


@exam
@given(cases())
def test_contents_and_length_of_padding_change_nothing(case):
    encoder = make_encoder(case)
    x, ids = make_batch(case)
    direction = torch.randn_like(x)
    wanted = run(encoder, x, ids, direction, case["need_weights"])
    assert not wanted[1][ids == PAD].any(), "no gradient reaches padding"

    other = torch.where((ids == PAD)[..., None], 100 * torch.randn_like(x), x)
    for found, value in zip(
        run(encoder, other, ids, direction, case["need_weights"]), wanted, strict=True
    ):
        assert_close(found, value)

    more = torch.randn(len(x), 3, case["d_model"], dtype=torch.float64)
    longer = [torch.cat([tensor, more], dim=1) for tensor in (x, direction)]
    longer_ids = torch.cat([ids, torch.full((len(x), 3), PAD)], dim=1)
    output, gradient, *others = run(
        encoder, longer[0], longer_ids, longer[1], case["need_weights"]
    )
    assert_close(output, wanted[0])
    assert_close(gradient[:, : case["length"]], wanted[1])
    for found, value in zip(others, wanted[2:], strict=True):
        assert_close(found, value)


@exam
@given(cases())
def test_a_batch_of_one_equals_a_batch_of_many(case):
    encoder = make_encoder(case)
    x, ids = make_batch(case)
    output, maps = encoder(x, padding_mask(ids, PAD), need_weights=True)
    for b in range(len(x)):
        length = int((ids[b] != PAD).sum())
        alone, own_maps = encoder(
            x[b : b + 1, :length], need_weights=True
        )  # no padding at all
        assert_close(output[b, :length], alone[0])
        for weights, own in zip(maps, own_maps, strict=True):
            assert_close(weights[b, :, :length, :length], own[0])


@exam
@given(cases())
def test_maps_come_from_the_same_pass(case):
    encoder = make_encoder(case)
    x, _ = make_batch(case)
    mask = torch.rand(case["batch"], case["length"], case["length"]) > 0.5
    seen = []
    for layer in encoder.layers:
        layer.self_attention.register_forward_hook(
            lambda _, __, output: seen.append(output[1])
        )
    output, maps = encoder(x, mask, need_weights=True)
    assert len(maps) == case["num_layers"]
    assert all(weights is own for weights, own in zip(maps, seen, strict=True))
    sizes = (case["batch"], case["heads"], case["length"], case["length"])
    for weights in maps:
        assert weights.shape == sizes
        assert not weights[~mask[:, None].expand(sizes)].any(), "no weight where masked"
        rows = mask.any(dim=-1)[:, None].expand(sizes[:3]).double()
        assert_close(weights.sum(dim=-1), rows)  # 1, or 0 where nothing is allowed

    assert_close(encoder(x, mask)[0], output)  # with and without weights
    assert encoder(x, mask)[1] is None


@exam
@given(cases())
def test_each_layer_gets_the_mask_and_the_output_of_the_one_below(case):
    encoder = make_encoder(case)
    x, ids = make_batch(case)
    mask = padding_mask(ids, PAD)
    output, maps = encoder(x, mask, need_weights=True)
    for layer, weights in zip(encoder.layers, maps, strict=True):
        x, own = layer(x, mask, need_weights=True)
        assert_close(own, weights)
    assert (encoder.norm is not None) == case["norm_first"]
    assert_close(output, x if encoder.norm is None else encoder.norm(x))


@exam
@given(cases())
def test_masks_of_all_shapes_agree(case):
    encoder = make_encoder(case)
    x, _ = make_batch(case)
    square = torch.rand(case["length"], case["length"]) > 0.4
    batch, heads = case["batch"], case["heads"]
    wanted, _ = encoder(x, square)
    assert_close(encoder(x, square.expand(batch, -1, -1))[0], wanted)
    assert_close(encoder(x, square.expand(batch, heads, -1, -1))[0], wanted)


@exam
@given(cases())
def test_empty_rows_have_finite_values_and_gradients(case):
    encoder = make_encoder(case)
    x, _ = make_batch(case)
    mask = torch.zeros(case["length"], case["length"], dtype=torch.bool)
    leaf = x.clone().requires_grad_()
    output, weights = encoder(leaf, mask, case["need_weights"])
    assert output.isfinite().all()
    if case["need_weights"]:
        assert not any(w.any() for w in weights)
    for gradient in torch.autograd.grad(output.sum(), (leaf, *encoder.parameters())):
        assert gradient.isfinite().all()


@exam
@given(cases())
def test_inputs_are_not_changed(case):
    encoder = make_encoder(case)
    x, ids = make_batch(case)
    mask = padding_mask(ids, PAD)
    copies = x.clone(), mask.clone()
    encoder(x, mask, case["need_weights"])
    assert torch.equal(x, copies[0])
    assert torch.equal(mask, copies[1])


@pytest.mark.parametrize("norm_first", [False, True])
def test_shuffled_words_get_shuffled_outputs(norm_first):
    torch.manual_seed(0)
    encoder = Encoder(2, 8, 2, 12, norm_first=norm_first).double()
    x, order = torch.randn(2, 5, 8).double(), torch.tensor([3, 0, 4, 1, 2])
    assert_close(encoder(x[:, order])[0], encoder(x)[0][:, order])


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("d_model", [1, 5, 7])
def test_odd_widths_and_sequences_of_length_one(d_model, norm_first):
    encoder = Encoder(2, d_model, 1, 3, norm_first=norm_first)
    output, maps = encoder(torch.randn(2, 1, d_model), need_weights=True)
    assert output.shape == (2, 1, d_model)
    assert all(torch.equal(weights, torch.ones(2, 1, 1, 1)) for weights in maps)
    assert encoder(torch.randn(3, 4, d_model))[0].isfinite().all()


def test_a_silent_pre_norm_layer_is_the_identity():
    layer = EncoderLayer(8, 2, 12, norm_first=True)
    x = torch.randn(2, 3, 8)
    assert_close(layer(x + 1)[0], layer(x)[0] + 1)  # the residual carries a shift
    for linear in (layer.self_attention.out_proj, layer.feed_forward.linear2):
        nn.init.zeros_(linear.weight)
    assert torch.equal(layer(x)[0], x)


def test_a_post_norm_layer_ends_with_a_norm():
    layer = EncoderLayer(8, 2, 12)
    output = layer(5 * torch.randn(2, 3, 8) + 2)[0]
    assert_close(output.mean(dim=-1), torch.zeros(2, 3), atol=1e-5, rtol=0)
    assert_close(
        output.var(dim=-1, unbiased=False), torch.ones(2, 3), atol=1e-3, rtol=0
    )


def test_the_norm_at_the_end_is_there_in_pre_norm_or_on_request():
    for norm_first, final_norm, wanted in (
        (False, None, False),
        (True, None, True),
        (False, True, True),
        (True, False, False),
    ):
        encoder = Encoder(1, 8, 2, 12, norm_first=norm_first, final_norm=final_norm)
        assert (encoder.norm is not None) is wanted


# Dropout


def test_dropout_places():
    layer = EncoderLayer(8, 2, 12, dropout=0.5)
    shapes = []
    for module in layer.modules():
        if isinstance(module, nn.Dropout):
            assert module.p == 0.5
            module.register_forward_hook(
                lambda _, args, __: shapes.append(tuple(args[0].shape))
            )
    x = torch.randn(2, 3, 8)
    layer(x)
    assert shapes == [
        (2, 3, 8),
        (2, 3, 12),
        (2, 3, 8),
    ]  # output, inner features, output
    assert layer.self_attention.dropout == 0.5  # and the attention weights


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    encoder = Encoder(2, 8, 2, 12, dropout=0.3)
    plain = Encoder(2, 8, 2, 12)
    plain.load_state_dict(encoder.state_dict())
    x = torch.randn(2, 5, 8)
    assert not torch.equal(encoder(x)[0], encoder(x)[0])
    assert_close(encoder.eval()(x)[0], plain(x)[0])


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LayerNorm(0), "d_model: expected a positive number, got 0"),
        (
            lambda: LayerNorm(4, eps=-1.0),
            "eps: expected a number of at least 0, got -1.0",
        ),
        (lambda: FeedForward(0, 4), "d_model: expected a positive number, got 0"),
        (lambda: FeedForward(4, 0), "d_ff: expected a positive number, got 0"),
        (
            lambda: FeedForward(4, 4, dropout=1.0),
            "dropout: expected a share in [0, 1), got 1.0",
        ),
        (
            lambda: EncoderLayer(8, 3, 4),
            "num_heads: expected a divisor of d_model = 8, got 3",
        ),
        (lambda: EncoderLayer(8, 0, 4), "num_heads: expected a positive number, got 0"),
        (lambda: EncoderLayer(8, 2, -4), "d_ff: expected a positive number, got -4"),
        (
            lambda: EncoderLayer(8, 2, 4, dropout=-0.1),
            "dropout: expected a share in [0, 1), got",
        ),
        (
            lambda: EncoderLayer(8, 2, 4, eps=-1e-5),
            "eps: expected a number of at least 0, got",
        ),
        (lambda: Encoder(0, 8, 2, 4), "num_layers: expected a positive number, got 0"),
        (
            lambda: Encoder(2, 8, 5, 4),
            "num_heads: expected a divisor of d_model = 8, got 5",
        ),
    ],
)
def test_bad_sizes(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 1), (3, 7)])
@pytest.mark.parametrize("kind", [LayerNorm, lambda width: FeedForward(width, 4)])
def test_bad_width(kind, shape):
    message = f"x: expected a last axis of width d_model = 8, got shape {shape}"
    with pytest.raises(ValueError, match=re.escape(message)):
        kind(8)(torch.randn(shape))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(
    "shape", [(2, 3, 7), (3, 8), (2, 2, 3, 8), (0, 3, 8), (2, 0, 8)]
)
def test_bad_sequences(shape, norm_first):
    message = (
        f"x: expected shape (B, T, d_model = 8) with B and T of at least 1, got {shape}"
    )
    for module in (
        EncoderLayer(8, 2, 4, norm_first=norm_first),
        Encoder(2, 8, 2, 4, norm_first=norm_first),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            module(torch.randn(shape))


@pytest.mark.parametrize("norm_first", [False, True])
def test_bad_masks(norm_first):
    encoder = Encoder(2, 8, 2, 4, norm_first=norm_first)
    x = torch.randn(2, 3, 8)
    for mask, message in (
        (torch.ones(2, 3), "mask: expected dtype torch.bool"),
        (
            torch.ones(2, 3, dtype=torch.bool),
            "a mask of keys (B, T_k) goes through mask_keys",
        ),
        (torch.ones(2, 4, 4, dtype=torch.bool), "got (2, 4, 4)"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            encoder(x, mask)
