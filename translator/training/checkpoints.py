"""Checkpoints that are either whole or not there, and averages of them.

A file is named step-<update>-<hash>.pt, where the hash is that of its contents: a damaged file is
noticed before anything is read from it. It is written under another name, flushed to the disk and
then renamed, so that a kill at any moment leaves the older ones.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translator.config import Config
from translator.data.prepared import PreparedCorpus
from translator.errors import TranslatorError, explain_os_error
from translator.files import write_bytes

NAME = re.compile(r"step-(\d{8})-([0-9a-f]{16})\.pt")


#: What may differ between a run and its continuation: where it ends, and how often it reports.
MAY_CHANGE = {
    "max_steps",
    "max_epochs",
    "max_seconds",
    "decay_share",
    "log_every",
    "save_seconds",
    "keep_checkpoints",
    "cuda_graphs",
    "threads",
    "patience",
}


class CheckpointError(TranslatorError):
    """A checkpoint is missing, damaged, or belongs to another run."""


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, oldest first."""
    return sorted(
        path for path in folder.glob("step-*.pt") if NAME.fullmatch(path.name)
    )


def save(folder: Path, update: int, state: dict[str, Any], keep: int) -> Path:
    """Write a checkpoint and forget all but the newest ``keep``.

    Raises CheckpointError where the disk refuses; what was there before is still there.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getvalue()
    path = folder / f"step-{update:08d}-{hashlib.sha256(data).hexdigest()[:16]}.pt"
    try:
        write_bytes(path, data)
    except OSError as error:
        last = checkpoints(folder)[-1:]
        kept = (
            f"the last one, {last[0].name}, is kept"
            if last
            else "there is no earlier one"
        )
        raise CheckpointError(
            f"the checkpoint of update {update} was not written: {explain_os_error(error)}; {kept}"
        ) from error
    for old in checkpoints(folder)[:-keep]:
        old.unlink()
    for stale in folder.glob(".step-*"):  # half written by a process that was killed
        stale.unlink()
    return path


def digest(weights: Mapping[str, Tensor]) -> str:
    """Return a SHA-256 of weights: of their names, shapes and values, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint, after comparing it with the hash in its name.

    Raises CheckpointError if it cannot be read or is not what was written.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(explain_os_error(error)) from error
    match = NAME.fullmatch(path.name)
    if match is None or hashlib.sha256(data).hexdigest()[:16] != match[2]:
        others = [other.name for other in checkpoints(path.parent) if other != path]
        advice = (
            f"delete it to go on from {others[-1]}"
            if others
            else "there is no other one"
        )
        raise CheckpointError(
            f"{path}: damaged, its contents do not match its name; {advice}"
        )
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)


def average(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of several state dicts of one model, entry by entry.

    Sums are taken in float64, so that the result does not depend on the order.
    Raises CheckpointError for no state, or states of different models.
    Source: Vaswani et al. (2017), section 6.1.
    """
    if not states:
        raise CheckpointError("expected at least one checkpoint to average, got none")
    for other in states[1:]:
        shapes = [
            {name: tensor.shape for name, tensor in s.items()}
            for s in (states[0], other)
        ]
        if shapes[0] != shapes[1]:
            raise CheckpointError("the checkpoints to average are of different models")
    return {
        name: (sum(state[name].double() for state in states) / len(states)).to(
            tensor.dtype
        )
        for name, tensor in states[0].items()
    }


def forget_after(folder: Path, update: int) -> None:
    """Delete what was written after an update that a training goes on from."""
    for path in checkpoints(folder):
        if _update_of(path) > update:
            path.unlink()


def final_weights(
    last: Path, best: Path, average_last: int
) -> tuple[dict[str, Tensor], str] | None:
    """Return the weights that a training ends with, and in words which they are.

    last, best: the folders of the newest weights and of those with the lowest validation loss.
    average_last: take the mean of so many of the newest; 1 takes the best.
    Returns None where there is no best one: the model keeps its weights.
    """
    if average_last > 1:
        paths = checkpoints(last)[-average_last:]
        updates = ", ".join(str(_update_of(path)) for path in paths)
        weights = average([load(path) for path in paths])
        return weights, f"average of updates {updates}"
    found = checkpoints(best)
    if not found:
        return None
    return load(
        found[-1]
    ), f"update {_update_of(found[-1])}, the lowest validation loss"


def check_continuation(
    path: Path, state: dict[str, Any], config: Config, corpus: PreparedCorpus
) -> None:
    """Raise CheckpointError where a checkpoint is of other data, or of another configuration."""
    if state["data"] != corpus.fingerprint:
        raise CheckpointError(
            f"{path}: trained on data with the fingerprint {state['data']}, but "
            f"{corpus.folder} has {corpus.fingerprint}"
        )
    # Settings that came later than the checkpoint had their defaults in it.
    before = Config.from_dict(state["config"]).to_dict()
    changed = _differences(before, config.to_dict())
    if changed:
        raise CheckpointError(
            f"{path}: trained with other settings: {', '.join(changed)}"
        )


def _update_of(path: Path) -> int:
    return int(NAME.fullmatch(path.name)[1])


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [
        f"{section}.{key} was {old[section].get(key)!r}, now {value!r}"
        for section in ("model", "data", "training")
        for key, value in new[section].items()
        if old[section].get(key) != value
        and not (section == "training" and key in MAY_CHANGE)
    ]
