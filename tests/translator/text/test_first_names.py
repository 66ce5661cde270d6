"""First names: no doubles, no nouns; names in apposition, with commas and without."""

from __future__ import annotations

import pytest

from translator.text.first_names import (
    ENGLISH,
    FIRST_NAMES,
    MEN,
    WOMEN,
    with_commas,
    without_commas,
)


def test_a_name_is_a_woman_s_or_a_man_s() -> None:
    assert not WOMEN & MEN
    assert set(ENGLISH) <= FIRST_NAMES
    nouns = {"Ernst", "Heide", "Kai", "Mark", "Roman", "Rose", "Wolf"}
    assert not FIRST_NAMES & nouns


@pytest.mark.parametrize(
    ("text", "expected", "names"),
    [
        ("Mein Bruder Thomas geht.", "Mein Bruder, Thomas, geht.", ["Thomas"]),
        ("Das ist für meine Tochter Eva.", None, ["Eva"]),
        ("Ich ging mit unserem Onkel Hans heim.", None, ["Hans"]),
        ("Gestern hat mein Vater Tom gesehen.", None, []),  # whom he saw
        ("Meine Mutter Tom geben.", None, []),
        ("Mein Bruder Thomas Mann geht.", None, []),  # a surname follows
        ("Der Bruder Thomas geht.", None, []),
    ],
)
def test_apposition(text: str, expected: str | None, names: list[str]) -> None:
    marked, found = with_commas(text)
    assert found == names
    assert expected in (None, marked)
    assert without_commas(marked, names) == text
    assert (marked == text) == (not names)


def test_commas_go_from_the_translation() -> None:
    assert without_commas("My uncle, John, is here.", ["Johannes"]) == (
        "My uncle John is here."
    )
    assert without_commas("Well, Eva, this is Tom, no?", ["Tom"]) == (
        "Well, Eva, this is Tom, no?"
    )
