"""Beam search, and from sentences to sentences: the model at work."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.attention import padding_mask
from transformer.model import Transformer, greedy_decode
from translator.data.batching import source_batches
from translator.data.cleaning import normalise
from translator.data.tokenizer import Tokenizer
from translator.device import supports_bf16
from translator.errors import TranslatorError

#: Sources longer than this many tokens are cut into pieces: no model here was trained on longer.
LONGEST_SOURCE = 128
SENTENCE_END = re.compile(r"(?<=[.!?…:;])\s+")


@dataclass(frozen=True)
class Hypothesis:
    """A translation that a beam search found.

    tokens: ids, without bos and eos. log_probability: of the whole, eos included, in nats.
    score: the log-probability divided by the length penalty. ended: whether eos came in time.
    """

    tokens: list[int]
    log_probability: float
    score: float
    ended: bool

    @property
    def mean_log_probability(self) -> float:
        """The mean log-probability of a token, the end among them."""
        return self.log_probability / (len(self.tokens) + 1)


def length_penalty(length: int, alpha: float) -> float:
    """Return ((5 + length) / 6)^alpha; length counts the end.

    Source: Wu et al. (2016), section 7, equation 14.
    """
    return ((5 + length) / 6) ** alpha


@torch.no_grad()
def beam_search(
    model: Transformer,
    src: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int | Sequence[int],
    beam_size: int = 4,
    alpha: float = 0.6,
) -> list[list[Hypothesis]]:
    """Search for the best translations of each source, keeping beam_size beginnings at a time.

    src: (B, S). max_len: the most tokens to write, the end included, for all sources or for each
    one. alpha: of the length
    penalty; 0 compares bare log-probabilities.
    A sentence is done when no beginning can still overtake its best ended hypothesis.
    Returns for each source its hypotheses, the best first: at most beam_size, at least one. One
    that did not end within max_len is only returned where none ended.
    Raises ValueError for beam_size or max_len below 1, a wrong number of them, or an alpha that is
    negative or not finite. The model runs in eval mode and is left in the mode it was in.
    Source: Graves (2012) and Sutskever et al. (2014), section 3.2.
    """
    limits = [max_len] * len(src) if isinstance(max_len, int) else list(max_len)
    if len(limits) != len(src):
        raise ValueError(
            f"max_len: expected one number, or {len(src)}, got {len(limits)}"
        )
    for name, number in (("beam_size", beam_size), ("max_len", min(limits, default=1))):
        if number < 1:
            raise ValueError(f"{name}: expected at least 1, got {number}")
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha: expected a finite number from 0 on, got {alpha}")
    was_training = model.training
    model.eval()
    try:
        return _search(model, src, bos_id, eos_id, limits, beam_size, alpha)
    finally:
        model.train(was_training)


def _search(model, src, bos_id, eos_id, limits, K, alpha):
    B, device = len(src), src.device
    memory, _ = model.encode(src)
    mask = padding_mask(src, model.pad_id)  # (B, 1, S)
    cache = model.init_cache(memory, max(limits))
    copies = torch.arange(B, device=device).repeat_interleave(K)  # (B K,)
    _select(cache, copies)
    mask = mask[copies]  # (B K, 1, S)
    sentences = list(range(B))  # those that are not done; n of them
    tokens = torch.full((B, K, 1), bos_id, dtype=torch.int64, device=device)
    scores = torch.full((B, K), -math.inf, device=device)
    scores[:, 0] = 0.0  # at first all K beginnings are the same one
    ended: list[list[Hypothesis]] = [[] for _ in range(B)]
    for length in range(1, max(limits) + 1):
        n = len(sentences)
        logits, _ = model.decode(
            tokens[:, :, -1].flatten()[:, None], None, mask, cache=cache
        )
        log_p = torch.log_softmax(logits[:, -1].float(), dim=-1)  # (n K, V)
        log_p[
            :, model.pad_id
        ] = -math.inf  # as greedy_decode: no padding before the end
        log_p = log_p.unflatten(0, (n, K))  # (n K, V) -> (n, K, V)
        V = log_p.shape[-1]
        total = (scores.unsqueeze(-1) + log_p).flatten(1)  # (n, K, V) -> (n, K V)
        # Of 2 K candidates at most K end, so K go on.
        best, index = total.topk(min(2 * K, K * V), dim=-1)  # (n, 2 K)
        parent, token = index // V, index % V
        ends = token == eos_id
        best_ends = torch.where(ends, best, -math.inf)[:, :K]  # of the K best
        ending = tokens.gather(
            1, parent[:, :K, None].expand(-1, -1, length)
        )  # (n, K, t)
        order = ends.long().argsort(dim=-1, stable=True)[:, :K]  # the K best that go on
        scores = best.gather(1, order)
        parent, token = parent.gather(1, order), token.gather(1, order)
        scores = scores.masked_fill(
            ends.gather(1, order), -math.inf
        )  # where fewer than K go on
        tokens = torch.cat(
            [
                tokens.gather(1, parent[..., None].expand(-1, -1, length)),
                token[..., None],
            ],
            dim=-1,
        )  # (n, K, t) -> (n, K, t + 1)
        rows = torch.arange(n, device=device)[:, None] * K + parent  # (n, K), into n K
        # A GPU is waited for once a step, and again only where something has ended.
        *found, alive = torch.cat([best_ends, scores[:, :1]], dim=1).T.tolist()
        if any(log_p > -math.inf for column in found for log_p in column):
            written = ending.tolist()
            for i, sentence in enumerate(sentences):
                ended[sentence] += [
                    Hypothesis(
                        written[i][j][1:],
                        column[i],
                        column[i] / length_penalty(length, alpha),
                        ended=True,
                    )
                    for j, column in enumerate(found)
                    if column[i] > -math.inf
                ]
        going = []
        for i, sentence in enumerate(sentences):
            if _is_done(ended[sentence], alive[i], limits[sentence], alpha):
                continue
            if length < limits[sentence]:
                going.append(i)
            elif not ended[sentence]:
                ended[sentence] = _cut_off(tokens[i], scores[i], length, alpha)
        if not going:
            break
        keep = torch.tensor(going, device=device)
        _select(cache, rows[keep].flatten())
        mask = mask[rows[keep].flatten()]
        tokens, scores = tokens[keep], scores[keep]
        sentences = [sentences[i] for i in going]
    return [sorted(found, key=lambda h: -h.score)[:K] for found in ended]


def _cut_off(tokens, scores, length, alpha):
    """Return the beginnings (K, t) of one sentence as hypotheses that did not end."""
    return [
        Hypothesis(row[1:], log_p, log_p / length_penalty(length, alpha), ended=False)
        for row, log_p in zip(tokens.tolist(), scores.tolist(), strict=True)
        if log_p > -math.inf
    ]


def _is_done(found: list[Hypothesis], alive: float, max_len: int, alpha: float) -> bool:
    if alive == -math.inf:
        return True
    if not found:
        return False
    # Log-probabilities only fall, and the penalty is largest at max_len.
    return max(h.score for h in found) >= alive / length_penalty(max_len, alpha)


def _select(cache, rows: Tensor) -> None:
    for layer in cache:
        layer.select(rows)


@dataclass(frozen=True)
class DecodingOptions:
    """How to translate.

    beam_size: 1 is greedy. alpha: of the length penalty. max_tokens: the most source tokens of a
    batch, padding counted. max_ratio: a translation has at most this many tokens for each source
    token, and ten more.
    """

    beam_size: int = 4
    alpha: float = 0.6
    max_tokens: int = 4096
    max_ratio: float = 2.0

    def __post_init__(self) -> None:
        for name, least in (
            ("beam_size", 1),
            ("alpha", 0),
            ("max_tokens", 1),
            ("max_ratio", 0),
        ):
            if not least <= getattr(self, name) < math.inf:
                raise TranslatorError(
                    f"{name}: expected a finite number, at least {least}, "
                    f"got {getattr(self, name)}"
                )


def translate(
    model: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    options: DecodingOptions | None = None,
) -> list[str]:
    """Translate each text; the result is in the order of the texts.

    A text without a word gives an empty one. A text of more than LONGEST_SOURCE tokens is cut at
    the ends of sentences, then between words, translated piece by piece and joined by spaces.
    Bytes that the training never met go through the byte-level tokeniser like any others.
    """
    options = options or DecodingOptions()
    pieces: list[list[int]] = []
    owner: list[int] = []
    for i, text in enumerate(texts):
        for piece in split_long(normalise(text), tokenizer, LONGEST_SOURCE):
            pieces.append(piece)
            owner.append(i)
    translated = [""] * len(pieces)
    for indices, found in decode_ids(model, tokenizer, pieces, options):
        for i, hypotheses in zip(indices, found, strict=True):
            translated[i] = tokenizer.decode(hypotheses[0].tokens).strip()
    results: list[list[str]] = [[] for _ in texts]
    for i, piece in zip(owner, translated, strict=True):
        results[i].append(piece)
    return [" ".join(filter(None, parts)) for parts in results]


def decode_ids(
    model: Transformer,
    tokenizer: Tokenizer,
    sources: Sequence[Sequence[int]],
    options: DecodingOptions,
) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
    """Yield (indices of the sources, the hypotheses for each, the best first), batch by batch."""
    device = next(model.parameters()).device
    # In bf16 where that is fast; the log-probabilities are float32.
    half = device.type == "cuda" and supports_bf16(device)
    ends = {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id}
    for src, indices in source_batches(
        sources, options.max_tokens, pad_id=tokenizer.pad_id, eos_id=tokenizer.eos_id
    ):
        src = src.to(device)
        # By each source's own length: a translation must not depend on its company.
        lengths = (src != tokenizer.pad_id).sum(dim=1).tolist()
        limits = [10 + int(options.max_ratio * length) for length in lengths]
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            if options.beam_size == 1:
                greedy = _greedy(model, src, limits, options.alpha, **ends)
                found = [[hypothesis] for hypothesis in greedy]
            else:
                found = beam_search(
                    model,
                    src,
                    max_len=limits,
                    beam_size=options.beam_size,
                    alpha=options.alpha,
                    **ends,
                )
        yield list(indices), found


@torch.no_grad()
def _greedy(model, src, limits, alpha, *, bos_id, eos_id) -> list[Hypothesis]:
    """Return what greedy decoding writes, with the log-probabilities that the model gives it."""
    rows = greedy_decode(
        model, src, max_len=max(limits), bos_id=bos_id, eos_id=eos_id
    )  # (B, T)
    begin = rows.new_full((len(rows), 1), bos_id)
    was_training = model.training
    model.eval()
    try:
        logits = model(src, torch.cat([begin, rows[:, :-1]], dim=1))  # (B, T, V)
    finally:
        model.train(was_training)
    logits[..., model.pad_id] = -math.inf  # as it was when the tokens were chosen
    log_p = torch.log_softmax(logits.float(), dim=-1)
    log_p = log_p.gather(-1, rows[..., None])[..., 0]  # (B, T)
    found = []
    for row, values, limit in zip(rows.tolist(), log_p.tolist(), limits, strict=True):
        length = min(row.index(eos_id) + 1 if eos_id in row else len(row), limit)
        ended = row[length - 1] == eos_id
        total = sum(values[:length])
        score = total / length_penalty(length, alpha)
        tokens = row[: length - ended]
        found.append(Hypothesis(tokens, total, score, ended))
    return found


def split_long(text: str, tokenizer: Tokenizer, limit: int) -> list[list[int]]:
    """Return the ids of a text in pieces of at most ``limit`` tokens; no piece for no text.

    Whole sentences go together as long as they fit; a sentence that does not fit is cut between
    words, and a word that does not fit between tokens.
    """
    if not text.strip():
        return []
    whole = tokenizer.encode(text)
    if len(whole) <= limit:
        return [whole]
    pieces: list[list[int]] = []
    words: list[str] = []
    for sentence in SENTENCE_END.split(text):
        fits = len(tokenizer.encode(" ".join([*words, sentence]))) <= limit
        if words and not fits:
            pieces.append(tokenizer.encode(" ".join(words)))
            words = []
        for word in sentence.split():
            words.append(word)
            if len(tokenizer.encode(" ".join(words))) > limit:
                *before, word = words
                if before:
                    pieces.append(tokenizer.encode(" ".join(before)))
                ids = tokenizer.encode(word)
                while len(ids) > limit:
                    pieces.append(ids[:limit])
                    ids = ids[limit:]
                words = [tokenizer.decode(ids)] if ids else []
    if words:
        pieces.append(tokenizer.encode(" ".join(words)))
    return pieces


@torch.no_grad()
def alignment(
    model: Transformer,
    tokenizer: Tokenizer,
    source: Sequence[int],
    target: Sequence[int],
    layer: int = -1,
) -> Tensor:
    """Return the cross-attention for a sentence pair, averaged over the heads of one layer.

    source, target: ids without specials. Returns (T + 1, S + 1): rows for the target tokens and
    the end, columns for the source tokens and the end; row i is the look that wrote token i.
    """
    device = next(model.parameters()).device
    src = torch.tensor([[*source, tokenizer.eos_id]], device=device)
    tgt = torch.tensor([[tokenizer.bos_id, *target]], device=device)
    was_training = model.training
    model.eval()
    try:
        memory, _ = model.encode(src)
        mask = padding_mask(src, model.pad_id)
        _, weights = model.decode(tgt, memory, mask, need_weights=True)
    finally:
        model.train(was_training)
    return (
        weights[layer][1][0].mean(dim=0).cpu()
    )  # (1, h, T + 1, S + 1) -> (T + 1, S + 1)
