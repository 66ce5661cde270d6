"""Clock times in words and dates: read in digits, written as English writes them."""

from __future__ import annotations

import pytest

from translator.text.dates import with_digital_times, with_right_times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Film beginnt um halb neun.", "Der Film beginnt um 8:30."),
        ("Halb eins ist zu früh.", "12:30 ist zu früh."),
        ("Es ist dreiviertel acht.", "Es ist 7:45."),
        ("Um Viertel vor eins Uhr.", "Um 12:45."),
        ("Komm um viertel nach zwölf.", "Komm um 12:15."),
        ("Um halb acht Feierabend!", "Um halb acht Feierabend!"),
        ("Ich habe um halb acht Feierabend.", "Ich habe um 7:30 Feierabend."),
        ("Das sind ein halb zwei.", "Das sind ein halb zwei."),
        ("Nimm halb zwei Liter.", "Nimm halb zwei Liter."),
        ("Bis 17 Uhr ist Zeit.", "Bis 17 Uhr ist Zeit."),
        ("Wir haben bis 17 Uhr Zeit.", "Wir haben bis 17:00 Uhr Zeit."),
        ("Wir haben bis 17 Uhr 30 Zeit.", "Wir haben bis 17 Uhr 30 Zeit."),
        ("Er kommt um 9 Uhr.", "Er kommt um 9 Uhr."),
    ],
)
def test_times_that_are_read_in_digits(text: str, expected: str) -> None:
    """What only looks like a time stays, and so does an hour where a sentence begins."""
    assert with_digital_times(text) == expected


@pytest.mark.parametrize(
    ("sentence", "translation", "expected"),
    [
        ("um 19:00 Uhr", "at 19:00 p.m.", "at 19:00"),
        ("um 14:00 Uhr", "at 2:00 a.m.", "at 2:00 p.m."),
        ("um 14 Uhr", "at 2 a.m.", "at 2 p.m."),
        ("um 2 Uhr", "at 2 a.m.", "at 2 a.m."),
        ("bis 12. Mai", "to 12. May", "to May 12"),
        ("am 14. Mai", "on May 14. May", "on May 14"),
        ("im Mai", "12. May", "12. May"),
    ],
)
def test_times_of_a_translation(sentence: str, translation: str, expected: str) -> None:
    """The afternoon is p.m., and only a date of the sentence's own is turned."""
    assert with_right_times(sentence, translation) == expected
