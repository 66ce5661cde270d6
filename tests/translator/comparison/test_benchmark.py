"""The comparisons compare equal models; the ablations change what they say."""

from __future__ import annotations

import json
import math

import ctranslate2
import numpy as np
import pytest
import torch

from tests.translator.training_help import config, corpus, write_toml
from translator.cli import main
from translator.comparison import ablations, benchmark
from translator.comparison.baseline import TorchTransformer
from translator.comparison.benchmark import decoding_ways, table
from translator.training.processes import Processes

CPU = Processes(torch.device("cpu"))


def batch():
    generator = torch.Generator().manual_seed(0)
    src, tgt = torch.randint(4, 50, (2, 3, 7), generator=generator)
    src[1, 4:] = tgt[2, 5:] = 0
    return src, tgt


def test_the_baseline_is_the_same_function_and_comes_back():
    """Ours, PyTorch's stacks with our weights, and back: equal logits and gradients of inputs."""
    torch.manual_seed(0)
    model = config().model.build(50, 0).eval()
    src, tgt = batch()
    expected = model(src, tgt)
    real = tgt != 0
    baseline = TorchTransformer(model)
    torch.testing.assert_close(
        baseline(src, tgt)[real], expected[real], atol=1e-5, rtol=1e-4
    )
    assert sum(p.numel() for p in baseline.parameters()) == sum(
        p.numel() for p in config().model.build(50, 0).parameters()
    )
    torch.testing.assert_close(baseline.to_ours()(src, tgt), expected)


def test_without_residuals_a_silent_sublayer_silences_the_layer():
    model = ablations.without_residuals(config().model.build(50, 0)).eval()
    layer = model.encoder.layers[0]
    with torch.no_grad():
        layer.feed_forward.linear2.weight.zero_()
    x, _ = layer(torch.randn(2, 5, 16))
    assert (x == 0).all()


def test_without_residuals_the_cache_still_equals_the_whole():
    torch.manual_seed(0)
    model = ablations.without_residuals(config().model.build(50, 0)).eval()
    src, tgt = batch()
    tgt = tgt.masked_fill(tgt == 0, 7)
    memory, _ = model.encode(src)
    mask = (src != 0)[:, None]
    cache = model.init_cache(memory, 7)
    steps = [
        model.decode(tgt[:, t : t + 1], None, mask, cache=cache)[0] for t in range(7)
    ]
    torch.testing.assert_close(
        torch.cat(steps, 1), model.decode(tgt, memory, mask)[0], atol=1e-5, rtol=1e-4
    )


@pytest.mark.slow
def test_ablations_are_recorded_one_by_one(tmp_path, capsys):
    data = corpus(tmp_path / "data")
    write_toml(tmp_path / "test.toml", config(max_steps=3))
    record = tmp_path / "record.json"
    command = [
        "ablate",
        "--config",
        str(tmp_path / "test.toml"),
        "--data",
        str(data.folder),
        "--record",
        str(record),
        "--limit",
        "4",
        "--device",
        "cpu",
        "--quiet",
    ]
    assert main([*command, "--runs", "full", "no residuals", "nn.Transformer"]) == 0
    first = json.loads(record.read_text())["runs"]
    assert [row["name"] for row in first] == ["full", "no residuals", "nn.Transformer"]
    assert math.isclose(
        first[0]["validation_loss"], first[2]["validation_loss"], rel_tol=0.05
    )
    assert main([*command, "--runs", "full", "one head"]) == 0
    again = json.loads(record.read_text())["runs"]
    assert [row["name"] for row in again] == [
        "full",
        "no residuals",
        "one head",
        "nn.Transformer",
    ]
    assert [row for row in again if row["name"] != "one head"] == first, (
        "nothing is done twice"
    )
    assert again[2]["settings"] == {"model.num_heads": 1}
    assert main([*command, "--runs", "full", "cosine", "--seeds", "0", "1"]) == 0
    more = json.loads(record.read_text())["runs"]
    assert [(row["name"], row["seed"]) for row in more if row not in again] == [
        ("full", 1),
        ("cosine", 0),
        ("cosine", 1),
    ]
    by_seed = {row["seed"]: row["validation_loss"] for row in more[:2]}
    assert by_seed[0] != by_seed[1], "a seed draws its own weights"
    whole = json.loads(record.read_text())
    for row in whole["runs"]:
        if row["seed"] == 0:
            del row["seed"]  # as it was before there were several
    record.write_text(json.dumps(whole))
    assert main([*command, "--runs", "full", "--seeds", "0", "1"]) == 0
    assert json.loads(record.read_text())["runs"] == whole["runs"], "nothing is done"
    capsys.readouterr()
    assert main([*command, "--runs", "nonsense"]) == 2
    assert "got nonsense" in capsys.readouterr().err
    assert main([*command, "--set", "training.seed=5"]) == 2
    assert "other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "more"), [("joined", 0.05), ("both directions", 1), ("full", 0)]
)
def test_a_change_of_the_pairs_reaches_the_training(name, more, tmp_path, monkeypatch):
    """What is trained on is the prepared pairs, changed; the rest of the data stays."""
    data = corpus(tmp_path / "data")
    seen = []

    class Watched(ablations.Trainer):
        def __init__(self, config, corpus, *others, **named):
            seen.append(corpus)
            super().__init__(config, corpus, *others, **named)

    monkeypatch.setattr(ablations, "Trainer", Watched)
    ablations.run_one(name, config(max_steps=1), data, CPU, limit=2)
    (used,) = seen
    count = len(data.train)
    assert len(used.train) == count + round(more * count)
    first = used.train.select(np.arange(count))
    np.testing.assert_array_equal(first.src_ids, data.train.src_ids)
    np.testing.assert_array_equal(first.tgt_ids, data.train.tgt_ids)
    assert used.tokenizer is data.tokenizer
    assert used.test is data.test
    if name == "both directions":
        turned = used.train.select(np.arange(count, 2 * count))
        np.testing.assert_array_equal(turned.src_ids, data.train.tgt_ids)


def test_every_ablation_is_a_valid_configuration():
    for _, changes in ablations.RUNS.values():
        values = config().replace(changes).to_dict()
        for key, value in changes.items():
            section, _, name = key.partition(".")
            assert values[section][name] == value


@pytest.mark.parametrize("device", ["cpu"])
def test_the_bench_prints_a_row_for_each(device, tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert (
        main(
            [
                "bench",
                "--sentences",
                "2",
                "--length",
                "5",
                "--rounds",
                "1",
                "--device",
                device,
                "--record",
                str(path),
                "--set",
                "model.d_model=16",
                "--set",
                "model.num_heads=2",
            ]
        )
        == 0
    )
    record = json.loads(path.read_text())
    names = [
        row["name"] for part in ("training", "decoding") for row in record[part]["rows"]
    ]
    printed = capsys.readouterr().out
    assert names[:2] == ["ours", "nn.Transformer"]
    assert len(names) == 6
    assert all(name in printed for name in names)
    assert all(0 < row["share_of_peak"] < 1 for row in record["training"]["rows"])


def test_what_was_tried_is_measured_with_dropout_beside_dropout(monkeypatch):
    """The rows with dropout drop, those with a pool have one, and the others do neither."""
    shares = {}

    def fastest(functions, rounds, device):
        for name, step in functions.items():
            (model,) = (c.cell_contents for c in step.__closure__ if named(c))
            model.to("cpu")
            kinds = {type(m).__name__: m.p for m in model.modules() if hasattr(m, "p")}
            shares[name] = (max(kinds.values()), "PooledDropout" in kinds)
            step()
        return dict.fromkeys(functions, 1.0)

    def named(cell):
        return isinstance(cell.cell_contents, torch.nn.Module)

    monkeypatch.setattr(benchmark, "fastest", fastest)
    monkeypatch.setattr(benchmark, "peak_flops", lambda *_: 1.0)
    settings = config(**{"model.attention_dropout": 0.0})  # not to be had of PyTorch
    found = benchmark.training_steps(
        settings,
        torch.device("cpu"),
        sentences=2,
        length=6,
        rounds=1,
        compiled=False,
        tried=True,
    )
    share = settings.model.dropout
    assert share > 0
    assert shares == {
        "ours": (0.0, False),
        "nn.Transformer": (0.0, False),
        "ours, Adam as one kernel": (0.0, False),
        "ours, attention as products": (0.0, False),
        "nn.Transformer, dropout": (share, False),
        "ours, dropout": (share, False),
        "ours, dropout from a pool": (share, True),
        "ours, all three": (share, True),
    }
    assert [row["name"] for row in found["rows"]] == list(shares)


def test_ctranslate2_decodes_the_same_work(monkeypatch):
    """Each of its ways writes as many tokens for each sentence as ours, for the same sources."""
    done = []

    def watched(self, sources, **settings):
        results = original(self, sources, **settings)
        lengths = [len(source) for source in sources]
        done.append((lengths, [len(result.hypotheses[0]) for result in results]))
        return results

    original = ctranslate2.Translator.translate_batch
    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", watched)
    found = decoding_ways(
        config(), torch.device("cpu"), sentences=3, length=8, rounds=1, engine=True
    )
    names = [row["name"] for row in found["rows"]]
    assert names[-2:] == ["greedy, CTranslate2, float32", "greedy, CTranslate2, int8"]
    assert found["threads"] == torch.get_num_threads()
    assert done
    assert all(work == ([6, 8, 8], [8, 8, 8]) for work in done)


def test_ratios_are_to_the_first_row():
    rows = [
        {
            "name": "a",
            "seconds": 1.0,
            "target_tokens_per_second": 10.0,
            "share_of_peak": 0.5,
        },
        {
            "name": "b",
            "seconds": 2.0,
            "target_tokens_per_second": 5.0,
            "share_of_peak": 0.25,
        },
    ]
    training = {
        "target_tokens": 10,
        "dtype": "float32",
        "peak_flops_per_second": 1e12,
        "rows": rows,
    }
    decoding = {
        "tokens": 8,
        "rows": [{"name": "c", "seconds": 1.0, "tokens_per_second": 8.0}],
    }
    lines = table(training, decoding).splitlines()
    assert lines[3].split() == ["b", "5", "0.50", "25.0", "%"]
