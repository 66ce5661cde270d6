"""Train a translator: the loop, its log, its checkpoints, and how it goes on after an end.

Every source of chance depends on the seed and the number of the update alone: the order of the
batches, and the generator, which is seeded anew before each update. So a run that was stopped goes
on as if it had not been.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from translator.config import Config
from translator.data.augmentation import SubwordDropout
from translator.data.batching import Batch, TokenBatches
from translator.data.fixed_shapes import FixedBatches
from translator.data.prepared import PreparedCorpus
from translator.data.token_ids import TokenIds
from translator.decoding.model_folder import Translator
from translator.decoding.record import surroundings
from translator.device import describe_device
from translator.errors import TrainingError
from translator.training import checkpoints
from translator.training.averaging import running_mean
from translator.training.checkpoints import CheckpointError
from translator.training.dropout import pool_dropout
from translator.training.growth import grow
from translator.training.log import TrainingLog
from translator.training.objective import (
    decay,
    learning_rate,
)
from translator.training.processes import Processes
from translator.training.updates import Updates

#: Updates on a GPU between two looks at whether the loss is finite.
LOOK_EVERY = 50
#: What a training counts as it goes on; a checkpoint has these too.
COUNTERS = (
    "update",
    "epoch",
    "step_in_epoch",
    "seconds",
    "tokens",
    "best_loss",
    "best_update",
    "without_progress",
)


class Trainer:
    """A model in training.

    config: sizes, data and training. corpus: prepared data. folder: where the log and the
    checkpoints go. processes: device, and our place among several processes. make_model: called
    with the vocabulary's size and the padding's id, for another model than the configuration's:
    any module that gives logits (B, T, V) for source (B, S) and target (B, T). timer: returns
    the seconds that max_seconds and the log count, in place of the clock's; time.process_time
    counts those of the processor, which a busy machine does not change.
    """

    def __init__(
        self,
        config: Config,
        corpus: PreparedCorpus,
        folder: Path,
        processes: Processes,
        *,
        show_progress: bool = True,
        make_model: Callable[[int, int], nn.Module] | None = None,
        timer: Callable[[], float] | None = None,
    ):
        self.timer = timer or time.perf_counter
        self.started = self.timer()  # the clock covers all that follows
        self.config, self.corpus, self.folder = config, corpus, Path(folder)
        self.processes, self.show_progress = processes, show_progress
        settings = config.training
        if settings.threads:
            torch.set_num_threads(settings.threads)
        if settings.tf32:
            torch.set_float32_matmul_precision("high")
        tokenizer = corpus.tokenizer
        torch.manual_seed(settings.seed)
        make_model = make_model or config.model.build
        self.model = make_model(tokenizer.vocab_size, tokenizer.pad_id)
        self.model.to(processes.device)
        if settings.pooled_dropout and processes.device.type == "cpu":
            pool_dropout(self.model)
        self.updates = Updates(self.model, config, processes, tokenizer.pad_id)
        self.optimizer = self.updates.optimizer
        self.mean = running_mean(self.model, settings.ema_decay)
        # To look at a number a GPU has to be waited for.
        self.look_every = LOOK_EVERY if self.updates.on_gpu else 1
        self.train_batches: TokenBatches | None = None
        self.train_batches = self.batches_of(self.train_ids(0), shuffle=True)
        self.valid_batches = self.batches_of(corpus.valid, shuffle=False)
        self.update, self.epoch, self.step_in_epoch = 0, 0, 0
        self.seconds, self.tokens = 0.0, 0
        # The seconds that all processes go by: those of the first one, when they last agreed.
        self.clock = 0.0
        self.best_loss, self.best_update, self.without_progress = math.inf, 0, 0
        # Whether the rate of "wsd" has been stable and has not yet fallen.
        self.stable = False
        self.started_from: dict[str, Any] | None = None
        # Of the code that runs, not of what it is at the end.
        self.surroundings = surroundings(processes.device)

    def batches_of(self, ids: TokenIds, *, shuffle: bool) -> TokenBatches:
        """Return the batches of a split; those of training are shared out among the processes."""
        tokenizer, settings = self.corpus.tokenizer, self.config.training
        shares = {
            "rank": self.processes.rank,
            "world_size": self.processes.size,
            "accumulation": settings.accumulation,
            "pad_to_multiple": settings.pad_to_multiple,
            "length_jitter": settings.length_jitter,
        }
        kind: Callable[..., TokenBatches] = TokenBatches
        if settings.shapes and shuffle:
            before = getattr(self.train_batches, "bounds", ())
            kind = partial(
                FixedBatches,
                shapes=settings.shapes,
                device=self.processes.device,
                bounds=before,
            )
        return kind(
            ids,
            settings.max_tokens,
            pad_id=tokenizer.pad_id,
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            seed=settings.seed,
            shuffle=shuffle,
            **(shares if shuffle else {}),
        )

    def train_ids(self, epoch: int) -> TokenIds:
        """Return the training split as an epoch sees it: words may be cut differently in each."""
        share = self.config.training.subword_dropout
        if not share:
            return self.corpus.train
        rng = np.random.default_rng([self.config.training.seed, epoch, 1])
        return SubwordDropout(self.corpus.tokenizer, share)(self.corpus.train, rng)

    # -- one update ---------------------------------------------------------------------------

    def train_step(self, network: nn.Module, parts: list[Batch], tokens: int) -> float:
        """Update the weights once, from the micro-batches of this process's share.

        tokens: targets of the step, over all processes. Returns the learning rate.
        """
        settings = self.config.training
        torch.manual_seed(_mix(settings.seed, self.update + 1, self.processes.rank))
        rate = learning_rate(
            self.update + 1, settings, self.config.model.d_model, self.progress()
        )
        self.updates(network, parts, tokens, rate)
        if self.mean is not None:
            self.mean.update_parameters(self.model)
        self.update += 1
        self.tokens += tokens
        return rate

    @property
    def shown(self) -> nn.Module:
        """The model that is measured and kept: that of the mean weights, if there is one."""
        return self.model if self.mean is None else self.mean.module

    def look(self) -> tuple[float, float]:
        """Return the loss a token since the last look, in nats, and the gradient's last norm.

        Raises TrainingError where they are not finite.
        """
        loss, norm = self.updates.look()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(self._not_finite(loss, norm))
        return loss, norm

    def start_from(self, translator: Translator) -> None:
        """Begin with a trained translator's weights in place of random ones: see `growth.grow`.

        Raises TrainingError where it does not fit.
        """
        self.started_from = grow(
            self.model, self.config.model, self.corpus.tokenizer, translator
        )

    def _not_finite(self, loss: float, norm: float) -> str:
        saved = checkpoints.checkpoints(self.checkpoint_folder)
        kept = f"; the last good checkpoint is {saved[-1].name}" if saved else ""
        return (
            f"update {self.update}: the loss is {loss:.3g} and the norm of its gradient "
            f"{norm:.3g}; try a lower training.peak_lr, a longer training.warmup_steps or "
            f"training.precision = fp32{kept}"
        )

    def progress(self) -> float:
        """Return the share of the training that is done, by whichever limit comes first."""
        settings = self.config.training
        shares = [0.0]
        if settings.max_steps:
            shares.append(self.update / settings.max_steps)
        if settings.max_epochs:
            done = self.step_in_epoch / max(self.train_batches.num_steps(self.epoch), 1)
            shares.append((self.epoch + done) / settings.max_epochs)
        if settings.max_seconds:
            shares.append(self.clock / settings.max_seconds)
        return min(max(shares), 1.0)

    # -- the whole ----------------------------------------------------------------------------

    @property
    def checkpoint_folder(self) -> Path:
        """Where the checkpoints are."""
        return self.folder / "checkpoints"

    @property
    def average_folder(self) -> Path:
        """Where the weights for the average are."""
        return self.folder / "weights"

    @property
    def stable_folder(self) -> Path:
        """Where the state before the rate fell is."""
        return self.folder / "stable"

    def run(self) -> dict[str, Any]:
        """Train to the end; return a summary, which is also written to training.json.

        The weights at the end are in self.model: the average of the last checkpoints if the
        configuration says so, else those with the lowest validation loss.
        Raises TrainingError and CheckpointError; the last checkpoint stays.
        """
        settings = self.config.training
        log = TrainingLog(self.folder, self, enabled=self.processes.first)
        log.begin(self.update)
        network = self.updates.network()
        began = self.started - self.seconds
        self._tick(began)
        if not settings.threads and self.processes.device.type == "cpu":
            self.updates.measure_threads(next(self.train_batches.steps(0))[0])
        stop = self.update > 0 and self.progress() >= 1
        validated = self.update if stop else -1
        saved, looked = self.clock, self.update
        while not stop:
            if settings.subword_dropout:
                self.train_batches = self.batches_of(
                    self.train_ids(self.epoch), shuffle=True
                )
            # Sentences in an epoch do not depend on where it was interrupted.
            for parts in self.train_batches.steps(self.epoch, start=self.step_in_epoch):
                self.model.train()
                self._keep_before_decay()
                tokens = self.train_batches.tokens(self.epoch, self.step_in_epoch)
                try:
                    rate = self.train_step(network, parts, tokens)
                except RuntimeError as error:
                    raise self.updates.explained(
                        error, parts, self.update + 1
                    ) from error
                self.step_in_epoch += 1
                self._tick(began)
                ends = self.step_in_epoch == self.train_batches.num_steps(self.epoch)
                validates = (
                    self.update % settings.validate_every == 0
                    if settings.validate_every
                    else ends
                )
                keeps = self.update % settings.checkpoint_every == 0
                stop = self.progress() >= 1
                due = self._is_due(saved, keeps)
                if (
                    (stop or validates or keeps or due)
                    or self.update - looked >= self.look_every
                    or self.update % settings.log_every == 0
                ):
                    loss, norm = self.look()
                    log.step(
                        loss,
                        self.update - looked,
                        norm,
                        rate,
                        self.tokens,
                        self.timer() - began,
                    )
                    looked = self.update
                if validates or (stop and validated < self.update):
                    stop, validated = self._validated(log) or stop, self.update
                if ends:
                    self.epoch, self.step_in_epoch = self.epoch + 1, 0
                if keeps or stop:
                    self._keep_weights()
                if due or stop:
                    self.save()
                    saved = self.clock
                if stop or ends:
                    break
            else:
                raise TrainingError("the training split holds no batch: it is empty")
        summary = self._finish(log, began)
        log.end(summary)
        return summary

    def _tick(self, began: float) -> None:
        """Read the clock; now and then the first process tells the others what it says."""
        self.seconds = self.timer() - began
        if self.processes.size == 1:
            self.clock = self.seconds
        elif self.update % self.look_every == 0:
            self.clock = self.processes.agree(self.seconds)

    def _is_due(self, saved: float, keeps: bool) -> bool:
        period = self.config.training.save_seconds
        return self.clock - saved >= period if period else keeps

    def _validated(self, log: TrainingLog) -> bool:
        """Measure the validation loss; return whether to stop early."""
        loss = self.processes.agree(
            self.validation_loss() if self.processes.first else 0.0
        )
        if loss < self.best_loss:
            self.best_loss, self.best_update = loss, self.update
            self.without_progress = 0
            if self.processes.first:
                checkpoints.save(
                    self.folder / "best", self.update, self.shown.state_dict(), 1
                )
        else:
            self.without_progress += 1
        log.validation(loss)
        patience = self.config.training.patience
        return bool(patience and self.without_progress >= patience)

    def validation_loss(self) -> float:
        """Return the loss a token on the validation split, in nats, without smoothing."""
        return self.updates.mean_loss(self.shown, self.valid_batches.batches())

    # -- checkpoints --------------------------------------------------------------------------

    def _keep_before_decay(self) -> None:
        """Save the state before "wsd" falls apart: a longer training can go on from it."""
        if self.config.training.schedule != "wsd":
            return
        falls = decay(self.config.training, self.progress()) > 0
        if falls and self.stable:
            self.save(self.stable_folder, keep=1)
        self.stable = not falls

    def save(self, folder: Path | None = None, keep: int = 0) -> None:
        """Write a checkpoint of everything that the next update depends on.

        folder, keep: where to, if not with the others, and how many to keep there.
        """
        if not self.processes.first:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": {name: getattr(self, name) for name in COUNTERS},
            "config": self.config.to_dict(),
            "data": self.corpus.fingerprint,
            "started_from": self.started_from,
            "mean": self.mean and self.mean.state_dict(),
        }
        keep = keep or self.config.training.keep_checkpoints
        checkpoints.save(folder or self.checkpoint_folder, self.update, state, keep)

    def _keep_weights(self) -> None:
        """Keep the weights alone, where the average of several is wanted."""
        count = self.config.training.average_last
        if self.processes.first and count > 1:
            weights = self.model.state_dict()
            checkpoints.save(self.average_folder, self.update, weights, count)

    def resume(self, folder: Path | None = None) -> None:
        """Go on from the newest checkpoint of the run's own folder, or of another one.

        Raises CheckpointError if there is none, or it is damaged, or of another configuration or
        other data.
        """
        folder = folder or self.checkpoint_folder
        found = checkpoints.checkpoints(folder)
        if not found:
            raise CheckpointError(f"{folder}: no checkpoint to resume from")
        state = checkpoints.load(found[-1])
        checkpoints.check_continuation(found[-1], state, self.config, self.corpus)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.mean is not None:
            self.mean.load_state_dict(state["mean"])
        self.started_from = state.get("started_from")
        for name, value in state["counters"].items():
            setattr(self, name, value)
        self.clock = self.seconds
        if self.step_in_epoch >= self.train_batches.num_steps(self.epoch):
            self.epoch, self.step_in_epoch = self.epoch + 1, 0
        if self.processes.first:
            checkpoints.forget_after(self.average_folder, self.update)

    def _finish(self, log: TrainingLog, began: float) -> dict[str, Any]:
        chosen = f"update {self.update}"
        if self.processes.first:
            found = checkpoints.final_weights(
                self.average_folder,
                self.folder / "best",
                self.config.training.average_last,
            )
            if found is not None:
                weights, chosen = found
                self.model.load_state_dict(weights)
                self.mean = None  # what is measured now is the model itself
        final_loss = self.validation_loss() if self.processes.first else 0.0
        self.processes.wait()
        self.seconds = self.timer() - began
        return {
            "updates": self.update,
            "epochs": self.epoch
            + self.step_in_epoch / max(self.train_batches.num_steps(self.epoch), 1),
            "seconds": round(self.seconds, 1),
            "target_tokens": self.tokens,
            "target_tokens_per_second": round(self.tokens / max(self.seconds, 1e-9)),
            "weights": chosen,
            "validation_loss": final_loss,
            "best_validation_loss": self.best_loss,
            "best_update": self.best_update,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "padding": self.train_batches.padding(0).total,
            "surroundings": self.surroundings,
            "started_from": self.started_from,
            "processes": self.processes.size,
            "device": describe_device(self.processes.device),
            "precision": self.updates.precision,
        }


def _mix(seed: int, update: int, rank: int) -> int:
    return ((seed * 1_000_003 + update) * 4096 + rank) % 2**63
