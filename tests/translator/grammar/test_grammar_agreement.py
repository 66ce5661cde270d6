"""The corpus is right German and right English: checked from the words, not from the grammar."""

from __future__ import annotations

import random
import re

import pytest

from tests.translator.grammar import grammar_english as english
from tests.translator.grammar import grammar_german as german
from tests.translator.grammar.grammar_german_words import DER, ENDINGS
from translator.grammar import sample

pytestmark = pytest.mark.slow

SIZE = 10_000

# German nouns (as the checker lists them) and what they must be aligned with.
_DICTIONARY = """
Lehrer:teacher Lehrerin:teacher Arzt:doctor Ärztin:doctor Nachbar:neighbour Kollege:colleague
Student:student Kind:child Mädchen:girl Junge:boy Mann:man Frau:woman Bruder:brother
Schwester:sister Sohn:son Tochter:daughter Mutter:mother Vater:father Buch:book Brief:letter
Zeitung:newspaper Gedicht:poem Geschichte:story Bericht:report Satz:sentence Frage:question
Antwort:answer Regel:rule Aufgabe:exercise Prüfung:exam Auto:car Fahrrad:bicycle Computer:computer
Radio:radio Lampe:lamp Uhr:watch Tisch:table Tasche:bag Koffer:suitcase Schlüssel:key Mantel:coat
Bild:picture Blume:flower Haus:house Zimmer:room Küche:kitchen Büro:office Fenster:window Tür:door
Apfel:apple Kuchen:cake Ei:egg Brot:bread Kaffee:coffee Tee:tea Milch:milk Wasser:water Bus:bus
Zug:train
"""
DICTIONARY = dict(pair.split(":") for pair in _DICTIONARY.split())
IN_OTHER_WORDS = {"Uhr": {"o'clock"}, "Zeit": {"time"}}


@pytest.fixture(scope="module")
def pairs():
    return sample(SIZE, seed=2017)


def test_german_agrees(pairs):
    wrong = {
        " ".join(p.source): found for p in pairs if (found := german.problems(p.source))
    }
    assert not wrong, (
        f"{len(wrong)} of {SIZE} German sentences, first: {list(wrong.items())[:3]}"
    )


def test_english_agrees(pairs):
    wrong = {
        " ".join(p.target): found
        for p in pairs
        if (found := english.problems(p.target))
    }
    assert not wrong, (
        f"{len(wrong)} of {SIZE} English sentences, first: {list(wrong.items())[:3]}"
    )


def test_nouns_are_aligned_with_their_translation(pairs):
    meant = {}
    for lemma, (_, *forms) in german.NOUNS.items():
        for form in {lemma, *forms} - {"-"}:
            meant.setdefault(form, set()).update(
                {DICTIONARY[lemma]} if lemma in DICTIONARY else (),
                {english.NOUNS.get(DICTIONARY.get(lemma, ""), "")} - {""},
                IN_OTHER_WORDS.get(lemma, set()),
            )
    for pair in pairs:
        for i, word in enumerate(pair.source):
            if word in meant:
                linked = {pair.target[j] for k, j in pair.alignment if k == i}
                assert len(linked) == 1, f"{word} is aligned with {linked} in {pair}"
                assert linked <= meant[word], (
                    f"{word} is aligned with {linked} in {pair}"
                )


@pytest.mark.parametrize(
    ("sentence", "about"),
    [
        ("der Frau liest den Brief", "disagree|cases"),
        ("die Frau liest der Brief", "cases"),
        ("die Frau liest ein Brief", "cases"),
        ("die Frau liest den neue Brief", "disagree"),
        ("ein neue Lehrer liest den Brief", "disagree"),
        ("ich helfe den Lehrer", "cases"),
        ("ich helfe den Kinder", "disagree"),
        ("ich sehe den Student", "disagree"),
        ("ich liest den Brief", "cases"),
        ("die Kinder liest den Brief", "cases"),
        ("heute ich lese den Brief", "verb"),
        ("ich kann lesen den Brief", "end"),
        ("ich anrufe den Lehrer", "verb"),
        ("ich rufe an den Lehrer", "end|verb"),
        ("ich weiß dass du rufst den Lehrer an", "verb"),
        ("ich lese nicht den Brief", "nicht"),
        ("ich lese einen Brief nicht", "kein"),
        ("ich habe gegangen", "with"),
        ("ich warte auf dem Bus", "missing"),
        ("der Lehrer liest ihren Brief", "subject"),
        ("die Lehrerin liest seinen Brief", "subject"),
        ("ich versuche den Lehrer zu anrufen", "verb|cases"),
        ("zwei Buch sind teuer", "disagree|cases"),
        ("heißer Wasser trinkt der Mann", "disagree"),
    ],
)
def test_german_checker_sees_the_mistake(sentence, about):
    found = german.problems(tuple(sentence.split()))
    assert found, f"no problem found in {sentence!r}"
    assert re.search(about, " ".join(found)), f"{sentence!r}: {found}"


@pytest.mark.parametrize(
    "sentence",
    [
        "the teacher read an letter",
        "the teacher is reading a old letter",
        "the teacher read a egg",
        "the teacher need a car",
        "the teachers needs a car",
        "he do not need a car",
        "he needs not a car",
        "he does not needs a car",
        "he did not called me",
        "does the teacher needs a car",
        "needs the teacher a car",
        "she is sing",
        "they is singing",
        "I are tired",
        "he can reads the letter",
        "he has to reads the letter",
        "these letter is long",
        "a letters is long",
        "two letter are long",
        "the teacher is reading letter",
        "because he is tired he want to sleep",
    ],
)
def test_english_checker_sees_the_mistake(sentence):
    assert english.problems(tuple(sentence.split())), (
        f"no problem found in {sentence!r}"
    )


def test_german_checker_sees_most_changed_articles(pairs):
    """Another form of the article is wrong nearly always (not always: den Lehrer, dem Lehrer)."""
    forms = {
        "der": {word for row in DER.values() for word in row.split()},
        "ein": {
            ("ein" + e).rstrip("_")
            for row in ENDINGS["ein"].values()
            for e in row.split()
        },
    }
    rng = random.Random(0)
    tried = seen = 0
    for pair in pairs[:2000]:
        words = list(pair.source)
        for i, word in enumerate(words):
            kind = next((k for k, group in forms.items() if word in group), None)
            if (
                kind
                and words[i - 1 : i] not in (["in"], ["mit"])
                and i + 1 < len(words)
            ):
                other = rng.choice(sorted(forms[kind] - {word}))
                tried += 1
                seen += bool(german.problems((*words[:i], other, *words[i + 1 :])))
    assert tried > 1000
    assert seen / tried > 0.9, f"{seen} of {tried} changed articles seen"
