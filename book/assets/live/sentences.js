// Text cut into sentences and clauses: translator/decoding/sentences.py in JavaScript. Nothing is
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
  // "1. Öffnen Sie das Fenster.": what follows is no noun.
  static NUMBERED = pattern(String.raw`^(\s*\d{1,2}\.\s+)(?=([A-ZÄÖÜ][\p{L}\p{Nl}\p{No}]*))`, "u");
  static CELL = /[^\t]*\t+|[^\t]+/gu;
  // An end without a space after it: "Kommst du?Ja!", "Er kam.Sie ging." No "Prof.Weber", "Node.Js".
  static JOINED_END = pattern(
    String.raw`(?<=[a-zäöüß]{2}[!?])(?=[A-ZÄÖÜ])` +
      String.raw`|(?<=[a-zäöüß]{3}\.)(?=(?:[A-ZÄÖÜ][a-zäöüß]{2,30}|A[mn]|D[au]|E[rs]|I[mn]|Ja|So|Zu),? \S)`,
  );
  // Before the name of a chapter: "2.1 ", "1. ", but no date.
  static SECTION = pattern(
    String.raw`^\s*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}\.)\s+(?=[A-ZÄÖÜ])` +
      String.raw`(?!(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember` +
      String.raw`|Euro|Uhr)\b)`,
    "u",
  );
  // "Kapitel 3", "Abbildung 2: Das Haus", "Anhang A": what is counted, and the number.
  static COUNTED = pattern(
    String.raw`^(\s*[A-ZÄÖÜ][\p{L}\p{Nl}\p{No}]+)(\s+(?:\d[\d.]*|[A-Z]))(?:(:\s+)([^\n]*)|(\s*))$`,
    "u",
  );
  // "Telefon: 030 1234567"
  static LABEL = pattern(String.raw`^([^:]{1,40}[^\s:])(:\s+)(.*)$`, "su");
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
    for (let cell of line.match(Sentences.CELL) ?? []) {
      const parts = Sentences.splitHeading(cell, Copying.isVerbatim, lexicon);
      if (parts.length > 1 || Copying.isVerbatim(cell)) {
        yield* parts;
        continue;
      }
      const [, mark, word] = cell.match(Sentences.NUMBERED) || [];
      if (mark && lexicon && !lexicon.isNoun(word)) {
        yield mark;
        cell = cell.slice(mark.length);
      }
      const sentences = Sentences.splitSentences(cell);
      const isSpaced = pattern(String.raw`\s$`, "u");
      // "Er kam.Sie ging." has no space, English has.
      yield* sentences.map((one, i) => (i + 1 === sentences.length || isSpaced.test(one) ? one : `${one} `));
    }
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
    const words = strip(line).split(Sentences.SPACE).filter(Boolean);
    if (words.length > 8 || ".!?…".includes(words.at(-1)?.slice(-1) ?? "")) return [line];
    const section = line.match(Sentences.SECTION)?.[0];
    if (section) return [section, ...Sentences.splitHeading(line.slice(section.length), isKept, lexicon)];
    const [, counted, number, colon, rest, space] = line.match(Sentences.COUNTED) || [];
    if (counted) return [counted, number + (colon ?? space), ...(rest ? [rest] : [])];
    if (label && strip(label[3]) && Sentences.isHeading(strip(label[1]), lexicon)) return label.slice(1);
    return [line];
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
