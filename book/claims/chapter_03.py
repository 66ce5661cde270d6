"""Claims of chapter 3, multi-head attention: the exam with two questions a word."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import permutations

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor, nn

from book.claims import claim, exact
from book.exam import (
    STEPS,
    WIDTH,
    Candidate,
    FreeHeads,
    LookUp,
    WrongSplit,
    ablate,
    draw_sentences,
    grade,
    linear_reader,
    network_reader,
    sit_exams,
)
from book.measure import peak_memory
from transformer.multihead import MultiHeadAttention, to_torch

CHAPTER = "03-multi-head-attention"
COUNTS = (1, 2, 4, 8, 16, 32)
LONG = 800  # twice the steps of the exam


def gentle(num_heads: int) -> LookUp:
    """Return a look-up whose queries and keys start at a quarter of Xavier's size."""
    look_up = LookUp(num_heads)
    with torch.no_grad():
        look_up.attention.qkv_proj.weight[: 2 * WIDTH] *= 0.25
    return look_up


@cache
def ten(
    block: int,
    make_look_up: Callable[[], nn.Module] = LookUp,
    *sizes: int,
    network: bool = False,
    questions: int = 2,
    steps: int = STEPS,
    rate: float = 0.01,
) -> list[Candidate]:
    """Return ten candidates, of the seeds from 10 * block + 1, trained side by side."""
    return sit_exams(
        partial(make_look_up, *sizes),
        network_reader if network else linear_reader,
        seeds=range(10 * block + 1, 10 * block + 11),
        questions=questions,
        steps=steps,
        rate=rate,
    )


def trained(seed: int, *look_up, **options) -> Candidate:
    """Return the candidate of a seed; see ten."""
    block, number = divmod(seed - 1, 10)
    return ten(block, *look_up, **options)[number]


def grades(seed: int, *look_up, **options) -> Tensor:
    """Return the grades (questions,) of the candidate of a seed; see ten."""
    return grade(trained(seed, *look_up, **options))


def one_head_linear_grades(seed: int) -> dict[str, Tensor]:
    """Return the grades (2,) of one head with a linear reader, and of its controls."""
    return {
        "as on the page": grades(seed, LookUp, 1),
        "wide keys": grades(seed, FreeHeads, 1, 4 * WIDTH, WIDTH),
        "twice the steps": grades(seed, LookUp, 1, steps=LONG),
        "half the rate": grades(seed, LookUp, 1, rate=0.005),
        "gentle start": grades(seed, gentle, 1),
    }


@exact(
    "3-blend-linear",
    "no linear reader can tell both persons from one average, whatever the shares",
)
def blend_linear() -> None:
    """Linear programs: the best margin over all readers of a blend of two of three."""
    for share in np.linspace(0, 1, 21):
        assert best_margin([share]) < 1e-9, share
    assert best_margin([1.0, 0.0]) > 0.1, "two rows of weights, side by side"
    assert best_margin([2 / 3], persons=2) > 0.1, "of two persons, nobody is absent"


def best_margin(shares: list[float], persons: int = 3) -> float:
    """Return the largest margin with which a linear reader names both of two different persons.

    Each row of weights gives its share to the first word and the rest to the second; what
    comes out of all rows stands side by side. The reader's entries lie in [-1, 1].
    """
    width = persons * len(shares)
    size = 2 * persons * (width + 1)  # two answers, a score a person, weights and bias
    rows = []
    for first, second in permutations(range(persons), 2):
        blend = np.zeros(width + 1)
        blend[-1] = 1
        for number, share in enumerate(shares):
            blend[number * persons + first] += share
            blend[number * persons + second] += 1 - share
        for answer, right in enumerate((first, second)):
            for wrong in set(range(persons)) - {right}:
                row = np.zeros((2, persons, width + 1))
                row[answer, wrong] += blend
                row[answer, right] -= blend
                rows.append([*row.ravel(), 1.0])  # wrong - right + margin <= 0
    cost = np.zeros(size + 1)
    cost[-1] = -1
    bounds = [(-1, 1)] * size + [(0, None)]
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=bounds)
    assert found.success, found.message
    return float(found.x[-1])


@claim(
    id="3-one-head-linear",
    sentence="one head with a linear reader answers one question and guesses the other",
    control="keys four times as wide, twice the steps, half the rate, and queries and "
    "keys that start at a quarter of the size: any of them could have done better",
    effect="share of right answers over both questions, the best of the five; "
    "one known and one guessed is 0.5625",
    at_most=0.65,
)
def one_head_linear(seed: int) -> dict[str, float]:
    """One head, and four attempts to help it."""
    found = {k: g.mean().item() for k, g in one_head_linear_grades(seed).items()}
    return {"effect": max(found.values()), **found}


@claim(
    id="3-two-heads-linear",
    sentence="two heads of half the width answer both",
    control="the five candidates with one head, which have at least as many parameters",
    effect="share of right answers to the harder question, two heads minus the best of one",
    at_least=0.6,
)
def two_heads_linear(seed: int) -> dict[str, float]:
    """Two heads against one, with a linear reader behind both."""
    one = max(g.min().item() for g in one_head_linear_grades(seed).values())
    two = grades(seed, LookUp, 2).min().item()
    return {"effect": two - one, "two": two, "one": one}


@claim(
    id="3-network-untangles",
    sentence="one head answers both if a network reads its blend and its queries and keys "
    "start small",
    control="the network without the small start, also with twice the steps; the small "
    "start without the network",
    effect="share of right answers to the harder question, minus the best of the controls",
    at_least=0.5,
)
def network_untangles(seed: int) -> dict[str, float]:
    """One head with a network, from two starts, and with a linear reader."""
    found = {
        "xavier": grades(seed, LookUp, 1, network=True),
        "xavier, long": grades(seed, LookUp, 1, network=True, steps=LONG),
        "linear": grades(seed, gentle, 1),
    }
    found = {name: both.min().item() for name, both in found.items()}
    small = grades(seed, gentle, 1, network=True).min().item()
    return {"effect": small - max(found.values()), "small": small, **found}


def four_questions_grade(seed: int, heads: int, **options) -> float:
    """Return the grade for four questions, with the network and the small start."""
    return (
        grades(seed, gentle, heads, network=True, questions=4, **options).mean().item()
    )


@claim(
    id="3-four-questions",
    sentence="with four questions a word, one head falls behind four after the same steps, the "
    "same network behind both",
    control="half and twice the rate for the one head, and the small start that lets it answer "
    "two questions",
    effect="share of right answers after 400 steps, four heads minus the best run of one head",
    at_least=0.15,
)
def four_questions(seed: int) -> dict[str, float]:
    """Four questions: the network behind, the start, the parameters and the steps are equal."""
    one = {
        "one": four_questions_grade(seed, 1),
        "one, half the rate": four_questions_grade(seed, 1, rate=0.005),
        "one, twice the rate": four_questions_grade(seed, 1, rate=0.02),
    }
    four = four_questions_grade(seed, 4)
    return {"effect": four - max(one.values()), "four": four, **one}


@claim(
    id="3-more-steps",
    sentence="twice the steps bring the one head closer",
    control="the same head, start, rate and network with half the steps",
    effect="share of right answers to four questions, one head after 800 steps minus 400",
    at_least=0.1,
)
def more_steps(seed: int) -> dict[str, float]:
    """One head is not stuck."""
    short, long = (four_questions_grade(seed, 1, steps=n) for n in (STEPS, LONG))
    return {"effect": long - short, "400 steps": short, "800 steps": long}


@claim(
    id="3-two-to-sixteen",
    sentence="from two to sixteen heads both questions are answered",
    control="a count between that fails: the worst of 2, 4, 8 and 16 is what counts",
    effect="share of right answers, the worst of the four counts",
    at_least=0.95,
)
def two_to_sixteen(seed: int) -> dict[str, float]:
    """The exam for each number of heads, with both readers: the numbers of the figure."""
    found = {
        f"{reader} {count}": grades(seed, LookUp, count, network=reader == "network")
        .mean()
        .item()
        for reader in ("linear", "network")
        for count in COUNTS
    }
    worst = min(found[f"linear {count}"] for count in (2, 4, 8, 16))
    return {"effect": worst, **found}


@claim(
    id="3-thin-heads",
    sentence="thirty-two heads of width 1 fall behind",
    control="thirty-two heads of width 4: were there too many heads, these would fail, too",
    effect="share of right answers after 400 steps, thirty-two heads of width 4 minus those of "
    "width 1",
    at_least=0.1,
)
def thin_heads(seed: int) -> dict[str, float]:
    """The width of a head changes, their number stays."""
    thin = grades(seed, LookUp, 32).mean().item()
    thick = grades(seed, FreeHeads, 32, 4, 4).mean().item()
    return {"effect": thick - thin, "width 4": thick, "width 1": thin}


@claim(
    id="3-thin-longer",
    sentence="twice the steps bring them closer",
    control="the same heads, start and rate with half the steps",
    effect="share of right answers, thirty-two heads of width 1 after 800 steps minus 400",
    at_least=0.1,
)
def thin_longer(seed: int) -> dict[str, float]:
    """Heads of width 1 are not stuck."""
    short, long = (
        grades(seed, LookUp, 32, steps=steps).mean().item() for steps in (STEPS, LONG)
    )
    return {"effect": long - short, "400 steps": short, "800 steps": long}


def costs(candidate: Candidate) -> Tensor:
    """Return what removing each head costs, by question: (h, 2)."""
    table = ablate(candidate)  # (h + 1, 2)
    return table[0] - table[1:]


@torch.no_grad()
def random_slices(candidate: Candidate, generator: torch.Generator) -> Tensor:
    """Return what it costs to remove random slices as wide as a head: (h, 2)."""
    weight = candidate.look_up.attention.out_proj.weight  # (D, D)
    whole, kept = grade(candidate), weight.clone()
    count, found = candidate.look_up.attention.num_heads, []
    basis = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator)).Q
    for part in basis.chunk(count, dim=1):  # (D, d_h)
        weight.copy_(kept - kept @ part @ part.T)
        found.append(whole - grade(candidate))
        weight.copy_(kept)
    return torch.stack(found)


@claim(
    id="3-heads-share-work",
    sentence="with two heads, each holds one of the questions",
    control="random slices of the concatenated heads, as wide as a head: they should cost "
    "both questions alike",
    effect="share lost on a head's own question minus share lost on the other, mean of both "
    "heads, minus the same for random slices",
    at_least=0.4,
)
def heads_share_work(seed: int) -> dict[str, float]:
    """Remove each of two heads, then random slices of the same width."""
    candidate = trained(seed, LookUp, 2)
    random = random_slices(candidate, torch.Generator().manual_seed(seed))
    ours, control = (
        (c[:, 0] - c[:, 1]).abs().mean() for c in (costs(candidate), random)
    )
    own = costs(candidate).max(dim=1).values.min()
    return {
        "effect": ours - control,
        "heads": ours,
        "random": control,
        "least own": own,
    }


@claim(
    id="3-slack",
    sentence="with eight heads, some head can go at little cost",
    control="the same removal with two heads, where none can",
    effect="share lost on the question that suffers most, for the head that is missed "
    "least: two heads minus eight",
    at_least=0.3,
)
def slack(seed: int) -> dict[str, float]:
    """The cost of the head that is missed least."""
    two, eight = (
        costs(trained(seed, LookUp, count)).max(dim=1).values.min().item()
        for count in (2, 8)
    )
    return {"effect": two - eight, "two": two, "eight": eight}


@claim(
    id="3-wrong-split",
    sentence="trained with the wrong split, the layer stays far below the right one",
    control="the same layer, start and sentences with the right split",
    effect="share of right answers, right split minus wrong split, two heads",
    at_least=0.3,
)
def wrong_split(seed: int) -> dict[str, float]:
    """The trap, trained."""
    wrong = grades(seed, WrongSplit, 2).mean().item()
    right = grades(seed, LookUp, 2).mean().item()
    return {"effect": right - wrong, "right": right, "wrong": wrong}


@claim(
    id="3-wrong-split-learns",
    sentence="it does learn something",
    control="guessing, and a layer that may not look at other words at all",
    effect="share of right answers, wrong split minus no look at other words",
    at_least=0.05,
)
def wrong_split_learns(seed: int) -> dict[str, float]:
    """The trap against a layer without attention."""
    wrong = wrong_split(seed)["wrong"]
    alone = grades(seed, nn.Identity).mean().item()
    return {"effect": wrong - alone, "wrong": wrong, "alone": alone}


def weight_on_asked(candidate: Candidate, seed: int) -> Tensor:
    """Return the mean weight that each head puts on the two words asked for: (h,)."""
    torch.manual_seed(seed)
    *sentence, targets, _ = draw_sentences(200)
    with torch.no_grad():
        candidate(*sentence)
    weights = candidate.look_up.weights  # (B, h, T, T)
    places = targets[:, None].expand(-1, weights.shape[1], -1, -1)  # (B, h, T, 2)
    return weights.gather(3, places).sum(dim=-1).mean(dim=(0, 2))


@claim(
    id="3-sharp-spare",
    sentence="a head that is not missed can do that as well",
    control="the same heads before training, which look at no word in particular",
    effect="weight on the words asked for: the highest among heads of eight whose removal "
    "costs less than 0.05, minus the highest before training",
    at_least=0.3,
)
def sharp_spare(seed: int) -> dict[str, float]:
    """What heads that nobody misses look at, and those that are missed."""
    candidate = trained(seed, LookUp, 8)
    asked, cost = weight_on_asked(candidate, seed), costs(candidate).amax(dim=1)
    torch.manual_seed(seed)
    fresh = Candidate(LookUp(8), linear_reader()).eval()
    spare = asked[cost < 0.05].max().item()
    before = weight_on_asked(fresh, seed).max().item()
    ranks = [part.argsort().argsort().double() for part in (asked, cost)]
    return {
        "effect": spare - before,
        "spare": spare,
        "before": before,
        "most missed": asked[cost.argmax()].item(),
        "rank correlation": torch.corrcoef(torch.stack(ranks))[0, 1].item(),
    }


@cache
def looks_and_costs(seed: int) -> dict[str, float]:
    """Return the weight on the words asked for of heads of eight, by what removal costs."""
    candidate = trained(seed, LookUp, 8)
    asked, cost = weight_on_asked(candidate, seed), costs(candidate).amax(dim=1)
    missed = cost >= min(0.05, cost.max().item())
    return {
        "least missed": asked[missed].min().item(),
        "missed": asked[missed].mean().item(),
        "can go": asked[~missed].mean().item(),
        "heads missed": missed.sum().item(),
    }


@claim(
    id="3-missed-look",
    sentence="those that are missed put most of their weight on the words that were asked for",
    control="one head among the missed that looks elsewhere: the least of them counts",
    effect="weight on the words asked for, the least among heads of eight whose removal costs "
    "0.05 or more",
    at_least=0.7,
)
def missed_look(seed: int) -> dict[str, float]:
    """What the heads that are missed look at."""
    found = looks_and_costs(seed)
    return {"effect": found["least missed"], **found}


@claim(
    id="3-spare-look",
    sentence="the others put less there on average",
    control="the heads that are missed: were all heads alike, the two would not differ",
    effect="weight on the words asked for, the least among the heads that are missed minus the "
    "mean of the others",
    at_least=0.2,
)
def spare_look(seed: int) -> dict[str, float]:
    """What the heads that can go look at."""
    found = looks_and_costs(seed)
    return {"effect": found["least missed"] - found["can go"], **found}


def step_of(layer, length: int):
    """Return one forward and backward pass of a layer on a sequence of this length."""
    x = torch.randn(1, length, 64, requires_grad=True)
    return lambda: torch.autograd.grad(layer(x).sum(), x)


@exact(
    "3-weights-memory",
    "at 1,024 words, asking for the weights takes over ten times the memory",
)
def weights_memory() -> None:
    """Peak memory of one step, eight heads of width 8: allocations, the same in each run."""
    ours = MultiHeadAttention(64, 8)
    theirs = to_torch(ours)
    ways = {
        "weights": lambda x: ours(x, x, x, need_weights=True)[0],
        "fused": lambda x: ours(x, x, x)[0],
        "averaged": lambda x: theirs(x, x, x)[0],
        "by head": lambda x: theirs(x, x, x, average_attn_weights=False)[0],
        "none": lambda x: theirs(x, x, x, need_weights=False)[0],
    }
    peak = {name: peak_memory(step_of(way, 1024)) for name, way in ways.items()}
    assert peak["weights"] > 10 * peak["fused"], peak
    assert peak["averaged"] > 10 * peak["none"], peak
    matrices = peak["weights"] / (8 * 1024**2 * 4)  # in units of h matrices T x T
    assert 2.7 < matrices < 3.3, matrices
    assert abs(peak["averaged"] / peak["by head"] - 1) < 0.01, peak
