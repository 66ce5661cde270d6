// A quiz: choose, check, read why. What was chosen is remembered on this device.
function setUpQuiz(form) {
  const key = `quiz:${location.pathname}#${form.id}`;
  const button = form.querySelector(".quiz-check");
  const verdict = form.querySelector(".quiz-verdict");
  const choices = [...form.querySelectorAll(".quiz-choice")];
  const radio = (choice) => choice.querySelector("input");

  function clear() {
    verdict.textContent = "";
    for (const choice of choices) {
      choice.classList.remove("is-right", "is-wrong");
      choice.querySelector(".quiz-why").open = false;
    }
  }

  form.classList.add("quiz-live");
  button.hidden = false;
  form.addEventListener("change", clear);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clear();
    const chosen = choices.find((choice) => radio(choice).checked);
    if (!chosen) {
      verdict.textContent = "Choose an answer first.";
      return;
    }
    const right = chosen.dataset.right === "true";
    chosen.classList.add(right ? "is-right" : "is-wrong");
    chosen.querySelector(".quiz-why").open = true;
    verdict.textContent = right ? "Right: read why above." : "Not yet: read why above, then try again.";
    localStorage.setItem(key, radio(chosen).value);
  });
  const before = localStorage.getItem(key);
  for (const choice of choices) {
    if (radio(choice).value === before) radio(choice).checked = true;
  }
}

// Predict first: a guess opens what the next cell printed, and is remembered on this device.
function setUpPredict(form) {
  const key = `predict:${location.pathname}#${form.id}`;
  const button = form.querySelector(".quiz-check");
  const verdict = form.querySelector(".predict-verdict");
  const folded = [...document.querySelectorAll(`.of-${form.id}`)];
  const line = form.querySelector("input[type=text]");
  const radios = [...form.querySelectorAll("input[type=radio]")];

  function show(guess) {
    for (const part of folded) part.classList.add("is-shown");
    for (const radio of radios) radio.checked = radio.value === guess;
    if (line) line.value = guess;
    button.textContent = "Change my guess";
    verdict.textContent = "You have guessed. Compare it with what happens below.";
  }

  button.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = radios.find((radio) => radio.checked);
    const guess = line ? line.value.trim() : chosen && chosen.value;
    if (!guess) {
      verdict.textContent = "Guess first: a wrong guess teaches more than none.";
      return;
    }
    show(guess);
    localStorage.setItem(key, guess); // last: a full store is an error
  });
  const before = localStorage.getItem(key);
  if (before) show(before);
  // A link that leads to a folded place opens it.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && folded.some((part) => part.contains(target))) {
      for (const part of folded) part.classList.add("is-shown");
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();
}

// A table wider than the screen scrolls inside its own box, also by keyboard.
function setUpTable(table) {
  const box = document.createElement("div");
  box.className = "table-scroll";
  table.before(box);
  box.append(table);
  setUpFade(box, (wide) => {
    if (wide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
}

// Likewise a formula or a figure; what fits is no stop for the Tab key.
function setUpBox(box, name) {
  setUpFade(box, (wide) => {
    for (const [attribute, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", name]]) {
      if (wide) box.setAttribute(attribute, value);
      else box.removeAttribute(attribute);
    }
  });
}

// What goes on to the right fades there, or nobody would know: a phone shows no scroll bar.
function setUpFade(box, update = () => {}) {
  const fade = () => box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(() => {
    update(box.scrollWidth > box.clientWidth);
    fade();
  }).observe(box);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("form.quiz").forEach(setUpQuiz);
  document.querySelectorAll("form.predict").forEach(setUpPredict);
  document.querySelectorAll(".bd-article table").forEach(setUpTable);
  document.querySelectorAll(".bd-article .formula-box").forEach((box) => setUpBox(box, "Wide formula"));
  document.querySelectorAll(".bd-article .figure-box").forEach((box) => setUpBox(box, "Wide figure"));
  document.querySelectorAll(".bd-article div.highlight > pre").forEach((box) => setUpFade(box));
});
