// Text cut into sentences and clauses: translator/text/splitting.py in JavaScript. Nothing is
// lost: the pieces, joined, are the text.

class Sentences {
  // Characters; what is quoted is not cut, unless its end is further away.
  static LONGEST_QUOTATION = 150;
  // An end of a sentence: its mark, closing quotes and brackets, and the space after it.
  static END = pattern(String.raw`(?<mark>[.!?…]+)["'”“’‘»«)\]]*\s+(?=(?<next>.))`, "gsu");
  // Words before a full stop that does not end a sentence; and any single letter, as in "z. B.".
  static ABBREVIATION = new RegExp(
    "^(?:abb|abs|bd|bspw|bzgl|bzw|ca|dipl|dr|etc|evtl|fr|ggf|hrn?|hrsg|inkl|ing|jr|kap|max|min|mio|mr|mrs" +
      "|mrd|ms|nr|prof|rd|sog|st|std|[\\p{L}\\p{N}_]*str|tel|usw|vgl|vs|zzgl)$",
    "iu",
  );
  // What begins an entry of a list: "- ", "• ", "a) ", "> "; not "1. ", which may be a date.
  static LIST_MARK = pattern(
    String.raw`^\s*(?:[-–—*•·▪◦‣>#+]+(?:\s\[[ xX]?\])?|\[[ xX]?\]|\(?[0-9a-z]{1,3}\))\s+`,
    "u",
  );
  static CELL = /[^\t]*\t+|[^\t]+/gu;
  // An end without a space after it: "Kommst du?Ja!", "Er kam.Sie ging." No "Prof.Weber", "Node.Js".
  static JOINED_END = pattern(
    String.raw`(?<=[a-zäöüß]{2}[!?])(?=[A-ZÄÖÜ])` +
      String.raw`|(?<=[a-zäöüß]{3}\.)(?=(?:[A-ZÄÖÜ][a-zäöüß]{2,30}|A[mn]|D[au]|E[rs]|I[mn]|Ja|So|Zu),? \S)`,
  );
  static NO_DATE = String.raw`(?!(?:${[...Units.MONTHS.keys()].join("|")}|Euro|Uhr)\b)`;
  // Before the name of a chapter: "2.1 ", "1. ", "§ 4 ", but no date.
  static SECTION = pattern(
    String.raw`^\s*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}\.|§§? ?\d+[a-z]?)\s+(?=[A-ZÄÖÜ])${Sentences.NO_DATE}`,
    "u",
  );
  // "1. Öffnen Sie das Fenster.", "2. Mehl, Zucker und Eier verrühren.": no noun, or several.
  static NUMBERED = pattern(
    String.raw`^(\s*\d{1,2}\.\s+)(?=([A-ZÄÖÜ][\p{L}\p{Nl}\p{No}]*)(,?))${Sentences.NO_DATE}`,
    "u",
  );
  // "Kapitel 3", "Abbildung 2: Das Haus", "Anhang A": what is counted, and the number.
  static COUNTED = pattern(
    String.raw`^(\s*[A-ZÄÖÜ][\p{L}\p{Nl}\p{No}]+)(\s+(?:\d[\d.]*|[A-Z]))(?:(:\s+)([^\n]*)|(\s*))$`,
    "u",
  );
  // "Telefon: 030 1234567"
  static LABEL = pattern(String.raw`^([^:]{1,40}[^\s:])(:\s+)(.*)$`, "su");
  static ACRONYM = pattern(String.raw`^(?:[A-ZÄÖÜ]{2,6} \d{1,2}|[A-ZÄÖÜ]{2,3})$`, "u");
  static LABEL_ALONE = pattern(String.raw`^\s*([^:]{1,41}):\s+$`, "u");
  // Of adjectives before a noun; and what links two nouns.
  static ADJECTIVE = /(?:e|en|er|es)$/u;
  static LINK = /^(?:und|oder|der|des|von|für|im|in|mit|zum|zur)$/u;
  // What ends no sentence: "Liebe Frau Hoffmann,", "Wenn ich nur wüsste …"
  static TRAILING = pattern(String.raw`^(.*\w)(\s*(?:[,;:]|\.{2,}|…)|\s+[–—\-])$`, "su");
  // What stands in brackets, between words and marks: no "Kolleg(inn)en".
  static BRACKETED = pattern(
    String.raw`(?:^|(?<!\s)\s+)([\(\[])([^\(\)\[\]]+)([\)\]])(?=$|[\s.,;:!?…])`,
  );
  static ALL_BRACKETED = pattern(String.raw`^([\(\[])([^\(\)\[\]]+)([\)\]][.!?…]*)$`, "u");
  static CONJUNCTION = pattern(String.raw`\s+(?=(?:aber|denn|oder|sowie|und)\s)`);
  static CLAUSE_END = pattern(String.raw`(?<=[,;:–—])\s+|\s+(?=[–—(])`);
  static SPACE = pattern(String.raw`\s+`);

  // A text without the comma, colon or ellipsis at its end, and this.
  static splitTrailing(text) {
    return text.match(Sentences.TRAILING)?.slice(1) ?? [text, ""];
  }

  // A text without what stands in brackets, and this: [opening, inside, closing]. A text that is all in
  // brackets comes back empty.
  static splitBrackets(text) {
    const all = text.match(Sentences.ALL_BRACKETED);
    if (all) return ["", [all.slice(1)]];
    const inside = [...text.matchAll(Sentences.BRACKETED)].map((found) => found.slice(1));
    return [strip(text.replace(Sentences.BRACKETED, "")), inside];
  }

  // The sentences of a line and what is between them, cell by cell.
  static *ofLine(line, lexicon) {
    for (const cell of line.match(Sentences.CELL) ?? []) yield* Sentences.ofCell(cell, lexicon);
  }

  static *ofCell(whole, lexicon) {
    if (Copying.isVerbatim(whole)) {
      yield whole;
      return;
    }
    // "- ", "250 g "
    const [begins] = whole.match(Sentences.LIST_MARK) || whole.match(Units.PORTION) || [];
    if (begins) {
      yield begins;
      yield* Sentences.ofCell(whole.slice(begins.length), lexicon);
      return;
    }
    const length = lexicon?.letters.phrase(whole)[0];
    if (length) {
      yield whole.slice(0, length);
      if (whole.slice(length)) yield* Sentences.ofCell(whole.slice(length), lexicon);
      return;
    }
    let parts = Sentences.splitHeading(whole, Copying.isVerbatim, lexicon);
    const [, mark, word, comma] = whole.match(Sentences.NUMBERED) || [];
    const isEntry = mark && (comma || (lexicon && !lexicon.isNoun(word)));
    if (parts.length === 1 && isEntry) parts = [mark, whole.slice(mark.length)];
    if (parts.length > 1) {
      yield* parts.slice(0, -1);
      yield* Sentences.ofCell(parts.at(-1), lexicon);
      return;
    }
    const sentences = Sentences.splitSentences(whole);
    const isSpaced = pattern(String.raw`\s$`, "u");
    // "Er kam.Sie ging." has no space, English has.
    yield* sentences.map((one, i) => (i + 1 === sentences.length || isSpaced.test(one) ? one : `${one} `));
  }

  // Whether what `ofLine` yields is no sentence, and stays.
  static stays(sentence, lexicon) {
    const label = sentence.match(Sentences.LABEL_ALONE)?.[1];
    return (
      [...strip(sentence)].length === 1 ||
      Copying.isVerbatim(sentence) ||
      sentence.match(Sentences.LIST_MARK)?.[0] === sentence ||
      Units.PORTION_ALONE.test(sentence) ||
      Boolean(label && Sentences.isLabel(strip(label), lexicon))
    );
  }

  // The sentences of a text, each with the space after it.
  static splitSentences(text) {
    const mark = text.match(Sentences.LIST_MARK)?.[0];
    if (mark) return [mark, ...Sentences.splitSentences(text.slice(mark.length))];
    const withoutAddresses = text.replace(Lexicon.ADDRESS, (found) => "_".repeat(found.length));
    const ends = [...withoutAddresses.matchAll(Sentences.JOINED_END)].map(({ index }) => index);
    const begins = [0, ...ends.filter((end) => !Sentences.isAbbreviation(text.slice(Math.max(end - 40, 0), end)))];
    return begins.flatMap((begin, i) => Sentences.splitAtSpaces(text.slice(begin, begins[i + 1])));
  }

  // The parts of a line that is a heading, or a label with what it names; else the line. The number of
  // a chapter is a part, and so is what `isKept` after a label; a label before others is a noun, or a few.
  static splitHeading(line, isKept, lexicon = null) {
    const label = line.match(Sentences.LABEL);
    if (label && isKept(label[3])) return [label[1], label[2] + label[3]];
    if (label && label[3] && (isKept(label[1]) || Sentences.isLabel(label[1], lexicon))) {
      return [label[1] + label[2], label[3]];
    }
    const words = strip(line).split(Sentences.SPACE).filter(Boolean);
    const isShort = words.length <= 8 && !/[.!?…]$/u.test(words.at(-1) ?? "");
    const section = line.match(Sentences.SECTION)?.[0];
    if (isShort && section) return [section, ...Sentences.splitHeading(line.slice(section.length), isKept, lexicon)];
    const [, counted, number, colon, rest, space] = line.match(Sentences.COUNTED) || [];
    if (counted && (isShort || rest)) return [counted, number + (colon ?? space), ...(rest ? [rest] : [])];
    if (!label || !strip(label[3])) return [line];
    const isNamed = Sentences.isHeading(strip(label[1]), lexicon) || Completeness.itemsAlone(strip(label[3])).length > 0;
    return isNamed ? label.slice(1) : [line];
  }

  // Whether a text before a colon stays: "Tom", "TOP 1", "PS".
  static isLabel(text, lexicon) {
    const words = strip(text).split(Sentences.SPACE).filter(Boolean);
    const isOfNames = () => words.every((word) => lexicon.isFirstName(word) || lexicon.isName(word));
    return Boolean(lexicon) && 1 <= words.length && words.length <= 3 && (Sentences.ACRONYM.test(text) || isOfNames());
  }

  // The translation of an item of a list, with a small letter if it is no name. Languages and
  // nationalities keep theirs.
  static asItem(source, translation, lexicon) {
    const word = Lexicon.words(source).at(-1);
    const isNoun = Boolean(lexicon) && (word === undefined || lexicon.isNoun(word));
    const [first = "", ...rest] = translation;
    if (!isNoun || source.includes("isch") || Lexicon.isUpper(first + (rest[0] ?? ""))) return translation;
    return first.toLowerCase() + rest.join("");
  }

  // Whether a text is up to three nouns with what links them, the first also an adjective. Names are
  // none. Inside a line a capital tells a noun; the first word must be one as a rule.
  static isHeading(text, lexicon) {
    const words = Lexicon.words(text);
    const others = words.slice(1).filter((word) => !Sentences.LINK.test(word));
    return (
      Boolean(lexicon) &&
      1 <= words.length &&
      words.length <= 3 &&
      [words[0], ...others].every(Lexicon.isCapitalised) &&
      !words.some((word) => lexicon.isName(word) || lexicon.isFirstName(word)) &&
      !Copying.DETERMINER.test(words[0]) &&
      (lexicon.isNoun(words[0]) || (others.length > 0 && Sentences.ADJECTIVE.test(words[0])))
    );
  }

  static splitAtSpaces(text) {
    const pieces = [];
    let begin = 0;
    for (const end of text.matchAll(Sentences.END)) {
      const { mark, next } = end.groups;
      const after = end.index + end[0].length;
      const isAbbreviation = mark === "." && Sentences.isAbbreviation(text.slice(begin, end.index + 1));
      if (/[\p{Lowercase}–—-]/u.test(next) || isAbbreviation) continue;
      if (Sentences.isQuoting(text.slice(begin, after), text.slice(after))) continue;
      pieces.push(text.slice(begin, after));
      begin = after;
    }
    if (begin < text.length) pieces.push(text.slice(begin));
    return pieces;
  }

  // Whether a text ends in an abbreviation or an ordinal number with its full stop.
  static isAbbreviation(text) {
    const [, word] = text.match(/([\p{L}\p{N}_]*)\.$/u) || [];
    if (word === undefined) return false;
    return /^\p{L}$/u.test(word) || Sentences.ABBREVIATION.test(word) || /^[\p{Nd}¹²³⁰⁴-⁹₀-₉]{1,2}$/u.test(word);
  }

  // Whether a quotation that began before ends soon after.
  static isQuoting(before, after) {
    const soon = [...after].slice(0, Sentences.LONGEST_QUOTATION);
    return ["„“", "»«", '""', "“”"].some(([opening, closing]) => {
      const count = (mark) => before.split(mark).length - 1;
      const isInside = opening === closing ? count(opening) % 2 : count(opening) > count(closing);
      return isInside && soon.includes(closing);
    });
  }

  // A sentence in pieces that fit, each with the space after it. It is cut after commas and other marks
  // inside it; where a clause does not fit, before "und" and its like, and between words. A single word
  // is not cut.
  static splitClauses(sentence, fits) {
    const joined = (separator, text) => Sentences.joined(Sentences.cut(separator, text), fits);
    return joined(Sentences.CLAUSE_END, sentence).flatMap((part) => {
      if (fits(part)) return [part];
      return joined(Sentences.CONJUNCTION, part).flatMap((clause) =>
        fits(clause) ? [clause] : joined(Sentences.SPACE, clause),
      );
    });
  }

  static cut(separator, text) {
    const ends = [...text.matchAll(separator)].map((found) => found.index + found[0].length);
    const begins = [0, ...ends.filter((end) => end < text.length)];
    return begins.map((begin, i) => text.slice(begin, begins[i + 1])).filter(Boolean);
  }

  // The parts, neighbours together as long as they fit.
  static joined(parts, fits) {
    const joined = [];
    for (const part of parts) {
      if (joined.length && fits(joined.at(-1) + part)) joined[joined.length - 1] += part;
      else joined.push(part);
    }
    return joined;
  }
}
