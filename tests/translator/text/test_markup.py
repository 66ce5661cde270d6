"""Markup around words, which stays; and pairs of marks inside a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.text.markup import (
    PLACEHOLDER,
    Marked,
    fenced,
    split_markup,
    with_pair,
    without_pairs,
)

SIGNS = st.sampled_from([*'*_~`[]()<>/="|;,:{}.!? #-', "<b>", "</b>", "Wort", '":"'])


@given(st.lists(SIGNS, max_size=40).map("".join) | st.text(max_size=60))
def test_the_parts_joined_are_the_line(line: str) -> None:
    parts = list(split_markup(line))
    assert "".join(part for part, _ in parts) == line
    assert all(part for part, _ in parts)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("**Zutaten**", ["Zutaten"]),
        ("* **Wichtig:** Es *muss* sein.", ["* ", "Wichtig:", " Es *muss* sein."]),
        ("**Ort**: Rom", ["Ort", ": Rom"]),
        ("~~Alt.~~ Das ist **neu**.", ["Alt.", " Das ist **neu**."]),
        ("<h1 class='a'>Titel</h1>", ["Titel"]),
        ("<p>Ein <b>Wort</b><br/>Zwei</p>", ["Ein <b>Wort</b>", "Zwei"]),
        ('<a href="https://a.de/?x=1&y">Hier</a>', ["Hier"]),
        ("<i>Wo bist du?</i>", ["Wo bist du?"]),
        ("<!-- ein Wort --> Zwei", [" Zwei"]),
        ("| Name | 2 Euro |", ["Name", "2 Euro"]),
        ("Name | Preis", ["Name", "Preis"]),
        ("Greta;Ärztin;41", ["Greta", "Ärztin", "41"]),
        ('"Ja","Es regnet, oder?",3', ["Ja", "Es regnet, oder?", "3"]),
        ('  "titel": "Guten Morgen",', ["Guten Morgen"]),
        ('{"a": "Ja, \\"gut\\".", "b": 3}', ['Ja, \\"gut\\".']),
        ('"aktiv": true', []),
        # None of it is markup.
        ("Wenn a<b und c>d ist, dann 5 * 3 * 2.", 1),
        ("Er kam; sie ging; es blieb.", 1),
        ("Lehrer*innen und Schüler*innen", 1),
        ('"Ja", sagte er, "nein".', 1),
    ],
)
def test_what_stays(line: str, words: list[str] | int) -> None:
    found = [part for part, is_kept in split_markup(line) if not is_kept]
    assert found == ([line] if words == 1 else words)


def test_pairs_inside_a_sentence() -> None:
    text = "Das ist ***sehr*** gut, [siehe hier](https://a.de/x_y) und <b>da</b>."
    assert without_pairs(text) == (
        "Das ist sehr gut, siehe hier und da.",
        [
            Marked("***", "sehr", "***"),
            Marked("[", "siehe hier", "](https://a.de/x_y)"),
            Marked("<b>", "da", "</b>"),
        ],
    )
    assert without_pairs("Lehrer*innen, 5 * 3 * 2, snake_case_name")[1] == []


def test_a_pair_is_put_where_its_words_are_once() -> None:
    pair = Marked("<b>", "heute", "</b>")
    closed = "We're closed today."
    assert with_pair(closed, pair, ["heute", "Today."]) == "We're closed <b>today</b>."
    assert with_pair(closed, pair, ["now"]) is None
    assert with_pair("Today is today.", pair, ["today"]) is None


def test_code_between_fences() -> None:
    lines = ["Wort", "```python", "x = 1", "~~~", "```", "Wort", "~~~", "Wort"]
    assert fenced(lines) == [False, True, True, True, True, False, False, False]


@pytest.mark.parametrize("text", ["{{ name }}", "%d", "%(n)s", "${x}", "{0}", "%.2f"])
def test_places_to_be_filled_in(text: str) -> None:
    assert PLACEHOLDER.search(f"Es sind {text} da.")[0] == text
    assert not PLACEHOLDER.search("100 % davon, 5 %ige")


@pytest.mark.parametrize(
    "text", ["<a ", "*a", "[a", '"a",', "|", "_a ", '{"a":', "a;", '<a x="', "<b>a"]
)
def test_many_beginnings_take_no_time(text: str) -> None:
    """The time of each pattern must not grow with the square of a line, or this hangs."""
    line = text * 20_000
    assert "".join(part for part, _ in split_markup(line)) == line
    assert len(without_pairs(line)[0]) <= len(line)
