"""Quizzes, guesses and boxes that scroll (course.js) in Node.js, by value.

test_behaviour.py has them in a browser, on the chapters' pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.site.document import ASSETS, Node, open_page, run_with_document

pytestmark = pytest.mark.timeout(60)

QUIZ = """<form class="quiz" id="quiz-x">
<div class="quiz-choice" data-right="false"><input type="radio" name="quiz-x" value="quiz-x-0">
<details class="quiz-why"></details></div>
<div class="quiz-choice" data-right="true"><input type="radio" name="quiz-x" value="quiz-x-1">
<details class="quiz-why"></details></div>
<button type="submit" class="quiz-check" hidden>Check</button>
<p class="quiz-verdict"></p></form>"""
PREDICT = """<form class="predict" id="predict-x">{fields}
<button type="submit" class="quiz-check" hidden>Show what happens</button>
<p class="predict-verdict"></p></form>
<div class="of-predict-x"><p id="inside">folded</p></div><div class="of-predict-x">more</div>"""
CHOICES = """<input type="radio" name="predict-x" value="predict-x-1">
<input type="radio" name="predict-x" value="predict-x-2">"""
LINE = '<input type="text" name="predict-x">'


@pytest.fixture(scope="module")
def process() -> Iterator[Node]:
    """Node.js, where the script has run."""
    with run_with_document([ASSETS / "course.js"]) as node:
        node.evaluate(
            "() => { globalThis.begin = document.listeners.DOMContentLoaded.at(-1); }"
        )
        yield node


@pytest.fixture
def show(process: Node) -> Callable:
    """A function that opens a page with a body, and returns what evaluates JavaScript there."""
    process.evaluate(
        "() => Object.keys(localStorage).forEach((key) => delete localStorage[key])"
    )

    def opened(html: str, address: str = "https://example.org/book/x.html") -> Callable:
        open_page(process, html, address)
        process.evaluate("() => begin()")
        return process.evaluate

    return opened


STATE = """() => [dom.find(".quiz-verdict").textContent,
  dom.all(".quiz-choice").map((one) => one.className.replace("quiz-choice", "").trim()),
  dom.all(".quiz-why").map((one) => one.open)]"""


def test_a_quiz_judges_and_explains(show: Callable) -> None:
    """Nothing chosen, a wrong choice, a right one; a new choice clears what was said."""
    node = show(QUIZ)
    assert node("() => dom.shown('.quiz-check')")
    press = "() => dom.find('.quiz-check').click()"
    choose = "(n) => dom.all('.quiz-choice input')[n].click()"
    node(press)
    assert node(STATE) == ["Choose an answer first.", ["", ""], [False, False]]
    node(choose, 0)
    node(press)
    assert node(STATE) == [
        "Not yet: read why above, then try again.",
        ["is-wrong", ""],
        [True, False],
    ]
    node(choose, 1)
    assert node(STATE) == ["", ["", ""], [False, False]]
    node(press)
    assert node(STATE) == ["Right: read why above.", ["", "is-right"], [False, True]]


def test_an_answer_is_kept_for_its_page(show: Callable) -> None:
    """Chosen again when one comes back, without the verdict; on another page it is not."""
    node = show(QUIZ)
    node(
        "() => { dom.all('.quiz-choice input')[1].click(); dom.find('.quiz-check').click(); }"
    )
    assert node("() => ({ ...localStorage })") == {
        "quiz:/book/x.html#quiz-x": "quiz-x-1"
    }
    checked = "() => dom.all('.quiz-choice input').map((one) => one.checked)"
    assert show(QUIZ)(checked) == [False, True]
    assert node(STATE)[0] == ""
    assert show(QUIZ, "https://example.org/book/y.html")(checked) == [False, False]


SHOWN = """() => [dom.all(".of-predict-x").map((one) => one.classList.contains("is-shown")),
  dom.find(".quiz-check").textContent, dom.find(".predict-verdict").textContent]"""
AFTER = ["Change my guess", "You have guessed. Compare it with what happens below."]


@pytest.mark.parametrize(
    ("fields", "guess", "value"),
    [
        (CHOICES, "() => dom.all('input')[1].click()", "predict-x-2"),
        (LINE, "() => dom.change(dom.find('input'), { value: ' 42 ' })", "42"),
    ],
)
def test_a_guess_opens_what_follows(
    show: Callable, fields: str, guess: str, value: str
) -> None:
    """All of it, and only after a guess, of either kind; it stays open when one comes back."""
    node = show(PREDICT.format(fields=fields))
    node("() => dom.find('.quiz-check').click()")
    assert node(SHOWN) == [
        [False, False],
        "Show what happens",
        "Guess first: a wrong guess teaches more than none.",
    ]
    node(guess)
    node("() => dom.find('.quiz-check').click()")
    assert node(SHOWN) == [[True, True], *AFTER]
    assert node("() => ({ ...localStorage })") == {
        "predict:/book/x.html#predict-x": value
    }
    again = show(PREDICT.format(fields=fields))
    assert again(SHOWN) == [[True, True], *AFTER]
    kept = (
        "() => dom.find('input[type=text]')?.value ?? dom.find('input:checked').value"
    )
    assert again(kept) == value


def test_a_link_into_what_is_folded_opens_it(show: Callable) -> None:
    """And counts as no guess."""
    node = show(
        PREDICT.format(fields=CHOICES), "https://example.org/book/x.html#inside"
    )
    assert node(SHOWN)[:2] == [[True, True], "Show what happens"]
    assert node("() => Object.keys(localStorage)") == []
    elsewhere = show(
        PREDICT.format(fields=CHOICES), "https://example.org/book/x.html#no"
    )
    assert elsewhere(SHOWN)[0] == [False, False]


def test_what_is_too_wide_is_a_tab_stop(show: Callable) -> None:
    """A table in its box, a formula, a figure; and none when there is room again."""
    node = show(
        """<div class="bd-article"><table></table><span class="formula-box"></span>
        <span class="figure-box"></span><div class="highlight"><pre></pre></div></div>
        <table class="other"></table>"""
    )
    boxes = """(width) => dom.watched.map(([use, box]) => {
      [box.scrollWidth, box.clientWidth] = [width, 300];
      use();
      return ["tabindex", "role", "aria-label"].map((name) => box.getAttribute(name));
    })"""
    assert node(boxes, 400) == [
        ["0", None, None],
        ["0", "group", "Wide formula"],
        ["0", "group", "Wide figure"],
        [None, None, None],  # the theme makes code a stop
    ]
    assert node(boxes, 300) == [[None, None, None]] * 4
    # What is wide fades at its right edge, until its end is in view: table, formula, figure, code.
    fades = """([n, at, width]) => {
      const [use, box] = dom.watched[n];
      [box.scrollLeft, box.scrollWidth, box.clientWidth] = [at, width, 300];
      if (at) box.listeners.scroll[0](); else use();
      return box.classList.contains("goes-on");
    }"""
    places = ([0, 400], [60, 400], [100, 400], [0, 300])
    for n in range(4):
        found = [node(fades, [n, *place]) for place in places]
        assert found == [True, True, False, False]
    assert node("() => dom.all('.table-scroll > table').length") == 1
    assert node("() => dom.find('table').tabIndex") == -1
