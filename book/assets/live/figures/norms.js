// Which numbers share a mean and a spread: pick one, change it, and see which others it moves.
// data: {sentences: [[token, …], …], x: [token of all sentences][feature], eps}.

liveFigures.norms = (figure) => {
  const { sentences, eps } = figure.data;
  const x = figure.data.x.map((row) => [...row]);
  const tokens = sentences.flat();
  const of = sentences.flatMap((words, b) => words.map(() => b));
  const features = x[0].map((_, f) => `${f + 1}`);
  const together = {
    layer: (i, j, k, l) => i === k,
    batch: (i, j, k, l) => j === l,
    sentence: (i, j, k, l) => of[i] === of[k],
    all: () => true,
  };
  const names = [["layer", "layer norm"], ["batch", "batch norm"], ["sentence", "a whole sentence"], ["all", "all numbers"]];
  const means = { layer: "the features of its own token", batch: "its feature in all tokens of the batch", sentence: "its whole sentence", all: "the whole batch" };
  let norm = "layer";
  let picked = [0, 0];
  const shares = (i, j) => together[norm](i, j, ...picked);

  function normed(i, j) {
    const values = x.flatMap((row, k) => row.filter((_, l) => together[norm](i, j, k, l)));
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    return (x[i][j] - mean) / Math.sqrt(variance + eps);
  }

  figure.choice("Mean and spread of", names, norm, (value) => {
    norm = value;
    draw();
  });
  const grid = figure.grid({
    label: "Normalised numbers. A press picks one; those that share its mean are framed.",
    corner: "token",
    rows: tokens,
    columns: features.map((name) => `feature ${name}`),
    row: (i) => ({ note: i && of[i] === of[i - 1] ? "" : `sentence ${of[i] + 1}` }),
    about: (i, j) => {
      const isPicked = i === picked[0] && j === picked[1];
      const text = fixed(normed(i, j), 2);
      return {
        text,
        label: `${tokens[i]} of sentence ${of[i] + 1}, feature ${features[j]}: ${text}${shares(i, j) ? ", shares the mean" : ""}`,
        weight: isPicked ? 1 : shares(i, j) ? 0.35 : 0,
        marks: shares(i, j) ? "is-framed" : "",
        pressed: isPicked,
      };
    },
    onPress: (i, j) => {
      picked = [i, j];
      value.set(x[i][j]);
      draw();
    },
  });
  const value = figure.slider("Its value before", { min: -4, max: 4, step: 0.5, value: x[0][0] }, (v) => fixed(v, 1), (v) => {
    x[picked[0]][picked[1]] = v;
    draw();
  });
  const say = figure.line();
  const numbers = figure.numbers("Normalised: a row for each token");

  function draw() {
    grid.update();
    const moved = x.flatMap((row, i) => row.map((_, j) => shares(i, j))).filter(Boolean).length;
    const reached = tokens.filter((_, i) => features.some((_, j) => shares(i, j)));
    say(`It shares mean and spread with ${moved - 1} others, ${means[norm]}: it moves numbers of ${reached.length} of ${tokens.length} tokens.`);
    numbers(["token", ...features.map((name) => `feature ${name}`)], x.map((row, i) => [tokens[i], ...row.map((_, j) => fixed(normed(i, j), 3))]));
  }
  draw();
};
