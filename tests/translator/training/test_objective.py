"""The loss as a sum over tokens, and the learning rate of each update."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import TrainingConfig
from translator.data.batching import Batch
from translator.training.objective import (
    divergence,
    learning_rate,
    token_loss,
    training_loss,
)

PAD = 2


def case(seed, B=3, T=5, V=7):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(B, T, V, generator=generator, dtype=torch.float64).float()
    target = torch.randint(3, V, (B, T), generator=generator)
    target[1, 3:] = PAD
    return logits, target


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
def test_the_loss_by_hand(seed, smoothing):
    logits, target = case(seed)
    log_p, V = torch.log_softmax(logits, dim=-1), logits.shape[-1]
    expected = 0.0
    for b in range(3):
        for t in range(5):
            if target[b, t] != PAD:
                expected -= (1 - smoothing) * log_p[b, t, target[b, t]].item()
                expected -= smoothing / V * log_p[b, t].sum().item()
    found = token_loss(logits, target, PAD, smoothing).item()
    assert math.isclose(found, expected, rel_tol=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), extra=st.integers(1, 5))
def test_padding_adds_nothing_to_loss_or_gradient(seed, extra):
    logits, target = case(seed)
    longer = torch.cat([logits, 100 * torch.randn(3, extra, 7)], dim=1).requires_grad_()
    padded = F.pad(target, (0, extra), value=PAD)
    short = logits.clone().requires_grad_()
    loss = token_loss(short, target, PAD, 0.1)
    again = token_loss(longer, padded, PAD, 0.1)
    torch.testing.assert_close(loss, again)
    loss.backward()
    again.backward()
    torch.testing.assert_close(longer.grad[:, :5], short.grad)
    assert (longer.grad[:, 5:] == 0).all()


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    smoothing=st.sampled_from([0.0, 0.1]),
    B=st.integers(3, 30),
)
def test_loss_and_gradient_are_those_of_pytorch(seed, smoothing, B):
    given, target = case(seed, B=B)
    logits, again = (given.clone().requires_grad_() for _ in range(2))
    expected = F.cross_entropy(
        again.flatten(0, 1),
        target.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    loss = token_loss(logits, target, PAD, smoothing)
    torch.testing.assert_close(loss, expected)
    (3 * loss).backward()
    (3 * expected).backward()
    torch.testing.assert_close(logits.grad, again.grad)


def test_half_precision_is_summed_in_float32():
    logits = torch.randn(40, 50, 7)
    target = torch.randint(3, 7, (40, 50))
    exact = token_loss(logits.bfloat16().float(), target, PAD)
    torch.testing.assert_close(token_loss(logits.bfloat16(), target, PAD), exact)


def divergence_by_hand(p, q, real):
    """Both divergences of two distributions (B, T, V), summed over the real tokens."""
    p, q = p.log_softmax(-1)[real], q.log_softmax(-1)[real]
    ways = ((p, q), (q, p))
    return sum(F.kl_div(a, b, log_target=True, reduction="sum") for a, b in ways)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_divergence_is_that_of_pytorch_both_ways(seed):
    (p, target), (q, _) = case(seed), case(seed + 1)
    real = target != PAD
    found = divergence(torch.cat([p, q]), real)
    torch.testing.assert_close(found, divergence_by_hand(p, q, real))
    assert divergence(torch.cat([p, p]), real) == 0


@pytest.mark.parametrize("r_drop", [0.0, 0.5, 5.0])
def test_r_drop_draws_two_passes_together(r_drop):
    """The mean of the two passes' losses, and a quarter of α for what lies between them."""
    passes, target = torch.stack([case(3)[0], case(4)[0]]), case(3)[1]
    src = torch.arange(12).view(3, 4)
    seen = []

    def network(src, tgt_in):
        seen.append((src, tgt_in))
        return passes.flatten(0, 1)[: len(src)]

    batch = Batch(src, target + 1, target, torch.arange(3), 13, 12)
    config = TrainingConfig(r_drop=r_drop, label_smoothing=0.1)
    found = training_loss(network, batch, PAD, config)
    expected = [token_loss(logits, target, PAD, 0.1) for logits in passes]
    if not r_drop:
        torch.testing.assert_close(found, expected[0])
        return
    apart = divergence_by_hand(*passes, target != PAD)
    torch.testing.assert_close(found, sum(expected) / 2 + r_drop / 4 * apart)
    ((both, tgt_in),) = seen
    assert torch.equal(both, torch.cat([src, src]))
    assert torch.equal(tgt_in, torch.cat([target + 1] * 2))


def rates(updates=200, d_model=64, **settings):
    config = TrainingConfig(**settings)
    return [
        learning_rate(n, config, d_model, n / updates) for n in range(1, updates + 1)
    ]


def test_noam_is_the_formula_of_the_paper():
    found = rates(schedule="noam", noam_scale=1.0, warmup_steps=30)
    for n, rate in enumerate(found, start=1):
        assert math.isclose(rate, 64**-0.5 * min(n**-0.5, n * 30**-1.5))
    assert found.index(max(found)) == 29, "the peak is at update = warmup"
    assert math.isclose(found[29], (64 * 30) ** -0.5)
    assert 0 < found[30] < found[29]
    assert found[0] > 0


def test_peak_lr_is_the_peak_of_every_schedule():
    for schedule in ("noam", "cosine", "constant"):
        found = rates(schedule=schedule, warmup_steps=30, peak_lr=0.02)
        assert math.isclose(found[0], 0.02 / 30, rel_tol=0.01), schedule
        assert math.isclose(max(found), 0.02, rel_tol=0.06), schedule
    assert math.isclose(
        max(rates(schedule="noam", warmup_steps=30, peak_lr=0.02)), 0.02
    )


def test_cosine_ends_at_its_least_and_constant_stays():
    found = rates(schedule="cosine", warmup_steps=10, peak_lr=1.0, min_lr_ratio=0.1)
    assert math.isclose(found[-1], 0.1)
    assert all(a >= b for a, b in itertools.pairwise(found[9:])), "it only falls"
    assert set(rates(schedule="constant", warmup_steps=10, peak_lr=1.0)[9:]) == {1.0}


def test_wsd_rises_stays_and_falls_in_its_last_part():
    found = rates(schedule="wsd", warmup_steps=20, peak_lr=1.0, decay_share=0.25)
    assert found[:20] == pytest.approx([n / 20 for n in range(1, 21)])
    assert set(found[19:150]) == {1.0}
    falling = found[150:]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] == 0
    assert falling[12] == pytest.approx(1 - math.sqrt(13 / 50))
    changed = {"schedule": "wsd", "warmup_steps": 1, "peak_lr": 1.0}
    assert rates(**changed, min_lr_ratio=0.1)[-1] == pytest.approx(0.1)
    assert rates(**changed, decay_share=0.0) == [1.0] * 200


def test_without_warm_up_the_first_update_has_the_full_rate():
    assert rates(schedule="constant", warmup_steps=0, peak_lr=0.5)[0] == 0.5


def test_updates_count_from_one():
    with pytest.raises(
        ValueError, match="update: expected a number counted from 1, got 0"
    ):
        learning_rate(0, TrainingConfig(), 64, 0.0)


@pytest.mark.parametrize("schedule", ["noam", "cosine", "constant"])
def test_without_the_rise_only_the_warm_up_differs(schedule):
    config = TrainingConfig(schedule=schedule, warmup_steps=10, peak_lr=0.5)
    flat = dataclasses.replace(config, rising=False)
    for update in (1, 4, 9, 10, 11, 200):
        usual, held = (
            learning_rate(update, c, 64, update / 400) for c in (config, flat)
        )
        assert held == pytest.approx(usual * max(10 / update, 1))
