"""The corpora: the embedded grammar, Tatoeba, Multi30k, and anybody's files.

A corpus is named by a text: "grammar", "tatoeba", "multi30k", "tsv:FILE" (source, tab, target),
"text:FILE,FILE" (a sentence a line, source and target) or "folder:FOLDER" (with files of its own
for training, validation and test). Files may be compressed by gzip.

Public corpora are looked for in the folder that is given, or in the one that the environment
variable TRANSLATOR_DATA names, under the corpus's name; without either they are downloaded once.
Of Tatoeba all files that are there are read. Neither of it nor of anybody's files is a pair read
with a sentence that is test data, except where those are for validation or test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from translator import grammar
from translator.config import DataConfig
from translator.data.held_out import HELD_OUT, read_digests, without_held_out
from translator.data.spelling import as_sentence
from translator.download import download
from translator.errors import CorpusError, DownloadError
from translator.files import sha256
from translator.languages import SOURCE, TARGET
from translator.pair_files import Pairs, read_parallel, read_tsv, read_zip

ENVIRONMENT = "TRANSLATOR_DATA"
DOWNLOADS = Path("data") / "downloads"
NAMES = ("grammar", "tatoeba", "multi30k")
#: The names that a folder's files of each split may have.
SPLIT_FILES = {"train": ("train",), "valid": ("valid", "val", "dev"), "test": ("test",)}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentence pairs as they were read.

    pairs: to be split, where the corpus has no splits of its own. splits: its own training,
    validation and test pairs. inputs: the SHA-256 of each file. as_published: whether the files
    have the SHA-256 that is known of them, None where none is. unlike: the names of those that
    have another. dropped: how many pairs of the files are in neither, and why.
    """

    name: str
    licence: str
    source: str
    pairs: Pairs = field(default_factory=list)
    splits: Mapping[str, Pairs] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    as_published: bool | None = None
    unlike: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remote:
    """A public file: where it is, and its SHA-256 where the file there never changes."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rsplit("/", 1)[-1]


_MULTI30K = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)
#: Split and side of each file of Multi30k at a fixed commit.
MULTI30K = {
    (split, side): Remote(f"{_MULTI30K}{name}.{side}.gz", digest)
    for split, name, side, digest in (
        (
            "train",
            "train",
            "de",
            "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        ),
        (
            "train",
            "train",
            "en",
            "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        ),
        (
            "valid",
            "val",
            "de",
            "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        ),
        (
            "valid",
            "val",
            "en",
            "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        ),
        (
            "test",
            "test_2016_flickr",
            "de",
            "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        ),
        (
            "test",
            "test_2016_flickr",
            "en",
            "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        ),
    )
}
#: This file grows with Tatoeba: the hash of the first download is recorded and checked later.
TATOEBA = Remote("https://www.manythings.org/anki/deu-eng.zip")
#: The files of Tatoeba that are read from a local folder, as many of them as are there, and the
#: SHA-256 of those that the translators of `models/` were trained on.
TATOEBA_LOCAL = {
    "deu-eng.tsv": "03aaaf86280508880aa06b105d989821cf2fd7a8f5f1445b74d10da66e5aa582",
    "deu-eng.tsv.gz": None,
    "deu-eng-2018.tsv": None,
    "deu-eng-2018.tsv.gz": "cdc7870aa11b09d94cb1f9cafa81e03993afadc3fdc6b1ae679abd83b790e04f",
    "deu-eng.zip": None,
}


def load_corpus(
    spec: str, settings: DataConfig | None = None, data_dir: str | Path | None = None
) -> Corpus:
    """Read the corpus that a text such as "tatoeba" or "tsv:pairs.tsv" names.

    settings: sizes and style of the grammar corpus. data_dir: a local folder with the public
    corpora; None takes TRANSLATOR_DATA, and without that downloads. Raises CorpusError.
    """
    settings = settings or DataConfig()
    kind, _, rest = spec.partition(":")
    if spec == "grammar":
        return _grammar(settings)
    if spec == "tatoeba":
        return _tatoeba(local_folder(data_dir))
    if spec == "multi30k":
        return _multi30k(local_folder(data_dir))
    if kind == "tsv" and rest:
        path = Path(rest)
        return _own_files(_stem(path), read_tsv(path), [path])
    if kind == "text" and rest.count(",") == 1:
        source, target = map(Path, rest.split(","))
        return _own_files(
            _stem(source), read_parallel(source, target), [source, target]
        )
    if kind == "folder" and rest:
        return _own_folder(Path(rest))
    raise CorpusError(
        f"corpus: expected one of {', '.join(NAMES)}, tsv:FILE, text:FILE,FILE or "
        f"folder:FOLDER, got {spec!r}"
    )


def corpus_name(spec: str) -> str:
    """Return the name that the corpus of this text will have, without reading it."""
    kind, _, rest = spec.partition(":")
    if kind == "folder":
        return Path(rest).resolve().name
    return _stem(Path(rest.split(",")[0])) if kind in ("tsv", "text") else spec


def local_folder(data_dir: str | Path | None = None) -> Path | None:
    """Return the folder to look into: the argument, or TRANSLATOR_DATA, or None to download."""
    if data_dir is None:
        data_dir = os.environ.get(ENVIRONMENT) or None
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: expected a folder with corpora, found none")
    return folder


# -- the four kinds --------------------------------------------------------------------------


def _grammar(settings: DataConfig) -> Corpus:
    drawn = grammar.make_splits(
        settings.grammar_split,
        settings.grammar_pairs,
        settings.valid,
        settings.test,
        seed=settings.seed,
    )
    write = as_sentence if settings.grammar_style == "sentence" else _plain
    splits = {
        name: [text for text in map(write, pairs) if text is not None]
        for name, pairs in zip(("train", "valid", "test"), drawn[:3], strict=True)
    }
    return Corpus(
        "grammar",
        "the course's own licence (MIT)",
        "drawn from the course's grammar",
        splits=splits,
    )


def _plain(pair: grammar.Pair) -> tuple[str, str]:
    return " ".join(pair.source), " ".join(pair.target)


def _tatoeba(folder: Path | None) -> Corpus:
    about = {
        "licence": "CC BY 2.0 FR",
        "source": "Tatoeba (https://tatoeba.org), by way of https://www.manythings.org/anki/",
    }
    if folder is None:
        paths = [_fetch("tatoeba", TATOEBA)]
    else:
        paths = _find_all(folder, "tatoeba", tuple(TATOEBA_LOCAL))
    pairs: Pairs = []
    for path in paths:
        if path.suffix == ".zip":
            pairs += read_zip(path, "deu.txt")
        else:
            pairs += read_tsv(path)
    compared = _compared(_inputs(paths), TATOEBA_LOCAL)
    return Corpus("tatoeba", **about, **compared, **_filtered(pairs, paths))


def _multi30k(folder: Path | None) -> Corpus:
    paths = {
        key: _fetch("multi30k", file)
        if folder is None
        else _find(folder, "multi30k", (file.name, file.name.removesuffix(".gz")))
        for key, file in MULTI30K.items()
    }
    inputs = _inputs(paths.values())
    known = {paths[key].name: file.sha256 for key, file in MULTI30K.items()}
    return Corpus(
        "multi30k",
        "none stated; the captions derive from Flickr30k: for research and education",
        "Multi30k, task 1, raw (https://github.com/multi30k/dataset)",
        splits={
            split: read_parallel(paths[split, "de"], paths[split, "en"])
            for split in ("train", "valid", "test")
        },
        inputs=inputs,
        **_compared(inputs, known),
    )


def _compared(
    inputs: Mapping[str, str], known: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return what a corpus says of its files, by the SHA-256 that is known of some."""
    unlike = tuple(
        name for name, digest in inputs.items() if known[name] not in (None, digest)
    )
    all_known = all(known[name] for name in inputs)
    return {
        "unlike": unlike,
        "as_published": False if unlike else True if all_known else None,
    }


def _inputs(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: sha256(path) for path in paths}


def _filtered(pairs: Pairs, paths: Sequence[Path]) -> dict[str, Any]:
    """Return what a corpus of these files has without the sentences that are test data."""
    kept = without_held_out(pairs, read_digests(HELD_OUT))
    return {
        "pairs": kept,
        "dropped": {"held out": len(pairs) - len(kept)},
        "inputs": _inputs((*paths, HELD_OUT)),
    }


def _own_files(name: str, pairs: Pairs, paths: Sequence[Path]) -> Corpus:
    return Corpus(name, "not stated", "local files", **_filtered(pairs, paths))


def _own_folder(folder: Path) -> Corpus:
    """Read train.tsv, or train.de and train.en, and the same of validation and test."""
    splits: dict[str, Pairs] = {}
    paths: list[Path] = []
    for split, names in SPLIT_FILES.items():
        for tsv, *sides in (
            [
                folder / f"{name}{end}{gz}"
                for end in (".tsv", f".{SOURCE}", f".{TARGET}")
            ]
            for name in names
            for gz in ("", ".gz")
        ):
            if tsv.is_file():
                splits[split], paths = read_tsv(tsv), [*paths, tsv]
                break
            if all(path.is_file() for path in sides):
                splits[split], paths = read_parallel(*sides), [*paths, *sides]
                break
        else:
            raise CorpusError(
                f"{folder}: expected {names[0]}.tsv, or {names[0]}.{SOURCE} and "
                f"{names[0]}.{TARGET}, found none; what has no files of its own for validation "
                "and test is split by prepare --tsv or --text"
            )
    found = _filtered(splits["train"], paths)
    splits["train"] = found.pop("pairs")
    name = folder.resolve().name
    return Corpus(name, "not stated", "local files", splits=splits, **found)


def _find(folder: Path, corpus: str, names: Sequence[str]) -> Path:
    return _find_all(folder, corpus, names)[0]


def _find_all(folder: Path, corpus: str, names: Sequence[str]) -> list[Path]:
    """Return the files of these names in the corpus's folder, or where it has none, in `folder`."""
    for place in (folder / corpus, folder):
        found = [path for name in names if (path := place / name).is_file()]
        if found:
            return found
    places = [place / name for place in (folder / corpus, folder) for name in names]
    raise CorpusError(
        f"{corpus}: expected a file {' or '.join(map(str, places))}, found none"
    )


def _fetch(corpus: str, file: Remote) -> Path:
    path = DOWNLOADS / corpus / file.name
    try:
        return download(file.url, path, expected=file.sha256)
    except DownloadError as error:
        raise DownloadError(
            f"{error}. Without internet: put the file into DIR/{corpus}/ and give --data-dir DIR "
            f"(or set {ENVIRONMENT})"
        ) from None


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name
