"""The running mean of the weights, an exponential moving average."""

from __future__ import annotations

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def running_mean(model: nn.Module, decay: float) -> AveragedModel | None:
    """Return a copy of the model for the mean of its weights; None for a decay of 0.

    After each update, `update_parameters(model)` multiplies the mean by `decay` and adds 1 - decay
    of the weights; the first one copies them. So the mean reaches back over about 1 / (1 - decay)
    updates, which should be a small part of the training. The averaged model is `.module`.
    Source: Kingma and Ba (2015), section 7.2.
    """
    if not decay:
        return None
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
