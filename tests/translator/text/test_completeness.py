"""Negations and enumerations: found in German, missed in English, put together from parts."""

from __future__ import annotations

import pytest

from translator.text.completeness import (
    enumeration,
    items_alone,
    lost_items,
    lost_negation,
    pairs_of_items,
    with_all_items,
)

ANIMALS = "Wir sehen Löwen, Affen, Bären, Pinguine und Giraffen."


@pytest.mark.parametrize(
    ("sentence", "translation", "lost"),
    [
        ("Tom hatte nicht ganz unrecht.", "Tom was wrong.", ["nicht"]),
        ("Keinen Alkohol!", "Alcohol!", ["Keinen"]),
        ("Niemand kam.", "Nobody came.", []),
        ("Er ging ohne Hut.", "He isn't wearing a hat.", []),
        ("Nichtsdestotrotz kam er.", "He came.", []),
        ("Weder er noch sie kam.", "He and she came.", ["Weder"]),
        # One stands for all of an enumeration, two of three leave one out.
        ("Kein Tee, kein Bier, kein Saft.", "No tea, beer or juice.", []),
        ("Kein Tee, kein Bier, kein Saft.", "No tea, not beer, any juice.", ["Kein"]),
    ],
)
def test_a_negation_that_is_left_out(
    sentence: str, translation: str, lost: list[str]
) -> None:
    assert lost_negation(sentence, translation) == lost


@pytest.mark.parametrize(
    ("sentence", "items"),
    [
        (ANIMALS, ["Löwen", "Affen", "Bären", "Pinguine", "Giraffen"]),
        (
            "Sie brauchen feste Schuhe, etwas zu trinken und ein Brot.",
            ["feste Schuhe", "etwas zu trinken", "ein Brot"],
        ),
        (
            "Frau Klein, Herr Brandt und Tom kamen.",
            ["Frau Klein", "Herr Brandt", "Tom"],
        ),
        ("Er arbeitet im Büro, im Garten oder in der Küche.", 3),
        ("Wenn du hustest, niest oder gähnst, geh!", ["hustest", "niest", "gähnst"]),
        ("82 m², 3 Zimmer, Küche, Bad", ["82 m²", "3 Zimmer", "Küche", "Bad"]),
        # Clauses are no items.
        ("Leute, die Gabeln oder Stäbchen benutzen, kamen.", []),
        ("Der Film, den sich Tom und Mary ansahen, war gut.", []),
        ("Er bat um Schutz, nachdem Maria und Tom gingen.", []),
        ("Wenn er will, kommen und bleiben sie.", []),
        ("Brot und Butter", []),
    ],
)
def test_the_items_of_an_enumeration(sentence: str, items: list[str] | int) -> None:
    begin, found, end = enumeration(sentence)
    assert len(found) == items if isinstance(items, int) else found == items
    if found:
        assert sentence[begin:end].startswith(found[0])
        assert sentence[begin:end].endswith(found[-1])


@pytest.mark.parametrize(
    ("translation", "lost"),
    [
        ("We see lions, monkeys, bears, penguins, and giraffes.", 0),
        ("We see lions, monkeys and giraffes.", 2),
        ("We see lions, lions, bears, lion and giraffes.", 2),
        ("At the zoo, we see.", 4),
    ],
)
def test_items_that_a_translation_lacks(translation: str, lost: int) -> None:
    assert lost_items(ANIMALS, translation) == lost
    assert lost_items("Wir sehen Löwen.", translation) == 0


def test_what_stands_before_an_enumeration_is_no_item() -> None:
    translation = "At the zoo, bears and monkeys."
    assert lost_items("Im Zoo leben Löwen, Bären und Affen.", translation) == 1
    assert lost_items("In Rom, Wien und Paris.", "In Rome, Vienna and Paris.") == 0


def test_an_enumeration_is_put_together_from_pairs() -> None:
    assert pairs_of_items(ANIMALS) == [
        "Wir sehen Löwen und Giraffen.",
        "Wir sehen Affen und Bären.",
        "Wir sehen Pinguine und Giraffen.",
    ]
    pairs = ["lions and giraffes", "monkeys and bears", "penguins and giraffes"]
    found = with_all_items(ANIMALS, [f"We see {pair}." for pair in pairs])
    assert found == "We see lions, monkeys, bears, penguins and giraffes."
    around = [f"We see {pair} today!" for pair in pairs]
    assert with_all_items(ANIMALS, around) == found.replace(".", " today!")


@pytest.mark.parametrize(
    "pairs",
    [
        ["We see lions.", "We see monkeys and bears.", "We see some and others."],
        # Another verb, and what is no item.
        [
            "We see lions and bees.",
            "We visit monkeys and cats.",
            "We see ants and bees.",
        ],
        ["We see lions and bees.", "We see lions and cats.", "We see ants and bees."],
        ["We see lions and bees.", "We see monkeys or cats.", "We see ants and bees."],
    ],
)
def test_sentences_that_are_not_alike_are_not_put_together(pairs: list[str]) -> None:
    assert with_all_items(ANIMALS, pairs) is None


def test_items_alone() -> None:
    assert items_alone("Tee, Kaffee und Saft.") == []
    assert items_alone("Tee, Kaffee, Bier oder Saft.") == [
        ("", "Tee"),
        (", ", "Kaffee"),
        (", ", "Bier"),
        (" or ", "Saft"),
    ]
    assert items_alone(ANIMALS) == []
