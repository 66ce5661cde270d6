"""Persons with a title, "Frau Klein", "Herrn Dr. Klein": the training had next to none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from translator.text.dates import DATES
from translator.text.first_names import FIRST_NAMES

#: "Herr Doktor Klein" is Dr. Klein, without another title.
_ENGLISH_DEGREES = {"Doktor": "Dr.", "Doktorin": "Dr.", "Professorin": "Professor"}
#: What stands for a couple, and its translation.
COUPLES = {"Tom und Maria": "Tom and Mary"}
_SINGLE = r"(?:Herrn?|Hrn?\.|Frau|Fr\.)"
_DEGREE = (
    r"(?:(?:Prof|Dr)\. ?(?:(?:Dr|h|c|mult|habil|med|phil|jur|rer|nat|pol|dent|vet|Ing)\.[ -]?)*"
    r"|(?:Professor|Doktor)(?:in)? )"
)
_WORD = r"[A-ZÄÖÜ][\w-]*[^\W\d_]"
_OFFICE = (
    r"(?:Abgeordnete[rn]?|Bruder|General|Gott|Hauptmann|Kapitän|Lehrer|Nachbar|Ober|Oberst"
    r"|Pfarrer|Sohn|Vater|Vorsitzende[rn]?|Wachtmeister|Wirt|Kollegin|Gemahlin|Mutter|Tochter"
    r"|(?:\w+)?(?:[Dd]irektor|[Dd]oktor|[Kk]anzler|[Kk]ollege|[Kk]ommissar|[Mm]eister|[Mm]inister"
    r"|[Pp]räsident|[Pp]rofessor|[Rr]ektor))(?:in|n|en|s)?"
)
#: "Herr Ober", "Frau Präsidentin", "Ihr Herr Vater": no names.
OFFICE = re.compile(_OFFICE)
PERSON = re.compile(
    rf"(?<!\w)(?P<title>{_SINGLE})(?: (?:und|u\.) (?P<other>{_SINGLE}))? (?P<degree>{_DEGREE})?"
    rf"(?P<name>(?!(?:{_OFFICE}|{'|'.join(DATES)})(?!\w))"
    rf"(?:(?:von|van|zu)(?: de[mnr])? )?(?:{_WORD} )?{_WORD})(?!\w)"
)
#: "Guten Tag, Herr Doktor.", where English has "doctor" alone.
_BEFORE_OFFICE = re.compile(rf"(?<!\w)(?:Herrn?|Frau) (?={_OFFICE}(?!\w))")
#: "die Frau Meier", "meine Frau Anna": no title.
_DETERMINED = re.compile(
    r"\b(?:d(?:er|ie|em|en|es)|(?:k?ein|[mds]ein|ihr|unser|eu(?:er|r))(?:e[rnms]?)?"
    r"|dies(?:e[rnms]?)|jede[rnms]?|zur|zum|vom|beim) $",
    re.IGNORECASE,
)


def persons(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield where in a sentence a person with a title begins and ends.

    A surname is one word; a first name before it is one of FIRST_NAMES, since "ich schicke Frau
    Klein Blumen". The "s" of a genitive is no part: "Herrn Kleins Auto".
    """
    for found in PERSON.finditer(sentence):
        if _DETERMINED.search(sentence[: found.start()]):
            continue
        *_, first, last = ["", *found["name"].split(" ")]
        end = found.end()
        if first[:1].isupper() and first not in FIRST_NAMES:
            end, last = end - len(last) - 1, first
        is_genitive = re.match(r" [A-ZÄÖÜ]", sentence[end:]) and last.endswith("s")
        yield found.start(), end - bool(is_genitive)


def without_titles_of_offices(sentence: str) -> str:
    """Return a sentence without "Herr" and "Frau" before an office: "Guten Tag, Doktor." """
    return _BEFORE_OFFICE.sub("", sentence)


def english_person(person: str) -> list[str]:
    """Return how a person with a title may be called in English; what we write comes first.

    An empty list for what is no such person.
    """
    found = PERSON.fullmatch(person)
    if not found:
        return []
    name = found["name"]
    titles = [_english(found[group]) for group in ("title", "other") if found[group]]
    if titles == ["Mr.", "Ms."]:
        titles = ["Mr.", "Mrs."]
    if found["degree"] and len(titles) == 1:
        degree = found["degree"].strip()
        called = f"{_ENGLISH_DEGREES.get(degree, degree)} {name}"
        return [called, f"{titles[0]} {called}"]
    called = f"{' and '.join(titles)} {name}"
    married = [f"Mrs. {name}", f"Miss {name}"] if titles == ["Ms."] else []
    return [called, *married]


def stands_for_person(person: str) -> str:
    """Return the kind of what may stand for a person with a title: a woman, a man or a couple."""
    found = PERSON.fullmatch(person)
    if found["other"]:
        return "couple"
    return "man" if _english(found["title"]) == "Mr." else "woman"


def _english(title: str) -> str:
    return "Mr." if title.startswith("H") else "Ms."


def with_titles(person: str, translation: str) -> str:
    """Return a translation with the title of a person before the bare name, if it has none."""
    forms = english_person(person)
    if any(form in translation for form in forms):
        return translation
    name = PERSON.fullmatch(person)["name"]
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", forms[0], translation, count=1)
