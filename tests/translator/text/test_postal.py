"""Addresses, codes and prices: what is copied sign by sign, and what is none of these."""

from __future__ import annotations

import pytest

from translator.text.postal import (
    ADDRESS_LINE,
    COPIED,
    without_article,
)


@pytest.mark.parametrize(
    "line",
    [
        "Bahnhofstr. 27, 50667 Köln",
        "Goethestraße 112a, 04109 Leipzig",
        "Friedrichstraße 43-45, 10117 Berlin",
        "Berliner Straße 101, 63065 Offenbach am Main",
        "Max Mustermann, Musterweg 1, 12345 Musterstadt",
        "Postfach 10 02 33, 40213 Düsseldorf",
        "Schloßstraße 128, 4. Stock, 53113 Bonn",
        "Unter den Linden 77, 10117 Berlin",
        "D-28195 Bremen, Obernstraße 30",
    ],
)
def test_a_line_that_is_an_address(line: str) -> None:
    assert ADDRESS_LINE.fullmatch(line)


@pytest.mark.parametrize(
    "line",
    [
        "Unsere Adresse ist Rosenweg 7, 22767 Hamburg",
        "Im Jahr 1945, 10969 Menschen",
        "Ich habe 3, 12345 Leute haben 4",
        "Berlin",
        "Kapitel 3",
    ],
)
def test_a_line_with_words_to_translate_is_none(line: str) -> None:
    assert not ADDRESS_LINE.fullmatch(line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sie wohnt am Lerchenweg 36 in 44135 Dortmund.", 0),
        ("Tel. 089/55 66 77 88", "089/55 66 77 88"),
        ("unter +49 (0)40 987654-21 oder", "+49 (0)40 987654-21"),
        ("Konto DE02120300000000202051.", "DE02120300000000202051"),
        ("DE75 5121 0800 1245 1261 99", "DE75 5121 0800 1245 1261 99"),
        ("Kennzeichen B-AB 1234.", "B-AB 1234"),
        ("Nummer 8839 2210 4471.", "8839 2210 4471"),
        ("12 345 678 Menschen, 12 000 Euro", None),
        ("Sitzplatz 14, Parkplatz 5, Platz 3", None),
        ("0,5 Liter, 04109 Leipzig, 10000 Euro", None),
        ("von 1914 bis 1918, 15.03.2024, 18:30 Uhr", None),
    ],
)
def test_what_is_copied(text: str, expected: str | int | None) -> None:
    expected = "Lerchenweg 36 in 44135 Dortmund" if expected == 0 else expected
    assert [m[0] for m in COPIED.finditer(text)] == ([expected] if expected else [])


def test_a_place_has_no_article() -> None:
    assert without_article("Ich wohne in der ") == "Ich wohne in "
    assert without_article("Ich wohne oder ") == "Ich wohne oder "
