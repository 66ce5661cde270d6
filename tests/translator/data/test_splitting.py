"""Splits by groups: no sentence in two of them, decided by the seed and nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from translator.data.cleaning import TextPair
from translator.data.splitting import (
    UnionFind,
    group_key,
    groups,
    shared_sentences,
    split_by_groups,
    without_overlap,
)
from translator.errors import ConfigError

WORDS = ("ja", "nein", "gut", "Gut!", "so", "wie", "da", "dort")
PAIRS = st.lists(
    st.builds(TextPair, st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=25
)


def many(n: int, seed: int = 0) -> list[TextPair]:
    """Pairs of which sources and targets repeat, as in Tatoeba."""
    rng = random.Random(seed)
    return [
        TextPair(f"Satz {rng.randrange(2 * n)}.", f"Sentence {rng.randrange(2 * n)}.")
        for _ in range(n)
    ]


def components(pairs: list[TextPair], by: str) -> set[frozenset[int]]:
    """Group pairs by spreading from each along equal sentences: slow, and written another way."""
    keys = [(group_key(s, by), group_key(t, by)) for s, t in pairs]
    found, done = set(), set()
    for start in range(len(pairs)):
        if start in done:
            continue
        reached, new = {start}, [start]
        while new:
            a = new.pop()
            for b in range(len(pairs)):
                joined = keys[a][0] == keys[b][0] or keys[a][1] == keys[b][1]
                if b not in reached and joined:
                    reached.add(b)
                    new.append(b)
        done |= reached
        found.add(frozenset(reached))
    return found


@given(PAIRS, st.sampled_from(["exact", "words"]))
def test_groups_are_the_connected_components(pairs: list[TextPair], by: str) -> None:
    found = groups(pairs, by)
    assert {frozenset(rows) for rows in found} == components(pairs, by)
    assert sum(map(len, found)) == len(pairs)


@given(PAIRS, st.integers(0, 4), st.integers(0, 4), st.integers(0, 3))
def test_no_sentence_is_in_two_splits_and_no_pair_is_lost(
    pairs: list[TextPair], valid: int, test: int, seed: int
) -> None:
    try:
        split = split_by_groups(pairs, valid=valid, test=test, seed=seed)
    except ConfigError:
        reject()  # too few small groups: another example
    assert sorted(row for rows in split for row in rows) == list(range(len(pairs)))
    assert (len(split.valid), len(split.test)) == (valid, test)
    parts = [[pairs[row] for row in rows] for rows in split]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert not {p.source for p in parts[a]} & {p.source for p in parts[b]}
        assert not {p.target for p in parts[a]} & {p.target for p in parts[b]}


def test_a_split_by_lines_would_leak_here() -> None:
    pairs = many(600)
    lines = shared_sentences(pairs[:500], pairs[500:])
    assert len(lines) > 20
    split = split_by_groups(pairs, valid=50, test=50)
    train = [pairs[row] for row in split.train]
    assert not shared_sentences(train, [pairs[row] for row in split.valid + split.test])


def test_the_seed_and_the_sentences_decide_not_their_order() -> None:
    pairs = many(300)
    shuffled = random.Random(1).sample(pairs, len(pairs))

    def test_set(rows: list[TextPair], seed: int) -> set[TextPair]:
        return {
            rows[row]
            for row in split_by_groups(rows, valid=20, test=30, seed=seed).test
        }

    assert test_set(pairs, 0) == test_set(pairs, 0)
    assert test_set(pairs, 0) != test_set(pairs, 1)
    assert test_set(pairs, 0) == test_set(shuffled, 0)


def test_each_corpus_gives_its_own_share() -> None:
    pairs = many(200) + [TextPair(f"W {i}", f"V {i}") for i in range(200)]
    origins = ["one"] * 200 + ["two"] * 200
    split = split_by_groups(pairs, valid=10, test=15, origins=origins)
    for rows, share in ((split.valid, 10), (split.test, 15)):
        assert [
            sum(origins[row] == name for row in rows) for name in ("one", "two")
        ] == [share] * 2


def test_each_kind_gives_the_number_asked_of_it() -> None:
    pairs = many(200)
    kinds = ["short" if row % 4 else "long" for row in range(200)]
    sizes = {"valid": {"short": 20, "long": 5}, "test": {"short": 8}}
    split = split_by_groups(pairs, **sizes, origins=kinds)
    for name, wanted in sizes.items():
        found = [kinds[row] for row in getattr(split, name)]
        assert {kind: found.count(kind) for kind in set(found)} == wanted
    with pytest.raises(
        ConfigError, match=r"test: .* than long can give up, got 51, of which \d+ "
    ):
        split_by_groups(pairs, valid=0, test={"long": 51}, origins=kinds)


def test_chains_are_followed() -> None:
    pairs = [
        TextPair("a", "1"),
        TextPair("b", "1"),
        TextPair("b", "2"),
        TextPair("c", "2"),
    ]
    assert groups(pairs) == [[0, 1, 2, 3]]
    assert groups([TextPair("a", "b"), TextPair("b", "a")]) == [
        [0],
        [1],
    ]  # sides are apart


@pytest.mark.parametrize(
    ("one", "other", "exact", "words"),
    [
        ("Lauf!", "Lauf.", False, True),
        ("Lauf!", "lauf!", False, True),
        ("Lauf!", "Lauft!", False, False),
        ("?!", "!?", False, False),
        ("Lauf!", "Lauf!", True, True),
    ],
)
def test_what_counts_as_the_same_sentence(
    one: str, other: str, exact: bool, words: bool
) -> None:
    assert (group_key(one, "exact") == group_key(other, "exact")) is exact
    assert (group_key(one, "words") == group_key(other, "words")) is words


def test_without_overlap_keeps_pairs_of_which_neither_side_is_held_out() -> None:
    pairs = [
        TextPair("a", "1"),
        TextPair("b", "2"),
        TextPair("c", "3"),
        TextPair("1", "a"),
    ]
    assert without_overlap(pairs, [TextPair("a", "9"), TextPair("8", "2")]) == [2, 3]
    assert without_overlap([TextPair("A!", "x")], [TextPair("a", "9")], "words") == []


def test_union_find_joins() -> None:
    sets = UnionFind()
    for one, other in ((1, 2), (3, 4), (2, 3), (1, 4)):
        sets.union(one, other)
    assert len({sets.find(item) for item in (1, 2, 3, 4)}) == 1
    assert sets.find(5) == 5


def test_what_cannot_be_split_is_said() -> None:
    pairs = [TextPair("a", str(i)) for i in range(10)]  # one group
    with pytest.raises(
        ConfigError, match=r"test: expected no more pairs .* got 3, of which 3"
    ):
        split_by_groups(pairs, valid=0, test=3)
    with pytest.raises(ConfigError, match="leave pairs for training"):
        split_by_groups([TextPair("a", "b")], valid=0, test=1)
    with pytest.raises(ConfigError, match="valid: expected at least 0"):
        split_by_groups(pairs, valid=-1, test=0)
    with pytest.raises(ConfigError, match="origins: expected one for each of 10"):
        split_by_groups(pairs, valid=0, test=0, origins=["x"])
    with pytest.raises(ConfigError, match="group_by: expected one of"):
        group_key("a", "sound")
