"""Phrases with one translation: how letters begin and end, wishes, labels before a colon.

And those that a model is better asked in other words, or says in wrong ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from translator.text.dates import DATES, MONTHS
from translator.text.first_names import FIRST_NAMES
from translator.text.postal import PLACES
from translator.text.titles import english_person

LABELS = {
    "Achtung": "Attention",
    "Adresse": "Address",
    "Anhang": "Attachment",
    "Anhänge": "Attachments",
    "Anlage": "Enclosure",
    "Anlagen": "Enclosures",
    "Anmerkung": "Note",
    "Ansprechpartner": "Contact",
    "Antwort": "Answer",
    "Aufgabe": "Exercise",
    "Beispiel": "Example",
    "Bemerkung": "Note",
    "Betreff": "Subject",
    "Betr.": "Subject",
    "Datum": "Date",
    "Dauer": "Duration",
    "Eintritt": "Admission",
    "Ergebnis": "Result",
    "Erklärung": "Explanation",
    "Frage": "Question",
    "Geburtsdatum": "Date of birth",
    "Hinweis": "Note",
    "Hinweise": "Notes",
    "Inhalt": "Contents",
    "Kontakt": "Contact",
    "Lösung": "Solution",
    "Name": "Name",
    "Nachname": "Last name",
    "Vorname": "First name",
    "Öffnungszeiten": "Opening hours",
    "Ort": "Place",
    "Preis": "Price",
    "Quelle": "Source",
    "Tipp": "Tip",
    "Treffpunkt": "Meeting point",
    "Uhrzeit": "Time",
    "Vorsicht": "Caution",
    "Warnung": "Warning",
    "Wichtig": "Important",
    "Zeit": "Time",
    "Zubereitung": "Preparation",
    "Zusammenfassung": "Summary",
    "Zutaten": "Ingredients",
}
GREETINGS = {
    "Alles Gute": "All the best",
    "Alles Gute zum Geburtstag": "Happy birthday",
    "Auf Wiederhören": "Goodbye",
    "Auf Wiedersehen": "Goodbye",
    "Alles Liebe": "With love",
    "Beste Grüße": "Best regards",
    "Besten Gruß": "Best regards",
    "Bis bald": "See you soon",
    "Bis dann": "See you then",
    "Bis gleich": "See you in a minute",
    "Das kommt darauf an": "That depends",
    "Das kommt drauf an": "That depends",
    "Drück mir die Daumen": "Keep your fingers crossed for me",
    "Ein frohes neues Jahr": "Happy New Year",
    "Frohe Ostern": "Happy Easter",
    "Frohe Weihnachten": "Merry Christmas",
    "Frohes neues Jahr": "Happy New Year",
    "Freundliche Grüße": "Kind regards",
    "Ganz liebe Grüße": "Lots of love",
    "Gruß": "Regards",
    "Gute Besserung": "Get well soon",
    "Guten Appetit": "Enjoy your meal",
    "Guten Rutsch": "Happy New Year",
    "Hallo ihr Lieben": "Hello everyone",
    "Hallo zusammen": "Hello everyone",
    "Grüße": "Regards",
    "Herzliche Grüße": "Warm regards",
    "Herzlichen Glückwunsch": "Congratulations",
    "Herzlichen Glückwunsch zum Geburtstag": "Happy birthday",
    "Herzlichen Glückwunsch zur Hochzeit": "Congratulations on your wedding",
    "Herzlichst": "Warm regards",
    "Hochachtungsvoll": "Yours faithfully",
    "Liebe Grüße": "Best wishes",
    "Lieben Gruß": "Best wishes",
    "Mit besten Grüßen": "Best regards",
    "Mit freundlichem Gruß": "Kind regards",
    "Mit freundlichen Grüßen": "Kind regards",
    "Mit herzlichen Grüßen": "Warm regards",
    "Mit lieben Grüßen": "Best wishes",
    "Schönen Feierabend": "Have a nice evening",
    "Schönes Wochenende": "Have a nice weekend",
    "Schöne Grüße": "Best wishes",
    "Tschüss": "Bye",
    "Viel Erfolg": "Good luck",
    "Viele Grüße": "Best wishes",
    "Viele liebe Grüße": "Lots of love",
    "Vielen Dank und viele Grüße": "Many thanks and best wishes",
}
#: Whom a letter is to, where that is no name.
ADDRESSEES = {
    "alle": "all",
    "Damen und Herren": "Sir or Madam",
    "Eltern": "parents",
    "Freunde": "friends",
    "Freundinnen und Freunde": "friends",
    "Gäste": "guests",
    "Kinder": "children",
    "Kollegen": "colleagues",
    "Kolleginnen und Kollegen": "colleagues",
    "Kunden": "customers",
    "Leserinnen und Leser": "readers",
    "Mama": "Mom",
    "Mitglieder": "members",
    "Nachbarn": "neighbors",
    "Oma": "Grandma",
    "Opa": "Grandpa",
    "Papa": "Dad",
    "Studierende": "students",
}
#: What a training of everyday sentences has in other words, with these.
REPHRASED = {
    r"^Ab (heute|morgen|\w+tag|Mittwoch)(?!\w| (?:\d|um|früh))": r"Von \1 an",
    r"(?<= )ab (heute|morgen|\w+tag|Mittwoch)(?!\w| (?:\d|um|früh))": r"von \1 an",
    r"^Klar,(?= )": "Natürlich,",
    r"^Naja,(?= )": "Na ja,",
    r"(?<!\w)mit Karte (?=(?:be)?zahl)": "mit Kreditkarte ",
    r"(?<!\w)([Ww]elche[mn]) Gleis(?!\w)": r"\1 Bahnsteig",
    r"(?<!\w)(bin|ist|sind) ((?:gerade |noch |immer noch )?)beim "
    r"((?:Zahn|Augen|Kinder|Haus|Tier)?[Aa]rzt)(?!\w)": r"\1 \2bei dem \3",
    r"(?<!\w)schon ewig (?=nicht|kein)": "schon sehr lange ",
}
#: What stands in a sentence, what the model then writes, and what that should be.
RIGHT_PHRASES = [
    (r"(?<!\w)am Wochenende(?!\w)", r"\bon (?:the )?weekends?\b", "on the weekend"),
    (
        r"^Es war einmal (?=ein)",
        r"^(?:It was once|There (?:was|used to be)(?: once)?|Once there was|It used to be)\b",
        "Once upon a time there was",
    ),
    (r"", r"(?<!\w)([Aa]) (?=(?:8\d{0,2}|11|18)(?!\d|[.,:]\d))", r"\1n "),
]
_WORD = r"[A-ZÄÖÜ][\w-]*[^\W\d_]"
_NAMES = rf"{_WORD}(?: und {_WORD}| {_WORD})?"
_YOURS = r"(?:[Dd]eine?|[Ee]uer|[Ee]ure|[Ii]hre?) "
_END = r"(?=[.,!]*\s*$)"
_LABEL = re.compile(r"\s*(?P<label>[^\s:]+)(?=:(?:\s|$))")
_GREETING = re.compile(
    rf"\s*(?P<greeting>{'|'.join(sorted(map(re.escape, GREETINGS), key=len, reverse=True))})"
    rf"(?: aus (?P<place>{_WORD}))?(?:,? (?P<yours>{_YOURS})?(?P<names>{_NAMES}))?{_END}"
)
#: "Deine Anna"
_SIGNATURE = re.compile(rf"\s*{_YOURS}(?P<names>{_NAMES}){_END}")
#: "Anna Klein": alone a signature, of which the model makes a sentence.
_FULL_NAME = re.compile(rf"\s*(?P<first>{_WORD})(?: {_WORD}){{1,2}}(?=\s*$)")
#: "3. Mai 2024", "Berlin, den 3. Mai", "Montag, 3. Mai"
_DATE = re.compile(
    rf"\s*(?:(?P<before>{_WORD}), (?:den |der )?)?(?P<day>\d{{1,2}})\. "
    rf"(?P<month>{'|'.join(MONTHS)})(?P<year> \d{{4}})?{_END}"
)
#: "Sehr geehrter Herr Dr. Klein,", "Liebe Anna, lieber Tom,"
_DEAR = re.compile(
    r"\s*(?:,? und |, )?(?:[Ss]ehr geehrte|[Ww]erte|[Ll]iebe)[rs]? "
    r"(?P<to>(?:\b(?:Dr|Prof|Hrn?|Fr|med|phil|rer|nat|Ing|h|c)\.|[^,.:;!?])+?)"
    r"(?=[,!](?:\s|$)|\s*$|,? und (?:liebe|sehr))"
)


def split_phrase(text: str, is_name: Callable[[str], bool]) -> tuple[int, str]:
    """Return how long the phrase is with which a text begins, and its translation.

    (0, "") for a text that begins with none. A label ends before its colon; a date, "Viele
    Grüße" and a signature are a whole line, but more may follow "Liebe Anna,".
    """
    found = _LABEL.match(text)
    label = found["label"] if found else ""
    if label in LABELS:
        return _with_space(found, LABELS[label])
    if label.isupper() and label.capitalize() in LABELS:
        return _with_space(found, LABELS[label.capitalize()].upper())
    found = _GREETING.match(text)
    place = found and found["place"]
    is_place = not place or place in PLACES or is_name(place)
    if found and is_place and _are_names(found["names"], is_name):
        yours = "yours, " if found["yours"] else ""
        names = f", {yours}{_joined(found['names'])}" if found["names"] else ""
        origin = f" from {PLACES.get(place, place)}" if place else ""
        return _with_space(found, GREETINGS[found["greeting"]] + origin + names)
    found = _DATE.match(text)
    before = found and found["before"]
    if found and (not before or before in DATES | PLACES or is_name(before)):
        before = f"{(DATES | PLACES).get(before, before)}, " if before else ""
        year = f",{found['year']}" if found["year"] else ""
        day = f"{MONTHS[found['month']]} {int(found['day'])}"
        return _with_space(found, before + day + year)
    found = _SIGNATURE.match(text)
    if found and _are_names(found["names"], is_name):
        return _with_space(found, f"Yours, {_joined(found['names'])}")
    found = _FULL_NAME.match(text)
    if found and found["first"] in FIRST_NAMES:
        return _with_space(found, found[0].strip())
    return _salutation(text, is_name)


def _salutation(text: str, is_name: Callable[[str], bool]) -> tuple[int, str]:
    end, written = 0, []
    while found := _DEAR.match(text, end):
        to, persons = found["to"].strip(), english_person(found["to"].strip())
        if to in ADDRESSEES:
            written.append(f"Dear {ADDRESSEES[to]}")
        elif persons:
            written.append(f"Dear {persons[0]}")
        elif re.fullmatch(_NAMES, to) and _are_names(to, is_name):
            written.append(f"Dear {_joined(to)}")
        else:
            break
        end = found.end("to")
    if not written:
        return 0, ""
    space = text[: len(text) - len(text.lstrip())]
    return end, space + ", ".join([written[0], *(f"d{one[1:]}" for one in written[1:])])


def _with_space(found: re.Match[str], written: str) -> tuple[int, str]:
    space = found[0][: len(found[0]) - len(found[0].lstrip())]
    return found.end(), space + written


def _are_names(names: str | None, is_name: Callable[[str], bool]) -> bool:
    """Return whether each of some words is a name; the second may be a surname, whatever else."""
    words = (names or "").split(" ")
    firsts = words if "und" in words else words[:1]
    return all(w in ("", "und") or w in FIRST_NAMES or is_name(w) for w in firsts)


def _joined(names: str) -> str:
    return names.replace(" und ", " and ")


def rephrased(sentence: str) -> str:
    """Return a sentence in words that the training has more of, as REPHRASED says."""
    for pattern, words in REPHRASED.items():
        sentence = re.sub(pattern, words, sentence)
    return sentence


def with_right_phrases(sentence: str, translation: str) -> str:
    """Return a translation with what RIGHT_PHRASES says of its sentence."""
    for pattern, wrong, right in RIGHT_PHRASES:
        if re.search(pattern, sentence):
            translation = re.sub(wrong, right, translation)
    return translation
