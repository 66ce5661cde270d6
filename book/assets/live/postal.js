// Postal addresses, telephone numbers, IBANs and number plates: translator/text/postal.py in JavaScript.

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
  static STREET_ALONE = pattern(`^(?:${Postal.STREET})$`, "u");
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
  static COPIED = `${Postal.STREET}|${Units.MEASURED}|${Postal.CODE}`;
  static ANY = pattern(Postal.COPIED);
  static WHOLE = pattern(`^(?:${Postal.COPIED})$`, "u");
  static ARTICLE = pattern(String.raw`\b(?:das|dem|den|der|die) $`, "u");
  // A text without an article at its end: "in der Gartenstraße 5" is in a place.
  static withoutArticle(text) {
    return text.replace(Postal.ARTICLE, "");
  }
}
