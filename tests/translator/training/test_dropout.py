"""Dropout from a pool of masks: what nn.Dropout promises holds for it, too."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.translator.training_help import config
from transformer.encoder import FeedForward
from transformer.multihead import MultiHeadAttention
from translator.training import dropout
from translator.training.dropout import PooledDropout, pool_dropout


@pytest.fixture(autouse=True)
def small_pool(monkeypatch):
    monkeypatch.setattr(dropout, "POOL_SIZE", 2**17)
    dropout._pool.cache_clear()
    yield
    dropout._pool.cache_clear()


@pytest.mark.parametrize("shape", [(50, 40, 30), (2**17,), (2**18,)])
def test_the_share_is_dropped_and_the_rest_scaled(shape):
    torch.manual_seed(0)
    x = torch.ones(shape, requires_grad=True)
    y = PooledDropout(0.2)(x)
    assert y.shape == x.shape
    assert y.unique().tolist() == pytest.approx([0, 1.25])
    assert (y == 0).float().mean().item() == pytest.approx(0.2, abs=0.01)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach()), "the gradient goes where the features went"


def test_masks_differ_from_call_to_call_and_repeat_with_the_seed():
    layer, x = PooledDropout(0.5), torch.ones(200)
    torch.manual_seed(1)
    first, second = layer(x), layer(x)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)


def test_nothing_is_dropped_in_eval_mode_or_with_a_share_of_zero():
    x = torch.ones(9)
    assert PooledDropout(0.5).eval()(x) is x
    assert PooledDropout(0.0)(x) is x


@pytest.mark.parametrize("to_float32", [False, True])
def test_the_type_is_that_of_what_comes_in_or_float32(to_float32):
    y = PooledDropout(0.5, to_float32)(torch.ones(9, dtype=torch.bfloat16))
    assert y.dtype == (torch.float32 if to_float32 else torch.bfloat16)


def test_every_dropout_of_a_model_is_replaced():
    model = config(**{"model.dropout": 0.3}).model.build(300, 0)
    names = list(model.state_dict())
    pool_dropout(model)
    kinds = {type(m): m for m in model.modules() if isinstance(m, nn.Dropout)}
    assert set(kinds) == {PooledDropout}
    assert kinds[PooledDropout].p == 0.3
    assert list(model.state_dict()) == names
    inside = {
        m.dropout.to_float32 for m in model.modules() if isinstance(m, FeedForward)
    }
    assert (inside, model.dropout.to_float32) == ({False}, True)


@pytest.mark.parametrize(("given", "expected"), [(None, 0.3), (0.0, 0.0), (0.2, 0.2)])
def test_attention_may_have_a_dropout_of_its_own(given, expected):
    changes = {"model.dropout": 0.3, "model.attention_dropout": given}
    model = config(**changes).model.build(300, 0)
    shares = {m.dropout for m in model.modules() if isinstance(m, MultiHeadAttention)}
    assert (shares, model.dropout.p) == ({expected}, 0.3)
