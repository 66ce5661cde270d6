"""Persons with a title: where they begin and end, and what they are called in English."""

from __future__ import annotations

import pytest

from translator.text.titles import (
    english_person,
    persons,
    with_titles,
    without_titles_of_offices,
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Kennen Sie Frau Meier?", ["Frau Meier"]),
        ("Das ist Herrn Kleins Auto.", ["Herrn Klein"]),
        ("Das Auto von Herrn Peters fährt.", ["Herrn Peters"]),
        ("Ich schicke Frau Klein Blumen.", ["Frau Klein"]),
        ("Frau Anna Klein kommt.", ["Frau Anna Klein"]),
        ("Herr und Frau Klein sind da.", ["Herr und Frau Klein"]),
        ("Herr Klein und Frau Groß sind da.", ["Herr Klein", "Frau Groß"]),
        ("Frau Prof. Dr. Müller-Lüdenscheidt", ["Frau Prof. Dr. Müller-Lüdenscheidt"]),
        ("Frau von der Heide ruft an.", ["Frau von der Heide"]),
        ("Meine Frau Anna kommt.", []),
        ("Die Frau Meier von nebenan", []),
        ("Guten Tag, Herr Doktor.", []),
        ("Frau Bundeskanzlerin, darf ich?", []),
        ("Fr. 3. Mai oder Fr. Mai", []),
        ("Frau und Kinder", []),
    ],
)
def test_where_persons_are(sentence: str, expected: list[str]) -> None:
    """A surname is one word; an office is no name, and a wife has no title."""
    assert [sentence[begin:end] for begin, end in persons(sentence)] == expected


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        ("Frau Meier", ["Ms. Meier", "Mrs. Meier", "Miss Meier"]),
        ("Hrn. Meier", ["Mr. Meier"]),
        ("Herr und Frau Klein", ["Mr. and Mrs. Klein"]),
        ("Frau Professorin Klein", ["Professor Klein", "Ms. Professor Klein"]),
        ("Herrn Dr. Klein", ["Dr. Klein", "Mr. Dr. Klein"]),
        ("Anna", []),
        ("Herr Doktor", []),
    ],
)
def test_what_persons_are_called(person: str, expected: list[str]) -> None:
    """What we write comes first, and whoever is no person with a title has no name."""
    assert english_person(person) == expected


def test_a_title_comes_before_a_bare_name_only() -> None:
    """Where the model wrote the name alone, once, and nowhere else."""
    assert with_titles("Frau Klein", "Klein knows Kleinert.") == (
        "Ms. Klein knows Kleinert."
    )
    assert with_titles("Frau Klein", "Mrs. Klein is here.") == "Mrs. Klein is here."
    assert with_titles("Frau Klein", "Nobody is here.") == "Nobody is here."


def test_an_office_has_no_title_in_english() -> None:
    """ "Herr Doktor" is "doctor", and "Herr Klein" stays."""
    assert without_titles_of_offices("Ja, Herr Doktor.") == "Ja, Doktor."
    assert without_titles_of_offices("Ja, Herr Klein.") == "Ja, Herr Klein."
