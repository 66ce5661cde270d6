"""Rules for adverbials ("am Montag", "im Garten") and for states ("ist müde", "hat Zeit")."""

from __future__ import annotations

from translator.grammar.engine import (
    AGREEMENTS,
    ANY,
    Item,
    Rule,
    Slot,
    bits,
    table,
    words,
)
from translator.grammar.nouns import HOURS
from translator.grammar.verbs import (
    BE,
    BE_PAST,
    BY_TRAIN,
    DESTINATIONS,
    DO,
    FREQUENCIES,
    HABEN,
    HATTE,
    HUMAN_STATES,
    PLACES,
    SEIN,
    THING_STATES,
    TIMES,
    WAR,
    third,
)

Items = tuple[Item, ...]

# -- adverbials ------------------------------------------------------------------------------


def _aligned(text: str) -> Items:
    """Read "im/1 Garten/2": words with the numbers of the alignment groups they belong to."""
    pairs = (part.split("/") for part in text.split())
    return tuple(words(word, *numbers.split(","))[0] for word, numbers in pairs)


def _in_order(text: str) -> Items:
    """Read "nächste_Woche": words aligned one by one."""
    return tuple(words(word, str(i))[0] for i, word in enumerate(text.split("_")))


def time(kind: str) -> list[Rule]:
    """A time that fits the tense, such as "gestern" for "X"; no hour for "X-day"."""
    rules = []
    tense = kind[0]
    for entry in TIMES[tense].split():
        german, english = entry.split(":")
        labels = ("time", f"time:{german.split('_')[-1]}")
        rules.append(Rule(_in_order(german), _in_order(english), labels=labels))
    clock = (Slot("clock", ("clock",)),)
    days = {
        "F": ["morgen tomorrow"],
        "X": ["gestern yesterday", ""],
        "M": ["morgen tomorrow", ""],
    }
    for day in days.get(kind, []):
        german, english = (words(word, "day") for word in (day or " ").split(" "))
        rules.append(
            Rule(german + clock, english + clock, weight=0.7, labels=("time",))
        )
    return rules


def clock() -> list[Rule]:
    """An hour: "um sieben Uhr" / "at seven o'clock"."""
    return [
        Rule(
            words("um", "1") + words(german, "2") + words("Uhr", "3"),
            words("at", "1") + words(english, "2") + words("o'clock", "3"),
            labels=("number",),
        )
        for german, english in HOURS.items()
    ]


def frequency() -> list[Rule]:
    """ "oft" and "manchmal"."""
    return [
        Rule(words(de, "f"), words(en, "f"), labels=("time",))
        for de, en in FREQUENCIES.items()
    ]


def place(kind: str) -> list[Rule]:
    """Where something is done: a quiet place ("L"), an open one ("G") or at home ("N")."""
    return [
        Rule(_aligned(german), _aligned(english), labels=("place",))
        for german, english in PLACES[kind]
    ]


def goal(kind: str) -> list[Rule]:
    """Where somebody goes ("walk"), travels ("to") or arrives ("in")."""
    plain = [
        Rule(*map(_aligned, pair), labels=("place",)) for pair in DESTINATIONS[kind]
    ]
    if kind != "to":
        return plain
    german, english = map(_aligned, BY_TRAIN)
    slot = (Slot("city", ("city",)),)
    return [Rule(slot, slot), Rule(german + slot, slot + english, weight=0.4)]


def city() -> list[Rule]:
    """A city one travels to."""
    return [
        Rule(*map(_aligned, pair), labels=("place",)) for pair in DESTINATIONS["to"]
    ]


# -- states ----------------------------------------------------------------------------------


def state(
    kind: str, tense: str, polarity: str, what: str, subject_kind: str
) -> list[Rule]:
    """Somebody or something is (was) such: "ist sehr müde"; or has (had) time or none.

    what: "human", "unwell" (a reason), "family" (ill), "time", or a class of things.
    """
    if what == "time":
        return _time_to_spare(kind, tense, polarity, subject_kind)
    adjectives = HUMAN_STATES.get(what) or THING_STATES[what]
    human = what in HUMAN_STATES
    subject = Slot(
        "subject",
        ("subject", subject_kind, "human" if what in ("human", "unwell") else what),
    )
    german, english = (SEIN, BE) if tense == "present" else (WAR, BE_PAST)
    ist, is_ = table(german, "be"), table(english, "be")
    nicht, not_ = (
        (words("nicht", "n"), words("not", "n")) if polarity == "neg" else ((), ())
    )
    rules = []
    for pair in adjectives:
        for degree, weight in (("", 1.0), ("sehr:very", 0.6), ("zu:too", 0.6)):
            if degree.startswith("zu") and (human or pair.split(":")[1] not in _TOO):
                continue
            if degree and (polarity == "neg" or pair.startswith("kaputt")):
                continue
            much, very = (words(word, "d") for word in (degree or ":").split(":"))
            adjective, adjective_en = (words(word, "a") for word in pair.split(":"))
            de, en = (*nicht, *much, *adjective), (*not_, *very, *adjective_en)
            sides = {
                "main": ((subject, *ist, *de), (subject, *is_, *en)),
                "q": ((*ist, subject, *de), (*is_, subject, *en)),
                "sub": ((subject, *de, *ist), (subject, *is_, *en)),
            }[kind]
            labels = ["predicate-adjective", f"state:{pair.split(':')[0]}"]
            labels += {
                "main": ["verb-second"],
                "q": ["question"],
                "sub": ["verb-final"],
            }[kind]
            labels += ["negation"] if polarity == "neg" else []
            mask = bits("2", "3") if kind == "q" else ANY
            rules.append(Rule(*sides, mask, weight, tuple(labels)))
    return rules


_TOO = ("expensive", "difficult", "boring")


def _time_to_spare(
    kind: str, tense: str, polarity: str, subject_kind: str
) -> list[Rule]:
    subject = Slot("subject", ("subject", subject_kind, "human"))
    hat = table(HABEN if tense == "present" else HATTE, "h")
    has = table(
        third("have", "has") if tense == "present" else ["had"] * len(AGREEMENTS), "h"
    )
    zeit, spare = words("Zeit", "t"), words("time", "t")
    labels = ["state:Zeit"]
    if polarity == "neg":
        zeit, spare = words("keine", "k") + zeit, words("no", "k") + spare
        labels += ["kein", "negation"]
    sides = {
        "main": ((subject, *hat, *zeit), (subject, *has, *spare)),
        "sub": ((subject, *zeit, *hat), (subject, *has, *spare)),
        "q": (
            (*hat, subject, *zeit),
            (*table(DO, "h"), subject, *words("have", "h"), *spare),
        ),
    }[kind]
    labels += {"main": ["verb-second"], "q": ["question"], "sub": ["verb-final"]}[kind]
    return [Rule(*sides, bits("2", "3") if kind == "q" else ANY, 1.0, tuple(labels))]
