"""What the harness imports once for all notebooks, in the process from which they are forked.

Also what torch loads late, at the first optimiser and the first gradient of what is no loss: each
answer would load that anew, for longer than most answers take.
"""

from __future__ import annotations

import gc
import os

os.environ.update(OMP_NUM_THREADS="1", MPLBACKEND="Agg", CUDA_VISIBLE_DEVICES="")

import matplotlib.pyplot  # noqa: F401
import torch

import tests.harness.runner  # noqa: F401
from tests.harness import pages

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.zeros(1))
weight.grad = torch.zeros(1)
torch.optim.Adam([weight]).step()
weight = torch.zeros(1, requires_grad=True)
torch.autograd.grad(2 * weight, weight, torch.ones(1))
gc.collect()
gc.freeze()  # no run looks through it again
pages.join()  # each run is a fork of this process
