"""A folder of prepared data: text and ids of each split, the tokeniser, and what is known of them.

train.jsonl, valid.jsonl, test.jsonl   {"source": …, "target": …, "corpus": …} a line
train.npz, valid.npz, test.npz         src_ids, src_offsets, tgt_ids, tgt_offsets
tokenizer.json
stats.json                             settings, inputs, what was dropped, sizes, hashes
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from translator.data.splitting import SPLITS
from translator.data.token_ids import ARRAYS, TokenIds
from translator.data.tokenizer import Tokenizer
from translator.errors import PreparedDataError
from translator.files import sha256

#: Raised when a reader of this program could not read an older folder.
FORMAT = 1
STATS, TOKENIZER = "stats.json", "tokenizer.json"
DATA_FILES = (
    *(f"{split}.{kind}" for split in SPLITS for kind in ("jsonl", "npz")),
    TOKENIZER,
)


class Example(NamedTuple):
    """A source, its reference translation, and the corpus that they are from."""

    source: str
    target: str
    corpus: str


@dataclass(frozen=True)
class PreparedCorpus:
    """A folder of prepared data, read and checked."""

    folder: Path
    stats: dict[str, Any]
    tokenizer: Tokenizer
    train: TokenIds
    valid: TokenIds
    test: TokenIds

    @property
    def fingerprint(self) -> str:
        """A hash of everything in the folder, for checkpoints and records."""
        return self.stats["fingerprint"]

    def texts(self, split: str) -> list[Example]:
        """Return the text of a split, row for row that of its ids."""
        return read_examples(self.folder / f"{split}.jsonl")


def load_prepared(folder: str | Path, verify: bool = True) -> PreparedCorpus:
    """Read a folder that `prepare` has written.

    verify: compare each file with its hash in stats.json first. Raises PreparedDataError that
    names the file which is missing, damaged or of another format.
    """
    folder = Path(folder)
    stats = read_stats(folder)
    for name in DATA_FILES:
        path = folder / name
        if not path.is_file():
            raise PreparedDataError(f"{path}: missing; run prepare again with --force")
        if verify and sha256(path) != stats["outputs"].get(name):
            raise PreparedDataError(
                f"{path}: damaged, its SHA-256 is not that in {STATS}; "
                "run prepare again with --force"
            )
    splits = {split: read_ids(folder / f"{split}.npz") for split in SPLITS}
    return PreparedCorpus(folder, stats, Tokenizer.load(folder / TOKENIZER), **splits)


def read_stats(folder: str | Path) -> dict[str, Any]:
    """Read stats.json; raises PreparedDataError where the folder is not prepared data."""
    path = Path(folder) / STATS
    try:
        stats = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise PreparedDataError(
            f"{folder}: no prepared data ({STATS} is missing); "
            "make it with: python -m translator prepare"
        ) from None
    except ValueError as error:  # no JSON, or no UTF-8
        raise PreparedDataError(f"{path}: damaged: {error}") from None
    if not isinstance(stats, dict) or stats.get("format") != FORMAT:
        found = stats.get("format") if isinstance(stats, dict) else None
        raise PreparedDataError(
            f"{path}: expected data of format {FORMAT}, got {found}; run prepare again with --force"
        )
    return stats


def write_prepared(
    folder: Path,
    splits: Mapping[str, Sequence[Example]],
    tokenizer: Tokenizer,
    stats: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all files into an empty folder and return the statistics with the hashes added.

    The same arguments give the same bytes.
    """
    ids = {split: encode(tokenizer, rows) for split, rows in splits.items()}
    for split, rows in splits.items():
        write_examples(folder / f"{split}.jsonl", rows)
        (folder / f"{split}.npz").write_bytes(_archive(ids[split]))
    tokenizer.save(folder / TOKENIZER)
    outputs = {name: sha256(folder / name) for name in DATA_FILES}
    joined = "".join(f"{name} {digest}\n" for name, digest in sorted(outputs.items()))
    out = {
        "format": FORMAT,
        **stats,
        "vocabulary": tokenizer.vocab_size,
        "splits": {name: _describe(splits[name], ids[name]) for name in splits},
        "outputs": outputs,
        "fingerprint": hashlib.sha256(joined.encode()).hexdigest(),
    }
    text = json.dumps(out, ensure_ascii=False, indent=2) + "\n"
    (folder / STATS).write_bytes(text.encode("utf-8"))
    return out


def encode(tokenizer: Tokenizer, rows: Sequence[Example]) -> TokenIds:
    """Return the ids of sources and targets."""
    return TokenIds.from_lists(
        tokenizer.encode_batch([row.source for row in rows]),
        tokenizer.encode_batch([row.target for row in rows]),
    )


def write_examples(path: Path, rows: Iterable[Example]) -> None:
    """Write a .jsonl file, a pair a line."""
    text = "".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(text.encode("utf-8"))


def read_examples(path: str | Path) -> list[Example]:
    """Read a .jsonl file; raises PreparedDataError that names the line which is damaged."""
    out = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                out.append(Example(row["source"], row["target"], row["corpus"]))
            except (ValueError, KeyError, TypeError) as error:
                raise PreparedDataError(
                    f"{path}, line {number}: damaged: {error}"
                ) from None
    return out


def read_ids(path: str | Path) -> TokenIds:
    """Read a .npz file; raises PreparedDataError where it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return TokenIds(*(arrays[name] for name in ARRAYS))
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise PreparedDataError(f"{path}: damaged: {error}") from None


def _archive(ids: TokenIds) -> bytes:
    file = io.BytesIO()
    np.savez(file, **{name: getattr(ids, name) for name in ARRAYS})
    return file.getvalue()


def _describe(rows: Sequence[Example], ids: TokenIds) -> dict[str, Any]:
    """Count pairs, corpora, words and tokens of a split."""
    corpora: dict[str, int] = {}
    for row in rows:
        corpora[row.corpus] = corpora.get(row.corpus, 0) + 1
    sides = {}
    for side, texts, lengths in (
        ("source", [row.source for row in rows], ids.src_lengths),
        ("target", [row.target for row in rows], ids.tgt_lengths),
    ):
        words = np.array([len(text.split()) for text in texts] or [0])
        tokens = lengths if len(lengths) else np.zeros(1, dtype=np.int64)
        sides[side] = {
            "words": _lengths(words),
            "tokens": _lengths(tokens),
            "tokens per word": round(float(tokens.sum() / max(1, words.sum())), 4),
        }
    return {"pairs": len(rows), "corpora": corpora, **sides}


def _lengths(lengths: np.ndarray) -> dict[str, float]:
    return {
        "total": int(lengths.sum()),
        "mean": round(float(lengths.mean()), 2),
        "median": float(np.median(lengths)),
        "95%": float(np.percentile(lengths, 95)),
        "longest": int(lengths.max()),
    }
