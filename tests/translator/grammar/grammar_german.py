"""A reader of German surface strings, written without the grammar: its own tables, its own rules.

`problems(words)` returns what is wrong with a sentence of the corpus, as far as a strict teacher of
German could tell from the words alone: articles, endings, cases, persons, the place of the verb.
It chunks noun phrases, cuts the sentence into clauses, finds each clause's verb, and then looks for
a way to give its noun phrases the cases that the verb governs.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

from tests.translator.grammar.grammar_german_words import (
    ADJECTIVES,
    ADVERBIALS,
    CASES,
    CONJUNCTIONS,
    DER,
    ENDINGS,
    FINITE,
    GOVERNS,
    INFINITIVES,
    JOINED,
    MIXED,
    MODALS,
    NOUNS,
    NUMBERS,
    PARTICIPLES,
    POSSESSIVES,
    PREDICATES,
    PREFIXES,
    PRONOUNS,
    STRONG,
    UNCOUNTED,
    WEAK,
    WITH_SEIN,
    WITH_ZU,
)


class Chunk(NamedTuple):
    """A noun phrase, pronoun, verb, adverbial or other word, with its possible readings."""

    kind: str  # "np", "pron", "verb", "adv", "word"
    text: str
    readings: frozenset = frozenset()  # (case, person)
    definite: bool = True
    own: str = ""  # sein or ihr, where the phrase has that possessive
    gender: str = ""


def noun_phrase(words: tuple[str, ...]) -> tuple[Chunk, int] | None:
    """Read a noun phrase at the start of `words`; its readings are empty where it is wrong."""
    i, rows, tail, definite, own = 0, None, STRONG, False, ""
    word = words[0]
    if word in ("der", "die", "das", "den", "dem"):
        rows, tail, definite, i = DER, WEAK, True, 1
    elif word.startswith("dies"):
        rows = {
            c: " ".join("dies" + e for e in ENDINGS["dies"][c].split()) for c in CASES
        }
        tail, definite, i = WEAK, True, 1
    else:
        for stem in ("kein", "ein", *POSSESSIVES):
            short = "eur" if stem == "euer" else stem
            forms = {
                c: " ".join(
                    stem if e == "_" else short + e for e in ENDINGS["ein"][c].split()
                )
                for c in CASES
            }
            if any(word in row.split() for row in forms.values()):
                rows, tail, i = forms, MIXED, 1
                definite = stem in POSSESSIVES
                own = stem if stem in ("sein", "ihr") else ""
    number = i == 0 and word in NUMBERS
    i += number
    adjective = ""
    if i < len(words) and words[i] and words[i][0].islower():
        stem = next((a for a in ADJECTIVES if words[i] in _inflected(a)), None)
        if stem:
            adjective, i = words[i].removeprefix(stem), i + 1
    if i >= len(words) or (entry := _noun(words[i])) is None:
        return None
    readings = set()
    for lemma, (gender, oblique, plural, dative) in entry:
        for case in CASES:
            for slot in (gender, "p"):
                column = "mfnp".index(slot)
                form = {"p": dative if case == "dat" else plural}.get(
                    slot, lemma if case == "nom" else oblique
                )
                fits = form == words[i]
                fits &= rows is None or rows[case].split()[column] == word
                fits &= not adjective or tail[case].split()[column] == adjective
                fits &= not number or slot == "p"
                bare = rows is None and not number
                fits &= not bare or slot == "p" or lemma in UNCOUNTED
                fits &= not (
                    slot == "p" and rows is not None and word.startswith("ein")
                )
                if fits:
                    readings.add((case, "3p" if slot == "p" else "3s"))
    cases = {case for case, _ in readings}
    if word in PRONOUNS and (cases <= {"nom"} or words[i] in UNCOUNTED):
        return (
            None  # "ihr", "Zeit"; and "esst ihr Kuchen" asks you whether you eat cakes
        )
    gender = "p" if {p for _, p in readings} == {"3p"} else entry[0][1][0]
    text = " ".join(words[: i + 1])
    return Chunk("np", text, frozenset(readings), definite, own, gender), i + 1


def _inflected(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in ("e", "er", "es", "en", "em"))


def _noun(word: str) -> list[tuple[str, list[str]]] | None:
    found = [
        (lemma, rest)
        for lemma, rest in NOUNS.items()
        if word in (lemma, *rest[1:]) and word != "-"
    ]
    return found or None


def chunks(words: tuple[str, ...]) -> list[Chunk]:
    """Cut a sentence into chunks."""
    out: list[Chunk] = []
    i = 0
    while i < len(words):
        fixed = next((f for f in ADVERBIALS if words[i : i + len(f)] == f), None)
        phrase = noun_phrase(words[i:]) if not fixed else None
        word = words[i]
        if fixed:
            text = " ".join(fixed)
            if out and out[-1].kind == "adv" and out[-1].text in ("morgen", "gestern"):
                text = f"{out.pop().text} {text}"  # "morgen um acht Uhr" is one constituent
            out.append(Chunk("adv", text))
            i += len(fixed)
        elif phrase:
            out.append(phrase[0])
            i += phrase[1]
        elif word in PRONOUNS:
            gender = {"er": "m", "sie": "f"}.get(word, "")
            out.append(Chunk("pron", word, frozenset(PRONOUNS[word]), gender=gender))
            i += 1
        else:
            verb = word in FINITE or word in JOINED or word in INFINITIVES
            verb = verb or word in PARTICIPLES or word in WITH_ZU
            out.append(Chunk("verb" if verb else "word", word))
            i += 1
    return out


def clauses(words: tuple[str, ...]) -> list[tuple[str, list[Chunk]]]:
    """Cut a sentence into clauses: "main", "after", "question" or "sub", each with its chunks."""
    rest = chunks(words)
    kind = "question" if rest[0].kind == "verb" else "main"
    out: list[tuple[str, list[Chunk]]] = []
    if rest[0].text in CONJUNCTIONS:
        first = next(i for i, c in enumerate(rest) if c.kind == "verb")
        end = first
        while rest[end].kind == "verb":
            end += 1
        out.append(
            ("sub", rest[1 : end - 1])
        )  # the last verb of the row begins the main clause
        rest, kind = rest[end - 1 :], "after"
    current: list[Chunk] = []
    for i, chunk in enumerate(rest):
        if chunk.text in CONJUNCTIONS:
            if kind == "sub" and current[-1].text == "und":
                current.pop()  # "… und dass …"
            out.append((kind, current))
            kind, current = "sub", []
        elif (
            chunk.text == "und"
            and kind == "main"
            and _complete(current)
            and _begins(rest[i + 1 :])
        ):
            out.append((kind, current))
            current = []
        else:
            current.append(chunk)
    out.append((kind, current))
    return [(kind, _join(clause)) for kind, clause in out]


def _complete(clause: list[Chunk]) -> bool:
    """Tell whether a main clause has its whole verb."""
    clause = _join(clause)
    if len(clause) < 2 or clause[1].kind != "verb":
        return False
    helper = any(
        lemma in (*MODALS, "haben", "sein")
        for lemma, _ in FINITE.get(clause[1].text, [])
    )
    return not helper or any(chunk.kind == "verb" for chunk in clause[2:])


def _begins(rest: list[Chunk]) -> bool:
    """Tell whether a main clause begins here: a subject (perhaps "A und B"), then a verb."""
    if len(rest) < 2 or "nom" not in {case for case, _ in rest[0].readings}:
        return False
    if rest[1].text == "und" and len(rest) > 3:
        return "3p" in {person for _, person in FINITE.get(rest[3].text, [])}
    return rest[1].text in FINITE


def _join(clause: list[Chunk]) -> list[Chunk]:
    """Join "A und B" to one noun phrase."""
    out = list(clause)
    while "und" in [chunk.text for chunk in out]:
        i = [chunk.text for chunk in out].index("und")
        if i == 0 or i + 1 >= len(out):
            break
        left, right = out[i - 1], out[i + 1]
        cases = {c for c, _ in left.readings} & {c for c, _ in right.readings}
        joined = Chunk(
            "np",
            f"{left.text} und {right.text}",
            frozenset((case, "3p") for case in cases),
            left.definite and right.definite,
            left.own or right.own,
            "p",
        )
        out[i - 1 : i + 2] = [joined]
    return out


def problems(words: tuple[str, ...]) -> list[str]:
    """Return what is wrong with a German sentence."""
    wrong = [
        f"article, adjective and noun disagree: {chunk.text}"
        for chunk in chunks(words)
        if chunk.kind == "np" and not chunk.readings
    ]
    for kind, clause in clauses(words):
        wrong += _clause_problems(kind, clause)
    return wrong


def _clause_problems(kind: str, clause: list[Chunk]) -> list[str]:
    text = " ".join(chunk.text for chunk in clause)
    place = {"main": 1, "question": 0, "after": 0, "sub": len(clause) - 1}[kind]
    if place >= len(clause) or clause[place].kind != "verb":
        return [f"no verb in its place ({kind}): {text}"]
    if kind == "main" and clause[0].kind not in ("np", "pron", "adv"):
        return [f"no constituent before the verb: {text}"]
    finite = clause[place].text
    rest = clause[:place] + clause[place + 1 :]
    readings = FINITE.get(finite, []) + (
        JOINED.get(finite, []) if kind == "sub" else []
    )
    tried = [_with_verb(kind, lemma, person, rest, text) for lemma, person in readings]
    if not tried:
        return [f"no finite verb: {text}"]
    return [] if [] in tried else min(tried, key=len)


def _with_verb(
    kind: str, lemma: str, person: str, rest: list[Chunk], text: str
) -> list[str]:
    """Return what is wrong if the finite verb is a form of `lemma` in this person."""
    chunks_, governed = list(rest), []
    infinitive = _take_infinitive(chunks_)
    if infinitive:
        governed += GOVERNS[infinitive]
    verbs = [chunk for chunk in chunks_ if chunk.kind == "verb"]
    state = [chunk for chunk in chunks_ if chunk.text in PREDICATES]
    if lemma in ("sein", "war") and state:
        main = ""
    elif lemma == "hatte" or (lemma == "haben" and not verbs):
        main, governed = "haben", ["acc", *governed]
    elif lemma in MODALS:
        found = [INFINITIVES[v.text] for v in verbs if v.text in INFINITIVES]
        if len(found) != 1 or len(verbs) != 1:
            return [f"{lemma} without its infinitive: {text}"]
        main = found[0]
    elif lemma in ("haben", "sein"):
        found = [PARTICIPLES[v.text] for v in verbs if v.text in PARTICIPLES]
        if len(found) != 1 or len(verbs) != 1:
            return [f"{lemma} without its participle: {text}"]
        main = found[0]
        if (main in WITH_SEIN) != (lemma == "sein"):
            return [f"{lemma} with {main}: {text}"]
    elif verbs:
        return [f"two verbs: {text}"]
    else:
        main = lemma
        prefix = next((c for c in chunks_ if _is_prefix(c, chunks_, lemma)), None)
        if prefix:
            main = prefix.text + lemma
            behind = chunks_[chunks_.index(prefix) + 1 :]
            if behind and not infinitive:
                return [f"the prefix does not stand at the end: {text}"]
            chunks_.remove(prefix)
        if main not in GOVERNS:
            return [f"no such verb, {main}: {text}"]
    if verbs and kind != "sub" and lemma not in ("war", "hatte"):
        behind = chunks_[chunks_.index(verbs[0]) + 1 :]
        if behind and not infinitive:
            return [f"the verb does not stand at the end: {text}"]
    if main and main != "haben":
        governed = [*GOVERNS[main], *governed]
    return _cases(chunks_, governed, person, text)


def _is_prefix(chunk: Chunk, clause: list[Chunk], lemma: str) -> bool:
    if chunk.text not in PREFIXES or chunk.text + lemma not in GOVERNS:
        return False
    i = clause.index(chunk)
    follows = i + 1 < len(clause) and clause[i + 1].kind in ("np", "pron")
    return not follows or lemma == "fangen"


def _take_infinitive(clause: list[Chunk]) -> str:
    """Remove "zu lesen" or "anzurufen" from the end of a clause; return the verb."""
    found = ""
    if clause and clause[-1].text in WITH_ZU:
        found = WITH_ZU[clause.pop().text]
    elif len(clause) > 1 and clause[-2].text == "zu" and clause[-1].text in INFINITIVES:
        if clause[-1].text in WITH_ZU.values():
            return ""  # not "zu anrufen"
        found = INFINITIVES[clause.pop().text]
        clause.pop()
    return found


def _cases(
    clause: list[Chunk], governed: list[str], person: str, text: str
) -> list[str]:
    """Look for a way to give each noun phrase a case: the subject's and those governed."""
    phrases: list[Chunk] = []
    prepositions = []
    wrong = []
    negated = False
    for i, chunk in enumerate(clause):
        before = clause[i - 1].text if i else ""
        if chunk.kind in ("np", "pron"):
            if before in ("mit", "auf", "an", "für"):
                prepositions += [f"{before}+{case}" for case, _ in chunk.readings]
                continue
            phrases.append(chunk)
            if negated:
                wrong.append(f"nicht stands before {chunk.text}: {text}")
        negated = negated or chunk.text == "nicht"
    if negated and any(
        c.kind == "np" and not c.definite and c in phrases[1:] for c in clause
    ):
        wrong.append(f"nicht with an indefinite object instead of kein: {text}")
    for need in [g for g in governed if "+" in g]:
        if need not in prepositions:
            wrong.append(f"{need} is missing: {text}")
    needed = [g for g in governed if "+" not in g]
    if len(phrases) != len(needed) + 1:
        return [
            *wrong,
            f"needs {needed} and a subject, has {[p.text for p in phrases]}: {text}",
        ]
    for order in permutations(phrases):
        subject, *objects = order
        if ("nom", person) not in subject.readings:
            continue
        if any(chunk.kind == "np" for chunk in phrases[: phrases.index(subject)]):
            continue  # only pronouns go before the subject
        if all(
            case in {c for c, _ in chunk.readings}
            for case, chunk in zip(needed, objects, strict=True)
        ):
            return wrong + _possessors(subject, objects, person, text)
    return [*wrong, f"no way to read the cases ({needed}, subject {person}): {text}"]


def _possessors(
    subject: Chunk, objects: list[Chunk], person: str, text: str
) -> list[str]:
    """sein belongs to a masculine subject, ihr to a feminine or plural one."""
    if set(text.split()) & CONTROL:
        return []  # the possessive may belong to the object
    gender = "p" if person == "3p" else subject.gender
    allowed = {"m": "sein", "f": "ihr", "p": "ihr"}.get(gender, "")
    return [
        f"{c.text} is not the subject's: {text}"
        for c in objects
        if c.own not in ("", allowed)
    ]


CONTROL = {
    *("helfen", "helfe", "hilfst", "hilft", "helft", "geholfen"),
    *("bitten", "bitte", "bittest", "bittet", "gebeten"),
}
