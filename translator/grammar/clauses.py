"""Rules for clauses: where German puts its verbs, and how English says the same.

A German clause is built from fields (finite verb second, first or last; pronouns, time, definite
objects, "nicht", place, indefinite objects, prepositional objects; the rest of the verb at the
end). An English clause is subject, auxiliary, "not", verb, objects, place, time.

Tenses: P German present, English progressive; S states, H habits, C and W events behind "bevor"
and "wenn": simple present in both; F German present with a future time, English "will"; X perfect,
English past; "M:können" and so on, a modal verb.
"""

from __future__ import annotations

from typing import NamedTuple

from translator.grammar import options
from translator.grammar.engine import ANY, Item, Rule, Slot, Word, bits, table, words
from translator.grammar.options import Option
from translator.grammar.verbs import BE, DO, MODALS, VERBS, Verb, third

Items = tuple[Item, ...]

TIME_SHARE, PLACE_SHARE = (
    0.5,
    0.6,
)  # weight of a rule with time (place) against one without

_ORDER_LABELS = {
    "main": ("verb-second",),
    "inv": ("verb-second", "inversion"),
    "after": ("verb-second", "inversion"),
    "q": ("question",),
    "sub": ("verb-final",),
}


class Group(NamedTuple):
    """The forms of a verb in a clause, on both sides."""

    finite: Items  # German, second or first
    end: Items  # German, at the end of a main clause
    final: Items  # German, all of it, at the end of a subordinate clause
    auxiliary: Items  # English, before the subject of a question
    body: Items  # English, the rest


def columns(forms: list[str], *tags: str) -> Items:
    """Turn the inflected forms of several words ("have to", "has to") into one item a word."""
    if len(forms) == 1:
        return words(forms[0], *tags)
    split = zip(*(form.split() for form in forms), strict=True)
    return tuple(Word(column, tags) for column in split)


def verb_group(verb: Verb, tense: str, fused: str, split: bool) -> Group:
    """Return the forms of `verb` in a tense.

    `split` says that English needs an auxiliary (questions, negation); `fused` is "n" where
    "cannot" takes up the negation.
    """
    base, s_form, ing, past = verb.english
    if tense == "X":
        participle, has = words(verb.participle, "v"), table(verb.auxiliary, "aux")
        german = has, participle, participle + has
        english = (words("did", "aux"), words(base, "v"))
        if not split:
            english = ((), words(past, "aux", "v"))
    elif tense.startswith("M:"):
        modal = MODALS[tense[2:]]
        infinitive, finite = words(verb.name, "v"), table(modal.present, "m")
        german = finite, infinitive, infinitive + finite
        english = ((), columns(modal.english, "m") + words(base, "v"))
        if split:
            auxiliary = columns(modal.auxiliary, "m")
            if fused and modal.lemma == "können":
                auxiliary = words("cannot", "m", fused)
            english = (auxiliary, words(modal.rest, "m") + words(base, "v"))
    else:
        joined = [verb.prefix + form for form in verb.present]
        german = table(verb.present, "v"), words(verb.prefix, "v"), table(joined, "v")
        english = {
            "P": (table(BE, "v"), words(ing, "v")),
            "F": (words("will", "v"), words(base, "v")),
        }.get(tense)
        if english is None and split:
            english = (table(DO, "v"), words(base, "v"))
        elif english is None:
            english = ((), table(third(base, s_form), "v"))
    auxiliary, body = english
    return Group(*german, auxiliary, body + words(verb.rest, "v"))


def _order(
    kind: str, subject: Item, group: Group, option: Option, fields: Items
) -> Items:
    """Put the German fields in the order of a clause type; `fields` stand behind the pronouns."""
    if kind == "sub":
        return (subject, *option.pronoun, *fields, *group.final)
    if kind == "main":
        return (subject, *group.finite, *option.pronoun, *fields, *group.end)
    pair = (subject, *option.pronoun)
    if subject.category[1] == "noun":  # a pronoun goes before a subject that is none
        pair = (*option.pronoun, subject)
    return (*group.finite, *pair, *fields, *group.end)


def _rule(
    kind: str,
    subject: Slot,
    group: Group,
    option: Option,
    negative: bool,
    time: tuple[Slot, str] | None,
    place: Slot | None,
) -> tuple[Items, Items]:
    """Return both sides of a clause."""
    german_time: Items = (time[0],) if time and time[1] != "front" else ()
    nicht = words("nicht", "n") if negative and not option.kein else ()
    where: Items = (place,) if place else ()
    early = (*option.early, *german_time) if negative else (*german_time, *option.early)
    fields = (*early, *nicht, *where, *option.indefinite, *option.late)
    german = _order(
        "inv" if kind in ("q", "after") else kind, subject, group, option, fields
    )
    not_ = words("not", "k" if option.kein else "n") if negative else ()
    if any(
        "cannot" in item.forms for item in group.auxiliary if isinstance(item, Word)
    ):
        not_ = ()
    often: Items = (time[0],) if time and time[1] == "middle" else ()
    subject_verb = (subject, *group.auxiliary, *not_, *often, *group.body)
    if kind == "q":
        subject_verb = (*group.auxiliary, subject, *not_, *often, *group.body)
    end: Items = (time[0],) if time and time[1] == "end" else ()
    english = (*subject_verb, *option.english, *where, *end, *option.english_post)
    if time and time[1] == "front":
        german, english = (time[0], *german), (time[0], *english)
    return (*german, *option.post), english


def _times(
    kind: str, tense: str, family: str, no_hour: bool
) -> list[tuple[float, tuple[Slot, str] | None]]:
    """Return the time expressions a clause may have, each with its place in English."""
    name = ("M" if tense.startswith("M") else tense) + ("-day" if no_hour else "")
    some = (Slot("time", ("time", name)), "front" if kind == "inv" else "end")
    often = (Slot("time", ("frequency",)), "middle")
    if kind == "inv":
        return [(1.0, some)]
    if kind.endswith("0") or family in ("zu", "ozu", "dass", "ob") or tense in "SCW":
        return [(1.0, None)]
    if tense == "H":
        return [(1.0, some), (0.7, often)]
    if tense == "F":
        return [(1.0, some)]
    return [(1.0, None), (TIME_SHARE, some)]


def clause(
    kind: str, tense: str, polarity: str, family: str, subject_kind: str
) -> list[Rule]:
    """A clause of every verb that can be used so, each verb with the same weight.

    kind: "main", "inv" (time first), "q" (verb first), "after" (behind a subordinate clause) or
    "sub"; "main0" and "sub0" have no time. polarity: "aff", "neg". family: "plain", or what the
    verb governs besides objects: "zu", "ozu" (infinitive whose subject is the object), "um",
    "dass", "ob"; "duty" is "plain" for duties only, "for-1s" what somebody does for me.
    subject_kind: "any", "noun", "pronoun".
    """
    negative, question = polarity == "neg", kind == "q"
    uses = {tense[0], "K"} if tense == "M:können" else {tense[0]}
    order = kind.rstrip("0")
    duty, family = family == "duty", "plain" if family == "duty" else family
    rules: list[Rule] = []
    for verb in VERBS:
        frames = [
            frame for frame in verb.frames if options.belongs(verb, frame, family)
        ]
        if not uses & verb.uses or not frames or (duty and "m" not in verb.uses):
            continue
        no_hour = negative or "n" in verb.uses or family in ("zu", "ozu")
        found: list[Rule] = []
        for frame in frames:
            for option in options.options(verb, frame, family, negative):
                if tense == "H" and not _habitual(frame, option):
                    continue
                fused = ("k" if option.kein else "n") if negative else ""
                group = verb_group(verb, tense, fused, negative or question)
                for subject in _subjects(order, subject_kind, option):
                    for place in _places(
                        verb, negative or family != "plain" or kind == "sub0"
                    ):
                        for share, time in _times(kind, tense, family, no_hour):
                            sides = _rule(
                                order, subject, group, option, negative, time, place
                            )
                            weight = (
                                option.weight * share * (PLACE_SHARE if place else 1.0)
                            )
                            if (
                                subject.category[1] == "pronoun"
                                and subject_kind == "any"
                            ):
                                weight *= 0.8
                            labels = (
                                *_labels(verb, order, tense, polarity),
                                *option.labels,
                            )
                            mask = option.mask & _askable(question, tense)
                            found.append(Rule(*sides, mask, weight, labels))
        total = sum(rule.weight for rule in found)
        rules += [rule._replace(weight=rule.weight / total) for rule in found]
    return rules


def _subjects(order: str, subject_kind: str, option: Option) -> list[Slot]:
    kinds = [subject_kind]
    if order in ("inv", "q", "after") and option.pronoun and subject_kind == "any":
        kinds = ["noun", "pronoun"]
    return [Slot("subject", ("subject", kind, "human")) for kind in kinds]


def _habitual(frame: str, option: Option) -> bool:
    """Nobody calls six doctors every day, or eats the cake every day."""
    if frame.endswith("human"):
        return not option.indefinite
    return not (frame.endswith(("food", "drink")) and option.early)


def _places(verb: Verb, nowhere: bool) -> list[Slot | None]:
    kinds = [] if nowhere else [kind for kind in "LGN" if kind in verb.uses]
    return [None, *(Slot("place", ("place", kind)) for kind in kinds)]


def _askable(question: bool, tense: str) -> int:
    """Return the subjects one asks about: nobody asks whether they themselves are reading."""
    if not question or tense in ("M:können", "M:sollen", "M:müssen", "M:dürfen"):
        return ANY
    return bits("2", "3")


def _labels(verb: Verb, order: str, tense: str, polarity: str) -> tuple[str, ...]:
    labels = [f"verb:{verb.name}", *_ORDER_LABELS[order]]
    form = {
        "main": "statement",
        "inv": "inversion",
        "after": "inversion",
        "q": "question",
    }
    use = form.get(order, "subordinate")
    if tense == "X":
        labels.append("perfect")
        use = "perfect"
    elif tense.startswith("M:"):
        labels += ["modal", f"modal:{tense[2:]}"]
        use = "modal"
    if verb.prefix:
        labels.append("separable-verb")
    labels.append(f"use:{use}")
    if polarity == "neg":
        labels.append("negation")
    return tuple(labels)


def zu(kind: str) -> list[Rule]:
    """An infinitive with zu and its objects: "den Brief zu lesen", "den Lehrer anzurufen".

    kind: a letter, see the table in `verbs`.
    """
    rules: list[Rule] = []
    for verb in VERBS:
        frames = [
            frame for frame in verb.frames if options.belongs(verb, frame, "plain")
        ]
        if not frames or kind not in verb.uses:
            continue
        found = []
        for frame in frames:
            for option in options.options(verb, frame, "plain", negative=False):
                tag = "v" if verb.prefix else "z"
                infinitive = words(verb.zu, "v")
                if not verb.prefix:
                    infinitive = words("zu", "z") + words(verb.lemma, "v")
                body = (
                    words("to", tag)
                    + words(verb.english[0], "v")
                    + words(verb.rest, "v")
                )
                for place in _places(verb, kind in "toh"):
                    where = (place,) if place else ()
                    fields = (*option.early, *where, *option.indefinite, *option.late)
                    german = (*option.pronoun, *fields, *infinitive)
                    english = (*body, *option.english, *where)
                    weight = option.weight * (PLACE_SHARE if place else 1.0)
                    labels = [f"verb:{verb.name}", "zu-infinitive", "use:zu"]
                    labels += ["separable-verb"] if verb.prefix else []
                    labels += option.labels
                    found.append(
                        Rule(german, english, option.mask, weight, tuple(labels))
                    )
        total = sum(rule.weight for rule in found)
        rules += [rule._replace(weight=rule.weight / total) for rule in found]
    return rules
