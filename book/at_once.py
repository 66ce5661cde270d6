"""A language of three-word sentences with two right orders: all at once, or one after another.

"heute singt sie" is "today she sings" or "she sings today"; training shows each of the two half of
the time. Page and claims of chapter 6 share it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.encoder import Encoder
from transformer.model import Transformer
from transformer.positional import SinusoidalEncoding, TokenEmbedding

WHEN = {"heute": "today", "jetzt": "now", "hier": "here", "draußen": "outside"}
DOES = {
    "singt": "sings",
    "schläft": "sleeps",
    "lacht": "laughs",
    "malt": "paints",
    "liest": "reads",
    "arbeitet": "works",
}
WHO = {"sie": "she", "er": "he", "jemand": "someone", "niemand": "nobody"}
GERMAN = [*WHEN, *DOES, *WHO]
ENGLISH = ["<bos>", *WHEN.values(), *DOES.values(), *WHO.values()]
STEPS = 250

#: Every sentence, (96, 3), and its two translations, (96, 2, 3).
SOURCES = torch.cartesian_prod(
    torch.arange(4), torch.arange(4, 10), torch.arange(10, 14)
)
_when, _does, _who = (SOURCES + 1).unbind(dim=1)  # the same words in English
BOTH_ORDERS = torch.stack(
    [
        torch.stack([_when, _who, _does], dim=1),
        torch.stack([_who, _does, _when], dim=1),
    ],
    dim=1,
)


def draw_toy(batch_size: int) -> tuple[Tensor, Tensor]:
    """Return sources (B, 3), and for each of them one of its two translations (B, 3)."""
    rows = torch.randint(len(SOURCES), (batch_size,))
    coin = torch.randint(2, (batch_size,))
    return SOURCES[rows], BOTH_ORDERS[rows, coin]


def share_right(written: Tensor, rows: Tensor) -> float:
    """Return the share of translations (n, 3) that are one of the two right ones."""
    same = (written[:, None] == BOTH_ORDERS[rows]).all(dim=-1)  # (n, 2, 3) -> (n, 2)
    return same.any(dim=-1).float().mean().item()


class AllAtOnce(nn.Module):
    """An encoder whose every position names one word of the target."""

    def __init__(self, d_model: int = 32, num_layers: int = 2):
        super().__init__()
        self.embedding = TokenEmbedding(len(GERMAN), d_model)
        self.positions = SinusoidalEncoding(d_model)
        self.encoder = Encoder(num_layers, d_model, 4, 2 * d_model, norm_first=True)
        self.output_proj = nn.Linear(d_model, len(ENGLISH))

    def forward(self, src: Tensor) -> Tensor:
        """(B, 3) -> logits (B, 3, vocab)."""
        x, _ = self.encoder(self.positions(self.embedding(src)))  # (B, 3) -> (B, 3, D)
        return self.output_proj(x)  # (B, 3, D) -> (B, 3, vocab)


def one_after_another() -> Transformer:
    """Return a whole Transformer for the same language; its <bos> is 0."""
    return Transformer(  # one more id for padding, which nothing needs here
        len(ENGLISH) + 1,
        len(ENGLISH) + 1,
        pad_id=len(ENGLISH),
        d_model=32,
        num_heads=4,
        d_ff=64,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=0.0,
        norm_first=True,
    )


def shift_right(tgt: Tensor) -> Tensor:
    """Return the target with <bos> in front and without its last word: (B, T) -> (B, T)."""
    return F.pad(tgt, (1, 0), value=0)[:, :-1]


def train_toy(
    model: nn.Module,
    logits_of: Callable[[Tensor, Tensor], Tensor],
    *,
    steps: int = STEPS,
    watch=lambda steps: steps,
) -> None:
    """Train a model; logits_of: sources and targets, (B, 3) each, to logits (B, 3, vocab)."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    for _ in watch(range(steps)):
        src, tgt = draw_toy(96)
        loss = F.cross_entropy(logits_of(src, tgt).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def write_at_once(model: AllAtOnce, rows: Tensor) -> Tensor:
    """Draw each word of the translations of these sources by itself: (n,) -> (n, 3)."""
    probs = torch.softmax(model(SOURCES[rows]), dim=-1)  # (n, 3, vocab)
    return torch.distributions.Categorical(probs).sample()


@torch.no_grad()
def write_step_by_step(model: Transformer, rows: Tensor) -> Tensor:
    """Draw a word, look at it, and draw the next: (n,) -> (n, 3)."""
    written = torch.zeros(len(rows), 1, dtype=torch.int64)  # <bos>
    for _ in range(3):
        logits = model(SOURCES[rows], written)[:, -1]  # (n, vocab)
        p_next = torch.softmax(logits, dim=-1)
        written = torch.cat([written, torch.multinomial(p_next, 1)], dim=1)
    return written[:, 1:]
