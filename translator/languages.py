"""Which language a text is in, by py3langid; and whether a corpus has its sides the right way."""

from __future__ import annotations

import functools
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator

from translator.errors import CorpusError, TranslatorError, explain_os_error

LANGUAGES = {
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
}
SOURCE, TARGET = "de", "en"
#: Texts of a corpus that are looked at, at least so many, of so many words on both sides.
LOOKED_AT, AT_LEAST, WORDS = 200, 20, 5
#: The share of them at which sides are exchanged, and at which both are in one language.
EXCHANGED, ALIKE = 0.05, 0.6


@functools.cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:  # it unpacks its model into a temporary file
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise TranslatorError(
            f"which language a text is in cannot be told: {explain_os_error(error)} in "
            f"{tempfile.gettempdir()}: make room there, or set TMPDIR"
        ) from error
    identifier.set_languages(list(LANGUAGES))
    return identifier


def language_of(text: str) -> str | None:
    """Return the likeliest of LANGUAGES; None where that is uncertain."""
    likely = probabilities(text)
    language = max(likely, key=likely.get)
    return language if likely[language] > 0.5 else None


def probabilities(text: str) -> dict[str, float]:
    """Return the probability of each of LANGUAGES, by the letters of a text."""
    return {name: float(share) for name, share in _identifier().rank(text)}


def source_log_odds(likely: dict[str, float]) -> float:
    """Return the log-odds, in nats, for the source's language against all others."""
    share = min(max(likely[SOURCE], 1e-12), 1 - 1e-12)
    return math.log(share / (1 - share))


def check_languages(
    name: str, pairs: Iterable[tuple[str, str]], command: str = "prepare"
) -> None:
    """Raise CorpusError where source and target are exchanged, or in the same language.

    name, command: of the corpus, and of what reads it, for the message. Pairs from all over the
    corpus are looked at, short ones together with their neighbours; a corpus of less than a hundred
    words says too little.
    """
    texts = list(_long_enough(pairs))
    if len(texts) < AT_LEAST:
        return
    chosen = texts[:: -(-len(texts) // LOOKED_AT)]
    found = Counter(
        (language_of(source), language_of(target)) for source, target in chosen
    )
    mended = f"; if it is meant so, give {command} --any-languages"
    exchanged = found[TARGET, SOURCE] / len(chosen)
    if exchanged >= EXCHANGED:
        where = (
            ""
            if exchanged > 1 - EXCHANGED
            else f" in {exchanged:.0%} of what was looked at"
        )
        raise CorpusError(
            f"{name}: expected {LANGUAGES[SOURCE]} before {LANGUAGES[TARGET]}, got them the other "
            f"way round{where}: exchange the columns, or the two files{mended}"
        )
    for language, title in LANGUAGES.items():
        if found[language, language] >= ALIKE * len(chosen):
            raise CorpusError(
                f"{name}: expected two languages, got {title} on both sides: look for the file of "
                f"the other language{mended}"
            )


def _long_enough(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield pairs of at least WORDS words on both sides, neighbours joined if they have fewer."""
    kept: list[tuple[str, str]] = []
    for pair in pairs:
        kept.append(pair)
        joined = tuple(" ".join(side) for side in zip(*kept, strict=True))
        if min(len(side.split()) for side in joined) >= WORDS:
            yield joined
            kept = []
