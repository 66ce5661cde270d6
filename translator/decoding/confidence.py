"""How good a translation is likely to be, from the probability that the model gives it.

The mean log-probability of a token says which of two translations to trust, but not how much. On
validation pairs both it and chrF are known; the line between them, which never falls, is kept in
the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics import CHRF

from translator.decoding.lexicon import WORD, Lexicon

#: Sentences go into so many groups of equal size, by their log-probability.
GROUPS = 20
#: A translation is doubted that has at most this share of its source's words, where these are so
#: many: 7 of 1,000 validation sentences, of which one has a chrF of 50 or more.
SHORT, SHORT_FROM = 0.5, 6
#: Up to so many words without an end mark are doubted below this mean log-probability of a token.
FEW_WORDS, DOUBTED = 3, -0.45


@dataclass(frozen=True)
class Calibration:
    """Points of a line that never falls.

    log_probability: mean of a token, in nats, rising. chrf: the chrF to expect there, 0 to 100.
    """

    log_probability: tuple[float, ...]
    chrf: tuple[float, ...]

    @classmethod
    def fit(
        cls, log_probability: Sequence[float], chrf: Sequence[float]
    ) -> Calibration:
        """Fit the line to sentences; raises ValueError for fewer than two."""
        if len(log_probability) < 2:
            raise ValueError(
                f"expected at least 2 sentences to calibrate on, got {len(log_probability)}"
            )
        rows = group_means(log_probability, chrf)
        # Neighbours that fall are pooled: isotonic regression (Ayer et al., 1955).
        pools: list[list[tuple[float, float, int]]] = []
        for row in rows:
            pools.append([row])
            while len(pools) > 1 and _mean(pools[-2], 1) >= _mean(pools[-1], 1):
                last = pools.pop()
                pools[-1] += last
        return cls(
            tuple(_mean(pool, 0) for pool in pools),
            tuple(_mean(pool, 1) for pool in pools),
        )

    def expected_chrf(self, log_probability: float) -> float:
        """Return the chrF to expect, between the points by a straight line."""
        return float(np.interp(log_probability, self.log_probability, self.chrf))

    def is_low(self, log_probability: float) -> bool:
        """Return whether this is below what the line was fitted to, but for a few sentences."""
        return log_probability < self.log_probability[0]

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Calibration | None:
        """Return the calibration in a record, if it has one."""
        found = record.get("calibration")
        if found is None:
            return None
        points = tuple(found["log_probability"]), tuple(found["chrf"])
        if not points[0] or len(points[0]) != len(points[1]):
            raise ValueError(
                f"calibration: expected as many log-probabilities as chrF, and one at least, "
                f"got {len(points[0])} and {len(points[1])}"
            )
        return cls(*points)


def is_short(sentence: str, translation: str) -> bool:
    """Return whether a translation has so few words that something may have been left out."""
    words = len(WORD.findall(sentence))
    return words >= SHORT_FROM and len(WORD.findall(translation)) <= SHORT * words


def is_guessed(source: str, mean: float, lexicon: Lexicon | None) -> bool:
    """Return whether the translation of a few words that are no sentence may be a guess.

    It is unlikely, or the training did not have one of the words. mean: log-probability of a token.
    """
    words = WORD.findall(source)
    is_unknown = lexicon and not all(map(lexicon.is_familiar, words))
    return len(words) <= FEW_WORDS and (mean < DOUBTED or bool(is_unknown))


def sentence_chrf(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the chrF of each output, 0 to 100."""
    metric = CHRF()
    return [
        metric.sentence_score(output, [reference]).score
        for output, reference in zip(outputs, references, strict=True)
    ]


def group_means(
    order: Sequence[float], values: Sequence[float], groups: int = GROUPS
) -> list[tuple[float, float, int]]:
    """Return (mean order, mean value, size) of groups of neighbours, the lowest order first."""
    by_order = np.argsort(order, kind="stable")
    parts = np.array_split(by_order, min(groups, len(by_order)))
    order, values = np.asarray(order), np.asarray(values)
    return [(order[p].mean(), values[p].mean(), len(p)) for p in parts if len(p)]


def _mean(rows: list[tuple[float, float, int]], column: int) -> float:
    return float(np.average([r[column] for r in rows], weights=[r[2] for r in rows]))
