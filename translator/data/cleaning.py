"""Cleaning parallel text: one form for each character, and rules that say which pairs to drop."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from translator.errors import ConfigError

#: The rules in the order in which they are tried; a dropped pair counts for the first it breaks.
RULES = {
    "empty": "a side has no text",
    "broken": "a side has U+FFFD, or is UTF-8 that was read as Latin-1 or Windows-1252",
    "no letters": "a side has no letter",
    "too long": "a side has more words or characters than allowed",
    "ratio": "one side has many more words than the other",
    "copied": "both sides are the same text of at least three words",
    "duplicate": "the same pair came before",
}
# A side of few words may be a phrase for a word: the ratio says something only above this.
_RATIO_FROM = 6
# Characters that nobody sees and that make equal sentences differ: soft hyphen, zero-width space
# and word joiner, direction marks, byte-order mark. The two joiners that emoji and some scripts
# are spelt with stay.
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)  # the others are white space
_SPACE = re.compile(r"\s+")


class TextPair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of the rules; see RULES for what each rule says."""

    max_words: int = 100
    max_chars: int = 1000
    max_ratio: float = 4.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"{name}: expected at least 1, got {getattr(self, name)}"
                )


@dataclass(slots=True)
class Cleaned:
    """The pairs that are left, and what happened to the others.

    kept: row of each pair in the input. dropped: how many pairs each rule dropped. normalised:
    how many of the input's pairs were not in normal form.
    """

    pairs: list[TextPair] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    normalised: int = 0


def normalise(text: str) -> str:
    """Return text in Unicode's form NFC, in one line, with single spaces and nothing invisible.

    White space of any kind, line ends too, becomes one space, none at the ends. Control
    characters, soft hyphens, zero-width and direction marks go. Half a surrogate pair, which is
    not text, becomes U+FFFD. To normalise twice changes nothing more.
    """
    text = _SURROGATE.sub("\ufffd", text)
    text = _INVISIBLE.sub("", _CONTROL.sub("", text))
    text = unicodedata.normalize("NFC", text)
    return _SPACE.sub(" ", text).strip()


def broken_rule(pair: TextPair, rules: Rules) -> str | None:
    """Return the first of RULES that a normalised pair breaks, or None; "duplicate" is not seen."""
    sides = (pair.source, pair.target)
    if not all(sides):
        return "empty"
    if any(map(_is_broken, sides)):
        return "broken"
    if not all(any(map(str.isalpha, side)) for side in sides):
        return "no letters"
    words = [len(side.split()) for side in sides]
    if max(words) > rules.max_words or max(map(len, sides)) > rules.max_chars:
        return "too long"
    if max(words) >= _RATIO_FROM and max(words) > rules.max_ratio * min(words):
        return "ratio"
    if words[0] >= 3 and pair.source.casefold() == pair.target.casefold():
        return "copied"
    return None


def clean(
    pairs: Iterable[tuple[str, str]],
    rules: Rules | None = None,
    seen: set[TextPair] | None = None,
) -> Cleaned:
    """Normalise every pair and drop those that break a rule; the order stays.

    seen: pairs that count as duplicates; those which are kept are added to it. The counts in
    `dropped` and the number of pairs left add up to the number that came in.
    """
    rules = rules or Rules()
    seen = set() if seen is None else seen
    out = Cleaned()
    for row, raw in enumerate(pairs):
        pair = TextPair(*map(normalise, raw))
        out.normalised += pair != tuple(raw)
        rule = broken_rule(pair, rules)
        if rule is None and pair in seen:
            rule = "duplicate"
        if rule is not None:
            out.dropped[rule] += 1
            continue
        seen.add(pair)
        out.pairs.append(pair)
        out.kept.append(row)
    return out


def _is_broken(text: str) -> bool:
    """Tell whether text has lost characters, or is UTF-8 read as an 8-bit encoding."""
    if "\ufffd" in text:
        return True
    if text.isascii():
        return False
    for encoding in ("cp1252", "latin-1"):
        try:
            text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False
