"""What a student is told before handing in: about the file, and about a run from the top."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from nbformat import from_dict
from nbgrader.utils import compute_checksum

from grading.__main__ import main
from grading.check import execution, file
from grading.check.file import CheckError
from grading.check.findings import Report, check, check_async
from grading.course.notebooks import ROOT
from tests.grading import helpers
from tests.harness import sample


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The sample course, with checksums in its released notebook as nbgrader writes them."""
    root = helpers.make_course(tmp_path / "course")
    shutil.rmtree(root / "solutions")
    released = helpers.release()
    for cell in released["cells"]:
        if cell["metadata"]:
            cell["metadata"]["nbgrader"]["checksum"] = compute_checksum(from_dict(cell))
    sample.write(root / "exercises" / sample.NAME / "sample.ipynb", released)
    return root


def released(root: Path) -> dict:
    """Return the released notebook."""
    path = root / "exercises" / sample.NAME / "sample.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def mine(root: Path, notebook: dict, name: str = "sample.ipynb") -> Path:
    """Write a student's notebook beside the course."""
    return sample.write(root / "mine" / name, notebook)


def text(report: Report) -> str:
    """Return a report as one line."""
    return " ".join(" ".join(report.lines).split())


def test_a_right_notebook_is_ready(root: Path, capsys: pytest.CaptureFixture) -> None:
    """Exit status 0, every task passes, and it says that grading runs more tests."""
    path = mine(root, helpers.fill(helpers.RIGHT, released(root)))
    assert main(["check", str(path.parent), "--root", str(root)]) == 0
    printed = capsys.readouterr()
    assert "all pass      Task 1" in printed.out
    assert "all pass      Task 2" in printed.out
    assert "Mend" not in printed.out
    assert "Grading runs more tests" in printed.out
    assert printed.err == ""


def test_mistakes_are_named_with_the_tests_own_words(root: Path) -> None:
    """A wrong answer, an untouched stub, and the line of an error in one's own code."""
    wrong = {"double": "def double(x):\n    return x + 2"}
    report = check(mine(root, helpers.fill(wrong, released(root))), root)
    assert not report.fine
    assert [(task.answered, task.tests, len(task.failed)) for task in report.tasks] == [
        (True, 2, 2),
        (False, 1, 1),
    ]
    assert "small: double(3) is 6, got 5: is it x + 2?" in text(report)
    assert "not answered Task 2" in text(report)
    assert "NotImplementedError" not in text(report)
    broken = {**helpers.RIGHT, "total": "def total(values):\n\n    return values + 1"}
    report = check(mine(root, helpers.fill(broken, released(root))), root)
    assert "(line 3 of the cell “total”)" in text(report)
    assert "TypeError: can only concatenate list" in text(report)


@pytest.mark.parametrize("below", [False, True])
def test_an_answer_in_a_cell_of_ones_own(root: Path, below: bool) -> None:
    """Above the stub it is overwritten, and told; below it, it counts, as in grading."""
    right = helpers.RIGHT["total"]
    notebook = helpers.fill({"double": helpers.RIGHT["double"]}, released(root))
    names = [
        cell["metadata"].get("nbgrader", {}).get("grade_id")
        for cell in notebook["cells"]
    ]
    notebook["cells"].insert(names.index("total") + below, sample.code(right))
    for odd in ("this is no Python", "if 0:\n    x = " + "-" * 120_000 + "1"):
        notebook["cells"].insert(0, sample.code(odd))
    report = check(mine(root, notebook), root)
    assert [task.answered for task in report.tasks] == [True, below]
    told = (
        "defines total, and the cell “total” still has its stub. Move your code into the cell "
        "with the stub"
    )
    assert (told in text(report)) is not below


def test_only_a_run_from_the_top_counts(root: Path) -> None:
    """A name that a deleted cell once bound, and an error in a cell of one's own."""
    notebook = helpers.fill(
        {**helpers.RIGHT, "double": "def double(x):\n    return FACTOR * x"},
        released(root),
    )
    report = check(mine(root, notebook), root)
    assert "NameError: name 'FACTOR' is not defined" in text(report)
    notebook["cells"].insert(1, sample.code("FACTOR = 2\nFACTOR.grow()"))
    report = check(mine(root, notebook), root)
    assert all(task.fine for task in report.tasks)
    assert not report.fine
    assert (
        "The cell that begins with “FACTOR = 2” stops with an error: AttributeError"
        in text(report)
    )


def test_changed_cells_are_told(root: Path) -> None:
    """Copied, lost and edited cells; edited tests do not count, as in grading."""
    notebook = helpers.fill({"double": "def double(x):\n    return x"}, released(root))
    helpers.find(notebook, "double--small")["source"] = "assert True"
    notebook["cells"].insert(
        helpers.place(notebook, "double"),
        dict(helpers.find(notebook, "double"), source="1"),
    )
    del notebook["cells"][helpers.place(notebook, "total")]
    report = check(mine(root, notebook), root)
    assert "The cell “double” is there more than once. Only the last one that" in text(
        report
    )
    assert "The cell “total” is missing." in text(report)
    assert "The locked cell “double--small” was changed. The change is ignored" in text(
        report
    )
    assert "double(3) is 6, got 3" in text(report)


def commit(root: Path) -> None:
    """Put the course under git."""
    for command in (["init", "-q"], ["add", "exercises"], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *command],
            cwd=root,
            check=True,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
        )


@pytest.mark.parametrize("git", [False, True])
def test_work_in_the_released_file_itself(root: Path, git: bool) -> None:
    """The same is told where the student's file took the place of the one handed out."""
    if git:
        commit(root)
    notebook = helpers.fill(helpers.RIGHT, released(root))
    helpers.find(notebook, "double--zero")["source"] = "assert True"
    notebook["cells"].insert(
        helpers.place(notebook, "double"),
        dict(helpers.find(notebook, "double"), source="1"),
    )
    del notebook["cells"][helpers.place(notebook, "total")]
    path = sample.write(root / "exercises" / sample.NAME / "sample.ipynb", notebook)
    looked = file.look(path, root)
    told = "\n".join(str(item) for item in looked.items)
    assert told.count("The cell “double” is there more than once") == 1
    assert told.count("The cell “total” is missing") == 1
    assert told.count("The locked cell “double--zero” was changed") == 1
    assert len(looked.items) == 3, told


def test_names_kernels_and_sizes(root: Path) -> None:
    """A renamed file, another kernel, outputs of megabytes, a file that is too large."""
    notebook = helpers.fill(helpers.RIGHT, released(root))
    notebook["metadata"]["kernelspec"] = {"name": "ir", "language": "R"}
    notebook["cells"][1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "x" * 3_000_000}
    ]
    looked = file.look(mine(root, notebook, "sample (1).ipynb"), root)
    told = [str(item) for item in looked.items]
    assert told[0].startswith(
        "The file is called sample (1).ipynb. Name it sample.ipynb"
    )
    assert "for R. Choose Kernel, Change Kernel, Python 3" in told[1]
    assert "The outputs in the file take 3.0 MB." in told[2]
    assert [item.mend for item in looked.items] == [True, True, False]
    notebook["cells"][1]["outputs"][0]["text"] = "x" * (21 * 2**20)
    looked = file.look(mine(root, notebook), root)
    assert looked.rebuilt is None
    assert "at most 20 are read. Clear the outputs" in str(looked.items[0])


@pytest.mark.parametrize("content", ["{", "[]", '{"nbformat": 3, "cells": []}', "\0\0"])
def test_what_is_no_notebook(root: Path, content: str) -> None:
    """It is said, with what to do, and nothing is run."""
    report = check(mine(root, content), root)
    assert not report.fine
    assert report.seconds is None
    assert "hand in" in text(report)


def test_what_cannot_be_checked(root: Path, capsys: pytest.CaptureFixture) -> None:
    """No file, an empty folder, a strange notebook: exit status 2, and a line that helps."""
    other = sample.write(
        root / "other" / "mine.ipynb", sample.notebook([sample.code("1")])
    )
    (root / "empty").mkdir()
    for path, told in (
        (root / "none.ipynb", "there is no "),
        (root / "empty", "holds 0 notebooks"),
        (other, "mine.ipynb is no notebook of this course. Known: sample.ipynb"),
    ):
        assert main(["check", str(path), "--root", str(root)]) == 2
        assert told in capsys.readouterr().err
    sample.write(root / "other" / "second.ipynb", sample.notebook([]))
    with pytest.raises(CheckError, match="holds 2 notebooks"):
        check(other.parent, root)


def test_no_kernel(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kernel, it says which package has one."""
    monkeypatch.setattr(execution, "KERNEL", "no-such-kernel")
    with pytest.raises(CheckError, match="pip install ipykernel"):
        check(mine(root, helpers.fill(helpers.RIGHT, released(root))), root)


ENDLESS = "def double(x):\n    while True:\n        pass"
STUBBORN = (
    "def double(x):\n    import time\n    while True:\n        try:\n"
    "            time.sleep(1)\n        except KeyboardInterrupt:\n            pass"
)


def run_quickly(root: Path, answer: str) -> Report:
    """Return the report on an answer to the first task, with cells of at most a second."""
    notebook = helpers.fill({**helpers.RIGHT, "double": answer}, released(root))
    return execution.finish(check_async(mine(root, notebook), root, cell_seconds=1.0))


def test_an_endless_loop_is_interrupted(root: Path) -> None:
    """It is named; as in grading, its task is over, and what comes after that runs all the same."""
    report = run_quickly(root, ENDLESS)
    assert (
        text(report).count("and was stopped. Look for a loop that does not end.") == 2
    )
    assert [(len(task.failed), task.unrun) for task in report.tasks] == [(1, 1), (1, 0)]
    assert "1 of 2 tests fail, 1 did not run" in text(report)


def test_an_error_is_placed_after_tests_that_did_not_run(root: Path) -> None:
    """In the cell and the line where it arose."""
    answers = {
        "double": "def double(x):\n    while x == 3:\n        pass",
        "total": "def total(values):\n    return values.none",
    }
    notebook = helpers.fill(answers, released(root))
    report = execution.finish(check_async(mine(root, notebook), root, cell_seconds=1.0))
    assert "(line 2 of the cell “total”)" in text(report)


def test_a_cell_measured_counts_as_in_grading(root: Path) -> None:
    """`%%timeit` runs once, and what it defines is there."""
    answers = {**helpers.RIGHT, "double": "%%timeit -n 3\n" + helpers.RIGHT["double"]}
    report = check(mine(root, helpers.fill(answers, released(root))), root)
    assert report.fine, text(report)


@pytest.mark.parametrize(
    "answer", [STUBBORN, "import os\nos._exit(3)", "exit = 1\nquit()"]
)
def test_python_that_ends_or_cannot_be_stopped(
    root: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says in which cell, and that the tests after it did not run; nothing is left."""
    monkeypatch.setattr(execution, "GRACE_SECONDS", 2.0)
    started = time.monotonic()
    report = run_quickly(root, answer)
    assert not report.fine
    if "quit" not in answer:  # in a notebook, that is an error like others
        assert "Python ended, or could not be stopped, in the cell “double" in text(
            report
        )
        assert "did not run" in text(report)
    assert time.monotonic() - started < 60


def test_much_output(root: Path) -> None:
    """A cell that prints a book is told, and nothing has to be mended for it."""
    notebook = helpers.fill(helpers.RIGHT, released(root))
    notebook["cells"].append(sample.code("print('word ' * 10_000)"))
    report = check(mine(root, notebook), root)
    assert report.fine
    assert "prints 50001 characters" in text(report)


@pytest.mark.parametrize(
    "name", [path.name for path in sorted((ROOT / "exercises").iterdir())]
)
def test_every_assignment_can_be_looked_at(name: str) -> None:
    """As handed out: nothing was changed, nothing is missing, and nothing is answered."""
    looked = file.look(file.find(ROOT / "exercises" / name), ROOT)
    assert [str(item) for item in looked.items] == []
    assert all(
        cell.unchanged for cell in looked.rebuilt.cells if cell.role == "solution"
    )
