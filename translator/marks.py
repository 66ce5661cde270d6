"""What stands between words: emoji, markup, quotation marks, the endings of ordinal numbers."""

from __future__ import annotations

import functools
import re
import unicodedata

_ORDINAL = re.compile(r"(?<![\w.,])(\d+)(st|nd|rd|th)\b")
#: What a model of words leaves out without a trace: markup, and places to be filled in.
_MARKUP = re.compile(r"</?\w[^<>]*>|\{[^{}\s]*\}|\*\*|__|`")


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
    return re.compile(rf"\s*{one}(?:\u200d?{one})*\s*")


def with_closing_mark(sentence: str, translation: str) -> str:
    """Return a translation with the quotation mark that ends its sentence, if it lacks that."""
    is_open = len(_QUOTATION_MARK.findall(translation)) % 2 == 1
    ends = _QUOTATION_MARK.match(sentence[-1:])
    return translation + '"' if ends and is_open else translation


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
