"""Text cut into sentences and clauses: in the right places, and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.decoding.sentences import split_clauses, split_sentences

#: What makes cutting hard, beside ordinary words.
PARTS = st.sampled_from(
    [
        *[
            "Wort",
            "wort",
            "z. B.",
            "3.",
            "12",
            ".",
            "!",
            "?!",
            "…",
            ",",
            ";",
            " – ",
            "(",
            ")",
            "„",
            "“",
            '"',
            "é",
            "😀",
            "Dr.",
            "a",
            " ",
            "  ",
            "\t",
            "\xa0",
            "\u2028",
        ]
    ]
)
TEXTS = st.lists(PARTS, max_size=30).map("".join) | st.text(max_size=60)


@given(TEXTS)
def test_the_sentences_joined_are_the_text(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentences) == text
    assert all(sentences)


@given(TEXTS, st.integers(1, 20))
def test_the_clauses_joined_are_the_sentence_and_fit(text: str, limit: int) -> None:
    pieces = split_clauses(text, lambda piece: len(piece) <= limit)
    assert "".join(pieces) == text
    for piece in pieces:
        assert len(piece) <= limit or len(piece.split()) <= 1, piece


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Das ist gut. Das ist schlecht.", 2),
        ("Wirklich? Ja! Und du?", 3),
        ("Ich habe am 3. Mai Zeit.", 1),
        ("Dr. Weber wohnt z. B. in Ulm.", 1),
        ("Das kostet ca. 3 Euro.", 1),
        ("Er wurde 1990 geboren. 1991 zog er um.", 2),
        ("„Komm!“ rief er.", 1),
        ("„Ich gehe.“ „Ich auch.“", 2),
        ("„Nein, danke. Ich muss gehen.“", 1),
        ('"Nein. Ich muss gehen." Sie ging.', 2),
        ("„Ja?“ – „Ja!“", 1),
        ("„Er kam. Sie ging. Das war alles.", 3),
        ("Ich weiß nicht … vielleicht morgen.", 1),
        ("Er kam (spät.) Sie ging.", 2),
        ("- Milch kaufen. Brot kaufen.", 3),
        ("a) Milch und b) Brot", 2),
        ("Kommst du?Ja!", 2),
        ("Siehe https://example.org/ab?Wort=1 nach.", 1),
        ("Hallo", 1),
        ("", 0),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count, split_sentences(text)


def test_a_long_sentence_is_cut_at_commas_before_it_is_cut_between_words() -> None:
    sentence = "Ich komme, wenn es regnet, weil ich dann Zeit habe."
    assert split_clauses(sentence, lambda piece: len(piece) <= 30) == [
        "Ich komme, wenn es regnet, ",
        "weil ich dann Zeit habe.",
    ]
    assert split_clauses(sentence, lambda piece: True) == [sentence]
