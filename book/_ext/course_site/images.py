"""A page's images: they load when they come near, have their place before that, and fit a phone.

A chapter has some twenty drawings, each a document of its own for the browser. All at once they
cost a phone as much time as the page itself.

A drawing is seven inches wide, and a phone's screen four: letters would be five pixels high. An SVG
of matplotlib's tells where each of them stands. A drawing whose panels stand side by side is shown
in parts, one below the other, and takes the page's margins; what cannot be parted keeps the width
that its smallest letters need, and scrolls in its box.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

IMAGE = re.compile(
    r'<img (?=[^>]*\bsrc="[^":]*_images/([^"/]+)")(?![^>]*\bloading=)[^>]*>'
)

LEGIBLE = 10  # pixels of the screen a letter, at least: what is wider scrolls
READABLE = (
    11  # pixels a letter, on a phone of 390 that a drawing fills from edge to edge
)
COLUMN = 360  # pixels: a narrow phone, which a drawing fills, too
NATURAL = 4 / 3  # pixels a point
GAP = 1  # points: what is narrower does not part two panels
LAST = 0.8  # of its size: how wide a text's last letter may be
BELOW = 0.25  # of its size: how far a text's letters go below its line
NARROW = 60  # points: what is narrower stays with the panel before it
BAR = 20  # points: a colour bar is narrower

SVG = "{http://www.w3.org/2000/svg}"
PLACE = re.compile(
    r"translate\((-?[\d.]+) -?[\d.]+\)(?: rotate\((-?[\d.]+)\))? scale\(([\d.]+) -"
)
ACROSS = re.compile(r"translate\((-?[\d.]+) ")
POINT = re.compile(r"(-?[\d.]+) -?[\d.]+")
ALT = re.compile(r'alt="[^"]*"')
EM = 100  # units of a glyph: scale(0.09) draws it at 9 points


def place(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give each image of a page its size and its box, and let all but the first wait."""
    if app.builder.format != "html" or "body" not in context:
        return
    sources = {name: uri for uri, name in app.builder.images.items()}
    first = True

    def attributes(match: re.Match[str]) -> str:
        nonlocal first
        source = sources.get(match[1])
        path = source and Path(app.srcdir, source)
        size = path and get_image_size(str(path))
        if not size:  # without a place of its own it would push the text when it comes
            return match[0]
        lazy = "" if first else 'loading="lazy" '
        first = False
        place = f'<img {lazy}width="{size[0]}" height="{size[1]}" '
        tag = place + match[0].removeprefix("<img ")
        drawing = read(path)
        return boxed(tag, drawing) if drawing else tag

    context["body"] = IMAGE.sub(attributes, context["body"])


@dataclass(frozen=True)
class Drawing:
    """A drawing's width, its smallest letters, and its parts from left to right, in points."""

    width: float
    letters: float
    parts: tuple[tuple[float, float], ...]

    def needs(self, width: float) -> int:
        """Return the pixels that a part of this width needs for its letters."""
        return round(width * LEGIBLE / self.letters) + 1


@cache
def read(path: Path) -> Drawing | None:
    """Return what matters of a drawing of matplotlib's; None for others, or without letters."""
    if path.suffix != ".svg" or b"matplotlib" not in path.read_bytes()[:2000]:
        return None
    root = ET.parse(path).getroot()
    left, _, width, _ = map(float, root.get("viewBox").split())
    (figure,) = (g for g in root if g.get("id") == "figure_1")
    sizes: list[float] = []
    spans: list[tuple[float, float]] = []
    panels: list[tuple[float, float]] = []
    bars: list[tuple[float, float]] = []
    for part in figure:
        if part.get("id") == "patch_1":  # the card below all
            continue
        own: list[tuple[float, float]] = []
        for element in shapes(part):
            if element.tag == f"{SVG}g":
                size, span = text(element)
                sizes.append(size)
                own.append(span)
            else:
                own.extend(extent(element))
        name = part.get("id", "")
        if name.startswith(("axes_", "legend_")) and own:  # with its labels: whole
            own = [(min(low for low, _ in own), max(high for _, high in own))]
        if name.startswith("axes_") and own:
            (bars if is_colour_bar(part) else panels).extend(own)
        spans.extend(own)
    for low, high in bars:  # each stays with the panel to its left
        ends = [end for _, end in panels if end <= low]
        spans.append((max(ends, default=low), high))
    if not sizes:
        return None
    cuts = places(spans, left, left + width) if len(panels) > 1 else []
    return Drawing(width, min(sizes), tuple(pairwise([left, *cuts, left + width])))


def is_colour_bar(axes: ET.Element) -> bool:
    """Return whether a panel is the narrow one that explains another's colours."""
    background = next(axes.iter(f"{SVG}path"), None)
    across = [] if background is None else extent(background)
    return bool(across) and across[0][1] - across[0][0] < BAR


def shapes(element: ET.Element) -> Iterator[ET.Element]:
    """Yield the texts (groups), paths, marks and images of a part of a drawing."""
    for child in element:
        if child.tag == f"{SVG}defs" or child.get("clip-path"):
            continue  # what is clipped lies within its panel, whose own shape is here
        is_text = child.tag == f"{SVG}g" and PLACE.match(child.get("transform", ""))
        if is_text or child.tag in {f"{SVG}path", f"{SVG}use", f"{SVG}image"}:
            yield child
        else:
            yield from shapes(child)


def text(element: ET.Element) -> tuple[float, tuple[float, float]]:
    """Return the size of a text's letters and how far it goes across."""
    x, turn, scale = PLACE.match(element.get("transform")).groups()
    start, size = float(x), float(scale) * EM
    ends = [ACROSS.match(use.get("transform", "")) for use in element.iter(f"{SVG}use")]
    length = (
        max((float(end[1]) for end in ends if end), default=0) * float(scale)
        + LAST * size
    )
    angle = math.radians(float(turn or 0))
    corners = [
        start + along * math.cos(angle) + up * math.sin(angle)
        for along in (0, length)
        for up in (-BELOW * size, size)
    ]
    return size, (min(corners), max(corners))


def extent(element: ET.Element) -> list[tuple[float, float]]:
    """Return how far a path, a mark or an image goes across."""
    if element.tag == f"{SVG}path":
        across = [float(x) for x in POINT.findall(element.get("d", ""))]
    else:
        x = float(element.get("x", "nan"))
        across = [x, x + float(element.get("width", 0))]
    return [(min(across), max(across))] if across and across[0] == across[0] else []


def places(spans: list[tuple[float, float]], left: float, right: float) -> list[float]:
    """Return where nothing is drawn from top to bottom, and panels stand on either side."""
    cuts, end = [], left
    for low, high in sorted(spans):
        if low - end > GAP and end > left:
            cuts.append((low + end) / 2)
        end = max(end, high)
    kept: list[float] = []
    for cut, following in pairwise([*cuts, right]):
        if cut - (kept[-1] if kept else left) >= NARROW and following - cut >= NARROW:
            kept.append(cut)
    return kept


def boxed(tag: str, drawing: Drawing) -> str:
    """Return an image's tag in a box that scrolls, with its parts for a phone beside it."""
    whole = styled(tag, f"--legible: {drawing.needs(drawing.width)}px")
    box = f'<span class="figure-box">{whole}</span>'
    is_fine = drawing.needs(drawing.width) <= COLUMN
    if is_fine or len(drawing.parts) == 1:
        return box
    return f'{box}<span class="figure-parts">{"".join(parts(tag, drawing))}</span>'


def parts(tag: str, drawing: Drawing) -> Iterator[str]:
    """Yield the parts: each a window on the same image, described once."""
    tag = tag if " loading=" in tag else tag.replace("<img ", '<img loading="lazy" ', 1)
    for start, end in drawing.parts:
        width = end - start
        across, left = (100 * x / width for x in (drawing.width, -start))
        moved = f"width: {across:.2f}%; margin-left: {left:.2f}%"
        wide = round(width * max(NATURAL, READABLE / drawing.letters)) + 1
        size = f"width: {wide}px; --legible: {drawing.needs(width)}px"
        window = f'<span class="figure-part" style="{size}">{styled(tag, moved)}</span>'
        yield f'<span class="figure-box">{window}</span>'
        tag = ALT.sub('alt="" aria-hidden="true"', tag)


def styled(tag: str, style: str) -> str:
    """Return the tag with a style, before those it may have."""
    if ' style="' in tag:
        return tag.replace(' style="', f' style="{style}; ', 1)
    return tag.replace("<img ", f'<img style="{style}" ', 1)


def setup(app: Sphinx) -> None:
    """Come before the page is written."""
    app.connect("html-page-context", place)
