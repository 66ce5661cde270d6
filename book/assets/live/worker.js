// The model works in a worker, so that the page stays awake. From the disk a browser starts no worker
// from a file: the source of the functions below goes into a Blob.

function startWorker() {
  const parts = [
    ...[pattern, strip, normalise, Tokenizer, readWeights, linear, layerNorm, add, logSoftmax, Transformer],
    ...[lengthPenalty, lengthLimit, largest, greedyDecode, beamSearch, beamSteps],
    ...[Lexicon, Units, Postal, Times, Titles, Letters, Numbers, Markup, Completeness, Sentences, Copying, Pieces, LineTranslator],
    ...[notesOn, expectedChrf, serve],
  ];
  const source = `${parts.map(String).join("\n")}\nserve();`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return new Worker(address);
}

// Runs in the worker: answers "start", "translate" and "beam". An answer has the number of its
// question; a newer question stops what is made for an older one.
function serve() {
  let manifest, tokenizer, model, lexicon, translator;
  let latest = 0;
  let last = {}; // the question whose translation is kept, and that

  function start({ words, buffer, ...rest }) {
    manifest = rest.manifest;
    tokenizer = new Tokenizer(words.tokens, words.merges);
    lexicon = words.known && new Lexicon(words.known, words.names, words.firstNames, words.phrases);
    model = new Transformer(manifest.model, readWeights(manifest.tensors, buffer));
    translator = new LineTranslator(model, tokenizer, lexicon, manifest);
    postMessage({ type: "ready" });
  }

  // Let a newer question in.
  const pause = () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    });

  // What a generator returns in the end; null where a newer question came. say(value): what it yields.
  async function run(steps, number, say = () => {}) {
    for (;;) {
      const { value, done } = steps.next();
      if (done) return value;
      say(value);
      await pause();
      if (number !== latest) return null;
    }
  }

  // The translation of a text, with some heads off.
  async function translated({ number, text, off }) {
    model.off = new Set(off);
    const key = JSON.stringify([text, off]);
    if (last.key === key) return last.translation;
    const say = (draft) => draft !== null && postMessage({ type: "draft", number, text: draft });
    const translation = await run(translator.translateText(text), number, say);
    if (translation) last = { key, translation };
    return translation;
  }

  const isRead = (piece) => piece.found.length > 0;

  // Translate, then show how the model wrote sentence number `at` of those that it read.
  async function translate(question) {
    const { number, text, at, prefix } = question;
    if (!strip(normalise(text))) {
      postMessage({ type: "refused", number, error: "Write a German sentence first." });
      return;
    }
    let translation = await translated(question);
    if (!translation) return;
    if (prefix.length) {
      const piece = translation.pieces.filter(isRead)[at];
      translation = await run(translator.goOn(translation, piece, prefix), number);
      if (!translation) return;
    }
    const pieces = translation.pieces.filter(isRead);
    const sentences = pieces.map((piece) => piece.source);
    const read = pieces.map((piece) => piece.found[0].read);
    const notes = [...notesOn(text, read, tokenizer, lexicon), ...translation.warnings];
    const said = { number, text: translation.text, notes, sentences };
    if (!pieces.length) {
      postMessage({ type: "source", ...said, tokens: [], weights: [], read: "", standIns: [] });
      postMessage({ type: "done", ...said, ended: true, chrf: null, perToken: null });
      return;
    }
    const { hypothesis, spans, chosen } = pieces[at].found[0];
    const ids = [...tokenizer.encode(read[at]), Tokenizer.EOS];
    const { memory, weights } = model.encode(ids);
    const tokens = ids.map((id) => tokenizer.readable(id));
    const standIns = spans.map((span, i) => [chosen[i], span.text]);
    postMessage({ type: "source", ...said, tokens, weights, read: read[at], standIns });
    const written = [...hypothesis.tokens, ...(hypothesis.ended ? [Tokenizer.EOS] : [])];
    const steps = greedyDecode(model, memory, { prefix: written, limit: written.length, choices: 5 });
    const began = performance.now();
    const isDone = await run(steps, number, (step) => {
      const top = step.top.map((one) => ({ ...one, text: tokenizer.readable(one.id) }));
      postMessage({ type: "token", number, step: { ...step, top, text: tokenizer.readable(step.id) } });
    });
    if (isDone === null) return;
    const { calibration } = manifest;
    postMessage({
      type: "done",
      number,
      text: translation.text,
      ended: hypothesis.ended,
      chrf: calibration ? expectedChrf(calibration, translation.total / translation.length) : null,
      perToken: (performance.now() - began) / written.length,
    });
  }

  // Of searches that wait for one to end, only the last is made.
  async function beam(question) {
    const { at, size, alpha, number } = question;
    await pause();
    if (number !== latest) return;
    const translation = await translated(question);
    if (!translation) return;
    const [{ read }] = translation.pieces.filter(isRead)[at].found;
    const ids = [...tokenizer.encode(read), Tokenizer.EOS];
    const { memory } = model.encode(ids);
    const limit = lengthLimit(ids.length, manifest.maxRatio);
    const found = await run(beamSteps(model, memory, { limit, size, alpha }), number);
    if (!found) return;
    const hypotheses = found.hypotheses.map((one) => ({ ...one, text: tokenizer.decode(one.tokens).trim() }));
    const nodes = found.nodes.map((node) => ({ ...node, text: tokenizer.readable(node.id) }));
    postMessage({ type: "tree", number, hypotheses, nodes, alpha });
  }

  onmessage = async ({ data }) => {
    try {
      if (data.type === "start") return start(data);
      latest = data.number;
      await (data.type === "beam" ? beam(data) : translate(data));
    } catch (error) {
      postMessage({ type: "failed", number: data.number, error: String(error) });
    }
  };
}
