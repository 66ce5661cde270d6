"""The encoder's edges: exported programs, and conversions that would lose something."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from transformer.attention import padding_mask
from transformer.encoder import (
    Encoder,
    EncoderLayer,
    encoder_from_torch,
    encoder_to_torch,
)
from transformer.multihead import MultiHeadAttention

PAD = 7


class OfIds(nn.Module):
    """An encoder of ids that makes its own mask, as a model would export it."""

    def __init__(self, *, norm_first: bool, need_weights: bool):
        super().__init__()
        self.embed = nn.Embedding(PAD + 1, 8)
        self.encoder = Encoder(2, 8, 2, 16, norm_first=norm_first, dropout=0.1)
        self.need_weights = need_weights

    def forward(self, ids):
        mask = padding_mask(ids, PAD)
        output, maps = self.encoder(self.embed(ids), mask, self.need_weights)
        return (output, *(maps or ()))


@pytest.mark.slow
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_exported_program_takes_other_batches_and_lengths(norm_first, need_weights):
    def draw(batch, length):
        ids = torch.randint(PAD, (batch, length))
        ids[0, -1] = PAD
        return ids

    torch.manual_seed(0)
    model = OfIds(norm_first=norm_first, need_weights=need_weights).eval()
    shapes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length")},)
    program = torch.export.export(model, (draw(3, 5),), dynamic_shapes=shapes).module()
    for sizes in ((3, 5), (6, 9), (2, 3)):
        ids = draw(*sizes)
        found, expected = program(ids), model(ids)
        assert len(found) == (3 if need_weights else 1)
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)


class Scaled(MultiHeadAttention):
    """Attention that does more than its base."""

    def attend(self, q, k, v, mask=None, need_weights=False):
        return super().attend(2 * q, k, v, mask, need_weights)


class DoubledLayer(EncoderLayer):
    """A layer that does more than its base."""

    def forward(self, x, mask=None, need_weights=False):
        output, weights = super().forward(x, mask, need_weights)
        return 2 * output, weights


class DoubledEncoder(Encoder):
    """A stack that does more than its base."""

    def forward(self, x, mask=None, need_weights=False):
        output, weights = super().forward(x, mask, need_weights)
        return 2 * output, weights


def second_layer(layer):
    """Return a change that gives an encoder this second layer."""

    def change(encoder):
        encoder.layers[1] = layer

    return change


def set_on(path, name, value):
    """Return a change of an attribute of one part."""
    return lambda stack: setattr(stack.get_submodule(path), name, value)


def tie(stack):
    """Let both layers have the same weights."""
    stack.layers[1] = stack.layers[0]


LOST_TO_TORCH = {
    "layer subclass": (second_layer(DoubledLayer(4, 2, 8)), "got DoubledLayer"),
    "other heads": (second_layer(EncoderLayer(4, 1, 8)), "num_heads = 2 for layers.1"),
    "other order": (set_on("layers.1", "norm_first", True), "norm_first = False"),
    "other width": (second_layer(EncoderLayer(4, 2, 9)), "d_ff = 8 for layers.1"),
    "other eps": (set_on("layers.1.norm2", "eps", 0.1), "eps = 1e-05 for layers.1.nor"),
    "other activation": (
        set_on("layers.1.feed_forward", "activation", torch.tanh),
        "activation = .*layers.1",
    ),
    "attention subclass": (
        set_on("layers.0", "self_attention", Scaled(4, 2)),
        "class = .*MultiHeadAttention.*got .*Scaled",
    ),
    "attention without biases": (
        set_on("layers.0", "self_attention", MultiHeadAttention(4, 2, bias=False)),
        r"bias = \(12,\) for layers.0.self_attention.qkv_proj",
    ),
    "norm of another kind": (
        set_on("layers.0", "norm1", nn.RMSNorm(4, 1e-5)),
        "layers.0.norm1, got .*RMSNorm",
    ),
    "no norm": (set_on("layers.0", "norm1", nn.Identity()), "layers.0.norm1, got .*Id"),
    "a part more": (lambda stack: stack.add_module("gate", nn.Linear(4, 4)), "gate"),
    "weights in common": (tie, "no weights in common"),
}


@pytest.mark.parametrize("case", LOST_TO_TORCH)
def test_conversion_to_pytorch_refuses_what_would_be_lost(case):
    change, message = LOST_TO_TORCH[case]
    encoder = Encoder(2, 4, 2, 8)
    assert encoder_to_torch(encoder), "it is the change that is refused"
    change(encoder)
    with pytest.raises(ValueError, match=f"encoder: .*{message}"):
        encoder_to_torch(encoder)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (DoubledEncoder(2, 4, 2, 8), "expected Encoder .* got DoubledEncoder"),
        (Encoder(2, 4, 2, 8, activation=nn.PReLU(8, 0.0)), "no parameters .* PReLU"),
    ],
)
def test_conversion_to_pytorch_refuses_other_encoders(encoder, message):
    with pytest.raises(ValueError, match=f"encoder: .*{message}"):
        encoder_to_torch(encoder)


class TorchLayer(nn.TransformerEncoderLayer):
    """A layer of PyTorch's that does more than its base."""

    def forward(self, *inputs, **options):
        return 2 * super().forward(*inputs, **options)


class TorchStack(nn.TransformerEncoder):
    """A stack of PyTorch's that does more than its base."""

    def forward(self, *inputs, **options):
        return 2 * super().forward(*inputs, **options)


class TorchNorm(nn.LayerNorm):
    """A norm that does more than its base."""

    def forward(self, x):
        return 2 * super().forward(x)


def theirs(kind=nn.TransformerEncoder, layer=nn.TransformerEncoderLayer, **options):
    """Return PyTorch's encoder, of two layers."""
    return kind(layer(4, 2, 8, **options), 2, enable_nested_tensor=False)


LOST_FROM_TORCH = {
    "another zero": (
        set_on("layers.0.self_attn", "add_zero_attn", True),
        "add_zero_attn = False for layers.0.self_attn, got True",
    ),
    "a key more": (
        set_on(
            "layers.1", "self_attn", nn.MultiheadAttention(4, 2, 0.1, add_bias_kv=True)
        ),
        "bias_k = None for layers.1.self_attn",
    ),
    "norm subclass": (set_on("layers.1", "norm2", TorchNorm(4)), "got .*TorchNorm"),
    "another slope": (
        set_on("layers.1.activation", "negative_slope", 0.9),
        "negative_slope = 0.1",
    ),
    "weights in common": (tie, "no weights in common"),
}


@pytest.mark.parametrize("case", LOST_FROM_TORCH)
def test_conversion_from_pytorch_refuses_what_would_be_lost(case):
    change, message = LOST_FROM_TORCH[case]
    module = theirs(activation=nn.LeakyReLU(0.1))
    assert encoder_from_torch(module), "it is the change that is refused"
    change(module)
    with pytest.raises(ValueError, match=f"module: .*{message}"):
        encoder_from_torch(module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (theirs(layer=TorchLayer), "no subclass of it, got TorchLayer"),
        (theirs(kind=TorchStack), "no subclass of it, got TorchStack"),
        (theirs(activation=nn.PReLU(8, 0.0)), "no parameters .* PReLU"),
    ],
)
def test_conversion_from_pytorch_refuses_other_encoders(module, message):
    with pytest.raises(ValueError, match=f"module: .*{message}"):
        encoder_from_torch(module)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", [F.gelu, nn.LeakyReLU(0.3), torch.tanh])
@pytest.mark.parametrize("training", [False, True])
def test_conversion_keeps_the_function_and_leaves_its_argument_as_it_was(
    norm_first, activation, training
):
    torch.manual_seed(0)
    encoder = Encoder(
        2, 4, 2, 8, norm_first=norm_first, activation=activation, final_norm=True
    )
    encoder.norm.eps = 0.2
    for parameter in encoder.parameters():
        nn.init.normal_(parameter)
    encoder.train(training)
    before = deepcopy(encoder.state_dict())
    module = encoder_to_torch(encoder)
    again = encoder_from_torch(module)
    assert module.training == again.training == training
    x = torch.randn(2, 3, 4)
    for output in (module(x), again(x)[0]):
        assert_close(output, encoder(x)[0])
    assert_close(encoder.state_dict(), before)
