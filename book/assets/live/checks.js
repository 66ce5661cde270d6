// What is doubtful about a text, said in one line each, and how much to trust a translation.

// Notes on a text, and on the sentences that the model read of it. lexicon: or null.
function notesOn(text, sentences, tokenizer, lexicon) {
  const notes = [];
  if (!sentences.length) notes.push("There is nothing to translate: it stays as it is.");
  const words = Lexicon.words(text);
  const found = words.filter((word) => lexicon?.knows(word)).length;
  if (lexicon && sentences.length && found < 0.7 * words.length) {
    notes.push(`Only ${found} of ${words.length} words were in the training. Is this German?`);
  }
  const strange = [...new Set(sentences.join(""))].filter((char) => tokenizer.encode(char).length > 1);
  if (strange.length) {
    notes.push(`The vocabulary has no token for ${strange.slice(0, 5).join(" ")}, only for the bytes.`);
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
