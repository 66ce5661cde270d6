// Cutting sentences into batches: what is padding, in which order, by which rule.
// data: {lengths: of the sentences, in the order in which they were drawn}.

liveFigures.batches = (figure) => {
  const { lengths } = figure.data;
  const longest = Math.max(...lengths);
  let order = "drawn";
  let rule = "number";
  let count = 8;
  let budget = 8 * longest;

  function batches() {
    const rows = order === "drawn" ? [...lengths] : [...lengths].sort((a, b) => a - b);
    const made = [];
    for (const length of rows) {
      const last = made.at(-1);
      const fits = last && (rule === "number" ? last.length < count : (last.length + 1) * Math.max(length, ...last) <= budget);
      if (fits) last.push(length);
      else made.push([length]);
    }
    return made;
  }

  figure.choice("Order", [["drawn", "as drawn"], ["sorted", "by length"]], order, (value) => {
    order = value;
    draw();
  });
  figure.choice("A batch has", [["number", "a number of sentences"], ["budget", "a budget of cells"]], rule, (value) => {
    rule = value;
    draw();
  });
  const sliders = {
    number: figure.slider("Sentences in a batch", { min: 1, max: 12, step: 1, value: count }, String, (value) => {
      count = value;
      draw();
    }),
    budget: figure.slider("Cells in a batch, at most", { min: longest, max: 12 * longest, step: longest, value: budget }, String, (value) => {
      budget = value;
      draw();
    }),
  };
  const view = figure.add(make("div", { className: "live-batches", role: "img", "aria-label": "The batches: a line for each sentence, hatched where it is padded" }));
  const say = figure.line();
  const numbers = figure.numbers("The batches");

  function draw() {
    for (const [name, { input }] of Object.entries(sliders)) input.closest("label").hidden = name !== rule;
    const made = batches();
    view.replaceChildren(...made.map((rows) => {
      const width = Math.max(...rows);
      return make("div", { style: `--cells: ${width}` }, ...rows.map((length) => make("i", { style: `--real: ${length / width}` })));
    }));
    const about = made.map((rows) => {
      const real = rows.reduce((a, b) => a + b, 0);
      const cells = rows.length * Math.max(...rows);
      return [rows.length, Math.max(...rows), cells, real, cells - real];
    });
    const [sentences, , cells, real, padding] = [0, 1, 2, 3, 4].map((i) => about.reduce((sum, row) => sum + row[i], 0));
    const largest = Math.max(...about.map((row) => row[2]));
    say(`${made.length} batches, ${(100 * (padding / cells)).toFixed(1)} % padding; the largest has ${largest} cells.`);
    numbers(
      ["batch", "sentences", "width", "cells", "tokens", "padding"],
      [...about.map((row, i) => [i + 1, ...row]), ["all", sentences, "", cells, real, padding]],
    );
  }
  draw();
};
