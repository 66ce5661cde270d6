"""From corpora to a folder of prepared data: read, clean, split, learn the vocabulary, write."""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import importlib.metadata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from translator.config import DataConfig, plain
from translator.data.augmentation import join_pairs, reverse_pairs
from translator.data.cleaning import RULES, Rules, TextPair, clean, normalise
from translator.data.corpora import Corpus, corpus_name, load_corpus
from translator.data.held_out import HELD_OUT, described, shared_rows
from translator.data.prepared import (
    STATS,
    Example,
    PreparedCorpus,
    load_prepared,
    read_stats,
    write_prepared,
)
from translator.data.splitting import (
    SPLITS,
    shared_sentences,
    split_by_groups,
    without_overlap,
)
from translator.data.tokenizer import Tokenizer
from translator.errors import (
    ConfigError,
    CorpusError,
    PreparedDataError,
    explain_os_error,
)
from translator.files import new_folder
from translator.languages import check_languages, exchanged_rows

#: Beside the rules of cleaning: what else is taken away, and why.
LEAKS = {
    "held out": "a sentence is in the list of test data; only splits as published stay",
    "in valid or test": "a training pair with a sentence of another split",
    "in test": "a validation pair with a sentence of the test",
}

#: In the statistics: the SHA-256 of a vocabulary that was not learned from these corpora.
GIVEN = "vocabulary given"


def prepare(
    settings: DataConfig,
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    force: bool = False,
    say: Callable[[str], None] = lambda line: None,
    tokenizer: Tokenizer | None = None,
    any_languages: bool = False,
    drop_duplicates: bool = False,
) -> PreparedCorpus:
    """Prepare the corpora of `settings` in the folder `out` and return what is there.

    data_dir: as in `load_corpus`. tokenizer: a vocabulary to use instead of learning one, such as
    that of a translator which is to be trained further. any_languages: do not look whether the
    sides of each corpus are German and English. drop_duplicates: leave out of the training what is
    in validation or test files, too, in place of an error. A folder that was prepared from the same
    inputs with the same settings is checked and returned; another one is replaced only by force.
    `out` appears, or is replaced, only when everything went well. say: is given a line about each
    step. Raises TranslatorError of several kinds, PreparedDataError where `out` is in the way or
    the disk full.
    """
    settings.check()
    out = Path(out)
    say(f"reading {', '.join(settings.corpora)}")
    twice = [
        name for name, n in Counter(map(corpus_name, settings.corpora)).items() if n > 1
    ]
    if twice:
        raise CorpusError(
            f"corpora: expected different names, got {twice[0]} more than once"
        )
    corpora = [load_corpus(spec, settings, data_dir) for spec in settings.corpora]
    for corpus in corpora:
        if corpus.unlike:
            say(
                f"{corpus.name}: another SHA-256 than the book's records are of: "
                f"{', '.join(corpus.unlike)}; with other pairs, expect other scores"
            )
    _check_inputs(corpora, any_languages, say)
    if not drop_duplicates:
        _check_duplicates(corpora, settings.group_by)
    if tokenizer is not None:
        settings = dataclasses.replace(settings, vocab_size=tokenizer.vocab_size)
    wanted = _about(settings, corpora, tokenizer)
    if _is_there(out, wanted, force):
        say(f"{out} was prepared from the same inputs before")
        return load_prepared(out)
    say("cleaning and splitting")
    splits, counts = clean_and_split(corpora, settings)
    splits["train"] = draw_pairs(splits["train"], settings.train_pairs, settings.seed)
    splits["train"] = enlarge(splits["train"], settings)
    if tokenizer is None:
        texts = [
            normalise(text)
            for row in splits["train"]
            for text in (row.source, row.target)
        ]
        say(f"learning a vocabulary from {len(splits['train']):,} pairs")
        tokenizer = Tokenizer.train(texts, settings.vocab_size)
    say(f"writing {out}")
    try:
        with new_folder(out) as folder:
            write_prepared(folder, splits, tokenizer, {**wanted, "counts": counts})
    except OSError as error:
        raise PreparedDataError(
            f"{out}: cannot be written, nothing was changed: {explain_os_error(error)}"
        ) from error
    return load_prepared(out, verify=False)


def _check_inputs(
    corpora: Sequence[Corpus], any_languages: bool, say: Callable[[str], None]
) -> None:
    """Raise CorpusError for a file that is there twice, and for sides that are exchanged.

    Of a corpus that has them exchanged in a few pairs only, these are said.
    """
    files: dict[str, str] = {}
    for corpus in corpora:
        for name, digest in corpus.inputs.items():
            if digest in files and name != HELD_OUT.name:
                raise CorpusError(
                    f"{corpus.name}: {name} has the same contents as {files[digest]}: "
                    "give each file once"
                )
            files[digest] = name
        if not any_languages:
            looked_at = {corpus.name: corpus.pairs or corpus.splits.get("train", [])}
            if corpus.inputs:
                for name in ("valid", "test"):
                    looked_at[f"{corpus.name}, {name}"] = corpus.splits.get(name, [])
            for name, pairs in looked_at.items():
                check_languages(name, pairs)
                if rows := exchanged_rows(pairs):
                    say(
                        f"{name}: English stands before German in "
                        f"{described(pairs, rows)}; exchange the sides of these, or leave "
                        "them out"
                    )


def _check_duplicates(corpora: Sequence[Corpus], by: str) -> None:
    """Raise CorpusError where files for validation or test have pairs of the training files.

    Published corpora are as they are: what their splits share goes from the training, and counts.
    """
    training = [
        pair
        for corpus in corpora
        for pair in (*corpus.pairs, *corpus.splits.get("train", []))
    ]
    for corpus in corpora:
        if not corpus.inputs or corpus.as_published:
            continue
        valid, test = (corpus.splits.get(name, []) for name in ("valid", "test"))
        for name, pairs, others, where in (
            ("test", test, training, "training"),
            ("validation", valid, training, "training"),
            ("test", test, valid, "validation"),
        ):
            if rows := shared_rows(pairs, others, by):
                raise CorpusError(
                    f"{corpus.name}: the {name} shares pairs with the {where}: "
                    f"{described(pairs, rows)}; prepare --drop-duplicates leaves them out of "
                    f"the {where}"
                )


def draw_pairs(rows: list[Example], count: int, seed: int) -> list[Example]:
    """Return so many of the rows, drawn by chance, in their order; all of them for 0.

    Raises ConfigError where there are fewer.
    """
    if not count:
        return rows
    if count > len(rows):
        raise ConfigError(
            f"data.train_pairs: expected at most the {len(rows)} pairs that are left for "
            f"training, got {count}"
        )
    drawn = np.random.default_rng([seed, count]).choice(len(rows), count, replace=False)
    return [rows[i] for i in sorted(drawn)]


def enlarge(rows: list[Example], settings: DataConfig) -> list[Example]:
    """Return training pairs, joined ones behind them, and all turned round, as settings say."""
    rows = rows + join_pairs(rows, settings.join, settings.seed)
    return rows + reverse_pairs(rows) if settings.both_directions else rows


def clean_and_split(
    corpora: Sequence[Corpus], settings: DataConfig
) -> tuple[dict[str, list[Example]], dict[str, Any]]:
    """Return the examples of each split, and for each corpus what was read and dropped.

    Pairs to be split and given training pairs are cleaned. Given validation and test pairs stay
    as they were published, line for line, except validation pairs with a sentence of the test.
    No source and no target is then in two splits. Raises PreparedDataError where nothing is left
    to train on, ConfigError where the splits cannot be had.
    """
    rules = Rules(settings.max_words, settings.max_chars, settings.max_ratio)
    counts = {corpus.name: _new_counts(corpus) for corpus in corpora}
    seen: set[TextPair] = set()
    loose: list[Example] = []
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS}
    for corpus in corpora:
        given = corpus.splits.get("train", [])
        for pairs, into in ((corpus.pairs, loose), (given, splits["train"])):
            cleaned = clean(pairs, rules, seen)
            into += [Example(*pair, corpus.name) for pair in cleaned.pairs]
            counts[corpus.name]["normalised"] += cleaned.normalised
            counts[corpus.name]["dropped"].update(cleaned.dropped)
        for name in ("valid", "test"):
            splits[name] += [
                Example(*pair, corpus.name) for pair in corpus.splits.get(name, [])
            ]
    dealt = (
        split_by_groups(
            [_normal(row) for row in loose],
            valid=_sizes(settings.valid, loose, settings),
            test=_sizes(settings.test, loose, settings),
            seed=settings.seed,
            by=settings.group_by,
            origins=[
                _kind(row.corpus, _part(row, settings), settings) for row in loose
            ],
        )
        if loose
        else None
    )
    if dealt is not None:
        for name, rows in zip(SPLITS, dealt, strict=True):
            splits[name] += [loose[row] for row in rows]
    by = settings.group_by
    for name, others, reason in (
        ("valid", splits["test"], "in test"),
        ("train", None, "in valid or test"),
    ):
        others = others if others is not None else splits["valid"] + splits["test"]
        splits[name] = _drop_overlap(splits[name], others, by, reason, counts)
    _check_no_leak(splits, by)
    if not splits["train"]:
        raise PreparedDataError(
            "train: expected at least one pair after cleaning and splitting, got none; see the "
            f"rules ({', '.join(RULES)}) and data.valid, data.test"
        )
    for found in counts.values():
        found["dropped"] = {
            name: found["dropped"][name]
            for name in (*RULES, *LEAKS)
            if found["dropped"][name]
        }
    return splits, counts


def _part(row: Example, settings: DataConfig) -> int:
    """Return which part of its corpus a pair is in by its length: 0 for the shortest."""
    return bisect.bisect_left(settings.length_bounds, len(row.source.split()))


def _kind(corpus: str, part: int, settings: DataConfig) -> str:
    """Name the pairs of a corpus that are held out together."""
    if not settings.length_bounds:
        return corpus
    low, high = (
        (0, *settings.length_bounds)[part] + 1,
        (*settings.length_bounds, "more")[part],
    )
    return f"{corpus} of {low} to {high} words"


def _sizes(total: int, rows: Iterable[Example], settings: DataConfig) -> dict[str, int]:
    """Divide a number of held-out pairs, the same for each corpus, as the lengths' shares say."""
    ends = [
        round(total * share) for share in accumulate(settings.length_shares or (1.0,))
    ]
    return {
        _kind(corpus, part, settings): end - begin
        for corpus in {row.corpus for row in rows}
        for part, (begin, end) in enumerate(pairwise((0, *ends)))
    }


def _drop_overlap(
    rows: list[Example],
    others: list[Example],
    by: str,
    reason: str,
    counts: dict[str, Any],
) -> list[Example]:
    kept = without_overlap([_normal(row) for row in rows], map(_normal, others), by)
    left = set(kept)
    for number, row in enumerate(rows):
        if number not in left:
            counts[row.corpus]["dropped"][reason] += 1
    return [rows[number] for number in kept]


def _check_no_leak(splits: dict[str, list[Example]], by: str) -> None:
    """Raise PreparedDataError if a sentence is in two splits: then this program is wrong."""
    normal = {name: [_normal(row) for row in rows] for name, rows in splits.items()}
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        shared = shared_sentences(normal[one], normal[other], by)
        if shared:
            raise PreparedDataError(
                f"{one}, {other}: expected no sentence in both, got {len(shared)}, such as "
                f"{min(shared)!r}"
            )


def _normal(row: Example) -> TextPair:
    return TextPair(normalise(row.source), normalise(row.target))


def _new_counts(corpus: Corpus) -> dict[str, Any]:
    read = len(corpus.pairs) + sum(map(len, corpus.splits.values()))
    read += sum(corpus.dropped.values())
    return {"read": read, "normalised": 0, "dropped": Counter(corpus.dropped)}


def _about(
    settings: DataConfig, corpora: Sequence[Corpus], tokenizer: Tokenizer | None
) -> dict[str, Any]:
    """Return what decides the result: settings, hashes of the inputs, versions."""
    values = plain(dataclasses.asdict(settings))
    values["corpora"] = [corpus.name for corpus in corpora]
    given = tokenizer and hashlib.sha256(tokenizer.to_json().encode()).hexdigest()
    return {
        **({GIVEN: given} if given else {}),
        "settings": values,
        "inputs": {corpus.name: dict(corpus.inputs) for corpus in corpora},
        "as published": {corpus.name: corpus.as_published for corpus in corpora},
        "licences": {corpus.name: corpus.licence for corpus in corpora},
        "sources": {corpus.name: corpus.source for corpus in corpora},
        "tokenizers": importlib.metadata.version("tokenizers"),
    }


def _is_there(out: Path, wanted: dict[str, Any], force: bool) -> bool:
    """Tell whether `out` holds what is wanted; raise PreparedDataError where it is in the way."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not (out / STATS).is_file():
        raise PreparedDataError(
            f"{out}: expected a new folder or one with prepared data, found something else; "
            "choose another with --out"
        )
    if force:
        return False
    stats = read_stats(out)
    different = [
        key
        for key in {**wanted, GIVEN: None}
        # It follows from the inputs, and from which of them this version knows.
        if key != "as published" and stats.get(key) != wanted.get(key)
    ]
    if not different:
        return True
    raise PreparedDataError(
        f"{out}: holds data prepared with other {', '.join(different)}; "
        "replace it with --force or choose another folder with --out"
    )
