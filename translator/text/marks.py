"""What stands between words: emoji, markup, quotation marks, the endings of ordinal numbers."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

_ORDINAL = re.compile(r"(?<![\w.,])(\d+)(st|nd|rd|th)\b")
#: What a model of words leaves out without a trace: markup, and places to be filled in.
_MARKUP = re.compile(r"</?\w[^<>]*>|\{[^{}\s]*\}|\*\*|__|`")


#: 1.299,50 and 3,5; a comma before three digits may be of thousands, as in English. Not 2.30 Uhr,
#: 12.05.2024 or 192.168.100.200.
_DECIMAL = re.compile(r"(?:\d{1,3}(?:[. ]\d{3})+|\d+),(?!\d{3}$)\d+|0,\d+")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){1,2}|\d{1,3}(?: \d{3})+")
#: What ends no sentence: "Liebe Frau Hoffmann,", "Wenn ich nur wüsste …"
_TRAILING = re.compile(r"(.*\w)(\s*(?:[,;:]|\.{2,}|…)|\s+[–—-])", re.DOTALL)
#: What stands in brackets, between words and marks: no "Kolleg(inn)en".
_BRACKETED = re.compile(r"(?:^|(?<!\s)\s+)([(\[])([^()\[\]]+)([)\]])(?=$|[\s.,;:!?…])")
_ALL_BRACKETED = re.compile(r"([(\[])([^()\[\]]+)([)\]][.!?…]*)")
#: Words that have a capital only where a sentence begins.
_SMALL = re.compile(
    "after|all|although|an?|and|as|at|because|before|but|by|for|from|he|her|his|how|if|in|its?"
    "|my|no|not|of|on|or|our|s?he|since|so|some|that|the[mny]?|their|there|these|this|those|to"
    "|until|we|wh(?:at|en|ere|ether|ich|ile|o|ose)|with|your?",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
#: Pairs of quotation marks, the other ones than „“.
_QUOTED = re.compile(
    r"(?<!\w)(?:»([^«»]+)«|«\s?([^«»]+?)\s?»|\"([^\"]+)\"|“([^“”„]+)”|›([^‹›]+)‹)(?!\w)"
)
_IN_SINGLE = re.compile(r"(?<!\w)‚([^‚‘’„“]+)[‘’](?!\w)")
_IN_DOUBLE = re.compile('["„“”]([^"„“”]+)["„“”]')
_QUOTATION_MARK = re.compile('["„“”«»]')


def without_signs(text: str) -> tuple[str, list[str]]:
    """Return a text without its emoji and other symbols, and these in order.

    A symbol is what Unicode calls so ("So"), with what modifies or joins it. A degree and other
    signs of measures are left to the model.
    """
    signs: list[str] = []

    def taken(found: re.Match[str]) -> str:
        signs.append(found[0].strip())
        return " " if found[0][0].isspace() and found[0][-1].isspace() else ""

    return _signs().sub(taken, text), signs


@functools.cache
def _signs() -> re.Pattern[str]:
    signs = [
        c
        for c in map(chr, range(0x80, 0x20000))
        if unicodedata.category(c) == "So" and c not in "°©®™№℃"
    ]
    one = f"[{re.escape(''.join(signs))}][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*"
    # And ";-)", which is no end of a bracket.
    space = r"(?:(?<!\s)\s+)?"  # from its beginning alone: else many take the square of their time
    typed = r"(?<![^\s])[:;]-?[()DP](?!\S)"
    return re.compile(rf"{space}(?:{one}(?:\u200d?{one})*|{typed})\s*")


def with_usual_quotes(text: str) -> str:
    """Return a text with „“ for other pairs of quotation marks, which hardly any training has."""

    def usual(found: re.Match[str]) -> str:
        return f"„{next(filter(None, found.groups()))}“"

    text = _QUOTED.sub(usual, text)
    return text if "„" in text else _IN_SINGLE.sub(usual, text)


def split_trailing(text: str) -> tuple[str, str]:
    """Return a text without the comma, colon or ellipsis at its end, and this."""
    found = _TRAILING.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def split_brackets(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Return a text without what stands in brackets, and this: (opening, inside, closing).

    A text that is all in brackets comes back empty.
    """
    if found := _ALL_BRACKETED.fullmatch(text):
        return "", [(found[1], found[2], found[3])]
    inside = [(found[1], found[2], found[3]) for found in _BRACKETED.finditer(text)]
    return _BRACKETED.sub("", text).strip(), inside


def with_first_letter(source: str, translation: str, *, goes_on: bool) -> str:
    """Return a translation with a capital where its source has one.

    Where a sentence only goes on with it, a word such as "the" is small.
    """
    first = _FIRST_WORD.match(translation)
    if not first:
        return translation
    if source[:1].isupper() and first[0][0].islower() and first[0] not in source:
        return translation[0].upper() + translation[1:]
    is_small = source.islower() and "isch" not in source  # no "English"
    is_small = is_small or _SMALL.fullmatch(first[0])
    if (
        goes_on
        and source[:1].islower()
        and is_small
        and first[0].partition("'")[0] != "I"
    ):
        return translation[0].lower() + translation[1:]
    return translation


def with_closing_mark(sentence: str, translation: str) -> str:
    """Return a translation with the quotation mark that ends its sentence, if it lacks that."""
    is_open = len(_QUOTATION_MARK.findall(translation)) % 2 == 1
    ends = _QUOTATION_MARK.match(sentence[-1:])
    has_end = _QUOTATION_MARK.match(translation[-1:])
    return translation + '"' if ends and is_open and not has_end else translation


def quotations(text: str) -> list[str]:
    """Return what stands in quotation marks, without a comma or mark at its end."""
    return [found.rstrip(".,!?") for found in _IN_DOUBLE.findall(text)]


def lost_markup(sentence: str, translation: str) -> list[str]:
    """Return the markup and the places to be filled in that a translation does not have.

    Also the last quotation mark, where those of the translation are no pairs.
    """
    found = dict.fromkeys(_MARKUP.findall(sentence))
    lost = [text for text in found if text not in translation]
    marks = _QUOTATION_MARK.findall(sentence)
    if len(marks) % 2 < len(_QUOTATION_MARK.findall(translation)) % 2:
        lost += marks[-1:]
    return lost


def with_right_ordinals(text: str) -> str:
    """Return English text with the endings of its ordinal numbers put right: 2th is 2nd."""

    def right(found: re.Match[str]) -> str:
        number = int(found[1])
        endings = {1: "st", 2: "nd", 3: "rd"}
        teen = number % 100 in (11, 12, 13)
        return found[1] + ("th" if teen else endings.get(number % 10, "th"))

    return _ORDINAL.sub(right, text)


def with_english_numbers(translation: str, numbers: Sequence[str]) -> str:
    """Return a translation with these German numbers, where it has them, as English writes them.

    3,5 becomes 3.5 and 1.299 becomes 1,299: to an English reader the other way round they are
    other numbers.
    """
    for number in dict.fromkeys(numbers):
        bare = number.lstrip("-−")
        if re.fullmatch(r"[12]\d{3}", bare):  # a year, or a number without a comma here
            comma = rf"(?<![\w,.]){bare[0]},{bare[1:]}(?![\w,]|\.\d)"
            translation = re.sub(comma, bare, translation)
        if _DECIMAL.fullmatch(bare) or _THOUSANDS.fullmatch(bare):
            english = bare.translate(str.maketrans(",. ", ".,,"))
            whole = rf"(?<![\w.,:/])(?<!\d ){re.escape(bare)}(?! ?\d|[.,:/]?\w)"
            translation = re.sub(whole, english, translation)
    return translation
