// Live figures: what they are made of. An element <div data-live="name"> holds its data as JSON and
// a still figure with a table. A file in figures/ adds a function to liveFigures under that name; it
// is given a LiveFigure and builds controls, fields and a table of the numbers with it. The still
// figure is replaced only when that has worked.

const liveFigures = {};

// Weights from scores, over the places that are allowed: all zeros where none is.
function softmaxOver(scores, allowed = scores.map(() => true)) {
  const max = Math.max(...scores.filter((_, j) => allowed[j]));
  const exp = scores.map((score, j) => (allowed[j] ? Math.exp(score - max) : 0));
  const sum = exp.reduce((a, b) => a + b, 0);
  return exp.map((e) => (sum ? e / sum : 0));
}

// "a", "a and b", "a, b and c"
function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

// The ways of the arrow keys in a table of fields, for oneTabStop.
function fieldBeside(table, selector) {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  return (field, key, far) => {
    const lines = [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll(selector)]);
    const i = lines.findIndex((line) => line.includes(field));
    const j = lines[i].indexOf(field);
    if (key === "Home") return lines[far ? 0 : i][0];
    if (key === "End") return lines.at(far ? -1 : i).at(-1);
    const [di, dj] = moves[key] || [];
    return di === undefined ? null : lines[i + di]?.[j + dj];
  };
}

class LiveFigure {
  constructor(root) {
    this.root = root;
    this.name = root.dataset.live;
    this.data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    this.body = make("div", { className: "live-body" });
    this.controls = null;
    this.count = 0;
  }

  id() {
    this.count += 1;
    const number = [...document.querySelectorAll("[data-live]")].indexOf(this.root);
    return `live-${this.name}-${number}-${this.count}`;
  }

  add(element) {
    this.controls = null; // what comes next begins a new row of controls
    this.body.append(element);
    return element;
  }

  addControl(element) {
    if (!this.controls) {
      const row = make("div", { className: "live-controls" });
      this.body.append(row);
      this.controls = row;
    }
    this.controls.append(element);
    return element;
  }

  // One of several: radio buttons. options: [[value, text], …]. set(null) chooses none.
  choice(legend, options, value, onChange) {
    const name = this.id();
    const inputs = options.map(([own]) => make("input", { type: "radio", name, value: own, checked: own === value }));
    const labels = inputs.map((input, i) => make("label", {}, input, make("span", {}, options[i][1])));
    const group = make("fieldset", { className: "live-choice" }, make("legend", {}, legend), ...labels);
    group.addEventListener("change", ({ target }) => onChange(options[inputs.indexOf(target)][0]));
    this.addControl(group);
    const set = (wanted) => inputs.forEach((input, i) => { input.checked = options[i][0] === wanted; });
    return { element: group, set };
  }

  // show(value): how it is said.
  slider(label, { min, max, step, value }, show, onChange) {
    const input = make("input", { type: "range", min, max, step, value });
    const output = make("output", {});
    const say = () => {
      output.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      say();
      onChange(Number(input.value));
    });
    say();
    this.addControl(make("label", { className: "live-slider" }, make("span", {}, label, " ", output), input));
    const set = (wanted, most = input.max) => {
      input.max = most;
      input.value = wanted;
      say();
    };
    return { input, set };
  }

  text(label, value, onChange) {
    const input = make("input", { type: "text", value, autocomplete: "off", spellcheck: false });
    input.addEventListener("input", () => onChange(input.value));
    this.addControl(make("label", { className: "live-line" }, make("span", {}, label), input));
    return input;
  }

  button(text, onClick) {
    const button = make("button", { type: "button", className: "live-button" }, text);
    button.addEventListener("click", onClick);
    return this.addControl(button);
  }

  // Several that are each on or off. isOn(i) is asked by update().
  switches(label, names, isOn, onToggle) {
    const buttons = names.map((name, i) => {
      const button = make("button", { type: "button", className: "live-button" }, name);
      button.addEventListener("click", () => onToggle(i));
      return button;
    });
    const bar = make("div", { className: "live-switches", role: "toolbar", "aria-label": label }, ...buttons);
    const beside = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    oneTabStop(bar, "button", (button, key) => buttons[buttons.indexOf(button) + (beside[key] || NaN)]).reset();
    this.addControl(make("div", { className: "live-group" }, make("span", {}, label), bar));
    const update = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(isOn(i))));
    update();
    return { bar, update };
  }

  // A table of fields, one tab stop. about(i, j) gives {text, label, weight, marks} and, where
  // onPress is there, pressed. row(i) gives {name, note, marks} and column(j) a name, where they
  // change.
  grid({ label, corner, rows, columns, about, row = () => ({}), column = (j) => columns[j], onPress = null }) {
    const field = onPress ? "button" : "td";
    const heads = rows.map((name) => make("th", { scope: "row" }, make("span", {}, name), make("small", {})));
    const fields = rows.map((_, i) =>
      columns.map((_, j) => {
        const made = onPress ? make("button", { type: "button", tabIndex: -1 }) : make("td", { role: "gridcell", tabIndex: -1 });
        if (onPress) made.addEventListener("click", () => onPress(i, j));
        return made;
      }),
    );
    const cells = (line) => (onPress ? line.map((button) => make("td", { role: "gridcell" }, button)) : line);
    const names = columns.map((name) => make("th", { scope: "col" }, make("span", {}, name)));
    const table = make(
      "table",
      { className: `live-fields${onPress ? " has-buttons" : ""}`, role: "grid", "aria-label": label },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, corner), ...names)),
      make("tbody", {}, ...fields.map((line, i) => make("tr", {}, heads[i], ...cells(line)))),
    );
    if (!onPress) table.setAttribute("aria-readonly", "true");
    this.add(make("div", { className: "live-scroll" }, table));
    oneTabStop(table, `tbody ${field}`, fieldBeside(table, field)).reset();
    const update = () => {
      names.forEach((head, j) => { head.firstChild.textContent = column(j); });
      table.classList.toggle("has-names", names.some((head) => head.textContent.length > 3));
      heads.forEach((head, i) => {
        const { name = rows[i], note = "", marks = "" } = row(i);
        head.className = marks;
        head.querySelector("span").textContent = name;
        head.querySelector("small").textContent = note;
      });
      fields.forEach((line, i) =>
        line.forEach((made, j) => {
          const { text = "", label: says, weight = 0, marks = "", pressed } = about(i, j);
          made.textContent = text;
          made.className = marks;
          made.style.setProperty("--w", weight);
          made.setAttribute("aria-label", says);
          if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
        }),
      );
    };
    update();
    return { table, update };
  }

  // A bar for each name; about(i) gives {value, from 0 to 1, text}.
  bars(label, names, about) {
    const fills = names.map(() => make("i", {}));
    const texts = names.map(() => make("span", {}));
    const lines = names.map((name, i) => make("li", {}, make("span", {}, name), make("b", {}, fills[i]), texts[i]));
    this.add(make("div", { className: "live-bars" }, make("p", {}, label), make("ul", { "aria-label": label }, ...lines)));
    const update = () => names.forEach((_, i) => {
      const { value, text } = about(i);
      fills[i].style.setProperty("--w", value);
      texts[i].textContent = text;
    });
    update();
    return update;
  }

  // A line that is read out when it changes; while a slider moves, only what it comes to.
  line() {
    const line = this.add(make("p", { className: "live-says", role: "status" }));
    let timer = null;
    const say = (text) => {
      line.textContent = text;
      line.removeAttribute("aria-busy");
    };
    return (text) => {
      clearTimeout(timer);
      if (!this.body.isConnected) return say(text);
      line.setAttribute("aria-busy", "true");
      timer = setTimeout(say, 150, text); // ms
    };
  }

  // The numbers, as text: a caption, a header, rows whose first entry names the row.
  numbers(caption, summary = "The numbers as a table") {
    const table = make("table", { className: "live-numbers", "aria-label": caption });
    const box = make("div", { className: "live-scroll", tabIndex: 0, role: "group", "aria-label": caption }, table);
    this.add(make("details", { className: "live-table" }, make("summary", {}, summary), make("p", { className: "live-caption" }, caption), box));
    return (header, rows) => {
      const head = header.map((name) => make("th", { scope: "col" }, name));
      const line = ([name, ...values]) => [make("th", { scope: "row" }, name), ...values.map((value) => make("td", {}, value))];
      table.replaceChildren(
        make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...line(row)))),
      );
    };
  }

  // A drawing. label: what it is, for those who do not see it; shapes are made by shape().
  drawing(label, width, height) {
    const svg = this.shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    this.add(make("div", { className: "live-drawing" }, svg));
    return svg;
  }

  shape(tag, attributes, ...children) {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
    shape.append(...children);
    return shape;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const root of document.querySelectorAll("[data-live]")) {
    queueMicrotask(() => { // each for itself: one that fails leaves the others, and its still figure
      const figure = new LiveFigure(root);
      liveFigures[figure.name](figure);
      root.replaceChildren(figure.body);
      root.classList.add("is-live");
    });
  }
});
