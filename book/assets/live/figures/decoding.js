// Writing one token after another: the three likeliest, the choice, and the mask's row that grows.
// data: {source, steps: [[{token, logp, next}, three of them], …], others, depth}; next is the number
// of the step that follows, "end", or null where the tree is cut: it has at most so many choices
// other than the likeliest, and so many steps.

liveFigures.decoding = (figure) => {
  const { source, steps, others, depth } = figure.data;
  const path = []; // the choices made: {step, rank}
  const chosen = ({ step, rank }) => steps[step][rank];
  const at = () => (path.length ? chosen(path.at(-1)).next : 0);
  const isOver = () => at() === "end";
  const read = () => ["<bos>", ...path.map((one) => chosen(one).token)].slice(0, path.length + (isOver() ? 0 : 1));
  const places = Array.from({ length: depth }, (_, i) => i);
  const probability = (one) => Math.exp(one.logp);
  const canPick = (rank) => !isOver() && steps[at()][rank].next !== null;
  const sum = (count) => path.slice(0, count).reduce((total, one) => total + chosen(one).logp, 0);

  figure.add(make("p", {}, "German: ", make("span", { lang: "de" }, source)));
  const text = figure.add(make("p", { className: "live-written" }));
  const picks = [0, 1, 2].map((rank) => figure.button("", () => {
    if (!canPick(rank)) return;
    path.push({ step: at(), rank });
    draw();
  }));
  const back = figure.button("Back", () => {
    path.pop();
    draw();
  });
  const grid = figure.grid({
    label: "The causal mask, a row for each token read",
    corner: "reads",
    rows: places.map(() => ""),
    columns: places.map(() => ""),
    row: (i) => ({ name: read()[i] ?? "", marks: i === read().length - 1 ? "is-marked" : "" }),
    column: (j) => read()[j] ?? "",
    about: (i, j) => {
      const tokens = read();
      if (i >= tokens.length) return { label: "not read yet" };
      const may = j <= i;
      return {
        text: may ? "●" : "",
        label: j < tokens.length ? `query ${tokens[i]}, key ${tokens[j]}: ${may ? "may look" : "may not look"}` : "not written yet",
        weight: may ? 0.7 : 0,
        marks: may ? "" : "is-off",
      };
    },
  });
  const say = figure.line();
  const numbers = figure.numbers("Each choice, with its probability, and the sum of the logarithms so far");

  function state() {
    if (isOver()) return `The sentence has ended: log-probability ${fixed(sum(path.length), 2)} in all.`;
    const three = steps[at()].map((one) => `${spoken(one.token)} ${percent(probability(one))}`);
    const cut = [0, 1, 2].some((rank) => !canPick(rank)) ? ` The tree has no more than ${depth} steps, and ${others} choices other than the likeliest.` : "";
    const keys = path.length + 1;
    return `Step ${keys}. The new row sees ${keys} ${keys > 1 ? "keys" : "key"}. Likeliest: ${three.join(", ")}.${cut}`;
  }

  function draw() {
    text.replaceChildren("English: ", ...path.map((one) => make(one.rank ? "mark" : "span", {}, chosen(one).token)));
    picks.forEach((pick, rank) => {
      const one = isOver() ? null : steps[at()][rank];
      pick.textContent = one ? `${spoken(one.token)} ${percent(probability(one))}` : "–";
      pick.setAttribute("aria-disabled", String(!canPick(rank)));
    });
    back.setAttribute("aria-disabled", String(!path.length));
    grid.update();
    say(state());
    numbers(
      ["step", "token", "likeliest", "probability", "sum of logs", "keys"],
      path.map((one, i) => [
        i + 1,
        spoken(chosen(one).token),
        ["1st", "2nd", "3rd"][one.rank],
        probability(chosen(one)).toFixed(3),
        fixed(sum(i + 1), 3),
        i + 1,
      ]),
    );
  }
  draw();
};
