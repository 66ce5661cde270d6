// The words of the training's sources: translator/decoding/lexicon.py in JavaScript.

class Lexicon {
  // Addresses contain words and numbers, and are none; nor are hashtags, paths and code.
  static ADDRESS = pattern(
    String.raw`(?:https?://|www\.)\S*[\w/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+` +
      String.raw`|(?<![\w.@\-])[\w\-]+(?:\.[\w\-]+)*\.(?:at|ch|com|de|eu|info|net|org)(?:/\S*[\w/])?(?![\w@\-])` +
      String.raw`|(?<!\w)[#@][\p{L}\p{Nl}\p{No}]\w*|(?<!\w)[A-Z]:\\\S*\w|${"`[^`\\n]+`"}`,
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
  static UMLAUT = /[äöü]/iu;
  // What stands for an umlaut where a keyboard has none; not the "ue" of "neue" and "bequem".
  static DIGRAPHS = new Map([["ae", "ä"], ["oe", "ö"], ["ue", "ü"]]);
  static DIGRAPH = /ae|oe|(?<![aeqä])ue/giu;
  static WITHOUT_DOTS = new Map([["ä", "a"], ["ö", "o"], ["ü", "u"]]);
  // Words that only "ss" and "ß" tell apart: Masse, Maße.
  static SS_OR_SZ = /^(?:bu|flo|ma|ru)ss(?:e[nrs]?)?$/u;
  // Before a word inside a sentence, where a capital tells a noun or a name.
  static INSIDE = pattern(String.raw`\w,? $`, "u");

  // words: each in its usual spelling. names: words that translations copy, the most frequent first.
  // women, men: first names (translator/text/first_names.py). phrases: tables of Letters.
  constructor(words, names, { women, men }, phrases) {
    this.usual = new Map(words.map((word) => [Lexicon.fold(word), word]));
    const digraphs = new Map([...Lexicon.DIGRAPHS].map(([two, umlaut]) => [umlaut, two]));
    this.digraphs = this.writtenWith(digraphs); // words with umlauts by how they are written without
    this.withoutDots = this.writtenWith(Lexicon.WITHOUT_DOTS);
    this.names = names;
    this.nameSet = new Set(names);
    this.women = new Set(women);
    this.men = new Set(men);
    this.letters = new Letters(phrases, this);
  }

  writtenWith(table) {
    const withUmlauts = [...this.usual].filter(([folded]) => Lexicon.UMLAUT.test(folded));
    return new Map(withUmlauts.map(([folded, word]) => [folded.replace(/[äöü]/gu, (one) => table.get(one)), word]));
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

  static isLower(text) {
    return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
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
    const others = Lexicon.UMLAUT.test(text) ? [] : [this.withoutDots];
    const written = [this.usual, this.digraphs, ...others];
    return text.replace(Lexicon.WORD, (word) => {
      const folded = Lexicon.fold(word);
      return written.find((words) => words.has(folded))?.get(folded) ?? capitalised(word);
    });
  }

  // A text with the umlauts and the "ß" that a keyboard may lack: "fuer" is für, "Strasse" Straße, "daß"
  // dass and, where a text has no umlaut, "horen" hören. What the training had stays, and so do names,
  // addresses and letters that are not Latin.
  withUsualLetters(text) {
    const hasUmlauts = Lexicon.UMLAUT.test(text);
    const kept = [...text.matchAll(Lexicon.UNTRANSLATED)].map(({ 0: { length }, index }) => [index, index + length]);
    let before = "";
    return text.replace(Lexicon.WORD, (word, begin) => {
      const left = text.slice(Math.max(begin - 3, 0), begin);
      while (kept.length && kept[0][1] <= begin) kept.shift();
      const isIntroduced = Lexicon.isCapitalised(word) && Copying.INTRODUCES.test(before);
      before = word;
      if ((kept.length && kept[0][0] <= begin) || isIntroduced) return word;
      const mayBeName = Lexicon.isCapitalised(word) && Lexicon.INSIDE.test(left);
      return this.usualLetters(word, mayBeName, hasUmlauts);
    });
  }

  usualLetters(word, mayBeName, hasUmlauts) {
    const folded = Lexicon.fold(word);
    let usual = this.usual.get(folded);
    // "Das ist NICHT wahr."
    if (Lexicon.isUpper(word) && [...word].length > 2) return usual && Lexicon.isLower(usual) ? usual : word;
    if (usual) {
      const isSpelt = usual.includes("ß") === word.includes("ß");
      if (isSpelt || Lexicon.SS_OR_SZ.test(folded)) return word;
    } else if (this.isFirstName(word.replace(/s$/u, "")) || this.isDerived(word)) {
      return word;
    } else {
      usual = this.digraphs.get(folded);
      if (!usual && Lexicon.isLower(word) && !hasUmlauts) usual = this.withoutDots.get(folded);
      if (!usual) {
        const withUmlauts = word.replace(Lexicon.DIGRAPH, (two) => {
          const umlaut = Lexicon.DIGRAPHS.get(two.toLowerCase());
          return Lexicon.isUpper(two[0]) ? umlaut.toUpperCase() : umlaut;
        });
        return this.isDerived(withUmlauts) ? withUmlauts : word;
      }
      if (mayBeName && Lexicon.isLower(usual)) return word; // "Schoen", not "schön"
    }
    return (/^\p{Uppercase}/u.test(word) ? usual[0].toUpperCase() : usual[0].toLowerCase()) + usual.slice(1);
  }
}
