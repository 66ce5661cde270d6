"""Whether a line is in another language than the translator reads, for a warning on stderr.

Letters alone say little of three words, so there are two witnesses: py3langid, which knows twelve
languages by their letters, and the words of the training, of which a German line knows nearly all.
"""

from __future__ import annotations

from translator.decoding.lexicon import ADDRESS, WORD, Lexicon
from translator.errors import TranslatorError
from translator.languages import LANGUAGES, SOURCE, probabilities, source_log_odds

#: What a word adds to the log-odds for German. Of a held-out German sentence's words 1 % are
#: unknown, of an English one's two thirds: ln(0.99 / 0.34) and ln(0.01 / 0.66) would be 1.1 and
#: -4.2. Halved, since letters and words are no two independent witnesses.
KNOWN, UNKNOWN = 0.5, -2.0
#: Below these log-odds a line is taken for another language.
FOREIGN = -3.0
#: Words that none of the other languages has. With one of them, and no unknown word, a line is
#: German, and py3langid, which takes half a second of a processor to start, is not asked.
_EVIDENT = """
    aber auch auf beim bist dass dich dir einem einen einer für habe haben hatte ich ihm ihn ist
    kann kannst kein keine können mich mir muss müssen nach nicht nichts nur oder schon sehr seid
    sind und uns vom vor weil wenn werden wird wir wo wurde zum zur über
"""
GERMAN = frozenset(_EVIDENT.split())


def foreign_warning(line: str, lexicon: Lexicon | None) -> str | None:
    """Return what to say of a line that is not in the translator's language, else None.

    lexicon: of the translator; without one, letters alone decide. A line without letters, and one
    of names and addresses alone, is in no language.
    """
    text = ADDRESS.sub(" ", line)
    text = text.lower() if text.isupper() else text
    words = [
        (word, place)
        for place, word in enumerate(WORD.findall(text))
        if len(word) > 1 and word.isalpha() and not (lexicon and lexicon.is_name(word))
    ]
    if not words:
        return None
    known, unknown = 0, 0
    for word, place in words if lexicon else ():
        if lexicon.knows(word) or lexicon.is_derived(word):
            known += 1
        elif not (place and word[0].isupper()):  # that may be a name, of any language
            unknown += 1
    if lexicon and not unknown and GERMAN & {word.lower() for word, _ in words}:
        return None
    try:
        likely = probabilities(text)
    except TranslatorError as error:  # the translation is none the worse for it
        return str(error)
    odds = source_log_odds(likely) + KNOWN * known + UNKNOWN * unknown
    if odds >= FOREIGN:
        return None
    language = max(likely, key=likely.get)
    if language != SOURCE and likely[language] > 0.5:
        return f"this looks like {LANGUAGES[language]}"
    return f"this does not look like {LANGUAGES[SOURCE]}"
