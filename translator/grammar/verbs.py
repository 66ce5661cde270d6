"""Verbs, auxiliaries, time and place expressions of the corpus."""

from __future__ import annotations

from typing import NamedTuple

from translator.grammar.engine import AGREEMENTS

# How the six forms of a conjugation (ich, du, er, wir, ihr, sie) spread over the agreements.
_PERSON = {"1s": 0, "2s": 1, "3m": 2, "3f": 2, "3n": 2, "1p": 3, "2p": 4, "3p": 5}


def conjugate(text: str) -> list[str]:
    """Return one form for each agreement from the six forms of a German verb."""
    forms = text.split()
    return [forms[_PERSON[name]] for name in AGREEMENTS]


def third(base: str, singular: str) -> list[str]:
    """Return the English present: `singular` for he, she, it and `base` for all others."""
    return [singular if name in ("3m", "3f", "3n") else base for name in AGREEMENTS]


BE = ["am", "are", "is", "is", "is", "are", "are", "are"]
BE_PAST = ["was", "were", "was", "was", "was", "were", "were", "were"]
DO = third("do", "does")
HABEN = conjugate("habe hast hat haben habt haben")
HATTE = conjugate("hatte hattest hatte hatten hattet hatten")
SEIN = conjugate("bin bist ist sind seid sind")
WAR = conjugate("war warst war waren wart waren")


class Verb(NamedTuple):
    """A verb: its German and English forms, what it governs and where it may be used."""

    lemma: str
    prefix: str
    present: list[str]  # one for each agreement, without the prefix
    participle: str
    auxiliary: list[str]
    english: tuple[str, str, str, str]  # base, third person, -ing, past
    rest: str  # English words that follow the verb: "for" in "look for"
    particle: str  # English particle that a pronoun precedes: "up" in "pick him up"
    frames: tuple[str, ...]
    uses: frozenset[str]

    @property
    def name(self) -> str:
        return self.prefix + self.lemma

    @property
    def zu(self) -> str:
        """The infinitive with zu: "zu lesen", but "anzurufen" in one word."""
        return f"{self.prefix}zu{self.lemma}" if self.prefix else f"zu {self.lemma}"


# German | English | frames | uses.
# German: infinitive with | after a separable prefix, the six present forms, the participle
# (an asterisk: perfect with sein). English: base, -s, -ing, past, then +word (follows the verb)
# or ~particle (stands after a pronoun).
# Frames: "0" no object; "acc:C", "dat:C" an object of class C ("acc*" not a bare plural, "acc!"
# definite, "acc?" indefinite, "acc~" no possessive); "dat acc:C", "dat to:C" two objects (":C" once
# more: the class of the dative); "auf+acc:C:for" a prepositional object; "to", "walk", "out", "in"
# a destination; "up" early; "zu:K", "dat zu:K", "acc zu:K" an infinitive of the kind K, a letter
# below; "dass:…", "ob:…" a clause.
# Uses of a clause: P progressive, S state, H habit, F future, X perfect, M modal, K only "können",
# C what one does before or after, W what others do for one, m a duty (behind "weil").
# Uses of an infinitive: Z what one is asked for, D what lasts, T what one tries, w hopes, p plans,
# v forgets, a helps with; t, o, h what one travels, goes out, gets up for.
# Places: L quiet ones, G open ones, N at home; n: no hour of the day.
_VERBS = """
lesen: lese liest liest lesen lest lesen: gelesen | read reads reading read | acc:readable | PHFXMCZDLhTavm
schreiben: schreibe schreibst schreibt schreiben schreibt schreiben: geschrieben | write writes writing wrote | acc:writable | PFXMCZDLhTavmp
übersetzen: übersetze übersetzt übersetzt übersetzen übersetzt übersetzen: übersetzt | translate translates translating translated | acc:translatable | PFXMCZDTam
verstehen: verstehe verstehst versteht verstehen versteht verstehen: verstanden | understand understands understanding understood | acc!:understandable | SXTKwan
lernen: lerne lernst lernt lernen lernt lernen: gelernt | study studies studying studied | für+acc:exam:for | PFXMCZDLham
kaufen: kaufe kaufst kauft kaufen kauft kaufen: gekauft | buy buys buying bought | acc~:buyable | PFXMCZtwpv
verkaufen: verkaufe verkaufst verkauft verkaufen verkauft verkaufen: verkauft | sell sells selling sold | acc:sellable | PFXMCZtwpTa
suchen: suche suchst sucht suchen sucht suchen: gesucht | look looks looking looked +for | acc*:losable | PXMDoa
finden: finde findest findet finden findet finden: gefunden | find finds finding found | acc*:losable | XKTwa
brauchen: brauche brauchst braucht brauchen braucht brauchen: gebraucht | need needs needing needed | acc*:needed | S
haben: habe hast hat haben habt haben: gehabt | have has having had | acc?:owned | S
essen: esse isst isst essen esst essen: gegessen | eat eats eating ate | acc:food | PHXMCZG
trinken: trinke trinkst trinkt trinken trinkt trinken: getrunken | drink drinks drinking drank | acc:drink | PHXMCG
reparieren: repariere reparierst repariert reparieren repariert reparieren: repariert | repair repairs repairing repaired | acc*:repairable | PFXMCZDTamp
öffnen: öffne öffnest öffnet öffnen öffnet öffnen: geöffnet | open opens opening opened | acc*:openable | PXMCZhT
malen: male malst malt malen malt malen: gemalt | paint paints painting painted | acc*:paintable | PFXMCDp
packen: packe packst packt packen packt packen: gepackt | pack packs packing packed | acc*:packable | PFXMCZDavm
sehen: sehe siehst sieht sehen seht sehen: gesehen | see sees seeing saw | acc:human | SXn
kennen: kenne kennst kennt kennen kennt kennen: gekannt | know knows knowing knew | acc:human | S
besuchen: besuche besuchst besucht besuchen besucht besuchen: besucht | visit visits visiting visited | acc:human | PHFXMCZtwpm
treffen: treffe triffst trifft treffen trefft treffen: getroffen | meet meets meeting met | acc:human | PHFXMCZGtowpm
an|rufen: rufe rufst ruft rufen ruft rufen: angerufen | call calls calling called | acc:human | PHFXMCZhWTvm
ein|laden: lade lädst lädt laden ladet laden: eingeladen | invite invites inviting invited | acc:human | PFXMCZWpv
ab|holen: hole holst holt holen holt holen: abgeholt | pick picks picking picked ~up | acc:human | PHFXMCZtoWpvm
auf|räumen: räume räumst räumt räumen räumt räumen: aufgeräumt | tidy tidies tidying tidied ~up | acc!:room | PHFXMCZDavm
an|machen: mache machst macht machen macht machen: angemacht | turn turns turning turned ~on | acc!:switchable | PXMCZh
aus|machen: mache machst macht machen macht machen: ausgemacht | turn turns turning turned ~off | acc!:switchable | PXMCZhv
mit|bringen: bringe bringst bringt bringen bringt bringen: mitgebracht | bring brings bringing brought | dat acc:gift | FXMCZWv
vor|lesen: lese liest liest lesen lest lesen: vorgelesen | read reads reading read | dat acc:tellable:playmate | PHFXMCZ
geben: gebe gibst gibt geben gebt geben: gegeben | give gives giving gave | dat acc:gift | PFXMCZtWv
zeigen: zeige zeigst zeigt zeigen zeigt zeigen: gezeigt | show shows showing showed | dat acc:showable | PFXMCZtW
schicken: schicke schickst schickt schicken schickt schicken: geschickt | send sends sending sent | dat acc:sendable | PFXMCZWv
erklären: erkläre erklärst erklärt erklären erklärt erklären: erklärt | explain explains explaining explained | dat to:explainable | PFXMCZWT
helfen: helfe hilfst hilft helfen helft helfen: geholfen | help helps helping helped | dat:human | PHFXMCZtohWwm
danken: danke dankst dankt danken dankt danken: gedankt | thank thanks thanking thanked | dat:human | PXMZv
antworten: antworte antwortest antwortet antworten antwortet antworten: geantwortet | answer answers answering answered | dat:human | PXMCZWv
zu|hören: höre hörst hört hören hört hören: zugehört | listen listens listening listened +to | dat:human | PXMZ
warten: warte wartest wartet warten wartet warten: gewartet | wait waits waiting waited | auf+acc:vehicle:for, auf+acc:human:for | PXM
sprechen: spreche sprichst spricht sprechen sprecht sprechen: gesprochen | talk talks talking talked | mit+dat:human:to | PHFXMCZtom
spielen: spiele spielst spielt spielen spielt spielen: gespielt | play plays playing played | mit+dat:playmate:with | PHFXMCZG
denken: denke denkst denkt denken denkt denken: gedacht | think thinks thinking thought | an+acc:human:of | PH
arbeiten: arbeite arbeitest arbeitet arbeiten arbeitet arbeiten: gearbeitet | work works working worked | 0 | PHFXMCZDLthm
schlafen: schlafe schläfst schläft schlafen schlaft schlafen: geschlafen | sleep sleeps sleeping slept | 0 | PXMCTG
kochen: koche kochst kocht kochen kocht kochen: gekocht | cook cooks cooking cooked | 0 | PHFXMCZDNham
singen: singe singst singt singen singt singen: gesungen | sing sings singing sang | 0 | PHXMCDG
tanzen: tanze tanzt tanzt tanzen tanzt tanzen: getanzt | dance dances dancing danced | 0 | PHXMCDG
lachen: lache lachst lacht lachen lacht lachen: gelacht | laugh laughs laughing laughed | 0 | PX
fern|sehen: sehe siehst sieht sehen seht sehen: ferngesehen | watch watches watching watched +television | 0 | PHXMCN
auf|stehen: stehe stehst steht stehen steht stehen: aufgestanden* | get gets getting got +up | up | FXMZUnm
kommen: komme kommst kommt kommen kommt kommen: gekommen* | come comes coming came | 0 | FXMCZw
gehen: gehe gehst geht gehen geht gehen: gegangen* | go goes going went | walk, out | PFXMCZUm
fahren: fahre fährst fährt fahren fahrt fahren: gefahren* | travel travels travelling travelled | to | PFXMCZUpm
an|kommen: komme kommst kommt kommen kommt kommen: angekommen* | arrive arrives arriving arrived | in | FX
versuchen: versuche versuchst versucht versuchen versucht versuchen: versucht | try tries trying tried | zu:T | PXM
hoffen: hoffe hoffst hofft hoffen hofft hoffen: gehofft | hope hopes hoping hoped | zu:w, dass:hope | S
planen: plane planst plant planen plant planen: geplant | plan plans planning planned | zu:p | PX
vergessen: vergesse vergisst vergisst vergessen vergesst vergessen: vergessen | forget forgets forgetting forgot | zu:v | X
versprechen: verspreche versprichst verspricht versprechen versprecht versprechen: versprochen | promise promises promising promised | zu:Z | X
an|fangen: fange fängst fängt fangen fangt fangen: angefangen | start starts starting started | zu:D | PXM
helfen: helfe hilfst hilft helfen helft helfen: geholfen | help helps helping helped | dat zu:a | PXM
bitten: bitte bittest bittet bitten bittet bitten: gebeten | ask asks asking asked | acc zu:Z | PXM
wissen: weiß weißt weiß wissen wisst wissen: gewusst | know knows knowing knew | dass:fact, ob:whether | S
glauben: glaube glaubst glaubt glauben glaubt glauben: geglaubt | think thinks thinking thought | dass:fact | S
fragen: frage fragst fragt fragen fragt fragen: gefragt | ask asks asking asked | ob:whether | P
sagen: sage sagst sagt sagen sagt sagen: gesagt | say says saying said | dass:fact | S
"""  # noqa: E501  (one verb a line)


def _read(line: str) -> Verb:
    german, english, frames, uses = (part.strip() for part in line.split(" | "))
    lemma, present, participle = (part.strip() for part in german.split(":"))
    prefix, _, stem = lemma.rpartition("|")
    forms = english.split()
    extra = {mark: [f[1:] for f in forms if f[0] == mark] for mark in "+~"}
    return Verb(
        stem,
        prefix,
        conjugate(present),
        participle.rstrip("*"),
        SEIN if participle.endswith("*") else HABEN,
        tuple(forms[:4]),
        "".join(extra["+"]),
        "".join(extra["~"]),
        tuple(frame.strip() for frame in frames.split(",")),
        frozenset(uses),
    )


VERBS = [_read(line) for line in _VERBS.strip().splitlines()]


class Modal(NamedTuple):
    """A modal verb and its English: affirmative words, or auxiliary and the words after it."""

    lemma: str
    present: list[str]
    english: list[str]  # one for each agreement; several words are joined by spaces
    auxiliary: list[str]
    rest: str


MODALS = {
    modal.lemma: modal
    for modal in (
        Modal(
            "können",
            conjugate("kann kannst kann können könnt können"),
            ["can"],
            ["can"],
            "",
        ),
        Modal(
            "sollen",
            conjugate("soll sollst soll sollen sollt sollen"),
            ["should"],
            ["should"],
            "",
        ),
        Modal(
            "müssen",
            conjugate("muss musst muss müssen müsst müssen"),
            third("have to", "has to"),
            DO,
            "have to",
        ),
        Modal(
            "wollen",
            conjugate("will willst will wollen wollt wollen"),
            third("want to", "wants to"),
            DO,
            "want to",
        ),
        Modal(
            "dürfen",
            conjugate("darf darfst darf dürfen dürft dürfen"),
            [f"{be} allowed to" for be in BE],
            BE,
            "allowed to",
        ),
        Modal(
            "möchten",
            conjugate("möchte möchtest möchte möchten möchtet möchten"),
            ["would like to"],
            ["would"],
            "like to",
        ),
    )
}

# Time expressions by tense: German, English, word by word (aligned in order).
TIMES = {
    "P": "heute:today jetzt:now",
    "H": "jeden_Tag:every_day jeden_Morgen:every_morning jeden_Abend:every_evening",
    "F": "morgen:tomorrow nächste_Woche:next_week am_Montag:on_Monday am_Freitag:on_Friday "
    "heute_Abend:this_evening",
    "X": "gestern:yesterday letzte_Woche:last_week am_Montag:on_Monday am_Freitag:on_Friday "
    "gestern_Abend:yesterday_evening",
    "M": "heute:today morgen:tomorrow jetzt:now am_Montag:on_Monday am_Freitag:on_Friday "
    "heute_Abend:this_evening",
}
FREQUENCIES = {"oft": "often", "manchmal": "sometimes"}

# German, English and the alignment's groups: words with the same number belong together.
_HOME = ("zu/1 Hause/2", "at/1 home/2")
_GARDEN = ("im/1 Garten/2", "in/1 the/1 garden/2")
_SCHOOL = ("in/1 der/2 Schule/3", "at/1,2 school/3")
PLACES = {
    "L": (_HOME, _GARDEN, _SCHOOL, ("in/1 der/2 Bibliothek/3", "in/1 the/2 library/3")),
    "G": (_HOME, _GARDEN, _SCHOOL, ("im/1 Park/2", "in/1 the/1 park/2")),
    "N": (_HOME,),
}
DESTINATIONS = {
    "walk": (
        ("nach/1 Hause/1", "home/1"),
        ("ins/1 Kino/2", "to/1 the/1 cinema/2"),
        ("in/1 den/2 Park/3", "to/1 the/2 park/3"),
        ("in/1 die/2 Bibliothek/3", "to/1 the/2 library/3"),
        ("zum/1 Bahnhof/2", "to/1 the/1 station/2"),
    ),
    "out": (
        ("in/1 den/2 Park/3", "to/1 the/2 park/3"),
        ("in/1 die/2 Bibliothek/3", "to/1 the/2 library/3"),
        ("zum/1 Bahnhof/2", "to/1 the/1 station/2"),
    ),
    "to": tuple(
        (f"nach/1 {german}/2", f"to/1 {english}/2")
        for german, english in (
            ("Berlin", "Berlin"),
            ("Hamburg", "Hamburg"),
            ("München", "Munich"),
            ("Wien", "Vienna"),
        )
    ),
    "in": (
        ("in/1 Berlin/2", "in/1 Berlin/2"),
        ("in/1 Hamburg/2", "in/1 Hamburg/2"),
        ("in/1 München/2", "in/1 Munich/2"),
        ("in/1 Wien/2", "in/1 Vienna/2"),
    ),
}
BY_TRAIN = ("mit/1 dem/1 Zug/2", "by/1 train/2")

# What people and things can be: German, English.
HUMAN_STATES = {
    "human": ("müde:tired", "krank:ill", "glücklich:happy"),
    "unwell": ("müde:tired", "krank:ill"),
    "family": ("krank:ill",),
}
THING_STATES = {
    "costly": ("teuer:expensive", "billig:cheap"),
    "broken": ("kaputt:broken",),
    "boring": ("interessant:interesting", "langweilig:boring"),
    "difficult": ("schwierig:difficult", "wichtig:important", "einfach:easy"),
}
