// Any text in, a line out for each line: sentences, names, capitals, and what is to be doubted, as in
// translator/decoding/lines.py. tests/site/test_lines_in_node.py compares 500 lines with Python's.

// A text with its translation is {text, total, length, warnings, pieces}: total is the tokens'
// log-probability, length their number. A piece has what is around it, what to translate (empty where
// the source stands), and what was found: {text, hypothesis, read, spans, chosen}, the best first;
// read is the sentence that the model was given, in which what is chosen stands for the spans.
class LineTranslator extends Pieces {
  // A heading is read with each of these, too.
  static ARTICLES = ["Der", "Die", "Das"];
  // Up to so many words without an end mark are doubted below this mean log-probability of a token.
  static FEW_WORDS = 3;
  static DOUBTED = -0.45;

  constructor(model, tokenizer, lexicon, options) {
    super(tokenizer, lexicon, options);
    this.model = model;
  }

  // Translate lines one by one; yields what has been written so far, null where that stays.
  *translateText(text) {
    const pieces = [];
    const warnings = [];
    const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
    const isCode = Markup.fenced(lines);
    lines.forEach((line, i) => {
      if (i) pieces.push(LineTranslator.standing("\n"));
      pieces.push(...(isCode[i] ? [LineTranslator.standing(line)] : this.pieces(line, warnings)));
    });
    for (const piece of pieces.filter((one) => one.toTranslate)) {
      const before = LineTranslator.joined(pieces.slice(0, pieces.indexOf(piece))) + piece.before;
      for (const steps = this.decode(piece); ; ) {
        const { value: ids, done } = steps.next();
        if (done) break;
        yield ids && before + strip(this.tokenizer.decode(ids));
      }
    }
    return this.assembled(pieces, warnings);
  }

  // What was found for a piece as English writes it.
  inEnglish(piece) {
    const { found } = piece;
    return LineTranslator.withoutDoubles(
      found.map((one) => ({ ...one, text: LineTranslator.inEnglish(one.text, piece, this.lexicon) })),
    );
  }

  // A piece's translation without commas of ours; numbers, units and a first letter as in English.
  static inEnglish(text, { apposed, spans, toTranslate, source, goesOn, isItem }, lexicon) {
    const digits = Numbers.digitsOf(toTranslate);
    const persons = spans.map((span) => span.text).filter((one) => Titles.english(one).length);
    const titled = persons.reduce((written, one) => Titles.withTitle(one, written), Copying.withoutCommas(text, apposed));
    const numbered = Units.withEnglishNumbers(Letters.withEnglishPlaces(titled, spans), digits);
    const timed = Times.withRightTimes(toTranslate, Units.withRightUnits(toTranslate, numbered));
    const written = lexicon ? lexicon.letters.withRightPhrases(toTranslate, timed) : timed;
    const first = Copying.withFirstLetter(source, written, goesOn);
    return isItem ? Sentences.asItem(source, first, lexicon) : first;
  }

  // Translate a piece, and put what it has of markup around that.
  *decode(piece) {
    yield* this.decodeSpans(piece);
    piece.found = this.inEnglish(piece);
    if (piece.pairs.length) yield* this.putPairs(piece);
  }

  // Translate a piece; where something was not copied, again with something else in its place.
  *decodeSpans(piece) {
    const plain = LineTranslator.asEnded(piece, yield* this.hypotheses(piece.toTranslate, true));
    piece.found = plain.map((one) => ({ ...one, read: piece.toTranslate, spans: [], chosen: [] }));
    if (piece.heading) yield* this.decodeHeading(piece);
    const best = piece.found[0].text;
    if (!this.lost(piece, best).some(Boolean)) return;
    const lost = piece.spans.filter((span) => !Copying.isCopied(span, best));
    // What was copied may stay, and where a name cannot be copied numbers still may.
    // The English form of a name stays where that name is not lost.
    const most = piece.spans.filter((span) => Copying.inEnglish(span.text) === span.text || lost.includes(span));
    const groups = [lost, most, lost.filter((span) => span.isNumber)];
    const places = groups.map((spans) => spans.map((span) => span.begin).join());
    for (const spans of groups.filter((_, k) => places[k] && places.indexOf(places[k]) === k)) {
      for (const { text: read, chosen } of Copying.waysToStandIn(piece.toTranslate, spans, this.lexicon)) {
        const found = LineTranslator.asEnded(piece, yield* this.hypotheses(read, false));
        for (const { text: written, hypothesis } of found) {
          const text = Copying.putBack(written, spans, chosen);
          if (text !== null) piece.found.push({ text, hypothesis, read, spans, chosen });
        }
      }
    }
    const ranked = piece.found.map((one) => [...this.lost(piece, one.text), -one.hypothesis.score, one]);
    ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3]);
    piece.found = ranked.map(({ 4: one }) => one);
    const [{ text }] = piece.found;
    const isList = Completeness.itemsAlone(piece.toTranslate).length > 0;
    const isLost = isList && this.lost(piece, text).some(Boolean);
    if (isLost || Completeness.lostItems(piece.toTranslate, text)) yield* this.decodeItems(piece);
  }

  // Translate an enumeration in parts; that comes first if no item is missing then.
  *decodeItems(piece) {
    const [best] = piece.found;
    const sentence = piece.toTranslate;
    const alone = Completeness.itemsAlone(sentence);
    let whole = "";
    for (const [i, [link, item]] of alone.entries()) {
      const part = { ...this.part(item), isItem: i > 0 };
      yield* this.quietly(part);
      whole += link + part.found[0].text;
    }
    if (!alone.length) {
      const texts = [];
      for (const pair of Completeness.pairsOfItems(sentence)) {
        texts.push((yield* this.hypotheses(pair, false))[0].text);
      }
      whole = Completeness.withAllItems(sentence, texts);
    } else if (sentence.endsWith(".")) whole += ".";
    if (!whole) return;
    const [{ text }] = LineTranslator.asEnded(piece, [{ ...best, text: whole }]);
    const [lost, before] = [this.lost(piece, text), this.lost(piece, best.text)];
    const isBetter = lost.some((n, i) => n !== before[i]) && lost.every((n, i) => n <= before[i]);
    if (isBetter) piece.found = LineTranslator.withoutDoubles([{ ...best, text }, ...piece.found]);
  }

  // A part of a sentence as a piece of its own, read as if it began one.
  part(source) {
    const around = { before: "", after: "", shouted: false, goesOn: true, found: [] };
    return this.prepared({ ...around, source: LineTranslator.withCapital(source) });
  }

  // Translate a piece of which nothing is shown yet.
  *quietly(piece) {
    for (const steps = this.decode(piece); !steps.next().done; ) yield null;
  }

  // Put pairs of marks around what stands for theirs in each translation of a piece. What they stand
  // around is translated by itself, and in quotation marks; where neither is in a translation, they are
  // not put.
  *putPairs(piece) {
    const candidates = [];
    for (const { inside } of piece.pairs) {
      const part = this.part(inside);
      yield* this.quietly(part);
      const quoted = piece.toTranslate.replace(inside, () => `„${inside}“`);
      const quoting = yield* this.hypotheses(quoted, false);
      const quotations = quoting.flatMap(({ text }) => Copying.quotations(text));
      candidates.push([inside, ...part.found.map(({ text }) => text), ...quotations]);
    }
    piece.found = piece.found.map((one) => {
      const put = (text, pair, i) => Markup.withPair(text, pair, candidates[i]) || text;
      return { ...one, text: piece.pairs.reduce(put, one.text) };
    });
  }

  // Translate a heading with an article, too, which goes again; the likeliest comes first. "Haus." was no
  // sentence of the training, "Das Haus." is like many.
  *decodeHeading(piece) {
    const longest = Lexicon.words(piece.source).length + 1;
    for (const article of LineTranslator.ARTICLES) {
      const read = `${article} ${piece.toTranslate}`;
      for (const one of LineTranslator.asEnded(piece, yield* this.hypotheses(read, false))) {
        const text = LineTranslator.withoutArticle(one.text);
        if (!text || Lexicon.words(text).length > longest) continue;
        piece.found.push({ ...one, text, read, spans: [], chosen: [] });
      }
    }
    piece.found.sort((one, other) => LineTranslator.mean(other) - LineTranslator.mean(one));
    const withCapitals = piece.found.map((one) => ({ ...one, text: LineTranslator.withCapital(one.text) }));
    piece.found = LineTranslator.withoutDoubles(withCapitals);
  }

  // What was found, the best first, with a text only once.
  static withoutDoubles(found) {
    const byText = new Map();
    for (const one of found) if (!byText.has(one.text)) byText.set(one.text, one);
    return [...byText.values()];
  }

  static withoutArticle(text) {
    return text.replace(/^The /, "");
  }

  static withCapital([first = "", ...rest]) {
    return first.toUpperCase() + rest.join("");
  }

  // The mean log-probability of a token, the end among them.
  static mean({ hypothesis: { logP, tokens } }) {
    return logP / (tokens.length + 1);
  }

  // What was found for a piece, without the mark at its end where it had none; with a quotation mark,
  // where it ended in one.
  static asEnded({ unended, mark, toTranslate }, found) {
    const bare = (text) => (unended ? text.replace(/\.$/, "") : mark ? text.replace(/[.!?…]+$/, "") : text);
    const written = new Map();
    for (const { text, hypothesis } of found) {
      const ended = Copying.withClosingMark(toTranslate, bare(text));
      if (!written.has(ended)) written.set(ended, { text: ended, hypothesis });
    }
    return [...written.values()];
  }

  // How many numbers of a piece a translation lacks, other spans, and what else: a negation, and items of
  // an enumeration.
  lost(piece, translation) {
    const { toTranslate: sentence } = piece;
    const others = Completeness.lostNegation(sentence, translation).length;
    return [
      Copying.lostNumbers(sentence, translation).length,
      LineTranslator.lostTexts(piece, translation).length,
      others + Completeness.lostItems(sentence, translation),
    ];
  }

  // The names and addresses of a piece that a translation does not have.
  static lostTexts(piece, translation) {
    const lost = piece.spans.filter((span) => !span.isNumber && !Copying.isCopied(span, translation));
    return lost.map((span) => span.text);
  }

  // Whether the translation of a few words that are no sentence may be a guess: it is unlikely, or the
  // training did not have one of the words.
  static isGuessed(source, mean, lexicon) {
    const words = Lexicon.words(source);
    const isUnknown = Boolean(lexicon) && !words.every((word) => lexicon.isFamiliar(word));
    return words.length <= LineTranslator.FEW_WORDS && (mean < LineTranslator.DOUBTED || isUnknown);
  }

  // What the beam finds for a sentence, as {text, hypothesis}, the best first.
  // Yields the ids of the best beginning, if it is to be shown.
  *hypotheses(sentence, isShown, prefix = []) {
    const ids = [...this.tokenizer.encode(sentence), Tokenizer.EOS];
    const { memory } = this.model.encode(ids);
    const { alpha, beamSize: size, maxRatio } = this.options;
    const steps = beamSteps(this.model, memory, { limit: lengthLimit(ids.length, maxRatio), size, alpha, prefix });
    for (;;) {
      const { value, done } = steps.next();
      if (!done) {
        yield isShown ? value : null;
        continue;
      }
      const written = new Map(); // a text may be cut into tokens in two ways
      for (const hypothesis of value.hypotheses) {
        const text = Copying.withRightOrdinals(normalise(this.tokenizer.decode(hypothesis.tokens)));
        if (!written.has(text)) written.set(text, { text, hypothesis });
      }
      return [...written.values()];
    }
  }

  // A translation in which one piece goes on from tokens that were chosen.
  *goOn({ pieces }, piece, prefix) {
    const [{ read, spans, chosen }] = piece.found;
    const [{ text, hypothesis }] = LineTranslator.asEnded(piece, yield* this.hypotheses(read, false, prefix));
    const isFramed = read !== piece.toTranslate && !chosen.length;
    const bare = isFramed ? LineTranslator.withCapital(LineTranslator.withoutArticle(text)) : text;
    const back = LineTranslator.inEnglish(Copying.putBack(bare, spans, chosen) ?? bare, piece, this.lexicon);
    const found = [{ text: back, hypothesis, read, spans, chosen }];
    return this.assembled(pieces.map((one) => (one === piece ? { ...one, found } : one)), []);
  }

  assembled(pieces, warnings) {
    let [total, length] = [0, 0];
    for (const piece of pieces) {
      if (!piece.found.length) continue;
      const [{ hypothesis }] = piece.found;
      total += hypothesis.logP;
      length += hypothesis.tokens.length + 1; // the end is a token, too
      warnings.push(...LineTranslator.told(piece, this.lexicon));
    }
    return { text: LineTranslator.joined(pieces), total, length, warnings, pieces };
  }

  // What to say of a piece's translation.
  static told(piece, lexicon) {
    const { found, source, toTranslate, unended, spans, pairs } = piece;
    const [{ text, hypothesis }] = found;
    const begin = LineTranslator.begin(source);
    const translation = text || source;
    const names = spans
      .filter((span) => !span.isNumber && !translation.includes(span.text))
      .map((span) => [span.text, Copying.inEnglish(span.text)])
      .filter(([, english]) => translation.includes(english))
      .map(([name, english]) => `${name} is ${english} in the translation`);
    const allLost = [
      ...LineTranslator.lostTexts(piece, translation),
      ...Copying.lostNumbers(toTranslate, translation),
      ...Copying.lostMarkup(toTranslate, translation),
      ...Completeness.lostNegation(toTranslate, translation),
      ...pairs.filter(({ opening }) => !translation.includes(opening)).map((one) => `${one.opening}…${one.closing}`),
    ];
    const lost = [...new Set(allLost)].filter((one) => !allLost.some((other) => one !== other && other.includes(one)));
    const added = [
      ...(lexicon ? Copying.addedNames(toTranslate, translation, lexicon) : []),
      ...Copying.addedNumbers(toTranslate, translation),
    ];
    const [words, others] = [toTranslate, translation].map((one) => Lexicon.words(one).length);
    const isGuessed = unended && LineTranslator.isGuessed(toTranslate, LineTranslator.mean(found[0]), lexicon);
    const isFamiliar = !lexicon || Lexicon.words(translation).every((word) => lexicon.isFamiliar(word));
    const isCopied = translation === source;
    const unknown = lexicon ? LineTranslator.unknown(piece, lexicon) : [];
    const doubts = [
      lost.length && `not in the translation: ${lost.join("; ")}`,
      added.length && `not in the source: ${added.join("; ")}`,
      unknown.length > 0 && `unknown: ${unknown.join("; ")}`,
      isGuessed && !isCopied && `a few words alone: ${begin}`,
      Completeness.lostItems(toTranslate, translation) > 0 && `fewer items than: ${begin}`,
      words >= 6 && others <= 0.5 * words && `much shorter than: ${begin}`,
    ];
    return [
      !hypothesis.ended && `no end was found for: ${begin}`,
      !text && `not translated: ${begin}`,
      ...names,
      isGuessed && isCopied && !isFamiliar && `taken for a name, not translated: ${begin}`,
      ...doubts.filter(Boolean).map((doubt) => `low confidence: ${doubt}`),
    ].filter(Boolean);
  }

  // The words that the training had in no form, and that are not to be copied.
  static unknown({ toTranslate, spans }, lexicon) {
    const isCopied = (begin, end) => spans.some((span) => span.begin < end && begin < span.end);
    const found = [...toTranslate.matchAll(Lexicon.WORD)]
      .filter(({ 0: word, index }) => !isCopied(index, index + word.length))
      .map(([word]) => word)
      .filter((word) => !lexicon.isFamiliar(word) && !lexicon.isDerived(word));
    return [...new Set(found)];
  }

  static joined(pieces) {
    return pieces
      .map(({ before, after, source, shouted, signs, found }) => {
        const text = found[0]?.text || source;
        const written = shouted ? text.toUpperCase() : text;
        const isNew = found.length > 0 && written !== source;
        return before + (isNew ? [written, ...signs].join(" ") : written) + after;
      })
      .join("");
  }
}
