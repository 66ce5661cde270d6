"""nbgrader's gradebook: whole transactions, states beside it, and no zero that nobody earned."""

from __future__ import annotations

import contextlib
import csv
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from grading.course import notebooks, release, submission
from grading.course.database import GradebookError, reading
from grading.course.states import Result, State, failed
from grading.gradebook import ledger
from grading.gradebook.export import StateCsvExport
from grading.gradebook.standing import Person, roster, standings
from grading.gradebook.writer import GradebookWriter
from tests.grading.helpers import FULL
from tests.harness import sample

NAME, NOTEBOOK = sample.NAME, "sample"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gradebook into which nbgrader has put the sample's cells."""
    root = tmp_path_factory.mktemp("released")
    shutil.copy(notebooks.ROOT / "nbgrader_config.py", root)
    sample.make(root)
    done = release.nbgrader(root, "generate_assignment", NAME)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def book(released: Path, tmp_path: Path) -> Iterator[GradebookWriter]:
    """A new gradebook of ours with the same cells."""
    with (
        GradebookWriter(f"sqlite:///{tmp_path / 'gradebook.db'}", "attention") as made,
        contextlib.closing(
            Gradebook(f"sqlite:///{released / 'gradebook.db'}")
        ) as source,
    ):
        made.register(NAME, source)
        yield made


def test_cells_are_registered_as_nbgrader_does(
    book: GradebookWriter, released: Path
) -> None:
    """Every row of every kind of cell is the same, up to the random ids."""

    def rows(gradebook: Gradebook) -> list:
        notebook = gradebook.find_notebook(NOTEBOOK, NAME)
        found = [notebook.kernelspec, notebook.assignment.course_id]
        for kind in ("grade", "solution", "task", "source"):
            for cell in getattr(notebook, f"{kind}_cells"):
                found.append(
                    (kind, {k: v for k, v in cell.to_dict().items() if k != "id"})
                )
        return found

    with contextlib.closing(
        Gradebook(f"sqlite:///{released / 'gradebook.db'}")
    ) as source:
        assert len(rows(source)) > 8
        assert rows(book.gradebook) == rows(source)


def test_registered_cells_are_known(book: GradebookWriter, released: Path) -> None:
    """Nothing is to do while the assignment is as it was."""
    source = released / "solutions" / NAME / "sample.ipynb"
    form = submission.load(released / "exercises" / NAME / "sample.ipynb", source)
    assert book.cells(NAME, NOTEBOOK) == form.texts_and_points
    assert book.cells(NAME, "other") == {}


def test_points_comments_and_state(book: GradebookWriter) -> None:
    """nbgrader's own API reads what was written."""
    result = Result(
        "ann", State.GRADED, dict(FULL), unchanged=["total"], fingerprint="f"
    )
    book.save(NAME, NOTEBOOK, result, "2030-01-31 12:00:00")
    with contextlib.closing(Gradebook(book.url, "attention")) as plain:
        found = plain.find_submission(NAME, "ann")
        assert (found.score, found.max_score, found.needs_manual_grade) == (
            6.0,
            6.0,
            False,
        )
        assert found.timestamp.isoformat() == "2030-01-31T12:00:00"
        comments = {c.name: c.auto_comment for c in found.notebooks[0].comments}
        assert comments == {"double": None, "total": "No response."}
    assert book.results(NAME) == {"ann": result}
    assert book.students() == {"ann"}


def test_a_manual_score_stays(book: GradebookWriter) -> None:
    """Graded again, a cell with a person's score keeps it and asks for a person, as in nbgrader."""
    book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, dict(FULL)))
    grade = book.gradebook.find_grade("double--zero", NOTEBOOK, NAME, "ann")
    grade.manual_score = 0.5
    book.gradebook.db.commit()
    book.save(
        NAME, NOTEBOOK, Result("ann", State.GRADED, {**FULL, "double--zero": 0.0})
    )
    grade = book.gradebook.find_grade("double--zero", NOTEBOOK, NAME, "ann")
    assert (grade.auto_score, grade.manual_score, grade.score) == (0.0, 0.5, 0.5)
    assert grade.needs_manual_grade


def test_failed_and_suspect_ask_for_a_person(book: GradebookWriter) -> None:
    """Failed has no automatic score, even after an earlier one; suspect has its points."""
    book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, dict(FULL)))
    book.save(NAME, NOTEBOOK, failed("ann", "no notebook"))
    book.save(
        NAME, NOTEBOOK, Result("bob", State.SUSPECT, dict(FULL), reasons=["re-tagged"])
    )
    for student, scores in {"ann": {None}, "bob": set(FULL.values())}.items():
        found = book.gradebook.find_submission(NAME, student)
        assert {grade.auto_score for grade in found.notebooks[0].grades} == scores
        assert found.needs_manual_grade


def test_an_error_leaves_nothing_of_a_submission(book: GradebookWriter) -> None:
    """Points for cells that the gradebook hasn't: no row of that student anywhere."""
    with pytest.raises(GradebookError, match="other cells than the assignment: bonus"):
        book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, {**FULL, "bonus": 1.0}))
    with pytest.raises(GradebookError, match="no notebook other"):
        book.save(NAME, "other", Result("ann", State.GRADED, dict(FULL)))
    assert book.students() == set()
    assert book.results(NAME) == {}
    assert book.gradebook.assignment_submissions(NAME) == []


def test_changed_cells_with_submissions_are_refused(
    book: GradebookWriter, tmp_path: Path
) -> None:
    """As in nbgrader: grades would be lost. Without submissions the cells are replaced."""
    notebook = sample.source_notebook()
    notebook["cells"].append(sample.graded("total--new", "assert total", 1))
    other = tmp_path / "other"
    shutil.copytree(notebooks.ROOT / "tests" / "grading", other / "unused")
    shutil.copy(notebooks.ROOT / "nbgrader_config.py", other)
    sample.write(other / "solutions" / NAME / "sample.ipynb", notebook)
    assert release.nbgrader(other, "generate_assignment", NAME).returncode == 0
    with contextlib.closing(Gradebook(f"sqlite:///{other / 'gradebook.db'}")) as source:
        book.register(NAME, source)
        assert book.gradebook.find_assignment(NAME).max_score == 7.0
        book.save(
            NAME, NOTEBOOK, Result("ann", State.GRADED, {**FULL, "total--new": 1.0})
        )
        changed = source.find_notebook(NOTEBOOK, NAME)
        source.db.delete(next(c for c in changed.grade_cells if c.name == "total--new"))
        source.db.commit()
        with pytest.raises(
            GradebookError, match=r"after submissions had been graded: total--new"
        ):
            book.register(NAME, source)


def exported(book: GradebookWriter, path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of our export by student."""
    StateCsvExport(to=str(path)).export(book.gradebook)
    with path.open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def test_the_export_computes_nothing(book: GradebookWriter, tmp_path: Path) -> None:
    """A name that a spreadsheet would take for a formula is shown; others are as they are."""
    book.gradebook.update_or_create_student(
        "ann", first_name="=1+cmd|' /C calc'!A0", last_name="-"
    )
    book.gradebook.update_or_create_student(
        "bob", first_name="Anne-Marie", last_name="'t Hooft"
    )
    for student in ("ann", "bob"):
        book.save(NAME, NOTEBOOK, Result(student, State.GRADED, dict(FULL)))
    rows = exported(book, tmp_path / "ours.csv")
    assert rows["ann"]["first_name"] == "'=1+cmd|' /C calc'!A0"
    assert (rows["ann"]["last_name"], rows["ann"]["score"]) == ("-", "6.0")
    assert (rows["bob"]["first_name"], rows["bob"]["last_name"]) == (
        "Anne-Marie",
        "'t Hooft",
    )


def test_the_export_has_no_score_where_there_is_none(
    book: GradebookWriter, tmp_path: Path
) -> None:
    """For failed and missing; a real zero is a zero. nbgrader's own columns are the same."""
    nothing = dict.fromkeys(FULL, 0.0)
    book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, dict(FULL)))
    book.save(NAME, NOTEBOOK, Result("bob", State.GRADED, nothing))
    book.save(NAME, NOTEBOOK, failed("eve", 'a "quoted", reason'))
    book.save(
        NAME, NOTEBOOK, Result("ida", State.MISSING, reasons=["nothing handed in"])
    )
    book.save(
        NAME, NOTEBOOK, Result("sam", State.SUSPECT, dict(FULL), reasons=["re-tagged"])
    )
    rows = exported(book, tmp_path / "ours.csv")
    found = {
        student: (row["state"], row["score"], row["reason"])
        for student, row in rows.items()
    }
    assert found == {
        "ann": ("graded", "6.0", ""),
        "bob": ("graded", "0.0", ""),
        "eve": ("failed", "", 'a "quoted", reason'),
        "ida": ("missing", "", "nothing handed in"),
        "sam": ("suspect", "6.0", "re-tagged"),
    }
    CsvExportPlugin(to=str(tmp_path / "stock.csv")).export(book.gradebook)
    with (tmp_path / "stock.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ours = rows[row["student_id"]]
            same = {key: ours[key] for key in row}
            if ours["state"] in ("graded", "suspect"):
                assert same == row
            else:  # what the state is for
                assert (row["score"], same["score"]) == ("0.0", "")


def test_points_that_are_gone_are_no_zero(book: GradebookWriter) -> None:
    """As after a run of nbgrader's own autograder that failed."""
    book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, dict(FULL)))
    grade = book.gradebook.find_grade("double--zero", NOTEBOOK, NAME, "ann")
    grade.auto_score = None
    book.gradebook.db.commit()
    found = standings(book.url, NAME)[0]
    assert (found.state, found.points) == (State.FAILED, None)
    assert "gone from the gradebook" in found.reasons[0]


def test_what_is_read_is_of_one_moment(book: GradebookWriter) -> None:
    """A state that is written while a class is read does not meet the points of another."""
    book.save(NAME, NOTEBOOK, Result("ann", State.GRADED, dict(FULL)))
    with reading(book.url) as engine, Session(engine) as session:
        state = select(ledger.LEDGER.c.state)
        assert session.scalars(state).all() == ["graded"]
        with contextlib.closing(
            sqlite3.connect(book.url.partition("///")[2], timeout=0)
        ) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):  # noqa: PT012
                other.execute("UPDATE grading_ledger SET state = 'failed'")
                other.commit()
            other.rollback()
        assert session.scalars(state).all() == ["graded"]


def test_names_are_quoted(book: GradebookWriter, tmp_path: Path) -> None:
    """Commas, quotation marks and line breaks in names shift no column."""
    odd = {
        "last_name": 'of, the "Lake"',
        "first_name": "Two\nLines",
        "email": "a,b@example.org",
    }
    book.gradebook.update_or_create_student("x, y", lms_user_id="17", **odd)
    book.save(NAME, NOTEBOOK, Result("x, y", State.GRADED, dict(FULL)))
    row = exported(book, tmp_path / "ours.csv")["x, y"]
    assert {key: row[key] for key in odd} == odd
    assert (row["score"], row["state"]) == ("6.0", "graded")
    assert roster(book.url) == [Person("x, y", lms_user_id="17", **odd)]


def test_what_nbgrader_graded_itself_has_a_state(book: GradebookWriter) -> None:
    """Without a row in the ledger: graded if it has all scores, else failed and not a zero."""
    with book.transaction():
        plain = book.gradebook
        for student, scores in {"ann": FULL, "bob": {}, "ida": None}.items():
            plain.update_or_create_student(student)
            if scores is not None:
                found = plain.update_or_create_submission(NAME, student)
                for grade in found.notebooks[0].grades:
                    grade.auto_score = scores.get(grade.name)
                    grade.needs_manual_grade = grade.auto_score is None
    ledger.METADATA.drop_all(book.gradebook.engine)
    found = {one.student: (one.state, one.points) for one in standings(book.url, NAME)}
    assert found == {
        "ann": (State.GRADED, 6.0),
        "bob": (State.FAILED, None),
        "ida": (State.MISSING, None),
    }
    with pytest.raises(GradebookError, match="no assignment 'other' in the gradebook"):
        standings(book.url, "other")


def test_points_given_by_hand_are_exported(
    book: GradebookWriter, tmp_path: Path
) -> None:
    """A failed submission that a person graded in full has that score."""
    book.save(NAME, NOTEBOOK, failed("ann", "no notebook"))
    for name in FULL:
        assert exported(book, tmp_path / "ours.csv")["ann"]["score"] == ""
        book.gradebook.find_grade(name, NOTEBOOK, NAME, "ann").manual_score = 1.0
        book.gradebook.db.commit()
    assert exported(book, tmp_path / "ours.csv")["ann"]["score"] == "3.0"


def test_nbgrader_exports_with_our_plugin(
    book: GradebookWriter, released: Path, tmp_path: Path
) -> None:
    """By name on nbgrader's command line."""
    book.save(NAME, NOTEBOOK, failed("eve", "broken"))
    target = tmp_path / "by-nbgrader.csv"
    done = release.nbgrader(
        notebooks.ROOT,
        "export",
        "--exporter=grading.gradebook.export.StateCsvExport",
        f"--db={book.url}",
        "--to",
        str(target),
    )
    assert done.returncode == 0, done.stderr
    assert ",6.0,failed,broken" in target.read_text(encoding="utf-8")


def test_a_new_gradebook_is_whole_or_not_there(tmp_path: Path) -> None:
    """It is made elsewhere, with nbgrader's version number, and moved to its place."""
    target = tmp_path / "new" / "gradebook.db"
    with GradebookWriter(f"sqlite:///{target}") as made:
        tables = set(inspect(made.gradebook.engine).get_table_names())
    assert {"alembic_version", "grading_ledger", "grade"} <= tables
    assert [path.name for path in target.parent.iterdir()] == ["gradebook.db"]


@pytest.mark.parametrize("url", ["sqlite:////dev/null/x.db", "nothing://x"])
def test_a_gradebook_that_cannot_be_opened(url: str) -> None:
    """The message names it."""
    with pytest.raises(GradebookError, match="can't be opened"):
        GradebookWriter(url)


def test_a_broken_gradebook_is_not_overwritten(tmp_path: Path) -> None:
    """A file that is no database stays as it is."""
    path = tmp_path / "gradebook.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(GradebookError, match="can't be opened"):
        GradebookWriter(f"sqlite:///{path}")
    assert path.read_bytes() == b"not a database" * 100


def test_results_survive_their_text() -> None:
    """The ledger's text is read as it was written, and nonsense is refused."""
    result = Result(
        "björn", State.SUSPECT, {"a--b": None, "c--d": 1.5}, {"c--d": "é"}, ["r"]
    )
    assert Result.from_json(result.to_json()) == result
    assert result.by_task == {"a": 0.0, "c": 1.5}
    for text in ("", "[]", '{"state": "graded"}', '{"student": "a", "state": "fine"}'):
        with pytest.raises(ValueError, match=r"."):
            Result.from_json(text)
