// A soft look-up on the colour wheel: a query that one turns, and how decisive the softmax is.
// data: {keys: [{name, degrees, rgb}], degrees: of the query, sharpness: factor of the scores}.

liveFigures.wheel = (figure) => {
  const { keys } = figure.data;
  let { degrees, sharpness } = figure.data;
  const SIZE = 200;
  const RADIUS = 64;
  const place = (angle, far = RADIUS) => {
    const turn = (angle * Math.PI) / 180;
    return [SIZE / 2 + far * Math.cos(turn), SIZE / 2 - far * Math.sin(turn)];
  };
  const css = (rgb) => `rgb(${rgb.map(Math.round).join(" ")})`;

  figure.slider("Query, in degrees", { min: 0, max: 355, step: 5, value: degrees }, (value) => `${value}°`, (value) => {
    degrees = value;
    draw();
  });
  const heat = (factor) => `${factor}, temperature ${factor ? Number((1 / factor).toPrecision(2)) : "∞"}`;
  figure.slider("Factor of the scores (1\u00a0/\u00a0temperature)", { min: 0, max: 40, step: 1, value: sharpness }, heat, (value) => {
    sharpness = value;
    draw();
  });
  const svg = figure.drawing("The colour wheel: keys as dots, the query as a hand, the mixture as a square", SIZE, SIZE);
  const circle = figure.shape("circle", { cx: SIZE / 2, cy: SIZE / 2, r: RADIUS, class: "live-outline" });
  const dots = keys.map((key) => {
    const [cx, cy] = place(key.degrees);
    return figure.shape("circle", { cx, cy, r: 9, fill: css(key.rgb), class: "live-edge" });
  });
  const names = keys.map((key) => {
    const [x, y] = place(key.degrees, RADIUS + 24);
    return figure.shape("text", { x, y: y + 4, "text-anchor": "middle" }, key.name);
  });
  const hand = figure.shape("line", { x1: SIZE / 2, y1: SIZE / 2, class: "live-hand" });
  const patch = figure.shape("rect", { x: SIZE / 2 - 16, y: SIZE / 2 - 16, width: 32, height: 32, class: "live-edge" });
  svg.append(circle, hand, ...dots, ...names, patch);
  let weights = [];
  const bars = figure.bars("Weight of each key", keys.map((key) => key.name), (i) => ({ value: weights[i] ?? 0, text: (weights[i] ?? 0).toFixed(2) }));
  const say = figure.line();
  const numbers = figure.numbers("Scores, weights, and the mixture of red, green and blue");

  function draw() {
    const scores = keys.map((key) => Math.cos(((degrees - key.degrees) * Math.PI) / 180));
    weights = softmaxOver(scores.map((score) => sharpness * score));
    const mixed = [0, 1, 2].map((c) => keys.reduce((sum, key, j) => sum + weights[j] * key.rgb[c], 0));
    const [x2, y2] = place(degrees);
    hand.setAttribute("x2", x2);
    hand.setAttribute("y2", y2);
    patch.setAttribute("fill", css(mixed));
    bars();
    const most = weights.indexOf(Math.max(...weights));
    say(`Largest weight: ${keys[most].name}, ${weights[most].toFixed(2)}. The mixture is red ${Math.round(mixed[0])}, green ${Math.round(mixed[1])}, blue ${Math.round(mixed[2])}.`);
    numbers(
      ["key", "score", "weight", "red", "green", "blue"],
      [
        ...keys.map((key, j) => [key.name, fixed(scores[j], 3), weights[j].toFixed(3), ...key.rgb]),
        ["mixture", "", "1.000", ...mixed.map((c) => c.toFixed(1))],
      ],
    );
  }
  draw();
};
