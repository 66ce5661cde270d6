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

from translator.errors import TranslatorError
from translator.files import write_text

LIBRARIES = ("torch", "tokenizers", "sacrebleu", "numpy")


def surroundings() -> dict[str, Any]:
    """Return what ran: the code's revision, Python, the libraries, the machine's kind."""
    return {
        "revision": code_revision(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "machine": platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
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
    """Raise TranslatorError unless a record is a run's: whole, and measured.

    where: what to call it. A GPU that the machine did not have, numbers that are called estimates,
    and a curve that goes beyond the training's end are refused.
    """

    def wrong(message: str) -> TranslatorError:
        return TranslatorError(f"{where}: {message}; run evaluate again where it ran")

    try:
        training, curve = record["training"], record["curve"]
        devices = [
            ("training", training["device"], training["surroundings"]["gpu"]),
            ("evaluation", record["evaluated_on"], record["surroundings"]["gpu"]),
        ]
        updates, seconds = int(training["updates"]), float(training["seconds"])
        last = max((line["update"] for line in curve), default=0)
        ended = max((line.get("seconds", 0) for line in curve), default=0)
        scored = [float(row["bleu"]["score"]) for row in record["evaluations"]]
        signed = all(row["bleu"]["signature"] for row in record["evaluations"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise wrong(
            f"expected what train and evaluate wrote, found no {error}"
        ) from None
    for what, device, gpu in devices:
        if not device.startswith("CPU") and device != gpu:
            raise wrong(
                f"the {what} is said to be on {device}, but the machine's GPU was {gpu}"
            )
    if not (scored and signed):
        raise wrong("expected a BLEU score with its signature, got none")
    if not curve or last > updates or ended > seconds + 1:
        raise wrong(
            f"the curve ends at update {last} after {ended} s, the training at {updates} "
            f"after {seconds} s"
        )
    called = [name for name in _names(record) if "estimate" in name.lower()]
    if called:
        raise wrong(f"{called[0]}: an estimate is no measurement")


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
