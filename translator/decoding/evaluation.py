"""How good a translator is: BLEU and chrF with their signatures, by length, and how fast."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from translator.decoding.confidence import Calibration, group_means, sentence_chrf
from translator.decoding.lines import translate_lines
from translator.decoding.model_folder import Translator
from translator.decoding.near import near_sources
from translator.decoding.search import DecodingOptions
from translator.errors import TranslatorError

#: Sentences of up to this many source words go together; the last bucket is open.
LENGTH_BUCKETS = (3, 5, 8, 12, 16, 24)
#: Test sets drawn anew for a confidence interval (Koehn, 2004).
RESAMPLED = 1000


def scores(
    outputs: Sequence[str], references: Sequence[str], intervals: bool = False
) -> dict[str, Any]:
    """Return BLEU and chrF, each with the signature that makes it comparable.

    Cased, on plain text: sacreBLEU does the tokenising. intervals: also within what BLEU is in 95
    of 100 test sets that are drawn from this one with replacement.
    Raises TranslatorError for two lists of different length, or empty ones.
    """
    if len(outputs) != len(references) or not outputs:
        raise TranslatorError(
            f"expected as many references as outputs, and at least one, "
            f"got {len(references)} and {len(outputs)}"
        )
    result = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        value = metric.corpus_score(list(outputs), [list(references)])
        result[name] = {"score": value.score, "signature": str(metric.get_signature())}
        if name == "bleu":
            result[name]["brevity_penalty"] = value.bp
            result[name]["length_ratio"] = value.ratio
        if name == "bleu" and intervals:
            again = BLEU()
            drawn = again.corpus_score(
                list(outputs), [list(references)], n_bootstrap=RESAMPLED
            )
            result[name]["interval"] = [
                drawn._mean - drawn._ci,
                drawn._mean + drawn._ci,
            ]
            result[name]["signature"] = str(again.get_signature())
    result["sentences"] = len(outputs)
    result["exact"] = sum(
        a == b for a, b in zip(outputs, references, strict=True)
    ) / len(outputs)
    return result


def by_length(
    sources: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[str],
    bounds: Sequence[int] = LENGTH_BUCKETS,
    intervals: bool = False,
) -> list[dict[str, Any]]:
    """Return the scores of each bucket of source length that holds a sentence."""
    rows = []
    low = 1
    for high in (*bounds, None):
        chosen = [
            i
            for i, source in enumerate(sources)
            if low <= max(len(source.split()), 1)
            and (high is None or len(source.split()) <= high)
        ]
        if chosen:
            part = scores(*_rows(chosen, outputs, references), intervals)
            rows.append(
                {
                    "words": [low, high],
                    "sentences": len(chosen),
                    "bleu": part["bleu"]["score"],
                    "chrf": part["chrf"]["score"],
                    "length_ratio": part["bleu"]["length_ratio"],
                    **({"interval": part["bleu"]["interval"]} if intervals else {}),
                    "exact": part["exact"],
                }
            )
        low = (high or 0) + 1
    return rows


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    options: DecodingOptions,
    trained_on: Iterable[str] = (),
) -> tuple[dict[str, Any], list[str]]:
    """Translate and compare; return (results, translations).

    trained_on: the sources of the training data, if it is known. The sentences that are not within
    a word of one of them are then measured apart, too. Where sources come several times, as in
    Tatoeba, BLEU is also measured with all references of a source.
    """
    began = time.perf_counter()
    outputs = translator.translate(sources, options)
    seconds = time.perf_counter() - began
    bounds = translator.config.data.length_bounds or LENGTH_BUCKETS
    results = {
        "beam_size": options.beam_size,
        "alpha": options.alpha,
        **scores(outputs, references, intervals=True),
        "by_length": by_length(sources, outputs, references, bounds, intervals=True),
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sources) / seconds, 1),
    }
    if len(set(sources)) < len(sources):
        results["several_references"] = several_references(sources, outputs, references)
    trained_on = list(trained_on)
    far = [
        row for row, near in enumerate(near_sources(sources, trained_on)) if not near
    ]
    if trained_on and far:
        results["without_a_near_source"] = scores(
            *_rows(far, outputs, references), intervals=True
        )
    return results, outputs


def several_references(
    sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> dict[str, Any]:
    """Return BLEU where a source that comes several times counts once, with all its references."""
    known: dict[str, list[str]] = {}
    for source, reference in zip(sources, references, strict=True):
        known.setdefault(source, []).append(reference)
    answers = dict(zip(sources, outputs, strict=True))
    columns = list(zip_longest(*known.values()))  # None where a source has fewer
    metric = BLEU()
    value = metric.corpus_score([answers[source] for source in known], columns)
    return {
        "score": value.score,
        "signature": str(metric.get_signature()),
        "sentences": len(known),
        "references": len(references),
    }


def best_alpha(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    beam_size: int,
    alphas: Sequence[float],
) -> dict[str, Any]:
    """Return the length penalty of the highest BLEU on validation pairs, and all those tried."""
    tried = []
    for alpha in alphas:
        outputs = translator.translate(
            sources, DecodingOptions(beam_size=beam_size, alpha=alpha)
        )
        tried.append(
            {"alpha": alpha, "bleu": scores(outputs, references)["bleu"]["score"]}
        )
    best = max(tried, key=lambda found: found["bleu"])["alpha"]
    return {
        "alpha": best,
        "beam_size": beam_size,
        "sentences": len(sources),
        "tried": tried,
    }


def calibrate(
    translator: Translator,
    valid: tuple[Sequence[str], Sequence[str]],
    test: tuple[Sequence[str], Sequence[str]],
    options: DecodingOptions,
) -> dict[str, Any]:
    """Return which chrF goes with which log-probability on validation pairs, and whether it holds.

    valid, test: sources and references. Translated is as `translate` does it, with names put in
    their places. The result has the line's points; `measured`, for the test, with the sentences in
    groups by what was expected of them; and the scores of the test's translations.
    """

    def translated(pairs: tuple[Sequence[str], Sequence[str]]):
        rows = translate_lines(translator, pairs[0], options)
        outputs = [row.text for row in rows]
        certainty = [row.candidates[0].log_probability for row in rows]
        chrf = sentence_chrf(outputs, pairs[1])
        kept = [i for i, value in enumerate(certainty) if value is not None]
        return outputs, *_rows(kept, certainty, chrf)

    _, log_probability, chrf = translated(valid)
    fitted = Calibration.fit(log_probability, chrf)
    outputs, log_probability, chrf = translated(test)
    expected = [fitted.expected_chrf(value) for value in log_probability]
    return {
        "sentences": len(valid[0]),
        "alpha": options.alpha,
        "beam_size": options.beam_size,
        "log_probability": list(fitted.log_probability),
        "chrf": list(fitted.chrf),
        "measured": [
            {"expected": float(mean), "chrf": float(value), "sentences": size}
            for mean, value, size in group_means(expected, chrf, groups=10)
        ],
        "as_used": scores(outputs, test[1], intervals=True),
    }


def _rows(chosen: Sequence[int], *columns: Sequence[str]) -> tuple[list[str], ...]:
    return tuple([column[row] for row in chosen] for column in columns)
