"""The words of the training's sources: which are known, how they are spelt, which are names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from translator.data.prepared import PreparedCorpus
from translator.errors import TranslatorError
from translator.files import write_text
from translator.text.first_names import FIRST_NAMES, INTRODUCES
from translator.text.postal import ADDRESS

LEXICON = "lexicon.json"
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
#: A letter of another script than the Latin one: "µ" and "№" are none.
_OTHER_LETTER = (
    r"(?![\0-\u036f\u1d00-\u1eff\u2000-\u2bff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f"
    r"\ufb00-\ufb06\uff00-\uff60])[^\W\d_]"
)
#: A word with such letters; many scripts have signs of vowels, which are no letters.
_OTHER_WORD = (
    rf"\w*?{_OTHER_LETTER}(?:\w|[^\s\0-\u036f\u2000-\u2bff\u3000-\u303f\uff00-\uff60])*"
)
#: Addresses, and words that are not written in Latin letters: neighbours are one.
UNTRANSLATED = re.compile(rf"{ADDRESS.pattern}|(?<!\w){_OTHER_WORD}(?: {_OTHER_WORD})*")
#: The longest of this share of the sentences is the longest that a model knows how to translate.
FAMILIAR = 0.999
#: Of German nouns, and what links two of them.
ENDINGS = ("n", "en", "s", "es", "e", "er")
_UMLAUT = re.compile("[äöü]", re.IGNORECASE)
#: What stands for an umlaut where a keyboard has none; not the "ue" of "neue" and "bequem".
_DIGRAPHS = {"ae": "ä", "oe": "ö", "ue": "ü"}
_DIGRAPH = re.compile("ae|oe|(?<![aeqä])ue", re.IGNORECASE)
_AS_DIGRAPHS = str.maketrans({umlaut: two for two, umlaut in _DIGRAPHS.items()})
_WITHOUT_DOTS = str.maketrans("äöü", "aou")
#: Words that only "ss" and "ß" tell apart: Masse, Maße.
_SS_OR_SZ = re.compile("(?:bu|flo|ma|ru)ss(?:e[nrs]?)?")
#: Before a word inside a sentence, where a capital tells a noun or a name.
_INSIDE = re.compile(r"\w,? $")
#: A capitalised word is a name if at least this share of its pairs has it on both sides.
COPIED = 0.5


class LexiconError(TranslatorError):
    """A lexicon is damaged."""


def fold(word: str) -> str:
    """Return what different spellings of a word share: STRASSE is Straße."""
    return word.lower().replace("ß", "ss")


def _as_umlaut(found: re.Match[str]) -> str:
    umlaut = _DIGRAPHS[found[0].lower()]
    return umlaut.upper() if found[0][0].isupper() else umlaut


@dataclass(frozen=True)
class Lexicon:
    """What a training knew of its source language.

    longest: source tokens that only one in a thousand sentences exceeds. words: each in its usual
    spelling. names: words that translations copy, the most frequent first.
    """

    longest: int
    words: tuple[str, ...]
    names: tuple[str, ...]
    _usual: dict[str, str] = field(init=False, repr=False, compare=False)
    _names: frozenset[str] = field(init=False, repr=False, compare=False)
    #: Words with umlauts by how they are written without.
    _digraphs: dict[str, str] = field(init=False, repr=False, compare=False)
    _without_dots: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_usual", {fold(word): word for word in self.words})
        object.__setattr__(self, "_names", frozenset(self.names))
        for name, table in (
            ("_digraphs", _AS_DIGRAPHS),
            ("_without_dots", _WITHOUT_DOTS),
        ):
            written = {
                folded.translate(table): word
                for folded, word in self._usual.items()
                if _UMLAUT.search(folded)
            }
            object.__setattr__(self, name, written)

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]], longest: int) -> Lexicon:
        """Collect the words of (source, target) pairs.

        The usual spelling is the most frequent one inside sentences; a word that only ever begins
        them is lower-case.
        """
        spellings: dict[str, Counter[str]] = {}
        seen: Counter[str] = Counter()
        copied: Counter[str] = Counter()
        for source, target in pairs:
            words, others = WORD.findall(source), set(WORD.findall(target))
            for place, word in enumerate(words):
                counts = spellings.setdefault(fold(word), Counter())
                counts[word if place else word.lower()] += 1 if place else 0
            for word in {word for word in words if is_capitalised(word)}:
                seen[word] += 1
                copied[word] += word in others
        usual = sorted(
            max(counts, key=lambda word: (counts[word], word))
            for counts in spellings.values()
        )
        names = [word for word in seen if copied[word] >= COPIED * seen[word]]
        names.sort(key=lambda word: (-copied[word], word))
        return cls(longest, tuple(usual), tuple(names))

    @classmethod
    def of(cls, corpus: PreparedCorpus) -> Lexicon:
        """Return the lexicon of prepared data: of its training split."""
        pairs = ((row.source, row.target) for row in corpus.texts("train"))
        return cls.learn(pairs, int(np.quantile(corpus.train.src_lengths, FAMILIAR)))

    def knows(self, word: str) -> bool:
        """Return whether the training had this word, in any case."""
        return fold(word) in self._usual

    def is_familiar(self, word: str) -> bool:
        """Return whether the training had a word, or need not have: a name, digits, an acronym."""
        return (
            not word.isalpha()
            or word.isupper()
            or word in FIRST_NAMES
            or self.is_name(word)
            or self.knows(word)
        )

    def is_noun(self, word: str) -> bool:
        """Return whether a word may be a noun: no name, and not spelt small as a rule."""
        usual = self._usual.get(fold(word), word)
        return is_capitalised(word) and not self.is_name(word) and usual[0].isupper()

    def is_name(self, word: str) -> bool:
        """Return whether the training's translations copied this word."""
        return word in self._names

    def is_derived(self, word: str) -> bool:
        """Return whether a word is a known one with an ending, or two known ones in one.

        As German nouns are: "Stühlen", "Karottensaft". What links the two is an ending, too.
        """
        whole = fold(word)
        return self._has_stem(whole) or any(
            whole[cut:] in self._usual
            and (whole[:cut] in self._usual or self._has_stem(whole[:cut]))
            for cut in range(3, len(whole) - 3)
        )

    def _has_stem(self, folded: str) -> bool:
        stems = (folded.removesuffix(ending) for ending in ENDINGS)
        return any(
            stem != folded and len(stem) > 2 and stem in self._usual for stem in stems
        )

    def share_known(self, text: str) -> float:
        """Return the share of a text's words that are known; 1 for a text without words."""
        words = WORD.findall(text)
        return sum(map(self.knows, words)) / len(words) if words else 1.0

    def with_usual_case(self, sentence: str) -> str:
        """Return a sentence in one case with its words spelt as usual; unknown ones are names.

        Addresses and letters that are not Latin stay as they are.
        """
        parts, end = [], 0
        for kept in UNTRANSLATED.finditer(sentence):
            parts += [self._respelt(sentence[end : kept.start()]), kept[0]]
            end = kept.end()
        parts.append(self._respelt(sentence[end:]))
        if not UNTRANSLATED.match(sentence):
            first = r"[^\W\d_]"
            parts[0] = re.sub(first, lambda found: found[0].upper(), parts[0], count=1)
        return "".join(parts)

    def _respelt(self, text: str) -> str:
        others = {} if _UMLAUT.search(text) else self._without_dots

        def usual(found: re.Match[str]) -> str:
            folded = fold(found[0])
            written = (self._usual, self._digraphs, others)
            known = (words[folded] for words in written if folded in words)
            return next(known, found[0].capitalize())

        return WORD.sub(usual, text)

    def with_usual_letters(self, text: str) -> str:
        """Return a text with the umlauts and the "ß" that a keyboard may lack.

        "Fuer" is für, "Strasse" Straße, "daß" dass and, where a text has no umlaut, "horen" hören.
        What the training had stays, and so do names, addresses and letters that are not Latin.
        """
        has_umlauts = bool(_UMLAUT.search(text))
        kept = [found.span() for found in UNTRANSLATED.finditer(text)]
        parts, end, before = [], 0, ""
        for found in WORD.finditer(text):
            word, begin = found[0], found.start()
            while kept and kept[0][1] <= begin:
                kept.pop(0)
            left = text[max(begin - 3, 0) : begin]
            is_kept = bool(kept) and kept[0][0] <= begin
            may_be_name = is_capitalised(word) and bool(_INSIDE.search(left))
            is_kept = is_kept or (is_capitalised(word) and INTRODUCES.fullmatch(before))
            if not is_kept:
                usual = self._usual_letters(word, may_be_name, has_umlauts)
                parts += [text[end:begin], usual]
                end = found.end()
            before = word
        return "".join([*parts, text[end:]])

    def _usual_letters(self, word: str, may_be_name: bool, has_umlauts: bool) -> str:
        folded = fold(word)
        usual = self._usual.get(folded, "")
        if word.isupper() and len(word) > 2:  # "Das ist NICHT wahr."
            return usual if usual and usual.islower() else word
        if usual:
            has_two_spellings = ("ß" in usual) == ("ß" in word)
            if has_two_spellings or _SS_OR_SZ.fullmatch(folded):
                return word
        elif word.removesuffix("s") in FIRST_NAMES or self.is_derived(word):
            return word
        else:
            usual = self._digraphs.get(folded, "")
            if not usual and word.islower() and not has_umlauts:
                usual = self._without_dots.get(folded, "")
            if may_be_name and usual.islower():  # "Schoen", not "schön"
                return word
            if not usual:
                with_umlauts = _DIGRAPH.sub(_as_umlaut, word)
                return with_umlauts if self.is_derived(with_umlauts) else word
        first = usual[0].upper() if word[0].isupper() else usual[0].lower()
        return first + usual[1:]

    def save(self, folder: Path) -> None:
        """Write the lexicon into a model's folder."""
        fields = {"longest": self.longest, "names": self.names, "words": self.words}
        text = json.dumps(fields, indent=0, ensure_ascii=False)
        write_text(folder / LEXICON, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> Lexicon | None:
        """Read the lexicon of a model's folder, if it has one; raises LexiconError if damaged."""
        path = folder / LEXICON
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if int(found["longest"]) < 1:
                raise ValueError(
                    f"longest: expected at least 1, got {found['longest']}"
                )
            return cls(
                int(found["longest"]),
                tuple(map(str, found["words"])),
                tuple(map(str, found["names"])),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise LexiconError(
                f"{path}: damaged ({error}); write it again by `export --data`"
            ) from None


def is_capitalised(word: str) -> bool:
    """Return whether a word of two letters or more begins with a capital."""
    return len(word) > 1 and word[0].isupper() and not word.isdigit()
