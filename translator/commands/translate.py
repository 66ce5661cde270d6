"""python -m translator translate"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "Translate a text, a file, or standard input, a sentence a line."
EXAMPLES = """\
  python -m translator translate "Kannst du mir helfen, diesen Satz zu übersetzen?"
  python -m translator translate --file brief.txt > letter.txt
  cat brief.txt | python -m translator translate --beam 1
  python -m translator translate --alignments "Ich habe keine Zeit."
  python -m translator translate --alignments --plot alignment.png "Ich habe keine Zeit."
"""
DEFAULT_MODEL = Path(__file__).resolve().parent.parent.parent / "models" / "de-en"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "text", nargs="*", help="sentences; without any, a file or standard input"
    )
    parser.add_argument("--file", type=Path, help="translate the lines of this file")
    parser.add_argument(
        "--encoding", default="utf-8", help="of the input (default: utf-8)"
    )
    parser.add_argument(
        "--model",
        type=Path,
        default=DEFAULT_MODEL,
        help="folder of a translator (default: the one that comes with the book)",
    )
    parser.add_argument(
        "--beam", type=int, default=4, metavar="SIZE", help="1 is greedy"
    )
    parser.add_argument(
        "--alpha", type=float, default=0.6, help="length penalty (default: 0.6)"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--alignments",
        action="store_true",
        help="print which source tokens each target token looked at",
    )
    parser.add_argument(
        "--plot", type=Path, help="with --alignments: draw the first text's here"
    )


def run(args: argparse.Namespace) -> int:
    """Translate and print a line for each line."""
    from translator.decoding.model_folder import load_translator
    from translator.decoding.search import DecodingOptions
    from translator.decoding.text_files import read_lines
    from translator.errors import TranslatorError

    if args.text and args.file:
        raise TranslatorError("expected a text or --file, got both")
    if args.plot and not args.alignments:
        raise TranslatorError("--plot draws alignments: give --alignments, too")
    texts = list(args.text) or read_lines(args.file, args.encoding)
    options = DecodingOptions(beam_size=args.beam, alpha=args.alpha)
    translator = load_translator(args.model, args.device)
    for i, (text, line) in enumerate(
        zip(texts, translator.translate(texts, options), strict=True)
    ):
        print(line)
        if args.alignments and line:
            _show_alignment(translator, text, line, args.plot if i == 0 else None)
    sys.stdout.flush()
    return 0


def _show_alignment(translator, text: str, translation: str, plot: Path | None) -> None:
    from translator.data.cleaning import normalise
    from translator.decoding.search import LONGEST_SOURCE, alignment
    from translator.errors import TranslatorError

    tokenizer = translator.tokenizer
    source, target = tokenizer.encode(normalise(text)), tokenizer.encode(translation)
    if len(source) > LONGEST_SOURCE:
        print(f"  (no alignment: more than {LONGEST_SOURCE} tokens)")
        return
    weights = alignment(translator.model, tokenizer, source, target)
    rows = [*tokenizer.tokens(target), "<eos>"]
    columns = [*tokenizer.tokens(source), "<eos>"]
    width = max(map(len, rows))
    for row, weight in zip(rows, weights, strict=True):
        best = weight.topk(min(3, len(columns)))
        looks = ", ".join(
            f"{columns[j]} {w:.2f}"
            for w, j in zip(best.values, best.indices, strict=True)
        )
        print(f"  {row:{width}}  {looks}")
    if plot is None:
        return
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise TranslatorError("--plot: matplotlib is not installed") from error
    figure, ax = plt.subplots(figsize=(1.5 + 0.45 * len(columns), 1 + 0.35 * len(rows)))
    ax.imshow(weights.numpy(), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(columns)), columns, rotation=60, ha="right")
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="source token", ylabel="target token")
    figure.savefig(plot, bbox_inches="tight", dpi=150)
    plt.close(figure)
