"""Normal form, and the rules by which pairs are dropped and counted."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.cleaning import (
    RULES,
    Rules,
    TextPair,
    broken_rule,
    clean,
    normalise,
)
from translator.errors import ConfigError

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT)
def test_normal_form_is_a_fixed_point_in_nfc_on_one_line(text: str) -> None:
    normal = normalise(text)
    assert normalise(normal) == normal
    assert unicodedata.is_normalized("NFC", normal)
    assert normal == " ".join(normal.split())
    normal.encode("utf-8")  # no half of a surrogate pair is left


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd", "Po"]), min_size=1))
def test_letters_digits_and_marks_all_stay(text: str) -> None:
    assert normalise(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("scho\u0308n", "schön"),
        ("9.15\xa0Uhr", "9.15 Uhr"),
        ("  zwei \t Wörter\r\n", "zwei Wörter"),
        ("eine\u2028Zeile\x0beine\x85Zeile", "eine Zeile eine Zeile"),
        ("\ufeffDa \u200b\u200bund dort", "Da und dort"),
        ("Silben\u00adtrennung", "Silbentrennung"),
        ("a\x00b\x07c\x7fd\x9be", "abcde"),
        ("\ud83d", "\ufffd"),
        ("„Ja“, sagte sie – so laut’s ging!", "„Ja“, sagte sie – so laut’s ging!"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("", ""),
    ],
)
def test_normal_forms(raw: str, normal: str) -> None:
    assert normalise(raw) == normal


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("", "Hello.", "empty"),
        ("Hallo.", "", "empty"),
        ("Sch\ufffdn.", "Nice.", "broken"),
        ("Schön.", "caf\u00c3\u00a9", "broken"),
        ("f\u00c3\u00bcr dich", "for you", "broken"),
        ("\u00e2\u20ac\u0153Nein", "no", "broken"),
        ("12:30", "12:30", "no letters"),
        ("Ja", "!?", "no letters"),
        ("ja " * 5 + "ja", "yes " * 6, "too long"),
        ("ja", "a" * 41, "too long"),
        ("eins zwei drei vier fünf", "one two three four five", None),
        ("Das ist gut", "das ist gut", "copied"),
        ("Tom!", "Tom!", None),
        ("New York", "New York", None),
        ("äöü, ÄÖÜ, ß, é", "for size", None),
        ("„So“ – sagt’s", "“So” – it says", None),
    ],
)
def test_the_first_rule_that_is_broken(
    source: str, target: str, rule: str | None
) -> None:
    rules = Rules(max_words=5, max_chars=40)
    assert broken_rule(TextPair(source.strip(), target.strip()), rules) == rule


def test_ratio_holds_only_for_longer_sentences() -> None:
    rules = Rules(max_ratio=2.0)
    assert broken_rule(TextPair("Bitte", "if you would please"), rules) is None
    assert broken_rule(TextPair("eins zwei drei", "a b c d e f"), rules) is None
    assert broken_rule(TextPair("eins zwei drei", "a b c d e f g"), rules) == "ratio"
    assert broken_rule(TextPair("a b c d e f g", "eins zwei drei"), rules) == "ratio"


def test_what_was_dropped_is_counted_and_the_order_stays() -> None:
    pairs = [
        ("Geh.", "Go."),
        ("", "Go."),
        ("Lauf!", "Run!"),
        (" Geh. ", "Go."),
        ("Geh.", "Leave."),
        ("?", "Go."),
        ("Lauf!", "Run!"),
    ]
    cleaned = clean(pairs)
    assert cleaned.pairs == [("Geh.", "Go."), ("Lauf!", "Run!"), ("Geh.", "Leave.")]
    assert cleaned.kept == [0, 2, 4]
    assert cleaned.dropped == {"empty": 1, "duplicate": 2, "no letters": 1}
    assert cleaned.normalised == 1
    assert set(cleaned.dropped) <= set(RULES)


def test_duplicates_are_seen_across_corpora() -> None:
    seen: set[TextPair] = set()
    clean([("Geh.", "Go.")], seen=seen)
    assert clean([("Geh.", "Go."), ("Lauf!", "Run!")], seen=seen).dropped == {
        "duplicate": 1
    }


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=30))
def test_nothing_vanishes_uncounted_and_cleaning_twice_drops_nothing(
    pairs: list,
) -> None:
    cleaned = clean(pairs)
    assert len(cleaned.pairs) + cleaned.dropped.total() == len(pairs)
    again = clean(cleaned.pairs)
    assert again.pairs == cleaned.pairs
    assert not again.dropped
    assert again.normalised == 0


def test_limits_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match="max_words: expected at least 1, got 0"):
        Rules(max_words=0)
