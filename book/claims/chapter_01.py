"""Claims of chapter 1, attention in recurrent networks.

The translators are those of the page: 8,000 pairs, 300 updates with batches of up to 64; each
seed draws its own sentences, weights and order of batches.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from functools import partial
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from book.claims import claim, exact
from book.measure import longest_chain, processor_time
from book.translating import (
    BANDS,
    BATCH,
    DESIGNS,
    PAD,
    STEPS,
    after_mistake,
    beyond_chance,
    by_distance,
    exact_match,
    guessable,
    make_task,
    teacher_forced,
    train,
    words_right,
)
from transformer.rnn import SCORES, CosineScore, Seq2Seq, alignment_hits, make_score

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
    sentence="With attention, too, long sentences come out worse, even word by word",
    control="words are counted, not sentences: a longer sentence has more words to get wrong, and "
    "fewer would be right as a whole though each word were as safe as in a short one",
    effect="words right, with attention: 3–5 German words minus 15–18; percentage points",
    at_least=2,
)
def length_attention(seed: int) -> dict[str, float]:
    """The fall of words right, with attention; whole sentences right in every band, as numbers."""
    task, model = make_task(seed), trained(seed, "with attention")
    shares = [exact_match(task, model, task.test[band]) for band in BANDS]
    bands = {f"band{k}": share for k, share in enumerate(shares)}
    short, long = (
        words_of(seed, "with attention", some) for some in (BANDS[:1], BANDS[-1:])
    )
    return {"effect": short - long, "short": short, "long": long, **bands}


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


@functools.lru_cache(maxsize=2)
def looked_up(seed: int) -> list[tuple[str, bool, bool, bool]]:
    """Each aligned test word: the word, whether it needs the source, hit by the trained model,
    hit along the diagonal.

    A word needs the source if the two words before it leave it less than an even chance.
    """
    task, model = make_task(seed), trained(seed, "with attention")
    chance = guessable(task.train)
    found = []
    for pairs in task.test.values():
        _, weights = teacher_forced(task, model, pairs)
        for pair, row in zip(pairs, weights, strict=True):
            T, S = len(pair.target), len(pair.source)
            along = torch.eye(S)[torch.arange(T) * S // T]  # (T,) -> (T, S)
            diagonal = alignment_hits(along, pair.alignment)
            for i, hit in alignment_hits(row, pair.alignment).items():
                needs = chance(pair.target, i) < 0.5
                found.append((pair.target[i], needs, hit, diagonal[i]))
    return found


@claim(
    id="1-needed",
    sentence="words that need the source are looked up in the right place more often than words "
    "that can be guessed",
    control="a reader along the diagonal, on the same words: were the places of such words easier "
    "to hit, it would do so, too",
    effect="largest weight on an aligned word: chance of a right guess below one half minus "
    "above it; the trained model's difference minus the diagonal's; percentage points",
    at_least=5,
)
def needed(seed: int) -> dict[str, float]:
    """Alignment accuracy of words that two words before them give away, and of the others."""
    words = looked_up(seed)
    shares = {
        name: 100 * fmean(word[column] for word in words if word[1] == needs)
        for name, needs, column in (
            ("needed", True, 2),
            ("guessable", False, 2),
            ("needed, diagonal", True, 3),
            ("guessable, diagonal", False, 3),
        )
    }
    trained_, diagonal = (
        shares[f"needed{reader}"] - shares[f"guessable{reader}"]
        for reader in ("", ", diagonal")
    )
    return {"effect": trained_ - diagonal, **shares}


@claim(
    id="1-needed-same-word",
    sentence="The same English word, too, is looked up better where it needs the source",
    control="only one and the same English word is compared with itself, so that the kind of word "
    "is held fixed; beside it the reader along the diagonal",
    effect="largest weight on an aligned word, as before, averaged over English words that occur "
    "five times and more both ways; the trained model minus the diagonal; percentage points",
    at_least=5,
)
def needed_same_word(seed: int) -> dict[str, float]:
    """Within each English word; a word counts by the rarer of its two classes."""
    by_word = defaultdict(lambda: {True: [], False: []})
    for word, needs, *hits in looked_up(seed):
        by_word[word][needs].append(hits)
    both = [sides for sides in by_word.values() if min(map(len, sides.values())) >= 5]
    counts = [min(map(len, sides.values())) for sides in both]

    def difference(reader: int) -> float:
        falls = [
            fmean(hits[reader] for hits in sides[True])
            - fmean(hits[reader] for hits in sides[False])
            for sides in both
        ]
        return 100 * fmean(falls, weights=counts)

    model, diagonal = difference(0), difference(1)
    return {"effect": model - diagonal, "model": model, "diagonal": diagonal}


# Its own mistakes


@functools.lru_cache(maxsize=2)
def exposed(seed: int) -> dict[str, dict[str, float]]:
    """Shares of right words behind the first mistake, for both designs."""
    task, pairs = make_task(seed), long_pairs(seed)
    return {
        key: after_mistake(task, trained(seed, f"{key} attention"), pairs)
        for key in ("with", "without")
    }


@claim(
    id="1-exposure-position",
    sentence="Most of what looks lost has only moved",
    control="each count against another sentence's reference: what matches there matches by "
    "chance, and is taken off",
    effect="of the words lost by position (forced minus position, without attention) the share "
    "that alignment finds again, both beyond chance; per cent",
    at_least=50,
)
def exposure_position(seed: int) -> dict[str, float]:
    """Three ways to count what comes after the first mistake, for both designs."""
    numbers, again = {}, {}
    for key, found in exposed(seed).items():
        numbers |= {f"{key} {way}": share for way, share in found.items()}
        share = beyond_chance(found)
        lost, back = (share[way] - share["position"] for way in ("forced", "aligned"))
        again[key] = 100 * back / lost
    return {"effect": again["without"], "with": again["with"], **numbers}


@claim(
    id="1-exposure-left",
    sentence="Even by this generous count a gap is left",
    control="the measure that favours the model's own words: a match anywhere behind the mistake "
    "counts, also one by chance",
    effect="words right behind the first mistake: after the right words minus after its own, by "
    "alignment; the smaller of the gaps with and without attention; percentage points",
    at_least=1,
)
def exposure_left(seed: int) -> dict[str, float]:
    """What forcing is still better at when position no longer counts."""
    gaps, corrected = {}, {}
    for key, found in exposed(seed).items():
        share = beyond_chance(found)
        gaps[key] = found["forced"] - found["aligned"]
        corrected[f"{key}, beyond chance"] = share["forced"] - share["aligned"]
    return {"effect": min(gaps.values()), **gaps, **corrected}


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


class SharpCosine(CosineScore):
    """Ten times the cosine."""

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, d_a): -> (B, S)."""
        return 10 * super().forward(query, prepared)


@claim(
    id="1-cosine-range",
    sentence="Multiply the cosine by ten, and the same model learns faster",
    control="the same start, data, rate and directions; nothing but the range of the score differs",
    effect="loss over updates 41 to 60: the bare cosine minus ten times the cosine; nats a word",
    at_least=0.03,
)
def cosine_range(seed: int) -> dict[str, float]:
    """All scores on a small task, with states of width 32, and the cosine with a factor."""
    task = make_task(seed, 2_000, ("modal",), bands=((3, 8),), tests=1, max_length=8)
    batches = task.batches(64, seed)
    losses = {}
    for name in (*SCORES, "sharp"):
        model = task.model(
            seed, attention=name if name in SCORES else "cosine", d_model=32, rank=16
        )
        if name == "sharp":
            model.score = SharpCosine(32, 32)
        losses[name] = fmean(train(model, batches, 60, lr=0.015)[-20:])
    return {"effect": losses["cosine"] - losses["sharp"], **losses}


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


@exact(
    "1-waiting",
    "the chain of operations that wait for each other grows by the same amount in a GRU, and not "
    "at all in a matrix product",
)
def waiting() -> None:
    """The longest path through the recorded operations, over the same words in three shapes."""
    gru, product = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 48)
    chains = []
    for words in (4, 8, 16):
        x = torch.randn(64 // words, words, 8)
        chains.append((longest_chain(gru(x)[0]), longest_chain(product(x))))
    (four, flat), (eight, still), (sixteen, level) = chains
    assert eight - four >= 4, "at least one operation a word waits"
    assert sixteen - eight == 2 * (eight - four)
    assert flat == still == level


@claim(
    id="1-waiting-time",
    sentence="The same words take a GRU longer as few long sentences than as many short ones",
    control="the words and the multiplications are the same; beside it one matrix product over "
    "the same words, whose ratio is taken off; the smallest effect of three widths",
    effect="processor time for 4,096 words in sentences of 1,024 divided by that in sentences of "
    "16, the GRU's ratio minus the product's; least over the widths 32, 64 and 128; one thread",
    at_least=0.2,
)
def waiting_time(seed: int) -> dict[str, float]:
    """Processor time of a GRU and of a matrix product, over the same words in two shapes."""
    found = {}
    for width in (32, 64, 128):
        layers = {
            "GRU": nn.GRU(width, width, batch_first=True),
            "product": nn.Linear(width, 6 * width),
        }
        for name, layer in layers.items():
            with torch.no_grad():
                short, long = (
                    processor_time(partial(layer, torch.randn(4096 // n, n, width)))
                    for n in (16, 1024)
                )
            found[f"{name}, {width}"] = long / short
    effects = [found[f"GRU, {w}"] - found[f"product, {w}"] for w in (32, 64, 128)]
    return {"effect": min(effects), **found}
