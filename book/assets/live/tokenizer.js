// Text to token ids and back: translator/data/cleaning.py (normalise) and tokenizer.py in JavaScript.
// tests/site/test_live_maths.py compares them with Python.

// A regular expression in which \w, \d, \s, \S and \b mean what they do in Python: letters of every
// script, and white space as Unicode has it.
function pattern(source, flags = "gu") {
  const word = "\\p{L}\\p{N}_";
  const space = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const meanings = { "\\w": word, "\\d": "\\p{Nd}", "\\s": space };
  let inClass = false;
  const translated = source.replace(/\\.|[[\]]/gs, (found) => {
    if (found === "[" || found === "]") inClass = found === "[";
    if (found === "\\S") return `[^${space}]`;
    if (found === "\\b") return `(?:(?<=[${word}])(?![${word}])|(?<![${word}])(?=[${word}]))`;
    if (!meanings[found]) return found;
    return inClass ? meanings[found] : `[${meanings[found]}]`;
  });
  return new RegExp(translated, flags);
}

// Without the white space at both ends.
function strip(text) {
  return text.replace(pattern(String.raw`^\s+|\s+$`), "");
}

// One line in Unicode's form NFC, with single spaces and nothing invisible.
function normalise(text) {
  const space = pattern(String.raw`\s+`);
  return text
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd") // half a pair
    .replace(/[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]/g, "") // control characters
    .replace(/[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g, "") // invisible
    .normalize("NFC")
    .replace(space, " ")
    .replace(/^ | $/g, "");
}

// Byte-level BPE. tokens: by id, in the byte alphabet. merges: [left, right, merged] ids, by rank.
class Tokenizer {
  static PAD = 0;
  static BOS = 1;
  static EOS = 2;
  static SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"];
  // Words, numbers and marks, each with the space before it (Radford et al., 2019).
  static PIECE = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

  constructor(tokens, merges) {
    this.tokens = tokens;
    this.idOf = new Map(tokens.map((token, id) => [token, id]));
    this.rankOf = new Map(merges.map(([left, right], rank) => [left * tokens.length + right, rank]));
    this.merged = merges.map((merge) => merge[2]);
    this.charOf = Tokenizer.byteAlphabet();
    this.byteOf = new Map(this.charOf.map((char, byte) => [char, byte]));
  }

  // Printable bytes stand for themselves, the others for characters from U+0100 on, in order.
  static byteAlphabet() {
    const printable = (b) => (b > 0x20 && b < 0x7f) || (b > 0xa0 && b < 0xad) || b > 0xad;
    let others = 0;
    return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : 256 + others++));
  }

  encode(text) {
    const ids = [];
    for (const [piece] of text.matchAll(Tokenizer.PIECE)) {
      const bytes = new TextEncoder().encode(piece);
      ids.push(...this.merge(Array.from(bytes, (byte) => this.idOf.get(this.charOf[byte]))));
    }
    return ids;
  }

  // Join the neighbours whose merge was learned first, again and again.
  merge(ids) {
    for (;;) {
      let best = Infinity;
      let at = -1;
      for (let i = 0; i + 1 < ids.length; i++) {
        const rank = this.rankOf.get(ids[i] * this.tokens.length + ids[i + 1]);
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return ids;
      ids.splice(at, 2, this.merged[best]);
    }
  }

  bytes(ids) {
    const ordinary = ids.filter((id) => id >= Tokenizer.SPECIALS.length);
    return Uint8Array.from(ordinary.flatMap((id) => [...this.tokens[id]].map((char) => this.byteOf.get(char))));
  }

  // Bytes that are no UTF-8 become U+FFFD.
  decode(ids) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes(ids));
  }

  // One token as readable text; bytes that are only a part of a character as in <0xC3>.
  readable(id) {
    if (id < Tokenizer.SPECIALS.length) return Tokenizer.SPECIALS[id];
    const bytes = this.bytes([id]);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return Array.from(bytes, (b) => `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
    }
  }
}
