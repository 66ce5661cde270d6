"""Any text in, a line out for each line: sentences, names, capitals, and what is to be doubted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from translator.data.cleaning import normalise
from translator.decoding.confidence import is_guessed, is_short
from translator.decoding.copying import (
    Span,
    added_names,
    added_numbers,
    in_english,
    is_copied,
    is_foreign_script,
    is_verbatim,
    lost_numbers,
    put_back,
    spans_to_copy,
    ways_to_stand_in,
)
from translator.decoding.foreign import foreign_warning
from translator.decoding.lexicon import WORD, Lexicon
from translator.decoding.model_folder import Translator
from translator.decoding.search import (
    LONGEST_SOURCE,
    DecodingOptions,
    Hypothesis,
    decode_ids,
)
from translator.decoding.sentences import (
    LIST_MARK,
    is_heading,
    split_clauses,
    split_heading,
    split_sentences,
)
from translator.errors import TranslatorError
from translator.first_names import with_commas, without_commas
from translator.marks import (
    lost_markup,
    with_closing_mark,
    with_right_ordinals,
    without_signs,
)
from translator.postal import with_euros

#: A heading is read with each of these, too.
ARTICLES = ("Der", "Die", "Das")
_SPACE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


@dataclass(frozen=True)
class Candidate:
    """A translation, and how far to trust it.

    log_probability: the mean of its tokens', in nats; None where nothing was translated.
    expected_chrf: 0 to 100, where the translator is calibrated.
    """

    text: str
    log_probability: float | None
    expected_chrf: float | None


@dataclass(frozen=True)
class LineTranslation:
    """What became of a line: candidates, the best first and at least one, and warnings."""

    source: str
    candidates: list[Candidate]
    warnings: list[str]

    @property
    def text(self) -> str:
        """The best translation."""
        return self.candidates[0].text


@dataclass
class _Piece:
    """A piece of a line: what is around it, what to translate, and what came of it."""

    before: str  # white space, as after
    after: str
    source: str
    to_translate: str = ""  # empty: the source stands
    shouted: bool = False
    unended: bool = False  # the full stop in to_translate is ours
    heading: bool = False
    apposed: list[str] = field(default_factory=list)  # names with commas of ours
    spans: list[Span] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)  # emoji, which stand at the end
    found: list[tuple[str, Hypothesis]] = field(default_factory=list)


def translate_lines(
    translator: Translator,
    lines: Sequence[str],
    options: DecodingOptions | None = None,
    n_best: int = 1,
) -> list[LineTranslation]:
    """Translate lines of any text; the result has one for each, in order.

    A line is translated sentence by sentence, one without an end mark as if it had a full stop. A
    sentence longer than those in training is cut at commas. Text without letters stays as it is;
    names, long numbers and addresses that the model does not copy are put in their places. A line
    in capitals is read and written as such. Emoji come after the sentence that they are in. Words
    in letters that are not Latin are copied like names. Of names, numbers, addresses and markup a
    warning says which are lost.
    n_best: how many candidates at most; the i-th of a line is made of the i-th of its sentences.
    Raises TranslatorError for n_best below 1 or above the size of the beam.
    """
    options = options or DecodingOptions(alpha=translator.alpha)
    if not 1 <= n_best <= options.beam_size:
        raise TranslatorError(
            f"--n-best: expected 1 to {options.beam_size}, the size of the beam, got {n_best}"
        )
    warnings: list[list[str]] = [[] for _ in lines]
    pieces = [
        list(_pieces(translator, line, told))
        for line, told in zip(lines, warnings, strict=True)
    ]
    _decode(translator, [piece for row in pieces for piece in row], options)
    return [
        _assembled(translator, line, row, told, n_best)
        for line, row, told in zip(lines, pieces, warnings, strict=True)
    ]


def _pieces(translator: Translator, line: str, warnings: list[str]) -> Iterator[_Piece]:
    """Yield the pieces of a line; joined with the space after each, they are the line."""
    lexicon = translator.lexicon
    if not is_verbatim(line) and (foreign := foreign_warning(normalise(line), lexicon)):
        warnings.append(foreign)
    longest = min(lexicon.longest if lexicon else LONGEST_SOURCE, LONGEST_SOURCE)

    def fits(text: str) -> bool:
        return len(translator.tokenizer.encode(normalise(text))) <= longest

    sentences = split_heading(line, is_verbatim)
    if len(sentences) == 1 and not is_verbatim(line):
        sentences = split_sentences(line)
    for sentence in sentences:
        is_letter = len(sentence.strip()) == 1
        if is_letter or is_verbatim(sentence) or LIST_MARK.fullmatch(sentence):
            yield _Piece("", "", sentence)
            continue
        if is_foreign_script(sentence):
            warnings.append(
                f"no Latin letters, not translated: {sentence.strip()[:40]}"
            )
            yield _Piece("", "", sentence)
            continue
        shouted = sentence.isupper()
        # What is too long for a word stays as it is.
        is_whole = all(map(fits, sentence.lower().split()))
        if lexicon and is_whole and is_in_one_case(sentence):
            sentence = lexicon.with_usual_case(sentence)
        parts = split_clauses(sentence, fits)
        if len(parts) > 1:
            warnings.append(
                f"a sentence is longer than those in training and was cut into {len(parts)}: "
                f"{sentence.strip()[:40]}…"
            )
        for part in parts:
            before, source, after = _SPACE.fullmatch(part).groups()
            piece = _Piece(before, after, source, shouted=shouted)
            if fits(source):
                text, piece.signs = without_signs(source)
                text = with_euros(normalise(text))
                piece.to_translate, piece.apposed = with_commas(text)
                # Nearly all sentences of the training ended in a mark: "Haus" alone is no house.
                piece.unended = (
                    part is parts[-1]
                    and piece.to_translate[-1:].isalnum()
                    and fits(piece.to_translate + ".")
                )
                piece.heading = piece.unended and is_heading(
                    piece.to_translate, lexicon
                )
                piece.to_translate += "." if piece.unended else ""
                piece.spans = spans_to_copy(piece.to_translate, lexicon)
            else:
                warnings.append(f"too long for a word, not translated: {source[:40]}…")
            yield piece


def is_in_one_case(text: str) -> bool:
    """Return whether a text has words in capitals alone, or none."""
    words = [word for word in WORD.findall(text) if word.isalpha()]
    many = len(words) > 1 or any(len(word) > 4 for word in words)
    return text.islower() or (text.isupper() and many)


def _decode(
    translator: Translator, pieces: Sequence[_Piece], options: DecodingOptions
) -> None:
    """Translate pieces; where something was not copied, again with something else in its place."""
    pieces = [piece for piece in pieces if piece.to_translate]
    plain = _hypotheses(translator, [piece.to_translate for piece in pieces], options)
    again: list[tuple[_Piece, list[Span], str, list[str]]] = []
    doubtful = []
    for piece, found in zip(pieces, plain, strict=True):
        piece.found = _as_ended(piece, found)
    if headings := [piece for piece in pieces if piece.heading]:
        _decode_headings(translator, headings, options)
    for piece in pieces:
        best_text = piece.found[0][0]
        if _lost(piece, best_text) == (0, 0):
            continue
        doubtful.append(piece)
        lost = [span for span in piece.spans if not is_copied(span, best_text)]
        # What was copied may stay, and where a name cannot be copied numbers still may.
        # The English form of a name stays where that name is not lost.
        kept = [span for span in piece.spans if in_english(span.text) == span.text]
        most = [span for span in piece.spans if span in kept or span in lost]
        groups = [lost, most, [span for span in lost if span.is_number]]
        for k, spans in enumerate(groups):
            if spans and spans not in groups[:k]:
                again += [
                    (piece, spans, *way)
                    for way in ways_to_stand_in(
                        piece.to_translate, spans, translator.lexicon
                    )
                ]
    changed = _hypotheses(translator, [text for _, _, text, _ in again], options)
    for (piece, spans, _, chosen), found in zip(again, changed, strict=True):
        piece.found = piece.found + [
            (text, hypothesis)
            for written, hypothesis in _as_ended(piece, found)
            if (text := put_back(written, spans, chosen)) is not None
        ]
    for piece in doubtful:
        ordered = sorted(
            piece.found, key=lambda one: (*_lost(piece, one[0]), -one[1].score)
        )
        piece.found = ordered
    for piece in pieces:
        piece.found = _without_doubles(
            (without_commas(text, piece.apposed), found) for text, found in piece.found
        )


def _decode_headings(
    translator: Translator, pieces: Sequence[_Piece], options: DecodingOptions
) -> None:
    """Translate headings with an article, too, which goes again; the likeliest comes first.

    "Haus." was no sentence of the training, "Das Haus." is like many.
    """
    texts = [f"{a} {piece.to_translate}" for piece in pieces for a in ARTICLES]
    framed = iter(_hypotheses(translator, texts, options))
    for piece in pieces:
        longest = len(WORD.findall(piece.source)) + 1
        for _ in ARTICLES:
            piece.found += [
                (without, hypothesis)
                for text, hypothesis in _as_ended(piece, next(framed))
                if (without := text.removeprefix("The "))
                and len(WORD.findall(without)) <= longest
            ]
        piece.found.sort(key=lambda one: -one[1].mean_log_probability)
        piece.found = _without_doubles(
            (text[:1].upper() + text[1:], hypothesis)
            for text, hypothesis in piece.found
        )


def _without_doubles(
    found: Iterable[tuple[str, Hypothesis]],
) -> list[tuple[str, Hypothesis]]:
    """Return what was found, the best first, with a text only once."""
    best: dict[str, Hypothesis] = {}
    for text, hypothesis in found:
        best.setdefault(text, hypothesis)
    return list(best.items())


def _as_ended(
    piece: _Piece, found: Sequence[tuple[str, Hypothesis]]
) -> list[tuple[str, Hypothesis]]:
    """Return what was found for a piece, without a full stop where it had none.

    With a quotation mark, where it ended in one.
    """
    return _without_doubles(
        (
            with_closing_mark(
                piece.to_translate, text.removesuffix(".") if piece.unended else text
            ),
            hypothesis,
        )
        for text, hypothesis in found
    )


def _lost(piece: _Piece, translation: str) -> tuple[int, int]:
    """Return how many numbers of a piece a translation lacks, and how many other spans."""
    return (
        len(lost_numbers(piece.to_translate, translation)),
        len(_lost_texts(piece, translation)),
    )


def _told(
    piece: _Piece, translation: str, found: Hypothesis, lexicon: Lexicon | None
) -> list[str]:
    """Return what to say of a piece's translation, empty where there was none."""
    begin = piece.source[:40]
    told = [] if found.ended else [f"no end was found for: {begin}"]
    told += [] if translation else [f"not translated: {begin}"]
    translation = translation or piece.source
    told += [
        f"{span.text} is {in_english(span.text)} in the translation"
        for span in piece.spans
        if not span.is_number
        and span.text not in translation
        and in_english(span.text) in translation
    ]
    lost = _lost_texts(piece, translation)
    lost += lost_numbers(piece.to_translate, translation)
    lost += lost_markup(piece.to_translate, translation)
    added = added_names(piece.to_translate, translation) if lexicon else []
    added += added_numbers(piece.to_translate, translation)
    doubts = [f"not in the translation: {'; '.join(lost)}"] if lost else []
    doubts += [f"not in the source: {'; '.join(added)}"] if added else []
    if piece.unended and is_guessed(piece.source, found.mean_log_probability, lexicon):
        if translation != piece.source:
            doubts.append(f"a few words alone: {begin}")
        elif lexicon and not all(map(lexicon.is_familiar, WORD.findall(translation))):
            told.append(f"taken for a name, not translated: {begin}")
    if is_short(piece.to_translate, translation):
        doubts.append(f"much shorter than: {begin}")
    return told + [f"low confidence: {doubt}" for doubt in doubts]


def _lost_texts(piece: _Piece, translation: str) -> list[str]:
    """Return the names and addresses of a piece that a translation does not have."""
    others = [span for span in piece.spans if not span.is_number]
    return [span.text for span in others if not is_copied(span, translation)]


def _hypotheses(
    translator: Translator, texts: Sequence[str], options: DecodingOptions
) -> list[list[tuple[str, Hypothesis]]]:
    tokenizer = translator.tokenizer
    sources = [tokenizer.encode(text) for text in texts]
    results: list[list[tuple[str, Hypothesis]]] = [[] for _ in texts]
    for indices, found in decode_ids(translator.model, tokenizer, sources, options):
        for i, hypotheses in zip(indices, found, strict=True):
            written: dict[
                str, Hypothesis
            ] = {}  # a text may be cut into tokens in two ways
            for hypothesis in hypotheses:
                # A model that has learned little may write the end of a line.
                text = with_right_ordinals(
                    normalise(tokenizer.decode(hypothesis.tokens))
                )
                written.setdefault(text, hypothesis)
            results[i] = list(written.items())
    return results


def _assembled(
    translator: Translator,
    line: str,
    pieces: Sequence[_Piece],
    warnings: list[str],
    n_best: int,
) -> LineTranslation:
    candidates = []
    for i in range(min(n_best, max([len(p.found) for p in pieces], default=0)) or 1):
        text, total, length = "", 0.0, 0
        for piece in pieces:
            written, hypothesis = (
                piece.found[min(i, len(piece.found) - 1)]
                if piece.found
                else (piece.source, None)
            )
            if hypothesis is not None:
                total += hypothesis.log_probability
                length += len(hypothesis.tokens) + 1  # the end is a token, too
                if not i:
                    warnings += _told(piece, written, hypothesis, translator.lexicon)
                written = written or piece.source
            written = written.upper() if piece.shouted else written
            if hypothesis is not None and written != piece.source:
                written = " ".join([written, *piece.signs])
            text += piece.before + written + piece.after
        log_p = total / length if length else None
        known = translator.calibration is not None and log_p is not None
        expected = translator.calibration.expected_chrf(log_p) if known else None
        candidates.append(Candidate(text, log_p, expected))
    log_p, expected = candidates[0].log_probability, candidates[0].expected_chrf
    if expected is not None and translator.calibration.is_low(log_p):
        warnings.append(f"low confidence: at most {expected:.0f} chrF of 100 expected")
    return LineTranslation(line, candidates, warnings)
