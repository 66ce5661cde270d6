"""Chapter 7's small translators: batches four ways, first updates, one training, many questions.

Page and claims share what is here: the page runs it once, a claim for each of ten seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.decoder import target_mask
from translator import grammar
from translator.config import Config, load_config
from translator.data.batching import TokenBatches
from translator.data.cleaning import TextPair, normalise
from translator.data.preparation import prepare
from translator.data.prepared import PreparedCorpus
from translator.data.token_ids import TokenIds
from translator.decoding.model_folder import Translator
from translator.training.objective import learning_rate, token_loss

#: The small translator: for a quick training narrower than tiny.toml, with smaller batches and a
#: higher rate.
SMALL = [
    "model.d_model=96",
    "model.d_ff=384",
    "training.max_steps=470",
    "training.max_tokens=640",
    "training.warmup_steps=120",
    "training.peak_lr=3e-3",
]
#: The first updates of a deeper and narrower one, at one rate.
FIRST_UPDATES = [
    "model.d_model=64",
    "model.d_ff=256",
    "model.num_encoder_layers=3",
    "model.num_decoder_layers=3",
    "model.dropout=0.0",
    "training.max_tokens=500",
    "training.max_steps=110",
    "training.schedule=constant",
    "training.peak_lr=4e-3",
    "training.log_every=10",
    "training.checkpoint_every=1000",
    "training.validate_every=1000",
    "training.label_smoothing=0.0",
]
STARTS = {
    "post-norm, no warm-up": ["model.norm_first=false", "training.warmup_steps=0"],
    "post-norm, warm-up": ["model.norm_first=false", "training.warmup_steps=60"],
    "pre-norm, no warm-up": ["model.norm_first=true", "training.warmup_steps=0"],
}

# Data


def _several(sources: Sequence[str], targets: Sequence[str]) -> list[TextPair]:
    return [TextPair(source, target) for source in sources for target in targets]


#: A corpus in which sentences have several translations, as in Tatoeba.
SOUP = [
    *_several(
        [
            "Die Suppe ist zu salzig.",
            "Die Suppe ist zu salzig!",
            "Zu salzig ist die Suppe.",
        ],
        ["The soup is too salty.", "This soup is too salty."],
    ),
    *_several(
        [
            "Dann bis nächste Woche!",
            "Also bis nächste Woche!",
            "Wir sehen uns dann nächste Woche.",
        ],
        ["See you next week, then!", "Until next week, then!", "Then until next week."],
    ),
    *_several(
        ["Das Dach ist undicht."], ["The roof is leaking.", "The roof lets in water."]
    ),
    *_several(
        ["Wo wohnst du zurzeit?", "Wo wohnt ihr zurzeit?"],
        ["Where do you live at present?"],
    ),
    *_several(["Mein Rad ist kaputt."], ["My bike is broken."]),
    *_several(["Wer hat den Tee gekocht?"], ["Who made the tea?"]),
]


def leaked_share(train: Sequence[int], test: Sequence[int]) -> float:
    """Return the share of test pairs of SOUP whose source is a training source, too."""
    known = {SOUP[row].source for row in train}
    return sum(SOUP[row].source in known for row in test) / len(test)


def unigram_loss(corpus: PreparedCorpus) -> float:
    """Return the least loss, in nats a token, of a model that knows frequencies alone."""
    counts = np.bincount(corpus.train.tgt_ids, minlength=corpus.tokenizer.vocab_size)
    counts[corpus.tokenizer.eos_id] += len(corpus.train)
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


# Batches


def token_counts(ids: TokenIds) -> np.ndarray:
    """Return the tokens of each source and target with its <eos>: (2, N)."""
    return np.stack([ids.src_lengths, ids.tgt_lengths]) + 1


def cut_by_count(order: Sequence[int], count: int) -> list[np.ndarray]:
    """Cut the rows, in this order, into batches of so many."""
    return [np.asarray(order[i : i + count]) for i in range(0, len(order), count)]


def cut_by_tokens(
    order: Sequence[int], lengths: np.ndarray, budget: int
) -> list[np.ndarray]:
    """Cut the rows, in this order, into the longest batches of at most ``budget`` cells a side."""
    plan, batch, widest = [], [], 0
    for row in order:
        width = max(widest, lengths[:, row].max())
        if batch and (len(batch) + 1) * width > budget:
            plan.append(np.array(batch))
            batch, width = [], lengths[:, row].max()
        batch.append(row)
        widest = width
    return [*plan, np.array(batch)]


def describe_plan(
    plan: list[np.ndarray], lengths: np.ndarray
) -> tuple[float, int, float, float]:
    """Return share of padding, number of batches, target tokens a batch: mean and spread.

    The last batch, which may be short, does not count for mean and spread.
    """
    cells = sum(len(rows) * lengths[:, rows].max(axis=1).sum() for rows in plan)
    words = np.array([lengths[1, rows].sum() for rows in plan[:-1]])
    return 1 - lengths.sum() / cells, len(plan), words.mean(), words.std()


def four_plans(batches: TokenBatches, seed: int) -> dict[str, list[np.ndarray]]:
    """Return four ways to make batches of the same pairs, with the same budget of cells a side."""
    lengths, budget = token_counts(batches.ids), batches.max_tokens
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(lengths.shape[1])
    by_size = np.argsort(lengths[0], kind="stable")
    count = budget // int(np.percentile(lengths, 95))
    return {
        "fixed number, random": cut_by_count(shuffled, count),
        "fixed number, sorted": cut_by_count(by_size, count),
        "token budget, random": cut_by_tokens(shuffled, lengths, budget),
        "token budget, both lengths sorted": batches.plan(epoch=0),
    }


# Losses


def dealt(ids: TokenIds, tokenizer, max_tokens: int, **settings) -> TokenBatches:
    """Return the batches of a split with a tokenizer's special ids."""
    tok = tokenizer
    ends = {"pad_id": tok.pad_id, "bos_id": tok.bos_id, "eos_id": tok.eos_id}
    return TokenBatches(ids, max_tokens, **ends, **settings)


def gradient_gap(model: nn.Module, corpus: PreparedCorpus) -> tuple[float, float]:
    """Return how far two ways to add up micro-batches are from the large batch's gradient.

    The micro-batches are twelve long sentences and twelve short ones. First sums that are divided
    by all tokens, then a mean of means; each as a share of the gradient's length.
    """
    batches = dealt(corpus.train, corpus.tokenizer, 10_000)
    by_target = np.argsort(corpus.train.tgt_lengths, kind="stable")
    parts = by_target[-12:], by_target[:12]

    def gradient(losses) -> Tensor:
        model.zero_grad()
        for loss in losses:
            loss.backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])

    def summed(rows) -> tuple[Tensor, int]:
        batch = batches.batch(rows)
        logits = model(batch.src, batch.tgt_in)
        return token_loss(logits, batch.tgt_out, model.pad_id), batch.num_tokens

    loss, tokens = summed(np.concatenate(parts))
    large = gradient([loss / tokens])
    right = gradient([summed(rows)[0] / tokens for rows in parts])
    wrong = gradient([a / n / len(parts) for a, n in map(summed, parts)])
    return tuple(((g - large).norm() / large.norm()).item() for g in (right, wrong))


@torch.no_grad()
def loss_alike(translator: Translator, ids: TokenIds) -> float:
    """Return the loss of pairs in nats a token, without label smoothing and without dropout."""
    model, tok = translator.model.eval(), translator.tokenizer
    total = tokens = 0
    for batch in dealt(ids, tok, 800, shuffle=False).batches():
        logits = model(batch.src, batch.tgt_in)
        total += token_loss(logits, batch.tgt_out, tok.pad_id).item()
        tokens += batch.num_tokens
    return total / tokens


# Trainings


def train(model, corpus, config) -> Iterator[dict]:
    """Train a model; yield a line of the log after each update.

    The loop of chapter 7, word for word: a test compares the two.
    """
    settings, tok = config.training, corpus.tokenizer
    torch.manual_seed(settings.seed)
    batches = dealt(corpus.train, tok, settings.max_tokens, seed=settings.seed)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    update, epoch = 0, 0
    while True:
        for rows in batches.plan(epoch):
            batch, update = batches.batch(rows), update + 1
            rate = learning_rate(update, settings, config.model.d_model, 0.0)
            for group in adam.param_groups:
                group["lr"] = rate
            logits = model.train()(batch.src, batch.tgt_in)  # -> (B, T, vocab)
            share = settings.label_smoothing
            summed = token_loss(logits, batch.tgt_out, tok.pad_id, share)
            loss = summed / batch.num_tokens
            adam.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
            adam.step()
            line = {"update": update, "loss": loss.item(), "tokens": batch.num_tokens}
            yield {**line, "learning_rate": rate, "gradient_norm": norm.item()}
            if update == settings.max_steps:
                return
        epoch += 1


@dataclass(frozen=True)
class Trained:
    """A translator with the data and the log of its training."""

    translator: Translator
    corpus: PreparedCorpus
    log: list[dict]


def prepared(seed: int, folder: Path) -> PreparedCorpus:
    """Draw a grammar corpus by the seed: pairs, split and vocabulary; it lies in the folder."""
    settings = load_config("tiny", [f"data.seed={seed}"]).data
    return prepare(settings, Path(folder) / f"grammar-{seed}")


def train_once(config: Config, corpus: PreparedCorpus, seed: int) -> Trained:
    """Train from weights and an order of batches that follow from the seed."""
    config = config.replace({"training.seed": seed})
    torch.manual_seed(seed)
    tok = corpus.tokenizer
    model = config.model.build(tok.vocab_size, tok.pad_id)
    log = list(train(model, corpus, config))
    return Trained(Translator(model.eval(), tok, config), corpus, log)


def pairs_of(corpus: PreparedCorpus, split: str, count: int) -> list:
    """Return so many pairs of a split as the grammar knows them, with their alignment."""
    found = []
    for row in corpus.texts(split)[:count]:
        (pair,) = (
            p for p in grammar.parse(row.source) if " ".join(p.target) == row.target
        )
        found.append(pair)
    return found


# Where it looks


@torch.no_grad()
def cross_weights(
    translator: Translator, source: str, target: str
) -> tuple[list[Tensor], list[str], list[str]]:
    """Return each layer's cross-attention (h, T + 1, S + 1), and the tokens at both sides."""
    model, tok = translator.model, translator.tokenizer
    ids, out = tok.encode(normalise(source)), tok.encode(target)
    src = torch.tensor([[*ids, tok.eos_id]])  # (1, S + 1)
    tgt = torch.tensor([[tok.bos_id, *out]])  # (1, T + 1)
    memory, _ = model.encode(src)
    _, weights = model.decode(
        tgt, memory, padding_mask(src, model.pad_id), need_weights=True
    )
    written, read = (
        [*(t.strip() or "·" for t in tok.tokens(part)), "<eos>"] for part in (out, ids)
    )
    return [cross[0] for _, cross in weights], written, read


def word_of_token(tokenizer, text: str) -> np.ndarray:
    """Return the number of the word that each token of a text belongs to."""
    starts = [t.startswith(" ") for t in tokenizer.tokens(tokenizer.encode(text))]
    return np.cumsum(starts)


def aligned_looks(translator: Translator, pairs: Sequence) -> tuple[np.ndarray, int]:
    """Count the words for which a head's largest weight is on an aligned word: (N, h + 1).

    One column a head, and one for the mean of a layer's heads; then how many words were asked.
    English words without a counterpart are not; the look is that which wrote a word's first token.
    """
    sizes = translator.config.model
    hits, asked = np.zeros((sizes.num_decoder_layers, sizes.num_heads + 1)), 0
    for pair in pairs:
        source, target = " ".join(pair.source), " ".join(pair.target)
        maps, _, _ = cross_weights(translator, source, target)
        from_word = word_of_token(translator.tokenizer, source)
        to_word = word_of_token(translator.tokenizer, target)
        for i in range(len(pair.target)):
            right = {j for j, other in pair.alignment if other == i}
            if not right:
                continue
            asked += 1
            first_token = int(np.flatnonzero(to_word == i)[0])
            for number, weights in enumerate(maps):  # (h, T + 1, S + 1)
                looks = weights[:, first_token, : len(from_word)]
                looks = torch.cat([looks, looks.mean(dim=0, keepdim=True)])
                for head, look in enumerate(looks):
                    hits[number, head] += from_word[look.argmax()] in right
    return hits, asked


# Attention is not explanation


def decode_hiding(model, tgt: Tensor, memory: Tensor, masks: Sequence) -> Tensor:
    """Return logits (B, T, vocab) where each decoder layer has a memory mask of its own."""
    x = model.embed(tgt, model.tgt_embedding)  # (B, T) -> (B, T, D)
    causal = target_mask(tgt, model.pad_id)  # (B, T, T)
    for layer, mask in zip(model.decoder.layers, masks, strict=True):
        x, _ = layer(x, memory, causal, mask)
    return model.output_proj(model.decoder.norm(x))  # (B, T, D) -> (B, T, vocab)


@torch.no_grad()
def kept_tokens(
    translator: Translator, source: str, target: str, draw: random.Random
) -> dict[str, Tensor]:
    """Return, for each way of hiding, which target tokens stay the likeliest: (T - 1,)."""
    model, tok = translator.model, translator.tokenizer
    ids, out = tok.encode(normalise(source)), tok.encode(target)
    src = torch.tensor([[*ids, tok.eos_id]])  # (1, S)
    tgt = torch.tensor([[tok.bos_id, *out]])  # (1, T)
    S, T, N = src.shape[1], tgt.shape[1], len(model.decoder.layers)
    memory, _ = model.encode(src)
    logits, weights = model.decode(tgt, memory, need_weights=True)
    said = logits[0].argmax(dim=-1)  # (1, T, vocab) -> (T,)
    looks = weights[-1][1][0].mean(dim=0)  # (1, h, T, S) -> (T, S), as in the picture
    most = looks[:, :-1].argmax(dim=-1)  # (T,), a token, not the end
    shift = torch.tensor([draw.randrange(1, S - 1) for _ in range(T)])
    # Sentence i of a batch of T may not look at position hidden[i]: (T, 1, S).
    mask, other = (
        (torch.arange(S) != hidden[:, None])[:, None]
        for hidden in (most, (most + shift) % (S - 1))
    )
    full, many = memory.expand(T, S, -1), tgt.expand(T, T)
    without, _ = model.encode(src.expand(T, S), mask)
    ways = {
        "favourite, last layer": (full, [None] * (N - 1) + [mask]),
        "favourite, whole decoder": (full, [mask] * N),
        "favourite, encoder and decoder": (without, [mask] * N),
        "another, whole decoder": (full, [other] * N),
    }
    at = torch.arange(T)
    untouched = decode_hiding(model, tgt, memory, [None] * N)
    assert torch.allclose(untouched, logits, atol=1e-4), (
        "hiding nothing changes nothing"
    )
    return {
        name: decode_hiding(model, many, mem, masks)[at, at].argmax(dim=-1)[:-1]
        == said[:-1]
        for name, (mem, masks) in ways.items()
    }


def shares_kept(
    translator: Translator, sentences: Sequence[tuple[str, str]], seed: int = 0
) -> dict[str, float]:
    """Return, for each way of hiding, the share of tokens that stay, over all sentences."""
    draw, kept = random.Random(seed), {}
    for source, target in sentences:
        for way, same in kept_tokens(translator, source, target, draw).items():
            kept.setdefault(way, []).append(same)
    return {way: torch.cat(same).float().mean().item() for way, same in kept.items()}
