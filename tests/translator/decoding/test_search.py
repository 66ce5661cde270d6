"""Beam search against a plain one, and translating sentences in any company."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.attention import padding_mask
from transformer.model import Transformer, greedy_decode
from translator.decoding.search import beam_search, length_penalty, split_long

PAD, BOS, EOS, VOCAB = 3, 1, 2, 9
ENDS = {"bos_id": BOS, "eos_id": EOS}


def make_model(seed: int, sharpness: float = 2.0) -> Transformer:
    """A small model whose probabilities differ enough for a search to matter."""
    torch.manual_seed(seed)
    model = Transformer(
        VOCAB,
        VOCAB,
        pad_id=PAD,
        d_model=8,
        num_heads=2,
        d_ff=16,
        num_encoder_layers=1,
        num_decoder_layers=2,
        dropout=0.3,
        norm_first=True,
        tie_output=False,
    ).double()
    with torch.no_grad():
        model.output_proj.weight.mul_(sharpness)
    return model.eval()


def sources(seed: int, batch_size: int) -> torch.Tensor:
    """Random sources of different lengths, padded."""
    generator = torch.Generator().manual_seed(seed)
    src = torch.randint(4, VOCAB, (batch_size, 6), generator=generator)
    for row in range(batch_size):
        src[row, 2 + (row * 2 + seed) % 5 :] = PAD
    return src


@torch.no_grad()
def plain_beam_search(model, src, max_len, beam_size, alpha):
    """One sentence, no cache, no early end: beams of (log-probability, tokens)."""
    memory, _ = model.encode(src[None])
    mask = padding_mask(src[None], PAD)
    beams, ended = [(0.0, [])], []
    for length in range(1, max_len + 1):
        candidates = []
        for score, tokens in beams:
            logits, _ = model.decode(
                torch.tensor([[BOS, *tokens]]),
                memory,
                mask,
                tgt_mask=torch.ones(length, length, dtype=torch.bool).tril(),
            )
            log_p = torch.log_softmax(logits[0, -1].float(), dim=-1)
            log_p[PAD] = -math.inf
            candidates += [
                (score + log_p[v].item(), [*tokens, v]) for v in range(VOCAB)
            ]
        candidates.sort(key=lambda c: -c[0])
        ended += [
            (s / length_penalty(length, alpha), t[:-1])
            for s, t in candidates[:beam_size]
            if t[-1] == EOS
        ]
        beams = [c for c in candidates[: 2 * beam_size] if c[1][-1] != EOS][:beam_size]
    if not ended:
        ended = [(s / length_penalty(max_len, alpha), t) for s, t in beams]
    return max(ended)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(2, 5),
    alpha=st.sampled_from([0, 0.6, 1]),
)
def test_beam_search_equals_the_plain_one(seed, beam_size, alpha):
    model, src = make_model(seed), sources(seed, 3)
    found = beam_search(model, src, max_len=7, beam_size=beam_size, alpha=alpha, **ENDS)
    for row, hypotheses in zip(src, found, strict=True):
        score, tokens = plain_beam_search(model, row, 7, beam_size, alpha)
        assert hypotheses[0].tokens == tokens
        assert math.isclose(hypotheses[0].score, score, rel_tol=1e-4, abs_tol=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_beam_of_one_is_greedy(seed):
    model, src = make_model(seed), sources(seed, 4)
    rows = greedy_decode(model, src, max_len=8, **ENDS).tolist()
    for row, found in zip(
        rows, beam_search(model, src, max_len=8, beam_size=1, **ENDS), strict=True
    ):
        (best,) = found
        assert best.tokens == (row[: row.index(EOS)] if EOS in row else row)
        assert best.ended == (EOS in row)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), beam_size=st.integers(1, 4))
def test_alone_and_in_company(seed, beam_size):
    model, src = make_model(seed), sources(seed, 4)
    together = beam_search(model, src, max_len=8, beam_size=beam_size, **ENDS)
    for row, found in zip(src, together, strict=True):
        row = row[row != PAD][None]
        (alone,) = beam_search(model, row, max_len=8, beam_size=beam_size, **ENDS)
        assert [h.tokens for h in alone] == [h.tokens for h in found]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    limits=st.lists(st.integers(1, 8), min_size=3, max_size=3),
)
def test_each_source_may_have_its_own_limit(seed, limits):
    model, src = make_model(seed), sources(seed, 3)
    together = beam_search(model, src, max_len=limits, beam_size=3, **ENDS)
    for row, limit, found in zip(src, limits, together, strict=True):
        (alone,) = beam_search(model, row[None], max_len=limit, beam_size=3, **ENDS)
        assert [h.tokens for h in alone] == [h.tokens for h in found]
        assert all(len(h.tokens) + h.ended <= limit for h in found)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_scores_are_what_the_model_says(seed):
    """The log-probability of a hypothesis is that of its tokens, the end included."""
    model, src = make_model(seed), sources(seed, 2)
    for row, found in zip(
        src, beam_search(model, src, max_len=8, beam_size=3, **ENDS), strict=True
    ):
        assert [h.score for h in found] == sorted(
            (h.score for h in found), reverse=True
        )
        for hypothesis in found:
            written = hypothesis.tokens + [EOS] * hypothesis.ended
            tgt = torch.tensor([[BOS, *written[:-1]]])
            memory, _ = model.encode(row[None])
            causal = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril()
            logits, _ = model.decode(
                tgt, memory, padding_mask(row[None], PAD), tgt_mask=causal
            )
            log_p = torch.log_softmax(logits[0].float(), dim=-1)
            total = sum(log_p[t, token].item() for t, token in enumerate(written))
            assert math.isclose(hypothesis.log_probability, total, abs_tol=1e-4)
            penalty = length_penalty(len(written), 0.6)
            assert math.isclose(hypothesis.score, total / penalty, abs_tol=1e-4)


@pytest.mark.slow
def test_a_wider_beam_can_find_what_greedy_misses():
    gains = 0
    for seed in range(60):
        model, src = make_model(seed), sources(seed, 3)
        narrow = beam_search(model, src, max_len=8, beam_size=1, alpha=0, **ENDS)
        wide = beam_search(model, src, max_len=8, beam_size=5, alpha=0, **ENDS)
        gains += sum(
            w[0].score > n[0].score + 1e-6
            for n, w in zip(narrow, wide, strict=True)
            if n[0].ended and w[0].ended
        )
    assert gains > 3


def test_the_mode_of_the_model_is_kept():
    model = make_model(0)
    model.train()
    first = beam_search(model, sources(0, 2), max_len=5, **ENDS)
    assert model.training
    assert first == beam_search(model, sources(0, 2), max_len=5, **ENDS), (
        "dropout was on"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"max_len": 0}, "max_len"),
        ({"alpha": -1}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": float("inf")}, "alpha"),
        ({"max_len": [5, 5]}, "max_len: expected one number, or 1, got 2"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        beam_search(make_model(0), sources(0, 1), **{"max_len": 5, **ENDS, **arguments})


class Characters:
    """A tokeniser for tests: a token a character."""

    def encode(self, text):
        return [ord(c) for c in text]

    def decode(self, ids):
        return "".join(map(chr, ids))


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.text("abc.!?", min_size=1, max_size=30), max_size=30),
    limit=st.integers(5, 40),
)
def test_a_long_text_is_cut_into_pieces_that_fit(words, limit):
    text, tokenizer = " ".join(words), Characters()
    pieces = [tokenizer.decode(piece) for piece in split_long(text, tokenizer, limit)]
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", ""), "nothing is lost"
    if len(text) <= limit and text:
        assert pieces == [text]


def test_sentences_stay_whole_where_they_fit():
    pieces = [
        Characters().decode(p)
        for p in split_long("One two. Three! Four?", Characters(), 16)
    ]
    assert pieces == ["One two. Three!", "Four?"]
    assert split_long("  ", Characters(), 10) == []
