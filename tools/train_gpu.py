"""Everything that wants a GPU, part by part: ``make train-gpu DATA=folder-of-corpora``.

    python -m tools.train_gpu [--data-dir FOLDER] [--only PART ...] [--list]

Each part is one or more commands of the translator and takes under nine minutes on a recent
data-centre GPU. A part whose record is there is skipped, and a training goes on from its last
checkpoint: run it again after an interruption. Records, and the translator of the book, go to
models/, beside those that a CPU made; runs/ and data/ are not kept in the repository.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ABLATIONS = (
    ("full", "no positions", "no residuals"),
    ("one head", "no warm-up", "post-norm"),
    ("post-norm, no warm-up", "no label smoothing", "nn.Transformer"),
)


@dataclass(frozen=True)
class Part:
    """Commands of the translator, and the record that they write.

    names: the runs that the record has to hold, where it is one of ablations.
    """

    record: Path
    commands: list[list[str]]
    names: tuple[str, ...] = ()

    def is_done(self, root: Path) -> bool:
        """Whether the record is there, with all that it should hold."""
        path = root / self.record
        if not path.is_file():
            return False
        if not self.names:
            return True
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return {row["name"] for row in runs} >= set(self.names)


def parts(device: str, data_dir: str | None) -> dict[str, Part]:
    """Return the parts by name, in order."""
    where = ["--data-dir", data_dir] if data_dir else []
    on = ["--device", device]

    def training(config: str, record: Path, corpus: str = "") -> list[list[str]]:
        return [
            ["prepare", "--config", config, *where],
            ["train", "--config", config, "--resume", "--quiet", *on],
            [
                "evaluate",
                "--run",
                f"runs/{config}",
                "--beam",
                "1",
                "2",
                "4",
                "8",
                "--alpha",
                "0.6",
                "1",
                "1.4",
                *(["--corpus", corpus] if corpus else []),
                "--record",
                str(record),
                *on,
            ],
        ]

    def ablation(record: Path, names: tuple[str, ...], *settings: str) -> Part:
        return Part(
            record,
            [
                ["prepare", "--config", "base", *where],
                [
                    "ablate",
                    "--config",
                    "base",
                    *settings,
                    "--record",
                    str(record),
                    "--quiet",
                    *on,
                    "--runs",
                    *names,
                ],
            ],
            names,
        )

    models = Path("models")
    # By epochs: equal seconds would give whatever is faster more of them.
    short = ("--set", "training.max_epochs=20")
    long = ("--set", "training.max_epochs=30")
    found = {
        "benchmark": Part(
            models / "multi30k" / "record.json",
            training("base", models / "multi30k" / "record.json"),
        ),
        "nn.Transformer": ablation(
            models / "nn-transformer-gpu" / "record.json",
            ("full", "nn.Transformer"),
            *long,
        ),
    }
    for i, names in enumerate(ABLATIONS, start=1):
        found[f"ablations-{i}"] = ablation(
            models / "ablations-gpu" / "record.json", names, *short
        )
    found["big"] = Part(
        models / "big" / "record.json", training("big", models / "big" / "record.json")
    )
    # The one in models/ came with the repository, so that its record does not make this part done.
    translator = Path("runs") / "de-en-gpu" / "record.json"
    found["translator"] = Part(
        translator,
        [
            *training("de-en-gpu", translator, corpus="tatoeba"),
            [
                "export",
                "--run",
                "runs/de-en-gpu",
                "--out",
                "models/de-en",
                "--int8",
                "--data",
                "data/de-en-gpu",
            ],
        ],
    )
    bench = models / "bench" / "record.json"
    found["bench"] = Part(
        bench,
        [
            [
                "bench",
                "--config",
                "base",
                "--compile",
                "--sentences",
                "256",
                "--length",
                "32",
                "--record",
                str(bench),
                *on,
            ],
        ],
    )
    return found


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """Command line; returns the exit status, that of the first command that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data-dir", help="folder with the public corpora, instead of downloads"
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="+", metavar="PART", help="default: all parts")
    parser.add_argument("--list", action="store_true", help="print the parts and stop")
    args = parser.parse_args(argv)
    known = parts(args.device, args.data_dir)
    unknown = [name for name in args.only or () if name not in known]
    if unknown:
        print(
            f"--only: expected some of {', '.join(known)}; got {unknown[0]}",
            file=sys.stderr,
        )
        return 2
    for name in args.only or known:
        part = known[name]
        done = part.is_done(root)
        print(f"{name}: {'done, ' + str(part.record) if done else 'to do'}", flush=True)
        if done or args.list:
            continue
        for command in part.commands:
            print("  python -m translator", *command, flush=True)
            status = subprocess.run(
                [sys.executable, "-m", "translator", *command], cwd=root, check=False
            ).returncode
            if status:
                print(
                    f"{name}: stopped; mend the line above and run it again",
                    file=sys.stderr,
                )
                return status
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
