"""python -m translator take"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = (
    "Check a record that was written on another machine, and put it into models/NAME."
)
EXAMPLES = """\
  python -m translator take record.json --out models/multi30k
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("record", type=Path, help="a record.json of evaluate")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder of the model, such as models/big",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a record that is there"
    )


def run(args: argparse.Namespace) -> int:
    """Check, and write record.json into the folder."""
    from translator.decoding.record import check_record, read_record, write_record
    from translator.errors import TranslatorError

    record = read_record(args.record)
    check_record(record, str(args.record))
    path = args.out / "record.json"
    if path.exists() and not args.force:
        raise TranslatorError(f"{path}: is there; --force replaces it")
    args.out.mkdir(parents=True, exist_ok=True)
    write_record(path, record)
    training = record["training"]
    print(
        f"{path}: {training['updates']:,} updates in {training['seconds']:,} s on "
        f"{training['device']}, {record['evaluations'][-1]['bleu']['score']:.1f} BLEU"
    )
    return 0
