"""Batches of about equally many tokens, made of sentences of about equal length.

A batch is a rectangle: its longest sentence makes all others pay in padding. So sentences are
sorted by both lengths before they are cut into batches, with chance deciding among equals, and
the batches are shuffled. Everything follows from (seed, epoch): a run can go on at any step, and
several processes can share a step's batches out among themselves without talking.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translator.data.token_ids import TokenIds, ragged_to_rows
from translator.errors import TranslatorError

# How many slabs of target length are tried when looking for the least padding.
_SLABS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs as rectangles of ids, padded on the right.

    src: (B, S), each source and eos. tgt_in: (B, T), bos and each target. tgt_out: (B, T), each
    target and eos: what the model should say at each position of tgt_in. indices: (B,), the rows
    of the split. num_tokens: targets that are not padding, by which a summed loss is divided.
    src_tokens: sources that are not padding.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    indices: Tensor
    num_tokens: int
    src_tokens: int

    def __len__(self) -> int:
        return len(self.src)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """Return the batch on another device.

        non_blocking: do not wait for the copy; a GPU copies so from pinned memory alone.
        """

        def moved(tensor: Tensor) -> Tensor:
            if non_blocking and torch.device(device).type == "cuda" and tensor.is_cpu:
                tensor = tensor.pin_memory()
            return tensor.to(device, non_blocking=non_blocking)

        return self.map(moved)

    def map(self, function) -> Batch:
        """Return the batch with a function applied to each of its tensors."""
        tensors = map(function, (self.src, self.tgt_in, self.tgt_out, self.indices))
        return Batch(*tensors, num_tokens=self.num_tokens, src_tokens=self.src_tokens)


class Padding(NamedTuple):
    """The share of padding among the cells of all sources, all targets, and both."""

    src: float
    tgt: float
    total: float


class TokenBatches:
    """Deals the sentence pairs of a split out into batches, epoch by epoch.

    max_tokens: bounds B·S and B·T of one micro-batch, padding counted. shuffle: False gives the
    same batches in the same order in every epoch, for validation. A step of training consists of
    `accumulation` micro-batches, however many processes share them: with fewer processes than
    micro-batches each takes several, with more of them several divide the rows of one. So a step
    has the same sentences on any number of processes. pad_to_multiple: S and T are rounded up to
    it. max_sentences: bounds B. length_jitter: the lengths by which pairs are sorted are taken for
    up to so many tokens longer, drawn anew in each epoch: a batch is then of less equal lengths.

    Every pair is in exactly one micro-batch of an epoch: where their number is no multiple of a
    step's, the largest are halved. A process that finds no row left in its part of a micro-batch
    gets a batch without tokens. Raises TranslatorError for settings out of range, for a sentence
    longer than max_tokens, for too few sentences to fill a step, and for a number of processes
    that neither divides `accumulation` nor is a multiple of it.
    """

    def __init__(
        self,
        ids: TokenIds,
        max_tokens: int,
        *,
        pad_id: int,
        bos_id: int,
        eos_id: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
        accumulation: int = 1,
        pad_to_multiple: int = 1,
        max_sentences: int | None = None,
        length_jitter: float = 0.0,
    ):
        for name, value in (
            ("max_tokens", max_tokens),
            ("world_size", world_size),
            ("accumulation", accumulation),
            ("pad_to_multiple", pad_to_multiple),
            ("max_sentences", 1 if max_sentences is None else max_sentences),
        ):
            if value < 1:
                raise TranslatorError(f"{name}: expected at least 1, got {value}")
        if not 0 <= rank < world_size:
            raise TranslatorError(f"rank: expected 0 to {world_size - 1}, got {rank}")
        if accumulation % world_size and world_size % accumulation:
            raise TranslatorError(
                f"accumulation: expected a multiple or a divisor of the {world_size} processes "
                f"that share a step, got {accumulation}"
            )
        self.ids, self.max_tokens, self.seed, self.shuffle = (
            ids,
            max_tokens,
            seed,
            shuffle,
        )
        self.pad_id, self.bos_id, self.eos_id = pad_id, bos_id, eos_id
        self.rank, self.world_size, self.accumulation = rank, world_size, accumulation
        self.pad_to_multiple = pad_to_multiple
        self.length_jitter = length_jitter
        self.max_sentences = len(ids) if max_sentences is None else max_sentences
        # With eos, or bos: (N,) each.
        self._src = _round_up(ids.src_lengths + 1, pad_to_multiple)
        self._tgt = _round_up(ids.tgt_lengths + 1, pad_to_multiple)
        longest = np.maximum(self._src, self._tgt)
        if longest.max(initial=0) > max_tokens:
            row = int(longest.argmax())
            raise TranslatorError(
                f"max_tokens: expected at least {longest[row]}, the tokens of pair {row} with "
                f"padding, got {max_tokens}; shorten the sentences with data.max_words"
            )
        if len(ids) < accumulation:
            raise TranslatorError(
                f"ids: expected at least {accumulation} pairs, one for each micro-batch of a "
                f"step, got {len(ids)}"
            )
        self._slabs = self._best_slabs()
        self._plans: dict[int, list[np.ndarray]] = {}

    def plan(self, epoch: int = 0) -> list[np.ndarray]:
        """Return the rows of each micro-batch of an epoch, of all processes and in order."""
        if epoch < 0:
            raise TranslatorError(f"epoch: expected at least 0, got {epoch}")
        epoch = epoch if self.shuffle else 0
        if epoch not in self._plans:
            self._plans = {epoch: self._make_plan(epoch)}
        return self._plans[epoch]

    def num_steps(self, epoch: int = 0) -> int:
        """Return the number of optimiser steps in an epoch, which is the same on every rank."""
        return len(self.plan(epoch)) // self.accumulation

    def tokens(self, epoch: int, step: int) -> int:
        """Return the target tokens of a step, of all processes together."""
        micro = self.accumulation
        rows = np.concatenate(self.plan(epoch)[step * micro : (step + 1) * micro])
        return int(self.ids.tgt_lengths[rows].sum()) + len(rows)

    def steps(self, epoch: int = 0, start: int = 0) -> Iterator[list[Batch]]:
        """Yield this process's share of each step, as micro-batches, from step `start` on."""
        plan, micro = self.plan(epoch), self.accumulation
        if not 0 <= start <= self.num_steps(epoch):
            raise TranslatorError(
                f"start: expected a step from 0 to {self.num_steps(epoch)}, got {start}"
            )
        for step in range(start, self.num_steps(epoch)):
            yield self._share(plan[step * micro : (step + 1) * micro])

    def batches(self, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """Yield this rank's micro-batches one by one, from step `start` on."""
        for step in self.steps(epoch, start):
            yield from step

    def _share(self, step: list[np.ndarray]) -> list[Batch]:
        """Return what falls to this process of a step's micro-batches."""
        if self.world_size <= len(step):
            return [self.batch(rows) for rows in step[self.rank :: self.world_size]]
        each = self.world_size // len(step)  # processes that divide one micro-batch
        rows = step[self.rank // each]
        share = rows[self.rank % each :: each]  # neighbours are of like length
        return [self.batch(share) if len(share) else self._nothing(rows[:1])]

    def _nothing(self, row: np.ndarray) -> Batch:
        """Return a batch that a network can be run on, and whose loss is 0: no token is asked."""
        batch = self.batch(row)
        nothing = torch.full_like(batch.tgt_out, self.pad_id)
        return dataclasses.replace(
            batch,
            tgt_out=nothing,
            indices=batch.indices[:0],
            num_tokens=0,
            src_tokens=0,
        )

    def batch(self, rows: np.ndarray | Sequence[int]) -> Batch:
        """Return the pairs of these rows as a batch."""
        rows = np.asarray(rows)
        chosen = self.ids.select(rows)
        width = int(self._src[rows].max())
        src = ragged_to_rows(
            chosen.src_ids, chosen.src_offsets, width, self.pad_id, last=self.eos_id
        )
        width = int(self._tgt[rows].max())
        tgt = chosen.tgt_ids, chosen.tgt_offsets, width, self.pad_id
        return Batch(
            torch.from_numpy(src),
            torch.from_numpy(ragged_to_rows(*tgt, first=self.bos_id)),
            torch.from_numpy(ragged_to_rows(*tgt, last=self.eos_id)),
            torch.from_numpy(rows.astype(np.int64)),
            num_tokens=len(chosen.tgt_ids) + len(rows),
            src_tokens=len(chosen.src_ids) + len(rows),
        )

    def padding(self, epoch: int = 0) -> Padding:
        """Measure what share of the cells of an epoch's batches is padding."""
        return self._padding(self.plan(epoch))

    # -- how batches are cut -----------------------------------------------------------------

    def _make_plan(self, epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch]) if self.shuffle else None
        plan = self._cut(self._order(self._slabs, rng))
        plan = halve_to_multiple(plan, self.accumulation)
        if rng is not None:
            plan = [plan[i] for i in rng.permutation(len(plan))]
        return plan

    def _order(self, slabs: int, rng: np.random.Generator | None) -> np.ndarray:
        """Return all rows sorted: by target length into slabs, in each by source length.

        Every other slab runs backwards, so that neighbouring slabs meet at like lengths. rng
        decides among equals.
        """
        n = len(self.ids)
        chance = rng.random(n) if rng is not None else np.arange(n)
        src, tgt = self._src, self._tgt
        if rng is not None and self.length_jitter:
            off = rng.uniform(0, self.length_jitter, (2, n))
            src, tgt = src + off[0], tgt + off[1]
        by_target = np.lexsort((chance, src, tgt))
        out = []
        for number, slab in enumerate(np.array_split(by_target, slabs)):
            order = slab[np.lexsort((chance[slab], tgt[slab], src[slab]))]
            out.append(order[::-1] if number % 2 else order)
        return np.concatenate(out)

    def _cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut ordered rows into the longest runs that keep to max_tokens and max_sentences."""
        src, tgt = self._src[order].tolist(), self._tgt[order].tolist()
        plan, begin, widest = [], 0, 0
        for i, length in enumerate(map(max, src, tgt)):
            widest = max(widest, length)
            count = i + 1 - begin
            if count * widest > self.max_tokens or count > self.max_sentences:
                plan.append(order[begin:i])
                begin, widest = i, length
        if begin < len(order):
            plan.append(order[begin:])
        return plan

    def _best_slabs(self) -> int:
        """Return the number of slabs that pads least, tried on the order without chance."""
        tried = [slabs for slabs in _SLABS if slabs <= max(1, len(self.ids) // 2)]
        return min(
            tried, key=lambda s: self._padding(self._cut(self._order(s, None))).total
        )

    def _padding(self, plan: list[np.ndarray]) -> Padding:
        cells = np.zeros(2, dtype=np.int64)
        for rows in plan:
            cells += len(rows) * np.array(
                [self._src[rows].max(), self._tgt[rows].max()]
            )
        used = np.array([self.ids.src_lengths.sum(), self.ids.tgt_lengths.sum()]) + len(
            self.ids
        )
        src, tgt = (1 - used / cells).tolist()
        return Padding(src, tgt, float(1 - used.sum() / cells.sum()))


def source_batches(
    sources: Sequence[Sequence[int]],
    max_tokens: int,
    *,
    pad_id: int,
    eos_id: int,
    max_sentences: int | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield (src, indices) for translating: src (B, S) ids and eos, longest sentences first.

    indices: (B,), the places in `sources`. A sentence longer than max_tokens is alone in its
    batch. Nothing is yielded for no sources.
    """
    lengths = np.array([len(ids) + 1 for ids in sources], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    begin = 0
    while begin < len(order):
        width = int(lengths[order[begin]])
        count = max(1, max_tokens // width)
        if max_sentences is not None:
            count = min(count, max_sentences)
        rows = order[begin : begin + count]
        chosen = TokenIds.from_lists([sources[i] for i in rows], [[] for _ in rows])
        src = ragged_to_rows(
            chosen.src_ids, chosen.src_offsets, width, pad_id, last=eos_id
        )
        yield torch.from_numpy(src), torch.from_numpy(rows)
        begin += count


def _round_up(lengths: np.ndarray, multiple: int) -> np.ndarray:
    return -(-lengths // multiple) * multiple


def halve_to_multiple(plan: list[np.ndarray], multiple: int) -> list[np.ndarray]:
    """Halve the batches of most sentences until the number of batches is a multiple."""
    plan = list(plan)
    while len(plan) % multiple:
        largest = max(range(len(plan)), key=lambda i: len(plan[i]))
        rows = plan[largest]
        if len(rows) == 1:
            raise TranslatorError(
                f"max_tokens: expected room for two sentences in some batch, as {len(plan)} "
                f"single sentences make no whole number of steps of {multiple} micro-batches"
            )
        half = (len(rows) + 1) // 2
        plan[largest : largest + 1] = [rows[:half], rows[half:]]
    return plan
