// Who may look at whom: a field for each query and key, which a press allows or forbids.
// data: {tokens, real: not padding, scores: of each query (row) for each key}.

liveFigures.masks = (figure) => {
  const { tokens, real, scores } = figure.data;
  const places = tokens.map((_, i) => i);
  const presets = {
    none: () => true,
    causal: (i, j) => j <= i,
    padding: (i, j) => real[j],
    both: (i, j) => j <= i && real[j],
  };
  const names = [["none", "none"], ["causal", "causal"], ["padding", "padding"], ["both", "causal & padding"]];
  let allowed = table(presets.both);

  function table(rule) {
    return places.map((i) => places.map((j) => rule(i, j)));
  }
  // Two tokens of one name, such as padding, are told apart by their places.
  const name = (i) => (tokens.filter((token) => token === tokens[i]).length > 1 ? `${tokens[i]} ${i + 1}` : tokens[i]);
  const weights = () => scores.map((row, i) => softmaxOver(row, allowed[i]));
  const later = (i) => places.filter((j) => j > i && allowed[i][j]);
  const isEmpty = (i) => !allowed[i].some(Boolean);
  const onPadding = (i) => places.some((j) => allowed[i][j] && !real[j]);

  function about(i, j) {
    const text = now[i][j].toFixed(2);
    const where = `query ${name(i)}, key ${name(j)}`;
    const leaks = j > i && allowed[i][j];
    return {
      text: allowed[i][j] ? text : "–",
      label: `${where}: ${allowed[i][j] ? `may look, weight ${text}` : "may not look"}${leaks ? ", comes later" : ""}`,
      weight: now[i][j],
      pressed: allowed[i][j],
      marks: [leaks && "is-marked", !allowed[i][j] && "is-off"].filter(Boolean).join(" "),
    };
  }

  function state(i) {
    if (isEmpty(i)) return "empty";
    return later(i).length ? "leaks" : "";
  }

  // What is wrong, in words.
  function verdict() {
    const rows = (chosen) => `${chosen.length > 1 ? "Rows" : "Row"} ${listed(chosen.map(name))}`;
    const leaking = places.filter((i) => later(i).length);
    const empty = places.filter(isEmpty);
    const padded = places.filter((i) => real[i] && onPadding(i));
    const lines = [];
    if (leaking.length === 1) {
      const [i] = leaking;
      lines.push(`${rows(leaking)} leaks: it sees ${listed(later(i).map(name))}, which it is to predict, or which comes after that.`);
    } else if (leaking.length) lines.push(`${rows(leaking)} leak: they see what comes later.`);
    if (empty.length) {
      const many = empty.length > 1;
      lines.push(
        `${rows(empty)} ${many ? "are" : "is"} empty: no key is left. A softmax over nothing is 0/0, NaN; ` +
          `the library gives ${many ? "such rows" : "it"} weights of zero instead.`,
      );
    }
    if (padded.length) lines.push(`${rows(padded)} ${padded.length > 1 ? "spend" : "spends"} weight on padding.`);
    return lines.join(" ") || "No row leaks, no row is empty, and no word looks at padding.";
  }

  let now = weights();
  const preset = figure.choice("Mask", names, "both", (value) => {
    allowed = table(presets[value]);
    draw();
  });
  const grid = figure.grid({
    label: "Attention weights. A press allows or forbids a look.",
    corner: "query",
    rows: tokens,
    columns: tokens,
    about,
    row: (i) => ({ note: state(i), marks: state(i) && "is-marked" }),
    onPress: (i, j) => {
      allowed[i][j] = !allowed[i][j];
      draw();
    },
  });
  const say = figure.line();
  const numbers = figure.numbers("Weights: a row for each query, a column for each key");

  function draw() {
    now = weights();
    const same = names.find(([value]) => places.every((i) => places.every((j) => allowed[i][j] === presets[value](i, j))));
    preset.set(same ? same[0] : null);
    grid.update();
    say(verdict());
    const sum = (row) => row.reduce((a, b) => a + b, 0);
    numbers(
      ["query", ...tokens, "sum", "row"],
      now.map((row, i) => [tokens[i], ...row.map((weight) => weight.toFixed(3)), sum(row).toFixed(3), state(i) || "fine"]),
    );
  }
  draw();
};
