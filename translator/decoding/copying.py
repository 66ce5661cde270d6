"""Names, numbers and addresses that a translation should copy.

A name that was in no training sentence falls into pieces, which the model translates as if they
were words. So a name that it knows stands in for it, and is exchanged for it in the translation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from translator.decoding.lexicon import WORD, Lexicon, is_capitalised

#: Addresses first: they contain words and numbers.
_ADDRESS = re.compile(r"(?:https?://|www\.)\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
#: Short numbers may be written as words, and are left to the model.
_NUMBER = re.compile(r"(?<!\w)\d(?:[.,:/-]?\d){2,}(?!\w)")
_NUMBERS_THAT_STAND_IN = ("2010", "300", "1000", "250")
_DETERMINER = re.compile(
    r"(?:d(?:er|ie|as|en|em|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur)(?:e[rnms]?)?"
    r"|dies(?:e[rnms]?)|jede[rnms]?|zum|zur|im|am|beim|vom|ins|viele?|einige|zwei|drei|wie|etwas|nichts|alles|wenig)",
    re.IGNORECASE,
)
#: What a name follows, though the word be known: "Herr Müller", "ich heiße Johannes".
_INTRODUCES = re.compile(r"Herrn?|Frau|Familie|heiß(?:e|t|en)|namens", re.IGNORECASE)
#: What follows a verb or an adverb at the beginning of a sentence, and no name.
_AFTER_VERB = re.compile(r"dich|dir|du|euch|ich|ihr|mich|mir|nicht|sich|wir|bitte|doch")
#: How many ways to stand in are tried.
WAYS = 3


@dataclass(frozen=True)
class Span:
    """A part of a sentence, from begin to end, that its translation should have unchanged."""

    begin: int
    end: int
    text: str
    is_number: bool = False


def is_verbatim(text: str) -> bool:
    """Return whether there is nothing to translate: no letters outside of addresses."""
    return not any(c.isalpha() for c in _ADDRESS.sub("", text))


def spans_to_copy(sentence: str, lexicon: Lexicon | None) -> list[Span]:
    """Return the addresses, long numbers and, given a lexicon, names of a sentence, in order.

    A name is a capitalised word that the training copied, or did not have: the latter unless it is
    derived from known words or has an article before it, as nouns have. After a word such as "Herr"
    every capitalised word is one. Neighbours are one name.
    """
    spans = [Span(*found.span(), found[0]) for found in _ADDRESS.finditer(sentence)]

    def is_free(found: re.Match[str]) -> bool:
        return all(found.end() <= s.begin or s.end <= found.start() for s in spans)

    numbers = [found for found in _NUMBER.finditer(sentence) if is_free(found)]
    spans += [Span(*found.span(), found[0], is_number=True) for found in numbers]
    names: list[tuple[int, int]] = []
    words = [found for found in WORD.finditer(sentence) if is_free(found)]
    for i, found in enumerate(words if lexicon else []):
        before = [other[0] for other in words[max(i - 2, 0) : i]]
        begin, end = found.span()
        follows = bool(names) and sentence[names[-1][1] : begin] == " "
        # "Herr Johannes Müller", though Müller be known; but "ich gebe Tom Geld".
        surname = (
            follows and is_capitalised(found[0]) and _INTRODUCES.fullmatch(before[0])
        )
        if not i and len(words) > 1 and _AFTER_VERB.fullmatch(words[1][0]):
            continue
        if not surname and not _is_name(found[0], before, lexicon):
            continue
        if follows:
            names[-1] = (names[-1][0], end)
        else:
            names.append((begin, end))
    spans += [Span(begin, end, sentence[begin:end]) for begin, end in names]
    return sorted(spans, key=lambda span: span.begin)


def _is_name(word: str, before: Sequence[str], lexicon: Lexicon) -> bool:
    if not is_capitalised(word) or any(c.isdigit() for c in word):
        return False
    if before and _INTRODUCES.fullmatch(before[-1]):
        # Not "das heißt Krieg", "seine Frau Gemahlin".
        return len(before) < 2 or not _DETERMINER.fullmatch(before[-2])
    if lexicon.knows(word):
        return lexicon.is_name(word)
    # "der Klippenrand", "ein steiler Klippenrand": nouns, which the model may take apart.
    near = before[-1:] if before and not before[-1].islower() else before
    if any(_DETERMINER.fullmatch(other) for other in near):
        return False
    return not lexicon.is_derived(word)


def is_copied(span: Span, translation: str) -> bool:
    """Return whether a translation has a span; numbers may be punctuated in another way."""
    if span.is_number:
        digits = re.sub(r"\D", "", span.text)
        return digits in (
            re.sub(r"\D", "", n[0]) for n in _NUMBER.finditer(translation)
        )
    return _places(span.text, translation) > 0


def ways_to_stand_in(
    sentence: str, spans: Sequence[Span], lexicon: Lexicon | None
) -> list[tuple[str, list[str]]]:
    """Return sentences in which something known stands for each span, and what stands for which.

    At most WAYS; none where too little is known to stand for all of them.
    """
    present = set(WORD.findall(sentence))
    names = [n for n in (lexicon.names if lexicon else ()) if n not in present][:12]
    numbers = [n for n in _NUMBERS_THAT_STAND_IN if n not in present]
    wanted = sum(not span.is_number for span in spans)
    if len(names) < wanted or len(numbers) < len(spans) - wanted:
        return []
    ways = []
    for way in range(min(WAYS, max(len(names), 1))):
        rotated = [iter(known[way:] + known[:way]) for known in (names, numbers)]
        chosen = [next(rotated[span.is_number]) for span in spans]
        changed = sentence
        for span, known in zip(reversed(spans), reversed(chosen), strict=True):
            changed = changed[: span.begin] + known + changed[span.end :]
        ways.append((changed, chosen))
    return ways


def put_back(
    translation: str, spans: Sequence[Span], chosen: Sequence[str]
) -> str | None:
    """Return a translation with the spans in their places; None unless each came exactly once."""
    if any(_places(known, translation) != 1 for known in chosen):
        return None
    texts = dict(zip(chosen, (span.text for span in spans), strict=True))
    # All at once: what is put in may contain what stands for another.
    places = "|".join(map(_whole, chosen))
    return re.sub(places, lambda found: texts[found[0]], translation)


def _whole(text: str) -> str:
    return rf"(?<!\w){re.escape(text)}(?!\w)"


def _places(text: str, translation: str) -> int:
    return len(re.findall(_whole(text), translation))
