"""What a training tells: JSON lines in log.jsonl, a progress bar, a summary in training.json."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from translator.config import Config
from translator.files import write_bytes

LOG = "log.jsonl"


class Run(Protocol):
    """What the log reads of a training, such as a Trainer."""

    config: Config
    update: int
    epoch: int
    tokens: int
    seconds: float
    show_progress: bool

    def progress(self) -> float:
        """Return the share that is done, 0 to 1."""


class TrainingLog:
    """The log of one run. With several processes only the first one has it enabled."""

    def __init__(self, folder: Path, trainer: Run, *, enabled: bool = True):
        self.path, self.trainer, self.enabled = folder / LOG, trainer, enabled
        self.summed, self.count = 0.0, 0
        self.last_tokens = self.last_seconds = 0.0
        self.bar: tqdm | None = None

    def begin(self, update: int) -> None:
        """Start the log; on resuming, forget what came after the checkpoint's update."""
        if not self.enabled:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = (
            [line for line in read_log(self.path) if line["update"] <= update]
            if update
            else []
        )
        text = "".join(json.dumps(line) + "\n" for line in kept)
        write_bytes(self.path, text.encode())
        self.last_tokens, self.last_seconds = self.trainer.tokens, self.trainer.seconds
        self.bar = tqdm(
            total=1000,
            initial=round(1000 * self.trainer.progress()),
            file=sys.stderr,
            disable=not self.trainer.show_progress,
            mininterval=0.5,
            bar_format="{percentage:5.1f} % |{bar:20}| {elapsed}<{remaining} {postfix}",
        )

    def step(
        self,
        loss: float,
        updates: int,
        norm: float,
        rate: float,
        tokens: int,
        seconds: float,
    ) -> None:
        """Take note of updates and of their mean loss; write a line every log_every of them."""
        self.summed, self.count = self.summed + loss * updates, self.count + updates
        if not self.enabled:
            return
        speed = (tokens - self.last_tokens) / max(seconds - self.last_seconds, 1e-9)
        self.bar.n = round(1000 * self.trainer.progress())
        self.bar.set_postfix_str(
            f"update {self.trainer.update}, loss {loss:.3f}, rate {rate:.2e}, "
            f"{speed:,.0f} tokens/s",
            refresh=False,
        )
        self.bar.update(0)
        if self.trainer.update % self.trainer.config.training.log_every == 0:
            self._write(
                loss=self.summed / self.count,
                gradient_norm=norm,
                learning_rate=rate,
                tokens=tokens,
                seconds=seconds,
                tokens_per_second=speed,
            )
            self.summed, self.count = 0.0, 0
            self.last_tokens, self.last_seconds = tokens, seconds

    def validation(self, loss: float) -> None:
        """Write a line with the validation loss."""
        if self.enabled:
            perplexity = math.exp(min(loss, 50.0))
            self._write(
                validation_loss=loss,
                perplexity=perplexity,
                seconds=self.trainer.seconds,
            )
            if self.trainer.show_progress:
                self.bar.write(
                    f"update {self.trainer.update}: validation loss {loss:.3f}, "
                    f"perplexity {perplexity:.2f}",
                    file=sys.stderr,
                )

    def end(self, summary: dict[str, Any]) -> None:
        """Close the bar and write the summary."""
        if self.enabled:
            self.bar.close()
            data = json.dumps(summary, indent=2) + "\n"
            write_bytes(self.path.with_name("training.json"), data.encode())

    def _write(self, **values: float) -> None:
        line = json.dumps(
            {"update": self.trainer.update, "epoch": self.trainer.epoch, **values}
        )
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log; a last line that was cut off by a kill is left out."""
    if not path.exists():
        return []
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines
