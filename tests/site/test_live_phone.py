"""The translator's page on a phone, used as nobody meant it: odd texts, quick taps, no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.site.test_live_page import NAME, STATUS, wait_for_status
from tests.site.test_pages import DESKTOP, PHONE, TOO_WIDE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def page(site: object, new_context: Callable) -> Iterator[object]:
    """A phone's page from the disk, whose button to load was pressed twice."""
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site.as_uri()}/{NAME}.html")
    page.locator(".live-load").dblclick()
    wait_for_status(page, "The translator is ready")
    yield page
    assert not problems


def ask(page: object, text: str, answer: str = "Translated: ") -> str:
    """Write a text, tap the button, and wait for an answer that begins so."""
    page.fill(".live-text", text)
    page.evaluate(f"{STATUS} = ''")
    page.locator(".live-form button").tap()
    return wait_for_status(page, answer)


@pytest.mark.parametrize("text", ["", " \n\t\u200b"], ids=["empty", "space"])
def test_what_is_no_text_is_refused_at_once(page: object, text: str) -> None:
    """Nothing of a sentence before stays, to be asked about again."""
    ask(page, "Ich habe einen Hund.")
    ask(page, text, "Write a German sentence first.")
    assert not page.locator(".live-result").is_visible()
    assert not page.locator(".live-after").is_visible()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("🦔🦔", "There is nothing to translate"),
        ("12 34", "There is nothing to translate"),
        # Merging its tokens would take minutes.
        ("X" + "x" * 99_999, "too long for a word, not translated: Xxx"),
    ],
    ids=["emoji", "digits", "one word"],
)
def test_what_is_no_sentence_stays_as_it_is(page: object, text: str, note: str) -> None:
    """With a note, and nothing to look into."""
    ask(page, "Ich habe einen Hund.")
    assert ask(page, text) == f"Translated: {text}"
    assert note in page.inner_text(".live-notes")
    assert not page.locator(".live-after").is_visible()
    assert not page.evaluate(TOO_WIDE)


def test_a_long_text_is_left_for_a_new_one(page: object) -> None:
    """What has been written of it is seen; a shorter text does not wait for its end."""
    page.fill(".live-text", "Das Haus ist groß. " * 300)
    page.locator(".live-form button").tap()
    page.wait_for_function(
        "document.querySelector('.live-output').textContent.includes('big. The')"
    )
    assert ask(page, "Ich habe einen Hund.") == "Translated: I have a dog."


def test_what_is_pasted_is_text_line_by_line(page: object) -> None:
    """HTML is text, and the page stays as wide as the phone."""
    plain = ask(page, "Ich habe einen Hund.").removeprefix("Translated: ")
    found = ask(page, "\r\nIch habe einen Hund.\n\n  Ich habe einen   Hund.\n")
    assert found == f"Translated: \n{plain}\n\n  {plain}\n"
    ask(page, "<img src=x onerror=alert(1)><b>Hund</b>")
    assert page.locator(".live-translator :is(img, b)").count() == 0
    ask(page, "Donaudampfschifffahrtsgesellschaftskapitän " * 2)
    assert not page.evaluate(TOO_WIDE)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_long_sentences_to_choose_from_widen_nothing(page: object, size: dict) -> None:
    """The list of sentences is as wide as its longest one, and is cut off at the page's edge."""
    page.set_viewport_size(size)
    nested = "Der Mann, der den Hund, der die Katze gebissen hat, gekauft hat, wohnt"
    ask(
        page,
        f"{nested} seit vielen Jahren in einem kleinen Dorf am Rhein. Er ist nett.",
    )
    assert page.locator(".live-sentence option").count() == 2
    too_wide = page.evaluate(TOO_WIDE)
    page.set_viewport_size(PHONE)
    assert not too_wide


def test_all_heads_off_and_on_again(page: object) -> None:
    """Every kind and layer, one tap after the other, without a pause between them."""
    before = ask(page, "Wo ist der Hund?")
    for kind in ("cross", "encoder", "decoder"):
        page.select_option(".live-kind", kind)
        for layer in range(page.locator(".live-layer option").count()):
            page.select_option(".live-layer", str(layer))
            # Not a tap: the translation scrolls into view, and the button from under it.
            page.locator(".live-switch").dispatch_event("click")
    sizes = page.evaluate("LiveData.manifest.model")
    heads = sizes["heads"] * (sizes["encoderLayers"] + 2 * sizes["decoderLayers"])
    page.wait_for_function(
        "n => document.querySelectorAll('.live-off-list li').length === n", arg=heads
    )
    assert page.inner_text(".live-before").endswith(before.removeprefix("Translated: "))
    page.evaluate(f"{STATUS} = ''")
    page.locator(".live-all-on").tap()
    assert wait_for_status(page, "Translated: ") == before


def test_another_word_again_and_again(page: object) -> None:
    """Further on, further back; the words before the last choice stay."""
    ask(page, "Wo ist der Hund?")
    tokens = page.locator(".live-tokens button")
    for place in (0, 1, 2, 1, 0):
        kept = tokens.all_inner_texts()[:place]
        tokens.nth(place).tap()
        choice = page.locator(".live-choices button[aria-pressed='false']").first
        chosen = choice.get_attribute("aria-label").rsplit(", ", 1)[0]
        page.evaluate(f"{STATUS} = ''")
        choice.tap()
        wait_for_status(page, "Translated: ")
        assert tokens.all_inner_texts()[: place + 1] == [*kept, chosen]
    assert page.locator(".live-token.is-chosen").count() == 1


@pytest.mark.parametrize("off", [False, True], ids=["all heads", "some off"])
def test_the_penalty_moves_while_a_sentence_is_written(page: object, off: bool) -> None:
    """The sentence is written to its end, and the beam searches then."""
    if off:  # then the text is translated with all heads first, to be compared
        ask(page, "Guten Tag!")
        page.evaluate(f"{STATUS} = ''")
        page.locator(".live-switch").tap()
        wait_for_status(page, "Translated: ")
    whole = ask(page, "Ich glaube nicht, dass er heute noch zur Arbeit kommt.")
    ask(page, "Guten Morgen!")
    page.fill(".live-text", "Ich glaube nicht, dass er heute noch zur Arbeit kommt.")
    page.evaluate(
        """() => {
          document.querySelector(".live-form button").click();
          const slider = document.querySelector(".live-alpha");
          slider.value = 0;
          for (const type of ["input", "change"]) slider.dispatchEvent(new Event(type));
        }"""
    )
    wait_for_status(page, "The beam's best: ")
    assert page.inner_text(".live-output") == whole.removeprefix("Translated: ")
    assert page.inner_text(".live-hypotheses caption").endswith("0.0")
    if off:
        page.locator(".live-all-on").tap()
        wait_for_status(page, "Translated: ")


def test_without_a_network_it_goes_on(page: object) -> None:
    """Once loaded nothing more is needed."""
    before = ask(page, "Ich habe einen Hund.")
    ask(page, "Wo ist der Hund?")
    page.context.set_offline(True)
    assert ask(page, "Ich habe einen Hund.") == before
    page.context.set_offline(False)


def test_back_and_forward(server: str, new_context: Callable) -> None:
    """Who comes back can load; without a network the page says what is missing."""
    page = new_context(viewport=PHONE, has_touch=True).new_page()
    page.goto(f"{server}{NAME}.html")
    page.goto(f"{server}book/setup.html")
    page.go_back()
    page.context.set_offline(True)
    page.locator(".live-load").tap()
    assert "manifest.js" in wait_for_status(page, "The translator is not complete")
    page.context.set_offline(False)
    page.go_forward()
    page.go_back()
    assert page.locator(".live-load").is_enabled()
    page.locator(".live-load").tap()
    wait_for_status(page, "The translator is ready")
