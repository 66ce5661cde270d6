"""Names, numbers and addresses: which are found, and that they come back once or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.decoding.copying import (
    is_copied,
    is_verbatim,
    put_back,
    spans_to_copy,
    ways_to_stand_in,
)
from translator.decoding.lexicon import Lexicon

LEXICON = Lexicon.learn(
    [
        (
            "Heute sieht Tom Boston und die Klippen.",
            "Today Tom sees Boston and the cliffs.",
        ),
        (
            "Am Rand kennt Mary den alten Müller.",
            "At the edge Mary knows the old miller.",
        ),
        ("Ich gebe John und Tom kein Geld.", "I give John and Tom no money."),
        ("Er oder Herr Braun hat das Geld.", "He or Mister Brown has the money."),
        ("Schreib nicht an den Euro.", "Do not write to the euro."),
    ],
    longest=20,
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ich kenne Hannelore.", ["Hannelore"]),
        ("Hannelore Achterberg kennt Tom.", ["Hannelore Achterberg", "Tom"]),
        ("Ich gebe Tom Geld.", ["Tom"]),
        ("Ich heiße Hannelore Müller.", ["Hannelore Müller"]),
        ("Herr Müller kennt Müller.", ["Müller"]),
        ("Das heißt Geld.", []),
        ("Ich sehe die Tasse und einen roten Teller.", []),
        ("Heute Klippenrand.", []),
        ("gebe", []),
        ("Lehne dich nicht an.", []),
        ("Ich habe etwas Kühles.", []),
        ("Schreib an a.b@example.org, nicht an www.example.org/x.", 2),
        ("Er hat 12 Euro, sie 48213 und 3.500.", ["48213", "3.500"]),
    ],
)
def test_what_is_to_be_copied(sentence: str, expected: list[str] | int) -> None:
    spans = spans_to_copy(sentence, LEXICON)
    assert [sentence[s.begin : s.end] for s in spans] == [s.text for s in spans]
    if isinstance(expected, int):
        assert len(spans) == expected
        assert [s.text for s in spans] == ["a.b@example.org", "www.example.org/x"]
    else:
        assert [s.text for s in spans] == expected


@given(st.text(max_size=60))
def test_spans_do_not_overlap(text: str) -> None:
    spans = spans_to_copy(text, LEXICON)
    ends = [0, *(place for span in spans for place in (span.begin, span.end))]
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    ("text", "verbatim"),
    [
        ("?", True),
        ("😀", True),
        ("3,14 – 5", True),
        ("https://example.org/Seite", True),
        ("a.b@example.org", True),
        ("Ja", False),
        ("Siehe https://example.org", False),
    ],
)
def test_what_has_nothing_to_translate(text: str, verbatim: bool) -> None:
    assert is_verbatim(text) == verbatim


def test_a_number_is_copied_in_either_punctuation() -> None:
    (span,) = spans_to_copy("Es kostet 48.213 Euro.", None)
    assert is_copied(span, "It costs 48,213 euros.")
    assert not is_copied(span, "It costs 48,312 euros.")
    assert not is_copied(span, "It costs 148,213 euros.")


def test_each_thing_is_put_back_once_or_not_at_all() -> None:
    spans = spans_to_copy("Heute kennt Hannelore und Swantje 48213.", LEXICON)
    ways = ways_to_stand_in("Heute kennt Hannelore und Swantje 48213.", spans, LEXICON)
    assert len(ways) == 3
    for changed, chosen in ways:
        assert len(set(chosen)) == 3
        # A model that copies what it knows gives everything back.
        assert (
            put_back(changed, spans, chosen)
            == "Heute kennt Hannelore und Swantje 48213."
        )
        assert put_back(changed.replace(chosen[0], ""), spans, chosen) is None
        assert put_back(f"{changed} {chosen[0]}", spans, chosen) is None
        assert (
            put_back(changed.replace(chosen[0], chosen[0] + "s"), spans, chosen) is None
        )
        assert put_back(f"{chosen[0]}'s {chosen[1]} {chosen[2]}", spans, chosen) == (
            "Hannelore's Swantje 48213"
        )


def test_what_is_put_in_may_be_called_like_what_stands_for_another() -> None:
    spans = spans_to_copy("Hannelore kennt www.example.org/Tom", LEXICON)
    assert put_back("Tom knows Mary", spans, ["Tom", "Mary"]) == (
        "Hannelore knows www.example.org/Tom"
    )


def test_a_name_in_the_sentence_stands_for_no_other() -> None:
    sentence = "Tom kennt Hannelore."
    for changed, chosen in ways_to_stand_in(
        sentence, spans_to_copy(sentence, LEXICON)[1:], LEXICON
    ):
        assert "Tom" not in chosen
        assert changed.startswith("Tom kennt ")
    many = "Hannelore, Swantje, Imke, Hedda, Frauke kommen."
    assert ways_to_stand_in(many, spans_to_copy(many, LEXICON), LEXICON) == []
