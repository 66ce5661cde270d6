"""Phrases that have one translation: found where they are, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.text.letters import ADDRESSEES, GREETINGS, LABELS, split_phrase

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
    "Hinweis: Bitte klingeln.": ("Note", ": Bitte klingeln."),
    "ACHTUNG: GLATTEIS": ("ATTENTION", ": GLATTEIS"),
    "Berlin, den 3. Mai 2024": ("", "Berlin, den 3. Mai 2024"),
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
    """Their translation, and what follows; Berlin is no name here."""
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
