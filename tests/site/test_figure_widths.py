"""A figure of the book is read on a phone without a swipe.

course_site.images writes how many pixels each part of a drawing needs for its smallest letters;
what needs more than a phone's column scrolls in its box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from bs4 import BeautifulSoup, Tag

from tests.site.pages import ROOT, documents, soup
from tests.site.test_pages import TOO_WIDE

pytestmark = pytest.mark.slow

#: Figures that scroll all the same: name and reason.
EXCEPTIONS: dict[str, str] = {}


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the site that gives drawings their size."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    from course_site import images

    return images


def drawings(page: BeautifulSoup) -> Iterator[tuple[str, int]]:
    """Yield each drawing's name, and the pixels that its widest part needs on a phone."""
    for whole in page.select(".figure-box > img"):
        after = whole.parent.find_next_sibling()
        parts = after.select(":scope > .figure-box > .figure-part") if after else []
        figure = whole.find_parent("figure")
        name = figure["id"] if figure else whole["src"]
        yield name, max(legible(tag) for tag in parts or [whole])


def legible(tag: Tag) -> int:
    """Return the pixels that a tag's style asks for."""
    return int(tag["style"].partition("--legible: ")[2].partition("px")[0])


@pytest.mark.usefixtures("site")
def test_no_figure_is_wider_than_a_phones_column(images: ModuleType) -> None:
    """On no page; and what is listed as an exception is one."""
    found = {
        name: (n, page) for page in documents() for name, n in drawings(soup(page))
    }
    assert len(found) > 90
    wide = {name: one for name, one in found.items() if one[0] > images.COLUMN}
    assert wide.keys() >= EXCEPTIONS.keys(), "no longer an exception"
    problems = [
        f"{page}: {name} needs {n} px"
        for name, (n, page) in wide.items()
        if name not in EXCEPTIONS
    ]
    assert not problems, "\n".join(problems)


def test_no_figure_scrolls_on_a_narrow_phone(site: Path, new_context: Callable) -> None:
    """Of 360 pixels: there a drawing takes the margins of the page, too."""
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True}
    page = new_context(**phone, has_touch=True).new_page()
    for name in documents():
        page.goto(f"{site.as_uri()}/{name}.html")
        wide = page.evaluate(
            """() => [...document.querySelectorAll(".figure-box")]
              .filter((box) => box.scrollWidth > box.clientWidth + 1)
              .map((box) => box.parentElement.id)"""
        )
        assert not wide, name
        assert not page.evaluate(TOO_WIDE), name


@pytest.mark.parametrize(
    ("ends", "needs"),
    [((0, 332), 333), ((0, 541), 542), ((0, 300, 541), 301), ((0, 150, 541), 392)],
)
def test_the_widest_part_counts(
    ends: tuple[int, ...], needs: int, images: ModuleType
) -> None:
    """Not the whole, where a phone shows parts."""
    drawing = images.Drawing(ends[-1], images.LEGIBLE, tuple(pairwise(ends)))
    box = images.boxed('<img alt="A chart." src="a.svg" />', drawing)
    page = BeautifulSoup(f'<figure id="fig-x">{box}</figure>', "html.parser")
    assert list(drawings(page)) == [("fig-x", needs)]
