"""Rules for whole sentences: which clauses go together, and the grammar they make up."""

from __future__ import annotations

from translator.grammar import adverbials, clauses, phrases
from translator.grammar.engine import AGREEMENTS, ANY, Grammar, Rule, Slot, bits, words
from translator.grammar.verbs import MODALS, THING_STATES


def _clause(
    kind: str,
    tense: str,
    polarity: str = "aff",
    family: str = "plain",
    subject: str = "any",
) -> tuple[str, ...]:
    return ("clause", kind, tense, polarity, family, subject)


def purpose(kind: str) -> list[Rule]:
    """An infinitive with um and zu: "um den Lehrer zu besuchen"."""
    action = (Slot("action", ("zu", kind)),)
    german = words("um", "u") + action
    return [Rule(german, words("in order", "u") + action, labels=("um-zu",))]


def content(kind: str) -> list[Rule]:
    """What somebody knows, says or hopes."""
    if kind == "hope":
        wanted = {_clause("sub", "F"): 2.0, _clause("sub", "M:können"): 1.0}
    elif kind == "whether":
        wanted = {
            _clause("sub", "P"): 1.5,
            _clause("sub", "F"): 1.5,
            _clause("sub", "X"): 2.0,
            _clause("sub", "S"): 1.0,
            _clause("sub", "M:können"): 1.0,
            _clause("sub", "M:müssen"): 0.7,
            _clause("sub", "M:wollen"): 0.7,
            ("state", "sub", "present", "aff", "time", "any"): 0.3,
        }
    else:
        wanted = {
            _clause("sub", "P"): 1.5,
            _clause("sub", "P", "neg"): 0.7,
            _clause("sub", "F"): 1.5,
            _clause("sub", "X"): 2.0,
            _clause("sub", "X", "neg"): 1.0,
            _clause("sub", "S"): 0.7,
            _clause("sub", "M:können"): 0.5,
            _clause("sub", "M:können", "neg"): 0.3,
            _clause("sub", "M:müssen"): 0.7,
            _clause("sub", "M:wollen"): 0.5,
            _clause("sub", "M:wollen", "neg"): 0.3,
            ("state", "sub", "present", "aff", "unwell", "any"): 0.5,
            ("state", "sub", "present", "neg", "time", "any"): 0.3,
        }
    if kind != "hope":
        for what in THING_STATES:
            wanted["state", "sub", "present", "aff", what, "noun"] = 0.2
    rules = [_wrap(category, weight) for category, weight in wanted.items()]
    if kind == "fact":
        for tense in "PFX":
            one = (Slot("first", _clause("sub", tense)),)
            two = (Slot("second", _clause("sub", tense, subject="noun"), bits("3")),)
            und, and_ = (
                words("und", "c") + words("dass", "d"),
                words("and", "c") + words("that", "d"),
            )
            rules.append(
                Rule(one + und + two, one + and_ + two, ANY, 1.2, ("coordination",))
            )
        rules += [
            _joined(word, main, sub, 0.5 * weight)
            for word, main, sub, weight in _reasons("sub")
            if word.split(":")[0] in ("weil", "obwohl")
        ]
    return rules


def _wrap(category: tuple[str, ...], weight: float = 1.0, *labels: str) -> Rule:
    """A rule that rewrites to one other category."""
    slot = (Slot("clause", category),)
    return Rule(slot, slot, ANY, weight, labels)


def _joined(
    word: str,
    first: tuple[str, ...],
    sub: tuple[str, ...],
    weight: float,
    mask: int | None = None,
) -> Rule:
    """Main clause, conjunction, subordinate clause (with the same subject unless `mask`)."""
    german, english = (words(w, "c") for w in word.split(":"))
    one, two = (Slot("main", first),), (Slot("sub", sub, mask),)
    labels = ("subordinate", word.split(":")[0])
    return Rule(one + german + two, one + english + two, ANY, weight, labels)


def _fronted(
    word: str, sub: tuple[str, ...], main: tuple[str, ...], weight: float
) -> Rule:
    """Subordinate clause first: the main clause begins with its verb."""
    german, english = (words(w, "c") for w in word.split(":"))
    one, two = (Slot("sub", sub),), (Slot("main", main),)
    labels = ("subordinate", "subordinate-first", word.split(":")[0])
    return Rule(german + one + two, english + one + two, ANY, weight, labels)


def _reasons(main: str) -> list[tuple[str, tuple, tuple, float]]:
    """Conjunction, main clause and subordinate clause that make sense together.

    main: the order of the main clause: "main", "main0" (without a time), "after" (it comes
    second) or "sub" (it is itself subordinate).
    """
    first = main == "after"
    who = "pronoun" if first else "any"
    back = "any" if first else "pronoun"
    cannot, unwilling = (
        _clause(main, f"M:{m}", "neg", subject=who) for m in ("können", "wollen")
    )
    did_not = _clause(main, "X", "neg", subject=who)
    can = [_clause(main, f"M:{m}", subject=who) for m in ("können", "dürfen")]
    want = [
        _clause(main, f"M:{m}", subject=who) for m in ("wollen", "möchten", "müssen")
    ]
    ill, was_ill = (
        ("state", "sub", t, "aff", "unwell", back) for t in ("present", "past")
    )
    busy, was_busy = (
        ("state", "sub", t, "neg", "time", back) for t in ("present", "past")
    )
    free = ("state", "sub", "present", "aff", "time", back)
    must, need_not = (
        _clause("sub0", "M:müssen", p, "duty", back) for p in ("aff", "neg")
    )
    now, later, was = (_clause(main, tense, subject=who) for tense in "PFX")
    out = []
    out += [
        ("weil:because", cannot, reason, w)
        for reason, w in ((ill, 1.0), (busy, 0.5), (must, 3.0))
    ]
    out += [
        ("weil:because", unwilling, reason, w)
        for reason, w in ((ill, 1.0), (busy, 0.5))
    ]
    out += [
        ("weil:because", did_not, was_ill, 1.5),
        ("weil:because", did_not, was_busy, 1.0),
    ]
    for clause in (now, *want):
        out += [
            ("obwohl:although", clause, reason, w)
            for reason, w in ((ill, 0.5), (busy, 0.4))
        ]
    out += [
        ("obwohl:although", was, was_ill, 0.8),
        ("obwohl:although", was, was_busy, 0.6),
    ]
    for clause in (*can, later):
        out += [
            ("wenn:if", clause, reason, w)
            for reason, w in ((free, 0.6), (need_not, 1.2))
        ]
    before = _clause("sub0", "C", subject=back)
    for clause in (
        *(_clause(main, f"M:{m}", subject=who) for m in ("wollen", "sollen", "müssen")),
        later,
    ):
        out.append(("bevor:before", clause, before, 0.8))
    if not first:  # not "bevor er gegangen ist ist er …"
        out.append(("bevor:before", was, _clause("sub0", "X", subject=back), 1.2))
    return out


def construction(name: str) -> list[Rule]:
    """The kinds of sentences; see `CONSTRUCTIONS`."""
    return _CONSTRUCTIONS[name]()


def _statements() -> list[Rule]:
    wanted = {"P": 3.0, "H": 2.0, "S": 1.2, "F": 1.5}
    rules = [_wrap(_clause("main", tense), weight) for tense, weight in wanted.items()]
    negated = {"P": 1.5, "S": 0.7, "F": 0.8}
    return rules + [
        _wrap(_clause("main", t, "neg"), weight) for t, weight in negated.items()
    ]


def _inversions() -> list[Rule]:
    wanted = {"P": 2.0, "H": 1.5, "F": 2.0}
    rules = [_wrap(_clause("inv", tense), weight) for tense, weight in wanted.items()]
    return rules + [_wrap(_clause("inv", t, "neg"), 0.8) for t in "PF"]


def _questions() -> list[Rule]:
    wanted = {"P": 2.0, "H": 1.5, "S": 1.0, "F": 1.0}
    return [_wrap(_clause("q", tense), weight) for tense, weight in wanted.items()]


def _modals() -> list[Rule]:
    rules = []
    for modal in MODALS:
        for kind, weight in (("main", 2.0), ("inv", 1.5), ("q", 1.0)):
            rules.append(_wrap(_clause(kind, f"M:{modal}"), weight))
            if kind != "q":
                rules.append(_wrap(_clause(kind, f"M:{modal}", "neg"), weight * 0.4))
    return rules


def _perfects() -> list[Rule]:
    rules = [
        _wrap(_clause(k, "X"), w) for k, w in (("main", 2.0), ("inv", 1.5), ("q", 1.0))
    ]
    return rules + [_wrap(_clause(kind, "X", "neg"), 0.8) for kind in ("main", "inv")]


def _infinitives() -> list[Rule]:
    rules = []
    for family, tenses in (
        ("zu", ("P", "S", "X", "M:müssen", "M:wollen")),
        ("ozu", ("P", "X", "M:können", "M:wollen", "M:müssen")),
    ):
        for tense in tenses:
            for kind, weight in (("main", 2.0), ("inv", 0.8), ("q", 1.0)):
                if (kind, tense) in (("inv", "S"), ("q", "S")):
                    continue
                weight *= 2.0 if tense in ("X", "M:können") else 1.0
                rules.append(_wrap(_clause(kind, tense, "aff", family), weight))
    return rules


def _purposes() -> list[Rule]:
    wanted = {
        "P": 1.5,
        "F": 1.0,
        "X": 2.0,
        "M:müssen": 1.0,
        "M:wollen": 1.0,
        "M:möchten": 0.5,
    }
    return [
        _wrap(_clause(kind, tense, "aff", "um"), weight)
        for tense, weight in wanted.items()
        for kind in ("main", "inv")
    ]


def _contents() -> list[Rule]:
    return [
        _wrap(_clause("main", "S", "aff", "dass"), 3.0),
        _wrap(_clause("q", "S", "aff", "dass"), 0.6),
        _wrap(_clause("main", "S", "neg", "ob"), 1.2),
        _wrap(_clause("q", "S", "aff", "ob"), 1.2),
        _wrap(_clause("main", "P", "aff", "ob"), 0.7),
    ]


def _reasoned(tense: str) -> list[Rule]:
    """A main clause without a time and its reason, in the past ("X") or not."""
    return [
        _joined(word, main, sub, weight)
        for word, main, sub, weight in _reasons("main0")
        if word != "bevor:before"
        and main[2] != "F"
        and (main[2] == "X") == (tense == "X")
    ]


def _subordinates() -> list[Rule]:
    rules = [
        _joined(word, main, sub, weight) for word, main, sub, weight in _reasons("main")
    ]
    third_person = bits("3m", "3f", "3n", "3p")
    main = _clause("main", "M:können", "neg", subject="pronoun")
    ill = ("state", "sub", "present", "aff", "family", "noun")
    rules.append(_joined("weil:because", main, ill, 1.5, third_person))
    for whom in AGREEMENTS:
        if whom != "3n":  # there is no pronoun for it
            main = _clause("main", "M:können", subject="pronoun")
            helped = _clause("sub0", "W", "aff", f"for-{whom}", "noun")
            rule = _joined("wenn:if", main, helped, 2.0, third_person)
            rules.append(rule._replace(mask=bits(whom)))
    return rules


def _subordinates_first() -> list[Rule]:
    return [
        _fronted(word, sub, main, weight)
        for word, main, sub, weight in _reasons("after")
    ]


def _states() -> list[Rule]:
    rules = []
    for what in ("human", "time", *THING_STATES):
        for kind, polarity, tense, weight in (
            ("main", "aff", "present", 2.0),
            ("main", "aff", "past", 1.0),
            ("main", "neg", "present", 1.0),
            ("q", "aff", "present", 1.0),
        ):
            who = "any" if what in ("human", "time") else "noun"
            share = 2.0 if what == "human" else 0.6 if what == "time" else 1.0
            rules.append(
                _wrap(("state", kind, tense, polarity, what, who), weight * share)
            )
    return rules


def _coordinations() -> list[Rule]:
    rules = []
    for tense, weight in (("P", 1.0), ("X", 1.0)):
        for who, others, subject in (
            ("1", ("2", "3"), "any"),
            ("2", ("1", "3"), "any"),
            ("3", ("1", "2"), "any"),
            ("3", ("3",), "noun"),
        ):
            one = (Slot("first", _clause("main", tense)),)
            two = (
                Slot("second", _clause("main0", tense, subject=subject), bits(*others)),
            )
            und, and_ = words("und", "c"), words("and", "c")
            rules.append(
                Rule(
                    one + und + two,
                    one + and_ + two,
                    bits(who),
                    weight,
                    ("coordination",),
                )
            )
            if others != ("3",):
                long = (Slot("second", ("reasoned", tense), bits(*others)),)
                rules.append(
                    Rule(
                        one + und + long,
                        one + and_ + long,
                        bits(who),
                        4.0 * weight,
                        ("coordination",),
                    )
                )
    return rules


_CONSTRUCTIONS = {
    "statement": _statements,
    "inversion": _inversions,
    "question": _questions,
    "modal": _modals,
    "perfect": _perfects,
    "state": _states,
    "zu-infinitive": _infinitives,
    "um-zu": _purposes,
    "content-clause": _contents,
    "subordinate": _subordinates,
    "subordinate-first": _subordinates_first,
    "coordination": _coordinations,
}
CONSTRUCTIONS = tuple(_CONSTRUCTIONS)


def sentence() -> list[Rule]:
    """Any construction, each with the same weight."""
    return [
        _wrap(
            ("construction", name),
            0.5 if name == "state" else 1.0,
            f"construction:{name}",
        )
        for name in CONSTRUCTIONS
    ]


GRAMMAR = Grammar(
    {
        "sentence": sentence,
        "construction": construction,
        "reasoned": _reasoned,
        "clause": clauses.clause,
        "zu": clauses.zu,
        "purpose": purpose,
        "content": content,
        "state": adverbials.state,
        "time": adverbials.time,
        "clock": adverbials.clock,
        "frequency": adverbials.frequency,
        "place": adverbials.place,
        "goal": adverbials.goal,
        "city": adverbials.city,
        "subject": phrases.subject,
        "np": phrases.noun_phrase,
        "objects": phrases.coordinated,
        "definite": phrases.definite,
        "object-pronoun": phrases.object_pronoun,
        "noun": phrases.noun,
        "adjective": phrases.adjective,
        "number": phrases.number,
    },
    ("sentence",),
)
