"""Chapter 1's data, training and measures, shared by the page and by its claims."""

from __future__ import annotations

import functools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.rnn import Seq2Seq
from translator.grammar import parse, sample

BOS, EOS, PAD = 0, 1, 2
CONSTRUCTIONS = ("modal", "zu-infinitive", "um-zu")
BANDS = ((3, 5), (6, 8), (9, 11), (12, 14), (15, 18))
EXAMPLE = "kannst du mir helfen diesen Satz zu übersetzen"
#: The chapter's two translators: what they are made of besides the vocabularies.
DESIGNS = {
    "without attention": {"attention": None},
    "with attention": {"attention": "additive", "rank": 96},
}
#: So many updates, of batches of so many pairs, train each of them.
STEPS, BATCH = 300, 64


@dataclass(frozen=True)
class Task:
    """Sentence pairs to train on, others to test on by band of length, and two vocabularies."""

    train: list
    test: dict[tuple[int, int], list]
    src_ids: dict[str, int]
    tgt_ids: dict[str, int]

    def as_batch(self, pairs: Sequence) -> tuple[Tensor, Tensor, Tensor]:
        """Token ids of pairs: source (B, S), target_in (B, T) and target_out (B, T)."""
        source = [[self.src_ids[word] for word in pair.source] for pair in pairs]
        target = [[self.tgt_ids[word] for word in pair.target] for pair in pairs]
        return tuple(
            nn.utils.rnn.pad_sequence(
                [torch.tensor(ids) for ids in rows],
                batch_first=True,
                padding_value=PAD,
            )
            for rows in (
                source,
                [[BOS, *ids] for ids in target],
                [[*ids, EOS] for ids in target],
            )
        )

    def batches(self, batch_size: int, seed: int) -> list[tuple[Tensor, ...]]:
        """Batches of pairs with sources of one length, in random order: little padding."""
        generator = random.Random(seed)
        by_length = defaultdict(list)
        for pair in generator.sample(self.train, len(self.train)):
            by_length[len(pair.source)].append(pair)
        chunks = [
            group[k : k + batch_size]
            for group in by_length.values()
            for k in range(0, len(group), batch_size)
        ]
        return [self.as_batch(chunk) for chunk in generator.sample(chunks, len(chunks))]

    def model(self, seed: int, **design) -> Seq2Seq:
        """An untrained translator for these vocabularies, always the same for a seed."""
        torch.manual_seed(seed)
        return Seq2Seq(len(self.src_ids), len(self.tgt_ids), pad_id=PAD, **design)

    def words(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The target words of these ids, up to <eos>."""
        names = list(self.tgt_ids)
        ids = list(ids)
        return tuple(names[k] for k in (ids[: ids.index(EOS)] if EOS in ids else ids))


def numbered(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """A dictionary from the words of these sentences to ids, after the special ones."""
    words = sorted({word for sentence in sentences for word in sentence})
    return {word: i for i, word in enumerate(["<bos>", "<eos>", "<pad>", *words])}


@functools.cache
def make_task(
    seed: int = 1,
    size: int = 8_000,
    constructions: tuple[str, ...] = CONSTRUCTIONS,
    bands: tuple[tuple[int, int], ...] = BANDS,
    tests: int = 80,
    max_length: int | None = None,
) -> Task:
    """Draw ``size`` pairs to train on and up to ``tests`` a band that are not among them.

    The test sentences come from another seed and use known words only.
    """
    (example,) = parse(EXAMPLE)
    longest = {} if max_length is None else {"max_length": max_length}
    train = [
        pair
        for pair in sample(size, seed=seed, constructions=constructions, **longest)
        if pair.source != example.source
    ]
    seen = {pair.source for pair in train}
    known = {word for pair in train for word in pair.source + pair.target}
    test = {
        (low, high): [
            pair
            for pair in sample(
                tests,
                seed=seed + 1_000_000,
                constructions=constructions,
                min_length=low,
                max_length=high,
            )
            if pair.source not in seen and known.issuperset(pair.source + pair.target)
        ]
        for low, high in bands
    }
    return Task(
        train,
        test,
        numbered(pair.source for pair in train),
        numbered(pair.target for pair in train),
    )


def train(
    model: Seq2Seq,
    batches: Sequence[tuple[Tensor, ...]],
    steps: int,
    lr: float = 0.01,
    blank: float = 0.2,
    progress: Callable[[Iterable], Iterable] = iter,
) -> list[float]:
    """Train by teacher forcing; returns the loss of each step, per target word (nats).

    blank: the share of the decoder's input words that are blanked, to zeros (word dropout).
    The rate lr warms up over 30 steps and falls to 0 by a square root.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30) * (1 - step / steps) ** 0.5
    )
    losses = []
    for step in progress(range(steps)):
        source, target_in, target_out = batches[step % len(batches)]
        blanked = torch.rand(target_in.shape) < blank
        # Padding is embedded as zeros.
        target_in = target_in.masked_fill(blanked & (target_in != BOS), PAD)
        logits, _ = model(source, target_in)  # (B, T, V)
        loss = F.cross_entropy(
            logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def translate(
    task: Task, model: Seq2Seq, pairs: Sequence
) -> tuple[list[tuple[str, ...]], Tensor | None]:
    """Translations as tuples of words, and the weights of each, (B, T, S) or None."""
    source, _, _ = task.as_batch(pairs)
    tokens, weights = model.greedy_decode(source, BOS, EOS, max_len=30)
    return [task.words(row) for row in tokens.tolist()], weights


def exact_match(task: Task, model: Seq2Seq, pairs: Sequence) -> float:
    """Share of translations that are right to the last word, in per cent."""
    texts, _ = translate(task, model, pairs)
    right = [text == pair.target for text, pair in zip(texts, pairs, strict=True)]
    return 100 * sum(right) / len(right)


def matched(wanted: Sequence[str], words: Sequence[str]) -> set[int]:
    """Positions of ``wanted`` whose words stand in ``words`` too, in the same order.

    The longest common runs count, as `difflib` finds them: a dropped word costs itself only.
    """
    blocks = SequenceMatcher(None, wanted, words, autojunk=False).get_matching_blocks()
    return {block.a + k for block in blocks for k in range(block.size)}


def teacher_forced(
    task: Task, model: Seq2Seq, pairs: Sequence
) -> tuple[list[list[bool]], Tensor | None]:
    """Which words of each target are predicted right after the right words; the weights, too.

    A list for each pair has as many entries as its target has words, <eos> left out. The weights
    are (B, T, S), or None without attention.
    """
    source, target_in, target_out = task.as_batch(pairs)
    with torch.no_grad():
        logits, weights = model(source, target_in)  # (B, T, V), (B, T, S)
    right = (logits.argmax(dim=-1) == target_out).tolist()  # (B, T, V) -> (B, T)
    return [
        row[: len(pair.target)] for row, pair in zip(right, pairs, strict=True)
    ], weights


def by_distance(task: Task, model: Seq2Seq, pairs: Sequence) -> list[float]:
    """Share of right words, in per cent, by the distance of their partner to the nearer end.

    Entry d is for target words (predicted after the right words) whose source word has d words
    between it and the nearer end of its sentence; the last entry, 5, takes all beyond. A word with
    several partners counts for the nearest of them.
    """
    hits = [[] for _ in range(6)]
    rows, _ = teacher_forced(task, model, pairs)
    for pair, row in zip(pairs, rows, strict=True):
        ends = {}
        for j, i in pair.alignment:
            distance = min(j, len(pair.source) - 1 - j, 5)
            ends[i] = min(distance, ends.get(i, 5))
        for i, distance in ends.items():
            hits[distance].append(row[i])
    return [100 * sum(row) / len(row) for row in hits]


def after_mistake(task: Task, model: Seq2Seq, pairs: Sequence) -> dict[str, float]:
    """Share of right words behind the first wrong word of each translation, in per cent.

    "forced": predicted after the right words. "position": the model's own word at the same place.
    "aligned": a word of the reference that stands in the model's own translation, in order, behind
    what was right up to the mistake. Translations without a mistake count nothing.
    "position by chance", "aligned by chance": the same two counts against the end of another
    sentence's reference, drawn among those that are long enough where there are any.
    """
    rows, _ = teacher_forced(task, model, pairs)
    texts, _ = translate(task, model, pairs)
    generator = random.Random(0)
    right: Counter[str] = Counter()
    total = 0
    for pair, row, text in zip(pairs, rows, texts, strict=True):
        if text == pair.target:
            continue
        both = zip(pair.target, text, strict=False)
        first = next(
            (k for k, (a, b) in enumerate(both) if a != b),
            min(len(text), len(pair.target)),
        )
        rest, own = pair.target[first + 1 :], text[first:]
        total += len(rest)
        right["forced"] += sum(row[first + 1 :])
        others = [other.target for other in pairs if other.target != pair.target]
        enough = [other for other in others if len(other) >= len(rest)] or others
        chance = generator.choice(enough)
        chance = chance[max(0, len(chance) - len(rest)) :]
        for wanted, kind in ((rest, ""), (chance, " by chance")):
            right[f"position{kind}"] += sum(
                a == b for a, b in zip(wanted, own[1:], strict=False)
            )
            right[f"aligned{kind}"] += len(matched(wanted, own))
    return {name: 100 * count / total for name, count in right.items()}


def beyond_chance(found: dict[str, float]) -> dict[str, float]:
    """The three shares of after_mistake, where 0 is what chance gives and 100 is all right.

    Words that are forced are counted by position.
    """
    chance = {
        name: found[f"{name} by chance"]
        if name == "aligned"
        else found["position by chance"]
        for name in ("forced", "position", "aligned")
    }
    return {
        name: 100 * (found[name] - low) / (100 - low) for name, low in chance.items()
    }


def words_right(task: Task, model: Seq2Seq, pairs: Sequence) -> float:
    """Share of the references' words that stand, in order, in the translations, in per cent."""
    texts, _ = translate(task, model, pairs)
    found = sum(
        len(matched(pair.target, text)) for pair, text in zip(pairs, texts, strict=True)
    )
    return 100 * found / sum(len(pair.target) for pair in pairs)


def guessable(pairs: Sequence) -> Callable[[Sequence[str], int], float]:
    """A function (target, i): how often word i follows the two words before it in ``pairs``."""
    follow = defaultdict(Counter)
    for pair in pairs:
        padded = ("", "", *pair.target)
        for k, word in enumerate(pair.target):
            follow[padded[k : k + 2]][word] += 1

    def chance(target: Sequence[str], i: int) -> float:
        counts = follow[("", "", *target)[i : i + 2]]
        return counts[target[i]] / max(1, counts.total())

    return chance
