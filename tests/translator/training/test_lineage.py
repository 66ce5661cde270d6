"""A record names the trainings before the last, and only those that its weights went through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.translator.training_help import config, corpus, write_toml
from translator.cli import main
from translator.decoding.record import read_record
from translator.errors import TranslatorError
from translator.training.lineage import earlier_trainings


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trainings: "one", "two" from its weights, "three" from those of "two"."""
    folder = tmp_path_factory.mktemp("lineage")
    data = corpus(folder / "data").folder
    before: list[str] = []
    for steps, name in enumerate(("one", "two", "three"), start=2):
        settings = write_toml(folder / f"{name}.toml", config(max_steps=steps))
        assert (
            main(
                [
                    "train",
                    "--config",
                    str(settings),
                    "--data",
                    str(data),
                    "--quiet",
                    "--device",
                    "cpu",
                    "--out",
                    str(folder / name),
                    *before,
                ]
            )
            == 0
        )
        before = ["--from", str(folder / name / "model")]
    return folder


def training(runs: Path, name: str) -> dict:
    return read_record(runs / name / "training.json")


def test_the_record_has_them_oldest_first(runs: Path) -> None:
    assert (
        main(
            [
                "evaluate",
                "--run",
                str(runs / "three"),
                "--data",
                str(runs / "data"),
                "--limit",
                "2",
                "--beam",
                "1",
                "--device",
                "cpu",
                "--after",
                str(runs / "one"),
                str(runs / "two"),
            ]
        )
        == 0
    )
    record = read_record(runs / "three" / "record.json")
    assert [part["training"]["updates"] for part in record["earlier"]] == [2, 3]
    assert [part["curve"][-1]["update"] for part in record["earlier"]] == [2, 3]
    assert record["training"]["updates"] == 4


def test_an_exported_translator_brings_its_record(runs: Path, tmp_path: Path) -> None:
    main(
        [
            "evaluate",
            "--run",
            str(runs / "one"),
            "--data",
            str(runs / "data"),
            "--limit",
            "2",
            "--beam",
            "1",
            "--device",
            "cpu",
        ]
    )
    assert (
        main(["export", "--run", str(runs / "one"), "--out", str(tmp_path / "one")])
        == 0
    )
    [there] = earlier_trainings(training(runs, "two"), [runs / "one"])
    [found] = earlier_trainings(training(runs, "two"), [tmp_path / "one"])
    assert found["config"] == there["config"]
    assert found["training"]["target_tokens"] == there["training"]["target_tokens"]
    assert [row["update"] for row in found["curve"]] == [
        row["update"] for row in there["curve"]
    ]
    (tmp_path / "one" / "record.json").write_text(
        json.dumps({"name": "one"}), encoding="utf-8"
    )
    with pytest.raises(TranslatorError, match="says nothing of the training"):
        earlier_trainings(training(runs, "two"), [tmp_path / "one"])


def test_its_record_brings_those_before_it(runs: Path, tmp_path: Path) -> None:
    """Of "two" as exported, with a record that has "one": both, and neither twice."""
    earlier = earlier_trainings(training(runs, "two"), [runs / "one"])
    assert (
        main(["export", "--run", str(runs / "two"), "--out", str(tmp_path / "two")])
        == 0
    )
    record = {
        "training": training(runs, "two"),
        "curve": [{"update": 3}],
        "earlier": earlier,
    }
    (tmp_path / "two" / "record.json").write_text(json.dumps(record), encoding="utf-8")
    last = training(runs, "three")
    found = earlier_trainings(last, [tmp_path / "two"])
    assert found[0] == earlier[0]
    assert [part["training"]["updates"] for part in found] == [2, 3]
    assert earlier_trainings(last, [runs / "one", runs / "two"])[0] == earlier[0]
    with pytest.raises(TranslatorError, match=r"one: .* began with random weights"):
        earlier_trainings(last, [runs / "one", tmp_path / "two"])


@pytest.mark.parametrize(
    ("last", "before", "message"),
    [
        ("three", ["one"], "one: the training after it began with other weights"),
        ("three", ["two"], "two: this training began with other weights, too"),
        (
            "three",
            ["two", "one"],
            "one: the training after it began with other weights",
        ),
        ("one", ["two"], "two: the training after it began with random weights"),
    ],
)
def test_others_are_refused(
    runs: Path, last: str, before: list[str], message: str
) -> None:
    with pytest.raises(TranslatorError, match=message):
        earlier_trainings(training(runs, last), [runs / name for name in before])


def test_an_exported_translator_alone_cannot_tell(runs: Path, capsys) -> None:
    assert (
        main(
            [
                "evaluate",
                "--model",
                str(runs / "two" / "model"),
                "--data",
                str(runs / "data"),
                "--after",
                str(runs / "one"),
            ]
        )
        != 0
    )
    assert "--after goes with --run" in capsys.readouterr().err
