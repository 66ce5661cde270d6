// Any text in, a line out for each line: sentences, names, capitals, and what is to be doubted, as in
// translator/decoding/lines.py. tests/site/test_lines_in_node.py compares 500 lines with Python's.

// A text with its translation is {text, total, length, warnings, pieces}: total is the tokens'
// log-probability, length their number. A piece has what is around it, what to translate (empty where
// the source stands), and what was found: {text, hypothesis, read, spans, chosen}, the best first;
// read is the sentence that the model was given, in which what is chosen stands for the spans.
class LineTranslator {
  // A heading is read with each of these, too.
  static ARTICLES = ["Der", "Die", "Das"];
  // Up to so many words without an end mark are doubted below this mean log-probability of a token.
  static FEW_WORDS = 3;
  static DOUBTED = -0.45;
  static END_MARK = pattern(String.raw`^(.*\w)([.!?…]+)$`, "su");

  // lexicon: or null. options: longest, alpha, beamSize and maxRatio.
  constructor(model, tokenizer, lexicon, options) {
    Object.assign(this, { model, tokenizer, lexicon, options });
    // Merging a word of many thousand letters takes minutes: what must be too long is not counted.
    this.mostCharacters = options.longest * Math.max(...tokenizer.tokens.map((token) => token.length));
  }

  // Translate lines one by one; yields what has been written so far, null where that stays.
  *translateText(text) {
    const pieces = [];
    const warnings = [];
    text.split("\n").forEach((line, i) => {
      if (i) pieces.push(LineTranslator.standing("\n"));
      pieces.push(...this.pieces(line.replace(/\r$/, ""), warnings));
    });
    for (const piece of pieces.filter((one) => one.toTranslate)) {
      const before = LineTranslator.joined(pieces.slice(0, pieces.indexOf(piece))) + piece.before;
      for (const steps = this.decode(piece); ; ) {
        const { value: ids, done } = steps.next();
        if (done) break;
        yield ids && before + strip(this.tokenizer.decode(ids));
      }
      piece.found = LineTranslator.withoutDoubles(
        piece.found.map((one) => ({ ...one, text: LineTranslator.inEnglish(one.text, piece) })),
      );
    }
    return this.assembled(pieces, warnings);
  }

  // The pieces of a line; joined with the space after each, they are the line.
  *pieces(line, warnings) {
    const { lexicon } = this;
    for (let sentence of Sentences.ofLine(line, lexicon)) {
      const isLetter = [...strip(sentence)].length === 1;
      if (isLetter || Copying.isVerbatim(sentence) || sentence.match(Sentences.LIST_MARK)?.[0] === sentence) {
        yield LineTranslator.standing(sentence);
        continue;
      }
      if (Copying.isForeignScript(sentence)) {
        warnings.push(`no Latin letters, not translated: ${LineTranslator.begin(strip(sentence))}`);
        yield LineTranslator.standing(sentence);
        continue;
      }
      const shouted = Lexicon.isUpper(sentence);
      // What is too long for a word stays as it is.
      const isWhole = sentence.toLowerCase().split(Sentences.SPACE).every((word) => this.fits(word));
      if (lexicon && isWhole && LineTranslator.isInOneCase(sentence)) sentence = lexicon.withUsualCase(sentence);
      const parts = Sentences.splitClauses(sentence, (text) => this.fits(text));
      if (parts.length > 1) {
        const what = `was cut into ${parts.length}: ${LineTranslator.begin(strip(sentence))}…`;
        warnings.push(`a sentence is longer than those in training and ${what}`);
      }
      for (const [i, part] of parts.entries()) {
        const source = strip(part);
        const at = part.indexOf(source);
        const around = { before: part.slice(0, at), after: part.slice(at + source.length) };
        const whole = { ...around, source, shouted, goesOn: i > 0, found: [] };
        if (this.fits(source)) {
          yield* this.withoutBrackets(whole);
        } else {
          warnings.push(`too long for a word, not translated: ${LineTranslator.begin(source)}…`);
          yield whole;
        }
      }
    }
  }

  // A piece; what it has in brackets after it, before its end mark.
  *withoutBrackets(whole) {
    let [source, brackets] = Sentences.splitBrackets(whole.source);
    if (!brackets.length) {
      yield this.prepared(whole);
      return;
    }
    yield LineTranslator.standing(whole.before);
    let mark = "";
    if (source) {
      const ended = source.match(LineTranslator.END_MARK);
      [source, mark] = ended ? ended.slice(1) : Sentences.splitTrailing(source);
      yield this.prepared({ ...whole, before: "", after: " ", source }, ended ? mark : "");
    }
    for (const [k, [opening, inside, closing]] of brackets.entries()) {
      yield LineTranslator.standing(opening);
      const bare = strip(inside);
      const at = inside.indexOf(bare);
      const around = { before: inside.slice(0, at), after: inside.slice(at + bare.length) };
      const piece = { ...around, source: bare, shouted: whole.shouted, goesOn: true, found: [] };
      const isKept = Copying.isVerbatim(inside) || Copying.isForeignScript(inside);
      yield isKept ? piece : this.prepared(piece);
      yield LineTranslator.standing(closing + (k + 1 < brackets.length ? " " : ""));
    }
    yield LineTranslator.standing(mark + whole.after);
  }

  // A piece with what the model is to read: with this mark, or one of ours, at its end.
  prepared(piece, given = "") {
    const { lexicon } = this;
    let { source, after } = piece;
    if (!given) {
      const [without, trailing] = Sentences.splitTrailing(source);
      [source, after] = [without, trailing + after];
    }
    const [withoutSigns, signs] = Copying.withoutSigns(source);
    const letters = normalise(withoutSigns);
    const written = lexicon ? lexicon.withUsualLetters(letters) : letters;
    const plain = Postal.writtenOut(Copying.withUsualQuotes(written));
    const [text, apposed] = lexicon ? Copying.withCommas(plain, lexicon) : [plain, []];
    // Nearly all sentences of the training ended in a mark: "Haus" alone is no house.
    const unended = !given && /[\p{L}\p{N}]$/u.test(text) && this.fits(`${text}.`);
    const heading = unended && Sentences.isHeading(text, lexicon);
    const mark = unended ? "." : given;
    const toTranslate = text + mark;
    const spans = Copying.spansToCopy(toTranslate, lexicon);
    return { ...piece, source, after, signs, unended, mark, heading, apposed, toTranslate, spans };
  }

  // A piece's translation without commas of ours; numbers, units and a first letter as in English.
  static inEnglish(text, { apposed, toTranslate, source, goesOn }) {
    const digits = Copying.numbers(toTranslate).map((span) => span.text);
    const numbered = Postal.withEnglishNumbers(Copying.withoutCommas(text, apposed), digits);
    return Copying.withFirstLetter(source, Postal.withRightUnits(toTranslate, numbered), goesOn);
  }

  // A piece that is not translated.
  static standing(source) {
    return { before: "", after: "", source, found: [] };
  }

  fits(text) {
    if (text.length > this.mostCharacters) return false;
    return this.tokenizer.encode(normalise(text)).length <= this.options.longest;
  }

  static begin(text) {
    return [...text].slice(0, 40).join("");
  }

  // Whether a text has words in capitals alone, or none.
  static isInOneCase(text) {
    const words = Lexicon.words(text).filter((word) => /^\p{L}+$/u.test(word));
    const many = words.length > 1 || words.some((word) => word.length > 4);
    return Lexicon.isLower(text) || (Lexicon.isUpper(text) && many);
  }

  // Translate a piece; where something was not copied, again with something else in its place.
  *decode(piece) {
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
    ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    piece.found = ranked.map(({ 3: one }) => one);
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

  // How many numbers of a piece a translation lacks, and how many other spans.
  lost(piece, translation) {
    const texts = LineTranslator.lostTexts(piece, translation);
    return [Copying.lostNumbers(piece.toTranslate, translation).length, texts.length];
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
    const back = LineTranslator.inEnglish(Copying.putBack(bare, spans, chosen) ?? bare, piece);
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
    const { found, source, toTranslate, unended, spans } = piece;
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
    ];
    const lost = allLost.filter((one) => !allLost.some((other) => one !== other && other.includes(one)));
    const added = [
      ...(lexicon ? Copying.addedNames(toTranslate, translation, lexicon) : []),
      ...Copying.addedNumbers(toTranslate, translation),
    ];
    const [words, others] = [toTranslate, translation].map((one) => Lexicon.words(one).length);
    const isGuessed = unended && LineTranslator.isGuessed(toTranslate, LineTranslator.mean(found[0]), lexicon);
    const isFamiliar = !lexicon || Lexicon.words(translation).every((word) => lexicon.isFamiliar(word));
    const isCopied = translation === source;
    const doubts = [
      lost.length && `not in the translation: ${lost.join("; ")}`,
      added.length && `not in the source: ${added.join("; ")}`,
      isGuessed && !isCopied && `a few words alone: ${begin}`,
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
