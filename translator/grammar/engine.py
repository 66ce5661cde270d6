"""A synchronous context-free grammar with one agreement feature: draw, realise, parse, count.

A rule rewrites a category into two sequences at once, one German and one English (Aho and Ullman,
1969, "Syntax directed translations and the pushdown assembler"; Chiang, 2005, section 3). Slots
carry the same name on both sides; words are aligned when they share a tag of the same rule.

One feature runs through a rule: *agreement*, the person, number and gender of a clause's subject.
It is kept as a set of bits, so that unification is ``&``.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, product
from typing import NamedTuple

AGREEMENTS = ("1s", "2s", "3m", "3f", "3n", "1p", "2p", "3p")
ANY = (1 << len(AGREEMENTS)) - 1
AGREEMENT_WEIGHTS = (3.0, 3.0, 4.0, 4.0, 1.0, 2.0, 1.2, 3.0)
DE, EN = 0, 1

Category = tuple[str, ...]


def bits(*names: str) -> int:
    """Return the set of agreements named by their full name ("3m") or by their person ("3")."""
    return sum(
        1 << i for i, name in enumerate(AGREEMENTS) if name in names or name[0] in names
    )


class Word(NamedTuple):
    """A word of a rule: one form, or one form for each agreement ("" where there is none)."""

    forms: tuple[str, ...]
    tags: tuple[str, ...]

    def form(self, agreement: int) -> str:
        return self.forms[agreement if len(self.forms) > 1 else 0]

    def mask(self) -> int:
        if len(self.forms) == 1:
            return ANY
        return sum(1 << i for i, form in enumerate(self.forms) if form)


class Slot(NamedTuple):
    """A category in a rule; `agreement` None means: the same agreement as the rule's."""

    name: str
    category: Category
    agreement: int | None = None


Item = Word | Slot


class Rule(NamedTuple):
    """The two sides of a rule, the agreements it holds for, its weight in drawing, its labels."""

    de: tuple[Item, ...]
    en: tuple[Item, ...]
    mask: int = ANY
    weight: float = 1.0
    labels: tuple[str, ...] = ()


class Node(NamedTuple):
    """A derivation: a rule, the agreement (an index) it is used with, and a child for each slot."""

    rule: Rule
    agreement: int
    children: dict[str, Node]

    def labels(self) -> list[str]:
        """All labels of the derivation, outermost first."""
        return list(self.rule.labels) + [
            label for child in self.children.values() for label in child.labels()
        ]


def words(text: str, *tags: str) -> tuple[Word, ...]:
    """Return one `Word` for each word of `text`, all with the same tags."""
    return tuple(Word((form,), tags) for form in text.split())


def table(forms: tuple[str, ...] | list[str], *tags: str) -> tuple[Word, ...]:
    """Return a single `Word` that inflects with the agreement."""
    return (Word(tuple(forms), tags),)


class Grammar:
    """A grammar whose rules are computed on demand by one builder for each kind of category.

    `builders[category[0]](*category[1:])` returns the rules of `category`. A category must not
    contain itself: the language is finite and can be counted.
    """

    def __init__(self, builders: dict[str, Callable[..., list[Rule]]], start: Category):
        self.builders = builders
        self.start = start
        self._rules: dict[Category, list[Rule]] = {}
        self._choices: dict[tuple[Category, int], tuple[list[Rule], list[float]]] = {}
        self._tries: dict[tuple[int, Category], _State] = {}

    # -- rules -------------------------------------------------------------------------------

    def rules(self, category: Category) -> list[Rule]:
        """Return the rules of `category` that can be completed, masks narrowed accordingly."""
        if category not in self._rules:
            built = self.builders[category[0]](*category[1:])
            self._rules[category] = [
                rule._replace(mask=mask)
                for rule in built
                if (mask := self._rule_mask(rule))
            ]
        return self._rules[category]

    def _rule_mask(self, rule: Rule) -> int:
        mask = rule.mask
        for item in rule.de + rule.en:
            if isinstance(item, Word):
                mask &= item.mask()
            elif item.agreement is None:
                mask &= self.mask(item.category)
            elif not self.mask(item.category) & item.agreement:
                return 0
        return mask

    def mask(self, category: Category) -> int:
        """Return the agreements for which `category` derives something."""
        mask = 0
        for rule in self.rules(category):
            mask |= rule.mask
        return mask

    # -- drawing -----------------------------------------------------------------------------

    def draw(
        self, rng: random.Random, category: Category | None = None, mask: int = ANY
    ) -> Node:
        """Draw a derivation of `category`, top-down, rules in proportion to their weights."""
        category = category or self.start
        return self._draw(
            rng, category, self._draw_agreement(rng, mask & self.mask(category))
        )

    @staticmethod
    def _draw_agreement(rng: random.Random, mask: int) -> int:
        allowed = [i for i in range(len(AGREEMENTS)) if mask >> i & 1]
        return rng.choices(allowed, [AGREEMENT_WEIGHTS[i] for i in allowed])[0]

    def _draw(self, rng: random.Random, category: Category, agreement: int) -> Node:
        key = (category, agreement)
        if key not in self._choices:
            rules = [
                rule for rule in self.rules(category) if rule.mask >> agreement & 1
            ]
            self._choices[key] = (
                rules,
                list(accumulate(rule.weight for rule in rules)),
            )
        rules, cumulative = self._choices[key]
        rule = rules[
            bisect(cumulative, rng.random() * cumulative[-1], hi=len(rules) - 1)
        ]
        children = {}
        for item in rule.de:
            if isinstance(item, Slot):
                inner = agreement
                if item.agreement is not None:
                    inner = self._draw_agreement(
                        rng, item.agreement & self.mask(item.category)
                    )
                children[item.name] = self._draw(rng, item.category, inner)
        return Node(rule, agreement, children)

    # -- realising ---------------------------------------------------------------------------

    @staticmethod
    def realise(node: Node, side: int) -> list[tuple[str, frozenset]]:
        """Return the words of one side of a derivation, each with its alignment anchors."""
        out: list[tuple[str, frozenset]] = []

        def visit(node: Node, path: tuple[str, ...]) -> None:
            for item in node.rule[side]:
                if isinstance(item, Slot):
                    visit(node.children[item.name], (*path, item.name))
                else:
                    anchors = frozenset((path, tag) for tag in item.tags)
                    out.append((item.form(node.agreement), anchors))

        visit(node, ())
        return _a_or_an(out) if side == EN else out

    # -- parsing -----------------------------------------------------------------------------

    def parse(self, sentence: tuple[str, ...], side: int) -> list[Node]:
        """Return all derivations of `sentence` on one side (0 German, 1 English)."""
        plain = tuple("a" if side == EN and w == "an" else w for w in sentence)
        chart: dict[tuple[Category, int], list] = {}

        def spans(category: Category, start: int) -> list[tuple[int, int, tuple]]:
            key = (category, start)
            if key in chart:
                return chart[key]
            found = chart[key] = []
            todo = [(self._trie(side, category), start, ANY, ())]
            while todo:
                state, position, mask, inner = todo.pop()
                for rule in state.complete:
                    if mask & rule.mask:
                        found.append((position, mask & rule.mask, (rule, inner)))
                if position == len(plain):
                    continue
                word = plain[position]
                for edge_mask, target in state.on_word.get(word, ()):
                    if mask & edge_mask:
                        todo.append((target, position + 1, mask & edge_mask, inner))
                for slot_category, agreement, target in state.on_slot:
                    if word not in self.first(side, slot_category):
                        continue
                    for end, inner_mask, tree in spans(slot_category, position):
                        both = inner_mask & (mask if agreement is None else agreement)
                        if both:
                            step = (tree, None if agreement is None else both)
                            outer = both if agreement is None else mask
                            todo.append((target, end, outer, (*inner, step)))
            return found

        nodes = [
            node
            for end, mask, tree in spans(self.start, 0)
            if end == len(plain)
            for node in _resolve(tree, mask, side)
        ]
        return [
            node for node in nodes if spell(self.realise(node, side)) == tuple(sentence)
        ]

    @cache  # noqa: B019  (one grammar lives as long as the program)
    def first(self, side: int, category: Category) -> frozenset[str]:
        """Return the words that can begin `category` on one side."""
        out: set[str] = set()
        for rule in self.rules(category):
            item = rule[side][0]
            if isinstance(item, Slot):
                out |= self.first(side, item.category)
            else:
                out.update(form for form in item.forms if form)
        return frozenset(out)

    def _trie(self, side: int, category: Category) -> _State:
        key = (side, category)
        if key not in self._tries:
            root = self._tries[key] = _State()
            for rule in self.rules(category):
                state = root
                for item in rule[side]:
                    state = state.step(item)
                state.complete.append(rule)
        return self._tries[key]

    # -- counting ----------------------------------------------------------------------------

    def count(self, limit: int) -> dict[tuple[int, int], int]:
        """Return the number of derivations for each (German length, English length) <= limit."""
        total: dict[tuple[int, int], int] = defaultdict(int)
        for agreement in range(len(AGREEMENTS)):
            for size, number in self._count(self.start, agreement, limit).items():
                total[size] += number
        return dict(total)

    @cache  # noqa: B019
    def _count(self, category: Category, agreement: int, limit: int) -> dict:
        total: dict[tuple[int, int], int] = defaultdict(int)
        for rule in self.rules(category):
            if not rule.mask >> agreement & 1:
                continue
            de, en = (
                sum(isinstance(item, Word) for item in rule[side]) for side in (DE, EN)
            )
            sizes = {(de, en): 1}
            for slot in (item for item in rule.de if isinstance(item, Slot)):
                sizes = _convolve(
                    sizes, self._count_slot(slot, agreement, limit), limit
                )
            for size, number in sizes.items():
                total[size] += number
        return dict(total)

    def _count_slot(self, slot: Slot, agreement: int, limit: int) -> dict:
        if slot.agreement is None:
            return self._count(slot.category, agreement, limit)
        total: dict[tuple[int, int], int] = defaultdict(int)
        for inner in range(len(AGREEMENTS)):
            if slot.agreement >> inner & 1:
                for size, number in self._count(slot.category, inner, limit).items():
                    total[size] += number
        return total

    # -- enumerating -------------------------------------------------------------------------

    def derivations(self, category: Category, agreement: int) -> Iterator[Node]:
        """Yield every derivation of `category` with one agreement, in a fixed order."""
        for rule in self.rules(category):
            if rule.mask >> agreement & 1:
                slots = [item for item in rule.de if isinstance(item, Slot)]
                for children in self._fill(slots, agreement):
                    yield Node(rule, agreement, children)

    def _fill(self, slots: list[Slot], agreement: int) -> Iterator[dict[str, Node]]:
        if not slots:
            yield {}
            return
        slot, rest = slots[0], slots[1:]
        allowed = 1 << agreement if slot.agreement is None else slot.agreement
        for inner in (i for i in range(len(AGREEMENTS)) if allowed >> i & 1):
            for child in self.derivations(slot.category, inner):
                for others in self._fill(rest, agreement):
                    yield {slot.name: child, **others}


class _State:
    """A state of the recursive transition network of one category (common prefixes shared)."""

    def __init__(self) -> None:
        self.on_word: dict[str, list[tuple[int, _State]]] = defaultdict(list)
        self.on_slot: list[tuple[Category, int | None, _State]] = []
        self.complete: list[Rule] = []
        self._edges: dict[tuple, _State] = {}

    def step(self, item: Item) -> _State:
        key = ("word", item.forms) if isinstance(item, Word) else ("slot", *item[1:])
        if key not in self._edges:
            target = self._edges[key] = _State()
            if isinstance(item, Slot):
                self.on_slot.append((item.category, item.agreement, target))
            else:
                masks: dict[str, int] = defaultdict(int)
                for i, form in enumerate(item.forms):
                    masks[form] |= ANY if len(item.forms) == 1 else 1 << i
                for form, mask in masks.items():
                    self.on_word[form].append((mask, target))
        return self._edges[key]


def _resolve(tree: tuple, mask: int, side: int) -> Iterator[Node]:
    """Turn a parse (rule, children) into derivations, one for each agreement it allows."""
    rule, inner = tree
    names = [item.name for item in rule[side] if isinstance(item, Slot)]
    for agreement in (i for i in range(len(AGREEMENTS)) if mask >> i & 1):
        ways = [_resolve(child, own or 1 << agreement, side) for child, own in inner]
        for children in product(*ways):
            yield Node(rule, agreement, dict(zip(names, children, strict=True)))


def _convolve(left: dict, right: dict, limit: int) -> dict[tuple[int, int], int]:
    out: dict[tuple[int, int], int] = defaultdict(int)
    for (a, b), n in left.items():
        for (c, d), m in right.items():
            if a + c <= limit and b + d <= limit:
                out[a + c, b + d] += n * m
    return out


def _a_or_an(tokens: list[tuple[str, frozenset]]) -> list[tuple[str, frozenset]]:
    """Write "an" for "a" before a vowel (no word of the lexicon breaks the rule by letter)."""
    out = list(tokens)
    for i in range(len(out) - 1):
        if out[i][0] == "a" and out[i + 1][0][0] in "aeiou":
            out[i] = ("an", out[i][1])
    return out


def spell(tokens: list[tuple[str, frozenset]]) -> tuple[str, ...]:
    """Return the words alone."""
    return tuple(word for word, _ in tokens)
