"""A reader of English surface strings, written without the grammar: its own tables and rules.

`problems(words)` returns what is wrong with an English sentence of the corpus: a for an, articles
and numbers that do not go with their noun, verbs that do not agree with their subject, "not" and
questions without an auxiliary, and verb forms that cannot follow one another.
"""

from __future__ import annotations

from itertools import pairwise

_NOUNS = """
teacher:teachers doctor:doctors neighbour:neighbours colleague:colleagues student:students
child:children girl:girls boy:boys man:men woman:women brother:brothers sister:sisters son:sons
daughter:daughters mother:mothers father:fathers book:books letter:letters newspaper:newspapers
poem:poems story:stories report:reports sentence:sentences question:questions answer:answers
rule:rules exercise:exercises exam:exams car:cars bicycle:bicycles computer:computers radio:radios
lamp:lamps watch:watches table:tables bag:bags suitcase:suitcases key:keys coat:coats
picture:pictures flower:flowers house:houses room:rooms kitchen:kitchens office:offices
window:windows door:doors apple:apples cake:cakes egg:eggs bus:buses train:trains
"""
NOUNS = dict(pair.split(":") for pair in _NOUNS.split())
MASS = ("bread", "coffee", "tea", "milk", "water", "time", "television")
ADJECTIVES = {
    *(
        "young",
        "old",
        "new",
        "friendly",
        "nice",
        "little",
        "small",
        "big",
        "clever",
        "long",
    ),
    *("short", "beautiful", "good", "red", "blue", "fresh", "hot", "cold"),
}
# base, past, -ing; the third person by rule
_VERBS = """
read:read:reading write:wrote:writing translate:translated:translating study:studied:studying
understand:understood:understanding buy:bought:buying sell:sold:selling look:looked:looking
find:found:finding need:needed:needing have:had:having eat:ate:eating drink:drank:drinking
repair:repaired:repairing open:opened:opening paint:painted:painting pack:packed:packing
see:saw:seeing know:knew:knowing visit:visited:visiting meet:met:meeting call:called:calling
invite:invited:inviting pick:picked:picking tidy:tidied:tidying turn:turned:turning
bring:brought:bringing give:gave:giving show:showed:showing send:sent:sending
explain:explained:explaining help:helped:helping thank:thanked:thanking answer:answered:answering
listen:listened:listening wait:waited:waiting talk:talked:talking play:played:playing
think:thought:thinking work:worked:working sleep:slept:sleeping cook:cooked:cooking
sing:sang:singing dance:danced:dancing laugh:laughed:laughing watch:watched:watching
get:got:getting come:came:coming go:went:going travel:travelled:travelling arrive:arrived:arriving
try:tried:trying hope:hoped:hoping plan:planned:planning forget:forgot:forgetting
promise:promised:promising start:started:starting ask:asked:asking say:said:saying
want:wanted:wanting
"""
VERBS = {
    base: (past, ing) for base, past, ing in (row.split(":") for row in _VERBS.split())
}
PAST = {past for past, _ in VERBS.values()}
ING = {ing for _, ing in VERBS.values()}


def third(base: str) -> str:
    """Return the third person singular."""
    if base == "have":
        return "has"
    if base.endswith(("ch", "o", "sh", "s")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


THIRD = {third(base) for base in VERBS}
BE = {"am": ("1s",), "is": ("3s",), "are": ("2", "1p", "3p")}
WAS = {"was": ("1s", "3s"), "were": ("2", "1p", "3p")}
DO = {"do": ("1s", "2", "1p", "3p"), "does": ("3s",)}
PLAIN = ("did", "will", "can", "cannot", "should", "would")
AUXILIARIES = {*BE, *WAS, *DO, *PLAIN}
SUBJECTS = {
    "I": "1s",
    "you": "2",
    "he": "3s",
    "she": "3s",
    "we": "1p",
    "they": "3p",
}
OBJECTS = ("me", "you", "him", "her", "us", "them")
PLURAL_ONLY = ("these", "two", "three", "four", "five", "six")
SINGULAR_ONLY = ("a", "an", "this", "every", "next", "last")
EITHER = ("the", "my", "your", "his", "her", "our", "their")
OPENERS = ("because", "although", "if", "before", "that", "whether", "and")


def problems(words: tuple[str, ...]) -> list[str]:
    """Return what is wrong with an English sentence."""
    return _articles(words) + _noun_phrases(words) + _verbs(words)


def _articles(words: tuple[str, ...]) -> list[str]:
    return [
        f"{word} {after}"
        for word, after in pairwise(words)
        if word in ("a", "an") and (word == "an") != (after[0] in "aeiou")
    ]


def _noun_phrase(words: tuple[str, ...]) -> tuple[str, int, str] | None:
    """Read a noun phrase at the start: its number ("3s", "3p"), its length, what is wrong."""
    i = 0
    determiner = words[0] if words[0] in (*PLURAL_ONLY, *SINGULAR_ONLY, *EITHER) else ""
    i += bool(determiner)
    while i < len(words) and words[i] in ADJECTIVES:
        i += 1
    if i == len(words):
        return None
    head, wrong = words[i], ""
    text = " ".join(words[: i + 1])
    if head in NOUNS.values():
        number = "3p"
        if determiner in SINGULAR_ONLY:
            wrong = f"singular determiner before a plural: {text}"
    elif head in NOUNS or head in MASS:
        number = "3s"
        if determiner in PLURAL_ONLY or (head in MASS and determiner in ("a", "an")):
            wrong = f"determiner does not go with the noun: {text}"
    else:
        return None
    return number, i + 1, wrong


def _noun_phrases(words: tuple[str, ...]) -> list[str]:
    wrong = []
    i = 0
    while i < len(words):
        found = _noun_phrase(words[i:]) if _is_noun_here(words, i) else None
        if found:
            number, length, problem = found
            wrong += [problem] if problem else []
            bare = length == 1 and number == "3s" and words[i] not in MASS
            if bare and words[max(i - 1, 0)] not in ("any", "by"):
                wrong.append(f"no article: {' '.join(words[max(i - 1, 0) : i + 2])}")
        i += found[1] if found else 1
    return wrong


def _is_noun_here(words: tuple[str, ...], i: int) -> bool:
    """Tell verbs that look like nouns (watch, answer, answers) from nouns."""
    if words[i] not in ("watch", "watches", "answer", "answers", "study", "picture"):
        return True
    return i > 0 and words[i - 1] in (
        *ADJECTIVES,
        *PLURAL_ONLY,
        *SINGULAR_ONLY,
        *EITHER,
        "any",
    )


def _subject(words: tuple[str, ...]) -> tuple[str, int] | None:
    """Read a subject at the start: its person and length."""
    if words[0] in SUBJECTS:
        return SUBJECTS[words[0]], 1
    found = _noun_phrase(words)
    if not found:
        return None
    number, length, _ = found
    if length < len(words) - 2 and words[length] == "and":
        second = _noun_phrase(words[length + 1 :])
        end = length + 1 + second[1] if second else 0
        follows = words[end] if second and end < len(words) else ""
        if follows in ("often", "sometimes", "like", "allowed", *ING) or _is_verb(
            follows
        ):
            single = follows in THIRD or follows in (
                "is",
                "was",
            )  # "…, and my teacher is …"
            return (second[0], end) if single else ("3p", end)
    return number, length


def _is_verb(word: str) -> bool:
    return word in AUXILIARIES or word in VERBS or word in THIRD or word in PAST


TIMES = [
    ("every", "day"),
    ("every", "morning"),
    ("every", "evening"),
    ("this", "evening"),
    ("next", "week"),
    ("last", "week"),
    ("on", "Monday"),
    ("on", "Friday"),
    ("yesterday", "evening"),
    ("today",),
    ("tomorrow",),
    ("yesterday",),
    ("now",),
    *(("at", hour, "o'clock") for hour in ("seven", "eight", "nine", "ten")),
]


def _verbs(words: tuple[str, ...]) -> list[str]:
    """Check the verb of each clause: the one at the start and those behind a conjunction."""
    wrong = []
    starts = [0] + [i + 1 for i, word in enumerate(words) if word in OPENERS]
    for start in starts:
        clause = words[start:]
        if not clause:
            return [f"nothing behind {words[-1]}"]
        opener = words[start - 1] if start else ""
        if clause[0] in OPENERS:
            continue  # "because …" first, or "and that …": that clause has its own start
        while time := next((t for t in TIMES if clause[: len(t)] == t), None):
            clause = clause[len(time) :]
        if opener == "" and clause[0] in AUXILIARIES:
            wrong += _question(clause)
            continue
        subject = _subject(clause)
        if opener == "and" and not _said_something(words[: start - 1]):
            continue  # "the old doctor and the boy …"
        if opener == "and" and (not subject or not _is_verb((*clause, "")[subject[1]])):
            continue  # "and" between noun phrases
        if not subject:
            wrong.append(f"no subject: {' '.join(clause)}")
            continue
        wrong += _predicate(subject[0], clause[subject[1] :])
    if words[0] in OPENERS:
        wrong += _second_clause(words)
    return wrong


def _said_something(words: tuple[str, ...]) -> bool:
    """Tell whether the clause that ends here has a full verb (one not read as a noun)."""
    start = max((i + 1 for i, word in enumerate(words) if word in OPENERS), default=0)
    full = ING | PAST | THIRD | set(VERBS)
    return any(
        words[i] in full and _is_verb_here(words, i) for i in range(start, len(words))
    )


def _is_verb_here(words: tuple[str, ...], i: int) -> bool:
    before = words[i - 1] if i else ""
    return before not in (
        "the",
        "a",
        "an",
        "this",
        "these",
        "my",
        "your",
        "our",
        *ADJECTIVES,
    )


def _second_clause(words: tuple[str, ...]) -> list[str]:
    """The main clause behind a subordinate clause begins with a pronoun and agrees as well."""
    for i in range(3, len(words) - 1):
        subject = words[i] in ("I", "he", "she", "we", "they") or (
            words[i] == "you" and _is_verb(words[i + 1])
        )
        if subject and words[i - 1] not in OPENERS:
            return _predicate(SUBJECTS[words[i]], words[i + 1 :])
    return [f"no main clause: {' '.join(words)}"]


def _predicate(person: str, rest: tuple[str, ...]) -> list[str]:
    """Check what follows a subject."""
    rest = tuple(word for word in rest if word not in ("often", "sometimes"))
    text = " ".join(rest[:5])
    if not rest:
        return ["no verb"]
    verb, *after = rest
    if verb in AUXILIARIES:
        return _auxiliary(person, verb, after, text)
    if "not" in after[:1]:
        return [f"not behind a full verb: {text}"]
    if verb in THIRD or verb in VERBS or verb in PAST:
        present = verb in THIRD or verb in VERBS
        agrees = (verb in THIRD) == (person == "3s")
        if present and not agrees and verb not in PAST:
            return [f"{person} {text}"]
        if verb in ("want", "wants", "have", "has") and after[:1] == ["to"]:
            return [] if after[1] in VERBS else [f"to without infinitive: {text}"]
        return []
    return [f"no verb: {text}"]


def _auxiliary(person: str, verb: str, after: list[str], text: str) -> list[str]:
    table = {**BE, **WAS, **DO}.get(verb)
    if table and person not in table:
        return [f"{person} {text}"]
    if after[:1] == ["not"]:
        after = after[1:]
    if not after:
        return [f"nothing behind {verb}"]
    if verb in BE or verb in WAS:
        states = (
            "tired ill happy expensive cheap broken interesting boring difficult "
            "important easy"
        )
        fine = after[0] in ING and verb in BE
        fine |= after[0] in ("very", "too", *states.split())
        fine |= after[:2] == ["allowed", "to"] and after[2] in VERBS
    elif verb == "would":
        fine = after[:2] == ["like", "to"] and after[2] in VERBS
    else:
        fine = after[0] in VERBS
        if after[:2] in (["have", "to"], ["want", "to"]):
            fine = after[2] in VERBS
    return [] if fine else [f"wrong form behind {verb}: {text}"]


def _question(clause: tuple[str, ...]) -> list[str]:
    verb, rest = clause[0], clause[1:]
    subject = _subject(rest)
    if not subject:
        return [f"no subject in the question: {' '.join(clause)}"]
    person, length = subject
    after = [word for word in rest[length:] if word not in ("often", "sometimes")]
    return _auxiliary(person, verb, after, " ".join(clause[:6]))
