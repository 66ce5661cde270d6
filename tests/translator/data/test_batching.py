"""Batches: every pair once, in the budget, little padding, resumable, dealt out among processes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.batching import Batch, TokenBatches, source_batches
from translator.data.token_ids import TokenIds
from translator.errors import PreparedDataError, TranslatorError

PAD, BOS, EOS = 7, 5, 6  # other ids than the tokeniser's: none is assumed
SPECIALS = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
SENTENCE = st.lists(st.integers(10, 99), max_size=9)
SPLITS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=4, max_size=30)


def token_ids(n: int, seed: int = 0, longest: int = 30, spread: int = 2) -> TokenIds:
    """Pairs of random lengths of which source and target go together, as in translations."""
    rng = np.random.default_rng(seed)
    src = rng.integers(1, longest, n)
    tgt = np.clip(src + rng.integers(-spread, spread + 1, n), 1, longest)
    return TokenIds.from_lists(
        *([[10 + i % 90] * i for i in side] for side in (src, tgt))
    )


def of(pairs: list) -> TokenIds:
    return TokenIds.from_lists([src for src, _ in pairs], [tgt for _, tgt in pairs])


def rows(batches: list[Batch]) -> list[int]:
    return [row for batch in batches for row in batch.indices.tolist()]


def equal(one: Batch, other: Batch) -> bool:
    return all(
        torch.equal(getattr(one, name), getattr(other, name))
        for name in ("src", "tgt_in", "tgt_out", "indices")
    )


@settings(max_examples=60)
@given(
    st.lists(st.tuples(SENTENCE, SENTENCE), min_size=6, max_size=30),
    st.integers(6, 15),
    st.booleans(),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_every_pair_comes_once_in_every_epoch_within_the_budget(
    pairs: list,
    budget: int,
    shuffle: bool,
    world: int,
    accumulation: int,
    multiple: int,
    epoch: int,
) -> None:
    max_tokens = 4 * budget
    settings = {
        "shuffle": shuffle,
        "accumulation": accumulation,
        "pad_to_multiple": multiple,
    }
    settings["accumulation"] *= world
    ranks = [
        TokenBatches(
            of(pairs), max_tokens, **SPECIALS, **settings, rank=r, world_size=world
        )
        for r in range(world)
    ]
    steps = [list(rank.steps(epoch)) for rank in ranks]
    assert {len(s) for s in steps} == {ranks[0].num_steps(epoch)}
    batches = [batch for rank in steps for step in rank for batch in step]
    assert all(len(step) == accumulation for rank in steps for step in rank)
    assert sorted(rows(batches)) == list(range(len(pairs)))
    for batch in batches:
        for side in (batch.src, batch.tgt_in):
            assert side.numel() <= max_tokens
            assert side.shape[1] % multiple == 0


@given(SPLITS)
def test_a_batch_holds_the_pairs_shifted_and_padded(pairs: list) -> None:
    for batch in TokenBatches(of(pairs), 40, **SPECIALS).batches():
        assert {t.dtype for t in (batch.src, batch.tgt_in, batch.tgt_out)} == {
            torch.int64
        }
        for i, row in enumerate(batch.indices.tolist()):
            src, tgt = pairs[row]
            assert strip(batch.src[i]) == [*src, EOS]
            assert strip(batch.tgt_in[i]) == [BOS, *tgt]
            assert strip(batch.tgt_out[i]) == [*tgt, EOS]
        assert batch.tgt_in.shape == batch.tgt_out.shape
        assert batch.num_tokens == int((batch.tgt_out != PAD).sum())
        assert batch.num_tokens == int((batch.tgt_in != PAD).sum())
        assert batch.src_tokens == int((batch.src != PAD).sum())
        assert not (batch.src == PAD).all(dim=0).any()  # no column of padding alone
        assert not (batch.tgt_out == PAD).all(dim=0).any()


def strip(row: torch.Tensor) -> list[int]:
    """Return a row without its padding, which must be at the end."""
    ids = row.tolist()
    while ids and ids[-1] == PAD:
        ids.pop()
    assert PAD not in ids
    return ids


@pytest.mark.parametrize("max_tokens", [300, 1000, 3000])
def test_padding_is_under_ten_per_cent_and_counted_right(max_tokens: int) -> None:
    batches = TokenBatches(token_ids(4000), max_tokens, **SPECIALS)
    cells = pads = 0
    for batch in batches.batches():
        for side in (batch.src, batch.tgt_out):
            cells += side.numel()
            pads += int((side == PAD).sum())
    assert batches.padding().total == pytest.approx(pads / cells)
    assert pads / cells < 0.10


def test_without_bucketing_the_padding_would_be_much() -> None:
    ids = token_ids(4000)
    batches = TokenBatches(ids, 1000, **SPECIALS)
    longest = np.maximum(ids.src_lengths, ids.tgt_lengths) + 1
    unsorted = (
        1
        - longest.reshape(-1, 40).sum()
        / (longest.reshape(-1, 40).max(axis=1) * 40).sum()
    )
    assert unsorted > 4 * batches.padding().total


def test_both_lengths_count_where_they_do_not_go_together() -> None:
    ids = token_ids(4000, spread=9)
    batches = TokenBatches(ids, 500, **SPECIALS)
    by_source = np.argsort(ids.src_lengths, kind="stable")
    sizes = [len(rows_) for rows_ in batches.plan()]
    cells = sum(
        len(part) * (ids.src_lengths[part].max() + ids.tgt_lengths[part].max() + 2)
        for part in np.array_split(by_source, len(sizes))
    )
    used = ids.src_lengths.sum() + ids.tgt_lengths.sum() + 2 * len(ids)
    assert batches.padding().total < 0.5 * (1 - used / cells)
    assert batches.padding().total < 0.10


def test_the_budget_is_used() -> None:
    batches = TokenBatches(token_ids(4000), 1000, **SPECIALS)
    sizes = [max(b.src.numel(), b.tgt_in.numel()) for b in batches.batches()]
    assert sum(sizes) / len(sizes) > 900


def test_seed_and_epoch_decide_the_order() -> None:
    def order(epoch: int, **changed) -> list[list[int]]:
        settings = {**SPECIALS, "seed": 3, **changed}
        batches = TokenBatches(token_ids(500), 200, **settings).batches(epoch)
        return [b.indices.tolist() for b in batches]

    assert order(0) == order(0)
    assert order(0) != order(1)
    assert order(0) != order(0, seed=4)
    assert order(5, shuffle=False) == order(0, shuffle=False)
    # Not only the order of the batches changes, also which sentences come together.
    assert {frozenset(b) for b in order(0)} != {frozenset(b) for b in order(1)}
    # Batches of like length do not come one after the other.
    widths = [
        b.src.shape[1] for b in TokenBatches(token_ids(500), 200, **SPECIALS).batches()
    ]
    changes = np.abs(np.diff(widths)).mean()
    assert changes > 5 * np.abs(np.diff(sorted(widths))).mean()


def test_jitter_mixes_lengths_in_training_alone() -> None:
    """Every pair comes once all the same; a batch has other lengths, and so more padding."""

    def batches(jitter: float, **changed) -> TokenBatches:
        settings = {**SPECIALS, "length_jitter": jitter, **changed}
        return TokenBatches(token_ids(4000), 1000, **settings)

    plain, mixed = batches(0.0), batches(4.0)
    assert sorted(rows(list(mixed.batches()))) == list(range(4000))
    assert plain.padding().total + 0.02 < mixed.padding().total < 0.3
    for jitter in (0.0, 4.0):  # for validation nothing is drawn
        found = batches(jitter, shuffle=False).plan()
        expected = TokenBatches(token_ids(4000), 1000, **SPECIALS, shuffle=False).plan()
        assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize(
    "settings",
    [{}, {"accumulation": 3}, {"world_size": 2, "rank": 1}, {"length_jitter": 3.0}],
)
def test_an_epoch_goes_on_at_any_step(settings: dict) -> None:
    whole = list(TokenBatches(token_ids(300), 150, **SPECIALS, **settings).steps(2))
    for start in range(len(whole) + 1):
        rest = list(
            TokenBatches(token_ids(300), 150, **SPECIALS, **settings).steps(2, start)
        )
        assert len(rest) == len(whole) - start
        for one, other in zip(whole[start:], rest, strict=True):
            assert all(map(equal, one, other))


@pytest.mark.parametrize(
    ("world", "accumulation"), [(2, 1), (2, 2), (4, 1), (4, 2), (2, 6), (7, 1)]
)
def test_any_number_of_processes_has_the_same_sentences_in_a_step(
    world: int, accumulation: int
) -> None:
    """Each sentence once, no matter how many share: then gradients add up to the same."""
    ids = token_ids(300)
    alone = TokenBatches(ids, 150, **SPECIALS, accumulation=accumulation)
    ranks = [
        TokenBatches(
            ids, 150, **SPECIALS, accumulation=accumulation, rank=r, world_size=world
        )
        for r in range(world)
    ]
    assert {rank.num_steps(1) for rank in ranks} == {alone.num_steps(1)}
    empty = 0
    for step, *shares in zip(
        alone.steps(1), *(rank.steps(1) for rank in ranks), strict=True
    ):
        assert len({len(share) for share in shares}) == 1, "all wait for each other"
        dealt = [batch for share in shares for batch in share]
        assert sorted(rows(dealt)) == sorted(rows(step))
        for key in ("num_tokens", "src_tokens"):
            assert sum(getattr(b, key) for b in dealt) == sum(
                getattr(b, key) for b in step
            )
        for batch in dealt:
            assert batch.num_tokens == int((batch.tgt_out != PAD).sum())
            assert len(batch.indices) == (len(batch) if batch.num_tokens else 0)
            empty += not batch.num_tokens
    assert (empty > 0) == (world == 7), "more processes than a batch has rows"


def test_a_few_sentences_still_make_a_whole_step() -> None:
    batches = TokenBatches(token_ids(5), 1000, **SPECIALS, world_size=2, accumulation=4)
    assert [len(rows_) for rows_ in batches.plan()].count(0) == 0
    assert batches.num_steps() == 1
    assert sorted(len(rows_) for rows_ in batches.plan()) == [1, 1, 1, 2]


def test_moving_a_batch_keeps_everything() -> None:
    batch = next(TokenBatches(token_ids(20), 100, **SPECIALS).batches())
    moved = batch.to("cpu")
    assert equal(batch, moved)
    assert (moved.num_tokens, moved.src_tokens) == (batch.num_tokens, batch.src_tokens)
    assert len(moved) == len(batch.indices)


@given(
    st.lists(SENTENCE, max_size=20), st.integers(1, 40), st.none() | st.integers(1, 3)
)
def test_sources_to_translate_all_come_back_in_place(
    sources: list, max_tokens: int, most: int | None
) -> None:
    seen: dict[int, list[int]] = {}
    batches = list(
        source_batches(sources, max_tokens, pad_id=PAD, eos_id=EOS, max_sentences=most)
    )
    for src, indices in batches:
        assert src.numel() <= max_tokens or len(src) == 1
        assert most is None or len(src) <= most
        seen |= {i: strip(row) for i, row in zip(indices.tolist(), src, strict=True)}
    assert seen == {i: [*ids, EOS] for i, ids in enumerate(sources)}
    assert sum(len(src) for src, _ in batches) == len(sources)


def test_settings_out_of_range_are_named() -> None:
    ids = token_ids(10, longest=9)
    for name in ("world_size", "accumulation", "pad_to_multiple", "max_sentences"):
        with pytest.raises(
            TranslatorError, match=f"{name}: expected at least 1, got 0"
        ):
            TokenBatches(ids, 100, **SPECIALS, **{name: 0})
    with pytest.raises(TranslatorError, match="max_tokens: expected at least 1"):
        TokenBatches(ids, 0, **SPECIALS)
    with pytest.raises(TranslatorError, match="rank: expected 0 to 1, got 2"):
        TokenBatches(ids, 100, **SPECIALS, rank=2, world_size=2)
    with pytest.raises(
        TranslatorError, match="the tokens of pair 2 with padding, got 5"
    ):
        TokenBatches(of([([1], [1]), ([1], [1]), ([1] * 5, [1])]), 5, **SPECIALS)
    with pytest.raises(TranslatorError, match="expected at least 12 pairs"):
        TokenBatches(ids, 100, **SPECIALS, accumulation=12)
    with pytest.raises(TranslatorError, match=r"of the 4 processes .* got 3"):
        TokenBatches(ids, 100, **SPECIALS, world_size=4, accumulation=3)
    with pytest.raises(
        TranslatorError, match="5 single sentences make no whole number"
    ):
        TokenBatches(of([([1] * 3, [1] * 3)] * 5), 4, **SPECIALS, accumulation=2).plan()
    batches = TokenBatches(ids, 100, **SPECIALS)
    with pytest.raises(TranslatorError, match="epoch: expected at least 0"):
        batches.plan(-1)
    with pytest.raises(TranslatorError, match="start: expected a step from 0 to"):
        next(batches.steps(0, 99))


@given(SPLITS, st.lists(st.integers(0, 3), max_size=6))
def test_rows_can_be_selected(pairs: list, chosen: list[int]) -> None:
    ids = of(pairs)
    assert len(ids) == len(pairs)
    assert ids.src_lengths.tolist() == [len(src) for src, _ in pairs]
    some = ids.select(chosen)
    assert [(some.src(i).tolist(), some.tgt(i).tolist()) for i in range(len(some))] == [
        pairs[row] for row in chosen
    ]


def test_arrays_that_do_not_fit_are_refused() -> None:
    good = token_ids(4)
    names = ("src_ids", "src_offsets", "tgt_ids", "tgt_offsets")
    arrays = {name: getattr(good, name) for name in names}
    spoilt = {
        "src_ids": [arrays["src_ids"][:-1], arrays["src_ids"].astype(float)],
        "tgt_offsets": [
            arrays["tgt_offsets"][:-1],
            arrays["tgt_offsets"] + 1,
            arrays["tgt_offsets"][::-1],
            np.zeros(0, dtype=np.int64),
        ],
    }
    for name, value in itertools.chain.from_iterable(
        [(name, value) for value in values] for name, values in spoilt.items()
    ):
        with pytest.raises(PreparedDataError, match="_offsets: expected"):
            TokenIds(**{**arrays, name: value})
    shorter = of([([1], [1])])
    with pytest.raises(
        PreparedDataError, match="expected 4 sentences as in the source, got 1"
    ):
        TokenIds(good.src_ids, good.src_offsets, shorter.tgt_ids, shorter.tgt_offsets)
