"""What a fluent translation leaves out without a trace: a negation, items of an enumeration."""

from __future__ import annotations

import re

_NEGATION = re.compile(
    r"\b(?:nichts?|kein(?:e[rnms]?|erlei|esfalls|eswegs)?|nie(?:mals|mand(?:e[mns])?)?"
    r"|nirgend(?:s|wo(?:her|hin)?)|ohne|weder)\b",
    re.IGNORECASE,
)
_ENGLISH_NEGATION = re.compile(
    r"\b(?:no(?:t|ne|r|body|thing|where)?|never|neither|without|cannot)\b|n['’]t\b",
    re.IGNORECASE,
)
_DETERMINER = (
    r"(?:d(?:er|ie|as|en|em|es)|etwas|viele?|zwei|drei|vier|fünf|sechs|acht|zehn|\d+"
    r"|(?:k?ein|[mds]ein|ihr|unser)(?:e[mnrs]?)?|im|am|zum|zur|(?:an|auf|in) de[mnr])"
)
#: No conjunction: "nachdem Maria".
_ADJECTIVE = r"(?![a-zäöüß]*dem )[a-zäöüß]{2,20}e[mnrs]?"
#: Also "Frau Klein".
_BARE = r"[A-ZÄÖÜ][\w-]*(?: [A-ZÄÖÜ][\w-]*)?"
#: The first of an enumeration may come after a verb, which looks like an adjective: "sehen Löwen".
_FIRST = rf"(?:{_DETERMINER} (?:{_ADJECTIVE} )?|[a-zäöüß]{{2,20}}e[mrs]? )?{_BARE}"
_NOUN = (
    rf"(?:(?:{_DETERMINER} )?(?:{_ADJECTIVE} )?{_BARE}|(?:etwas|nichts) zu [a-zäöüß]+)"
)
_LINK = r",? (?:und|oder|sowie) "
#: "zwei Hosen, ein Hemd und Socken"
_NOUNS = re.compile(rf"(?<![\w-]){_FIRST}(?:, {_NOUN})+{_LINK}{_NOUN}(?![\w-])")
#: "husten, niesen oder gähnen": words that end alike, unlike those of two clauses.
_ALIKE = re.compile(
    r"(?<![\w-])[a-zäöüß]+(?P<end>[a-zäöüß])(?:, [a-zäöüß]+(?P=end))+"
    rf"{_LINK}[a-zäöüß]+(?P=end)(?![\w-])"
)
#: "3 Zimmer, Küche, Bad": nothing but items.
_ALONE = rf"(?:{_NOUN}|\d[\d.,]* ?[^\s\d,]{{1,5}})"
_ITEMS_ALONE = re.compile(rf"{_ALONE}(?:, {_ALONE}){{2,}}(?:{_LINK}{_ALONE})?\.?")
_SEPARATOR = re.compile(rf"{_LINK}|, ")
_ENGLISH_SEPARATOR = re.compile(r",? (?:and|or|nor|as well as) |, ")
#: "At the zoo, " before an enumeration.
_BEFORE = re.compile(r"(?:After|At|Before|For|From|In|On|Under|With) (?:\w+ )?\w+, ")
#: What an English item may begin with, though the German one be a word.
_SMALL = re.compile(
    "an?|any|at|by|her|his|in|its|my|no|of|on|our|some|the|their|to|with|your"
)
#: An item of an English enumeration has at most so many words.
_LONGEST_ITEM = 5


def lost_negation(sentence: str, translation: str) -> list[str]:
    """Return the negation of a sentence whose translation has none, else an empty list."""
    ours = _NEGATION.findall(sentence)
    theirs = _ENGLISH_NEGATION.findall(translation)
    # One negation may stand for all of an enumeration, but two of three leave one out.
    is_lost = ours and not theirs
    is_lost = is_lost or (len(ours) > 2 and 1 < len(theirs) < len(ours))
    return ours[:1] if is_lost else []


def enumeration(sentence: str) -> tuple[int, list[str], int]:
    """Return where the longest enumeration of a sentence begins, its items, and where it ends.

    It has at least three items, which are nouns with a few words before them, or words that end
    alike; else the list is empty.
    """
    found = [
        found
        for kind in (_ITEMS_ALONE, _NOUNS, _ALIKE)
        if (found := kind.search(sentence))
    ]
    whole = _ITEMS_ALONE.fullmatch(sentence)
    found = [one for one in found if whole or one.re is not _ITEMS_ALONE]
    found = [one for one in found if not _is_clause(_SEPARATOR.split(one[0]))]
    if not found:
        return 0, [], 0
    best = max(found, key=lambda one: len(_SEPARATOR.split(one[0])))
    text = best[0].removesuffix(".")
    return best.start(), _SEPARATOR.split(text), best.start() + len(text)


def _is_clause(items: list[str]) -> bool:
    """Return whether one of the items begins a clause: "Leute, die Gabeln und Messer benutzen"."""
    relative = [bool(re.match(r"d(?:er|ie|as|en|em) ", item)) for item in items]
    return any(relative[1:]) and not relative[0]


def lost_items(sentence: str, translation: str) -> int:
    """Return how many items fewer than its sentence a translation enumerates."""
    begin, items, _ = enumeration(sentence)
    # "Im Zoo leben Bären und Affen." has more than a preposition before them.
    if len(sentence[:begin].split()) > 1:
        translation = _BEFORE.sub("", translation, count=1)
    return max(len(items) - _enumerated(translation), 0) if items else 0


def items_alone(sentence: str) -> list[tuple[str, str]]:
    """Return each item of a sentence that is nothing but an enumeration, after what links it.

    The links are English; the first is empty. An empty list for other sentences.
    """
    if not _ITEMS_ALONE.fullmatch(sentence):
        return []
    links = {"und": " and ", "sowie": " and ", "oder": " or "}
    found, end, link = [], 0, ""
    text = sentence.removesuffix(".")
    for separator in _SEPARATOR.finditer(text):
        found.append((link, text[end : separator.start()]))
        link, end = links.get(separator[0].strip(" ,"), ", "), separator.end()
    return [*found, (link, text[end:])]


def _enumerated(translation: str) -> int:
    """Return how many items the longest enumeration of an English text has."""
    parts = _ENGLISH_SEPARATOR.split(translation)
    ends = [part.rstrip(".!?").split(" ")[-1].rstrip("s") for part in parts]
    best, run = 1, {ends[0]}
    for i, part in enumerate(parts[1:], start=1):
        run.add(ends[i])  # one that comes twice is one
        best = max(best, len(run))
        if i + 1 < len(parts) and len(part.split()) > _LONGEST_ITEM:
            run = {ends[i]}
    return best


def pairs_of_items(sentence: str) -> list[str]:
    """Return a sentence again and again, each time with two items of its enumeration.

    The first has the first and the last item; the others have those between, two by two.
    """
    begin, items, end = enumeration(sentence)
    if not items:
        return []
    between = items[1:-1]
    pairs = [(items[0], items[-1])]
    pairs += [
        (between[i], between[i + 1] if i + 1 < len(between) else items[-1])
        for i in range(0, len(between), 2)
    ]
    link = re.search(r" (?:und|oder|sowie) ", sentence[begin:end])
    joined = link[0] if link else " und "
    return [f"{sentence[:begin]}{a}{joined}{b}{sentence[end:]}" for a, b in pairs]


def with_all_items(sentence: str, translations: list[str]) -> str | None:
    """Return the translation of a sentence, put together from those of `pairs_of_items`.

    None unless they are alike but for their two items.
    """
    _, items, _ = enumeration(sentence)
    split = [re.split(r" (and|or) ", text) for text in translations]
    if any(len(parts) != 3 for parts in split) or len({one[1] for one in split}) > 1:
        return None
    lefts = [one[0].split(" ") for one in split]
    rights = [one[2].split(" ") for one in split]
    begin = _shared(lefts)
    end = _shared([list(reversed(one)) for one in rights])
    # "lions and giraffes.": the mark is no item's.
    firsts = [" ".join(one[begin:]) for one in lefts]
    seconds = [" ".join(one[: len(one) - end]) for one in rights]
    after = " ".join(rights[0][len(rights[0]) - end :])
    mark = ""
    if not end:
        stripped = [one.rstrip(".!?") for one in seconds]
        mark = seconds[0][len(stripped[0]) :]
        seconds = stripped
    between = [
        item for pair in zip(firsts[1:], seconds[1:], strict=True) for item in pair
    ]
    written = [firsts[0], *between[: len(items) - 2], seconds[0]]
    if not _are_items(written, items):
        return None
    before = " ".join([*lefts[0][:begin], ""])
    after = f" {after}" if after else mark
    return f"{before}{', '.join(written[:-1])} {split[0][1]} {written[-1]}{after}"


def _are_items(written: list[str], sources: list[str]) -> bool:
    """Return whether these may be the translations of items: short, and each another one.

    One of a single word has no verb before it, as "study history" has.
    """
    rows = [[word.rstrip("s") for word in item.split()] for item in written]
    return (
        all(0 < len(row) <= _LONGEST_ITEM for row in rows)
        # "in her back, pain and in the shoulder"
        and not any(set(a) <= set(b) for a in rows for b in rows if a is not b)
        and all(
            len(item.split()) == 1 or " " in source or _SMALL.fullmatch(item.split()[0])
            for item, source in zip(written, sources, strict=True)
        )
    )


def _shared(rows: list[list[str]]) -> int:
    """Return how many words all rows begin with, but for the last of each."""
    shortest = min(map(len, rows)) - 1
    return next(
        (i for i in range(shortest) if len({row[i] for row in rows}) > 1), shortest
    )
