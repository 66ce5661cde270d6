"""Wherever the focus is, one sees it: on every page of the site, in both themes.

test_behaviour.py goes through a chapter with the Tab key. Here the focus is set by a script, once
on each kind of element: kinds are told apart by their tags and classes, up to the root, since
styles are. A browser shows a script's focus as the keyboard's, if the keyboard was used last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site.pages import SPECIAL, documents

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

OPEN = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  document.documentElement.dataset.script = "off"; // what waits for a guess is shown
}"""
#: The translator's controls, with a short sentence in them, as if it had been translated.
TRANSLATED = """() => {
  const page = document.querySelector(".live-translator")?.livePage;
  if (!page) return;
  LiveData.manifest = { model: { heads: 1, encoderLayers: 1, decoderLayers: 1 } };
  page.ready();
  page.asked = "Hund. Hund.";
  const read = { sentences: ["Hund.", "Hund."], read: "Hund.", standIns: [] };
  page.begin({ text: "dog", tokens: ["Hund"], weights: [[[1]]], notes: [], ...read });
  const step = { id: 3, text: " dog", logP: -1, self: [[[1]]], cross: [[[1]]] };
  step.top = [step, { ...step, id: 4 }];
  page.result.steps.push(step);
  page.prefix = [3];
  page.off.add("cross 0 0");
  page.end({ text: "dog", ended: false, chrf: null, perToken: 1 });
  page.words.open(0, page.words.tokens.querySelector("button"));
  const node = { parent: -1, id: 3, text: " dog", logP: -1, length: 1, fate: "kept" };
  const one = { node: 0, tokens: [3], text: "dog", logP: -1, score: -1, ended: true };
  page.beam.show({ alpha: 1, nodes: [node], hypotheses: [one] });
  page.find("loading").hidden = false;
}"""
#: Each kind that is not in `known` is given the focus; returns the kinds, and those unseen.
UNSEEN = """(known) => {
  const kindOf = (element) => {
    const steps = [];
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const more = ["type", "role"].map((name) => at.getAttribute(name)).filter(Boolean);
      // The theme takes this class away as soon as its script runs.
      const classes = [...at.classList].filter((name) => name !== "pst-js-only").sort();
      steps.push([at.localName, ...classes, ...more].join("."));
    }
    return steps.join(" < ");
  };
  const look = (element) => {
    // Of a field that is hidden from sight one sees the label.
    const isHidden = element.matches(".visually-hidden, .visually-hidden *");
    const seen = isHidden ? element.closest("label") : element;
    return [seen, element.parentElement].filter(Boolean).map((one) => {
      const style = getComputedStyle(one);
      const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
      return `${outlined && style.outline} ${style.boxShadow}`;
    });
  };
  const found = { kinds: [], unseen: [], notVisible: [] };
  const all = "a[href], button, input, select, textarea, summary, [tabindex]";
  const seen = new Set(known);
  for (const element of document.querySelectorAll(all)) {
    if (element.disabled || element.tabIndex < 0) continue;
    const kind = kindOf(element);
    if (seen.has(kind)) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    seen.add(kind);
    document.activeElement.blur();
    found.kinds.push(kind);
    const before = look(element);
    element.focus({ preventScroll: true });
    if (document.activeElement !== element) continue;
    if (!element.matches(":focus-visible")) found.notVisible.push(kind);
    const after = look(element);
    if (after.every((one, i) => one === before[i])) found.unseen.push(kind);
  }
  return found;
}"""


def unseen(page: object, theme: str, known: set[str]) -> list[str]:
    """Give the focus to what is of no known kind, and make it known; return what stays as it is."""
    page.evaluate("(name) => { document.documentElement.dataset.theme = name; }", theme)
    found = page.evaluate(UNSEEN, list(known))
    known.update(found["kinds"])
    assert not found["notVisible"], "the browser takes the focus for a mouse's"
    return found["unseen"]


def opened(page: object, address: str) -> None:
    """Open a page with all that is folded or waits for the reader, and press a key."""
    page.goto(address, wait_until="domcontentloaded")
    page.evaluate(OPEN)
    page.evaluate(TRANSLATED)
    page.keyboard.press("Tab")


@pytest.fixture
def page(new_context: Callable) -> object:
    """A browser's page that loads neither images nor fonts."""
    page = new_context().new_page()
    page.route("**/*.{png,svg,woff2}", lambda route: route.abort())
    return page


def test_the_focus_is_seen_on_every_page(site: Path, page: object) -> None:
    """An outline or a shadow that was not there before."""
    known: dict[str, set[str]] = {"light": set(), "dark": set()}
    problems = []
    for name in [*documents(), *SPECIAL]:
        opened(page, f"{site.as_uri()}/{name}.html")
        for theme, kinds in known.items():
            before = len(kinds)
            problems += [
                f"{name}, {theme}: {kind}" for kind in unseen(page, theme, kinds)
            ]
            if len(kinds) == before:
                break  # what is not new in one theme is not in the other
    assert not problems, "\n".join(problems)
    assert len(known["light"]) > 100
    assert known["light"] - known["dark"] == set()


def test_a_focus_that_is_not_seen_is_found(site: Path, page: object) -> None:
    """Where a style takes outlines and shadows away, every kind is named."""
    opened(page, f"{site.as_uri()}/book/translate.html")
    page.add_style_tag(
        content="* { outline: none !important; box-shadow: none !important; }"
    )
    known: set[str] = set()
    assert set(unseen(page, "light", known)) == known
    assert [kind for kind in known if ".live-token" in kind], (
        "with the translator at work"
    )
    assert [kind for kind in known if "treeitem" in kind]
