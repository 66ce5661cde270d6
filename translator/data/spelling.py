"""Writes pairs of the grammar as sentences are written: commas, capitals, a mark at the end.

The grammar leaves punctuation out. English needs no commas in its sentences; German has one before
a conjunction and before an infinitive with zu that has words of its own.
"""

from __future__ import annotations

from translator.data.cleaning import TextPair
from translator.grammar import Pair

CONJUNCTIONS = frozenset({"weil", "obwohl", "wenn", "bevor", "dass", "ob", "um"})


def as_sentence(pair: Pair) -> TextPair | None:
    """Return the pair as two written sentences, or None where the words do not tell the commas.

    None is the answer for a clause in front, whose end only the grammar knows, and for an
    infinitive whose words are not side by side.
    """
    if "subordinate-first" in pair.phenomena:
        return None
    commas = {
        i
        for i, word in enumerate(pair.source)
        if word in CONJUNCTIONS and i > 0 and pair.source[i - 1] != "und"
    }
    if "zu-infinitive" in pair.phenomena and "um-zu" not in pair.phenomena:
        begin = infinitive_clause(pair)
        if begin is None:
            return None
        words = len(pair.source) - begin
        bare = 2 if pair.source[-2] == "zu" else 1  # "zu lesen", "anzurufen"
        if words > bare:
            commas.add(begin)
    german = "".join(
        f"{',' if i in commas else ''} {word}" for i, word in enumerate(pair.source)
    ).strip()
    mark = "?" if "question" in pair.phenomena else "."
    german, english = (
        text[0].upper() + text[1:] + mark for text in (german, " ".join(pair.target))
    )
    return TextPair(german, english)


def infinitive_clause(pair: Pair) -> int | None:
    """Return where the infinitive with zu begins that ends the German sentence, or None.

    It consists of the words whose translations come from the English "to" on; they must be the
    last words, side by side.
    """
    last = len(pair.source) - 1
    marker = last - 1 if pair.source[last - 1] == "zu" else last
    to = min((j for i, j in pair.alignment if i == marker), default=None)
    if to is None or pair.target[to] != "to":
        return None
    clause = {i for i, j in pair.alignment if j >= to}
    begin = min(clause)
    return begin if clause == set(range(begin, last + 1)) else None
