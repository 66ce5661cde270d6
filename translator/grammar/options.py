"""What a verb takes besides its subject: the ways to fill its frame, on both sides."""

from __future__ import annotations

from typing import NamedTuple

from translator.grammar.engine import AGREEMENTS, ANY, Item, Slot, bits, words
from translator.grammar.nouns import OBJECT_PRONOUNS, ending, row
from translator.grammar.phrases import nouns_of
from translator.grammar.verbs import Verb

Items = tuple[Item, ...]


class Option(NamedTuple):
    """One way to fill a frame: German fields, English objects, what stands behind the clause."""

    pronoun: Items = ()
    early: Items = ()  # definite objects
    indefinite: Items = ()
    late: Items = ()  # prepositional objects and destinations
    english: Items = ()
    post: Items = ()
    english_post: Items = ()
    kein: bool = False
    mask: int = ANY
    weight: float = 1.0
    labels: tuple[str, ...] = ()


# What the destination of a main clause is good for: kinds of infinitives (see `clauses.zu`).
_PURPOSES = {"to": "t", "out": "o", "up": "h"}


def belongs(verb: Verb, frame: str, family: str) -> bool:
    """Tell whether a frame of a verb belongs to a family of clauses."""
    head = frame.split(":")[0]
    if family == "um":
        return head in _PURPOSES
    if head == "out":
        return False
    families = {
        "zu": "zu",
        "dat zu": "ozu",
        "acc zu": "ozu",
        "dass": "dass",
        "ob": "ob",
    }
    return families.get(head, "plain") == (
        "plain" if family.startswith("for-") else family
    )


def options(verb: Verb, frame: str, family: str, negative: bool) -> list[Option]:
    """Return the ways to fill `frame`, negated with "kein" where the object is indefinite."""
    if family == "plain" or family.startswith("for-"):
        found = [_with_particle(verb, option) for option in _plain(frame, negative)]
        if family == "plain":
            return found
        return [_for(family[4:], option) for option in found if option.pronoun]
    if family == "um":
        post = Slot("purpose", ("purpose", _PURPOSES[frame]))
        return [
            option._replace(post=(post,), english_post=(post,))
            for option in _plain(frame, negative)
        ]
    head, _, kind = frame.partition(":")
    if family == "zu":
        post = Slot("infinitive", ("zu", kind))
        return [Option(post=(post,), english_post=(post,))]
    if family == "ozu":
        return _object_control(head.split()[0], kind)
    return _content(family, kind)


def _for(whom: str, option: Option) -> Option:
    """Make the pronoun of an option mean the person with the agreement `whom`."""

    def narrow(items: Items) -> Items:
        return tuple(
            item._replace(category=(*item.category, whom))
            if isinstance(item, Slot) and item.category[0] == "object-pronoun"
            else item
            for item in items
        )

    return option._replace(
        pronoun=narrow(option.pronoun), english=narrow(option.english)
    )


def _with_particle(verb: Verb, option: Option) -> Option:
    """Put the English particle before a noun and behind a pronoun ("pick up …", "pick him up")."""
    particle = words(verb.particle, "v")
    english = option.english + particle if option.pronoun else particle + option.english
    return option._replace(english=english)


def _plain(frame: str, negative: bool) -> list[Option]:
    """Return the options of frames made of objects only."""
    head, *rest = frame.split(":")
    if head == "0":
        return [Option()]
    if head == "up":
        return [Option(late=words("früh", "early"), english=words("early", "early"))]
    if head in ("to", "walk", "out", "in"):
        goal = (Slot("goal", ("goal", head)),)
        return [Option(late=goal, english=goal)]
    if "+" in head:
        return _prepositional(*head.split("+"), *rest)
    cls = rest[0]
    case = head.split()[0].rstrip("*!?~")
    if " " not in head:
        return _single(head, case, cls, negative)
    first = _objects(case, rest[1] if rest[1:] else "human", "object1")
    second = _objects("acc", cls, "object2")
    second += _no_object(cls) if negative else _indefinite(cls, "object2", "counted")
    to = words("to", "v")
    both = []
    for one in first:
        for two in second:
            english = one.english + two.english
            if head.endswith("to"):
                english = two.english + to + one.english
            both.append(
                two._replace(
                    pronoun=one.pronoun,
                    early=one.early + two.early,
                    english=english,
                    weight=one.weight * two.weight,
                    labels=one.labels + two.labels,
                )
            )
    return both


def _single(head: str, case: str, cls: str, negative: bool) -> list[Option]:
    """The options of a verb with one object; marks behind "acc" say what kinds it may have."""
    found = []
    if not head.endswith("?"):
        found += _objects(case, cls, "object1", "the" if head.endswith("~") else "def")
    if case == "acc" and not head.endswith("!"):
        kind = "counted" if head[-1] in "*?" else "indef"
        found += _no_object(cls) if negative else _indefinite(cls, "object1", kind)
    return found


def _objects(case: str, cls: str, name: str, definite: str = "def") -> list[Option]:
    """A definite object, or a pronoun where people are meant."""
    people = cls in ("human", "playmate")
    kind = "objects" if case == "acc" and not people and name != "object" else "np"
    slot = (Slot(name, (kind, case, cls, definite)),)
    found = [Option(early=slot, english=slot, labels=(f"case:{case}",))]
    if people:
        pronoun = (Slot(name, ("object-pronoun", case)),)
        found.append(Option(pronoun=pronoun, english=pronoun, weight=0.7))
    return found


def _indefinite(cls: str, name: str, kind: str) -> list[Option]:
    weight = 0.3 if cls == "human" else 0.8
    slot = (Slot(name, ("np" if cls == "human" else "objects", "acc", cls, kind)),)
    return [Option(indefinite=slot, english=slot, weight=weight, labels=("case:acc",))]


def _no_object(cls: str) -> list[Option]:
    """kein: the negation of an indefinite object; English says "not … a" or "not … any"."""
    found = []
    if cls == "human":
        return found
    for gender in ("m", "f", "n", "p", "M", "F", "N"):
        determiner = "ein" if gender in "mfnp" else "bare"
        many = len(nouns_of(cls, gender, determiner))
        if not many:
            continue
        kein = words("kein" + ending("ein", "acc", gender), "k")
        any_ = words("a" if gender in "mfn" else "any", "k")
        slot = (Slot("object", ("noun", "mixed", "acc", gender, cls, determiner)),)
        weight = 0.3 * many * (0.5 if gender == "p" else 1.0)
        found.append(
            Option(
                indefinite=kein + slot,
                english=any_ + slot,
                kein=True,
                weight=weight,
                labels=("kein", "case:acc"),
            )
        )
    return found


def _prepositional(preposition: str, case: str, cls: str, english: str) -> list[Option]:
    """A prepositional object: "auf den Bus" / "for the bus"."""
    german, english_word = words(preposition, "p"), words(english, "p")
    found = []
    for option in _objects(case, cls, "object"):
        late = german + option.pronoun + option.early
        labels = (*option.labels, "preposition")
        found.append(
            Option(
                late=late,
                english=english_word + option.english,
                weight=option.weight,
                labels=labels,
            )
        )
    return found


def _object_control(case: str, kind: str) -> list[Option]:
    """An object that is also the subject of the infinitive: "hilft mir den Satz zu übersetzen"."""
    found = []
    german, english = map(row, OBJECT_PRONOUNS[case])
    for name, de, en in zip(AGREEMENTS, german, english, strict=True):
        if de:
            mask = ANY if name[0] == "3" else ANY & ~bits(name[0])
            post = (Slot("infinitive", ("zu", kind), bits(name)),)
            pronoun, object_ = words(de, "o"), words(en, "o")
            labels = ("pronoun", f"case:{case}", f"object:{en}")
            found.append(
                Option(
                    pronoun,
                    english=object_,
                    post=post,
                    english_post=post,
                    mask=mask,
                    weight=0.2,
                    labels=labels,
                )
            )
    for gender, name in {"m": "3m", "f": "3f", "n": "3n", "p": "3p"}.items():
        post = (Slot("infinitive", ("zu", kind), bits(name)),)
        noun = (Slot("object", ("definite", case, "human", gender, "bound")),)
        found.append(
            Option(
                early=noun,
                english=noun,
                post=post,
                english_post=post,
                weight=0.35,
                labels=(f"case:{case}",),
            )
        )
    return found


def _content(family: str, kind: str) -> list[Option]:
    """A clause with dass or ob about somebody else (or another third person)."""
    found = []
    word = {"dass": ("dass", "that"), "ob": ("ob", "whether")}[family]
    for who, others in (("1", ("2", "3")), ("2", ("1", "3")), ("3", ("1", "2", "3"))):
        inner = Slot("content", ("content", kind or "fact"), bits(*others))
        post, english = (*words(word[0], "c"), inner), (*words(word[1], "c"), inner)
        found.append(
            Option(
                post=post,
                english_post=english,
                mask=bits(who),
                labels=("subordinate", family),
            )
        )
    return found
