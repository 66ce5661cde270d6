"""The parts of the GPU training: known commands, done once, stopped at the first failure."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from tools import train_gpu
from translator.cli import build_parser
from translator.comparison.ablations import PARTS
from translator.config import load_config


@pytest.fixture
def ran(monkeypatch):
    """The commands that were run; each succeeds unless `fails` is in it."""
    commands = []

    def run(command, **_):
        commands.append(command[3:])
        return SimpleNamespace(returncode=2 if "fails" in command else 0)

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_every_command_is_one_of_the_translators():
    for part in train_gpu.parts("cuda", "corpora").values():
        for command in part.commands:
            arguments = build_parser().parse_args(command)
            if getattr(arguments, "config", None):
                load_config(arguments.config, getattr(arguments, "overrides", []))
        assert part.record.parts[0] in ("models", "runs")
    named = {name for names in train_gpu.ABLATIONS for name in names}
    assert named == set(PARTS)


def test_what_has_a_record_is_skipped(tmp_path, ran, capsys):
    part = train_gpu.parts("cuda", None)["bench"]
    (tmp_path / part.record).parent.mkdir(parents=True)
    (tmp_path / part.record).write_text("{}")
    assert train_gpu.main(["--only", "bench"], tmp_path) == 0
    assert ran == []
    assert "bench: done" in capsys.readouterr().out


def test_what_a_cpu_made_is_no_reason_to_skip_a_part():
    """The repository's own records must not make a part look done that has never run."""
    for name, part in train_gpu.parts("cuda", None).items():
        path = train_gpu.ROOT / part.record
        if path.is_file() and part.record.parts[0] == "models":
            text = path.read_text(encoding="utf-8")
            assert '"CPU, ' not in text, name


def test_ablations_are_done_when_all_their_runs_are(tmp_path):
    part = train_gpu.parts("cuda", None)["ablations-1"]
    path = tmp_path / part.record
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"runs": [{"name": name} for name in part.names[:-1]]}))
    assert not part.is_done(tmp_path)
    path.write_text(json.dumps({"runs": [{"name": name} for name in part.names]}))
    assert part.is_done(tmp_path)


def test_the_first_failure_stops_it(tmp_path, ran):
    assert train_gpu.main(["--device", "fails"], tmp_path) == 2
    assert ran[0][0] == "prepare"
    assert [command[0] for command in ran] == ["prepare", "train"]


def test_an_unknown_part_is_named(tmp_path, ran, capsys):
    assert train_gpu.main(["--only", "nonsense"], tmp_path) == 2
    assert "got nonsense" in capsys.readouterr().err
    assert train_gpu.main(["--list"], tmp_path) == 0
    assert ran == []
