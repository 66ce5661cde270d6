"""What only a GPU can show: recorded updates, precision, and that nothing waits for it."""

from __future__ import annotations

import json
import math

import pytest
import torch

from tests.translator.training_help import config, corpus
from translator.data.spelling import as_sentence
from translator.decoding.model_folder import load_translator
from translator.decoding.search import DecodingOptions, decode_ids
from translator.grammar import sample
from translator.training import checkpoints
from translator.training.graphs import WARM_UP
from translator.training.log import read_log
from translator.training.processes import Processes
from translator.training.trainer import Trainer

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="asks for a GPU, of which there is none here"
)
GRAPHS = {"cuda_graphs": True, "shapes": 4, "log_every": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("data") / "grammar")


@pytest.fixture(autouse=True)
def full_float32():
    """A test that asks for tf32 must not leave it to the next."""
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


def trainer_of(data, folder, device="cuda", **settings):
    return Trainer(
        config(**settings),
        data,
        folder,
        Processes(torch.device(device)),
        show_progress=False,
    )


def losses(data, folder, device="cuda", **settings):
    """Train; return the loss of each update."""
    trainer_of(data, folder, device, **{"log_every": 1, **settings}).run()
    lines = read_log(folder / "log.jsonl")
    return [line["loss"] for line in lines if "loss" in line]


def assert_alike(found, expected, rel):
    assert len(found) == len(expected)
    for update, pair in enumerate(zip(found, expected, strict=True), start=1):
        assert math.isclose(*pair, rel_tol=rel), (update, pair)


@pytest.mark.parametrize(
    "settings",
    [{}, {"accumulation": 2}, {"r_drop": 2.0, "ema_decay": 0.9}, {"compile": True}],
    ids=["dropout", "micro-batches", "r-drop", "compiled"],
)
def test_recorded_updates_are_those_that_were_not(data, tmp_path, settings):
    """Also in what dropout draws: the first update of a shape, too, which is the recorded one."""
    settings = {**GRAPHS, "max_steps": 24, "model.dropout": 0.3, **settings}
    graphed = losses(data, tmp_path / "a", **settings)
    plain = losses(data, tmp_path / "b", **{**settings, "cuda_graphs": False})
    assert_alike(graphed, plain, 2e-3)


def test_a_gpu_trains_as_a_cpu_does(data, tmp_path):
    settings = {"shapes": 4, "max_steps": 20, "model.dropout": 0.0}
    on_gpu = losses(data, tmp_path / "a", cuda_graphs=True, **settings)
    on_cpu = losses(data, tmp_path / "b", "cpu", **settings)
    assert_alike(on_gpu, on_cpu, 2e-3)


def test_bf16_stays_beside_float32(data, tmp_path):
    settings = {**GRAPHS, "max_steps": 40, "model.dropout": 0.0}
    half = losses(data, tmp_path / "a", precision="bf16", **settings)
    full = losses(data, tmp_path / "b", **settings)
    assert_alike(half, full, 0.05)
    assert half[-1] < 0.8 * half[0]


def test_a_run_that_was_cut_goes_on(data, tmp_path):
    settings = {**GRAPHS, "model.dropout": 0.3, "checkpoint_every": 7}
    whole = losses(data, tmp_path / "whole", max_steps=21, **settings)
    trainer_of(data, tmp_path / "cut", max_steps=7, **settings).run()
    rest = trainer_of(data, tmp_path / "cut", max_steps=21, **settings)
    rest.resume()
    assert rest.update == 7
    rest.run()
    lines = read_log(tmp_path / "cut" / "log.jsonl")
    assert_alike([line["loss"] for line in lines if "loss" in line], whole, 2e-3)


@pytest.mark.parametrize("graphs", [True, False])
def test_no_update_waits_for_the_gpu(data, tmp_path, graphs):
    trainer = trainer_of(
        data, tmp_path, precision="bf16", **{**GRAPHS, "cuda_graphs": graphs}
    )
    network, batches = trainer.model.train(), trainer.train_batches
    for i, parts in enumerate(batches.steps(0)):  # a shape is recorded when it comes
        trainer.train_step(network, parts, batches.tokens(0, i))
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for i, parts in enumerate(batches.steps(1)):
            trainer.train_step(network, parts, batches.tokens(1, i))
        with pytest.raises(RuntimeError, match="synchroniz"):
            trainer.updates.loss_sum.item()  # what this test would notice
    finally:
        torch.cuda.set_sync_debug_mode("default")
    loss, norm = trainer.look()
    assert 0 < loss < 10
    assert norm > 0


def test_graphs_share_their_memory(data, tmp_path):
    """All shapes together take little more than the one that takes most."""
    settings = {**GRAPHS, "max_tokens": 60_000, "model.d_ff": 512, "shapes": 8}
    trainer = trainer_of(data, tmp_path, **settings)
    network, batches = trainer.model.train(), trainer.train_batches
    reserved = []
    for i, parts in enumerate(batches.steps(0)):
        trainer.train_step(network, parts, batches.tokens(0, i))
        torch.cuda.empty_cache()  # what warm-ups left
        reserved.append(torch.cuda.memory_reserved())
    assert len(trainer.updates.graphed.recorded) >= 4
    assert reserved[-1] < 2 * reserved[0]


def test_warm_ups_leave_no_trace(data, tmp_path):
    trainer = trainer_of(data, tmp_path, **{**GRAPHS, "model.dropout": 0.3})
    network, batches = trainer.model.train(), trainer.train_batches
    parts = next(batches.steps(0))
    trainer.train_step(network, parts, batches.tokens(0, 0))
    steps = {int(state["step"]) for state in trainer.optimizer.state.values()}
    assert WARM_UP > 0
    assert steps == {1}


def test_what_is_saved_is_read_without_a_gpu(data, tmp_path):
    trainer = trainer_of(data, tmp_path, **{**GRAPHS, "average_last": 2})
    summary = trainer.run()
    assert summary["device"] == torch.cuda.get_device_name()
    assert summary["surroundings"]["gpu"] == summary["device"]
    path = checkpoints.checkpoints(tmp_path / "weights")[-1]
    weights = torch.load(path, map_location="cpu", weights_only=True)
    assert weights.keys() == trainer.model.state_dict().keys()
    assert json.loads((tmp_path / "training.json").read_text())["updates"] == 12


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bf16_on_a_gpu_translates_as_float32_on_a_cpu(beam_size):
    written = map(as_sentence, sample(300, seed=3))
    sources = [pair.source for pair in written if pair][:200]
    found = {}
    for device in ("cpu", "cuda"):
        translator = load_translator("models/de-en")
        model, tokenizer = translator.model.to(device), translator.tokenizer
        ids = [tokenizer.encode(source) for source in sources]
        found[device] = [None] * len(sources)
        options = DecodingOptions(beam_size=beam_size, alpha=1.0)
        for indices, hypotheses in decode_ids(model, tokenizer, ids, options):
            for i, best in zip(indices, hypotheses, strict=True):
                found[device][i] = best[0]
    pairs = list(zip(found["cpu"], found["cuda"], strict=True))
    same = [(a, b) for a, b in pairs if a.tokens == b.tokens]
    assert len(same) > 0.9 * len(pairs)
    for a, b in same:
        assert abs(a.log_probability - b.log_probability) < 0.05 * len(a.tokens) + 0.1
    # Where they differ, neither is much the better one.
    for a, b in pairs:
        assert abs(a.score - b.score) < 0.25, (a, b)
