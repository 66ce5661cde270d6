"""A translator as a folder: what is written is what is read, or a clear error."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.translator.training_help import config, corpus
from translator.cli import main
from translator.data.tokenizer import Tokenizer
from translator.decoding.model_folder import (
    ModelFolderError,
    Translator,
    load_translator,
    save_translator,
)
from translator.decoding.search import DecodingOptions, alignment
from translator.errors import TranslatorError
from translator.export.onnx_export import export_onnx
from translator.text.text_files import TextError, read_lines

TEXTS = [
    "Ich sehe den Hund.",
    "",
    "du hilfst mir \u2603 \x07 \U0001f600",
    "   ",
    "x" * 40,
]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """An untrained translator with a real vocabulary."""
    data = corpus(tmp_path_factory.mktemp("data") / "grammar")
    torch.manual_seed(0)
    settings = config()
    model = settings.model.build(data.tokenizer.vocab_size, data.tokenizer.pad_id)
    return Translator(model.eval(), data.tokenizer, settings)


@pytest.fixture
def folder(translator, tmp_path):
    return save_translator(tmp_path / "model", translator)


def test_what_is_written_is_what_is_read(translator, folder):
    again = load_translator(folder)
    assert again.config == translator.config
    for name, tensor in translator.model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[name]), name
    assert again.model.output_proj.weight is again.model.tgt_embedding.weight, (
        "still tied"
    )
    options = DecodingOptions(beam_size=2)
    assert again.translate(TEXTS, options) == translator.translate(TEXTS, options)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json"]
    modes = {path.stat().st_mode & 0o444 for path in folder.iterdir()}
    assert modes == {folder.stat().st_mode & 0o444}, (
        "whoever may read the folder may read it all"
    )


def test_half_precision_takes_half_the_space(translator, folder, tmp_path):
    half = save_translator(tmp_path / "half", translator, half=True)
    sizes = [(path / "model.safetensors").stat().st_size for path in (folder, half)]
    assert sizes[1] < 0.6 * sizes[0]
    again = load_translator(half).model
    assert next(again.parameters()).dtype == torch.float32
    for name, tensor in translator.model.state_dict().items():
        torch.testing.assert_close(
            again.state_dict()[name], tensor, atol=1e-3, rtol=1e-3
        )


def test_eight_bits_take_a_quarter_of_the_space(translator, folder, tmp_path):
    small = save_translator(tmp_path / "int8", translator, int8=True)
    sizes = [(path / "model.safetensors").stat().st_size for path in (folder, small)]
    assert (
        sizes[1] < 0.45 * sizes[0]
    )  # a quarter, but for names, vectors and narrow rows
    again = load_translator(small).model
    assert again.output_proj.weight is again.tgt_embedding.weight, "still tied"
    for name, tensor in translator.model.state_dict().items():
        found = again.state_dict()[name]
        assert found.dtype == torch.float32
        if tensor.dim() == 2:  # at most half a step of a row's scale away
            step = tensor.abs().amax(dim=1, keepdim=True) / 127
            assert ((found - tensor).abs() <= 0.501 * step).all(), name
        else:
            assert torch.equal(found, tensor), name
    twice = save_translator(tmp_path / "twice", load_translator(small), int8=True)
    for name, tensor in load_translator(twice).model.state_dict().items():
        torch.testing.assert_close(tensor, again.state_dict()[name], msg=name)


@pytest.mark.parametrize("length", [None, 1])
def test_integers_without_their_scales_are_no_weights(translator, tmp_path, length):
    folder = save_translator(tmp_path / "int8", translator, int8=True)
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("linear1.weight.scale"))
    scale = weights.pop(name)
    if length:
        weights[name] = scale[:length]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelFolderError, match=r"unscaled weights .*linear1\.weight"):
        load_translator(folder)


def test_a_row_of_zeros_stays_one(translator, tmp_path):
    weight = translator.model.encoder.layers[0].feed_forward.linear1.weight
    before = weight.detach().clone()
    try:
        weight.data[0] = 0
        loaded = load_translator(
            save_translator(tmp_path / "zeros", translator, int8=True)
        )
    finally:
        weight.data.copy_(before)
    assert (loaded.model.encoder.layers[0].feed_forward.linear1.weight[0] == 0).all()


def test_replacing_keeps_the_record_and_leaves_nothing_behind(translator, folder):
    (folder / "record.json").write_text("{}")
    (folder / "stray.bin").write_text("x")
    save_translator(folder, translator)
    assert (folder / "record.json").read_text() == "{}"
    assert not (folder / "stray.bin").exists()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_an_empty_line_gives_an_empty_line(translator):
    for beam_size in (1, 3):
        outputs = translator.translate(TEXTS, DecodingOptions(beam_size=beam_size))
        assert len(outputs) == len(TEXTS)
        assert outputs[1] == outputs[3] == ""
        assert all(isinstance(text, str) for text in outputs)


def test_five_thousand_words(translator):
    text = " ".join(["der Hund sieht die Katze."] * 1000)
    (output,) = translator.translate(
        [text], DecodingOptions(beam_size=1, max_ratio=0.1)
    )
    assert "\n" not in output


def test_the_order_of_the_texts_does_not_matter(translator):
    texts = ["ich", "Ich sehe den Hund und die Katze.", "du hilfst mir"]
    forwards = translator.translate(texts, DecodingOptions(max_tokens=20))
    backwards = translator.translate(texts[::-1], DecodingOptions(max_tokens=2000))
    assert forwards == backwards[::-1]


def test_alignment_rows_sum_to_one(translator):
    source, target = translator.tokenizer.encode("Ich sehe dich."), [7, 8, 9]
    weights = alignment(translator.model, translator.tokenizer, source, target)
    assert weights.shape == (4, len(source) + 1)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(4))


def test_onnx_agrees(translator, tmp_path):
    differences = export_onnx(translator, tmp_path)
    assert sorted(path.name for path in differences) == ["decoder.onnx", "encoder.onnx"]
    assert all(
        path.exists() and difference < 1e-4 for path, difference in differences.items()
    )
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", None, "no translator"),
        ("config.json", b"{", r"config.json: damaged"),
        ("config.json", b'{"format": 99}', "expected a translator of format 1, got 99"),
        ("model.safetensors", None, "model.safetensors: missing"),
        ("model.safetensors", b"12345678", "model.safetensors: damaged"),
    ],
)
def test_damage_is_named(folder, file, change, message):
    if change is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(change)
    with pytest.raises(ModelFolderError, match=message):
        load_translator(folder)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.json", "[]"),
        ("record.json", "[]"),
        ("record.json", '{"length_penalty": null}'),
        ("record.json", '{"length_penalty": {"tried": []}}'),
        ("record.json", '{"calibration": {}}'),
        ("record.json", '{"calibration": {"log_probability": [], "chrf": []}}'),
        ("record.json", '{"calibration": {"log_probability": [-1], "chrf": []}}'),
        ("lexicon.json", "[]"),
        ("lexicon.json", '{"longest": 0, "words": [], "names": []}'),
    ],
)
def test_json_of_another_shape_is_named(folder, file, text):
    (folder / file).write_text(text)
    with pytest.raises(TranslatorError, match=f"{file}: damaged"):
        load_translator(folder)


def test_a_model_that_writes_ends_of_lines_gives_one_line(folder, monkeypatch, capsys):
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: " one\ntwo\r\u2028")
    lines = ["Ich sehe den Hund.", "du hilfst mir"]
    assert main(["translate", "--model", str(folder), *lines]) == 0
    assert capsys.readouterr().out == "One two\none two\n"


def test_weights_of_another_size_are_named(folder):
    settings = json.loads((folder / "config.json").read_text())
    settings["model"]["d_ff"] = 64
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelFolderError, match=r"misshapen weights .*feed_forward"):
        load_translator(folder)


def test_the_vocabulary_of_another_model_of_that_size_is_named(folder):
    """As large as the right one, so that only its contents tell."""
    path = folder / "tokenizer.json"
    settings = json.loads(path.read_text())
    pieces = settings["model"]["vocab"]
    one, other = list(pieces)[-2:]
    pieces[one], pieces[other] = pieces[other], pieces[one]
    path.write_text(json.dumps(settings))
    with pytest.raises(
        ModelFolderError, match=r"another model's vocabulary.* take the"
    ):
        load_translator(folder)
    config = json.loads((folder / "config.json").read_text())
    del config["vocabulary"]  # as in folders that are older
    (folder / "config.json").write_text(json.dumps(config))
    assert load_translator(folder)


def test_lines_of_a_file(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("\ufeffeins\r\nzwei\n\nvier\u2028still vier".encode())
    assert read_lines(path) == ["eins", "zwei", "", "vier\u2028still vier"]
    path.write_bytes("eins\nzwei grün".encode("latin-1"))
    with pytest.raises(
        TextError, match=r"line 2: byte 0xfc is not utf-8 text.*--encoding"
    ):
        read_lines(path)
    assert read_lines(path, "latin-1")[1] == "zwei grün"
    with pytest.raises(TextError, match="nonsense is not known"):
        read_lines(path, "nonsense")


def test_translate_on_the_command_line(folder, tmp_path, capsys):
    path = tmp_path / "in.txt"
    path.write_text("Ich sehe dich.\n\nDu siehst mich.\n")
    assert (
        main(["translate", "--model", str(folder), "--beam", "1", "--file", str(path)])
        == 0
    )
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    plot = tmp_path / "a.png"
    arguments = ["translate", "--model", str(folder), "--beam", "1", "Ich sehe dich."]
    assert main([*arguments, "--alignments", "--plot", str(plot)]) == 0
    assert "<eos>" in capsys.readouterr().out
    assert plot.stat().st_size > 1000
    for wrong, message in (
        (["translate", "--model", str(tmp_path), "x"], "no translator"),
        (["translate", "--model", str(folder), "--beam", "0", "x"], "beam_size"),
        (["translate", "--model", str(folder), "x", "--file", str(path)], "got both"),
        (["translate", "--model", str(folder), "--plot", "a.png", "x"], "--alignments"),
        (
            ["translate", "--model", str(folder), "--device", "nonsense", "x"],
            "--device",
        ),
    ):
        assert main(wrong) == 2, wrong
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1, "one line"
