# Exported from book/01-rnn-attention.ipynb by `make library`.
# Edit the chapter, not this file.

"""Recurrent encoder and decoder, without attention or with any of six scores (chapter
1).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class DotScore(nn.Module):
    """Score a query against each key by their dot product.

    query_dim, key_dim: widths d_s and d_a, which must be equal.
    Raises ValueError if they differ.
    Source: Luong, Pham and Manning (2015), section 3.1, "dot".
    """

    def __init__(self, query_dim: int, key_dim: int, rank: int = 32):
        super().__init__()
        if query_dim != key_dim:
            raise ValueError(
                f"key_dim: expected query_dim = {query_dim} for a score without"
                f" parameters, got {key_dim}"
            )

    def prepare(self, keys: Tensor) -> Tensor:
        """Do once a sentence what does not depend on the query: (B, S, d_a) -> (B, S,
        d).
        """
        return keys

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, d): -> (B, S)."""
        return torch.bmm(prepared, query.unsqueeze(-1)).squeeze(
            -1
        )  # (B, S, 1) -> (B, S)


class CosineScore(DotScore):
    """Dot product of the directions: between -1 and 1, whatever the lengths.

    Source: Graves, Wayne and Danihelka (2014), section 3.3.1, equation 6.
    """

    def prepare(self, keys: Tensor) -> Tensor:
        """Give each key the length 1: (B, S, d_a) -> (B, S, d_a)."""
        return nn.functional.normalize(keys, dim=-1)

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, d_a): -> (B, S)."""
        return super().forward(nn.functional.normalize(query, dim=-1), prepared)


class ScaledDotScore(DotScore):
    """Dot product divided by the root of the width.

    Source: Vaswani et al. (2017), section 3.2.1.
    """

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, d_a): -> (B, S)."""
        return super().forward(query / query.shape[-1] ** 0.5, prepared)


class GeneralScore(DotScore):
    """Bilinear score s W_a h; the widths may differ.

    Source: Luong, Pham and Manning (2015), section 3.1, "general".
    """

    def __init__(self, query_dim: int, key_dim: int, rank: int = 32):
        super().__init__(query_dim, query_dim)
        self.W_a = nn.Linear(key_dim, query_dim, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """Multiply the keys by W_a: (B, S, d_a) -> (B, S, d_s)."""
        return self.W_a(keys)


class ReducedRankScore(DotScore):
    """Bilinear score with a matrix W_q W_k^T of rank r at most.

    rank: the width r. Raises ValueError if it is below 1.
    Source: Vaswani et al. (2017), section 3.2.2 (the projections), without the scale.
    """

    def __init__(self, query_dim: int, key_dim: int, rank: int = 32):
        super().__init__(query_dim, query_dim)
        _check_positive("rank", rank)
        self.W_q = nn.Linear(query_dim, rank, bias=False)
        self.W_k = nn.Linear(key_dim, rank, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """Project the keys: (B, S, d_a) -> (B, S, r)."""
        return self.W_k(keys)

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, r): -> (B, S)."""
        return super().forward(self.W_q(query), prepared)


class AdditiveScore(nn.Module):
    """A network with one hidden layer: v tanh(s W_s + h W_h).

    rank: the hidden width r, the attention dimension. Raises ValueError if it is below
    1.
    Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2.
    """

    def __init__(self, query_dim: int, key_dim: int, rank: int = 32):
        super().__init__()
        _check_positive("rank", rank)
        self.W_s = nn.Linear(query_dim, rank, bias=False)
        self.W_h = nn.Linear(key_dim, rank, bias=False)
        self.v = nn.Linear(rank, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """Do the keys' part of the hidden layer: (B, S, d_a) -> (B, S, r)."""
        return self.W_h(keys)

    def forward(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Score query (B, d_s) against prepared keys (B, S, r): -> (B, S)."""
        hidden = torch.tanh(
            self.W_s(query).unsqueeze(1) + prepared
        )  # (B, 1, r) -> (B, S, r)
        return self.v(hidden).squeeze(-1)  # (B, S, r) -> (B, S)


SCORES = {
    "dot": DotScore,
    "cosine": CosineScore,
    "scaled_dot": ScaledDotScore,
    "general": GeneralScore,
    "reduced_rank": ReducedRankScore,
    "additive": AdditiveScore,
}


def make_score(name: str, query_dim: int, key_dim: int, rank: int = 32) -> nn.Module:
    """Make the score function of this name.

    name: a key of SCORES. query_dim, key_dim: the widths d_s and d_a.
    rank: the inner width r of "reduced_rank" and "additive"; others ignore it.
    Returns a module with prepare(keys) and forward(query, prepared), see DotScore.
    Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2, for preparing the keys.
    Raises ValueError for an unknown name, for widths or a rank in use below 1, or for
    widths that do not suit it.
    """
    if name not in SCORES:
        raise ValueError(
            f"attention: expected one of {', '.join(SCORES)}, got {name!r}"
        )
    _check_positive("query_dim", query_dim)
    _check_positive("key_dim", key_dim)
    return SCORES[name](query_dim, key_dim, rank)


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name}: expected a number of at least 1, got {value}")


def attend(
    scores: Tensor, values: Tensor, src_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Turn the scores of one query a sentence into weights, and mix the values by them.

    scores: (B, S). values: (B, S, d_a).
    src_mask: boolean (B, S), True = may attend; None allows everything.
    Returns (context, weights) of shapes (B, d_a) and (B, S). A sentence whose mask is
    all False gets zeros. Forbidden values must be finite, since 0 times infinity is
    NaN; an allowed score that is NaN or +infinity makes its row NaN. Raises ValueError
    if the shapes do not fit, or for a mask that is not boolean.
    Source: Bahdanau, Cho and Bengio (2015), equations 5 and 6.
    """
    if values.dim() != 3 or values.shape[:2] != scores.shape:
        raise ValueError(
            f"values: expected shape (B, S, d_a) with (B, S) = {tuple(scores.shape)}, "
            f"got {tuple(values.shape)}"
        )
    if src_mask is not None:
        _check_mask(src_mask, scores.shape)
        empty = ~src_mask.any(dim=-1, keepdim=True)  # (B, S) -> (B, 1)
        # A softmax of -inf alone would be NaN: an empty row gets harmless scores first.
        scores = scores.masked_fill(~src_mask, -torch.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if src_mask is not None:
        weights = weights.masked_fill(~src_mask, 0.0)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(
        1
    )  # (B, 1, d_a) -> (B, d_a)
    return context, weights


def _check_mask(src_mask: Tensor, shape: tuple[int, ...]) -> None:
    if src_mask.dtype != torch.bool:
        raise ValueError(
            "src_mask: expected dtype torch.bool (True = may attend), got"
            f" {src_mask.dtype}"
        )
    if src_mask.shape != shape:
        raise ValueError(
            f"src_mask: expected shape {tuple(shape)}, got {tuple(src_mask.shape)}"
        )


class Encoder(nn.Module):
    """Read a sentence in both directions, and annotate each of its words.

    vocab_size: entries in the source vocabulary. d_embed: width of an embedding.
    d_model: width of an annotation, an even number: half for each direction.
    pad_id: the id that stands for padding.
    Raises ValueError for a size below 1, an odd d_model, or a pad_id outside the
    vocabulary.
    Source: Bahdanau, Cho and Bengio (2015), section 3.2.
    """

    def __init__(self, vocab_size: int, d_embed: int, d_model: int, pad_id: int):
        super().__init__()
        for name, size in (
            ("vocab_size", vocab_size),
            ("d_embed", d_embed),
            ("d_model", d_model),
        ):
            _check_positive(name, size)
        if d_model % 2:
            raise ValueError(
                "d_model: expected an even number (half for each direction), got"
                f" {d_model}"
            )
        if not 0 <= pad_id < vocab_size:
            raise ValueError(
                f"pad_id: expected an id of the vocabulary, 0 to {vocab_size - 1}, got"
                f" {pad_id}"
            )
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=pad_id)
        self.gru = nn.GRU(d_embed, d_model // 2, batch_first=True, bidirectional=True)

    def forward(self, source: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Annotate each word, and sum up each sentence.

        source: (B, S) token ids. src_mask: boolean (B, S), True at the words, False at
        the padding, which stands at the end. Returns (annotations, summary) of shapes
        (B, S, d_model) and (B, d_model); annotations of padding are zeros. Raises
        ValueError for an empty batch, an id outside the vocabulary, a mask of the wrong
        type or shape, a sentence without words, or padding before a word.
        """
        _check_ids("source", source, self.embedding.num_embeddings)
        _check_mask(src_mask, source.shape)
        lengths = src_mask.sum(dim=1)  # (B, S) -> (B,)
        if (lengths == 0).any():
            raise ValueError(
                "src_mask: expected at least one True in each row, got none in row "
                f"{int((lengths == 0).nonzero()[0])}"
            )
        if (src_mask[:, 1:] & ~src_mask[:, :-1]).any():
            raise ValueError(
                "src_mask: expected the padding at the end, got a word behind padding"
            )
        packed = pack_padded_sequence(
            self.embedding(source),
            lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        states, last = self.gru(
            packed
        )  # last: (2, B, d_model / 2), one for each direction
        annotations, _ = pad_packed_sequence(
            states, batch_first=True, total_length=source.shape[1]
        )
        return annotations, torch.cat([last[0], last[1]], dim=-1)  # -> (B, d_model)


def _check_ids(name: str, ids: Tensor, vocab_size: int) -> None:
    if ids.dim() != 2 or ids.numel() == 0:
        raise ValueError(
            f"{name}: expected token ids of shape (B, T), both at least 1, got"
            f" {tuple(ids.shape)}"
        )
    if ids.dtype != torch.int64:
        raise ValueError(f"{name}: expected dtype torch.int64, got {ids.dtype}")
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= vocab_size:
        raise ValueError(
            f"{name}: expected ids from 0 to {vocab_size - 1}, got"
            f" {low if low < 0 else high}"
        )


class Source(NamedTuple):
    """What the decoder knows of the source.

    annotations: (B, S, d_model), the values. keys: what the score has prepared of them,
    or None.
    summary: (B, d_model). mask: boolean (B, S), True = may attend.
    Source: Bahdanau, Cho and Bengio (2015), section 3.2.
    """

    annotations: Tensor
    keys: Tensor | None
    summary: Tensor
    mask: Tensor


class Seq2Seq(nn.Module):
    """A GRU encoder and a GRU decoder, with a fixed context or with attention.

    src_vocab_size, tgt_vocab_size: entries in the two vocabularies.
    pad_id: the id of padding, the same in both.
    attention: the name of a score function (see SCORES), or None for the fixed context.
    d_model: width of annotations and decoder states. d_embed: width of the embeddings.
    rank: inner width of the scores "reduced_rank" and "additive".
    Raises ValueError as Encoder and make_score do.
    Source: Bahdanau, Cho and Bengio (2015), section 3; without attention: Cho,
    van Merriënboer, Gulcehre et al. (2014), section 2.2.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        pad_id: int,
        attention: str | None = None,
        d_model: int = 64,
        d_embed: int = 32,
        rank: int = 32,
    ):
        super().__init__()
        _check_positive("tgt_vocab_size", tgt_vocab_size)
        if not 0 <= pad_id < tgt_vocab_size:
            raise ValueError(
                "pad_id: expected an id of the target vocabulary, 0 to"
                f" {tgt_vocab_size - 1}, got {pad_id}"
            )
        self.pad_id = pad_id
        self.encoder = Encoder(src_vocab_size, d_embed, d_model, pad_id)
        self.embedding = nn.Embedding(tgt_vocab_size, d_embed, padding_idx=pad_id)
        self.first_state = nn.Linear(d_model, d_model)
        self.score = (
            None if attention is None else make_score(attention, d_model, d_model, rank)
        )
        self.cell = nn.GRUCell(d_embed + d_model, d_model)
        self.output = nn.Linear(2 * d_model, tgt_vocab_size)

    def encode(
        self, source: Tensor, src_mask: Tensor | None = None
    ) -> tuple[Source, Tensor]:
        """Read the source, and make the decoder's first state.

        source: (B, S) token ids. src_mask: boolean (B, S), True at the words; None
        means wherever source is not pad_id. Returns (memory, state): a Source, and the
        state s_0 of shape (B, d_model). Raises ValueError as Encoder.forward does.
        """
        if src_mask is None:
            src_mask = source != self.pad_id
        annotations, summary = self.encoder(source, src_mask)
        keys = None if self.score is None else self.score.prepare(annotations)
        return Source(annotations, keys, summary, src_mask), torch.tanh(
            self.first_state(summary)
        )

    def step(
        self, embedded: Tensor, state: Tensor, memory: Source
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Take one step of the decoder.

        embedded: (B, d_embed), the word before. state: (B, d_model), s_{i-1}.
        Returns (state s_i, context c_i, weights): (B, d_model), (B, d_model), and (B,
        S) or None where there is no attention.
        """
        context, weights = memory.summary, None
        if self.score is not None:
            scores = self.score(state, memory.keys)  # (B, d_model) -> (B, S)
            context, weights = attend(scores, memory.annotations, memory.mask)
        joined = torch.cat([embedded, context], dim=-1)  # -> (B, d_embed + d_model)
        return self.cell(joined, state), context, weights

    def forward(
        self, source: Tensor, target_in: Tensor, src_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Predict each target word from the right words before it (teacher forcing).

        source: (B, S) and target_in: (B, T) token ids; target_in begins with <bos>.
        src_mask: as in encode.
        Returns (logits, weights) of shapes (B, T, tgt_vocab_size) and (B, T, S);
        weights are None where there is no attention. Raises ValueError as encode does,
        and for target_in likewise.
        """
        _check_ids("target_in", target_in, self.embedding.num_embeddings)
        if len(target_in) != len(source):
            raise ValueError(
                f"target_in: expected {len(source)} sentences as in source, got"
                f" {len(target_in)}"
            )
        memory, state = self.encode(source, src_mask)
        outputs, rows = [], []
        for embedded in self.embedding(target_in).unbind(
            dim=1
        ):  # (B, T, d_embed) -> T tensors
            state, context, weights = self.step(embedded, state, memory)
            outputs.append(torch.cat([state, context], dim=-1))  # (B, 2 d_model)
            rows.append(weights)
        logits = self.output(
            torch.stack(outputs, dim=1)
        )  # (B, T, 2 d_model) -> (B, T, vocab)
        return logits, None if self.score is None else torch.stack(rows, dim=1)

    @torch.no_grad()
    def greedy_decode(
        self,
        source: Tensor,
        bos_id: int,
        eos_id: int,
        max_len: int,
        src_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Translate: take the likeliest word, feed it back, and go on until <eos>.

        source: (B, S) token ids. src_mask: as in encode. max_len: the most words to
        write. Returns (tokens, weights) of shapes (B, T) and (B, T, S), T <= max_len.
        tokens have no <bos>; behind <eos> they are pad_id, and the weights 0. weights
        are None where there is no attention. Raises ValueError as encode does, for
        max_len below 1, and for ids outside the vocabulary.
        """
        _check_positive("max_len", max_len)
        for name, token in (("bos_id", bos_id), ("eos_id", eos_id)):
            if not 0 <= token < self.embedding.num_embeddings:
                raise ValueError(
                    f"{name}: expected an id from 0 to"
                    f" {self.embedding.num_embeddings - 1}, got {token}"
                )
        memory, state = self.encode(source, src_mask)
        token = source.new_full((len(source),), bos_id)
        done = torch.zeros_like(token, dtype=torch.bool)
        tokens, rows = [], []
        while len(tokens) < max_len and not done.all():
            state, context, weights = self.step(self.embedding(token), state, memory)
            logits = self.output(torch.cat([state, context], dim=-1))  # -> (B, vocab)
            token = logits.argmax(dim=-1).masked_fill(
                done, self.pad_id
            )  # (B, vocab) -> (B,)
            tokens.append(token)
            rows.append(
                None if weights is None else weights.masked_fill(done.unsqueeze(1), 0.0)
            )
            done = done | (token == eos_id)
        weights = None if self.score is None else torch.stack(rows, dim=1)
        return torch.stack(tokens, dim=1), weights


def alignment_hits(weights: Tensor, alignment: set[tuple[int, int]]) -> dict[int, bool]:
    """Tell for each aligned target word whether its largest weight lies on a partner.

    weights: (T, S), row i the weights of target word i; rows beyond the target are
    ignored.
    alignment: pairs (j, i) where source word j and target word i say the same.
    Returns {i: hit} for the target words that have a partner.
    Source: after Koehn and Knowles (2017), section 3.5.
    Raises ValueError for weights that are not a matrix, or a pair that lies outside of
    them.
    """
    if weights.dim() != 2:
        raise ValueError(f"weights: expected shape (T, S), got {tuple(weights.shape)}")
    partners: dict[int, set[int]] = {}
    for j, i in sorted(alignment):
        if not (0 <= i < weights.shape[0] and 0 <= j < weights.shape[1]):
            raise ValueError(
                f"alignment: expected pairs (j, i) with j < {weights.shape[1]} and "
                f"i < {weights.shape[0]}, got {(j, i)}"
            )
        partners.setdefault(i, set()).add(j)
    looked_at = weights.argmax(dim=-1).tolist()  # (T, S) -> (T,)
    return {i: looked_at[i] in sources for i, sources in partners.items()}
