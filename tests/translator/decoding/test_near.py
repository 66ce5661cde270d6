"""Sentences within one word of a training sentence."""

from __future__ import annotations

import random

import pytest

from translator.decoding.near import near_sources


def distance(one: list[str], other: list[str]) -> int:
    """Return the edit distance in words, row by row (Wagner and Fischer, 1974)."""
    row = list(range(len(other) + 1))
    for i, word in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            before, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, before + (word != wanted)),
            )
    return row[-1]


@pytest.mark.parametrize("seed", range(10))
def test_near_is_an_edit_distance_of_at_most_one_word(seed: int) -> None:
    rng = random.Random(seed)
    drawn = [[rng.choice("abc") for _ in range(rng.randint(1, 5))] for _ in range(60)]
    tested, trained = drawn[:30], drawn[30 : 30 + rng.randint(1, 12)]
    found = near_sources([" ".join(s) for s in tested], [" ".join(s) for s in trained])
    assert found == [any(distance(s, t) <= 1 for t in trained) for s in tested]
    assert len(set(found)) == 2, "both kinds occur"


def test_case_and_punctuation_do_not_count() -> None:
    assert near_sources(["Der Hund bellt!", "Wo?"], ["»der hund« bellt, laut"]) == [
        True,
        False,
    ]
