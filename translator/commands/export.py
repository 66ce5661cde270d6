"""python -m translator export"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Copy a trained translator and its record to models/NAME, and write it as ONNX."
EXAMPLES = """\
  python -m translator export --run runs/small --out models/my-translator
  python -m translator export --run runs/small --out models/my-translator --half --onnx
  python -m translator export --run runs/de-en --out models/de-en --int8 --data data/de-en
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--run", type=Path, required=True, help="folder of a training run"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--half", action="store_true", help="weights as float16: half the size"
    )
    size.add_argument(
        "--int8",
        action="store_true",
        help="matrices as 8-bit integers, with a scale a row: a quarter of the size",
    )
    parser.add_argument(
        "--onnx",
        action="store_true",
        help="also encoder.onnx and decoder.onnx, checked against PyTorch",
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="prepared data of the training: its words go along, by which translate "
        "knows names and usual spelling",
    )


def run(args: argparse.Namespace) -> int:
    """Export, and read back what was written."""
    from translator.data.prepared import load_prepared
    from translator.decoding.lexicon import Lexicon
    from translator.decoding.model_folder import (
        WEIGHTS,
        load_translator,
        save_translator,
    )
    from translator.files import write_bytes

    save_translator(
        args.out, load_translator(args.run / "model"), half=args.half, int8=args.int8
    )
    record = args.run / "record.json"
    if record.is_file():
        write_bytes(args.out / record.name, record.read_bytes())
    if args.data:
        Lexicon.of(load_prepared(args.data)).save(args.out)
    translator = load_translator(args.out)
    size = (args.out / WEIGHTS).stat().st_size
    print(f"{args.out}: {size / 1e6:.1f} MB of weights")
    if args.onnx:
        from translator.decoding.onnx_export import export_onnx

        for path, difference in export_onnx(translator, args.out).items():
            print(f"{path}: differs from PyTorch by at most {difference:.1e}")
    return 0
