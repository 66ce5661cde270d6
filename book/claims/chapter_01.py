"""Claims of chapter 1, attention in recurrent networks."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from book.claims import claim, exact
from book.translating import DESIGNS, make_task
from transformer.rnn import Seq2Seq

CHAPTER = "01-rnn-attention"


@exact("1-gru-by-hand", "one step by hand equals nn.GRUCell")
def gru_by_hand() -> None:
    """The equations of the gated recurrent unit, written out."""
    cell = nn.GRUCell(5, 4)
    x, before = torch.randn(5), torch.randn(4)
    from_x = (cell.weight_ih @ x + cell.bias_ih).chunk(3)
    from_h = (cell.weight_hh @ before + cell.bias_hh).chunk(3)
    r, z = (torch.sigmoid(a + b) for a, b in zip(from_x[:2], from_h[:2], strict=True))
    n = torch.tanh(from_x[2] + r * from_h[2])
    torch.testing.assert_close((1 - z) * n + z * before, cell(x, before))


@exact("1-cosine-bound", "no weight can exceed $e / (e + (S - 1)e^{-1})$")
def cosine_bound() -> None:
    """The best case of a cosine score, for several lengths."""
    for length in (4, 8, 16):
        best = torch.full((length,), -1.0)
        best[0] = 1.0
        limit = math.e / (math.e + (length - 1) / math.e)
        found = torch.softmax(best, dim=0)[0].item()
        assert math.isclose(found, limit, rel_tol=1e-5)


def reach(model: Seq2Seq, source: Tensor, target_in: Tensor, word: Tensor) -> Tensor:
    """Norms (B, S): gradient of a logit, at step `word` (B,), at each source word."""
    caught = []
    handle = model.encoder.embedding.register_forward_hook(
        lambda module, inputs, output: caught.append(output)
    )
    logits, _ = model(source, target_in[:, : int(word.max()) + 1])
    handle.remove()
    best = logits[torch.arange(len(source)), word].max(dim=-1).values  # (B, V) -> (B,)
    return torch.autograd.grad(best.sum(), caught)[0].norm(dim=-1)  # (B, S, E)


@claim(
    id="1-reach-untrained",
    sentence="before training, attention brings the gradient to the middle of a sentence",
    control="the same encoder and decoder without the look, on the same random sentences",
    effect="powers of ten between the gradients at the middle word of 41, with and without",
    at_least=2,
)
def reach_untrained(seed: int) -> dict[str, float]:
    """Gradient at the middle of random sentences of 41 words, before training."""
    task = make_task(size=300, tests=1)
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(3, len(task.src_ids), (32, 41), generator=generator)
    target = torch.randint(3, len(task.tgt_ids), (32, 3), generator=generator)
    norms = {
        name: reach(task.model(seed, **design), source, target, torch.full((32,), 2))
        for name, design in DESIGNS.items()
    }
    middle = {name: found[:, 20].mean().item() for name, found in norms.items()}
    with_, without = middle["with attention"], middle["without attention"]
    return {"effect": math.log10(with_ / without), "with": with_, "without": without}
