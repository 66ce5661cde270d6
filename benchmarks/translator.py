"""BLEU after equal minutes: our translator, nn.Transformer and Joey NMT, trained from nothing.

    python -m benchmarks.translator --data-dir FOLDER              10 minutes of a core each
    python -m benchmarks.translator --data-dir FOLDER --seeds 0 1 2
    python -m benchmarks.translator --only ours nn.Transformer     without Joey NMT
    python -m benchmarks.translator --precision bf16               nn.Transformer, too

All three learn from the same prepared pairs (Multi30k unless --config names others), one thread
each, one after the other, and translate the same test set, scored by sacreBLEU. A minute is one of
the processor, which another program on the machine does not shorten; on an idle machine it is a
minute of the clock. It covers all that a training does once its data are prepared and its
vocabulary is learned. The models have one size: that of the configuration.

Each has a recipe of its own. Ours is the configuration's: bf16, dropout from a pool, a rate that
falls to the end of the minutes, the mean of the last checkpoints. nn.Transformer is what PyTorch
gives: its layers in float32 with their own dropout, Adam, a linear warm-up and the inverse root.
`--precision bf16` gives it the precision of ours: whether that is faster depends on the processor,
and on one without bf16 both train in float32. The table says what each trained in. Joey NMT's is
that of its examples, with the same bound on a batch's tokens; it does not sort by length, so more
of them are padding. It is installed with the versions of joeynmt.txt into an environment of its
own. Nothing is chosen by the test.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from translator.config import Config, load_config
from translator.data.preparation import prepare
from translator.data.prepared import PreparedCorpus, load_prepared
from translator.decoding.evaluation import scores
from translator.decoding.record import read_record, surroundings, write_record
from translator.errors import TranslatorError

ROOT = Path(__file__).resolve().parent.parent
OURS, TORCH, JOEY = "ours", "nn.Transformer", "Joey NMT"
#: What is decoded: greedily, and with each one's own beam and length penalty.
BEAM, ALPHA = 4, 1.0
#: Of nn.Transformer, in place of the recipe: what PyTorch does if nothing is said.
PLAIN = {
    "model.attention_dropout": None,
    "training.precision": "fp32",
    "training.pooled_dropout": False,
    "training.average_last": 1,
    "training.schedule": "noam",
    "training.peak_lr": 1e-3,
    "training.warmup_steps": 400,
}


class BenchError(TranslatorError):
    """The comparison can't be made; the message says why."""


def ours(config: Config, seconds: float, seed: int) -> Config:
    """Return the configuration with its recipe fitted to the seconds that there are."""
    return config.replace(
        {
            "model.attention_dropout": 0.0,
            "training.pooled_dropout": True,
            "training.seed": seed,
            "training.threads": 1,
            "training.max_epochs": 0,
            "training.max_steps": 0,
            "training.max_seconds": seconds,
        }
    )


def joey_config(config: Config, folder: Path, seed: int) -> dict[str, Any]:
    """Return a configuration of Joey NMT for models of our size, in the style of its examples.

    folder: where the text and the results are. Its schedule is the one of its examples that rises
    and falls with the root; the highest rate and the warm-up are those of nn.Transformer here. It
    does not validate, which would take of its minutes.
    """
    sizes, training = config.model, config.training

    def side(language: str) -> dict[str, Any]:
        return {
            "lang": language,
            "level": "bpe",
            "tokenizer_type": "sentencepiece",
            "voc_file": str(folder / "pieces.txt"),
            "tokenizer_cfg": {"model_file": str(folder / "pieces.model")},
        }

    def stack(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": sizes.num_heads,
            "hidden_size": sizes.d_model,
            "ff_size": sizes.d_ff,
            "dropout": sizes.dropout,
            "layer_norm": "pre" if sizes.norm_first else "post",
            "embeddings": {"embedding_dim": sizes.d_model, "scale": True},
        }

    return {
        "name": "benchmark",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": seed,
        "vocabulary": config.data.vocab_size,
        "data": {
            **{name: str(folder / name) for name in ("train", "test")},
            "dev": str(folder / "valid"),
            "dataset_type": "plain",
            "src": side("de"),
            "trg": side("en"),
        },
        "testing": {
            "batch_size": 100,
            "beam_size": 5,
            "beam_alpha": 1.0,
            "max_output_length": 100,
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "normalization": "tokens",
            "scheduling": "warmupinversesquareroot",
            "learning_rate": PLAIN["training.peak_lr"],
            "learning_rate_warmup": PLAIN["training.warmup_steps"],
            "label_smoothing": training.label_smoothing,
            "batch_size": training.max_tokens,
            "batch_type": "token",
            "epochs": 100_000,
            "validation_freq": 10_000_000,
            "logging_freq": 100,
            "early_stopping_metric": "ppl",
        },
        "model": {
            "initializer": "xavier",
            "embed_initializer": "xavier",
            "bias_initializer": "zeros",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack(sizes.num_encoder_layers),
            "decoder": stack(sizes.num_decoder_layers),
        },
    }


def train_here(
    name: str, config: Config, data: PreparedCorpus, folder: Path
) -> dict[str, Any]:
    """Train our model, or nn.Transformer in its place, and translate the test set."""
    from translator.comparison.baseline import TorchTransformer
    from translator.decoding.model_folder import Translator
    from translator.decoding.search import DecodingOptions
    from translator.training.processes import Processes
    from translator.training.trainer import Trainer

    def plain(size: int, pad_id: int) -> torch.nn.Module:
        return TorchTransformer(config.model.build(size, pad_id))

    wall = time.perf_counter()
    trainer = Trainer(
        config,
        data,
        folder / "run",
        Processes(torch.device("cpu")),
        show_progress=False,
        make_model=plain if name == TORCH else None,
        timer=time.process_time,
    )
    summary = trainer.run()
    wall = time.perf_counter() - wall
    model = trainer.model
    model = model.to_ours() if isinstance(model, TorchTransformer) else model
    translator = Translator(model.eval(), data.tokenizer, config)
    sources = [row.source for row in data.texts("test")]
    for way, beam in (("greedy", 1), ("beam", BEAM)):
        lines = translator.translate(sources, DecodingOptions(beam, ALPHA))
        write_lines(folder / f"{way}.test", lines)
    names = ("updates", "target_tokens", "parameters", "seconds", "precision")
    return {
        **{key: summary[key] for key in names},
        "wall_seconds": wall,
        "versions": summary["surroundings"]["libraries"],
    }


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a text a line, as Joey NMT reads and writes them."""
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def joey_python(cache: Path) -> Path:
    """Return the Python that has Joey NMT, in an environment that is made where it is missing.

    What it has not itself, such as PyTorch, it finds in the environment of this process, so that
    all are measured with one build. Raises BenchError with the installer's last lines where it
    can't be made.
    """
    pins = ROOT / "benchmarks" / "joeynmt.txt"
    python, stamp = cache / "bin" / "python", cache / "installed.txt"
    if stamp.is_file() and stamp.read_bytes() == pins.read_bytes():
        return python
    packages = sysconfig.get_path("purelib", "venv", {"base": str(cache)})
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(cache)],
        [str(python), "-m", "pip", "install", "--quiet", "-r", str(pins)],
    )
    for command in commands:
        if command[0] == str(python):
            beside = Path(packages) / "course.pth"
            beside.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise BenchError(
                f"Joey NMT cannot be installed into {cache}:\n{last}\n"
                f"--only {OURS} {TORCH} compares without it"
            )
    stamp.write_bytes(pins.read_bytes())
    return python


def train_joey(
    config: Config, data: PreparedCorpus, folder: Path, seconds: float, python: Path
) -> dict[str, Any]:
    """Train Joey NMT on the same pairs, as text, and translate the test set."""
    for split in ("train", "valid", "test"):
        rows = data.texts(split)
        write_lines(folder / f"{split}.de", [row.source for row in rows])
        write_lines(folder / f"{split}.en", [row.target for row in rows])
    path = folder / "config.json"
    settings = joey_config(config, folder, config.training.seed)
    path.write_text(json.dumps(settings), encoding="utf-8")
    program = ROOT / "benchmarks" / "joeynmt_train.py"
    done = subprocess.run(
        [str(python), "-W", "ignore", str(program), str(path), str(seconds)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"Joey NMT failed:\n{done.stderr[-2000:]}")
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def measured(
    result: dict[str, Any], folder: Path, references: Sequence[str]
) -> dict[str, Any]:
    """Return what a training came to, with the scores of its translations in the folder.

    Raises TranslatorError where there are not as many translations as references.
    """
    found = {}
    for way in ("greedy", "beam"):
        text = (folder / f"{way}.test").read_text(encoding="utf-8")
        found[way] = scores(text.split("\n")[:-1], references, intervals=True)["bleu"]
    return {**result, "bleu": found}


def in_process(arguments: argparse.Namespace, name: str, folder: Path) -> None:
    """Train ours or nn.Transformer here, in a process that does nothing else."""
    data = load_prepared(arguments.work / "data")
    config = ours(
        load_config(arguments.config), 60 * arguments.minutes, arguments.seeds[0]
    )
    if name == TORCH:
        config = config.replace(plain_recipe(arguments))
    result = train_here(name, config, data, folder)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


def plain_recipe(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return nn.Transformer's settings, in the precision that is asked for."""
    return {**PLAIN, "training.precision": arguments.precision}


def lead(rows: Sequence[dict[str, Any]], way: str) -> dict[str, float]:
    """Return by how many BLEU ours is ahead of each of the others, over the seeds they share."""
    by_name: dict[str, dict[int, float]] = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["seed"]] = row["bleu"][way]["score"]
    mine = by_name.get(OURS, {})
    found = {}
    for name, theirs in by_name.items():
        shared = sorted(mine.keys() & theirs.keys())
        if name != OURS and shared:
            gaps = [mine[seed] - theirs[seed] for seed in shared]
            found[name] = sum(gaps) / len(gaps)
    return found


def leads(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return `lead` for each way of decoding."""
    return {way: lead(rows, way) for way in ("greedy", "beam")}


def table(record: dict[str, Any]) -> str:
    """Return the record as text."""
    lines = [
        f"{record['minutes']:g} minutes of a core each, "
        f"{record['data']['sentences']} test sentences",
        f"{'':16}{'seed':>5}  {'in':5}{'greedy':>7}{'beam':>7}{'updates':>9}"
        f"{'tokens':>11}{'CPU s':>7}{'wall s':>8}{'load':>6}",
    ]
    lines += [
        f"{row['name']:16}{row['seed']:5}  {row.get('precision', ''):5}"
        f"{row['bleu']['greedy']['score']:7.1f}"
        f"{row['bleu']['beam']['score']:7.1f}{row['updates']:9,}"
        f"{row['target_tokens']:11,}{row['seconds']:7.0f}{row['wall_seconds']:8.0f}"
        f"{row['load']:6.1f}"
        for row in record["rows"]
    ]
    seeds = {
        name: {row["seed"] for row in record["rows"] if row["name"] == name}
        for name in (OURS, TORCH, JOEY)
    }
    for way, found in record["lead"].items():
        for name, gap in found.items():
            shared = len(seeds[OURS] & seeds[name])
            over = "one seed" if shared == 1 else f"mean of {shared} seeds"
            lines.append(f"{OURS} ahead of {name}: {gap:+.1f} BLEU ({way}, {over})")
    return "\n".join(lines)


def measured_before(path: Path, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an earlier record of the same comparison, or none where there is none.

    Raises BenchError for a record of another one: rows that differ in more than name and seed are
    no comparison.
    """
    if not path.is_file():
        return []
    before = read_record(path)
    for key in ("minutes", "config", "plain", "joey", "data"):
        if before.get(key) != record[key]:
            raise BenchError(
                f"{path}: is of another comparison ({key} differs): name another file by "
                "--record, or delete it"
            )
    return before["rows"]


def bench(
    arguments: argparse.Namespace,
    target: Path,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train and measure what the arguments name and target does not have; return the record.

    target: where the record is written after each training.
    """
    config = load_config(arguments.config)
    work, seconds = arguments.work, 60 * arguments.minutes
    data = prepare(
        config.data, work / "data", data_dir=arguments.data_dir, force=True, say=say
    )
    rows = data.texts("test")
    references = [row.target for row in rows]
    python = joey_python(arguments.cache) if JOEY in arguments.only else None
    record: dict[str, Any] = {
        "minutes": arguments.minutes,
        "config": config.to_dict(),
        "plain": plain_recipe(arguments),
        "joey": joey_config(config, Path("."), 0),
        "surroundings": surroundings(torch.device("cpu")),
        "data": {
            "corpora": list(config.data.corpora),
            "fingerprint": data.fingerprint,
            "sentences": len(rows),
        },
    }
    record["rows"] = measured_before(target, record)
    record["lead"] = leads(record["rows"])
    done = {(row["name"], row["seed"]) for row in record["rows"]}
    for seed in arguments.seeds:
        for name in arguments.only:
            if (name, seed) in done:
                continue
            say(f"{name}, seed {seed}")
            folder = work / f"{name}-{seed}".replace(" ", "-")
            folder.mkdir(parents=True)
            load = os.getloadavg()[0]
            if name == JOEY:
                fitted = ours(config, seconds, seed)
                result = train_joey(fitted, data, folder, seconds, python)
            else:
                command = ["--one", name, "--work", str(work), "--seeds", str(seed)]
                command += ["--config", arguments.config]
                command += ["--minutes", str(arguments.minutes)]
                command += ["--precision", arguments.precision]
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.translator", *command],
                    check=True,
                    cwd=ROOT,
                )
                result = json.loads((folder / "result.json").read_text("utf-8"))
            row = measured(result, folder, references)
            row = {"name": name, "seed": seed, "load": load, **row}
            say(f"  {row['bleu']['greedy']['score']:.1f} BLEU greedily")
            record["rows"].append(row)
            record["lead"] = leads(record["rows"])
            write_record(target, record)
    return record


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.translator", description=__doc__.splitlines()[0]
    )
    made.add_argument("--config", default="multi30k-cpu", help="data, size and recipe")
    made.add_argument("--data-dir", type=Path, help="folder with the public corpora")
    made.add_argument("--minutes", type=float, default=10.0, help="of a core, each")
    made.add_argument("--seeds", type=int, nargs="+", default=[0])
    made.add_argument(
        "--only", nargs="+", choices=(OURS, TORCH, JOEY), default=[OURS, TORCH, JOEY]
    )
    made.add_argument(
        "--precision",
        choices=("fp32", "bf16"),
        default="fp32",
        help="of nn.Transformer (default: fp32, as PyTorch gives it)",
    )
    made.add_argument(
        "--record",
        type=Path,
        help="where the measurements go; what is there already is not measured again",
    )
    made.add_argument(
        "--cache",
        type=Path,
        default=ROOT / "_build" / "joeynmt",
        help="Joey NMT's environment",
    )
    made.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    made.add_argument("--one", help=argparse.SUPPRESS)
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure as the command line says; print and save a table. 1 if it can't be done."""
    args = parser().parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"  # in Joey NMT's process, too
    if args.one:
        folder = args.work / f"{args.one}-{args.seeds[0]}".replace(" ", "-")
        in_process(args, args.one, folder)
        return 0
    target = args.record or ROOT / "_build" / "translator-bench.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if args.minutes <= 0:
            raise BenchError(f"--minutes: expected more than 0, got {args.minutes}")
        with tempfile.TemporaryDirectory(prefix="translator-bench-") as scratch:
            args.work = Path(scratch)
            record = bench(
                args, target, lambda line: print(line, file=sys.stderr, flush=True)
            )
    except (TranslatorError, subprocess.CalledProcessError) as error:
        print(f"python -m benchmarks.translator: {error}", file=sys.stderr)
        return 1
    print(f"{table(record)}\n\n{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
