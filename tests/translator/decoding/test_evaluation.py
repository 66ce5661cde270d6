"""Scores: their signatures, their buckets, and the record."""

from __future__ import annotations

import copy
import gzip
import json
import math
import random

import pytest
import torch
from sacrebleu import corpus_bleu, corpus_chrf

from tests.translator.training_help import config, corpus, write_toml
from translator.cli import main
from translator.data.prepared import load_prepared
from translator.decoding.confidence import Calibration
from translator.decoding.evaluation import (
    by_length,
    evaluate,
    scores,
    several_references,
)
from translator.decoding.lexicon import Lexicon
from translator.decoding.model_folder import (
    Translator,
    load_translator,
    save_translator,
)
from translator.decoding.record import check_record, read_record, write_record
from translator.decoding.search import DecodingOptions
from translator.errors import TranslatorError

OUTPUTS = [
    "The dog sees me.",
    "You do not help him .",
    "A small cat is there, too.",
    "Yes.",
]
REFERENCES = [
    "The dog sees me.",
    "You don't help him.",
    "There is a small cat, too.",
    "No.",
]
SOURCES = [
    "Der Hund sieht mich.",
    "Du hilfst ihm nicht.",
    "Da ist auch eine kleine Katze.",
    "Nein.",
]


def check_wrong_records(record):
    """Each change of a right record makes one that is refused, with the reason."""
    for keys, value, message in (
        (("training", "device"), "NVIDIA H100", "but no GPU was found"),
        (("evaluated_on",), "NVIDIA H100", "evaluation is said to be on NVIDIA H100"),
        (
            ("surroundings", "gpu"),
            "NVIDIA H100",
            "the evaluation is said to be on CPU, .*, but the GPU was NVIDIA",
        ),
        (("training", "surroundings", "gpu"), "NVIDIA H100", "the training is said to"),
        (
            ("earlier",),
            [{"training": {**record["training"], "device": "NVIDIA H100"}}],
            "the training is said to be on NVIDIA H100",
        ),
        (
            ("training", "target_tokens_per_second"),
            10**6,
            "target_tokens in .* are not",
        ),
        (
            ("evaluations", 1, "sentences_per_second"),
            10**5,
            "5 sentences in .* are not",
        ),
        (("training", "precision"), "bf16", "configuration says fp32"),
        (("training", "target_tokens"), 3, "3 target_tokens in"),
        (("curve", 0, "tokens"), 10**6, "the curve counts 1000000 target tokens"),
        (("training", "estimated_seconds"), 3, "an estimate is no measurement"),
        (("training", "updates"), 3, "the curve ends at update 4"),
        (("curve",), [], "the curve ends at update 0"),
        (("evaluations",), [], "expected a BLEU score"),
        (("evaluations", 0, "bleu", "score"), 500, "BLEU from 0 to 100, got 500"),
        (("evaluations", 0, "bleu", "score"), math.nan, "0 to 100, got nan"),
        (("evaluations", 0, "bleu", "score"), "about 50", "numbers and .* 'about 50'"),
        (("training",), {}, "expected what train and evaluate wrote"),
    ):
        changed = copy.deepcopy(record)
        place = changed
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        with pytest.raises(
            TranslatorError, match=f"R: .*{message}.*run evaluate again"
        ):
            check_record(changed, "R")
    # All of a GPU, but the torch that has none; with another, it is right.
    changed = copy.deepcopy(record)
    for row in (changed, changed["training"]):
        row["surroundings"].update(gpu="NVIDIA H100", libraries={"torch": "2.13.0+cpu"})
    changed["evaluated_on"] = changed["training"]["device"] = "NVIDIA H100"
    with pytest.raises(TranslatorError, match=r"but torch 2.13.0\+cpu uses none"):
        check_record(changed, "R")
    for row in (changed, changed["training"]):
        row["surroundings"]["libraries"] = {"torch": "2.13.0+cu130"}
    check_record(changed, "R")
    changed["evaluated_on"] = "NVIDIA A100"
    with pytest.raises(
        TranslatorError, match="on NVIDIA A100, but the GPU was NVIDIA H"
    ):
        check_record(changed, "R")


def test_scores_are_sacrebleus():
    found = scores(OUTPUTS, REFERENCES)
    assert found["bleu"]["score"] == corpus_bleu(OUTPUTS, [REFERENCES]).score
    assert found["chrf"]["score"] == corpus_chrf(OUTPUTS, [REFERENCES]).score
    assert {"tok:13a", "case:mixed"} <= set(found["bleu"]["signature"].split("|"))
    assert (found["exact"], found["sentences"]) == (0.25, 4)
    assert found["bleu"]["brevity_penalty"] == corpus_bleu(OUTPUTS, [REFERENCES]).bp
    assert scores(REFERENCES, REFERENCES)["bleu"]["score"] == pytest.approx(100)


def test_the_interval_is_that_of_resampled_test_sets():
    outputs, references = OUTPUTS * 20, REFERENCES * 20
    bleu = scores(outputs, references, intervals=True)["bleu"]
    low, high = bleu["interval"]
    assert low < bleu["score"] < high
    assert "bs:1000" in bleu["signature"].split("|")
    rng = random.Random(0)
    drawn = []
    for _ in range(200):
        rows = rng.choices(range(len(outputs)), k=len(outputs))
        again = [outputs[i] for i in rows], [[references[i] for i in rows]]
        drawn.append(corpus_bleu(*again).score)
    drawn.sort()
    assert low == pytest.approx(drawn[5], abs=1.5)
    assert high == pytest.approx(drawn[-6], abs=1.5)


def test_scores_refuse_what_does_not_fit():
    with pytest.raises(TranslatorError, match="got 1 and 4"):
        scores(OUTPUTS, REFERENCES[:1])
    with pytest.raises(TranslatorError, match="at least one"):
        scores([], [])


def test_every_sentence_is_in_one_bucket():
    sources = [*SOURCES, "", " ".join("w" * 40)]
    rows = by_length(sources, [*OUTPUTS, "", "x"], [*REFERENCES, "", "x"])
    assert sum(row["sentences"] for row in rows) == 6
    assert [row["words"] for row in rows] == [[1, 3], [4, 5], [6, 8], [25, None]]


@pytest.mark.slow
def test_a_run_from_preparation_to_record(tmp_path, monkeypatch, capsys):
    """The commands one after the other, as in the README."""
    data = corpus(tmp_path / "data")
    write_toml(tmp_path / "test.toml", config(max_steps=4))
    run, folder = str(tmp_path / "run"), str(data.folder)
    train = [
        "train",
        "--config",
        str(tmp_path / "test.toml"),
        "--data",
        folder,
        "--out",
        run,
        "--quiet",
        "--device",
        "cpu",
    ]
    assert main(train) == 0
    assert main(train) == 2
    assert "--resume goes on with it" in capsys.readouterr().err
    assert main([*train, "--resume"]) == 0
    assert (
        main(
            [
                "evaluate",
                "--run",
                run,
                "--data",
                folder,
                "--beam",
                "1",
                "2",
                "--limit",
                "5",
                "--outputs",
                str(tmp_path / "out.txt"),
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    assert len((tmp_path / "out.txt").read_text().split("\n")) == 6
    record = read_record(tmp_path / "run" / "record.json")
    assert [e["beam_size"] for e in record["evaluations"]] == [1, 2]
    assert record["training"]["updates"] == 4
    assert record["curve"][-1]["update"] == 4
    assert record["data"]["fingerprint"] == data.fingerprint
    assert record["data"]["corpus"] == "grammar"
    assert record["surroundings"]["libraries"]["torch"]
    assert str(tmp_path) not in json.dumps(record), (
        "a record holds no path of this machine"
    )
    taken = str(tmp_path / "run" / "record.json"), "--out", str(tmp_path / "taken")
    assert main(["take", *taken]) == 0
    assert read_record(tmp_path / "taken" / "record.json") == record
    assert main(["take", *taken]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    check_wrong_records(record)
    model = tmp_path / "exported"
    export = ["export", "--run", run, "--out", str(model), "--half", "--onnx"]
    assert main([*export, "--data", folder]) == 0
    assert read_record(model / "record.json") == record
    exported = load_translator(model)
    assert exported.lexicon == Lexicon.of(data)
    assert exported.calibration == Calibration.from_record(record)
    assert record["calibration"]["sentences"] == 5
    measured = record["calibration"]["measured"]
    assert sum(group["sentences"] for group in measured) == 5
    assert exported.alpha == DecodingOptions.alpha, "validation chose none"
    # Exported again without the data, the words stay.
    assert main(["export", "--run", run, "--out", str(model)]) == 0
    assert load_translator(model).lexicon == exported.lexicon
    capsys.readouterr()
    assert (
        main(["evaluate", "--run", run, "--data", folder, "--corpus", "tatoeba"]) == 2
    )
    assert "expected one of grammar, got tatoeba" in capsys.readouterr().err
    assert main(["evaluate", "--run", run, "--model", str(model)]) == 2
    assert "one of --run and --model" in capsys.readouterr().err
    check_other_data(tmp_path, run, capsys)


def check_other_data(tmp_path, run, capsys):
    """Data of another vocabulary were not trained on; test pairs that were are refused."""
    other = str(tmp_path / "other")
    settings = ["--set=data.grammar_pairs=300", "--set=data.seed=1"]
    sizes = ["--valid", "10", "--test", "10", "--vocab-size", "310"]
    assert main(["prepare", "--out", other, *settings, *sizes]) == 0
    for command in (
        ["evaluate", "--run", run, "--data", other],
        ["export", "--run", run, "--data", other, "--out", str(tmp_path / "no")],
    ):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "other: has another vocabulary than the translator" in said
        assert "by --data, or prepare these by --vocabulary" in said
    assert not (tmp_path / "no").exists()
    data = load_prepared(tmp_path / "data")
    rows = [*data.texts("test")[:5], *data.texts("train")[:2], *data.texts("test")[5:7]]
    for side, name in ((0, "own.de"), (1, "own.en")):
        # Case and punctuation do not count, as in splitting.
        text = "".join(f"{row[side].upper()} !\n" for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [
        "--source",
        str(tmp_path / "own.de"),
        "--reference",
        str(tmp_path / "own.en"),
    ]
    command = ["evaluate", "--run", run, *files, "--beam", "1", "--device", "cpu"]
    command += ["--any-languages"]
    trained_on = ["--data", str(tmp_path / "data")]
    assert main([*command, *trained_on]) == 2
    said = capsys.readouterr().err
    first = f"{rows[5].source.upper()} !"
    assert (
        f"own.de: was trained on in part: 2 of 9 pairs, the first in line 6: {first!r}"
        in said
    )
    assert "evaluate --drop-duplicates measures without them" in said
    assert main([*command, *trained_on, "--drop-duplicates"]) == 0
    assert "7 sentences" in capsys.readouterr().out
    record = read_record(tmp_path / "run" / "evaluation-own.de.json")
    assert record["data"]["dropped_duplicates"] == 2
    assert main(command) == 0
    assert "is not known: there is no data" in capsys.readouterr().err
    record = read_record(tmp_path / "run" / "evaluation-own.de.json")
    assert record["data"]["dropped_duplicates"] is None


def test_any_further_test_set_by_its_two_files(tmp_path, capsys, monkeypatch):
    """Scored with the penalty that validation chose; the model's own record stays as it was."""
    data = corpus(tmp_path / "data")
    torch.manual_seed(0)
    model = config().model.build(data.tokenizer.vocab_size, data.tokenizer.pad_id)
    folder = tmp_path / "model"
    save_translator(folder, Translator(model.eval(), data.tokenizer, config()))
    record = {"length_penalty": {"alpha": 1.4, "tried": [{"alpha": 1.4, "bleu": 1.0}]}}
    write_record(folder / "record.json", record)
    for name, lines in (("extra.de.gz", SOURCES), ("extra.en.gz", REFERENCES)):
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    given = dict(zip(SOURCES, REFERENCES, strict=True))
    monkeypatch.setattr(
        Translator,
        "translate",
        lambda self, texts, options: [given.get(text, text) for text in texts],
    )
    command = ["evaluate", "--model", str(folder), "--device", "cpu"]
    command += ["--source", str(tmp_path / "extra.de.gz")]
    assert main([*command, "--reference", str(tmp_path / "extra.en.gz")]) == 0
    assert f"{len(REFERENCES)} sentences, alpha 1.4" in capsys.readouterr().out
    found = read_record(folder / "evaluation-extra.de.gz.json")
    assert found["data"]["source"] == "extra.de.gz"
    assert {row["alpha"] for row in found["evaluations"]} == {1.4}
    assert [round(row["bleu"]["score"]) for row in found["evaluations"]] == [100, 100]
    assert read_record(folder / "record.json") == record
    short = tmp_path / "short.en"
    short.write_text("A dog.\n")
    assert main([*command, "--reference", str(short)]) == 2
    assert "short.en" in capsys.readouterr().err
    assert main(command) == 2
    assert "--source and --reference go together" in capsys.readouterr().err
    same = ["--reference", str(tmp_path / "extra.de.gz")]
    assert main([*command, *same, "--any-languages"]) == 2
    assert "extra.de.gz: has the same contents as" in capsys.readouterr().err
    for name, books in (("extra.de.gz", "five"), ("extra.en.gz", "six")):
        lines = f"The old man bought {books} books yesterday.\n" * 10
        (tmp_path / name).write_bytes(gzip.compress(lines.encode()))
    command += ["--reference", str(tmp_path / "extra.en.gz")]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "extra.de.gz: expected two languages, got English on both sides" in said
    assert "evaluate --any-languages" in said
    assert main([*command, "--any-languages"]) == 0
    german = ["Der alte Mann kauft das Buch."] * 30 + ["The man sees you."]
    english = ["The old man is buying the book."] * 30 + ["Der Mann sieht dich."]
    for name, lines in (("extra.de.gz", german), ("extra.en.gz", english)):
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "extra.de.gz: English stands before German in 1 of 31 pairs" in said
    assert "the first in line 31: 'The man sees you.'" in said


def test_sentences_without_a_near_source_are_measured_apart():
    class Parrot:
        config = config()

        def translate(self, texts, options):
            return OUTPUTS

    result, _ = evaluate(
        Parrot(), SOURCES, REFERENCES, DecodingOptions(), ["ja", "der Hund"]
    )
    apart = scores(OUTPUTS[:3], REFERENCES[:3])  # "Nein." is one word from "ja"
    assert result["without_a_near_source"]["bleu"]["score"] == apart["bleu"]["score"]
    result, _ = evaluate(Parrot(), SOURCES, REFERENCES, DecodingOptions())
    assert "without_a_near_source" not in result, (
        "nothing is known of the training data"
    )


def test_a_source_that_comes_twice_counts_once_with_both_references():
    sources = [*SOURCES, SOURCES[0]]
    outputs, references = [*OUTPUTS, OUTPUTS[0]], [*REFERENCES, "I am seen by the dog."]
    found = several_references(sources, outputs, references)
    second = ["I am seen by the dog.", None, None, None]
    assert found["score"] == corpus_bleu(OUTPUTS, [REFERENCES, second]).score
    assert (found["sentences"], found["references"]) == (4, 5)
    assert "nrefs:var" in found["signature"].split("|")


def test_alpha_is_chosen_on_validation(tmp_path, capsys):
    data = corpus(tmp_path / "data")
    write_toml(tmp_path / "test.toml", config(max_steps=4))
    run, folder = str(tmp_path / "run"), str(data.folder)
    assert (
        main(
            [
                "train",
                "--config",
                str(tmp_path / "test.toml"),
                "--data",
                folder,
                "--out",
                run,
                "--quiet",
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    command = [
        "evaluate",
        "--run",
        run,
        "--data",
        folder,
        "--device",
        "cpu",
        "--beam",
        "2",
    ]
    assert main([*command, "--alpha", "0", "2"]) == 0
    record = read_record(tmp_path / "run" / "record.json")
    found, (result,) = record["length_penalty"], record["evaluations"]
    assert found["sentences"] == len(data.valid)
    assert [row["alpha"] for row in found["tried"]] == [0, 2]
    assert found["alpha"] == max(found["tried"], key=lambda row: row["bleu"])["alpha"]
    assert result["alpha"] == found["alpha"]
    assert result["without_a_near_source"]["sentences"] <= len(data.test)
    capsys.readouterr()
    assert (
        main(
            [
                "evaluate",
                "--model",
                str(tmp_path / "run" / "model"),
                "--source",
                "x",
                "--reference",
                "y",
                "--alpha",
                "0",
                "1",
            ]
        )
        == 2
    )
    assert "no validation pairs" in capsys.readouterr().err


def test_records_are_rounded_and_hold_no_paths(tmp_path):
    write_record(tmp_path / "record.json", {"a": [1 / 3, {"b": 2}]})
    assert read_record(tmp_path / "record.json") == {"a": [0.333333, {"b": 2}]}
    with pytest.raises(TypeError, match="no paths"):
        write_record(tmp_path / "record.json", {"a": tmp_path})
    (tmp_path / "record.json").write_text("{")
    with pytest.raises(TranslatorError, match="damaged"):
        read_record(tmp_path / "record.json")
    with pytest.raises(TranslatorError, match="no record"):
        read_record(tmp_path / "none.json")
