"""Scores, the look, encoder and decoder of chapter 1: against loops, padding, decoding, errors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from transformer.rnn import SCORES, Encoder, Seq2Seq, alignment_hits, attend, make_score

torch.set_num_threads(1)
exam = settings(max_examples=40, deadline=None, derandomize=True)

WIDTH_FREE = ("general", "reduced_rank", "additive")  # those which allow d_s != d_h
ATTENTIONS = (None, *SCORES)
SRC_V, TGT_V = 11, 9


def doubles(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def make_model(attention, pad_id=5, seed=0, **sizes):
    """A small model with weights large enough that different inputs differ visibly."""
    torch.manual_seed(seed)
    sizes = {"d_model": 6, "d_embed": 4, "rank": 3, **sizes}
    model = Seq2Seq(SRC_V, TGT_V, pad_id=pad_id, attention=attention, **sizes).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6)
    return model


def make_batch(lengths, pad_id, t, extra=0):
    """Sources of these lengths, padded by `extra` more than needed; words are never pad_id."""
    words = torch.tensor([k for k in range(SRC_V) if k != pad_id])
    source = torch.full((len(lengths), max(lengths) + extra), pad_id)
    for row, length in zip(source, lengths, strict=True):
        row[:length] = words[torch.randint(len(words), (length,))]
    return source, torch.randint(TGT_V, (len(lengths), t))


batches = st.fixed_dictionaries(
    {
        "attention": st.sampled_from(ATTENTIONS),
        "lengths": st.lists(st.integers(1, 6), min_size=1, max_size=4),
        "pad_id": st.integers(0, TGT_V - 1),
        "t": st.integers(1, 5),
        "extra": st.integers(0, 3),
        "seed": st.integers(0, 10_000),
    }
)


# Scores


def by_formula(name, score, s, h):
    """The number score(s, h) of one state (d_s,) and one annotation (d_h,), term by term."""
    weight = {key: p.detach() for key, p in score.named_parameters()}

    def dot(a, b):
        return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))

    def times(
        x, matrix
    ):  # row vector x (n,), matrix (m, n) as nn.Linear keeps it -> (m,)
        return [dot(x, row) for row in matrix]

    if name == "cosine":
        return dot(s, h) / math.sqrt(dot(s, s) * dot(h, h))
    if name == "scaled_dot":
        return dot(s, h) / math.sqrt(len(s))
    if name == "general":
        return dot(s, times(h, weight["W_a.weight"]))
    if name == "reduced_rank":
        return dot(times(s, weight["W_q.weight"]), times(h, weight["W_k.weight"]))
    if name == "additive":
        from_s, from_h = times(s, weight["W_s.weight"]), times(h, weight["W_h.weight"])
        hidden = [math.tanh(a + b) for a, b in zip(from_s, from_h, strict=True)]
        return dot(hidden, weight["v.weight"][0])
    return dot(s, h)


@exam
@given(st.sampled_from(list(SCORES)), *[st.integers(1, 5)] * 5, st.integers(0, 10_000))
def test_scores_equal_their_formula(
    name, batch, length, query_dim, key_dim, rank, seed
):
    torch.manual_seed(seed)
    key_dim = key_dim if name in WIDTH_FREE else query_dim
    score = make_score(name, query_dim, key_dim, rank).double()
    query, keys = doubles(batch, query_dim), doubles(batch, length, key_dim)
    scores = score(query, score.prepare(keys))
    assert scores.shape == (batch, length)
    for b in range(batch):
        for j in range(length):
            wanted = by_formula(name, score, query[b].detach(), keys[b, j].detach())
            assert math.isclose(scores[b, j].item(), wanted, abs_tol=1e-9), (name, b, j)


@exam
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_parameter_counts(query_dim, key_dim, rank):
    wanted = {
        "general": query_dim * key_dim,
        "reduced_rank": rank * (query_dim + key_dim),
        "additive": rank * (query_dim + key_dim + 1),
    }
    for name in SCORES:
        widths = (query_dim, key_dim if name in WIDTH_FREE else query_dim)
        count = sum(p.numel() for p in make_score(name, *widths, rank).parameters())
        assert count == wanted.get(name, 0), name


def test_reduced_rank_is_a_general_score_of_that_rank():
    reduced, general = make_score("reduced_rank", 6, 5, 2), make_score("general", 6, 5)
    general.W_a.weight.data = reduced.W_q.weight.T @ reduced.W_k.weight
    assert torch.linalg.matrix_rank(general.W_a.weight) == 2
    query, keys = torch.randn(3, 6), torch.randn(3, 4, 5)
    assert_close(
        general(query, general.prepare(keys)), reduced(query, reduced.prepare(keys))
    )


def test_cosine_ignores_lengths_and_dot_does_not():
    query, keys = torch.randn(2, 4), torch.randn(2, 3, 4)
    cosine, dot = make_score("cosine", 4, 4), make_score("dot", 4, 4)
    assert_close(
        cosine(7 * query, cosine.prepare(3 * keys)), cosine(query, cosine.prepare(keys))
    )
    assert_close(
        dot(7 * query, dot.prepare(3 * keys)), 21 * dot(query, dot.prepare(keys))
    )
    assert cosine(query, cosine.prepare(keys)).abs().max() <= 1 + 1e-6


# The look


@exam
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 10_000), st.booleans())
def test_attend_equals_loops_and_ignores_what_is_masked(batch, length, seed, empty_row):
    torch.manual_seed(seed)
    scores, values = doubles(batch, length), doubles(batch, length, 3)
    mask = torch.rand(batch, length) > 0.4
    mask[:, 0] |= ~mask.any(dim=1)
    if empty_row:
        mask[0] = False
    context, weights = attend(scores, values, mask)
    for b in range(batch):
        allowed = mask[b].nonzero()[:, 0].tolist()
        total = sum(math.exp(scores[b, j].item()) for j in allowed)
        wanted = torch.zeros(3, dtype=torch.float64)
        for j in range(length):
            alpha = math.exp(scores[b, j].item()) / total if j in allowed else 0.0
            assert math.isclose(weights[b, j].item(), alpha, abs_tol=1e-12)
            wanted += alpha * values[b, j].detach()
        assert_close(context[b], wanted)
        assert math.isclose(
            weights[b].sum().item(), 1.0 if allowed else 0.0, abs_tol=1e-9
        )
    gradients = torch.autograd.grad(context.square().sum(), (scores, values))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert gradients[0][~mask].eq(0).all()
    assert gradients[1][~mask].eq(0).all()
    other = torch.where(mask, scores, torch.tensor(1e6, dtype=torch.float64))
    assert_close(attend(other, values, mask), (context, weights))


def test_attend_survives_large_scores_and_needs_no_mask():
    values = torch.randn(1, 3, 2)
    context, weights = attend(torch.tensor([[1e4, -1e4, 1e4]]), values)
    assert weights.tolist() == [[0.5, 0.0, 0.5]]
    assert_close(context[0], values[0, [0, 2]].mean(dim=0))


# The encoder


@exam
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 999),
)
def test_annotations_equal_two_loops(lengths, extra, seed):
    torch.manual_seed(seed)
    encoder = Encoder(SRC_V, d_embed=3, d_model=8, pad_id=7).double()
    source, _ = make_batch(lengths, pad_id=7, t=1, extra=extra)
    annotations, summary = encoder(source, source != 7)
    cells = []
    for suffix in ("l0", "l0_reverse"):
        cell = nn.GRUCell(3, 4).double()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).data = getattr(encoder.gru, f"{name}_{suffix}").data
        cells.append(cell)
    for b, length in enumerate(lengths):
        words = encoder.embedding(source[b, :length])
        ends = []
        for side, (cell, order) in enumerate(
            zip(cells, (range(length), reversed(range(length))), strict=True)
        ):
            state = torch.zeros(4, dtype=torch.float64)
            for j in order:
                state = cell(words[j], state)
                assert_close(annotations[b, j, 4 * side : 4 * side + 4], state)
            ends.append(state)
        assert_close(summary[b], torch.cat(ends))
        assert annotations[b, length:].eq(0).all()


# The whole model


@exam
@given(batches)
def test_padding_and_company_change_nothing_in_value_or_gradient(case):
    model = make_model(case["attention"], case["pad_id"], case["seed"])
    lengths, extra = case["lengths"], case["extra"]
    source, target_in = make_batch(lengths, case["pad_id"], case["t"], extra)
    before = source.clone(), target_in.clone()
    logits, weights = model(source, target_in)
    direction = torch.randn_like(logits)
    together = torch.autograd.grad((logits * direction).sum(), list(model.parameters()))

    alone = [torch.zeros_like(p) for p in model.parameters()]
    for b, length in enumerate(lengths):
        logits_b, weights_b = model(source[b : b + 1, :length], target_in[b : b + 1])
        assert_close(logits[b], logits_b[0])
        if weights is not None:
            assert_close(weights[b, :, :length], weights_b[0])
            assert weights[b, :, length:].eq(0).all()
        loss = (logits_b[0] * direction[b]).sum()
        for total, part in zip(
            alone, torch.autograd.grad(loss, list(model.parameters())), strict=True
        ):
            total += part
    for a, b in zip(together, alone, strict=True):
        assert_close(a, b, atol=1e-9, rtol=1e-7)
    if weights is None:
        assert case["attention"] is None
    else:
        assert_close(weights.sum(dim=-1), torch.ones_like(weights[:, :, 0]))
    assert torch.equal(source, before[0])
    assert torch.equal(target_in, before[1])


def test_content_under_the_mask_changes_nothing():
    model = make_model("additive")
    source, target_in = make_batch([2, 4], pad_id=5, t=3)
    mask = source != 5
    other = torch.where(mask, source, torch.tensor(8))  # a real word, but masked
    for a, b in zip(
        model(source, target_in), model(other, target_in, mask), strict=True
    ):
        assert_close(a, b)


def test_row_i_of_the_weights_belongs_to_target_word_i():
    """Row i is the look of the state before word i: it knows target_in up to i - 1, not i."""
    for name in SCORES:
        model = make_model(name)
        source, target_in = make_batch([5], pad_id=5, t=6)
        logits, weights = model(source, target_in)
        changed = target_in.clone()
        changed[0, 2] = (changed[0, 2] + 1) % TGT_V
        other_logits, other_weights = model(source, changed)
        assert_close(weights[:, :3], other_weights[:, :3])
        assert not torch.allclose(weights[:, 3], other_weights[:, 3]), name
        assert_close(logits[:, :2], other_logits[:, :2])
        assert not torch.allclose(logits[:, 2], other_logits[:, 2]), name

        memory, state = model.encode(source)
        for i, word in enumerate(target_in[0]):
            scores = model.score(state, model.score.prepare(memory.annotations))
            context, row = attend(scores, memory.annotations, memory.mask)
            assert_close(weights[:, i], row)
            joined = torch.cat([model.embedding(word.unsqueeze(0)), context], dim=-1)
            state = model.cell(joined, state)
            assert_close(
                logits[:, i], model.output(torch.cat([state, context], dim=-1))
            )


@exam
@given(batches)
def test_greedy_decoding_is_the_argmax_on_its_own_output(case):
    pad = case["pad_id"]
    bos, eos = (pad + 1) % TGT_V, (pad + 2) % TGT_V
    model = make_model(case["attention"], pad, case["seed"])
    source, _ = make_batch(case["lengths"], pad, case["t"], case["extra"])
    before = source.clone()
    tokens, weights = model.greedy_decode(source, bos, eos, max_len=7)
    assert torch.equal(source, before)
    assert 1 <= tokens.shape[1] <= 7
    start = torch.full((len(source), 1), bos)
    logits, forced_weights = model(source, torch.cat([start, tokens[:, :-1]], dim=1))
    for b, row in enumerate(tokens.tolist()):
        end = row.index(eos) + 1 if eos in row else len(row)
        assert row[end:] == [pad] * (len(row) - end), "nothing but padding behind <eos>"
        assert row[:end] == logits[b, :end].argmax(dim=-1).tolist()
        if weights is not None:
            assert_close(weights[b, :end], forced_weights[b, :end])
            assert weights[b, end:].eq(0).all()
    lengths = [row.index(eos) + 1 if eos in row else 7 for row in tokens.tolist()]
    assert tokens.shape[1] == max(lengths), "it goes on as long as a sentence needs it"
    for b, length in enumerate(lengths):
        only, _ = model.greedy_decode(source[b : b + 1], bos, eos, max_len=7)
        assert tokens[b, :length].tolist() == only[0].tolist()


def test_greedy_decoding_stops_at_once_where_eos_is_likeliest():
    model = make_model("dot")
    with torch.no_grad():
        model.output.bias[3] = 1e4
    tokens, weights = model.greedy_decode(
        torch.tensor([[1, 2], [4, 5]]), 0, 3, max_len=9
    )
    assert tokens.tolist() == [[3], [3]]
    assert weights.shape == (2, 1, 2)


# Alignments


@exam
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))),
    st.integers(0, 999),
)
def test_alignment_hits_equal_a_count_by_hand(length, source_length, pairs, seed):
    torch.manual_seed(seed)
    alignment = {(j, i) for j, i in pairs if j < source_length and i < length}
    weights = torch.softmax(torch.randn(length, source_length), dim=-1)
    wanted = {}
    for i in {i for _, i in alignment}:
        best = max(range(source_length), key=lambda j: weights[i, j].item())
        wanted[i] = (best, i) in alignment
    assert alignment_hits(weights, alignment) == wanted


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: make_score("dott", 4, 4),
            "attention: expected one of dot, cosine.*got 'dott'",
        ),
        (lambda: make_model("Additive"), "attention: expected one of .*got 'Additive'"),
        (lambda: make_score("dot", 4, 5), "key_dim: expected query_dim = 4 .*got 5"),
        (
            lambda: make_score("scaled_dot", 4, 5),
            "key_dim: expected query_dim = 4 .*got 5",
        ),
        (
            lambda: make_score("general", 0, 5),
            "query_dim: expected .*at least 1, got 0",
        ),
        (
            lambda: make_score("general", 5, -1),
            "key_dim: expected .*at least 1, got -1",
        ),
        (lambda: make_score("additive", 4, 4, 0), "rank: expected .*at least 1, got 0"),
        (
            lambda: make_score("reduced_rank", 4, 4, 0),
            "rank: expected .*at least 1, got 0",
        ),
        (
            lambda: make_model(None, d_model=7),
            "d_model: expected an even number .*got 7",
        ),
        (lambda: make_model(None, d_embed=0), "d_embed: expected .*at least 1, got 0"),
        (lambda: Seq2Seq(0, 9, pad_id=0), "vocab_size: expected .*at least 1, got 0"),
        (
            lambda: Seq2Seq(9, 0, pad_id=0),
            "tgt_vocab_size: expected .*at least 1, got 0",
        ),
        (
            lambda: Seq2Seq(9, 5, pad_id=5),
            "pad_id: expected an id of the target .*got 5",
        ),
        (
            lambda: Seq2Seq(5, 9, pad_id=5),
            "pad_id: expected an id of the vocabulary.*got 5",
        ),
        (
            lambda: attend(torch.ones(2, 3), torch.ones(2, 4, 5)),
            r"values: .*\(2, 3\), got",
        ),
        (
            lambda: attend(torch.ones(2, 3), torch.ones(2, 3)),
            r"values: expected .*got \(2, 3\)",
        ),
        (
            lambda: attend(torch.ones(1, 2), torch.ones(1, 2, 1), torch.ones(1, 2)),
            "src_mask: expected dtype torch.bool .*got torch.float32",
        ),
        (
            lambda: attend(
                torch.ones(1, 2), torch.ones(1, 2, 1), torch.ones(2, dtype=torch.bool)
            ),
            r"src_mask: expected shape \(1, 2\), got \(2,\)",
        ),
        (
            lambda: alignment_hits(torch.ones(3), set()),
            r"weights: expected shape .*got \(3,\)",
        ),
        (
            lambda: alignment_hits(torch.ones(2, 3), {(3, 0)}),
            r"alignment: .*got \(3, 0\)",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


GOOD = torch.tensor([[1, 2, 5], [1, 2, 3]])


@pytest.mark.parametrize(
    ("source", "target_in", "mask", "message"),
    [
        (GOOD[:0], GOOD[:0], None, r"target_in: expected .*at least 1, got \(0, 3\)"),
        (GOOD[:0], GOOD, None, "target_in: expected 0 sentences as in source, got 2"),
        (GOOD[:, :0], GOOD, None, r"source: expected .*at least 1, got \(2, 0\)"),
        (GOOD[0], GOOD, None, "target_in: expected 3 sentences"),
        (
            GOOD.float(),
            GOOD,
            None,
            "source: expected dtype torch.int64, got torch.float32",
        ),
        (
            GOOD,
            GOOD.int(),
            None,
            "target_in: expected dtype torch.int64, got torch.int32",
        ),
        (GOOD + 10, GOOD, None, "source: expected ids from 0 to 10, got 15"),
        (GOOD, GOOD - 2, None, "target_in: expected ids from 0 to 8, got -1"),
        (GOOD, GOOD, (GOOD != 5).int(), "src_mask: expected dtype torch.bool"),
        (
            GOOD,
            GOOD,
            (GOOD != 5)[:, :2],
            r"src_mask: expected shape \(2, 3\), got \(2, 2\)",
        ),
        (GOOD, GOOD, GOOD > 3, "src_mask: expected at least one True .*none in row 1"),
        (GOOD, GOOD, GOOD != 1, "src_mask: expected the padding at the end"),
    ],
)
def test_bad_batches(source, target_in, mask, message):
    with pytest.raises(ValueError, match=message):
        make_model("additive")(source, target_in, mask)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GOOD, 0, 1, 0), "max_len: expected .*at least 1, got 0"),
        ((GOOD, TGT_V, 1, 5), "bos_id: expected an id from 0 to 8, got 9"),
        ((GOOD, 0, -1, 5), "eos_id: expected an id from 0 to 8, got -1"),
        ((GOOD[:0], 0, 1, 5), "source: expected token ids .*at least 1"),
    ],
)
def test_bad_decoding(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_model("additive").greedy_decode(*arguments)
