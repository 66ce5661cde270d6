"""axe-core on a page of the site: serious and critical findings, each asked for once."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT

PASSED_OVER = {"minor", "moderate"}
# preload would fetch style sheets anew, which a page from the disk may not do.
OPTIONS = {"preload": False, "resultTypes": ["violations"]}

#: axe parses the colours of all ancestors for each text: thousands of times the same dozen.
REMEMBER_COLOURS = """
() => {
  const { prototype } = axe.commons.color.Color, parse = prototype.parseString;
  const known = new Map();
  prototype.parseString = function (text) {
    const found = known.get(text);
    if (found) [this.r, this.g, this.b, this.alpha] = found;
    else parse.call(this, text);
    known.set(text, [this.r, this.g, this.b, this.alpha]);
    return this;
  };
}"""

#: Contrast depends on a text's colour and shadow, on what is painted behind it, and on whether it
#: is large. Of code and formulas, which have thousands of elements, those go that look like texts
#: that stay, up to three, and get a verdict: they are seen, and have two letters, since axe passes
#: over a single one. A formula's own do not count: where they overlap axe doesn't know.
#: A formula leaves a box of its size, so that what scrolls still does.
THIN_OUT = """
(part) => {
  const root = part ? document.querySelector(part) : document.body;
  const painted = new Map([[null, ""]]);
  const behind = (e) => {
    if (!painted.has(e)) {
      const { backgroundColor, backgroundImage, opacity, mixBlendMode } = getComputedStyle(e);
      const own = [backgroundColor, backgroundImage, opacity, mixBlendMode].join();
      const nothing = own === "rgba(0, 0, 0, 0),none,1,normal";
      painted.set(e, behind(e.parentElement) + (nothing ? "" : `/${own}`));
    }
    return painted.get(e);
  };
  const look = (e) => {
    const { color, textShadow, fontSize, fontWeight } = getComputedStyle(e);
    const points = 0.75 * parseFloat(fontSize);
    const large = points >= (fontWeight >= 700 ? 14 : 18);
    return [color, textShadow, large, behind(e)].join();
  };
  const written = (e) => [...e.childNodes].reduce(
    (all, node) => (node.nodeType === Node.TEXT_NODE ? all + node.data : all), "").trim();
  const seen = (e) => {
    const place = e.getBoundingClientRect();
    const box = e.closest("pre, .formula-box, .table-scroll")?.getBoundingClientRect();
    return place.width && (!box || (place.left >= box.left && place.right <= box.right))
      && e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const looks = new Map(), standFor = new Map();
  for (const e of root.querySelectorAll("*")) {
    const text = e.closest("svg, .katex-mathml") ? "" : written(e);
    if (!text) continue;
    looks.set(e, look(e));
    const others = standFor.get(looks.get(e)) ?? [];
    if (text.length > 1 && others.length < 3 && !e.closest(".katex-html") && seen(e))
      standFor.set(looks.get(e), [...others, e]);
  }
  const stays = new Set([...standFor.values()].flat());
  const like = (e) => !stays.has(e) && (!looks.has(e) || standFor.has(looks.get(e)));
  const alike = (e) => !e.firstElementChild && like(e);
  const code = [...root.querySelectorAll(".highlight pre span")].filter(alike);
  const drawn = [...root.querySelectorAll(".katex-html")]
    .filter((e) => [e, ...e.querySelectorAll("*")].every(like)
      && !e.querySelector("a, [tabindex]"));
  const sizes = drawn.map((e) => {
    const { width, height } = e.getBoundingClientRect();
    return [Math.max(width, e.scrollWidth), height];
  });
  code.forEach((e) => e.replaceWith(e.textContent));
  drawn.forEach((e, i) => {
    const [width, height] = sizes[i];
    e.textContent = "";
    e.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px;`;
  });
}"""


def violations(page: object, part: str | None = None) -> list[str]:
    """Return axe-core's serious and critical findings, on a page or on a part of it.

    Changes the page: most of its code loses its colours, most of its formulas what is drawn.
    """
    page.evaluate(THIN_OUT, part)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.evaluate(REMEMBER_COLOURS)
    found = page.evaluate(
        "([part, options]) => axe.run(part || document, options)", [part, OPTIONS]
    )
    return [
        f"{v['id']} ({v['impact']}): {node['target']} {node['html'][:200]}"
        for v in found["violations"]
        if v["impact"] not in PASSED_OVER
        for node in v["nodes"][:5]
    ]
