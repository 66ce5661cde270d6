"""Pages bring the theme's rules that they use, and look as with all of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site.pages import ROOT, SITE, documents, soup

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("site"),
]

PAGES = [
    *("index", "search", "book/translate", "book/05-positions"),
    "exercises/02-self-attention/self-attention",
]
SAMPLE = 200  # elements of a page
#: What elements and their ::before and ::after look like: a checksum for each, or all of one's. A
#: pseudo-element without content isn't there, whatever else is said of it.
LOOKS = """([sample, only]) => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const all = [...document.querySelectorAll("body *")];
  const step = Math.ceil(all.length / sample);
  const elements = all.filter((e, i) => i % step === 0);
  const looks = (e) => [null, "::before", "::after"].flatMap((part) => {
    const style = getComputedStyle(e, part);
    if (part && style.content === "none") return [`${part}: none`];
    return [...style].map((name) => `${part} ${name}: ${style.getPropertyValue(name)}`);
  });
  if (only !== null) return [elements[only].outerHTML.slice(0, 200), looks(elements[only])];
  return elements.map((e) => {
    let sum = 0;
    for (const char of looks(e).sort().join()) sum = (31 * sum + char.codePointAt(0)) | 0;
    return sum;
  });
}"""


@pytest.fixture(scope="module")
def everything() -> str:
    """The style sheet before rules were left out: its files, as site.css names them."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    try:
        from course_site.loading import moved
    finally:
        sys.path.pop(0)
    static = SITE / "_static"
    joined = (static / "site.css").read_text(encoding="utf-8")
    names = re.search(r"/\* (.*?) \*/", joined)[1].split()
    assert "styles/pydata-sphinx-theme.css" in names
    return "\n".join(moved(static, name) for name in names)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_as_with_all_rules(
    name: str, theme: str, server: str, everything: str, new_context: Callable
) -> None:
    """Computed styles are the same: light on a phone, dark on a desktop."""

    def give_all(route: object) -> None:
        route.fulfill(body=everything, content_type="text/css; charset=utf-8")

    width = {"light": 390, "dark": 1280}[theme]
    pages = []
    for with_all in (False, True):
        page = new_context(
            color_scheme=theme, viewport={"width": width, "height": 900}
        ).new_page()
        if with_all:
            page.route(re.compile(r"_static/site\.css"), give_all)
        page.goto(f"{server}{name}.html", wait_until="networkidle")
        page.evaluate("document.fonts.ready.then(() => 0)")
        pages.append(page)
    ours, theirs = (page.evaluate(LOOKS, [SAMPLE, None]) for page in pages)
    assert len(ours) == len(theirs) > SAMPLE / 2
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one != other:
            (element, own), (_, all_of_it) = (
                page.evaluate(LOOKS, [SAMPLE, i]) for page in pages
            )
            pytest.fail(f"{element}: {sorted(set(own) ^ set(all_of_it))[:10]}")
    for page in pages:
        page.close()


def test_most_rules_are_left_out(site: Path, everything: str) -> None:
    """Those that stay are less than half of the bytes."""
    joined = (site / "_static" / "site.css").read_text(encoding="utf-8")
    assert len(joined) < len(everything) / 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (".card{a:b}.gone{a:b}", ".card{a:b}"),
        (".card,.gone .card{a:b}", ".card{a:b}"),
        ("#main>p:is(.x,.y),p.gone{a:b}", "#main>p:is(.x,.y){a:b}"),
        ("p:not(.gone:not(.x)){a:b}", "p:not(.gone:not(.x)){a:b}"),
        ("@media print{.gone{a:b}}", ""),
        ("@media print{.gone{a:b}.card{a:b}}", "@media print{.card{a:b}}"),
        (r".mb\:0{a:b}.bs-tooltip-end{a:b}", r".mb\:0{a:b}.bs-tooltip-end{a:b}"),
        ("@font-face{src:url(gone)}a:hover{a:b}",) * 2,
        ('a[href=".gone"]{a:b}',) * 2,
    ],
)
def test_rules_that_no_page_needs_are_left_out(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is negated, made up by a script, or no class at all, stays."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    from course_site.styles import pruned

    assert pruned(before, {"card", "main", "x"}) == after


def test_without_scripts_colours_are_those_of_the_device(
    server: str, new_context: Callable
) -> None:
    """Light or dark as it asks, as with scripts: page, text, code, drawings, boxes."""
    colours = """() => ["html", "body", "article p", "article p a", "article code", "figcaption",
      "article .highlight", ".highlight .k", "article figure img", "article .cell_output img",
      ".bd-sidebar-primary", "form.quiz", ".quiz-title", "article table td"].map((one) => {
        const element = document.querySelector(one);
        if (!element) throw new Error(`no ${one}`);
        const { color, backgroundColor, filter, borderColor } = getComputedStyle(element);
        return [one, color, backgroundColor, filter, borderColor].join();
      })"""
    looks = {}
    for scripts in (True, False):
        for scheme in ("light", "dark"):
            context = new_context(color_scheme=scheme, java_script_enabled=scripts)
            page = context.new_page()
            page.goto(f"{server}book/08-one-block-many-models.html")
            looks[scripts, scheme] = page.evaluate(colours)
            page.close()
    assert looks[False, "dark"] == looks[True, "dark"]
    assert looks[False, "light"] == looks[True, "light"]
    assert looks[False, "dark"][1] != looks[False, "light"][1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('html[data-theme="dark"] a{b:c}', "html:not([data-theme]) a{b:c}"),
        (
            "html[data-theme=dark],html[data-theme=light]{b:c}",
            "html:not([data-theme]){b:c}",
        ),
        (
            "@media print{[data-theme='dark'] a{b:c}p{b:c}}",
            "@media print{:not([data-theme]) a{b:c}}",
        ),
        ("html,html[data-theme]{b:c}", "html:not([data-theme]){b:c}"),
        ("@font-face{src:url(x)}p{b:c}", ""),
    ],
)
def test_rules_of_a_theme_are_found(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within other rules, too; of a list of selectors, theirs alone."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    from course_site.styles import without_scripts

    assert without_scripts(before, "dark") == after


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_without_elements_for_names_looks_the_same(
    theme: str, server: str, new_context: Callable
) -> None:
    """An element for a name or a mark would have the colour of its block."""
    page = new_context(color_scheme=theme).new_page()
    page.goto(f"{server}book/02-self-attention.html")
    same, keyword = page.evaluate(
        """() => {
          const pre = document.querySelector("article .cell_input .highlight pre");
          const looks = (kind) => {
            const span = document.createElement("span");
            span.className = kind;
            pre.append(span);
            const { color, fontWeight, fontStyle, backgroundColor } = getComputedStyle(span);
            return [color, fontWeight, fontStyle, backgroundColor].join();
          };
          const plain = ["n", "p", "w", "nn"].every((kind) => looks(kind) === looks(""));
          return [plain, looks("k") === looks("")];
        }"""
    )
    assert same
    assert not keyword


def test_code_has_no_elements_without_a_colour_of_their_own() -> None:
    """On no page; keywords and strings keep theirs."""
    for name in documents():
        code = soup(name).select(".highlight pre")
        kinds = {
            kind for block in code for e in block("span") for kind in e.get("class", [])
        }
        assert not kinds & {"n", "p", "w", "nn"}, name
    assert {"k", "s2", "o"} <= {
        kind
        for e in soup("book/02-self-attention").select(".highlight pre span")
        for kind in e.get("class", [])
    }
