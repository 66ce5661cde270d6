"""A translator as scripts for a page: the bytes are the model's, and nothing is written twice."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.translator.training_help import config, corpus
from translator.cli import main
from translator.decoding.model_folder import (
    ModelFolderError,
    Translator,
    load_translator,
    save_translator,
)
from translator.export.web_export import COMPUTED, read_manifest, write_web


def translator_of(data: Path, **changed: object) -> Translator:
    """Return an untrained translator such as the page computes, but for what is changed."""
    prepared = corpus(data)
    torch.manual_seed(0)
    settings = config()
    model = dataclasses.replace(settings.model, **{**COMPUTED, **changed})
    settings = dataclasses.replace(settings, model=model)
    tokenizer = prepared.tokenizer
    built = model.build(tokenizer.vocab_size, tokenizer.pad_id)
    return Translator(built.eval(), tokenizer, settings)


def read_back(out: Path) -> dict[str, torch.Tensor]:
    """Return the tensors that a page would read."""
    manifest = read_manifest(out)
    parts = sorted(out.glob("part-*.js"))
    texts = [re.search('"(.*)"', path.read_text())[1] for path in parts]
    data = b"".join(map(base64.b64decode, texts))
    assert len(data) == manifest["bytes"]
    found = {}
    for tensor in manifest["tensors"]:
        shape, at = tensor["shape"], tensor["at"]
        if "scaleAt" in tensor:
            values = np.frombuffer(data, "i1", np.prod(shape), at).reshape(shape)
            scale = np.frombuffer(data, "<f4", shape[0], tensor["scaleAt"])
            values = values.astype("<f4") * scale[:, None]
        else:
            values = np.frombuffer(data, "<f4", np.prod(shape), at).reshape(shape)
        found[tensor["name"]] = torch.from_numpy(values.copy())
    return found


@pytest.mark.parametrize("int8", [True, False])
def test_the_bytes_are_the_weights_in_eight_bits(int8: bool, tmp_path: Path) -> None:
    """As `export --int8` rounds them, whether the folder has them so or in full."""
    translator = translator_of(tmp_path / "data")
    folder = save_translator(tmp_path / "model", translator, int8=int8)
    rounded = save_translator(tmp_path / "rounded", translator, int8=True)
    manifest = write_web(folder, tmp_path / "web")
    expected = load_translator(rounded).model
    found = read_back(tmp_path / "web")
    state = expected.state_dict()
    for name, tensor in found.items():
        assert torch.equal(tensor, state[name]), name
    assert manifest["parameters"] == sum(p.numel() for p in expected.parameters())


def test_words_are_the_vocabulary_by_id(tmp_path: Path) -> None:
    """Tokens in the order of their ids; each merge makes the token of both its parts."""
    translator = translator_of(tmp_path / "data")
    write_web(save_translator(tmp_path / "model", translator), tmp_path / "web")
    text = (tmp_path / "web" / "words.js").read_text(encoding="utf-8")
    words = json.loads(text.removeprefix("LiveData.words = ").rstrip(";\n"))
    assert len(words["tokens"]) == translator.tokenizer.vocab_size
    for left, right, both in words["merges"]:
        tokens = words["tokens"]
        assert tokens[left] + tokens[right] == tokens[both]


def test_nothing_is_written_again_unless_it_must(tmp_path: Path) -> None:
    """A second call keeps the files; one that is gone comes back; another model replaces all."""
    translator = translator_of(tmp_path / "data")
    folder = save_translator(tmp_path / "model", translator)
    first = write_web(folder, tmp_path / "web")
    part = tmp_path / "web" / "part-01.js"
    written = part.stat().st_mtime_ns
    assert write_web(folder, tmp_path / "web") == first
    assert part.stat().st_mtime_ns == written
    part.unlink()
    assert write_web(folder, tmp_path / "web") == first
    assert part.is_file()
    with torch.no_grad():
        translator.model.src_embedding.weight += 1
    save_translator(folder, translator)
    assert write_web(folder, tmp_path / "web")["madeFrom"] != first["madeFrom"]
    weight = load_translator(folder).model.src_embedding.weight
    again = read_back(tmp_path / "web")["src_embedding.weight"]
    torch.testing.assert_close(again, weight, atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("name", "other"), [("norm_first", False), ("positions", "learned")]
)
def test_a_model_that_the_page_does_not_compute_is_refused(
    name: str, other: object, tmp_path: Path
) -> None:
    """Rather than translated wrongly."""
    translator = translator_of(tmp_path / "data", **{name: other})
    folder = save_translator(tmp_path / "model", translator)
    with pytest.raises(ModelFolderError, match=f"{name}: the page computes only"):
        write_web(folder, tmp_path / "web")


def test_the_command_says_how_large_it_is(tmp_path: Path, capsys) -> None:
    """And what is wrong, in one line."""
    translator = translator_of(tmp_path / "data")
    folder = save_translator(tmp_path / "model", translator)
    out = tmp_path / "web"
    assert main(["web", "--model", str(folder), "--out", str(out)]) == 0
    size = sum(p.stat().st_size for p in out.glob("*.js") if p.name != "manifest.js")
    assert f"{size / 1e6:.1f} MB" in capsys.readouterr().out
    assert main(["web", "--model", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert "no translator (config.json is missing)" in capsys.readouterr().err
