"""The traps page: each error has a test that fails on it and passes without it, run both ways.

The page says for each by which kind of check it is found, and names a test of the course.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable

import matplotlib.pyplot as plt
import nbformat
import pytest

from grading.course.notebooks import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LABEL = re.compile(r"^\(trap-([a-z-]+)\)=$", re.MULTILINE)
FOUND_BY = re.compile(r"^\*\*Found by\*\*: (.+)\.$", re.MULTILINE)
KIND = re.compile(r"^(?:\d\.|-) \*\*(.+?)\*\*", re.MULTILINE)
CELLS = nbformat.read(ROOT / "book" / "traps.ipynb", as_version=4).cells


def sections() -> dict[str, str]:
    """Return the Markdown of each trap, from its label to the next one's."""
    text = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    parts = LABEL.split(text[: text.index("(traps-five)=")])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def kinds() -> set[str]:
    """Return the kinds of check that the last section lists, in lower case."""
    text = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    return {name.lower() for name in KIND.findall(text[text.index("(traps-five)=") :])}


class Page:
    """The page's code, run once; what it hands to its judge is kept for each trap."""

    def __init__(self) -> None:
        """Run all cells, from the folder of the page."""
        self.names: dict[str, object] = {"__name__": "traps"}
        self.tests: dict[str, list[tuple[Callable, object, object]]] = defaultdict(list)
        self.trap = ""
        for cell in CELLS:
            if cell.cell_type == "markdown":
                self.trap = (LABEL.findall(cell.source) or [self.trap])[-1]
                continue
            exec(compile(cell.source, cell.id, "exec"), self.names)
            plt.close("all")
            if "def caught(" in cell.source:
                self.names["caught"] = self.keep

    def keep(self, test: Callable, wrong: object, right: object) -> None:
        """Stand in for the page's judge."""
        self.tests[self.trap].append((test, wrong, right))


@pytest.fixture(scope="module")
def page() -> Page:
    """The page, run from its own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "book")
        patch.setattr(plt, "show", lambda: None)
        yield Page()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trap", sections())
def test_its_test_fails_on_the_error_and_passes_without(page: Page, trap: str) -> None:
    """Both ways; a trap without such a test fails here."""
    assert page.tests[trap], "no test tells wrong from right"
    for test, wrong, right in page.tests[trap]:
        with pytest.raises(AssertionError):
            test(wrong)
        test(right)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trap", sections())
def test_it_is_found_by_what_the_page_says(page: Page, trap: str) -> None:
    """Of the five tests to take home, just those that catch the planted error."""
    (line,) = FOUND_BY.findall(sections()[trap])
    named = re.findall(r"\*([^*]+)\*", line)
    assert set(named) <= kinds()
    five = page.names["FIVE"]
    assert [name for name in named if name in five] == (
        page.names["found_by"][trap] or []
    )
    assert named, "nothing finds it"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_five_were_run_on_every_trap(page: Page) -> None:
    """None is left out of the page's last table, and the right model passes all five."""
    assert set(page.names["found_by"]) == set(sections())
    assert page.names["caught_by"]() == []


def test_every_trap_says_where_it_is_right() -> None:
    """A page of the book and a test, for each."""
    traps = sections()
    assert len(traps) > 20
    missing = [
        name
        for name, text in traps.items()
        if "**Right in the book**" not in text or not NAMED.search(text)
    ]
    assert not missing


def test_the_tests_that_it_names_exist() -> None:
    """No test was renamed behind the page's back."""
    named = {pair for text in sections().values() for pair in NAMED.findall(text)}
    missing = []
    for file, name in sorted(named):
        path = ROOT / file
        tree = (
            ast.parse(path.read_text(encoding="utf-8"))
            if path.exists()
            else ast.Module([], [])
        )
        functions = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        if name not in functions:
            missing.append(f"{file}::{name}")
    assert not missing
