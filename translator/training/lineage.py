"""The trainings that a translator's weights went through, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translator.decoding.model_folder import load_translator
from translator.decoding.record import read_record
from translator.errors import TranslatorError
from translator.training.checkpoints import digest
from translator.training.log import read_log


def earlier_trainings(
    training: dict[str, Any], folders: Sequence[Path]
) -> list[dict[str, Any]]:
    """Return what is recorded of the trainings before this one, the oldest first.

    training: that of the last run, as in its training.json; folders: of the runs, or of exported
    translators with their record, from which it and those before it began, the oldest first. Each
    of the result has name, config, training and curve. Raises TranslatorError where a training did
    not begin with the weights in the folder before it, or where a beginning is missing. The record
    of an exported translator brings those before it along.
    """
    found: list[dict[str, Any]] = []
    for folder in reversed(folders):
        began = training.get("started_from")
        if began is None:
            raise TranslatorError(
                f"{folder}: the training after it began with random weights, not with these"
            )
        of_a_run = (folder / "model").is_dir()
        before: list[dict[str, Any]] = []
        model = load_translator(folder / "model" if of_a_run else folder, "cpu")
        if digest(model.model.state_dict()) != began["weights"]:
            raise TranslatorError(
                f"{folder}: the training after it began with other weights"
            )
        if of_a_run:
            training, curve = (
                read_record(folder / "training.json"),
                read_log(folder / "log.jsonl"),
            )
        else:
            record = read_record(folder / "record.json")
            if "training" not in record:
                raise TranslatorError(
                    f"{folder / 'record.json'}: says nothing of the training"
                )
            training, curve = record["training"], record["curve"]
            before = record.get("earlier", [])
        config = model.config.to_dict()
        name = config["name"]
        found.append(
            {"name": name, "config": config, "training": training, "curve": curve}
        )
        if before:
            found += before[::-1]
            training = before[0]["training"]
    if folders and training.get("started_from"):
        raise TranslatorError(
            f"{folders[0]}: this training began with other weights, too: name "
            "their folder before it"
        )
    return found[::-1]
