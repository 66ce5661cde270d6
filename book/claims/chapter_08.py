"""Claims of chapter 8. The models are those of the page, the data are in book/families.py; each
function draws its data, its weights and its batches from the seed.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from book.claims import claim, exact
from book.families import (
    CAPTION_WORDS,
    CLIP_STEPS,
    GAP_STEPS,
    KINDS,
    LABELS,
    SIZE,
    STEPS,
    TEXT_STEPS,
    THINGS,
    Texts,
    blanks_loss,
    by_agreement,
    compare,
    count_models,
    cut_gaps,
    first_row,
    hide_one,
    log_probs,
    make_digits,
    make_kinds,
    make_mender,
    make_tagged,
    make_texts,
    mean_row,
    mend_blanks,
    mend_gaps,
    mender_loss,
    nearest_average,
    no_permute,
    pairs_of,
    perplexity,
    see_all,
    see_itself,
    share_grammatical,
    shuffle_patches,
    split_things,
    zero_shot,
)
from book.one_block import (
    EOS,
    PAD,
    MiniCLIP,
    Reader,
    ViT,
    Writer,
    asked_loss,
    contrastive_loss,
    hide_words,
    next_word_loss,
    patchify,
    train,
)
from transformer.decoder import DecoderLayer, causal_mask
from transformer.encoder import Encoder, EncoderLayer

CHAPTER = "08-one-block-many-models"


def fit(seed: int, make: Callable, loss: Callable, steps: int) -> nn.Module:
    """Make a model from the seed, and train it: loss(model) draws a batch."""
    random.seed(seed)
    torch.manual_seed(seed)
    model = make()
    train(model, lambda: loss(model), steps, bar=False)
    return model


# Exact


@exact("8-same-block", "an encoder layer with a causal mask")
def same_block() -> None:
    """A decoder layer without its cross-attention, in values and gradients, pre- and post-norm."""
    for norm_first in (False, True):
        torch.manual_seed(0)
        ours = EncoderLayer(32, 4, 64, norm_first=norm_first).double().eval()
        theirs = DecoderLayer(32, 4, 64, norm_first=norm_first).double().eval()
        for name, other in (
            ("self_attention", "self_attention"),
            ("feed_forward", "feed_forward"),
            ("norm1", "norm1"),
            ("norm2", "norm3"),
        ):
            state = getattr(theirs, other).state_dict()
            getattr(ours, name).load_state_dict(state)
        x = torch.randn(2, 5, 32, dtype=torch.float64, requires_grad=True)
        mask = causal_mask(5)
        if norm_first:
            normed = theirs.norm1(x)
            y = x + theirs.self_attention(normed, normed, normed, mask)[0]
            y = y + theirs.feed_forward(theirs.norm3(y))
        else:
            y = theirs.norm1(x + theirs.self_attention(x, x, x, mask)[0])
            y = theirs.norm3(y + theirs.feed_forward(y))
        found = ours(x, mask)[0]
        torch.testing.assert_close(found, y)
        upstream = torch.randn_like(y)
        torch.testing.assert_close(
            *(torch.autograd.grad(out, x, upstream) for out in (found, y))
        )


@exact(
    "8-same-size",
    "have, to the last parameter, the same 85 million in the middle",
)
def same_size() -> None:
    """Twelve layers of width 768, 12 heads, d_ff = 3072: the sizes of all three papers."""
    with torch.device("meta"):
        stack = Encoder(12, 768, 12, 4 * 768)
    layer = 4 * (768 * 768 + 768) + (768 * 3072 + 3072) + (3072 * 768 + 768) + 4 * 768
    assert sum(p.numel() for p in stack.parameters()) == 12 * layer == 85_054_464


@exact(
    "8-convolution",
    "a convolution whose kernel is as large as its stride",
)
def convolution() -> None:
    """Cutting and projecting against Conv2d and against loops, on images that are not square."""
    torch.manual_seed(0)
    images = torch.rand(2, 3, 8, 12, dtype=torch.float64)
    project = nn.Linear(3 * 4 * 4, 10).double()
    conv = nn.Conv2d(3, 10, kernel_size=4, stride=4).double()
    with torch.no_grad():
        conv.weight.copy_(project.weight.view(10, 3, 4, 4))
        conv.bias.copy_(project.bias)
    rows = conv(images).flatten(2).transpose(1, 2)
    torch.testing.assert_close(project(patchify(images, 4)), rows)
    for k, patch in enumerate(patchify(images, 4).unbind(dim=1)):
        top, left = 4 * (k // 3), 4 * (k % 3)
        corner = images[:, :, top : top + 4, left : left + 4]
        assert torch.equal(patch, corner.flatten(1))


@exact(
    "8-temperature",
    "For $\\tau \\to 0$ all of the probability goes to the largest score",
    paraphrase="all of the probability goes to the largest score",
)
def temperature() -> None:
    """Both limits, and the power of equation (8.4), for random scores."""
    torch.manual_seed(0)
    logits = torch.randn(20, 6, dtype=torch.float64)
    cold = torch.softmax(logits / 1e-4, dim=-1)
    torch.testing.assert_close(cold, F.one_hot(logits.argmax(-1), 6).double())
    hot = torch.softmax(logits / 1e8, dim=-1)
    torch.testing.assert_close(hot, torch.full_like(hot, 1 / 6))
    power = torch.softmax(logits, dim=-1) ** (1 / 0.7)
    torch.testing.assert_close(
        torch.softmax(logits / 0.7, dim=-1), power / power.sum(dim=-1, keepdim=True)
    )


# A label for a text


def classifier(seed: int, read: Callable = first_row, **settings) -> float:
    """Share of new sentences whose kind is found."""
    kinds = make_kinds(seed)
    model = fit(
        seed,
        lambda: Reader(len(kinds.words), len(KINDS), **settings),
        lambda model: kinds.loss(model, read),
        STEPS,
    )
    ids, right = kinds.test
    with torch.no_grad():
        found = read(model(ids, see_all(ids))[0], ids).argmax(dim=-1)
    return (found == right).float().mean().item()


@cache
def off_cls(seed: int) -> float:
    """The page's classifier."""
    return classifier(seed)


def by_first_word(seed: int) -> float:
    """Share right of the kind that each first word had most often."""
    kinds = make_kinds(seed)
    counts: dict[int, Counter] = defaultdict(Counter)
    for row, kind in zip(*kinds.train, strict=True):
        counts[int(row[1])][int(kind)] += 1
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    ids, right = kinds.test
    found = [best.get(int(row[1]), -1) for row in ids]
    return (torch.tensor(found) == right).float().mean().item()


@claim(
    id="8-classifier",
    sentence="the order of the words tells much of the kind",
    control="the same model without positions, which sees the same words in no order; the first "
    "word alone beside them",
    effect="share of kinds found, with positions minus without",
    at_least=0.1,
    paraphrase="the order of the words tells much about the kind",
)
def order_of_words(seed: int) -> dict[str, float]:
    """Twelve kinds of sentence."""
    found = {
        "first word": by_first_word(seed),
        "no positions": classifier(seed, positions=False),
        "encoder": off_cls(seed),
    }
    return {"effect": found["encoder"] - found["no positions"], **found}


@claim(
    id="8-cls",
    sentence="averaging the rows does about as well",
    control="the same model and steps, its scores averaged over all words in place of [CLS]",
    effect="points of kinds found, the mean's distance from [CLS], either way",
    at_most=5,
)
def cls_or_mean(seed: int) -> dict[str, float]:
    """Where the one answer is read."""
    mean = classifier(seed, mean_row)
    return {
        "effect": 100 * abs(mean - off_cls(seed)),
        "[CLS]": off_cls(seed),
        "mean": mean,
    }


# A label for each word


@cache
def tagged(seed: int) -> dict[str, dict[str, float]]:
    """Scores of three models and of the dictionary."""
    data = make_tagged(seed)
    ids = data.test[0]
    found = {"dictionary": data.scores(data.most_often[ids])}
    for name, mask_of, positions in (
        ("no attention", see_itself, True),
        ("no positions", see_all, False),
        ("encoder", see_all, True),
    ):
        model = fit(
            seed,
            lambda: Reader(len(data.words), len(LABELS), positions=positions),  # noqa: B023
            lambda model: data.loss(model, mask_of),  # noqa: B023 - called at once
            STEPS,
        )
        with torch.no_grad():
            found[name] = data.scores(model(ids, mask_of(ids))[0].argmax(dim=-1))
    return found


def ambiguous(seed: int) -> dict[str, float]:
    """Shares right among ambiguous words."""
    return {name: scores["ambiguous"] for name, scores in tagged(seed).items()}


@claim(
    id="8-tagger",
    sentence="the encoder gets most of the ambiguous words right that a dictionary gets wrong",
    control="a dictionary that gives each word its most frequent case",
    effect="share of the dictionary's mistakes on ambiguous words that are gone",
    at_least=0.5,
)
def against_dictionary(seed: int) -> dict[str, float]:
    """Words that had several cases in training."""
    found = ambiguous(seed)
    wrong = 1 - found["dictionary"]
    return {"effect": (found["encoder"] - found["dictionary"]) / wrong, **found}


@claim(
    id="8-neighbours",
    sentence="the words around it tell much, even in no order",
    control="a mask that lets each word see itself alone, with positions",
    effect="share right of ambiguous words, all words in no order minus the word and its place",
    at_least=0.05,
)
def neighbours(seed: int) -> dict[str, float]:
    """Context without order against order without context."""
    found = ambiguous(seed)
    return {"effect": found["no positions"] - found["no attention"], **found}


@claim(
    id="8-order",
    sentence="their order adds to it",
    control="the same model without positions",
    effect="share right of ambiguous words, with positions minus without",
    at_least=0.02,
)
def order(seed: int) -> dict[str, float]:
    """Order and context against context."""
    found = ambiguous(seed)
    return {"effect": found["encoder"] - found["no positions"], **found}


# Texts


@cache
def filler(seed: int) -> Reader:
    """The fill-in model."""
    texts = make_texts(seed)

    def loss(model: Reader) -> Tensor:
        ids = texts.batch()
        corrupted, answers = hide_words(ids, texts.mask)
        return asked_loss(model(corrupted, see_all(ids))[0], answers)

    size = texts.mask + 1
    return fit(
        seed, lambda: Reader(size, size, d_model=64, tied=True), loss, TEXT_STEPS
    )


class OneWord(Writer):
    """A Writer that sees the last word, and nothing before it."""

    def forward(self, ids):
        """Scores (B, T, vocab) for the word after each of ids (B, T)."""
        return Reader.forward(self, ids, see_itself(ids))[0]


@cache
def writer(seed: int, kind: type = Writer) -> Writer:
    """The language model, or another of its kind."""
    texts = make_texts(seed)
    return fit(
        seed,
        lambda: kind(texts.mask),
        lambda model: next_word_loss(model, texts.batch()),
        TEXT_STEPS,
    )


@claim(
    id="8-both-sides",
    sentence="both sides find more of the hidden words than the left side alone",
    control="as many updates, of as many texts, for both; the language model is asked at every "
    "word, the fill-in model at fewer than a third",
    effect="share of hidden words found, both sides minus the left side",
    at_least=0.05,
)
def both_sides(seed: int) -> dict[str, float]:
    """One word of each new text is hidden, five times over: one alone is a coarse measure."""
    texts, reader, lm = make_texts(seed), filler(seed), writer(seed)
    torch.manual_seed(seed)
    draws = 5
    words = slice(EOS + 1, texts.mask)  # no <pad>, <bos>, <eos>, no blank
    found = {"both sides": 0.0, "left side": 0.0}
    for _ in range(draws):
        hidden, rows, places = hide_one(texts)
        with torch.no_grad():
            both = reader(hidden, see_all(texts.test))[0][rows, places]
            left = lm(texts.test)[rows, places - 1]
        for name, scores in (("both sides", both), ("left side", left)):
            right = EOS + 1 + scores[:, words].argmax(-1) == texts.test[rows, places]
            found[name] += right.float().mean().item() / draws
    return {"effect": found["both sides"] - found["left side"], **found}


@claim(
    id="8-perplexity",
    sentence="the words before the last are worth over a quarter of the perplexity",
    control="the same network, as many updates, with a mask that shows it the last word and its "
    "place alone; the bigram counts beside it",
    effect="perplexity of the last word alone divided by that of all words so far",
    at_least=1.33,
)
def words_before(seed: int) -> dict[str, float]:
    """Perplexity on new texts."""
    texts = make_texts(seed)
    _, bigram = count_models(texts)
    before, after = texts.test[:, :-1], texts.test[:, 1:]
    found = {
        "bigram": perplexity(bigram.log()[before, after][after != PAD]),
        "last word": perplexity(log_probs(writer(seed, OneWord), texts.test)),
        "all words": perplexity(log_probs(writer(seed), texts.test)),
    }
    return {"effect": found["last word"] / found["all words"], **found}


@cache
def drawn(seed: int, temperature: float, top_k: int | None = None) -> dict[str, float]:
    """Share of 150 drawn texts that the grammar accepts, and of different ones."""
    texts = make_texts(seed)
    torch.manual_seed(seed)
    rows = writer(seed).write(150, temperature, top_k)
    words = [texts.to_words(row) for row in rows]
    return {
        "grammatical": share_grammatical(words),
        "different": len(set(words)) / len(words),
    }


@claim(
    id="8-hot",
    sentence="a higher temperature makes more texts wrong",
    control="the same model and the same seed of the draws at 0.3",
    effect="share of grammatical texts, temperature 0.3 minus 1.0",
    at_least=0.2,
)
def hot(seed: int) -> dict[str, float]:
    """From all words."""
    found = {
        f"grammatical {t}": drawn(seed, t)["grammatical"]
        for t in (0.1, 0.3, 0.7, 1.0, 1.5)
    }
    return {"effect": found["grammatical 0.3"] - found["grammatical 1.0"], **found}


@claim(
    id="8-cold",
    sentence="a low one makes them alike",
    control="the same model and the same seed of the draws at 1.0",
    effect="share of different texts, temperature 1.0 minus 0.1",
    at_least=0.2,
)
def cold(seed: int) -> dict[str, float]:
    """From all words."""
    found = {
        f"different {t}": drawn(seed, t)["different"] for t in (0.1, 0.3, 0.7, 1.0, 1.5)
    }
    return {"effect": found["different 1.0"] - found["different 0.1"], **found}


@claim(
    id="8-top-k",
    sentence="top-k keeps more of the hot texts grammatical, and hardly two are the same",
    control="the same temperature without top-k",
    effect="share of grammatical texts at temperature 1.0, top 5 minus all words, where at least "
    "nine in ten of the top 5's are different; else 0",
    at_least=0.15,
)
def top_five(seed: int) -> dict[str, float]:
    """The tail cut off."""
    found = {
        f"grammatical {t}": drawn(seed, t, 5)["grammatical"]
        for t in (0.1, 0.3, 0.7, 1.0, 1.5)
    }
    found |= {
        f"different {t}": drawn(seed, t, 5)["different"]
        for t in (0.1, 0.3, 0.7, 1.0, 1.5)
    }
    gain = found["grammatical 1.0"] - drawn(seed, 1.0)["grammatical"]
    return {"effect": gain if found["different 1.0"] >= 0.9 else 0.0, **found}


@cache
def mended(seed: int) -> dict[str, float]:
    """Share of mended texts that are grammatical, by what mends them and by words missing."""
    texts = make_texts(seed)
    size = texts.mask + 1
    mender = fit(
        seed,
        lambda: make_mender(texts),
        lambda model: mender_loss(model, texts),
        GAP_STEPS,
    )
    blanks = fit(
        seed,
        lambda: Reader(size, size, d_model=64, tied=True),
        lambda model: blanks_loss(model, texts),
        GAP_STEPS,
    )
    found = {}
    originals = texts.test[:300]
    for number in (1, 2, 3):
        random.seed(seed)
        gapped, blanked, _ = cut_gaps(originals, texts.mask, (number,))
        with torch.no_grad():
            written = mend_gaps(mender.eval(), texts, gapped)
            in_turn = mend_in_turn(blanks, texts, blanked)
        found[f"encoder-decoder {number}"] = share_grammatical(written)
        filled = mend_blanks(blanks, texts, blanked)
        found[f"encoder {number}"] = share_grammatical(filled)
        found[f"in turn {number}"] = share_grammatical(in_turn)
        fewer = [
            len(words) < len(texts.to_words(row))
            for words, row in zip(written, originals, strict=True)
        ]
        found[f"fewer words {number}"] = sum(fewer) / len(fewer)
    return found


def mend_in_turn(model: Reader, texts: Texts, blanked: torch.Tensor) -> list[tuple]:
    """Fill the blanks of texts (B, T) from left to right, each in sight of those before it."""
    filled = blanked
    while (gaps := filled == texts.mask).any():
        scores = model(filled, see_all(filled))[0][..., EOS + 1 : texts.mask]
        first = gaps & (gaps.cumsum(dim=1) == 1)
        filled = torch.where(first, EOS + 1 + scores.argmax(dim=-1), filled)
    return [texts.to_words(row) for row in filled]


@claim(
    id="8-gap",
    sentence="where three words in a row are missing, more of the encoder-decoder's texts are "
    "grammatical",
    control="an encoder that fills blanks, trained with as many updates on gaps cut alike, "
    "and told how many words are missing",
    effect="share of grammatical texts with three words missing, encoder-decoder minus encoder",
    at_least=0.08,
)
def three_missing(seed: int) -> dict[str, float]:
    """Words that must agree with each other."""
    found = mended(seed)
    return {"effect": found["encoder-decoder 3"] - found["encoder 3"], **found}


@claim(
    id="8-one-blank",
    sentence="with one word missing, the encoder alone is better",
    control="the encoder-decoder on the same texts: were the encoder simply weaker, it would lose "
    "here, too",
    effect="share of grammatical texts with one word missing, encoder minus encoder-decoder",
    at_least=0.03,
)
def one_missing(seed: int) -> dict[str, float]:
    """No other blank to agree with."""
    found = mended(seed)
    return {"effect": found["encoder 1"] - found["encoder-decoder 1"], **found}


@claim(
    id="8-fewer",
    sentence="most of its texts have fewer words than the original",
    control="the encoder, which fills as many blanks as there are words missing",
    effect="share of the encoder-decoder's texts with fewer words, where three are missing",
    at_least=0.6,
)
def fewer_words(seed: int) -> dict[str, float]:
    """A shorter text may be grammatical, too."""
    return {"effect": mended(seed)["fewer words 3"], **mended(seed)}


@claim(
    id="8-in-turn",
    sentence="filled from left to right, the encoder's blanks come out right more often",
    control="the same encoder, the same blanks, filled at the same time",
    effect="share of grammatical texts with three words missing, from left to right minus at once",
    at_least=0.02,
)
def in_turn(seed: int) -> dict[str, float]:
    """What the order of writing is worth alone."""
    found = mended(seed)
    return {"effect": found["in turn 3"] - found["encoder 3"], **found}


# Images


@cache
def digits(seed: int, positions: str = "learned", change: str = "none") -> float:
    """Share of new digits right; change: "shuffled" patches, or "no permute"."""
    images, labels, learn, check = make_digits(seed)
    if change == "shuffled":
        generator = torch.Generator().manual_seed(seed)
        images = shuffle_patches(images, torch.randperm(16, generator=generator))
    cut = no_permute if change == "no permute" else patchify

    def loss(model: ViT) -> Tensor:
        rows = learn[torch.randint(len(learn), (64,))]
        return F.cross_entropy(model(images[rows])[0], labels[rows])

    model = fit(
        seed, lambda: ViT(1, 8, 2, 10, positions=positions, cut=cut), loss, STEPS
    )
    with torch.no_grad():
        found = model(images[check])[0].argmax(dim=-1)
    return (found == labels[check]).float().mean().item()


@claim(
    id="8-bag",
    sentence="without positions the model is much worse",
    control="the same model with learned positions",
    effect="share of digits right, learned positions minus none",
    at_least=0.1,
)
def bag_of_patches(seed: int) -> dict[str, float]:
    """A digit as sixteen patches in no order."""
    found = {"learned": digits(seed), "none": digits(seed, "none")}
    return {"effect": found["learned"] - found["none"], **found}


@claim(
    id="8-grid",
    sentence="sinusoids in two dimensions do nearly as well as learned positions",
    control="learned positions, as many updates; a shortfall of five points would refute it",
    effect="share of digits right, sinusoids minus learned",
    at_least=-0.05,
)
def grid(seed: int) -> dict[str, float]:
    """No parameters for positions."""
    found = {"sinusoids": digits(seed, "2-D sinusoids"), "learned": digits(seed)}
    return {"effect": found["sinusoids"] - found["learned"], **found}


@claim(
    id="8-shuffled",
    sentence="shuffling all images in the same way costs next to nothing",
    control="the images as they are; a loss of three points would refute it",
    effect="share of digits right, shuffled minus as they are",
    at_least=-0.03,
)
def shuffled(seed: int) -> dict[str, float]:
    """The same order for all images, another for each seed."""
    found = {"shuffled": digits(seed, change="shuffled"), "in order": digits(seed)}
    return {"effect": found["shuffled"] - found["in order"], **found}


@claim(
    id="8-average",
    sentence="it does not beat the nearest average by much",
    control="the class whose average image is nearest, which has nothing to train",
    effect="share of digits right, ours minus the nearest average",
    at_most=0.1,
)
def average(seed: int) -> dict[str, float]:
    """How easy the digits are."""
    _, labels, _, check = make_digits(seed)
    nearest = (nearest_average(seed) == labels[check]).float().mean().item()
    return {"effect": digits(seed) - nearest, "nearest": nearest, "ours": digits(seed)}


@claim(
    id="8-no-permute",
    sentence="no score shows it: on the digits, strips do no worse than patches",
    control="the same model with right patches; a loss of three points would show",
    effect="share of digits right, strips minus patches",
    at_least=-0.03,
)
def strips(seed: int) -> dict[str, float]:
    """Patches that are no patches."""
    found = {"strips": digits(seed, change="no permute"), "patches": digits(seed)}
    return {"effect": found["strips"] - found["patches"], **found}


# Pictures and words


@cache
def clip(seed: int, steps: int = CLIP_STEPS) -> tuple[Tensor, Tensor, list]:
    """Vectors of new drawings of held-out things, of all captions, and the things."""
    known, held_out = split_things(seed)
    torch.manual_seed(seed)
    batch = pairs_of(known)
    model = MiniCLIP(len(CAPTION_WORDS), SIZE)
    if steps:
        train(model, lambda: contrastive_loss(model(*batch())), steps, 3e-3, bar=False)
    torch.manual_seed(seed)
    asked = held_out * 10
    return *compare(model, asked), asked


def first_choice(seed: int, steps: int = CLIP_STEPS) -> float:
    """Share of drawings whose own caption is the nearest of all 80."""
    images, captions, asked = clip(seed, steps)
    truth = torch.tensor([THINGS.index(thing) for thing in asked])
    return ((images @ captions.T).argmax(dim=1) == truth).float().mean().item()


@claim(
    id="8-combinations",
    sentence="of the combinations that it was never shown, most get their own caption",
    control="the same towers untrained, and chance, one in 80",
    effect="share of held-out drawings whose caption is the nearest of 80, trained minus untrained",
    at_least=0.5,
)
def combinations(seed: int) -> dict[str, float]:
    """Sixteen combinations of known parts, another sixteen for each seed."""
    found = {"trained": first_choice(seed), "untrained": first_choice(seed, 0)}
    return {"effect": found["trained"] - found["untrained"], **found}


@claim(
    id="8-agreement",
    sentence="the more parts agree, the nearer drawing and caption lie",
    control="the same towers untrained",
    effect="mean cosine, the smallest step from k parts in agreement to k + 1",
    at_least=0.1,
    holds="every seed",
)
def agreement(seed: int) -> dict[str, float]:
    """None, one, two or all three of colour, shape and place."""

    def steps_of(steps: int) -> tuple[list[float], float]:
        images, captions, asked = clip(seed, steps)
        means = by_agreement(images @ captions.T, asked)
        return means, min(b - a for a, b in pairwise(means))

    means, step = steps_of(CLIP_STEPS)
    parts = {f"{k} agree": mean for k, mean in enumerate(means)}
    return {"effect": step, "untrained": steps_of(0)[1], **parts}


@claim(
    id="8-zero-shot",
    sentence="captions alone make a classifier of colours, of shapes and of places",
    control="the same towers untrained; chance is one in five, one in four, one in four",
    effect="share of held-out drawings right, the worst of the three minus the untrained towers' "
    "best",
    at_least=0.25,
)
def without_labels(seed: int) -> dict[str, float]:
    """Classes by their mean caption."""
    found, untrained = (zero_shot(*clip(seed, steps)) for steps in (CLIP_STEPS, 0))
    best = max(untrained.values())
    return {"effect": min(found.values()) - best, "untrained": best, **found}
