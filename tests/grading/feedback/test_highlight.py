"""Code on a student's page: in colour, unchanged, and in bounded time whatever it is."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from grading.course import notebooks
from grading.course.notebooks import ROOT
from grading.feedback import highlight, words
from grading.feedback import page as feedback_page
from grading.run import batch
from grading.run.preparation import Options
from tests.grading import helpers
from tests.harness import sample

#: Repeated, each of these makes some lexer or pattern begin again and again.
UNITS = [
    " \n",
    "\n",
    " ",
    "\t\n",
    '"',
    "'",
    "\\",
    '\\"',
    '"""',
    '\'""',
    'f"{',
    "rb",
    "(",
    "0",
    "1e-",
    "def ",
    "def\t",
    "\n    ",
    "\n@",
    "@a",
    ".",
    "é",
    "#\n",
    "r'\\",
    ' File "',
    "Traceback (most recent call last)\n",
]
KINDS = (Comment, String, Number, Keyword, Operator.Word, Name.Function, Name.Class)


def text_of(code: str) -> str:
    """Return the text of coloured code, of which the last line has an end."""
    return html.unescape(re.sub(r"<[^>]*>", "", highlight.coloured_code(code)))


@pytest.mark.parametrize("unit", UNITS)
def test_no_code_and_no_output_takes_long(unit: str) -> None:
    with feedback_page.limited(10):
        for start in ("", '"""', "def "):
            code = start + unit * (60_000 // len(unit))
            assert text_of(code).rstrip("\n") == code.rstrip("\n")
            words.without_paths(code * 3)


def kinds(lexer: object, code: str) -> list[object]:
    """Return the kind of each character."""
    found = []
    for kind, text in lexer.get_tokens(code):
        known = (
            one for one in KINDS if kind in one and kind is not Name.Function.Magic
        )
        found += [next(known, None)] * len(text)
    return found


def test_colours_are_those_of_pygments_and_the_text_stays() -> None:
    """In all solutions; but an f-string is text, and `__init__` is a name."""
    compared = 0
    for path in sorted((ROOT / "solutions").glob("*/*.ipynb")):
        for cell in notebooks.cells(path):
            if cell.kind != "code" or not cell.is_solution:
                continue
            assert text_of(cell.source) == cell.source + "\n"
            wanted = kinds(PythonLexer(stripnl=False, ensurenl=False), cell.source)
            for place, kind in enumerate(kinds(highlight._LEXER, cell.source)):
                if wanted[place] is not None and kind is not String:
                    assert kind is wanted[place], (
                        path.name,
                        cell.source[place - 20 : place + 20],
                    )
                    compared += 1
                assert (wanted[place] is String) <= (kind is String)
    assert compared > 10_000


def test_a_page_that_takes_too_long_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    root = helpers.make_course(tmp_path / "course")
    for student in ("s01", "s02", "s03"):
        helpers.hand_in(root, student, helpers.fill(helpers.RIGHT))
    page = feedback_page.page

    def endless(standing: object, *rest: object) -> str:
        while standing.student == "s02":
            pass
        return page(standing, *rest)

    monkeypatch.setattr(feedback_page, "page", endless)
    monkeypatch.setattr(feedback_page, "PAGE_SECONDS", 0.5)
    done = batch.grade(
        root,
        sample.NAME,
        Options(jobs=1, engine="tests.grading.fakes:make", progress=True),
    )
    assert {one.student: one.points for one in done.standings} == dict.fromkeys(
        ("s01", "s02", "s03"), 6.0
    )
    written = {path.parts[-3] for path in (root / "feedback").rglob("*.html")}
    assert written == {"s01", "s03"}
    assert (
        "no feedback for s02: TimeoutError: it takes more than 0.5 s"
        in capsys.readouterr().err
    )
