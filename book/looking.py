"""Chapter 2's two tasks and who tries them, shared by the page and by its claims.

*sie*: a German sentence holds one *sie*, and a reader decides whether it is "she" or "they".
The exam: a glossary of pairs, and a question about one of them.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import (
    SelfAttention,
    masked_softmax,
    scaled_dot_product_attention,
)
from translator.grammar import sample

PAD = 0
#: Sentences of one finite verb, and sentences of two (main and subordinate clause).
CLAUSES = {
    "main": (
        [
            "statement",
            "inversion",
            "question",
            "modal",
            "perfect",
            "state",
            "zu-infinitive",
            "um-zu",
        ]
    ),
    "two": ["subordinate", "subordinate-first", "content-clause"],
}
DRAWN = {"main": 12_000, "two": 8_000}  # of them, one in five or six has one "sie"
TESTS = 400
WORDS = 20  # words in each language of the exam


# -- sie: she or they ------------------------------------------------------------------


@dataclass(frozen=True)
class Sentences:
    """B sentences of at most T words: ids (B, T), place of *sie* (B,), they (B,), 1 or 0.

    vocabulary: how many ids there are, that of padding included.
    """

    words: list[tuple[str, ...]]
    ids: Tensor
    place: Tensor
    they: Tensor
    vocabulary: int

    def rows(self, chosen: Iterable[int]) -> Sentences:
        """The sentences with these numbers."""
        chosen = list(chosen)
        words = [self.words[i] for i in chosen]
        rest = self.ids[chosen], self.place[chosen], self.they[chosen]
        return Sentences(words, *rest, self.vocabulary)

    @property
    def real(self) -> Tensor:
        """Mask (B, 1, T): True at words, False at padding."""
        return (self.ids != PAD).unsqueeze(1)

    @property
    def verb(self) -> Tensor:
        """Place (B,) of the finite verb of a main clause: it stands beside *sie*."""
        return torch.where(self.place == 0, 1, self.place - 1)


@functools.cache
def sie_sentences(clauses: str = "main") -> Sentences:
    """All drawn sentences with one *sie*; `clauses` is a key of CLAUSES.

    Which of the two it means is read off the aligned English word.
    """
    found = []
    for pair in sample(DRAWN[clauses], seed=1, constructions=CLAUSES[clauses]):
        if pair.source.count("sie") == 1:
            place = pair.source.index("sie")
            (english,) = (pair.target[i] for j, i in pair.alignment if j == place)
            found.append((pair.source, place, english == "they"))
    words, places, they = zip(*found, strict=True)
    known = sorted({word for sentence in words for word in sentence})
    number = {word: i for i, word in enumerate(known, start=1)}
    rows = [torch.tensor([number[word] for word in sentence]) for sentence in words]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    places, they = torch.tensor(places), torch.tensor(they).long()
    return Sentences(list(words), ids, places, they, vocabulary=len(known) + 1)


def split(seed: int, clauses: str = "main") -> tuple[Sentences, Sentences]:
    """Training sentences, and TESTS others, in an order drawn from the seed."""
    everything = sie_sentences(clauses)
    order = random.Random(seed).sample(
        range(len(everything.words)), len(everything.words)
    )
    return everything.rows(order[TESTS:]), everything.rows(order[:TESTS])


class SieReader(nn.Module):
    """Embeds the words, looks at the sentence in one of HOW, answers at *sie*.

    words: size of the vocabulary. how: "attention", "attention, no later words", "average",
    "GRU", "GRU, both ways", or "sie alone", which sees no other word.
    """

    def __init__(self, words: int, how: str, width: int = 32):
        super().__init__()
        self.how = how
        self.embedding = nn.Embedding(words, width)
        nn.init.normal_(self.embedding.weight, std=0.2)
        self.attention = SelfAttention(d_model=width, d_k=width, d_v=width)
        both = how == "GRU, both ways"
        if how.startswith("GRU"):
            self.gru = nn.GRU(width, width, batch_first=True, bidirectional=both)
        self.answer = nn.Linear(2 * width if both else width, 2)

    def forward(self, some: Sentences, mask: Tensor | None = None) -> Tensor:
        """Logits (B, 2) of she and they. mask (B, 1, T): who may be looked at."""
        x = self.embedding(some.ids)  # (B, T) -> (B, T, D)
        here = torch.arange(len(x)), some.place
        mask = some.real if mask is None else mask
        if self.how == "attention, no later words":
            mask = mask & (torch.arange(x.shape[1]) <= some.place[:, None])[:, None]
        if self.how.startswith("attention"):
            output, self.weights = self.attention(x, mask=mask)
            return self.answer(output[here])  # (B, T, D) -> (B, D) -> (B, 2)
        if self.how == "average":
            even = masked_softmax(torch.zeros(mask.shape), mask)  # (B, 1, T)
            return self.answer((even @ self.attention.W_v(x))[:, 0])
        if self.how == "sie alone":
            return self.answer(x[here])
        lengths = some.real.sum(dim=-1)[:, 0]  # (B, 1, T) -> (B,)
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.gru(packed)[0], batch_first=True
        )
        return self.answer(states[here])


def train_reader(
    train: Sentences, how: str, seed: int, steps: int = 300, rate: float = 0.01
) -> SieReader:
    """A reader trained by Adam on batches of 64."""
    torch.manual_seed(seed)
    reader = SieReader(train.vocabulary, how)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    for _ in range(steps):
        batch = train.rows(torch.randint(len(train.words), (64,)).tolist())
        loss = F.cross_entropy(reader(batch), batch.they)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader


class PlacedReader(SieReader):
    """A SieReader that adds to each word's embedding a learned vector for its place."""

    def __init__(self, words: int, how: str, width: int = 32, length: int = 32):
        super().__init__(words, how, width)
        self.embedding = PlacedEmbedding(words, width, length)


class PlacedEmbedding(nn.Module):
    """Embeddings of the words plus embeddings of the places, of which there are `length`."""

    def __init__(self, words: int, width: int, length: int):
        super().__init__()
        self.word, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        for table in (self.word, self.place):
            nn.init.normal_(table.weight, std=0.2)

    def forward(self, ids: Tensor) -> Tensor:
        """Word ids (B, T) -> vectors (B, T, D)."""
        return self.word(ids) + self.place.weight[: ids.shape[1]]


def train_placed(
    train: Sentences, how: str, seed: int, steps: int = 300, rate: float = 0.01
) -> PlacedReader:
    """A reader with places, trained as those of train_reader are."""
    torch.manual_seed(seed)
    reader = PlacedReader(train.vocabulary, how)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    for _ in range(steps):
        batch = train.rows(torch.randint(len(train.words), (64,)).tolist())
        loss = F.cross_entropy(reader(batch), batch.they)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader


def right(reader: SieReader, some: Sentences, mask: Tensor | None = None) -> Tensor:
    """Whether each of B sentences is decided rightly, (B,)."""
    with torch.no_grad():
        return reader(some, mask).argmax(dim=-1) == some.they


def hidden(some: Sentences, place: Tensor) -> Tensor:
    """Mask (B, 1, T) that also forbids the word at place (B,)."""
    others = torch.arange(some.ids.shape[1]) != place[:, None]  # (T,), (B, 1) -> (B, T)
    return some.real & others[:, None]


# -- the exam: one question about a glossary -------------------------------------------


def draw_exams(num_exams: int, num_pairs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Glossaries of word ids (B, n) and (B, n), a question (B, 1), its answer (B,)."""
    german = torch.rand(num_exams, WORDS).argsort(dim=-1)[:, :num_pairs]
    english = torch.rand(num_exams, WORDS).argsort(dim=-1)[:, :num_pairs]
    asked = torch.randint(num_pairs, (num_exams, 1))  # which pair is asked for
    question = german.gather(1, asked)  # (B, n) -> (B, 1)
    return german, english, question, english.gather(1, asked).squeeze(1)


class ByAttention(nn.Module):
    """The question attends to the pairs: T_q = 1, T_k = n.

    scaled: divide the scores by the root of d_k. start: a factor on the first W_q and W_k.
    """

    def __init__(
        self, d_k: int = 32, scaled: bool = True, start: float = 1.0, width: int = 32
    ):
        super().__init__()
        self.attention = SelfAttention(d_model=width, d_k=d_k, d_v=width)
        self.undo = 1.0 if scaled else math.sqrt(d_k)
        with torch.no_grad():
            self.attention.W_q.weight *= start
            self.attention.W_k.weight *= start

    def forward(self, asked: Tensor, pairs: Tensor) -> Tensor:
        """asked (B, 1, D) and pairs (B, n, D) -> (B, D)."""
        query = self.undo * self.attention.W_q(asked)  # (B, 1, D) -> (B, 1, d_k)
        key, value = self.attention.W_k(pairs), self.attention.W_v(pairs)
        output, self.weights = scaled_dot_product_attention(query, key, value)
        return output[:, 0]  # (B, 1, D) -> (B, D)


class ByReading(nn.Module):
    """One state, updated pair by pair; the question comes last, or first."""

    def __init__(self, question: str = "last", width: int = 32):
        super().__init__()
        self.question = question
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, asked: Tensor, pairs: Tensor) -> Tensor:
        """asked (B, 1, D) and pairs (B, n, D) -> (B, D)."""
        order = [pairs, asked] if self.question == "last" else [asked, pairs]
        return self.gru(torch.cat(order, dim=1))[0][:, -1]  # (B, n + 1, D) -> (B, D)


class ByAveraging(nn.Module):
    """Every pair weighs 1 / n. The question meets the pairs before the average, or after."""

    def __init__(self, question: str = "after", width: int = 32):
        super().__init__()
        self.question = question
        self.mix = nn.Sequential(
            nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, asked: Tensor, pairs: Tensor) -> Tensor:
        """asked (B, 1, D) and pairs (B, n, D) -> (B, D)."""
        if self.question == "after":
            pairs = pairs.mean(dim=1, keepdim=True)  # (B, n, D) -> (B, 1, D)
        both = torch.cat([asked.expand_as(pairs), pairs], dim=-1)  # (B, n or 1, 2 D)
        return self.mix(both).mean(dim=1)  # (B, D)


class Candidate(nn.Module):
    """Sits the exam: embeds the words, looks up, and names an English word."""

    def __init__(self, look_up: nn.Module, width: int = 32):
        super().__init__()
        self.german = nn.Embedding(WORDS, width)
        self.english = nn.Embedding(WORDS, width)
        self.look_up = look_up
        self.answer = nn.Linear(width, WORDS)

    def forward(self, german: Tensor, english: Tensor, question: Tensor) -> Tensor:
        """Ids (B, n), (B, n) and (B, 1) -> logits (B, WORDS)."""
        pairs = self.german(german) + self.english(english)  # (B, n) -> (B, n, D)
        return self.answer(self.look_up(self.german(question), pairs))


def sit_exams(
    make: Callable[[], nn.Module],
    num_pairs: int,
    seed: int,
    steps: int = 600,
    rate: float = 0.01,
    width: int = 32,
    batch: int = 32,
) -> tuple[Candidate, float]:
    """Train a fresh candidate; return it and its share right in 2,000 other exams."""
    torch.manual_seed(seed)
    candidate = Candidate(make(width=width), width)
    optimizer = torch.optim.Adam(candidate.parameters(), lr=rate)
    for _ in range(steps):
        *exam, answer = draw_exams(batch, num_pairs)
        loss = F.cross_entropy(candidate(*exam), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        *exam, answer = draw_exams(2000, num_pairs)
        is_right = candidate(*exam).argmax(dim=-1) == answer
    return candidate, is_right.float().mean().item()


# -- what softmax makes of wide scores -------------------------------------------------


def entropy_and_gradients(
    d_k: int, scale: float, seed: int, num_keys: int = 64, num_queries: int = 400
) -> dict[str, Tensor]:
    """Random queries, keys and values with entries of variance 1, and random gradients above.

    Returns for each query: "entropy" of its weights as a share of its maximum, and the norms of
    the gradients that reach its "scores" and the "query" itself, each (num_queries,).
    """
    g = torch.Generator().manual_seed(seed)
    q = torch.randn(num_queries, 1, d_k, generator=g, requires_grad=True)
    k = torch.randn(num_queries, num_keys, d_k, generator=g)
    v = torch.randn(num_queries, num_keys, 16, generator=g)
    upstream = torch.randn(num_queries, 1, 16, generator=g)
    scores = scale * q @ k.transpose(1, 2)  # (num_queries, 1, num_keys)
    weights = torch.softmax(scores, dim=-1)
    of_scores, of_query = torch.autograd.grad(weights @ v, (scores, q), upstream)
    entropy = torch.special.entr(weights.detach()).sum(dim=-1) / math.log(num_keys)
    return {
        "entropy": entropy[:, 0],
        "scores": of_scores.norm(dim=-1)[:, 0],
        "query": of_query.norm(dim=-1)[:, 0],
    }
