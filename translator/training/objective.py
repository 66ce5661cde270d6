"""The training loss, as a sum over real tokens; the optimiser; the rate of each update."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import Config, TrainingConfig
from translator.data.batching import Batch


def token_loss(
    logits: Tensor, target: Tensor, pad_id: int, smoothing: float = 0.0
) -> Tensor:
    """Return the cross-entropy summed over the real tokens, in nats.

    logits: (B, T, V). target: (B, T) token ids; pad_id does not count. smoothing: the share of the
    probability that is spread evenly over all V tokens.
    The sum, not the mean: whoever has several micro-batches or processes divides by all tokens.
    Source: Szegedy et al. (2016), section 7, for the smoothing.
    """
    return _SmoothedCrossEntropy.apply(
        logits.flatten(0, 1), target.flatten(), pad_id, smoothing
    )


def training_loss(
    network: nn.Module, batch: Batch, pad_id: int, settings: TrainingConfig
) -> Tensor:
    """Return the loss of one micro-batch, summed over its real tokens, in nats.

    network: gives logits (B, T, V) for sources (B, S) and targets (B, T).
    With settings.r_drop, a weight α, each pair goes through the network twice, with other units
    dropped, and the two distributions of each token are drawn together: the mean of the two
    cross-entropies, and α / 4 times the sum of the two divergences. That is half of what the source
    has, so that the rate and the norm to clip at mean what they do without.
    Source: Liang et al. (2021), "R-Drop", section 2.
    """
    src, tgt_in, target = batch.src, batch.tgt_in, batch.tgt_out
    if not settings.r_drop:
        logits = network(src, tgt_in)
        return token_loss(logits, target, pad_id, settings.label_smoothing)
    # In one pass, since DDP expects one for each backward pass.
    logits = network(src.repeat(2, 1), tgt_in.repeat(2, 1))  # (2B, T, V)
    loss = token_loss(logits, target.repeat(2, 1), pad_id, settings.label_smoothing)
    return loss / 2 + settings.r_drop / 4 * divergence(logits, target != pad_id)


def divergence(logits: Tensor, real: Tensor) -> Tensor:
    """Return KL(p, q) + KL(q, p), summed over the tokens that are real, in nats.

    logits: (2B, T, V), those of p before those of q. real: (B, T), boolean.
    """
    log_p, log_q = logits.float().log_softmax(-1).chunk(2)  # (B, T, V) each
    apart = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1)  # (B, T)
    return (apart * real).sum()


class _SmoothedCrossEntropy(torch.autograd.Function):
    """What F.cross_entropy gives, with its gradient computed on the way, some rows at a time.

    A few rows stay in the processor's cache: it takes less than half the time on a CPU, which is a
    seventh of a step. Rows are float32 while they are worked on; bf16 would lose the small terms.
    """

    @staticmethod
    def forward(
        ctx, logits: Tensor, target: Tensor, pad_id: int, smoothing: float
    ) -> Tensor:
        rows = 32 if logits.device.type == "cpu" else len(logits)
        gradient = torch.empty_like(logits)  # (N, V)
        total = torch.zeros((), device=logits.device)
        parts = (logits.split(rows), target.split(rows), gradient.split(rows))
        for given, wanted, out in zip(*parts, strict=True):
            wanted = wanted[:, None]  # (n,) -> (n, 1)
            real = (wanted != pad_id).float()
            log_p = F.log_softmax(given, dim=-1, dtype=torch.float32)  # (n, V)
            losses = (1 - smoothing) * log_p.gather(1, wanted) + smoothing * log_p.mean(
                1, True
            )
            total -= (losses * real).sum()
            slope = log_p.exp_().sub_(smoothing / log_p.shape[1])
            slope.scatter_add_(1, wanted, torch.full_like(real, smoothing - 1))
            out.copy_(slope.mul_(real))
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx, factor: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * factor.to(gradient.dtype), None, None, None


def make_optimizer(
    model: nn.Module, config: Config, device: torch.device
) -> torch.optim.Optimizer:
    """Return Adam as in the paper, or AdamW where there is weight decay."""
    settings = config.training
    on_gpu = device.type == "cuda"
    kind = torch.optim.AdamW if settings.weight_decay else torch.optim.Adam
    return kind(
        model.parameters(),
        lr=settings.peak_lr,  # each update sets its own
        betas=(settings.beta1, settings.beta2),
        eps=settings.adam_eps,
        weight_decay=settings.weight_decay,
        fused=device.type in ("cpu", "cuda"),
        capturable=on_gpu,  # its count of updates is on the device, too
    )


def learning_rate(
    update: int, config: TrainingConfig, d_model: int, progress: float
) -> float:
    """Return the rate of this update.

    update: 1 for the first one. progress: the share of the training that is done, 0 to 1; only
    "cosine" and "wsd" read it.
    "noam" rises to update = warmup_steps and falls with the root; "cosine" rises likewise and
    falls to min_lr_ratio of the peak at the end; "constant" rises and stays; "wsd" rises, stays,
    and in the last decay_share falls to min_lr_ratio, by one minus the root of the part of
    decay_share that is over. Without config.rising the peak rate holds from the first update to
    the end of the warm-up.
    Raises ValueError for an update below 1.
    Source: Vaswani et al. (2017), equation 3; Loshchilov and Hutter (2017) for the cosine; Hägele
    et al. (2024), section 3, for "wsd".
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
    progress = min(max(progress, 0.0), 1.0)
    if config.schedule == "wsd":
        falling = 1 - math.sqrt(decay(config, progress))
    else:
        falling = 0.5 * (1 + math.cos(math.pi * progress))
    return (
        config.peak_lr
        * rising
        * (config.min_lr_ratio + (1 - config.min_lr_ratio) * falling)
    )


def decay(config: TrainingConfig, progress: float) -> float:
    """Return how much of the fall of "wsd" is over, 0 to 1, at this progress of the training."""
    begin = 1 - config.decay_share
    return (progress - begin) / config.decay_share if progress > begin else 0.0
