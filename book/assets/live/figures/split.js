// Splitting into heads, in its two steps: which numbers of which word go to which head.
// data: {x: [word][feature], heads: numbers of heads}.

liveFigures.split = (figure) => {
  const { x, heads } = figure.data;
  const flat = x.flat();
  const [T, D] = [x.length, x[0].length];
  let h = heads[1];
  let way = "right";
  const width = () => D / h;

  // The number at place c of word t in head a, as its place in x.
  const source = (a, t, c) => (way === "right" ? t * D + a * width() + c : a * T * width() + t * width() + c);
  function headOf(place) {
    if (way === "right") return Math.floor((place % D) / width());
    return Math.floor(place / (T * width()));
  }

  figure.choice("Heads", heads.map((count) => [count, String(count)]), h, (count) => {
    h = count;
    draw();
  });
  figure.choice("By", [["right", "view and transpose"], ["wrong", "view alone"]], way, (value) => {
    way = value;
    draw();
  });
  const grid = figure.grid({
    label: "The numbers of each word; the small number is the head that gets it",
    corner: "word",
    rows: x.map((_, t) => `word ${t + 1}`),
    columns: x[0].map((_, c) => `${c + 1}`),
    about: (t, c) => {
      const head = headOf(t * D + c);
      return {
        text: `${x[t][c]}${"₁₂₃₄₅₆₇₈"[head]}`,
        label: `word ${t + 1}, feature ${c + 1}: ${x[t][c]}, goes to head ${head + 1}`,
        weight: h > 1 ? head / (h - 1) : 0,
      };
    },
  });
  const say = figure.line();
  const numbers = figure.numbers("What each head gets: a row for each of its words");

  function draw() {
    grid.update();
    const rows = [];
    const strange = new Set();
    for (let a = 0; a < h; a += 1) {
      for (let t = 0; t < T; t += 1) {
        const places = Array.from({ length: width() }, (_, c) => source(a, t, c));
        for (const place of places) if (Math.floor(place / D) !== t) strange.add(t + 1);
        rows.push([`head ${a + 1}, word ${t + 1}`, ...places.map((place) => flat[place])]);
      }
    }
    const words = listed([...strange].sort().map(String));
    say(
      `(${T}, ${D}) becomes (${h}, ${T}, ${width()}). ` +
        (strange.size ? `Word ${words} ${strange.size > 1 ? "get" : "gets"} numbers of another word.` : "Each word's row holds its own numbers."),
    );
    numbers(["", ...Array.from({ length: width() }, (_, c) => String(c + 1))], rows);
  }
  draw();
};
