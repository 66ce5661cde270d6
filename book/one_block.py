# Exported from book/08-one-block-many-models.ipynb by `make library`.
# Edit the chapter, not this file.

import math

import torch
import torch.nn.functional as F
from torch import nn

from book.measure import progress
from transformer.attention import padding_mask
from transformer.decoder import target_mask
from transformer.encoder import Encoder
from transformer.positional import (
    SinusoidalEncoding,
    TokenEmbedding,
    sinusoidal_encoding,
)

NO_ANSWER, PAD, BOS, EOS = -100, 0, 1, 2


def train(model, loss_of_batch, steps, lr=5e-3, bar=True):
    """Minimise loss_of_batch(), which draws its own batch; return each step's loss."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, lr, total_steps=steps, pct_start=0.1, cycle_momentum=False
    )
    losses = []
    for _ in progress(range(steps), "training") if bar else range(steps):
        loss = loss_of_batch()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


class Reader(nn.Module):
    """Words in, for each of them a row of scores out."""

    def __init__(self, vocab_size, num_outputs, d_model=48, positions=True, tied=False):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = SinusoidalEncoding(d_model) if positions else nn.Identity()
        self.encoder = Encoder(
            2, d_model, 4, 4 * d_model, norm_first=True, activation=F.gelu
        )
        self.read = nn.Linear(d_model, num_outputs)
        if tied:  # one Parameter, two names, as in chapter 6
            self.read.weight = self.embedding.weight

    def forward(self, ids, mask, need_weights=False):
        """Scores (B, T, d_out) for ids (B, T); the mask is the encoder's."""
        x = self.positions(self.embedding(ids))  # (B, T) -> (B, T, D)
        x, weights = self.encoder(x, mask, need_weights)
        return self.read(x), weights  # (B, T, D) -> (B, T, d_out)


def asked_loss(scores, answers):
    """The mean loss of scores (B, T, d_out) where answers (B, T) ask for something."""
    return F.cross_entropy(
        scores.flatten(0, 1), answers.flatten(), ignore_index=NO_ANSWER
    )


def hide_words(ids, mask, share=0.3):
    """Corrupted ids (B, T), where mask is a hidden word, and the answers (B, T)."""
    chosen = (torch.rand(ids.shape) < share) & (ids > EOS)  # no <pad>, <bos>, <eos>
    fate = torch.rand(ids.shape)
    corrupted = ids.masked_fill(chosen & (fate < 0.8), mask)
    replaced = chosen & (fate >= 0.8) & (fate < 0.9)
    others = torch.randint(EOS + 1, mask, ids.shape)
    corrupted = torch.where(replaced, others, corrupted)
    return corrupted, ids.masked_fill(~chosen, NO_ANSWER)


class Writer(Reader):
    """A Reader with a causal mask that says, at each position, what comes next."""

    def __init__(self, vocab_size, d_model=64):
        super().__init__(vocab_size, vocab_size, d_model, tied=True)

    def forward(self, ids):
        """Scores (B, T, vocab) for the word after each of ids (B, T)."""
        return super().forward(ids, target_mask(ids, PAD))[0]

    @torch.no_grad()
    def write(self, num_texts, temperature=1.0, top_k=None, max_len=20):
        """Draw texts word by word: (B, T) ids after <bos>, padded after <eos>."""
        ids = torch.full((num_texts, 1), BOS)
        for _ in range(max_len):
            scores = self(ids)[:, -1] / temperature  # (B, T, vocab) -> (B, vocab)
            scores[:, [PAD, BOS]] = -torch.inf
            if top_k is not None:
                least = scores.topk(top_k).values[:, -1:]  # (B, vocab) -> (B, 1)
                scores = scores.masked_fill(scores < least, -torch.inf)
            probs = torch.softmax(scores, dim=-1)
            word = torch.multinomial(probs, 1)  # (B, vocab) -> (B, 1)
            ended = (ids[:, -1:] == EOS) | (ids[:, -1:] == PAD)
            ids = torch.cat([ids, word.masked_fill(ended, PAD)], dim=1)
        return ids[:, 1:]


def next_word_loss(model, ids):
    """The mean loss a word, <eos> included, for ids (B, T + 1)."""
    answers = ids[:, 1:].masked_fill(ids[:, 1:] == PAD, NO_ANSWER)  # (B, T)
    return asked_loss(model(ids[:, :-1]), answers)


def patchify(images, patch):
    """Cut images into squares, row by row: (B, C, H, W) -> (B, n, C patch patch)."""
    batch, channels, height, width = images.shape
    rows, columns = height // patch, width // patch
    # (B, C, H, W) -> (B, C, rows, patch, columns, patch)
    squares = images.view(batch, channels, rows, patch, columns, patch)
    # (B, C, rows, patch, columns, patch) -> (B, rows, columns, C, patch, patch)
    squares = squares.permute(0, 2, 4, 1, 3, 5)
    # (B, rows, columns, C, patch, patch) -> (B, n, C patch patch)
    return squares.reshape(batch, rows * columns, channels * patch * patch)


def grid_encoding(rows, columns, d_model):
    """Sinusoids of row and column side by side: (rows columns, D)."""
    down = sinusoidal_encoding(rows, d_model // 2)[:, None].expand(-1, columns, -1)
    across = sinusoidal_encoding(columns, d_model // 2)[None].expand(rows, -1, -1)
    # two of (rows, columns, D / 2) -> (rows, columns, D) -> (n, D)
    return torch.cat([down, across], dim=-1).flatten(0, 1)


class ViT(nn.Module):
    """Patches of a square image, and [CLS] in front; the answer is read off [CLS]."""

    def __init__(
        self,
        channels,
        size,
        patch,
        num_outputs,
        d_model=48,
        positions="learned",
        cut=patchify,
    ):
        super().__init__()
        self.cut, self.patch, side = cut, patch, size // patch
        self.project = nn.Linear(channels * patch**2, d_model)
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, d_model))
        start = {
            "learned": 0.02 * torch.randn(side**2, d_model),
            "2-D sinusoids": grid_encoding(side, side, d_model),
            "none": torch.zeros(side**2, d_model),
        }[positions]
        self.positions = nn.Parameter(start, requires_grad=positions == "learned")
        self.encoder = Encoder(
            2, d_model, 4, 4 * d_model, norm_first=True, activation=F.gelu
        )
        self.read = nn.Linear(d_model, num_outputs)

    def forward(self, images, need_weights=False):
        """Scores (B, d_out) for images (B, C, H, W)."""
        x = self.project(self.cut(images, self.patch))  # (B, C, H, W) -> (B, n, D)
        x = x + self.positions
        cls = self.cls.expand(len(x), -1, -1)  # (1, 1, D) -> (B, 1, D)
        x = torch.cat([cls, x], dim=1)  # (B, n, D) -> (B, n + 1, D)
        x, weights = self.encoder(x, None, need_weights)
        return self.read(x[:, 0]), weights  # (B, n + 1, D) -> (B, d_out)


class MiniCLIP(nn.Module):
    """Two towers that put images and captions into one space."""

    def __init__(self, vocab_size, size, patch=6, width=32):
        super().__init__()
        self.image_tower = ViT(3, size, patch, width)
        self.text_tower = Reader(vocab_size, width)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def embed_images(self, images):
        """(B, C, H, W) -> (B, d_e)."""
        return F.normalize(self.image_tower(images)[0], dim=-1)

    def embed_captions(self, ids):
        """(B, T) -> (B, d_e)."""
        rows, _ = self.text_tower(ids, padding_mask(ids, PAD))  # (B, T) -> (B, T, d_e)
        real = (ids != PAD)[..., None]  # (B, T, 1)
        return F.normalize((rows * real).sum(dim=1), dim=-1)  # (B, T, d_e) -> (B, d_e)

    def forward(self, images, ids):
        """Cosines (B, B), divided by the temperature: images down, captions across."""
        scale = self.log_scale.exp().clamp(max=100)
        return scale * self.embed_images(images) @ self.embed_captions(ids).T


def contrastive_loss(scores):
    """Cross-entropy along rows and columns of scores (B, B); the diagonal is right."""
    answers = torch.arange(len(scores))
    return (F.cross_entropy(scores, answers) + F.cross_entropy(scores.T, answers)) / 2
