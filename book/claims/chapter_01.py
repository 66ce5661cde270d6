"""Claims of chapter 1, attention in recurrent networks.

The translators are those of the page: 8,000 pairs, 300 updates with batches of 64; each seed
draws its own sentences, weights and order of batches.
"""

from __future__ import annotations

import functools
import math
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from book.claims import claim, exact
from book.measure import best_time
from book.translating import (
    BANDS,
    BATCH,
    DESIGNS,
    PAD,
    STEPS,
    after_mistake,
    by_distance,
    exact_match,
    guessable,
    make_task,
    teacher_forced,
    train,
    words_right,
)
from transformer.rnn import SCORES, Seq2Seq, alignment_hits, make_score

CHAPTER = "01-rnn-attention"
LONG = BANDS[-2:]
#: What is trained for a seed: the page's two designs, and the first one with more of something.
RUNS = {
    "with attention": (DESIGNS["with attention"], 64, STEPS),
    "without attention": (DESIGNS["without attention"], 64, STEPS),
    "twice the width": (DESIGNS["without attention"], 128, STEPS),
    "twice the steps": (DESIGNS["without attention"], 64, 2 * STEPS),
}


@functools.lru_cache(maxsize=8)
def trained(seed: int, name: str) -> Seq2Seq:
    """The translator of this name in RUNS, trained."""
    design, width, steps = RUNS[name]
    task = make_task(seed)
    model = task.model(seed, d_model=width, **design)
    train(model, task.batches(BATCH, seed), steps)
    return model


def long_pairs(seed: int) -> list:
    """The test sentences of the two longest bands: 12 to 18 German words."""
    return [pair for band in LONG for pair in make_task(seed).test[band]]


@functools.lru_cache(maxsize=16)
def words_of(seed: int, name: str, bands: tuple) -> float:
    """Words right, in per cent, over the test sentences of these bands."""
    task = make_task(seed)
    pairs = [pair for band in bands for pair in task.test[band]]
    return words_right(task, trained(seed, name), pairs)


# Exact statements


@exact("1-gru-by-hand", "One step by hand equals `nn.GRUCell`")
def gru_by_hand() -> None:
    """The equations of the gated recurrent unit, written out."""
    cell = nn.GRUCell(5, 4)
    x, before = torch.randn(5), torch.randn(4)
    from_x = (cell.weight_ih @ x + cell.bias_ih).chunk(3)
    from_h = (cell.weight_hh @ before + cell.bias_hh).chunk(3)
    r, z = (torch.sigmoid(a + b) for a, b in zip(from_x[:2], from_h[:2], strict=True))
    n = torch.tanh(from_x[2] + r * from_h[2])
    torch.testing.assert_close((1 - z) * n + z * before, cell(x, before))


@exact("1-cosine-bound", "no weight can exceed $e / (e + (S - 1)e^{-1})$")
def cosine_bound() -> None:
    """The best case of a cosine score, for several lengths."""
    for length in (4, 8, 16):
        best = torch.full((length,), -1.0)
        best[0] = 1.0
        limit = math.e / (math.e + (length - 1) / math.e)
        found = torch.softmax(best, dim=0)[0].item()
        assert math.isclose(found, limit, rel_tol=1e-5)


@exact(
    "1-reduced-rank",
    "A reduced-rank score is the general one with $W_a = W_q W_k^\\top$",
)
def reduced_rank() -> None:
    """The two scores on random states and annotations."""
    s, h = torch.randn(3, 6), torch.randn(3, 7, 8)
    reduced, general = make_score("reduced_rank", 6, 8, 2), make_score("general", 6, 8)
    general.W_a.weight.data = reduced.W_q.weight.T @ reduced.W_k.weight
    torch.testing.assert_close(
        general(s, general.prepare(h)), reduced(s, reduced.prepare(h))
    )


@exact(
    "1-padding",
    "A sentence gets the same logits alone and in a padded batch",
)
def padding() -> None:
    """All scores, and no attention, with padding of every length."""
    pad = 9
    sentences = [torch.randint(0, pad, (length,)) for length in (2, 7, 4, 1, 5)]
    padded = nn.utils.rnn.pad_sequence(sentences, True, pad)
    target_in = torch.randint(0, pad, (5, 6))
    for name in (None, *SCORES):
        model = Seq2Seq(10, 12, pad_id=pad, attention=name, d_model=8, d_embed=6)
        logits, _ = model(padded, target_in)
        for b, sentence in enumerate(sentences):
            alone, _ = model(sentence.unsqueeze(0), target_in[b : b + 1])
            torch.testing.assert_close(logits[b], alone[0])


# Length, width, steps


@claim(
    id="1-length",
    sentence="Without attention, quality falls faster with length",
    control="the same encoder, data and number of updates with attention: were long sentences "
    "merely harder, both would fall alike",
    effect="words right: the fall from 3–5 to 15–18 German words without attention, minus the "
    "fall with it; percentage points",
    at_least=5,
)
def length(seed: int) -> dict[str, float]:
    """Words right on the shortest and the longest band, for both designs."""
    short, long = BANDS[:1], BANDS[-1:]
    falls = {
        name: words_of(seed, name, short) - words_of(seed, name, long)
        for name in ("with attention", "without attention")
    }
    return {
        "effect": falls["without attention"] - falls["with attention"],
        "with": falls["with attention"],
        "without": falls["without attention"],
    }


@claim(
    id="1-length-attention",
    sentence="With attention, too, fewer of the long sentences come out right to the last word",
    control="none but the data: the same trained model on short and on long sentences",
    effect="right to the last word, with attention: 3–5 German words minus 15–18; "
    "percentage points",
    at_least=10,
)
def length_attention(seed: int) -> dict[str, float]:
    """Whole sentences right, with attention, in every band."""
    task, model = make_task(seed), trained(seed, "with attention")
    shares = [exact_match(task, model, task.test[band]) for band in BANDS]
    bands = {f"band{k}": share for k, share in enumerate(shares)}
    return {"effect": shares[0] - shares[-1], **bands}


@claim(
    id="1-width",
    sentence="A state of twice the width translates long sentences better",
    control="the number of updates, the data and their order are held fixed",
    effect="words right in sentences of 12 to 18 German words: width 128 minus width 64, "
    "without attention; percentage points",
    at_least=3,
)
def wider(seed: int) -> dict[str, float]:
    """Width, with the steps held fixed."""
    wide = words_of(seed, "twice the width", LONG)
    narrow = words_of(seed, "without attention", LONG)
    return {"effect": wide - narrow, "wide": wide, "narrow": narrow}


@claim(
    id="1-steps",
    sentence="So does a state of the same width after twice the updates",
    control="the width, the data and their order are held fixed",
    effect="words right in sentences of 12 to 18 German words: 600 updates minus 300, "
    "without attention; percentage points",
    at_least=3,
)
def longer(seed: int) -> dict[str, float]:
    """Steps, with the width held fixed."""
    long = words_of(seed, "twice the steps", LONG)
    short = words_of(seed, "without attention", LONG)
    return {"effect": long - short, "long": long, "short": short}


@claim(
    id="1-look",
    sentence="Neither reaches what the look back gives",
    control="the better of twice the width and twice the updates, each without attention",
    effect="words right in sentences of 12 to 18 German words: attention at width 64 and 300 "
    "updates minus the better of the two; percentage points",
    at_least=2,
)
def look(seed: int) -> dict[str, float]:
    """Attention against more width and against more steps."""
    best = max(
        words_of(seed, name, LONG) for name in ("twice the width", "twice the steps")
    )
    attentive = words_of(seed, "with attention", LONG)
    return {"effect": attentive - best, "attention": attentive, "best": best}


@claim(
    id="1-middle",
    sentence="Without attention, words whose partner stands inside the sentence suffer most",
    control="the same words with attention: were they merely harder, both would lose alike",
    effect="words right after right words, partner at an end minus partner at least three words "
    "from both ends; without attention minus with; percentage points",
    at_least=5,
)
def middle(seed: int) -> dict[str, float]:
    """Word accuracy by the distance of the aligned source word to the nearer end."""
    task, pairs = make_task(seed), long_pairs(seed)
    numbers, falls = {}, {}
    for name, key in (("with attention", "with"), ("without attention", "without")):
        shares = by_distance(task, trained(seed, name), pairs)
        falls[key] = shares[0] - fmean(shares[3:])
        numbers |= {f"{key}{d}": share for d, share in enumerate(shares)}
    return {"effect": falls["without"] - falls["with"], **numbers}


# Where it looks


@claim(
    id="1-needed",
    sentence="words that need the source are looked up in the right place more often than words "
    "that can be guessed",
    control="the same model, sentences and measure; only how guessable the word is differs",
    effect="largest weight on an aligned word: chance of a right guess below one half minus "
    "above it; percentage points",
    at_least=5,
)
def needed(seed: int) -> dict[str, float]:
    """Alignment accuracy of words that two words before them give away, and of the others."""
    task, model = make_task(seed), trained(seed, "with attention")
    chance = guessable(task.train)
    hits = {True: [], False: []}
    for pairs in task.test.values():
        _, weights = teacher_forced(task, model, pairs)
        for pair, row in zip(pairs, weights, strict=True):
            for i, hit in alignment_hits(row, pair.alignment).items():
                hits[chance(pair.target, i) < 0.5].append(hit)
    hard, easy = 100 * fmean(hits[True]), 100 * fmean(hits[False])
    return {"effect": hard - easy, "needed": hard, "guessable": easy}


# Its own mistakes


@claim(
    id="1-exposure-position",
    sentence="Most of what looks lost has only moved",
    control="the same translations, counted by position and by the longest common runs",
    effect="words right behind the first mistake, without attention, by alignment minus by "
    "position; percentage points",
    at_least=15,
)
def exposure_position(seed: int) -> dict[str, float]:
    """Three ways to count what comes after the first mistake, for both designs."""
    task, pairs = make_task(seed), long_pairs(seed)
    numbers = {
        f"{key} {way}": share
        for name, key in (("with attention", "with"), ("without attention", "without"))
        for way, share in after_mistake(task, trained(seed, name), pairs).items()
    }
    return {
        "effect": numbers["without aligned"] - numbers["without position"],
        **numbers,
    }


@claim(
    id="1-exposure-left",
    sentence="A small gap is left",
    control="the measure that favours the model's own words: a match anywhere behind the mistake",
    effect="words right behind the first mistake, without attention: after the right words minus "
    "after its own, by alignment; percentage points",
    at_least=1,
)
def exposure_left(seed: int) -> dict[str, float]:
    """What forcing is still better at when position no longer counts."""
    task, pairs = make_task(seed), long_pairs(seed)
    found = after_mistake(task, trained(seed, "without attention"), pairs)
    return {"effect": found["forced"] - found["aligned"], **found}


# Gradients


def reach(model: Seq2Seq, source: Tensor, target_in: Tensor, word: Tensor) -> Tensor:
    """Norms (B, S): gradient of a logit, at step `word` (B,), at each source word."""
    caught = []
    handle = model.encoder.embedding.register_forward_hook(
        lambda module, inputs, output: caught.append(output)
    )
    logits, _ = model(source, target_in[:, : int(word.max()) + 1])
    handle.remove()
    best = logits[torch.arange(len(source)), word].max(dim=-1).values  # (B, V) -> (B,)
    return torch.autograd.grad(best.sum(), caught)[0].norm(dim=-1)  # (B, S, E)


@claim(
    id="1-reach-untrained",
    sentence="Before training, attention brings the gradient to the middle of a long sentence",
    control="the same encoder and decoder without the look, on the same random sentences",
    effect="powers of ten between the gradients at the middle word of 41, with and without",
    at_least=2,
)
def reach_untrained(seed: int) -> dict[str, float]:
    """Gradient at the middle of random sentences of 41 words, before training."""
    task = make_task(seed)
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(3, len(task.src_ids), (32, 41), generator=generator)
    target = torch.randint(3, len(task.tgt_ids), (32, 3), generator=generator)
    norms = {
        name: reach(task.model(seed, **design), source, target, torch.full((32,), 2))
        for name, design in DESIGNS.items()
    }
    middle = {name: found[:, 20].mean().item() for name, found in norms.items()}
    with_, without = middle["with attention"], middle["without attention"]
    return {"effect": math.log10(with_ / without), "with": with_, "without": without}


# Scores


@functools.lru_cache(maxsize=2)
def losses_of_scores(seed: int) -> dict[str, float]:
    """Loss over the last 20 of 60 updates with each score: a small task, states of width 32."""
    task = make_task(seed, 2_000, ("modal",), bands=((3, 8),), tests=1, max_length=8)
    batches = task.batches(64, seed)
    losses = {}
    for name in SCORES:
        model = task.model(seed, attention=name, d_model=32, rank=16)
        losses[name] = fmean(train(model, batches, 60, lr=0.015)[-20:])
    return losses


@claim(
    id="1-cosine-slow",
    sentence="A bare cosine score learns more slowly than the scaled dot product",
    control="the same start, data and rate; both score by the states themselves, without "
    "parameters",
    effect="loss after 60 updates, cosine minus scaled dot; nats a word",
    at_least=0.01,
)
def cosine_slow(seed: int) -> dict[str, float]:
    """Two scores without parameters that differ in their range."""
    losses = losses_of_scores(seed)
    return {"effect": losses["cosine"] - losses["scaled_dot"], **losses}


@claim(
    id="1-scores-close",
    sentence="After 60 updates the other five lie within half a nat of one another",
    control="five scores with and without parameters of their own, on the same data and start",
    effect="loss after 60 updates: highest minus lowest of the five scores other than cosine; "
    "nats a word",
    at_most=0.5,
)
def scores_close(seed: int) -> dict[str, float]:
    """How far the five scores lie apart."""
    losses = losses_of_scores(seed)
    others = [loss for name, loss in losses.items() if name != "cosine"]
    return {"effect": max(others) - min(others), **losses}


# Traps, and what is left


@claim(
    id="1-leak",
    sentence="twelve pads change the logits of an encoder that does not pack",
    control="the same weights with packing: there they change nothing beyond rounding",
    effect="largest difference that twelve pads make to a logit of the untrained attentive "
    "model, without packing; a packed one differs by less than 1e-5",
    at_least=0.01,
    holds="every seed",
)
def leak(seed: int) -> dict[str, float]:
    """Logits alone and padded, with the encoder's packing and without it."""
    model = Seq2Seq(50, 50, pad_id=PAD, attention="additive")
    source = torch.randint(3, 50, (8, 6))
    target_in = torch.randint(3, 50, (8, 5))
    padded = F.pad(source, (0, 12), value=PAD)

    def unpacked(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        annotations, last = model.encoder.gru(model.encoder.embedding(tokens))
        return annotations, torch.cat([last[0], last[1]], dim=-1)

    def difference() -> float:
        with torch.no_grad():
            alone, company = model(source, target_in)[0], model(padded, target_in)[0]
        return (alone - company).abs().max().item()

    packed = difference()
    assert packed < 1e-5, f"packed, and the padding changes a logit by {packed}"
    model.encoder.forward = unpacked
    return {"effect": difference(), "packed": packed}


@claim(
    id="1-waiting",
    sentence="The same words take a GRU longer as few long sentences than as many short ones",
    control="the words and the multiplications are the same; beside it one matrix product over "
    "the same words, which has no steps",
    effect="time for 4,096 words in sentences of 1,024 divided by the time in sentences of 16; "
    "the recorded machine, one thread",
    at_least=1.2,
)
def waiting(seed: int) -> dict[str, float]:
    """Time of a GRU and of a matrix product, over the same words in two shapes."""
    gru, product = nn.GRU(64, 64, batch_first=True), nn.Linear(64, 384)
    times = {}
    with torch.no_grad():
        for words in (16, 1024):
            x = torch.randn(4096 // words, words, 64)
            times["gru", words] = best_time(lambda x=x: gru(x))
            times["product", words] = best_time(lambda x=x: product(x))
    return {
        "effect": times["gru", 1024] / times["gru", 16],
        "product": times["product", 1024] / times["product", 16],
    }
