"""The report by the command line: page, table, candidates, and what it refuses."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grading.__main__ import main
from grading.course.states import Result, State
from grading.gradebook import ledger
from grading.gradebook.writer import GradebookWriter
from grading.report import make, page
from tests.grading import helpers
from tests.harness import sample

ODD = "zoë <b>&amp;"
CHAPTER = """# Chapter

## Doubling

Twice the number; a sign stays.

## Sums

Add the values, once each is doubled.
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose class was graded: right, wrong in three ways, open, broken, missing."""
    root = helpers.make_course(tmp_path_factory.mktemp("class") / "course")
    bank = root / "tests" / "answers" / sample.NAME
    bank.mkdir(parents=True)
    (bank / "double.py").write_text("# %% wrong: sign | says: sign was lost\n")
    sample.write(
        root / "book" / "90-chapter.ipynb",
        {
            "cells": [{"cell_type": "markdown", "metadata": {}, "source": CHAPTER}],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 4,
        },
    )
    wrong = {
        "s02": helpers.WRONG,
        "s03": helpers.WRONG,
        "s04": {"double": "def double(x):\n    # ask Mia\n    return x + 2"},
        ODD: {
            **helpers.RIGHT,
            "total": "def total(values):\n    raise ValueError('<i>')",
        },
    }
    for student, answers in {"s01": helpers.RIGHT, **wrong}.items():
        helpers.hand_in(root, student, helpers.fill(answers))
    helpers.hand_in(root, "s06", "{")
    (root / "submitted" / "s07").mkdir()
    assert main(["run", "90", "--root", str(root), "--jobs", "2"]) == 1
    return root


@pytest.fixture(scope="module")
def made(root: Path) -> tuple[str, list[dict[str, str]]]:
    """The page, and the table's lines."""
    assert main(["report", "90", "--root", str(root)]) == 0
    folder = root / "reports" / sample.NAME
    table = (folder / page.TABLE).read_text(encoding="utf-8")
    return (folder / page.PAGE).read_text(encoding="utf-8"), list(
        csv.DictReader(io.StringIO(table))
    )


pytestmark = pytest.mark.slow


def text_of(html: str) -> str:
    """Return a page's text in one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", html.partition("<body>")[2]).split())


def test_the_page_says_who_made_which_mistake(made: tuple) -> None:
    """States, groups with their size, the chapter's section, what the bank knows."""
    text = text_of(made[0])
    assert "5 graded, 1 missing, 1 failed, 0 suspect" in text
    assert "a sign was lost 2 of 5 Read again: Doubling . Failed: small." in text
    assert "As in the bank: sign." in text
    assert "is it x + 2? 1 of 5" in text
    assert "New: no wrong answer of the bank says this." in text
    assert 'href="../../_build/html/book/90-chapter.html#doubling"' in made[0]


def test_the_table_has_a_line_for_each_loss(made: tuple) -> None:
    """Whoever lost points of a task stands there once, and nobody else."""
    lines = {(line["task"], line["student"]): line for line in made[1]}
    assert len(lines) == len(made[1])
    assert set(lines) == {
        ("double", "s02"),
        ("double", "s03"),
        ("double", "s04"),
        ("total", "s02"),
        ("total", "s03"),
        ("total", "s04"),
        ("total", ODD),
    }
    assert lines["double", "s02"]["mistake"] == "a sign was lost"
    assert lines["double", "s02"]["students with it"] == "2"
    assert lines["total", "s04"]["mistake"] == "not answered"
    assert lines["total", ODD]["mistake"] == "ValueError: <i>"


def test_nothing_of_a_submission_is_html(made: tuple) -> None:
    """Names and messages are text; no script, and a policy that allows the style alone."""
    html = made[0]
    assert "<i>" not in html
    assert "zoë <b>" not in html
    assert "zoë &lt;b&gt;" in html
    assert "<script" not in html
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in html


def test_candidates_are_entries_of_the_bank(root: Path, tmp_path: Path) -> None:
    """What the bank does not explain, without comments, in the bank's own form."""
    folder = tmp_path / "new"
    arguments = ["report", "90", "--root", str(root), "--candidates", str(folder)]
    assert main(arguments) == 0
    entry = (folder / "double.py").read_text()
    assert entry.startswith(
        "# %% wrong: class_2 | says: is it x \\+ 2\\?\n# One student"
    )
    assert "return x + 2" in entry
    assert "Mia" not in entry
    assert "abs" not in entry  # the sign, which the bank has
    from tests.harness.bank import parse

    assert [one.name for one in parse(folder / "double.py", entry, "")] == ["class_2"]


def test_nobody_graded_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """The message says what to do first; no half a report is left."""
    root = helpers.make_course(tmp_path / "course")
    helpers.hand_in(root, "s01", "{")
    main(["run", "90", "--root", str(root), "--jobs", "1"])
    capsys.readouterr()
    assert main(["report", "90", "--root", str(root)]) == 2
    assert "nobody has points yet. First: python -m grading run" in (
        capsys.readouterr().err
    )
    assert not (root / "reports").exists()


def test_attempts_and_times_come_from_the_gradebook(root: Path) -> None:
    """Each file counts once, with its points then; quarters follow the time of handing in."""
    url = f"sqlite:///{root / 'gradebook.db'}"
    later = Result("s04", State.GRADED, points=helpers.FULL, content="another file")
    with GradebookWriter(url) as writer:
        for _ in range(2):  # the same file again is no attempt
            writer.write(lambda there: ledger.note_attempt(there, sample.NAME, later))
    with Gradebook(url) as gradebook:
        start = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
        for n, student in enumerate(("s03", "s01", "s02", "s04", ODD)):
            gradebook.find_submission(sample.NAME, student).timestamp = (
                start + timedelta(hours=n)
            )
        gradebook.db.commit()
    assert main(["report", "90", "--root", str(root)]) == 0
    html = (root / "reports" / sample.NAME / page.PAGE).read_text(encoding="utf-8")
    text = text_of(html)
    assert (
        "01 Jan 00:00 to 01 Jan 00:00 1 1 0 01 Jan 01:00 to 01 Jan 01:00 1 6 0" in text
    )
    assert "Files Students Median, first Median, last 1 4" in text
    assert re.search(r"2 1 0 6 (Notebooks|</)", text)


def test_a_report_without_book_or_answers_is_made(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is gone, or a course without chapters, leaves out what it would have given."""
    monkeypatch.setattr(make, "written", lambda *_: {})
    monkeypatch.setattr(make, "sections", lambda *_: [])
    assert main(["report", "90", "--root", str(root)]) == 0
    html = (root / "reports" / sample.NAME / page.PAGE).read_text(encoding="utf-8")
    assert "Read again" not in html
    assert "No two notebooks have the same answers" in html
