// Numbers, and whether a translation has them: translator/text/numbers.py in JavaScript. A number is
// {begin, end, text, isNumber, isTime}.

class Numbers {
  // Also "12 000", with the space before three digits alone; and "-5", but "5" of "3-5" and "U-5".
  static NUMBER = pattern(
    String.raw`(?:(?<![\w)])[-−](?=\d))?(?<!\d)(?:\d{1,3}(?: \d{3})+(?!\d)|\d(?:[.,:/-]?\d)*)`,
  );
  static MINUS = pattern(String.raw`\bminus\s+|(?<!\w)[-−](?=\d)`, "giu");
  static BELOW_ZERO = pattern(String.raw`\bbelow (?:zero|freezing)`, "iu");
  static THOUSANDS = pattern(String.raw`(?<=\d)[., ](?=\d{3}(?!\d))`);
  static TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
  static UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
    "sixteen seventeen eighteen nineteen"
  ).split(" ");
  static IN_OTHER_WORDS = {
    1: "an?|once|first",
    2: "twice|second",
    3: "third",
    5: "fifth",
    8: "eighth",
    9: "ninth",
    12: "twelfth|dozen|noon|midnight",
  };

  static GERMAN = new Map([
    ...["dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"].map((word, i) => [word, 13 + i]),
    ...["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"].flatMap((tens, i) => [
      [tens, 10 * (i + 2)],
      ...["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"].map((unit, j) => [
        `${unit}und${tens}`,
        10 * (i + 2) + j + 1,
      ]),
    ]),
  ]);
  // "achtundzwanzig"; no "sechs Uhr dreißig", "Anfang dreißig" or "dreißiger".
  static GERMAN_WORD = pattern(
    String.raw`(?<![\w\-])(?<!Uhr )(?<!Anfang )(?<!Mitte )(?<!Ende )` +
      `(?:${[...Numbers.GERMAN.keys()].sort((one, other) => other.length - one.length).join("|")})` +
      String.raw`(?![\w\-]| Uhr)`,
    "giu",
  );

  // The numbers from 13 to 99 of a sentence that are written in words, in order.
  static words(sentence) {
    return [...sentence.matchAll(Numbers.GERMAN_WORD)].map(({ 0: text, index }) => [index, index + text.length]);
  }

  // The number that a German word from "dreizehn" to "neunundneunzig" is, or undefined.
  static valueOfWord(text) {
    return Numbers.GERMAN.get(text.toLowerCase());
  }

  // A number below 100 in English words.
  static inEnglishWords(number) {
    if (number < 20) return Numbers.UNITS[number];
    const tens = Numbers.TENS[Math.floor(number / 10) - 2];
    return number % 10 ? `${tens}-${Numbers.UNITS[number % 10]}` : tens;
  }

  // All numbers written in digits, in order, but for those in addresses and codes.
  static numbers(sentence) {
    const masked = (found) => "_".repeat(found.length); // the places stay
    const bare = sentence.replace(Lexicon.ADDRESS, masked).replace(Postal.ANY, masked);
    return [...bare.matchAll(Numbers.NUMBER)].map(({ 0: text, index: begin }) => {
      const end = begin + text.length;
      return { begin, end, text, isNumber: true, isTime: text.includes(":") || bare.startsWith(" Uhr", end) };
    });
  }

  // The numbers of a sentence as they are written, those of measures too.
  static digitsOf(sentence) {
    const measures = sentence.match(Units.MEASURE) || [];
    const inside = measures.flatMap((one) => one.match(Numbers.NUMBER) || []);
    return [...Numbers.numbers(sentence).map((one) => one.text), ...inside];
  }

  // A text that stays, with its measures and prices as English writes them: 3.5 kg.
  static withEnglishMeasures(text) {
    return text.replace(Units.ANY_MEASURE, (found) => Units.withEnglishNumbers(found, found.match(Numbers.NUMBER) || []));
  }

  // Whether a translation has a number, perhaps punctuated in another way; one below 100 may be words,
  // an hour that of a clock with twelve, a sign the word "minus".
  static isCopied(span, translation) {
    if (/^[-−]/.test(span.text)) {
      const positive = { ...span, text: span.text.slice(1) };
      const below = Numbers.BELOW_ZERO.test(translation) ? [translation] : [];
      return [...below, ...translation.split(Numbers.MINUS).slice(1)].some((part) => Numbers.isCopied(positive, part));
    }
    const value = Numbers.value(span.text);
    const forms = [value];
    if (span.isTime) {
      const [hour, ...rest] = value.split(".");
      const minutes = rest.join(".");
      for (const h of hour > 12 ? [Number(hour), hour - 12] : [Number(hour)]) {
        forms.push(/[^0]/.test(minutes) ? `${h}.${minutes}` : `${h}`, `${h}.${minutes || "00"}`);
      }
    }
    // A number beside a code is another one, read together with it.
    const written = [...(translation.match(Numbers.NUMBER) || []), ...Numbers.numbers(translation).map((one) => one.text)];
    if (written.some((number) => forms.includes(Numbers.value(number)))) return true;
    return forms
      .filter((form) => /^\d{1,2}$/.test(form))
      .some((form) => pattern(String.raw`\b(?:${Numbers.inWords(Number(form))})\b`, "iu").test(translation));
  }

  // A number in one punctuation: 3,5 is 3.5, and 12.000 is 12000.
  static value(number) {
    return number.replace(Numbers.THOUSANDS, "").replace(/[,:/-]/g, ".");
  }

  // A pattern of the English words for a number below 100, ordinals too.
  static inWords(number) {
    if (number < 20) {
      const others = Numbers.IN_OTHER_WORDS[number];
      return `${Numbers.UNITS[number]}(?:th)?${others ? `|${others}` : ""}`;
    }
    const tens = Numbers.TENS[Math.floor(number / 10) - 2];
    if (number % 10) return `${tens}[ -](?:${Numbers.inWords(number % 10)})`;
    return `${tens}|${tens.slice(0, -1)}ieth`;
  }
}
