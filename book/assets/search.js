// The search page: sections of all pages (course-sections.js), found by MiniSearch.
// Titles count more than headings within a page, and those more than text.
const SEARCH = { boost: { heading: 6, terms: 4, page: 2, text: 1 }, most: 30, around: 90 };

// Of a question, these say nothing about what is asked.
const FILLERS = new Set("a an and are can do does for how i in is it of on the to what when where which why with".split(" "));

// "Heads" finds "head", "penalty" finds "penalties", "normalization" finds "normalisation".
function searchTerm(word) {
  const lower = word.toLowerCase().replace(/[’']s$/, "").replace(/iz(?=e|ing|ation)/, "is");
  const one = lower.replace(/(?<=..)ies$/, "y").replace(/(ss|sh|ch|x|z)es$/, "$1");
  return lower.length > 3 ? one.replace(/([^su])s$/, "$1") : lower;
}

// A word with a hyphen or an underscore is found in one word, too: warm-up, warmup, W_O.
function searchWords(text) {
  const joined = text.match(/\p{L}+(?:[-‐_]\p{L}+)+/gu) || [];
  return [...text.split(/[^\p{L}\p{N}]+/u), ...joined.map((word) => word.replace(/[-‐_]/g, ""))];
}

// Chapters explain; traps, exercises and pages for teachers come after them.
function weightOf(url) {
  if (/^book\/0/.test(url)) return 1;
  if (/^exercises/.test(url)) return 0.1; // a task's title has the words that its chapter explains
  return /^book\/(traps|notation|setup|translate)/.test(url) ? 0.7 : 0.3;
}

function makeIndex(sections) {
  const known = new Set(); // these words aren't misspelt
  const index = new MiniSearch({
    fields: ["heading", "terms", "page", "text"],
    tokenize: searchWords,
    processTerm: (word) => {
      const term = searchTerm(word);
      known.add(term);
      return term;
    },
    searchOptions: {
      boost: SEARCH.boost,
      prefix: (word) => word.length > 2,
      fuzzy: (word) => (word.length > 5 && !known.has(word) ? 0.15 : false),
      boostDocument: (id) => weightOf(sections[id].url),
    },
  });
  index.addAll(sections.map((section, id) => ({ id, ...section })));
  return index;
}

const words = (text) => text.toLowerCase().replace(/[-‐–]/g, " ");

// The more of the words a section has, the sooner it comes; first, where the query is its heading, or
// all that is asked about is a term that it introduces.
function findSections(index, sections, query) {
  const found = index.search(query, { processTerm: (word) => (FILLERS.has(word.toLowerCase()) ? null : searchTerm(word)) });
  const most = Math.max(...found.map((one) => one.queryTerms.length));
  const phrase = words(query).trim();
  const terms = (text) => searchWords(text).map(searchTerm).filter((word) => word && !FILLERS.has(word)).join(" ");
  const asked = terms(query);
  for (const one of found) {
    one.score *= (one.queryTerms.length / most) ** 3;
    const { url, heading, text, terms: introduced } = sections[one.id];
    const isChapter = url.startsWith("book/0"); // elsewhere, what is bold is no new word
    if (isChapter && introduced.split(", ").some((term) => terms(term) === asked)) one.score *= 3;
    if (sections.filter((section) => section.heading === heading).length > 3) one.score *= 0.4; // Summary
    if (words(heading).includes(phrase)) one.score *= url.startsWith("exercises") ? 6 : 3;
    else if (words(text).includes(phrase)) one.score *= 1.5;
  }
  return found.sort((a, b) => b.score - a.score).slice(0, SEARCH.most);
}

// A pattern of words that begin with one of the terms, or with its plural.
function patternOf(terms) {
  const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/y$/, "(?:y|ies)"));
  return new RegExp(`(?<![\\p{L}\\d])((?:${escaped.join("|")})[\\p{L}\\d]*)`, "iu");
}

// Append a text to an element, with the words of a pattern marked.
function appendMarked(element, text, pattern) {
  text.split(new RegExp(pattern, "giu")).forEach((piece, n) => {
    const part = n % 2 ? document.createElement("mark") : document.createTextNode(piece);
    if (n % 2) part.textContent = piece;
    element.append(part);
  });
}

// The text around the first of the words.
function excerpt(text, pattern) {
  const at = Math.max(text.search(pattern), 0);
  let begin = Math.max(at - SEARCH.around, 0);
  if (begin) begin = text.indexOf(" ", begin) + 1;
  let end = Math.min(at + 2 * SEARCH.around, text.length);
  if (end < text.length) end = text.lastIndexOf(" ", end);
  const line = document.createElement("p");
  line.className = "search-excerpt";
  appendMarked(line, `${begin ? "… " : ""}${text.slice(begin, end)}${end < text.length ? " …" : ""}`, pattern);
  return line;
}

function resultOf(section, pattern) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = section.url;
  appendMarked(link, section.heading, pattern);
  item.append(link);
  if (section.page !== section.heading) {
    const where = document.createElement("span");
    where.className = "search-page";
    where.textContent = section.page;
    item.append(where);
  }
  if (section.text) item.append(excerpt(section.text, pattern));
  return item;
}

function setUpSearch(place) {
  const field = document.querySelector(".bd-search-container form.bd-search input");
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  const list = document.createElement("ol");
  list.className = "search-sections";
  place.append(status, list);
  const index = makeIndex(courseSections);

  function show(query) {
    const found = query.trim() ? findSections(index, courseSections, query) : [];
    const pattern = (one) => patternOf([...new Set([...one.terms, ...one.queryTerms])]);
    list.replaceChildren(...found.map((one) => resultOf(courseSections[one.id], pattern(one))));
    if (!query.trim()) status.textContent = "";
    else if (!found.length) status.textContent = `No section has “${query.trim()}”. Try another word for it.`;
    else if (found.length === SEARCH.most) status.textContent = `The ${SEARCH.most} best sections`;
    else status.textContent = found.length === 1 ? "One section" : `${found.length} sections`;
  }

  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const address = new URL(location.href);
      address.searchParams.set("q", field.value);
      history.replaceState(null, "", address);
      show(field.value);
    }, 150);
  });
  field.value = new URLSearchParams(location.search).get("q") || "";
  show(field.value);
}

// Behind the scripts that it needs, which wait as well.
document.addEventListener("DOMContentLoaded", () => setUpSearch(document.getElementById("search-results")));
