// What is wrong or doubtful about a text, said in one line each, and how much to trust a translation.

// Return {error} for a text that is not translated, else {notes}. known: the training's words, folded.
function checkText(text, tokenizer, known, longest) {
  if (!text) return { error: "Write a German sentence first." };
  if (!/\p{L}/u.test(text)) return { error: "There is nothing to translate: no letters." };
  // Merging a word of many thousand letters takes minutes, so what must be too long is not counted.
  const most = longest * Math.max(...tokenizer.tokens.map((token) => token.length));
  const length = text.length > most ? Infinity : tokenizer.encode(text).length;
  if (length > longest) {
    return {
      error:
        `This has ${length < Infinity ? length : `more than ${longest}`} tokens, and this page takes at most ` +
        `${longest}: training had hardly a longer sentence. Take one sentence, or cut it at a comma.`,
    };
  }
  const notes = [];
  const words = text.match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) || [];
  const found = words.filter((word) => known.has(foldWord(word))).length;
  if (known.size && found < 0.7 * words.length) {
    notes.push(`Only ${found} of ${words.length} words were in the training. Is this German?`);
  }
  const strange = [...new Set(text)].filter((char) => tokenizer.encode(char).length > 1);
  if (strange.length) {
    notes.push(`The vocabulary has no token for ${strange.slice(0, 5).join(" ")}, only for the bytes.`);
  }
  return { notes };
}

// What different spellings of a word share: STRASSE is Straße.
function foldWord(word) {
  return word.toLowerCase().replaceAll("ß", "ss");
}

// The chrF to expect at a mean log-probability of a token: a line through the calibration's points.
function expectedChrf({ logProbability: x, chrf: y }, value) {
  if (value <= x[0]) return y[0];
  for (let i = 1; i < x.length; i++) {
    if (value <= x[i]) return y[i - 1] + ((value - x[i - 1]) / (x[i] - x[i - 1])) * (y[i] - y[i - 1]);
  }
  return y[y.length - 1];
}
