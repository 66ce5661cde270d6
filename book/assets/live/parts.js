// Small things that the views share.

// An element with properties, attributes (aria-…, data-…, role, scope) and children.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(aria-|data-|role$|scope$|style$)/.test(name)) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

// A token as one says it: without its space, and specials by name.
function spoken(text) {
  const names = { "<eos>": "(end)", "<bos>": "(begin)", " ": "(space)" };
  return names[text] || text.trim() || text;
}

function percent(probability) {
  const hundredths = Math.round(100 * probability);
  if (hundredths === 0) return "under 1 %";
  if (hundredths === 100) return "over 99 %";
  return `${hundredths} %`;
}

// A number with a minus that is one.
function fixed(value, digits) {
  return value.toFixed(digits).replace("-", "−");
}

// One tab stop for many elements: the arrow keys move inside. next(element, key) returns the element
// to go to, or nothing.
function oneTabStop(container, selector, next) {
  const items = () => [...container.querySelectorAll(selector)];
  const enter = (item) => {
    for (const other of items()) other.tabIndex = other === item ? 0 : -1;
  };
  container.addEventListener("focusin", ({ target }) => {
    const item = target.closest(selector);
    if (item) enter(item);
  });
  container.addEventListener("keydown", (event) => {
    const item = event.target.closest(selector);
    const to = item && !event.altKey && next(item, event.key, event.ctrlKey || event.metaKey);
    if (!to) return;
    event.preventDefault();
    enter(to);
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  return { reset: () => enter(items()[0]) };
}
