"""Chapter 5's question of order: readers with other positions, on texts longer than in training.

Each word of a text has a name, carries a value and asks for a name. Two questions are asked at each
word: which value did the word three places before carry ("three back"), and which the latest word
with the name asked for, itself included ("the latest")? Page and claims use the same models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.encoder import Encoder
from transformer.positional import (
    BiasedAttention,
    LearnedEncoding,
    RelativeBias,
    RotaryAttention,
    SinusoidalEncoding,
    TokenEmbedding,
    alibi_bias,
)

NAMES, VALUES, BACK = 6, 8, 3
NO_ANSWER = -100  # what F.cross_entropy ignores
WIDTH, HEADS = 32, 4
TRAINED, LONGEST = 24, 192  # words in a training text, in the longest test text
# Learned vectors begin near zero, and three back waits for them to grow. With 500 steps
# the rate of some seeds was gone before they had.
STEPS = 800
LENGTHS = [8, 16, 24, 32, 40, 48, 64, 96, 128, 192]
KINDS = ["no positions", "sinusoidal", "learned", "relative bias", "rotary", "ALiBi"]


def draw_texts(num_texts: int, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return names, values and names asked for, each (B, T), and the answers (B, T, 2)."""
    names = torch.randint(NAMES, (num_texts, length))
    values = torch.randint(VALUES, (num_texts, length))
    asked = torch.randint(NAMES, (num_texts, length))
    back = F.pad(values, (BACK, 0), value=NO_ANSWER)[:, :length]  # (B, T)
    fits = (asked[:, :, None] == names[:, None]).tril()  # (B, T, T): not after me
    place = torch.where(fits, torch.arange(length), -1)  # (B, T, T)
    place = place.amax(dim=-1)  # (B, T, T) -> (B, T): the latest that fits, or -1
    latest = values.gather(1, place.clamp(min=0))  # (B, T)
    latest = latest.masked_fill(place < 0, NO_ANSWER)
    return names, values, asked, torch.stack([back, latest], dim=-1)


class AppendIndex(nn.Module):
    """Writes the number of the word, 0, 1, ..., into the last feature."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        index = torch.arange(x.shape[1], dtype=x.dtype)[:, None].expand(len(x), -1, 1)
        return torch.cat([x[..., :-1], index], dim=-1)


class Reader(nn.Module):
    """Embeds three facts about each word, adds positions, reads, names two values.

    kind: one of KINDS, or "index": the bare index as the last feature. reach: how many words a
    word may look at, itself and back.
    """

    def __init__(self, kind: str, num_layers: int = 1):
        super().__init__()
        sizes = (NAMES, VALUES, NAMES)
        self.embeddings = nn.ModuleList(TokenEmbedding(size, WIDTH) for size in sizes)
        self.add_positions = nn.Identity()
        if kind == "sinusoidal":
            self.add_positions = SinusoidalEncoding(WIDTH)
        elif kind == "learned":
            self.add_positions = LearnedEncoding(LONGEST, WIDTH)
        elif kind == "index":
            self.add_positions = AppendIndex()
        self.encoder = Encoder(num_layers, WIDTH, HEADS, 4 * WIDTH, norm_first=True)
        for layer in self.encoder.layers:
            if kind == "rotary":
                layer.self_attention = RotaryAttention(WIDTH, HEADS)
            elif kind == "relative bias":
                bias = RelativeBias(HEADS, max_offset=16)
                layer.self_attention = BiasedAttention(WIDTH, HEADS, bias)
            elif kind == "ALiBi":
                bias = partial(alibi_bias, HEADS)  # a function of T_q, T_k and offset
                layer.self_attention = BiasedAttention(WIDTH, HEADS, bias)
        self.read = nn.Linear(WIDTH, 2 * VALUES)
        self.reach = LONGEST

    def forward(self, *facts: Tensor) -> Tensor:
        """Names, values and names asked for, each (B, T) -> logits (B, T, 2, VALUES)."""
        name, value, asked = (
            embed(ids) for embed, ids in zip(self.embeddings, facts, strict=True)
        )  # each (B, T) -> (B, T, D)
        x = self.add_positions((name + value + asked) / math.sqrt(3))  # (B, T, D)
        all_pairs = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)  # (T, T)
        look_back = all_pairs.tril() & all_pairs.triu(1 - self.reach)
        x, _ = self.encoder(x, look_back)
        return self.read(x).unflatten(-1, (2, VALUES))  # (B, T, D) -> (B, T, 2, VALUES)


def train(
    kind: str, seed: int = 0, *, steps: int = STEPS, num_layers: int = 1
) -> Reader:
    """Return a reader of this kind, trained on texts of TRAINED words."""
    torch.manual_seed(seed)
    reader = Reader(kind, num_layers)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    for _ in range(steps):
        *facts, answers = draw_texts(32, TRAINED)
        loss = F.cross_entropy(reader(*facts).flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return reader


def by_length(right: Tensor, answers: Tensor) -> Tensor:
    """Average shares (B, T, 2) over the last 8 words of each length -> (lengths, 2)."""
    right = right.float().masked_fill(answers == NO_ANSWER, torch.nan)
    return torch.stack([right[:, n - 8 : n].nanmean(dim=(0, 1)) for n in LENGTHS])


@torch.no_grad()
def grade(reader: Callable[..., Tensor], seed: int = 1) -> Tensor:
    """Return the share of right answers for each length and question, (lengths, 2)."""
    torch.manual_seed(seed)
    *facts, answers = draw_texts(64, LONGEST)
    return by_length(reader(*facts).argmax(dim=-1) == answers, answers)


def order_blind_best(seed: int = 1) -> Tensor:
    """Return what the best reader that knows no order can get, (lengths, 2).

    It knows which words came before, and itself, and names the commonest value among the words
    that may be meant. Asked for its own name, it is itself the latest.
    """
    torch.manual_seed(seed)
    names, values, asked, answers = draw_texts(64, LONGEST)
    carried = F.one_hot(values, VALUES).float()  # (B, T, VALUES)
    before = carried.cumsum(1) - carried  # (B, T, VALUES): how many came before me
    fits = (asked[:, :, None] == names[:, None]).tril(-1).float()  # (B, T, T)
    named = fits @ carried  # (B, T, T) @ (B, T, VALUES) -> (B, T, VALUES)
    back, latest = (
        counts.amax(dim=-1) / counts.sum(dim=-1).clamp(min=1)
        for counts in (before, named)
    )  # each (B, T)
    latest = torch.where(asked == names, 1.0, latest)
    return by_length(torch.stack([back, latest], dim=-1), answers)
