"""python -m translator train"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "Train a translator on prepared data."
EXAMPLES = """\
  python -m translator train                           tiny: the grammar corpus, on any machine
  python -m translator train --config small --resume   go on where the last run ended
  python -m translator train --config de-en --longer runs/de-en --out runs/longer \
      --set training.max_seconds=20000
  python -m translator train --config base --device cuda
  python -m translator train --set training.peak_lr=5e-4 --set model.num_heads=2
  python -m translator train --config de-en --data data/pairs --from models/de-en --out runs/mine \
      --set model.num_decoder_layers=3
  torchrun --nproc-per-node 2 -m translator train --config big
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--config",
        default="tiny",
        help="name of a configuration, or a TOML file (default: tiny)",
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting, such as training.seed=3",
    )
    parser.add_argument(
        "--data", type=Path, help="prepared data (default: data/CONFIG)"
    )
    parser.add_argument(
        "--out", type=Path, help="folder of the run (default: runs/CONFIG)"
    )
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:1 (default: auto)"
    )
    parser.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="FOLDER",
        help="begin with this translator's weights; the data need its vocabulary",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint"
    )
    parser.add_argument(
        "--longer",
        type=Path,
        metavar="RUN",
        help="go on from where RUN was before its rate fell (schedule wsd), with a "
        "later end, as if RUN had had that end from the beginning",
    )
    parser.add_argument(
        "--restart", action="store_true", help="delete an earlier run in --out"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Train, and write the translator to OUT/model."""
    from translator.config import load_config
    from translator.data.prepared import load_prepared
    from translator.decoding.model_folder import (
        Translator,
        load_translator,
        save_translator,
    )
    from translator.errors import TranslatorError
    from translator.files import write_bytes
    from translator.training.checkpoints import checkpoints
    from translator.training.log import LOG
    from translator.training.processes import started
    from translator.training.trainer import Trainer

    config = load_config(args.config, args.overrides)
    data = args.data or Path("data") / config.name
    out = args.out or Path("runs") / config.name
    if args.resume and args.restart:
        raise TranslatorError("--resume and --restart exclude each other")
    if args.longer and args.start:
        raise TranslatorError("--longer and --from exclude each other")
    corpus = load_prepared(data)
    with started(args.device) as processes:
        trainer = Trainer(
            config,
            corpus,
            out,
            processes,
            show_progress=processes.first and not args.quiet,
        )
        there = checkpoints(trainer.checkpoint_folder)
        if there and args.resume:
            trainer.resume()
        elif there and not args.restart:
            raise TranslatorError(
                f"{out}: holds a run of {len(there)} checkpoints; --resume goes on with it, "
                "--restart deletes it, --out names another folder"
            )
        elif there and processes.first:
            for path in [
                *there,
                *checkpoints(out / "best"),
                *checkpoints(out / "stable"),
            ]:
                path.unlink()
        processes.wait()
        if args.longer and trainer.update == 0:
            trainer.resume(args.longer / "stable")
            if processes.first:
                write_bytes(out / LOG, (args.longer / LOG).read_bytes())
        if args.start and trainer.update == 0:
            trainer.start_from(load_translator(args.start))
        if processes.first:
            padding = trainer.train_batches.padding(0)
            print(
                f"{sum(p.numel() for p in trainer.model.parameters()):,} parameters, "
                f"{len(corpus.train):,} pairs, {trainer.train_batches.num_steps(0):,} updates "
                f"an epoch, {100 * padding.total:.1f} % padding, {processes.device}, "
                f"{trainer.updates.precision}",
                file=sys.stderr,
            )
        summary = trainer.run()
        if processes.first:
            save_translator(
                out / "model", Translator(trainer.model, corpus.tokenizer, config)
            )
            print(
                f"{summary['updates']:,} updates in {summary['seconds']:.0f} s, "
                f"{summary['target_tokens_per_second']:,} target tokens/s; validation loss "
                f"{summary['validation_loss']:.3f} ({summary['weights']}); {out / 'model'}"
            )
    return 0
