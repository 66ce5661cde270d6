"""Words for the German reader, written by hand and not taken from the grammar's lexicon."""

from __future__ import annotations

CASES = ("nom", "acc", "dat")

# noun: gender, singular outside the nominative, plural, dative plural
NOUNS = {
    lemma: rest
    for lemma, *rest in (
        line.split()
        for line in """
Lehrer m Lehrer Lehrer Lehrern|Lehrerin f Lehrerin Lehrerinnen Lehrerinnen|Arzt m Arzt Ärzte Ärzten
Ärztin f Ärztin Ärztinnen Ärztinnen|Nachbar m Nachbarn Nachbarn Nachbarn|Zeit f Zeit - -
Kollege m Kollegen Kollegen Kollegen|Student m Studenten Studenten Studenten
Kind n Kind Kinder Kindern|Mädchen n Mädchen Mädchen Mädchen|Junge m Jungen Jungen Jungen
Mann m Mann Männer Männern|Frau f Frau Frauen Frauen|Bruder m Bruder Brüder Brüdern
Schwester f Schwester Schwestern Schwestern|Sohn m Sohn Söhne Söhnen|Mutter f Mutter - -
Tochter f Tochter Töchter Töchtern|Vater m Vater - -|Buch n Buch Bücher Büchern
Brief m Brief Briefe Briefen|Zeitung f Zeitung Zeitungen Zeitungen
Gedicht n Gedicht Gedichte Gedichten|Geschichte f Geschichte Geschichten Geschichten
Bericht m Bericht Berichte Berichten|Satz m Satz Sätze Sätzen|Frage f Frage Fragen Fragen
Antwort f Antwort Antworten Antworten|Regel f Regel Regeln Regeln|Auto n Auto Autos Autos
Aufgabe f Aufgabe Aufgaben Aufgaben|Prüfung f Prüfung Prüfungen Prüfungen
Fahrrad n Fahrrad Fahrräder Fahrrädern|Computer m Computer Computer Computern|Radio n Radio - -
Lampe f Lampe Lampen Lampen|Uhr f Uhr Uhren Uhren|Tisch m Tisch Tische Tischen
Tasche f Tasche Taschen Taschen|Koffer m Koffer Koffer Koffern
Schlüssel m Schlüssel Schlüssel Schlüsseln|Mantel m Mantel Mäntel Mänteln
Bild n Bild Bilder Bildern|Blume f Blume Blumen Blumen|Haus n Haus Häuser Häusern
Zimmer n Zimmer Zimmer Zimmern|Küche f Küche - -|Büro n Büro - -|Tür f Tür Türen Türen
Fenster n Fenster Fenster Fenstern|Apfel m Apfel Äpfel Äpfeln|Kuchen m Kuchen Kuchen Kuchen
Ei n Ei Eier Eiern|Brot n Brot - -|Kaffee m Kaffee - -|Tee m Tee - -|Milch f Milch - -
Wasser n Wasser - -|Bus m Bus - -|Zug m Zug - -
""".replace("|", "\n")
        .strip()
        .splitlines()
    )
}
UNCOUNTED = ("Brot", "Kaffee", "Tee", "Milch", "Wasser", "Zeit")
ADJECTIVES = (
    *(
        "jung",
        "alt",
        "neu",
        "freundlich",
        "nett",
        "klein",
        "groß",
        "klug",
        "lang",
        "kurz",
        "schön",
    ),
    *("gut", "rot", "blau", "frisch", "heiß", "kalt"),
)
PREDICATES = {
    *(
        "müde",
        "krank",
        "glücklich",
        "teuer",
        "billig",
        "kaputt",
        "interessant",
        "langweilig",
    ),
    *("schwierig", "wichtig", "einfach"),
}
NUMBERS = ("zwei", "drei", "vier", "fünf", "sechs")

# (case, gender or p): form of the definite article; endings of dieser; of ein; of adjectives
DER = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"}
ENDINGS = {
    "dies": {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"},
    "ein": {"nom": "_ e _ e", "acc": "en e _ e", "dat": "em er em en"},
}
WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"}
MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en"}
STRONG = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"}
POSSESSIVES = ("mein", "dein", "sein", "ihr", "unser", "euer")
PRONOUNS = {
    "ich": [("nom", "1s")],
    "du": [("nom", "2s")],
    "er": [("nom", "3s")],
    "wir": [("nom", "1p")],
    "sie": [("nom", "3s"), ("nom", "3p")],
    "ihr": [("nom", "2p"), ("dat", "3s")],
    "mich": [("acc", "1s")],
    "mir": [("dat", "1s")],
    "dich": [("acc", "2s")],
    "dir": [("dat", "2s")],
    "ihn": [("acc", "3s")],
    "ihm": [("dat", "3s")],
    "uns": [("acc", "1p"), ("dat", "1p")],
    "euch": [("acc", "2p"), ("dat", "2p")],
    "ihnen": [("dat", "3p")],
}

# infinitive (| after a separable prefix): what it governs; du and er where irregular; participle
VERBS = (
    """
lesen acc liest liest gelesen|schreiben acc - - geschrieben|übersetzen acc übersetzt - übersetzt
verstehen acc - - verstanden|lernen für+acc - - gelernt|kaufen acc - - gekauft
verkaufen acc - - verkauft|suchen acc - - gesucht|finden acc findest findet gefunden
brauchen acc - - -|essen acc isst isst gegessen|trinken acc - - getrunken
reparieren acc - - repariert|öffnen acc öffnest öffnet geöffnet|malen acc - - gemalt
packen acc - - gepackt|sehen acc siehst sieht gesehen|kennen acc - - -
besuchen acc - - besucht|treffen acc triffst trifft getroffen|an.rufen acc - - angerufen
ein.laden acc lädst lädt eingeladen|ab.holen acc - - abgeholt|auf.räumen acc - - aufgeräumt
an.machen acc - - angemacht|aus.machen acc - - ausgemacht|mit.bringen dat,acc - - mitgebracht
vor.lesen dat,acc liest liest vorgelesen|geben dat,acc gibst gibt gegeben
zeigen dat,acc - - gezeigt|schicken dat,acc - - geschickt|erklären dat,acc - - erklärt
helfen dat hilfst hilft geholfen|danken dat - - gedankt
antworten dat antwortest antwortet geantwortet
zu.hören dat - - zugehört|warten auf+acc wartest wartet gewartet
sprechen mit+dat sprichst spricht gesprochen|spielen mit+dat - - gespielt|denken an+acc - - -
arbeiten - arbeitest arbeitet gearbeitet|schlafen - schläfst schläft geschlafen
kochen - - - gekocht|singen - - - gesungen|tanzen - tanzt - getanzt|lachen - - - gelacht
fern.sehen - siehst sieht ferngesehen|auf.stehen - - - aufgestanden|kommen - - - gekommen
gehen - - - gegangen|fahren - fährst fährt gefahren|an.kommen - - - angekommen
versuchen - - - versucht|hoffen - - - -|planen - - - geplant
vergessen - vergisst vergisst vergessen|versprechen - versprichst verspricht versprochen
an.fangen - fängst fängt angefangen|bitten acc bittest bittet gebeten
glauben - - - -|sagen - - - -|fragen - - - -
""".replace("|", "\n")
    .strip()
    .splitlines()
)
WITH_SEIN = ("aufstehen", "kommen", "gehen", "fahren", "ankommen")
TAKES_T = (
    "en",
    "finden",
    "öffnen",
    "warten",
    "arbeiten",
    "antworten",
    "bitten",
    "laden",
)
IRREGULAR = {
    lemma: forms
    for lemma, *forms in (
        line.split()
        for line in """
sein bin bist ist sind seid sind
haben habe hast hat haben habt haben
war war warst war waren wart waren
hatte hatte hattest hatte hatten hattet hatten
wissen weiß weißt weiß wissen wisst wissen
können kann kannst kann können könnt können
müssen muss musst muss müssen müsst müssen
wollen will willst will wollen wollt wollen
sollen soll sollst soll sollen sollt sollen
dürfen darf darfst darf dürfen dürft dürfen
möchten möchte möchtest möchte möchten möchtet möchten
""".strip().splitlines()
    )
}
MODALS = ("können", "müssen", "wollen", "sollen", "dürfen", "möchten")
PERSONS = ("1s", "2s", "3s", "1p", "2p", "3p")
PREFIXES = ("an", "ein", "ab", "auf", "aus", "mit", "vor", "zu", "fern")
CONJUNCTIONS = ("weil", "obwohl", "wenn", "bevor", "dass", "ob")

FINITE: dict[
    str, list[tuple[str, str]]
] = {}  # form: (infinitive without prefix, person)
JOINED: dict[
    str, list[tuple[str, str]]
] = {}  # form with prefix, as in a subordinate clause
INFINITIVES: dict[str, str] = {}
WITH_ZU: dict[str, str] = {}
PARTICIPLES: dict[str, str] = {}
GOVERNS: dict[str, tuple[str, ...]] = {"haben": ("acc",), "wissen": ()}


def _conjugate() -> None:
    for lemma, forms in IRREGULAR.items():
        for form, person in zip(forms, PERSONS, strict=True):
            FINITE.setdefault(form, []).append((lemma, person))
    INFINITIVES["haben"] = "haben"
    for line in VERBS:
        name, governs, du, er, participle = line.split()
        prefix, _, lemma = name.rpartition(".")
        stem = lemma.removesuffix("en")
        e = "e" if lemma in TAKES_T else ""
        du = stem + e + "st" if du == "-" else du
        er = stem + e + "t" if er == "-" else er
        forms = (stem + "e", du, er, lemma, stem + e + "t", lemma)
        for form, person in zip(forms, PERSONS, strict=True):
            table = JOINED if prefix else FINITE
            table.setdefault(prefix + form, []).append((prefix + lemma, person))
            if prefix:
                FINITE.setdefault(form, []).append((lemma, person))
        full = prefix + lemma
        INFINITIVES[full] = full
        if prefix:
            WITH_ZU[prefix + "zu" + lemma] = full
        if participle != "-":
            PARTICIPLES[participle] = full
        GOVERNS[full] = tuple(governs.split(",")) if governs != "-" else ()


_conjugate()

_PLACES = """
heute|jetzt|morgen|gestern|oft|manchmal|früh|sehr|heute Abend|gestern Abend|jeden Tag|jeden Morgen
jeden Abend|nächste Woche|letzte Woche|am Montag|am Freitag|im Garten|im Park|in der Bibliothek
in der Schule|zu Hause|nach Hause|ins Kino|in den Park|in die Bibliothek|zum Bahnhof
"""
ADVERBIALS = [
    tuple(text.split())
    for line in _PLACES.split("\n")
    for text in line.split("|")
    if text
]
ADVERBIALS += [("um", hour, "Uhr") for hour in ("sieben", "acht", "neun", "zehn")]
ADVERBIALS += [
    (*before.split(), city)
    for city in ("Berlin", "Hamburg", "München", "Wien")
    for before in ("nach", "in", "mit dem Zug nach")
]
ADVERBIALS.sort(key=len, reverse=True)
