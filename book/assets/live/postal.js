// Postal addresses, telephone numbers, IBANs and number plates: translator/postal.py in JavaScript.

class Postal {
  static HOUSE = String.raw`\d{1,3}(?: ?[a-h])?(?!\w)(?:[-–/]\d{1,3}[a-h]?(?!\w))?`;
  // "Gartenstraße", "Berliner Str."; not "Sitzplatz", "Ausweg", which have numbers, too.
  static STREET_NAME =
    String.raw`(?<!\w)(?!(?:Sitz|Steh|Stell|Park|Arbeits|Zelt|Fenster|Studien|Aus|Um|Rück)(?:platz|weg))` +
    String.raw`(?:[A-ZÄÖÜ][\w\-]{1,40}?(?:straße|strasse|str\.|gasse|allee|weg|platz|ufer|damm|ring)` +
    String.raw`|[A-ZÄÖÜ][\w\-]{1,40} (?:Straße|Strasse|Str\.|Gasse|Allee|Weg|Platz|Ufer|Damm|Ring))`;
  static CITY =
    String.raw`(?:[A-Z]{1,2}-)?\d{5} (?:Bad |Sankt |St\. )?[A-ZÄÖÜ][\w\-]+` +
    String.raw`(?: (?:am|an der|bei|im|in der|ob der|vor der) [A-ZÄÖÜ][\w\-]+)?`;
  static FLOOR = String.raw`(?:\d{1,2}\. \w+, )?`;
  // A street with its number, and the town where that follows.
  static STREET = `${Postal.STREET_NAME} ${Postal.HOUSE}(?:,? (?:in )?${Postal.FLOOR}${Postal.CITY})?`;
  // A line that is an address and nothing else; what comes before the number has no verb.
  static ADDRESS_LINE = pattern(
    String.raw`^(?:\s*(?:(?:(?:[A-ZÄÖÜ][\w.\-]*|am|an|auf|bei|dem|den|der|im|in|unter|von|zum|zur),? ){1,8}` +
      String.raw`(?:${Postal.HOUSE}|\d\d(?: \d\d)+), ${Postal.FLOOR}${Postal.CITY}` +
      String.raw`|${Postal.CITY}, ${Postal.STREET_NAME} ${Postal.HOUSE})\s*)$`,
    "u",
  );
  // Digits in groups, which no unit and no value belongs to: IBAN, number plate, telephone; three
  // groups or more, but for a number whose thousands are set apart.
  static CODE =
    String.raw`(?<!\w)[A-Z]{2}\d{2}(?: ?\d{4}){2,7}(?: ?\d{1,3})?(?!\w)` +
    String.raw`|(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{1,4}(?!\w)` +
    String.raw`|(?<![\w.,/\-])(?:\+\d{1,3}|\(?0)(?:[ /\(\)–\-]{0,3}\d){5,}(?!\w)` +
    String.raw`|(?<![\w.,/\-])(?!\d{1,3}(?: \d{3})+(?! ?\d))\d{2,}(?:[ /\-]\d{2,}){2,}(?!\w)`;
  static CODES = pattern(Postal.CODE);
  static COPIED = `${Postal.STREET}|${Postal.CODE}`;
  static ANY = pattern(Postal.COPIED);
  static WHOLE = pattern(`^(?:${Postal.COPIED})$`, "u");
  static ARTICLE = pattern(String.raw`\b(?:das|dem|den|der|die) $`, "u");
  static EURO = pattern(String.raw`(?:€|\bEUR\b) ?(\d(?:[.,]?\d)*)|(?<=\d) ?(?:€|EUR\b)`);

  // Abbreviations and units in words of which a training of everyday sentences has more.
  static WORDS = new Map([
    ["z. B.", "zum Beispiel"],
    ["d. h.", "das heißt"],
    ["u. a.", "unter anderem"],
    ["usw.", "und so weiter"],
    ["ca.", "etwa"],
    ["bzw.", "oder"],
    ["evtl.", "vielleicht"],
    ["max.", "höchstens"],
    ["Hrn.", "Herrn"],
    ["Hr.", "Herr"],
    ["Mio.", "Millionen"],
    ["Mrd.", "Milliarden"],
  ]);
  static UNITS = new Map([
    ["km/h", "Kilometer pro Stunde"],
    ["kg", "Kilo"],
    ["km", "Kilometer"],
    ["cm", "Zentimeter"],
    ["m²", "Quadratmeter"],
    ["m", "Meter"],
    ["g", "Gramm"],
    ["l", "Liter"],
    ["t", "Tonnen"],
    ["°C", "Grad Celsius"],
    ["°", "Grad"],
    ["Std.", "Stunden"],
    ["Min.", "Minuten"],
  ]);
  static ABBREVIATION = pattern(
    String.raw`(?<![\w.])(?:z\. ?B\.|d\. ?h\.|u\. ?a\.|(?:usw|ca|bzw|evtl|max|Hrn|Hr|Mio|Mrd)\.)(?![\w@])`,
  );
  static UNIT = pattern(
    String.raw`(?<=\d) ?(km/h|kg|km|cm|m²|m|g|l|t|°C|°|Std\.|Min\.)(?![\w/²³])`,
  );
  // 1.299,50 and 3,5; a comma before three digits may be of thousands, as in English. Not 2.30 Uhr,
  // 12.05.2024 or 192.168.100.200.
  static DECIMAL = pattern(String.raw`^(?:(?:\d{1,3}(?:[. ]\d{3})+|\d+),(?!\d{3}$)\d+|0,\d+)$`, "u");
  static GERMAN_THOUSANDS = pattern(String.raw`^(?:[1-9]\d{0,2}(?:\.\d{3}){1,2}|\d{1,3}(?: \d{3})+)$`, "u");
  // Of the training's translations many tell other units, and other numbers.
  static OTHERS = new Map([
    ["mile", ["Kilometer", "kilometer"]],
    ["pound", ["Kilo", "kilogram"]],
    ["foot", ["Meter", "meter"]],
    ["inch", ["Zentimeter", "centimeter"]],
    ["gallon", ["Liter", "liter"]],
  ]);
  static OTHER_UNIT = pattern(
    String.raw`(\d(?:[.,]?\d)*)([ \-])(mile|pound|foot|feet|inch|gallon)(e?s)?\b`,
  );
  static SHORT_STREET = pattern(String.raw`(?<=[a-zäöü]{2}s)tr\.(?! ?\d)`);

  // A text without an article at its end: "in der Gartenstraße 5" is in a place.
  static withoutArticle(text) {
    return text.replace(Postal.ARTICLE, "");
  }

  // A text with "Euro" for the sign and the code, which hardly any training has.
  static withEuros(text) {
    return text.replace(Postal.EURO, (_, number) => (number ? `${number} Euro` : " Euro"));
  }

  // A text with "Kilo" for the kg after a number, "zum Beispiel" for z. B., and so on. A full stop that
  // also ends the sentence stays.
  static writtenOut(text) {
    const withWords = text.replace(Postal.ABBREVIATION, (found, at) => {
      const short = found[1] === "." ? strip(found.replace(/\./g, ". ")).replace(/ +/g, " ") : found;
      return Postal.WORDS.get(short) + (at + found.length === text.length ? "." : "");
    });
    const withEuros = Postal.withEuros(withWords);
    const withUnits = withEuros.replace(Postal.UNIT, (found, unit, at) => {
      const ends = at + found.length === withEuros.length && unit.endsWith(".");
      return ` ${Postal.UNITS.get(unit)}${ends ? "." : ""}`;
    });
    return withUnits.replace(Postal.SHORT_STREET, "traße");
  }

  // A translation with kilometers where its sentence has as many, and not miles.
  static withRightUnits(sentence, translation) {
    return translation.replace(Postal.OTHER_UNIT, (found, number, space, unit, plural) => {
      const [ours, theirs] = Postal.OTHERS.get(unit.replace("feet", "foot"));
      const same = pattern(String.raw`(?<![\d.,])${number.replace(/[.,]/g, "[., ]")} ${ours}`, "u");
      if (!same.test(sentence)) return found;
      return number + space + theirs + (plural || unit === "feet" ? "s" : "");
    });
  }

  // A translation with these German numbers, where it has them, as English writes them.
  static withEnglishNumbers(translation, numbers) {
    for (const number of new Set(numbers)) {
      const bare = number.replace(/^[-−]+/, "");
      if (!Postal.DECIMAL.test(bare) && !Postal.GERMAN_THOUSANDS.test(bare)) continue;
      const english = bare.replace(/[,. ]/g, (mark) => (mark === "," ? "." : ","));
      const whole = String.raw`(?<![\w.,:/])(?<!\d )${Copying.escaped(bare)}(?! ?\d|[.,:/]?\w)`;
      translation = translation.replace(pattern(whole), english);
    }
    return translation;
  }
}
