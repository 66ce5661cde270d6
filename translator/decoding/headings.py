"""Headings, and labels before a colon: what is no sentence."""

from __future__ import annotations

import re
from collections.abc import Callable

from translator.decoding.copying import DETERMINER
from translator.decoding.lexicon import WORD, Lexicon, is_capitalised
from translator.text.completeness import items_alone
from translator.text.dates import MONTHS
from translator.text.first_names import FIRST_NAMES

NO_DATE = rf"(?!(?:{'|'.join(MONTHS)}|Euro|Uhr)\b)"
#: Before the name of a chapter: "2.1 ", "1. ", "§ 4 ", but no date.
_SECTION = re.compile(
    rf"\s*(?:\d{{1,2}}(?:\.\d{{1,2}})+\.?|\d{{1,2}}\.|§§? ?\d+[a-z]?)\s+(?=[A-ZÄÖÜ]){NO_DATE}"
)
#: "Kapitel 3", "Abbildung 2: Das Haus", "Anhang A": what is counted, and the number.
_COUNTED = re.compile(
    r"(\s*[A-ZÄÖÜ][^\W\d_]+)(\s+(?:\d[\d.]*|[A-Z]))(?:(:\s+)(.*)|(\s*))"
)
#: "Telefon: 030 1234567"
_LABEL = re.compile(r"([^:]{1,40}[^\s:])(:\s+)(.*)", re.DOTALL)
_ACRONYM = re.compile(r"[A-ZÄÖÜ]{2,6} \d{1,2}|[A-ZÄÖÜ]{2,3}")
LABEL_ALONE = re.compile(r"\s*([^:]{1,41}):\s+")
#: Of adjectives before a noun; and what links two nouns.
_ADJECTIVE_ENDINGS = ("e", "en", "er", "es")
_LINK = re.compile(r"und|oder|der|des|von|für|im|in|mit|zum|zur")


def split_heading(
    line: str, is_kept: Callable[[str], bool], lexicon: Lexicon | None = None
) -> list[str]:
    """Return the parts of a line that is a heading, or a label with what it names; else the line.

    The number of a chapter is a part, and so is what `is_kept` after a label. A heading has no mark
    at its end, and few words; a label before others is a noun, or a few.
    """
    label = _LABEL.fullmatch(line)
    if label and is_kept(label[3]):
        return [label[1], label[2] + label[3]]
    if label and label[3] and (is_kept(label[1]) or is_label(label[1], lexicon)):
        return [label[1] + label[2], label[3]]
    is_short = len(line.split()) <= 8 and line.rstrip()[-1:] not in ".!?…"
    section = _SECTION.match(line)
    if is_short and section:
        rest = split_heading(line[section.end() :], is_kept, lexicon)
        return [section[0], *rest]
    found = _COUNTED.fullmatch(line)
    if found and (is_short or found[4]):
        counted, number, colon, rest, space = (part or "" for part in found.groups())
        return [counted, number + colon + space, *([rest] if rest else [])]
    names = label and (
        is_heading(label[1].strip(), lexicon) or items_alone(label[3].strip())
    )
    if names and label[3].strip():
        return [label[1], label[2], label[3]]
    return [line]


def is_label(text: str, lexicon: Lexicon | None) -> bool:
    """Return whether a text before a colon stays: "Tom", "TOP 1", "PS"."""
    words = text.split()
    return (
        lexicon is not None
        and 1 <= len(words) <= 3
        and (
            bool(_ACRONYM.fullmatch(text))
            or all(word in FIRST_NAMES or lexicon.is_name(word) for word in words)
        )
    )


def is_heading(text: str, lexicon: Lexicon | None) -> bool:
    """Return whether a text is up to three nouns with what links them, the first also an adjective.

    Names are none. Inside a line a capital tells a noun; the first word must be one as a rule.
    """
    words = WORD.findall(text)
    others = [word for word in words[1:] if not _LINK.fullmatch(word)]
    return (
        lexicon is not None
        and 1 <= len(words) <= 3
        and all(map(is_capitalised, [words[0], *others]))
        and not any(lexicon.is_name(w) or w in FIRST_NAMES for w in words)
        and not DETERMINER.fullmatch(words[0])
        and (
            lexicon.is_noun(words[0])
            or (bool(others) and words[0].endswith(_ADJECTIVE_ENDINGS))
        )
    )


def as_item(source: str, translation: str, lexicon: Lexicon | None) -> str:
    """Return the translation of an item of a list, with a small letter if it is no name.

    Languages and nationalities keep theirs.
    """
    words = WORD.findall(source)
    is_noun = lexicon is not None and all(map(lexicon.is_noun, words[-1:]))
    if is_noun and "isch" not in source and not translation[:2].isupper():
        return translation[:1].lower() + translation[1:]
    return translation
