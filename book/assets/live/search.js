// From a source to a translation: greedy decoding of transformer/model.py, beam search of
// translator/decoding/search.py, which keep what the page shows: choices, and the beam's tree.

function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

// The most tokens to write, the end included, for a source of so many tokens, its end included.
function lengthLimit(sourceLength, maxRatio) {
  return 10 + Math.floor(maxRatio * sourceLength);
}

// The n largest of an array, as [{id, logP}], the largest first.
function largest(logP, n) {
  const found = [];
  for (let id = 0; id < logP.length; id++) {
    if (found.length === n && logP[id] <= found[n - 1].logP) continue;
    let at = found.length;
    while (at > 0 && found[at - 1].logP < logP[id]) at--;
    found.splice(at, 0, { id, logP: logP[id] });
    if (found.length > n) found.pop();
  }
  return found;
}

// Yield a step for each token: {id, logP, top, self, cross}; the last is the end, if it comes in time.
// prefix: ids that are written first, whatever the model would choose.
function* greedyDecode(model, memory, { prefix, limit, choices }) {
  const cache = model.startCache(memory, limit);
  let id = Tokenizer.BOS;
  for (let t = 0; t < limit && id !== Tokenizer.EOS; t++) {
    const { logits, self, cross } = model.step(id, cache);
    const logP = logSoftmax(logits, Tokenizer.PAD);
    const top = largest(logP, choices);
    id = t < prefix.length ? prefix[t] : top[0].id;
    yield { id, logP: logP[id], top, self, cross };
  }
}

// Keep `size` beginnings at a time. Returns the hypotheses, the best first, and the tree: nodes
// {parent, id, logP, length, fate}, where fate is "kept", "ended" or "pruned".
// prefix: ids that all hypotheses begin with; the tree has nothing pruned among them.
function beamSearch(model, memory, options) {
  const steps = beamSteps(model, memory, options);
  for (;;) {
    const { value, done } = steps.next();
    if (done) return value;
  }
}

// The same, length by length: yields the ids of the best beginning.
function* beamSteps(model, memory, { limit, size, alpha, prefix = [] }) {
  const nodes = [];
  let alive = [{ node: -1, tokens: [], logP: 0, cache: model.startCache(memory, limit) }];
  let ended = [];
  for (let length = 1; length <= limit; length++) {
    const read = alive.map(({ tokens }) => tokens.at(-1) ?? Tokenizer.BOS);
    const steps = model.stepAll(read, alive.map(({ cache }) => cache));
    const candidates = steps.flatMap(({ logits }, parent) => {
      const all = logSoftmax(logits, Tokenizer.PAD);
      const given = prefix[length - 1];
      const best = given === undefined ? largest(all, 2 * size) : [{ id: given, logP: all[given] }];
      return best.map(({ id, logP }) => ({ id, parent, logP: alive[parent].logP + logP }));
    });
    // Of 2 K candidates at most K end, so K go on.
    const best = candidates.sort((a, b) => b.logP - a.logP).slice(0, 2 * size);
    const going = [];
    best.forEach(({ id, parent, logP }, rank) => {
      const isEnd = id === Tokenizer.EOS;
      const from = alive[parent];
      let fate = "pruned";
      if (isEnd && rank < size) fate = "ended"; // an end below the K best is no candidate
      if (!isEnd && going.length < size) fate = "kept";
      nodes.push({ parent: from.node, id, logP, length, fate });
      const node = nodes.length - 1;
      if (fate === "ended") {
        ended.push({ node, tokens: from.tokens, logP, score: logP / lengthPenalty(length, alpha), ended: true });
      } else if (fate === "kept") {
        going.push({ node, tokens: [...from.tokens, id], logP, cache: from.cache });
      }
    });
    if (ended.length) {
      // Log-probabilities only fall, and the penalty is largest at the limit.
      const reachable = going.length ? going[0].logP / lengthPenalty(limit, alpha) : -Infinity;
      if (Math.max(...ended.map((one) => one.score)) >= reachable) break;
    } else if (length === limit) {
      ended = going.map((one) => ({ ...one, score: one.logP / lengthPenalty(length, alpha), ended: false }));
      break;
    }
    const used = new Set();
    for (const one of going) {
      if (used.has(one.cache)) one.cache = Transformer.copyCache(one.cache);
      else used.add(one.cache);
    }
    alive = going;
    yield alive[0].tokens;
  }
  const hypotheses = ended.sort((a, b) => b.score - a.score).slice(0, size);
  return { hypotheses: hypotheses.map(({ cache, ...rest }) => rest), nodes };
}
