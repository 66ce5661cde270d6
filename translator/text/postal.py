"""What is copied sign by sign: postal addresses, telephone numbers, IBANs and number plates."""

from __future__ import annotations

import re

from translator.text.units import MEASURE

#: Addresses contain words and numbers, and are none; nor are hashtags, paths and code. An e-mail
#: address is looked for only where one can begin: else a word of n letters would be gone through
#: n times.
ADDRESS = re.compile(
    r"(?:https?://|www\.)\S*[\w/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.@-])[\w-]+(?:\.[\w-]+)*\.(?:at|ch|com|de|eu|info|net|org)(?:/\S*[\w/])?(?![\w@-])"
    r"|(?<!\w)[#@][^\W\d_]\w*|(?<!\w)[A-Z]:\\\S*\w|`[^`\n]+`"
)
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
COPIED = re.compile(f"{STREET.pattern}|{MEASURE.pattern}|{CODE.pattern}")
_ARTICLE = re.compile(r"\b(?:das|dem|den|der|die) $")


def without_article(text: str) -> str:
    """Return a text without an article at its end: "in der Gartenstraße 5" is in a place."""
    return _ARTICLE.sub("", text)
