// What a fluent translation leaves out without a trace, a negation or items of an enumeration:
// translator/text/completeness.py in JavaScript.

class Completeness {
  static NEGATION = pattern(
    String.raw`\b(?:nichts?|kein(?:e[rnms]?|erlei|esfalls|eswegs)?|nie(?:mals|mand(?:e[mns])?)?` +
      String.raw`|nirgend(?:s|wo(?:her|hin)?)|ohne|weder)\b`,
    "giu",
  );
  static ENGLISH_NEGATION = pattern(
    String.raw`\b(?:no(?:t|ne|r|body|thing|where)?|never|neither|without|cannot)\b|n['’]t\b`,
    "giu",
  );
  static DETERMINER =
    String.raw`(?:d(?:er|ie|as|en|em|es)|etwas|viele?|zwei|drei|vier|fünf|sechs|acht|zehn|\d+` +
    String.raw`|(?:k?ein|[mds]ein|ihr|unser)(?:e[mnrs]?)?|im|am|zum|zur|(?:an|auf|in) de[mnr])`;
  // No conjunction: "nachdem Maria".
  static ADJECTIVE = "(?![a-zäöüß]*dem )[a-zäöüß]{2,20}e[mnrs]?";
  // Also "Frau Klein".
  static BARE = String.raw`[A-ZÄÖÜ][\w\-]*(?: [A-ZÄÖÜ][\w\-]*)?`;
  // The first of an enumeration may come after a verb, which looks like an adjective: "sehen Löwen".
  static FIRST =
    `(?:${Completeness.DETERMINER} (?:${Completeness.ADJECTIVE} )?|[a-zäöüß]{2,20}e[mrs]? )?` + Completeness.BARE;
  static NOUN =
    `(?:(?:${Completeness.DETERMINER} )?(?:${Completeness.ADJECTIVE} )?${Completeness.BARE}` +
    "|(?:etwas|nichts) zu [a-zäöüß]+)";
  static LINK = ",? (?:und|oder|sowie) ";
  // "zwei Hosen, ein Hemd und Socken"
  static NOUNS = pattern(
    String.raw`(?<![\w\-])${Completeness.FIRST}(?:, ${Completeness.NOUN})+` +
      String.raw`${Completeness.LINK}${Completeness.NOUN}(?![\w\-])`,
    "u",
  );
  // "husten, niesen oder gähnen": words that end alike, unlike those of two clauses.
  static ALIKE = pattern(
    String.raw`(?<![\w\-])[a-zäöüß]+(?<end>[a-zäöüß])(?:, [a-zäöüß]+\k<end>)+` +
      String.raw`${Completeness.LINK}[a-zäöüß]+\k<end>(?![\w\-])`,
    "u",
  );
  // "3 Zimmer, Küche, Bad": nothing but items.
  static ALONE = String.raw`(?:${Completeness.NOUN}|\d[\d.,]* ?[^\s\d,]{1,5})`;
  static ITEMS_ALONE = pattern(
    String.raw`^(?:${Completeness.ALONE}(?:, ${Completeness.ALONE}){2,}` +
      String.raw`(?:${Completeness.LINK}${Completeness.ALONE})?\.?)$`,
    "u",
  );
  static SEPARATOR = pattern(`${Completeness.LINK}|, `);
  static ENGLISH_SEPARATOR = /,? (?:and|or|nor|as well as) |, /u;
  // "At the zoo, " before an enumeration.
  static BEFORE = pattern(String.raw`(?:After|At|Before|For|From|In|On|Under|With) (?:\w+ )?\w+, `, "u");
  // What an English item may begin with, though the German one be a word.
  static SMALL = "a an any at by her his in its my no of on our some the their to with your".split(" ");
  // An item of an English enumeration has at most so many words.
  static LONGEST_ITEM = 5;

  // The negation of a sentence whose translation has none, else an empty list. One may stand for all of
  // an enumeration, but two of three leave one out.
  static lostNegation(sentence, translation) {
    const ours = sentence.match(Completeness.NEGATION) || [];
    const theirs = (translation.match(Completeness.ENGLISH_NEGATION) || []).length;
    const isLost = !theirs || (ours.length > 2 && 1 < theirs && theirs < ours.length);
    return isLost ? ours.slice(0, 1) : [];
  }

  // Where the longest enumeration of a sentence begins, its items, and where it ends.
  static enumeration(sentence) {
    const kinds = [Completeness.ITEMS_ALONE, Completeness.NOUNS, Completeness.ALIKE];
    const found = kinds
      .map((kind) => sentence.match(kind))
      .filter(Boolean)
      .map(({ 0: text, index: begin }) => ({ begin, text, items: text.split(Completeness.SEPARATOR) }))
      .filter(({ items }) => !Completeness.isClause(items));
    if (!found.length) return { begin: 0, items: [], end: 0 };
    const most = Math.max(...found.map(({ items }) => items.length));
    const best = found.find(({ items }) => items.length === most);
    const text = best.text.replace(/\.$/, "");
    return { begin: best.begin, items: text.split(Completeness.SEPARATOR), end: best.begin + text.length };
  }

  // Whether one of the items begins a clause: "Leute, die Gabeln und Messer benutzen".
  static isClause([first, ...others]) {
    const isRelative = (item) => /^d(?:er|ie|as|en|em) /u.test(item);
    return others.some(isRelative) && !isRelative(first);
  }

  // How many items fewer than its sentence a translation enumerates.
  static lostItems(sentence, translation) {
    const { begin, items } = Completeness.enumeration(sentence);
    // "Im Zoo leben Bären und Affen." has more than a preposition before them.
    const isAfter = Completeness.split(sentence.slice(0, begin)).length > 1;
    if (isAfter) translation = translation.replace(Completeness.BEFORE, "");
    return items.length ? Math.max(items.length - Completeness.enumerated(translation), 0) : 0;
  }

  // Each item of a sentence that is nothing but an enumeration, after the English of what links it; an
  // empty list for other sentences.
  static itemsAlone(sentence) {
    if (!Completeness.ITEMS_ALONE.test(sentence)) return [];
    const links = new Map([["und", " and "], ["sowie", " and "], ["oder", " or "]]);
    const text = sentence.replace(/\.$/, "");
    const found = [];
    let [end, link] = [0, ""];
    for (const separator of text.matchAll(Completeness.SEPARATOR)) {
      found.push([link, text.slice(end, separator.index)]);
      link = links.get(separator[0].replace(/[ ,]/g, "")) ?? ", ";
      end = separator.index + separator[0].length;
    }
    return [...found, [link, text.slice(end)]];
  }

  static split(text) {
    return text.split(Sentences.SPACE).filter(Boolean);
  }

  // How many items the longest enumeration of an English text has.
  static enumerated(translation) {
    const parts = translation.split(Completeness.ENGLISH_SEPARATOR);
    const ends = parts.map((part) => part.replace(/[.!?]+$/, "").split(" ").at(-1).replace(/s+$/, ""));
    let best = 1;
    let run = new Set([ends[0]]);
    parts.slice(1).forEach((part, i) => {
      run.add(ends[i + 1]); // one that comes twice is one
      best = Math.max(best, run.size);
      const isLong = Completeness.split(part).length > Completeness.LONGEST_ITEM;
      if (i + 2 < parts.length && isLong) run = new Set([ends[i + 1]]);
    });
    return best;
  }

  // A sentence again and again, each time with two items of its enumeration: the first and the last one,
  // then those between, two by two.
  static pairsOfItems(sentence) {
    const { begin, items, end } = Completeness.enumeration(sentence);
    if (!items.length) return [];
    const between = items.slice(1, -1);
    const pairs = [[items[0], items.at(-1)]];
    for (let i = 0; i < between.length; i += 2) pairs.push([between[i], between[i + 1] ?? items.at(-1)]);
    const link = sentence.slice(begin, end).match(/ (?:und|oder|sowie) /u)?.[0] ?? " und ";
    return pairs.map(([one, other]) => sentence.slice(0, begin) + one + link + other + sentence.slice(end));
  }

  // The translation of a sentence, put together from those of its pairs of items; null unless they are
  // alike but for these.
  static withAllItems(sentence, translations) {
    const { items } = Completeness.enumeration(sentence);
    const split = translations.map((text) => text.split(/ (and|or) /u));
    if (split.some((parts) => parts.length !== 3) || new Set(split.map((one) => one[1])).size > 1) return null;
    const lefts = split.map((one) => one[0].split(" "));
    const rights = split.map((one) => one[2].split(" "));
    const begin = Completeness.shared(lefts);
    const end = Completeness.shared(rights.map((one) => [...one].reverse()));
    const firsts = lefts.map((one) => one.slice(begin).join(" "));
    let seconds = rights.map((one) => one.slice(0, one.length - end).join(" "));
    let after = rights[0].slice(rights[0].length - end).join(" ");
    after = after && ` ${after}`;
    if (!end) {
      // "lions and giraffes.": the mark is no item's.
      const stripped = seconds.map((one) => one.replace(/[.!?]+$/, ""));
      after = seconds[0].slice(stripped[0].length);
      seconds = stripped;
    }
    const between = firsts.slice(1).flatMap((one, i) => [one, seconds[i + 1]]);
    const written = [firsts[0], ...between.slice(0, items.length - 2), seconds[0]];
    if (!Completeness.areItems(written, items)) return null;
    const before = [...lefts[0].slice(0, begin), ""].join(" ");
    return `${before}${written.slice(0, -1).join(", ")} ${split[0][1]} ${written.at(-1)}${after}`;
  }

  // Whether these may be the translations of items: short, and each another one. One of a single word
  // has no verb before it, as "study history" has.
  static areItems(written, sources) {
    const rows = written.map((item) => Completeness.split(item).map((word) => word.replace(/s+$/, "")));
    // "in her back, pain and in the shoulder"
    const isIn = (one, other) => one !== other && one.every((word) => other.includes(word));
    return (
      rows.every((row) => 0 < row.length && row.length <= Completeness.LONGEST_ITEM) &&
      !rows.some((one) => rows.some((other) => isIn(one, other))) &&
      written.every((item, i) => {
        const [first, ...others] = Completeness.split(item);
        return !others.length || sources[i].includes(" ") || Completeness.SMALL.includes(first);
      })
    );
  }

  // How many words all rows begin with, but for the last of each.
  static shared(rows) {
    const shortest = Math.min(...rows.map((row) => row.length)) - 1;
    let i = 0;
    while (i < shortest && rows.every((row) => row[i] === rows[0][i])) i++;
    return i;
  }
}
