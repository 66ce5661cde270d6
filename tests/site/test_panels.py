"""What a phone shows otherwise: panels below each other, the rows of a table as cards.

course_site.images shows a figure in parts. Each needs its own numbers and names, and no text may
say "left": captions, descriptions and the text around them name a panel by its title, or by its
place in the order of reading, which is the same in both. Nor may the text beside a table speak of
rows and columns, where course_site.tables makes cards of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bs4 import BeautifulSoup, Tag

from tests.site.pages import documents, soup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

FIGURE = re.compile(r"<figure\b.*?</figure>", re.DOTALL)
NAME = re.compile(r'\bid="(fig-[\w-]+)"')
IMAGE = re.compile(r'_images/([^"]+)"')
ALT = re.compile(r'\balt="([^"]+)"')
CAPTION = re.compile(r'<span class="caption-text">(.*)</span>', re.DOTALL)
PARAGRAPH = re.compile(r"<(p|li)>((?:(?!<(?:p|li)>).)*?)</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
#: Words for a panel's place beside another; within a panel, "towards the left" is true anyhow.
SIDE = re.compile(
    r"\b(?:Left|Right|Middle|Centre)(?=[,:;]| and | of )"
    r"|(?:^|[(;,.] ?| and )(?:left|right|middle)(?=[,:)])"
    r"|\b(?:[Uu]pper|[Ll]ower|[Tt]op|[Bb]ottom)[ -](?:left|right)[,:]"
    r"|\b(?:[Oo]n|[Aa]t) the (?:left|right)\b"
    r"|\b(?:left|right|middle) (?:panel|chart|plot|grid|heatmap|map|picture)\b"
    r"|\b(?:left|middle) (?:table|drawing|one)\b"
)
#: Words for a place in a table that cards do not have.
IN_TABLE = re.compile(
    r"\b(?:first|last|same|next|two|three|four|five) (?:\w+ )?(?:rows?|columns?)\b"
)
SVG = "{http://www.w3.org/2000/svg}"


def plain(html: str) -> str:
    """Return a piece of HTML as text."""
    return " ".join(unescape(TAG.sub("", html)).split())


def in_parts(html: str) -> dict[str, str]:
    """Return the figures of a page that a phone shows in parts: name and HTML."""
    found = (match[0] for match in FIGURE.finditer(html))
    return {NAME.search(one)[1]: one for one in found if 'class="figure-parts"' in one}


def sides(html: str, names: set[str]) -> Iterator[str]:
    """Yield what a page says of a figure in parts that is true of one layout only."""
    texts = [
        (name, text)
        for name, figure in in_parts(html).items()
        for text in {*ALT.findall(figure), *CAPTION.findall(figure)}
    ]
    texts += [
        (name, paragraph)
        for _, paragraph in PARAGRAPH.findall(FIGURE.sub("", html))
        for name in names
        if f'#{name}"' in paragraph
    ]
    for name, text in texts:
        said = plain(text)
        for match in SIDE.finditer(said):
            around = said[max(match.start() - 30, 0) : match.end() + 30]
            yield f"{name}: {match[0].strip()!r} in “{around}”"


def test_no_text_says_left_of_what_may_stand_above(site: Path) -> None:
    """On all pages, also where another page refers to the figure."""
    pages = {
        name: (site / f"{name}.html").read_text(encoding="utf-8")
        for name in documents()
    }
    names = {figure for html in pages.values() for figure in in_parts(html)}
    assert len(names) > 30
    problems = [
        f"{page}: {problem}: name the panel by its title, or as first, second, last"
        for page, html in pages.items()
        for problem in sides(html, names)
    ]
    assert not problems, "\n".join(problems)


PAGE = """<figure class="align-default" id="fig-x"><img alt="{alt}">
<span class="figure-parts"><span class="figure-part"></span></span>
<figcaption><p><span class="caption-text">{caption}</span></p></figcaption></figure>
<figure id="fig-whole"><img alt="Left, one. Right, another."></figure><p>{text}</p>"""
CALM = {
    "alt": "Two charts.",
    "caption": "The left half is blue.",
    "text": "Left, there.",
}


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("caption", "Counts. <em>Left</em>, the first"),
        ("caption", "Two curves. Left and middle: pairs."),
        ("alt", "Left: one. Right: two."),
        ("alt", "Upper right, a triangle."),
        ("caption", "as on the left"),
        ("caption", "A column of the right grid"),
        ("text", 'Digits (<a href="#fig-x">Fig. 1</a>, left) jump.'),
        ("text", 'Waves, too (right). See <a href="02.html#fig-x">Fig. 1</a>.'),
    ],
)
def test_a_side_is_found(where: str, says: str) -> None:
    """In caption, description or text; not where the figure stays whole, nor within a panel."""
    assert not list(sides(PAGE.format(**CALM), {"fig-x"}))
    problems = list(sides(PAGE.format(**CALM | {where: says}), {"fig-x"}))
    assert problems
    assert all(problem.startswith("fig-x: ") for problem in problems)


@pytest.mark.parametrize(
    "says",
    [
        "The right answers rise to the right.",
        "First, the right curve; second, the left half of each row.",
        "What is left, and what is right",
        "Right answers, and where the right one falls in the right table",
    ],
)
def test_right_answers_are_no_side(says: str) -> None:
    """Nor is what is left, or a direction within a panel."""
    assert not list(sides(PAGE.format(**CALM | {"caption": says}), {"fig-x"}))


def bare(drawing: Path) -> Iterator[str]:
    """Yield the panels that have ticks on their y axis, and neither numbers nor names at them."""
    for group in ET.parse(drawing).iter(f"{SVG}g"):
        if not group.get("id", "").startswith("axes_"):
            continue
        parts = [
            part
            for tick in group.iter(f"{SVG}g")
            if tick.get("id", "").startswith("ytick_")
            for part in tick.iter(f"{SVG}g")
        ]
        if parts and not any(part.get("id", "").startswith("text_") for part in parts):
            yield group.get("id")


def test_each_part_has_its_numbers(site: Path) -> None:
    """A panel that shares its y axis with the one before stands alone on a phone."""
    problems = [
        f"{page}: {name}: {panel} has no labels at its y ticks: "
        "ax.tick_params(labelleft=True)"
        for page in documents()
        for name, figure in in_parts(
            (site / f"{page}.html").read_text(encoding="utf-8")
        ).items()
        for panel in bare(site / "_images" / IMAGE.search(figure)[1])
    ]
    assert not problems, "\n".join(problems)


def test_a_shared_axis_is_found(tmp_path: Path) -> None:
    """Also empty names; an axis without ticks needs none."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, sharey=True)
    axes[2].tick_params(labelleft=True)
    axes[3].remove()
    figure.add_subplot(144, yticks=[])
    figure.savefig(tmp_path / "shared.svg")
    plt.close(figure)
    assert list(bare(tmp_path / "shared.svg")) == ["axes_2"]


def axes_of(drawing: Path) -> Iterator[tuple[str, bool, int]]:
    """Yield each y axis of a drawing: its panel, whether it has a title, its labelled ticks."""
    for panel in ET.parse(drawing).iter(f"{SVG}g"):
        if not panel.get("id", "").startswith("axes_"):
            continue
        axes = [g for g in panel if g.get("id", "").startswith("matplotlib.axis_")]
        for axis in axes[1:2]:  # x comes first
            names = [part.get("id", "") for part in axis]
            ticks = [part for part in axis if part.get("id", "").startswith("ytick_")]
            labelled = sum(
                any(g.get("id", "").startswith("text_") for g in tick.iter(f"{SVG}g"))
                for tick in ticks
            )
            yield panel.get("id"), any(n.startswith("text_") for n in names), labelled


def figures_of(site: Path, page: str) -> Iterator[tuple[str, str, Path]]:
    """Yield the figures of a page that are drawings: name, HTML and file."""
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    for match in FIGURE.finditer(html):
        name, image = NAME.search(match[0]), IMAGE.search(match[0])
        if name and image and image[1].endswith(".svg"):
            yield name[1], match[0], site / "_images" / image[1]


def test_each_part_names_its_axis(site: Path) -> None:
    """What stands below another panel on a phone has no title beside it that it could share."""
    problems = [
        f"{page}: {name}: {panel} has no title at its y axis: ax.set_ylabel(...)"
        for page in documents()
        for name, html, drawing in figures_of(site, page)
        if 'class="figure-parts"' in html
        for panel, has_title, labelled in axes_of(drawing)
        if labelled and not has_title
    ]
    assert not problems, "\n".join(problems)


def test_one_number_is_no_scale(site: Path) -> None:
    """A logarithmic axis over less than two decades labels one power of ten, or none."""
    problems = [
        f"{page}: {name}: {panel} has one label at its y axis: LogLocator(subs=(1, 2, 5))"
        for page in documents()
        for name, _, drawing in figures_of(site, page)
        for panel, _, labelled in axes_of(drawing)
        if labelled == 1
    ]
    assert not problems, "\n".join(problems)


def test_titles_and_labels_of_an_axis_are_counted(tmp_path: Path) -> None:
    """Of each panel, with a shared axis and with one that has a single label."""
    import matplotlib.pyplot as plt

    figure, (first, _) = plt.subplots(1, 2, sharey=True)
    first.set(ylabel="share", ylim=(0, 1), yticks=[0, 0.5, 1])
    figure.add_axes((0, 0, 0.1, 0.1)).set(yticks=[1], ylim=(0, 2))
    figure.savefig(tmp_path / "two.svg")
    plt.close(figure)
    found = list(axes_of(tmp_path / "two.svg"))
    assert found == [("axes_1", True, 3), ("axes_2", False, 0), ("axes_3", False, 1)]


def beside_cards(page: Tag) -> Iterator[str]:
    """Yield what the paragraphs before and after a table say that is untrue of cards."""
    for table in page.select("table.is-cards"):
        box = table
        while box.parent.select(":scope > *") == [box]:
            box = box.parent
        for text in (box.find_previous_sibling(), box.find_next_sibling()):
            said = " ".join(text.get_text().split()) if text else ""
            if text and text.name == "p" and (match := IN_TABLE.search(said)):
                yield f"{match[0]!r} in “{said[:90]}”"


@pytest.mark.usefixtures("site")
def test_no_text_speaks_of_rows_where_cards_may_stand() -> None:
    """On all pages."""
    problems = [
        f"{name}: {problem}"
        for name in documents()
        for problem in beside_cards(soup(name))
    ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("says", "is_wrong"),
    [
        ("Read the last column.", True),
        ("As in the paper in the same row.", True),
        ("The last three rows are new.", True),
        ("Numbers are sections of the model's paper.", False),
    ],
)
def test_a_place_in_a_table_is_found(says: str, is_wrong: bool) -> None:
    """Before and after it, also when the table stands in boxes."""
    table = '<div><div><table class="{}"></table></div></div>'
    for order in ("<p>{0}</p>{1}", "{1}<p>{0}</p>"):
        html = f"<main>{order.format(says, table.format('is-cards'))}</main>"
        assert bool([*beside_cards(BeautifulSoup(html, "html.parser"))]) is is_wrong
        html = html.replace("is-cards", "")
        assert not [*beside_cards(BeautifulSoup(html, "html.parser"))]
