// Persons with a title, "Frau Klein", "Herrn Dr. Klein": translator/text/titles.py in JavaScript.

class Titles {
  // "Herr Doktor Klein" is Dr. Klein, without another title.
  static DEGREES = new Map([["Doktor", "Dr."], ["Doktorin", "Dr."], ["Professorin", "Professor"]]);
  // What stands for a couple, and its translation.
  static COUPLES = new Map([["Tom und Maria", "Tom and Mary"]]);
  static SINGLE = String.raw`(?:Herrn?|Hrn?\.|Frau|Fr\.)`;
  static DEGREE =
    String.raw`(?:(?:Prof|Dr)\. ?(?:(?:Dr|h|c|mult|habil|med|phil|jur|rer|nat|pol|dent|vet|Ing)\.[ \-]?)*` +
    String.raw`|(?:Professor|Doktor)(?:in)? )`;
  static WORD = String.raw`[A-ZÄÖÜ][\w\-]*[\p{L}\p{Nl}\p{No}]`;
  // "Herr Ober", "Frau Präsidentin", "Ihr Herr Vater": no names.
  static OFFICE =
    "(?:Abgeordnete[rn]?|Bruder|General|Gott|Hauptmann|Kapitän|Lehrer|Nachbar|Ober|Oberst" +
    "|Pfarrer|Sohn|Vater|Vorsitzende[rn]?|Wachtmeister|Wirt|Kollegin|Gemahlin|Mutter|Tochter" +
    String.raw`|(?:\w+)?(?:[Dd]irektor|[Dd]oktor|[Kk]anzler|[Kk]ollege|[Kk]ommissar|[Mm]eister|[Mm]inister` +
    "|[Pp]räsident|[Pp]rofessor|[Rr]ektor))(?:in|n|en|s)?";
  static OFFICE_ALONE = pattern(`^(?:${Titles.OFFICE})$`, "u");
  static SOURCE =
    String.raw`(?<!\w)(?<title>${Titles.SINGLE})(?: (?:und|u\.) (?<other>${Titles.SINGLE}))? (?<degree>${Titles.DEGREE})?` +
    String.raw`(?<name>(?!(?:${Titles.OFFICE}|${[...Units.DATES.keys()].join("|")})(?!\w))` +
    String.raw`(?:(?:von|van|zu)(?: de[mnr])? )?(?:${Titles.WORD} )?${Titles.WORD})(?!\w)`;
  static PERSON = pattern(Titles.SOURCE);
  static PERSON_ALONE = pattern(`^(?:${Titles.SOURCE})$`, "u");
  // "Guten Tag, Herr Doktor.", where English has "doctor" alone.
  static BEFORE_OFFICE = pattern(String.raw`(?<!\w)(?:Herrn?|Frau) (?=${Titles.OFFICE}(?!\w))`);
  // "die Frau Meier", "meine Frau Anna": no title.
  static DETERMINED = pattern(
    String.raw`\b(?:d(?:er|ie|em|en|es)|(?:k?ein|[mds]ein|ihr|unser|eu(?:er|r))(?:e[rnms]?)?` +
      String.raw`|dies(?:e[rnms]?)|jede[rnms]?|zur|zum|vom|beim) $`,
    "iu",
  );

  // Where in a sentence a person with a title begins and ends: [begin, end].
  static persons(sentence, lexicon) {
    return [...sentence.matchAll(Titles.PERSON)]
      .filter((found) => !Titles.DETERMINED.test(sentence.slice(0, found.index)))
      .map(({ index, 0: text, groups }) => {
        let [first, last] = ["", ...groups.name.split(" ")].slice(-2);
        let end = index + text.length;
        if (/^\p{Uppercase}/u.test(first) && !lexicon.isFirstName(first)) {
          end -= last.length + 1;
          last = first;
        }
        const isGenitive = /^ [A-ZÄÖÜ]/u.test(sentence.slice(end)) && last.endsWith("s");
        return [index, end - isGenitive];
      });
  }

  // A sentence without "Herr" and "Frau" before an office.
  static withoutTitlesOfOffices(sentence) {
    return sentence.replace(Titles.BEFORE_OFFICE, "");
  }

  // How a person with a title may be called in English, what we write first; empty for anything else.
  static english(person) {
    const { title, other, degree, name } = person.match(Titles.PERSON_ALONE)?.groups ?? {};
    if (!title) return [];
    let titles = [title, other].filter(Boolean).map(Titles.ofOne);
    if (titles.join() === "Mr.,Ms.") titles = ["Mr.", "Mrs."];
    if (degree && titles.length === 1) {
      const called = `${Titles.DEGREES.get(strip(degree)) ?? strip(degree)} ${name}`;
      return [called, `${titles[0]} ${called}`];
    }
    const married = titles.join() === "Ms." ? [`Mrs. ${name}`, `Miss ${name}`] : [];
    return [`${titles.join(" and ")} ${name}`, ...married];
  }

  // The kind of what may stand for a person with a title.
  static kind(person) {
    const { title, other } = person.match(Titles.PERSON_ALONE).groups;
    if (other) return "couple";
    return Titles.ofOne(title) === "Mr." ? "man" : "woman";
  }

  static ofOne(title) {
    return title.startsWith("H") ? "Mr." : "Ms.";
  }

  // A translation with the title of a person before the bare name, if it has none.
  static withTitle(person, translation) {
    const forms = Titles.english(person);
    if (forms.some((form) => translation.includes(form))) return translation;
    const { name } = person.match(Titles.PERSON_ALONE).groups;
    return translation.replace(pattern(String.raw`(?<!\w)${Copying.escaped(name)}(?!\w)`, "u"), () => forms[0]);
  }
}
