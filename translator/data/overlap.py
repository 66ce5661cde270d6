"""Pairs that are in two of a user's files: in the training, and in what it is measured by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from translator.data.cleaning import normalise
from translator.data.splitting import group_key

Pair = tuple[str, str]


def shared_rows(
    pairs: Sequence[Pair], others: Iterable[Pair], by: str = "words"
) -> list[int]:
    """Return the rows of pairs that are in others, too, both sides of them.

    by: what counts as the same, see `splitting.group_key`; white space never does.
    """
    seen = {_key(pair, by) for pair in others}
    return [row for row, pair in enumerate(pairs) if _key(pair, by) in seen]


def described(pairs: Sequence[Pair], rows: Sequence[int]) -> str:
    """Return how many rows of pairs these are, and the first of them, for a message."""
    source, target = (normalise(text)[:60] for text in pairs[rows[0]])
    return (
        f"{len(rows)} of {len(pairs)} pairs, the first in line {rows[0] + 1}: "
        f"{source!r}, {target!r}"
    )


def _key(pair: Pair, by: str) -> Pair:
    source, target = (group_key(normalise(text), by) for text in pair)
    return source, target
