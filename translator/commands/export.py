"""python -m translator export"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = (
    "Copy a trained translator and its record to models/NAME, and write it as ONNX or "
    "for CTranslate2."
)
EXAMPLES = """\
  python -m translator export --run runs/small --out models/my-translator
  python -m translator export --run runs/small --out models/my-translator --half --onnx
  python -m translator export --run runs/mine --out models/mine --int8 --data data/mine
  python -m translator export --model models/de-en --out models/mine --ctranslate2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--run", type=Path, help="folder of a training run")
    which.add_argument("--model", type=Path, help="folder of an exported translator")
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
        "--ctranslate2",
        action="store_true",
        help="also a folder ctranslate2/ for that engine, checked against PyTorch",
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
        RECORD,
        WEIGHTS,
        load_translator,
        save_translator,
    )
    from translator.errors import TranslatorError
    from translator.files import write_bytes

    if args.model and args.model.resolve() == args.out.resolve():
        raise TranslatorError(
            f"--out: expected another folder than --model, got {args.out} twice"
        )
    source = load_translator(args.model or args.run / "model")
    data = load_prepared(args.data) if args.data else None
    if data:
        source.check_vocabulary(data.tokenizer, data.folder)
    save_translator(args.out, source, half=args.half, int8=args.int8)
    record = (args.model or args.run) / RECORD
    if record.is_file():
        write_bytes(args.out / record.name, record.read_bytes())
    if source.lexicon is not None:
        source.lexicon.save(args.out)
    if data:
        Lexicon.of(data).save(args.out)
    translator = load_translator(args.out)
    size = (args.out / WEIGHTS).stat().st_size
    print(f"{args.out}: {size / 1e6:.1f} MB of weights")
    if args.onnx:
        from translator.export.onnx_export import export_onnx

        for path, difference in export_onnx(translator, args.out).items():
            print(f"{path}: differs from PyTorch by at most {difference:.1e}")
    if args.ctranslate2:
        from translator.export.ctranslate2_export import export_ctranslate2

        folder = args.out / "ctranslate2"
        difference = export_ctranslate2(translator, folder)
        print(f"{folder}: differs from PyTorch by at most {difference:.1e}")
    return 0
