"""python -m translator ablate"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

from translator.commands.translate import DEFAULT_MODEL

HELP = "Train again with one thing changed at a time, and make a table of what each is worth."
EXAMPLES = """\
  python -m translator ablate                              the model's parts: tiny, anywhere
  python -m translator ablate --recipe --config screen --seeds 0 1 2
      the choices of a recipe in place of the model's parts
  python -m translator ablate --seeds 0 1 2 --runs full "one head"
      only these, three times; what the record has is kept
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", default="tiny")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every run",
    )
    parser.add_argument(
        "--data", type=Path, help="prepared data (default: data/CONFIG)"
    )
    parser.add_argument(
        "--runs", nargs="+", metavar="NAME", help="default: all of them"
    )
    parser.add_argument(
        "--recipe",
        action="store_true",
        help="change choices of the recipe in place of parts of the model",
    )
    parser.add_argument(
        "--teacher",
        type=Path,
        default=DEFAULT_MODEL,
        help="of the run distilled: the translator that writes the targets anew",
    )
    parser.add_argument(
        "--monolingual",
        type=Path,
        metavar="DATA",
        help="of the run back-translated: prepared data with more sentences than --data",
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        default=[0],
        metavar="SEED",
        help="train each run once with each (default: 0); the data stay the same",
    )
    parser.add_argument(
        "--limit", type=int, help="score only the first LIMIT test sentences"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--record",
        type=Path,
        help="default: models/ablations/record.json, or models/recipe/record.json",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Do the runs that the record lacks; write it after each, so that nothing is done twice."""
    from translator.comparison.ablations import PARTS, RECIPE, RUNS, run_one
    from translator.comparison.synthetic import BACK, Writers
    from translator.config import Config, load_config
    from translator.data.prepared import load_prepared
    from translator.decoding.record import read_record, surroundings, write_record
    from translator.device import choose_device
    from translator.errors import TranslatorError
    from translator.training.processes import started

    config = load_config(args.config, args.overrides)
    kind = "recipe" if args.recipe else "ablations"
    path = args.record or Path("models") / kind / "record.json"
    unknown = [name for name in args.runs or () if name not in RUNS]
    if unknown:
        raise TranslatorError(
            f"--runs: expected some of {', '.join(RUNS)}; got {unknown[0]}"
        )
    corpus = load_prepared(args.data or Path("data") / config.name)
    about = {"config": config.to_dict(), "data": corpus.fingerprint}
    record = {
        **about,
        "surroundings": surroundings(choose_device(args.device)),
        "runs": [],
    }
    if path.exists():
        old = read_record(path)
        # Settings that came later than a record have their defaults in it.
        of_old = {
            "config": Config.from_dict(old["config"]).to_dict(),
            "data": old["data"],
        }
        if of_old == about:
            record = old
        else:
            raise TranslatorError(
                f"{path}: holds runs of other settings or data; name another file "
                "or delete it"
            )
    for row in record["runs"]:  # those of before there was --seeds
        row.setdefault("seed", config.training.seed)
    done = {(row["name"], row["seed"]) for row in record["runs"]}
    names = args.runs or (RECIPE if args.recipe else PARTS)
    if BACK in names and args.monolingual is None:
        raise TranslatorError(
            f"{BACK}: expected sentences to translate; give --monolingual and data prepared with "
            "--set data.train_pairs=0, or name other --runs"
        )
    order = list(RUNS)
    with started(args.device) as processes:
        writers = Writers(config, corpus, processes, args.teacher, args.monolingual)
        for seed, name in product(args.seeds, names):
            if (name, seed) in done:
                continue
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
            row = run_one(
                name,
                config.replace({"training.seed": seed}),
                corpus,
                processes,
                writers=writers,
                limit=args.limit,
                show_progress=not args.quiet,
            )
            record["runs"].append(row)
            record["runs"].sort(key=lambda r: (order.index(r["name"]), r["seed"]))
            write_record(path, record)
    width = max(len(row["name"]) for row in record["runs"])
    print(f"{'':{width}} seed   BLEU   chrF   exact   loss   seconds")
    for row in record["runs"]:
        print(
            f"{row['name']:{width}} {row['seed']:4} {row['bleu']:6.1f} {row['chrf']:6.1f} "
            f"{100 * row['exact']:6.1f} % {row['validation_loss']:6.3f} {row['seconds']:8.0f}"
        )
    return 0
