"""Measures, prices and abbreviations: what is read in words, and what is copied with its number."""

from __future__ import annotations

import re

#: Of these the training has no word, or one that the model does not know: they are the same in
#: English. Single letters only where hardly anything else has them.
_OTHER_UNITS = (
    r"(?:[kcdm]?m[²³]|[kMGT]?Wh?p?|m?Ah|[kMGT]?Hz|[kMh]Pa|[mkµμ]?V|VA|mmHg|[mµμ]g|[cmdµμh]l"
    r"|[mµμn]m|[kMGT](?:B|iB|bit)|[kMG]bit|dB|kcal|k?J|N|[kM]?Ω|lm|lx|ppm|px)"
    r"(?:/(?:m[²³]|kg|km|d?l|ha|h|s|min)(?![\w²³]))?"
    r"|(?:€|kg|g|k?m|t|l|mg)/(?:m[²³]|kg|km|d?l|ha|s|min)"
)
_AMOUNT = (
    r"(?<![\w.,/])(?:[-−] ?)?\d{1,3}(?:(?: \d{3})+|\d*(?:[.,/]\d+)*)"
    r"(?: ?[-–] ?\d+(?:[.,]\d+)*)?"
)
#: "75 m²", "2.400 kWh", "3,7 V": copied with its number.
MEASURE = re.compile(rf"{_AMOUNT} ?(?:{_OTHER_UNITS})(?![\w/²³])")
_ANY_UNIT = rf"(?:{_OTHER_UNITS}|km/h|kg|g|l|t|km|cm|m|°C?|EL|TL|€)"
#: A number with any unit that is written in signs: alone it stays.
ANY_MEASURE = re.compile(rf"{_AMOUNT} ?{_ANY_UNIT}(?![\w/²³])")
_PORTION = rf"\s*{_AMOUNT} ?{_ANY_UNIT}\s+"
#: "250 g" of "250 g Mehl": what a list of ingredients begins with.
PORTION = re.compile(rf"{_PORTION}(?=(?:[a-zäöüß]+\s)?[A-ZÄÖÜ][\w-]+(?:\s[\w-]+)?\s*$)")
PORTION_ALONE = re.compile(_PORTION)
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
_UNIT = re.compile(r"(?<=\d) ?(km/h|kg|km|cm|m|g|l|t|°C|°|Std\.|Min\.)(?![\w/²³])")
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
