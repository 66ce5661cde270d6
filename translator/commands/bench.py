"""python -m translator bench"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

HELP = "Time training beside nn.Transformer, and decoding in its several ways."
EXAMPLES = """\
  python -m translator bench
  python -m translator bench --config de-en --length 100 --ctranslate2
  python -m translator bench --config base --device cuda --compile --record bench.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--config", default="tiny", help="sizes of the model (default: tiny)"
    )
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--sentences", type=int, default=32, help="in a batch (default: 32)"
    )
    parser.add_argument(
        "--length", type=int, default=24, help="tokens a sentence (default: 24)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="the fastest counts (default: 5)"
    )
    parser.add_argument(
        "--compile", action="store_true", help="also with torch.compile"
    )
    parser.add_argument(
        "--tried",
        action="store_true",
        help="also what makes a training step faster on a CPU, each alone",
    )
    parser.add_argument(
        "--ctranslate2", action="store_true", help="also decoding by that engine"
    )
    parser.add_argument("--record", type=Path, help="write the numbers here, as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, print a table, write the record."""
    from translator.comparison.benchmark import decoding_ways, table, training_steps
    from translator.config import load_config
    from translator.decoding.record import surroundings, write_record
    from translator.device import choose_device, describe_device
    from translator.errors import TranslatorError

    for name in ("sentences", "length", "rounds"):
        if getattr(args, name) < 1:
            raise TranslatorError(
                f"--{name}: expected at least 1, got {getattr(args, name)}"
            )
    config, device = (
        load_config(args.config, args.overrides),
        choose_device(args.device),
    )
    sizes = {"sentences": args.sentences, "length": args.length, "rounds": args.rounds}
    load = os.getloadavg()[0]  # of the machine, before and after
    training = training_steps(
        config, device, compiled=args.compile, tried=args.tried, **sizes
    )
    decoding = decoding_ways(config, device, engine=args.ctranslate2, **sizes)
    print(
        f"{describe_device(device)}; {config.name}; fastest of {args.rounds} rounds, in turns"
    )
    print(table(training, decoding))
    if args.record:
        write_record(
            args.record,
            {
                "config": config.to_dict(),
                "device": describe_device(device),
                "load": [load, os.getloadavg()[0]],
                "sizes": sizes,
                "surroundings": surroundings(device),
                "training": training,
                "decoding": decoding,
            },
        )
    return 0
