// Any text in, a line out for each line: sentences, names, capitals, and what is to be doubted, as in
// translator/decoding/lines.py. tests/site/test_lines_in_node.py compares 500 lines with Python's.

// A text with its translation is {text, total, length, warnings, pieces}: total is the tokens'
// log-probability, length their number. A piece has what is around it, what to translate (empty where
// the source stands), and what was found: {text, hypothesis, read, spans, chosen}, the best first;
// read is the sentence that the model was given, in which what is chosen stands for the spans.
class LineTranslator {
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
    }
    return this.assembled(pieces, warnings);
  }

  // The pieces of a line; joined with the space after each, they are the line.
  *pieces(line, warnings) {
    const { lexicon } = this;
    for (let sentence of Sentences.splitSentences(line)) {
      if (Copying.isVerbatim(sentence) || sentence.match(Sentences.LIST_MARK)?.[0] === sentence) {
        yield LineTranslator.standing(sentence);
        continue;
      }
      if (Copying.isForeignScript(sentence)) {
        warnings.push(`no Latin letters, not translated: ${LineTranslator.begin(strip(sentence))}`);
        yield LineTranslator.standing(sentence);
        continue;
      }
      const shouted = LineTranslator.isUpper(sentence);
      // What is too long for a word stays as it is.
      const isWhole = sentence.toLowerCase().split(Sentences.SPACE).every((word) => this.fits(word));
      if (lexicon && isWhole && LineTranslator.isInOneCase(sentence)) sentence = lexicon.withUsualCase(sentence);
      const parts = Sentences.splitClauses(sentence, (text) => this.fits(text));
      if (parts.length > 1) {
        const what = `was cut into ${parts.length}: ${LineTranslator.begin(strip(sentence))}…`;
        warnings.push(`a sentence is longer than those in training and ${what}`);
      }
      for (const part of parts) {
        const source = strip(part);
        const at = part.indexOf(source);
        const piece = { before: part.slice(0, at), after: part.slice(at + source.length), source, shouted, found: [] };
        if (this.fits(source)) {
          const [withoutSigns, signs] = Copying.withoutSigns(source);
          const text = normalise(withoutSigns);
          // Nearly all sentences of the training ended in a mark: "Haus" alone is no house.
          const unended = part === parts.at(-1) && /[\p{L}\p{N}]$/u.test(text) && this.fits(`${text}.`);
          const toTranslate = unended ? `${text}.` : text;
          const spans = Copying.spansToCopy(toTranslate, lexicon);
          Object.assign(piece, { signs, unended, toTranslate, spans });
        } else {
          warnings.push(`too long for a word, not translated: ${LineTranslator.begin(source)}…`);
        }
        yield piece;
      }
    }
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

  static isUpper(text) {
    return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
  }

  // Whether a text has words in capitals alone, or none.
  static isInOneCase(text) {
    const words = Lexicon.words(text).filter((word) => /^\p{L}+$/u.test(word));
    const many = words.length > 1 || words.some((word) => word.length > 4);
    const isLower = /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
    return isLower || (LineTranslator.isUpper(text) && many);
  }

  // Translate a piece; where something was not copied, again with something else in its place.
  *decode(piece) {
    const plain = LineTranslator.asEnded(piece, yield* this.hypotheses(piece.toTranslate, true));
    const best = plain[0].text;
    piece.found = plain.map((one) => ({ ...one, read: piece.toTranslate, spans: [], chosen: [] }));
    if (!this.lost(piece, best).some(Boolean)) return;
    const lost = piece.spans.filter((span) => !Copying.isCopied(span, best));
    // What was copied may stay, and where a name cannot be copied numbers still may.
    const groups = [lost, piece.spans, lost.filter((span) => span.isNumber)];
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
    // A text that was found in several ways counts once, with its best score.
    const byText = new Map();
    for (const { 3: one } of ranked) if (!byText.has(one.text)) byText.set(one.text, one);
    piece.found = [...byText.values()];
  }

  // What was found for a piece, without a full stop where it had none; with a quotation mark, where
  // it ended in one.
  static asEnded({ unended, toTranslate }, found) {
    const written = new Map();
    for (const { text, hypothesis } of found) {
      const ended = Copying.withClosingMark(toTranslate, unended ? text.replace(/\.$/, "") : text);
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
    const found = [{ text: Copying.putBack(text, spans, chosen) ?? text, hypothesis, read, spans, chosen }];
    return this.assembled(pieces.map((one) => (one === piece ? { ...one, found } : one)), []);
  }

  assembled(pieces, warnings) {
    let [total, length] = [0, 0];
    for (const piece of pieces) {
      const { found, source, toTranslate } = piece;
      if (!found.length) continue;
      const [{ text, hypothesis }] = found;
      total += hypothesis.logP;
      length += hypothesis.tokens.length + 1; // the end is a token, too
      if (!hypothesis.ended) warnings.push(`no end was found for: ${LineTranslator.begin(source)}`);
      if (!text) warnings.push(`not translated: ${LineTranslator.begin(source)}`);
      const written = text || source;
      const lost = [
        ...LineTranslator.lostTexts(piece, written),
        ...Copying.lostNumbers(toTranslate, written),
        ...Copying.lostMarkup(toTranslate, written),
      ];
      if (lost.length) warnings.push(`low confidence: not in the translation: ${lost.join("; ")}`);
      const [words, others] = [toTranslate, written].map((one) => Lexicon.words(one).length);
      if (words >= 6 && others <= 0.5 * words) {
        warnings.push(`low confidence: much shorter than: ${LineTranslator.begin(source)}`);
      }
    }
    return { text: LineTranslator.joined(pieces), total, length, warnings, pieces };
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
