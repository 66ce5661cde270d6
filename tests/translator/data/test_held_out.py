"""Sentences of the test sets are kept out, however they are written and wherever they come from."""

from __future__ import annotations

import random
import unicodedata
import zipfile
from pathlib import Path

import pytest

from translator.config import DataConfig
from translator.data import corpora
from translator.data.corpora import load_corpus
from translator.data.held_out import (
    HELD_OUT,
    digest,
    normal_form,
    read_digests,
    without_held_out,
)
from translator.data.preparation import clean_and_split, prepare
from translator.errors import CorpusError
from translator.files import sha256

GERMAN, ENGLISH = "Öfter übt der Müller Flöte.", "The miller often plays the flute."


@pytest.fixture
def held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a list of one German and one English sentence in the place of the real one."""
    path = tmp_path / HELD_OUT.name
    path.write_text(f"{digest(GERMAN)}\n{digest('An English sentence, held out.')}\n")
    monkeypatch.setattr(corpora, "HELD_OUT", path)
    monkeypatch.delenv("TRANSLATOR_DATA", raising=False)
    return path


def test_the_normal_form_is_the_published_one() -> None:
    decomposed = unicodedata.normalize("NFD", " Übe, „Größe“ – 3-mal! ")
    assert normal_form(decomposed) == "übe grösse  3mal"
    # A hash by another program: printf 'das ist ein satz' | sha256sum
    assert digest("Das ist ein Satz.") == (
        "b1d0c3ecd4b4a9c7fd2cc713cd15ea9e06187d9407ba9745ee354353d3e31b01"
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_way_of_writing_a_sentence_gets_past_the_list(seed: int) -> None:
    rng = random.Random(seed)
    written = "".join(rng.choice((str.upper, str.lower))(c) for c in GERMAN)
    for _ in range(5):
        at = rng.randrange(len(written) + 1)
        written = written[:at] + rng.choice("!?,;.'\"»«()-") + written[at:]
    written = written.replace(" ", rng.choice((" ", "  ", "\u00a0", "\t", "\u2009 ")))
    at = rng.randrange(1, len(written))
    written = written[:at] + rng.choice(("", "\u00ad", "\u200b")) + written[at:]
    written = unicodedata.normalize(rng.choice(("NFC", "NFD")), written)
    written = " " * rng.randrange(3) + written
    kept = [("Etwas anderes.", "Something else.")]
    found = [(written, ENGLISH), *kept, (ENGLISH, written)]
    assert without_held_out(found, frozenset([digest(GERMAN)])) == kept


def test_the_drop_is_counted_and_the_list_is_in_the_record(
    held_out: Path, tmp_path: Path
) -> None:
    lines = [f"Satz {i} geht.\tSentence {i} goes.\n" for i in range(20)]
    lines += [
        f"{GERMAN.upper()}\tOther words.\n",
        "Andere Worte.\tan english sentence held out\n",
    ]
    (tmp_path / "deu-eng.tsv").write_text("".join(lines), encoding="utf-8")
    corpus = load_corpus("tatoeba", data_dir=tmp_path)
    assert len(corpus.pairs) == 20
    assert corpus.inputs[HELD_OUT.name] == sha256(held_out)
    splits, counts = clean_and_split([corpus], DataConfig(valid=2, test=2))
    assert counts["tatoeba"]["read"] == 22
    assert counts["tatoeba"]["dropped"] == {"held out": 2}
    assert sum(map(len, splits.values())) == 20


def test_a_download_is_filtered_too(
    held_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deliver(url: str, path: Path, *, expected: str | None) -> Path:
        path.parent.mkdir(parents=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("deu.txt", f"Go.\tGeh.\tCC\n{ENGLISH}\t{GERMAN}\tCC\n")
        return path

    monkeypatch.setattr(corpora, "DOWNLOADS", tmp_path / "downloads")
    monkeypatch.setattr(corpora, "download", deliver)
    corpus = load_corpus("tatoeba")
    assert corpus.pairs == [("Geh.", "Go.")]
    assert corpus.dropped == {"held out": 1}


def test_own_files_are_filtered_too_and_own_test_pairs_stay(
    held_out: Path, tmp_path: Path
) -> None:
    lines = [f"Satz {i} geht.\tSentence {i} goes.\n" for i in range(40)]
    lines.append(f"{GERMAN}\t{ENGLISH}\n")
    path = tmp_path / "mine.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    sides = [tmp_path / name for name in ("own.de", "own.en")]
    for side, file in enumerate(sides):
        text = "".join(line.rstrip("\n").split("\t")[side] + "\n" for line in lines)
        file.write_text(text, encoding="utf-8")
    for spec in (f"tsv:{path}", f"text:{sides[0]},{sides[1]}"):
        corpus = load_corpus(spec)
        assert (len(corpus.pairs), corpus.dropped) == (40, {"held out": 1})
        assert corpus.inputs[HELD_OUT.name] == sha256(held_out)
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    corpus = load_corpus(f"folder:{tmp_path}")
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 40,
        "valid": 41,
        "test": 41,
    }
    settings = DataConfig(
        corpora=("tatoeba", f"tsv:{path}"),
        valid=2,
        test=2,
        vocab_size=300,
        group_by="exact",
    )
    more = [f"Noch {i} kommen.\t{i} more come.\n" for i in range(40)]
    (tmp_path / "deu-eng.tsv").write_text("".join(more) + lines[-1] * 2)
    made = prepare(settings, tmp_path / "out", data_dir=tmp_path)  # the list, twice
    counts = made.stats["counts"]
    assert counts["tatoeba"]["dropped"]["held out"] == 2
    assert counts["mine"]["dropped"]["held out"] == 1


def test_the_list_of_the_repository_is_whole() -> None:
    assert len(read_digests()) == 7980


@pytest.mark.parametrize("data", [b"", b"abc\n", "ä\n".encode()])
def test_a_damaged_list_filters_nothing_in_silence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / HELD_OUT.name
    path.write_bytes(data)
    with pytest.raises(CorpusError, match="damaged"):
        read_digests(path)
    path.unlink()
    with pytest.raises(CorpusError, match="missing"):
        read_digests(path)
