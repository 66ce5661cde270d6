"""A line in pieces: what stays, and what the model is to read; joined, they are the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from translator.data.cleaning import normalise
from translator.decoding.copying import (
    Span,
    is_foreign_script,
    is_verbatim,
    spans_to_copy,
)
from translator.decoding.foreign import foreign_warning
from translator.decoding.headings import (
    LABEL_ALONE,
    NO_DATE,
    is_heading,
    is_label,
    split_heading,
)
from translator.decoding.lexicon import WORD, Lexicon
from translator.decoding.model_folder import Translator
from translator.decoding.search import LONGEST_SOURCE, Hypothesis
from translator.text.dates import with_digital_times
from translator.text.first_names import with_commas
from translator.text.letters import LABELS, rephrased, split_phrase
from translator.text.marks import (
    split_brackets,
    split_trailing,
    with_usual_quotes,
    without_signs,
)
from translator.text.markup import Marked, split_markup, without_pairs
from translator.text.numbers import with_english_measures
from translator.text.postal import CODE
from translator.text.splitting import LIST_MARK, split_clauses, split_sentences
from translator.text.titles import without_titles_of_offices
from translator.text.units import MEASURE, PORTION, PORTION_ALONE, written_out

_CELL = re.compile(r"[^\t]*\t+|[^\t]+")
_SPACE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_PHRASE_END = re.compile(r"[,!:.]*\s*")
_END_MARK = re.compile(r"(.*\w)([.!?…]+)", re.DOTALL)
#: "1. Öffnen Sie das Fenster.", "2. Mehl, Zucker und Eier verrühren.": no noun, or several.
_NUMBERED = re.compile(
    rf"\s*\d{{1,2}}\.\s+(?=(?P<word>[A-ZÄÖÜ][^\W\d_]*)(?P<comma>,?)){NO_DATE}"
)


@dataclass
class Piece:
    """A piece of a line: what is around it, what to translate, and what came of it."""

    before: str  # white space and marks, as after
    after: str
    source: str
    to_translate: str = ""  # empty: the source stands
    shouted: bool = False
    goes_on: bool = False  # a sentence that began before
    mark: str = ""  # at the end of to_translate, which the translation does not get
    unended: bool = False  # that mark is a full stop of ours
    heading: bool = False
    apposed: list[str] = field(default_factory=list)  # names with commas of ours
    spans: list[Span] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)  # emoji, which stand at the end
    is_item: bool = False  # of a list, which has a small letter
    pairs: list[Marked] = field(default_factory=list)  # of marks inside it
    found: list[tuple[str, Hypothesis]] = field(default_factory=list)


def pieces_of(
    translator: Translator, line: str, warnings: list[str]
) -> Iterator[Piece]:
    """Yield the pieces of a line; joined with what is around each, they are the line.

    But for brackets, which come after their sentence.
    """
    lexicon = translator.lexicon
    parts = list(split_markup(line))
    words = " ".join(without_pairs(part)[0] for part, is_kept in parts if not is_kept)
    words = CODE.sub("", MEASURE.sub("", normalise(words)))
    words = lexicon.with_usual_letters(words) if lexicon else words
    is_acronym = words.isupper() and len(WORD.findall(words)) == 1  # "IBAN:"
    foreign = (
        "" if is_acronym or is_verbatim(words) else foreign_warning(words, lexicon)
    )
    if foreign:
        warnings.append(foreign)
    for part, is_kept in parts:
        if is_kept:
            yield Piece("", "", part)
            continue
        text, pairs = without_pairs(part)
        pieces = list(_pieces_of_text(text, lexicon, translator, warnings))
        for pair in pairs:
            _mark(pieces, pair)
        yield from pieces


def _fits_into(translator: Translator) -> Callable[[str], bool]:
    """Return a function that tells whether a text is no longer than those in training."""
    lexicon = translator.lexicon
    longest = min(lexicon.longest if lexicon else LONGEST_SOURCE, LONGEST_SOURCE)
    return lambda text: len(translator.tokenizer.encode(normalise(text))) <= longest


def _mark(pieces: list[Piece], pair: Marked) -> None:
    """Give a pair of marks to the first piece that has what it stands around."""
    last = max((i for i, piece in enumerate(pieces) if piece.pairs), default=0)
    for inside in (pair.inside, LABELS.get(pair.inside, pair.inside)):
        for piece in pieces[last:]:
            if inside in piece.source:
                if piece.to_translate:
                    piece.pairs.append(pair)
                else:
                    marked = f"{pair.opening}{inside}{pair.closing}"
                    piece.source = piece.source.replace(inside, marked, 1)
                return


def _pieces_of_text(
    line: str, lexicon: Lexicon | None, translator: Translator, warnings: list[str]
) -> Iterator[Piece]:
    """Yield the pieces of a text without markup."""
    fits = _fits_into(translator)
    after_portion = after_phrase = False
    for sentence in _sentences(line, lexicon):
        is_item, after_portion = after_portion, bool(PORTION_ALONE.fullmatch(sentence))
        goes_on, after_phrase = after_phrase, False
        _, phrase = _phrase(sentence, lexicon)
        if phrase:
            yield Piece("", "", phrase)
            after_phrase = True
            continue
        if _stays(sentence, lexicon):
            yield Piece("", "", with_english_measures(sentence))
            continue
        if is_foreign_script(sentence):
            warnings.append(
                f"no Latin letters, not translated: {sentence.strip()[:40]}"
            )
            yield Piece("", "", sentence)
            continue
        shouted = sentence.isupper()
        # What is too long for a word stays as it is.
        is_whole = all(map(fits, sentence.lower().split()))
        if lexicon and is_whole and is_in_one_case(sentence):
            usual = lexicon.with_usual_case(sentence)
            sentence = sentence[:1] + usual[1:] if goes_on else usual
        parts = split_clauses(sentence, fits)
        if len(parts) > 1:
            warnings.append(
                f"a sentence is longer than those in training and was cut into {len(parts)}: "
                f"{sentence.strip()[:40]}…"
            )
        for i, part in enumerate(parts):
            before, source, after = _SPACE.fullmatch(part).groups()
            whole = Piece(
                before,
                after,
                source,
                shouted=shouted,
                goes_on=goes_on or i > 0,
                is_item=is_item,
            )
            if fits(source):
                yield from _without_brackets(whole, lexicon, fits)
            else:
                warnings.append(f"too long for a word, not translated: {source[:40]}…")
                yield whole


def _sentences(line: str, lexicon: Lexicon | None) -> Iterator[str]:
    """Yield the sentences of a line and what is between them, cell by cell."""
    for cell in _CELL.findall(line):
        yield from _of_cell(cell, lexicon)


def _of_cell(cell: str, lexicon: Lexicon | None) -> Iterator[str]:
    if is_verbatim(cell):
        yield cell
        return
    # "- ", "250 g "
    if begins := LIST_MARK.match(cell) or PORTION.match(cell):
        yield begins[0]
        yield from _of_cell(cell[begins.end() :], lexicon)
        return
    length, _ = _phrase(cell, lexicon)
    if length:
        yield cell[:length]
        if cell[length:]:
            yield from _of_cell(cell[length:], lexicon)
        return
    *parts, cell = split_heading(cell, is_verbatim, lexicon)
    numbered = _NUMBERED.match(cell)
    is_entry = numbered and (
        numbered["comma"] or (lexicon and not lexicon.is_noun(numbered["word"]))
    )
    if not parts and is_entry:
        parts, cell = [numbered[0]], cell[numbered.end() :]
    if parts:
        yield from parts
        yield from _of_cell(cell, lexicon)
        return
    *others, last = split_sentences(cell)
    # "Er kam.Sie ging." has no space, English has.
    yield from (one if one[-1].isspace() else f"{one} " for one in others)
    yield last


def _phrase(text: str, lexicon: Lexicon | None) -> tuple[int, str]:
    """Return how long a text's first phrase is, with its mark, and its translation."""
    if lexicon is None:
        return 0, ""
    length, phrase = split_phrase(
        text, lambda word: lexicon.is_name(word) or not lexicon.knows(word)
    )
    ends = _PHRASE_END.match(text, length)
    return (ends.end(), phrase + ends[0]) if phrase else (0, "")


def _stays(sentence: str, lexicon: Lexicon | None) -> bool:
    """Return whether what `_sentences` yields is no sentence, and stays."""
    speaker = LABEL_ALONE.fullmatch(sentence)
    return (
        len(sentence.strip()) == 1
        or is_verbatim(sentence)
        or bool(LIST_MARK.fullmatch(sentence))
        or bool(PORTION_ALONE.fullmatch(sentence))
        or bool(speaker and is_label(speaker[1].strip(), lexicon))
    )


def _without_brackets(
    whole: Piece, lexicon: Lexicon | None, fits: Callable[[str], bool]
) -> Iterator[Piece]:
    """Yield a piece; what it has in brackets after it, before its end mark."""
    source, brackets = split_brackets(whole.source)
    if not brackets:
        yield _prepared(whole, lexicon, fits)
        return
    yield Piece("", "", whole.before)
    mark = ""
    if source:
        ended = _END_MARK.fullmatch(source)
        source, mark = (ended[1], ended[2]) if ended else split_trailing(source)
        main = replace(whole, before="", after=" ", source=source)
        yield _prepared(main, lexicon, fits, mark if ended else "")
    for k, (opening, inside, closing) in enumerate(brackets):
        yield Piece("", "", opening)
        before, source, after = _SPACE.fullmatch(inside).groups()
        piece = Piece(before, after, source, shouted=whole.shouted, goes_on=True)
        is_kept = is_verbatim(inside) or is_foreign_script(inside)
        piece.source = with_english_measures(source) if is_kept else source
        yield piece if is_kept else _prepared(piece, lexicon, fits)
        yield Piece("", "", closing + (" " if k + 1 < len(brackets) else ""))
    yield Piece("", "", mark + whole.after)


def _prepared(
    piece: Piece,
    lexicon: Lexicon | None,
    fits: Callable[[str], bool],
    mark: str = "",
) -> Piece:
    """Return a piece with what the model is to read: with this mark, or one of ours, at its end."""
    if not mark:
        source, trailing = split_trailing(piece.source)
        piece = replace(piece, source=source, after=trailing + piece.after)
    text, signs = without_signs(piece.source)
    text = normalise(text)
    text = lexicon.with_usual_letters(text) if lexicon else text
    text = without_titles_of_offices(
        written_out(with_digital_times(rephrased(with_usual_quotes(text))))
    )
    text, apposed = with_commas(text)
    # Nearly all sentences of the training ended in a mark: "Haus" alone is no house.
    unended = not mark and text[-1:].isalnum() and fits(text + ".")
    heading = unended and is_heading(text, lexicon)
    mark = "." if unended else mark
    return replace(
        piece,
        to_translate=text + mark,
        mark=mark,
        unended=unended,
        heading=heading,
        apposed=apposed,
        signs=signs,
        spans=spans_to_copy(text + mark, lexicon),
    )


def part_of(source: str, translator: Translator) -> Piece:
    """Return a part of a sentence as a piece of its own, read as if it began one."""
    part = Piece("", "", source[:1].upper() + source[1:], goes_on=True)
    return _prepared(part, translator.lexicon, _fits_into(translator))


def is_in_one_case(text: str) -> bool:
    """Return whether a text has words in capitals alone, or none."""
    words = [word for word in WORD.findall(text) if word.isalpha()]
    many = len(words) > 1 or any(len(word) > 4 for word in words)
    return text.islower() or (text.isupper() and many)
