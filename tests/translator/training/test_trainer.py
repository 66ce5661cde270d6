"""Training: it learns, it can be cut anywhere and goes on the same, its parts add up."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.translator.training_help import begin, config, corpus, write_toml
from translator.cli import main
from translator.data.tokenizer import Tokenizer
from translator.decoding.model_folder import (
    Translator,
    load_translator,
    save_translator,
)
from translator.device import choose_device, describe_device, supports_bf16
from translator.errors import TranslatorError
from translator.training import checkpoints
from translator.training.checkpoints import CheckpointError
from translator.training.log import read_log
from translator.training.processes import Processes
from translator.training.threads import fastest_threads
from translator.training.trainer import Trainer, TrainingError

ROOT = Path(__file__).resolve().parents[3]
CPU = Processes(torch.device("cpu"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("data") / "grammar")


def train(data, folder, **settings):
    trainer = Trainer(config(**settings), data, folder, CPU, show_progress=False)
    return trainer, trainer.run()


def losses(folder):
    return {
        line["update"]: line["loss"]
        for line in read_log(folder / "log.jsonl")
        if "loss" in line
    }


def same_weights(a, b):
    return all(
        torch.equal(x, y)
        for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


@pytest.mark.slow
def test_it_learns_and_says_so(data, tmp_path):
    _, summary = train(data, tmp_path, max_steps=80, checkpoint_every=40)
    found = losses(tmp_path)
    assert found[80] < 0.75 * found[2]
    assert summary["updates"] == 80
    assert summary["validation_loss"] < math.log(300)
    assert summary["padding"] < 0.10
    written = json.loads((tmp_path / "training.json").read_text())
    assert written["validation_loss"] == summary["validation_loss"]
    assert written["surroundings"]["libraries"]["torch"] == torch.__version__


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(data, tmp_path):
    first, _ = train(data, tmp_path / "a")
    again, _ = train(data, tmp_path / "b")
    other, _ = train(data, tmp_path / "c", seed=1)
    assert same_weights(first.model, again.model)
    assert not same_weights(first.model, other.model)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "others"),
    [
        (3, {}),
        (4, {}),
        (9, {}),
        (13, {"subword_dropout": 0.3}),
        (13, {"ema_decay": 0.9, "r_drop": 1.0, "length_jitter": 2.0}),
    ],
)
def test_a_run_that_was_cut_goes_on_bit_by_bit(data, tmp_path, cut, others):
    """Cut between checkpoints, at one, and in a later epoch (an epoch has about ten updates)."""
    settings = {"checkpoint_every": 1, "max_steps": 16, **others}
    whole, _ = train(data, tmp_path / "whole", **settings)
    first = Trainer(
        config(**settings), data, tmp_path / "cut", CPU, show_progress=False
    )
    step, done = first.train_step, []

    def interrupted(*arguments):
        if len(done) == cut:
            raise KeyboardInterrupt
        done.append(1)
        return step(*arguments)

    first.train_step = interrupted
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = Trainer(
        config(**settings), data, tmp_path / "cut", CPU, show_progress=False
    )
    second.resume()
    assert second.update == cut
    second.run()
    assert same_weights(whole.model, second.model)
    states = [
        checkpoints.load(checkpoints.checkpoints(tmp_path / name / "checkpoints")[-1])
        for name in ("whole", "cut")
    ]
    for a, b in zip(*(s["optimizer"]["state"].values() for s in states), strict=True):
        assert torch.equal(a["exp_avg"], b["exp_avg"])


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(data, tmp_path):
    """kill -9 a real process three times; what comes out is what one undisturbed run gives."""
    settings = {"max_steps": 60, "checkpoint_every": 2, "log_every": 2}
    train(data, tmp_path / "whole", **settings)
    overrides = [f"--set=training.{key}={value}" for key, value in settings.items()]
    config_file = write_toml(tmp_path / "test.toml", config(**settings))
    command = ["train", "--config", str(config_file), "--data", str(data.folder)]
    command += ["--out", str(tmp_path / "killed"), "--quiet", "--resume", *overrides]
    folder = tmp_path / "killed" / "checkpoints"
    for wanted in (6, 20, 40):
        process = begin(*command)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.is_alive():
            found = checkpoints.checkpoints(folder)
            if found and int(found[-1].name[5:13]) >= wanted:
                break
            time.sleep(0.003)
        process.kill()
        process.join()
    process = begin(*command)
    process.join()
    assert process.exitcode == 0
    last = checkpoints.load(checkpoints.checkpoints(folder)[-1])
    expected = checkpoints.load(
        checkpoints.checkpoints(tmp_path / "whole" / "checkpoints")[-1]
    )
    for name, tensor in expected["model"].items():
        assert torch.equal(tensor, last["model"][name]), name
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")


def test_accumulation_equals_the_big_batch(data, tmp_path):
    """Two micro-batches of different numbers of tokens, and the same sentences as one."""
    settings = {"model.dropout": 0.0, "clip_norm": 0.0}
    trainer = Trainer(
        config(accumulation=2, **settings), data, tmp_path, CPU, show_progress=False
    )
    parts = max(
        trainer.train_batches.steps(0),
        key=lambda s: abs(s[0].num_tokens - s[1].num_tokens),
    )
    assert parts[0].num_tokens != parts[1].num_tokens
    grads = []
    for how in ("parts", "whole"):
        model = trainer.model
        model.zero_grad()
        if how == "parts":
            saved = {name: p.clone() for name, p in model.state_dict().items()}
            trainer.train_step(model, parts, sum(p.num_tokens for p in parts))
            grads.append([p.grad.clone() for p in model.parameters()])
            model.load_state_dict(saved)
            continue
        total = sum(part.num_tokens for part in parts)
        loss = sum(
            torch.nn.functional.cross_entropy(
                model(part.src[i : i + 1], part.tgt_in[i : i + 1]).flatten(0, 1),
                part.tgt_out[i],
                ignore_index=data.tokenizer.pad_id,
                label_smoothing=0.1,
                reduction="sum",
            )
            for part in parts
            for i in range(len(part))
        )
        (loss / total).backward()
        grads.append([p.grad for p in model.parameters()])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("accumulation", [1, 2])
def test_two_processes_equal_one(data, tmp_path, accumulation):
    """Two CPU processes under torchrun make the updates of one, from one command."""
    settings = {"max_steps": 6, "log_every": 1, "label_smoothing": 0.1}
    settings |= {"accumulation": accumulation, "model.dropout": 0.0}
    train(data, tmp_path / "one", **settings)
    path = write_toml(tmp_path / "two.toml", config(**settings))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            "2",
            "--standalone",  # at a port that is free
            "-m",
            "translator",
            "train",
            "--config",
            str(path),
            "--data",
            str(data.folder),
            "--out",
            str(tmp_path / "two"),
            "--device",
            "cpu",
            "--quiet",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == 6
    assert one.keys() == two.keys()
    for update, loss in one.items():
        assert math.isclose(loss, two[update], rel_tol=1e-5), update
    assert (
        json.loads((tmp_path / "two" / "training.json").read_text())["processes"] == 2
    )


@pytest.mark.slow
def test_a_longer_training_goes_on_from_before_the_fall_of_the_rate(
    data, tmp_path, capsys
):
    """What comes out is what a training with the later end gives from the beginning, bit by bit."""
    settings = {"schedule": "wsd", "decay_share": 0.25, "log_every": 1}
    train(data, tmp_path / "whole", **settings, max_steps=24)
    train(data, tmp_path / "short", **settings, max_steps=12)
    (stable,) = checkpoints.checkpoints(tmp_path / "short" / "stable")
    # The rate of an update is that of the progress before it: the tenth is the last of 9 / 12.
    assert checkpoints.load(stable)["counters"]["update"] == 10
    command = [
        "train",
        "--config",
        str(write_toml(tmp_path / "test.toml", config(**settings, max_steps=24))),
        "--data",
        str(data.folder),
        "--quiet",
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "long"),
        "--longer",
        str(tmp_path / "short"),
    ]
    assert main(command) == 0
    found, wanted = (
        checkpoints.load(checkpoints.checkpoints(tmp_path / name / "checkpoints")[-1])
        for name in ("long", "whole")
    )
    for name, tensor in wanted["model"].items():
        assert torch.equal(tensor, found["model"][name]), name
    assert losses(tmp_path / "long") == losses(tmp_path / "whole")
    assert "% padding, cpu, fp32\n" in capsys.readouterr().err
    assert main([*command, "--from", str(tmp_path), "--restart"]) == 2
    assert "--longer and --from exclude each other" in capsys.readouterr().err


def test_the_clock_covers_validation_and_saving(data, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("translator.training.trainer.time.perf_counter", lambda: now[0])
    trainer = Trainer(
        config(max_steps=0, max_seconds=100, validate_every=2, checkpoint_every=4),
        data,
        tmp_path,
        CPU,
        show_progress=False,
    )

    def slow(method, seconds):
        def slower(*arguments, **named):
            now[0] += seconds
            return method(*arguments, **named)

        return slower

    monkeypatch.setattr(trainer, "train_step", slow(trainer.train_step, 1))
    monkeypatch.setattr(trainer, "validation_loss", slow(trainer.validation_loss, 10))
    monkeypatch.setattr(trainer, "save", slow(trainer.save, 20))
    summary = trainer.run()
    # 4 updates with two validations and a saving take 44 s: 10 come to 100 or more, not 100.
    assert summary["updates"] < 12
    assert summary["seconds"] >= 100


def test_the_average_of_the_last_checkpoints(data, tmp_path):
    trainer, summary = train(data, tmp_path, average_last=3)
    states = [
        checkpoints.load(path) for path in checkpoints.checkpoints(tmp_path / "weights")
    ]
    assert len(states) == 3
    for name, tensor in trainer.model.state_dict().items():
        mean = sum(state[name].double() for state in states) / 3
        torch.testing.assert_close(tensor, mean.float(), msg=name)
    assert summary["weights"] == "average of updates 4, 8, 12"


def test_the_running_mean_is_what_is_validated_and_kept(data, tmp_path):
    """Of the weights after each update, the first whole; the trained ones go on as without it."""
    settings = config(ema_decay=0.75, max_steps=6)
    trainer = Trainer(settings, data, tmp_path, CPU, show_progress=False)
    step, means, trained = trainer.train_step, [], []

    def watched(*arguments):
        rate = step(*arguments)
        weights = [p.detach().clone() for p in trainer.model.parameters()]
        if means:
            pairs = zip(means[-1], weights, strict=True)
            means.append([0.75 * mean + 0.25 * p for mean, p in pairs])
        else:
            means.append(weights)
        trained.append(weights)
        return rate

    trainer.train_step = watched
    summary = trainer.run()
    for found, expected in zip(trainer.model.parameters(), means[-1], strict=True):
        torch.testing.assert_close(found.detach(), expected)
    assert summary["best_update"] == 6
    assert summary["validation_loss"] == summary["best_validation_loss"]
    Trainer(config(max_steps=6), data, tmp_path / "b", CPU, show_progress=False).run()
    without = checkpoints.load(checkpoints.checkpoints(tmp_path / "b/checkpoints")[-1])
    kept = checkpoints.load(checkpoints.checkpoints(tmp_path / "checkpoints")[-1])
    for name, tensor in without["model"].items():
        assert torch.equal(kept["model"][name], tensor), name


def test_jitter_reaches_the_batches_of_training_alone(data, tmp_path):
    of = [
        Trainer(config(length_jitter=jitter), data, tmp_path, CPU, show_progress=False)
        for jitter in (0.0, 5.0)
    ]
    plans = [trainer.train_batches.plan() for trainer in of]
    assert {frozenset(b) for b in plans[0]} != {frozenset(b) for b in plans[1]}
    valid = [trainer.valid_batches.plan() for trainer in of]
    assert all(map(np.array_equal, *valid))


def test_a_running_mean_begins_with_the_training(data, tmp_path):
    train(data, tmp_path)
    late = Trainer(config(ema_decay=0.9), data, tmp_path, CPU, show_progress=False)
    with pytest.raises(CheckpointError, match=r"ema_decay was 0\.0, now 0\.9"):
        late.resume()


@pytest.mark.slow
def test_it_stops_early_and_keeps_the_best(data, tmp_path):
    _, summary = train(
        data, tmp_path, max_steps=400, validate_every=5, patience=2, peak_lr=0.05
    )
    assert summary["updates"] < 400
    assert summary["best_update"] <= summary["updates"] - 10
    assert summary["validation_loss"] == pytest.approx(
        summary["best_validation_loss"], rel=1e-5
    )


def test_not_a_number_ends_it_with_the_last_checkpoint_kept(data, tmp_path):
    trainer = Trainer(config(), data, tmp_path, CPU, show_progress=False)
    step = trainer.train_step

    def poisoned(network, parts, tokens):
        if trainer.update == 6:
            with torch.no_grad():
                trainer.model.output_proj.weight[0, 0] = math.nan
        return step(network, parts, tokens)

    trainer.train_step = poisoned
    with pytest.raises(
        TrainingError, match=r"update 7: the loss is nan .*last good checkpoint is"
    ):
        trainer.run()
    (last,) = checkpoints.checkpoints(tmp_path / "checkpoints")
    assert all(t.isfinite().all() for t in checkpoints.load(last)["model"].values())


def test_out_of_memory_names_the_batch(data, tmp_path):
    trainer = Trainer(config(), data, tmp_path, CPU, show_progress=False)

    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    trainer.train_step = full
    with pytest.raises(
        TrainingError, match=r"out of memory at update 1 .*max_tokens below 300"
    ):
        trainer.run()


def test_a_full_disk_keeps_the_last_checkpoint(data, tmp_path, monkeypatch):
    trainer = Trainer(config(), data, tmp_path, CPU, show_progress=False)
    write = checkpoints.write_bytes

    def full(path, contents):
        if "00000008" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, contents)

    monkeypatch.setattr(checkpoints, "write_bytes", full)
    with pytest.raises(
        CheckpointError, match=r"update 8 was not written: .*no space left.*kept"
    ):
        trainer.run()
    assert [
        p.name[5:13] for p in checkpoints.checkpoints(tmp_path / "checkpoints")
    ] == ["00000004"]


def test_a_damaged_checkpoint_is_noticed(data, tmp_path):
    train(data, tmp_path)
    path = checkpoints.checkpoints(tmp_path / "checkpoints")[-1]
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    trainer = Trainer(config(), data, tmp_path, CPU, show_progress=False)
    with pytest.raises(
        CheckpointError, match=r"damaged.*delete it to go on from step-00000008"
    ):
        trainer.resume()


@pytest.mark.slow
def test_it_starts_from_a_translator(data, tmp_path):
    first, summary = train(data, tmp_path / "first", max_steps=40)
    assert summary["started_from"] is None
    translator = Translator(first.model, data.tokenizer, first.config)
    save_translator(tmp_path / "model", translator)
    command = [
        "train",
        "--config",
        str(write_toml(tmp_path / "test.toml", config(max_steps=2, peak_lr=1e-9))),
        "--data",
        str(data.folder),
        "--quiet",
        "--device",
        "cpu",
        "--from",
        str(tmp_path / "model"),
        "--out",
        str(tmp_path / "second"),
    ]
    assert main(command) == 0
    written = json.loads((tmp_path / "second" / "training.json").read_text())
    assert written["validation_loss"] == pytest.approx(
        summary["validation_loss"], rel=1e-4
    )
    digest = checkpoints.digest(load_translator(tmp_path / "model").model.state_dict())
    assert written["started_from"] == {
        "config": first.config.to_dict(),
        "weights": digest,
    }
    resumed = Trainer(
        config(max_steps=4, peak_lr=1e-9),
        data,
        tmp_path / "second",
        CPU,
        show_progress=False,
    )
    resumed.resume()
    assert resumed.run()["started_from"]["weights"] == digest


def test_layers_that_are_added_change_nothing_and_then_learn(data, tmp_path):
    """The deeper model begins as the same function; an update moves each of its layers."""
    first, _ = train(data, tmp_path / "first", max_steps=20)
    deeper = config(
        max_steps=3, **{"model.num_encoder_layers": 2, "model.num_decoder_layers": 3}
    )
    trainer = Trainer(deeper, data, tmp_path / "deeper", CPU, show_progress=False)
    trainer.start_from(Translator(first.model, data.tokenizer, first.config))
    assert trainer.validation_loss() == pytest.approx(first.validation_loss(), rel=1e-6)
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.run()
    still = [
        name
        for name, p in trainer.model.named_parameters()
        if p.dim() == 2 and torch.equal(p, before[name])
    ]
    assert not still
    with pytest.raises(TrainingError, match=r"more layers: .*num_decoder_layers=3"):
        first.start_from(Translator(trainer.model, data.tokenizer, deeper))
    after = config(**{"model.norm_first": False, "model.num_decoder_layers": 2})
    trainer = Trainer(after, data, tmp_path / "after", CPU, show_progress=False)
    with pytest.raises(TrainingError, match=r"fewer layers: with model\.norm_first"):
        trainer.start_from(Translator(first.model, data.tokenizer, first.config))


def test_it_starts_from_nothing_that_does_not_fit(data, tmp_path):
    trainer = Trainer(config(), data, tmp_path / "run", CPU, show_progress=False)
    wider = config(**{"model.d_model": 32})
    model = wider.model.build(data.tokenizer.vocab_size, data.tokenizer.pad_id)
    with pytest.raises(TrainingError, match=r"has other sizes: .*size mismatch"):
        trainer.start_from(Translator(model, data.tokenizer, wider))
    other = Tokenizer.train(["an other vocabulary of few words"] * 9, 300)
    with pytest.raises(TrainingError, match="another vocabulary than the data"):
        trainer.start_from(Translator(trainer.model, other, config()))


def test_a_checkpoint_from_before_a_setting_counts_as_its_default(data, tmp_path):
    train(data, tmp_path)
    path = checkpoints.checkpoints(tmp_path / "checkpoints")[-1]
    state = checkpoints.load(path)
    del state["config"]["training"]["subword_dropout"], state["started_from"]
    path.unlink()
    checkpoints.save(tmp_path / "checkpoints", 12, state, 3)
    Trainer(config(), data, tmp_path, CPU, show_progress=False).resume()
    changed = Trainer(
        config(subword_dropout=0.5), data, tmp_path, CPU, show_progress=False
    )
    with pytest.raises(CheckpointError, match=r"subword_dropout was 0.0, now 0.5"):
        changed.resume()


def test_other_settings_or_data_are_refused(data, tmp_path):
    train(data, tmp_path / "run")
    other = Trainer(
        config(peak_lr=0.5), data, tmp_path / "run", CPU, show_progress=False
    )
    with pytest.raises(CheckpointError, match=r"training.peak_lr was 0.01, now 0.5"):
        other.resume()
    longer = Trainer(
        config(max_steps=20), data, tmp_path / "run", CPU, show_progress=False
    )
    longer.resume()
    assert longer.run()["updates"] == 20
    with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
        Trainer(config(), data, tmp_path / "none", CPU, show_progress=False).resume()
    changed = dict(data.stats, fingerprint="another")
    strange = type(data)(
        data.folder, changed, data.tokenizer, data.train, data.valid, data.test
    )
    with pytest.raises(CheckpointError, match="fingerprint"):
        Trainer(config(), strange, tmp_path / "run", CPU, show_progress=False).resume()


def test_averaging_refuses_what_does_not_fit():
    with pytest.raises(CheckpointError, match="at least one"):
        checkpoints.average([])
    with pytest.raises(CheckpointError, match="different models"):
        checkpoints.average([{"a": torch.zeros(2)}, {"a": torch.zeros(3)}])


@pytest.mark.parametrize(
    ("threads", "named"), [(1, "CPU, 1 thread"), (2, "CPU, 2 threads")]
)
def test_the_device_is_named_for_records(monkeypatch, threads, named):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert describe_device(torch.device("cpu")) == named


def test_batches_of_few_shapes_have_each_pair_once(data):
    trainer_config = config(shapes=4)
    trainer = Trainer(trainer_config, data, data.folder, CPU, show_progress=False)
    batches = trainer.train_batches
    plain = Trainer(config(), data, data.folder, CPU, show_progress=False).train_batches
    seen, shapes = [], set()
    for step, (batch,) in enumerate(batches.steps(1)):
        shapes.add(tuple(batch.src.shape))
        assert batch.src.numel() <= trainer_config.training.max_tokens
        assert batch.num_tokens == batches.tokens(1, step)
        assert batch.num_tokens == int((batch.tgt_out != batches.pad_id).sum())
        rows = batch.indices[batch.indices >= 0]
        seen += rows.tolist()
        wanted = plain.batch(rows.numpy())
        for name in ("src", "tgt_in", "tgt_out"):
            found, other = getattr(batch, name), getattr(wanted, name)
            width = other.shape[1]
            assert torch.equal(found[: len(rows), :width], other)
            assert (found[: len(rows), width:] == batches.pad_id).all()
        assert (batch.tgt_out[len(rows) :] == batches.pad_id).all()
    assert sorted(seen) == list(range(len(data.train)))
    assert len(shapes) <= 4
    assert 0 < batches.padding(1).total < 0.5
    longer = trainer.batches_of(trainer.train_ids(1), shuffle=True)
    assert longer.bounds == batches.bounds


def test_few_shapes_give_the_same_update(data, tmp_path):
    """The same rows, in a batch of their own size and in one of a fixed shape."""
    grads = []
    for shapes in (0, 4):
        settings = {"model.dropout": 0.0, "clip_norm": 0.0, "shapes": shapes}
        trainer = Trainer(config(**settings), data, tmp_path, CPU, show_progress=False)
        batch = trainer.train_batches.batch(range(5))
        trainer.train_step(trainer.model, [batch], batch.num_tokens)
        grads.append([p.grad for p in trainer.model.parameters()])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)


def test_a_step_on_a_gpu_waits_for_nothing(data, tmp_path):
    """On tensors that have no values: whoever asks for one fails.

    They are of "meta", for which the trainer goes the way of a GPU, on any machine.
    """
    settings = {"shapes": 3, "precision": "bf16", "pooled_dropout": True}
    with (
        warnings.catch_warnings(),
        pytest.MonkeyPatch.context() as patch,
    ):
        warnings.simplefilter("ignore", UserWarning)  # no GPU for autocast
        patch.setattr("translator.training.updates.supports_bf16", lambda _: True)
        fake = Processes(torch.device("meta"))
        trainer = Trainer(config(**settings), data, tmp_path, fake, show_progress=False)
        steps = trainer.train_batches.steps(0)
        for step in range(2):
            parts = next(steps)
            assert parts[0].src.device == fake.device
            tokens = trainer.train_batches.tokens(0, step)
            trainer.train_step(trainer.model, parts, tokens)
        assert trainer.update == 2
        with pytest.raises(RuntimeError, match="meta"):
            trainer.look()


def fake_cuda(folder):
    """Return what fake_cuda_steps needs to have tensors of a GPU here; see fake_cuda.cpp."""
    if torch.backends.cuda.is_built():
        return "-"
    if shutil.which("g++") is None:
        told = "without CUDA, and without g++ to stand in for it"
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(told, pytrace=False)
        pytest.skip(told)
    installed = Path(torch.__file__).parent
    library = folder / "fake_cuda.so"
    command = ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{installed / 'include'}"]
    command += [str(Path(__file__).with_name("fake_cuda.cpp")), "-o", str(library)]
    command += [f"-L{installed / 'lib'}", "-lc10", "-ltorch_cpu"]
    command += [f"-Wl,-rpath,{installed / 'lib'}"]
    subprocess.run(command, check=True)
    return str(library)


#: What fake_cuda_steps says of steps that do what none may, by what they do.
STOPPED = {
    "asks for the loss": "aten._local_scalar_dense.default has to be waited for",
    "asks whether it is finite": "aten._local_scalar_dense.default has to be waited for",
    "takes the rows of real tokens": "aten.nonzero.default has to be waited for",
    "takes a number to the GPU": "a copy that is waited for",
    "takes a tensor to the GPU": "a copy from memory that is not pinned",
    "multiplies by a tensor of the host": "a tensor of the host inside a graph",
    "multiplies by a number that changes": "aten.mul.Tensor: [4], then [8]: a graph keeps",
    "has the rate as a number": "[0.025, 0.9, 0.98, 0.0, 1e-09, False, False], then",
    "keeps copies of the weights with their gradients": "gradients still go where they went",
    "has Adam count on the host": "capturable is False",
    "cuts batches out of pageable memory": "a copy from memory that is not pinned",
    "waits for the rows of a batch": "a copy that is waited for",
}


@pytest.mark.slow
def test_no_step_waits_for_cuda_tensors(data, tmp_path):
    """The same with FakeTensorMode and tensors of "cuda": bf16, backwards, clipping, Adam.

    Copies that are waited for, and what a CUDA graph cannot do, are found, too.
    """
    library = fake_cuda(tmp_path)
    shutil.copytree(data.folder, tmp_path / "data")
    command = [sys.executable, "-m", "tests.translator.training.fake_cuda_steps"]
    command += [library, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    ways = {name: said for name, said in lines.items() if name not in STOPPED}
    for name in ("no graphs", "batches of any shape"):
        assert ways.pop(name) == "3 updates on {'cuda'}, 0 graphs"
    assert len(ways) == 7
    assert set(ways.values()) == {"3 updates on {'cuda'}, 3 graphs"}, ways
    for name, why in STOPPED.items():
        assert lines[name].startswith("stopped, "), name
        assert why in lines[name], name


def test_another_timer_counts_in_place_of_the_clock(data, tmp_path):
    """Three seconds a look at it: the training ends by them, and says so."""
    looks = iter(range(10_000))
    trainer = Trainer(
        config(max_steps=0, max_seconds=100),
        data,
        tmp_path,
        CPU,
        show_progress=False,
        timer=lambda: 3.0 * next(looks),
    )
    summary = trainer.run()
    assert 100 <= summary["seconds"] < 200
    assert 0 < summary["updates"] < 40


def test_a_training_is_saved_by_the_clock(data, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("translator.training.trainer.time.perf_counter", lambda: now[0])
    settings = {"save_seconds": 10, "checkpoint_every": 1, "max_steps": 12}
    trainer = Trainer(config(**settings), data, tmp_path, CPU, show_progress=False)
    step, save, saved = trainer.train_step, trainer.save, []

    def slow(*arguments):
        now[0] += 4
        return step(*arguments)

    monkeypatch.setattr(trainer, "train_step", slow)
    monkeypatch.setattr(trainer, "save", lambda: (saved.append(trainer.update), save()))
    trainer.run()
    assert saved == [3, 6, 9, 12]


def test_weights_that_a_resumed_training_makes_again_are_forgotten(data, tmp_path):
    settings = {"average_last": 2, "checkpoint_every": 2, "max_steps": 8}
    whole, _ = train(data, tmp_path / "whole", **settings)
    first, _ = train(data, tmp_path / "cut", **settings, save_seconds=1e6)
    newest = checkpoints.checkpoints(tmp_path / "whole" / "checkpoints")
    for path in newest[:-1]:
        (first.checkpoint_folder / path.name).write_bytes(path.read_bytes())
    checkpoints.checkpoints(first.checkpoint_folder)[-1].unlink()
    again = Trainer(
        config(**settings), data, tmp_path / "cut", CPU, show_progress=False
    )
    again.resume()
    assert again.update == 6
    assert len(checkpoints.checkpoints(again.average_folder)) == 1
    again.run()
    assert same_weights(whole.model, again.model)


def test_fewer_threads_are_taken_unless_more_are_faster(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("translator.training.threads.time.perf_counter", lambda: now[0])
    before = torch.get_num_threads()

    def chosen(*seconds):
        took = dict(zip((1, 2, 4, 6), seconds, strict=True))
        monkeypatch.setattr(
            torch, "set_num_threads", lambda n: took.update(now=took[n])
        )
        return fastest_threads(lambda: now.append(now.pop() + took["now"]), 6)

    assert chosen(4, 2, 1, 0.5) == 6
    assert chosen(4, 2, 1, 0.95) == 4
    assert chosen(1, 20, 0.1, 0.1) == 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("flags\t\t: fpu avx2 avx512f", False),
        ("flags\t\t: fpu avx512f avx512_bf16", True),
        ("flags\t\t: fpu amx_bf16", True),
        ("Features\t: fp asimd bf16", True),
        ("nothing", False),
    ],
)
def test_bf16_is_had_where_the_processor_has_it(tmp_path, line, found):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\n{line}\n")
    assert supports_bf16(torch.device("cpu"), path) == found
    assert not supports_bf16(torch.device("cpu"), tmp_path / "none")


def test_a_precision_that_is_not_there_is_said(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("translator.training.updates.supports_bf16", lambda _: False)
    _, summary = train(data, tmp_path, max_steps=1, precision="bf16")
    assert summary["precision"] == "fp32"
    assert "has no bf16, trains in fp32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("built", "said"),
    [(False, "`make env GPU=1` installs"), (True, "no driver; without --device")],
)
def test_a_gpu_that_is_not_there_is_said_with_what_to_do(monkeypatch, built, said):
    def none(*_, **__):
        raise RuntimeError("no driver\nand more")

    monkeypatch.setattr(torch, "empty", none)
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: built)
    with pytest.raises(TranslatorError, match=f"--device: cuda cannot .*{said}"):
        choose_device("cuda")
