// Splitting into heads step by step: which numbers of which word go to which head.
// data: {x: [word][feature], heads: numbers of heads}.

liveFigures.split = (figure) => {
  const { x, heads } = figure.data;
  const flat = x.flat();
  const [T, D] = [x.length, x[0].length];
  let h = heads[1];
  let way = "right";
  let after = "transpose";
  const width = () => D / h;
  const count = (n) => Array.from({ length: n }, (_, i) => i);

  // The number at place c of word t in head a, as its place in x.
  const source = (a, t, c) => (way === "right" ? t * D + a * width() + c : a * T * width() + t * width() + c);
  function headOf(place) {
    if (way === "right") return Math.floor((place % D) / width());
    return Math.floor(place / (T * width()));
  }

  figure.choice("Heads", heads.map((n) => [n, String(n)]), h, (n) => {
    h = n;
    draw();
  });
  figure.choice("By", [["right", "view and transpose"], ["wrong", "view alone"]], way, (value) => {
    way = value;
    draw();
  });
  figure.choice("After", [["nothing", "nothing"], ["view", "view"], ["transpose", "transpose"]], after, (value) => {
    after = value;
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
  const drawn = figure.add(make("div", { "aria-hidden": "true" })); // the table says the same
  const numbers = figure.numbers("The numbers after this step: a row for each box");

  // After this step: [name, boxes] for each index of the first axis; a box has the last axis.
  function rows() {
    const box = (a, t) => count(width()).map((c) => source(a, t, c));
    const word = (t) => `word ${t + 1}`;
    const head = (a) => `head ${a + 1}`;
    if (after === "nothing") return count(T).map((t) => [word(t), [["", count(D).map((c) => t * D + c)]]]);
    if (way === "right" && after === "view") return count(T).map((t) => [word(t), count(h).map((a) => [head(a), box(a, t)])]);
    return count(h).map((a) => [head(a), count(T).map((t) => [word(t), box(a, t)])]);
  }

  function state() {
    if (after === "nothing") return `(${T}, ${D}): a row of ${D} numbers for each word.`;
    const [cut, split] = [`(${T}, ${h}, ${width()})`, `(${h}, ${T}, ${width()})`];
    if (way === "right" && after === "view") return `(${T}, ${D}) becomes ${cut}: each word is cut, a part for each head.`;
    if (way === "right") return `${cut} becomes ${split}: each head has its part of every word. Each word's row holds its own numbers.`;
    const isStrange = (t) => count(h).some((a) => count(width()).some((c) => Math.floor(source(a, t, c) / D) !== t));
    const strange = count(T).filter(isStrange).map((t) => String(t + 1));
    const words = `${strange.length > 1 ? "Words" : "Word"} ${listed(strange)} ${strange.length > 1 ? "get" : "gets"}`;
    const whose = strange.length ? `${words} numbers of another word.` : "Each word's row holds its own numbers.";
    return `(${T}, ${D}) becomes ${split}. ${whose}${after === "transpose" ? " No transpose follows." : ""}`;
  }

  function draw() {
    grid.update();
    say(state());
    const valued = rows().map(([name, boxes]) => [name, boxes.map(([inner, places]) => [inner, places.map((place) => flat[place])])]);
    const chips = (boxes) => boxes.map(([, values]) => make("span", {}, values.join(" ")));
    const parts = valued.map(([name, boxes]) => make("div", { className: "live-part" }, name, make("div", { className: "live-chips" }, ...chips(boxes))));
    drawn.replaceChildren(...parts);
    const lines = valued.flatMap(([name, boxes]) => boxes.map(([inner, values]) => [inner ? `${name}, ${inner}` : name, ...values]));
    numbers(["", ...count(lines[0].length - 1).map((c) => String(c + 1))], lines);
  }
  draw();
};
