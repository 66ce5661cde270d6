"""Tokenised sentence pairs as flat arrays: all ids in a row, and where each sentence begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from translator.errors import PreparedDataError

ARRAYS = ("src_ids", "src_offsets", "tgt_ids", "tgt_offsets")


@dataclass(frozen=True, slots=True)
class TokenIds:
    """The ids of N sentence pairs, without special tokens.

    src_ids, tgt_ids: all ids, one sentence after the other. src_offsets, tgt_offsets: (N + 1,),
    sentence i is ids[offsets[i] : offsets[i + 1]]. Raises PreparedDataError where they do not fit
    together.
    """

    src_ids: np.ndarray
    src_offsets: np.ndarray
    tgt_ids: np.ndarray
    tgt_offsets: np.ndarray

    def __post_init__(self) -> None:
        for side in ("src", "tgt"):
            ids, offsets = (
                getattr(self, f"{side}_ids"),
                getattr(self, f"{side}_offsets"),
            )
            fits = (
                ids.ndim == offsets.ndim == 1
                and np.issubdtype(ids.dtype, np.integer)
                and len(offsets) >= 1
                and offsets[0] == 0
                and offsets[-1] == len(ids)
                and not (np.diff(offsets) < 0).any()
            )
            if not fits:
                raise PreparedDataError(
                    f"{side}_offsets: expected rising offsets from 0 to {ids.size} = the number "
                    f"of {side}_ids, got shape {offsets.shape}"
                )
        if len(self.src_offsets) != len(self.tgt_offsets):
            raise PreparedDataError(
                f"tgt_offsets: expected {len(self.src_offsets) - 1} sentences as in the source, "
                f"got {len(self.tgt_offsets) - 1}"
            )

    @classmethod
    def from_lists(
        cls, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]
    ) -> TokenIds:
        """Return the arrays for lists of ids, one list a sentence."""
        return cls(*_flat(src), *_flat(tgt))

    def __len__(self) -> int:
        return len(self.src_offsets) - 1

    def src(self, i: int) -> np.ndarray:
        """Return the ids of source i."""
        return self.src_ids[self.src_offsets[i] : self.src_offsets[i + 1]]

    def tgt(self, i: int) -> np.ndarray:
        """Return the ids of target i."""
        return self.tgt_ids[self.tgt_offsets[i] : self.tgt_offsets[i + 1]]

    @property
    def src_lengths(self) -> np.ndarray:
        """Number of ids of each source: (N,)."""
        return np.diff(self.src_offsets)

    @property
    def tgt_lengths(self) -> np.ndarray:
        """Number of ids of each target: (N,)."""
        return np.diff(self.tgt_offsets)

    def select(self, rows: Sequence[int] | np.ndarray) -> TokenIds:
        """Return the pairs of these rows, in their order."""
        rows = np.asarray(rows, dtype=np.int64)
        src = _gather(self.src_ids, self.src_offsets, rows)
        return TokenIds(*src, *_gather(self.tgt_ids, self.tgt_offsets, rows))


def ragged_to_rows(
    ids: np.ndarray,
    offsets: np.ndarray,
    width: int,
    pad_id: int,
    *,
    first: int | None = None,
    last: int | None = None,
) -> np.ndarray:
    """Return the sentences as the rows of an int64 array (N, width), padded on the right.

    first, last: ids put before and after each sentence.
    """
    lengths = np.diff(offsets)
    out = np.full((len(lengths), width), pad_id, dtype=np.int64)
    begin = 0 if first is None else 1
    columns = np.arange(width)  # (width,)
    inside = (columns >= begin) & (columns < begin + lengths[:, None])  # (N, width)
    out[inside] = ids
    if first is not None:
        out[:, 0] = first
    if last is not None:
        out[np.arange(len(lengths)), begin + lengths] = last
    return out


def _flat(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    flat = [i for ids in lists for i in ids]
    return np.array(flat, dtype=np.int32), offsets


def _gather(
    ids: np.ndarray, offsets: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    lengths = offsets[rows + 1] - offsets[rows]
    out = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=out[1:])
    # Place of each id in the old array: its place in the new one, moved by where the row began.
    places = np.arange(out[-1]) + np.repeat(offsets[rows] - out[:-1], lengths)
    return ids[places], out
