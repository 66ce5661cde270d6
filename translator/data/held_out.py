"""Test data: sentences known by their hashes alone, and pairs that training files have, too.

Tatoeba's exports come in many editions; a test set cut out of one is training data in another.
`held-out.sha256` names the sentences of the test sets without showing them, a hash a line; they are
kept out of every Tatoeba file.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from translator.data.cleaning import normalise
from translator.data.splitting import group_key
from translator.errors import CorpusError

HELD_OUT = Path(__file__).with_name("held-out.sha256")


def normal_form(text: str) -> str:
    """Return text in NFC and case-folded, with letters, digits and spaces alone, stripped."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return "".join(c for c in folded if c.isalnum() or c == " ").strip()


def digest(text: str) -> str:
    """Return the SHA-256 of a sentence's normal form."""
    return hashlib.sha256(normal_form(text).encode("utf-8", "replace")).hexdigest()


def is_held_out(text: str, digests: frozenset[str]) -> bool:
    """Return whether a sentence is in the list, as it stands or when it has been cleaned.

    Cleaning makes one space of white space of any kind and takes out what nobody sees.
    """
    return digest(text) in digests or digest(normalise(text)) in digests


def read_digests(path: Path = HELD_OUT) -> frozenset[str]:
    """Return the hashes of a list; raises CorpusError where it is missing or damaged."""
    try:
        lines = path.read_text(encoding="ascii").split()
    except FileNotFoundError:
        raise CorpusError(
            f"{path}: the list of held-out sentences is missing"
        ) from None
    except UnicodeDecodeError:
        lines = [""]
    if not lines or any(len(line) != 64 for line in lines):
        raise CorpusError(
            f"{path}: damaged: expected a SHA-256, 64 digits, in each line"
        )
    return frozenset(lines)


def without_held_out(
    pairs: Iterable[tuple[str, str]], digests: frozenset[str]
) -> list[tuple[str, str]]:
    """Return the pairs of which neither sentence is held out."""
    return [
        pair for pair in pairs if not any(is_held_out(text, digests) for text in pair)
    ]


def shared_rows(
    pairs: Sequence[tuple[str, str]],
    others: Iterable[tuple[str, str]],
    by: str = "words",
) -> list[int]:
    """Return the rows of pairs that are in others, too, both sides of them.

    by: what counts as the same, see `splitting.group_key`; white space never does.
    """
    seen = {_key(pair, by) for pair in others}
    return [row for row, pair in enumerate(pairs) if _key(pair, by) in seen]


def described(pairs: Sequence[tuple[str, str]], rows: Sequence[int]) -> str:
    """Return how many rows of pairs these are, and the first of them, for a message."""
    source, target = (normalise(text)[:60] for text in pairs[rows[0]])
    return (
        f"{len(rows)} of {len(pairs)} pairs, the first in line {rows[0] + 1}: "
        f"{source!r}, {target!r}"
    )


def _key(pair: tuple[str, str], by: str) -> tuple[str, str]:
    source, target = (group_key(normalise(text), by) for text in pair)
    return source, target
