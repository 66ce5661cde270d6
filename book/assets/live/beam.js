// The beam as a tree: at each length the beginnings that go on, those that ended, those pruned.

// search(size, alpha): search again for the sentence that is shown.
class BeamView {
  constructor(root, search) {
    const find = (name) => root.querySelector(`.live-${name}`);
    [this.size, this.alpha, this.alphaText] = ["beam-size", "alpha", "alpha-text"].map(find);
    [this.found, this.box, this.asTable] = ["hypotheses", "tree", "tree-as-table"].map(find);
    [this.showPruned, this.results] = ["show-pruned", "beam-results"].map(find);
    this.button = find("search");
    const run = () => search(Number(this.size.value), Number(this.alpha.value));
    this.button.addEventListener("click", run);
    this.size.addEventListener("change", run);
    this.alpha.addEventListener("input", () => this.nameAlpha());
    this.alpha.addEventListener("change", run);
    this.showPruned.addEventListener("change", () => this.draw());
    this.asTable.addEventListener("click", () => {
      const pressed = this.asTable.getAttribute("aria-pressed") === "true";
      this.asTable.setAttribute("aria-pressed", String(!pressed));
      this.draw();
    });
    this.tabStop = oneTabStop(this.box, "[role=treeitem]", (item, key) => this.neighbour(item, key));
    this.nameAlpha();
  }

  nameAlpha() {
    this.alphaText.textContent = fixed(Number(this.alpha.value), 1);
  }

  clear() {
    this.results.hidden = true;
    this.result = null;
  }

  // result: {hypotheses, nodes, alpha}
  show(result) {
    this.result = result;
    this.results.hidden = false;
    const head = ["", "translation", "log-probability", "tokens", "score"];
    const texts = result.hypotheses.map((one) => (one.ended ? one.text : `${one.text} … (no end)`));
    const rows = result.hypotheses.map((one, rank) => {
      const again = texts.indexOf(texts[rank]) < rank ? " (cut into tokens differently)" : "";
      const length = one.tokens.length + (one.ended ? 1 : 0);
      const cells = [fixed(one.logP, 2), length, fixed(one.score, 3)];
      return make(
        "tr",
        {},
        make("td", {}, `${rank + 1}.`),
        make("th", { scope: "row" }, texts[rank] + again),
        ...cells.map((text) => make("td", {}, String(text))),
      );
    });
    this.found.replaceChildren(
      make("caption", {}, make("span", {}, `What the beam found, best first, with α = ${fixed(result.alpha, 1)}`)),
      make("thead", {}, make("tr", {}, ...head.map((text) => (text ? make("th", { scope: "col" }, text) : make("td"))))),
      make("tbody", {}, ...rows),
    );
    this.draw();
  }

  // Each node with its children and siblings. A column for each length; in it the likeliest on top.
  layout() {
    const { nodes, hypotheses } = this.result;
    const shown = nodes.map((node) => this.showPruned.checked || node.fate !== "pruned");
    const tree = nodes.map((node, at) => ({ ...node, at, children: [] }));
    const roots = [];
    for (const node of tree) {
      if (!shown[node.at]) continue;
      const siblings = node.parent < 0 ? roots : tree[node.parent].children;
      siblings.push(node);
      node.siblings = siblings;
    }
    for (let at = hypotheses[0].node; at >= 0; at = tree[at].parent) tree[at].isBest = true;
    const filled = []; // lines, by length
    for (const node of tree.filter((one) => shown[one.at])) {
      node.line = filled[node.length] || 0;
      filled[node.length] = node.line + 1;
    }
    const order = [];
    const place = (node) => {
      order.push(node);
      node.children.forEach(place);
    };
    roots.forEach(place);
    return { order, tree, lines: Math.max(...order.map((node) => node.line)) + 1 };
  }

  static fate(node) {
    if (node.fate === "pruned") return "pruned";
    if (node.fate === "ended") return "ended here";
    return node.isBest ? "kept, on the best path" : "kept";
  }

  draw() {
    if (!this.result) return;
    const { order, tree, lines } = this.layout();
    [this.tree, this.order] = [tree, order];
    if (this.asTable.getAttribute("aria-pressed") === "true") {
      this.box.replaceChildren(this.table(order));
      this.box.tabIndex = 0; // what scrolls can be reached
      return;
    }
    const [wide, high] = [7, 1.85]; // of a field, in rem
    const items = order.map((node) => {
      const label =
        `${spoken(node.text)}, token ${node.length}, log-probability ${fixed(node.logP, 2)}, ` +
        BeamView.fate(node);
      const mark = { pruned: "✕ ", ended: "■ ", kept: "" }[node.fate];
      const item = make(
        "div",
        {
          role: "treeitem",
          tabIndex: -1,
          className: `live-node is-${node.fate}${node.isBest ? " is-best" : ""}`,
          title: label,
          "aria-label": label,
          "aria-level": node.length,
          "aria-posinset": node.siblings.indexOf(node) + 1,
          "aria-setsize": node.siblings.length,
          "data-at": node.at,
          style: `left: ${(node.length - 1) * wide}rem; top: ${node.line * high}rem`,
        },
        mark + spoken(node.text),
      );
      if (node.children.length) item.setAttribute("aria-expanded", "true");
      return item;
    });
    const edges = order.filter((node) => node.parent >= 0).map((node) => BeamView.edge(tree[node.parent], node, wide, high));
    const width = Math.max(...order.map((node) => node.length)) * wide;
    const size = `width: ${width}rem; height: ${lines * high}rem`;
    const drawing = `<svg aria-hidden="true" viewBox="0 0 ${width} ${lines * high}" style="${size}">${edges.join("")}</svg>`;
    const canvas = make("div", { role: "tree", "aria-label": "The beam: each item goes on from its parent", style: size });
    canvas.innerHTML = drawing;
    canvas.append(...items);
    this.box.replaceChildren(canvas);
    this.box.tabIndex = -1;
    this.tabStop.reset();
  }

  // A line from a node's right side to its child's left side.
  static edge(from, to, wide, high) {
    const [x1, x2] = [from.length * wide - 1.25, (to.length - 1) * wide];
    const [y1, y2] = [from, to].map((node) => (node.line) * high + 0.75);
    const kind = to.isBest ? "is-best" : `is-${to.fate}`;
    return `<path class="${kind}" d="M${x1} ${y1} C${x2} ${y1} ${x1} ${y2} ${x2} ${y2}" />`;
  }

  table(order) {
    const path = (node) => (node.parent < 0 ? "" : path(this.tree[node.parent]) + this.tree[node.parent].text);
    const head = ["after", "token", "log-probability", "what became of it"];
    const rows = order.map((node) =>
      make(
        "tr",
        {},
        ...[path(node).trim() || "(begin)", spoken(node.text), fixed(node.logP, 2), BeamView.fate(node)].map((text) =>
          make("td", {}, text),
        ),
      ),
    );
    return make(
      "table",
      { className: "live-numbers" },
      make("caption", {}, make("span", {}, "The beam's tree, a row for each candidate")),
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows),
    );
  }

  // Right to the first child, left to the parent, up and down in a column.
  neighbour(item, key) {
    const items = [...this.box.querySelectorAll("[role=treeitem]")];
    const node = this.tree[Number(item.dataset.at)];
    const of = (other) => other && items.find((one) => Number(one.dataset.at) === other.at);
    const inColumn = (step) => this.order.find((one) => one.length === node.length && one.line === node.line + step);
    const moves = {
      ArrowRight: () => of(node.children[0]),
      ArrowLeft: () => of(this.tree[node.parent]),
      ArrowDown: () => of(inColumn(1)),
      ArrowUp: () => of(inColumn(-1)),
      Home: () => items[0],
      End: () => items.at(-1),
    };
    return moves[key]?.();
  }
}
