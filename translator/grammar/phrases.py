"""Rules for noun phrases: article, adjective and noun agree in case, gender and number."""

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
from translator.grammar.nouns import (
    CLASSES,
    MASS,
    NOUNS,
    NUMBERS,
    OBJECT_PRONOUNS,
    SINGULAR,
    SUBJECT_PRONOUNS,
    Noun,
    ending,
    possessive,
    row,
)

# Possessives that may go with any subject but their own plural ("du" and "wir": dein Buch, unser
# Buch), and those that point back to the subject of the clause.
_FREE = {"mein": ("my", ANY & ~bits("1p")), "dein": ("your", ANY & ~bits("2p"))}
_FREE["unser"] = ("our", ANY)
_BOUND = row("- - sein ihr - - euer ihr"), row("- - his her - - your their")

_AGREEMENT_OF = {"m": "3m", "f": "3f", "n": "3n", "p": "3p"}


def nouns_of(cls: str, gender: str, determiner: str) -> list[Noun]:
    """Return the nouns of a class that exist in a gender code and take a determiner.

    The determiner is "der", "ein", "poss", or "bare" for an unmodified plural or mass noun.
    """
    wanted = "ein" if determiner == "bare" and gender == "p" else determiner
    wanted = "der" if gender in MASS else wanted
    return [
        noun
        for noun in map(NOUNS.__getitem__, CLASSES[cls])
        if wanted in noun.determiners
        and (noun.plural if gender == "p" else noun.gender == gender)
        and not (gender in MASS and determiner == "poss")
    ]


def noun(kind: str, case: str, gender: str, cls: str, determiner: str) -> list[Rule]:
    """A noun, perhaps with an adjective in the declension `kind`: "neuen Brief" / "new letter"."""
    rules = []
    for found in nouns_of(cls, gender, determiner):
        german = words(found.form(case, gender), "noun")
        english = words(found.english[gender == "p"], "noun")
        labels = (f"noun:{found.lemma}", *(["plural"] if gender == "p" else []))
        rules.append(Rule(german, english, labels=labels))
        if not found.adjectives:
            continue
        adjective_slot = Slot(
            "adjective", ("adjective", found.lemma, ending(kind, case, gender))
        )
        rules.append(
            Rule(
                (adjective_slot, *german), (adjective_slot, *english), ANY, 1.0, labels
            )
        )
    return rules


def adjective(lemma: str, suffix: str) -> list[Rule]:
    """An adjective that may go with the noun `lemma`."""
    return [
        Rule(
            words(stem + suffix, "a"),
            words(english, "a"),
            labels=(f"adjective:{stem}",),
        )
        for stem, english in NOUNS[lemma].adjectives
    ]


def number() -> list[Rule]:
    """A number from two to six."""
    return [
        Rule(words(de, "k"), words(en, "k"), labels=("number",))
        for de, en in NUMBERS.items()
    ]


def _with_article(
    german: tuple[Item, ...],
    english: tuple[Item, ...],
    kind: str,
    case: str,
    gender: str,
    cls: str,
    determiner: str,
    weight: float,
    mask: int = ANY,
) -> list[Rule]:
    """Put determiner and noun together; the weight is shared out over the nouns there are."""
    many = len(nouns_of(cls, gender, determiner))
    slot = Slot("noun", ("noun", kind, case, gender, cls, determiner))
    return (
        [Rule((*german, slot), (*english, slot), mask, weight * many)] if many else []
    )


def definite(case: str, cls: str, gender: str, bound: str) -> list[Rule]:
    """A definite noun phrase: der, dieser or a possessive.

    bound: "bound" where a possessive may mean the subject's own, "free" where it may not, "none"
    for no possessive at all.
    """
    this = "these" if gender == "p" else "this"
    less = 0.5 if gender == "p" else 1.0
    the = words(ending("der", case, gender), "d"), words("the", "d")
    rules = _with_article(*the, "weak", case, gender, cls, "der", 1.0 * less)
    if gender not in MASS:
        dieser = words("dies" + ending("dies", case, gender), "d"), words(this, "d")
        rules += _with_article(*dieser, "weak", case, gender, cls, "der", 0.35 * less)
    if bound == "none":
        return rules
    for stem, (english, mask) in _FREE.items():
        my = words(possessive(stem, case, gender), "d"), words(english, "d")
        mask = mask if bound == "bound" else ANY
        rules += _with_article(
            *my, "mixed", case, gender, cls, "poss", 0.2 * less, mask
        )
    if bound == "bound":
        stems, english = _BOUND
        own = [possessive(stem, case, gender) if stem else "" for stem in stems]
        his = table(own, "d"), table(english, "d")
        rules += _with_article(*his, "mixed", case, gender, cls, "poss", 0.8 * less)
    return rules


def indefinite(case: str, cls: str, gender: str, kind: str) -> list[Rule]:
    """An indefinite noun phrase: ein, a number, a bare mass noun, a plural unless "counted"."""
    if gender in SINGULAR:
        one = words("ein" + ending("ein", case, gender), "d"), words("a", "d")
        return _with_article(*one, "mixed", case, gender, cls, "ein", 1.0)
    rules = []
    if gender in MASS or (kind == "indef" and cls != "human"):
        rules += _with_article((), (), "strong", case, gender, cls, "bare", 0.4)
    if gender == "p":
        count = (Slot("number", ("number",)),)
        rules += _with_article(count, count, "strong", case, gender, cls, "bare", 0.4)
    return rules


def noun_phrase(case: str, cls: str, definiteness: str) -> list[Rule]:
    """An object: "def" (perhaps with a possessive), "the" (without), "indef" or "counted"."""
    genders = (*SINGULAR, "p", *MASS)
    if definiteness in ("def", "the"):
        bound = "bound" if definiteness == "def" else "none"
        return [
            rule for gender in genders for rule in definite(case, cls, gender, bound)
        ]
    return [
        rule
        for gender in genders
        for rule in indefinite(case, cls, gender, definiteness)
    ]


def coordinated(case: str, cls: str, definiteness: str) -> list[Rule]:
    """An object of one or, now and then, two noun phrases."""
    one, two = (
        Slot(name, ("np", case, cls, definiteness)) for name in ("first", "second")
    )
    both = (one, *words("und", "and"), two), (one, *words("and", "and"), two)
    return [Rule((one,), (one,), weight=12.0), Rule(*both, labels=("coordination",))]


def subject(kind: str, cls: str) -> list[Rule]:
    """A subject: "pronoun", "noun" or "any" of the two; the rules say whose agreement it has."""
    if kind == "any":
        nominal, pronoun = (Slot("s", ("subject", k, cls)) for k in ("noun", "pronoun"))
        if cls != "human":
            return [Rule((nominal,), (nominal,))]
        return [Rule((nominal,), (nominal,)), Rule((pronoun,), (pronoun,), weight=0.8)]
    if kind == "pronoun":
        german, english = map(row, SUBJECT_PRONOUNS)
        return [Rule(table(german, "s"), table(english, "s"), labels=("pronoun",))]
    rules = []
    for gender, agreement in _AGREEMENT_OF.items():
        mask = bits(agreement)
        found = definite("nom", cls, gender, "free")
        if cls == "human":
            found += [
                r._replace(weight=r.weight * 0.1, labels=("subject:indefinite",))
                for r in indefinite("nom", cls, gender, "counted")
            ]
        rules += [rule._replace(mask=mask) for rule in found]
    if cls == "human":
        singular = bits("3m", "3f", "3n")
        one, two = (Slot(name, ("subject", "single", cls), singular) for name in "ab")
        both = (one, *words("und", "and"), two), (one, *words("and", "and"), two)
        weight = 0.12 * sum(rule.weight for rule in rules if rule.mask == bits("3p"))
        if kind == "noun":
            rules.append(Rule(*both, bits("3p"), weight, ("coordination",)))
    return rules


def object_pronoun(case: str, whom: str = "") -> list[Rule]:
    """An object pronoun of another person than the subject (of the agreement `whom`, if given)."""
    german, english = map(row, OBJECT_PRONOUNS[case])
    rules = []
    for name, de, en in zip(AGREEMENTS, german, english, strict=True):
        if de and whom in ("", name):
            mask = ANY if name[0] == "3" else ANY & ~bits(name[0])
            rules.append(
                Rule(
                    words(de, "o"),
                    words(en, "o"),
                    mask,
                    labels=("pronoun", f"case:{case}", f"object:{en}"),
                )
            )
    return rules
