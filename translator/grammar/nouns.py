"""Nouns, adjectives, determiners and pronouns of the corpus, with their German inflection."""

from __future__ import annotations

from typing import NamedTuple

# Gender codes: m, f, n for countable nouns in the singular, p for the plural, capitals for mass
# nouns (no plural, no "ein").
SINGULAR = ("m", "f", "n")
MASS = ("M", "F", "N")


class Noun(NamedTuple):
    """A noun: German and English forms, what may modify it, what may determine it."""

    lemma: str
    gender: str
    english: tuple[str, str]  # singular, plural
    plural: str
    adjectives: tuple[tuple[str, str], ...]
    determiners: frozenset[str]  # of "der", "ein", "poss"
    weak: bool  # masculine noun that takes -(e)n outside the nominative

    def form(self, case: str, gender: str) -> str:
        """Return the German form for a case ("nom", "acc", "dat") and a gender code."""
        if gender == "p":
            needs_n = case == "dat" and self.plural[-1] not in "ns"
            return self.plural + "n" if needs_n else self.plural
        if self.weak and case != "nom":
            return self.plural
        return self.lemma


# Adjectives that go before a noun, by kind of noun: German stem and English word.
ADJECTIVES = {
    "role": "jung:young alt:old neu:new freundlich:friendly nett:nice",
    "adult": "jung:young alt:old freundlich:friendly nett:nice",
    "child": "klein:little klug:clever freundlich:friendly nett:nice",
    "kin": "klein:little groß:big",
    "parent": "alt:old",
    "text": "neu:new alt:old lang:long kurz:short schön:beautiful",
    "short-text": "lang:long kurz:short schön:beautiful",
    "news": "neu:new alt:old",
    "report": "lang:long kurz:short neu:new",
    "question": "lang:long kurz:short gut:good",
    "rule": "neu:new",
    "sentence": "lang:long kurz:short",
    "student": "jung:young neu:new klug:clever nett:nice",
    "key": "neu:new alt:old klein:small groß:big",
    "machine": "neu:new alt:old klein:small groß:big rot:red blau:blue",
    "thing": "neu:new alt:old klein:small groß:big schön:beautiful",
    "watch": "neu:new alt:old schön:beautiful",
    "coloured": "neu:new alt:old klein:small groß:big rot:red blau:blue",
    "clothes": "neu:new alt:old lang:long rot:red blau:blue",
    "building": "neu:new alt:old klein:small groß:big schön:beautiful",
    "room": "klein:small groß:big neu:new",
    "flower": "klein:small rot:red blau:blue schön:beautiful",
    "apple": "klein:small groß:big rot:red",
    "cake": "klein:small groß:big gut:good",
    "egg": "klein:small groß:big",
    "bread": "frisch:fresh gut:good",
    "hot-drink": "heiß:hot kalt:cold gut:good",
    "cold-drink": "kalt:cold frisch:fresh",
    "vehicle": "",
    "exam": "lang:long",
}

# lemma | gender | English singular, plural | German plural | kind of adjectives | determiners
# (an asterisk after the lemma marks a weak masculine noun)
_NOUNS = """
Lehrer     m  teacher teachers      Lehrer       role       der ein poss
Lehrerin   f  teacher teachers      Lehrerinnen  role       der ein poss
Arzt       m  doctor doctors        Ärzte        role       der ein
Ärztin     f  doctor doctors        Ärztinnen    role       der ein
Nachbar*   m  neighbour neighbours  Nachbarn     role       der ein poss
Kollege*   m  colleague colleagues  Kollegen     role       der ein poss
Student*   m  student students      Studenten    student     der ein
Kind       n  child children        Kinder       child      der ein
Mädchen    n  girl girls            Mädchen      child      der ein
Junge*     m  boy boys              Jungen       child      der ein
Mann       m  man men               Männer       adult      der ein
Frau       f  woman women           Frauen       adult      der ein
Bruder     m  brother brothers      Brüder       kin        poss
Schwester  f  sister sisters        Schwestern   kin        poss
Sohn       m  son sons              Söhne        kin        poss
Tochter    f  daughter daughters    Töchter      kin        poss
Mutter     f  mother -              -            parent     poss
Vater      m  father -              -            parent     poss
Buch       n  book books            Bücher       text       der ein poss
Brief      m  letter letters        Briefe       report     der ein poss
Zeitung    f  newspaper newspapers  Zeitungen    news       der ein
Gedicht    n  poem poems            Gedichte     short-text der ein
Geschichte f  story stories         Geschichten  short-text der ein
Bericht    m  report reports        Berichte     report     der ein poss
Satz       m  sentence sentences    Sätze        sentence   der ein
Frage      f  question questions    Fragen       question   der ein
Antwort    f  answer answers        Antworten    question   der
Regel      f  rule rules            Regeln       rule       der
Aufgabe    f  exercise exercises    Aufgaben     sentence   der ein
Prüfung    f  exam exams            Prüfungen    exam       der ein poss
Auto       n  car cars              Autos        machine    der ein poss
Fahrrad    n  bicycle bicycles      Fahrräder    machine    der ein poss
Computer   m  computer computers    Computer     machine    der ein poss
Radio      n  radio -               -            machine    der
Lampe      f  lamp lamps            Lampen       coloured   der ein
Uhr        f  watch watches         Uhren        watch      der ein poss
Tisch      m  table tables          Tische       thing      der ein
Tasche     f  bag bags              Taschen      coloured   der ein poss
Koffer     m  suitcase suitcases    Koffer       coloured   der ein poss
Schlüssel  m  key keys              Schlüssel    key        der ein poss
Mantel     m  coat coats            Mäntel       clothes    der ein poss
Bild       n  picture pictures      Bilder       thing      der ein
Blume      f  flower flowers        Blumen       flower     der ein
Haus       n  house houses          Häuser       building   der ein poss
Zimmer     n  room rooms            Zimmer       room       der poss
Küche      f  kitchen -             -            room       der poss
Büro       n  office -              -            room       der poss
Fenster    n  window windows        Fenster      room       der ein
Tür        f  door doors            Türen        room       der ein
Apfel      m  apple apples          Äpfel        apple      der ein poss
Kuchen     m  cake cakes            Kuchen       cake       der ein poss
Ei         n  egg eggs              Eier         egg        der ein
Brot       N  bread -               -            bread      der
Kaffee     M  coffee -              -            hot-drink  der
Tee        M  tea -                 -            hot-drink  der
Milch      F  milk -                -            cold-drink der
Wasser     N  water -               -            cold-drink der
Bus        m  bus -                 -            vehicle    der
Zug        m  train -               -            vehicle    der
"""


def _read(line: str) -> Noun:
    lemma, gender, one, many, plural, kind, *determiners = line.split()
    adjectives = tuple(tuple(pair.split(":")) for pair in ADJECTIVES[kind].split())
    weak, lemma = lemma.endswith("*"), lemma.rstrip("*")
    plural = "" if plural == "-" else plural
    return Noun(
        lemma, gender, (one, many), plural, adjectives, frozenset(determiners), weak
    )


NOUNS = {noun.lemma: noun for noun in map(_read, _NOUNS.strip().splitlines())}

# What a verb can take as its object (or subject): the grammar's selection restrictions.
CLASSES = {
    name: tuple(members.split())
    for name, members in {
        "human": "Lehrer Lehrerin Arzt Ärztin Nachbar Kollege Student Kind Mädchen Junge Mann "
        "Frau Bruder Schwester Sohn Tochter Mutter Vater",
        "family": "Kind Bruder Schwester Sohn Tochter Mutter Vater",
        "playmate": "Kind Mädchen Junge Bruder Schwester Sohn Tochter",
        "readable": "Buch Brief Zeitung Gedicht Geschichte Bericht",
        "tellable": "Buch Brief Gedicht Geschichte",
        "writable": "Brief Gedicht Geschichte Bericht",
        "translatable": "Buch Brief Gedicht Geschichte Satz",
        "understandable": "Satz Gedicht Frage Antwort Regel Aufgabe",
        "explainable": "Satz Gedicht Regel Aufgabe",
        "exam": "Prüfung",
        "buyable": "Buch Auto Fahrrad Computer Lampe Uhr Tisch Tasche Koffer Mantel Bild Blume",
        "sellable": "Auto Fahrrad Computer Uhr Tisch Bild Haus",
        "needed": "Auto Fahrrad Computer Lampe Tisch Tasche Koffer Schlüssel Mantel",
        "owned": "Auto Fahrrad Computer Uhr Haus Koffer Mantel",
        "losable": "Brief Buch Uhr Tasche Koffer Schlüssel Mantel",
        "repairable": "Auto Fahrrad Computer Lampe Uhr",
        "switchable": "Computer Lampe Radio",
        "openable": "Brief Koffer Tasche Fenster Tür",
        "packable": "Koffer Tasche",
        "paintable": "Bild Blume Haus",
        "room": "Zimmer Küche Büro",
        "food": "Apfel Kuchen Ei Brot",
        "drink": "Kaffee Tee Milch Wasser",
        "gift": "Buch Uhr Bild Blume Apfel Kuchen",
        "showable": "Buch Brief Bild Auto Fahrrad Haus",
        "sendable": "Buch Brief Bild Bericht",
        "vehicle": "Bus Zug",
        "costly": "Auto Fahrrad Computer Uhr Tasche Mantel Bild Haus",
        "broken": "Auto Fahrrad Computer Lampe Uhr Fenster",
        "boring": "Buch Brief Gedicht Geschichte Bericht",
        "difficult": "Satz Frage Aufgabe Prüfung Regel",
    }.items()
}

NUMBERS = {
    "zwei": "two",
    "drei": "three",
    "vier": "four",
    "fünf": "five",
    "sechs": "six",
}
HOURS = {"sieben": "seven", "acht": "eight", "neun": "nine", "zehn": "ten"}

# Endings by case, in the order masculine, feminine, neuter, plural ("-" is no ending).
_ORDER = "mfnp"
_ENDINGS = {
    "der": {
        "nom": "der die das die",
        "acc": "den die das die",
        "dat": "dem der dem den",
    },
    "dies": {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"},
    "ein": {"nom": "- e - e", "acc": "en e - e", "dat": "em er em en"},
    "weak": {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"},
    "mixed": {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en"},
    "strong": {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"},
}


def ending(kind: str, case: str, gender: str) -> str:
    """Return the ending (for "der": the whole article) for a case and a gender code."""
    found = _ENDINGS[kind][case].split()[_ORDER.index(gender.lower())]
    return "" if found == "-" else found


def possessive(stem: str, case: str, gender: str) -> str:
    """Return the form of mein, dein, sein, ihr, unser or euer."""
    suffix = ending("ein", case, gender)
    return ("eur" if stem == "euer" and suffix else stem) + suffix


# Personal pronouns, in the order of `engine.AGREEMENTS`; "" where a form is ambiguous ("sie") or
# has no safe translation ("es"), so that the grammar does not use it.
SUBJECT_PRONOUNS = ("ich du er sie - wir ihr sie", "I you he she - we you they")
OBJECT_PRONOUNS = {
    "acc": ("mich dich ihn - - uns euch -", "me you him - - us you -"),
    "dat": ("mir dir ihm ihr - uns euch ihnen", "me you him her - us you them"),
}


def row(text: str) -> tuple[str, ...]:
    """Split a row of forms, reading "-" as the empty form."""
    return tuple("" if form == "-" else form for form in text.split())
