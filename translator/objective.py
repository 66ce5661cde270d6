"""The training loss, as a sum over real tokens, and the learning rate of each update."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor

from translator.config import TrainingConfig


def token_loss(logits: Tensor, target: Tensor, pad_id: int, smoothing: float = 0.0) -> Tensor:
    """Return the cross-entropy summed over the real tokens, in nats.

    logits: (B, T, V). target: (B, T) token ids; pad_id does not count. smoothing: the share of the
    probability that is spread evenly over all V tokens.
    The sum, not the mean: whoever has several micro-batches or processes divides by all tokens.
    Source: Szegedy et al. (2016), section 7, for the smoothing.
    """
    return F.cross_entropy(
        logits.flatten(0, 1).float(),  # (B, T, V) -> (B T, V); bf16 would lose the small terms
        target.flatten(),  # (B, T) -> (B T,)
        ignore_index=pad_id, label_smoothing=smoothing, reduction="sum",
    )  # fmt: skip


def learning_rate(update: int, config: TrainingConfig, d_model: int, progress: float) -> float:
    """Return the rate of this update.

    update: 1 for the first one. progress: the share of the training that is done, 0 to 1; only
    the cosine reads it.
    "noam" rises to update = warmup_steps and falls with the root; "cosine" rises likewise and
    falls to min_lr_ratio of the peak at the end; "constant" rises and stays. Without
    config.rising the rate of the peak holds from the first update to the end of the warm-up.
    Raises ValueError for an update below 1.
    Source: Vaswani et al. (2017), equation 3; Loshchilov and Hutter (2017) for the cosine.
    """
    if update < 1:
        raise ValueError(f"update: expected a number counted from 1, got {update}")
    warmup = max(config.warmup_steps, 1)
    rising = min(update / warmup, 1.0) if config.rising else 1.0
    if config.schedule == "noam":
        peak = config.noam_scale * (d_model * warmup) ** -0.5 or config.peak_lr
        return peak * rising * min(1.0, math.sqrt(warmup / update))
    if config.schedule == "constant":
        return config.peak_lr * rising
    falling = 0.5 * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0)))
    return config.peak_lr * rising * (config.min_lr_ratio + (1 - config.min_lr_ratio) * falling)
