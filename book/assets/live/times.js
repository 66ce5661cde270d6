// Clock times and dates: translator/text/dates.py in JavaScript.

class Times {
  static HOURS = new Map([
    ...["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"].map(
      (word, i) => [word, i + 1],
    ),
    ["eins", 1],
  ]);
  static HOUR = [...Times.HOURS.keys()].sort((one, other) => other.length - one.length).join("|");
  // "halb acht", "Viertel nach sieben", "um dreiviertel acht"; not "halb zwei Liter", "eine halb".
  static IN_WORDS = pattern(
    String.raw`(?<!\w)(?<!ein )(?<!eine )(?<!und )(?<before>(?:um|gegen|bis|ab|ist|erst|schon) )?` +
      String.raw`(?:(?<half>[Hh]alb|[Dd]reiviertel)|[Vv]iertel (?<side>vor|nach)) ` +
      String.raw`(?<hour>${Times.HOUR})(?!\w)(?: Uhr(?!\w))?(?<noun> [A-ZÄÖÜ])?`,
  );
  // "17 Uhr", but not where a sentence begins.
  static AFTERNOON = pattern(String.raw`(\w+,? \w+,? )(1[3-9]|2[0-4]) Uhr(?! ?\d|\w)`);
  static TWELVE = pattern(String.raw`(?<![\d:.])(\d\d?)(:\d\d)? ?([ap])\.?m\b\.?`);
  static MONTH = [...Units.MONTHS.values()].join("|");
  static HAS_DATE = pattern(String.raw`\d\. (?:${[...Units.MONTHS.keys()].join("|")})`, "u");
  static GERMAN_DATE = pattern(String.raw`(?:\bthe )?\b(\d{1,2})\. (${Times.MONTH})\b`);
  static DOUBLED = pattern(String.raw`\b(${Times.MONTH}) (?:\d{1,2} )?(?=\1 \d)`);

  // A text with 7:30 for "halb acht" and 17:00 Uhr for "17 Uhr".
  static withDigitalTimes(text) {
    const inDigits = text.replace(Times.IN_WORDS, (found, ...rest) => {
      const { before = "", half, side, hour, noun = "" } = rest.at(-1);
      if (noun && !before) return found;
      const minutes = side === "nach" ? 15 : half?.toLowerCase() === "halb" ? 30 : 45;
      const at = Times.HOURS.get(hour) - (side === "nach" ? 0 : 1);
      return `${before}${at || 12}:${minutes}${noun}`;
    });
    return inDigits.replace(Times.AFTERNOON, "$1$2:00 Uhr");
  }

  // A translation with dates as English writes them, and the right half of the day.
  static withRightTimes(sentence, translation) {
    const right = translation.replace(Times.TWELVE, (found, hour, minutes = "", half) => {
      if (hour > 12) return `${Number(hour)}${minutes || ":00"}`;
      const later = pattern(String.raw`(?<!\d)${Number(hour) + 12}(?:[.:]\d\d)? Uhr`, "u");
      return half === "a" && hour < 12 && later.test(sentence) ? `${Number(hour)}${minutes} p.m.` : found;
    });
    if (!Times.HAS_DATE.test(sentence)) return right;
    return right.replace(Times.GERMAN_DATE, "$2 $1").replace(Times.DOUBLED, "");
  }
}
