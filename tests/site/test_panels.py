"""Panels that stand side by side stand below each other on a phone: no text may say "left".

course_site.images shows such a figure in parts. Captions, descriptions and the text around them
name a panel by its title, or by its place in the order of reading, which is the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.site.pages import documents

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

FIGURE = re.compile(r"<figure\b.*?</figure>", re.DOTALL)
NAME = re.compile(r'\bid="(fig-[\w-]+)"')
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
