"""What a reader did is kept on the device: shown, saved as a file, loaded elsewhere, forgotten."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site.pages import documents, soup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CHAPTERS = [name for name in documents() if re.match(r"book/\d\d-", name)]
CHAPTER = "book/02-self-attention"


def test_the_script_knows_every_question_of_every_chapter(site: Path) -> None:
    """As they stand on the pages."""
    text = (site / "_static" / "course-tasks.js").read_text(encoding="utf-8")
    known = json.loads(text.removeprefix("var courseTasks = ").rstrip(";\n"))
    assert list(known) == CHAPTERS
    for name in CHAPTERS:
        forms = [
            f"{form['class'][0]}:{form['id']}"
            for form in soup(name).select("form.quiz, form.predict")
        ]
        assert len(forms) >= 4
        assert known[name]["tasks"] == forms


@pytest.mark.parametrize("origin", ["server", "disk"])
def test_progress_is_shown_saved_loaded_and_forgotten(
    origin: str, server: str, site: Path, new_context: Callable, tmp_path: Path
) -> None:
    """A guess and a quiz of chapter 2, its end read; then another device."""
    base = server if origin == "server" else f"{site.as_uri()}/"
    context = new_context()
    page = context.new_page()
    page.goto(f"{base}index.html")
    panel = page.locator(".course-progress")
    assert panel.is_visible()
    assert not page.locator("[data-progress-continue]").is_visible()
    assert not page.locator("[data-progress-save]").is_visible(), "nothing to save"
    assert page.locator(".progress-mark").count() == 0

    page.goto(f"{base}{CHAPTER}.html")
    all_tasks = page.locator("form.quiz, form.predict").count()
    guess, quiz = page.locator("form.predict").first, page.locator("form.quiz").first
    for form in (guess, quiz):
        form.locator("input[type=radio]").first.check()
        form.locator(".quiz-check").click()
    mark = page.locator(".bd-docs-nav .progress-mark")
    page.wait_for_function(
        "all => document.querySelector('.bd-docs-nav .progress-mark')?.textContent"
        ".startsWith(`2/${all}`)",
        arg=all_tasks,
    )
    assert f"2 of {all_tasks} questions answered" in mark.text_content()
    headings = page.locator("article section > h2").all()
    headings[-1].scroll_into_view_if_needed()
    page.wait_for_function("localStorage.getItem('progress:here').includes('urther')")
    assert "read, " not in mark.text_content(), "its end alone was in view"
    for heading in headings:
        heading.scroll_into_view_if_needed()
    page.wait_for_function(
        "document.querySelector('.bd-docs-nav .progress-mark').textContent.includes('read, ')"
    )

    page.goto(f"{base}index.html")
    state = page.locator("ol.syllabus li").nth(1).locator(".state")
    state.filter(
        has_text="read"
    ).wait_for()  # a script writes it once the page is there
    assert state.inner_text() == f"read, 2 of {all_tasks} questions answered"
    assert not page.locator("ol.syllabus li").nth(2).locator(".state").is_visible()
    go_on = page.locator("[data-progress-continue]")
    assert "2. Self-attention: " in go_on.inner_text()
    with page.expect_download() as download:
        page.locator("[data-progress-save]").click()
    file = tmp_path / "progress.json"
    download.value.save_as(file)
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["pages"][CHAPTER]["read"] is True
    assert len(kept["pages"][CHAPTER]["answers"]) == 2
    go_on.click()
    page.wait_for_url(f"**/{CHAPTER}.html#*")

    other = new_context().new_page()
    other.goto(f"{base}index.html")
    other.locator("[data-progress-load]").set_input_files(file)
    other.wait_for_function(
        "document.querySelector('[data-progress-status]').textContent === 'Loaded.'"
    )
    assert "read, 2 of" in other.locator("ol.syllabus").inner_text()
    other.goto(f"{base}{CHAPTER}.html")
    assert other.locator("form.predict").first.locator("input:checked").count() == 1

    other.goto(f"{base}index.html")
    button = other.locator("[data-progress-forget]")
    button.click()
    assert "read, 2 of" in other.locator("ol.syllabus").inner_text(), "asked first"
    button.click()
    assert "questions answered" not in other.locator("ol.syllabus").inner_text()
    assert other.evaluate("Object.keys(localStorage).filter(k => /:/.test(k))") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not JSON", "no JSON"),
        ("[]", "no progress"),
        ("null", "no progress"),
        ('{"version": 2, "pages": {}}', "no progress"),
        ('{"version": 1, "pages": {"book/99-other": {"read": true}}}', "Nothing"),
        (
            '{"version": 1, "pages": {"book/02-self-attention": {"answers": {"quiz:x": "1"}}}}',
            "Nothing",
        ),
    ],
)
def test_a_file_that_is_no_progress_changes_nothing(
    text: str, says: str, server: str, new_context: Callable, tmp_path: Path
) -> None:
    """And the page says what is wrong with it."""
    page = new_context().new_page()
    page.goto(f"{server}index.html")
    before = page.evaluate("JSON.stringify(localStorage)")
    file = tmp_path / "odd.json"
    file.write_text(text, encoding="utf-8")
    page.locator("[data-progress-load]").set_input_files(file)
    status = page.locator("[data-progress-status]")
    page.wait_for_function(
        "document.querySelector('[data-progress-status]').textContent !== ''"
    )
    assert says in status.inner_text()
    assert page.evaluate("JSON.stringify(localStorage)") == before


def test_where_nothing_may_be_kept_all_works_until_one_leaves(
    server: str, new_context: Callable
) -> None:
    """In a frame whose storage a browser denies: theme, quiz, guess, and a word about it."""
    page = new_context().new_page()
    page.goto(f"{server}404.html")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.evaluate(
        """(address) => {
          const frame = document.createElement("iframe");
          frame.sandbox = "allow-scripts allow-forms";
          frame.src = address;
          frame.width = 900;
          document.body.prepend(frame);
        }""",
        f"{server}{CHAPTER}.html",
    )
    frame = page.frame_locator("iframe")
    guess = frame.locator("form.predict").first
    guess.locator("input[type=radio]").first.check()
    guess.locator(".quiz-check").click()
    assert "You have guessed" in guess.locator(".predict-verdict").inner_text()
    assert frame.locator(".predicted.is-shown .cell_output").first.is_visible()
    assert frame.locator("html").get_attribute("data-theme") == "light"
    page.locator("iframe").evaluate(
        "(frame, to) => { frame.src = to; }", f"{server}index.html"
    )
    frame.get_by_text("lets the site keep nothing").wait_for()
    assert not errors
