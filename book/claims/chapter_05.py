"""Claims of chapter 5, positions. The readers are in book/placing.py; each function draws its
texts and its weights from the seed.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from book.claims import claim, exact
from book.placing import (
    BACK,
    LENGTHS,
    LONGEST,
    STEPS,
    TRAINED,
    Reader,
    grade,
    order_blind_best,
    train,
)
from transformer.positional import (
    TokenEmbedding,
    rotary,
    rotation_matrix,
    sinusoidal_encoding,
)

CHAPTER = "05-positions"

SEEN, TWICE, FAR = (LENGTHS.index(n) for n in (TRAINED, 2 * TRAINED, LONGEST))
JUST_BEYOND = LENGTHS.index(32)


@cache
def reader(kind: str, seed: int, num_layers: int = 1, steps: int = STEPS) -> Reader:
    """A trained reader; several claims ask the same one."""
    return train(kind, seed, steps=steps, num_layers=num_layers)


@cache
def shares(kind: str, seed: int, num_layers: int = 1, steps: int = STEPS) -> Tensor:
    """Right answers by length and question, (lengths, 2), on texts of the seed's own."""
    return grade(reader(kind, seed, num_layers, steps), seed + 1000)


# Raw indices


@claim(
    id="5-raw-index",
    sentence="two layers with the bare index appended learn more of three back than one does",
    control="one layer with the index, trained for as many steps",
    effect="share right at the trained length, three back, two layers minus one",
    at_least=0.15,
    paraphrase="two layers with the bare index appended are right more often than one",
)
def raw_index(seed: int) -> dict[str, float]:
    """The index as a feature of each word: what one layer cannot say, two can."""
    one, two = (shares("index", seed, n, 700)[SEEN, 0].item() for n in (1, 2))
    return {"effect": two - one, "one": one, "two": two}


@claim(
    id="5-raw-index-longer",
    sentence="beyond the trained length two layers with the bare index lose it",
    control="the same readers at the trained length",
    effect="share right, three back, at 24 words minus at 48",
    at_least=0.3,
    paraphrase="beyond the trained length they lose what they have learnt",
)
def raw_index_longer(seed: int) -> dict[str, float]:
    """Larger numbers than any in training."""
    seen, twice = shares("index", seed, 2, 700)[[SEEN, TWICE], 0].tolist()
    return {"effect": seen - twice, "seen": seen, "twice": twice}


# Adding positions to words


@torch.no_grad()
def likeness(seed: int, d_model: int, scaled: bool) -> float:
    """Mean cosine of two words at position 100, with or without the factor sqrt(D)."""
    torch.manual_seed(seed)
    embed = TokenEmbedding(1000, d_model)
    words = embed(torch.arange(1000)) if scaled else embed.weight  # (vocab, D)
    place = sinusoidal_encoding(101, d_model)[100]  # (D,)
    one, other = (words + place).chunk(2)
    return F.cosine_similarity(one, other, dim=-1).mean().item()


@claim(
    id="5-scaled-words",
    sentence="unscaled, any two words at the same place look nearly the same",
    control="the same words, scaled by the root of D",
    effect="least mean cosine of two words unscaled minus largest scaled, over widths 32, 128, 512",
    at_least=0.4,
)
def scaled_words(seed: int) -> dict[str, float]:
    """Words and their place, at the start of training."""
    unscaled = min(likeness(seed, width, False) for width in (32, 128, 512))
    scaled = max(likeness(seed, width, True) for width in (32, 128, 512))
    return {"effect": unscaled - scaled, "unscaled": unscaled, "scaled": scaled}


@exact(
    "5-rotation",
    "a step of delta words is one matrix, wherever one stands",
    paraphrase="is one fixed matrix, wherever one stands",
)
def rotation() -> None:
    """PE(p + delta) = R(delta) PE(p), for steps forwards and back."""
    table = sinusoidal_encoding(2000, 32, dtype=torch.float64)
    for p, delta in ((0, 1), (700, 3), (700, -3), (1500, -1499), (3, 1990)):
        moved = rotation_matrix(delta, 32) @ table[p]
        torch.testing.assert_close(moved, table[p + delta], rtol=0, atol=1e-10)


@exact(
    "5-distance",
    "a rotary score depends on the two words and on their distance",
    paraphrase="the score depends on the two words and on their distance",
)
def distance() -> None:
    """Both moved by the same number of places, no score changes."""
    for seed in range(20):
        torch.manual_seed(seed)
        q, k = torch.randn(2, 12, 8, dtype=torch.float64)
        scores = rotary(q) @ rotary(k).T
        torch.testing.assert_close(rotary(q, 1000) @ rotary(k, 1000).T, scores)


# Longer than in training


@claim(
    id="5-learn",
    sentence="four methods learn both questions at the trained length",
    control="no positions, trained as long",
    effect="share right at 24 words, the worst of four methods and two questions minus the better "
    "question without positions",
    at_least=0.15,
    holds="every seed",
)
def learn(seed: int) -> dict[str, float]:
    """Sinusoidal, learned, relative and rotary, at the length of training."""
    kinds = ("sinusoidal", "learned", "relative bias", "rotary")
    found = {kind: shares(kind, seed)[SEEN].min().item() for kind in kinds}
    none = shares("no positions", seed)[SEEN].max().item()
    return {"effect": min(found.values()) - none, "none": none, **found}


@claim(
    id="5-order-blind",
    sentence="without positions a reader does what the best order-blind reader can, and no better",
    control="the best reader that knows which words came before and no order, computed",
    effect="largest difference between the two, over both questions at 8 and 24 words",
    at_most=0.08,
)
def order_blind(seed: int) -> dict[str, float]:
    """How much of a share is owed to few candidates."""
    short = [LENGTHS.index(8), SEEN]
    measured = shares("no positions", seed)[short]
    best = order_blind_best(seed + 1000)[short]
    return {
        "effect": (measured - best).abs().max().item(),
        "measured, three back": measured[1, 0].item(),
        "best, three back": best[1, 0].item(),
        "measured, the latest": measured[1, 1].item(),
        "best, the latest": best[1, 1].item(),
    }


def worse_than_blind(kind: str, seed: int) -> dict[str, float]:
    """Right answers at twice the trained length, beside the best without order."""
    found = shares(kind, seed)[[SEEN, TWICE]]
    best = order_blind_best(seed + 1000)[TWICE]
    return {
        "effect": (best - found[1]).min().item(),
        "at 24, worse question": found[0].min().item(),
        "at 48, three back": found[1, 0].item(),
        "at 48, the latest": found[1, 1].item(),
        "best without order, three back": best[0].item(),
        "best without order, the latest": best[1].item(),
    }


@claim(
    id="5-sinusoidal-longer",
    sentence="at twice the trained length sinusoids have lost most of both questions",
    control="the same readers at the trained length; the relative bias at both lengths",
    effect="share right at 24 words minus at 48, the question that loses less",
    at_least=0.5,
)
def sinusoidal_longer(seed: int) -> dict[str, float]:
    """Vectors that are defined, and new to the layers."""
    found, biased = (
        shares(kind, seed)[[SEEN, TWICE]] for kind in ("sinusoidal", "relative bias")
    )
    return {
        "effect": (found[0] - found[1]).min().item(),
        "at 48, three back": found[1, 0].item(),
        "at 48, the latest": found[1, 1].item(),
        "relative bias loses": (biased[0] - biased[1]).max().item(),
    }


@claim(
    id="5-learned-longer",
    sentence="at twice the trained length learned vectors answer no better than a reader without "
    "any order could",
    control="the best order-blind reader, computed for the same texts",
    effect="share right at 48 words, order-blind minus learned, the smaller of both questions",
    at_least=-0.05,
)
def learned_longer(seed: int) -> dict[str, float]:
    """Rows that no training sentence reached."""
    return worse_than_blind("learned", seed)


@claim(
    id="5-rotary-longer",
    sentence="rotary positions lose both questions at eight times the trained length",
    control="the relative bias, trained on the same texts",
    effect="share right at 192 words, the worse question of the relative bias minus the better of "
    "rotary",
    at_least=0.2,
)
def rotary_longer(seed: int) -> dict[str, float]:
    """Angles that training never showed."""
    turned, biased = (shares(kind, seed)[FAR] for kind in ("rotary", "relative bias"))
    return {
        "effect": (biased.min() - turned.max()).item(),
        "rotary": turned.max().item(),
        "relative bias": biased.min().item(),
    }


@claim(
    id="5-relative-longer",
    sentence="the relative bias holds longest where both questions count",
    control="sinusoids, learned vectors, rotary positions and ALiBi on the same texts",
    effect="share right at 192 words, worse question: relative bias minus the best of the others",
    at_least=0.2,
)
def relative_longer(seed: int) -> dict[str, float]:
    """The worse of two questions, at eight times the trained length."""
    kinds = ("relative bias", "sinusoidal", "learned", "rotary", "ALiBi")
    found = {kind: shares(kind, seed)[FAR].min().item() for kind in kinds}
    others = max(share for kind, share in found.items() if kind != "relative bias")
    return {"effect": found["relative bias"] - others, **found}


@claim(
    id="5-alibi-latest",
    sentence="ALiBi answers the latest at any length",
    control="its own share at the trained length, and rotary positions at 192 words",
    effect="share right at 192 words, the latest",
    at_least=0.85,
)
def alibi_latest(seed: int) -> dict[str, float]:
    """Recency, eight times as far as in training."""
    found = shares("ALiBi", seed)[:, 1]
    return {
        "effect": found[FAR].item(),
        "at 24": found[SEEN].item(),
        "rotary": shares("rotary", seed)[FAR, 1].item(),
    }


@claim(
    id="5-alibi-exact",
    sentence="one layer with ALiBi hardly learns three back",
    control="the best order-blind reader, computed; the relative bias learns it with one layer",
    effect="share right at 24 words, three back, one layer minus order-blind",
    at_most=0.15,
)
def alibi_exact(seed: int) -> dict[str, float]:
    """A bias that is largest at distance 0, and an exact distance."""
    one = shares("ALiBi", seed)[SEEN, 0].item()
    blind = order_blind_best(seed + 1000)[SEEN, 0].item()
    relative = shares("relative bias", seed)[SEEN, 0].item()
    return {"effect": one - blind, "one": one, "blind": blind, "relative": relative}


@claim(
    id="5-alibi-layers",
    sentence="two layers with ALiBi learn more of three back than one does, though less than one "
    "layer with the relative bias does",
    control="one layer of either kind, trained for as many steps",
    effect="share right at 24 words, three back: two layers minus one, or relative bias minus two "
    "layers, whichever is less",
    at_least=0.15,
    paraphrase="two layers learn more of it, though less than one layer with the relative bias "
    "does",
)
def alibi_layers(seed: int) -> dict[str, float]:
    """What a second layer adds."""
    one, two = (shares("ALiBi", seed, n)[SEEN, 0].item() for n in (1, 2))
    relative = shares("relative bias", seed)[SEEN, 0].item()
    return {
        "effect": min(two - one, relative - two),
        "one": one,
        "two": two,
        "relative": relative,
    }


@claim(
    id="5-window",
    sentence="with a window of 24 words rotary positions and the relative bias are nearly as good "
    "as new",
    control="the same readers at the trained length; sinusoids and learned vectors with the window",
    effect="share right, worse question, at 192 words with a window minus at 24 words without: the "
    "worse of rotary and relative",
    at_least=-0.1,
)
def window(seed: int) -> dict[str, float]:
    """No new training: far words are hidden."""
    found, change = {}, {}
    for kind in ("rotary", "relative bias", "sinusoidal", "learned"):
        model = reader(kind, seed)
        before = grade(model, seed + 1000)[SEEN].min().item()
        model.reach = TRAINED
        found[kind] = grade(model, seed + 1000)[FAR].min().item()
        change[kind] = found[kind] - before
        model.reach = LONGEST
    kept = min(change["rotary"], change["relative bias"])
    lost = max(change["sinusoidal"], change["learned"])
    return {"effect": kept, "kept": kept, "lost": lost, **found}


@claim(
    id="5-peak",
    sentence="at least one head has its largest bias at three back",
    control="all distances to which a word may look, from 0 to 16",
    effect="heads whose largest bias is at three back",
    at_least=1,
    holds="every seed",
)
def peak(seed: int) -> dict[str, float]:
    """What the relative bias learnt."""
    table = reader("relative bias", seed).encoder.layers[0].self_attention.bias.table
    places = table[:, :17].argmax(dim=-1) - 16  # (h, 33) -> (h,), from -16 to 0
    return {"effect": int((places == -BACK).sum())}
