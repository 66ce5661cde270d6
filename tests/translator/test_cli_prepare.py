"""`prepare` from the command line: what it writes, that it is whole, repeatable and leak-free."""

from __future__ import annotations

import errno
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from translator import files
from translator.cli import command, command_names, main
from translator.config import DataConfig, load_config
from translator.data import preparation, prepared
from translator.data.cleaning import normalise
from translator.data.held_out import HELD_OUT
from translator.data.preparation import prepare
from translator.data.prepared import DATA_FILES, load_prepared, read_examples
from translator.data.splitting import SPLITS, group_key
from translator.errors import ConfigError, PreparedDataError, explain_os_error

SIZES = ("--vocab-size", "300", "--valid", "20", "--test", "30")


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    """Pairs of which sentences repeat, some of them dirty."""
    rng = random.Random(0)
    lines = [
        f"Satz {rng.randrange(300)} ist gut.\tSentence {rng.randrange(300)} is good!"
        for _ in range(400)
    ]
    lines += [
        "\tNo source.",
        "Kein Ziel.\t",
        "12\t12",
        "Nur  Raum.\tOnly\xa0space.",
        lines[0],
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(tsv: Path, out: Path, *more: str) -> int:
    return main(["prepare", "--tsv", str(tsv), "--out", str(out), *SIZES, *more])


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_with_everything(tsv: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "made"
    assert run(tsv, out) == 0
    assert set(content(out)) == {*DATA_FILES, "stats.json"}
    made = load_prepared(out)
    stats = made.stats
    assert (len(made.valid), len(made.test)) == (20, 30)
    read, dropped = (
        stats["counts"]["pairs"]["read"],
        stats["counts"]["pairs"]["dropped"],
    )
    assert read == 405
    assert dropped["empty"] == 2
    assert dropped["no letters"] == 1
    assert dropped["duplicate"] >= 1
    assert stats["counts"]["pairs"]["normalised"] == 1
    assert sum(dropped.values()) + sum(len(getattr(made, s)) for s in SPLITS) == read
    inputs = {path.name: files.sha256(path) for path in (tsv, HELD_OUT)}
    assert stats["inputs"] == {"pairs": inputs}
    for split in SPLITS:
        ids, texts = getattr(made, split), made.texts(split)
        assert len(ids) == len(texts) == stats["splits"][split]["pairs"]
        for i, row in enumerate(texts):
            assert (
                made.tokenizer.decode(ids.src(i)) == row.source == normalise(row.source)
            )
            assert made.tokenizer.decode(ids.tgt(i)) == row.target
            assert row.corpus == "pairs"
        assert stats["splits"][split]["target"]["tokens"]["total"] == len(ids.tgt_ids)
    assert made.tokenizer.vocab_size == stats["vocabulary"] == 300
    shown = capsys.readouterr()
    assert f"dropped {dropped['empty']:>8}  empty" in shown.out
    assert made.fingerprint[:16] in shown.out
    assert "learning a vocabulary" in shown.err


def test_both_directions_are_for_training_alone(tsv: Path, tmp_path: Path) -> None:
    assert run(tsv, tmp_path / "one") == 0
    assert run(tsv, tmp_path / "both", "--set", "data.both_directions=true") == 0
    one, both = load_prepared(tmp_path / "one"), load_prepared(tmp_path / "both")
    there = [row[:2] for row in one.texts("train")]
    assert [row[:2] for row in both.texts("train")] == there + [
        (e, d) for d, e in there
    ]
    for split in ("valid", "test"):
        held_out = both.texts(split)
        assert held_out == one.texts(split)
        # Turning round must not bring a sentence that is held out into the training data.
        in_training = {text for row in both.texts("train") for text in row[:2]}
        assert not in_training & {text for row in held_out for text in row[:2]}


def test_fewer_pairs_are_for_training_alone(tsv: Path, tmp_path: Path, capsys) -> None:
    """Drawn from the same split: nothing is in them that was not there, and nothing twice."""
    few = ("--set", "data.train_pairs=40")
    assert run(tsv, tmp_path / "all") == 0
    assert run(tsv, tmp_path / "few", *few) == 0
    assert run(tsv, tmp_path / "again", *few) == 0
    whole, drawn, again = (
        load_prepared(tmp_path / name) for name in ("all", "few", "again")
    )
    assert len(set(drawn.texts("train"))) == 40
    assert set(drawn.texts("train")) < set(whole.texts("train"))
    assert drawn.fingerprint == again.fingerprint
    for split in ("valid", "test"):
        assert drawn.texts(split) == whole.texts(split)
    too_many = ("--set", "data.train_pairs=100000")
    assert run(tsv, tmp_path / "more", *too_many) == 2
    assert "data.train_pairs: expected at most the" in capsys.readouterr().err


def test_no_sentence_is_in_two_splits(tsv: Path, tmp_path: Path) -> None:
    run(tsv, tmp_path / "made")
    made = load_prepared(tmp_path / "made")
    keys = {
        split: [
            {group_key(row[side], "words") for row in made.texts(split)}
            for side in (0, 1)
        ]
        for split in SPLITS
    }
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        for side in (0, 1):
            assert not keys[one][side] & keys[other][side]


def test_what_is_held_out_has_the_lengths_asked_for(tmp_path: Path) -> None:
    texts = [" ".join([f"w{i}"] * (1 + i % 8)) for i in range(400)]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{text}\t{text.replace('w', 'v')}\n" for text in texts))
    settings = DataConfig(
        corpora=(f"tsv:{path}",),
        valid=20,
        test=40,
        vocab_size=300,
        length_bounds=(3, 5),
        length_shares=(0.5, 0.25, 0.25),
    )
    made = prepare(settings, tmp_path / "data")
    for name, wanted in (("valid", [10, 5, 5]), ("test", [20, 10, 10])):
        lengths = [len(row.source.split()) for row in made.texts(name)]
        found = [
            sum(low < n <= high for n in lengths)
            for low, high in ((0, 3), (3, 5), (5, 9))
        ]
        assert found == wanted, name
    again = prepare(settings, tmp_path / "data")  # its settings are those in the file
    assert again.fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("bounds", "shares", "message"),
    [
        ((7, 7), (0.4, 0.4, 0.2), "length_bounds: expected rising"),
        ((7, 12), (0.5, 0.5), "length_shares: expected one more"),
        ((), (1.0,), "length_shares: expected one more"),
        ((7,), (0.5, 0.6), "length_shares: expected shares that add up to 1"),
        ((7,), (1.5, -0.5), "length_shares: expected shares that add up to 1"),
    ],
)
def test_lengths_that_make_no_split(bounds: tuple, shares: tuple, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DataConfig(length_bounds=bounds, length_shares=shares).check()


def test_the_same_again_to_the_byte(tsv: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run(tsv, tmp_path / name) == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert run(tsv, tmp_path / "three", "--seed", "1") == 0
    other = content(tmp_path / "three")
    assert other["test.jsonl"] != content(tmp_path / "one")["test.jsonl"]


def test_prepared_data_is_reused_refused_or_replaced(
    tsv: Path, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "made"
    run(tsv, out)
    before = (out / "stats.json").stat().st_mtime_ns
    assert run(tsv, out) == 0
    assert (out / "stats.json").stat().st_mtime_ns == before
    assert "prepared from the same inputs before" in capsys.readouterr().err
    assert run(tsv, out, "--seed", "1") == 2
    assert (
        "prepared with other settings; replace it with --force"
        in capsys.readouterr().err
    )
    assert run(tsv, out, "--seed", "1", "--force") == 0
    assert load_prepared(out).stats["settings"]["seed"] == 1
    tsv.write_text(tsv.read_text() + "Neu.\tNew.\n")
    assert run(tsv, out, "--seed", "1") == 2
    assert "other inputs" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"made", "pairs.tsv"}


def test_a_folder_with_something_else_is_never_replaced(
    tsv: Path, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    assert run(tsv, out, "--force") == 2
    assert "found something else; choose another with --out" in capsys.readouterr().err
    assert content(out) == {"thesis.tex": b"years of work"}


def test_a_full_disk_leaves_what_was_there(
    tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    out = tmp_path / "made"
    run(tsv, out)
    before = content(out)

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_sync", full)
    assert run(tsv, out, "--seed", "5", "--force") == 2
    error = capsys.readouterr().err
    assert "nothing was changed: no space left on the disk" in error
    assert content(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"made", "pairs.tsv"}


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="needs limits on the size of a file"
)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--any-languages"], "cannot be written, nothing was changed: File too large"),
        ([], "which language a text is in cannot be told: File too large in"),
    ],
)
def test_a_real_write_that_fails_halfway(
    options: list[str], said: str, tsv: Path, tmp_path: Path, root: Path
) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000));"
        "from translator.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "prepare",
            "--tsv",
            tsv,
            "--out",
            tmp_path / "made",
            *SIZES,
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert said in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.tsv"}


@pytest.mark.slow
def test_killed_in_the_middle_the_old_data_stays(
    tsv: Path, tmp_path: Path, root: Path
) -> None:
    out = tmp_path / "made"
    run(tsv, out)
    before = content(out)
    code = (
        "import os, signal, sys; from translator.data import tokenizer;"
        "from translator.cli import main;"
        "tokenizer.Tokenizer.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "main(sys.argv[1:])"
    )
    arguments = [
        "prepare",
        "--tsv",
        tsv,
        "--out",
        out,
        *SIZES,
        "--seed",
        "5",
        "--force",
    ]
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, cwd=root
    )
    assert ran.returncode == -9
    assert content(out) == before
    assert run(tsv, out) == 0


def test_the_grammar_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--set", "data.grammar_pairs=300", *SIZES]
    assert main(["prepare", *small]) == 0
    made = load_prepared(
        "data/tiny"
    )  # the configuration's name, where train looks for it
    assert set(made.stats["counts"]) == {"grammar"}
    assert len(made.test) == 30
    assert 250 < len(made.train) <= 300


@pytest.mark.parametrize(
    ("arguments", "name", "config"),
    [
        (["tatoeba"], "small", "small"),
        (["multi30k"], "base", "base"),
        (["--config", "big"], "big", "big"),
        (["--config", "big", "--vocab-size", "400"], "big", None),
        (["--tsv", "my.pairs.tsv"], "my.pairs", "small"),
        (["tatoeba", "--tsv", "x/own.tsv.gz"], "tatoeba-own", "small"),
        (["--text", "x/a.de", "y/b.en", "--config", "base"], "a", "base"),
        (["tatoeba", "--name", "mine"], "mine", "small"),
        (["tatoeba", "--name", "mine", "--out", "there"], "there", "small"),
    ],
)
def test_settings_and_name_follow_from_the_corpora(
    arguments: list,
    name: str,
    config: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    asked = {}

    def note(settings: DataConfig, out: Path, **_: object) -> None:
        asked.update(settings=settings, out=out)
        raise PreparedDataError("enough")

    monkeypatch.setattr(preparation, "prepare", note)
    assert main(["prepare", *arguments]) == 2
    assert asked["out"] == (Path(name) if "--out" in arguments else Path("data") / name)
    expected = load_config(config).data.vocab_size if config else 400
    assert asked["settings"].vocab_size == expected


def test_given_test_sets_stay_line_for_line(tsv: Path, tmp_path: Path) -> None:
    """Joined corpora: what training shares with a given test goes, the test itself stays."""
    small = ["--set", "data.grammar_pairs=300"]
    assert run(tsv, tmp_path / "g", "--set", "data.grammar_pairs=300") == 0
    assert (
        main(["prepare", "grammar", "--out", str(tmp_path / "a"), *small, *SIZES]) == 0
    )
    given = load_prepared(tmp_path / "a").texts("test")
    lines = [f"{row.source}.\tOther {i}." for i, row in enumerate(given[:7])]
    lines += [f"Eigener Satz {'x' * i}.\tOwn {'y' * i}." for i in range(100)]
    own = tmp_path / "own.tsv"
    own.write_text("\n".join(lines) + "\n", encoding="utf-8")
    both = ["grammar", "--tsv", str(own), "--out", str(tmp_path / "b"), *small, *SIZES]
    assert main(["prepare", *both]) == 0
    made = load_prepared(tmp_path / "b")
    assert [row for row in made.texts("test") if row.corpus == "grammar"] == given
    assert sum(row.corpus == "own" for row in made.texts("test")) == 30
    tests = {group_key(row.source, "words") for row in made.texts("test")}
    assert not tests & {group_key(row.source, "words") for row in made.texts("train")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Own files for training, validation and test, each in another form; nothing is shared."""
    made = tmp_path / "mine"
    made.mkdir()

    def lines(letter: str, count: int, side: str) -> str:
        word = {"de": "Satz", "en": "Sentence"}[side]
        return "".join(f"{word} {letter * (i + 1)}.\n" for i in range(count))

    for side in ("de", "en"):
        (made / f"train.{side}").write_text(lines("a", 40, side), encoding="utf-8")
        data = gzip.compress(lines("b", 6, side).encode())
        (made / f"val.{side}.gz").write_bytes(data)
    columns = (lines("c", 8, side).splitlines() for side in ("de", "en"))
    rows = map("\t".join, zip(*columns, strict=True))
    (made / "test.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return made


def of_folder(folder: Path, *more: str) -> int:
    out = folder.with_name("out")
    return main(["prepare", "--folder", str(folder), "--out", str(out), *SIZES, *more])


def test_own_files_for_each_split(folder: Path) -> None:
    assert of_folder(folder) == 0
    made = load_prepared(folder.with_name("out"))
    assert [len(made.texts(split)) for split in SPLITS] == [40, 6, 8]
    assert made.texts("test")[1] == ("Satz cc.", "Sentence cc.", "mine")
    assert made.texts("valid")[0].source == "Satz b."
    named = {"train.de", "train.en", "val.de.gz", "val.en.gz", "test.tsv"}
    assert set(made.stats["inputs"]["mine"]) == {*named, HELD_OUT.name}


@pytest.mark.parametrize(
    ("split", "into", "said", "left"),
    [
        (
            "test",
            "train",
            "the test shares pairs with the training: 2 of 8 pairs",
            (40, 6, 8),
        ),
        (
            "val",
            "train",
            "the validation shares pairs with the training: 2 of 6",
            (40, 6, 8),
        ),
        (
            "test",
            "val",
            "the test shares pairs with the validation: 2 of 8",
            (40, 6, 8),
        ),
    ],
)
def test_pairs_that_are_in_two_files(
    split: str, into: str, said: str, left: tuple, folder: Path, capsys
) -> None:
    """They are refused, or go from what is learned from; the test stays line for line."""
    letter = {"test": "c", "val": "b"}[split]
    for side, word in (("de", "SATZ"), ("en", "sentence")):
        lines = f"{word} {letter * 2}\n{word}  {letter * 5} !\n"
        path = folder / f"{into}.{side}"
        if into == "val":
            path = path.with_name(path.name + ".gz")
            data = gzip.decompress(path.read_bytes()) + lines.encode()
            path.write_bytes(gzip.compress(data))
        else:
            path.write_text(path.read_text("utf-8") + lines, encoding="utf-8")
    assert of_folder(folder) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    first = f"Satz {letter * 2}."
    assert f"error: mine: {said}" in last
    assert f"the first in line 2: {first!r}, 'Sentence {letter * 2}.'" in last
    assert "prepare --drop-duplicates leaves them out of the" in last
    assert not folder.with_name("out").exists()
    assert of_folder(folder, "--drop-duplicates") == 0
    made = load_prepared(folder.with_name("out"))
    assert tuple(len(made.texts(split)) for split in SPLITS) == left
    kept = {
        row.source.lower() for row in made.texts("valid" if into == "val" else into)
    }
    assert not any(letter * 2 in source for source in kept)


def test_a_folder_that_lacks_a_split_or_has_one_twice(folder: Path, capsys) -> None:
    (folder / "test.tsv").rename(folder / "rest.tsv")
    assert of_folder(folder) == 2
    said = capsys.readouterr().err
    assert "mine: expected test.tsv, or test.de and test.en, found none" in said
    for side in ("de", "en"):
        (folder / f"test.{side}").write_bytes((folder / f"train.{side}").read_bytes())
    assert of_folder(folder, "--drop-duplicates") == 2
    assert "test.de has the same contents as train.de" in capsys.readouterr().err


def test_test_files_whose_sides_are_exchanged(folder: Path, capsys) -> None:
    german = [f"Der Mann gab der Frau {i} alte Bücher." for i in range(30)]
    english = [f"The man gave the woman {i} old books." for i in range(30)]
    rows = map("\t".join, zip(english, german, strict=True))
    (folder / "test.tsv").write_text("\n".join(rows), encoding="utf-8")
    assert of_folder(folder) == 2
    assert "mine, test: expected German before English" in capsys.readouterr().err


def test_training_files_with_pairs_of_a_given_test(folder: Path, capsys) -> None:
    """The test of a folder and the pairs of another file."""
    more = folder.with_name("more.tsv")
    text = "".join(f"Noch {'x' * i}.\tMore {'y' * i}.\n" for i in range(1, 80))
    more.write_text(f"{text}Satz c.\tSentence c.\n", encoding="utf-8")
    assert of_folder(folder, "--tsv", str(more)) == 2
    assert "the test shares pairs with the training: 1 of 8" in capsys.readouterr().err
    assert of_folder(folder, "--tsv", str(more), "--drop-duplicates") == 0
    train = load_prepared(folder.with_name("out")).texts("train")
    assert "Satz c." not in {row.source for row in train}


def test_a_vocabulary_can_be_that_of_a_translator(
    tsv: Path, tmp_path: Path, capsys
) -> None:
    """Data for going on with a translator: its ids, from a folder or a file, and no mixing up."""
    assert run(tsv, tmp_path / "first") == 0
    mine = tmp_path / "own.tsv"
    mine.write_text(
        "".join(f"Wort {i}\tword {i}\n" for i in range(90)), encoding="utf-8"
    )
    prepare = ["prepare", "--tsv", str(mine), "--valid", "5", "--test", "5", "--out"]
    learned = [*prepare, str(tmp_path / "learned"), "--vocab-size", "300"]
    assert main(learned) == 0
    for name, given in (("folder", "first"), ("file", "first/tokenizer.json")):
        arguments = [
            *prepare,
            str(tmp_path / name),
            "--vocabulary",
            str(tmp_path / given),
        ]
        assert main(arguments) == 0
        made = load_prepared(tmp_path / name)
        first = load_prepared(tmp_path / "first").tokenizer
        assert made.tokenizer.to_json() == first.to_json()
        row = made.texts("test")[0]
        assert made.test.src(0).tolist() == first.encode(row.source)
    capsys.readouterr()
    assert main([*learned, "--force", "--vocabulary", str(tmp_path / "first")]) == 2
    assert "exclude each other" in capsys.readouterr().err
    # One made with a given vocabulary is not taken for one that learned its own.
    again = [*prepare, str(tmp_path / "file"), "--vocab-size", "300"]
    assert main(again) == 2
    assert "other vocabulary given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vocabulary", "nothing"], "no file nothing"),
        (["--tsv", "none.tsv"], "none.tsv: no such file"),
        (["--text", "none.de", "none.en"], "none.de: no such file"),
        (["europarl"], "expected one of grammar, tatoeba, multi30k"),
        (
            ["grammar", "grammar"],
            "expected different names, got grammar more than once",
        ),
        (
            ["tatoeba", "--data-dir", "nowhere"],
            "nowhere: expected a folder with corpora",
        ),
        (["--config", "huge"], "config: expected one of"),
        (["--set", "data.colour=red"], "data.colour: unknown key"),
        (["--vocab-size", "3"], "data.vocab_size: expected at least 260, got 3"),
    ],
)
def test_errors_are_one_line_without_a_traceback(
    arguments: list,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["prepare", *arguments]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("translator: error: ")
    assert message in last
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_train_on(tmp_path: Path, capsys) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("1\t1\n2\t2\n")
    assert run(path, tmp_path / "made", "--valid", "0", "--test", "0") == 2
    assert "at least one pair after cleaning" in capsys.readouterr().err


def test_damaged_folders_are_named(tsv: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    run(tsv, out)
    whole = content(out)
    for name in DATA_FILES:
        (out / name).write_bytes(whole[name][:-1] + b"?")
        with pytest.raises(PreparedDataError, match=f"{name}: damaged"):
            load_prepared(out)
        (out / name).unlink()
        with pytest.raises(
            PreparedDataError, match=f"{name}: missing; run prepare again"
        ):
            load_prepared(out)
        (out / name).write_bytes(whole[name])
    for text, message in (
        ("{", "damaged"),
        ('{"format": 0}', "expected data of format 1, got 0"),
        ("[]", "expected data of format 1, got None"),
    ):
        (out / "stats.json").write_text(text)
        with pytest.raises(PreparedDataError, match=message):
            load_prepared(out)
    with pytest.raises(PreparedDataError, match="no prepared data"):
        load_prepared(tmp_path)
    (out / "x.npz").write_bytes(b"PK nonsense")
    np.savez(out / "y.npz", src_ids=np.zeros(1))
    for name in ("x.npz", "y.npz"):
        with pytest.raises(PreparedDataError, match=f"{name}: damaged"):
            prepared.read_ids(out / name)
    (out / "x.jsonl").write_text(
        '{"source": "a", "target": "b", "corpus": "c"}\n{"source": 3}\n'
    )
    with pytest.raises(PreparedDataError, match=r"x\.jsonl, line 2: damaged"):
        read_examples(out / "x.jsonl")


# -- the frame of the command line -----------------------------------------------------------


def test_help_is_quick_and_every_command_has_examples(root: Path, capsys) -> None:
    names = command_names()
    assert names[0] == "prepare"
    for name in names:
        assert "\n" not in command(name).HELP
        assert f"python -m translator {name}" in command(name).EXAMPLES
        assert main([name, "--help"]) == 0
        assert command(name).EXAMPLES.splitlines()[0] in capsys.readouterr().out
    code = (
        "import sys; from translator.cli import main; main(['--help']);"
        "slow = {'torch', 'numpy', 'tokenizers', 'sacrebleu'} & set(sys.modules);"
        "sys.exit(f'imported for --help: {slow}' if slow else 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(name in ran.stdout for name in names)


def test_unknown_commands_and_arguments(capsys) -> None:
    assert main([]) == 2
    assert main(["cook"]) == 2
    assert main(["prepare", "--colour"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_interrupted_by_the_user(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command("prepare"), "run", interrupt)
    assert main(["prepare"]) == 130
    assert capsys.readouterr().err == "translator: interrupted\n"


def test_errors_of_the_system_are_put_into_words() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "a.txt")
    assert explain_os_error(full) == "a.txt: no space left on the disk"
    assert explain_os_error(OSError("odd")) == "odd"
    assert explain_os_error(OSError(errno.EFBIG, "File too large")) == "File too large"


def test_the_statistics_are_plain_json(tsv: Path, tmp_path: Path) -> None:
    run(tsv, tmp_path / "made")
    stats = json.loads((tmp_path / "made" / "stats.json").read_text(encoding="utf-8"))
    assert str(tmp_path) not in json.dumps(stats)  # no path of this machine
    assert set(stats["outputs"]) == set(DATA_FILES)
