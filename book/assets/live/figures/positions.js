// The clocks of a sinusoidal encoding: a hand for a position, and one for a position δ further.
// data: {frequencies: of each pair of features, in radians a position}.

liveFigures.positions = (figure) => {
  const { frequencies } = figure.data;
  let p = 0;
  let delta = 3;
  const R = 34;
  const WIDE = 90;
  const period = (w) => (2 * Math.PI) / w;

  figure.slider("Position p", { min: 0, max: 100, step: 1, value: p }, String, (value) => {
    p = value;
    draw();
  });
  figure.slider("Step δ", { min: 0, max: 40, step: 1, value: delta }, String, (value) => {
    delta = value;
    draw();
  });
  const svg = figure.drawing("A clock for each pair of features, with a hand for p and a dashed one for p + δ", WIDE * frequencies.length, 118);
  const hands = frequencies.map((w, m) => {
    const cx = WIDE * (m + 0.5);
    const dial = figure.shape("circle", { cx, cy: 48, r: R, class: "live-outline" });
    const pair = ["live-hand", "live-hand is-second"].map((kind) => figure.shape("line", { x1: cx, y1: 48, class: kind }));
    const name = figure.shape("text", { x: cx, y: 110, "text-anchor": "middle" }, `every ${period(w).toFixed(w < 0.1 ? 0 : 1)}`);
    svg.append(dial, ...pair, name);
    return pair;
  });
  const say = figure.line();
  const numbers = figure.numbers("Sine and cosine of both hands, and the product of the two pairs");

  function draw() {
    frequencies.forEach((w, m) => {
      [p, p + delta].forEach((place, i) => {
        // A sine is across, a cosine up: the hand starts at the top and turns right.
        hands[m][i].setAttribute("x2", WIDE * (m + 0.5) + R * Math.sin(w * place));
        hands[m][i].setAttribute("y2", 48 - R * Math.cos(w * place));
      });
    });
    const rows = frequencies.map((w) => {
      const four = [Math.sin(w * p), Math.cos(w * p), Math.sin(w * (p + delta)), Math.cos(w * (p + delta))];
      return [...four, four[0] * four[2] + four[1] * four[3]];
    });
    const total = rows.reduce((sum, row) => sum + row[4], 0);
    say(`Positions ${p} and ${p + delta}: product ${fixed(total, 3)}.`);
    numbers(
      ["pair", "a turn takes", "sin ωp", "cos ωp", "sin ω(p + δ)", "cos ω(p + δ)", "product"],
      [
        ...rows.map((row, m) => [m, period(frequencies[m]).toFixed(1), ...row.map((value) => fixed(value, 3))]),
        ["all", "", "", "", "", "", fixed(total, 3)],
      ],
    );
  }
  draw();
};
