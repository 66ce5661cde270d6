"""Names, numbers, addresses and letters that are not Latin: what a translation should copy.

A name that was in no training sentence falls into pieces, which the model translates as if they
were words. So a name that it knows stands in for it, and is exchanged for it in the translation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from translator.decoding.lexicon import (
    UNTRANSLATED,
    WORD,
    Lexicon,
    is_capitalised,
)
from translator.text.dates import DATES, MONTHS
from translator.text.first_names import ENGLISH, FIRST_NAMES, INTRODUCES, MEN, WOMEN
from translator.text.marks import with_english_numbers
from translator.text.markup import PLACEHOLDER
from translator.text.numbers import (
    Span,
    digits_of,
    in_english_words,
    is_number_copied,
    number_words,
    numbers,
    value_of_word,
)
from translator.text.postal import (
    ADDRESS,
    ADDRESS_LINE,
    CODE,
    COPIED,
    PLACES,
    STREET,
    places,
    without_article,
)
from translator.text.titles import (
    COUPLES,
    OFFICE,
    english_person,
    persons,
    stands_for_person,
)
from translator.text.units import ANY_MEASURE, MEASURE

#: Numbers and places that the model copies, by the form of what they stand in for.
_STAND_IN = {
    "time": ("7:30", "10:30", "8:30", "2:30", "5:30"),
    "year": ("1945", "2005", "1995", "2003", "1989"),
    "short": ("30", "50", "40", "20", "25"),
    "long": ("200", "500", "300", "100", "250"),
    "place": ("Boston", "London", "Berlin", "Hamburg", "Paris"),
    "month": ("Juli", "Oktober", "April", "Juni", "Dezember"),
    "day": ("Montag", "Freitag", "Sonntag", "Dienstag", "Samstag"),
    "measure": ("200 Meter", "500 Euro", "50 Kilo", "300 Seiten", "30 Euro"),
    "couple": tuple(COUPLES),
}
#: What English calls what is no name of a person.
_NAMES = DATES | PLACES
#: What the model writes for what stands in, where that is something else.
_TRANSLATED = DATES | COUPLES
DETERMINER = re.compile(
    r"(?:d(?:er|ie|as|en|em|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur)(?:e[rnms]?)?"
    r"|dies(?:e[rnms]?)|jede[rnms]?|zum|zur|im|am|beim|vom|ins|viele?|einige|zwei|drei|wie|etwas|nichts|alles|wenig)",
    re.IGNORECASE,
)
#: What follows a verb or an adverb at the beginning of a sentence, and no name.
_AFTER_VERB = re.compile(r"dich|dir|du|euch|ich|ihr|mich|mir|nicht|sich|wir|bitte|doch")
#: "Prof. Dr. Schmidt": one name, of which the model makes two. "Dr. Schmidt" it copies.
_TITLED = (
    r"(?<!\w)(?:Prof|Dr)\. ?(?:(?:Dr|h|c|mult|habil|med|phil|jur|rer|nat|pol|dent|vet|Ing)\.[ -]?)+"
    r"(?<= )[A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ][\w-]+)?"
)
_DATE = rf"(?<!\w)(?:{'|'.join(DATES)})(?!\w)"
#: What is copied whatever the training knew.
_KEPT = re.compile(
    rf"{PLACEHOLDER.pattern}|{UNTRANSLATED.pattern}|{_TITLED}|{COPIED.pattern}|{_DATE}"
)
#: Words that may become digits.
_NUMBER_WORD = re.compile(
    r"ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zig\b|dreißig|hundert|tausend"
    r"|milli|halb|viertel|dutzend|mittag|mitternacht|jahrzehnt",
    re.IGNORECASE,
)
#: How many ways to stand in are tried.
WAYS = 3


def is_verbatim(text: str) -> bool:
    """Return whether there is nothing to translate: no letters outside of addresses and codes."""
    if ADDRESS_LINE.fullmatch(text) or STREET.fullmatch(text.strip()):
        return True
    for kept in (ADDRESS, ANY_MEASURE, CODE):
        text = kept.sub("", text)
    return not any(c.isalpha() for c in text)


def is_foreign_script(text: str) -> bool:
    """Return whether a text has letters, and none of them is Latin."""
    letters = [c for c in ADDRESS.sub("", text) if c.isalpha()]
    return bool(letters) and not any(
        unicodedata.name(c, "").startswith("LATIN") for c in letters
    )


def spans_to_copy(sentence: str, lexicon: Lexicon | None) -> list[Span]:
    """Return the addresses, numbers and, given a lexicon, names of a sentence, in order.

    Words in letters that are not Latin are among them. A name is a first name, without the "s" of
    a genitive, or a capitalised word that the training copied, or did not have: the latter unless
    it is derived from known words or has an article before it, as nouns have; if it is all in
    capitals, whatever comes before it. After a word such as "Doktor" every capitalised word is one,
    and "Frau" belongs to the name behind it.
    Neighbours are one name, but for a woman's and a man's. A number of one digit and a whole hour,
    which may be written in other ways, are left to the model.
    """
    titled = persons(sentence) if lexicon else ()
    spans = [Span(begin, end, sentence[begin:end]) for begin, end in titled]

    def is_free(begin: int, end: int) -> bool:
        return all(end <= s.begin or s.end <= begin for s in spans)

    spans += [
        Span(*found.span(), found[0])
        for found in _KEPT.finditer(sentence)
        if is_free(*found.span())
    ]
    spans += [
        span
        for span in numbers(sentence)
        if len(span.text) > (2 if span.is_time else 1)
        and is_free(span.begin, span.end)
        and not re.match(r"\w", sentence[span.end :])
        and not re.search(r"\w$", sentence[: span.begin])
    ]
    if lexicon:
        others = [Span(*place, sentence[slice(*place)]) for place in places(sentence)]
        others += number_words(sentence)
        spans += [span for span in others if is_free(span.begin, span.end)]
    names: list[tuple[int, int]] = []
    words = list(WORD.finditer(sentence))
    for i, found in enumerate(words if lexicon else []):
        if not is_free(*found.span()):
            continue
        before = [other[0] for other in words[max(i - 2, 0) : i]]
        begin, end = found.span()
        follows = bool(names) and sentence[names[-1][1] : begin] == " "
        # "Herr Johannes Müller", though Müller be known; but "ich gebe Tom Geld".
        surname = (
            follows and is_capitalised(found[0]) and INTRODUCES.fullmatch(before[0])
        )
        if not i and len(words) > 1 and _AFTER_VERB.fullmatch(words[1][0]):
            continue
        first = _first_name(found[0])
        if not first and not surname and not _is_name(found[0], before, lexicon):
            continue
        end = begin + len(first or found[0])
        if follows and not _are_two_people(words[i - 1][0], found[0]):
            names[-1] = (names[-1][0], end)
        else:
            names.append((begin, end))
    spans += [Span(begin, end, sentence[begin:end]) for begin, end in names]
    return sorted(spans, key=lambda span: span.begin)


def _are_two_people(word: str, following: str) -> bool:
    """Return whether of two words one is a woman's and one a man's: "weil Anna Tom mag"."""
    return any(
        word in some and following in others
        for some, others in ((WOMEN, MEN), (MEN, WOMEN))
    )


def _first_name(word: str) -> str:
    """Return the first name that a word is, or that it is the genitive of; else an empty text."""
    return next((n for n in (word, word.removesuffix("s")) if n in FIRST_NAMES), "")


def _is_name(word: str, before: Sequence[str], lexicon: Lexicon) -> bool:
    if not is_capitalised(word) or any(c.isdigit() for c in word):
        return False
    if before and INTRODUCES.fullmatch(before[-1]):
        # Not "das heißt Krieg", "seine Frau Gemahlin", "Herr Lehrer".
        is_told = len(before) < 2 or not DETERMINER.fullmatch(before[-2])
        return is_told and not OFFICE.fullmatch(word)
    if lexicon.knows(word):
        return lexicon.is_name(word)
    if word.isupper() and len(word) > 2:
        return True
    # "der Klippenrand", "ein steiler Klippenrand": nouns, which the model may take apart.
    near = before[-1:] if before and not before[-1].islower() else before
    if any(DETERMINER.fullmatch(other) for other in near):
        return False
    return not lexicon.is_derived(word)


def lost_numbers(sentence: str, translation: str) -> list[str]:
    """Return the numbers of a sentence that its translation does not have."""
    return [span.text for span in numbers(sentence) if not is_copied(span, translation)]


def added_names(sentence: str, translation: str) -> list[str]:
    """Return the first names that a translation has, and its sentence has not."""
    words = [word.partition("'")[0] for word in WORD.findall(sentence)]
    there = {_first_name(word) or word for word in words}
    there |= {ENGLISH[word] for word in there if word in ENGLISH}
    written = (word.partition("'")[0] for word in WORD.findall(translation))
    return [w for w in dict.fromkeys(written) if w in FIRST_NAMES and w not in there]


def added_numbers(sentence: str, translation: str) -> list[str]:
    """Return the numbers in digits that a translation has, and its sentence has not.

    Where a sentence has words for numbers, these may have become digits: then none.
    """
    if _NUMBER_WORD.search(sentence):
        return []
    theirs = [span for span in numbers(translation) if len(span.text) > 1]
    ours = numbers(sentence)
    codes = " ".join(found[0] for found in COPIED.finditer(sentence))
    return [
        span.text
        for span in theirs
        if span.text not in codes and not any(is_copied(one, span.text) for one in ours)
    ]


def in_english(name: str) -> str:
    """Return a name with its first names as the training wrote them in English."""
    return WORD.sub(lambda found: ENGLISH.get(found[0], found[0]), name)


def is_copied(span: Span, translation: str) -> bool:
    """Return whether a translation has a span, perhaps in another form."""
    if not span.is_number:
        digits = digits_of(span.text) if MEASURE.fullmatch(span.text) else []
        value = value_of_word(span.text)
        if value is not None:
            return is_number_copied(replace(span, text=f"{value}"), translation)
        forms = english_person(span.text) or [
            _NAMES.get(span.text, span.text),
            with_english_numbers(span.text, digits),
        ]
        forms += [in_english(form) for form in forms]
        return any(_places(form, translation) > 0 for form in forms)
    return is_number_copied(span, translation)


def ways_to_stand_in(
    sentence: str, spans: Sequence[Span], lexicon: Lexicon | None
) -> list[tuple[str, list[str]]]:
    """Return sentences in which something known stands for each span, and what stands for which.

    At most WAYS; none where too little is known to stand for all of them.
    """
    present = set(WORD.findall(sentence))
    names = [n for n in (lexicon.names if lexicon else ()) if n not in present]
    known = {
        "name": names[:12],
        # So that "his" is not written for her.
        "woman": [name for name in names[:12] if name not in MEN],
        "man": [name for name in names[:12] if name not in WOMEN],
    } | {
        kind: [text for text in texts if text not in sentence]
        for kind, texts in _STAND_IN.items()
    }
    kinds = [_kind(span) for span in spans]
    ways = []
    for way in range(WAYS):
        chosen: list[str] = []
        for kind, span in zip(kinds, spans, strict=True):
            # The model knows digits where it doesn't know the word.
            texts = [f"{value_of_word(span.text)}"] if kind == "word" else known[kind]
            rotated = texts[way % (len(texts) or 1) :] + texts[:way]
            chosen += [text for text in rotated if text not in chosen][:1]
        if len(chosen) < len(kinds):
            break
        changed = sentence
        for span, kind, text in zip(
            reversed(spans), reversed(kinds), reversed(chosen), strict=True
        ):
            before = changed[: span.begin]
            before = without_article(before) if kind == "place" else before
            changed = before + text + changed[span.end :]
        if (changed, chosen) not in ways:
            ways.append((changed, chosen))
    return ways


def _kind(span: Span) -> str:
    if not span.is_number:
        if value_of_word(span.text) is not None:
            return "word"
        if span.text in DATES:
            return "month" if span.text in MONTHS else "day"
        if MEASURE.fullmatch(span.text):
            return "measure"
        if span.text in PLACES:
            return "place"
        if english_person(span.text):
            return stands_for_person(span.text)
        if PLACEHOLDER.fullmatch(span.text):
            return "short" if span.text[-1] in "dfiu" else "name"
        digits = sum(c.isdigit() for c in span.text)
        if COPIED.fullmatch(span.text):
            return "long" if 2 * digits > len(span.text) else "place"
        first = span.text.split()[0]
        return "woman" if first in WOMEN else "man" if first in MEN else "name"
    if span.is_time or re.fullmatch(r"[012]?\d[:.][0-5]\d", span.text):
        return "time"
    if re.fullmatch(r"(?:1\d|20)\d\d", span.text):
        return "year"
    return "short" if len(span.text) < 3 else "long"


def put_back(
    translation: str, spans: Sequence[Span], chosen: Sequence[str]
) -> str | None:
    """Return a translation with the spans in their places; None unless each came exactly once."""
    if not chosen:
        return translation
    if any(_places(known, translation) != 1 for known in chosen):
        return None
    texts = [
        (_whole(one), _written(span.text))
        for one, span in zip(chosen, spans, strict=True)
    ]

    def text_of(found: re.Match[str]) -> str:
        return next(text for place, text in texts if re.fullmatch(place, found[0]))

    # All at once: what is put in may contain what stands for another.
    return re.sub("|".join(place for place, _ in texts), text_of, translation)


def _written(text: str) -> str:
    if (value := value_of_word(text)) is not None:
        return in_english_words(value)
    return next(iter(english_person(text)), _NAMES.get(text, text))


def _whole(text: str) -> str:
    if text in _STAND_IN["measure"]:  # "200 Meter" is "200 meters" in the translation
        return rf"(?<!\w){text.split()[0]}[ -][a-z]+(?!\w)"
    return rf"(?<!\w){re.escape(_TRANSLATED.get(text, text))}(?!\w)"


def _places(text: str, translation: str) -> int:
    return len(re.findall(_whole(text), translation))
