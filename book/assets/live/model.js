// The Transformer of transformer/, for one sentence: encoder, and decoder step by step with a cache.
// Pre-norm, ReLU, sinusoids, one embedding for all. Numbers are kept in 32 bits and added in 64.
// Comments give shapes as the chapters do: S source and T target positions, D width, h heads.

// Return the tensors by name: matrices {data, rows, cols} as float32, vectors as Float32Array.
function readWeights(tensors, buffer) {
  const found = {};
  for (const { name, shape, at, scaleAt } of tensors) {
    const [rows, cols] = shape;
    if (scaleAt === undefined) {
      found[name] = new Float32Array(buffer, at, rows);
      continue;
    }
    const rounded = new Int8Array(buffer, at, rows * cols);
    const scale = new Float32Array(buffer, scaleAt, rows);
    const data = new Float32Array(rows * cols);
    for (let i = 0; i < data.length; i++) data[i] = rounded[i] * scale[(i / cols) | 0];
    found[name] = { data, rows, cols };
  }
  return found;
}

// x (T, in) times the transpose of weight (out, in), plus bias (out): (T, out), out at least 4.
function linear(x, weight, bias) {
  const { data, rows, cols } = weight;
  const count = x.length / cols;
  const y = new Float32Array(count * rows);
  for (let begin = 0; begin < rows; begin += 4) {
    // Four rows by two vectors at a time: what is read serves several sums, none of which waits for
    // another. The last four rows may overlap those before, the last two vectors be one.
    const row = Math.min(begin, rows - 4);
    for (let t = 0; t < count; t += 2) {
      const u = Math.min(t + 1, count - 1);
      let [a, b, c, d] = [0, 0, 0, 0];
      if (bias) [a, b, c, d] = [bias[row], bias[row + 1], bias[row + 2], bias[row + 3]];
      let [e, f, g, h] = [a, b, c, d];
      let at = row * cols;
      const apart = (u - t) * cols;
      for (let i = t * cols; i < (t + 1) * cols; i++, at++) {
        const p = x[i];
        const q = x[i + apart];
        const k = data[at];
        const l = data[at + cols];
        const m = data[at + 2 * cols];
        const n = data[at + 3 * cols];
        a += k * p;
        b += l * p;
        c += m * p;
        d += n * p;
        e += k * q;
        f += l * q;
        g += m * q;
        h += n * q;
      }
      let to = u * rows + row;
      [y[to], y[to + 1], y[to + 2], y[to + 3]] = [e, f, g, h];
      to = t * rows + row;
      [y[to], y[to + 1], y[to + 2], y[to + 3]] = [a, b, c, d];
    }
  }
  return y;
}

// Each vector with mean 0 and variance 1, then scaled and shifted: (T, D) -> (T, D).
function layerNorm(x, weight, bias) {
  const width = weight.length;
  const y = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    let mean = 0;
    for (let i = 0; i < width; i++) mean += x[from + i] / width;
    let variance = 0;
    for (let i = 0; i < width; i++) variance += (x[from + i] - mean) ** 2 / width;
    const root = Math.sqrt(variance + 1e-5);
    for (let i = 0; i < width; i++) y[from + i] = ((x[from + i] - mean) / root) * weight[i] + bias[i];
  }
  return y;
}

function add(x, y) {
  return x.map((value, i) => value + y[i]);
}

// log softmax over one row of logits, in 64 bits; padding is never written.
function logSoftmax(logits, padId) {
  let largest = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i] > largest) largest = logits[i];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - largest);
  const shift = largest + Math.log(sum);
  const logP = new Float64Array(logits.length);
  for (let i = 0; i < logits.length; i++) logP[i] = logits[i] - shift;
  logP[padId] = -Infinity;
  return logP;
}

class Transformer {
  // sizes: of the manifest's model. weights: of readWeights.
  // off: names of heads that contribute nothing, such as "encoder 0 3" (layer 0, head 3).
  constructor(sizes, weights) {
    this.sizes = sizes;
    this.weights = weights;
    this.off = new Set();
  }

  linear(x, name) {
    return linear(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`]);
  }

  norm(x, name) {
    return layerNorm(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`]);
  }

  // Rows of the embedding times sqrt(D), plus the sinusoids of their positions: (T, D).
  embed(ids, position) {
    const { data, cols: D } = this.weights["src_embedding.weight"];
    const x = new Float32Array(ids.length * D);
    ids.forEach((id, t) => {
      for (let i = 0; i < D; i++) {
        const angle = position(t) * 10000 ** (-2 * (i >> 1) / D);
        x[t * D + i] = data[id * D + i] * Math.sqrt(D) + (i % 2 ? Math.cos(angle) : Math.sin(angle));
      }
    });
    return x;
  }

  // The rows of a packed projection: which = 0 for queries, 1 for keys, 2 for values.
  project(x, name, which) {
    const D = this.sizes.dModel;
    const { data, cols } = this.weights[`${name}.qkv_proj.weight`];
    const part = { data: data.subarray(which * D * cols, (which + 1) * D * cols), rows: D, cols };
    return linear(x, part, this.weights[`${name}.qkv_proj.bias`].subarray(which * D, (which + 1) * D));
  }

  // Queries (T_q, D) look at keys and values (T_k, D), all of which they may see.
  // Returns the heads' outputs, joined (T_q, D), and for each head its weights (T_q, T_k).
  attend(q, k, v, kind, layer) {
    const { dModel: D, heads: h } = this.sizes;
    const width = D / h;
    const [Tq, Tk] = [q.length / D, k.length / D];
    const joined = new Float32Array(Tq * D);
    const weights = [];
    for (let head = 0; head < h; head++) {
      const A = new Float32Array(Tq * Tk);
      for (let i = 0; i < Tq; i++) {
        const row = A.subarray(i * Tk, (i + 1) * Tk);
        const from = i * D + head * width;
        for (let j = 0; j < Tk; j++) {
          const to = j * D + head * width;
          let score = 0;
          for (let n = 0; n < width; n++) score += q[from + n] * k[to + n];
          row[j] = score / Math.sqrt(width);
        }
        const largest = Math.max(...row);
        let sum = 0;
        for (let j = 0; j < Tk; j++) sum += row[j] = Math.exp(row[j] - largest);
        for (let j = 0; j < Tk; j++) row[j] /= sum;
        if (this.off.has(`${kind} ${layer} ${head}`)) continue; // its part of joined stays 0
        for (let j = 0; j < Tk; j++) {
          const to = j * D + head * width;
          for (let n = 0; n < width; n++) joined[from + n] += row[j] * v[to + n];
        }
      }
      weights.push(A);
    }
    return [joined, weights];
  }

  feedForward(x, name) {
    const hidden = this.linear(x, `${name}.feed_forward.linear1`); // (T, D) -> (T, d_ff)
    return this.linear(hidden.map((value) => (value > 0 ? value : 0)), `${name}.feed_forward.linear2`);
  }

  // Read the source ids: memory (S, D), and the weights by layer and head, each (S, S).
  encode(ids) {
    let x = this.embed(ids, (t) => t);
    const weights = [];
    for (let layer = 0; layer < this.sizes.encoderLayers; layer++) {
      const name = `encoder.layers.${layer}`;
      const y = this.norm(x, `${name}.norm1`);
      const [q, k, v] = [0, 1, 2].map((which) => this.project(y, `${name}.self_attention`, which));
      const [joined, A] = this.attend(q, k, v, "encoder", layer);
      x = add(x, this.linear(joined, `${name}.self_attention.out_proj`));
      x = add(x, this.feedForward(this.norm(x, `${name}.norm2`), name));
      weights.push(A);
    }
    return { memory: this.norm(x, "encoder.norm"), weights };
  }

  // Keys and values of each decoder layer: those of memory are projected once.
  startCache(memory, maxLength) {
    const D = this.sizes.dModel;
    const layers = Array.from({ length: this.sizes.decoderLayers }, (_, layer) => {
      const name = `decoder.layers.${layer}.cross_attention`;
      return {
        memoryKey: this.project(memory, name, 1),
        memoryValue: this.project(memory, name, 2),
        key: new Float32Array(maxLength * D),
        value: new Float32Array(maxLength * D),
      };
    });
    return { length: 0, layers };
  }

  static copyCache(cache) {
    const layers = cache.layers.map((layer) => ({ ...layer, key: layer.key.slice(), value: layer.value.slice() }));
    return { length: cache.length, layers };
  }

  // Read one more target token: the logits (V) of the next, and by layer and head the weights of
  // self-attention (T) and cross-attention (S).
  step(id, cache) {
    return this.stepAll([id], [cache])[0];
  }

  // The same for K beginnings of one length, each with its token and its cache: faster than one by one.
  stepAll(ids, caches) {
    const D = this.sizes.dModel;
    const at = caches[0].length;
    const found = caches.map(() => ({ self: [], cross: [] }));
    let x = this.embed(ids, () => at); // (K, D)
    const row = (all, i) => all.subarray(i * D, (i + 1) * D);
    // Each beginning looks at keys and values of its own.
    const attendAll = (q, name, kind, layer, keysAndValues) => {
      const joined = new Float32Array(q.length);
      caches.forEach((cache, i) => {
        const [own, A] = this.attend(row(q, i), ...keysAndValues(cache.layers[layer]), kind, layer);
        joined.set(own, i * D);
        found[i][kind === "cross" ? "cross" : "self"].push(A);
      });
      return this.linear(joined, `${name}.out_proj`);
    };
    for (let layer = 0; layer < this.sizes.decoderLayers; layer++) {
      const name = `decoder.layers.${layer}`;
      let y = this.norm(x, `${name}.norm1`);
      const [q, k, v] = [0, 1, 2].map((which) => this.project(y, `${name}.self_attention`, which));
      caches.forEach((cache, i) => {
        cache.layers[layer].key.set(row(k, i), at * D);
        cache.layers[layer].value.set(row(v, i), at * D);
      });
      const past = ({ key, value }) => [key, value].map((all) => all.subarray(0, (at + 1) * D));
      x = add(x, attendAll(q, `${name}.self_attention`, "decoder", layer, past));
      y = this.norm(x, `${name}.norm2`);
      const query = this.project(y, `${name}.cross_attention`, 0);
      const source = ({ memoryKey, memoryValue }) => [memoryKey, memoryValue];
      x = add(x, attendAll(query, `${name}.cross_attention`, "cross", layer, source));
      x = add(x, this.feedForward(this.norm(x, `${name}.norm3`), name));
    }
    const logits = linear(this.norm(x, "decoder.norm"), this.weights["src_embedding.weight"], null); // (K, V)
    const V = logits.length / ids.length;
    return found.map((weights, i) => {
      caches[i].length++;
      return { logits: logits.subarray(i * V, (i + 1) * V), ...weights };
    });
  }
}
