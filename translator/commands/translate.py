"""python -m translator translate"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path

HELP = (
    "Translate a text, a file, or what is typed or piped in: a line out for each line."
)
EXAMPLES = """\
  python -m translator translate "Kannst du mir helfen, diesen Satz zu übersetzen?"
  python -m translator translate --file brief.txt > letter.txt
  cat brief.txt | python -m translator translate --beam 1
  python -m translator translate --n-best 3 --scores "Ich habe keine Zeit."
  python -m translator translate --alignments "Ich habe keine Zeit."
  python -m translator translate --alignments --plot alignment.png "Ich habe keine Zeit."
"""
#: Lines that are translated together, and printed before the next ones are read.
CHUNK = 32
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
        "--alpha",
        type=float,
        help="length penalty (default: what the record says that validation chose)",
    )
    parser.add_argument(
        "--n-best",
        type=int,
        default=1,
        metavar="N",
        help="print up to N candidates for each line, between tabs",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="print before each translation the chrF to expect, 0 to 100",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="json: an object a line, with candidates and warnings",
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
    from translator.decoding.lines import translate_lines
    from translator.decoding.model_folder import load_translator
    from translator.decoding.search import DecodingOptions
    from translator.errors import TranslatorError

    if args.text and args.file:
        raise TranslatorError("expected a text or --file, got both")
    if args.plot and not args.alignments:
        raise TranslatorError("--plot draws alignments: give --alignments, too")
    if args.alignments and args.format == "json":
        raise TranslatorError("--alignments are for --format text")
    translator = load_translator(args.model, args.device)
    if args.scores and translator.calibration is None:
        raise TranslatorError(
            f"--scores: {args.model / 'record.json'} has no calibration; "
            "python -m translator evaluate writes it"
        )
    alpha = translator.alpha if args.alpha is None else args.alpha
    options = DecodingOptions(beam_size=args.beam, alpha=alpha)
    number = 0
    for lines in _chunks(args):
        for result in translate_lines(translator, lines, options, args.n_best):
            number += 1
            print(_as_json(result) if args.format == "json" else _as_text(result, args))
            for warning in result.warnings:
                print(f"translator: line {number}: {warning}", file=sys.stderr)
            if args.alignments and result.text:
                plot = args.plot if number == 1 else None
                _show_alignment(translator, result.source, result.text, plot)
        sys.stdout.flush()
    return 0


def _chunks(args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the lines, some at a time; at a terminal one by one, as they are typed."""
    from translator.text.markup import fenced
    from translator.text.text_files import check_is_text, read_lines

    if args.text:
        lines = [
            line.removesuffix("\r") for text in args.text for line in text.split("\n")
        ]
        for text in args.text:
            check_is_text(text)
    elif args.file is None and sys.stdin is not None and sys.stdin.isatty():
        yield from _typed()
        return
    else:
        lines = read_lines(args.file, args.encoding)
    code = fenced(lines)
    begin = 0
    while begin < len(lines):
        end = begin + CHUNK
        while (
            end < len(lines) and code[end]
        ):  # what is between two fences stays together
            end += 1
        yield lines[begin:end]
        begin = end


def _typed() -> Iterator[list[str]]:
    from translator.text.text_files import TextError, check_is_text

    print("Type German; Ctrl-D ends.", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        try:
            line = input()
            check_is_text(line)
        except EOFError:
            print(file=sys.stderr)
            return
        except (TextError, UnicodeDecodeError) as error:
            print(f"translator: not translated: {error}", file=sys.stderr)
            continue
        yield [line]


def _as_text(result, args: argparse.Namespace) -> str:
    """Return the candidates of a line, between tabs; with --scores each after its score."""
    if not args.scores and args.n_best == 1:
        return result.text
    fields = []
    for candidate in result.candidates:
        if args.scores:
            score = candidate.expected_chrf
            fields.append("-" if score is None else f"{score:.0f}")
        fields.append(candidate.text.replace("\t", " "))
    return "\t".join(fields)


def _as_json(result) -> str:
    candidates = [dataclasses.asdict(candidate) for candidate in result.candidates]
    found = {
        "source": result.source,
        "translation": result.text,
        "candidates": candidates,
        "warnings": result.warnings,
    }
    return json.dumps(found, ensure_ascii=False)


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
    try:
        figure.savefig(plot, bbox_inches="tight", dpi=150)
    except ValueError as error:  # a format that matplotlib does not write
        raise TranslatorError(f"--plot: {plot}: {error}") from None
    finally:
        plt.close(figure)
