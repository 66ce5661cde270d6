"""Every page in a real browser: both themes, both widths, from a server and from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

import pytest

from tests.site.axe import violations
from tests.site.pages import PREFIX, SPECIAL, documents

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
UNFOLD = "document.querySelectorAll('details').forEach((d) => d.open = true)"

FONTS_DONE = "() => document.fonts.ready.then(() => 0)"
# Each formula has MathML, and HTML of some size in KaTeX's own fonts.
UNRENDERED_MATHS = """
() => [...document.querySelectorAll("article .math")]
  .filter((e) => {
    const drawn = e.querySelector(".katex-html");
    return !e.querySelector("math") || !drawn || (e.offsetParent && !drawn.offsetWidth)
      || !getComputedStyle(drawn).fontFamily.includes("KaTeX");
  }).map((e) => e.textContent)"""
LATEX = r"""
() => [...document.querySelectorAll("article .math")].map((e) => e.textContent)
  .filter((text) => /\\[a-zA-Z]|\$/.test(text))"""
STOPS_IN_MATHS = """
() => [...document.querySelectorAll("article .math [tabindex]")]
  .filter((e) => e.scrollWidth <= e.clientWidth)
  .map((e) => e.textContent)"""
# axe leaves it open whether these are to be read.
INVISIBLE = """
() => [...document.querySelectorAll("article *")].filter((e) => {
    const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
    const isSeen = e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!text || !isSeen) return false;
    const { color } = getComputedStyle(e);
    for (let behind = e; behind; behind = behind.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(behind);
      if (backgroundImage !== "none") return false;
      if (backgroundColor !== "rgba(0, 0, 0, 0)") return backgroundColor === color;
    }
    return false;
  }).map((e) => e.outerHTML.slice(0, 200)).slice(0, 5)"""
TOO_WIDE = """
() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const inBox = (e) => {
    for (let p = e.parentElement; p; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== "visible" && p.tagName !== "BODY") return true;
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > width + 1 && !inBox(e))
    .map((e) => `${e.tagName}.${e.className} ${e.textContent.slice(0, 60)}`).slice(0, 5)
    .concat(`page ${document.documentElement.scrollWidth} px wide in ${width} px`);
}"""
# Code of 88 columns stands whole beside both sidebars; not so inside another box.
CODE_SCROLLS = """
() => [...document.querySelectorAll("article .cell_input .highlight pre")]
  .filter((e) => e.scrollWidth > e.clientWidth && !e.closest(".admonition"))
  .map((e) => e.textContent.slice(0, 60))"""
TWO_COLUMNS_SCROLL = """
() => [...document.querySelectorAll(".table-scroll:not(:has(th:nth-child(3)))")]
  .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.slice(0, 60))"""
# The theme makes what scrolls focusable, a moment after a page has got another width.
SCROLLS_BY_KEYBOARD = """
() => [...document.querySelectorAll(".highlight pre")]
  .filter((e) => !e.closest("details:not([open])"))  // what is folded cannot be reached
  .every((e) => e.scrollWidth <= e.clientWidth || e.tabIndex === 0)"""
# Those further down load when one comes near them.
LOAD_IMAGES = "() => [...document.images].forEach((i) => { i.loading = 'eager'; })"
ALL_IMAGES = "() => [...document.images].every((i) => i.complete)"
EMPTY_IMAGES = (
    "() => [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src)"
)


class Watch:
    """Collects what must not happen while a page is open."""

    def __init__(self, page: object, *allowed: str) -> None:
        self.problems: list[str] = []
        self.allowed = (*allowed, "data:", "blob:")
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on(
            "requestfailed", lambda r: self.problems.append(f"failed request: {r.url}")
        )
        page.on("request", self.request)
        page.on("response", self.response)

    def console(self, message: object) -> None:
        """Note errors and warnings on the console."""
        if message.type in {"error", "warning"}:
            self.problems.append(f"console {message.type}: {message.text}")

    def request(self, request: object) -> None:
        """Note a request to another host."""
        if not request.url.startswith(self.allowed):
            self.problems.append(f"external request: {request.url}")

    def response(self, response: object) -> None:
        """Note an answer that is none."""
        if response.status >= 400:
            self.problems.append(f"status {response.status}: {response.url}")


def look(page: object) -> None:
    """Check what a visitor sees: mathematics, images, width."""
    page.evaluate(FONTS_DONE)
    assert not page.evaluate(UNRENDERED_MATHS), "mathematics left unrendered"
    assert not page.evaluate(LATEX), "raw LaTeX"
    assert not page.evaluate(STOPS_IN_MATHS), "a formula that fits is no stop"
    assert not page.evaluate(TOO_WIDE)
    assert not page.evaluate(INVISIBLE), "text in the colour behind it"


@pytest.fixture(scope="module")
def contexts(new_context: Callable[..., object]) -> dict[str, object]:
    """A context for each theme: a visitor's system setting."""
    return {theme: new_context(color_scheme=theme) for theme in ("light", "dark")}


def address(server: str, name: str) -> str:
    """Return the address of a page; the page for wrong addresses has any wrong one."""
    return server + ("no/such/page.html" if name == "404" else f"{name}.html")


@pytest.mark.parametrize("name", [*documents(), *SPECIAL])
def test_page(name: str, server: str, site: Path, contexts: dict[str, object]) -> None:
    """Nothing wrong on the console, nothing too wide, axe: light and dark, wide and narrow.

    Light from a server, and dark from the disk: a double click on the file is enough, with no
    server and no network.
    """
    on_disk = f"{site.as_uri()}/{name}.html"
    if name not in {*documents(), "search"}:
        on_disk = address(server, name)
    # In each theme the page is loaded at one width and then given the other, as on turning a phone.
    for theme, first, second, where in (
        ("light", DESKTOP, PHONE, address(server, name)),
        ("dark", PHONE, DESKTOP, on_disk),
    ):
        page = contexts[theme].new_page()
        watch = Watch(page, server if where.startswith(server) else "file://")
        page.set_viewport_size(first)
        page.goto(where, wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        look(page)
        if first is DESKTOP and name.startswith("book/0"):
            page.evaluate(UNFOLD)
            assert not page.evaluate(CODE_SCROLLS)
        if first is PHONE:  # what is folded counts too
            page.evaluate(UNFOLD)
            assert not page.evaluate(TOO_WIDE), "with everything unfolded"
            assert not page.evaluate(TWO_COLUMNS_SCROLL)
            page.wait_for_function(SCROLLS_BY_KEYBOARD)
        page.set_viewport_size(second)
        assert not page.evaluate(TOO_WIDE), (theme, second)
        page.wait_for_function(SCROLLS_BY_KEYBOARD)
        page.evaluate(LOAD_IMAGES)
        page.wait_for_function(ALL_IMAGES)
        assert not page.evaluate(EMPTY_IMAGES)
        text = page.inner_text("main")
        assert "Traceback (most recent call last)" not in text
        page.evaluate(UNFOLD)
        page.wait_for_function(SCROLLS_BY_KEYBOARD)
        assert not violations(page), (theme, second)  # the last: it changes the page
        problems = [p for p in watch.problems if name != "404" or "404" not in p]
        assert not problems
        page.close()


def test_menus_and_search_box_are_accessible(
    server: str, new_context: Callable
) -> None:
    """What opens over the page on a phone passes axe too, and closes by keyboard."""
    page = new_context(color_scheme="dark", viewport=PHONE).new_page()
    watch = Watch(page, server)
    page.goto(f"{server}book/notation.html")
    for opener, dialog in (
        ("button.primary-toggle", "#pst-primary-sidebar-modal"),
        ("button.secondary-toggle", "#pst-secondary-sidebar-modal"),
        (".search-button:visible", "#pst-search-dialog"),
    ):
        page.locator(opener).first.click()
        page.locator(dialog).wait_for(state="visible")
        assert not violations(page), opener
        page.keyboard.press("Escape")
        page.locator(dialog).wait_for(state="hidden")
    page.locator(".dropdown-launch-buttons button").click()
    assert page.locator(".dropdown-launch-buttons a", has_text="Colab").is_visible()
    assert not violations(page)
    assert not watch.problems


def test_wrong_addresses_lead_back(server: str, new_context: Callable) -> None:
    """From any depth the page for wrong addresses has its looks, and its links work."""
    context = new_context()
    page = context.new_page()
    response = page.goto(f"{server}deep/er/than/any.html")
    assert response.status == 404
    assert page.locator("h1").inner_text() == "This page is not in the book"
    form = page.locator(".not-found-search")
    assert form.evaluate("e => getComputedStyle(e).display") == "flex", (
        "the style sheet is there"
    )
    links = [
        link.get_attribute("href") for link in page.locator("main article a").all()
    ]
    assert len(links) == len(documents())
    for link in links:
        assert link.startswith(PREFIX)
        assert context.request.get(server + link.removeprefix(PREFIX)).ok, link
    page.fill("#not-found-query", "softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    page.locator("#search-results li a").first.wait_for()


@pytest.mark.parametrize("place", ["/copy/of/it", "/"])
def test_wrong_addresses_lead_back_from_another_place(
    place: str, site: Path, new_context: Callable
) -> None:
    """Outside the published path, too, the page has its looks, and its links work."""

    def answer(route: object) -> None:
        path = urlparse(route.request.url).path.removeprefix(place.rstrip("/"))
        wanted = site / path.removeprefix("/")
        found = wanted.is_file() and urlparse(route.request.url).path.startswith(place)
        route.fulfill(
            path=wanted if found else site / "404.html", status=200 if found else 404
        )

    page = new_context().new_page()
    page.route("**/*", answer)
    base = f"https://example.org{place.rstrip('/')}/"
    page.goto(f"{base}deep/er/than/any.html")
    page.wait_for_function(
        "getComputedStyle(document.querySelector('.not-found-search')).display === 'flex'"
    )
    links = page.locator("main article a").evaluate_all("all => all.map(a => a.href)")
    assert len(links) == len(documents())
    for link in links:
        assert link.startswith(base)
        assert (site / link.removeprefix(base)).is_file(), link
    page.fill("#not-found-query", "softmax")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{base}search.html?q=softmax")


def test_the_page_for_wrong_addresses_opens_from_the_disk(
    site: Path, new_context: Callable
) -> None:
    """As somebody opens it who looks through the folder."""
    page = new_context().new_page()
    page.goto(f"{site.as_uri()}/404.html")
    page.wait_for_function(
        "getComputedStyle(document.querySelector('.not-found-search')).display === 'flex'"
    )
    page.get_by_role("link", name="Start page").click()
    page.wait_for_url(f"{site.as_uri()}/index.html")
