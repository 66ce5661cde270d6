"""What is copied sign by sign: postal addresses, telephone numbers, IBANs and number plates.

And what is read in words, which hardly any training has: euros, units, abbreviations.
"""

from __future__ import annotations

import re

_HOUSE = r"\d{1,3}(?: ?[a-h])?(?!\w)(?:[-–/]\d{1,3}[a-h]?(?!\w))?"
#: "Gartenstraße", "Berliner Str."; not "Sitzplatz", "Ausweg", which have numbers, too.
_STREET = (
    r"(?<!\w)(?!(?:Sitz|Steh|Stell|Park|Arbeits|Zelt|Fenster|Studien|Aus|Um|Rück)(?:platz|weg))"
    r"(?:[A-ZÄÖÜ][\w-]{1,40}?(?:straße|strasse|str\.|gasse|allee|weg|platz|ufer|damm|ring)"
    r"|[A-ZÄÖÜ][\w-]{1,40} (?:Straße|Strasse|Str\.|Gasse|Allee|Weg|Platz|Ufer|Damm|Ring))"
)
_PLACE = r"(?:Bad |Sankt |St\. )?[A-ZÄÖÜ][\w-]+"
_CITY = (
    rf"(?:[A-Z]{{1,2}}-)?\d{{5}} {_PLACE}"
    r"(?: (?:am|an der|bei|im|in der|ob der|vor der) [A-ZÄÖÜ][\w-]+)?"
)
_FLOOR = r"(?:\d{1,2}\. \w+, )?"
#: A street with its number, and the town where that follows.
STREET = re.compile(rf"{_STREET} {_HOUSE}(?:,? (?:in )?{_FLOOR}{_CITY})?")
#: A line that is an address and nothing else; what comes before the number has no verb.
ADDRESS_LINE = re.compile(
    rf"\s*(?:(?:(?:[A-ZÄÖÜ][\w.-]*|am|an|auf|bei|dem|den|der|im|in|unter|von|zum|zur),? ){{1,8}}"
    rf"(?:{_HOUSE}|\d\d(?: \d\d)+), {_FLOOR}{_CITY}|{_CITY}, {_STREET} {_HOUSE})\s*"
)
#: Digits in groups, which no unit and no value belongs to.
CODE = re.compile(
    r"(?<!\w)[A-Z]{2}\d{2}(?: ?\d{4}){2,7}(?: ?\d{1,3})?(?!\w)"  # IBAN
    r"|(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{1,4}(?!\w)"  # number plate
    r"|(?<![\w.,/-])(?:\+\d{1,3}|\(?0)(?:[ /()–-]{0,3}\d){5,}(?!\w)"  # telephone
    # Three groups or more, but for a number whose thousands are set apart.
    r"|(?<![\w.,/-])(?!\d{1,3}(?: \d{3})+(?! ?\d))\d{2,}(?:[ /-]\d{2,}){2,}(?!\w)"
)
COPIED = re.compile(f"{STREET.pattern}|{CODE.pattern}")
_ARTICLE = re.compile(r"\b(?:das|dem|den|der|die) $")
_EURO = re.compile(r"(?:€|\bEUR\b) ?(\d(?:[.,]?\d)*)|(?<=\d) ?(?:€|EUR\b)")
#: Abbreviations and units in words of which a training of everyday sentences has more.
_WORDS = {
    "z. B.": "zum Beispiel",
    "d. h.": "das heißt",
    "u. a.": "unter anderem",
    "usw.": "und so weiter",
    "ca.": "etwa",
    "bzw.": "oder",
    "evtl.": "vielleicht",
    "max.": "höchstens",
    "Hrn.": "Herrn",
    "Hr.": "Herr",
    "Mio.": "Millionen",
    "Mrd.": "Milliarden",
}
_UNITS = {
    "km/h": "Kilometer pro Stunde",
    "kg": "Kilo",
    "km": "Kilometer",
    "cm": "Zentimeter",
    "m²": "Quadratmeter",
    "m": "Meter",
    "g": "Gramm",
    "l": "Liter",
    "t": "Tonnen",
    "°C": "Grad Celsius",
    "°": "Grad",
    "Std.": "Stunden",
    "Min.": "Minuten",
}
_ABBREVIATION = re.compile(
    r"(?<![\w.])(?:z\. ?B\.|d\. ?h\.|u\. ?a\.|(?:usw|ca|bzw|evtl|max|Hrn|Hr|Mio|Mrd)\.)"
    r"(?![\w@])"
)
_UNIT = re.compile(r"(?<=\d) ?(km/h|kg|km|cm|m²|m|g|l|t|°C|°|Std\.|Min\.)(?![\w/²³])")
#: Of the training's translations many tell other units, and other numbers.
_OTHERS = {
    "mile": ("Kilometer", "kilometer"),
    "pound": ("Kilo", "kilogram"),
    "foot": ("Meter", "meter"),
    "inch": ("Zentimeter", "centimeter"),
    "gallon": ("Liter", "liter"),
}
_OTHER_UNIT = re.compile(
    r"(?P<number>\d(?:[.,]?\d)*)(?P<space>[ -])(?P<unit>mile|pound|foot|feet|inch|gallon)"
    r"(?P<plural>e?s)?\b"
)
_SHORT_STREET = re.compile(r"(?<=[a-zäöü]{2}s)tr\.(?! ?\d)")


def without_article(text: str) -> str:
    """Return a text without an article at its end: "in der Gartenstraße 5" is in a place."""
    return _ARTICLE.sub("", text)


def with_euros(text: str) -> str:
    """Return a text with "Euro" for the sign and the code, which hardly any training has."""
    return _EURO.sub(
        lambda found: f"{found[1]} Euro" if found[1] else " Euro",
        text,
    )


def written_out(text: str) -> str:
    """Return a text with "Kilo" for the kg after a number, "zum Beispiel" for z. B., and so on.

    A full stop that also ends the sentence stays.
    """

    def words(found: re.Match[str]) -> str:
        short = found[0].replace(".", ". ").strip() if found[0][1] == "." else found[0]
        short = re.sub(" +", " ", short)
        return _WORDS[short] + ("." if found.end() == len(found.string) else "")

    def unit(found: re.Match[str]) -> str:
        ends = found.end() == len(found.string) and found[1][-1] == "."
        return f" {_UNITS[found[1]]}" + ("." if ends else "")

    text = _ABBREVIATION.sub(words, text)
    return _SHORT_STREET.sub("traße", _UNIT.sub(unit, with_euros(text)))


def with_right_units(sentence: str, translation: str) -> str:
    """Return a translation with kilometers where its sentence has as many, and not miles."""

    def right(found: re.Match[str]) -> str:
        ours, theirs = _OTHERS[found["unit"].replace("feet", "foot")]
        number = re.sub("[.,]", "[., ]", found["number"])
        if not re.search(rf"(?<![\d.,]){number} {ours}", sentence):
            return found[0]
        is_plural = found["plural"] or found["unit"] == "feet"
        return found["number"] + found["space"] + theirs + ("s" if is_plural else "")

    return _OTHER_UNIT.sub(right, translation)
