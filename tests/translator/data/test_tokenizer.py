"""Byte-level BPE: every text comes back, the specials have their ids, the same every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.tokenizer import MIN_VOCAB_SIZE, SPECIALS, Tokenizer
from translator.errors import TokenizerError

TEXTS = [
    "Kannst du mir helfen, diesen Satz zu übersetzen?",
    "Der schöne Satz ist kürzer als die anderen Sätze.",
    "Can you help me to translate this sentence?",
    "The beautiful sentence is shorter than the other sentences.",
] * 5
TOKENIZER = Tokenizer.train(TEXTS, 400)
UTF8 = st.text(st.characters(exclude_categories=["Cs"]))
PIECES = st.sampled_from(
    [*SPECIALS, " ", "\n", "\x00", "\u0301", "👨\u200d👩\u200d👧", "\ufeff", "ß"]
)


@given(UTF8)
def test_any_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@given(st.lists(st.one_of(PIECES, UTF8), max_size=12).map("".join))
def test_also_specials_control_characters_marks_and_emoji_as_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(len(SPECIALS) <= i < TOKENIZER.vocab_size for i in ids)


@given(st.lists(UTF8, max_size=6))
def test_a_batch_is_its_texts_one_by_one(texts: list[str]) -> None:
    batch = TOKENIZER.encode_batch(texts)
    assert batch == [TOKENIZER.encode(text) for text in texts]
    assert TOKENIZER.decode_batch(batch) == texts


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1), max_size=30))
def test_any_ids_give_some_text_and_names(ids: list[int]) -> None:
    TOKENIZER.decode(ids).encode("utf-8")
    assert len(TOKENIZER.tokens(ids)) == len(ids)


@given(st.text(st.characters(categories=["Lu", "Ll", "Zs", "Po"])))
def test_the_readable_pieces_spell_the_text_where_characters_are_whole(
    text: str,
) -> None:
    pieces = TOKENIZER.tokens(TOKENIZER.encode(text))
    if not any(piece.startswith("<0x") for piece in pieces):
        assert "".join(pieces) == text


def test_specials_have_their_ids_and_are_left_out_of_text() -> None:
    t = TOKENIZER
    assert (t.pad_id, t.bos_id, t.eos_id, t.unk_id) == (0, 1, 2, 3)
    ids = t.encode("Ein Satz.")
    assert t.decode([t.bos_id, *ids, t.eos_id, t.pad_id, t.unk_id]) == "Ein Satz."
    assert t.tokens([0, 1, 2, 3]) == list(SPECIALS)
    assert not set(t.encode("<pad><bos><eos><unk>")) & {0, 1, 2, 3}


def test_pieces_are_learned_and_never_cross_words() -> None:
    assert TOKENIZER.tokens(TOKENIZER.encode("der schöne Satz")) == [
        "der",
        " schöne",
        " Satz",
    ]
    assert len(TOKENIZER.encode("sentence")) < len("sentence")
    assert TOKENIZER.tokens(TOKENIZER.encode("😀")) == [
        "<0xF0>",
        "<0x9F>",
        "<0x98>",
        "<0x80>",
    ]


def test_more_vocabulary_gives_shorter_sequences() -> None:
    sizes = (MIN_VOCAB_SIZE, 300, 350, 400)
    lengths = [len(Tokenizer.train(TEXTS, size).encode(TEXTS[0])) for size in sizes]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == len(sizes)
    assert lengths[0] == len(TEXTS[0].encode("utf-8"))


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    TOKENIZER.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.to_json() == TOKENIZER.to_json()
    for text in (*TEXTS[:4], "<eos> ist Text", "\x00 \u0301"):
        assert loaded.encode(text) == TOKENIZER.encode(text)
    assert [p.name for p in tmp_path.iterdir()] == ["tokenizer.json"]


def test_another_process_learns_the_same(root: Path) -> None:
    code = (
        "import json, sys; from translator.data.tokenizer import Tokenizer;"
        "print(Tokenizer.train(json.load(sys.stdin), 400).to_json())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": str(root)},
    )
    assert ran.stdout.strip() == TOKENIZER.to_json()
    assert ran.stderr == ""


def test_errors_are_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="vocab_size: expected at least 260"):
        Tokenizer.train(TEXTS, 259)
    with pytest.raises(TokenizerError, match="half a surrogate pair at character 1"):
        TOKENIZER.encode("a\ud800")
    with pytest.raises(TokenizerError, match=r"ids: expected 0 to \d+, got -1"):
        TOKENIZER.decode([-1])
    with pytest.raises(TokenizerError, match="got 400"):
        TOKENIZER.tokens([400])
    with pytest.raises(TokenizerError, match="no file"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    for content in (b"{}", b"no json", b"\xff\xfe", b'{"version": "1.0"}'):
        (tmp_path / "t.json").write_bytes(content)
        with pytest.raises(
            TokenizerError, match=r"t\.json: expected a tokenizer\.json"
        ):
            Tokenizer.load(tmp_path / "t.json")
    other = json.loads(TOKENIZER.to_json())
    swap = {0: 1, 1: 0}
    for token in other["added_tokens"]:
        token["id"] = swap.get(token["id"], token["id"])
    vocab = other["model"]["vocab"]
    vocab["<pad>"], vocab["<bos>"] = 1, 0
    with pytest.raises(TokenizerError, match="expected <pad> to have the id 0, got 1"):
        Tokenizer.from_json(json.dumps(other))
