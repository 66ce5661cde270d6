"""Text cut into sentences and clauses; nothing is lost: the pieces, joined, are the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

from translator.decoding.copying import DETERMINER
from translator.decoding.lexicon import ADDRESS, WORD, Lexicon, is_capitalised
from translator.first_names import FIRST_NAMES

#: Characters; what is quoted is not cut, unless its end is further away.
LONGEST_QUOTATION = 150
#: An end of a sentence: its mark, closing quotes and brackets, and the space after it.
_END = re.compile(r"(?P<mark>[.!?…]+)[\"'”“’‘»«)\]]*\s+(?=(?P<next>.))", re.DOTALL)
#: Words before a full stop that does not end a sentence; and any single letter, as in "z. B.".
_ABBREVIATION = re.compile(
    r"abb|abs|bd|bspw|bzgl|bzw|ca|dipl|dr|etc|evtl|fr|ggf|hr|hrsg|inkl|ing|jr|kap|max|min|mr|mrs"
    r"|ms|nr|prof|rd|sog|st|std|\w*str|tel|usw|vgl|vs|zzgl",
    re.IGNORECASE,
)
#: What begins an entry of a list: "- ", "• ", "a) ", "> "; not "1. ", which may be a date.
LIST_MARK = re.compile(r"\s*(?:[-–—*•·▪◦‣>#+]+|\(?[0-9a-z]{1,3}\))\s+")
#: An end without a space after it: "Kommst du?Ja!"
_JOINED_END = re.compile(r"(?<=[a-zäöüß]{2}[!?])(?=[A-ZÄÖÜ])")
#: Before the name of a chapter: "2.1 ", "1. ", but no date.
_SECTION = re.compile(
    r"\s*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}\.)\s+(?=[A-ZÄÖÜ])"
    r"(?!(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Euro|Uhr)\b)"
)
#: "Kapitel 3", "Abbildung 2: Das Haus", "Anhang A": what is counted, and the number.
_COUNTED = re.compile(
    r"(\s*[A-ZÄÖÜ][^\W\d_]+)(\s+(?:\d[\d.]*|[A-Z]))(?:(:\s+)(.*)|(\s*))"
)
#: "Telefon: 030 1234567"
_LABEL = re.compile(r"([^:]{1,40}[^\s:])(:\s+)(.*)", re.DOTALL)
#: Of adjectives before a noun; and what links two nouns.
_ADJECTIVE_ENDINGS = ("e", "en", "er", "es")
_LINK = re.compile(r"und|oder|der|des|von|für|im|in|mit|zum|zur")
_CLAUSE_END = re.compile(r"(?<=[,;:–—])\s+|\s+(?=[–—(])")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the space after it.

    A mark ends a sentence where no small letter and no dash follows, unless it belongs to an
    abbreviation or to an ordinal number ("am 3. Mai"). What is quoted stays together. What marks
    an entry of a list is a piece of its own.
    """
    mark = LIST_MARK.match(text)
    if mark:
        return [mark[0], *(split_sentences(text[mark.end() :]))]
    parts = _JOINED_END.split(ADDRESS.sub(lambda found: "_" * len(found[0]), text))
    ends = list(accumulate(map(len, parts)))
    return [
        piece
        for begin, end in zip([0, *ends], ends, strict=False)
        for piece in _split_at_spaces(text[begin:end])
    ]


def split_heading(line: str, is_kept: Callable[[str], bool]) -> list[str]:
    """Return the parts of a line that is a heading, or a label with what it names; else the line.

    The number of a chapter is a part, and so is what `is_kept` after a label. A heading has no mark
    at its end, and few words.
    """
    if (label := _LABEL.fullmatch(line)) and is_kept(label[3]):
        return [label[1], label[2] + label[3]]
    if len(line.split()) > 8 or line.rstrip()[-1:] in ".!?…":
        return [line]
    if section := _SECTION.match(line):
        return [section[0], *split_heading(line[section.end() :], is_kept)]
    if found := _COUNTED.fullmatch(line):
        counted, number, colon, rest, space = (part or "" for part in found.groups())
        return [counted, number + colon + space, *([rest] if rest else [])]
    return [line]


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


def _split_at_spaces(text: str) -> list[str]:
    pieces, begin = [], 0
    for end in _END.finditer(text):
        if end["next"].islower() or end["next"] in "–—-":
            continue
        if _is_quoting(text[begin : end.end()], text[end.end() :]):
            continue
        word = re.search(r"\w*$", text[begin : end.start()])[0]
        if end["mark"] == "." and (
            (len(word) == 1 and word.isalpha())
            or _ABBREVIATION.fullmatch(word)
            or (word.isdigit() and len(word) < 3)
        ):
            continue
        pieces.append(text[begin : end.end()])
        begin = end.end()
    return [*pieces, text[begin:]] if text[begin:] else pieces


def _is_quoting(before: str, after: str) -> bool:
    """Return whether a quotation that began before ends soon after."""
    for opening, closing in ("„“", "»«", '""', "“”"):
        inside = (
            before.count(opening) % 2
            if opening == closing
            else before.count(opening) > before.count(closing)
        )
        if inside and closing in after[:LONGEST_QUOTATION]:
            return True
    return False


def split_clauses(sentence: str, fits: Callable[[str], bool]) -> list[str]:
    """Return a sentence in pieces that fit, each with the space after it.

    It is cut after commas and other marks inside it; where a clause does not fit, between words.
    A single word is not cut, whether it fits or not.
    """
    pieces: list[str] = []
    for part in _joined(_cut(_CLAUSE_END, sentence), fits):
        if fits(part):
            pieces.append(part)
        else:
            pieces += _joined(_cut(re.compile(r"\s+"), part), fits)
    return pieces


def _cut(separator: re.Pattern[str], text: str) -> list[str]:
    ends = [found.end() for found in separator.finditer(text)]
    begins = [0, *(end for end in ends if end < len(text))]
    return [
        text[i:j]
        for i, j in zip(begins, [*begins[1:], len(text)], strict=True)
        if i < j
    ]


def _joined(parts: list[str], fits: Callable[[str], bool]) -> list[str]:
    """Return the parts, neighbours together as long as they fit."""
    joined: list[str] = []
    for part in parts:
        if joined and fits(joined[-1] + part):
            joined[-1] += part
        else:
            joined.append(part)
    return joined
