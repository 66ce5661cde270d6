// What was read and answered: kept on this device, shown in the sidebar and on the landing page.
// Keys are those of course.js, with the address of the page; "read:", "seen:" and "here" are set here.
const READ = "read:";
const SEEN = "seen:";
const HERE = "progress:here";

const courseRoot = new URL(document.documentElement.dataset.content_root || "./", location.href);
const addressOf = (page) => new URL(`${page}.html`, courseRoot).pathname;
const keyOf = (page, task) => task.replace(":", `:${addressOf(page)}#`);

function progressOf(page) {
  const { tasks } = courseTasks[page];
  const done = tasks.filter((task) => localStorage.getItem(keyOf(page, task)) !== null).length;
  return { done, all: tasks.length, read: localStorage.getItem(READ + addressOf(page)) !== null };
}

// The headings that came into view, by their sections' ids.
const seenOf = (page) => JSON.parse(localStorage.getItem(SEEN + addressOf(page)) || "[]");

function sentenceOf({ done, all, read }) {
  return `${read ? "read, " : ""}${done} of ${all} questions answered`;
}

const begun = (progress) => progress.read || progress.done > 0;

// A heading as one reads it: a formula once, and no link to itself.
const titleOf = (heading) =>
  [...heading.childNodes]
    .map((node) => {
      if (node.matches?.(".headerlink, .katex-html")) return "";
      const text = node.childNodes?.length ? titleOf(node) : node.textContent;
      return node.localName === "msqrt" ? `√${text}` : text;
    })
    .join("");

// In a chapter: where the reader is. It is read when its end and most of its headings were in view, on
// whatever visit: a link to its end alone does not make it so.
function followReader(page) {
  const address = addressOf(page);
  const places = [...document.querySelectorAll("article section > :is(h1, h2, h3)")];
  const headings = places.filter((heading) => heading.localName !== "h3");
  const ids = new Map(places.map((heading) => [heading, heading.parentElement.id]));
  const seen = new Set(seenOf(page));
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      const id = ids.get(target);
      localStorage.setItem(HERE, JSON.stringify({ page, id, title: titleOf(target) }));
      seen.add(id);
    }
    localStorage.setItem(SEEN + address, JSON.stringify([...seen]));
    const ofThese = headings.filter((heading) => seen.has(ids.get(heading)));
    if (ofThese.includes(headings.at(-1)) && ofThese.length > headings.length / 2) localStorage.setItem(READ + address, "1");
    markSidebar();
  });
  places.forEach((heading) => watch.observe(heading));
  document.querySelector("article").addEventListener("submit", () => setTimeout(markSidebar));
}

function markSidebar() {
  for (const link of document.querySelectorAll(".bd-docs-nav a.internal")) {
    const page = Object.keys(courseTasks).find((one) => addressOf(one) === link.pathname);
    const progress = page && progressOf(page);
    let mark = link.querySelector(".progress-mark");
    if (!progress || !begun(progress)) {
      if (mark) mark.remove();
      continue;
    }
    if (!mark) {
      mark = document.createElement("span");
      mark.className = "progress-mark";
      link.append(mark);
    }
    const whole = progress.read && progress.done === progress.all;
    const short = document.createElement("span");
    short.setAttribute("aria-hidden", "true");
    short.textContent = whole ? "✓" : `${progress.done}/${progress.all}`;
    const long = document.createElement("span");
    long.className = "visually-hidden";
    long.textContent = ` (${sentenceOf(progress)})`;
    mark.replaceChildren(short, long);
  }
}

// What is kept, by page and not by address, so that it can move to another device.
function exported() {
  const pages = {};
  for (const [page, { tasks }] of Object.entries(courseTasks)) {
    const answers = tasks.map((task) => [task, localStorage.getItem(keyOf(page, task))]);
    const kept = Object.fromEntries(answers.filter(([, answer]) => answer !== null));
    const read = localStorage.getItem(READ + addressOf(page)) !== null;
    const seen = seenOf(page);
    if (seen.length || Object.keys(kept).length) pages[page] = { read, seen, answers: kept };
  }
  return { course: "Attention, built", version: 1, here: JSON.parse(localStorage.getItem(HERE)), pages };
}

// The keys and values in an exported file; an Error says what is wrong with it.
function imported(text) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error("this file is no JSON: choose one that was saved here.");
  }
  if (!data || data.version !== 1 || typeof data.pages !== "object" || !data.pages) {
    throw new Error("this file holds no progress in this course: choose one that was saved here.");
  }
  const found = [];
  for (const [page, kept] of Object.entries(data.pages)) {
    const known = courseTasks[page];
    if (!known || typeof kept !== "object" || !kept) continue; // of another edition
    if (kept.read === true) found.push([READ + addressOf(page), "1"]);
    if (Array.isArray(kept.seen)) found.push([SEEN + addressOf(page), JSON.stringify(kept.seen)]);
    for (const task of known.tasks) {
      const answer = (kept.answers || {})[task];
      if (typeof answer === "string") found.push([keyOf(page, task), answer]);
    }
  }
  const { page, id, title } = data.here || {};
  if (courseTasks[page] && typeof id === "string" && typeof title === "string") {
    found.push([HERE, JSON.stringify({ page, id, title })]);
  }
  return found;
}

function forget() {
  const own = (key) => key === HERE || /^(quiz|predict|read|seen):/.test(key);
  Object.keys(localStorage).filter(own).forEach((key) => localStorage.removeItem(key));
}

// The landing page: go on where one was; each chapter's state; save, load, forget.
function setUpProgress(panel) {
  const field = (name) => panel.querySelector(`[data-progress-${name}]`);
  const status = field("status");
  const states = [...document.querySelectorAll("ol.syllabus li")].map((item) => item.querySelector(".state"));

  function show() {
    const here = JSON.parse(localStorage.getItem(HERE) || "null");
    const link = field("continue");
    const known = here && courseTasks[here.page];
    panel.classList.toggle("is-empty", !Object.keys(courseTasks).some((page) => begun(progressOf(page))) && !known);
    link.hidden = !known;
    if (known) {
      link.href = `${new URL(`${here.page}.html`, courseRoot)}#${encodeURIComponent(here.id)}`;
      link.textContent = known.title === here.title ? `Go on with ${known.title}` : `Go on with ${known.title}: ${here.title}`;
    }
    Object.keys(courseTasks).forEach((page, n) => {
      const progress = progressOf(page);
      if (states[n]) states[n].textContent = begun(progress) ? sentenceOf(progress) : "";
    });
    markSidebar();
  }

  field("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" }));
    link.download = "attention-course-progress.json";
    link.click();
    URL.revokeObjectURL(link.href);
    status.textContent = "Saved. Load the file on another device to go on there.";
  });
  field("load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (!file) return;
    try {
      const found = imported(await file.text());
      for (const [key, value] of found) localStorage.setItem(key, value);
      status.textContent = found.length ? "Loaded." : "Nothing in this file belongs to this edition of the course.";
    } catch (error) {
      status.textContent = `Not loaded: ${error.message}`;
    }
    show();
  });
  const button = field("forget");
  button.addEventListener("click", () => {
    if (button.dataset.sure) {
      forget();
      status.textContent = "Forgotten.";
      delete button.dataset.sure;
      button.textContent = "Forget all";
    } else {
      button.dataset.sure = "yes";
      button.textContent = "Forget all: press again to be sure";
    }
    show();
  });
  if (document.documentElement.dataset.keeps === "nothing") {
    panel.querySelector("#progress-title").textContent = "This browser lets the site keep nothing: your progress is forgotten when you leave a page.";
  }
  panel.hidden = false;
  show();
}

document.addEventListener("DOMContentLoaded", () => {
  const page = Object.keys(courseTasks).find((one) => addressOf(one) === location.pathname);
  markSidebar();
  if (page) followReader(page);
  const panel = document.querySelector(".course-progress");
  if (panel) setUpProgress(panel);
});
