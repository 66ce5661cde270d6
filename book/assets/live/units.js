// Measures, prices, abbreviations, months and days: translator/text/units.py and dates.py in JavaScript.

class Units {
  // Of these the training has no word, or one that the model does not know: they are the same in
  // English. Single letters only where hardly anything else has them.
  static OTHER_UNITS =
    String.raw`(?:[kcdm]?m[²³]|[kMGT]?Wh?p?|m?Ah|[kMGT]?Hz|[kMh]Pa|[mkµμ]?V|VA|mmHg|[mµμ]g|[cmdµμh]l` +
    String.raw`|[mµμn]m|[kMGT](?:B|iB|bit)|[kMG]bit|dB|kcal|k?J|N|[kM]?Ω|lm|lx|ppm|px)` +
    String.raw`(?:/(?:m[²³]|kg|km|d?l|ha|h|s|min)(?![\w²³]))?` +
    String.raw`|(?:€|kg|g|k?m|t|l|mg)/(?:m[²³]|kg|km|d?l|ha|s|min)`;
  static AMOUNT =
    String.raw`(?<![\w.,/])(?:[\-−] ?)?\d{1,3}(?:(?: \d{3})+|\d*(?:[.,/]\d+)*)` +
    String.raw`(?: ?[\-–] ?\d+(?:[.,]\d+)*)?`;
  // "75 m²", "2.400 kWh", "3,7 V": copied with its number.
  static MEASURED = String.raw`${Units.AMOUNT} ?(?:${Units.OTHER_UNITS})(?![\w/²³])`;
  static MEASURE = pattern(Units.MEASURED);
  static MEASURE_ALONE = pattern(`^(?:${Units.MEASURED})$`, "u");
  static ANY_UNIT = `(?:${Units.OTHER_UNITS}|km/h|kg|g|l|t|km|cm|m|°C?|EL|TL|€)`;
  // A number with any unit that is written in signs: alone it stays.
  static ANY_MEASURE = pattern(String.raw`${Units.AMOUNT} ?${Units.ANY_UNIT}(?![\w/²³])`);
  static BEGIN = String.raw`^\s*${Units.AMOUNT} ?${Units.ANY_UNIT}\s+`;
  // "250 g" of "250 g Mehl": what a list of ingredients begins with.
  static PORTION = pattern(
    String.raw`${Units.BEGIN}(?=(?:[a-zäöüß]+\s)?[A-ZÄÖÜ][\w\-]+(?:\s[\w\-]+)?\s*$)`,
    "u",
  );
  static PORTION_ALONE = pattern(`${Units.BEGIN}$`, "u");
  // Months and days of the week: each has one translation.
  static MONTHS = new Map([
    ["Januar", "January"],
    ["Februar", "February"],
    ["März", "March"],
    ["April", "April"],
    ["Mai", "May"],
    ["Juni", "June"],
    ["Juli", "July"],
    ["August", "August"],
    ["September", "September"],
    ["Oktober", "October"],
    ["November", "November"],
    ["Dezember", "December"],
  ]);
  static DATES = new Map([
    ...Units.MONTHS,
    ["Montag", "Monday"],
    ["Dienstag", "Tuesday"],
    ["Mittwoch", "Wednesday"],
    ["Donnerstag", "Thursday"],
    ["Freitag", "Friday"],
    ["Samstag", "Saturday"],
    ["Sonnabend", "Saturday"],
    ["Sonntag", "Sunday"],
  ]);
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
    String.raw`(?<=\d) ?(km/h|kg|km|cm|m|g|l|t|°C|°|Std\.|Min\.)(?![\w/²³])`,
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


  // A text with "Euro" for the sign and the code, which hardly any training has.
  static withEuros(text) {
    return text.replace(Units.EURO, (_, number) => (number ? `${number} Euro` : " Euro"));
  }

  // A text with "Kilo" for the kg after a number, "zum Beispiel" for z. B., and so on. A full stop that
  // also ends the sentence stays.
  static writtenOut(text) {
    const withWords = text.replace(Units.ABBREVIATION, (found, at) => {
      const short = found[1] === "." ? strip(found.replace(/\./g, ". ")).replace(/ +/g, " ") : found;
      return Units.WORDS.get(short) + (at + found.length === text.length ? "." : "");
    });
    const withEuros = Units.withEuros(withWords);
    const withUnits = withEuros.replace(Units.UNIT, (found, unit, at) => {
      const ends = at + found.length === withEuros.length && unit.endsWith(".");
      return ` ${Units.UNITS.get(unit)}${ends ? "." : ""}`;
    });
    return withUnits.replace(Units.SHORT_STREET, "traße");
  }

  // A translation with kilometers where its sentence has as many, and not miles.
  static withRightUnits(sentence, translation) {
    return translation.replace(Units.OTHER_UNIT, (found, number, space, unit, plural) => {
      const [ours, theirs] = Units.OTHERS.get(unit.replace("feet", "foot"));
      const same = pattern(String.raw`(?<![\d.,])${number.replace(/[.,]/g, "[., ]")} ${ours}`, "u");
      if (!same.test(sentence)) return found;
      return number + space + theirs + (plural || unit === "feet" ? "s" : "");
    });
  }

  // A translation with these German numbers, where it has them, as English writes them.
  static withEnglishNumbers(translation, numbers) {
    for (const number of new Set(numbers)) {
      const bare = number.replace(/^[-−]+/, "");
      if (pattern(String.raw`^[12]\d{3}$`, "u").test(bare)) {
        // A year, or a number without a comma here.
        const comma = String.raw`(?<![\w,.])${bare[0]},${bare.slice(1)}(?![\w,]|\.\d)`;
        translation = translation.replace(pattern(comma), bare);
      }
      if (!Units.DECIMAL.test(bare) && !Units.GERMAN_THOUSANDS.test(bare)) continue;
      const english = bare.replace(/[,. ]/g, (mark) => (mark === "," ? "." : ","));
      const whole = String.raw`(?<![\w.,:/])(?<!\d )${Copying.escaped(bare)}(?! ?\d|[.,:/]?\w)`;
      translation = translation.replace(pattern(whole), english);
    }
    return translation;
  }
}
