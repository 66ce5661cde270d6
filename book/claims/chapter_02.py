"""Claims of chapter 2, self-attention."""

from __future__ import annotations

import functools
import math
from functools import partial

import torch
from torch import Tensor, nn

from book.claims import claim, exact
from book.looking import (
    ByAttention,
    ByAveraging,
    ByReading,
    SieReader,
    draw_exams,
    entropy_and_gradients,
    hidden,
    right,
    sit_exams,
    split,
    train_placed,
    train_reader,
)
from book.measure import peak_memory, processor_time, slope
from transformer.attention import scaled_dot_product_attention

CHAPTER = "02-self-attention"

# -- sie -------------------------------------------------------------------------------


@functools.cache
def reader(seed: int, how: str, clauses: str = "main") -> SieReader:
    """A reader trained on the seed's sentences."""
    return train_reader(split(seed, clauses)[0], how, seed)


def share(seed: int, how: str, clauses: str = "main") -> float:
    """The share of the seed's test sentences that a reader decides rightly."""
    return right(reader(seed, how, clauses), split(seed, clauses)[1]).float().mean()


@exact(
    "2-sie-one-way",
    "where *sie* is the first word, a reader from left to right gives every sentence the same "
    "answer",
)
def sie_one_way() -> None:
    """The GRU before training and after some: one pair of logits where *sie* comes first."""
    train, test = split(seed=1)
    first = test.place == 0
    for steps in (0, 20):
        gru = train_reader(train, "GRU", seed=1, steps=steps)
        with torch.no_grad():
            logits = gru(test)  # (B, 2)
        one = logits[first][:1].expand_as(logits[first])
        torch.testing.assert_close(logits[first], one)
        spread = (logits[~first] - logits[~first][:1]).abs().max()
        assert spread > 1e-3, "elsewhere the words before it count"


@claim(
    id="2-sie-both-sides",
    sentence="forbid it the later words, and self-attention loses a good part of its answers",
    control="the same layer, data and training; a mask hides what stands after the asking word",
    effect="accuracy with all words minus accuracy without the later ones",
    at_least=0.1,
)
def sie_both_sides(seed: int) -> dict[str, float]:
    """Self-attention with and without the words after *sie*, beside GRUs."""
    whole, cut = (
        share(seed, how) for how in ("attention", "attention, no later words")
    )
    return {
        "effect": whole - cut,
        "attention": whole,
        "cut": cut,
        "GRU": share(seed, "GRU"),
        "both ways": share(seed, "GRU, both ways"),
        "alone": share(seed, "sie alone"),
    }


@claim(
    id="2-sie-average",
    sentence="a plain average of all the words decides *sie* in main clauses as well as attention",
    control="the same embedding, values and read-out; each word weighs the same",
    effect="accuracy of attention minus accuracy of the average",
    at_most=0.02,
)
def sie_average(seed: int) -> dict[str, float]:
    """Learned weights against even ones."""
    attention, average = (share(seed, how) for how in ("attention", "average"))
    return {"effect": attention - average, "attention": attention, "average": average}


@claim(
    id="2-sie-largest",
    sentence="the largest weight of *sie* lies on the finite verb in most sentences",
    control="the same layer before training, on the same sentences",
    effect="share of test sentences where it does, after training minus before",
    at_least=0.5,
)
def sie_largest(seed: int) -> dict[str, float]:
    """The place of the largest weight, before and after training."""
    train, test = split(seed)
    torch.manual_seed(seed)
    readers = {
        "trained": reader(seed, "attention"),
        "untrained": SieReader(train.vocabulary, "attention"),
    }
    found = {}
    for name, one in readers.items():
        right(one, test)
        top = one.weights[torch.arange(len(test.words)), test.place].argmax(dim=-1)
        found[name] = (top == test.verb).float().mean()
    return {"effect": found["trained"] - found["untrained"], **found}


@claim(
    id="2-sie-hide-verb",
    sentence="hide the verb from the trained layer, and it does no better than guessing; hide "
    "another word, and hardly anything happens",
    control="another word of the same sentences hidden, drawn at random",
    effect="accuracy with another word hidden minus accuracy with the finite verb hidden",
    at_least=0.3,
)
def sie_hide_verb(seed: int) -> dict[str, float]:
    """One word hidden from the trained reader."""
    test, one = split(seed)[1], reader(seed, "attention")
    g = torch.Generator().manual_seed(seed)
    others = test.real[:, 0].float()  # (B, 1, T) -> (B, T)
    rows = torch.arange(len(test.words))
    others[rows, test.verb] = 0
    others[rows, test.place] = 0
    some = others.sum(dim=-1) > 0  # two-word sentences have no other word
    others[~some] = 1
    other = torch.multinomial(others, 1, generator=g)[:, 0]
    without_verb = right(one, test, hidden(test, test.verb))[some].float().mean()
    without_other = right(one, test, hidden(test, other))[some].float().mean()
    return {
        "effect": without_other - without_verb,
        "verb": without_verb,
        "other": without_other,
    }


@functools.cache
def share_placed(seed: int, how: str) -> float:
    """The share of test sentences with two clauses that a reader with places decides rightly."""
    train, test = split(seed, "two")
    return right(train_placed(train, how, seed), test).float().mean()


@claim(
    id="2-sie-two-clauses",
    sentence="with two clauses and two verbs, self-attention makes more mistakes than readers "
    "with word order",
    control="a two-way GRU, and the same self-attention with a learned vector for each place; same "
    "sentences, updates and width: were the sentences only harder, or too few, both would fail, "
    "too",
    effect="accuracy of the worse of the two minus accuracy of self-attention without places",
    at_least=0.02,
)
def sie_two_clauses(seed: int) -> dict[str, float]:
    """A main and a subordinate clause, a verb in each."""
    found = {
        "attention": share(seed, "attention", "two"),
        "both ways": share(seed, "GRU, both ways", "two"),
        "places": share_placed(seed, "attention"),
    }
    best = min(found["both ways"], found["places"])
    return {"effect": best - found["attention"], **found}


@claim(
    id="2-sie-places",
    sentence="With places, choosing does help",
    control="the plain average with the same places, which cannot choose; and the same two without "
    "places, where choosing does not help",
    effect="accuracy on two clauses: what attention has over the average, with places minus "
    "without",
    at_least=0.02,
)
def sie_places(seed: int) -> dict[str, float]:
    """Attention and the average, each with a learned vector for each place and without."""
    found = {
        "attention, places": share_placed(seed, "attention"),
        "average, places": share_placed(seed, "average"),
        "attention": share(seed, "attention", "two"),
        "average": share(seed, "average", "two"),
    }
    with_, without = (
        found[f"attention{kind}"] - found[f"average{kind}"] for kind in (", places", "")
    )
    return {"effect": with_ - without, **found}


# -- the exam --------------------------------------------------------------------------


@functools.cache
def exam(seed: int, kind: type[nn.Module], question: str = "") -> float:
    """Share right with four pairs after 600 updates on batches of 64, width 64."""
    make = partial(kind, question=question) if question else kind
    return sit_exams(make, 4, seed, width=64, batch=64)[1]


@claim(
    id="2-exam-attention",
    sentence="attention beats the GRU, whichever way the GRU is asked",
    control="the GRU with the question first, so that it need not carry all the pairs",
    effect="share right with four pairs, attention minus the better GRU",
    at_least=0.05,
)
def exam_attention(seed: int) -> dict[str, float]:
    """Four pairs; attention, and the GRU with the question last and first."""
    found = {
        "attention": exam(seed, ByAttention),
        "last": exam(seed, ByReading, "last"),
        "first": exam(seed, ByReading, "first"),
    }
    best = max(found["last"], found["first"])
    return {"effect": found["attention"] - best, **found}


class ByReadingOn(ByReading):
    """Question, pairs, and a blank step: no pair is nearer to the answer than with it last."""

    def forward(self, asked: Tensor, pairs: Tensor) -> Tensor:
        """asked (B, 1, D) and pairs (B, n, D) -> (B, D)."""
        order = [asked, pairs, torch.zeros_like(asked)]
        return self.gru(torch.cat(order, dim=1))[0][:, -1]  # (B, n + 2, D) -> (B, D)


@claim(
    id="2-exam-order",
    sentence="ask the question first, and the same GRU does far better",
    control="the same network, pairs and updates, also with a blank step behind the pairs, so that "
    "none is nearer to the answer: were distance the cause, nothing would change",
    effect="share right with four pairs, question first (with or without the blank step, the "
    "worse of the two) minus question last",
    at_least=0.2,
)
def exam_order(seed: int) -> dict[str, float]:
    """Four pairs; only the question's place differs."""
    last, first = (exam(seed, ByReading, question) for question in ("last", "first"))
    on = exam(seed, ByReadingOn)
    return {"effect": min(first, on) - last, "last": last, "first": first, "blank": on}


@claim(
    id="2-exam-average",
    sentence="an average does far better, too, if the question meets each pair before the "
    "averaging",
    control="the same network and updates, the question joined to the average afterwards",
    effect="share right with four pairs, question before the average minus after it",
    at_least=0.2,
)
def exam_average(seed: int) -> dict[str, float]:
    """Four pairs, even weights."""
    before, after = (exam(seed, ByAveraging, one) for one in ("before", "after"))
    return {"effect": before - after, "before": before, "after": after}


@claim(
    id="2-exam-roles",
    sentence="the weights follow the German words and not the English ones",
    control="the glossary's German words move on by one pair and the English ones stay: weights "
    "that went by place or by the English word would stay, too",
    effect="share of exams whose largest weight moves along minus share where it stays",
    at_least=0.5,
)
def exam_roles(seed: int) -> dict[str, float]:
    """Eight pairs; German and English parted on purpose."""
    candidate, _ = sit_exams(ByAttention, 8, seed)
    torch.manual_seed(seed)
    german, english, question, _ = draw_exams(1000, 8)
    place = (german == question).int().argmax(dim=-1)  # (B,)
    after = (place + 1) % 8
    with torch.no_grad():
        answer = candidate(german.roll(1, dims=1), english, question).argmax(dim=-1)
    top = candidate.look_up.weights[:, 0].argmax(dim=-1)  # (B, 1, n) -> (B,)
    moved, stayed = (top == after).float().mean(), (top == place).float().mean()
    named = english.gather(1, after[:, None])[:, 0]
    return {
        "effect": moved - stayed,
        "moved": moved,
        "stayed": stayed,
        "named": (answer == named).float().mean(),
    }


# -- the scale -------------------------------------------------------------------------


@functools.cache
def scale_exam(
    seed: int, d_k: int, scaled: bool, start: float = 1.0, rate: float = 0.01
) -> float:
    """Share right with eight pairs after 600 updates."""
    make = partial(ByAttention, d_k=d_k, scaled=scaled, start=start)
    return sit_exams(make, 8, seed, rate=rate)[1]


def with_and_without(seed: int, d_k: int) -> dict[str, float]:
    """The exam with the scale and without."""
    scaled, raw = (scale_exam(seed, d_k, one) for one in (True, False))
    return {"effect": scaled - raw, "scaled": scaled, "raw": raw}


@claim(
    id="2-scale-32",
    sentence="at $d_k = 32$ the exam goes as well without the scale",
    control="the same candidate, exams and rate with the scale",
    effect="share right with the scale minus without",
    at_most=0.03,
)
def scale_32(seed: int) -> dict[str, float]:
    """Narrow keys."""
    return with_and_without(seed, 32)


@claim(
    id="2-scale-256",
    sentence="at $d_k = 256$ the unscaled candidate fails many exams",
    control="the same candidate, exams and rate with the scale",
    effect="share right with the scale minus without",
    at_least=0.1,
)
def scale_256(seed: int) -> dict[str, float]:
    """Wide keys."""
    return with_and_without(seed, 256)


@claim(
    id="2-scale-1024",
    sentence="and at $d_k = 1024$ as well",
    control="the same candidate, exams and rate with the scale",
    effect="share right with the scale minus without",
    at_least=0.1,
)
def scale_1024(seed: int) -> dict[str, float]:
    """Very wide keys."""
    return with_and_without(seed, 1024)


@claim(
    id="2-scale-start",
    sentence="exchange the spread at the start, and the scaled candidate still wins",
    control="W_q and W_k of the unscaled candidate begin smaller, those of the scaled one "
    "larger, so that each has the scores that the other began with",
    effect="share right at d_k = 256, scaled with a wide start minus unscaled with a narrow one",
    at_least=0.1,
)
def scale_start(seed: int) -> dict[str, float]:
    """The confound held the other way round."""
    factor = 256**0.25
    wide = scale_exam(seed, 256, True, start=factor)
    narrow = scale_exam(seed, 256, False, start=1 / factor)
    return {"effect": wide - narrow, "scaled, wide": wide, "raw, narrow": narrow}


@claim(
    id="2-scale-rate",
    sentence="a tenth of the rate lets the unscaled candidate pass",
    control="the same unscaled candidate at the full rate, with as many updates",
    effect="share right at d_k = 256 without the scale, rate 0.001 minus rate 0.01",
    at_least=0.1,
)
def scale_rate(seed: int) -> dict[str, float]:
    """Unscaled, wide keys, small steps."""
    slow, fast = scale_exam(seed, 256, False, rate=0.001), scale_exam(seed, 256, False)
    return {"effect": slow - fast, "slow": slow, "fast": fast}


@claim(
    id="2-scale-scores",
    sentence="at the scores the median gradient falls to less than a tenth",
    control="the same queries, keys and values with the scale",
    effect="median gradient norm at the scores at d_k = 1024, unscaled over scaled",
    at_most=0.1,
)
def scale_scores(seed: int) -> dict[str, float]:
    """Random vectors, 64 keys of width 1024."""
    raw, scaled = (
        entropy_and_gradients(1024, scale, seed) for scale in (1, 1 / math.sqrt(1024))
    )
    return {
        "effect": raw["scores"].median() / scaled["scores"].median(),
        "entropy, raw": raw["entropy"].mean(),
        "entropy, scaled": scaled["entropy"].mean(),
    }


@claim(
    id="2-scale-queries",
    sentence="at the queries the median gradient is larger without the scale at $d_k = 64$",
    control="the same queries, keys and values with the scale",
    effect="median gradient norm at the queries at d_k = 64, unscaled over scaled",
    at_least=1.5,
)
def scale_queries(seed: int) -> dict[str, float]:
    """Random vectors, 64 keys of width 64."""
    raw, scaled = (
        entropy_and_gradients(64, scale, seed)["query"].median() for scale in (1, 1 / 8)
    )
    return {"effect": raw / scaled, "raw": raw, "scaled": scaled}


# -- words that look at themselves -----------------------------------------------------


@claim(
    id="2-raw-diagonal",
    sentence="without parameters nearly every word looks mostly at itself",
    control="the same vectors cut to length 1: were it likeness alone, they would do so, too",
    effect="mean weight of a word for itself, vectors as drawn minus vectors of length 1",
    at_least=0.3,
)
def raw_diagonal(seed: int) -> dict[str, float]:
    """Eight random vectors of width 16."""
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(seed))

    def itself(x: Tensor) -> float:
        return scaled_dot_product_attention(x, x, x)[1].diagonal().mean()

    drawn, cut = itself(x), itself(nn.functional.normalize(x, dim=-1))
    return {"effect": drawn - cut, "drawn": drawn, "length 1": cut}


# -- cost ------------------------------------------------------------------------------


def costs(layer, lengths: tuple[int, ...], measure) -> list[float]:
    """A measure of forward and backward pass for each length."""
    found = []
    for n in lengths:
        x = torch.randn(1, n, 64, requires_grad=True)
        found.append(measure(lambda x=x: torch.autograd.grad(layer(x).sum(), x)))
    return found


@exact(
    "2-cost-memory",
    "twice the words take attention that keeps its weights more than three times the memory, and "
    "the fused kernel little more than twice",
)
def cost_memory() -> None:
    """Bytes at the worst moment of forward and backward pass, width 64, float32."""
    lengths = (1024, 2048)
    fused = nn.functional.scaled_dot_product_attention
    kept = costs(
        lambda x: scaled_dot_product_attention(x, x, x)[0], lengths, peak_memory
    )
    saved = costs(lambda x: fused(*[x[None]] * 3), lengths, peak_memory)
    for n, most, least in zip(lengths, kept, saved, strict=True):
        assert most >= 4 * n * n > least, (n, most, least)
    assert kept[1] > 3 * kept[0], kept
    assert saved[1] < 2.2 * saved[0], saved


@claim(
    id="2-cost-time",
    sentence="in time, attention rises more steeply than the GRU",
    control="a GRU of the same width, on the same machine in turn",
    effect="slope of the processor time over 512 to 2,048 words, attention minus GRU",
    at_least=0.3,
)
def cost_time(seed: int) -> dict[str, float]:
    """Processor seconds, width 64."""
    lengths = (512, 1024, 2048)
    gru = nn.GRU(64, 64, batch_first=True)
    attention = slope(
        lengths,
        costs(
            lambda x: scaled_dot_product_attention(x, x, x)[0], lengths, processor_time
        ),
    )
    waiting = slope(lengths, costs(lambda x: gru(x)[0], lengths, processor_time))
    return {"effect": attention - waiting, "attention": attention, "GRU": waiting}
