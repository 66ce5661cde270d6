"""How good a translator is: BLEU and chrF with their signatures, by length, and how fast."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from translator.decoding import DecodingOptions
from translator.errors import TranslatorError
from translator.model_folder import Translator

#: Sentences of up to this many source words go together; the last bucket is open.
LENGTH_BUCKETS = (3, 5, 8, 12, 16, 24)


def scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return BLEU and chrF, each with the signature that makes it comparable.

    Cased, on plain text: sacreBLEU does the tokenising.
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
    result["sentences"] = len(outputs)
    result["exact"] = sum(a == b for a, b in zip(outputs, references, strict=True)) / len(outputs)
    return result


def by_length(
    sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the scores of each bucket of source length that holds a sentence."""
    rows = []
    low = 1
    for high in (*LENGTH_BUCKETS, None):
        chosen = [
            i for i, source in enumerate(sources)
            if low <= max(len(source.split()), 1) and (high is None or len(source.split()) <= high)
        ]  # fmt: skip
        if chosen:
            part = scores([outputs[i] for i in chosen], [references[i] for i in chosen])
            rows.append({"words": [low, high], "sentences": len(chosen),
                         "bleu": part["bleu"]["score"], "chrf": part["chrf"]["score"],
                         "exact": part["exact"]})  # fmt: skip
        low = (high or 0) + 1
    return rows


def evaluate(
    translator: Translator, sources: Sequence[str], references: Sequence[str],
    options: DecodingOptions,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """Translate and compare; return (results, translations)."""
    began = time.perf_counter()
    outputs = translator.translate(sources, options)
    seconds = time.perf_counter() - began
    results = {
        "beam_size": options.beam_size, "alpha": options.alpha,
        **scores(outputs, references),
        "by_length": by_length(sources, outputs, references),
        "seconds": round(seconds, 2), "sentences_per_second": round(len(sources) / seconds, 1),
    }  # fmt: skip
    return results, outputs
