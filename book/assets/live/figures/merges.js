// Byte-pair encoding of one's own word: which merges it goes through, when so many are known.
// data: {alphabet: the sign for each of 256 bytes, merges: [[left, right], …], word}.

liveFigures.merges = (figure) => {
  const { alphabet, merges } = figure.data;
  const rank = new Map(merges.map((pair, i) => [pair.join(" "), i]));
  const byte = new Map(alphabet.map((sign, i) => [sign, i]));
  let { word } = figure.data;
  let known = merges.length;

  // What the bytes of a piece spell; a part of a character is shown as its bytes.
  function spelt(piece) {
    const bytes = Uint8Array.from([...piece], (sign) => byte.get(sign));
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll(" ", "·");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return [...bytes].map((b) => `⟨${b.toString(16).toUpperCase().padStart(2, "0")}⟩`).join("");
    }
  }

  // The word's pieces after each merge: [{merge, pieces}, …]; merge is its place in the list.
  function history() {
    const first = word.normalize("NFC").trim().split(/\s+/)[0];
    let pieces = [...new TextEncoder().encode(` ${first}`)].map((b) => alphabet[b]);
    const steps = [{ merge: null, pieces }];
    for (;;) {
      const found = pieces.slice(1).map((piece, i) => rank.get(`${pieces[i]} ${piece}`) ?? Infinity);
      const merge = Math.min(...found);
      if (!(merge < known)) return steps;
      const [left, right] = merges[merge];
      const next = [];
      for (let i = 0; i < pieces.length; i += 1) {
        const both = pieces[i] === left && pieces[i + 1] === right;
        next.push(both ? left + right : pieces[i]);
        i += both;
      }
      pieces = next;
      steps.push({ merge, pieces });
    }
  }

  const input = figure.text("A word, of letters", word, (text) => {
    word = text;
    draw();
  });
  input.maxLength = 40;
  figure.slider("Merges known", { min: 0, max: merges.length, step: 50, value: known }, String, (value) => {
    known = value;
    draw();
  });
  const chips = figure.add(make("p", { className: "live-chips" }));
  const say = figure.line();
  const numbers = figure.numbers("Each merge that the word goes through");

  function draw() {
    const steps = history();
    const last = steps.at(-1).pieces;
    chips.replaceChildren(...last.map((piece) => make("span", {}, spelt(piece))));
    say(`${steps[0].pieces.length} bytes, ${steps.length - 1} merges, ${last.length} ${last.length > 1 ? "tokens" : "token"}.`);
    numbers(
      ["step", "merge", "pair", "pieces", "tokens"],
      steps.map(({ merge, pieces }, i) => [
        i,
        merge === null ? "" : merge + 1,
        merge === null ? "" : merges[merge].map(spelt).join(" + "),
        pieces.map(spelt).join(" "),
        pieces.length,
      ]),
    );
  }
  draw();
};
