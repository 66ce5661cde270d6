"""Letters in formulas: each stands in the notation page's tables, and means one thing.

An index belongs to its letter: $h$ is the number of heads, $h_j$ an annotation, and the page has a
row for each. A row whose meaning ends with "(chapter 1)" or "(chapter 1, assignment 1)" lends its
letters to these notebooks only. What a known letter means there is for a reader to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grading.course import notebooks
from grading.course.notebooks import ROOT

NOTATION = ROOT / "book" / "notation.ipynb"
#: The notebooks that keep to the page: chapters, and the statements of assignments.
NOTEBOOKS = (
    "book/01-rnn-attention.ipynb",
    "book/02-self-attention.ipynb",
    "book/03-multi-head-attention.ipynb",
    "book/04-encoder.ipynb",
    "book/05-positions.ipynb",
    "book/06-decoder.ipynb",
    "book/07-translator.ipynb",
    "book/08-one-block-many-models.ipynb",
    "book/traps.ipynb",
    "solutions/01-rnn-attention/rnn-attention.ipynb",
    "solutions/02-self-attention/self-attention.ipynb",
    "solutions/03-multi-head-attention/multi-head-attention.ipynb",
    "solutions/04-encoder/encoder.ipynb",
    "solutions/05-positions/positions.ipynb",
    "solutions/06-decoder/decoder.ipynb",
    "solutions/07-translator/translator.ipynb",
    "solutions/08-one-block/one-block.ipynb",
)
#: Code, but not the fence of a table or another directive, whose text has formulas.
CODE = re.compile(r"```(?!\{).*?```|`[^`\n]+`", re.DOTALL)
MATH = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
#: A word that is an index, W_{\text{out}} or n_\text{in}, is kept, in quotes.
NAME = re.compile(r"_\s*(?:\{\\text\{(\w+)\}\}|\\text\{(\w+)\})")
#: What stands in these is a word, or a fixed symbol such as the E of an expectation.
WORDS = re.compile(
    r"\\(?:text|operatorname|mathrm|mathbb|begin|end|label)\*?\{[^{}]*\}|\\\\\[\d+pt\]"
)
#: An index stands behind a letter; \\text and the like are gone, so that braces are flat, but
#: for an index of an index.
INDEX = (
    r"(?:'*\s*(?:\^\s*(?:\{[^{}]*\}|\\[a-z]+|.))?"
    r"\s*_\s*(?P<index>\{(?:[^{}]|\{[^{}]*\})*\}|\\[a-zA-Z]+|.))?"
)
LETTER = re.compile(r'"\w+"|(?P<letter>\\[a-zA-Z]+|[a-zA-Z])' + INDEX)
GREEK = re.compile(
    r"\\(var)?(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau"
    r"|phi|chi|psi|omega|ell)",
    re.IGNORECASE,
)
#: An index is made of words in quotes, commands such as \\max, letters and numbers.
PART = re.compile(r'"\w+"|\\[a-zA-Z]+|[a-zA-Z]|\d+')
#: Matrices and biases that are learned have names for indices, as many as there are.
NAMED = {"W", "U", "b"}
#: In an index these stand for the last of their kind, a second key, a sequence of the batch.
ALWAYS = set("BSTDN") | {"l", "b"}


@dataclass(frozen=True)
class Letter:
    """A letter, and the parts of its index: none, or letters, words, or one number."""

    base: str
    index: frozenset[str] | None = None

    def __str__(self) -> str:
        return self.base + (
            "" if self.index is None else f"_{{{' '.join(sorted(self.index))}}}"
        )


@dataclass(frozen=True)
class Row:
    """A letter of the page's first columns; where nonempty, the notebooks that may use it."""

    letter: Letter
    places: frozenset[tuple[str, int]] = frozenset()

    def covers(self, used: Letter) -> bool:
        """Say whether a letter that is used is this one: h_{j-1} and h_1 are h_j, h_t is not."""
        mine, other = self.letter.index, used.index
        if self.letter.base != used.base or (mine is None) != (other is None):
            return False
        if mine is None or self.letter.base in NAMED:
            return True
        running = any(
            re.fullmatch("[a-zA-Z]", part) or GREEK.fullmatch(part) for part in mine
        )
        if all(part.isdigit() for part in other):
            return other == mine or running
        return other <= mine | (ALWAYS if running else set())


def index_of(text: str) -> frozenset[str]:
    """Return an index's parts; numbers count only where they are alone: j - 1 is j."""
    parts = set(PART.findall(text))
    return frozenset({part for part in parts if not part.isdigit()} or parts)


def letters(text: str) -> Iterator[Letter]:
    """Yield the letters of a text's formulas.

    An index belongs to its letter; what stands under a sum, or a word, is read for itself.
    """
    for block, inline in MATH.findall(CODE.sub(" ", text)):
        formula = NAME.sub(
            lambda found: f'_{{"{found[1] or found[2]}"}}', block or inline
        )
        formula = WORDS.sub(" ", formula).replace("\\\\", " ")
        for found in LETTER.finditer(formula):
            letter, index = found["letter"] or "", found["index"]
            if len(letter) == 1 or GREEK.fullmatch(letter):
                yield Letter(letter, index_of(index) if index else None)
            elif index:  # the letters under a sum, or of a logarithm's base
                yield from letters(f"${index}$")


def said(path: Path) -> Iterator[tuple[notebooks.Cell, str]]:
    """Yield each cell with what it says: its text, or its figure's caption."""
    for cell in notebooks.cells(path):
        about = cell.metadata.get("mystnb", {}).get("figure", {})
        yield cell, cell.source if cell.kind == "markdown" else about.get("caption", "")


def places_of(meaning: str) -> frozenset[tuple[str, int]]:
    """Return where a row's letters may be used, from its end, "(chapters 1 and 8)"; or none."""
    limit = re.search(r"\((?:chapter|assignment)s? \d[^()]*\)$", meaning)
    parts = (
        re.findall(r"(chapter|assignment)s?((?:,? (?:and )?\d)+)", limit[0])
        if limit
        else []
    )
    return frozenset(
        (kind, int(n)) for kind, numbers in parts for n in re.findall(r"\d", numbers)
    )


def rows(text: str) -> list[Row]:
    """Return the letters in the first column of a text's tables, each with its places."""
    found = []
    for line in re.findall(r"^\| .* \|$", text, re.MULTILINE):
        first, *_, meaning = line.strip("| ").split(" | ")
        found += [Row(letter, places_of(meaning)) for letter in letters(first)]
    return found


def agreed() -> list[Row]:
    """Return the rows of the notation page."""
    return rows("\n".join(text for _, text in said(NOTATION)))


def place_of(path: Path) -> tuple[str, int]:
    """Return ("chapter", 5), ("assignment", 5), or ("other", 0)."""
    is_chapter = path.parent.name == "book"
    number = re.match(r"(\d+)-", path.name if is_chapter else path.parent.name)
    return (
        ("chapter" if is_chapter else "assignment", int(number[1]))
        if number
        else ("other", 0)
    )


def wrong(path: Path, known: list[Row]) -> list[str]:
    """Return a line for each letter of a notebook that has no row, or a row for others only."""
    lines = []
    for cell, text in said(path):
        for letter in sorted(set(letters(text)), key=str):
            found = [row for row in known if row.covers(letter)]
            if not found:
                lines.append(
                    f"{path.name}: {cell}: {letter} is not in the page's tables"
                )
            elif not any(
                not row.places or place_of(path) in row.places for row in found
            ):
                where = sorted(set().union(*(row.places for row in found)))
                lines.append(f"{path.name}: {cell}: {letter} is kept for {where}")
    return lines


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_each_letter_is_in_the_notation(notebook: str) -> None:
    """Known, and not kept for another chapter or assignment."""
    assert wrong(ROOT / notebook, agreed()) == []


def test_no_letter_has_two_rows() -> None:
    """Each letter, with its index, is explained once; $x_t$ and $x_j$ are two."""
    first = re.compile(r"^\| (\$[^|]*?) \|", re.MULTILINE)
    text = "\n".join(text for _, text in said(NOTATION))
    explained = [
        formula.strip("$")
        for cell in first.findall(text)
        for formula in re.findall(r"\$[^$]+\$", cell)
    ]
    assert sorted({one for one in explained if explained.count(one) > 1}) == []


FORMULAS = {
    "h heads, $h_j$ and $d_{ff}$": ["h_{j}", "d_{f}"],
    r"$\sum_{j=1}^{S} \alpha_{ij} h_j$": ["j", "S", r"\alpha_{i j}", "h_{j}"],
    r"$\text{logits}_i = \operatorname{emb}(y_{i-1})$": ["i", "y_{i}"],
    r"$W^\top_q x'_t e^{-1}$": ["W_{q}", "x_{t}", "e"],
    r"$$\begin{aligned} q &\cdot k \\[4pt] \mathbb{E}[m] \end{aligned}$$": [
        "q",
        "k",
        "m",
    ],
    r"$O(\log_w n)$": ["O", "w", "n"],
    r"$\ell \hat m_t$": [r"\ell", "m_{t}"],
    r"$W_{\text{out}} n_\text{in} \delta_{\max}$": [
        'W_{"out"}',
        'n_{"in"}',
        r"\delta_{\max}",
    ],
    r"$\underbrace{X}_{\text{rows}} R_{\omega_{D/2}} h_1$": [
        "X",
        r"R_{D \omega}",
        "h_{1}",
    ],
    "`$code$` and $\\sqrt{d_k}$": ["d_{k}"],
    "```python\n$x$\n```\n\n```{table} $n$\n| $w$ |\n```": ["n", "w"],
}


@pytest.mark.parametrize(("text", "expected"), FORMULAS.items())
def test_letters_are_read(text: str, expected: list[str]) -> None:
    """Words, commands and code are no letters."""
    assert list(map(str, letters(text))) == expected


PAGE = r"""
| letter | meaning |
| --- | --- |
| $h$ | heads |
| $h_j$ | annotation (chapter 1) |
| $m_t$, $\beta_1$ | Adam (chapter 7, assignments 6 and 7) |
| $W_q$ | learned |
| $n_{\text{real}}$ | tokens |
"""


@pytest.mark.parametrize(
    ("used", "places"),
    {
        "$h$": [()],
        "$h_S h_{j-1} h_{bl}$": [(("chapter", 1),)] * 3,
        "$h_t$": [None],
        "$m_1$": [(("assignment", 6), ("assignment", 7), ("chapter", 7))],
        r"$\beta_2$": [None],
        "$W_{ab}$": [()],
        "$W$": [None],
        r"$n_{\text{real}} n_{\text{in}} n_i$": [(), None, None],
    }.items(),
)
def test_an_index_belongs_to_its_letter(used: str, places: list[tuple | None]) -> None:
    """None: there is no row for it; else the places of its row."""
    found = [
        [row for row in rows(PAGE) if row.covers(letter)] for letter in letters(used)
    ]
    assert [tuple(sorted(row[0].places)) if row else None for row in found] == places


def test_what_is_wrong_is_reported() -> None:
    """Take a known letter away, or lend it to another chapter, and its cells are named."""
    path, known = ROOT / "book" / "01-rnn-attention.ipynb", agreed()
    weight = [row for row in known if row.letter.base == r"\alpha" and row.letter.index]
    others = [row for row in known if row not in weight]
    elsewhere = [Row(row.letter, frozenset({("chapter", 9)})) for row in weight]
    assert any(r"\alpha_{i j} is not in" in line for line in wrong(path, others))
    assert any(
        "is kept for [('chapter', 9)]" in line
        for line in wrong(path, others + elsewhere)
    )
