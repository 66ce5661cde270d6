"""Which language a text is in, by py3langid; and whether a corpus has its sides the right way."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from translator.errors import CorpusError

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
#: Pairs of a corpus that are looked at, those of at least WORDS words on both sides.
LOOKED_AT, AT_LEAST, WORDS = 200, 20, 5
#: Of these so many have to be in one language.
MOST = 0.8


@functools.cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier


def language_of(text: str) -> str | None:
    """Return the likeliest of LANGUAGES; None where that is uncertain."""
    language, probability = _identifier().classify(text)
    return language if probability > 0.5 else None


def check_languages(name: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Raise CorpusError where source and target are exchanged, or in the same language.

    name: of the corpus, for the message. Short sentences, and corpora with few others, say too
    little to be judged.
    """
    long = (pair for pair in pairs if min(len(side.split()) for side in pair) >= WORDS)
    chosen = list(islice(long, LOOKED_AT))
    if len(chosen) < AT_LEAST:
        return
    source, target = (_most_are(side) for side in zip(*chosen, strict=True))
    mended = "; if it is meant so, give prepare --any-languages"
    if (source, target) == (TARGET, SOURCE):
        raise CorpusError(
            f"{name}: expected {LANGUAGES[SOURCE]} before {LANGUAGES[TARGET]}, got them the other "
            f"way round: exchange the columns, or the two files{mended}"
        )
    if source is not None and source == target:
        raise CorpusError(
            f"{name}: expected two languages, got {LANGUAGES[source]} on both sides: look for the "
            f"file of the other language{mended}"
        )


def _most_are(texts: Sequence[str]) -> str | None:
    language, count = Counter(map(language_of, texts)).most_common(1)[0]
    return language if count >= MOST * len(texts) else None
