"""Pairs of which a translator wrote one side."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from tests.translator.training_help import config, corpus, write_toml
from translator.cli import main
from translator.comparison import synthetic
from translator.data.preparation import prepare
from translator.data.prepared import Example
from translator.data.splitting import SPLITS, group_key
from translator.errors import TranslatorError
from translator.training.processes import Processes

CPU = Processes(torch.device("cpu"))


class Twice:
    """Stands in for a translator: says everything twice, and nothing of what begins with x."""

    def translate(self, texts, options):
        assert options.beam_size == 1
        return ["" if text[0] == "x" else f"{text} {text}" for text in texts]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("data") / "grammar")


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    """Sentences of the same grammar, many of them not in the data."""
    settings = config(**{"data.grammar_pairs": 900}).data
    return prepare(settings, tmp_path_factory.mktemp("more") / "grammar")


def test_a_teacher_writes_the_targets_and_a_backward_model_the_sources():
    """What they make nothing of keeps its target, or is left out."""
    rows = [Example("eins", "one", "c"), Example("xyz", "unknown", "d")]
    assert synthetic.distilled(rows, Twice()) == [
        Example("eins", "eins eins", "c"),
        rows[1],
    ]
    assert synthetic.back_translated(["xyz", "one"], Twice()) == [
        Example("one one", "one", synthetic.BACK)
    ]


def test_new_sentences_are_in_no_split(data, more):
    targets = [row.target for row in more.texts("train")]
    known = {group_key(r.target, "words") for s in SPLITS for r in data.texts(s)}
    loud = [row.target.upper() + "!" for row in data.texts("test")]
    assert any(group_key(text, "words") in known for text in targets)
    new = synthetic.new_sentences(loud + targets, data)
    assert len(new) == len(data.train)
    keys = {group_key(text, "words") for text in new}
    assert len(keys) == len(new), "each comes once"
    assert not keys & known
    with pytest.raises(TranslatorError, match=r"--monolingual: expected at least"):
        synthetic.new_sentences(loud + targets[:50], data)


def test_the_backward_model_reads_targets_and_writes_sources(data, monkeypatch):
    seen = []

    class Watched(synthetic.Trainer):
        def __init__(self, config, corpus, *others, **named):
            seen.append(corpus)
            super().__init__(config, corpus, *others, **named)

    monkeypatch.setattr(synthetic, "Trainer", Watched)
    found = synthetic.train_backward(config(max_steps=1), data, CPU)
    assert not found.model.training
    for split in ("train", "valid"):
        ours, turned = getattr(data, split), getattr(seen[0], split)
        np.testing.assert_array_equal(turned.src_ids, ours.tgt_ids)
        np.testing.assert_array_equal(turned.tgt_ids, ours.src_ids)
        np.testing.assert_array_equal(turned.src_lengths, ours.tgt_lengths)


@pytest.mark.slow
def test_both_are_runs_of_the_recipe(data, more, tmp_path, capsys, monkeypatch):
    """Their pairs reach the training; without new sentences nothing begins."""
    settings = config(max_steps=2)
    record = tmp_path / "record.json"
    command = [
        *("ablate", "--config", str(write_toml(tmp_path / "test.toml", settings))),
        *("--data", str(data.folder), "--record", str(record), "--limit", "2"),
        *("--device", "cpu", "--quiet"),
    ]
    assert main([*command, "--recipe"]) == 2
    assert "give --monolingual" in capsys.readouterr().err
    assert not record.exists()
    # Of two updates a translator learns to write nothing that cleaning would leave.
    monkeypatch.setattr(
        synthetic, "_translated", lambda _, texts: [f"{text} {text}" for text in texts]
    )
    written = ["--runs", "full", "distilled", "back-translated"]
    assert main([*command, *written, "--monolingual", str(more.folder)]) == 0
    runs = json.loads(record.read_text())["runs"]
    count = len(data.train)
    assert [row["name"] for row in runs] == ["full", "distilled", "back-translated"]
    assert [row["pairs"] for row in runs[:2]] == [count, count]
    assert count < runs[2]["pairs"] <= 2 * count
    assert len({row["validation_loss"] for row in runs}) == 3, "each has other pairs"


def test_the_pairs_are_written_once(data, more, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        synthetic, "load_translator", lambda *_: asked.append(1) or Twice()
    )
    writers = synthetic.Writers(config(), data, CPU, tmp_path, more.folder)
    first = writers.rows("distilled")
    assert writers.rows("distilled") is first
    assert asked == [1]
    source = data.texts("train")[0].source
    assert first[0].target == f"{source} {source}"
