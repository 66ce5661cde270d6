"""Lines in another language than the translator reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from translator import languages
from translator.decoding import foreign
from translator.decoding.foreign import foreign_warning
from translator.decoding.lexicon import Lexicon
from translator.decoding.lines import translate_lines
from translator.decoding.model_folder import load_translator
from translator.errors import TranslatorError

NAMES = Path(__file__).with_name("names.json")
FOREIGN = {
    "English": """
        My name is Tom.|Where is the station?|WHERE IS THE STATION?|I lost my keys.|He is a liar.
        She left early.|Who broke it?|Tom won again.|That was the last train.|Is the man in there?
    """,
    "French": """
        Tom a mangé.|Je suis fatigué.|Il pleut.|Marie sourit.|Tu mens.|Ferme la porte.|Elle chante.
        Le train est en retard.|Tom court vite.|Nous avons perdu nos clés.
    """,
    "Spanish": """
        Tom comió.|Estoy cansado.|Está lloviendo.|María sonríe.|Mientes.|Cierra la puerta.
        Ella canta.|El tren llega tarde.|Tom corre rápido.|Hemos perdido las llaves.
    """,
    "Dutch": """
        Ik ben moe.|Het regent.|Ze zingt.|Doe de deur dicht.|Tom heeft gegeten.|Waar ben je?
        De trein is te laat.|TOM LOOPT SNEL.|We zijn onze sleutels kwijt.
        Wie heeft het raam gebroken?
    """,
}


@pytest.fixture(scope="module")
def lexicon(root) -> Lexicon:
    return Lexicon.load(root / "models" / "de-en")


@pytest.mark.parametrize("language", FOREIGN)
def test_short_lines_of_other_languages_are_said(language, lexicon):
    lines = [line.strip() for line in FOREIGN[language].replace("\n", "|").split("|")]
    lines = [line for line in lines if line]
    assert len(lines) == 10
    said = {line: foreign_warning(line, lexicon) for line in lines}
    assert [line for line, words in said.items() if words is None] == []
    named = [words for words in said.values() if words == f"this looks like {language}"]
    assert len(named) >= 5, said


def test_german_lines_with_unknown_names_are_not(lexicon):
    lines = [
        case["sentence"].replace("{}", name)
        for case in json.loads(NAMES.read_text(encoding="utf-8"))
        for name in case["names"]
    ]
    lines += [
        "Ja.",
        "Na?",
        "Guten Tag",
        "HABE HUNGER",
        "Tom Müller",
        "Gehaltsabrechnung",
        "Anna, Giuseppe und Wojciech Kowalczyk",
        "Das Meeting wurde gecancelt.",
        "Mary half Tom.",
        "Tom lacht nie.",
        "Er ging weg.",
        "www.example.com",
        "12 kg Mehl",
        "x = 3",
        "😀",
        "",
    ]
    assert [line for line in lines if foreign_warning(line, lexicon)] == []


def test_hyphens_that_nobody_sees_cut_no_words(root):
    translator = load_translator(root / "models" / "de-en")
    (line,) = translate_lines(
        translator, ["Un\u00adsicht\u00adba\u00adre Stri\u00adche."]
    )
    assert [said for said in line.warnings if "German" in said] == []


def test_without_a_lexicon_letters_alone_decide():
    assert foreign_warning("Where is the station?", None) == "this looks like English"
    assert foreign_warning("Wo ist der Bahnhof?", None) is None


def test_a_line_of_evidently_german_words_asks_nobody(lexicon, monkeypatch):
    def ask(text):
        pytest.fail(f"asked of {text}")

    monkeypatch.setattr(foreign, "probabilities", ask)
    assert foreign_warning("Kannst du mir helfen?", lexicon) is None


def test_a_translation_does_without_the_language(root, monkeypatch):
    def refuse():
        raise TranslatorError("which language a text is in cannot be told: no room")

    monkeypatch.setattr(languages, "_identifier", refuse)
    translator = load_translator(root / "models" / "de-en")
    (line,) = translate_lines(translator, ["Tom dort."])
    assert line.text
    assert any("cannot be told: no room" in said for said in line.warnings)
