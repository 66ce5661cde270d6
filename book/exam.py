"""Chapter 3's exam: each word asks for the values of two words.

The chapter and its claims (book/claims/chapter_03.py) train the same candidates by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import scaled_dot_product_attention
from transformer.multihead import MultiHeadAttention

NAMES, VALUES = 10, 8  # ten names, one for each word; eight values
WIDTH = 32  # D
STEPS = 400


def draw_sentences(
    num_sentences: int, questions: int = 2, generator: torch.Generator | None = None
) -> tuple[Tensor, ...]:
    """Return names and values (B, T), and names asked for, their places and the answers.

    The last three are (B, T, questions): each word asks for that many different words, one of which
    may be itself.
    """
    shape = (num_sentences, NAMES)
    names = torch.rand(shape, generator=generator).argsort(dim=-1)  # a permutation each
    values = torch.randint(VALUES, shape, generator=generator)
    asked = torch.rand(*shape, NAMES, generator=generator).argsort(dim=-1)
    asked = asked[..., :questions]  # different names for a word: (B, T, questions)
    place = names.argsort(dim=-1)  # (B, T): where each name stands
    targets = place[:, None].expand(-1, NAMES, -1).gather(2, asked)
    answers = values[:, None].expand(-1, NAMES, -1).gather(2, targets)
    return names, values, asked, targets, answers


class LookUp(nn.Module):
    """Self-attention with h heads. It keeps its last weights (B, h, T, T)."""

    def __init__(self, num_heads: int):
        super().__init__()
        self.attention = MultiHeadAttention(WIDTH, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        """Let each word gather from all: (B, T, D) -> (B, T, D)."""
        output, self.weights = self.attention(x, x, x, need_weights=True)
        return output


def linear_reader(questions: int = 2) -> nn.Module:
    """Return one linear layer: (B, T, D) -> (B, T, questions * VALUES)."""
    return nn.Linear(WIDTH, questions * VALUES)


def network_reader(questions: int = 2) -> nn.Module:
    """Return a network with a hidden layer: (B, T, D) -> (B, T, questions * VALUES)."""
    return nn.Sequential(
        nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, questions * VALUES)
    )


class Candidate(nn.Module):
    """Embeds a sentence, looks up, and names a value for each question of each word."""

    def __init__(self, look_up: nn.Module, read: nn.Module, questions: int = 2):
        super().__init__()
        self.name = nn.Embedding(NAMES, WIDTH)
        self.value = nn.Embedding(VALUES, WIDTH)
        self.asks = nn.ModuleList(nn.Embedding(NAMES, WIDTH) for _ in range(questions))
        self.look_up, self.read = look_up, read

    def forward(self, names: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        """Return scores (B, T, questions, VALUES) of the values."""
        x = self.name(names) + self.value(values)  # (B, T) -> (B, T, D)
        for number, embedding in enumerate(self.asks):
            x = x + embedding(
                asked[..., number]
            )  # the four facts about a word, added up
        scores = self.read(self.look_up(x))  # (B, T, D) -> (B, T, questions * VALUES)
        return scores.unflatten(-1, (-1, VALUES))


def sit_exam(
    make_look_up: Callable[[], nn.Module],
    make_reader: Callable[[int], nn.Module] = linear_reader,
    *,
    seed: int = 0,
    questions: int = 2,
    steps: int = STEPS,
    rate: float = 0.01,
) -> Candidate:
    """Train a fresh candidate on sentences that are drawn anew at each step."""
    torch.manual_seed(seed)
    candidate = Candidate(make_look_up(), make_reader(questions), questions)
    optimizer = torch.optim.Adam(candidate.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        *sentence, _, answers = draw_sentences(32, questions, generator)
        scores = candidate(*sentence)  # (B, T, questions, VALUES)
        loss = F.cross_entropy(scores.flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return candidate.eval()


def sit_exams(
    make_look_up: Callable[[], nn.Module],
    make_reader: Callable[[int], nn.Module] = linear_reader,
    *,
    seeds: Sequence[int],
    questions: int = 2,
    steps: int = STEPS,
    rate: float = 0.01,
) -> list[Candidate]:
    """Do what sit_exam does, for several seeds side by side: the same, in less time."""
    candidates, generators = [], []
    for seed in seeds:
        torch.manual_seed(seed)
        candidates.append(Candidate(make_look_up(), make_reader(questions), questions))
        generators.append(torch.Generator().manual_seed(seed))
    stacked, _ = torch.func.stack_module_state(candidates)  # (seeds, ...) each
    optimizer = torch.optim.Adam(stacked.values(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    forward = torch.func.vmap(partial(torch.func.functional_call, candidates[0]))
    for _ in range(steps):
        drawn = (draw_sentences(32, questions, one) for one in generators)
        *sentence, _, answers = map(torch.stack, zip(*drawn, strict=True))
        scores = forward(stacked, tuple(sentence))  # (seeds, B, T, questions, VALUES)
        loss = F.cross_entropy(scores.flatten(0, 3), answers.flatten())
        optimizer.zero_grad()
        (loss * len(seeds)).backward()  # each seed's own mean
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        for number, candidate in enumerate(candidates):
            for name, parameter in candidate.named_parameters():
                parameter.copy_(stacked[name][number])
    return [candidate.eval() for candidate in candidates]


@torch.no_grad()
def grade(candidate: Candidate) -> Tensor:
    """Return the share right for each question in 500 new sentences: (questions,)."""
    torch.manual_seed(10**6)  # the same sentences for all, and none seen in training
    *sentence, _, answers = draw_sentences(500, len(candidate.asks))
    return (candidate(*sentence).argmax(dim=-1) == answers).float().mean(dim=(0, 1))


@torch.no_grad()
def ablate(candidate: Candidate) -> Tensor:
    """Return the grades of the whole, then without each head in turn: (h + 1, questions).

    Taking a head away sets its slice of W_O to zero; the candidate is put back.
    """
    attention = candidate.look_up.attention
    weight = attention.out_proj.weight  # (D, D), W_O transposed: a head owns columns
    grades, kept = [grade(candidate)], weight.clone()
    for head in range(attention.num_heads):
        weight[:, head * attention.d_head : (head + 1) * attention.d_head] = 0
        grades.append(grade(candidate))
        weight.copy_(kept)
    return torch.stack(grades)


class WrongSplit(LookUp):
    """A look-up that splits and merges its heads by reshape alone: the chapter's trap."""

    def forward(self, x: Tensor) -> Tensor:
        """Let each word gather, from its own share of the words: (B, T, D) -> (B, T, D)."""
        heads = self.attention.num_heads
        shape = (len(x), heads, x.shape[1], -1)  # wrong: (B, T, D) -> (B, h, T, d_h)
        q, k, v = (
            part.reshape(shape) for part in self.attention.qkv_proj(x).chunk(3, dim=-1)
        )
        gathered, _ = scaled_dot_product_attention(q, k, v)
        return self.attention.out_proj(gathered.reshape(x.shape))


class FreeHeads(nn.Module):
    """Self-attention with h heads whose widths are not tied to D / h: for controls.

    d_k: width of a head's queries and keys. d_v: width of its values.
    """

    def __init__(self, num_heads: int, d_k: int, d_v: int):
        super().__init__()
        self.num_heads = num_heads
        widths = [num_heads * width for width in (d_k, d_k, d_v)]
        self.projections = nn.ModuleList(nn.Linear(WIDTH, width) for width in widths)
        self.out_proj = nn.Linear(num_heads * d_v, WIDTH)
        for linear in (*self.projections, self.out_proj):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Let each word gather from all: (B, T, D) -> (B, T, D)."""
        q, k, v = (
            linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for linear in self.projections
        )  # (B, T, h d) -> (B, h, T, d)
        heads, _ = scaled_dot_product_attention(q, k, v)
        return self.out_proj(heads.transpose(1, 2).flatten(2))
