"""record.json: everything that a number in the book has to be traceable to."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from translator.device import describe_device
from translator.errors import TranslatorError
from translator.files import write_text

LIBRARIES = ("torch", "tokenizers", "sacrebleu", "numpy")


def surroundings(device: torch.device) -> dict[str, Any]:
    """Return what ran: the code's revision, Python, the libraries, the machine's kind.

    device: where; a GPU that was there and did nothing is not named.
    """
    return {
        "revision": code_revision(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "machine": platform.machine(),
        "gpu": describe_device(device) if device.type == "cuda" else None,
    }


def code_revision() -> str | None:
    """Return the commit of the code, with "+changes" if files differ from it; None without git."""
    folder = Path(__file__).resolve().parent.parent  # translator/

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", "../transformer"
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+changes" if changed else "")


def check_record(record: Any, where: str) -> None:
    """Raise TranslatorError unless a record is a run's: whole, measured, and at one with itself.

    where: what to call it. Refused are a GPU that did not compute, or was not there; speeds that do
    not follow from the numbers beside them; a precision that was not asked for; numbers that are
    called estimates; a BLEU beyond 0 to 100; and a curve that goes beyond the training's end.
    """

    def wrong(message: str) -> TranslatorError:
        return TranslatorError(f"{where}: {message}; run evaluate again where it ran")

    try:
        training, curve = record["training"], record["curve"]
        trainings = [training, *(row["training"] for row in record.get("earlier", []))]
        found = [*_devices(record, {})]
        slips = [slip for row in trainings for slip in _slips(row)]
        slips += [slip for row in record["evaluations"] for slip in _slips(row)]
        asked = record["config"]["training"]["precision"]
        updates, seconds = int(training["updates"]), float(training["seconds"])
        last = max((line["update"] for line in curve), default=0)
        ended = max((line.get("seconds", 0) for line in curve), default=0)
        tokens = max((line.get("tokens", 0) for line in curve), default=0)
        scored = [float(row["bleu"]["score"]) for row in record["evaluations"]]
        signed = all(row["bleu"]["signature"] for row in record["evaluations"])
        _ = record["evaluated_on"], training["device"]
    except KeyError as error:
        raise wrong(
            f"expected what train and evaluate wrote, found no {error}"
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise wrong(
            f"expected numbers and lists where train and evaluate wrote some: {error}"
        ) from None
    for what, device, gpu, torch_version in found:
        on_cpu = device.startswith("CPU")
        if on_cpu != (gpu is None) or not (on_cpu or device == gpu):
            found_gpu = "no GPU was found" if gpu is None else f"the GPU was {gpu}"
            raise wrong(f"the {what} is said to be on {device}, but {found_gpu}")
        if gpu and str(torch_version).endswith("+cpu"):
            raise wrong(
                f"the {what} is said to be on {device}, but torch {torch_version} uses none"
            )
    if slips:
        raise wrong(slips[0])
    if training.get("precision", "fp32") not in ("fp32", asked):
        raise wrong(
            f"trained in {training['precision']}, but the configuration says {asked}"
        )
    if not (scored and signed):
        raise wrong("expected a BLEU score with its signature, got none")
    for score in scored:
        if not 0 <= score <= 100:
            raise wrong(f"expected BLEU from 0 to 100, got {score}")
    if not curve or last > updates or ended > seconds + 1:
        raise wrong(
            f"the curve ends at update {last} after {ended} s, the training at {updates} "
            f"after {seconds} s"
        )
    if tokens > training["target_tokens"]:
        raise wrong(
            f"the curve counts {tokens} target tokens, the training "
            f"{training['target_tokens']}"
        )
    called = [name for name in _names(record) if "estimate" in name.lower()]
    if called:
        raise wrong(f"{called[0]}: an estimate is no measurement")


def _devices(
    value: Any, around: dict[str, Any], what: str = "record"
) -> Iterator[tuple[str, str, str | None, str | None]]:
    """Yield every device of a record: whose it is, its name, and the GPU and torch around it."""
    if isinstance(value, list):
        for item in value:
            yield from _devices(item, around, what)
    if not isinstance(value, dict):
        return
    around = value.get("surroundings", around)
    for name, item in value.items():
        if name in ("device", "evaluated_on") and isinstance(item, str):
            called = "evaluation" if name == "evaluated_on" else what
            libraries = around.get("libraries", {})
            yield called, item, around["gpu"], libraries.get("torch")
        yield from _devices(item, around, name)


def _slips(row: dict[str, Any]) -> Iterator[str]:
    """Yield the speeds of a training or an evaluation that do not follow from its numbers."""
    for count in ("target_tokens", "sentences"):
        speed = f"{count}_per_second"
        if speed in row:
            low, high = (
                row[count] / max(row["seconds"] + slack, 1e-3)
                for slack in (0.06, -0.06)
            )
            if not low - 1 <= row[speed] <= high + 1:  # all are rounded
                yield (
                    f"{row[count]} {count} in {row['seconds']} s are not the "
                    f"{row[speed]} a second that are named"
                )


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names(item)


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record whole, numbers rounded to what they are good for."""
    write_text(path, json.dumps(_rounded(record), indent=1, ensure_ascii=False) + "\n")


def read_record(path: str | Path) -> dict[str, Any]:
    """Read a record; raises TranslatorError where it is missing or damaged."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TranslatorError(f"{path}: no record") from None
    except ValueError as error:
        raise TranslatorError(f"{path}: damaged: {error}") from None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}")
    if isinstance(value, Path):
        raise TypeError(f"a record holds no paths of one machine: {value}")
    return value
