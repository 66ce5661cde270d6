// Names, numbers, addresses and letters that are not Latin: translator/decoding/copying.py and text/marks.py in
// JavaScript. A span is {begin, end, text, isNumber, isTime}.

class Copying {
  // Names with an English form, which may stay, and is told.
  static ENGLISH = new Map([
    ["Johannes", "John"],
    ["Maria", "Mary"],
    ["Marie", "Mary"],
  ]);
  // "Mein Bruder Thomas", where a sentence begins or after a preposition: there it is no object.
  static APPOSED = pattern(
    String.raw`((?:^|\b(?:an|auf|bei|für|gegen|mit|ohne|über|um|von|zu) )` +
      String.raw`(?:[MmDdSs]ein|[Ii]hr|[Uu]nser|[Ee]u(?:er|r))(e[mnr]?|) [A-ZÄÖÜ][a-zäöüß]+)` +
      String.raw` (\w+)(?=[.!?]| [a-zäöüß])`,
  );
  // Words that may become digits.
  static NUMBER_WORD = pattern(
    String.raw`ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zig\b|dreißig|hundert|tausend` +
      "|milli|halb|viertel|dutzend|mittag|mitternacht|jahrzehnt",
    "iu",
  );
  // Numbers and places that the model copies, by the form of what they stand in for.
  static STAND_IN = {
    time: ["7:30", "10:30", "8:30", "2:30", "5:30"],
    year: ["1945", "2005", "1995", "2003", "1989"],
    short: ["30", "50", "40", "20", "25"],
    long: ["200", "500", "300", "100", "250"],
    place: ["Boston", "London", "Berlin", "Hamburg", "Paris"],
    month: ["Juli", "Oktober", "April", "Juni", "Dezember"],
    day: ["Montag", "Freitag", "Sonntag", "Dienstag", "Samstag"],
    measure: ["200 Meter", "500 Euro", "50 Kilo", "300 Seiten", "30 Euro"],
    couple: [...Titles.COUPLES.keys()],
  };
  // What the model writes for what stands in, where that is something else.
  static TRANSLATED = new Map([...Units.DATES, ...Titles.COUPLES]);
  static DETERMINER = new RegExp(
    "^(?:d(?:er|ie|as|en|em|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur)(?:e[rnms]?)?|dies(?:e[rnms]?)" +
      "|jede[rnms]?|zum|zur|im|am|beim|vom|ins|viele?|einige|zwei|drei|wie|etwas|nichts|alles|wenig)$",
    "iu",
  );
  // What a name follows, though the word be known: "Herr Müller", "ich heiße Johannes".
  static INTRODUCES = /^(?:Herrn?|Hr|Frau|Familie|Dr|Doktor|Prof|Professor|heiß(?:e|t|en)|namens)$/iu;
  // What follows a verb or an adverb at the beginning of a sentence, and no name.
  static AFTER_VERB = /^(?:dich|dir|du|euch|ich|ihr|mich|mir|nicht|sich|wir|bitte|doch)$/u;
  // "Prof. Dr. Schmidt": one name, of which the model makes two. "Dr. Schmidt" it copies.
  static TITLED =
    String.raw`(?<!\w)(?:Prof|Dr)\. ?(?:(?:Dr|h|c|mult|habil|med|phil|jur|rer|nat|pol|dent|vet|Ing)\.[ \-]?)+` +
    String.raw`(?<= )[A-ZÄÖÜ][\w\-]+(?: [A-ZÄÖÜ][\w\-]+)?`;
  // What is copied whatever the training knew.
  static DATE = String.raw`(?<!\w)(?:${[...Units.DATES.keys()].join("|")})(?!\w)`;
  static KEPT = pattern(
    [Markup.PLACEHOLDER, Lexicon.UNTRANSLATED.source, Copying.TITLED, Postal.COPIED, Copying.DATE].join("|"),
  );
  static QUOTATION_MARK = /["„“”«»]/gu;
  static WAYS = 3; // to stand in that are tried
  static ORDINAL = pattern(String.raw`(?<![\w.,])(\d+)(st|nd|rd|th)\b`);
  // What a model of words leaves out without a trace: markup, and places to be filled in.
  static MARKUP = pattern(String.raw`<\/?\w[^<>]*>|\{[^\{\}\s]*\}|\*\*|__|${"`"}`);
  // Emoji and other symbols, with what modifies or joins them; signs of measures are the model's.
  static SIGN = String.raw`(?![°©®™№℃])\p{So}[\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]*`;
  static SPACED = pattern(String.raw`^\s.*\s$`, "su");
  // And ";-)", which is no end of a bracket.
  static SIGNS = pattern(
    String.raw`(?:(?<!\s)\s+)?(?:${Copying.SIGN}(?:\u200d?${Copying.SIGN})*|(?<![^\s])[:;]-?[\(\)DP](?!\S))\s*`,
  );
  // Words that have a capital only where a sentence begins.
  static SMALL = new RegExp(
    "^(?:after|all|although|an?|and|as|at|because|before|but|by|for|from|he|her|his|how|if|in|its?" +
      "|my|no|not|of|on|or|our|s?he|since|so|some|that|the[mny]?|their|there|these|this|those|to" +
      "|until|we|wh(?:at|en|ere|ether|ich|ile|o|ose)|with|your?)$",
    "iu",
  );
  static FIRST_WORD = pattern(String.raw`^[\p{L}\p{Nl}\p{No}]+(?:'[\p{L}\p{Nl}\p{No}]+)?`, "u");
  // Pairs of quotation marks, the other ones than „“.
  static QUOTED = pattern(
    String.raw`(?<!\w)(?:»([^«»]+)«|«\s?([^«»]+?)\s?»|"([^"]+)"|“([^“”„]+)”|›([^‹›]+)‹)(?!\w)`,
  );
  static IN_SINGLE = pattern(String.raw`(?<!\w)‚([^‚‘’„“]+)[‘’](?!\w)`);

  // Whether there is nothing to translate: no letters outside of addresses and codes.
  static isVerbatim(text) {
    if (Postal.ADDRESS_LINE.test(text) || Postal.STREET_ALONE.test(strip(text))) return true;
    const bare = text.replace(Lexicon.ADDRESS, "").replace(Units.ANY_MEASURE, "").replace(Postal.CODES, "");
    return !/\p{L}/u.test(bare);
  }

  // Whether a text has letters, and none of them is Latin.
  static isForeignScript(text) {
    const bare = text.replace(Lexicon.ADDRESS, "");
    return /\p{L}/u.test(bare) && !/(?=\p{L})\p{Script=Latin}/u.test(bare);
  }

  // A text without its emoji and other symbols, and these in order.
  static withoutSigns(text) {
    const signs = [];
    const without = text.replace(Copying.SIGNS, (found) => {
      signs.push(strip(found));
      return Copying.SPACED.test(found) ? " " : "";
    });
    return [without, signs];
  }

  static quotationMarks(text) {
    return text.match(Copying.QUOTATION_MARK) || [];
  }

  // A translation with the quotation mark that ends its sentence, if it lacks that.
  static withClosingMark(sentence, translation) {
    const isOpen = Copying.quotationMarks(translation).length % 2 === 1;
    const [ends, hasEnd] = [sentence, translation].map((text) => Copying.quotationMarks(text.slice(-1)).length > 0);
    return isOpen && ends && !hasEnd ? `${translation}"` : translation;
  }

  // A text with „“ for other pairs of quotation marks, which hardly any training has.
  static withUsualQuotes(text) {
    const usual = text.replace(Copying.QUOTED, (_, ...inside) => `„${inside.slice(0, 5).find(Boolean)}“`);
    return usual.includes("„") ? usual : usual.replace(Copying.IN_SINGLE, "„$1“");
  }

  // A translation with a capital where its source has one. Where a sentence only goes on with it, a word
  // such as "the" is small.
  static withFirstLetter(source, translation, goesOn) {
    const first = translation.match(Copying.FIRST_WORD)?.[0];
    if (!first) return translation;
    const [letter, ...rest] = translation;
    const begin = [...source][0] ?? "";
    if (Lexicon.isUpper(begin) && Lexicon.isLower([...first][0]) && !source.includes(first)) {
      return letter.toUpperCase() + rest.join("");
    }
    const isSmall = (Lexicon.isLower(source) && !source.includes("isch")) || Copying.SMALL.test(first);
    if (goesOn && Lexicon.isLower(begin) && isSmall && first.split("'")[0] !== "I") {
      return letter.toLowerCase() + rest.join("");
    }
    return translation;
  }

  // The markup and the places to be filled in that a translation does not have; also the last
  // quotation mark, where those of the translation are no pairs.
  static lostMarkup(sentence, translation) {
    const found = new Set(sentence.match(Copying.MARKUP) || []);
    const marks = Copying.quotationMarks(sentence);
    const isOdd = marks.length % 2 < Copying.quotationMarks(translation).length % 2;
    return [...[...found].filter((text) => !translation.includes(text)), ...(isOdd ? marks.slice(-1) : [])];
  }

  // What stands in quotation marks, without a comma or mark at its end.
  static quotations(text) {
    return [...text.matchAll(/["„“”]([^"„“”]+)["„“”]/gu)].map(([, inside]) => inside.replace(/[.,!?]+$/, ""));
  }

  // English text with the endings of its ordinal numbers put right: 2th is 2nd.
  static withRightOrdinals(text) {
    return text.replace(Copying.ORDINAL, (_, number) => {
      const last = Number(number.slice(-2));
      const isTeen = 11 <= last && last <= 13;
      return number + ((!isTeen && { 1: "st", 2: "nd", 3: "rd" }[last % 10]) || "th");
    });
  }

  // The addresses, numbers and, given a lexicon, names of a sentence, in order.
  // Words in letters that are not Latin are among them.
  static spansToCopy(sentence, lexicon) {
    const span = (begin, end) => ({ begin, end, text: sentence.slice(begin, end), isNumber: false, isTime: false });
    const spans = lexicon ? Titles.persons(sentence, lexicon).map(([begin, end]) => span(begin, end)) : [];
    const endOf = (found) => found.index + found[0].length;
    const isFree = (begin, end) => spans.every((one) => end <= one.begin || one.end <= begin);
    const kept = [...sentence.matchAll(Copying.KEPT)].filter((one) => isFree(one.index, endOf(one)));
    spans.push(...kept.map((one) => span(one.index, endOf(one))));
    for (const number of Numbers.numbers(sentence)) {
      const around = [sentence.slice(0, number.begin), sentence.slice(number.end)];
      const isInWord = /[\p{L}\p{N}_]$/u.test(around[0]) || /^[\p{L}\p{N}_]/u.test(around[1]);
      const isLong = number.text.length > (number.isTime ? 2 : 1);
      if (isLong && isFree(number.begin, number.end) && !isInWord) spans.push(number);
    }
    if (lexicon) {
      const others = [...lexicon.letters.placesIn(sentence), ...Numbers.words(sentence)];
      const free = others.filter(([begin, end]) => isFree(begin, end));
      spans.push(...free.map(([begin, end, english]) => ({ ...span(begin, end), english })));
    }
    const words = lexicon ? [...sentence.matchAll(Lexicon.WORD)] : [];
    const names = [];
    words.forEach((found, i) => {
      if (!isFree(found.index, endOf(found))) return;
      const word = found[0];
      const before = words.slice(Math.max(i - 2, 0), i).map(([other]) => other);
      const follows = names.length > 0 && sentence.slice(names.at(-1).end, found.index) === " ";
      // "Herr Johannes Müller", though Müller be known; but "ich gebe Tom Geld".
      const isSurname = follows && Lexicon.isCapitalised(word) && Copying.INTRODUCES.test(before[0]);
      if (i === 0 && words.length > 1 && Copying.AFTER_VERB.test(words[1][0])) return;
      const first = lexicon.firstName(word);
      if (!first && !isSurname && !Copying.isName(word, before, lexicon)) return;
      const joins = follows && !Copying.areTwoPeople(words[i - 1][0], word, lexicon);
      const { begin } = joins ? names.pop() : { begin: found.index };
      names.push(span(begin, found.index + (first || word).length));
    });
    return [...spans, ...names].sort((one, other) => one.begin - other.begin);
  }

  // A text with commas around first names in apposition, and these names.
  static withCommas(text, { women, men }) {
    const apposed = [];
    const marked = text.replace(Copying.APPOSED, (found, before, ending, name, at) => {
      if (!(["e", "er"].includes(ending) ? women : men).has(name)) return found;
      apposed.push(name);
      return `${before}, ${name}${text[at + found.length] === " " ? "," : ""}`;
    });
    return [marked, apposed];
  }

  // A translation without the commas around such names.
  static withoutCommas(text, names) {
    if (!names.length) return text;
    const forms = names.flatMap((name) => [name, Copying.inEnglish(name)]).join("|");
    return text.replace(pattern(String.raw`, (${forms})\b,?`), " $1");
  }

  // Whether of two words one is a woman's and one a man's: "weil Anna Tom mag".
  static areTwoPeople(word, following, { women, men }) {
    return (women.has(word) && men.has(following)) || (men.has(word) && women.has(following));
  }

  static isName(word, before, lexicon) {
    if (!Lexicon.isCapitalised(word) || /[\p{Nd}¹²³⁰⁴-⁹₀-₉]/u.test(word)) return false;
    // Not "das heißt Krieg", "seine Frau Gemahlin", "Herr Lehrer".
    if (before.length && Copying.INTRODUCES.test(before.at(-1))) {
      const isTold = before.length < 2 || !Copying.DETERMINER.test(before.at(-2));
      return isTold && !Titles.OFFICE_ALONE.test(word);
    }
    if (lexicon.knows(word)) return lexicon.isName(word);
    if (Lexicon.isUpper(word) && [...word].length > 2) return true;
    // "der Klippenrand", "ein steiler Klippenrand": nouns, which the model may take apart.
    const near = before.length && !Lexicon.isLower(before.at(-1)) ? before.slice(-1) : before;
    return !near.some((other) => Copying.DETERMINER.test(other)) && !lexicon.isDerived(word);
  }

  // The numbers of a sentence that its translation does not have.
  static lostNumbers(sentence, translation) {
    const lost = Numbers.numbers(sentence).filter((span) => !Copying.isCopied(span, translation));
    return lost.map((span) => span.text);
  }

  // The first names that a translation has, and its sentence has not.
  static addedNames(sentence, translation, lexicon) {
    const words = (text) => Lexicon.words(text).map((word) => word.split("'")[0]);
    const there = new Set(words(sentence).map((word) => lexicon.firstName(word) || word));
    for (const word of [...there]) if (Copying.ENGLISH.has(word)) there.add(Copying.ENGLISH.get(word));
    return [...new Set(words(translation))].filter((word) => lexicon.isFirstName(word) && !there.has(word));
  }

  // The numbers in digits that a translation has, and its sentence has not; none where a sentence has
  // words for numbers, which may have become digits.
  static addedNumbers(sentence, translation) {
    if (Copying.NUMBER_WORD.test(sentence)) return [];
    const ours = Numbers.numbers(sentence);
    const codes = (sentence.match(Postal.ANY) || []).join(" ");
    return Numbers.numbers(translation)
      .map((span) => span.text)
      .filter((text) => [...text].length > 1 && !codes.includes(text))
      .filter((text) => !ours.some((span) => Copying.isCopied(span, text)));
  }

  // A name with its first names as the training wrote them in English.
  static inEnglish(name) {
    return name.replace(Lexicon.WORD, (word) => Copying.ENGLISH.get(word) ?? word);
  }

  // Whether a translation has a span, perhaps in another form.
  static isCopied(span, translation) {
    if (!span.isNumber) {
      const value = Numbers.valueOfWord(span.text);
      if (value !== undefined) return Numbers.isCopied({ ...span, text: `${value}` }, translation);
      const digits = Units.MEASURE_ALONE.test(span.text) ? Numbers.digitsOf(span.text) : [];
      const persons = Titles.english(span.text);
      const english = [Copying.written(span), Units.withEnglishNumbers(span.text, digits)];
      const forms = persons.length ? persons : english;
      return [...forms, ...forms.map(Copying.inEnglish)].some((form) => Copying.places(form, translation) > 0);
    }
    return Numbers.isCopied(span, translation);
  }

  // Sentences in which something known stands for each span, and what stands for which: at most WAYS,
  // none where too little is known to stand for all of them.
  static waysToStandIn(sentence, spans, lexicon) {
    const present = new Set(Lexicon.words(sentence));
    const names = (lexicon ? lexicon.names : []).filter((name) => !present.has(name)).slice(0, 12);
    // So that "his" is not written for her.
    const [woman, man] = ["men", "women"].map((others) => names.filter((name) => !lexicon[others].has(name)));
    const known = { name: names, woman, man };
    for (const [kind, texts] of Object.entries(Copying.STAND_IN)) {
      known[kind] = texts.filter((text) => !sentence.includes(text));
    }
    const kinds = spans.map((span) => Copying.kind(span, lexicon));
    const ways = [];
    for (let way = 0; way < Copying.WAYS; way++) {
      const chosen = [];
      for (const [i, kind] of kinds.entries()) {
        // The model knows digits where it doesn't know the word.
        const texts = kind === "word" ? [`${Numbers.valueOfWord(spans[i].text)}`] : known[kind];
        const rotated = [...texts.slice(way % (texts.length || 1)), ...texts.slice(0, way)];
        chosen.push(...rotated.filter((text) => !chosen.includes(text)).slice(0, 1));
      }
      if (chosen.length < kinds.length) break;
      let text = sentence;
      for (let i = spans.length - 1; i >= 0; i--) {
        const before = text.slice(0, spans[i].begin);
        text = (kinds[i] === "place" ? Postal.withoutArticle(before) : before) + chosen[i] + text.slice(spans[i].end);
      }
      if (!ways.some((one) => one.text === text)) ways.push({ text, chosen });
    }
    return ways;
  }

  static kind(span, lexicon) {
    if (!span.isNumber) {
      if (Numbers.valueOfWord(span.text) !== undefined) return "word";
      if (Units.DATES.has(span.text)) return Units.MONTHS.has(span.text) ? "month" : "day";
      if (Units.MEASURE_ALONE.test(span.text)) return "measure";
      if (span.english) return "place";
      if (Titles.english(span.text).length) return Titles.kind(span.text);
      if (Markup.PLACEHOLDER_ALONE.test(span.text)) return /[dfiu]$/.test(span.text) ? "short" : "name";
      const digits = span.text.match(/[\p{Nd}¹²³⁰⁴-⁹₀-₉]/gu) || [];
      if (Postal.WHOLE.test(span.text)) return 2 * digits.length > [...span.text].length ? "long" : "place";
      const first = strip(span.text).split(Sentences.SPACE)[0];
      return lexicon?.women.has(first) ? "woman" : lexicon?.men.has(first) ? "man" : "name";
    }
    if (span.isTime || /^[012]?\d[:.][0-5]\d$/.test(span.text)) return "time";
    if (/^(?:1\d|20)\d\d$/.test(span.text)) return "year";
    return span.text.length < 3 ? "short" : "long";
  }

  // A translation with the spans in their places; null unless each came exactly once.
  static putBack(translation, spans, chosen) {
    if (!chosen.length) return translation;
    if (chosen.some((known) => Copying.places(known, translation) !== 1)) return null;
    const texts = chosen.map((known, i) => [Copying.whole(known), Copying.written(spans[i])]);
    const textOf = (found) => texts.find(([place]) => pattern(`^(?:${place})$`, "u").test(found))[1];
    // All at once: what is put in may contain what stands for another.
    return translation.replace(pattern(texts.map(([place]) => place).join("|")), textOf);
  }

  static written({ text, english }) {
    const value = Numbers.valueOfWord(text);
    if (value !== undefined) return Numbers.inEnglishWords(value);
    return english ?? Titles.english(text)[0] ?? Units.DATES.get(text) ?? text;
  }

  static escaped(text) {
    return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  }

  static whole(text) {
    // "200 Meter" is "200 meters" in the translation.
    if (Copying.STAND_IN.measure.includes(text)) return String.raw`(?<!\w)${text.split(" ")[0]}[ \-][a-z]+(?!\w)`;
    return String.raw`(?<!\w)${Copying.escaped(Copying.TRANSLATED.get(text) ?? text)}(?!\w)`;
  }

  static places(text, translation) {
    return (translation.match(pattern(Copying.whole(text))) || []).length;
  }
}
