"""More from few pairs: joined, turned round, and words cut differently in every epoch.

Both are for training data alone; validation and test stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from translator.data.prepared import Example
from translator.data.token_ids import TokenIds
from translator.data.tokenizer import Tokenizer
from translator.errors import TokenizerError

#: What joined pairs are called in the statistics, in place of a corpus.
JOINED = "joined"
#: What pairs with source and target exchanged are called.
REVERSED = "reversed"


def join_pairs(rows: Sequence[Example], share: float, seed: int) -> list[Example]:
    """Return share · N new pairs, each of them two or three of the given ones in a row.

    A corpus of short sentences never shows a model the positions that long inputs reach; joined
    pairs do. Pairs of one corpus are joined with pairs of the same.
    """
    rng = np.random.default_rng([seed, len(rows)])
    by_corpus: dict[str, list[Example]] = {}
    for row in rows:
        by_corpus.setdefault(row.corpus, []).append(row)
    out = []
    for members in by_corpus.values():
        for _ in range(round(share * len(members))):
            chosen = [
                members[i] for i in rng.integers(len(members), size=rng.integers(2, 4))
            ]
            source = " ".join(row.source for row in chosen)
            out.append(Example(source, " ".join(row.target for row in chosen), JOINED))
    return out


def reverse_pairs(rows: Sequence[Example]) -> list[Example]:
    """Return each pair with its target as the source and its source as the target.

    With these beside the others, a model with one vocabulary learns to read and to write both
    languages; trained on in one direction afterwards, it has seen twice as much. The language of
    the source tells it which way to translate. Source: Ding et al. (2021), "Improving Neural
    Machine Translation by Bidirectional Training", section 2.
    """
    return [Example(row.target, row.source, REVERSED) for row in rows]


class SubwordDropout:
    """Cuts tokens into the two that they were merged from, by chance.

    A word is then seen as different pieces in different epochs, and the pieces learn what they
    have in common with other words. tokenizer: byte-level BPE. probability: of each token to be
    cut; its halves may be cut again. Source: after BPE-dropout, Provilkov et al. (2020), which
    leaves out merges while a word is cut; here they are undone afterwards, on arrays of ids.
    """

    def __init__(self, tokenizer: Tokenizer, probability: float):
        self.probability = probability
        self.left, self.right = _halves(tokenizer)

    def __call__(self, ids: TokenIds, rng: np.random.Generator) -> TokenIds:
        """Return the same texts as other ids; `ids` stays as it is."""
        src = self._cut(ids.src_ids, ids.src_offsets, rng)
        return TokenIds(*src, *self._cut(ids.tgt_ids, ids.tgt_offsets, rng))

    def _cut(
        self, ids: np.ndarray, offsets: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        fresh = np.ones(len(ids), dtype=bool)  # not yet asked
        while fresh.any():
            chosen = (
                fresh
                & (self.left[ids] >= 0)
                & (rng.random(len(ids)) < self.probability)
            )
            copies = np.where(chosen, 2, 1)
            ends = np.concatenate(
                [[0], np.cumsum(copies)]
            )  # where each old token begins now
            out = np.repeat(ids, copies)
            out[ends[:-1][chosen]] = self.left[ids[chosen]]
            out[ends[1:][chosen] - 1] = self.right[ids[chosen]]
            ids, offsets, fresh = out, ends[offsets], np.repeat(chosen, copies)
        return ids, offsets


def _halves(tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Return for each id the two it was merged from, -1 for bytes and specials: (V,) each."""
    model = json.loads(tokenizer.to_json())["model"]
    if model.get("type") != "BPE":
        raise TokenizerError(
            f"tokenizer: expected byte-pair encoding, got {model.get('type')}"
        )
    left = np.full(tokenizer.vocab_size, -1, dtype=np.int32)
    right = left.copy()
    for merge in model["merges"]:
        one, other = merge.split(" ") if isinstance(merge, str) else merge
        merged = model["vocab"][one + other]
        if left[merged] < 0:
            left[merged], right[merged] = model["vocab"][one], model["vocab"][other]
    return left, right
