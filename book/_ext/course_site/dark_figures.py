"""Figures in the dark: drawings change light for dark, what speaks by its colour stays as it is.

Most drawings are turned by the style sheet. A heatmap's text speaks of bright squares: in its SVG
a style of its own turns all but the squares and what is drawn on them. So it does where an artist's
colour is what it shows, and says so by a `gid` that begins with "as-drawn". The style follows the
page's theme, which a browser hands to the images of a page as their colour scheme. Photographs and
screenshots stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from docutils import nodes
from sphinx.application import Sphinx

KEPT = "as-drawn"
#: How matplotlib writes the colours of a heatmap into an SVG, and an artist's gid.
MAPS = ("<image", "QuadMesh")
MARKS = (*MAPS, f'id="{KEPT}')
SVG = "http://www.w3.org/2000/svg"
NAMES = {"": SVG, "xlink": "http://www.w3.org/1999/xlink"}
COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PLACE = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
#: The style sheet's filter for the other drawings, invert(0.92) hue-rotate(180deg), as numbers.
INVERT = 0.92
TURN = (
    (-0.574, 1.430, 0.144),
    (0.426, 0.430, 0.144),
    (0.426, 1.430, -0.856),
)


def turns_itself(path: Path) -> bool:
    """Return whether an image is a drawing with colours that must stay."""
    if path.suffix != ".svg" or not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    return any(mark in text for mark in MARKS)


def mark(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Tell the style sheet, by a class, which images it must not turn."""
    for node in doctree.findall(nodes.image):
        path = Path(app.srcdir, node["uri"])
        if turns_itself(path):
            node["classes"].append("turns-itself")
        elif path.suffix != ".svg" or not path.is_file():
            node["classes"].append("keeps-colours")


def turned(colour: str) -> str:
    """Return a colour as the style sheet's filter would show it."""
    light = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    dark = [INVERT + (1 - 2 * INVERT) * value for value in light]
    mixed = [sum(a * b for a, b in zip(row, dark, strict=True)) for row in TURN]
    return "#" + "".join(f"{round(255 * min(1, max(0, v))):02x}" for v in mixed)


def answering(text: str) -> str:
    """Return matplotlib's SVG with a style for the dark."""
    for prefix, name in NAMES.items():
        ET.register_namespace(prefix, name)
    root = ET.fromstring(text)
    for axes in root.iter(f"{{{SVG}}}g"):
        if axes.get("id", "").startswith("axes_"):
            keep(axes)
    for element in root.iter():
        if element.get("id", "").startswith(KEPT):
            element.set("class", KEPT)
    colours = set()
    for element in root.iter():
        colours.update(COLOUR.findall(element.get("style", "")))
    others = f":not(.{KEPT}, .{KEPT} *)"
    rules = [f'[id^="text_"]{others}{{fill:{turned("#000000")}}}']
    rules += [
        f'[style*="{what}: {colour}"]{others}{{{what}:{turned(colour)}!important}}'
        for what, colour in sorted(colours)
    ]
    style = ET.Element(f"{{{SVG}}}style")
    style.text = f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"
    root.insert(0, style)
    return ET.tostring(root, encoding="unicode")


def keep(axes: ET.Element) -> None:
    """Mark a panel's squares and what is drawn on them: its own artists, and the texts within."""
    whole = ET.tostring(axes, encoding="unicode")
    if not any(mark in whole for mark in ("image", "QuadMesh")):
        return
    background = axes.find(f"{{{SVG}}}g/{{{SVG}}}path")
    numbers = [float(n) for n in NUMBER.findall(background.get("d"))]
    across, down = numbers[0::2], numbers[1::2]
    for child in axes:
        name = child.get("id", "")
        if name.startswith("text_"):
            place = next(filter(None, map(located, child.iter())), None)
            inside = (
                place is not None
                and min(across) <= place[0] <= max(across)
                and min(down) <= place[1] <= max(down)
            )
        else:
            inside = child.tag.endswith("image") or any(
                part.get("clip-path") for part in child.iter()
            )
        if inside and not name.startswith(("matplotlib.axis", "legend")):
            child.set("class", KEPT)


def located(element: ET.Element) -> tuple[float, float] | None:
    """Return where an element has been moved to, if it has."""
    found = PLACE.match(element.get("transform", ""))
    return found and (float(found[1]), float(found[2]))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Give the drawings that turn themselves their style, those that have none yet."""
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir, app.builder.imagedir).glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        if any(mark in text for mark in MARKS) and "prefers-color-scheme" not in text:
            path.write_text(answering(text), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Mark when each page's images are known, and write when they are in their place."""
    app.connect("doctree-resolved", mark)
    app.connect("build-finished", write)
