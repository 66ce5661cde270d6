// Two words change places: how far each word's output moves, with positions and without.
// data: {words, vectors: [word][D], positions: [place][D]}. A word attends to all words with its
// input as query, key and value.

liveFigures.swap = (figure) => {
  const { words, vectors, positions } = figure.data;
  const width = vectors[0].length;
  let chosen = [0, 2];
  let added = false;

  const dot = (x, y) => x.reduce((sum, value, d) => sum + value * y[d], 0);
  const length = (x) => Math.sqrt(dot(x, x));
  // order: which word stands at each place. Returns an output for each word.
  function outputs(order) {
    const inputs = order.map((word, place) => vectors[word].map((value, d) => value + (added ? positions[place][d] : 0)));
    const found = [];
    order.forEach((word, place) => {
      const weights = softmaxOver(inputs.map((key) => dot(inputs[place], key) / Math.sqrt(width)));
      found[word] = inputs[0].map((_, d) => weights.reduce((sum, weight, j) => sum + weight * inputs[j][d], 0));
    });
    return found;
  }

  const bar = figure.switches("Change the places of", words, (i) => chosen.includes(i), (i) => {
    // Two at most: the one chosen first makes room.
    chosen = chosen.includes(i) ? chosen.filter((one) => one !== i) : [...chosen, i].slice(-2);
    draw();
  });
  bar.bar.classList.add("is-choice"); // a word that is not chosen is not switched off
  figure.choice("Positions", [[false, "left out"], [true, "added"]], added, (value) => {
    added = value;
    draw();
  });
  let moved = words.map(() => 0);
  const bars = figure.bars("How far each word's output moves, as a share of its length", words, (i) => ({ value: Math.min(1, moved[i]), text: moved[i].toFixed(2) }));
  const say = figure.line();
  const numbers = figure.numbers("Places, and the lengths of each word's output and of its change");

  function draw() {
    const before = words.map((_, i) => i);
    const after = [...before];
    if (chosen.length === 2) [after[chosen[0]], after[chosen[1]]] = [chosen[1], chosen[0]];
    const [old, now] = [outputs(before), outputs(after)];
    const change = words.map((_, i) => length(now[i].map((value, d) => value - old[i][d])));
    moved = change.map((value, i) => value / length(old[i]));
    bar.update();
    bars();
    const differ = words.filter((_, i) => change[i] > 1e-6);
    const sentence = after.map((i) => words[i]).join(" ");
    const what = differ.length ? `another output for ${listed(differ)}` : "the same output for every word";
    say(chosen.length === 2 ? `“${sentence}”: ${what}.` : "Choose two words.");
    numbers(
      ["word", "place", "place now", "length of its output", "length of the change", "share"],
      words.map((word, i) => [word, i, after.indexOf(i), ...[length(old[i]), change[i], moved[i]].map((value) => value.toFixed(3))]),
    );
  }
  draw();
};
