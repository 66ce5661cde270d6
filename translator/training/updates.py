"""An update of the weights: its passes forwards and backwards, then the optimiser's step."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel

from translator.config import Config
from translator.data.batching import Batch
from translator.device import describe_device, supports_bf16
from translator.errors import TrainingError
from translator.training.graphs import GraphedUpdate
from translator.training.objective import make_optimizer, token_loss, training_loss
from translator.training.processes import Processes
from translator.training.threads import fastest_threads


class Updates:
    """What changes a model's weights, on the device where they are, alone or with other processes.

    Waits for nothing that the device computes, and keeps on it what an update results in.

    Attributes:
        on_gpu: whether there is something to wait for: also "meta", which has no values at all.
        precision: fp32 or bf16, as the device has it.
        loss_sum: the loss of this process since the last `look`, in nats: ().
        loss_tokens: targets that it is the loss of, over all processes.
        norm: that of the last gradient, before it was clipped: ().

    """

    def __init__(
        self, model: nn.Module, config: Config, processes: Processes, pad_id: int
    ):
        self.model, self.processes, self.pad_id = model, processes, pad_id
        self.settings = config.training
        device = processes.device
        self.on_gpu = device.type != "cpu"
        self.optimizer = make_optimizer(model, config, device)
        self.precision = self.settings.precision
        if self.precision == "bf16" and not supports_bf16(device):
            self.precision = "fp32"
            if processes.first:
                print(
                    f"{describe_device(device)}: has no bf16, trains in fp32",
                    file=sys.stderr,
                )
        self.rate = torch.zeros((), device=device)
        self.share = torch.zeros((), device=device)
        self.loss_sum, self.norm = (torch.zeros_like(self.rate) for _ in range(2))
        self.loss_tokens = 0
        self.graphed: GraphedUpdate | None = None

    def network(self) -> nn.Module:
        """Return what is called in place of the model: in several processes, or compiled."""
        network: nn.Module = self.model
        if self.processes.size > 1:
            network = DistributedDataParallel(network)
        # Around DDP, whose buckets the compiler then knows and does not wait for.
        if self.settings.compile:
            network = torch.compile(network)
        return network

    def autocast(self) -> Any:
        """Return the context in which a forward pass runs: bf16 where the configuration says so."""
        kind = "cuda" if self.on_gpu else "cpu"
        contexts = ExitStack()
        if self.precision == "bf16":
            contexts.enter_context(torch.autocast(kind, dtype=torch.bfloat16))
        if kind == "cpu":  # for short sentences the fused kernel is the slower one
            contexts.enter_context(sdpa_kernel(SDPBackend.MATH))
        return contexts

    def __call__(
        self, network: nn.Module, parts: list[Batch], tokens: int, rate: float
    ) -> None:
        """Update the weights once, from the micro-batches of this process's share.

        tokens: targets of the update, over all processes. rate: the learning rate.
        """
        processes = self.processes
        self.rate.fill_(rate)
        # DDP averages the gradients over the processes; we want their sum.
        self.share.fill_(processes.size / tokens)
        on_cuda = processes.device.type == "cuda"
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate if on_cuda else rate
        parts = [part.to(processes.device, non_blocking=True) for part in parts]
        if self.settings.cuda_graphs and on_cuda and processes.size == 1:
            if self.graphed is None:
                update = partial(self._change_weights, network)
                self.graphed = GraphedUpdate(update, self._changing)
            summed, norm = self.graphed(parts)
        else:
            summed, norm = self._change_weights(network, parts)
        self.loss_sum += summed
        self.norm.copy_(norm)
        self.loss_tokens += tokens

    def _change_weights(
        self, network: nn.Module, parts: list[Batch]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Change the weights; return the summed loss of these micro-batches, and the norm."""
        self.optimizer.zero_grad(set_to_none=True)
        summed = torch.zeros_like(self.loss_sum)
        for i, batch in enumerate(parts):
            last = i == len(parts) - 1
            alone = self.processes.size == 1
            with nullcontext() if alone or last else network.no_sync():
                with self.autocast():
                    loss = training_loss(network, batch, self.pad_id, self.settings)
                (loss * self.share).backward()
            summed += loss.detach()
        limit = self.settings.clip_norm or math.inf
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        self.optimizer.step()
        return summed, norm

    def _changing(self) -> list[torch.Tensor]:
        """Return all tensors that an update changes."""
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                if not self.optimizer.state[parameter]:
                    self.optimizer.state[parameter] = {
                        "step": torch.zeros((), device=parameter.device),
                        "exp_avg": torch.zeros_like(parameter),
                        "exp_avg_sq": torch.zeros_like(parameter),
                    }
        states = self.optimizer.state.values()
        return [
            *self.model.parameters(),
            *(tensor for state in states for tensor in state.values()),
        ]

    def look(self) -> tuple[float, float]:
        """Return the loss a token since the last look, in nats, and the gradient's last norm.

        Over all processes. A GPU is waited for.
        """
        summed = self.processes.total(self.loss_sum.item())
        loss, norm = summed / max(self.loss_tokens, 1), self.norm.item()
        self.loss_sum.zero_()
        self.loss_tokens = 0
        return loss, norm

    @torch.no_grad()
    def mean_loss(self, model: nn.Module, batches: Iterable[Batch]) -> float:
        """Return a model's loss a token, in nats, without smoothing."""
        model.eval()
        summed, tokens = 0.0, 0
        for batch in batches:
            batch = batch.to(self.processes.device)
            with self.autocast():
                logits = model(batch.src, batch.tgt_in)
            summed += token_loss(logits, batch.tgt_out, self.pad_id).item()
            tokens += batch.num_tokens
        return summed / max(tokens, 1)

    def measure_threads(self, batch: Batch) -> None:
        """Take the number of threads with which a batch is fastest, forwards and backwards."""
        state = torch.get_rng_state()

        def work() -> None:
            with self.autocast():
                logits = self.model(batch.src, batch.tgt_in)
                loss = token_loss(logits, batch.tgt_out, self.pad_id)
            loss.backward()

        count = fastest_threads(work, torch.get_num_threads())
        self.optimizer.zero_grad(set_to_none=True)
        torch.set_rng_state(state)
        if self.processes.first:
            print(f"threads: {count}, measured to be the fastest", file=sys.stderr)

    def explained(
        self, error: RuntimeError, parts: list[Batch], update: int
    ) -> Exception:
        """Return an error of an update, as one that says what to do where memory ran out."""
        out_of_memory = (
            isinstance(error, torch.OutOfMemoryError) or "alloc" in str(error).lower()
        )
        if not out_of_memory:
            return error
        shapes = ", ".join(
            f"{tuple(b.src.shape)} and {tuple(b.tgt_in.shape)}" for b in parts
        )
        return TrainingError(
            f"out of memory at update {update} with batches of shape {shapes}: set "
            f"training.max_tokens below {self.settings.max_tokens} and "
            "training.accumulation higher by the same factor"
        )
