"""Which section of the assignment's chapter treats a mistake: the one whose words are most alike.

Words that few sections have count most (tf-idf), and words of the heading twice. There is one
chapter for an assignment: the one of its number.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from grading.course import notebooks

HEADING = re.compile(r"^(#{1,3})\s+(.+?)\s*$", re.MULTILINE)
WORD = re.compile(r"[a-z]{3,}")
#: Below this likeness, of at most 1 for each text, no section is named.
LEAST = 0.15
#: Sections that treat no matter of their own.
OTHER = ("check yourself",)


@dataclass(frozen=True)
class Section:
    """A section of a chapter: the page's name without its ending, the heading, its anchor."""

    page: str
    heading: str
    anchor: str
    text: str


def sections(book: Path, assignment: str) -> list[Section]:
    """Return the sections of an assignment's chapter, none if there is no such chapter."""
    found = sorted(book.glob(f"{assignment.partition('-')[0]}-*.ipynb"))
    if len(found) != 1:
        return []
    made: list[Section] = []
    heading, texts = "", []
    for cell in notebooks.cells(found[0]):
        parts = HEADING.split(cell.source) if cell.kind == "markdown" else [cell.source]
        texts.append(parts[0])
        for _, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            made.append(_section(found[0].stem, heading, texts))
            heading, texts = title, [text]
    made.append(_section(found[0].stem, heading, texts))
    return [
        section
        for section in made
        if section.heading and section.heading.lower() not in OTHER
    ][1:]  # the first is the chapter's title, with what stands below it


def _section(page: str, heading: str, texts: list[str]) -> Section:
    """Return a section with the anchor that Sphinx gives its heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
    anchor = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return Section(page, plain, anchor, "\n".join(texts))


def stems(text: str) -> Counter[str]:
    """Return a text's words without the commonest endings, with their number."""
    return Counter(
        re.sub(r"(?:ing|ed|es|s)$", "", word) for word in WORD.findall(text.lower())
    )


class Finder:
    """Finds the section that is about a text."""

    def __init__(self, known: list[Section]) -> None:
        self.known = known
        counts = [stems(f"{one.heading} {one.heading} {one.text}") for one in known]
        present = Counter(word for count in counts for word in count)
        self.rarity = {
            word: math.log(1 + len(known) / number) for word, number in present.items()
        }
        self.vectors = [self._vector(count) for count in counts]

    def _vector(self, count: Counter[str]) -> dict[str, float]:
        """Return the weights of words, of length one."""
        weights = {
            word: (1 + math.log(number)) * self.rarity[word]
            for word, number in count.items()
            if word in self.rarity
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / (length or 1) for word, weight in weights.items()}

    def find(self, *texts: str) -> Section | None:
        """Return the section whose words are most like those of all texts, None if none is.

        A long text counts as much as a short one.
        """
        wanted: Counter[str] = Counter()
        for text in texts:
            wanted.update(self._vector(stems(text)))
        likeness = [
            sum(weight * vector.get(word, 0.0) for word, weight in wanted.items())
            for vector in self.vectors
        ]
        best = max(range(len(likeness)), key=likeness.__getitem__, default=None)
        if best is None or likeness[best] < LEAST:
            return None
        return self.known[best]
