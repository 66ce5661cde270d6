"""Augmentation: other pieces but the same text, pairs joined and turned round, all by a seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.augmentation import (
    JOINED,
    REVERSED,
    SubwordDropout,
    join_pairs,
    reverse_pairs,
)
from translator.data.prepared import Example
from translator.data.token_ids import TokenIds
from translator.data.tokenizer import Tokenizer

TEXTS = ["der Bäcker bäckt", "the baker bakes bread", "die Bäckerin backt das Brot"]
TOKENIZER = Tokenizer.train(TEXTS * 20, 320)


def of(texts: list[str]) -> TokenIds:
    ids = TOKENIZER.encode_batch(texts)
    return TokenIds.from_lists(ids, ids[::-1])


@given(
    st.lists(st.sampled_from([*TEXTS, "", "Brot", "ß→日本", "bakes"]), max_size=6),
    st.floats(0, 0.99),
    st.integers(0, 9),
)
def test_the_text_stays_whatever_is_cut(texts, probability, seed):
    ids = of(texts)
    before = ids.src_ids.copy()
    cut = SubwordDropout(TOKENIZER, probability)(ids, np.random.default_rng(seed))
    assert [TOKENIZER.decode(cut.src(i)) for i in range(len(cut))] == texts
    assert [TOKENIZER.decode(cut.tgt(i)) for i in range(len(cut))] == texts[::-1]
    assert np.array_equal(ids.src_ids, before)


def test_probability_0_changes_nothing_and_almost_1_leaves_bytes():
    ids = of(TEXTS)
    same = SubwordDropout(TOKENIZER, 0.0)(ids, np.random.default_rng(0))
    assert np.array_equal(same.src_ids, ids.src_ids)
    bytes_ = SubwordDropout(TOKENIZER, 1.0)(ids, np.random.default_rng(0))
    assert len(bytes_.src_ids) == len("".join(TEXTS).encode())


def test_a_token_is_cut_as_often_as_asked():
    ids = of(["the"] * 4000)
    assert len(ids.src_ids) == 4000, (
        "one token: the test needs a word that is in the vocabulary"
    )
    cut = SubwordDropout(TOKENIZER, 0.3)(ids, np.random.default_rng(0))
    assert np.mean(cut.src_lengths > 1) == pytest.approx(0.3, abs=0.03)


def test_the_cut_depends_on_the_generator_alone():
    ids, dropout = of(TEXTS * 30), SubwordDropout(TOKENIZER, 0.2)
    one, again, other = (
        dropout(ids, np.random.default_rng(seed)).src_ids for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_joined_pairs_are_pairs_of_one_corpus_in_the_same_order():
    rows = [Example(f"d{i}", f"e{i}", "ab"[i % 2]) for i in range(40)]
    joined = join_pairs(rows, 0.5, seed=0)
    assert len(joined) == 20
    assert {row.corpus for row in joined} == {JOINED}
    for row in joined:
        numbers = [word[1:] for word in row.source.split()]
        assert [f"e{n}" for n in numbers] == row.target.split()
        assert 2 <= len(numbers) <= 3
        assert len({int(n) % 2 for n in numbers}) == 1
    assert joined == join_pairs(rows, 0.5, seed=0)
    assert joined != join_pairs(rows, 0.5, seed=1)
    assert join_pairs(rows, 0.0, seed=0) == []


def test_reversed_pairs_are_the_same_texts_the_other_way_round():
    rows = [Example(f"d{i}", f"e{i}", "a") for i in range(3)]
    turned = reverse_pairs(rows)
    assert [(row.target, row.source) for row in turned] == [row[:2] for row in rows]
    assert {row.corpus for row in turned} == {REVERSED}
    assert [row[:2] for row in reverse_pairs(turned)] == [row[:2] for row in rows]
