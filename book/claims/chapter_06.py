"""Claims of chapter 6, the decoder. The models are in book/at_once.py and book/writing.py; each
function draws its data and its weights from the seed.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from book.at_once import (
    SOURCES,
    STEPS,
    AllAtOnce,
    one_after_another,
    share_right,
    shift_right,
    train_toy,
    write_at_once,
    write_step_by_step,
)
from book.claims import claim, exact
from book.writing import (
    BOS,
    CURES,
    PAD,
    alignment_accuracy,
    candidates,
    cross_maps,
    greedy_at_zero,
    guess_diagonal,
    make_corpus,
    to_batch,
    to_words,
    train,
    translate,
)
from transformer.attention import padding_mask
from transformer.decoder import Decoder
from transformer.model import Transformer

CHAPTER = "06-decoder"

# All at once


def draws() -> Tensor:
    """Twenty translations of each of the 96 sentences."""
    return torch.arange(len(SOURCES)).repeat(20)


def at_once(seed: int, *, steps: int = STEPS, **sizes: int) -> float:
    """Share right where the three words are drawn independently."""
    torch.manual_seed(seed)
    model = AllAtOnce(**sizes)
    train_toy(model, lambda src, tgt: model(src), steps=steps)
    return share_right(write_at_once(model, draws()), draws())


@claim(
    id="6-at-once",
    sentence="three independent coins agree one time in four",
    control="a decoder, which sees the word before, trained for as many steps",
    effect="share of right translations, step by step minus all at once",
    at_least=0.5,
)
def coins(seed: int) -> dict[str, float]:
    """Two right orders, chosen three times over or once."""
    once = at_once(seed)
    torch.manual_seed(seed)
    model = one_after_another()
    train_toy(model, lambda src, tgt: model(src, shift_right(tgt)))
    stepwise = share_right(write_step_by_step(model.eval(), draws()), draws())
    return {"effect": stepwise - once, "at once": once, "step by step": stepwise}


@claim(
    id="6-at-once-larger",
    sentence="more training does not help, and neither does a larger encoder",
    control="three times the steps; four layers of twice the width",
    effect="share of right translations all at once, the better of the two",
    at_most=0.4,
)
def larger(seed: int) -> dict[str, float]:
    """What independent choices cannot do, longer training and size do not either."""
    longer = at_once(seed, steps=3 * STEPS)
    wider = at_once(seed, d_model=64, num_layers=4)
    return {"effect": max(longer, wider), "longer": longer, "larger": wider}


# Exact


@exact(
    "6-no-leak",
    "the derivative of each output by a later input is zero, not small",
    paraphrase="is zero, not small",
)
def no_leak() -> None:
    """In train mode and in eval mode."""
    for seed in range(3):
        torch.manual_seed(seed)
        decoder = Decoder(2, 16, num_heads=4, d_ff=32, dropout=0.1, norm_first=True)
        x, memory = torch.randn(1, 7, 16), torch.randn(1, 5, 16)
        for mode in (True, False):
            decoder.train(mode)
            jacobian = torch.autograd.functional.jacobian(
                lambda x: decoder(x, memory)[0],  # noqa: B023 - called at once
                x,
            )
            sizes = jacobian[0, :, :, 0].transpose(1, 2).flatten(2).norm(dim=-1)
            assert not sizes.triu(diagonal=1).any()


@exact("6-cache", "a token's vectors depend on nothing later")
def with_cache() -> None:
    """Step by step, with the keys and values that were kept, equals all at once."""
    for seed in range(5):
        torch.manual_seed(seed)
        model = Transformer(
            20, 20, pad_id=PAD, d_model=16, num_heads=2, d_ff=32, dropout=0.0
        )
        model = model.double().eval()
        src, tgt = torch.randint(1, 20, (2, 6)), torch.randint(1, 20, (2, 8))
        with torch.no_grad():
            memory, _ = model.encode(src)
            cache = model.init_cache(memory, max_len=8)
            mask = padding_mask(src, PAD)
            steps = [
                model.decode(token, None, mask, cache=cache)[0]
                for token in tgt.split(1, dim=1)
            ]
            torch.testing.assert_close(torch.cat(steps, dim=1), model(src, tgt))


# German to English


@cache
def translator(seed: int, cure: str = "none") -> Transformer:
    """A trained translator; several claims ask the same one."""
    return train(make_corpus(seed), seed, cure=cure)[0]


@cache
def written(seed: int, cure: str = "none") -> dict[str, list[tuple]]:
    """Its translations of the test sets."""
    corpus = make_corpus(seed)
    return {
        name: translate(translator(seed, cure), corpus, pairs)
        for name, pairs in corpus.tests.items()
    }


def exact_match(seed: int, name: str, cure: str = "none") -> float:
    """Share of a test set that comes out word for word."""
    pairs = make_corpus(seed).tests[name]
    found = written(seed, cure)[name]
    return sum(a == pair.target for a, pair in zip(found, pairs, strict=True)) / len(
        pairs
    )


@claim(
    id="6-random",
    sentence="of the random sentences nearly all come out right, word for word",
    control="the two other test sets, translated by the same model",
    effect="share of exact matches on the random test",
    at_least=0.9,
)
def random_test(seed: int) -> dict[str, float]:
    """Exact match on the three tests."""
    found = {
        name: exact_match(seed, name) for name in ("random", "compositional", "length")
    }
    return {"effect": found["random"], **found}


@claim(
    id="6-compositional",
    sentence="averaged over splits, new combinations cost less than longer sentences do",
    control="the length test, translated by the same model; the random test beside both",
    effect="share of exact matches, compositional minus length",
    at_least=0,
)
def compositional(seed: int) -> dict[str, float]:
    """Known words, put together as training never showed them."""
    found = {
        name: exact_match(seed, name) for name in ("random", "compositional", "length")
    }
    return {"effect": found["compositional"] - found["length"], **found}


@claim(
    id="6-length",
    sentence="longer sentences cost about a third of the exact matches",
    control="sentences of the trained lengths, of the same words and constructions",
    effect="share of exact matches, random minus length",
    at_least=0.25,
)
def length(seed: int) -> dict[str, float]:
    """Eleven words and more, after training that ended at ten."""
    short, long = (exact_match(seed, name) for name in ("random", "length"))
    return {"effect": short - long, "random": short, "length": long}


@claim(
    id="6-wrong-length",
    sentence="more than half of the wrong translations of longer sentences have another number "
    "of words than the right one",
    control="wrong ones with the right number of words",
    effect="share of the wrong ones on the length test that are too short or too long",
    at_least=0.5,
)
def wrong_length(seed: int) -> dict[str, float]:
    """Too short and too long, counted."""
    pairs = make_corpus(seed).tests["length"]
    wrong = [
        len(words) - len(pair.target)
        for words, pair in zip(written(seed)["length"], pairs, strict=True)
        if words != pair.target
    ]
    short, long = (
        sum(apart < 0 for apart in wrong),
        sum(apart > 0 for apart in wrong),
    )
    return {
        "effect": (short + long) / len(wrong),
        "short": short,
        "long": long,
        "all": len(wrong),
    }


@claim(
    id="6-length-cures",
    sentence="neither cure for places that training never showed brings the long sentences back",
    control="training with random offsets, and relative biases in place of sinusoids, each with as "
    "many steps",
    effect="share of exact matches on the length test, the better cure minus sinusoids as they are",
    at_most=0.15,
)
def length_cures(seed: int) -> dict[str, float]:
    """If unseen positions were to blame, either would help."""
    found = {cure: exact_match(seed, "length", cure) for cure in CURES}
    return {"effect": max(found[cure] for cure in CURES[1:]) - found["none"], **found}


@claim(
    id="6-alignment",
    sentence="the map chosen on validation looks at the counterpart far more often than a look "
    "straight ahead would",
    control="always looking at the source word with the same number",
    effect="share of target words whose largest weight is on an aligned word, minus the control's",
    at_least=0.2,
)
def alignment(seed: int) -> dict[str, float]:
    """Chosen on validation sentences, reported on test sentences."""
    corpus, model = make_corpus(seed), translator(seed)
    on_valid, on_test = (
        {
            name: alignment_accuracy(weights, pairs)
            for name, weights in candidates(cross_maps(model, corpus, pairs))
        }
        for pairs in (corpus.valid, corpus.tests["random"])
    )
    chosen = on_test[max(on_valid, key=on_valid.get)]
    ahead = guess_diagonal(corpus.tests["random"])
    return {"effect": chosen - ahead, "chosen": chosen, "straight ahead": ahead}


@claim(
    id="6-at-zero",
    sentence="with every step at position 0 at least one more sentence in ten goes wrong",
    control="the same model and sentences with the right positions",
    effect="share of exact matches on 100 random sentences, right positions minus all at 0",
    at_least=0.1,
)
def at_zero(seed: int) -> dict[str, float]:
    """A cache without an offset."""
    corpus, model = make_corpus(seed), translator(seed)
    pairs = corpus.tests["random"][:100]
    src = to_batch([pair.source for pair in pairs], corpus.german_ids)
    rows = greedy_at_zero(model, src, max_len=25, bos=BOS)
    found = [to_words(corpus, row) for row in rows]
    zero = sum(a == pair.target for a, pair in zip(found, pairs, strict=True)) / 100
    ours = written(seed)["random"][:100]
    right = sum(a == pair.target for a, pair in zip(ours, pairs, strict=True)) / 100
    return {"effect": right - zero, "right": right, "at zero": zero}
