"""Phrases that have one translation: found where they are, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.text.letters import (
    ADDRESSEES,
    GREETINGS,
    LABELS,
    rephrased,
    split_phrase,
    with_right_phrases,
)

NAMES = {"Tom", "Anna", "Hamburg", "Klein"}
PHRASES = {
    "Sehr geehrte Damen und Herren,": ("Dear Sir or Madam", ","),
    "Sehr geehrte Frau Dr. Klein, sehr geehrter Herr Groß,": (
        "Dear Dr. Klein, dear Mr. Groß",
        ",",
    ),
    "Liebe Anna, wie geht es dir?": ("Dear Anna", ", wie geht es dir?"),
    "Lieber Tom!": ("Dear Tom", "!"),
    "Liebe Anna und Tom,": ("Dear Anna and Tom", ","),
    "  Liebe Kolleginnen und Kollegen,": ("  Dear colleagues", ","),
    "Viele Grüße": ("Best wishes", ""),
    "Viele Grüße, deine Anna": ("Best wishes, yours, Anna", ""),
    "Herzliche Grüße aus Köln.": ("Warm regards from Cologne", "."),
    "Deine Anna": ("Yours, Anna", ""),
    "Anna Klein": ("Anna Klein", ""),
    "Liebe Grüße aus Hamburg, Tom": ("Best wishes from Hamburg, Tom", ""),
    "Gute Besserung!": ("Get well soon", "!"),
    "Hinweis: Bitte klingeln.": ("Note", ": Bitte klingeln."),
    "ACHTUNG: GLATTEIS": ("ATTENTION", ": GLATTEIS"),
    "Berlin, den 3. Mai 2024": ("Berlin, May 3, 2024", ""),
    "Haus, den 3. Mai 2024": ("", "Haus, den 3. Mai 2024"),
    "Hamburg, den 03. Mai 2024": ("Hamburg, May 3, 2024", ""),
    "Montag, 3. Mai": ("Monday, May 3", ""),
}
WORDS = (
    *LABELS,
    *GREETINGS,
    *ADDRESSEES,
    *("Liebe", "Sehr", "geehrter", "Frau", "Dr.", "Tom", "deine", "Haus"),
    *(",", ":", "!", "und", "aus", "3. Mai"),
)
SENTENCES = (
    "Lieber Tom als Anna.",
    "Liebe ist schön.",
    "Liebe Frau, komm her.",
    "Lieber Hund,",
    "Deine Mutter",
    "Deine Anna ist hier.",
    "Viele Grüße an alle",
    "Er grüßt: Guten Tag.",
    "Hinweis der Woche: keiner",
    "Am 3. Mai 2024 kam sie.",
    "",
)


@pytest.mark.parametrize(("text", "expected"), PHRASES.items())
def test_phrases_are_split_off(text: str, expected: tuple[str, str]) -> None:
    """Their translation, and what follows; "Haus" is no place."""
    length, phrase = split_phrase(text, NAMES.__contains__)
    assert (phrase, text[length:]) == expected


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_no_phrases(text: str) -> None:
    """What only begins like a phrase is the model's."""
    assert split_phrase(text, NAMES.__contains__) == (0, "")


@given(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.booleans(),
)
def test_what_follows_is_whole(text: str, known: bool) -> None:
    """A phrase ends inside its text, and a translation comes with a length."""
    length, phrase = split_phrase(text, lambda _: known)
    assert 0 <= length <= len(text)
    assert bool(length) == bool(phrase)
    assert phrase == phrase.rstrip()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ab heute rauche ich nicht.", "Von heute an rauche ich nicht."),
        ("Ich bin ab Montag da.", "Ich bin von Montag an da."),
        ("Ich bin ab Montag um acht da.", "Ich bin ab Montag um acht da."),
        ("Klar, wann?", "Natürlich, wann?"),
        ("Sie ist noch beim Zahnarzt.", "Sie ist noch bei dem Zahnarzt."),
        ("Sie ist beim Essen.", "Sie ist beim Essen."),
        ("Kann ich mit Karte bezahlen?", "Kann ich mit Kreditkarte bezahlen?"),
    ],
)
def test_what_the_training_has_in_other_words(sentence: str, expected: str) -> None:
    """The usual words, and nothing else."""
    assert rephrased(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "translation", "expected"),
    [
        ("Am Wochenende?", "On weekends?", "On weekends?"),
        ("Was tust du am Wochenende?", "What on weekends?", "What on the weekend?"),
        ("An Wochenenden?", "What on weekends?", "What on weekends?"),
        ("", "A 8-year-old and a 180", "An 8-year-old and a 180"),
        ("", "a 11th, a 80 and a 1,100", "an 11th, an 80 and a 1,100"),
        (
            "Es war einmal ein Wolf.",
            "It was once a wolf.",
            "Once upon a time there was a wolf.",
        ),
    ],
)
def test_what_a_translation_should_say(
    sentence: str, translation: str, expected: str
) -> None:
    """Where the sentence asks for it."""
    assert with_right_phrases(sentence, translation) == expected
