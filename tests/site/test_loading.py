"""What a page loads before it can be read: few bytes, few requests, nothing that blocks or jumps.

Bounds are on what makes a page slow on a phone, not on seconds, which depend on the machine. Bytes
are as a server sends them, compressed; the figures that a chapter draws are not counted.
"""

from __future__ import annotations

import base64
import gzip
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest
from fontTools.ttLib import TTFont

from tests.conftest import CHROMIUM_FLAGS
from tests.site.pages import PREFIX, SPECIAL, documents, soup
from tools import chromium

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("site")]

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1350, "height": 940}
COMPRESSED = {".html", ".css", ".js", ".svg"}
KIB = 1024
#: Measured: 85 for the landing page; 140 to 215 for chapters without their figures' data.
MOST = {"index": 110 * KIB}
MOST_ELSEWHERE = 290 * KIB
MOST_STYLE = 50 * KIB  # measured: 36; 78 with all that the theme brings
#: Style and layout of its elements are most of what a page costs a phone. Measured: 7,600 to
#: 12,800 in chapters, 10,600 to 17,000 on pages of exercises; at most 22,200 and 27,300 where each
#: name in code had its own.
MOST_ELEMENTS = {"book": 14_000, "exercises": 18_500, "index": 1000}
LEAST_STYLE = 10 * KIB
SHIFT = 0.05
SEARCH = {"minisearch.js", "course-sections.js", "search.js"}
WATCH_SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""
FORMULAS = "article .math"


def weight(path: Path) -> int:
    """Return the bytes of a file as a server sends it."""
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in COMPRESSED else len(data)


@pytest.mark.parametrize("name", documents())
def test_a_page_loads_little_and_does_not_jump(
    name: str, server: str, site: Path, new_context: Callable
) -> None:
    """On a phone: bytes and requests without figures, and the browser's own measure of jumps."""
    page = new_context(viewport=PHONE).new_page()
    asked = []
    page.on("request", lambda request: asked.append(urlparse(request.url).path))
    page.add_init_script(WATCH_SHIFTS)
    page.goto(f"{server}{name}.html", wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => 0)")
    files = {path.removeprefix(PREFIX) for path in asked}
    files = {file for file in files if not file.startswith("_images/")}
    assert f"{name}.html" in files
    total = sum(weight(site / file) for file in files)
    assert total <= MOST.get(name, MOST_ELSEWHERE), (total // KIB, sorted(files))
    scripts = {file for file in files if file.endswith(".js")}
    own = {file for file in scripts if file.startswith("_static/live/")}
    assert scripts - own == {"_static/site.js"}
    live = {element["data-live"] for element in soup(name).select("[data-live]")}
    assert bool(own) == (bool(live) or name == "book/translate")
    figures = {Path(file).stem for file in own if "/figures/" in file}
    assert figures == live
    files -= own | {"_static/live/live.css"}
    fonts = {file for file in files if file.endswith((".woff", ".woff2", ".ttf"))}
    assert all("/katex/" in file for file in fonts), "icons are in the style sheet"
    assert not fonts or soup(name).select(FORMULAS), "only where a formula is"
    # The page, its style, its script, the logo, KaTeX's style; the logos of the launch menu.
    assert len(files - fonts) <= 8, sorted(files)
    assert page.evaluate("shifts") < SHIFT


@pytest.fixture(scope="module")
def with_scrollbars(browser: object) -> Iterator[object]:
    """A browser as on a desktop, where a scrollbar takes room; playwright's has none."""
    launched = browser.browser_type.launch(
        executable_path=chromium.find(),
        args=CHROMIUM_FLAGS,
        ignore_default_args=["--hide-scrollbars"],
    )
    yield launched
    launched.close()


@pytest.mark.parametrize("first", [12_000, 16_000, 25_000])
def test_a_page_does_not_jump_when_its_rest_arrives(
    first: int, server: str, with_scrollbars: object
) -> None:
    """On a desktop: a page that begins shorter than the window gets its scrollbar later."""
    page = with_scrollbars.new_page(viewport=DESKTOP)
    page.add_init_script(WATCH_SHIFTS)
    page.goto(
        f"{server}book/02-self-attention.html?first={first}", wait_until="networkidle"
    )
    assert page.evaluate("innerWidth - document.documentElement.clientWidth") > 0
    assert page.evaluate("shifts") < SHIFT / 5
    page.close()


@pytest.mark.parametrize("name", documents())
def test_a_page_has_few_elements(name: str) -> None:
    """Lighthouse's other causes of a slow page are bytes and what blocks: see above and below."""
    assert len(soup(name).find_all()) <= MOST_ELEMENTS[name.split("/")[0]]


def test_the_style_sheet_is_small(site: Path) -> None:
    """Each page reads it before it shows anything."""
    assert weight(site / "_static" / "site.css") <= MOST_STYLE


@pytest.mark.parametrize("name", [*documents(), *SPECIAL])
def test_nothing_in_the_head_blocks_a_page(name: str) -> None:
    """Scripts wait; style sheets are the joined one and, for formulas, KaTeX's."""
    page = soup(name)
    scripts = page.select("script[src]")
    assert scripts
    assert all(s.has_attr("defer") or s.has_attr("async") for s in scripts)
    files = [Path(urlparse(s["src"]).path) for s in scripts]
    sources = {file.name for file in files if file.parent.name != "live"}
    assert bool(sources & SEARCH) == (name == "search")
    assert not [s for s in sources if re.search("mathjax|fontawesome|require", s, re.I)]
    assert "MathJax" not in str(page.head)
    styles = [
        Path(urlparse(link["href"]).path).name
        for link in page.select("link[rel=stylesheet]")
        if not link.find_parent("noscript")
    ]
    expected = ["site.css"]
    if page.select(FORMULAS):
        expected.append("katex-swap.min.css")
    if name == "book/translate":
        expected.append("live.css")
    assert sorted(styles) == sorted(expected)


@pytest.mark.parametrize("name", documents())
def test_images_have_a_place_and_wait_until_they_come_near(
    name: str, server: str, new_context: Callable
) -> None:
    """All but the first: at the top of a chapter, most of its drawings have not been asked for."""
    images = soup(name).select("article img[src*=_images]")
    assert all(image.has_attr("width") and image.has_attr("height") for image in images)
    waiting = [image for image in images if image.get("loading") == "lazy"]
    assert len(waiting) == max(0, len(images) - 1)
    if len(images) < 12:
        return
    page = new_context(viewport=PHONE).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server}{name}.html", wait_until="networkidle")
    near = [url for url in asked if "/_images/" in url]
    assert len(near) < len(images) / 2
    last = page.locator("article img[src*=_images]").last
    box = last.bounding_box()
    last.scroll_into_view_if_needed()
    page.wait_for_function(
        "e => e.complete && e.naturalWidth > 0", arg=last.element_handle()
    )
    height = last.bounding_box()["height"]
    assert abs(height - box["height"]) < 1, "it had its place before"


def test_code_that_scrolls_is_a_tab_stop_once_its_fold_opens(
    server: str, new_context: Callable
) -> None:
    """The theme does not measure what is folded; opened, it is reached by keyboard."""
    page = new_context(viewport=PHONE).new_page()
    page.goto(f"{server}book/07-translator.html", wait_until="networkidle")
    folded = page.locator("article details:not([open]) pre")
    assert folded.count() > 10
    assert page.locator("article details:not([open]) pre[tabindex]").count() == 0
    fold = page.locator("article details:not([open]):has(pre)").first
    code = fold.locator("pre").first.element_handle()
    fold.locator("summary").first.click()
    page.wait_for_function("pre => pre.hasAttribute('tabindex')", arg=code)
    wide = code.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    assert code.evaluate("pre => pre.tabIndex") == (0 if wide else -1)


def test_every_icon_in_use_has_its_letter(site: Path) -> None:
    """Of a font that is cut down, what a page shows has to be there."""
    style = (site / "_static" / "site.css").read_text(encoding="utf-8")
    assert len(style) > LEAST_STYLE
    assert "fa-solid-900.woff" not in style, "the whole font"
    fonts = re.findall(r"url\(\"?data:font/woff;base64,([\w+/=]+)", style)
    letters = set()
    for font in fonts:
        letters |= set(TTFont(io.BytesIO(base64.b64decode(font))).getBestCmap())
    shapes = {"fa-solid", "fa-brands", "fa-regular", "fa-lg", "fa-fw"}
    for name in [*documents(), *SPECIAL]:
        used = {
            part
            for icon in soup(name).select("i[class*=fa-], span[class*=fa-]")
            for part in icon["class"]
            if part.startswith("fa-")
        }
        assert used
        for icon in used - shapes:
            found = re.search(rf"\.{icon}:before[^{{]*{{content:\"(.)\"", style)
            assert found, (name, icon)
            assert ord(found[1]) in letters, (name, icon)


def test_no_mathjax_and_no_icon_script_is_published(site: Path) -> None:
    """Two formulas' worth of fonts, not two megabytes of script."""
    assert not (site / "_static" / "mathjax").exists()
    for file in site.rglob("*.js"):
        assert "MathJax.startup" not in file.read_text(encoding="utf-8"), file.name


def test_formulas_show_without_scripts_and_from_the_disk(
    site: Path, new_context: Callable
) -> None:
    """In KaTeX's fonts, loaded from the site's folder."""
    page = new_context(java_script_enabled=False, viewport=PHONE).new_page()
    loaded = []
    page.on("requestfinished", lambda request: loaded.append(request.url))
    page.goto(f"{site.as_uri()}/book/02-self-attention.html", wait_until="networkidle")
    formula = page.locator("article div.math .katex-html").first
    assert formula.bounding_box()["height"] > 20
    assert any("KaTeX_Main-Regular" in url for url in loaded)


def test_a_wide_formula_scrolls_in_its_box_by_keyboard(
    server: str, new_context: Callable
) -> None:
    """On a phone the page keeps its width; the formula is reached, named and scrolled."""
    page = new_context(viewport=PHONE).new_page()
    page.goto(f"{server}book/02-self-attention.html")
    box = page.locator(".formula-box[tabindex='0'][aria-label='Wide formula']").first
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=box.element_handle())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
