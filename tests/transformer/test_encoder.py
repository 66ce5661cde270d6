"""The encoder: parity with PyTorch's modules by copied weights, in value and in gradient."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from transformer.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    encoder_from_torch,
    encoder_to_torch,
    names_from_torch,
    names_to_torch,
)

torch.set_num_threads(1)
exam = settings(max_examples=40, deadline=None, derandomize=True)

TOLERANCE = {
    torch.float32: {"atol": 1e-5, "rtol": 1e-5},
    torch.float64: {"atol": 1e-10, "rtol": 1e-10},
}
dtypes = st.sampled_from(list(TOLERANCE))


@st.composite
def cases(draw):
    """Sizes, the options of a layer, a dtype and a seed.

    A norm divides by the spread of a few features. Where these are nearly equal it magnifies
    rounding by up to 1 / sqrt(eps), so tokens of width 1 to 3 are left to float64.
    """
    dtype = draw(dtypes)
    heads = draw(st.integers(1, 3))
    d_head = draw(st.integers(1, 4) if dtype == torch.float64 else st.integers(4, 6))
    return {
        "batch": draw(st.integers(1, 4)),
        "length": draw(st.integers(1, 6)),
        "heads": heads,
        "d_model": heads * d_head,
        "d_ff": draw(st.integers(1, 13)),
        "num_layers": draw(st.integers(1, 3)),
        "norm_first": draw(st.booleans()),
        "activation": draw(st.sampled_from([F.relu, F.gelu])),
        "eps": draw(st.sampled_from([1e-5, 0.1])),
        "final_norm": draw(st.sampled_from([None, True, False])),
        "padding": draw(st.booleans()),
        "training": draw(st.booleans()),
        "dtype": dtype,
        "seed": draw(st.integers(0, 10_000)),
    }


def layer_arguments(case):
    """The arguments of an EncoderLayer of this case."""
    sizes = (case["d_model"], case["heads"], case["d_ff"])
    return sizes, {name: case[name] for name in ("norm_first", "activation", "eps")}


def make_encoder(case):
    """An encoder of the case's sizes with random weights, norms and biases included."""
    torch.manual_seed(case["seed"])
    sizes, options = layer_arguments(case)
    encoder = Encoder(
        case["num_layers"], *sizes, **options, final_norm=case["final_norm"]
    )
    return randomise(encoder, case)


def randomise(module, case):
    """Draw every parameter anew, so that no gamma is 1 and no bias 0; set dtype and mode."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.to(case["dtype"]).train(case["training"])


def make_input(case):
    """An input (B, T, D), which words are real (B, T), and a direction that skips padding."""
    shape = (case["batch"], case["length"], case["d_model"])
    x = torch.randn(shape, dtype=case["dtype"])
    real = torch.ones(shape[:2], dtype=torch.bool)
    if case["padding"]:
        lengths = torch.randint(1, case["length"] + 1, (case["batch"], 1))
        real = torch.arange(case["length"]) < lengths
    direction = torch.randn_like(x) * real[..., None]
    return x, real, direction


def gradients(module, output, x, direction):
    """The gradients of sum(output * direction) by the name of a parameter, and x's own."""
    names, parameters = zip(*module.named_parameters(), strict=True)
    found = torch.autograd.grad(output, (x, *parameters), direction)
    return dict(zip(("x", *names), found, strict=True))


def assert_equal_modules(ours, theirs, case):
    """Same output at the real words, and the same gradient of x and of each parameter."""
    x, real, direction = make_input(case)
    tolerance = TOLERANCE[case["dtype"]]
    leaf, other_leaf = x.clone().requires_grad_(), x.clone().requires_grad_()
    output, weights = ours(leaf, real[:, None])
    assert weights is None
    wanted = theirs(other_leaf, src_key_padding_mask=~real)
    assert_close(output[real], wanted[real], **tolerance)

    found = names_to_torch(gradients(ours, output, leaf, direction))
    expected = gradients(theirs, wanted, other_leaf, direction)
    assert found.keys() == expected.keys()
    for name in expected:
        size = max(
            1.0, expected[name].abs().max().item()
        )  # float32 rounds relative to this
        assert_close(found[name] / size, expected[name] / size, **tolerance, msg=name)


# Layer normalisation


@exam
@given(
    st.integers(1, 9),
    st.sampled_from([1e-5, 0.1, 10.0]),
    dtypes,
    st.integers(0, 10_000),
)
def test_layer_norm_equals_pytorch(width, eps, dtype, seed):
    torch.manual_seed(seed)
    width += 4 if dtype == torch.float32 else 0  # see cases
    ours, theirs = LayerNorm(width, eps).to(dtype), nn.LayerNorm(width, eps).to(dtype)
    for parameter in ours.parameters():
        nn.init.normal_(parameter)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 2, width, dtype=dtype) * 3 + 1
    direction = torch.randn_like(x)
    results = []
    for norm in (ours, theirs):
        leaf = x.clone().requires_grad_()
        output = norm(leaf)
        found = torch.autograd.grad(output, (leaf, *norm.parameters()), direction)
        results.append((output, *found))
    for found, wanted in zip(*results, strict=True):
        assert_close(found, wanted, **TOLERANCE[dtype])


@pytest.mark.parametrize("width", [2, 3, 4])
def test_layer_norm_divides_by_the_width_with_eps_inside_the_root(width):
    x = torch.arange(width, dtype=torch.float64)
    mean = x.sum() / width
    variance = ((x - mean) ** 2).sum() / width
    for eps in (0.0, 0.1, 10.0):
        wanted = (x - mean) / (variance + eps) ** 0.5
        assert_close(LayerNorm(width, eps).double()(x), wanted)


def test_layer_norm_by_hand():
    x = torch.tensor([1.0, 1.0, 5.0, 5.0])
    assert_close(LayerNorm(4, eps=0)(x), torch.tensor([-1.0, -1.0, 1.0, 1.0]))


def test_layer_norm_ignores_scale_and_shift_and_treats_tokens_alone():
    norm = LayerNorm(7, eps=0).double()
    x = torch.randn(3, 4, 7, dtype=torch.float64)
    assert_close(norm(1000 * x + 7), norm(x))
    assert_close(norm(x)[1, 2], norm(x[1, 2]))


def test_layer_norm_of_equal_features_has_finite_gradients():
    x = torch.zeros(2, 3, requires_grad=True)
    norm = LayerNorm(3)
    norm(x).sum().backward()
    assert x.grad.isfinite().all()
    assert norm.weight.grad.isfinite().all()


# Feed-forward network


@exam
@given(cases())
def test_feed_forward_is_a_loop_over_positions_and_a_convolution_of_width_one(case):
    torch.manual_seed(case["seed"])
    d_model, d_ff = case["d_model"], case["d_ff"]
    ffn = randomise(
        FeedForward(d_model, d_ff, activation=case["activation"]), case
    ).double()
    x = torch.randn(
        case["batch"], case["length"], d_model, dtype=torch.float64, requires_grad=True
    )
    by_loops = torch.stack(
        [torch.stack([ffn(token) for token in sentence]) for sentence in x]
    )
    assert_close(ffn(x), by_loops)

    wide, narrow = (
        nn.Conv1d(d_model, d_ff, 1).double(),
        nn.Conv1d(d_ff, d_model, 1).double(),
    )
    for convolution, linear in ((wide, ffn.linear1), (narrow, ffn.linear2)):
        convolution.load_state_dict(
            {"weight": linear.weight[..., None], "bias": linear.bias}
        )
    by_convolution = narrow(case["activation"](wide(x.transpose(1, 2)))).transpose(1, 2)
    assert_close(ffn(x), by_convolution)
    direction = torch.randn_like(x)
    wanted = torch.autograd.grad(by_convolution, x, direction)
    assert_close(torch.autograd.grad(ffn(x), x, direction), wanted)


def test_feed_forward_is_the_formula():
    ffn = FeedForward(3, 5).double()
    randomise(ffn, {"dtype": torch.float64, "training": True})
    x = torch.randn(3, dtype=torch.float64)
    hidden = (x @ ffn.linear1.weight.T + ffn.linear1.bias).clamp(min=0)
    assert_close(ffn(x), hidden @ ffn.linear2.weight.T + ffn.linear2.bias)
    assert sum(p.numel() for p in ffn.parameters()) == 2 * 3 * 5 + 5 + 3


# The layer and the stack


@exam
@given(cases())
def test_layer_equals_pytorch(case):
    torch.manual_seed(case["seed"])
    sizes, options = layer_arguments(case)
    layer = randomise(EncoderLayer(*sizes, **options), case)
    theirs = nn.TransformerEncoderLayer(
        *sizes,
        dropout=0.0,
        activation=case["activation"],
        layer_norm_eps=case["eps"],
        batch_first=True,
        norm_first=case["norm_first"],
        dtype=case["dtype"],
    ).train(case["training"])
    theirs.load_state_dict(names_to_torch(layer.state_dict()))
    assert_equal_modules(layer, theirs, case)

    again = EncoderLayer(*sizes, **options).to(case["dtype"]).train(case["training"])
    again.load_state_dict(names_from_torch(theirs.state_dict()))
    assert_equal_modules(again, theirs, case)


@exam
@given(cases())
def test_stack_equals_pytorch(case):
    encoder = make_encoder(case)
    theirs = encoder_to_torch(encoder)
    assert isinstance(theirs, nn.TransformerEncoder)
    assert_equal_modules(encoder, theirs, case)
    assert_equal_modules(encoder_from_torch(theirs), theirs, case)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("enable_nested_tensor", [False, True])
@pytest.mark.filterwarnings("ignore:.*nested.tensor:UserWarning")
def test_real_words_agree_with_pytorchs_fast_road(norm_first, enable_nested_tensor):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        8, 2, 12, batch_first=True, norm_first=norm_first
    )
    theirs = nn.TransformerEncoder(
        layer, 2, norm=nn.LayerNorm(8), enable_nested_tensor=enable_nested_tensor
    ).eval()
    x, real = torch.randn(2, 5, 8), torch.arange(5) < torch.tensor([[5], [3]])
    with torch.no_grad():
        wanted = theirs(x, src_key_padding_mask=~real)
        output, _ = encoder_from_torch(theirs)(x, real[:, None])
    assert_close(output[real], wanted[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layer_is_the_formula_of_the_chapter(norm_first):
    torch.manual_seed(0)
    layer = EncoderLayer(6, 2, 8, norm_first=norm_first)
    randomise(layer, {"dtype": torch.float64, "training": True})
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    norm1, norm2, ffn = layer.norm1, layer.norm2, layer.feed_forward

    def attend(y):
        return layer.self_attention(y, y, y)[0]

    if norm_first:
        y = x + attend(norm1(x))
        wanted = y + ffn(norm2(y))
    else:
        y = norm1(x + attend(x))
        wanted = norm2(y + ffn(y))
    assert_close(layer(x)[0], wanted)


# Conversion


@exam
@given(cases())
def test_weights_go_there_and_back(case):
    encoder = make_encoder(case)
    theirs = encoder_to_torch(encoder)
    again = encoder_from_torch(theirs)
    for name, weight in encoder.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
        assert again.state_dict()[name].data_ptr() != weight.data_ptr(), name
    back = encoder_to_torch(again)
    assert back.state_dict().keys() == theirs.state_dict().keys()
    for name, weight in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], weight), name
    assert names_from_torch(names_to_torch(encoder.state_dict())).keys() == (
        encoder.state_dict().keys()
    )
    for module in (theirs, again, back):
        assert module.training is case["training"]


def test_conversion_reads_the_norm_at_the_end_with_its_own_eps():
    layer = nn.TransformerEncoderLayer(4, 2, 5, layer_norm_eps=1e-5, batch_first=True)
    norm = nn.LayerNorm(4, eps=3.0)
    theirs = nn.TransformerEncoder(
        layer, 2, norm=norm, enable_nested_tensor=False
    ).double()
    encoder = encoder_from_torch(theirs)
    assert encoder.norm.eps == encoder_to_torch(encoder).norm.eps == 3.0
    assert encoder.layers[0].norm1.eps == 1e-5
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert_close(encoder.eval()(x)[0], theirs.eval()(x))


def test_conversion_ignores_batch_first_and_keeps_dropout_and_dtype():
    layer = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.3)  # positions first
    theirs = (
        nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        .to(torch.bfloat16)
        .eval()
    )
    encoder = encoder_from_torch(theirs)
    (ours,) = encoder.layers
    assert (
        ours.dropout.p
        == ours.feed_forward.dropout.p
        == ours.self_attention.dropout
        == 0.3
    )
    assert {p.dtype for p in encoder.parameters()} == {torch.bfloat16}
    assert encoder_to_torch(encoder).layers[0].dropout1.p == 0.3
    x = torch.randn(2, 3, 4, dtype=torch.bfloat16)
    assert_close(
        encoder(x)[0], theirs(x.transpose(0, 1)).transpose(0, 1), atol=0.05, rtol=0.05
    )


def test_conversion_refuses_what_an_encoder_lacks():
    layer = nn.TransformerEncoderLayer(4, 2, 5, bias=False)
    theirs = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    with pytest.raises(ValueError, match="module: expected bias=True, got False"):
        encoder_from_torch(theirs)
    for change in (
        {"dim_feedforward": 6},
        {"activation": "gelu"},
        {"norm_first": True},
    ):
        options = {"dim_feedforward": 5, **change}
        mixed = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 5), 1, enable_nested_tensor=False
        )
        mixed.layers.append(nn.TransformerEncoderLayer(4, 2, **options))
        with pytest.raises(
            ValueError, match="module: expected layers of one kind, got 2 kinds"
        ):
            encoder_from_torch(mixed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda layer: setattr(layer.dropout1, "p", 0.5), "one share of dropout"),
        (lambda layer: setattr(layer.self_attn, "dropout", 0.5), r"got \[0.1, 0.5\]"),
        (lambda layer: setattr(layer.norm2, "eps", 0.5), "one eps"),
        (lambda layer: setattr(layer, "norm1", nn.RMSNorm(4, 1e-5)), "nn.LayerNorm"),
    ],
)
def test_conversion_refuses_what_it_cannot_keep(change, message):
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, 5), 2, enable_nested_tensor=False
    )
    for layer in theirs.layers:  # all alike, so that they are of one kind
        change(layer)
    with pytest.raises(ValueError, match=f"module: expected .*{message}"):
        encoder_from_torch(theirs)


def test_conversion_refuses_a_final_norm_of_another_kind():
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, 5),
        1,
        norm=nn.RMSNorm(4, 1e-5),
        enable_nested_tensor=False,
    )
    with pytest.raises(ValueError, match=r"module: expected nn\.LayerNorm"):
        encoder_from_torch(theirs)


def test_conversion_to_pytorch_refuses_several_shares_of_dropout():
    encoder = Encoder(2, 4, 2, 5, dropout=0.1)
    encoder.layers[1].feed_forward.dropout.p = 0.3
    with pytest.raises(ValueError, match="one share of dropout"):
        encoder_to_torch(encoder)


def test_eps_and_activation_reach_every_part():
    encoder = Encoder(2, 4, 2, 5, norm_first=True, eps=0.25, activation=F.gelu)
    norms = [module for module in encoder.modules() if isinstance(module, LayerNorm)]
    assert [norm.eps for norm in norms] == [0.25] * 5
    assert {layer.feed_forward.activation for layer in encoder.layers} == {F.gelu}


def test_layers_start_apart():
    encoder = Encoder(2, 8, 2, 12)
    first, second = (layer.feed_forward.linear1.weight for layer in encoder.layers)
    assert not torch.equal(first, second)
