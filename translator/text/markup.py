"""Markup, which stays: HTML and Markdown, tables, CSV, strings in JSON, code between fences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TAG = (
    r"</?[a-zA-Z][\w:-]*(?:\s+[\w:.@-]+=(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))*\s*/?>"
    r"|<!--[^<>]*-->"
)
_TAGS = re.compile(_TAG)
#: What a program fills in: "{{ name }}", "${name}", "{0}", "%s", "%(name)s", "%d".
PLACEHOLDER = re.compile(
    r"\{\{[^{}\n]{1,40}\}\}|\$?\{[^{}\s]{0,40}\}|%(?:\(\w+\)|\d\$)?(?:\.\d)?[dfisu](?!\w)"
)
#: Tags inside a sentence; all others cut it.
_INLINE_TAG = r"(?:abbr|[abisu]|del|em|font|mark|small|span|strong|sub|sup)"
#: What has a mark before and one after it: **bold**, *emphasis*, [a link](address), <b>tags</b>.
_PAIR = re.compile(
    r"(?P<stars>(?<![\w*])\*{1,3}(?=[^\s*]))(?P<bold>[^*\n]*[^\s*])(?P<ends>(?P=stars)(?![\w*]))"
    r"|(?P<lines>(?<![\w_])(?:_{1,3}(?=[^\s_])))(?P<slanted>[^_\n]*[^\s_])(?P<close>(?P=lines)(?!\w))"
    r"|(?P<waves>~~(?=[^\s~]))(?P<struck>[^~\n]*[^\s~])(?P<end>~~)"
    r"|(?P<open>!?\[)(?P<link>[^\[\]\n]+)(?P<address>\]\([^()\s]*(?:\s\"[^\"]*\")?\))"
    rf"|(?P<tag><(?P<name>{_INLINE_TAG})(?:\s[^<>]*)?>)(?P<inner>[^<>]+)(?P<last></(?P=name)>)"
)
_GROUPS = (
    ("stars", "bold", "ends"),
    ("lines", "slanted", "close"),
    ("waves", "struck", "end"),
    ("open", "link", "address"),
    ("tag", "inner", "last"),
)
#: Before what is marked as a whole: what begins a list's entry or a heading.
_BEFORE_ALL = re.compile(r"\s*(?:(?:[-+*>•#]+|\d{1,2}[.)])\s+)*")
_AFTER_ALL = re.compile(r"[\s.,;:!?]*")
_ENDS = ".!?…"
_TABLE = re.compile(r"\s*\|.*\|\s*", re.DOTALL)
_BAR = re.compile(r"\s*(?<!\\)\|\s*")
_BAR_BETWEEN = re.compile(r"\s+\|\s+")
_VALUE = r"(?:\"[^\"]*\"|[^\",;]*)"
#: "a";"b",3: cells in quotation marks. a;b;c: a space follows a semicolon in a sentence.
_QUOTED_CELLS = re.compile(rf"\s*(?=\"){_VALUE}(?:[,;]{_VALUE})+\s*")
_QUOTED_CELL = re.compile(r"(\"(?=[,;]|$)|(?:^|(?<=[,;]))\s*\"|[,;](?=\")|(?<=\")[,;])")
_SEMICOLONS = re.compile(r"[^;\s](?:[^;]*[^;\s])?(?:;(?:[^;\s](?:[^;]*[^;\s])?)?){2,}")
#: "key": "what is to be translated"
_STRING = r"\"(?:[^\"\\]|\\.)*\""
_JSON = re.compile(
    rf"\s*[{{\[]?\s*{_STRING}\s*:\s*(?:{_STRING}|[\d.+eE-]+|true|false|null|[\[{{])?"
    rf"(?:\s*,\s*{_STRING}\s*:\s*(?:{_STRING}|[\d.+eE-]+|true|false|null))*\s*[,}}\]]*\s*"
)
_JSON_VALUE = re.compile(r"(?<=:)(\s*\")((?:[^\"\\]|\\.)*)(?=\")")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})[^`]*")


@dataclass(frozen=True)
class Marked:
    """What a pair of marks stands around, inside a sentence."""

    opening: str
    inside: str
    closing: str


def fenced(lines: Sequence[str]) -> list[bool]:
    """Return which lines are code between fences, or the fences: "```". An open one is none."""
    kept = [False] * len(lines)
    begin, fence = 0, ""
    for i, line in enumerate(lines):
        found = _FENCE.fullmatch(line)
        if not fence and found:
            begin, fence = i, found[1]
        elif (
            found and line.strip().startswith(fence) and set(line.strip()) == {fence[0]}
        ):
            kept[begin : i + 1] = [True] * (i + 1 - begin)
            fence = ""
    return kept


def split_markup(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a line, and whether each is markup, which stays; joined they are the line.

    Pairs of marks inside a sentence stay in it: `without_pairs` takes them.
    """
    for cell, is_kept in _cells(line):
        if is_kept:
            yield cell, True
            continue
        for part, is_tag in _cut(_without_inline_tags(cell), cell):
            if is_tag:
                yield part, True
            else:
                yield from _without_outer_pairs(part)


def without_pairs(text: str) -> tuple[str, list[Marked]]:
    """Return a text without pairs of marks, and what these stand around, in order."""
    marked: list[Marked] = []

    def inside(found: re.Match[str]) -> str:
        opening, text, closing = _parts(found)
        while inner := _PAIR.fullmatch(text):
            more = _parts(inner)
            opening, text, closing = opening + more[0], more[1], more[2] + closing
        marked.append(Marked(opening, text, closing))
        return text

    return _PAIR.sub(inside, text), marked


def with_pair(translation: str, pair: Marked, candidates: Sequence[str]) -> str | None:
    """Return a translation with a pair of marks around the first candidate that it has once.

    None if it has none of them. candidates: translations of what the pair stands around.
    """
    for candidate in candidates:
        bare = candidate.rstrip(".!?")
        whole = rf"(?<!\w){re.escape(bare)}(?!\w)"
        found = list(re.finditer(whole, translation, re.IGNORECASE)) if bare else []
        if len(found) == 1:
            begin, end = found[0].span()
            marked = f"{pair.opening}{translation[begin:end]}{pair.closing}"
            return translation[:begin] + marked + translation[end:]
    return None


def _parts(found: re.Match[str]) -> tuple[str, str, str]:
    names = next(names for names in _GROUPS if found[names[0]])
    return found[names[0]], found[names[1]], found[names[2]]


def _cells(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the cells of a table or of CSV, or the strings of JSON, and what is around them."""
    if _JSON.fullmatch(line):
        yield from _cut(
            [found.span(2) for found in _JSON_VALUE.finditer(line)], line, others=True
        )
    elif _TABLE.fullmatch(line):
        yield from _cut([found.span() for found in _BAR.finditer(line)], line)
    elif _QUOTED_CELLS.fullmatch(line):
        yield from _cut([found.span() for found in _QUOTED_CELL.finditer(line)], line)
    elif _SEMICOLONS.fullmatch(line) and not re.search(r";\s", line):
        yield from _cut([found.span() for found in re.finditer(";", line)], line)
    else:
        yield from _cut([found.span() for found in _BAR_BETWEEN.finditer(line)], line)


def _cut(
    places: Sequence[tuple[int, int]], text: str, *, others: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text and whether each is at one of the places; with others, at none."""
    end = 0
    for begin, after in places:
        if end < begin:
            yield text[end:begin], others
        if begin < after:
            yield text[begin:after], not others
        end = after
    if end < len(text):
        yield text[end:], others


def _without_inline_tags(text: str) -> list[tuple[int, int]]:
    """Return the places of the tags that are not around a part of a sentence."""
    inline = [found.span() for found in _PAIR.finditer(text) if found["tag"]]
    return [
        found.span()
        for found in _TAGS.finditer(text)
        if not any(begin <= found.start() < end for begin, end in inline)
    ]


def _without_outer_pairs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield a text, but pairs of marks around all of it, a sentence or a label apart."""
    end = 0
    for found in _PAIR.finditer(text):
        opening, inside, closing = _parts(found)
        before, after = text[end : found.start()], text[found.end() :]
        is_all = _BEFORE_ALL.fullmatch(text[: found.start()]) and _AFTER_ALL.fullmatch(
            after
        )
        is_label = inside.endswith(":") or after.startswith(":")
        if not (is_all or is_label or inside[-1] in _ENDS):
            continue
        if before:
            yield before, False
        yield opening, True
        yield from _without_outer_pairs(inside)
        yield closing, True
        end = found.end()
    if text[end:]:
        yield text[end:], False
