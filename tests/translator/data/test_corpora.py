"""Reading corpora: the formats, where files are looked for, and what is wrong with them."""

from __future__ import annotations

import dataclasses
import gzip
import json
import zipfile
from pathlib import Path

import pytest

from translator import grammar
from translator.config import DataConfig
from translator.data import corpora
from translator.data.corpora import (
    MULTI30K,
    Remote,
    corpus_name,
    load_corpus,
    local_folder,
)
from translator.data.held_out import HELD_OUT
from translator.data.preparation import clean_and_split, prepare
from translator.data.spelling import as_sentence
from translator.errors import CorpusError, DownloadError
from translator.files import sha256
from translator.languages import check_languages, exchanged_rows
from translator.pair_files import read_lines, read_parallel, read_tsv

SMALL = DataConfig(grammar_pairs=200, valid=30, test=30)


@pytest.fixture(autouse=True)
def no_folder_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the developer's own corpora, and the network, out of the tests."""
    monkeypatch.delenv("TRANSLATOR_DATA", raising=False)
    monkeypatch.setattr(corpora, "DOWNLOADS", tmp_path / "downloads")
    monkeypatch.setattr(corpora, "download", no_network)


def no_network(url: str, path: Path, **_: object) -> Path:
    raise DownloadError(f"{url}: cannot be reached: this is a test")


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return path


def multi30k_folder(folder: Path) -> Path:
    """A folder laid out as Multi30k's, with a few invented captions."""
    for (split, side), file in MULTI30K.items():
        lines = "".join(f"Ein {split} {side} {i}.\n" for i in range(3))
        write(folder / file.name, gzip.compress(lines.encode()))
    return folder


# -- lines and columns -----------------------------------------------------------------------


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"eins\nzwei\n", ["eins", "zwei"]),
        (b"eins\r\nzwei", ["eins", "zwei"]),
        (b"ein\rs\nzwei\n", ["ein\rs", "zwei"]),
        (b"\xef\xbb\xbfeins\n\nzwei\n", ["eins", "", "zwei"]),
        (
            "ein\u2028s\x0bzwei\x85\n".encode(),
            ["ein\u2028s\x0bzwei\x85"],
        ),  # one line, not four
        ("größer\n".encode(), ["größer"]),
    ],
)
def test_lines_end_at_line_feeds_only(
    tmp_path: Path, data: bytes, lines: list, compress
) -> None:
    assert read_lines(write(tmp_path / "text", compress(data))) == lines


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected lines of text, got an empty file"),
        (b"\n \r\n", "expected lines of text, got an empty file"),
        (
            "gut\nsch\u00f6n\n".encode("latin-1"),
            r"line 2: expected UTF-8, got byte 0xF6 at column 4",
        ),
        ("schön".encode("utf-16"), "expected UTF-8, got UTF-16"),
        (gzip.compress(b"text" * 99, mtime=0)[:-9], "damaged gzip file"),
        (gzip.compress(b"text", mtime=0)[:4] + b"nonsense", "damaged gzip file"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=rf"corpus\.de.*{message}"):
        read_lines(write(tmp_path / "corpus.de", data))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.tsv: no such file"):
        read_tsv(tmp_path / "none.tsv")
    with pytest.raises(CorpusError, match="expected a file, got a folder"):
        read_lines(tmp_path)


def test_tsv(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", "Geh.\tGo.\n\nLauf!\tRun!\n")
    assert read_tsv(path) == [("Geh.", "Go."), ("", ""), ("Lauf!", "Run!")]


@pytest.mark.parametrize(("line", "found"), [("Lauf!", 1), ("Lauf!\tRun!\tCC-BY", 3)])
def test_a_broken_line_is_named(tmp_path: Path, line: str, found: int) -> None:
    path = write(tmp_path / "pairs.tsv", f"Geh.\tGo.\n{line}\nJa.\tYes.\n")
    message = rf"pairs\.tsv, line 2: expected 2 columns separated by tabs, got {found}: 'Lauf!"
    with pytest.raises(CorpusError, match=message):
        read_tsv(path)


def test_two_files_of_unequal_length(tmp_path: Path) -> None:
    one, other = (
        write(tmp_path / "a.de", "eins\nzwei\n"),
        write(tmp_path / "a.en", "one\n"),
    )
    with pytest.raises(
        CorpusError, match=r"a\.en: expected 2 lines, as many as .*a\.de, got 1"
    ):
        read_parallel(one, other)
    other.write_text("one\ntwo\n", encoding="utf-8")
    assert read_parallel(one, other) == [("eins", "one"), ("zwei", "two")]


def test_one_file_is_not_both_sides(tmp_path: Path) -> None:
    one = write(tmp_path / "a.de", "eins\nzwei\n")
    again = write(tmp_path / "a.en.gz", gzip.compress(b"eins\nzwei\n"))
    for other in (one, again):
        with pytest.raises(CorpusError, match=r"the same contents as .*a\.de: give"):
            read_parallel(one, other)


# -- own files -------------------------------------------------------------------------------


def test_own_files(tmp_path: Path) -> None:
    tsv = write(tmp_path / "mine.tsv.gz", gzip.compress(b"Geh.\tGo.\n", mtime=0))
    corpus = load_corpus(f"tsv:{tsv}")
    assert (corpus.name, corpus.pairs) == ("mine", [("Geh.", "Go.")])
    assert corpus.inputs["mine.tsv.gz"] == sha256(tsv)
    one, other = (
        write(tmp_path / "two.de", "Geh.\n"),
        write(tmp_path / "two.en", "Go.\n"),
    )
    corpus = load_corpus(f"text:{one},{other}")
    assert (corpus.name, corpus.pairs) == ("two", [("Geh.", "Go.")])
    assert set(corpus.inputs) == {"two.de", "two.en", HELD_OUT.name}
    assert corpus_name(f"text:{one},{other}") == "two"
    assert corpus_name("tatoeba") == "tatoeba"


@pytest.mark.parametrize("spec", ["europarl", "tsv:", "text:a", "text:a,b,c", ""])
def test_names_that_are_no_corpus(spec: str) -> None:
    with pytest.raises(
        CorpusError, match="expected one of grammar, tatoeba, multi30k, tsv:FILE"
    ):
        load_corpus(spec)


# -- the grammar -----------------------------------------------------------------------------


def test_the_grammar_brings_its_own_splits() -> None:
    corpus = load_corpus("grammar", SMALL)
    assert [len(corpus.splits[name]) for name in ("train", "valid", "test")] == [
        200,
        30,
        30,
    ]
    assert corpus.pairs == []
    source, target = corpus.splits["train"][0]
    assert any(" ".join(p.target) == target for p in grammar.parse(source))
    assert load_corpus("grammar", SMALL) == corpus
    other = DataConfig(grammar_pairs=200, valid=30, test=30, seed=1)
    assert load_corpus("grammar", other).splits != corpus.splits


def test_the_grammar_as_sentences() -> None:
    settings = DataConfig(
        grammar_pairs=400, valid=30, test=30, grammar_style="sentence"
    )
    plain = DataConfig(grammar_pairs=400, valid=30, test=30)
    sentences = load_corpus("grammar", settings).splits["train"]
    words = dict(load_corpus("grammar", plain).splits["train"])
    by_lower = {source.casefold(): source for source in words}
    assert (
        300 < len(sentences) <= 400
    )  # those whose commas the words do not tell are left out
    for german, english in sentences:
        assert german[0].isupper()
        assert english[0].isupper()
        assert german[-1] == english[-1]
        assert german[-1] in ".?"
        bare = by_lower[german[:-1].replace(",", "").casefold()]
        assert words[bare].casefold() == english[:-1].casefold()
        for word in (" weil ", " dass ", " ob ", " um "):
            assert german.count(word) == german.count(f",{word}") + german.count(
                f"und{word}"
            )
    assert any(german.endswith("?") for german, _ in sentences)
    assert any("," in german for german, _ in sentences)


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        (
            "kannst du mir helfen diesen Satz zu übersetzen",
            "helfen, diesen Satz zu übersetzen?",
        ),
        ("du willst anfangen zu Hause zu kochen", "anfangen, zu Hause zu kochen."),
        ("muss sie anfangen zu arbeiten", "Muss sie anfangen zu arbeiten?"),
        ("du hast versprochen ihn abzuholen", "Du hast versprochen, ihn abzuholen."),
        (
            "er will früh aufstehen um ihn anzurufen",
            "früh aufstehen, um ihn anzurufen.",
        ),
        ("ich warte auf euch", "Ich warte auf euch."),
    ],
)
def test_commas_of_written_german(plain: str, written: str) -> None:
    (pair, *_) = grammar.parse(plain)
    assert as_sentence(pair).source.endswith(written)


def test_a_clause_in_front_is_not_written() -> None:
    pairs = grammar.sample(20, constructions=["subordinate-first"])
    assert [as_sentence(pair) for pair in pairs] == [None] * 20


# -- public corpora --------------------------------------------------------------------------


def test_tatoeba_in_a_local_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "tatoeba" / "deu-eng.tsv", "Geh.\tGo.\nLauf!\tRun!\n")
    corpus = load_corpus("tatoeba", data_dir=tmp_path)
    assert corpus.pairs == [("Geh.", "Go."), ("Lauf!", "Run!")]
    assert corpus.inputs == {
        "deu-eng.tsv": sha256(path),
        HELD_OUT.name: sha256(HELD_OUT),
    }
    assert "CC BY 2.0" in corpus.licence
    assert (
        load_corpus("tatoeba", data_dir=tmp_path / "tatoeba") == corpus
    )  # the folder itself


def test_files_of_tatoeba_that_the_records_are_not_of_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read all the same: today's export is as good."""
    lines = "".join(f"Es sind {i}.\tThere are {i}.\n" for i in range(40))
    path = write(tmp_path / "deu-eng.tsv", lines)
    write(tmp_path / "deu-eng-2018.tsv", "Lauf!\tRun!\n")  # nothing is known of this
    settings = DataConfig(corpora=("tatoeba",), valid=2, test=2, vocab_size=300)
    said: list[str] = []
    made = prepare(settings, tmp_path / "out", data_dir=tmp_path, say=said.append)
    assert made.stats["as published"] == {"tatoeba": False}
    assert any("records are of: deu-eng.tsv; with other pairs" in line for line in said)
    known = {**corpora.TATOEBA_LOCAL, "deu-eng.tsv": sha256(path)}
    monkeypatch.setattr(corpora, "TATOEBA_LOCAL", known)
    assert load_corpus("tatoeba", data_dir=tmp_path).as_published is None
    again: list[str] = []  # the inputs are the same, and so is what was made of them
    prepare(settings, tmp_path / "out", data_dir=tmp_path, say=again.append)
    assert again[1:] == [f"{tmp_path / 'out'} was prepared from the same inputs before"]
    (tmp_path / "deu-eng-2018.tsv").unlink()
    assert load_corpus("tatoeba", data_dir=tmp_path).as_published is True


@pytest.mark.parametrize("name", ["de-en", "de-en-cpu"])
def test_known_files_of_tatoeba_are_those_of_the_records(name: str) -> None:
    record = Path("models") / name / "record.json"
    inputs = json.loads(record.read_text())["data"]["stats"]["inputs"]["tatoeba"]
    known = {file: digest for file, digest in corpora.TATOEBA_LOCAL.items() if digest}
    assert {file: inputs[file] for file in known} == known


def test_all_files_of_tatoeba_are_read_and_a_pair_of_two_files_counts_once(
    tmp_path: Path,
) -> None:
    one = write(tmp_path / "deu-eng.tsv", "Geh.\tGo.\nLauf!\tRun!\n")
    more = "Lauf!\tRun!\n" + "".join(
        f"Es sind {i}.\tThere are {i}.\n" for i in range(9)
    )
    other = write(tmp_path / "deu-eng-2018.tsv.gz", gzip.compress(more.encode()))
    with zipfile.ZipFile(tmp_path / "deu-eng.zip", "w") as archive:
        archive.writestr("deu.txt", "Stay.\tBleib.\tCC\n")
    corpus = load_corpus("tatoeba", data_dir=tmp_path)
    assert {
        path.name: sha256(path) for path in (one, other, tmp_path / "deu-eng.zip")
    } == {
        name: digest for name, digest in corpus.inputs.items() if name != HELD_OUT.name
    }
    splits, counts = clean_and_split([corpus], DataConfig(valid=1, test=1))
    assert counts["tatoeba"]["dropped"] == {"duplicate": 1}
    assert {pair[:2] for rows in splits.values() for pair in rows} == {
        ("Geh.", "Go."),
        ("Lauf!", "Run!"),
        ("Bleib.", "Stay."),
        *((f"Es sind {i}.", f"There are {i}.") for i in range(9)),
    }


def test_tatoeba_as_it_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deliver(url: str, path: Path, *, expected: str | None) -> Path:
        assert url.endswith("deu-eng.zip")
        assert expected is None  # the file grows: its first hash is recorded
        path.parent.mkdir(parents=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("_about.txt", "about")
            archive.writestr(
                "deu.txt", "Go.\tGeh.\tCC-BY 2.0 #1\nRun!\tLauf!\tCC-BY 2.0 #2\n"
            )
        return path

    monkeypatch.setattr(corpora, "download", deliver)
    assert load_corpus("tatoeba").pairs == [("Geh.", "Go."), ("Lauf!", "Run!")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("deu.txt", "Go.\tGeh.\n", r"deu\.txt, line 1: expected 3 columns .* got 2"),
        ("fra.txt", "Go.\tVa.\tCC\n", r"expected a file deu\.txt in it, found none"),
    ],
)
def test_a_zip_of_another_kind(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with zipfile.ZipFile(tmp_path / "deu-eng.zip", "w") as archive:
        archive.writestr(name, text)
    with pytest.raises(CorpusError, match=message):
        load_corpus("tatoeba", data_dir=tmp_path)
    write(tmp_path / "deu-eng.zip", b"PK no zip")
    with pytest.raises(CorpusError, match="damaged zip file"):
        load_corpus("tatoeba", data_dir=tmp_path)


def test_multi30k_in_a_local_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    multi30k_folder(tmp_path / "multi30k")
    corpus = load_corpus("multi30k", data_dir=tmp_path)
    assert corpus.splits["test"][1] == ("Ein test de 1.", "Ein test en 1.")
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 3,
        "valid": 3,
        "test": 3,
    }
    assert corpus.as_published is False
    published = {
        key: Remote(file.url, sha256(tmp_path / "multi30k" / file.name))
        for key, file in MULTI30K.items()
    }
    monkeypatch.setattr(corpora, "MULTI30K", published)
    assert load_corpus("multi30k", data_dir=tmp_path).as_published is True


def test_what_published_files_share_goes_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = multi30k_folder(tmp_path / "multi30k")
    for side in ("de", "en"):
        train, test = (
            folder / f"{name}.{side}.gz" for name in ("train", "test_2016_flickr")
        )
        lines = gzip.decompress(train.read_bytes()) + gzip.decompress(test.read_bytes())
        train.write_bytes(gzip.compress(lines))
    settings = DataConfig(corpora=("multi30k",), vocab_size=300)
    with pytest.raises(
        CorpusError, match=r"multi30k: the test shares .*--drop-duplicates"
    ):
        prepare(settings, tmp_path / "out", data_dir=tmp_path)
    published = {
        key: Remote(file.url, sha256(tmp_path / "multi30k" / file.name))
        for key, file in MULTI30K.items()
    }
    monkeypatch.setattr(corpora, "MULTI30K", published)
    made = prepare(settings, tmp_path / "out", data_dir=tmp_path)
    assert made.stats["counts"]["multi30k"]["dropped"]["in valid or test"] == 3


def test_multi30k_is_downloaded_with_its_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = multi30k_folder(tmp_path / "remote")
    asked = {}

    def deliver(url: str, path: Path, *, expected: str) -> Path:
        asked[url] = expected
        return folder / path.name

    monkeypatch.setattr(corpora, "download", deliver)
    assert load_corpus("multi30k").splits["valid"][0] == (
        "Ein valid de 0.",
        "Ein valid en 0.",
    )
    assert asked == {file.url: file.sha256 for file in MULTI30K.values()}
    assert all(len(digest) == 64 for digest in asked.values())
    assert all(url.startswith("https://") for url in asked)


def test_without_internet_it_says_what_to_do() -> None:
    with pytest.raises(
        DownloadError, match=r"into DIR/multi30k/ and give --data-dir DIR"
    ):
        load_corpus("multi30k")


def test_a_folder_without_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        CorpusError, match=r"tatoeba: expected a file .*deu-eng\.tsv.* found none"
    ):
        load_corpus("tatoeba", data_dir=tmp_path)
    with pytest.raises(CorpusError, match="expected a folder with corpora, found none"):
        load_corpus("tatoeba", data_dir=tmp_path / "nowhere")
    monkeypatch.setenv("TRANSLATOR_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(CorpusError, match="elsewhere: expected a folder"):
        load_corpus("multi30k")
    assert local_folder(tmp_path) == tmp_path  # the argument comes first


def test_the_environment_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "tatoeba" / "deu-eng.tsv", "Geh.\tGo.\n")
    monkeypatch.setenv("TRANSLATOR_DATA", str(tmp_path))
    assert load_corpus("tatoeba").pairs == [("Geh.", "Go.")]


GERMAN = [
    f"Der alte Mann hat gestern {n} Bücher in der Stadt gekauft." for n in range(30)
]
SHORT = (
    ["Der Hund schläft.", "Ich mag das nicht.", "Komm bitte herein."] * 20,
    ["The dog is asleep.", "I do not like it.", "Please come inside."] * 20,
)
LONG = (
    [" ".join(GERMAN[:6])],
    [" ".join(f"The old man bought {n} books in the town." for n in range(6))],
)
ENGLISH = [f"The old man bought {n} books in the town yesterday." for n in range(30)]


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ((GERMAN, ENGLISH), None),
        ((ENGLISH, GERMAN), "exchange the columns, or the two files"),
        (
            (GERMAN, [line.replace("alte", "junge") for line in GERMAN]),
            "German on both",
        ),
        (
            (ENGLISH, [line.replace("old", "young") for line in ENGLISH]),
            "English on both",
        ),
        ((ENGLISH[:4], GERMAN[:4]), None),  # too few words to say
        ((ENGLISH[:6], GERMAN[:6]), "exchange the columns, or the two files"),
        ((GERMAN[:6], GERMAN[1:7]), "German on both"),
        ((GERMAN[:5] + ENGLISH[:1], ENGLISH[:5] + GERMAN[:1]), None),
        ((LONG[1] * 2, LONG[0] * 2), "exchange the columns"),
        ((LONG[1], LONG[0]), None),  # one text
        ((SHORT[1][:30], SHORT[0][:30]), "exchange the columns"),
        ((["Hallo Tom"] * 30, ["Hello Tom"] * 30), None),
        ((SHORT[1], SHORT[0]), "exchange the columns"),
        (SHORT, None),
        (
            (GERMAN * 9 + ENGLISH, ENGLISH * 9 + GERMAN),
            "in (8|9|1.)% of the pairs that were looked at, such as 'The old man bought ",
        ),
        (
            (
                [text for pair in zip(GERMAN, ENGLISH, strict=True) for text in pair],
                [text for pair in zip(ENGLISH, GERMAN, strict=True) for text in pair],
            ),
            "in 50% of the pairs .*: exchange the sides of these, or leave them out",
        ),
        (  # neighbours are read together, and each is the other way round
            (
                [text for rows in zip(*SHORT, strict=True) for text in rows] * 2,
                [text for rows in zip(*SHORT[::-1], strict=True) for text in rows] * 2,
            ),
            "in [45].% of the pairs",
        ),
    ],
)
def test_sides_that_are_exchanged_or_in_one_language_are_named(sides, message):
    pairs = list(zip(*sides, strict=True))
    if message is None:
        check_languages("pairs", pairs)
        return
    with pytest.raises(CorpusError, match=f"pairs: .*{message}.*--any-languages"):
        check_languages("pairs", pairs)


def test_a_few_exchanged_pairs_are_said_with_the_first_line(tmp_path):
    """Two in a hundred are too few to refuse a file, and enough to teach a model English."""
    german = [f"Der Mann hat {n} alte Bücher und kein Geld." for n in range(300)]
    english = [f"The man has {n} old books and no money." for n in range(300)]
    rows = {40, 41, 90, 160, 222, 299}
    pairs = [
        (e, g) if n in rows else (g, e)
        for n, (g, e) in enumerate(zip(german, english, strict=True))
    ]
    check_languages("pairs", pairs)
    assert set(exchanged_rows(pairs)) == rows
    path = write(tmp_path / "pairs.tsv", "\n".join(map("\t".join, pairs)))
    settings = DataConfig(corpora=(f"tsv:{path}",), valid=2, test=2, vocab_size=300)
    told: list[str] = []
    prepare(settings, tmp_path / "out", say=told.append)
    (line,) = [line for line in told if "English stands before German" in line]
    assert line.startswith("pairs: ")
    assert "6 of 300 pairs, the first in line 41: 'The man has 40 old books" in line
    told.clear()
    prepare(settings, tmp_path / "other", say=told.append, any_languages=True)
    assert not any("English stands" in line for line in told)


@pytest.mark.parametrize(
    "pair",
    [
        ("Hallo Tom!", "Hello Tom!"),  # no small word
        ("Die Beatles singen 'I want you'.", "The Beatles are singing."),
        ("Was war das?", "What was that?"),
        ("He is here.", "He is here."),
        ("Er sagt: The end is near.", "Er sagt, das Ende ist nah."),
    ],
)
def test_what_is_said_to_be_exchanged_is(pair):
    assert exchanged_rows([pair]) == []


def test_prepare_looks_at_languages_and_files(tmp_path):
    swapped, again = tmp_path / "swapped.tsv", tmp_path / "again.tsv"
    for path in (swapped, again):
        lines = map("\t".join, zip(ENGLISH, GERMAN, strict=True))
        path.write_text("\n".join(lines), encoding="utf-8")
    settings = DataConfig(
        corpora=(f"tsv:{swapped}",), valid=2, test=2, vocab_size=300, group_by="exact"
    )
    with pytest.raises(CorpusError, match="swapped: expected German before English"):
        prepare(settings, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    prepare(settings, tmp_path / "out", any_languages=True)
    twice = dataclasses.replace(settings, corpora=(f"tsv:{swapped}", f"tsv:{again}"))
    with pytest.raises(
        CorpusError, match=r"again.tsv has the same contents as swapped"
    ):
        prepare(twice, tmp_path / "out2", any_languages=True)
    with pytest.raises(CorpusError, match="give the file of the other language"):
        load_corpus(f"text:{swapped},{again}")
