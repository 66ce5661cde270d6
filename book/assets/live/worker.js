// The model works in a worker, so that the page stays awake. From the disk a browser starts no worker
// from a file: the source of the functions below goes into a Blob.

function startWorker() {
  const parts = [
    ...[normalise, Tokenizer, readWeights, linear, layerNorm, add, logSoftmax, Transformer],
    ...[lengthPenalty, lengthLimit, largest, greedyDecode, beamSearch, checkText, foldWord, expectedChrf],
    serve,
  ];
  const source = `${parts.map(String).join("\n")}\nserve();`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return new Worker(address);
}

// Runs in the worker: answers "start", "translate" and "beam". An answer has the number of its
// question; a question makes a translation before it stop, and a search that has not begun.
function serve() {
  let manifest, tokenizer, model, known;
  let latest = 0;

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

  function start({ words, buffer, ...rest }) {
    manifest = rest.manifest;
    tokenizer = new Tokenizer(words.tokens, words.merges);
    known = new Set((words.known || []).map(foldWord));
    model = new Transformer(manifest.model, readWeights(manifest.tensors, buffer));
    postMessage({ type: "ready" });
  }

  // Check and read a source; null where it is refused.
  function read({ number, text, off }) {
    const clean = normalise(text);
    const { error, notes } = checkText(clean, tokenizer, known, manifest.longest);
    if (error) {
      postMessage({ type: "refused", number, error });
      return null;
    }
    const ids = [...tokenizer.encode(clean), Tokenizer.EOS];
    model.off = new Set(off);
    const { memory, weights } = model.encode(ids);
    const tokens = ids.map((id) => tokenizer.readable(id));
    postMessage({ type: "source", number, tokens, notes, weights });
    return { memory, limit: lengthLimit(ids.length, manifest.maxRatio) };
  }

  async function translate(question) {
    const { number, prefix } = question;
    const source = read(question);
    if (!source) return;
    const began = performance.now();
    const ids = [];
    let logP = 0;
    for (const step of greedyDecode(model, source.memory, { prefix, limit: source.limit, choices: 5 })) {
      ids.push(step.id);
      logP += step.logP;
      const top = step.top.map((one) => ({ ...one, text: tokenizer.readable(one.id) }));
      postMessage({ type: "token", number, step: { ...step, top, text: tokenizer.readable(step.id) } });
      await pause();
      if (number !== latest) return;
    }
    const { calibration } = manifest;
    postMessage({
      type: "done",
      number,
      text: tokenizer.decode(ids).trim(),
      ended: ids.at(-1) === Tokenizer.EOS,
      chrf: calibration ? expectedChrf(calibration, logP / ids.length) : null,
      perToken: (performance.now() - began) / ids.length,
    });
  }

  // A search can't be stopped: of those that wait for one to end, only the last is made.
  async function beam(question) {
    const { size, alpha, number } = question;
    await pause();
    if (number !== latest) return;
    const source = read(question);
    if (!source) return;
    const found = beamSearch(model, source.memory, { limit: source.limit, size, alpha });
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
