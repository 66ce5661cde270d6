// Attention weights beside the alignment that the grammar knows: lines from a threshold on.
// data: {pairs: [{german, english, weights: [English word][German word], gold: [[German, English]]}]}.

liveFigures.alignment = (figure) => {
  const { pairs } = figure.data;
  let pair = pairs[0];
  let least = 0.5;
  const LINE = 22;
  const WIDE = 300;
  const rowsOf = () => Math.max(pair.german.length, pair.english.length);
  const isGold = (j, i) => pair.gold.some(([a, b]) => a === j && b === i);
  const isDrawn = (j, i) => pair.weights[i][j] >= least;

  figure.choice("Sentence", pairs.map((one, i) => [i, `${one.german.slice(0, 2).join(" ")} …`]), 0, (i) => {
    pair = pairs[i];
    draw();
  });
  figure.slider("Draw a line from a weight of", { min: 0.05, max: 0.95, step: 0.05, value: least }, (value) => value.toFixed(2), (value) => {
    least = value;
    draw();
  });
  const most = Math.max(...pairs.map((one) => Math.max(one.german.length, one.english.length)));
  const svg = figure.drawing("English words, left, and German ones, right. Blue: a line of attention that the alignment has; orange and dashed: one that it lacks; grey and dotted: a partner without a line", WIDE, LINE * (most + 0.5));
  const say = figure.line();
  const numbers = figure.numbers("Lines of each English word, and those that the alignment has");

  function draw() {
    const y = (k, count) => LINE * (k + 0.9 + (rowsOf() - count) / 2);
    const at = [(j) => y(j, pair.german.length), (i) => y(i, pair.english.length)];
    const shapes = [];
    const rows = pair.english.map((word, i) => {
      const weights = pair.weights[i];
      let [drawn, right, partners] = [0, 0, 0];
      pair.german.forEach((_, j) => {
        const [line, gold] = [isDrawn(j, i), isGold(j, i)];
        drawn += line;
        partners += gold;
        right += line && gold;
        if (!line && !gold) return;
        const kind = line ? (gold ? "live-right" : "live-wrong") : "live-missed";
        shapes.push(figure.shape("line", { x1: 112, y1: at[1](i) - 4, x2: 188, y2: at[0](j) - 4, class: kind }));
      });
      const looked = Math.exp(-weights.reduce((sum, w) => sum + (w ? w * Math.log(w) : 0), 0));
      return [word, drawn, right, partners, Math.max(...weights).toFixed(3), looked.toFixed(3)];
    });
    const words = [
      ...pair.english.map((word, i) => figure.shape("text", { x: 106, y: at[1](i), "text-anchor": "end" }, word)),
      ...pair.german.map((word, j) => figure.shape("text", { x: 194, y: at[0](j), lang: "de" }, word)),
    ];
    svg.replaceChildren(...shapes, ...words);
    const [drawn, right, partners] = [1, 2, 3].map((k) => rows.reduce((sum, row) => sum + row[k], 0));
    say(`${drawn} lines, ${right} of them in the alignment, which has ${partners}.`);
    numbers(
      ["English word", "lines", "right", "partners", "largest weight", "words looked at"],
      [...rows, ["all", drawn, right, partners, "", ""]],
    );
  }
  draw();
};
