"""Any text in, a line out for each line: sentences, names, capitals, and what is to be doubted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from translator.data.cleaning import normalise
from translator.decoding.confidence import is_guessed, is_short
from translator.decoding.copying import (
    Span,
    added_names,
    added_numbers,
    digits_of,
    in_english,
    is_copied,
    lost_numbers,
    put_back,
    ways_to_stand_in,
)
from translator.decoding.headings import as_item
from translator.decoding.lexicon import WORD, Lexicon
from translator.decoding.model_folder import Translator
from translator.decoding.search import DecodingOptions, Hypothesis, decode_ids
from translator.decoding.sentences import Piece, part_of, pieces_of
from translator.errors import TranslatorError
from translator.text.completeness import (
    items_alone,
    lost_items,
    lost_negation,
    pairs_of_items,
    with_all_items,
)
from translator.text.dates import with_right_times
from translator.text.first_names import without_commas
from translator.text.letters import with_right_phrases
from translator.text.marks import (
    lost_markup,
    quotations,
    with_closing_mark,
    with_english_numbers,
    with_first_letter,
    with_right_ordinals,
)
from translator.text.markup import fenced, with_pair
from translator.text.postal import with_english_places
from translator.text.titles import english_person, with_titles
from translator.text.units import with_right_units

#: A heading is read with each of these, too.
ARTICLES = ("Der", "Die", "Das")


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


def translate_lines(
    translator: Translator,
    lines: Sequence[str],
    options: DecodingOptions | None = None,
    n_best: int = 1,
) -> list[LineTranslation]:
    """Translate lines of any text; the result has one for each, in order.

    A line is translated sentence by sentence, one without an end mark as if it had a full stop. A
    sentence longer than those in training is cut at commas; what stands in brackets is translated
    by itself, and comes after its sentence. Cells between tabs stay apart. Text without letters
    stays as it is; names, long numbers and addresses that the model does not copy are put in their
    places. A line in capitals is read and written as such. Emoji come after the sentence that they
    are in. Words in letters that are not Latin are copied like names. Of names, numbers, addresses
    and markup a warning says which are lost.
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
        [Piece("", "", line)] if is_code else list(pieces_of(translator, line, told))
        for line, told, is_code in zip(lines, warnings, fenced(lines), strict=True)
    ]
    _decode(translator, [piece for row in pieces for piece in row], options)
    return [
        _assembled(translator, line, row, told, n_best)
        for line, row, told in zip(lines, pieces, warnings, strict=True)
    ]


def _decode(
    translator: Translator, pieces: Sequence[Piece], options: DecodingOptions
) -> None:
    """Translate pieces; where something was not copied, again with something else in its place."""
    pieces = [piece for piece in pieces if piece.to_translate]
    plain = _hypotheses(translator, [piece.to_translate for piece in pieces], options)
    again: list[tuple[Piece, list[Span], str, list[str]]] = []
    doubtful = []
    for piece, found in zip(pieces, plain, strict=True):
        piece.found = _as_ended(piece, found)
    if headings := [piece for piece in pieces if piece.heading]:
        _decode_headings(translator, headings, options)
    for piece in pieces:
        best_text = piece.found[0][0]
        if not any(_lost(piece, best_text)):
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
        is_list = bool(items_alone(piece.to_translate))
        best = ordered[0][0]
        if lost_items(piece.to_translate, best) or (
            is_list and any(_lost(piece, best))
        ):
            _decode_items(translator, piece, options)
    for piece in pieces:
        piece.found = _without_doubles(
            (_in_english(piece, text, translator.lexicon), found)
            for text, found in piece.found
        )
        if piece.pairs:
            _put_pairs(translator, piece, options)


def _decode_items(
    translator: Translator, piece: Piece, options: DecodingOptions
) -> None:
    """Translate an enumeration in parts; that comes first if no item is missing then."""
    (best, hypothesis), sentence = piece.found[0], piece.to_translate
    if alone := items_alone(sentence):
        items = [part_of(item, translator) for _, item in alone]
        for item in items[1:]:
            item.is_item = True
        _decode(translator, items, options)
        texts = [one.found[0][0] for one in items]
        text = "".join(a + b for (a, _), b in zip(alone, texts, strict=True))
        text += "." if sentence.endswith(".") else ""
    else:
        pairs = pairs_of_items(sentence)
        found = _hypotheses(translator, pairs, options)
        text = with_all_items(sentence, [one[0][0] for one in found])
    if not text:
        return
    [(text, _)] = _as_ended(piece, [(text, hypothesis)])
    lost, before = _lost(piece, text), _lost(piece, best)
    if lost != before and all(a <= b for a, b in zip(lost, before, strict=True)):
        piece.found = _without_doubles([(text, hypothesis), *piece.found])


def _put_pairs(translator: Translator, piece: Piece, options: DecodingOptions) -> None:
    """Put pairs of marks around what stands for theirs in each translation of a piece.

    What they stand around is translated by itself, and in quotation marks; where neither is in a
    translation, they are not put.
    """
    parts = [part_of(pair.inside, translator) for pair in piece.pairs]
    _decode(translator, parts, options)
    sentence = piece.to_translate
    quoted = [sentence.replace(p.inside, f"„{p.inside}“", 1) for p in piece.pairs]
    quoting = _hypotheses(translator, quoted, options)
    marked = []
    for text, hypothesis in piece.found:
        for pair, part, found in zip(piece.pairs, parts, quoting, strict=True):
            candidates = [pair.inside, *(written for written, _ in part.found)]
            candidates += [one for written, _ in found for one in quotations(written)]
            text = with_pair(text, pair, candidates) or text
        marked.append((text, hypothesis))
    piece.found = marked


def _in_english(piece: Piece, text: str, lexicon: Lexicon | None) -> str:
    """Return a piece's translation with numbers and a first letter as English writes them."""
    text = without_commas(text, piece.apposed)
    for person in (span.text for span in piece.spans if english_person(span.text)):
        text = with_titles(person, text)
    text = with_english_places(text, [span.text for span in piece.spans])
    numbered = with_english_numbers(text, digits_of(piece.to_translate))
    text = with_right_units(piece.to_translate, numbered)
    text = with_right_times(piece.to_translate, text)
    text = with_right_phrases(piece.to_translate, text)
    text = with_first_letter(piece.source, text, goes_on=piece.goes_on)
    return as_item(piece.source, text, lexicon) if piece.is_item else text


def _decode_headings(
    translator: Translator, pieces: Sequence[Piece], options: DecodingOptions
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
    piece: Piece, found: Sequence[tuple[str, Hypothesis]]
) -> list[tuple[str, Hypothesis]]:
    """Return what was found for a piece, without the mark at its end where it had none.

    With a quotation mark, where it ended in one.
    """
    return _without_doubles(
        (
            with_closing_mark(piece.to_translate, _without_mark(piece, text)),
            hypothesis,
        )
        for text, hypothesis in found
    )


def _without_mark(piece: Piece, text: str) -> str:
    if piece.unended:
        return text.removesuffix(".")
    return text.rstrip(".!?…") if piece.mark else text


def _lost(piece: Piece, translation: str) -> tuple[int, int, int]:
    """Return how many numbers of a piece a translation lacks, other spans, and what else.

    That is a negation, and items of an enumeration.
    """
    sentence = piece.to_translate
    return (
        len(lost_numbers(sentence, translation)),
        len(_lost_texts(piece, translation)),
        len(lost_negation(sentence, translation)) + lost_items(sentence, translation),
    )


def _told(
    piece: Piece, translation: str, found: Hypothesis, lexicon: Lexicon | None
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
    lost += lost_negation(piece.to_translate, translation)
    lost += [
        f"{pair.opening}…{pair.closing}"
        for pair in piece.pairs
        if pair.opening not in translation
    ]
    lost = list(dict.fromkeys(lost))
    lost = [one for one in lost if not any(one != o and one in o for o in lost)]
    added = added_names(piece.to_translate, translation) if lexicon else []
    added += added_numbers(piece.to_translate, translation)
    unknown = _unknown(piece, lexicon)
    doubts = [f"not in the translation: {'; '.join(lost)}"] if lost else []
    doubts += [f"not in the source: {'; '.join(added)}"] if added else []
    doubts += [f"unknown: {'; '.join(unknown)}"] if unknown else []
    if piece.unended and is_guessed(
        piece.to_translate, found.mean_log_probability, lexicon
    ):
        if translation != piece.source:
            doubts.append(f"a few words alone: {begin}")
        elif lexicon and not all(map(lexicon.is_familiar, WORD.findall(translation))):
            told.append(f"taken for a name, not translated: {begin}")
    if lost_items(piece.to_translate, translation):
        doubts.append(f"fewer items than: {begin}")
    if is_short(piece.to_translate, translation):
        doubts.append(f"much shorter than: {begin}")
    return told + [f"low confidence: {doubt}" for doubt in doubts]


def _unknown(piece: Piece, lexicon: Lexicon | None) -> list[str]:
    """Return the words that the training had in no form, and that are not to be copied."""
    words = WORD.finditer(piece.to_translate) if lexicon else ()
    found = [
        word[0]
        for word in words
        if not lexicon.is_familiar(word[0])
        and not lexicon.is_derived(word[0])
        and not any(s.begin < word.end() and word.start() < s.end for s in piece.spans)
    ]
    return list(dict.fromkeys(found))


def _lost_texts(piece: Piece, translation: str) -> list[str]:
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
    pieces: Sequence[Piece],
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
