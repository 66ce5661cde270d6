"""Quotation marks, brackets, numbers and first letters around a translation."""

from __future__ import annotations

import pytest

from translator.text import marks


@pytest.mark.parametrize(
    ("numbers", "translation", "expected"),
    [
        (["1.299,99"], "It costs 1.299,99 euros.", "It costs 1,299.99 euros."),
        (["83.245", "3,5"], "83.245, 3,5 and 13,5", "83,245, 3.5 and 13,5"),
        (["60 000"], "60 000 sheep", "60,000 sheep"),
        (["-5,5"], "It is -5,5 degrees.", "It is -5.5 degrees."),
        (["12.04.2024", "2.30"], "12.04.2024 at 2.30", "12.04.2024 at 2.30"),
        (
            ["12,000", "192.168.100.200"],
            "12,000, 192.168.100.200",
            "12,000, 192.168.100.200",
        ),
    ],
)
def test_numbers_as_english_writes_them(
    numbers: list[str], translation: str, expected: str
) -> None:
    assert marks.with_english_numbers(translation, numbers) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("»Ja«, rief er.", "„Ja“, rief er."),
        ('Er sagte "nein".', "Er sagte „nein“."),
        ("« Oui » heißt „Ja“.", "„Oui“ heißt „Ja“."),
        ("Hast du ‚Momo‘ gelesen?", "Hast du „Momo“ gelesen?"),
        ("„Was heißt ‚jung‘?“", "„Was heißt ‚jung‘?“"),
        ('Ein Brett von 5" und 6"', 'Ein Brett von 5" und 6"'),
    ],
)
def test_other_quotation_marks(text: str, expected: str) -> None:
    assert marks.with_usual_quotes(text) == expected


def test_a_quotation_is_not_closed_twice() -> None:
    sentence, translation = (
        "„Warum“, fragte sie, „lügst du?“",
        '"Why she, "Do you lie?"',
    )
    assert marks.with_closing_mark(sentence, translation) == translation
    assert marks.with_closing_mark("„Ja.“", '"Yes.') == '"Yes."'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Liebe Frau Weber,", ("Liebe Frau Weber", ",")),
        ("Wenn ich wüsste …", ("Wenn ich wüsste", " …")),
        ("Warte...", ("Warte", "...")),
        ("Ein-", ("Ein-", "")),
        ("Ja.", ("Ja.", "")),
    ],
)
def test_marks_that_end_no_sentence(text: str, parts: tuple[str, str]) -> None:
    assert marks.split_trailing(text) == parts


@pytest.mark.parametrize(
    ("text", "without", "inside"),
    [
        ("Er ist (leider) da.", "Er ist da.", ["leider"]),
        ("Sie (24) und er [25].", "Sie und er.", ["24", "25"]),
        ("(Das ist alles.)", "", ["Das ist alles."]),
        ("Kolleg(inn)en", "Kolleg(inn)en", []),
        ("Ja :)", "Ja :)", []),
    ],
)
def test_what_stands_in_brackets(text: str, without: str, inside: list[str]) -> None:
    bare, found = marks.split_brackets(text)
    assert (bare, [one for _, one, _ in found]) == (without, inside)


def test_typed_faces_are_signs() -> None:
    assert marks.without_signs("Ein Witz ;-)") == ("Ein Witz", [";-)"])
    assert marks.without_signs("(nach 8:30)")[1] == []


@pytest.mark.parametrize(
    ("source", "translation", "goes_on", "expected"),
    [
        ("Kommen Sie!", "come here.", False, "Come here."),
        ("Das iPhone", "iPhone", False, "iPhone"),
        ("und er kam", "And he came", True, "and he came"),
        ("und er kam", "And he came", False, "And he came"),
        ("dann kam Tom", "Tom came", True, "Tom came"),
        ("ich komme", "I'm coming", True, "I'm coming"),
        ("leider", "Unfortunately", True, "unfortunately"),
        ("englisch", "English", True, "English"),
    ],
)
def test_first_letters(
    source: str, translation: str, goes_on: bool, expected: str
) -> None:
    assert marks.with_first_letter(source, translation, goes_on=goes_on) == expected


def test_many_spaces_take_no_longer_than_many_letters() -> None:
    """In the square of their number these would take hours, and the test its time limit."""
    text = "Ja" + " " * 200_000 + "nein (oder) 😀"
    assert marks.without_signs(text)[1] == ["😀"]
    assert marks.split_brackets(text)[1] == [("(", "oder", ")")]
