// What the width of the keys does to a softmax, with the division by its root and without.
// data: {widths: d_k, products: [width][key]: one query times each key, entries of variance 1}.

liveFigures.scale = (figure) => {
  const { widths, products } = figure.data;
  let at = 0;
  let divided = "yes";
  let temperature = 1;
  const names = products[0].map((_, j) => `key ${j + 1}`);
  let weights = names.map(() => 0);

  figure.slider("Width of the keys", { min: 0, max: widths.length - 1, step: 1, value: at }, (value) => String(widths[value]), (value) => {
    at = value;
    draw();
  });
  figure.slider("Temperature", { min: 0.5, max: 8, step: 0.5, value: temperature }, (value) => value.toFixed(1), (value) => {
    temperature = value;
    draw();
  });
  figure.choice("Divide by the root of the width", [["yes", "yes"], ["no", "no"]], divided, (value) => {
    divided = value;
    draw();
  });
  const bars = figure.bars("Weight of each key", names, (j) => ({ value: weights[j], text: weights[j].toFixed(2) }));
  const say = figure.line();
  const numbers = figure.numbers("Products, scores and weights of the keys; their entropy, as a share of its maximum");

  function draw() {
    const divisor = temperature * (divided === "yes" ? Math.sqrt(widths[at]) : 1);
    const scores = products[at].map((product) => product / divisor);
    weights = softmaxOver(scores);
    const entropy = weights.reduce((sum, w) => sum - (w ? w * Math.log(w) : 0), 0) / Math.log(weights.length);
    const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
    const spread = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (scores.length - 1));
    bars();
    say(`The scores have a standard deviation of ${spread.toFixed(1)}; the largest weight is ${Math.max(...weights).toFixed(2)}, the entropy ${entropy.toFixed(2)} of its maximum.`);
    numbers(
      ["key", "product", "score", "weight"],
      [
        ...names.map((name, j) => [name, fixed(products[at][j], 3), fixed(scores[j], 3), weights[j].toFixed(3)]),
        ["spread", "", spread.toFixed(3), ""],
        ["entropy", "", "", entropy.toFixed(3)],
      ],
    );
  }
  draw();
};
