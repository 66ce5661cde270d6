"""Measures and prices: what is read in words, and what is copied."""

from __future__ import annotations

import pytest

from translator.text.numbers import digits_of, with_english_measures
from translator.text.units import (
    MEASURE,
    PORTION,
    with_euros,
    with_right_units,
    written_out,
)


def test_euros_are_a_word() -> None:
    text = "4€, 7,50 €, € 9,99 und 1.249,00 EUR in EUROPA"
    assert with_euros(text) == (
        "4 Euro, 7,50 Euro, 9,99 Euro und 1.249,00 Euro in EUROPA"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Obst, z. B. und z.B. das", "Obst, zum Beispiel und zum Beispiel das"),
        ("Brot usw.", "Brot und so weiter."),
        ("Brot usw. kaufen", "Brot und so weiter kaufen"),
        ("max. 60 kg, 20 m² und 5m", "höchstens 60 Kilo, 20 m² und 5 Meter"),
        ("Das dauert 90 Min.", "Das dauert 90 Minuten."),
        ("mit 180 km/h bei 35 °C", "mit 180 Kilometer pro Stunde bei 35 Grad Celsius"),
        ("Die Bahnhofstr. ist da.", "Die Bahnhofstraße ist da."),
        ("Bahnhofstr. 5", "Bahnhofstr. 5"),
        (
            "max.muster@example.org, 5 m/s, 3 mal",
            "max.muster@example.org, 5 m/s, 3 mal",
        ),
    ],
)
def test_units_and_abbreviations_in_words(text: str, expected: str) -> None:
    assert written_out(text) == expected


@pytest.mark.parametrize(
    ("sentence", "translation", "expected"),
    [
        ("Noch 120 Kilometer.", "120 miles more.", "120 kilometers more."),
        ("Es wiegt 2,5 Kilo.", "It weighs 2.5 pounds.", "It weighs 2.5 kilograms."),
        ("10.000 Meter", "10,000 feet", "10,000 meters"),
        ("Noch 5 Kilometer.", "3 miles more.", "3 miles more."),  # converted
        ("Noch 5 Meilen.", "5 miles more.", "5 miles more."),
    ],
)
def test_units_that_the_training_exchanged(
    sentence: str, translation: str, expected: str
) -> None:
    assert with_right_units(sentence, translation) == expected


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("75 m² und 20 m³, 2.400 kWh im Jahr", ["75 m²", "20 m³", "2.400 kWh"]),
        ("(3,7 V, 2500 mAh, 10 µm)", ["3,7 V", "2500 mAh", "10 µm"]),
        ("140/85 mmHg, 5 mg/l und 850 €/m²", ["140/85 mmHg", "5 mg/l", "850 €/m²"]),
        (
            "150ml, 2-3 GB, -5 mm, 12 000 kWh",
            ["150ml", "2-3 GB", "-5 mm", "12 000 kWh"],
        ),
        # Read in words, or none.
        ("5 m, 3 kg, 20 °C, 130 km/h, 12 Nächte, 3 Vögel, Gleis 5 A", []),
    ],
)
def test_measures_that_are_copied(text: str, measures: list[str]) -> None:
    assert MEASURE.findall(text) == measures


@pytest.mark.parametrize(
    ("text", "portion"),
    [
        ("250 g Mehl", "250 g "),
        ("1,5 kg rote Äpfel", "1,5 kg "),
        ("2 EL Öl", "2 EL "),
        ("5 m ist es breit", None),
        ("3 Eier", None),
    ],
)
def test_what_an_ingredient_begins_with(text: str, portion: str | None) -> None:
    found = PORTION.match(text)
    assert (found[0] if found else None) == portion


def test_measures_in_english() -> None:
    text = "3,7 V, 1.299,50 €, 31,5 °C; 3,14 und 12.05.2024"
    english = "3.7 V, 1,299.50 €, 31.5 °C; 3,14 und 12.05.2024"
    assert with_english_measures(text) == english
    assert digits_of("2.400 kWh und 12 Euro") == ["12", "2.400"]
