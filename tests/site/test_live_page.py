"""The translator in the page, as a visitor uses it: from the disk and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.site.pages import ROOT, soup
from tests.site.test_pages import DESKTOP, PHONE, TOO_WIDE, Watch, violations
from translator.decoding.lines import translate_lines
from translator.decoding.model_folder import Translator, load_translator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

NAME = "book/translate"
SENTENCE = "Ich habe meinen Schlüssel im Auto vergessen."
STATUS = "document.querySelector('.live-status').textContent"
ACTIVE = "document.activeElement.getAttribute('aria-label')"


def wait_for_status(page: object, beginning: str) -> str:
    """Wait until the page says a line that begins so, and return the line."""
    page.wait_for_function(f"text => {STATUS}.startsWith(text)", arg=beginning)
    return page.evaluate(STATUS)


def loaded(page: object, address: str) -> None:
    """Open the page and load the translator by keyboard."""
    page.goto(address)
    page.locator(".live-load").focus()
    page.keyboard.press("Enter")
    wait_for_status(page, "The translator is ready")


def translate(page: object, text: str = SENTENCE) -> str:
    """Translate a text by keyboard; return what came out."""
    page.fill(".live-text", text)
    page.evaluate(f"{STATUS} = ''")
    page.locator(".live-text").press("Enter")
    line = wait_for_status(page, "Translated: ")
    assert page.inner_text(".live-output") == line.removeprefix("Translated: ")
    return page.inner_text(".live-output")


@pytest.fixture(scope="module")
def translator() -> Translator:
    """The book's translator in Python, whatever its sizes are."""
    return load_translator(ROOT / "models" / "de-en")


@pytest.fixture(scope="module")
def in_python(translator: Translator) -> Callable:
    """A function that translates a text as the command line does."""

    def translate_it(text: str = SENTENCE) -> str:
        (found,) = translate_lines(translator, [text])
        return found.text

    return translate_it


@pytest.fixture(scope="module")
def on_disk(site: Path) -> str:
    """The page's address on the disk."""
    return f"{site.as_uri()}/{NAME}.html"


@pytest.fixture
def page(on_disk: str, new_context: Callable) -> object:
    """The page from the disk, with the translator loaded and a sentence translated."""
    page = new_context(viewport=DESKTOP).new_page()
    loaded(page, on_disk)
    translate(page)
    return page


def test_nothing_is_loaded_until_the_reader_asks(
    on_disk: str, site: Path, new_context: Callable, in_python: Callable
) -> None:
    """The button says how much it will be; all of it comes from the disk, and nothing else."""
    page = new_context().new_page()
    watch = Watch(page, "file://")
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    page.goto(on_disk, wait_until="load")
    assert not [url for url in seen if "/live/data/" in url]
    scripts = list((site / "_static/live/data").glob("*.js"))
    size = sum(p.stat().st_size for p in scripts if p.name != "manifest.js")
    assert f"({size / 1e6:.1f} MB)" in page.inner_text(".live-load")
    assert page.inner_text(".live-status") == ""
    loaded(page, on_disk)
    assert len([url for url in seen if "/live/data/" in url]) == len(scripts)
    progress = page.locator(".live-progress-text").text_content()
    assert progress == f"{size / 1e6:.1f} of {size / 1e6:.1f} MB"
    assert page.evaluate("document.activeElement.id") == "live-text"
    assert translate(page) == in_python()
    assert not watch.problems


def test_what_does_not_arrive_is_said_and_tried_again(
    server: str, new_context: Callable, in_python: Callable
) -> None:
    """A part fails: the page says which, and the button loads the rest."""
    page = new_context().new_page()
    page.route("**/part-03.js", lambda route: route.abort())
    page.goto(f"{server}{NAME}.html")
    page.click(".live-load")
    assert "part-03.js" in wait_for_status(page, "The translator is not complete")
    page.unroute("**/part-03.js")
    page.get_by_role("button", name="Try again").click()
    wait_for_status(page, "The translator is ready")
    assert translate(page) == in_python()


def test_attention_is_walked_through_by_keyboard(page: object) -> None:
    """One tab stop; each field says query, key and weight; a row's weights sum to 1."""
    grid = page.get_by_role("grid")
    for kind in ("encoder", "decoder", "cross"):
        page.select_option(".live-kind", kind)
        page.select_option(".live-head", "0")
        assert wait_for_status(page, f"{kind}").endswith("head 1.")
        assert grid.locator("[tabindex='0']").count() == 1
        grid.locator("[tabindex='0']").focus()
        page.keyboard.press("Control+End")
        page.keyboard.press("Home")
        weights = []
        for _ in range(grid.locator("tbody tr").last.locator("td").count()):
            label = page.evaluate(ACTIVE)
            found = re.fullmatch(r"query \(end\), key (.+), ([01]\.\d\d)", label)
            assert found, label
            assert page.inner_text(".live-readout") == label
            weights.append(float(found[2]))
            page.keyboard.press("ArrowRight")
        assert sum(weights) == pytest.approx(1, abs=0.005 * len(weights))
    page.select_option(".live-kind", "decoder")
    corner = grid.locator("tbody tr").first.locator("td").last
    assert "may not look" in corner.get_attribute("aria-label")


@torch.no_grad()
def test_the_grid_shows_the_head_that_is_chosen(
    page: object, translator: Translator, in_python: Callable
) -> None:
    """For each kind, a layer, and a head or their mean: PyTorch's weights, row by row."""
    model, tokenizer = translator.model, translator.tokenizer
    src = torch.tensor([[*tokenizer.encode(SENTENCE), tokenizer.eos_id]])
    written = tokenizer.encode(in_python())
    memory, encoder = model.encode(src, need_weights=True)
    tgt = torch.tensor([[tokenizer.bos_id, *written]])
    _, decoder = model.decode(tgt, memory, need_weights=True)
    expected = {
        "encoder": [weights[0] for weights in encoder],
        "decoder": [own[0] for own, _ in decoder],
        "cross": [cross[0] for _, cross in decoder],
    }
    page.locator(".live-as-table").click()
    for kind, layer, head in (
        ("encoder", len(encoder) - 1, 1),
        ("decoder", 0, model.decoder.layers[0].self_attention.num_heads - 1),
        ("cross", len(decoder) - 1, 2),
        ("cross", 0, None),
    ):
        page.select_option(".live-kind", kind)
        page.select_option(".live-layer", str(layer))
        page.select_option(".live-head", "all" if head is None else str(head))
        weights = expected[kind][layer]
        weights = weights.mean(dim=0) if head is None else weights[head]
        cells = page.locator(".live-grid td").all_inner_texts()
        shown = torch.tensor([0.0 if text == "–" else float(text) for text in cells])
        torch.testing.assert_close(shown, weights.flatten(), atol=0.0051, rtol=0)


def test_attention_can_be_read_as_a_table(page: object) -> None:
    """The same numbers, in a table without widgets."""
    labels = page.locator(".live-map td").evaluate_all(
        "all => all.map((cell) => cell.getAttribute('aria-label').split(', ').pop())"
    )
    button = page.get_by_role("button", name="Show the numbers as a table")
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.locator(".live-grid td").all_inner_texts() == labels
    assert page.locator(".live-grid [role]").count() == 0


def test_a_head_is_switched_off_and_on(
    page: object, translator: Translator, in_python: Callable
) -> None:
    """The sentence is translated without the heads, beside what it was; and again with them."""
    before = page.inner_text(".live-output")
    button = page.locator(".live-switch")
    layers = translator.model.decoder.layers
    for layer in range(len(layers)):
        page.select_option(".live-kind", "cross")
        page.select_option(".live-layer", str(layer))
        button.focus()
        page.evaluate(f"{STATUS} = ''")
        page.keyboard.press("Enter")
        wait_for_status(page, "Translated: ")
        assert button.get_attribute("aria-pressed") == "true"
    without = page.inner_text(".live-output")
    assert without != before, "without cross-attention the source is not seen"
    assert page.inner_text(".live-before") == f"With all heads on: {before}"
    heads = sum(layer.cross_attention.num_heads for layer in layers)
    assert page.locator(".live-off-list li").count() == heads
    # Another sentence, while they are off: with all heads it is translated first.
    assert translate(page, "Wo ist der Hund?") == without
    other = in_python("Wo ist der Hund?")
    assert page.inner_text(".live-before") == f"With all heads on: {other}"
    page.evaluate(f"{STATUS} = ''")
    page.get_by_role("button", name="Switch all heads on").click()
    wait_for_status(page, "Translated: ")
    assert page.inner_text(".live-output") == other
    assert not page.locator(".live-off").is_visible()


def test_another_word_is_chosen_by_keyboard(page: object) -> None:
    """The five likeliest are offered; decoding goes on from the one chosen, which can be undone."""
    before = page.inner_text(".live-output")
    tokens = page.locator(".live-tokens button")
    assert page.locator(".live-tokens button[tabindex='0']").count() == 1
    tokens.first.focus()
    page.keyboard.press("ArrowRight")
    assert re.fullmatch(r".+, (\d+|under 1|over 99) %", page.evaluate(ACTIVE))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    choices = page.locator(".live-choices button")
    assert choices.count() == 5
    page.keyboard.press("Escape")
    first = tokens.first.get_attribute("aria-label")
    assert page.evaluate(ACTIVE) == first
    page.keyboard.press("Enter")
    chosen = choices.nth(1).get_attribute("aria-label").split(",")[0]
    choices.nth(1).focus()
    page.evaluate(f"{STATUS} = ''")
    page.keyboard.press("Enter")
    wait_for_status(page, "Translated: ")
    after = page.inner_text(".live-output")
    assert after.startswith(chosen)
    assert after != before
    assert "chosen by you" in page.evaluate(ACTIVE)
    page.evaluate(f"{STATUS} = ''")
    page.get_by_role("button", name="Undo what I chose").press("Enter")
    wait_for_status(page, "Translated: ")
    assert page.inner_text(".live-output") == before


def test_the_beam_is_a_tree_that_can_be_walked(page: object) -> None:
    """Hypotheses with scores; right goes on, left goes back; pruned branches can be hidden."""
    page.locator(".live-search").press("Enter")
    wait_for_status(page, "The beam's best: ")
    size = int(page.locator(".live-beam-size").input_value())
    assert 1 <= page.locator(".live-hypotheses tbody tr").count() <= size
    items = page.get_by_role("treeitem")
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    with_pruned = items.count()
    items.first.focus()
    page.keyboard.press("ArrowRight")
    assert ", token 2, log-probability −" in page.evaluate(ACTIVE)
    page.keyboard.press("ArrowDown")
    assert ", token 2, log-probability −" in page.evaluate(ACTIVE)
    page.keyboard.press("ArrowLeft")
    assert ", token 1, " in page.evaluate(ACTIVE)
    page.locator(".live-show-pruned").press("Space")
    assert items.count() < with_pruned
    page.get_by_role("button", name="Show the tree as a table").press("Enter")
    rows = page.locator(".live-tree tbody tr")
    assert rows.count() == page.evaluate(
        "document.querySelector('.live-translator').livePage.beam.order.length"
    )
    scores = [
        float(text.replace("−", "-"))
        for text in page.locator(
            ".live-hypotheses tbody tr td:last-child"
        ).all_inner_texts()
    ]
    assert scores == sorted(scores, reverse=True)
    # A slider by keyboard: at 0 the score is the log-probability.
    page.locator(".live-alpha").press("Home")
    page.wait_for_function(
        "document.querySelector('.live-hypotheses caption').textContent.endsWith('0.0')"
    )
    cells = page.locator(".live-hypotheses tbody tr").first.locator("td")
    assert float(cells.nth(3).inner_text().replace("−", "-")) == pytest.approx(
        float(cells.nth(1).inner_text().replace("−", "-")), abs=0.006
    )


def test_searches_that_nobody_waits_for_are_left_out(page: object) -> None:
    """A slider that is moved through ten places asks ten times: the worker answers the last."""
    page.locator(".live-search").press("Enter")
    wait_for_status(page, "The beam's best: ")
    trees = page.evaluate(
        """async () => {
          const root = document.querySelector(".live-translator");
          const slider = root.querySelector(".live-alpha");
          let trees = 0;
          const last = new Promise((resolve) => {
            root.livePage.worker.addEventListener("message", ({ data }) => {
              if (data.type !== "tree") return;
              trees += 1;
              if (data.alpha === 1) resolve();
            });
          });
          for (let place = 1; place <= 10; place++) {
            slider.value = place / 10;
            slider.dispatchEvent(new Event("change"));
          }
          await last;
          return trees;
        }"""
    )
    assert 1 <= trees < 5


def test_on_a_phone_the_translation_comes_into_view(
    on_disk: str, new_context: Callable
) -> None:
    """It lies below the window when the button is tapped, above it when a head is switched off."""
    page = new_context(viewport=PHONE).new_page()
    loaded(page, on_disk)

    def is_in_view() -> bool:
        output = page.locator(".live-output")
        box = output.bounding_box()
        if box["y"] < 0 or box["y"] + box["height"] > PHONE["height"]:
            return False
        return output.evaluate(  # nothing lies over it
            """(output) => {
              const { left, top, bottom } = output.getBoundingClientRect();
              return [top + 2, bottom - 2].every(
                (y) => output.contains(document.elementFromPoint(left + 30, y)));
            }"""
        )

    translate(page)
    assert is_in_view()
    for button in (".live-switch", ".live-all-on"):
        page.locator(button).scroll_into_view_if_needed()
        if button == ".live-switch":
            assert not is_in_view()
        page.evaluate(f"{STATUS} = ''")
        page.locator(button).click()
        wait_for_status(page, "Translated: ")
        assert is_in_view(), button
    page.locator(".live-switch").click()
    page.locator(".live-before").wait_for()
    page.wait_for_function(f"{STATUS}.startsWith('Translated')")
    assert page.locator(".live-before").bounding_box()["y"] < PHONE["height"]


def test_no_text_gets_a_line(page: object, in_python: Callable) -> None:
    """Said at once, with the field marked."""
    page.fill(".live-text", "  ")
    page.locator(".live-text").press("Enter")
    wait_for_status(page, "Write a German sentence first.")
    assert page.get_attribute(".live-text", "aria-invalid") == "true"
    assert not page.locator(".live-result").is_visible()
    assert translate(page) == in_python()
    assert page.get_attribute(".live-text", "aria-invalid") is None


def test_lines_come_out_as_from_the_command_line(
    page: object, in_python: Callable
) -> None:
    """Sentence by sentence, with names and capitals; one of them is looked into."""
    lines = ["ICH BIN HIER. Wo bist du?", "12 + 3 = 15!", "", "Ich kenne Solveig 😀."]
    out = translate(page, "\n".join(lines))
    assert out.split("\n") == [in_python(line) for line in lines]
    assert page.inner_text(".live-read") == "The model read: Ich bin hier."
    page.locator(".live-sentence").focus()
    page.evaluate(f"{STATUS} = ''")
    page.select_option(".live-sentence", "2")
    assert wait_for_status(page, "Translated: ") == f"Translated: {out}"
    assert "stood for Solveig" in page.inner_text(".live-read")
    assert "Solveig" not in page.inner_text(".live-tokens")
    assert page.evaluate("document.activeElement.className") == "live-sentence"
    page.locator(".live-search").press("Enter")
    wait_for_status(page, "The beam's best: ")
    assert "Solveig" not in page.inner_text(".live-hypotheses")
    assert translate(page, "12 + 3 = 15!") == "12 + 3 = 15!"
    assert not page.locator(".live-after").is_visible()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Je n'ai pas vu le chien.", "Is this German?"),
        ("Er sagt ∮ zu mir.", "no token for ∮"),
    ],
)
def test_what_is_doubtful_is_translated_with_a_note(
    text: str, note: str, page: object
) -> None:
    """Another language, and characters that are not in the vocabulary."""
    translate(page, text)
    assert note in page.inner_text(".live-notes")
    translate(page)
    assert page.inner_text(".live-notes") == ""


@pytest.mark.parametrize(
    ("theme", "size"), [("light", PHONE), ("dark", DESKTOP), ("dark", PHONE)]
)
def test_every_state_is_accessible(
    theme: str, size: dict, on_disk: str, new_context: Callable
) -> None:
    """Axe, and the page's width, with everything open: choices, grid, table, tree."""
    page = new_context(color_scheme=theme, viewport=size).new_page()
    loaded(page, on_disk)
    translate(page)
    page.locator(".live-tokens button").first.click()
    page.locator(".live-switch").click()
    page.locator(".live-off").wait_for()
    page.locator(".live-search").click()
    page.locator(".live-tree [role=tree]").wait_for()
    assert not page.evaluate(TOO_WIDE)
    small = page.locator(".live-translator :is(button, select, textarea):visible")
    assert all(box["height"] >= 24 for box in (e.bounding_box() for e in small.all()))
    assert not violations(page)
    page.locator(".live-as-table").click()
    page.locator(".live-tree-as-table").click()
    assert not page.evaluate(TOO_WIDE)
    assert not violations(page)


def test_without_scripts_there_is_a_figure_and_its_table(
    on_disk: str, new_context: Callable
) -> None:
    """And no control that does nothing."""
    page = new_context(java_script_enabled=False).new_page()
    page.goto(on_disk)
    assert page.locator(".live-noscript").is_visible()
    assert not page.locator(".live-translator").is_visible()
    assert page.locator("figure img").first.is_visible()
    table = soup(NAME).find_all("table")[-1]
    weights = [
        [float(td.text) for td in tr.find_all("td")[1:]] for tr in table("tr")[1:]
    ]
    assert len(weights) > 5
    for row in weights:
        assert sum(row) == pytest.approx(1, abs=0.005 * len(row))
