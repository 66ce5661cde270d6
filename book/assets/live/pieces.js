// A line in pieces, as in translator/decoding/sentences.py: what stays, and what the model is to read. A
// piece has what is around it, what to translate (empty where the source stands), and more.

class Pieces {
  static END_MARK = pattern(String.raw`^(.*\w)([.!?…]+)$`, "su");

  // lexicon: or null. options: longest, alpha, beamSize and maxRatio.
  constructor(tokenizer, lexicon, options) {
    Object.assign(this, { tokenizer, lexicon, options });
    // Merging a word of many thousand letters takes minutes: what must be too long is not counted.
    this.mostCharacters = options.longest * Math.max(...tokenizer.tokens.map((token) => token.length));
  }

  // The pieces of a line; joined with the space after each, they are the line.
  *pieces(line, warnings) {
    for (const [part, isKept] of Markup.split(line)) {
      if (isKept) {
        yield Pieces.standing(part);
        continue;
      }
      const [text, pairs] = Markup.withoutPairs(part);
      const pieces = [...this.piecesOfText(text, warnings)];
      pairs.forEach((pair) => Pieces.mark(pieces, pair, this.lexicon));
      yield* pieces;
    }
  }

  // Give a pair of marks to the first piece that has what it stands around.
  static mark(pieces, pair, lexicon) {
    const last = Math.max(pieces.findLastIndex((piece) => piece.pairs?.length), 0);
    for (const inside of [pair.inside, lexicon?.letters.labels.get(pair.inside)].filter(Boolean)) {
      const piece = pieces.slice(last).find(({ source }) => source.includes(inside));
      if (piece?.toTranslate) piece.pairs.push(pair);
      else if (piece) piece.source = piece.source.replace(inside, () => pair.opening + inside + pair.closing);
      if (piece) return;
    }
  }

  // The pieces of a text without markup.
  *piecesOfText(line, warnings) {
    const { lexicon } = this;
    let [afterPortion, afterPhrase] = [false, false];
    for (let sentence of Sentences.ofLine(line, lexicon)) {
      const isItem = afterPortion;
      afterPortion = Units.PORTION_ALONE.test(sentence);
      const goesOn = afterPhrase;
      const phrase = lexicon?.letters.phrase(sentence)[1];
      afterPhrase = Boolean(phrase);
      if (phrase) {
        yield Pieces.standing(phrase);
        continue;
      }
      if (Sentences.stays(sentence, lexicon)) {
        yield Pieces.standing(Numbers.withEnglishMeasures(sentence));
        continue;
      }
      if (Copying.isForeignScript(sentence)) {
        warnings.push(`no Latin letters, not translated: ${Pieces.begin(strip(sentence))}`);
        yield Pieces.standing(sentence);
        continue;
      }
      const shouted = Lexicon.isUpper(sentence);
      // What is too long for a word stays as it is.
      const isWhole = sentence.toLowerCase().split(Sentences.SPACE).every((word) => this.fits(word));
      if (lexicon && isWhole && Pieces.isInOneCase(sentence)) {
        const usual = lexicon.withUsualCase(sentence);
        sentence = goesOn ? sentence.slice(0, 1) + usual.slice(1) : usual;
      }
      const parts = Sentences.splitClauses(sentence, (text) => this.fits(text));
      if (parts.length > 1) {
        const what = `was cut into ${parts.length}: ${Pieces.begin(strip(sentence))}…`;
        warnings.push(`a sentence is longer than those in training and ${what}`);
      }
      for (const [i, part] of parts.entries()) {
        const source = strip(part);
        const at = part.indexOf(source);
        const around = { before: part.slice(0, at), after: part.slice(at + source.length) };
        const whole = { ...around, source, shouted, goesOn: goesOn || i > 0, isItem, found: [] };
        if (this.fits(source)) {
          yield* this.withoutBrackets(whole);
        } else {
          warnings.push(`too long for a word, not translated: ${Pieces.begin(source)}…`);
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
    yield Pieces.standing(whole.before);
    let mark = "";
    if (source) {
      const ended = source.match(Pieces.END_MARK);
      [source, mark] = ended ? ended.slice(1) : Sentences.splitTrailing(source);
      yield this.prepared({ ...whole, before: "", after: " ", source }, ended ? mark : "");
    }
    for (const [k, [opening, inside, closing]] of brackets.entries()) {
      yield Pieces.standing(opening);
      const bare = strip(inside);
      const at = inside.indexOf(bare);
      const around = { before: inside.slice(0, at), after: inside.slice(at + bare.length) };
      const piece = { ...around, source: bare, shouted: whole.shouted, goesOn: true, found: [] };
      const isKept = Copying.isVerbatim(inside) || Copying.isForeignScript(inside);
      if (isKept) piece.source = Numbers.withEnglishMeasures(bare);
      yield isKept ? piece : this.prepared(piece);
      yield Pieces.standing(closing + (k + 1 < brackets.length ? " " : ""));
    }
    yield Pieces.standing(mark + whole.after);
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
    const quoted = Copying.withUsualQuotes(written);
    const timed = Times.withDigitalTimes(lexicon ? lexicon.letters.rephrased(quoted) : quoted);
    const plain = Titles.withoutTitlesOfOffices(Units.writtenOut(timed));
    const [text, apposed] = lexicon ? Copying.withCommas(plain, lexicon) : [plain, []];
    // Nearly all sentences of the training ended in a mark: "Haus" alone is no house.
    const unended = !given && /[\p{L}\p{N}]$/u.test(text) && this.fits(`${text}.`);
    const heading = unended && Sentences.isHeading(text, lexicon);
    const mark = unended ? "." : given;
    const toTranslate = text + mark;
    const spans = Copying.spansToCopy(toTranslate, lexicon);
    return { ...piece, source, after, signs, unended, mark, heading, apposed, toTranslate, spans, pairs: [] };
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
}
