"""Every script of the site is tested in Node.js and in a browser: which test has which.

A new script needs a line here, and the two tests.
"""

from __future__ import annotations

import ast

import pytest

from tests.site.document import ASSETS
from tests.site.pages import ROOT

#: Script, its test in Node.js, its test in a browser; a folder stands for all scripts in it.
TESTED = {
    "course.js": ("test_course_in_node", "test_behaviour"),
    "progress.js": ("test_progress_in_node", "test_progress"),
    "search.js": ("test_search_in_node", "test_search"),
    "live/attention.js": ("test_attention_in_node", "test_live_page"),
    "live/beam.js": ("test_beam_in_node", "test_live_page"),
    "live/checks.js": ("test_live_scripts", "test_live_page"),
    "live/figure.js": ("test_figure_in_node", "test_live_figures"),
    "live/figures": ("test_figures_in_node", "test_live_figures"),
    "live/copying.js": ("test_lines_in_node", "test_live_page"),
    "live/lexicon.js": ("test_lines_in_node", "test_live_page"),
    "live/completeness.js": ("test_lines_in_node", "test_live_page"),
    "live/markup.js": ("test_lines_in_node", "test_live_page"),
    "live/numbers.js": ("test_lines_in_node", "test_live_page"),
    "live/pieces.js": ("test_lines_in_node", "test_live_page"),
    "live/units.js": ("test_lines_in_node", "test_live_page"),
    "live/postal.js": ("test_lines_in_node", "test_live_page"),
    "live/times.js": ("test_lines_in_node", "test_live_page"),
    "live/titles.js": ("test_lines_in_node", "test_live_page"),
    "live/letters.js": ("test_lines_in_node", "test_live_page"),
    "live/lines.js": ("test_lines_in_node", "test_live_page"),
    "live/loader.js": ("test_page_loads_in_node", "test_live_page"),
    "live/model.js": ("test_live_maths", "test_live_page"),
    "live/page.js": ("test_page_in_node", "test_live_page"),
    "live/parts.js": ("test_live_scripts", "test_live_page"),
    "live/search.js": ("test_beam_in_node", "test_live_maths"),
    "live/sentences.js": ("test_lines_in_node", "test_live_page"),
    "live/tokenizer.js": ("test_live_maths", "test_live_page"),
    "live/words.js": ("test_words_in_node", "test_live_page"),
    "live/worker.js": ("test_live_scripts", "test_live_page"),
}
#: The same of scripts that stand in a page's template.
INLINE = {
    "layout.html": ("test_first_script_in_node", "test_behaviour"),
    "not_found.html": ("test_not_found_in_node", "test_pages"),
}
#: What starts a process of Node.js, and what a browser's page is opened by.
IN_NODE = {"run_in_node", "run_with_document", "run_page"}
IN_BROWSER = {"new_context", "browser"}


def names(test: str) -> set[str]:
    """Return the names and arguments that a test file uses."""
    text = (ROOT / "tests" / "site" / f"{test}.py").read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)
    }


def untested(scripts: list[str]) -> list[str]:
    """Return the scripts that have no line in TESTED."""
    return [
        one
        for one in scripts
        if one not in TESTED and one.rpartition("/")[0] not in TESTED
    ]


def test_every_script_has_both_tests() -> None:
    """And no line is about a script that is not there."""
    scripts = [path.relative_to(ASSETS).as_posix() for path in ASSETS.rglob("*.js")]
    assert not untested(scripts), (
        "write a test in Node.js and one in a browser, and name them in TESTED"
    )
    assert not [name for name in TESTED if not (ASSETS / name).exists()]


def test_a_new_script_has_none() -> None:
    """In a folder whose scripts are listed one by one."""
    new = ["new.js", "live/new.js", "live/figures/new.js"]
    assert untested(new) == ["new.js", "live/new.js"]


def test_scripts_in_templates_have_both_tests() -> None:
    """Those without a file of their own."""
    templates = (ROOT / "book" / "_templates").glob("*.html")
    found = {one.name for one in templates if "<script>" in one.read_text("utf-8")}
    assert found == INLINE.keys()


@pytest.mark.parametrize("name", [*TESTED, *INLINE])
def test_the_tests_are_what_they_are_said_to_be(name: str) -> None:
    """The first starts Node.js, the second opens a page in a browser."""
    in_node, in_browser = {**TESTED, **INLINE}[name]
    assert names(in_node) & IN_NODE, f"{in_node} starts no Node.js"
    assert names(in_browser) & IN_BROWSER, f"{in_browser} opens no page"


def test_every_figure_is_among_the_tested() -> None:
    """Both tests of figures go through the list of test_live_figures.py."""
    from tests.site.test_live_figures import FIGURES

    scripts = {path.stem for path in (ASSETS / "live" / "figures").glob("*.js")}
    assert set(FIGURES) == scripts
