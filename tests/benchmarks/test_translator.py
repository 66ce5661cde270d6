"""The comparison of translators compares: equal pairs, sizes and seconds, each one's own recipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from benchmarks import translator as bench
from benchmarks.translator import JOEY, OURS, TORCH, BenchError, lead, main
from tests.translator.training_help import config, write_toml
from translator.config import load_config
from translator.device import supports_bf16

#: Modules with the few names of Joey NMT and sentencepiece that the benchmark calls.
FAKES = {
    "sentencepiece/__init__.py": """
from pathlib import Path
class SentencePieceTrainer:
    @staticmethod
    def train(input, model_prefix, vocab_size, **settings):
        assert all(Path(name).is_file() for name in input.split(","))
        assert settings["unk_id"] == 0 and settings["eos_id"] == 3
        Path(model_prefix + ".model").write_text("")
class SentencePieceProcessor:
    pieces = ["<unk>", "<pad>", "<s>", "</s>", "a", "b"]
    def __init__(self, model_file):
        assert Path(model_file).is_file()
    def id_to_piece(self, number):
        return self.pieces[number]
    def __len__(self):
        return len(self.pieces)
""",
    "joeynmt/__init__.py": "",
    "joeynmt/training.py": """
import time
from pathlib import Path
def train(rank, world_size, cfg, skip_test):
    assert Path(cfg["data"]["src"]["voc_file"]).read_text() == "a\\nb\\n"
    steps = 0
    try:
        while time.process_time() < 60:
            steps += 1
    except KeyboardInterrupt:
        pass
    finally:
        Path(cfg["model_dir"], "latest.ckpt").write_text(str(steps))
""",
    "joeynmt/helpers.py": """
import torch
def load_checkpoint(path, map_location):
    stats = {"steps": int(path.read_text()), "total_tokens": 7}
    tied = torch.zeros(2, 3)
    state = {"src_embed.w": tied, "trg_embed.w": tied, "encoder.pe.pe": torch.zeros(9)}
    return {"stats_state": stats, "model_state": state}
""",
    "joeynmt/prediction.py": """
from pathlib import Path
def test(cfg, output_path):
    assert cfg["testing"]["load_model"].endswith("latest.ckpt")
    assert "dev" not in cfg["data"]
    lines = Path(cfg["data"]["test"] + ".en").read_text().splitlines()
    if cfg["testing"]["beam_size"] == 1:
        lines = ["x" for line in lines]
    Path(output_path + ".test").write_text("".join(line + "\\n" for line in lines))
""",
}


@pytest.fixture
def joey(tmp_path: Path) -> dict[str, str]:
    """The environment variables with which a Python finds the fakes."""
    for name, text in FAKES.items():
        path = tmp_path / "fakes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("joeynmt", "sentencepiece"):
        info = tmp_path / "fakes" / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "fakes")}


def test_equal_sizes_and_seconds_and_a_recipe_of_its_own():
    base = load_config("multi30k-cpu")
    mine = bench.ours(base, seconds=300, seed=3)
    assert (mine.training.max_seconds, mine.training.max_epochs) == (300, 0)
    assert (mine.training.seed, mine.training.precision) == (3, "bf16")
    plain = mine.replace(bench.PLAIN)
    assert (plain.training.precision, plain.training.pooled_dropout) == ("fp32", False)
    assert (plain.training.max_seconds, plain.training.seed) == (300, 3)
    assert plain.model.d_model == mine.model.d_model
    theirs = bench.joey_config(mine, Path("x"), seed=3)
    assert theirs["random_seed"] == 3
    assert theirs["vocabulary"] == base.data.vocab_size
    for stack, layers in (
        ("encoder", base.model.num_encoder_layers),
        ("decoder", base.model.num_decoder_layers),
    ):
        found = theirs["model"][stack]
        assert found["hidden_size"] == base.model.d_model
        assert found["num_layers"] == layers
        assert found["ff_size"] == base.model.d_ff


@pytest.mark.slow
def test_joey_nmt_stops_after_its_seconds_and_translates_with_its_last_weights(
    tmp_path: Path, joey: dict[str, str]
):
    for name in ("train", "valid", "test"):
        for language in ("de", "en"):
            (tmp_path / f"{name}.{language}").write_text("one\ntwo\n")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(bench.joey_config(config(), tmp_path, 0)))
    program = bench.ROOT / "benchmarks" / "joeynmt_train.py"
    command = [sys.executable, str(program), str(path), "0.5"]
    subprocess.run(command, check=True, env=joey)
    result = json.loads((tmp_path / "result.json").read_text())
    assert 0.4 < result["seconds"] < 30, "60 s had it not been interrupted"
    assert result["updates"] > 0
    assert result["parameters"] == 6, "tied weights once, no table of sinusoids"
    assert result["precision"] == "fp32"
    assert result["versions"]["joeynmt"] == "1.0"
    assert (tmp_path / "beam.test").read_text() == "one\ntwo\n"
    assert (tmp_path / "greedy.test").read_text() == "x\nx\n"


@pytest.mark.slow
def test_ours_and_pytorchs_are_trained_and_recorded(tmp_path: Path, capsys):
    path = write_toml(tmp_path / "test.toml", config(precision="bf16"))
    record = tmp_path / "record.json"
    command = ["--config", str(path), "--minutes", "0.05", "--record", str(record)]
    assert main([*command, "--only", OURS, TORCH]) == 0
    found = json.loads(record.read_text())
    assert [row["name"] for row in found["rows"]] == [OURS, TORCH]
    assert [row["precision"] for row in found["rows"]] == ["bf16", "fp32"]
    for row in found["rows"]:
        # Of the processor, and validation and the last save come after the end.
        assert 3 <= row["seconds"] < 60
        assert row["updates"] > 0
        assert 0 <= row["bleu"]["greedy"]["score"] <= 100
        assert "sacrebleu" in row["versions"]
    assert found["rows"][0]["parameters"] == found["rows"][1]["parameters"]
    first, second = (row["bleu"]["greedy"]["score"] for row in found["rows"])
    assert found["lead"]["greedy"][TORCH] == pytest.approx(first - second, abs=1e-3)
    out = capsys.readouterr().out
    assert "ahead of nn.Transformer" in out
    assert "BLEU (greedy, one seed)" in out
    for name, precision in ((OURS, "bf16"), (TORCH, "fp32")):
        assert re.search(rf"^{re.escape(name)} +0  {precision} ", out, re.MULTILINE)
    # What is there is kept, and a record of something else is not added to.
    before = record.read_bytes()
    assert main([*command, "--only", OURS, TORCH]) == 0
    assert record.read_bytes() == before
    assert main([*command, "--only", OURS, "--precision", "bf16"]) == 1
    assert "another comparison (plain differs)" in capsys.readouterr().err
    command[command.index("0.05")] = "0.04"
    assert main([*command, "--only", OURS]) == 1
    assert "another comparison (minutes differs)" in capsys.readouterr().err


@pytest.mark.slow
def test_nn_transformer_can_have_the_precision_of_ours(tmp_path: Path):
    path = write_toml(tmp_path / "test.toml", config(precision="bf16"))
    record = tmp_path / "record.json"
    command = ["--config", str(path), "--minutes", "0.02", "--record", str(record)]
    assert main([*command, "--only", TORCH, "--precision", "bf16"]) == 0
    found = json.loads(record.read_text())
    assert found["plain"]["training.precision"] == "bf16"
    assert found["plain"]["training.pooled_dropout"] is False
    has_bf16 = supports_bf16(torch.device("cpu"))
    assert found["rows"][0]["precision"] == ("bf16" if has_bf16 else "fp32")


def test_the_table_says_over_how_many_seeds():
    def row(name, seed):
        score = {way: {"score": 30.0 + seed} for way in ("greedy", "beam")}
        numbers = dict.fromkeys(("updates", "target_tokens"), 1)
        numbers |= dict.fromkeys(("seconds", "wall_seconds", "load"), 1.0)
        return {"name": name, "seed": seed, "bleu": score, **numbers}

    rows = [row(OURS, 0), row(OURS, 1), row(TORCH, 0), row(TORCH, 1), row(JOEY, 1)]
    record = {"minutes": 1, "data": {"sentences": 9}, "rows": rows}
    text = bench.table({**record, "lead": bench.leads(rows)})
    assert "ahead of nn.Transformer: +0.0 BLEU (beam, mean of 2 seeds)" in text
    assert "ahead of Joey NMT: +0.0 BLEU (beam, one seed)" in text


def test_the_lead_is_over_the_seeds_that_both_have():
    def row(name, seed, score):
        return {"name": name, "seed": seed, "bleu": {"greedy": {"score": score}}}

    rows = [row(OURS, 0, 30.0), row(OURS, 1, 32.0), row(JOEY, 0, 20.0)]
    assert lead(rows, "greedy") == {JOEY: 10.0}
    assert lead([*rows, row(JOEY, 1, 28.0)], "greedy") == {JOEY: 7.0}
    assert lead(rows[2:], "greedy") == {}


def test_a_translation_that_is_missing_is_no_score(tmp_path: Path):
    for way in ("greedy", "beam"):
        bench.write_lines(tmp_path / f"{way}.test", ["A dog sees a cat.", ""])
    found = bench.measured({}, tmp_path, ["A dog sees a cat.", "A cat."])
    assert found["bleu"]["beam"]["score"] > 0
    with pytest.raises(ValueError, match="expected as many references as outputs"):
        bench.measured({}, tmp_path, ["A dog sees a cat."])


@pytest.mark.slow
def test_what_cannot_be_compared_is_said(tmp_path: Path, monkeypatch, capsys):
    assert main(["--minutes", "0"]) == 1
    assert "--minutes: expected more than 0" in capsys.readouterr().err
    pins = tmp_path / "benchmarks" / "joeynmt.txt"
    pins.parent.mkdir()
    pins.write_text("no-such-thing==1 ; nonsense\n")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    with pytest.raises(BenchError, match="compares without it"):
        bench.joey_python(tmp_path / "cache")


def test_the_environment_is_made_once(tmp_path: Path, monkeypatch):
    ran = []

    def run(command, **_):
        ran.append(command)
        packages = sysconfig.get_path(
            "purelib", "venv", {"base": str(tmp_path / "cache")}
        )
        Path(packages).mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(bench.subprocess, "run", run)
    first = bench.joey_python(tmp_path / "cache")
    assert len(ran) == 2
    assert bench.joey_python(tmp_path / "cache") == first
    assert len(ran) == 2, "it is there"
    (tmp_path / "cache" / "installed.txt").write_text("joeynmt==0\n")
    bench.joey_python(tmp_path / "cache")
    assert len(ran) == 4, "other versions are asked for"


def test_the_readme_has_the_rows_of_the_record():
    """With the precision of each, which the scores cannot be read without."""
    record = json.loads((bench.ROOT / "benchmarks" / "translator.json").read_text())
    readme = (bench.ROOT / "translator" / "README.md").read_text(encoding="utf-8")
    for row in record["rows"]:
        name = f"`torch.{TORCH}`" if row["name"] == TORCH else row["name"]
        precision = row.get("precision", "not recorded")
        bleu = row["bleu"]["beam"]["score"]
        assert f"| {name} | {precision} | {row['updates']:,} | {bleu:.1f} |\n" in readme
