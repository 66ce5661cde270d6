"""Claims of chapter 7, the translator. The small translators are in book/trials.py; each function
draws its corpus, its weights and the order of its batches from the seed.
"""

from __future__ import annotations

import math
import random
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sacrebleu.metrics import CHRF

from book.claims import claim, exact
from book.trials import (
    FIRST_UPDATES,
    SMALL,
    SOUP,
    STARTS,
    Trained,
    aligned_looks,
    dealt,
    describe_plan,
    four_plans,
    gradient_gap,
    leaked_share,
    loss_alike,
    pairs_of,
    prepared,
    shares_kept,
    token_counts,
    train_once,
    unigram_loss,
)
from translator.config import load_config
from translator.data.batching import TokenBatches
from translator.data.prepared import PreparedCorpus
from translator.data.splitting import split_by_groups
from translator.data.token_ids import TokenIds
from translator.decoding.evaluation import scores
from translator.decoding.search import DecodingOptions, decode_ids

CHAPTER = "07-translator"
FOLDER = tempfile.TemporaryDirectory(prefix="claims-7-")


@cache
def corpus_of(seed: int) -> PreparedCorpus:
    """The grammar corpus of a seed; several claims read it."""
    return prepared(seed, Path(FOLDER.name))


# Data


@claim(
    id="7-leak",
    sentence="dealt line by line, test sources are also trained on",
    control="the same pairs dealt by groups",
    effect="share of six test pairs whose source is in training too, line by line minus by groups",
    at_least=0.2,
)
def leak(seed: int) -> dict[str, float]:
    """Several translations of one sentence, shuffled and cut."""
    lines = random.Random(seed).sample(range(len(SOUP)), len(SOUP))
    by_line = leaked_share(lines[6:], lines[:6])
    train, _, test = split_by_groups(SOUP, valid=0, test=6, seed=seed, by="words")
    by_group = leaked_share(train, test)
    return {
        "effect": by_line - by_group,
        "line by line": by_line,
        "by groups": by_group,
    }


@cache
def plans(seed: int) -> dict[str, tuple]:
    """What each way to make batches pads, and how its batches vary."""
    corpus, budget = corpus_of(seed), load_config("tiny").training.max_tokens
    batches = dealt(corpus.train, corpus.tokenizer, budget)
    lengths = token_counts(corpus.train)
    return {
        name: describe_plan(plan, lengths)
        for name, plan in four_plans(batches, seed).items()
    }


@claim(
    id="7-padding",
    sentence="the last row wastes least",
    control="the three other ways, with the same pairs and the same budget",
    effect="share of padding, the best of the three others minus both lengths sorted",
    at_least=0.05,
)
def padding(seed: int) -> dict[str, float]:
    """Cells that hold no word."""
    found = {name: plan[0] for name, plan in plans(seed).items()}
    ours = found.pop("token budget, both lengths sorted")
    return {"effect": min(found.values()) - ours, "both sorted": ours, **found}


@claim(
    id="7-spread",
    sentence="its batches differ more in their number of tokens than random ones of a fixed size",
    control="a fixed number of sentences in random order",
    effect="standard deviation over mean of a batch's target tokens, how many times the control's",
    at_least=2,
)
def spread(seed: int) -> dict[str, float]:
    """The price of sorting."""
    ratio = {name: plan[3] / plan[2] for name, plan in plans(seed).items()}
    ours = ratio["token budget, both lengths sorted"]
    fixed = ratio["fixed number, random"]
    return {"effect": ours / fixed, "both sorted": ours, "fixed number": fixed}


# Loss and rate


@claim(
    id="7-mean-of-means",
    sentence="the gradient of a mean of means is another one",
    control="sums divided once by all tokens, which give the large batch's gradient",
    effect="distance from the large batch's gradient, as a share of its length",
    at_least=0.05,
    holds="every seed",
)
def mean_of_means(seed: int) -> dict[str, float]:
    """A part of long sentences and a part of short ones."""
    corpus = corpus_of(seed)
    torch.manual_seed(seed)
    tok = corpus.tokenizer
    model = load_config("tiny").model.build(tok.vocab_size, tok.pad_id).eval()
    right, wrong = gradient_gap(model, corpus)
    assert right < 1e-4
    return {"effect": wrong, "sums": right}


@exact("7-smoothing", "the two are one family")
def smoothing_family() -> None:
    """(A) with eps is (B) with eps (V - 1) / V, and PyTorch's is (A)."""
    for size in (3, 50, 900):
        torch.manual_seed(size)
        logits = torch.randn(20, size, dtype=torch.float64)
        target = torch.randint(size, (20,))
        log_p = logits.log_softmax(dim=-1)
        right = log_p.gather(1, target[:, None])[:, 0]
        eps = 0.1
        smaller = eps * (size - 1) / size
        others = (log_p.sum(dim=-1) - right) / (size - 1)
        b = -(1 - smaller) * right - smaller * others
        a = F.cross_entropy(logits, target, label_smoothing=eps, reduction="none")
        torch.testing.assert_close(a, b)


@exact(
    "7-adam", "the first update moves every weight that has a gradient by the full rate"
)
def first_update() -> None:
    """Corrected for the start at zero, m and the root of v are equal but for the sign."""
    torch.manual_seed(0)
    weights = torch.nn.Parameter(torch.randn(100, dtype=torch.float64))
    before = weights.detach().clone()
    adam = torch.optim.Adam([weights], lr=0.01, betas=(0.9, 0.98), eps=1e-12)
    weights.grad = torch.randn(100, dtype=torch.float64) * 10.0 ** torch.arange(
        -3, 2
    ).repeat(20)
    adam.step()
    moved = before - weights.detach()
    torch.testing.assert_close(moved, 0.01 * weights.grad.sign())


@exact("7-misprint", "it never decays")
def misprint() -> None:
    """The least of a constant and a rising line does not fall."""
    rates = [
        512**-0.5 * min(math.sqrt(1 / 512), step * 4000**-1.5)
        for step in range(1, 1_000_001, 250)
    ]
    assert rates == sorted(rates)
    assert rates[-1] > (512 * 4000) ** -0.5


@cache
def first_updates(seed: int, start: str, rate: float = 4e-3) -> float:
    """Validation loss after 110 updates."""
    settings = [*FIRST_UPDATES, *STARTS[start], f"training.peak_lr={rate}"]
    config = load_config("tiny", settings)
    trained = train_once(config, corpus_of(seed), seed)
    return loss_alike(trained.translator, trained.corpus.valid)


@claim(
    id="7-warm-up",
    sentence="with warm-up the same network learns",
    control="the same weights and batches without warm-up; the same with pre-norm",
    effect="validation loss (nats a token) of post-norm at the high rate, without minus with",
    at_least=0.5,
)
def warm_up(seed: int) -> dict[str, float]:
    """Three starts at one high rate."""
    found = {name: first_updates(seed, name) for name in STARTS}
    without, rising = (found[name] for name in list(STARTS)[:2])
    return {"effect": without - rising, **found}


@claim(
    id="7-frequencies",
    sentence="post-norm without warm-up learns little more than how frequent each token is",
    control="pre-norm without warm-up, at the same rate",
    effect="nats a token below the loss of word frequencies alone",
    at_most=0.15,
)
def frequencies(seed: int) -> dict[str, float]:
    """A loss that a list of frequencies has, too."""
    alone = unigram_loss(corpus_of(seed))
    post = first_updates(seed, "post-norm, no warm-up")
    pre = first_updates(seed, "pre-norm, no warm-up")
    return {"effect": alone - post, "pre-norm": alone - pre, "frequencies": alone}


@claim(
    id="7-quarter-rate",
    sentence="at a quarter of the rate post-norm learns without warm-up, too",
    control="the high rate, from the same weights and batches",
    effect="validation loss (nats a token) without warm-up, high rate minus a quarter of it",
    at_least=0.4,
)
def quarter_rate(seed: int) -> dict[str, float]:
    """It is the rate that the start cannot bear."""
    high, low = (
        first_updates(seed, "post-norm, no warm-up", rate) for rate in (4e-3, 1e-3)
    )
    return {"effect": high - low, "high": high, "quarter": low}


# One training, many questions


@cache
def small(seed: int) -> Trained:
    """The page's small translator, trained from this seed; several claims ask it."""
    return train_once(load_config("tiny", SMALL), corpus_of(seed), seed)


@claim(
    id="7-clipped",
    sentence="clipping changes more than one update in five",
    control="updates whose gradient is shorter than the limit, which stay as they are",
    effect="share of updates whose gradient is longer than clip_norm",
    at_least=0.2,
)
def clipped(seed: int) -> dict[str, float]:
    """What the log has of every gradient."""
    trained = small(seed)
    norms = [line["gradient_norm"] for line in trained.log]
    limit = trained.translator.config.training.clip_norm
    return {"effect": float(np.mean([norm > limit for norm in norms]))}


@claim(
    id="7-two-losses",
    sentence="measured alike, training pairs cost less than validation pairs, on average over "
    "seeds",
    control="the losses as they are logged, which say the opposite",
    effect="nats a token, validation minus training, both without smoothing and dropout",
    at_least=0,
)
def two_losses(seed: int) -> dict[str, float]:
    """Two curves that are not the same quantity."""
    trained = small(seed)
    train = trained.corpus.train
    rows = np.random.default_rng(seed).permutation(len(train))[:500]
    alike = [
        loss_alike(trained.translator, ids)
        for ids in (train.select(rows), trained.corpus.valid)
    ]
    logged = np.mean([line["loss"] for line in trained.log[-50:]])
    return {
        "effect": alike[1] - alike[0],
        "training": alike[0],
        "validation": alike[1],
        "training as logged": float(logged),
    }


@cache
def test_pairs(seed: int) -> tuple[list[str], list[str]]:
    """Sources and references of 300 test sentences."""
    rows = corpus_of(seed).texts("test")[:300]
    return [row.source for row in rows], [row.target for row in rows]


@cache
def written(seed: int, width: int) -> list[str]:
    """Their translations with a beam of this width."""
    sources, _ = test_pairs(seed)
    return small(seed).translator.translate(sources, DecodingOptions(beam_size=width))


@claim(
    id="7-beam",
    sentence="a beam of four scores a little more than greedy decoding, on average over seeds",
    control="the same model and sentences decoded greedily",
    effect="BLEU, beam 4 minus greedy",
    at_least=0,
)
def beam(seed: int) -> dict[str, float]:
    """Greedy and beam on the test set."""
    _, references = test_pairs(seed)
    greedy, four = (
        scores(written(seed, width), references)["bleu"]["score"] for width in (1, 4)
    )
    return {"effect": four - greedy, "greedy": greedy, "beam 4": four}


@claim(
    id="7-heads",
    sentence="the mean of the last layer's heads finds the aligned word more often than its best "
    "head does",
    control="the head that does best on validation sentences",
    effect="share of English words whose largest weight is on an aligned word, mean minus best",
    at_least=0,
)
def heads(seed: int) -> dict[str, float]:
    """Counted on the test where the true alignment is known."""
    trained = small(seed)
    on_valid, _ = aligned_looks(
        trained.translator, pairs_of(trained.corpus, "valid", 100)
    )
    hits, asked = aligned_looks(
        trained.translator, pairs_of(trained.corpus, "test", 100)
    )
    best = hits[-1, :-1][on_valid[-1, :-1].argmax()] / asked
    mean = hits[-1, -1] / asked
    return {"effect": float(mean - best), "mean": float(mean), "best head": float(best)}


@cache
def hidden(seed: int) -> dict[str, float]:
    """What stays when positions are hidden."""
    trained = small(seed)
    pairs = pairs_of(trained.corpus, "test", 60)
    sentences = [(" ".join(pair.source), " ".join(pair.target)) for pair in pairs]
    return shares_kept(trained.translator, sentences, seed)


@claim(
    id="7-last-look",
    sentence="most words survive when the look in the picture is forbidden",
    control="the same position hidden from all layers",
    effect="share of tokens that stay the likeliest, favourite hidden from the last layer",
    at_least=0.5,
)
def last_look(seed: int) -> dict[str, float]:
    """The look that the picture shows can no longer be taken."""
    found = hidden(seed)
    return {"effect": found["favourite, last layer"], **found}


@claim(
    id="7-favourite",
    sentence="hiding another position changes next to nothing and hiding the favourite changes "
    "much",
    control="another position, drawn by chance",
    effect="share of tokens that stay, another hidden minus the favourite, whole decoder",
    at_least=0.3,
)
def favourite(seed: int) -> dict[str, float]:
    """The weights are not meaningless."""
    found = hidden(seed)
    other = found["another, whole decoder"]
    ours = found["favourite, whole decoder"]
    return {"effect": other - ours, "another": other, "favourite": ours}


def sureness(seed: int, sources: list[str]) -> np.ndarray:
    """Mean log-probability a token of the greedy translation of each source."""
    trained = small(seed)
    model, tok = trained.translator.model, trained.translator.tokenizer
    found = np.zeros(len(sources))
    ids = [tok.encode(source) for source in sources]
    for rows, hypotheses in decode_ids(model, tok, ids, DecodingOptions(beam_size=1)):
        for row, (best, *_) in zip(rows, hypotheses, strict=True):
            found[row] = best.log_probability / (len(best.tokens) + 1)
    return found


@claim(
    id="7-sure",
    sentence="a translation that the model is surer of is a better one, on average",
    control="no relation, which would be a correlation of 0",
    effect="correlation of mean log-probability a token and chrF, over test sentences",
    at_least=0.4,
)
def sure(seed: int) -> dict[str, float]:
    """Greedy translations of the test set."""
    sources, references = test_pairs(seed)
    chrf = CHRF()
    quality = [
        chrf.sentence_score(output, [reference]).score
        for output, reference in zip(written(seed, 1), references, strict=True)
    ]
    return {"effect": float(np.corrcoef(sureness(seed, sources), quality)[0, 1])}


@claim(
    id="7-shuffled",
    sentence="the model is surer of a sentence than of the same words shuffled",
    control="the same words in an order drawn by chance",
    effect="share of test sentences of which it is surer than of their words shuffled",
    at_least=0.7,
)
def shuffled_words(seed: int) -> dict[str, float]:
    """Input that is no German, made of German words."""
    sources, _ = test_pairs(seed)
    draw = random.Random(seed)
    mixed = [" ".join(draw.sample(s.split(), len(s.split()))) for s in sources]
    return {"effect": float((sureness(seed, sources) > sureness(seed, mixed)).mean())}


# Several processes


@exact("7-processes", "a step has the same sentences on any number of processes")
def processes() -> None:
    """The rows that all processes take together are those that one process takes."""
    rng = np.random.default_rng(0)
    ids = TokenIds.from_lists(
        *(
            [rng.integers(4, 50, n).tolist() for n in rng.integers(1, 20, 200)]
            for _ in "st"
        )
    )
    specials = {"pad_id": 0, "bos_id": 1, "eos_id": 2}
    for accumulation, world in ((1, 2), (1, 4), (2, 2), (4, 2), (2, 8)):
        alone, *ranks = (
            list(
                TokenBatches(
                    ids,
                    120,
                    **specials,
                    accumulation=accumulation,
                    rank=r,
                    world_size=n,
                ).steps(3)
            )
            for n, r in ((1, 0), *((world, r) for r in range(world)))
        )
        for step, *shares in zip(alone, *ranks, strict=True):
            expected, shared = (
                sorted(row for batch in parts for row in batch.indices.tolist())
                for parts in (step, [batch for share in shares for batch in share])
            )
            assert expected == shared
