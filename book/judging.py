"""The small experiments of chapter 4: models that judge numbers, and stacks to build them from.

Sizes as on the page: sentences of eight numbers, width 32, batches of 16.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.encoder import Encoder, EncoderLayer
from transformer.multihead import MultiHeadAttention

T, D = 8, 32  # numbers in a sentence, width
ITSELF = torch.eye(T, dtype=torch.bool)  # a mask: each word may look at itself only


def draw_sentences(seed: int, own: bool = False) -> tuple[Tensor, Tensor]:
    """Numbers (512, T) and answers (512, T): above the average; own: above 9.5."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(20, (512, T), generator=generator)
    average = numbers.float().mean(dim=-1, keepdim=True)
    return numbers, numbers > (9.5 if own else average)


class Judge(nn.Module):
    """Embeds a sentence, hands it to a stack of layers, and gives each word a score."""

    def __init__(self, stack: nn.Module):
        super().__init__()
        self.embed = nn.Embedding(20, D)
        self.stack = stack
        self.read = nn.Linear(D, 1)

    def forward(self, numbers: Tensor) -> Tensor:
        """Scores (B, T) of numbers (B, T)."""
        x = self.stack(self.embed(numbers))  # (B, T) -> (B, T, D)
        return self.read(x).squeeze(-1)  # (B, T, D) -> (B, T)


def learn(
    make_stack: Callable[[], nn.Module],
    seed: int,
    steps: int = 60,
    lr: float = 0.003,
    warm_up: int = 20,
    own: bool = False,
) -> tuple[list[float], float]:
    """Train a judge; return its loss at each step and its error on the training set.

    The learning rate rises for `warm_up` steps, and then falls towards zero.
    """
    numbers, answers = draw_sentences(seed, own)
    torch.manual_seed(seed)
    judge = Judge(make_stack())
    optimizer = torch.optim.Adam(judge.parameters(), lr=lr, fused=True)

    def rate(step: int) -> float:
        return min((step + 1) / max(warm_up, 1), (steps - step) / (steps - warm_up))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses = []
    for _ in range(steps):
        batch = torch.randint(len(numbers), (16,))
        scores = judge(numbers[batch])  # (B, T)
        loss = F.binary_cross_entropy_with_logits(scores, answers[batch].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    with torch.no_grad():
        wrong = (judge(numbers) > 0) != answers  # (B, T)
    return losses, wrong.float().mean().item()


class Attend(nn.Module):
    """Self-attention whose output replaces its input, or is added to it."""

    def __init__(self, mask: Tensor | None = None, residual: bool = False):
        super().__init__()
        self.attention = MultiHeadAttention(D, 4)
        self.mask, self.residual = mask, residual

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        found, _ = self.attention(x, x, x, self.mask)
        return x + found if self.residual else found


def attention_alone(num_layers: int, mask: Tensor | None = None) -> nn.Sequential:
    """A stack of attention without residuals, norms or networks."""
    return nn.Sequential(*(Attend(mask) for _ in range(num_layers)))


def own_share(x: Tensor) -> float:
    """The share of the vectors (B, T, D) that is not common to all words."""
    own = x - x.mean(dim=1, keepdim=True)  # (B, T, D) - (B, 1, D)
    return (own.norm() / x.norm()).item()


# Whole layers, and layers that lack a part


class Ablated(EncoderLayer):
    """A post-norm encoder layer that may lack its residuals or its norms."""

    def __init__(self, residual: bool, norm: bool):
        super().__init__(D, num_heads=2, d_ff=2 * D)
        self.residual = residual
        if not norm:
            self.norm1, self.norm2 = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        found, _ = self.self_attention(x, x, x)
        x = self.norm1(x + found if self.residual else found)
        computed = self.feed_forward(x)
        return self.norm2(x + computed if self.residual else computed)


class LostResidual(EncoderLayer):
    """A pre-norm layer with a slip: the residual starts after the norm."""

    def forward(self, x, mask=None, need_weights=False):
        """(B, T, D) -> (B, T, D), and the weights."""
        x = self.norm1(x)
        found, weights = self.self_attention(x, x, x, mask, need_weights)
        x = x + self.dropout(found)
        x = self.norm2(x)
        return x + self.dropout(self.feed_forward(x)), weights


class OutputOf(nn.Module):
    """The output of an encoder under a mask, without its maps."""

    def __init__(self, encoder: Encoder, mask: Tensor | None = None):
        super().__init__()
        self.encoder, self.mask = encoder, mask

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.encoder(x, self.mask)[0]


def encoder_of(
    num_layers: int, norm_first: bool, mask: Tensor | None = None
) -> OutputOf:
    """A stack of whole layers with two heads."""
    return OutputOf(Encoder(num_layers, D, 2, 2 * D, norm_first=norm_first), mask)


def lost_residuals(num_layers: int) -> OutputOf:
    """A stack of layers with the slip."""
    stack = encoder_of(num_layers, norm_first=True)
    for i in range(num_layers):
        stack.encoder.layers[i] = LostResidual(D, 2, 2 * D, norm_first=True)
    return stack


def small_branches(num_layers: int) -> nn.Module:
    """A post-norm stack whose sublayers say a fifth of what they would, at the start."""
    stack = encoder_of(num_layers, norm_first=False)
    with torch.no_grad():
        for layer in stack.encoder.layers:
            layer.self_attention.out_proj.weight *= 0.2
            layer.feed_forward.linear2.weight *= 0.2
    return stack


VARIANTS = ("neither", "norm", "residual", "both, post-norm", "both, pre-norm")


def stack_of(variant: str, num_layers: int) -> nn.Module:
    """A stack of layers with what one of VARIANTS names."""
    if variant.startswith("both"):
        return encoder_of(num_layers, norm_first=variant.endswith("pre-norm"))
    residual, norm = variant == "residual", variant == "norm"
    return nn.Sequential(*(Ablated(residual, norm) for _ in range(num_layers)))


def gradients(variant: str, num_layers: int, seed: int) -> list[float]:
    """The gradient's norm at each layer's packed projection, before any training."""
    numbers, answers = draw_sentences(seed)
    torch.manual_seed(seed)
    judge = Judge(stack_of(variant, num_layers)).double()
    scores = judge(numbers[:64])
    F.binary_cross_entropy_with_logits(scores, answers[:64].double()).backward()
    layers = [m for m in judge.modules() if isinstance(m, EncoderLayer)]
    return [layer.self_attention.qkv_proj.weight.grad.norm().item() for layer in layers]


# Two facts, and a table of facts

#: The word that asks, then the two facts' words: ids of an embedding of five.
FACTS = torch.tensor([[0, 1 + a, 3 + b] for a in (0, 1) for b in (0, 1)])
DIFFER = torch.tensor([0, 1, 1, 0])


def learn_facts(num_heads: int, seed: int, steps: int) -> float:
    """Cases of four that one layer of attention and a linear read-out get right."""
    torch.manual_seed(seed)
    embed, read = nn.Embedding(5, D), nn.Linear(D, 1)
    attention = MultiHeadAttention(D, num_heads)
    model = nn.ModuleList([embed, attention, read])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    for _ in range(steps):
        x = embed(FACTS)  # (4, 3) -> (4, 3, D)
        scores = read(attention(x[:, :1], x, x)[0]).flatten()  # (4, 1, D) -> (4,)
        loss = F.binary_cross_entropy_with_logits(scores, DIFFER.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ((scores > 0) == DIFFER).float().mean().item()


SYMBOLS, WIDTH = 20, 8
#: Two linear layers with the widest inside, and nothing between them.
WIDE = ((WIDTH, 8 * WIDTH), (8 * WIDTH, WIDTH))


def learn_table(make: Callable[[], nn.Module], seed: int, steps: int) -> float:
    """The share of a random table of 20 x 20 answers that is known after training."""
    torch.manual_seed(seed)
    table = torch.randint(SYMBOLS, (SYMBOLS, SYMBOLS)).flatten()  # (400,)
    symbols = torch.arange(SYMBOLS)
    first, second = torch.cartesian_prod(symbols, symbols).unbind(dim=1)  # (400,) each
    embed = nn.ModuleList([nn.Embedding(SYMBOLS, WIDTH) for _ in range(2)])
    network, read = make(), nn.Linear(WIDTH, SYMBOLS)
    model = nn.ModuleList([embed, network, read])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    for _ in range(steps):
        x = embed[0](first) + embed[1](second)  # (400, D)
        scores = read(x + network(x))  # (400, D) -> (400, SYMBOLS)
        loss = F.cross_entropy(scores, table)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (scores.argmax(dim=-1) == table).float().mean().item()


# Sets with an odd one out

ATTRIBUTES, KINDS, PAD = 3, 5, 5  # ids 0 to 4 are real, 5 is padding
LONGEST = 10


def draw_sets(num_sets: int, shortest: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Items (B, T, 3) with padding, the odd one (B,), the attribute that tells (B,)."""
    items = torch.randint(KINDS, (num_sets, LONGEST, ATTRIBUTES))
    length = torch.randint(shortest, LONGEST + 1, (num_sets,))
    odd = (torch.rand(num_sets) * length).long()
    attribute = torch.randint(ATTRIBUTES, (num_sets,))
    shared = torch.randint(KINDS, (num_sets,))
    other = (shared + torch.randint(1, KINDS, (num_sets,))) % KINDS
    rows = torch.arange(num_sets)
    items[rows, :, attribute] = shared[:, None]  # all agree in the attribute
    items[rows, odd, attribute] = other  # but one
    items[torch.arange(LONGEST) >= length[:, None]] = PAD
    return items, odd, attribute


def candidates(items: Tensor) -> Tensor:
    """(B, T), True where an item of (B, T, 3) is the only one to differ in an attribute."""
    real = items[..., 0] != PAD  # (B, T)
    both = (real[:, :, None] & real[:, None]).unsqueeze(-1)  # (B, T, T, 1)
    alike = (items[:, :, None] == items[:, None]) & both  # (B, T, T, 3)
    agree = alike.sum(dim=2)  # (B, T, 3): how many agree with an item, itself included
    others = real.sum(dim=1)[:, None, None] - 1
    rest_agrees = (agree == others).sum(dim=1, keepdim=True) == others  # (B, 1, 3)
    return ((agree == 1) & rest_agrees & real[..., None]).any(dim=-1)


class OddOneOut(nn.Module):
    """Gives each item of a set a score; the highest is the odd one."""

    def __init__(self):
        super().__init__()
        tables = [nn.Embedding(KINDS + 1, D) for _ in range(ATTRIBUTES)]
        self.embed = nn.ModuleList(tables)
        self.encoder = Encoder(2, D, num_heads=4, d_ff=2 * D, norm_first=True)
        self.score = nn.Linear(D, 1)

    def embed_items(self, items: Tensor) -> Tensor:
        """(B, T, 3) -> (B, T, D), the sum of an item's three vectors."""
        parts = zip(self.embed, items.unbind(dim=-1), strict=True)
        return sum(embed(part) for embed, part in parts)

    def forward(self, items, mask=None, need_weights=False):
        """Scores (B, T), -inf at padding, and the attention maps."""
        real = padding_mask(items[..., 0], PAD)  # (B, T) -> (B, 1, T)
        mask = real if mask is None else mask
        x, maps = self.encoder(self.embed_items(items), mask, need_weights)
        scores = self.score(x).squeeze(-1)  # (B, T, D) -> (B, T)
        return scores.masked_fill(~real.squeeze(1), -torch.inf), maps


def train_on_sets(
    seed: int, mask: Tensor | None = None, steps: int = 450
) -> tuple[OddOneOut, list[float]]:
    """Train a model; return it with its share of right answers at each step."""
    torch.manual_seed(seed)
    model = OddOneOut()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    curve = []
    for _ in range(steps):
        items, odd, _ = draw_sets(64)
        scores, _ = model(items, mask)  # (B, T)
        loss = F.cross_entropy(scores, odd)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        curve.append((scores.argmax(dim=-1) == odd).float().mean().item())
    return model, curve


@torch.no_grad()
def maps_from_second_pass(encoder: Encoder, x: Tensor, mask: Tensor) -> list[Tensor]:
    """Attention maps (B, h, T, T) from a second walk through the layers, done wrong."""
    maps = []
    for layer in encoder.layers:
        normed = layer.norm1(x)
        _, weights = layer.self_attention(normed, normed, normed, mask, True)
        maps.append(weights)
        x, _ = layer(x)  # wrong: without the mask, x has read the padding
    return maps


@torch.no_grad()
def second_pass_drift(model: OddOneOut, items: Tensor, padding: int) -> list[float]:
    """The weight that real queries of the wrong maps put elsewhere, a mean for each layer."""
    real = items[..., 0] != PAD  # (B, T)
    items = F.pad(items, (0, 0, 0, padding), value=PAD)  # (B, T + padding, 3)
    mask = padding_mask(items[..., 0], PAD)
    _, maps = model(items, need_weights=True)
    second = maps_from_second_pass(model.encoder, model.embed_items(items), mask)
    drift = []
    for true, wrong in zip(maps, second, strict=True):
        moved = (true - wrong).abs().sum(dim=-1) / 2  # (B, h, T, T) -> (B, h, T)
        drift.append(moved.transpose(1, 2)[:, : real.shape[1]][real].mean().item())
    return drift
