"""The corpus: sentence pairs with word alignments, drawn, split, parsed and counted."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from translator.grammar.engine import DE, EN, Node, Rule, Slot, spell
from translator.grammar.nouns import NOUNS
from translator.grammar.sentences import CONSTRUCTIONS, GRAMMAR

MIN_LENGTH, MAX_LENGTH = 3, 25
SIDES = {"source": DE, "target": EN}
SPLITS = ("random", "compositional", "length")

# Draws in a row that bring nothing new before `sample` gives up.
_PATIENCE = 30_000
# Labels that say nothing sensible together.
_CLASHES = (
    ("verb:schlafen", "state:müde state:krank bevor"),
    ("verb:aufstehen", "time:Abend time:jetzt time:heute bevor"),
    ("verb:aufstehen", "time:morgen"),  # "morgen früh" is also "tomorrow morning"
    ("verb:finden", "state:Zeit"),
    ("verb:verstehen", "state:Zeit state:krank"),
    ("noun:Sohn", "noun:Tochter noun:Kind noun:Mädchen noun:Junge"),
    ("noun:Tochter", "noun:Kind noun:Mädchen noun:Junge"),
    ("verb:arbeiten", "state:Zeit"),
    ("verb:schreiben", "adjective:alt adjective:neu"),
    ("verb:malen", "adjective:alt"),
    ("verb:lachen", "state:Zeit"),
    ("verb:ankommen", "state:Zeit"),
    ("verb:verkaufen", "noun:Kind noun:Mädchen noun:Junge"),
    ("verb:reparieren", "noun:Kind noun:Mädchen noun:Junge"),
    ("adjective:schön", "state:langweilig"),
    ("subject:indefinite", "negation"),
)
# The share of the known combinations that a compositional split holds out.
_HELD_OUT = 0.1

Combination = tuple[str, str, str]  # kind, word, word


@dataclass(frozen=True, slots=True)
class Pair:
    """A German sentence, its English translation and what is known about them.

    `alignment` holds (i, j) where source word i and target word j say the same. `construction` is
    the kind of sentence, `phenomena` what occurs in it, `combinations` which words occur together:
    ("verb+object", "lesen", "Brief"), ("adjective+noun", "alt", "Haus"), ("verb+use", "lesen",
    "modal").
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    construction: str
    phenomena: frozenset[str]
    combinations: frozenset[Combination]

    def __str__(self) -> str:
        return f"{' '.join(self.source)} | {' '.join(self.target)}"


class Splits(NamedTuple):
    """Training, validation and test pairs, and the combinations that training never sees."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    held_out: frozenset[Combination] = frozenset()


def sample(
    n: int,
    seed: int = 0,
    *,
    constructions: Sequence[str] | None = None,
    min_length: int = MIN_LENGTH,
    max_length: int = MAX_LENGTH,
) -> list[Pair]:
    """Draw `n` pairs with different sources; the same arguments always give the same pairs.

    `constructions` restricts the kinds of sentences (names from `CONSTRUCTIONS`); the lengths
    bound the number of source words. Raises ValueError for arguments out of range, and where the
    grammar has not enough such sentences.
    """
    _check_count("n", n)
    stream = _stream(random.Random(seed), constructions, min_length, max_length)
    return _take(stream, n, "n", set())


def make_splits(
    kind: str,
    n_train: int,
    n_valid: int,
    n_test: int,
    seed: int = 0,
    *,
    constructions: Sequence[str] | None = None,
    min_length: int = MIN_LENGTH,
    max_length: int = MAX_LENGTH,
    train_max_length: int = 10,
) -> Splits:
    """Draw a training, a validation and a test set in which no source occurs twice.

    kind: "random", all three alike; "length", training and validation up to `train_max_length`
    source words, test above; "compositional", each test pair has a combination of words (see
    `Pair`) that training and validation never show, though each word occurs in training. Raises
    ValueError for an unknown kind, for sizes out of range, and where no such split exists.
    """
    if kind not in SPLITS:
        raise ValueError(f"kind: expected one of {SPLITS}, got {kind!r}")
    for name, size in (("n_train", n_train), ("n_valid", n_valid), ("n_test", n_test)):
        _check_count(name, size)
    rng = random.Random(seed)
    taken: set[tuple[str, ...]] = set()
    held_out: frozenset[Combination] = frozenset()
    low, high = min_length, max_length
    if kind == "length":
        if not min_length <= train_max_length < max_length:
            raise ValueError(
                f"train_max_length: expected at least min_length={min_length} and less than "
                f"max_length={max_length}, got {train_max_length}"
            )
        low, high = train_max_length + 1, train_max_length
    if kind == "compositional":
        held_out = held_out_combinations(seed)
    stream = _stream(rng, constructions, min_length, high)
    known = (pair for pair in stream if not pair.combinations & held_out)
    train = _take(known, n_train, "n_train", taken)
    valid = _take(known, n_valid, "n_valid", taken)
    if kind == "random":
        return Splits(train, valid, _take(stream, n_test, "n_test", taken))
    tests = _stream(rng, constructions, low, max_length)
    if kind == "compositional":
        words = {word for pair in train for word in pair.source + pair.target}
        tests = (
            pair
            for pair in tests
            if pair.combinations & held_out
            and words.issuperset(pair.source + pair.target)
        )
        tests = _seen_parts(tests, train, held_out)
    return Splits(train, valid, _take(tests, n_test, "n_test", taken), held_out)


def parse(sentence: str | Sequence[str], side: str = "source") -> list[Pair]:
    """Return a pair for every way the grammar derives `sentence` on one side.

    side: "source" (German) or "target" (English). A German sentence has at most one translation;
    an English one may have several originals ("you" is du and ihr). Raises ValueError for another
    side.
    """
    if side not in SIDES:
        raise ValueError(f"side: expected one of {tuple(SIDES)}, got {side!r}")
    words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
    return [make_pair(node) for node in GRAMMAR.parse(words, SIDES[side])]


def recognise(sentence: str | Sequence[str], side: str = "source") -> bool:
    """Tell whether the grammar derives `sentence` (arguments and errors of `parse`)."""
    return bool(parse(sentence, side))


@cache
def length_counts() -> dict[int, int]:
    """Return how many derivations the grammar has for each number of source words in range."""
    counts: dict[int, int] = defaultdict(int)
    for (source, target), number in GRAMMAR.count(MAX_LENGTH).items():
        if min(source, target) >= MIN_LENGTH:
            counts[source] += number
    return dict(sorted(counts.items()))


def count() -> int:
    """Return the exact number of derivations with 3 to 25 words on both sides."""
    return sum(length_counts().values())


# -- from derivations to pairs ---------------------------------------------------------------


def make_pair(node: Node) -> Pair:
    """Return the pair that a derivation stands for."""
    german, english = GRAMMAR.realise(node, DE), GRAMMAR.realise(node, EN)
    where: dict = defaultdict(list)
    for j, (_, anchors) in enumerate(english):
        for anchor in anchors:
            where[anchor].append(j)
    alignment = frozenset(
        (i, j)
        for i, (_, anchors) in enumerate(german)
        for anchor in anchors
        for j in where[anchor]
    )
    labels = node.labels()
    phenomena = {label for label in labels if ":" not in label}
    phenomena |= {"adjective" for label in labels if label.startswith("adjective:")}
    construction = next(x for x in labels if x.startswith("construction:")).split(":")[
        1
    ]
    return Pair(
        spell(german),
        spell(english),
        alignment,
        construction,
        frozenset(phenomena),
        frozenset(_combinations(node)),
    )


def _value(rule: Rule, key: str) -> str | None:
    return next((x.split(":")[1] for x in rule.labels if x.startswith(f"{key}:")), None)


def _combinations(node: Node) -> Iterator[Combination]:
    verb, noun = _value(node.rule, "verb"), _value(node.rule, "noun")
    if verb:
        yield ("verb+use", verb, _value(node.rule, "use") or "")
    for name, child in node.children.items():
        if verb and name.startswith("object"):
            for label in child.labels():
                if label.startswith("noun:"):
                    yield ("verb+object", verb, label.split(":")[1])
        if noun and name == "adjective":
            yield ("adjective+noun", _value(child.rule, "adjective") or "", noun)
        yield from _combinations(child)


def sensible(node: Node) -> bool:
    """Tell whether a derivation neither repeats a word of content nor contradicts itself."""
    labels = node.labels()
    content = [x for x in labels if x.split(":")[0] in ("verb", "adjective", "noun")]
    content = [NOUNS[x[5:]].english[0] if x.startswith("noun:") else x for x in content]
    content += [label for label in labels if label.split(":")[0] in ("modal", "object")]
    if len(set(content)) < len(content):
        return False
    return not any(
        one in labels and not set(others.split()).isdisjoint(labels)
        for one, others in _CLASHES
    )


# -- drawing ---------------------------------------------------------------------------------


def _check_count(name: str, n: int) -> None:
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"{name}: expected an integer of at least 0, got {n!r}")


def _stream(
    rng: random.Random, constructions: Sequence[str] | None, low: int, high: int
) -> Iterator[Pair]:
    """Yield pairs without end; end after `_PATIENCE` draws that fit nothing."""
    names = tuple(CONSTRUCTIONS if constructions is None else constructions)
    unknown = set(names) - set(CONSTRUCTIONS)
    if unknown or not names:
        raise ValueError(
            f"constructions: expected names from {CONSTRUCTIONS}, got {tuple(constructions or ())}"
        )
    if not MIN_LENGTH <= low <= high <= MAX_LENGTH:
        raise ValueError(
            f"min_length, max_length: expected {MIN_LENGTH} <= min_length <= max_length <= "
            f"{MAX_LENGTH}, got {low} and {high}"
        )
    starts = [
        rule
        for rule in GRAMMAR.rules(GRAMMAR.start)
        if _value(rule, "construction") in names
    ]
    weights = [rule.weight for rule in starts]
    misses = 0
    while misses < _PATIENCE:
        rule = rng.choices(starts, weights)[0]
        (slot,) = (item for item in rule.de if isinstance(item, Slot))
        child = GRAMMAR.draw(rng, slot.category)
        node = Node(rule, child.agreement, {slot.name: child})
        misses += 1
        if not sensible(node):
            continue
        pair = make_pair(node)
        if (
            low <= len(pair.source) <= high
            and MIN_LENGTH <= len(pair.target) <= MAX_LENGTH
        ):
            misses = 0
            yield pair


def _take(
    pairs: Iterator[Pair], n: int, name: str, taken: set[tuple[str, ...]]
) -> list[Pair]:
    """Take `n` pairs whose sources are not in `taken`, and put them there."""
    out: list[Pair] = []
    misses = 0
    while len(out) < n:
        pair = next(pairs, None)
        misses += 1
        if pair is None or misses > _PATIENCE:
            raise ValueError(
                f"{name}: expected no more pairs than the grammar has of this kind, got {n} "
                f"(found {len(out)}); widen the lengths or constructions, or ask for fewer"
            )
        if pair.source not in taken:
            taken.add(pair.source)
            out.append(pair)
            misses = 0
    return out


# -- holding out combinations ----------------------------------------------------------------


@cache
def _inventory() -> tuple[tuple[Combination, int], ...]:
    """Return the combinations that occur more than once in a fixed large draw, and how often."""
    seen: Counter[Combination] = Counter()
    for pair in sample(6000, seed=20_170_612):
        seen.update(pair.combinations)
    return tuple(sorted((combination, k) for combination, k in seen.items() if k > 1))


@cache
def held_out_combinations(seed: int = 0) -> frozenset[Combination]:
    """Choose the combinations a compositional split holds out.

    About a tenth of each kind; of the combinations of any one word, no more than a quarter, so
    that the word stays known.
    """
    rng = random.Random(seed)
    known = [combination for combination, _ in _inventory()]
    size: Counter[tuple] = Counter()
    for kind, first, second in known:
        size.update([kind, (kind, 1, first), (kind, 2, second)])
    gone: Counter[tuple] = Counter()
    out = set()
    for combination in rng.sample(known, len(known)):
        kind, first, second = combination
        parts = (kind, 1, first), (kind, 2, second)
        few = all(gone[part] + 1 <= size[part] / 4 for part in parts)
        if few and gone[kind] + 1 <= _HELD_OUT * size[kind]:
            out.add(combination)
            gone.update([kind, *parts])
    return frozenset(out)


def _seen_parts(
    pairs: Iterator[Pair], train: list[Pair], held_out: frozenset[Combination]
) -> Iterator[Pair]:
    """Keep the pairs whose held-out combinations are made of parts that occur in training."""
    parts = {
        part
        for pair in train
        for kind, first, second in pair.combinations
        for part in ((kind, 1, first), (kind, 2, second))
    }
    for pair in pairs:
        new = pair.combinations & held_out
        if all({(k, 1, a), (k, 2, b)} <= parts for k, a, b in new):
            yield pair
