"""python -m translator web"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Write a translator as scripts that a web page loads, from a server or from the disk."
EXAMPLES = """\
  python -m translator web --model models/de-en --out _build/html/_static/live/data
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--model", type=Path, required=True, help="folder of a translator"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")


def run(args: argparse.Namespace) -> int:
    """Write the scripts, and say how large they are."""
    from translator.export.web_export import write_web

    manifest = write_web(args.model, args.out)
    size = sum(manifest["scripts"].values())
    print(
        f"{args.out}: {len(manifest['scripts'])} scripts, {size / 1e6:.1f} MB, "
        f"{manifest['parameters'] / 1e6:.1f} million parameters"
    )
    return 0
