"""Which sentences have a neighbour in the training data: the same within one word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from translator.data.splitting import group_key


def near_sources(sources: Sequence[str], trained_on: Iterable[str]) -> list[bool]:
    """Return for each source whether a training source is at most one edit of a word away.

    An edit puts in, takes out or exchanges a word; case and punctuation do not count.
    """
    whole, shorter = (
        defaultdict(list),
        defaultdict(list),
    )  # sentences, and those less a word
    exchanged = defaultdict(list)  # those less the word at a place, with the place
    for row, text in enumerate(sources):
        words = _words(text)
        whole[words].append(row)
        for place, rest in enumerate(_without_each(words)):
            shorter[rest].append(row)
            exchanged[place, rest].append(row)
    near = [False] * len(sources)
    for words in set(map(_words, trained_on)):
        rows = whole.get(words, []) + shorter.get(words, [])
        for place, rest in enumerate(_without_each(words)):
            rows = rows + whole.get(rest, []) + exchanged.get((place, rest), [])
        for row in rows:
            near[row] = True
    return near


def _words(text: str) -> tuple[str, ...]:
    return tuple(group_key(text, "words").split())


def _without_each(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[:place] + words[place + 1 :] for place in range(len(words))]
