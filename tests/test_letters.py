"""Letters in the formulas of chapters 1 to 4: each stands in the notation page's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.course import notebooks
from grading.course.notebooks import ROOT

CHAPTERS = (
    "01-rnn-attention",
    "02-self-attention",
    "03-multi-head-attention",
    "04-encoder",
)
NOTATION = ROOT / "book" / "notation.ipynb"
#: Code, but not the fence of a table or another directive, whose text has formulas.
CODE = re.compile(r"```(?!\{).*?```|`[^`\n]+`", re.DOTALL)
MATH = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
#: What stands in these is a word, or a fixed symbol such as the E of an expectation.
WORDS = re.compile(
    r"\\(?:text|operatorname|mathrm|mathbb|begin|end|label)\*?\{[^{}]*\}"
)
#: Braces are flat after \\text and the like are gone; an index stands behind a letter.
INDEX = r"(?:'*\s*(?:\^\s*(?:\{[^{}]*\}|\\[a-z]+|.))?\s*_\s*(?P<index>\{[^{}]*\}|\\[a-zA-Z]+|.))?"
LETTER = re.compile(r"(?P<letter>\\[a-zA-Z]+|[a-zA-Z])" + INDEX)
GREEK = re.compile(
    r"\\(var)?(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|lambda|mu|nu|xi|pi|rho|sigma|tau|phi"
    r"|chi|psi|omega)",
    re.IGNORECASE,
)


def letters(text: str) -> Iterator[str]:
    """Yield the letters of a text's formulas, "h" or, where one has an index, "h_".

    An index belongs to its letter and is not read; what stands under a sum, or a word, is.
    """
    for block, inline in MATH.findall(CODE.sub(" ", text)):
        formula = WORDS.sub(" ", block or inline).replace("\\\\", " ")
        for found in LETTER.finditer(formula):
            letter, index = found["letter"], found["index"]
            if len(letter) == 1 or GREEK.fullmatch(letter):
                yield f"{letter}_" if index else letter
            elif index:  # the letters under a sum, or of a logarithm's base
                yield from letters(f"${index}$")


def said(path: Path) -> Iterator[tuple[notebooks.Cell, str]]:
    """Yield each cell with what it says: its text, or its figure's caption."""
    for cell in notebooks.cells(path):
        about = cell.metadata.get("mystnb", {}).get("figure", {})
        yield cell, cell.source if cell.kind == "markdown" else about.get("caption", "")


def agreed(text: str) -> set[str]:
    """Return the letters in the first column of a text's tables."""
    rows = re.findall(r"^\| *(.*?) *\|", text, re.MULTILINE)
    return {letter for row in rows for letter in letters(row)}


def unknown(path: Path, known: set[str]) -> list[str]:
    """Return a line for each letter of a notebook that is not known."""
    return [
        f"{path.name}: {cell}: {letter} is not in the notation page's tables"
        for cell, text in said(path)
        for letter in sorted(set(letters(text)) - known)
    ]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_letter_is_in_the_notation(chapter: str) -> None:
    """A letter with an index and the same without are two: h is heads, h_j an annotation."""
    known = agreed("\n".join(text for _, text in said(NOTATION)))
    assert unknown(ROOT / "book" / f"{chapter}.ipynb", known) == []


FORMULAS = {
    "h heads, $h_j$ and $d_{ff}$": ["h_", "d_"],
    r"$\sum_{j=1}^{S} \alpha_{ij} h_j$": ["j", "S", r"\alpha_", "h_"],
    r"$\text{logits}_i = \operatorname{emb}(y_{i-1})$": ["i", "y_"],
    r"$W^\top_q x'_t e^{-1}$": ["W_", "x_", "e"],
    r"$$\begin{aligned} q &\cdot k \\ \mathbb{E}[m] \end{aligned}$$": ["q", "k", "m"],
    r"$O(\log_w n)$": ["O", "w", "n"],
    "`$code$` and $\\sqrt{d_k}$": ["d_"],
    "```python\n$x$\n```\n\n```{table} $n$\n| $w$ |\n```": ["n", "w"],
}


@pytest.mark.parametrize(("text", "expected"), FORMULAS.items())
def test_letters_are_read(text: str, expected: list[str]) -> None:
    """Words, commands and code are no letters."""
    assert list(letters(text)) == expected


def test_a_letter_out_of_the_table_is_reported() -> None:
    """Known letters of a chapter pass; take one away, and its cells are named."""
    known = agreed("\n".join(text for _, text in said(NOTATION)))
    path = ROOT / "book" / "01-rnn-attention.ipynb"
    assert any(
        r"\alpha_ is not" in line for line in unknown(path, known - {r"\alpha_"})
    )
