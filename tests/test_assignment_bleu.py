"""Assignment 07 writes BLEU by hand: its reference solution agrees with sacreBLEU."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import sacrebleu

from grading.course.notebooks import ROOT
from tests.harness import assignment

Sentence = list[str]


@pytest.fixture(scope="module")
def corpus_bleu() -> Callable[..., float]:
    """The reference solution, from the cell that students fill in."""
    found = assignment.load(ROOT / "solutions" / "07-translator")
    setup = next(cell for cell in found.cells if "Counter" in cell.source)
    namespace: dict = {}
    for cell in (setup, found.cells[found.tasks["corpus-bleu"].index]):
        exec(compile(cell.source, str(cell), "exec"), namespace)
    return namespace["corpus_bleu"]


def random_corpus(seed: int, count: int, references: int) -> tuple[list, list]:
    """Sentences of few different words, so that long runs are shared, and their references."""
    chance = random.Random(seed)
    hypotheses, known = [], []
    for _ in range(count):
        hypotheses.append(chance.choices("abcdef", k=chance.randint(1, 12)))
        shared = [hypotheses[-1][: chance.randint(0, 8)] for _ in range(references)]
        known.append(
            [each + chance.choices("abcdef", k=chance.randint(1, 6)) for each in shared]
        )
    return hypotheses, known


@pytest.mark.parametrize("references", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_bleu_by_hand_is_sacrebleu(
    corpus_bleu: Callable[..., float], seed: int, references: int
) -> None:
    """On random corpora with one and several references, without smoothing."""
    hypotheses, known = random_corpus(seed, 5 + 10 * seed, references)
    theirs = sacrebleu.corpus_bleu(
        [" ".join(sentence) for sentence in hypotheses],
        [[" ".join(each[i]) for each in known] for i in range(references)],
        smooth_method="none",
        tokenize="none",
        force=True,
    )
    assert theirs.score > 0, "a corpus that shares nothing would prove nothing"
    assert corpus_bleu(hypotheses, known) == pytest.approx(theirs.score, abs=1e-9)


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        ("a b c d e f g h", "a b c d e f"),
        ("a b c d", "a b c d e f"),
        ("a b c", "a b c"),
        ("a b c x", "a b c d"),
    ],
    ids=["too long", "too short", "without a run of four", "no run of four shared"],
)
def test_edges_are_those_of_sacrebleu(
    corpus_bleu: Callable[..., float], hypothesis: str, reference: str
) -> None:
    """The brevity penalty, and the score of 0 where an order has no match."""
    theirs = sacrebleu.corpus_bleu(
        [hypothesis], [[reference]], smooth_method="none", tokenize="none", force=True
    )
    ours = corpus_bleu([hypothesis.split()], [[reference.split()]])
    assert ours == pytest.approx(theirs.score, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_smoothing_is_that_of_sacrebleu(
    corpus_bleu: Callable[..., float], seed: int
) -> None:
    """On short texts, of which some share no long run, and some nothing at all."""
    hypotheses, known = random_corpus(seed, 1 + seed % 3, 2)
    hypotheses[0] = list("uvwxyz" if seed == 5 else "uvwxya")
    if seed == 5:
        hypotheses, known = hypotheses[:1], known[:1]
    theirs = sacrebleu.corpus_bleu(
        [" ".join(sentence) for sentence in hypotheses],
        [[" ".join(each[i]) for each in known] for i in range(2)],
        smooth_method="exp",
        tokenize="none",
        force=True,
    )
    ours = corpus_bleu(hypotheses, known, smooth=True)
    assert ours == pytest.approx(theirs.score, abs=1e-9)


def test_smoothing_replaces_something(corpus_bleu: Callable[..., float]) -> None:
    """The corpora above would prove nothing if none lacked a match."""
    found = []
    for seed in range(5):
        hypotheses, known = random_corpus(seed, 1 + seed % 3, 2)
        hypotheses[0] = list("uvwxya")
        found.append(
            (
                corpus_bleu(hypotheses, known),
                corpus_bleu(hypotheses, known, smooth=True),
            )
        )
    assert any(plain == 0 < smooth for plain, smooth in found), found


def test_smoothing_leaves_a_short_corpus_at_zero(
    corpus_bleu: Callable[..., float],
) -> None:
    """Where there is no run of four words at all, as in sacreBLEU."""
    theirs = sacrebleu.corpus_bleu(
        ["a b c"], [["a b c"]], smooth_method="exp", tokenize="none", force=True
    )
    ours = corpus_bleu([["a", "b", "c"]], [[["a", "b", "c"]]], smooth=True)
    assert ours == theirs.score == 0
