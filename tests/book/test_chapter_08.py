"""Chapter 8: its data, its limit of time, and the questions it asks."""

from __future__ import annotations

import random
import resource

import nbformat
import pytest
import torch
from jupyter_cache import get_cache
from nbclient import NotebookClient

from book import families
from book.families import (
    THINGS,
    cut_gaps,
    make_kinds,
    make_tagged,
    make_texts,
    mean_row,
    mend_gaps,
    pairs_of,
    split_things,
)
from book.one_block import BOS, EOS, NO_ANSWER, PAD, Writer, hide_words
from grading.course.notebooks import ROOT
from tools import dependencies

CHAPTER = ROOT / "book" / "08-one-block-many-models.ipynb"
CPU_SECONDS = 60


@pytest.fixture(scope="module")
def chapter() -> nbformat.NotebookNode:
    """The chapter, as it is committed."""
    return nbformat.read(CHAPTER, as_version=4)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_chapter_runs_in_time(chapter: nbformat.NotebookNode) -> None:
    """From top to bottom, without an error; the processor's time, whatever else runs."""
    spent = spent_by_the_build()
    if spent is None:
        spent = spent_here(chapter)
    assert 1 < spent <= CPU_SECONDS


def spent_by_the_build() -> float | None:
    """Return the seconds that the build's run took, None if it has not run what is here now."""
    folder = ROOT / "_build" / "execution"
    record = folder.exists() and get_cache(str(folder)).get_cached_project_nb(
        str(CHAPTER)
    )
    if not record or dependencies.changed(ROOT, record.data.get("depends")):
        return None
    return record.data.get("cpu_seconds")


def spent_here(chapter: nbformat.NotebookNode) -> float:
    """Execute the chapter; return the seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    where = {"metadata": {"path": str(CHAPTER.parent)}}
    NotebookClient(chapter.copy(), timeout=300, resources=where).execute()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_nothing_is_lost_in_a_gap() -> None:
    """What is left and what was cut out give the text back; as many blanks as words."""
    texts = make_texts(0)
    ids = texts.test[:50]
    random.seed(0)
    for number in (1, 2, 3):
        gapped, blanked, missing = cut_gaps(ids, texts.mask, (number,))
        for row, gap, blanks, words in zip(ids, gapped, blanked, missing, strict=True):
            text, cut = row[row != PAD].tolist(), words[words > EOS].tolist()
            left = gap[gap != PAD].tolist()
            place = left.index(texts.mask)
            assert left[:place] + cut + left[place + 1 :] == text
            assert int((blanks == texts.mask).sum()) == len(cut) <= number


@pytest.mark.slow
def test_what_is_written_goes_into_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the model, here one that always writes the same two words."""
    texts = make_texts(0)
    words = [texts.vocabulary.index(word) for word in ("has", "to")]
    written = torch.tensor([[*words, EOS, PAD]])
    monkeypatch.setattr(families, "greedy_decode", lambda *args, **names: written)
    gapped = texts.to_ids("she ___ read")
    assert mend_gaps(None, texts, gapped) == [("she", "has", "to", "read")]


@pytest.mark.slow
def test_hidden_words_are_asked_and_no_others() -> None:
    """Nothing but words is chosen, and what was not chosen stays."""
    torch.manual_seed(0)
    texts = make_texts(0)
    corrupted, answers = hide_words(texts.train, texts.mask)
    chosen = answers != NO_ANSWER
    assert (texts.train[chosen] > EOS).all()
    assert torch.equal(answers[chosen], texts.train[chosen])
    assert torch.equal(corrupted[~chosen], texts.train[~chosen])
    share = chosen.sum() / (texts.train > EOS).sum()
    assert share == pytest.approx(0.3, abs=0.01)
    hidden = (corrupted[chosen] == texts.mask).float().mean()
    assert hidden == pytest.approx(0.8, abs=0.01)


def test_texts_end_and_stay_ended() -> None:
    """A drawn text has no <bos>, and nothing but padding after its end."""
    torch.manual_seed(0)
    rows = Writer(12).write(50, max_len=15)
    assert not (rows == BOS).any()
    for row in rows.tolist():
        if EOS in row:
            assert set(row[row.index(EOS) + 1 :]) <= {PAD}
        else:
            assert PAD not in row


def test_a_mean_counts_no_padding() -> None:
    """The scores of real words alone."""
    scores, ids = torch.randn(1, 4, 3), torch.tensor([[5, 6, PAD, PAD]])
    torch.testing.assert_close(mean_row(scores, ids)[0], scores[0, :2].mean(dim=0))


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_kinds, make_tagged])
def test_no_test_sentence_was_trained_on(make) -> None:
    """Rows of ids, without padding."""
    data = make(0)
    train, test = (
        {tuple(i for i in row if i != PAD) for row in ids.tolist()}
        for ids in (data.train[0], data.test[0])
    )
    unknown = {row for row in test if 1 in row}  # <unk> may hide a difference
    assert not (test - unknown) & train


def test_a_batch_of_captions_has_no_thing_twice() -> None:
    """And none of those that are held out."""
    known, held_out = split_things(0)
    assert sorted(known + held_out) == sorted(THINGS)
    torch.manual_seed(0)
    images, captions = pairs_of(known)()
    assert len(images) == len(captions) == 40
    said = {frozenset(row) - {PAD} for row in captions.tolist()}
    assert len(said) == 40
