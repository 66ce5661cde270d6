// A document for Node.js, as far as the site's scripts ask for one: elements, attributes, simple
// selectors, events that bubble, focus, form fields. No layout. Tests read and drive it by `dom`.

const REFLECTED = ["id", "title", "lang", "href", "name", "type", "scope", "src"];
const REFLECTED_FLAGS = ["hidden", "disabled", "open"];

class StandInEvent {
  constructor(type, more = {}) {
    Object.assign(this, { type, defaultPrevented: false }, more);
  }
  preventDefault() { this.defaultPrevented = true; }
}

class StandInText {
  constructor(text) { this.textContent = String(text); }
  remove() { this.parentElement?.take(this); }
}

class StandInElement {
  constructor(tag) {
    this.localName = tag;
    this.tagName = tag.toUpperCase();
    [this.attributes, this.childNodes, this.listeners] = [new Map(), [], {}];
    this.parentElement = null;
    this.dataset = new Proxy({}, {
      get: (_, key) => this.attributes.get(StandInElement.dataName(key)),
      set: (_, key, value) => { this.attributes.set(StandInElement.dataName(key), String(value)); return true; },
      deleteProperty: (_, key) => this.attributes.delete(StandInElement.dataName(key)),
    });
    const shown = new Map();
    this.style = { setProperty: (name, value) => shown.set(name, String(value)), getPropertyValue: (name) => shown.get(name) ?? "" };
    const names = () => (this.attributes.get("class") || "").split(/\s+/).filter(Boolean);
    const put = (all) => this.attributes.set("class", [...new Set(all)].join(" "));
    this.classList = {
      contains: (name) => names().includes(name),
      add: (...more) => put([...names(), ...more]),
      remove: (...less) => put(names().filter((name) => !less.includes(name))),
      toggle: (name, on = !names().includes(name)) => (on ? put([...names(), name]) : put(names().filter((one) => one !== name))),
    };
  }
  static dataName(key) { return `data-${String(key).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`; }

  getAttribute(name) { return this.attributes.has(name) ? this.attributes.get(name) : null; }
  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  removeAttribute(name) { this.attributes.delete(name); }
  hasAttribute(name) { return this.attributes.has(name); }
  get className() { return this.getAttribute("class") || ""; }
  set className(value) { this.setAttribute("class", value); }
  get tabIndex() { return Number(this.getAttribute("tabindex") ?? (/^(a|button|input|select|textarea)$/.test(this.localName) ? 0 : -1)); }
  set tabIndex(value) { this.setAttribute("tabindex", value); }

  get children() { return this.childNodes.filter((child) => child instanceof StandInElement); }
  get firstChild() { return this.childNodes[0] ?? null; }
  get isConnected() { return this === document.documentElement || Boolean(this.parentElement?.isConnected); }
  get textContent() { return this.childNodes.map((child) => child.textContent).join(""); }
  set textContent(text) { this.replaceChildren(...(text === "" ? [] : [text])); }
  get innerHTML() { return this.markup || ""; }
  set innerHTML(markup) { this.replaceChildren(); this.markup = markup; }
  take(child) { this.childNodes = this.childNodes.filter((one) => one !== child); child.parentElement = null; }
  remove() { this.parentElement?.take(this); }
  append(...children) {
    for (const child of children) {
      const node = typeof child === "object" && child ? child : new StandInText(child);
      node.remove();
      node.parentElement = this;
      this.childNodes.push(node);
      if (this === document.head && node.localName === "script") dom.asked.push(node);
    }
  }
  before(sibling) {
    const { parentElement: parent } = this;
    sibling.remove();
    sibling.parentElement = parent;
    parent.childNodes.splice(parent.childNodes.indexOf(this), 0, sibling);
  }
  replaceChildren(...children) {
    if (this.contains(document.activeElement) && this !== document.activeElement) document.activeElement = document.body;
    this.childNodes.slice().forEach((child) => child.remove());
    this.append(...children);
  }
  contains(other) {
    for (let at = other; at; at = at.parentElement) if (at === this) return true;
    return false;
  }

  matches(selector) { return parseSelector(selector).some((steps) => matchesSteps(this, steps)); }
  closest(selector) { return this.matches(selector) ? this : (this.parentElement?.closest(selector) ?? null); }
  querySelectorAll(selector) {
    return this.children.flatMap((child) => [...(child.matches(selector) ? [child] : []), ...child.querySelectorAll(selector)]);
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }

  addEventListener(type, use) { (this.listeners[type] ||= []).push(use); }
  dispatchEvent(event) {
    event.target = this;
    for (let at = this; at; at = at.parentElement) {
      for (const use of at.listeners[event.type] || []) use.call(at, event);
      at[`on${event.type}`]?.(event);
    }
    return !event.defaultPrevented;
  }
  fire(type, more) { return this.dispatchEvent(new StandInEvent(type, more)); }
  // What is hidden, disabled or not in the document takes no focus, as in a browser.
  focus() {
    if (!this.isConnected || this.closest("[hidden]") || this.disabled || (this.tabIndex < 0 && !this.hasAttribute("tabindex"))) return;
    document.activeElement = this;
    this.fire("focusin");
  }
  scrollIntoView() {}
  click() {
    if (this.disabled) return;
    if (this.type === "radio") return dom.change(this, { checked: true });
    if (this.type === "checkbox") return dom.change(this, { checked: !this.checked });
    if (!this.fire("click")) return;
    if (this.localName === "button" && this.type === "submit") this.closest("form")?.fire("submit");
  }

  // Form fields.
  get options() { return this.querySelectorAll("option"); }
  get checked() { return this.isChecked ?? this.hasAttribute("checked"); }
  set checked(value) {
    if (value && this.type === "radio" && this.isConnected) {
      for (const other of document.querySelectorAll(`input[name="${this.name}"]`)) other.isChecked = false;
    }
    this.isChecked = value;
  }
  get value() {
    if (this.localName === "select") return (this.options.find((one) => one.isSelected) ?? this.options.find((one) => one.hasAttribute("selected")) ?? this.options[0])?.value ?? "";
    if (this.localName === "option") return this.getAttribute("value") ?? this.textContent;
    return this.typed ?? this.getAttribute("value") ?? (this.localName === "textarea" ? this.textContent : "");
  }
  set value(value) {
    if (this.localName === "select") this.options.forEach((one) => { one.isSelected = one.value === String(value); });
    else if (this.localName === "option") this.setAttribute("value", value);
    else this.typed = String(value);
  }
}
for (const name of REFLECTED) {
  const fallback = (element) => (name === "type" && element.localName === "button" ? "submit" : "");
  Object.defineProperty(StandInElement.prototype, name, {
    get() { return this.getAttribute(name) ?? fallback(this); },
    set(value) { this.setAttribute(name, value); },
  });
}
for (const name of REFLECTED_FLAGS) {
  Object.defineProperty(StandInElement.prototype, name, {
    get() { return this.hasAttribute(name); },
    set(value) { if (value) this.setAttribute(name, ""); else this.removeAttribute(name); },
  });
}

// A selector as lists of [combinator, test, …]; a part that is not known is an error.
const PART = /^(?:([\w-]+|\*)|\.([\w-]+)|#([\w-]+)|\[([\w-]+)(?:(\^?)=["']?([^"'\]]*)["']?)?\]|:is\(([^)]*)\)|(:checked))/;
const selectors = new Map();
function parseSelector(selector) {
  if (!selectors.has(selector)) selectors.set(selector, selector.split(/,(?![^(]*\))/).map((one) => parseOne(one.trim())));
  return selectors.get(selector);
}
function parseOne(text) {
  const steps = [{ from: " ", tests: [] }];
  for (let rest = text; rest; ) {
    const between = rest.match(/^\s*([>\s])\s*/);
    if (between) {
      steps.push({ from: between[1] === ">" ? ">" : " ", tests: [] });
      rest = rest.slice(between[0].length);
    }
    const found = rest.match(PART);
    if (!found) throw new Error(`the document of the tests does not know the selector ${text}`);
    const [whole, tag, name, id, attribute, begins, value, any, checked] = found;
    steps.at(-1).tests.push((element) => {
      if (tag) return tag === "*" || element.localName === tag;
      if (name) return element.classList.contains(name);
      if (id) return element.id === id;
      if (attribute) {
        const own = element.getAttribute(attribute);
        return element.hasAttribute(attribute) && (value === undefined || (begins ? own.startsWith(value) : own === value));
      }
      return checked ? element.checked : element.matches(any);
    });
    rest = rest.slice(whole.length);
  }
  return steps;
}
function matchesSteps(element, steps) {
  const { from, tests } = steps.at(-1);
  if (!tests.every((test) => test(element))) return false;
  const before = steps.slice(0, -1);
  if (!before.length) return true;
  if (from === ">") return Boolean(element.parentElement && matchesSteps(element.parentElement, before));
  for (let at = element.parentElement; at; at = at.parentElement) if (matchesSteps(at, before)) return true;
  return false;
}

// What tests do to the document. A tree is [tag, attributes, children], a string is text.
globalThis.dom = {
  asked: [], // script elements that were put into the head
  watched: [], // [observer's function, element]
  build(tree) {
    if (typeof tree === "string") return new StandInText(tree);
    const [tag, attributes, children] = tree;
    const element = new StandInElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.map(dom.build));
    return element;
  },
  // A new page with this body.
  open(trees, address = "https://example.org/book/page.html") {
    [dom.asked, dom.watched, document.listeners] = [[], [], {}];
    globalThis.location = new URL(address);
    document.body.replaceChildren(...trees.map(dom.build));
    document.activeElement = document.body;
  },
  begin: () => (document.listeners.DOMContentLoaded || []).forEach((use) => use()),
  find: (selector) => document.querySelector(selector),
  all: (selector) => document.querySelectorAll(selector),
  texts: (selector) => dom.all(selector).map((one) => one.textContent),
  shown: (selector) => dom.all(selector).some((one) => !one.closest("[hidden]")),
  active: () => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent,
  press(key, more = {}) { return document.activeElement.fire("keydown", { key, ...more }); },
  change(field, values) {
    Object.assign(field, values);
    field.fire("input");
    field.fire("change");
  },
  arrive(name, isThere = true) { // a script that was asked for
    const script = dom.asked.find((one) => one.src.endsWith(`/${name}`) && one.isConnected);
    if (isThere) script.onload();
    else script.onerror();
  },
};

globalThis.document = Object.assign(new StandInElement("#document"), {
  currentScript: { src: "https://example.org/_static/live/page.js" },
  createElement: (tag) => new StandInElement(tag),
  createElementNS: (_, tag) => new StandInElement(tag),
  createTextNode: (text) => new StandInText(text),
  getElementById: (id) => document.querySelector(`#${id}`),
});
document.documentElement = new StandInElement("html");
[document.head, document.body] = ["head", "body"].map((tag) => new StandInElement(tag));
document.documentElement.append(document.head, document.body);
document.append(document.documentElement);
document.activeElement = document.body;
class Watcher {
  constructor(use) { this.use = use; }
  observe(element) { dom.watched.push([this.use, element]); }
}
[globalThis.ResizeObserver, globalThis.IntersectionObserver] = [Watcher, Watcher];
globalThis.addEventListener = () => {};
globalThis.location = new URL("https://example.org/book/page.html");
globalThis.history = { replaceState: (_, __, address) => { globalThis.location = new URL(address); } };
class StandInStorage {
  getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; }
  setItem(key, value) { this[key] = String(value); }
  removeItem(key) { delete this[key]; }
}
// Node has one of its own, which wants a file.
Object.defineProperty(globalThis, "localStorage", { value: new StandInStorage(), configurable: true });
delete globalThis.exports; // a page has no modules of Node's, which libraries ask for first
