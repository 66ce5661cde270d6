// Phrases that have one translation, such as how letters begin and end: translator/text/letters.py in
// JavaScript. Their tables come with the words.

class Letters {
  static WORD = Titles.WORD;
  static NAMES = `${Letters.WORD}(?: und ${Letters.WORD}| ${Letters.WORD})?`;
  static NAMES_ALONE = pattern(`^(?:${Letters.NAMES})$`, "u");
  static YOURS = "(?:[Dd]eine?|[Ee]uer|[Ee]ure|[Ii]hre?) ";
  static END = String.raw`(?=[.,!]*\s*$)`;
  static LABEL = pattern(String.raw`^\s*(?<label>[^\s:]+)(?=:(?:\s|$))`, "u");
  // "Deine Anna"
  static SIGNATURE = pattern(String.raw`^\s*${Letters.YOURS}(?<names>${Letters.NAMES})${Letters.END}`, "u");
  // "Anna Klein": alone a signature, of which the model makes a sentence.
  static FULL_NAME = pattern(String.raw`^\s*(?<first>${Letters.WORD})(?: ${Letters.WORD}){1,2}(?=\s*$)`, "u");
  // "3. Mai 2024", "Berlin, den 3. Mai", "Montag, 3. Mai"
  static DATE = pattern(
    String.raw`^\s*(?:(?<before>${Letters.WORD}), (?:den |der )?)?(?<day>\d{1,2})\. ` +
      String.raw`(?<month>${[...Units.MONTHS.keys()].join("|")})(?<year> \d{4})?${Letters.END}`,
    "u",
  );
  // "Sehr geehrter Herr Dr. Klein,", "Liebe Anna, lieber Tom,"
  static DEAR = pattern(
    String.raw`\s*(?:,? und |, )?(?:[Ss]ehr geehrte|[Ww]erte|[Ll]iebe)[rs]? ` +
      String.raw`(?<to>(?:\b(?:Dr|Prof|Hrn?|Fr|med|phil|rer|nat|Ing|h|c)\.|[^,.:;!?])+?)` +
      String.raw`(?=[,!](?:\s|$)|\s*$|,? und (?:liebe|sehr))`,
    "uy",
  );
  static MARKS = pattern(String.raw`[,!:.]*\s*`, "uy");

  // tables: labels, greetings, addressees and places, each German: English; rephrased: [pattern, words];
  // right: [pattern of a sentence, pattern of its translation, words].
  constructor({ rephrased, right, ...tables }, lexicon) {
    this.usual = rephrased.map(([ours, theirs]) => [pattern(ours), theirs]);
    this.right = right.map(([ours, wrong, words]) => [pattern(ours, "u"), pattern(wrong), words]);
    const byName = Object.entries(tables).map(([name, table]) => [name, new Map(Object.entries(table))]);
    Object.assign(this, { lexicon }, Object.fromEntries(byName));
    const longest = [...this.places.keys()].sort((one, other) => other.length - one.length).join("|");
    this.anyPlace = pattern(String.raw`(?<![\w\-])(?:${longest})(?![\w\-])`);
    const longestFirst = [...this.greetings.keys()].sort((one, other) => other.length - one.length);
    this.greeting = pattern(
      String.raw`^\s*(?<greeting>${longestFirst.map(Copying.escaped).join("|")})` +
        String.raw`(?: aus (?<place>${Letters.WORD}))?` +
        String.raw`(?:,? (?<yours>${Letters.YOURS})?(?<names>${Letters.NAMES}))?` +
        Letters.END,
      "u",
    );
  }

  // Where in a sentence places begin and end, with their English names: [begin, end, name].
  placesIn(sentence) {
    const found = [...sentence.matchAll(this.anyPlace)];
    return found.map(({ 0: text, index }) => [index, index + text.length, this.places.get(text)]);
  }

  // A translation with the English names of those of our places that it has in German.
  static withEnglishPlaces(translation, spans) {
    const lost = spans.filter(({ text, english }) => english && english !== text && !translation.includes(english));
    const named = (written, { text, english }) => written.replace(pattern(String.raw`(?<!\w)${text}(?!\w)`), english);
    return lost.reduce(named, translation);
  }

  // A sentence in words that the training has more of.
  rephrased(sentence) {
    return this.usual.reduce((text, [ours, theirs]) => text.replace(ours, theirs), sentence);
  }

  // A translation with the right phrases for some of its sentence.
  withRightPhrases(sentence, translation) {
    const concerned = this.right.filter(([ours]) => ours.test(sentence));
    return concerned.reduce((text, [, wrong, right]) => text.replace(wrong, right), translation);
  }

  // How long a text's first phrase is, with its mark, and its translation; [0, ""] if there is none.
  phrase(text) {
    const [length, written] = this.split(text);
    if (!written) return [0, ""];
    Letters.MARKS.lastIndex = length;
    const [marks] = Letters.MARKS.exec(text);
    return [length + marks.length, written + marks];
  }

  split(text) {
    const space = text.slice(0, text.length - text.replace(pattern(String.raw`^\s+`, "u"), "").length);
    const answer = (found, written) => [found[0].length, space + written];
    let found = text.match(Letters.LABEL);
    const label = found?.groups.label ?? "";
    if (this.labels.has(label)) return answer(found, this.labels.get(label));
    const [first = "", ...rest] = label;
    const small = first + rest.join("").toLowerCase();
    if (Lexicon.isUpper(label) && this.labels.has(small)) return answer(found, this.labels.get(small).toUpperCase());
    found = text.match(this.greeting);
    if (found) {
      const { greeting, yours, names, place } = found.groups;
      if ((!place || this.places.has(place) || this.isName(place)) && this.areNames(names)) {
        const signed = names ? `, ${yours ? "yours, " : ""}${Letters.joined(names)}` : "";
        const origin = place ? ` from ${this.places.get(place) ?? place}` : "";
        return answer(found, this.greetings.get(greeting) + origin + signed);
      }
    }
    found = text.match(Letters.DATE);
    if (found) {
      const { before, day, month, year } = found.groups;
      const known = new Map([...Units.DATES, ...this.places]);
      if (!before || known.has(before) || this.isName(before)) {
        const place = before ? `${known.get(before) ?? before}, ` : "";
        return answer(found, `${place}${Units.MONTHS.get(month)} ${Number(day)}${year ? `,${year}` : ""}`);
      }
    }
    found = text.match(Letters.SIGNATURE);
    if (found && this.areNames(found.groups.names)) return answer(found, `Yours, ${Letters.joined(found.groups.names)}`);
    found = text.match(Letters.FULL_NAME);
    if (found && this.lexicon.isFirstName(found.groups.first)) return answer(found, strip(found[0]));
    const [end, written] = this.salutation(text);
    return [end, written && space + written];
  }

  salutation(text) {
    let end = 0;
    const written = [];
    for (;;) {
      Letters.DEAR.lastIndex = end;
      const found = Letters.DEAR.exec(text);
      if (!found) break;
      const to = strip(found.groups.to);
      const areNames = Letters.NAMES_ALONE.test(to) && this.areNames(to);
      const [called] = [this.addressees.get(to), ...Titles.english(to), areNames && Letters.joined(to)].filter(Boolean);
      if (!called) break;
      written.push(`${written.length ? "dear" : "Dear"} ${called}`);
      end = found.index + found[0].length;
    }
    return [end, written.join(", ")];
  }

  isName(word) {
    return this.lexicon.isName(word) || !this.lexicon.knows(word);
  }

  // Whether each of some words is a name; the second may be a surname, whatever else.
  areNames(names = "") {
    const words = names.split(" ");
    const firsts = words.includes("und") ? words : words.slice(0, 1);
    return firsts.every((one) => ["", "und"].includes(one) || this.lexicon.isFirstName(one) || this.isName(one));
  }

  static joined(names) {
    return names.replaceAll(" und ", " and ");
  }
}
