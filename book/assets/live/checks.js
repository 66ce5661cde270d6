// What is doubtful about a text, said in one line each, and how much to trust a translation.

// Notes on a text, and on the sentences that the model read of it. lexicon: or null.
function notesOn(text, sentences, tokenizer, lexicon) {
  const notes = [];
  if (!sentences.length) notes.push("There is nothing to translate: it stays as it is.");
  const words = Lexicon.words(normalise(text)); // combining marks cut words, and soft hyphens
  const found = words.filter((word) => lexicon?.knows(word)).length;
  if (lexicon && sentences.length && found < 0.7 * words.length) {
    notes.push(`Only ${found} of ${words.length} words were in the training. Is this German?`);
  }
  // Runs of tokens that are parts of characters: Ä alone is two of them, in a known word it's none.
  const runs = [[]];
  for (const id of sentences.flatMap((one) => [...tokenizer.encode(one), Tokenizer.EOS])) {
    if (tokenizer.readable(id).startsWith("<0x")) runs.at(-1).push(id);
    else runs.push([]);
  }
  const strange = new Set(runs.flatMap((ids) => [...strip(tokenizer.decode(ids))]));
  if (strange.size) {
    notes.push(`The vocabulary has no token for ${[...strange].slice(0, 5).join(" ")}, only for the bytes.`);
  }
  return notes;
}

// The chrF to expect at a mean log-probability of a token: a line through the calibration's points.
function expectedChrf({ logProbability: x, chrf: y }, value) {
  if (value <= x[0]) return y[0];
  for (let i = 1; i < x.length; i++) {
    if (value <= x[i]) return y[i - 1] + ((value - x[i - 1]) / (x[i] - x[i - 1])) * (y[i] - y[i - 1]);
  }
  return y[y.length - 1];
}
