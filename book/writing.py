"""Chapter 6's translator of the book's own language: data, training, and three test sets.

One model answers three questions: sentences drawn like those of training, combinations of words
that training never showed, and sentences longer than any of training. Page and claims share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.model import Transformer, greedy_decode
from transformer.positional import BiasedAttention, RelativeBias
from translator.grammar import make_splits, parse, sample

LANGUAGE = {"constructions": ("modal", "zu-infinitive")}
LONGEST = 10  # German words in a training sentence
PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
STEPS, BATCH, PEAK = 1200, 32, 4e-3
#: What is tried against the fall beyond the trained length.
CURES = ("none", "random offsets", "relative bias")


def to_batch(
    sentences: Sequence[Sequence[str]], ids: dict[str, int], bos: bool = False
) -> Tensor:
    """Return word tuples as one padded tensor of ids (B, T), each with <eos> behind it."""
    rows = []
    for words in sentences:
        row = [BOS] * bos + [ids.get(word, UNK) for word in words] + [EOS]
        rows.append(torch.tensor(row))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def make_vocabulary(sentences) -> list[str]:
    """Return the special words, and those of the sentences in order."""
    return SPECIAL + sorted({word for sentence in sentences for word in sentence})


@dataclass(frozen=True)
class Corpus:
    """Training pairs, validation pairs, the test sets by name, and the two vocabularies."""

    train: list
    valid: list
    tests: dict[str, list]
    german: list[str]
    english: list[str]

    @property
    def german_ids(self) -> dict[str, int]:
        """The id of each German word."""
        return {word: i for i, word in enumerate(self.german)}

    @property
    def english_ids(self) -> dict[str, int]:
        """The id of each English word."""
        return {word: i for i, word in enumerate(self.english)}


@cache
def make_corpus(seed: int = 0) -> Corpus:
    """Return the pairs; the book's example sentence is in none of the training pairs."""
    (example,) = parse("kannst du mir helfen diesen Satz zu übersetzen")
    train, valid, compositional, held_out = make_splits(
        "compositional", 12_000, 800, 300, seed=seed, max_length=LONGEST, **LANGUAGE
    )
    train = [pair for pair in train if pair.source != example.source]
    known = {word for pair in train for word in pair.source + pair.target}
    longer = [
        pair
        for pair in sample(600, seed=seed + 1, min_length=LONGEST + 1, **LANGUAGE)
        if not pair.combinations & held_out
        and known.issuperset(pair.source + pair.target)
    ][:300]
    tests = {"random": valid[300:], "compositional": compositional, "length": longer}
    seen = {pair.source for pair in train}
    for name, pairs in {"valid": valid, **tests}.items():
        if any(pair.source in seen for pair in pairs):
            raise AssertionError(f"{name}: a sentence of training is among them")
    return Corpus(
        train,
        valid[:300],
        tests,
        make_vocabulary(pair.source for pair in train),
        make_vocabulary(pair.target for pair in train),
    )


def make_model(corpus: Corpus, cure: str = "none") -> Transformer:
    """Return an untrained translator of width 64; cure: one of CURES."""
    model = Transformer(
        len(corpus.german),
        len(corpus.english),
        pad_id=PAD,
        d_model=64,
        num_heads=4,
        d_ff=256,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dropout=0.0,
        norm_first=True,
        positions="none" if cure == "relative bias" else "sinusoidal",
    )
    if cure == "relative bias":
        for layer in (*model.encoder.layers, *model.decoder.layers):
            bias = RelativeBias(4, max_offset=8)
            layer.self_attention = BiasedAttention(64, 4, bias)
    return model


def logits_at(model: Transformer, src: Tensor, tgt: Tensor, offset: int) -> Tensor:
    """Return logits (B, T, vocab) where the first word of both sides stands at offset."""
    mask = padding_mask(src, PAD)  # (B, S) -> (B, 1, S)
    memory, _ = model.encoder(model.embed(src, model.src_embedding, offset), mask)
    causal = (
        padding_mask(tgt, PAD)
        & torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril()
    )
    x = model.embed(tgt, model.tgt_embedding, offset)
    x, _ = model.decoder(x, memory, causal, mask)
    return model.output_proj(x)


def train(
    corpus: Corpus,
    seed: int = 0,
    *,
    cure: str = "none",
    steps: int = STEPS,
    watch=lambda batches: batches,
) -> tuple[Transformer, list[float]]:
    """Return a trained translator and its losses; watch: wraps the batches, as tqdm does.

    With random offsets each batch begins at a place drawn from 0 to 12, so that the places of
    longer sentences are trained too.
    """
    torch.manual_seed(seed)
    model = make_model(corpus, cure)
    src = to_batch([pair.source for pair in corpus.train], corpus.german_ids)
    tgt = to_batch([pair.target for pair in corpus.train], corpus.english_ids, bos=True)
    src_len, tgt_len = ((ids != PAD).sum(dim=1) for ids in (src, tgt))  # (n,)

    def draw_batches() -> list[Tensor]:
        """Indices of sentences of similar length, (B,) each; each epoch in a new order."""
        batches: list[Tensor] = []
        while len(batches) < steps:
            order = torch.randperm(len(src))
            lengths = 100 * src_len[order] + tgt_len[order]
            epoch = list(order[lengths.argsort(stable=True)].split(BATCH))
            batches += [epoch[i] for i in torch.randperm(len(epoch))]
        return batches[:steps]

    optimizer = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK, total_steps=steps, pct_start=0.1, cycle_momentum=False
    )
    losses = []
    for batch in watch(draw_batches()):
        reads = src[batch, : src_len[batch].max()]  # (B, S)
        says = tgt[batch, : tgt_len[batch].max()]  # (B, T + 1)
        offset = int(torch.randint(13, ())) if cure == "random offsets" else 0
        logits = logits_at(model, reads, says[:, :-1], offset)  # (B, T, vocab)
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            says[:, 1:].flatten(),
            ignore_index=PAD,
            label_smoothing=0.1,
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model.eval(), losses


def to_words(corpus: Corpus, row: Tensor) -> tuple[str, ...]:
    """Return the English words of ids (T,), up to the end of the sentence."""
    words = [corpus.english[i] for i in row.tolist()]
    return tuple(words[: words.index("<eos>")] if "<eos>" in words else words)


def translate(model: Transformer, corpus: Corpus, pairs: Sequence) -> list[tuple]:
    """Return greedy translations of the sources, each a tuple of words."""
    out = []
    for start in range(0, len(pairs), 200):
        sources = [pair.source for pair in pairs[start : start + 200]]
        src = to_batch(sources, corpus.german_ids)
        written = greedy_decode(model, src, bos_id=BOS, eos_id=EOS, max_len=40)
        out += [to_words(corpus, row) for row in written]
    return out


@torch.no_grad()
def greedy_at_zero(model: Transformer, src: Tensor, max_len: int, bos: int) -> Tensor:
    """Decode greedily with a cache, whose tokens all claim to stand at position 0: wrong.

    src: (B, S). Returns ids (B, max_len).
    """
    memory, _ = model.encode(src)
    memory_mask = padding_mask(src, PAD)
    cache = model.init_cache(memory, max_len)
    token, out = torch.full((len(src), 1), bos), []
    for _ in range(max_len):
        x = model.embed(token, model.tgt_embedding)  # wrong: no offset
        x, _ = model.decoder(x, None, None, memory_mask, cache=cache)
        token = model.output_proj(x)[:, -1:].argmax(dim=-1)  # (B, 1, vocab) -> (B, 1)
        out.append(token)
    return torch.cat(out, dim=1)  # (B, max_len)


@torch.no_grad()
def cross_maps(model: Transformer, corpus: Corpus, pairs: Sequence) -> Tensor:
    """Return cross-attention (N, h, B, T, S) of one pass, with the right words given."""
    src = to_batch([pair.source for pair in pairs], corpus.german_ids)
    tgt = to_batch([pair.target for pair in pairs], corpus.english_ids, bos=True)
    memory, _ = model.encode(src)
    mask = padding_mask(src, PAD)
    _, maps = model.decode(tgt[:, :-1], memory, mask, need_weights=True)
    return torch.stack([m for _, m in maps]).transpose(1, 2)  # N of (B, h, T, S)


def alignment_accuracy(weights: Tensor, pairs: Sequence) -> float:
    """Return the share of target words with their largest weight on an aligned word."""
    best = weights.argmax(dim=-1)  # (B, T, S) -> (B, T)
    hits = [
        (int(best[b, i]), i) in pair.alignment
        for b, pair in enumerate(pairs)
        for i in range(len(pair.target))
    ]
    return sum(hits) / len(hits)


def candidates(weights: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield every head, every layer's average, and the average of all, by name."""
    for layer, heads in enumerate(weights):  # (h, B, T, S)
        for u, head in enumerate(heads):
            yield f"layer {layer + 1}, head {u + 1}", head
        yield f"layer {layer + 1}, average", heads.mean(dim=0)
    yield "average of all", weights.mean(dim=(0, 1))


def guess_diagonal(pairs: Sequence) -> float:
    """Return the accuracy of always looking at the source word with the same number."""
    hits = [
        (min(i, len(pair.source) - 1), i) in pair.alignment
        for pair in pairs
        for i in range(len(pair.target))
    ]
    return sum(hits) / len(hits)
