"""What a training knew: words, usual spelling, names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.decoding.lexicon import LEXICON, Lexicon, LexiconError

PAIRS = [
    ("Der Hund schläft.", "The dog sleeps."),
    ("Tom hat Hunger.", "Tom is hungry."),
    ("Ein Hund sieht Tom.", "A dog sees Tom."),
    ("Wohnt Mary in der Straße?", "Does Mary live in the street?"),
]


@pytest.fixture
def lexicon() -> Lexicon:
    return Lexicon.learn(PAIRS, longest=9)


def test_names_are_the_words_that_translations_copy(lexicon: Lexicon) -> None:
    assert lexicon.names == ("Tom", "Mary")
    assert not lexicon.is_name("Hund")


def test_words_are_known_in_any_spelling(lexicon: Lexicon) -> None:
    for word in ("hund", "HUND", "Hund", "STRASSE", "Straße"):
        assert lexicon.knows(word), word
    assert not lexicon.knows("Katze")
    assert lexicon.share_known("Der Katze, 3 Hund!") == pytest.approx(2 / 4)
    assert lexicon.share_known("…") == 1


def test_endings_and_compounds_make_no_name(lexicon: Lexicon) -> None:
    for word in ("Hundestraße", "Hundstraße", "Hungersstrasse", "Hunden", "Hunds"):
        assert lexicon.is_derived(word), word
    for word in ("Hannelore", "Hundke", "Straßburg", "Den"):
        assert not lexicon.is_derived(word), word


def test_capitals_become_usual_spelling(lexicon: Lexicon) -> None:
    shouted = "WOHNT DER HUND IN DER STRASSE? „HANNELORE WOHNT.“"
    usual = "Wohnt der Hund in der Straße? „Hannelore wohnt.“"
    assert lexicon.with_usual_case(shouted) == usual
    assert lexicon.with_usual_case("der hund schläft.") == "Der Hund schläft."


def test_addresses_keep_their_spelling(lexicon: Lexicon) -> None:
    for line in (
        "max.hund@example.org",
        "Schreib max@example.org",
        "www.example.org/x",
    ):
        assert lexicon.with_usual_case(line) == line
    assert lexicon.with_usual_case("x: a@b.de") == "X: a@b.de"


def test_what_is_saved_is_what_is_read(lexicon: Lexicon, tmp_path: Path) -> None:
    assert Lexicon.load(tmp_path) is None
    lexicon.save(tmp_path)
    assert Lexicon.load(tmp_path) == lexicon
    text = (tmp_path / LEXICON).read_text(encoding="utf-8")
    for damaged in (
        text[:-20],
        "[]",
        "{}",
        '{"longest": "x", "words": [], "names": []}',
    ):
        (tmp_path / LEXICON).write_text(damaged, encoding="utf-8")
        with pytest.raises(
            LexiconError, match=r"lexicon\.json: damaged.*export --data"
        ):
            Lexicon.load(tmp_path)


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=5))
def test_any_text_can_be_learned_from(pairs: list[tuple[str, str]]) -> None:
    lexicon = Lexicon.learn(pairs, longest=1)
    for source, _ in pairs:
        assert lexicon.share_known(source) == 1


@pytest.fixture
def with_umlauts() -> Lexicon:
    """Of a training that had words with umlauts and ß, and Schlegel as a name."""
    text = (
        "die Tür für den Äpfel hören müssen die schöne Straße ich weiß dass die Masse"
        " neue Müller nicht Küche Köln Frau Herr"
    )
    return Lexicon.learn([(f"Wo {text}", "Where")], longest=9)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Wir muessen fuer die Aepfel an die Tuer.",
            "Wir müssen für die Äpfel an die Tür.",
        ),
        ("Die Strasse? Ich weiss, daß.", "Die Straße? Ich weiß, dass."),
        ("Die Kuechenmasse", "Die Küchenmasse"),
        ("Wir horen fur dich.", "Wir hören für dich."),
        # A keyboard that has umlauts does not leave them out.
        ("Wir hören fur dich.", "Wir hören fur dich."),
        ("Das ist NICHT neu, EU.", "Das ist nicht neu, EU."),
    ],
)
def test_umlauts_and_sz_that_a_keyboard_lacks(
    line: str, expected: str, with_umlauts: Lexicon
) -> None:
    assert with_umlauts.with_usual_letters(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Frau Mueller, Herr Strasse",
        "Ich kenne Schoene gut.",
        "Joergs neue Maße",
        "fuer@strasse.de, www.fuer.de, strasse.de, #fuer, C:\\Strasse, `fuer`",
        "Poesie, Duell, Zuerich",
    ],
)
def test_names_addresses_and_known_words_keep_their_letters(
    line: str, with_umlauts: Lexicon
) -> None:
    assert with_umlauts.with_usual_letters(line) == line


def test_capitals_without_umlauts_become_usual_spelling(with_umlauts: Lexicon) -> None:
    usual = "Müssen für die Straße hören"
    assert with_umlauts.with_usual_case("MUESSEN FUER DIE STRASSE HOREN") == usual
