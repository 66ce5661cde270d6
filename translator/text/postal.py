"""Postal addresses, telephone numbers, IBANs and number plates, which are copied; places."""

from __future__ import annotations

import re
from collections.abc import Iterable

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


_SAME = """
    Aachen Amsterdam Augsburg Barcelona Basel Belfast Berlin Bern Bielefeld Bochum Bonn Bremen
    Bremerhaven Budapest Chemnitz Darmstadt Dortmund Dresden Dublin Duisburg Düsseldorf Edinburgh
    Erfurt Flensburg Frankfurt Freiburg Graz Göttingen Hamburg Heidelberg Helsinki Innsbruck
    Istanbul Jena Karlsruhe Kassel Kiel Koblenz Konstanz Leipzig Linz London Lübeck Luzern Madrid
    Magdeburg Mainz Mannheim Marburg Münster Oldenburg Osnabrück Oslo Paris
    Potsdam Regensburg Rostock Saarbrücken Salzburg Schwerin Stockholm Stuttgart Trier Tübingen
    Ulm Weimar Wiesbaden Wuppertal Würzburg Chile Israel Japan Portugal
"""
_OTHERS = """
    Athen:Athens Bayern:Bavaria Belgien:Belgium Braunschweig:Brunswick Bulgarien:Bulgaria
    Brüssel:Brussels Bukarest:Bucharest Dänemark:Denmark Estland:Estonia Finnland:Finland
    Florenz:Florence Frankreich:France Genf:Geneva Griechenland:Greece Hannover:Hanover
    Hessen:Hesse Indien:India Irland:Ireland Island:Iceland Italien:Italy Kenia:Kenya Köln:Cologne
    Kopenhagen:Copenhagen Kroatien:Croatia Lettland:Latvia Lissabon:Lisbon Litauen:Lithuania
    Luxemburg:Luxembourg Mailand:Milan Marokko:Morocco Moskau:Moscow München:Munich Neapel:Naples
    Niedersachsen:Lower_Saxony Norwegen:Norway Nürnberg:Nuremberg Prag:Prague Rom:Rome
    Rumänien:Romania Russland:Russia Sachsen:Saxony Schottland:Scotland Schweden:Sweden
    Sizilien:Sicily Slowenien:Slovenia Spanien:Spain Straßburg:Strasbourg Thüringen:Thuringia
    Tschechien:Czechia Ungarn:Hungary Venedig:Venice Warschau:Warsaw Wien:Vienna Zürich:Zurich
    Ägypten:Egypt Österreich:Austria Nordrhein-Westfalen:North_Rhine-Westphalia Tirol:Tyrol
"""

#: Towns, regions and countries with what English calls them. Of many the training has a word or
#: two, and the model takes them for another: none that is also something else ("Essen", "Polen").
PLACES = {
    **{name: name for name in _SAME.split()},
    **dict(pair.replace("_", " ").split(":") for pair in _OTHERS.split()),
}
_ANY_PLACE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(PLACES, key=len, reverse=True))})(?![\w-])"
)


def places(sentence: str) -> list[tuple[int, int]]:
    """Return where in a sentence places of PLACES begin and end."""
    return [found.span() for found in _ANY_PLACE.finditer(sentence)]


def with_english_places(translation: str, ours: Iterable[str]) -> str:
    """Return a translation with the English names of those of our places that it has in German."""
    for place in ours:
        name = PLACES.get(place, place)
        if name != place and name not in translation:
            translation = re.sub(rf"(?<!\w){place}(?!\w)", name, translation)
    return translation
