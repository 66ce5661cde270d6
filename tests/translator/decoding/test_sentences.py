"""Text cut into sentences and clauses: in the right places, and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.decoding.copying import is_verbatim
from translator.decoding.lexicon import Lexicon
from translator.decoding.sentences import _sentences, is_heading, split_heading
from translator.text.splitting import split_clauses, split_sentences

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


@given(TEXTS)
def test_the_parts_of_a_heading_joined_are_the_line(text: str) -> None:
    parts = split_heading(text, is_verbatim)
    assert "".join(parts) == text
    assert all(parts) or parts == [""]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Kapitel 3", ["Kapitel", " 3"]),
        ("Anhang A", ["Anhang", " A"]),
        ("Abbildung 2: Das Haus", ["Abbildung", " 2: ", "Das Haus"]),
        ("1. Einleitung", ["1. ", "Einleitung"]),
        ("2.1 Kapitel 4", ["2.1 ", "Kapitel", " 4"]),
        ("Telefon: 030 1234567", ["Telefon", ": 030 1234567"]),
        ("IBAN: DE89 3704 0044 0532", ["IBAN", ": DE89 3704 0044 0532"]),
        ("1. Mai 2024", ["1. Mai 2024"]),
        ("Seite 3.", ["Seite 3."]),
        ("Er hat 3", ["Er hat 3"]),
        ("Er sagte: Nein", ["Er sagte: Nein"]),
    ],
)
def test_where_headings_are_cut(line: str, expected: list[str]) -> None:
    assert split_heading(line, is_verbatim) == expected


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Haus", True),
        ("Fragen und Antworten", True),
        ("Erste Schritte", True),
        ("Ende der Reise", True),
        ("Das Haus", False),
        ("Verboten", False),  # the training had it small
        ("Tom", False),
        ("Eva und Haus", False),
        ("Kinder spielen", False),
        ("Haus Hof Garten Hund", False),
        ("", False),
    ],
)
def test_what_is_a_heading(text: str, heading: bool) -> None:
    words = ("Haus", "Ende", "Kinder", "fragen", "erste", "verboten")
    assert is_heading(text, Lexicon(20, words, ("Tom",))) == heading
    assert not is_heading(text, None)


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
        ("Ich war beim Arzt.Er half mir.", 2),
        ("Frag Prof.Weber oder nimm Node.Js dafür.", 1),
        ("Bitte rufen Sie Hrn. Weber an.", 1),
        ("[ ] Brot kaufen", 2),
        ("Siehe https://example.org/ab?Wort=1 nach.", 1),
        ("Hallo", 1),
        ("", 0),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count, split_sentences(text)


def test_a_label_is_cut_from_what_it_names() -> None:
    lexicon = Lexicon(20, ("Betreff", "Haus"), ("Tom",))
    for line, expected in (
        ("Betreff: Ihr Haus", ["Betreff", ": ", "Ihr Haus"]),
        ("Er sagte: Nein", ["Er sagte: Nein"]),
        ("Tom: Ihr Haus", ["Tom: ", "Ihr Haus"]),
        ("TOP 1: Es regnet.", ["TOP 1: ", "Es regnet."]),
        ("2015–2019: Es regnet.", ["2015–2019: ", "Es regnet."]),
        ("Betreff: Kommen Sie?", ["Betreff", ": ", "Kommen Sie?"]),
        ("Da: Haus, Hof, Hut", ["Da", ": ", "Haus, Hof, Hut"]),
        ("§ 4 Haus", ["§ 4 ", "Haus"]),
    ):
        assert split_heading(line, is_verbatim, lexicon) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2. Warten Sie.", ["2. ", "Warten Sie."]),
        ("3. Klasse war gut.", ["3. Klasse war gut."]),
        ("3. Klasse, Haus und Hof.", ["3. ", "Klasse, Haus und Hof."]),
        ("250 g Mehl", ["250 g ", "Mehl"]),
        ("- 2 EL gute Klasse", ["- ", "2 EL ", "gute Klasse"]),
        ("5 m ist es weit.", ["5 m ist es weit."]),
        ("Klasse: 250 g Mehl, 3 Eier", ["Klasse", ": ", "250 g Mehl, 3 Eier"]),
        ("Name\tHaus\t\tHof", ["Name\t", "Haus\t\t", "Hof"]),
        ("Er kam.Sie ging weg.", ["Er kam. ", "Sie ging weg."]),
    ],
)
def test_what_a_line_is_made_of(line: str, expected: list[str]) -> None:
    lexicon = Lexicon(20, ("Klasse", "warten"), ())
    assert list(_sentences(line, lexicon)) == expected


def test_a_clause_that_is_too_long_is_cut_before_and() -> None:
    text = "Er isst viel Brot und sie trinkt etwas Tee"
    parts = split_clauses(text, lambda piece: len(piece) <= 30)
    assert parts == ["Er isst viel Brot ", "und sie trinkt etwas Tee"]


def test_a_long_sentence_is_cut_at_commas_before_it_is_cut_between_words() -> None:
    sentence = "Ich komme, wenn es regnet, weil ich dann Zeit habe."
    assert split_clauses(sentence, lambda piece: len(piece) <= 30) == [
        "Ich komme, wenn es regnet, ",
        "weil ich dann Zeit habe.",
    ]
    assert split_clauses(sentence, lambda piece: True) == [sentence]
