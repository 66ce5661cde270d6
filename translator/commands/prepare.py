"""prepare: make a folder of training data from corpora."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from translator.config import DataConfig
    from translator.data.prepared import PreparedCorpus

HELP = (
    "Read corpora, clean them, split them without leakage and learn their vocabulary."
)
EXAMPLES = """\
  python -m translator prepare
      the embedded grammar corpus, with the settings of tiny, in data/tiny
  python -m translator prepare tatoeba
      download Tatoeba's German-English pairs; settings of small, in data/small
  python -m translator prepare multi30k --data-dir ~/corpora
      read ~/corpora/multi30k/train.de.gz and so on instead of downloading
  python -m translator prepare --config big
      the corpora and settings of a configuration, in data/big
  python -m translator prepare tatoeba multi30k --name both --vocab-size 10000
      two corpora together, with one vocabulary
  python -m translator prepare --tsv pairs.tsv --valid 200 --test 200
      your own pairs: source, tab, target; in data/pairs
  python -m translator prepare --tsv pairs.tsv --vocabulary models/de-en
      the same with the vocabulary of a translator, to train that one further by train --from
  python -m translator prepare --text corpus.de corpus.en --config big
      your own pairs in two files, with the settings of a configuration
  python -m translator prepare --folder mine --drop-duplicates
      your own training, validation and test files: mine/train.de, train.en, valid.de and so on
"""
# The configurations in the order in which one is looked for that has the corpora asked for.
_FIRST = ("tiny", "small", "base")
_OTHERWISE = "small"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of prepare."""
    parser.add_argument(
        "corpora",
        nargs="*",
        metavar="CORPUS",
        help="grammar, tatoeba or multi30k; several are joined (default: grammar)",
    )
    parser.add_argument(
        "--tsv",
        action="append",
        default=[],
        metavar="FILE",
        help="also a file of pairs: source, tab, target; may be repeated",
    )
    parser.add_argument(
        "--text",
        action="append",
        default=[],
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="also two files with a sentence a line; may be repeated",
    )
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="DIR",
        help="also a folder with train, valid and test, each a .tsv or a .de and a .en",
    )
    parser.add_argument(
        "--drop-duplicates",
        action="store_true",
        help="leave out of the training what is in your validation or test files, too",
    )
    parser.add_argument(
        "--config",
        metavar="NAME",
        help="take the settings of tiny, small, base, big or a .toml file (default: of the one "
        "for these corpora: tiny for grammar, small for tatoeba, base for multi30k)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="change a setting, such as data.max_words=50; may be repeated",
    )
    parser.add_argument(
        "--vocab-size", type=int, metavar="N", help="tokens, both languages"
    )
    parser.add_argument(
        "--vocabulary",
        type=Path,
        metavar="PATH",
        help="do not learn one: take that of a translator's folder, or a tokenizer.json",
    )
    parser.add_argument(
        "--valid", type=int, metavar="N", help="pairs held out for validation"
    )
    parser.add_argument(
        "--test", type=int, metavar="N", help="pairs held out for the test"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="decides which pairs are held out"
    )
    parser.add_argument(
        "--name",
        help="name of the prepared data (default: the "
        "configuration's, or the corpora's where it has others)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write (default: data/NAME)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="folder with the public corpora, instead of a download; also by the environment "
        "variable TRANSLATOR_DATA",
    )
    parser.add_argument(
        "--any-languages",
        action="store_true",
        help="do not look whether the columns are German and English",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace data prepared before"
    )


def run(args: argparse.Namespace) -> int:
    """Prepare, and print what came of it."""
    from translator.data.preparation import prepare
    from translator.data.tokenizer import Tokenizer
    from translator.decoding.model_folder import TOKENIZER
    from translator.errors import ConfigError

    settings, name = _settings(args)
    given = None
    if args.vocabulary is not None:
        if args.vocab_size is not None:
            raise ConfigError("--vocab-size and --vocabulary exclude each other")
        path = args.vocabulary
        given = Tokenizer.load(path / TOKENIZER if path.is_dir() else path)
    made = prepare(
        settings,
        args.out or Path("data") / (args.name or name),
        data_dir=args.data_dir,
        force=args.force,
        say=lambda line: print(line, file=sys.stderr),
        tokenizer=given,
        any_languages=args.any_languages,
        drop_duplicates=args.drop_duplicates,
    )
    print(report(made))
    return 0


def _settings(args: argparse.Namespace) -> tuple[DataConfig, str]:
    """Return the settings that the arguments choose, and a name for what they make."""
    from translator.config import load_config
    from translator.data.corpora import corpus_name

    corpora = (
        *args.corpora,
        *(f"tsv:{path}" for path in args.tsv),
        *(f"text:{source},{target}" for source, target in args.text),
        *(f"folder:{path}" for path in args.folder),
    )
    config = load_config(args.config or _config_for(corpora), args.overrides)
    corpora = corpora or config.data.corpora
    chosen: dict[str, Any] = {
        key: getattr(args, key)
        for key in ("vocab_size", "valid", "test", "seed")
        if getattr(args, key) is not None
    }
    settings = dataclasses.replace(config.data, corpora=corpora, **chosen)
    if corpora == config.data.corpora:
        return settings, config.name
    return settings, "-".join(map(corpus_name, corpora))


def _config_for(corpora: tuple[str, ...]) -> str:
    """Return the name of the configuration that has these corpora, or else of a middling one."""
    from translator.config import available, load_config

    if not corpora:
        return _FIRST[0]
    names = [*_FIRST, *(name for name in available() if name not in _FIRST)]
    return next(
        (n for n in names if load_config(n).data.corpora == corpora), _OTHERWISE
    )


def report(made: PreparedCorpus) -> str:
    """Return the statistics of prepared data as lines of text."""
    stats = made.stats
    lines = []
    for corpus, found in stats["counts"].items():
        lines.append(
            f"{corpus}: {found['read']:,} pairs read, {found['normalised']:,} normalised"
        )
        lines += [f"  dropped {n:>8,}  {rule}" for rule, n in found["dropped"].items()]
        lines.append(f"  licence: {stats['licences'][corpus]}")
    row = "{:<6} {:>9} {:>13} {:>13} {:>13} {:>13}"
    lines.append(
        row.format("split", "pairs", "source words", "tokens", "target words", "tokens")
    )
    for split, found in stats["splits"].items():
        numbers = [
            f"{found[side][kind]['total']:,}"
            for side in ("source", "target")
            for kind in ("words", "tokens")
        ]
        lines.append(row.format(split, f"{found['pairs']:,}", *numbers))
    lines.append(f"vocabulary: {stats['vocabulary']:,} tokens")
    lines.append(f"fingerprint: {stats['fingerprint'][:16]}")
    lines.append(f"in {made.folder}")
    return "\n".join(lines)
