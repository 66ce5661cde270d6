// Brings the parts together: loads the translator when asked to, sends questions to the worker, and
// gives its answers to the views.

// The data lie beside this script.
const LIVE_DATA = new URL("data/", document.currentScript.src).href;

class LivePage {
  constructor(root) {
    this.root = root;
    this.find = (name) => root.querySelector(`.live-${name}`);
    this.text = this.find("text");
    this.status = this.find("status");
    this.number = 0; // of the latest question
    this.prefix = [];
    this.at = 0; // the sentence that is looked into, of those that the model read
    this.off = new Set();
    this.withAllHeads = { key: null, text: "" };
    this.find("load").disabled = false; // Firefox keeps what it was before a reload
    this.find("load").addEventListener("click", () => this.load());
    this.find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask({ fresh: true });
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask({ fresh: true });
    });
    for (const button of root.querySelectorAll(".live-example")) {
      button.addEventListener("click", () => {
        this.text.value = button.textContent;
        this.ask({ fresh: true });
      });
    }
    this.find("sentence").addEventListener("change", ({ target }) => {
      [this.prefix, this.at] = [[], Number(target.value)];
      this.ask({ scroll: false });
    });
    this.find("undo").addEventListener("click", () => {
      this.prefix = [];
      this.ask({ focus: 0 });
    });
    this.find("all-on").addEventListener("click", () => {
      this.off.clear();
      this.prefix = [];
      this.ask({});
      this.attention.switch.focus();
    });
    root.hidden = false;
  }

  // Said by screen readers; and shown, but for what can be seen elsewhere.
  say(text, isSeen = false) {
    this.status.textContent = text;
    this.status.classList.toggle("live-only-said", isSeen);
  }

  async load() {
    const [button, box, bar, label] = ["load", "progress", "bar-loaded", "progress-text"].map(this.find);
    button.disabled = true;
    box.hidden = false;
    this.say("Loading.");
    try {
      await loadData(LIVE_DATA, (loaded, total) => {
        bar.value = loaded / total;
        label.textContent = `${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`;
      });
      const { manifest, words } = LiveData;
      this.worker = startWorker();
      this.worker.onmessage = ({ data }) => this.answer(data);
      this.worker.onerror = (event) => this.fail(event.message);
      const buffer = LiveData.buffer();
      this.worker.postMessage({ type: "start", manifest, words, buffer }, [buffer]);
      LiveData.parts = []; // the worker has them now
    } catch (error) {
      button.disabled = false;
      button.textContent = "Try again";
      this.say(`The translator is not complete: ${error.message}.`);
    }
  }

  ready() {
    this.words = new WordsView(this.root, (index, id) => {
      this.prefix = [...this.words.steps.slice(0, index).map((step) => step.id), id];
      this.ask({ focus: index });
    });
    this.attention = new AttentionView(this.root, LiveData.manifest.model, {
      toggle: (names) => this.toggle(names),
      say: (text) => this.say(text, true),
    });
    this.beam = new BeamView(this.root, (size, alpha) => this.search({ type: "beam", size, alpha }));
    const hadFocus = document.activeElement === this.find("load") || document.activeElement === document.body;
    this.find("loading").hidden = true;
    this.find("work").hidden = false;
    this.say("The translator is ready.");
    if (hadFocus) this.text.focus();
  }

  post(question) {
    this.number += 1;
    this.pending = question.type;
    const common = { number: this.number, text: this.asked, off: [...this.off], at: this.at };
    this.worker.postMessage({ ...common, ...question });
  }

  // A question stops the one before it: the beam waits until the translation stands there.
  search(question) {
    this.waiting = this.isDecoding ? question : null;
    if (this.waiting) return;
    this.say("Searching.");
    this.post(question);
  }

  toggle(names) {
    const areOff = names.every((name) => this.off.has(name));
    for (const name of names) areOff ? this.off.delete(name) : this.off.add(name);
    this.prefix = [];
    this.ask({});
  }

  // Translate. fresh: what the reader chose before is forgotten. focus: the token to go to in the end.
  // scroll: on a phone the translation lies outside the window, and is brought into it.
  ask({ fresh = false, focus = null, scroll = focus === null }) {
    this.isToBeSeen = scroll;
    if (fresh) {
      [this.prefix, this.at, this.asked] = [[], 0, this.text.value];
      this.words.clear(); // of another sentence: decoding cannot go on from them
    }
    [this.isDecoding, this.waiting] = [true, null];
    this.focusAt = focus;
    this.beam.clear();
    // What comes out with all heads on is needed beside what comes out without some.
    this.isSilent = this.off.size > 0 && this.withAllHeads.key !== this.asked;
    if (!this.isSilent) this.say("Translating.");
    this.post({ type: "translate", prefix: this.prefix, ...(this.isSilent ? { off: [], prefix: [], at: 0 } : {}) });
  }

  answer(message) {
    const { type } = message;
    if (type === "ready") return this.ready();
    if (type === "failed") return this.fail(message.error);
    if (message.number !== this.number) return; // of an earlier question
    if (type === "refused") this.refuse(message.error);
    const isShown = this.pending === "translate" && !this.isSilent;
    if (type === "draft" && isShown) this.write(message.text);
    if (type === "source" && isShown) this.begin(message);
    if (type === "token" && isShown) this.result.steps.push(message.step);
    if (type === "done") this.end(message);
    if (type === "tree") {
      this.beam.show(message);
      this.say(`The beam's best: ${message.hypotheses[0].text}`, true);
    }
  }

  fail(error) {
    this.say(`Something went wrong: ${error}. Reload the page to start again.`);
  }

  refuse(error) {
    this.isDecoding = false;
    for (const name of ["result", "after"]) this.find(name).hidden = true;
    this.say(error);
    this.text.setAttribute("aria-invalid", "true");
    this.text.focus();
  }

  // Show what has been written so far.
  write(text) {
    this.text.removeAttribute("aria-invalid");
    this.find("result").hidden = false;
    this.output = this.find("output");
    this.output.textContent = text;
    if (this.isToBeSeen) this.output.scrollIntoView({ block: "nearest" });
    this.isToBeSeen = false;
  }

  // The text is translated: what was read and looked at to write one of its sentences.
  begin({ text, tokens, weights, notes, sentences, read, standIns }) {
    this.write(text);
    this.result = { source: tokens, encoder: weights, steps: [] };
    this.find("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
    this.find("source").hidden = !tokens.length;
    this.find("pieces").textContent = tokens.map(spoken).join(" · ");
    this.find("which").hidden = sentences.length < 2;
    const options = sentences.map((one, i) => make("option", { value: i }, `${i + 1}. ${one}`));
    this.find("sentence").replaceChildren(...options);
    this.find("sentence").value = this.at;
    const swaps = standIns.map(([known, own]) => `${known} stood for ${own}`);
    this.find("read").hidden = !tokens.length || read === this.asked.trim();
    this.find("read").replaceChildren(
      "The model read: ",
      make("span", { lang: "de" }, read),
      swaps.length ? ` In it ${swaps.join(", ")}.` : "",
    );
  }

  end({ text, ended, chrf, perToken }) {
    if (this.isSilent) {
      const { waiting, isToBeSeen } = this;
      this.withAllHeads = { key: this.asked, text };
      this.ask({ focus: this.focusAt, scroll: isToBeSeen });
      this.waiting = waiting;
      return;
    }
    const none = text ? "" : "(nothing)";
    this.output.textContent = text || none;
    if (!this.off.size && !this.prefix.length) this.withAllHeads = { key: this.asked, text };
    const isRead = this.result.source.length > 0; // else there was nothing for the model
    this.find("after").hidden = !isRead;
    if (isRead) {
      this.words.show(this.result.steps, this.prefix.length);
      this.attention.show(this.result, this.off);
    }
    this.find("undo").hidden = !this.prefix.length;
    this.find("unended").hidden = ended;
    this.find("quality").textContent = isRead
      ? `${this.quality(chrf)}${fixed(perToken, 0)} ms a token on this machine.`
      : "";
    this.compare(text);
    this.say(`Translated: ${text || none}`, true);
    this.isDecoding = false;
    if (this.focusAt !== null) this.words.focus(this.focusAt);
    if (this.waiting && isRead) this.search(this.waiting);
  }

  quality(chrf) {
    if (chrf === null || this.off.size || this.prefix.length) return "";
    return `Translations with this confidence had about ${Math.round(chrf)} of 100 chrF on validation sentences. `;
  }

  compare(text) {
    const box = this.find("off");
    box.hidden = !this.off.size;
    if (!this.off.size) return;
    const names = [...this.off].map((name) => make("li", {}, AttentionView.describe(name)));
    this.find("off-list").replaceChildren(...names);
    const { text: before } = this.withAllHeads;
    const same = "The translation is the same as with all heads.";
    this.find("before").textContent = text === before ? same : `With all heads on: ${before}`;
    this.find("before").hidden = this.prefix.length > 0; // then it differs for another reason, too
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const root = document.querySelector(".live-translator");
  if (root) root.livePage = new LivePage(root);
});
