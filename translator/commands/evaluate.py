"""python -m translator evaluate"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = (
    "Measure a translator: BLEU and chrF, by length, greedy and beam; write its record."
)
EXAMPLES = """\
  python -m translator evaluate --run runs/tiny                   its own test split
  python -m translator evaluate --run runs/base --beam 1 4 8
  python -m translator evaluate --run runs/base --alpha 0.6 1 1.4    the best on validation
  python -m translator evaluate --run runs/de-en --corpus tatoeba
  python -m translator evaluate --run runs/mine --after models/de-en
  python -m translator evaluate --model models/de-en --source test.de.gz --reference test.en.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--run", type=Path, help="folder of a training run; its model is RUN/model"
    )
    parser.add_argument("--model", type=Path, help="folder of an exported translator")
    parser.add_argument(
        "--data", type=Path, help="prepared data (default: data/CONFIG's name)"
    )
    parser.add_argument("--split", default="test", choices=("train", "valid", "test"))
    parser.add_argument(
        "--corpus", help="only the sentences of this one of several corpora"
    )
    parser.add_argument(
        "--source",
        type=Path,
        help="any other test set: text to translate instead, a sentence a line, also .gz",
    )
    parser.add_argument("--reference", type=Path, help="its translation, line by line")
    parser.add_argument(
        "--drop-duplicates",
        action="store_true",
        help="with --source: leave out of the test what is in the training data, too",
    )
    parser.add_argument(
        "--any-languages",
        action="store_true",
        help="measure on files that are not German and English, or not in this order",
    )
    parser.add_argument(
        "--beam",
        type=int,
        nargs="+",
        default=[1, 4],
        metavar="SIZE",
        help="beam sizes; 1 is greedy (default: 1 4)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        nargs="+",
        metavar="ALPHA",
        help="length penalty of the beam search (default: 0.6; with --source the one that "
        "validation chose, as recorded); of several the best on the validation pairs is taken",
    )
    parser.add_argument("--limit", type=int, help="only the first LIMIT sentences")
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--outputs", type=Path, help="write the last beam size's translations here"
    )
    parser.add_argument(
        "--record",
        type=Path,
        help="default: record.json beside the model, with --source evaluation-FILE.json",
    )
    parser.add_argument(
        "--after",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="runs or translators that the run's weights went through before, "
        "oldest first (train --from): their course goes into the record",
    )


def run(args: argparse.Namespace) -> int:
    """Evaluate, print a table, write the record."""
    from translator.data.held_out import described
    from translator.data.prepared import load_prepared
    from translator.decoding.evaluation import best_alpha, calibrate, evaluate
    from translator.decoding.model_folder import RECORD, load_translator
    from translator.decoding.record import read_record, surroundings, write_record
    from translator.decoding.search import DecodingOptions
    from translator.device import describe_device
    from translator.errors import TranslatorError
    from translator.files import sha256, write_text
    from translator.languages import check_languages, exchanged_rows
    from translator.pair_files import read_parallel
    from translator.training.lineage import earlier_trainings
    from translator.training.log import read_log

    if (args.run is None) == (args.model is None):
        raise TranslatorError("expected one of --run and --model")
    if (args.source is None) != (args.reference is None):
        raise TranslatorError("--source and --reference go together")
    if args.after and args.run is None:
        raise TranslatorError(
            "--after goes with --run: an exported translator does not say "
            "what it began with"
        )
    training = read_record(args.run / "training.json") if args.run else {}
    earlier = earlier_trainings(training, args.after)
    folder = args.model or args.run / "model"
    translator = load_translator(folder, args.device)
    given = args.alpha or [DecodingOptions.alpha]
    if args.source and not args.alpha:
        given = [_recorded_alpha(args.run or args.model)]
    if args.source and len(given) > 1:
        raise TranslatorError(
            "--alpha: expected one value with --source, which has no "
            "validation pairs to choose by"
        )
    trained_on, chosen = [], {"alpha": given[0]}
    if args.source:
        pairs = read_parallel(args.source, args.reference)
        if not args.any_languages:
            check_languages(args.source.name, pairs, "evaluate")
            if rows := exchanged_rows(pairs):
                print(
                    f"translator: {args.source.name}: English stands before German in "
                    f"{described(pairs, rows)}; exchange the sides of these, or leave them out",
                    file=sys.stderr,
                )
        pairs, dropped = _not_trained_on(args, translator.config.name, pairs)
        sources, references = zip(*pairs, strict=True)
        data = {
            "source": args.source.name,
            "dropped_duplicates": dropped,
            "sha256": sha256(args.source),
            "reference_sha256": sha256(args.reference),
        }
    else:
        prepared = load_prepared(args.data or Path("data") / translator.config.name)
        translator.check_vocabulary(prepared.tokenizer, prepared.folder)
        rows = prepared.texts(args.split)
        if args.split != "train":
            trained_on = [row.source for row in prepared.texts("train")]
        known = sorted({row.corpus for row in rows})
        if args.corpus is not None and args.corpus not in known:
            raise TranslatorError(
                f"--corpus: expected one of {', '.join(known)}, got {args.corpus}"
            )
        rows = [row for row in rows if args.corpus in (None, row.corpus)]
        sources, references = [row.source for row in rows], [row.target for row in rows]
        data = {
            "split": args.split,
            "corpus": args.corpus or ", ".join(known),
            "fingerprint": prepared.fingerprint,
            "stats": prepared.stats,
        }
        valid = [
            row for row in prepared.texts("valid") if args.corpus in (None, row.corpus)
        ]
        if len(given) > 1:
            chosen = best_alpha(
                translator,
                [row.source for row in valid],
                [row.target for row in valid],
                max(args.beam),
                given,
            )
    sources, references = sources[: args.limit], references[: args.limit]
    evaluations = []
    print(
        f"{len(sources)} sentences, alpha {chosen['alpha']}\n"
        " beam    BLEU  (95 % within)    chrF   exact   sentences/s"
    )
    for beam_size in args.beam:
        options = DecodingOptions(beam_size=beam_size, alpha=chosen["alpha"])
        result, outputs = evaluate(translator, sources, references, options, trained_on)
        evaluations.append(result)
        low, high = result["bleu"]["interval"]
        print(
            f"{beam_size:5} {result['bleu']['score']:7.1f}  ({low:5.1f} to {high:5.1f}) "
            f"{result['chrf']['score']:7.1f} "
            f"{100 * result['exact']:6.1f} % {result['sentences_per_second']:12.1f}",
            flush=True,
        )
    print(evaluations[-1]["bleu"]["signature"])
    calibration = None
    if not args.source:
        options = DecodingOptions(beam_size=max(args.beam), alpha=chosen["alpha"])
        valid = valid[: args.limit]
        pairs = [row.source for row in valid], [row.target for row in valid]
        calibration = calibrate(translator, pairs, (sources, references), options)
        print(
            f"as used, names copied: {calibration['as_used']['bleu']['score']:.1f} BLEU"
        )
    if args.outputs:
        write_text(args.outputs, "".join(line + "\n" for line in outputs))
    device = next(translator.model.parameters()).device
    record = {
        "name": translator.config.name,
        "config": translator.config.to_dict(),
        "seed": translator.config.training.seed,
        "evaluated_on": describe_device(device),
        "surroundings": surroundings(device),
        "data": data,
        "length_penalty": chosen,
        "evaluations": evaluations,
        "calibration": calibration,
    }
    if args.run:
        record["training"] = training
        record["curve"] = read_log(args.run / "log.jsonl")
        record["earlier"] = earlier
    # The model's own record stays: it says how it was trained, and translate reads it.
    name = f"evaluation-{args.source.name}.json" if args.source else RECORD
    path = args.record or (args.run or args.model) / name
    write_record(path, record)
    print(f"record: {path}", file=sys.stderr)
    return 0


def _not_trained_on(
    args: argparse.Namespace, name: str, pairs: list[tuple[str, str]]
) -> tuple[list[tuple[str, str]], int | None]:
    """Return the pairs that are not in the training data, and how many were left out.

    Raises TranslatorError where some are, unless --drop-duplicates is given. The number is None
    where nothing is known of the training data.
    """
    from translator.data.held_out import described, shared_rows
    from translator.data.prepared import STATS, read_examples
    from translator.errors import TranslatorError

    folder = args.data or Path("data") / name
    if args.data is None and not (folder / STATS).is_file():
        print(
            f"translator: whether {args.source.name} was trained on is not known: there is no "
            f"{folder}; --data names the prepared training data",
            file=sys.stderr,
        )
        return pairs, None
    trained_on = [row[:2] for row in read_examples(folder / "train.jsonl")]
    rows = shared_rows(pairs, trained_on)
    if rows and not args.drop_duplicates:
        raise TranslatorError(
            f"{args.source}: was trained on in part: {described(pairs, rows)}; evaluate "
            "--drop-duplicates measures without them"
        )
    left_out = set(rows)
    if len(left_out) == len(pairs):
        raise TranslatorError(f"{args.source}: all its pairs were trained on")
    kept = [pair for row, pair in enumerate(pairs) if row not in left_out]
    return kept, len(rows)


def _recorded_alpha(folder: Path) -> float:
    """Return the length penalty that validation chose, or the default where it chose none."""
    from translator.decoding.model_folder import RECORD
    from translator.decoding.record import read_record
    from translator.decoding.search import DecodingOptions

    path = folder / RECORD
    penalty = read_record(path).get("length_penalty", {}) if path.is_file() else {}
    return penalty["alpha"] if "tried" in penalty else DecodingOptions.alpha
