"""Which language a text is in, by py3langid; and whether a corpus has its sides the right way."""

from __future__ import annotations

import functools
import math
import random
import re
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
#: Texts of a corpus that are looked at, each of so many words on both sides.
LOOKED_AT, WORDS = 200, 5
#: Words on both sides below which a corpus says too little; texts below which they are few.
LEAST_WORDS, FEW = 50, 20
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: Small words that the other language does not have: no "die", "was", "war", "hat", "not".
_GERMAN = """
    aber auch auf bei das dass dem den der des dich dir du ein eine einem einen einer er es für habe
    haben ich ihm ihn ihr ist kann kein keine mein meine mich mir mit nicht nur oder sehr sein seine
    sich sie sind um und uns von wenn wie wir wird wo zu zum zur
"""
_ENGLISH = """
    and are be but can did do does for from has have he her his how i i'm if is it it's my of she
    that the their there they this to we were what when where which who why with would you your
"""
_SMALL_WORDS = {
    SOURCE: frozenset(_GERMAN.split()),
    TARGET: frozenset(_ENGLISH.split()),
}
#: The share of them at which sides are exchanged (of few: most, and two), and at which both are
#: in one language.
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
    corpus are looked at, short ones together with their neighbours; a corpus of less than fifty
    words on a side says too little.
    """
    pairs = list(pairs)
    texts = list(_long_enough(pairs))
    if min(_words(texts)) < LEAST_WORDS:
        return
    chosen = texts[:: -(-len(texts) // LOOKED_AT)]
    found = Counter(map(_languages, chosen))
    few = len(chosen) < FEW
    enough = max(2, len(chosen) // 2 + 1) if few else EXCHANGED * len(chosen)
    same = max(LANGUAGES, key=lambda language: found[language, language])
    alike = found[same, same] >= max(2, ALIKE * len(chosen))
    if found[TARGET, SOURCE] < enough and not alike:
        return
    # Joined neighbours of which one is exchanged look alike: each pair by itself tells more.
    alone = random.Random(0).sample(pairs, min(LOOKED_AT, len(pairs)))
    ways = list(map(_languages, alone))
    exchanged, right = ways.count((TARGET, SOURCE)), ways.count((SOURCE, TARGET))
    mended = f"; if it is meant so, give {command} --any-languages"
    if alike and ways.count((same, same)) >= exchanged + right:
        raise CorpusError(
            f"{name}: expected two languages, got {LANGUAGES[same]} on both sides: look for the "
            f"file of the other language{mended}"
        )
    where = ": exchange the columns, or the two files"
    if right > EXCHANGED * exchanged and exchanged:
        source, target = (text[:40] for text in alone[ways.index((TARGET, SOURCE))])
        where = (
            f" in {exchanged / (exchanged + right):.0%} of the pairs that were looked at, such "
            f"as {source!r}, {target!r}: exchange the sides of these, or leave them out"
        )
    raise CorpusError(
        f"{name}: expected {LANGUAGES[SOURCE]} before {LANGUAGES[TARGET]}, got them the other "
        f"way round{where}{mended}"
    )


def exchanged_rows(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """Return the rows, from 0, of pairs that have English before German.

    By small words alone, so that every pair of a corpus can be looked at: the source has some of
    English and none of German, the target the other way round. A pair without them tells nothing.
    """
    return [
        row
        for row, (source, target) in enumerate(pairs)
        if _by_small_words(source) == TARGET and _by_small_words(target) == SOURCE
    ]


def _by_small_words(text: str) -> str | None:
    words = set(_WORD.findall(text.lower()))
    found = [name for name, small in _SMALL_WORDS.items() if words & small]
    return found[0] if len(found) == 1 else None


def _languages(pair: tuple[str, str]) -> tuple[str | None, str | None]:
    return language_of(pair[0]), language_of(pair[1])


def _words(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """Count the words of each side."""
    sides = zip(*pairs, strict=True)
    return [sum(len(text.split()) for text in side) for side in sides] or [0]


def _long_enough(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield pairs of at least WORDS words on both sides, neighbours joined if they have fewer."""
    kept: list[tuple[str, str]] = []
    for pair in pairs:
        kept.append(pair)
        joined = tuple(" ".join(side) for side in zip(*kept, strict=True))
        if min(len(side.split()) for side in joined) >= WORDS:
            yield joined
            kept = []
