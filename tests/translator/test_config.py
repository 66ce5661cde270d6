"""Configurations: what comes with the translator is right, and what is wrong is named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from translator.config import (
    Config,
    DataConfig,
    ModelConfig,
    TrainingConfig,
    available,
    load_config,
)
from translator.errors import ConfigError


def config_file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", available())
def test_what_comes_with_the_translator_loads(name: str) -> None:
    config = load_config(name)
    assert config.name == name
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_four_sizes_are_there() -> None:
    assert {"tiny", "small", "base", "big"} <= set(available())
    assert load_config("tiny").data.corpora == ("grammar",)
    assert load_config("small").data.corpora == ("tatoeba",)
    assert load_config("base").data.corpora == ("multi30k",)
    sizes = [
        load_config(name).model.d_model for name in ("tiny", "small", "base", "big")
    ]
    assert sizes == sorted(sizes)


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    path = config_file(
        tmp_path, '[model]\nd_model = 64\n[data]\ncorpora = ["tatoeba", "grammar"]'
    )
    config = load_config(path)
    assert config.name == "mine"
    assert config.model == dataclasses.replace(ModelConfig(), d_model=64)
    assert config.data.corpora == ("tatoeba", "grammar")
    assert config.training == TrainingConfig()
    assert load_config(config_file(tmp_path, "")) == Config(name="mine")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nwidth = 3", r"model\.width: unknown key; expected one of d_model"),
        ("[modle]\nd_model = 64", r"modle: unknown key; expected one of name, model"),
        ("model = 3", "model: expected a table, got 3"),
        ('[model]\nd_model = "64"', r"model\.d_model: expected int, got '64'"),
        ("[model]\nd_model = 64.0", r"model\.d_model: expected int, got 64\.0"),
        ("[model]\nd_model = true", r"model\.d_model: expected int, got True"),
        ("[model]\ndropout = false", r"model\.dropout: expected float, got False"),
        ("[model]\nnorm_first = 1", r"model\.norm_first: expected bool, got 1"),
        (
            "[model]\nd_model = 100\nnum_heads = 8",
            "multiple of model.num_heads = 8, got 100",
        ),
        ("[model]\nnum_heads = 0", r"model\.num_heads: expected at least 1, got 0"),
        (
            "[model]\ndropout = 1.0",
            r"model\.dropout: expected a value from 0\.0 below 1\.0",
        ),
        (
            '[model]\nactivation = "tanh"',
            r"model\.activation: expected one of 'relu', 'gelu'",
        ),
        (
            '[data]\ncorpora = "grammar"',
            r"data\.corpora: expected a list, got 'grammar'",
        ),
        ("[data]\ncorpora = [1]", r"data\.corpora: expected str, got 1"),
        ("[data]\ncorpora = []", r"data\.corpora: expected at least one corpus"),
        (
            "[data]\nvocab_size = 100",
            r"data\.vocab_size: expected at least 260, got 100",
        ),
        ("[data]\nvalid = -1", r"data\.valid: expected at least 0, got -1"),
        ("[training]\npeak_lr = nan", r"training\.peak_lr: expected a finite number"),
        ("[training]\npeak_lr = 0", r"training\.peak_lr: expected more than 0"),
        (
            "[training]\naccumulation = 0",
            r"training\.accumulation: expected at least 1, got 0",
        ),
        (
            "[training]\nlabel_smoothing = 1",
            r"training\.label_smoothing: expected a value",
        ),
        ("[training]\nmax_epochs = 0", "training: expected an end"),
        ("[training]\nr_drop = -1", r"training\.r_drop: expected at least 0, got -1"),
        (
            "[model]\ndropout = 0\n[training]\nr_drop = 1",
            r"training\.r_drop: expected model\.dropout above 0 with it",
        ),
        (
            "[training]\nlength_jitter = -1",
            r"training\.length_jitter: expected at least 0, got -1",
        ),
        (
            "[training]\nlength_jitter = 1\nshapes = 4",
            r"training\.length_jitter: expected 0 with training\.shapes",
        ),
        ("[training]\nema_decay = 1", r"training\.ema_decay: expected a value from 0"),
        (
            "[training]\nema_decay = 0.9\naverage_last = 3",
            r"training\.ema_decay: expected 0 with training\.average_last above 1",
        ),
        (
            '[training]\nschedule = "step"',
            r"training\.schedule: expected one of 'noam'",
        ),
        ("[training]\n= 3", "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"mine\.toml: .*{message}"):
        load_config(config_file(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no file .*none\.toml"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"expected one of .*tiny.* got huge"):
        load_config("huge")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="expected UTF-8 text"):
        load_config(tmp_path / "bytes.toml")


def test_overrides_are_read_as_toml() -> None:
    config = load_config(
        "tiny",
        [
            "training.max_tokens=4096",
            "training.peak_lr = 1e-4",
            "model.norm_first=false",
            "data.group_by=exact",
            'data.corpora=["tatoeba"]',
        ],
    )
    assert (config.training.max_tokens, config.training.peak_lr) == (4096, 1e-4)
    assert config.model.norm_first is False
    assert (config.data.group_by, config.data.corpora) == ("exact", ("tatoeba",))
    assert load_config("tiny") != config


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_overrides_does_not_matter(turned: bool) -> None:
    # One alone would leave a training without an end, or a width that the heads do not divide.
    overrides = [
        "training.max_epochs=0",
        "training.max_seconds=5",
        "training.max_steps=0",
        "model.d_model=96",
        "model.num_heads=6",
    ]
    config = load_config("multi30k-cpu", overrides[::-1] if turned else overrides)
    assert (config.training.max_epochs, config.training.max_seconds) == (0, 5)
    assert (config.model.d_model, config.model.num_heads) == (96, 6)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.max_tokens", r"--set: expected KEY=VALUE"),
        ("max_tokens=3", r"max_tokens: expected a table and a key"),
        ("training.tokens=3", r"training\.tokens: unknown key"),
        ("training.max_tokens=many", r"training\.max_tokens: expected int, got 'many'"),
        (
            "other.max_tokens=3",
            r"expected a table and a key, .* the tables are model, data",
        ),
    ],
)
def test_wrong_overrides_are_named(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("tiny", [override])


def test_replacing_leaves_the_original_alone() -> None:
    config = load_config("tiny")
    changed = config.replace({"training.seed": 9})
    assert (config.training.seed, changed.training.seed) == (0, 9)
    assert changed.replace({"training.seed": 0}) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.training.seed = 1


def test_a_config_made_in_code_is_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"data\.vocab_size"):
        Config(data=DataConfig(vocab_size=3))


def test_the_model_has_these_sizes() -> None:
    sizes = ModelConfig(
        d_model=16,
        num_heads=2,
        d_ff=24,
        num_encoder_layers=1,
        num_decoder_layers=2,
        dropout=0.0,
        activation="gelu",
    )
    model = sizes.build(300, pad_id=4)
    assert (model.d_model, model.pad_id) == (16, 4)
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (1, 2)
    assert model.src_embedding is model.tgt_embedding
    assert model.output_proj.weight is model.tgt_embedding.weight
    assert model.encoder.layers[0].feed_forward.activation is F.gelu
    logits = model(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]]))
    assert logits.shape == (1, 2, 300)
