"""Splitting without leakage: pairs that share a sentence go into the same split.

In Tatoeba one sentence has many translations, and those have others. A split line by line puts
the same sentence into training and test. Here pairs are joined into groups, two pairs being
joined where they have the same source or the same target, and whole groups are dealt out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from translator.data.cleaning import TextPair
from translator.errors import ConfigError

SPLITS = ("train", "valid", "test")
GROUP_BY = ("exact", "words")


class Split(NamedTuple):
    """Rows of the input, in their order, that make up each split."""

    train: list[int]
    valid: list[int]
    test: list[int]


def group_key(text: str, by: str = "exact") -> str:
    """Return what must be equal for two sentences to count as the same.

    by: "exact", the text; "words", the words alone, without case and punctuation, so that "Run!"
    and "Run." are the same. Raises ConfigError for another kind.
    """
    if by == "exact":
        return text
    if by == "words":
        kept = "".join(c if c.isalnum() else " " for c in text.casefold())
        return " ".join(kept.split()) or text
    raise ConfigError(f"group_by: expected one of {GROUP_BY}, got {by!r}")


class UnionFind:
    """Sets of things that grow together: union by size, paths halved (Tarjan 1975)."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._size: dict[Hashable, int] = {}

    def find(self, item: Hashable) -> Hashable:
        """Return the representative of the set that item is in; a new item is alone in its set."""
        parent = self._parent
        if item not in parent:
            parent[item] = item
            self._size[item] = 1
            return item
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def union(self, one: Hashable, other: Hashable) -> None:
        """Join the sets of two things."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return
        if self._size[one] < self._size[other]:
            one, other = other, one
        self._parent[other] = one
        self._size[one] += self._size[other]


def groups(pairs: Sequence[TextPair], by: str = "exact") -> list[list[int]]:
    """Return the rows of each group, in order; groups come in the order of their first row."""
    joined = UnionFind()
    keys = [
        (("source", group_key(s, by)), ("target", group_key(t, by))) for s, t in pairs
    ]
    for source, target in keys:
        joined.union(source, target)
    out: dict[Hashable, list[int]] = {}
    for row, (source, _) in enumerate(keys):
        out.setdefault(joined.find(source), []).append(row)
    return list(out.values())


def split_by_groups(
    pairs: Sequence[TextPair],
    *,
    valid: int | Mapping[str, int],
    test: int | Mapping[str, int],
    seed: int = 0,
    by: str = "exact",
    origins: Sequence[str] | None = None,
) -> Split:
    """Deal the groups of pairs out, so that no source and no target is in two splits.

    valid, test: how many pairs each gets, of every origin, or of each as a mapping says. origins:
    which corpus each pair is from, or which kind of sentence it is; None means one for all. A
    group is drawn by a hash of its smallest sentence and
    the seed: its place does not depend on the order of the pairs. A group that is larger than
    what a split still lacks stays in training, so the sizes are met exactly wherever the groups
    allow it, and large groups are always trained on. Raises ConfigError where a split cannot be
    filled or nothing is left to train on.
    """
    origins = origins if origins is not None else [""] * len(pairs)
    if len(origins) != len(pairs):
        raise ConfigError(
            f"origins: expected one for each of {len(pairs)} pairs, got {len(origins)}"
        )
    wanted = {
        (name, origin): size.get(origin, 0) if isinstance(size, Mapping) else size
        for name, size in (("test", test), ("valid", valid))
        for origin in {*origins} or {""}
    }
    for (name, _), size in wanted.items():
        if size < 0:
            raise ConfigError(f"{name}: expected at least 0 pairs, got {size}")
    drawn = sorted(groups(pairs, by), key=lambda rows: _draw(pairs, rows, seed, by))
    lacks = dict(wanted)
    rows_of: dict[str, list[int]] = {name: [] for name in SPLITS}
    for rows in drawn:
        need = _count(origins[row] for row in rows)
        for name in ("test", "valid"):
            if all(lacks[name, origin] >= n for origin, n in need.items()):
                for origin, n in need.items():
                    lacks[name, origin] -= n
                rows_of[name] += rows
                break
        else:
            rows_of["train"] += rows
    for (name, origin), missing in sorted(lacks.items()):
        if missing:
            raise ConfigError(
                f"{name}: expected no more pairs than {origin or 'the corpus'} can give up, got "
                f"{wanted[name, origin]}, of which {missing} cannot be had; ask for fewer"
            )
    if pairs and not rows_of["train"]:
        raise ConfigError(
            f"valid, test: expected to leave pairs for training, got {valid} and {test} of "
            f"{len(pairs)} pairs"
        )
    return Split(*(sorted(rows_of[name]) for name in SPLITS))


def shared_sentences(
    one: Iterable[TextPair], other: Iterable[TextPair], by: str = "exact"
) -> set[str]:
    """Return the sentences, source or target, that occur on the same side of both."""
    first, second = ([_keys(pair, by) for pair in pairs] for pairs in (one, other))
    return {
        text
        for side in (0, 1)
        for text in {keys[side] for keys in first} & {keys[side] for keys in second}
    }


def without_overlap(
    pairs: Sequence[TextPair], held_out: Iterable[TextPair], by: str = "exact"
) -> list[int]:
    """Return the rows of pairs whose source and target both do not occur in held_out."""
    held_out = list(held_out)
    sources = {group_key(pair.source, by) for pair in held_out}
    targets = {group_key(pair.target, by) for pair in held_out}
    return [
        row
        for row, pair in enumerate(pairs)
        if group_key(pair.source, by) not in sources
        and group_key(pair.target, by) not in targets
    ]


def _keys(pair: TextPair, by: str) -> tuple[str, str]:
    return group_key(pair.source, by), group_key(pair.target, by)


def _count(items: Iterable[str]) -> Mapping[str, int]:
    out: dict[str, int] = {}
    for item in items:
        out[item] = out.get(item, 0) + 1
    return out


def _draw(pairs: Sequence[TextPair], rows: list[int], seed: int, by: str) -> bytes:
    """Return a number for a group that depends on its sentences and the seed alone."""
    smallest = min(_keys(pairs[row], by) for row in rows)
    text = "\t".join((str(seed), *smallest))
    return hashlib.sha256(text.encode("utf-8")).digest()
