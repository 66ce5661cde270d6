// Who looks at whom: the attention of the reader's sentence, by kind, layer and head, as a grid that
// the arrow keys walk through, or as a table of numbers.

const LIVE_KINDS = {
  cross: { name: "cross-attention", stack: "decoderLayers" },
  encoder: { name: "encoder self-attention", stack: "encoderLayers" },
  decoder: { name: "decoder self-attention", stack: "decoderLayers" },
};

// toggle(names): these heads are to be switched off, or on again; say(text): for screen readers.
class AttentionView {
  constructor(root, sizes, { toggle, say }) {
    this.sizes = sizes;
    const find = (name) => root.querySelector(`.live-${name}`);
    [this.kind, this.layer, this.head] = ["kind", "layer", "head"].map(find);
    [this.box, this.readout, this.switch, this.asTable] = ["grid", "readout", "switch", "as-table"].map(find);
    const heads = Array.from({ length: sizes.heads }, (_, i) => make("option", { value: i }, `head ${i + 1}`));
    this.head.replaceChildren(make("option", { value: "all" }, "all heads, averaged"), ...heads);
    this.fillLayers();
    this.kind.addEventListener("change", () => this.fillLayers());
    for (const select of [this.kind, this.layer, this.head]) {
      select.addEventListener("change", () => {
        this.draw();
        say(`${this.title()}.`);
      });
    }
    this.switch.addEventListener("click", () => toggle(this.names()));
    this.asTable.addEventListener("click", () => {
      const pressed = this.asTable.getAttribute("aria-pressed") === "true";
      this.asTable.setAttribute("aria-pressed", String(!pressed));
      this.draw();
    });
    this.tabStop = oneTabStop(this.box, "[role=gridcell]", (cell, key, far) => this.neighbour(cell, key, far));
    for (const type of ["focusin", "mouseover"]) {
      this.box.addEventListener(type, ({ target }) => {
        const cell = target.closest("[role=gridcell]");
        if (cell) this.readout.textContent = cell.getAttribute("aria-label");
      });
    }
  }

  fillLayers() {
    const count = this.sizes[LIVE_KINDS[this.kind.value].stack];
    const options = Array.from({ length: count }, (_, i) => make("option", { value: i }, `layer ${i + 1} of ${count}`));
    this.layer.replaceChildren(...options);
    this.layer.value = count - 1;
  }

  title() {
    const head = this.head.value === "all" ? "all heads, averaged" : `head ${Number(this.head.value) + 1}`;
    return `${LIVE_KINDS[this.kind.value].name}, layer ${Number(this.layer.value) + 1}, ${head}`;
  }

  // The names of the heads that are shown.
  names() {
    const heads = this.head.value === "all" ? [...Array(this.sizes.heads).keys()] : [this.head.value];
    return heads.map((head) => `${this.kind.value} ${this.layer.value} ${head}`);
  }

  static describe(name) {
    const [kind, layer, head] = name.split(" ");
    return `head ${Number(head) + 1} of layer ${Number(layer) + 1}, ${LIVE_KINDS[kind].name}`;
  }

  // result: {source: tokens, encoder: weights, steps}, off: names of heads.
  show(result, off) {
    [this.result, this.off] = [result, off];
    this.draw();
  }

  // The queries' and keys' names, and the weight by row and column; null where none may look.
  matrix() {
    const { source, encoder, steps } = this.result;
    const [kind, layer] = [this.kind.value, Number(this.layer.value)];
    const written = steps.map((step) => step.text);
    const rows = kind === "encoder" ? source : written;
    const columns = kind === "decoder" ? ["<bos>", ...written.slice(0, -1)] : source;
    const one = (head, i, j) => {
      if (kind === "encoder") return encoder[layer][head][i * source.length + j];
      const row = kind === "cross" ? steps[i].cross[layer][head] : steps[i].self[layer][head];
      return j < row.length ? row[j] : null;
    };
    const { heads: h } = this.sizes;
    const value = (i, j) => {
      if (this.head.value !== "all") return one(Number(this.head.value), i, j);
      if (one(0, i, j) === null) return null;
      let sum = 0;
      for (let head = 0; head < h; head++) sum += one(head, i, j) / h;
      return sum;
    };
    return { rows: rows.map(spoken), columns: columns.map(spoken), value };
  }

  draw() {
    const names = this.names();
    const many = names.length > 1 ? "these heads" : "this head";
    const isOff = names.every((name) => this.off.has(name));
    this.switch.textContent = `Switch ${many} ${isOff ? "on" : "off"} and translate again`;
    this.switch.setAttribute("aria-pressed", String(isOff));
    const { rows, columns, value } = this.matrix();
    const numbers = this.asTable.getAttribute("aria-pressed") === "true";
    const cell = (i, j) => {
      const weight = value(i, j);
      const text = weight === null ? "–" : weight.toFixed(2);
      if (numbers) return make("td", {}, text);
      const label =
        weight === null
          ? `query ${rows[i]} may not look at ${columns[j]}, which comes later`
          : `query ${rows[i]}, key ${columns[j]}, ${text}`;
      const properties = { role: "gridcell", tabIndex: -1, "aria-label": label, style: `--w: ${weight ?? 0}` };
      const made = make("td", properties);
      if (weight === null) made.classList.add("is-hidden");
      return made;
    };
    const caption = `${this.title()}${isOff ? ", switched off" : ""}: a row for each query, a column for each key`;
    const table = make(
      "table",
      { className: numbers ? "live-numbers" : "live-map" },
      make("caption", {}, make("span", {}, caption[0].toUpperCase() + caption.slice(1))),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, "query"),
          ...columns.map((name) => make("th", { scope: "col" }, make("span", {}, name))),
        ),
      ),
      make(
        "tbody",
        {},
        ...rows.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name), ...columns.map((_, j) => cell(i, j)))),
      ),
    );
    if (!numbers) {
      table.setAttribute("role", "grid");
      table.setAttribute("aria-readonly", "true");
    }
    this.box.replaceChildren(table);
    this.box.tabIndex = numbers ? 0 : -1; // what scrolls can be reached
    if (!numbers) this.tabStop.reset();
    this.readout.textContent = numbers ? "" : "Point at a field, or go through the fields with the arrow keys.";
  }

  neighbour(cell, key, far) {
    const lines = [...this.box.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")]);
    const i = lines.findIndex((line) => line.includes(cell));
    const j = lines[i].indexOf(cell);
    if (key === "Home") return lines[far ? 0 : i][0];
    if (key === "End") return lines.at(far ? -1 : i).at(-1);
    const [di, dj] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] || [];
    return di === undefined ? null : lines[i + di]?.[j + dj];
  }
}
