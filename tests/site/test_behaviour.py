"""What a visitor does: search, copy, switch the theme, answer a quiz, use the keyboard only."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.site.pages import KEEP_ONLY, documents, soup, source_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CHAPTER = "book/02-self-attention"
DARK, LIGHT, COLOURFUL = 60, 200, 40  # of 255; the last between a pixel's channels
# Notebooks only: the teaching page shows the directive as text.
WITH_QUIZ = [
    name
    for name in documents()
    if (path := source_of(name)).suffix == ".ipynb"
    and "{quiz}" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("origin", ["server", "disk"])
def test_search_finds_a_term(
    origin: str, server: str, site: Path, new_context: Callable
) -> None:
    """Typed into the box that Ctrl+K opens; a result is shown and leads to the term."""
    page = new_context().new_page()
    base = server if origin == "server" else f"{site.as_uri()}/"
    page.goto(f"{base}book/setup.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").wait_for()
    page.keyboard.type("polarities")
    page.keyboard.press("Enter")
    result = page.locator("#search-results li a").first
    result.wait_for()
    marked = page.locator("#search-results li").first.locator("mark").first
    assert marked.inner_text() == "polarities"
    result.click()
    page.wait_for_url("**/book/notation.html*")
    assert "polarities" in page.inner_text("article")


def test_code_is_copied(server: str, new_context: Callable) -> None:
    """The copy button puts the code, and nothing else, on the clipboard."""
    context = new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{server}index.html")
    block = page.locator("div.highlight-python, div.highlight-ipython3").first
    block.hover()
    block.locator("button.copybtn").click()
    page.locator("button.copybtn.success").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == block.locator("pre").inner_text().strip()
    assert copied.startswith("import math")


def test_theme_can_be_chosen_and_is_kept(server: str, new_context: Callable) -> None:
    """The switch goes through light, dark and the system's setting; the next page remembers."""
    page = new_context(color_scheme="light").new_page()
    page.goto(f"{server}index.html")
    mode, theme = (
        f"document.documentElement.dataset.{key}" for key in ("mode", "theme")
    )
    assert (page.evaluate(mode), page.evaluate(theme)) == ("auto", "light")
    switch = page.locator(".theme-switch-button:visible").first
    for _ in range(3):
        if page.evaluate(mode) == "dark":
            break
        switch.click()
    assert page.evaluate(theme) == "dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto(f"{server}book/notation.html")
    assert page.evaluate(theme) == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    card = page.locator("figure img").first
    background = card.evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == "rgb(20, 20, 20)", "of a heatmap, which turns itself"


def pixels(image: object) -> np.ndarray:
    """Return an image's picture on the screen, (height, width, 3)."""
    image.scroll_into_view_if_needed()
    image.evaluate("e => e.decode()")
    return np.asarray(Image.open(io.BytesIO(image.screenshot())).convert("RGB"))


def card(picture: np.ndarray) -> float:
    """Return how light a drawing's card is: at the left and below, letters are the exception."""
    edge = 10  # px: beyond the padding
    return np.median(np.concatenate([picture[-edge], picture[:, edge]]))


@pytest.mark.parametrize("name", WITH_QUIZ)
def test_heatmaps_are_no_light_cards_in_the_dark(
    name: str, server: str, new_context: Callable
) -> None:
    """The theme that was chosen turns the card and leaves the squares, whatever the system's is."""
    page = new_context(color_scheme="light").new_page()
    page.goto(f"{server}{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    page.evaluate("document.documentElement.dataset.script = 'off'")
    page.add_style_tag(content=".bd-header-article { display: none; }")
    images = page.locator("article img.turns-itself:visible").all()
    assert images or name != CHAPTER
    # All in one theme, then all in the other: a page's style is computed anew for each change.
    seen = []
    for theme in ("light", "dark"):
        page.evaluate(
            "theme => { document.documentElement.dataset.theme = theme; }", theme
        )
        seen.append([pixels(image) for image in images])
    for light, dark in zip(*seen, strict=True):
        assert card(dark) < DARK < LIGHT < card(light)
        colourful = light[np.ptp(light, axis=-1) > COLOURFUL]
        found, counts = np.unique(colourful, axis=0, return_counts=True)
        square = found[counts.argmax()]
        assert (dark == square).all(-1).sum() > counts.max() / 2


def test_keyboard_reaches_the_text(server: str, new_context: Callable) -> None:
    """The first Tab offers to skip the navigation."""
    page = new_context().new_page()
    page.goto(f"{server}book/setup.html")
    page.keyboard.press("Tab")
    assert (
        page.evaluate("document.activeElement.textContent.trim()")
        == "Skip to main content"
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**#main-content")


def test_every_chapter_has_a_quiz(site: Path) -> None:
    """Check yourself: at least one question a chapter, each with one right choice."""
    for name in (name for name in documents() if name.startswith("book/0")):
        forms = soup(name).select("form.quiz")
        assert forms, name
        for form in forms:
            assert len(form.select('.quiz-choice[data-right="true"]')) == 1, form["id"]
            assert all(why.text.strip() for why in form.select(".quiz-why > div")), (
                form["id"]
            )


@pytest.mark.parametrize("name", WITH_QUIZ)
def test_quiz_works_by_keyboard(name: str, server: str, new_context: Callable) -> None:
    """Each choice of each question gets its verdict and its explanation; the answer is kept."""
    page = new_context().new_page()
    page.goto(f"{server}{name}.html")
    assert page.locator("form.quiz").count()
    page.evaluate(KEEP_ONLY, ["form.quiz"])
    for form in page.locator("form.quiz").all():
        button, verdict = form.locator(".quiz-check"), form.locator(".quiz-verdict")
        button.focus()
        page.keyboard.press("Enter")
        assert verdict.inner_text() == "Choose an answer first."
        for choice in form.locator(".quiz-choice").all():
            choice.locator("input").focus()
            page.keyboard.press("Space")
            assert not verdict.inner_text(), "a new choice clears the old verdict"
            page.keyboard.press("Enter")
            right = choice.get_attribute("data-right") == "true"
            assert verdict.inner_text().startswith("Right" if right else "Not yet")
            assert choice.locator(".quiz-why > div").is_visible()
            assert form.locator(".quiz-why[open]").count() == 1
    kept = page.locator("form.quiz input:checked").evaluate_all(
        "all => all.map((e) => e.value)"
    )
    page.reload()
    again = page.locator("form.quiz input:checked").evaluate_all(
        "all => all.map((e) => e.value)"
    )
    assert again == kept


def test_page_can_be_read_without_scripts(server: str, new_context: Callable) -> None:
    """Explanations of a quiz unfold by themselves; nothing that needs a script is offered."""
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{server}{CHAPTER}.html")
    why = page.locator("details.quiz-why").first
    why.locator("summary").click()
    assert why.locator("div").is_visible()
    assert not page.locator(".quiz-check").first.is_visible()


def test_the_search_without_scripts_lists_the_pages(
    server: str, new_context: Callable
) -> None:
    """In place of a field that nothing answers."""
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{server}search.html")
    assert not page.locator("form.bd-search input").first.is_visible()
    page.locator("article, main").get_by_role("link", name="2. Self-attention").click()
    page.wait_for_url(f"{server}{CHAPTER}.html")


def test_wide_tables_scroll_in_their_box_by_keyboard(
    server: str, new_context: Callable
) -> None:
    """On a phone the page keeps its width, and the table can be reached and scrolled."""
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{server}book/02-self-attention.html")
    box = page.locator(".table-scroll[tabindex='0']").first
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=box.element_handle())


def test_phrases_in_columns_are_cards_on_a_phone(
    server: str, new_context: Callable
) -> None:
    """All of each row is there, with its column's name; on a desktop it is a table."""
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{server}book/08-one-block-many-models.html")
    for section in ("four-questions", "the-famous-ones"):
        table = page.locator(f"#{section} table.is-cards").first
        box = "e => e.parentElement.scrollWidth <= e.parentElement.clientWidth"
        assert table.evaluate(box)
        label = "e => getComputedStyle(e, '::before').content"
        cell = table.locator("tbody td").nth(1)
        assert cell.evaluate(label) == '"goes in: "'
        assert cell.evaluate("e => getComputedStyle(e).display") == "block"
        page.set_viewport_size({"width": 1280, "height": 900})
        assert cell.evaluate("e => getComputedStyle(e).display") == "table-cell"
        assert cell.evaluate(label) == "none"
        page.set_viewport_size({"width": 390, "height": 844})


LETTERS = 11  # px of the screen
SEEN = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  document.documentElement.dataset.script = "off"; // what waits for a guess is shown
  return [...document.querySelectorAll("article img[src$='.svg']")]
    .filter((e) => e.offsetParent)
    .map((e) => {
      const style = getComputedStyle(e);
      const inner = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const part = e.closest(".figure-part");
      return { src: e.getAttribute("src"), inner, alt: e.alt, window: part && part.clientWidth,
        left: parseFloat(style.marginLeft), box: e.closest(".figure-box")?.clientWidth };
    });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", WITH_QUIZ)
def test_letters_of_figures_are_legible_on_a_phone(
    name: str, theme: str, site: Path, new_context: Callable
) -> None:
    """Without a tap: in parts, or in a box that scrolls; nothing is left out or said twice."""
    phone = {"width": 390, "height": 844}
    context = new_context(
        viewport=phone, has_touch=True, is_mobile=True, color_scheme=theme
    )
    page = context.new_page()
    page.goto(f"{site.as_uri()}/{name}.html")
    shown = page.evaluate(SEEN)
    assert shown
    seen: dict[str, list[dict]] = {}
    for image in shown:
        seen.setdefault(image["src"], []).append(image)
    for src, images in seen.items():
        svg = (site / name).parent.joinpath(src).read_text(encoding="utf-8")
        width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])  # in points
        sizes = [100 * float(k) for k in re.findall(r"scale\((0\.\d+) -0", svg)]
        for image in images:
            assert min(sizes) / width * image["inner"] >= LETTERS - 0.1, src
        assert sum(bool(image["alt"]) for image in images) == 1
        end = 0.0  # of what the parts have shown so far, as a share
        for image in images if images[0]["window"] else ():
            assert -image["left"] / image["inner"] == pytest.approx(end, abs=0.01)
            end += image["window"] / image["inner"]
        assert not end or end == pytest.approx(1, abs=0.01)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_link_to_a_heading_begins_no_line(
    site: Path, new_context: Callable
) -> None:
    """A heading is as high with it as without: an unseen link would leave a gap below."""
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{site.as_uri()}/{CHAPTER}.html")
    gaps = page.evaluate(
        """() => [...document.querySelectorAll("article a.headerlink")].map((link) => {
          const before = link.parentElement.offsetHeight;
          link.style.display = "none";
          return [link.parentElement.textContent, before - link.parentElement.offsetHeight];
        })"""
    )
    assert len(gaps) > 10
    assert not [heading for heading, gap in gaps if gap]


def test_links_back_from_a_source_cover_no_author(
    site: Path, new_context: Callable
) -> None:
    """In the bibliography they come before the first author's name, whole lines of them or two."""
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{site.as_uri()}/book/bibliography.html")
    covered = page.evaluate(
        """() => [...document.querySelectorAll(".citation")].filter((source) => {
          const back = source.querySelector(".backrefs");
          if (!back) return false;
          const text = document.createRange();
          text.selectNodeContents(source.querySelector("p"));
          return [...back.getClientRects()].some((link) => [...text.getClientRects()].some((line) =>
            line.left < link.right - 1 && line.right > link.left + 1
            && line.top < link.bottom - 6 && line.bottom > link.top + 6));
        }).map((source) => source.textContent.slice(0, 60))"""
    )
    assert page.locator(".citation .backrefs").count() > 5
    assert not covered


def test_no_code_is_cut_off_on_paper(site: Path, new_context: Callable) -> None:
    """Nor fades what was too wide for the screen: a sheet of A4 has 718 pixels."""
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{site.as_uri()}/{CHAPTER}.html")
    page.locator("pre.goes-on").first.wait_for()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1040})
    cut = page.evaluate(
        """() => [...document.querySelectorAll("pre")].filter((e) =>
          e.scrollWidth > e.clientWidth + 1 || getComputedStyle(e).boxShadow !== "none"
        ).map((e) => e.textContent.slice(0, 40))"""
    )
    assert not cut


def test_a_wide_figure_scrolls_by_keyboard_and_fits_a_desktop(
    server: str, new_context: Callable
) -> None:
    """On the narrowest phone its box is a tab stop with a name; on a desktop it is none."""
    page = new_context(viewport={"width": 300, "height": 844}).new_page()
    page.goto(f"{server}{CHAPTER}.html")
    page.locator(".figure-box:visible").first.scroll_into_view_if_needed()
    box = page.locator(
        ".figure-box[tabindex='0'][aria-label='Wide figure']"
    ).first.element_handle()
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=box)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("e => !e.hasAttribute('tabindex')", arg=box)
    assert not page.locator(".figure-part:visible").count()


UNDER_THE_BUTTON = """
() => [...document.querySelectorAll("button.copybtn")].filter((button) => {
  const place = button.getBoundingClientRect();
  const text = document.createRange();
  const pre = button.parentElement.querySelector("pre");
  const right = Math.min(place.right, pre.getBoundingClientRect().right);
  text.selectNodeContents(pre);
  return [...text.getClientRects()].some((line) => line.width
    && line.right > place.left && line.left < right
    && line.bottom > place.top + 1 && line.top < place.bottom - 1);
}).map((button) => button.parentElement.querySelector("pre").textContent.slice(0, 40))"""


@pytest.mark.parametrize("name", ["book/02-self-attention", "index"])
def test_the_copy_button_covers_no_code_on_a_phone(
    name: str, site: Path, new_context: Callable
) -> None:
    """Where nothing hovers it is always shown, above the first line."""
    phone = {"width": 390, "height": 844}
    page = new_context(viewport=phone, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{site.as_uri()}/{name}.html")
    button = page.locator("button.copybtn").first
    assert button.evaluate("e => getComputedStyle(e).opacity") == "1"
    assert not page.evaluate(UNDER_THE_BUTTON)


@pytest.mark.parametrize(
    "name", ["01-rnn-attention", "03-multi-head-attention", "07-translator"]
)
def test_the_copy_button_covers_no_code_on_a_desktop(
    name: str, site: Path, new_context: Callable
) -> None:
    """It comes when one hovers, above the first line as well."""
    page = new_context(viewport={"width": 1350, "height": 940}).new_page()
    page.goto(f"{site.as_uri()}/book/{name}.html")
    assert page.locator("button.copybtn").count() > 10
    assert not page.evaluate(UNDER_THE_BUTTON)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_focus_is_seen_at_every_stop(
    theme: str, site: Path, new_context: Callable
) -> None:
    """An outline or a shadow, from the first Tab to the last of a chapter's page."""
    page = new_context(color_scheme=theme).new_page()
    page.goto(f"{site.as_uri()}/{CHAPTER}.html")
    unseen, stops = set(), 0
    for _ in range(400):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            """() => {
              const at = document.activeElement;
              if (!at || at === document.body) return null;
              const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
              const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
              const name = `${at.localName}.${at.className} ${at.textContent.slice(0, 40)}`;
              return [outlined || boxShadow !== "none", name];
            }"""
        )
        if stop is None:
            break
        stops += 1
        if not stop[0]:
            unseen.add(stop[1])
    assert stops > 100
    assert not unseen


def test_nothing_fades_where_motion_is_unwanted(
    server: str, new_context: Callable
) -> None:
    """The pairs of the landing page's drawing are lit at once."""
    page = new_context().new_page()
    page.goto(server)
    pair = page.locator("svg.alignment .pair").first
    lasts = "e => getComputedStyle(e).transitionDuration"
    assert pair.evaluate(lasts) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert pair.evaluate(lasts) == "0.2s"


def test_a_page_in_a_frame_that_may_keep_nothing_works(
    server: str, new_context: Callable
) -> None:
    """As an LMS may show it: its own scripts run, and answers last until it is left."""
    page = new_context(color_scheme="dark").new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{server}search.html")
    page.evaluate(
        """() => {
          const frame = document.createElement("iframe");
          [frame.width, frame.height] = [700, 700];
          frame.setAttribute("sandbox", "allow-scripts allow-forms");
          frame.src = new URL("book/02-self-attention.html", location.href);
          document.body.replaceChildren(frame);
        }"""
    )
    inside = page.frame_locator("iframe")
    inside.locator("html[data-keeps=nothing][data-theme=dark]").wait_for()
    quiz = inside.locator("form.quiz").first
    quiz.locator("input").first.check()
    quiz.locator("button[type=submit]").click()
    quiz.locator("[role=status]").filter(has_text=re.compile(r"\w")).wait_for()
    assert not problems
