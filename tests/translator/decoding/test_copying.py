"""Names, numbers and addresses: which are found, and that they come back once or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.decoding.copying import (
    Span,
    added_names,
    added_numbers,
    is_copied,
    is_foreign_script,
    is_verbatim,
    lost_numbers,
    put_back,
    spans_to_copy,
    ways_to_stand_in,
)
from translator.decoding.lexicon import Lexicon
from translator.text.marks import (
    lost_markup,
    with_closing_mark,
    with_right_ordinals,
    without_signs,
)

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
        ("Herr Müller kennt Müller.", ["Herr Müller"]),
        ("Das heißt Geld.", []),
        ("Ich sehe die Tasse und einen roten Teller.", []),
        ("Heute Klippenrand.", []),
        ("gebe", []),
        ("Lehne dich nicht an.", []),
        ("Ich habe etwas Kühles.", []),
        ("Schreib an a.b@example.org, nicht an www.example.org/x.", 2),
        ("Er hat 12 Euro, sie 48213 und 3.500.", ["12", "48213", "3.500"]),
        ("Ich gebe -5 oder −12,5 und 3-5.", ["-5", "−12,5", "3-5"]),
        ("Die U-96 und 7 -4.", ["96", "-4"]),
        ("Ich sehe 寿司 und das слово.", ["寿司", "слово"]),
        ("Das heißt добрый день, αβ.", ["добрый день", "αβ"]),
        ("Er sagt हिन्दी und ١٢٣.", ["हिन्दी", "١٢٣"]),
        ("Die α-Strahlen sind 5 μm lang.", ["α", "5 μm"]),
        (
            "Heute kommt Prof. Dr. Müller, Dr. Müller.",
            ["Prof. Dr. Müller", "Dr", "Müller"],
        ),
        ("Prof. Dr. h. c. Jo Müller kommt.", ["Prof. Dr. h. c. Jo Müller"]),
        ("Dr. med. kommt.", ["Dr"]),
        ("Das sind 5 µm und № 12, Ⅷ, Ŵ.", ["5 µm", "12"]),
        ("Heute kennt der Felix die Eva.", ["Felix", "Eva"]),
        ("Evas Geld und Thomas.", ["Eva", "Thomas"]),
        ("Anna Maria Müller kennt Daniel Gabriel.", ["Anna Maria", "Daniel Gabriel"]),
        ("Heute gibt Maria Peter Geld.", ["Maria", "Peter"]),
        ("Die ISBN ist weg, die EU da.", ["ISBN"]),
        ("Ich sehe die Gartenstraße 5 und 030 123456.", 0),
    ],
)
def test_what_is_to_be_copied(sentence: str, expected: list[str] | int) -> None:
    spans = spans_to_copy(sentence, LEXICON)
    assert [sentence[s.begin : s.end] for s in spans] == [s.text for s in spans]
    if expected == 0:
        assert [s.text for s in spans] == ["Gartenstraße 5", "030 123456"]
    elif isinstance(expected, int):
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


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Er hat 12 000 Euro, 3,5 Liter und 1 Hund.", ["12 000", "3,5"]),
        ("Im Jahr 2009 300 Schafe um 20 Uhr.", ["2009", "300"]),
        ("Um 20:15 Uhr H2O auf der A40.", ["20:15"]),
    ],
)
def test_which_numbers_are_to_be_copied(sentence: str, expected: list[str]) -> None:
    assert [span.text for span in spans_to_copy(sentence, None)] == expected


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("Er ist 3,5 Meter groß.", "He is 3.5 meters tall.", []),
        ("Er ist 3,5 Meter groß.", "He is 35 meters tall.", ["3,5"]),
        ("12 000 Lämmer, 2 500 Schafe", "12,000 lambs, 2 500 sheep", []),
        ("12 000 Lämmer, 2 500 Schafe", "12 lambs, 3,000 sheep", ["12 000", "2 500"]),
        ("1945 bis 1989", "from 1945 to 1945", ["1989"]),
        ("1.234,50 Euro", "1,234.50 euros", []),
        ("Am 3. Mai", "On May 3rd", []),
        ("Am 3. Mai", "On May third", []),
        ("Am 3. Mai", "On May", ["3"]),
        ("21 Hunde, 1 Katze", "Twenty-one dogs and a cat", []),
        ("Um 14:35 Uhr", "At 2:35 p.m.", []),
        ("Um 14:35 Uhr", "At 2:30 p.m.", ["14:35"]),
        ("Um 20 Uhr", "At eight o'clock", []),
        ("Um 20:00 Uhr", "At 8 p.m.", []),
        ("Es sind 20.", "There are 8.", ["20"]),
        ("Siehe www.example.org/2009", "See there.", []),
        ("Es sind -5 Grad.", "It is 5 degrees.", ["-5"]),
        ("Es sind −5 Grad.", "It is minus five degrees.", []),
        ("Es sind -5 Grad.", "It is 5 degrees below zero.", []),
        ("Es sind -5 Grad.", "It is minus 6, no, 7 degrees.", ["-5"]),
        ("Es sind 5 Grad.", "It is -5 degrees.", ["5"]),
    ],
)
def test_numbers_that_a_translation_lacks(source, translation, lost) -> None:
    assert lost_numbers(source, translation) == lost


@given(st.text(alphabet="0123456789.,:/- Uhr\u0663", max_size=20))
def test_no_number_is_lost_in_a_copy(text: str) -> None:
    assert lost_numbers(text, text) == []


@pytest.mark.parametrize("number", ["1989", "12 000", "3,5", "14:35", "47"])
def test_a_number_stands_in_for_one_of_its_form(number: str) -> None:
    sentence = f"Das ist {number}."
    spans = spans_to_copy(sentence, None)
    ways = ways_to_stand_in(sentence, spans, None)
    assert len({changed for changed, _ in ways}) == 3
    for changed, (known,) in ways:
        assert changed == f"Das ist {known}."
        assert (":" in known) == (":" in number)
        assert put_back(changed, spans, [known]) == sentence


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


def test_a_woman_stands_in_for_a_woman() -> None:
    """So that her hat does not become his; and a place for a street, without its article."""
    lexicon = Lexicon(20, (), ("Tom", "Mary", "Boston"))
    sentence = "Julia wohnt in der Gartenstraße 5."
    ways = ways_to_stand_in(sentence, spans_to_copy(sentence, lexicon), lexicon)
    assert [chosen for _, chosen in ways] == [
        ["Mary", "Boston"],
        ["Boston", "London"],
        ["Mary", "Berlin"],
    ]
    assert ways[0][0] == "Mary wohnt in Boston."
    assert "Mary" not in str(ways_to_stand_in("Hans.", [Span(0, 4, "Hans")], lexicon))


def test_an_english_form_counts_as_copied() -> None:
    (span,) = spans_to_copy("Ich kenne Marias Geld.", LEXICON)
    assert is_copied(span, "I know Mary's money.")
    assert is_copied(span, "I know Maria's money.")
    assert not is_copied(span, "I know Tom's money.")


@pytest.mark.parametrize(
    ("source", "translation", "names", "numbers"),
    [
        ("Er kennt Toms Geld.", "Tom knows John.", ["John"], []),
        ("Maria kennt ihn.", "Mary knows Maria's Tom.", ["Tom"], []),
        ("Es sind 12.", "There are 12 or 1900.", [], ["1900"]),
        ("Um 14:35 Uhr.", "At 2:35.", [], []),
        ("Es sind zwanzig.", "There are 20.", [], []),
        ("Es sind viele.", "There are 5 of 20.", [], ["20"]),
        ("DE89 3704 0044 0532", "DE89 3704 0044 0532", [], []),
    ],
)
def test_what_came_from_nowhere(source, translation, names, numbers) -> None:
    assert added_names(source, translation) == names
    assert added_numbers(source, translation) == numbers


def test_a_name_in_the_sentence_stands_for_no_other() -> None:
    sentence = "Tom kennt Hannelore."
    for changed, chosen in ways_to_stand_in(
        sentence, spans_to_copy(sentence, LEXICON)[1:], LEXICON
    ):
        assert "Tom" not in chosen
        assert changed.startswith("Tom kennt ")
    many = "Hannelore, Swantje, Imke, Hedda, Frauke kommen."
    assert ways_to_stand_in(many, spans_to_copy(many, LEXICON), LEXICON) == []


@pytest.mark.parametrize(
    ("text", "left", "signs"),
    [
        ("Das ist toll 😀!", "Das ist toll!", ["😀"]),
        ("Ich habe 😀 Hunger.", "Ich habe Hunger.", ["😀"]),
        ("👍🏽 Ja ❤️👩‍👩‍👧", "Ja", ["👍🏽", "❤️👩‍👩‍👧"]),
        ("Es sind 5 °C, a < b.", "Es sind 5 °C, a < b.", []),
    ],
)
def test_symbols_are_taken_out_whole(text, left, signs) -> None:
    assert without_signs(text) == (left, signs)


@pytest.mark.parametrize(
    ("text", "foreign"),
    [("Я не знаю.", True), ("我不会", True), ("Grüße an Юля", False), ("5 😀", False)],
)
def test_letters_that_are_not_latin(text, foreign) -> None:
    assert is_foreign_script(text) == foreign


def test_markup_that_a_translation_lacks() -> None:
    text = "<b>Hallo</b> {name}, **bitte** 3 < 5!"
    assert lost_markup(text, "Hello {name}, 3 < 5!") == ["<b>", "</b>", "**"]
    assert lost_markup(text, text) == []


@pytest.mark.parametrize(
    ("sentence", "translation", "closed", "lost"),
    [
        ("„Ja. Nein!“", '"Yes. No!', '"Yes. No!"', []),
        ("„Ja.“", '"Yes."', '"Yes."', []),
        ("„Ja“, sagt er.", '"Yes, he says.', '"Yes, he says.', ["“"]),
        ("Er sagt: „Ja.", 'He says, "Yes.', 'He says, "Yes.', []),
        ("Er sagt ja.", "He says yes.", "He says yes.", []),
    ],
)
def test_a_quotation_is_closed_or_said_to_be_open(
    sentence, translation, closed, lost
) -> None:
    assert with_closing_mark(sentence, translation) == closed
    assert lost_markup(sentence, closed) == lost


def test_ordinals_end_as_in_english() -> None:
    text = "at 2th, 1th, 11st, 112nd, 23th, 4rd, x2th, 1.2th"
    assert with_right_ordinals(text) == (
        "at 2nd, 1st, 11th, 112th, 23rd, 4th, x2th, 1.2th"
    )


@pytest.mark.parametrize(
    ("sentence", "translation", "expected"),
    [
        ("Sie hat 2.400,5 kWh.", "She has 500 euros.", "She has 2.400,5 kWh."),
        ("Das sind 75 m².", "That's 500 euros.", "That's 75 m²."),
        ("Er kam im März.", "He came in October.", "He came in March."),
        ("Es ist Sonnabend.", "It's Friday.", "It's Saturday."),
        ("Es sind %d da.", "There are 50 there.", "There are %d there."),
        ("Das ist {{ name }}.", "That's Tom.", "That's {{ name }}."),
    ],
)
def test_measures_dates_and_places_to_fill_in_are_put_back(
    sentence: str, translation: str, expected: str
) -> None:
    known = {word.lower() for word in sentence.split()[:2]} | {"im"}
    lexicon = Lexicon(20, tuple(known), ("Mary", "Tom"))
    (span,) = spans_to_copy(sentence, lexicon)
    assert not is_copied(span, translation)
    (chosen,) = ways_to_stand_in(sentence, [span], lexicon)[1][1]
    assert put_back(translation, [span], [chosen]) == expected


def test_a_measure_is_copied_in_english_too() -> None:
    (span,) = spans_to_copy("Es sind 2.400,5 kWh.", None)
    assert is_copied(span, "It's 2.400,5 kWh.")
    assert is_copied(span, "It's 2,400.5 kWh.")
    assert not is_copied(span, "It's 2,400.5 pounds.")
    (day,) = spans_to_copy("Es ist Sonntag.", None)
    assert is_copied(day, "It's Sunday.")
    assert not is_copied(day, "It's Sonntag.")
    assert is_verbatim("31,5 °C")
