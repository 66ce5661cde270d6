"""Batches of few shapes, made where the model computes, from ids that lie there already.

A GPU replays an update as one graph only for shapes that it has seen, and waits for nothing while
a batch is cut out of its own memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from translator.data.batching import Batch, Padding, TokenBatches, halve_to_multiple
from translator.data.token_ids import TokenIds


class FixedBatches(TokenBatches):
    """TokenBatches of at most `shapes` shapes (B, L), for sources and targets alike.

    A pair goes where its longer side just fits; B is max_tokens // L. Rows that are left over are
    empty: nothing is asked of them. The ids are copied to the
    device once. bounds: the lengths L of an earlier epoch, so that shapes stay; a longer pair adds
    one. The other arguments are those of TokenBatches.
    """

    def __init__(
        self,
        ids: TokenIds,
        max_tokens: int,
        *,
        shapes: int,
        device: torch.device | str,
        bounds: Sequence[int] = (),
        **others,
    ):
        self.shapes, self.given, self.device = shapes, tuple(bounds), device
        super().__init__(ids, max_tokens, **others)
        self.bounds = self._bounds()
        self._bucket = np.searchsorted(self.bounds, self._longest())  # (N,)
        self._src_flat, self._src_begin = self._on_device(ids.src_ids, ids.src_offsets)
        self._tgt_flat, self._tgt_begin = self._on_device(ids.tgt_ids, ids.tgt_offsets)

    def _longest(self) -> np.ndarray:
        return np.maximum(self._src, self._tgt)

    def _bounds(self) -> list[int]:
        """Return lengths between which there are about equally many tokens."""
        lengths = np.sort(self._longest())
        if self.given:
            longer = lengths[-1:][lengths[-1:] > self.given[-1]]
            return [*self.given, *longer.tolist()]
        tokens = np.cumsum(lengths)
        shares = tokens[-1] * np.arange(1, self.shapes + 1) / self.shapes
        chosen = np.searchsorted(tokens, shares).clip(max=len(lengths) - 1)
        return sorted(set(lengths[chosen].tolist()))

    def _on_device(self, flat: np.ndarray, offsets: np.ndarray):
        # One more, so that an empty row has a place to begin.
        flat = np.append(flat, self.pad_id).astype(np.int64)
        return (
            torch.from_numpy(flat).to(self.device),
            torch.from_numpy(offsets.astype(np.int64)).to(self.device),
        )

    def _best_slabs(self) -> int:
        return 1

    def _make_plan(self, epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch]) if self.shuffle else None
        plan = []
        for k, bound in enumerate(self.bounds):
            rows = np.flatnonzero(self._bucket == k)
            rows = rng.permutation(rows) if rng is not None else rows
            size = self._size(bound)
            plan += [rows[i : i + size] for i in range(0, len(rows), size)]
        plan = halve_to_multiple(plan, self.accumulation)
        if rng is not None:
            plan = [plan[i] for i in rng.permutation(len(plan))]
        return plan

    def _size(self, bound: int) -> int:
        return min(self.max_tokens // bound, self.max_sentences)

    def padding(self, epoch: int = 0) -> Padding:
        """Measure what share of the cells of an epoch's batches is padding."""
        bounds = [self.bounds[self._bucket[rows[0]]] for rows in self.plan(epoch)]
        cells = sum(bound * self._size(bound) for bound in bounds)
        used = [
            lengths.sum() + len(self.ids)
            for lengths in (self.ids.src_lengths, self.ids.tgt_lengths)
        ]
        src, tgt = (float(1 - n / cells) for n in used)
        return Padding(src, tgt, (src + tgt) / 2)

    def batch(self, rows: np.ndarray | Sequence[int]) -> Batch:
        """Return the pairs of these rows as a batch of their shape, on the device."""
        rows = np.asarray(rows)
        bound = self.bounds[int(self._bucket[rows].max())]
        padded = np.full(max(self._size(bound), len(rows)), -1, dtype=np.int64)
        padded[: len(rows)] = rows
        chosen = torch.from_numpy(padded)
        if torch.device(self.device).type == "cuda" and torch.cuda.is_available():
            chosen = chosen.pin_memory()  # the copy waits for nothing
        chosen = chosen.to(self.device, non_blocking=True)
        src, tgt_in, tgt_out = self.cut(chosen, bound)
        src_tokens = int(self.ids.src_lengths[rows].sum()) + len(rows)
        tgt_tokens = int(self.ids.tgt_lengths[rows].sum()) + len(rows)
        return Batch(
            src, tgt_in, tgt_out, chosen, num_tokens=tgt_tokens, src_tokens=src_tokens
        )

    def cut(self, rows: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return src, tgt_in, tgt_out (B, L) for rows (B,); -1 is an empty row."""
        there = (rows >= 0)[:, None]  # (B, 1)
        known = rows.clamp(min=0)
        place = torch.arange(length, device=self.device)  # (L,)

        def sides(flat: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
            begin = begins[known][:, None]
            size = torch.where(there, begins[known + 1][:, None] - begin, 0)  # (B, 1)
            last = len(flat) - 1
            ids = flat[(begin + place).clamp(max=last)]  # (B, L)
            ids = torch.where(place < size, ids, self.pad_id)
            return ids, size

        src, src_size = sides(self._src_flat, self._src_begin)
        tgt, tgt_size = sides(self._tgt_flat, self._tgt_begin)
        # An empty row reads the end and is asked for nothing.
        src = torch.where(place == src_size, self.eos_id, src)
        tgt_in = torch.where(place == 0, self.bos_id, tgt.roll(1, dims=1))
        tgt_out = torch.where((place == tgt_size) & there, self.eos_id, tgt)
        return src, tgt_in, tgt_out
