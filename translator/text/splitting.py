"""Text cut into sentences and clauses, of which nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable

from translator.text.postal import ADDRESS

#: Characters; what is quoted is not cut, unless its end is further away.
LONGEST_QUOTATION = 150
#: An end of a sentence: its mark, closing quotes and brackets, and the space after it.
_END = re.compile(r"(?P<mark>[.!?…]+)[\"'”“’‘»«)\]]*\s+(?=(?P<next>.))", re.DOTALL)
#: Words before a full stop that does not end a sentence; and any single letter, as in "z. B.".
_ABBREVIATION = re.compile(
    r"abb|abs|bd|bspw|bzgl|bzw|ca|dipl|dr|etc|evtl|fr|ggf|hrn?|hrsg|inkl|ing|jr|kap|max|min|mio|mr|mrs"
    r"|mrd|ms|nr|prof|rd|sog|st|std|\w*str|tel|usw|vgl|vs|zzgl",
    re.IGNORECASE,
)
#: What begins an entry of a list: "- ", "• ", "a) ", "> "; not "1. ", which may be a date.
LIST_MARK = re.compile(
    r"\s*(?:[-–—*•·▪◦‣>#+]+(?:\s\[[ xX]?\])?|\[[ xX]?\]|\(?[0-9a-z]{1,3}\))\s+"
)
#: An end without a space after it: "Kommst du?Ja!", "Er kam.Sie ging." No "Prof.Weber", "Node.Js".
_JOINED_END = re.compile(
    r"(?<=[a-zäöüß]{2}[!?])(?=[A-ZÄÖÜ])"
    r"|(?<=[a-zäöüß]{3}\.)(?=(?:[A-ZÄÖÜ][a-zäöüß]{2,30}|A[mn]|D[au]|E[rs]|I[mn]|Ja|So|Zu),? \S)"
)
_CONJUNCTION = re.compile(r"\s+(?=(?:aber|denn|oder|sowie|und)\s)")
_SPACES = re.compile(r"\s+")
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
    masked = ADDRESS.sub(lambda found: "_" * len(found[0]), text)
    ends = [end.start() for end in _JOINED_END.finditer(masked)]
    ends = [end for end in ends if not _is_abbreviation(text[max(end - 40, 0) : end])]
    return [
        piece
        for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)
        for piece in _split_at_spaces(text[begin:end])
    ]


def _is_abbreviation(text: str) -> bool:
    """Return whether a text ends in an abbreviation or an ordinal number with its full stop."""
    word = re.search(r"(\w*)\.$", text)
    return bool(word) and (
        (len(word[1]) == 1 and word[1].isalpha())
        or bool(_ABBREVIATION.fullmatch(word[1]))
        or (word[1].isdigit() and len(word[1]) < 3)
    )


def _split_at_spaces(text: str) -> list[str]:
    pieces, begin = [], 0
    for end in _END.finditer(text):
        if end["next"].islower() or end["next"] in "–—-":
            continue
        if _is_quoting(text[begin : end.end()], text[end.end() :]):
            continue
        if end["mark"] == "." and _is_abbreviation(text[begin : end.start() + 1]):
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

    It is cut after commas and other marks inside it; where a clause does not fit, before "und" and
    its like, and between words.
    A single word is not cut, whether it fits or not.
    """
    pieces: list[str] = []
    for part in _joined(_cut(_CLAUSE_END, sentence), fits):
        if fits(part):
            pieces.append(part)
        else:
            for clause in _joined(_cut(_CONJUNCTION, part), fits):
                words = [clause] if fits(clause) else _cut(_SPACES, clause)
                pieces += _joined(words, fits)
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
