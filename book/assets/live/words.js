// The translation token by token, with the model's confidence; a token opens the five likeliest.

// choose(index, id): decoding is to go on from another token at this place.
class WordsView {
  constructor(root, choose) {
    this.tokens = root.querySelector(".live-tokens");
    this.choices = root.querySelector(".live-choices");
    this.choose = choose;
    this.tabStop = oneTabStop(this.tokens, "button", (item, key) => {
      const all = [...this.tokens.querySelectorAll("button")];
      const at = all.indexOf(item);
      return { ArrowRight: all[at + 1], ArrowLeft: all[at - 1], Home: all[0], End: all.at(-1) }[key];
    });
  }

  clear() {
    this.tokens.replaceChildren();
    this.close();
  }

  // A word begins with a space, or is a mark; its confidence is the product of its tokens'.
  static group(steps) {
    const words = [];
    steps.forEach((step, index) => {
      const begins = index === 0 || /^ |^<eos>$|^\p{P}+$/u.test(step.text);
      if (begins) words.push([]);
      words.at(-1).push({ step, index });
    });
    return words;
  }

  // chosen: how many of the first steps were given, the last of them by the reader.
  show(steps, chosen) {
    this.close();
    this.steps = steps;
    this.tokens.replaceChildren(
      ...WordsView.group(steps).map((word) => {
        const probability = Math.exp(word.reduce((sum, { step }) => sum + step.logP, 0));
        const buttons = word.map(({ step, index }) => this.button(step, index, index === chosen - 1));
        const share = make("small", { "aria-hidden": "true" }, percent(probability));
        const bar = make("span", { className: "live-bar", style: `--p: ${probability}`, "aria-hidden": "true" });
        return make("span", { className: "live-word" }, make("span", {}, ...buttons), bar, share);
      }),
    );
    this.tabStop.reset();
  }

  button(step, index, isChosen) {
    const label = `${spoken(step.text)}, ${percent(Math.exp(step.logP))}${isChosen ? ", chosen by you" : ""}`;
    const button = make(
      "button",
      { type: "button", className: "live-token", "aria-label": label, "aria-expanded": "false" },
      spoken(step.text),
    );
    if (isChosen) button.classList.add("is-chosen");
    button.addEventListener("click", () => this.open(index, button));
    return button;
  }

  open(index, button) {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    this.close();
    if (isOpen) return;
    button.setAttribute("aria-expanded", "true");
    const step = this.steps[index];
    const before = this.steps.slice(0, index).map((one) => one.text).join("").trim();
    const title = `Instead of “${spoken(step.text)}”${before ? `, after “${before}”` : ", as the first token"}`;
    const buttons = step.top.map((one) => {
      const share = percent(Math.exp(one.logP));
      const label = `${spoken(one.text)}, ${share}${one.id === step.id ? ", as it is" : ""}`;
      const choice = make(
        "button",
        { type: "button", className: "live-button", "aria-label": label },
        `${spoken(one.text)} `,
        make("small", {}, share),
      );
      choice.setAttribute("aria-pressed", String(one.id === step.id));
      choice.addEventListener("click", () => this.choose(index, one.id));
      return choice;
    });
    this.choices.replaceChildren(make("p", { id: "live-choices-title" }, title), ...buttons);
    this.choices.hidden = false;
    this.choices.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      this.close();
      button.focus();
    };
    buttons[0].focus();
  }

  close() {
    this.choices.hidden = true;
    this.choices.replaceChildren();
    for (const button of this.tokens.querySelectorAll("button")) button.setAttribute("aria-expanded", "false");
  }

  focus(index) {
    const all = this.tokens.querySelectorAll("button");
    all[Math.min(index, all.length - 1)]?.focus();
  }
}
