// The words of the training's sources: translator/decoding/lexicon.py in JavaScript.

class Lexicon {
  // Addresses contain words and numbers, and are none.
  static ADDRESS = pattern(
    String.raw`(?:https?://|www\.)\S*[\w/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+`,
  );
  // A letter of another script than the Latin one: "µ" and "№" are none.
  static OTHER_LETTER =
    String.raw`(?![\0-\u036f\u1d00-\u1eff\u2000-\u2bff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f` +
    String.raw`\ufb00-\ufb06\uff00-\uff60])[\p{L}\p{Nl}\p{No}]`;
  // A word with such letters; many scripts have signs of vowels, which are no letters.
  static OTHER_WORD =
    String.raw`\w*?${Lexicon.OTHER_LETTER}(?:\w|[^\s\0-\u036f\u2000-\u2bff\u3000-\u303f\uff00-\uff60])*`;
  // Addresses, and words that are not written in Latin letters: neighbours are one.
  static UNTRANSLATED = pattern(
    `${Lexicon.ADDRESS.source}|${String.raw`(?<!\w)`}${Lexicon.OTHER_WORD}(?: ${Lexicon.OTHER_WORD})*`,
  );
  static WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
  // Of German nouns, and what links two of them.
  static ENDINGS = ["n", "en", "s", "es", "e", "er"];

  // words: each in its usual spelling. names: words that translations copy, the most frequent first.
  // women, men: first names (translator/first_names.py).
  constructor(words, names, { women, men }) {
    this.usual = new Map(words.map((word) => [Lexicon.fold(word), word]));
    this.names = names;
    this.nameSet = new Set(names);
    this.women = new Set(women);
    this.men = new Set(men);
  }

  // What different spellings of a word share: STRASSE is Straße.
  static fold(word) {
    return word.toLowerCase().replaceAll("ß", "ss");
  }

  static words(text) {
    return text.match(Lexicon.WORD) || [];
  }

  static isUpper(text) {
    return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
  }

  // Whether a word of two letters or more begins with a capital.
  static isCapitalised(word) {
    return /^\p{Uppercase}./su.test(word);
  }

  knows(word) {
    return this.usual.has(Lexicon.fold(word));
  }

  isFirstName(word) {
    return this.women.has(word) || this.men.has(word);
  }

  // The first name that a word is, or that it is the genitive of; else an empty text.
  firstName(word) {
    return [word, word.replace(/s$/, "")].find((name) => this.isFirstName(name)) ?? "";
  }

  // Whether the training had a word, or need not have: a name, digits, an acronym.
  isFamiliar(word) {
    const needNot = !/^\p{L}+$/u.test(word) || Lexicon.isUpper(word) || this.isFirstName(word);
    return needNot || this.isName(word) || this.knows(word);
  }

  // Whether a word may be a noun: no name, and not spelt small as a rule.
  isNoun(word) {
    const usual = this.usual.get(Lexicon.fold(word)) ?? word;
    return Lexicon.isCapitalised(word) && !this.isName(word) && /^\p{Uppercase}/u.test(usual);
  }

  isName(word) {
    return this.nameSet.has(word);
  }

  // Whether a word is a known one with an ending, or two known ones in one.
  isDerived(word) {
    const whole = Lexicon.fold(word);
    if (this.hasStem(whole)) return true;
    for (let cut = 3; cut < whole.length - 3; cut++) {
      const first = whole.slice(0, cut);
      if (this.usual.has(whole.slice(cut)) && (this.usual.has(first) || this.hasStem(first))) return true;
    }
    return false;
  }

  hasStem(folded) {
    return Lexicon.ENDINGS.some((ending) => {
      const stem = folded.slice(0, -ending.length);
      return folded.endsWith(ending) && stem.length > 2 && this.usual.has(stem);
    });
  }

  // A sentence in one case with its words spelt as usual; unknown ones are names.
  // Addresses and letters that are not Latin stay as they are.
  withUsualCase(sentence) {
    const parts = [];
    let end = 0;
    for (const kept of sentence.matchAll(Lexicon.UNTRANSLATED)) {
      parts.push(this.respelt(sentence.slice(end, kept.index)), kept[0]);
      end = kept.index + kept[0].length;
    }
    parts.push(this.respelt(sentence.slice(end)));
    const startsKept = parts.length > 1 && !parts[0];
    if (!startsKept) parts[0] = parts[0].replace(/[\p{L}\p{Nl}\p{No}]/u, (first) => first.toUpperCase());
    return parts.join("");
  }

  respelt(text) {
    // ß has two capitals, of which one is small here.
    const capital = (letter) => letter.toUpperCase().replace(/(?<=\p{Lu})./gsu, (one) => one.toLowerCase());
    const capitalised = ([first, ...rest]) => capital(first) + rest.join("").toLowerCase();
    return text.replace(Lexicon.WORD, (word) => this.usual.get(Lexicon.fold(word)) ?? capitalised(word));
  }
}
