"""A corpus and a model small enough to train many times in a test."""

from __future__ import annotations

import json
import multiprocessing
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from translator import cli
from translator.config import Config
from translator.data.preparation import prepare
from translator.data.prepared import PreparedCorpus

SMALL = {
    "name": "test",
    "model": {
        "d_model": 16,
        "num_heads": 2,
        "d_ff": 32,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "dropout": 0.1,
    },
    "data": {
        "corpora": ["grammar"],
        "vocab_size": 300,
        "grammar_pairs": 220,
        "valid": 20,
        "test": 20,
    },
    "training": {
        "max_tokens": 300,
        "max_epochs": 0,
        "max_steps": 12,
        "warmup_steps": 4,
        "peak_lr": 0.01,
        "checkpoint_every": 4,
        "save_seconds": 0,
        "log_every": 2,
        "threads": 1,
    },
}


def config(**training) -> Config:
    """Return the small configuration, with these settings of the training changed."""
    changes = {
        key if "." in key else f"training.{key}": value
        for key, value in training.items()
    }
    return Config.from_dict(SMALL).replace(changes)


def write_toml(path: Path, config: Config) -> Path:
    """Write a configuration as a file for the command line; return its path."""
    values = config.to_dict()
    lines = [f'name = "{values["name"]}"']
    for section in ("model", "data", "training"):
        lines.append(f"[{section}]")
        given = {
            key: value for key, value in values[section].items() if value is not None
        }
        lines += [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def corpus(folder: Path) -> PreparedCorpus:
    """Prepare the small corpus in a folder."""
    return prepare(config().data, folder)


def begin(*arguments: str) -> BaseProcess:
    """Start the command in a process of its own, a fork of one that has only loaded torch."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.harness.warm"])
    process = context.Process(target=run, args=(arguments,))
    process.start()
    return process


def run(arguments: tuple[str, ...]) -> None:
    """Run the command, and end with its exit status."""
    sys.exit(cli.main(arguments))
