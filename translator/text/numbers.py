"""Numbers: where they are in a sentence, and whether a translation has them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from translator.text.marks import with_english_numbers
from translator.text.postal import ADDRESS, COPIED
from translator.text.units import ANY_MEASURE, MEASURE

#: Also "12 000", with the space before three digits alone; and "-5", but "5" of "3-5" and "U-5".
_NUMBER = re.compile(
    r"(?:(?<![\w)])[-−](?=\d))?(?<!\d)(?:\d{1,3}(?: \d{3})+(?!\d)|\d(?:[.,:/-]?\d)*)"
)
_MINUS = re.compile(r"\bminus\s+|(?<!\w)[-−](?=\d)", re.IGNORECASE)
_BELOW_ZERO = re.compile(r"\bbelow (?:zero|freezing)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[., ](?=\d{3}(?!\d))")
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_GERMAN = dict(
    zip(
        [
            "dreizehn",
            "vierzehn",
            "fünfzehn",
            "sechzehn",
            "siebzehn",
            "achtzehn",
            "neunzehn",
        ],
        range(13, 20),
        strict=True,
    )
)
for _place, _tens in enumerate(
    [
        *("zwanzig", "dreißig", "vierzig", "fünfzig"),
        *("sechzig", "siebzig", "achtzig", "neunzig"),
    ],
    start=2,
):
    _GERMAN[_tens] = 10 * _place
    for _unit, _name in enumerate(
        ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"],
        start=1,
    ):
        _GERMAN[f"{_name}und{_tens}"] = 10 * _place + _unit
#: "achtundzwanzig"; no "sechs Uhr dreißig", "Anfang dreißig" or "dreißiger".
_NUMBER_WORD = re.compile(
    rf"(?<![\w-])(?<!Uhr )(?<!Anfang )(?<!Mitte )(?<!Ende )"
    rf"(?:{'|'.join(sorted(_GERMAN, key=len, reverse=True))})(?![\w-]| Uhr)",
    re.IGNORECASE,
)
_IN_OTHER_WORDS = {
    1: "an?|once|first",
    2: "twice|second",
    3: "third",
    5: "fifth",
    8: "eighth",
    9: "ninth",
    12: "twelfth|dozen|noon|midnight",
}


@dataclass(frozen=True)
class Span:
    """A part of a sentence, from begin to end, that its translation should have unchanged."""

    begin: int
    end: int
    text: str
    is_number: bool = False
    is_time: bool = False


def numbers(sentence: str) -> list[Span]:
    """Return all numbers written in digits, in order, but for those in addresses and codes."""
    bare = sentence
    for kept in (ADDRESS, COPIED):  # as long as it was: the places stay
        bare = kept.sub(lambda found: "_" * len(found[0]), bare)
    return [
        Span(
            *found.span(),
            found[0],
            is_number=True,
            is_time=":" in found[0] or bare.startswith(" Uhr", found.end()),
        )
        for found in _NUMBER.finditer(bare)
    ]


def number_words(sentence: str) -> list[Span]:
    """Return the numbers from 13 to 99 of a sentence that are written in words, in order."""
    return [Span(*found.span(), found[0]) for found in _NUMBER_WORD.finditer(sentence)]


def value_of_word(text: str) -> int | None:
    """Return the number that a German word from "dreizehn" to "neunundneunzig" is, or None."""
    return _GERMAN.get(text.lower())


def in_english_words(number: int) -> str:
    """Return a number below 100 in English words."""
    if number < 20:
        return _UNITS[number]
    tens = _TENS[number // 10 - 2]
    return f"{tens}-{_UNITS[number % 10]}" if number % 10 else tens


def digits_of(sentence: str) -> list[str]:
    """Return the numbers of a sentence as they are written, those of measures too."""
    measures = (found[0] for found in MEASURE.finditer(sentence))
    inside = [found[0] for one in measures for found in _NUMBER.finditer(one)]
    return [span.text for span in numbers(sentence)] + inside


def with_english_measures(text: str) -> str:
    """Return a text that stays, with its measures and prices as English writes them: 3.5 kg."""

    def english(found: re.Match[str]) -> str:
        digits = [one[0] for one in _NUMBER.finditer(found[0])]
        return with_english_numbers(found[0], digits)

    return ANY_MEASURE.sub(english, text)


def is_number_copied(span: Span, translation: str) -> bool:
    """Return whether a translation has a number, perhaps in another form.

    It may be punctuated in another way, one below 100 be words; an hour may be that of a clock with
    twelve, a sign the word "minus".
    """
    if span.text[0] in "-−":
        positive = replace(span, text=span.text[1:])
        below = [translation] if _BELOW_ZERO.search(translation) else []
        return any(
            is_number_copied(positive, part)
            for part in [*below, *_MINUS.split(translation)[1:]]
        )
    forms = {_value(span.text)}
    if span.is_time:
        hour, _, minutes = _value(span.text).partition(".")
        hours = {int(hour), int(hour) - 12} if int(hour) > 12 else {int(hour)}
        forms |= {f"{h}.{minutes}" if minutes.strip("0") else f"{h}" for h in hours}
        forms |= {f"{h}.{minutes or '00'}" for h in hours}
    # A number beside a code is another one, read together with it.
    written = [found[0] for found in _NUMBER.finditer(translation)]
    written += [number.text for number in numbers(translation)]
    if any(_value(number) in forms for number in written):
        return True
    small = [int(form) for form in forms if len(form) < 3 and form.isdecimal()]
    return any(
        re.search(rf"\b(?:{_in_words(number)})\b", translation, re.IGNORECASE)
        for number in small
    )


def _value(number: str) -> str:
    """Return a number in one punctuation: 3,5 is 3.5, and 12.000 is 12000."""
    return re.sub("[,:/-]", ".", _THOUSANDS.sub("", number))


def _in_words(number: int) -> str:
    """Return a pattern of the English words for a number below 100, ordinals too."""
    if number < 20:
        others = _IN_OTHER_WORDS.get(number)
        return rf"{_UNITS[number]}(?:th)?" + (f"|{others}" if others else "")
    tens = _TENS[number // 10 - 2]
    if number % 10:
        return rf"{tens}[- ](?:{_in_words(number % 10)})"
    return rf"{tens}|{tens[:-1]}ieth"
