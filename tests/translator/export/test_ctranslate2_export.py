"""CTranslate2 with our weights writes what ours writes, and what it cannot do is refused."""

from __future__ import annotations

from pathlib import Path

import ctranslate2
import pytest
import torch

from tests.translator.training_help import config, corpus
from translator.cli import main
from translator.config import Config
from translator.data.spelling import as_sentence
from translator.data.tokenizer import ids_of, pieces_of
from translator.decoding.lexicon import Lexicon
from translator.decoding.model_folder import (
    Translator,
    load_translator,
    save_translator,
)
from translator.decoding.record import read_record
from translator.decoding.search import DecodingOptions, decode_ids
from translator.errors import TokenizerError, TranslatorError
from translator.export import ctranslate2_export
from translator.export.ctranslate2_export import export_ctranslate2
from translator.grammar.corpus import sample

SHIPPED = Path(__file__).resolve().parents[3] / "models" / "de-en"


def greedy(translator: Translator, texts: list[str]) -> list[list[int]]:
    """Return what our own search writes, as ids without specials."""
    sources = [translator.tokenizer.encode(text) for text in texts]
    written: list[list[int]] = [[] for _ in texts]
    options = DecodingOptions(beam_size=1)
    for rows, found in decode_ids(
        translator.model, translator.tokenizer, sources, options
    ):
        for row, hypotheses in zip(rows, found, strict=True):
            written[row] = hypotheses[0].tokens
    return written


def small(**changes) -> Config:
    return config(**{f"model.{key}": value for key, value in changes.items()})


def random_translator(tmp_path: Path, settings: Config) -> Translator:
    """A model with random weights, norms and biases included: zeros would hide a mix-up."""
    tokenizer = corpus(tmp_path / "data").tokenizer
    torch.manual_seed(0)
    model = settings.model.build(tokenizer.vocab_size, tokenizer.pad_id)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight.add_(torch.randn_like(weight), alpha=0.3)
    return Translator(model.eval(), tokenizer, settings)


@pytest.mark.slow
def test_it_writes_what_ours_writes(tmp_path):
    """The shipped weights, greedily, on more than 50 sentences of all the grammar's lengths."""
    translator = load_translator(SHIPPED)
    written = [as_sentence(pair) for pair in sample(70, seed=3)]
    texts = [pair.source for pair in written if pair is not None]
    assert len(texts) >= 50
    assert len({len(text.split()) for text in texts}) > 3
    assert export_ctranslate2(translator, tmp_path / "made") < 1e-4
    engine = ctranslate2.Translator(str(tmp_path / "made"), intra_threads=1)
    tokenizer = translator.tokenizer
    results = engine.translate_batch(
        [pieces_of(tokenizer, tokenizer.encode(text)) for text in texts], beam_size=1
    )
    theirs = [ids_of(tokenizer, result.hypotheses[0]) for result in results]
    assert theirs == greedy(translator, texts)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_first": False},
        {"positions": "learned", "max_len": 40},
        {"positions": "none"},
        {"tie_output": False, "share_embeddings": False},
        {"num_encoder_layers": 3, "num_decoder_layers": 2},
    ],
)
def test_every_kind_of_model_agrees(tmp_path, changes):
    translator = random_translator(tmp_path, small(**changes))
    assert export_ctranslate2(translator, tmp_path / "made") < 1e-4
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert {"model.bin", "tokenizer.json"} <= names


def test_what_differs_is_refused_and_leaves_what_was_there(tmp_path, monkeypatch):
    translator = random_translator(tmp_path, small())
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old").write_text("x")
    right = ctranslate2_export.specification

    def wrong(model, longest):
        spec = right(model, longest)
        spec.decoder.layer[0].attention.linear[0].bias += 0.5
        return spec

    monkeypatch.setattr(ctranslate2_export, "specification", wrong)
    with pytest.raises(TranslatorError, match="CTranslate2 differs from PyTorch by"):
        export_ctranslate2(translator, tmp_path / "made")
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["old"]
    monkeypatch.undo()
    with pytest.raises(TranslatorError, match=r"expected model\.activation = relu"):
        export_ctranslate2(
            random_translator(tmp_path / "gelu", small(activation="gelu")),
            tmp_path / "made",
        )


def test_the_command_exports_a_translator_again(tmp_path, capsys):
    made, out = tmp_path / "made", tmp_path / "out"
    save_translator(made, random_translator(tmp_path, small()))
    (made / "record.json").write_text("{}")
    Lexicon(5, ("hund",), ("Anna",)).save(made)
    command = ["export", "--model", str(made), "--out"]
    assert main([*command, str(out), "--ctranslate2"]) == 0
    assert "ctranslate2: differs from PyTorch by at most" in capsys.readouterr().out
    assert (out / "ctranslate2" / "model.bin").is_file()
    assert read_record(out / "record.json") == {}
    assert load_translator(out).lexicon == load_translator(made).lexicon
    assert main([*command, str(made)]) == 2
    assert "another folder than --model" in capsys.readouterr().err


def test_pieces_are_the_way_there_and_back(tmp_path):
    tokenizer = corpus(tmp_path / "data").tokenizer
    ids = tokenizer.encode("Grüße, <eos>")
    assert ids_of(tokenizer, pieces_of(tokenizer, ids)) == ids
    assert pieces_of(tokenizer, [tokenizer.eos_id]) == ["<eos>"]
    with pytest.raises(TokenizerError, match="'nonsense' is not in the vocabulary"):
        ids_of(tokenizer, ["nonsense"])
