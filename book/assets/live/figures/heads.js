// Which head is missed: a map of the head that is picked, and the grade without those switched off.
// data: {names: of the words, weights: [head][query][key], targets: [query]: the words asked for
// first and second, grades: {"1011": share right of first and second questions without head 2, …}}.

liveFigures.heads = (figure) => {
  const { names, weights, targets, grades } = figure.data;
  const heads = weights.map((_, i) => i);
  const called = heads.map((i) => `head ${i + 1}`);
  const questions = ["first question", "second question"];
  const on = heads.map(() => true);
  let shown = 0;

  // The grade now, or were one head switched.
  const grade = (switched) => grades[heads.map((i) => Number(on[i] !== (i === switched))).join("")];
  const without = (gone) => grades[heads.map((i) => Number(i !== gone)).join("")];
  const all = without(null);
  const hundredths = (share) => fixed(Math.round(100 * share) / 100 + 0, 2); // + 0: no minus zero
  const onAsked = (head, question) =>
    weights[head].reduce((sum, row, i) => sum + row[targets[i][question]], 0) / names.length;

  function about(i, j) {
    const asked = targets[i].indexOf(j);
    const weight = weights[shown][i][j];
    const which = asked < 0 ? "" : `, asked for ${["first", "second"][asked]}`;
    return {
      text: asked < 0 ? "" : String(asked + 1),
      label: `query ${names[i]}, key ${names[j]}: weight ${weight.toFixed(2)}${which}`,
      weight,
      marks: asked < 0 ? "" : "is-framed",
    };
  }

  function verdict() {
    const gone = heads.filter((i) => !on[i]);
    if (!gone.length) return "All heads are there. Switch one off.";
    const lost = questions.map((question, q) => `${hundredths(all[q] - grade()[q])} of the ${question}`);
    if (gone.length === heads.length) return `No head is left: guessing. Lost: ${listed(lost)}.`;
    const alone = questions.map((question, q) => hundredths(gone.reduce((sum, i) => sum + all[q] - without(i)[q], 0)));
    const each = gone.length > 1 ? ` When each goes alone, the losses add up to ${listed(alone)}.` : "";
    return `Without ${listed(gone.map((i) => called[i]))}. Lost: ${listed(lost)}.${each}`;
  }

  figure.choice("Show", heads.map((i) => [i, called[i]]), shown, (head) => {
    shown = head;
    grid.update();
  });
  const grid = figure.grid({
    label: "Attention weights of the head shown. 1 and 2: the words that the row asks for.",
    corner: "asks",
    rows: names,
    columns: names,
    about,
  });
  const bar = figure.switches("Heads at work", called, (i) => on[i], (i) => {
    on[i] = !on[i];
    draw();
  });
  const bars = figure.bars("Share of right answers", questions, (q) => ({ value: grade()[q], text: grade()[q].toFixed(3) }));
  const say = figure.line();
  const numbers = figure.numbers("Weight on the words asked for, on average over the rows; answers right now, and if one head is switched");

  function draw() {
    bar.update();
    bars();
    say(verdict());
    const digits = (values) => values.map((value) => value.toFixed(3));
    numbers(
      ["", "state", "weight on first", "weight on second", "first right", "second right"],
      [
        ["now", "", "", "", ...digits(grade())],
        ...heads.map((i) => [called[i], on[i] ? "on" : "off", ...digits([onAsked(i, 0), onAsked(i, 1), ...grade(i)])]),
      ],
    );
  }
  draw();
};
