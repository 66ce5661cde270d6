// Markup, which stays: HTML and Markdown, tables, CSV, strings in JSON, code between fences, as in
// translator/text/markup.py. A pair of marks inside a sentence is {opening, inside, closing}.

class Markup {
  static TAGS = pattern(
    String.raw`</?[a-zA-Z][\w:\-]*(?:\s+[\w:.@\-]+=(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))*\s*/?>|<!--[^<>]*-->`,
  );
  // What a program fills in: "{{ name }}", "${name}", "{0}", "%s", "%(name)s", "%d".
  static PLACEHOLDER =
    String.raw`\{\{[^\{\}\n]{1,40}\}\}|\$?\{[^\{\}\s]{0,40}\}|%(?:\(\w+\)|\d\$)?(?:\.\d)?[dfisu](?!\w)`;
  static PLACEHOLDER_ALONE = pattern(`^(?:${Markup.PLACEHOLDER})$`, "u");
  // Tags inside a sentence; all others cut it.
  static INLINE_TAG = "(?:abbr|[abisu]|del|em|font|mark|small|span|strong|sub|sup)";
  // What has a mark before and one after it: **bold**, *emphasis*, [a link](address), <b>tags</b>.
  static PAIR_SOURCE =
    String.raw`(?<stars>(?<![\w*])\*{1,3}(?=[^\s*]))(?<bold>[^*\n]*[^\s*])(?<ends>\k<stars>(?![\w*]))` +
    String.raw`|(?<lines>(?<![\w_])(?:_{1,3}(?=[^\s_])))(?<slanted>[^_\n]*[^\s_])(?<close>\k<lines>(?!\w))` +
    String.raw`|(?<waves>~~(?=[^\s~]))(?<struck>[^~\n]*[^\s~])(?<end>~~)` +
    String.raw`|(?<open>!?\[)(?<link>[^\[\]\n]+)(?<address>\]\([^\(\)\s]*(?:\s"[^"]*")?\))` +
    String.raw`|(?<tag><(?<name>${Markup.INLINE_TAG})(?:\s[^<>]*)?>)(?<inner>[^<>]+)(?<last></\k<name>>)`;
  static PAIR = pattern(Markup.PAIR_SOURCE);
  static PAIR_ALONE = pattern(`^(?:${Markup.PAIR_SOURCE})$`, "u");
  static GROUPS = [
    ["stars", "bold", "ends"],
    ["lines", "slanted", "close"],
    ["waves", "struck", "end"],
    ["open", "link", "address"],
    ["tag", "inner", "last"],
  ];
  // Before what is marked as a whole: what begins a list's entry or a heading.
  static BEFORE_ALL = pattern(String.raw`^\s*(?:(?:[\-+*>•#]+|\d{1,2}[.\)])\s+)*$`, "u");
  static AFTER_ALL = pattern(String.raw`^[\s.,;:!?]*$`, "u");
  static TABLE = pattern(String.raw`^\s*\|.*\|\s*$`, "su");
  static BAR = pattern(String.raw`\s*(?<!\\)\|\s*`);
  static BAR_BETWEEN = pattern(String.raw`\s+\|\s+`);
  // "a";"b",3: cells in quotation marks. a;b;c: a space follows a semicolon in a sentence.
  static VALUE = '(?:"[^"]*"|[^",;]*)';
  static QUOTED_CELLS = pattern(String.raw`^\s*(?=")${Markup.VALUE}(?:[,;]${Markup.VALUE})+\s*$`, "u");
  static QUOTED_CELL = pattern(String.raw`"(?=[,;]|$)|(?:^|(?<=[,;]))\s*"|[,;](?=")|(?<=")[,;]`);
  static SEMICOLONS = pattern(String.raw`^[^;\s](?:[^;]*[^;\s])?(?:;(?:[^;\s](?:[^;]*[^;\s])?)?){2,}$`, "u");
  static SPACED_SEMICOLON = pattern(String.raw`;\s`, "u");
  // "key": "what is to be translated"
  static STRING = String.raw`"(?:[^"\\]|\\.)*"`;
  static JSON = pattern(
    String.raw`^\s*[\{\[]?\s*${Markup.STRING}\s*:\s*(?:${Markup.STRING}|[\d.+eE\-]+|true|false|null|[\[\{])?` +
      String.raw`(?:\s*,\s*${Markup.STRING}\s*:\s*(?:${Markup.STRING}|[\d.+eE\-]+|true|false|null))*\s*[,\}\]]*\s*$`,
    "su",
  );
  static JSON_VALUE = pattern(String.raw`(?<=:)(\s*")((?:[^"\\]|\\.)*)(?=")`, "gsu");
  static FENCE = pattern(String.raw`^\s{0,3}(${"`{3,}"}|~{3,})[^${"`"}]*$`, "u");

  // Which lines are code between fences, or the fences; an open one is none.
  static fenced(lines) {
    const kept = lines.map(() => false);
    let [begin, fence] = [0, ""];
    lines.forEach((line, i) => {
      const found = line.match(Markup.FENCE);
      const bare = strip(line);
      if (!fence && found) {
        [begin, fence] = [i, found[1]];
      } else if (found && bare.startsWith(fence) && [...bare].every((one) => one === fence[0])) {
        kept.fill(true, begin, i + 1);
        fence = "";
      }
    });
    return kept;
  }

  // The parts of a line, and whether each is markup, which stays; joined they are the line. Pairs of marks
  // inside a sentence stay in it: `withoutPairs` takes them.
  static *split(line) {
    for (const [cell, isKept] of Markup.cells(line)) {
      if (isKept) {
        yield [cell, true];
        continue;
      }
      for (const [part, isTag] of Markup.cut(Markup.cuttingTags(cell), cell)) {
        if (isTag) yield [part, true];
        else yield* Markup.withoutOuterPairs(part);
      }
    }
  }

  // A text without pairs of marks, and these, in order.
  static withoutPairs(text) {
    const pairs = [];
    const without = text.replace(Markup.PAIR, (...found) => {
      let [opening, inside, closing] = Markup.parts(found.at(-1));
      for (let inner; (inner = inside.match(Markup.PAIR_ALONE)); ) {
        const [begin, text, end] = Markup.parts(inner.groups);
        [opening, inside, closing] = [opening + begin, text, end + closing];
      }
      pairs.push({ opening, inside, closing });
      return inside;
    });
    return [without, pairs];
  }

  // A translation with a pair of marks around the first candidate that it has once; null if it has none.
  static withPair(translation, { opening, closing }, candidates) {
    for (const candidate of candidates) {
      const bare = candidate.replace(/[.!?]+$/, "");
      const whole = pattern(String.raw`(?<!\w)${Copying.escaped(bare)}(?!\w)`, "giu");
      const found = bare ? [...translation.matchAll(whole)] : [];
      if (found.length !== 1) continue;
      const [{ 0: text, index }] = found;
      return translation.slice(0, index) + opening + text + closing + translation.slice(index + text.length);
    }
    return null;
  }

  static parts(groups) {
    return Markup.GROUPS.find(([opening]) => groups[opening]).map((name) => groups[name]);
  }

  // The cells of a table or of CSV, or the strings of JSON, and what is around them.
  static *cells(line) {
    const places = (found) => [...found].map(({ 0: text, index }) => [index, index + text.length]);
    if (Markup.JSON.test(line)) {
      const strings = [...line.matchAll(Markup.JSON_VALUE)].map(({ 0: all, 2: text, index }) => {
        const end = index + all.length;
        return [end - text.length, end];
      });
      yield* Markup.cut(strings, line, true);
    } else if (Markup.TABLE.test(line)) {
      yield* Markup.cut(places(line.matchAll(Markup.BAR)), line);
    } else if (Markup.QUOTED_CELLS.test(line)) {
      yield* Markup.cut(places(line.matchAll(Markup.QUOTED_CELL)), line);
    } else if (Markup.SEMICOLONS.test(line) && !Markup.SPACED_SEMICOLON.test(line)) {
      yield* Markup.cut(places(line.matchAll(/;/g)), line);
    } else {
      yield* Markup.cut(places(line.matchAll(Markup.BAR_BETWEEN)), line);
    }
  }

  // The parts of a text and whether each is at one of the places; with others, at none.
  static *cut(places, text, others = false) {
    let end = 0;
    for (const [begin, after] of places) {
      if (end < begin) yield [text.slice(end, begin), others];
      if (begin < after) yield [text.slice(begin, after), !others];
      end = after;
    }
    if (end < text.length) yield [text.slice(end), others];
  }

  // The places of the tags that are not around a part of a sentence.
  static cuttingTags(text) {
    const inline = [...text.matchAll(Markup.PAIR)].filter((found) => found.groups.tag);
    const isInline = (at) => inline.some(({ 0: all, index }) => index <= at && at < index + all.length);
    return [...text.matchAll(Markup.TAGS)]
      .filter(({ index }) => !isInline(index))
      .map(({ 0: tag, index }) => [index, index + tag.length]);
  }

  // A text, but pairs of marks around all of it, a sentence or a label apart.
  static *withoutOuterPairs(text) {
    let end = 0;
    for (const found of text.matchAll(Markup.PAIR)) {
      const [opening, inside, closing] = Markup.parts(found.groups);
      const after = text.slice(found.index + found[0].length);
      const isAll = Markup.BEFORE_ALL.test(text.slice(0, found.index)) && Markup.AFTER_ALL.test(after);
      const isLabel = inside.endsWith(":") || after.startsWith(":");
      if (!isAll && !isLabel && !/[.!?…]$/u.test(inside)) continue;
      if (end < found.index) yield [text.slice(end, found.index), false];
      yield [opening, true];
      yield* Markup.withoutOuterPairs(inside);
      yield [closing, true];
      end = found.index + found[0].length;
    }
    if (end < text.length) yield [text.slice(end), false];
  }
}
