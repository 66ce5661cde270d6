"""What students get: everything that they need, and no answer in any form."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grading.course.notebooks import (
    BEGIN_HIDDEN,
    BEGIN_SOLUTION,
    END_HIDDEN,
    END_SOLUTION,
    ROOT,
    cells,
    notebooks_in,
    regions,
)
from tests.grading import helpers
from tests.harness import sample
from tools import student_edition
from tools.student_edition import EditionError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The edition of this course."""
    out = tmp_path_factory.mktemp("students") / "edition"
    assert student_edition.main([str(out)]) == 0
    return out


def held_back(begin: str, end: str) -> set[str]:
    """Return the lines of a kind of region in solutions/ that no chapter or exercise shows."""
    found = set()
    shown = "\n".join(
        cell.source
        for room in ("exercises", "book")
        for path in notebooks_in(ROOT / room)
        for cell in cells(path)
    )
    for path in notebooks_in(ROOT / "solutions"):
        for cell in cells(path):
            text = cell.source.split("\n")
            for first, last in regions(cell, begin, end):
                found |= {line.strip() for line in text[first + 1 : last]}
    return {line for line in found if line not in shown}


def test_no_hidden_test_is_in_it(edition: Path) -> None:
    """No line of a hidden test that says something is in any file, whatever its kind or name."""
    lines = [line for line in held_back(BEGIN_HIDDEN, END_HIDDEN) if len(line) >= 40]
    assert len(lines) > 1000
    # In a notebook's file a quote and a backslash are escaped.
    forms = by_block(
        [form.encode() for line in lines for form in {line, json.dumps(line)[1:-1]}]
    )
    for path in edition.rglob("*"):
        if path.is_file():
            assert not held(forms, path.read_bytes()), path


#: Bytes of a block: wherever a line of 40 stands in a file, there is a whole block in it.
BLOCK = 20


def by_block(forms: list[bytes]) -> dict[bytes, list[bytes]]:
    """Return the lines by each block that they may hold."""
    found: dict[bytes, list[bytes]] = {}
    for form in forms:
        for at in range(len(form) - BLOCK + 1):
            found.setdefault(form[at : at + BLOCK], []).append(form)
    return found


def held(forms: dict[bytes, list[bytes]], data: bytes) -> set[bytes]:
    """Return which of the lines are in a file; only those that share a block are sought."""
    blocks = {data[at : at + BLOCK] for at in range(0, len(data), BLOCK)}
    near = {form for block in blocks & forms.keys() for form in forms[block]}
    return {form for form in near if form in data}


@pytest.mark.parametrize("before", range(0, 45, 5))
def test_a_line_is_found_wherever_it_stands(before: int) -> None:
    """And one that differs in its last byte is not."""
    line = bytes(range(40, 40 + 2 * BLOCK))
    data = b"x" * before + line + b"y" * (30 - before // 2)
    assert held(by_block([line, line[:-1] + b"!", b"z" * 50]), data) == {line}


def test_no_solution_is_in_it(edition: Path) -> None:
    """Nowhere do two telling lines of a solution follow one another, nor three of any kind.

    A single line may: the masked softmax stands on the page of conventions as well.
    """
    secret = held_back(BEGIN_SOLUTION, END_SOLUTION)
    assert len(secret) > 300
    for path in edition.rglob("*"):
        if path.is_file():
            lines = student_edition.lines(path)
            pairs = itertools.pairwise(lines)
            assert not [
                pair
                for pair in pairs
                if secret.issuperset(pair) and min(map(len, pair)) >= 20
            ], path
            rows = zip(lines, lines[1:], lines[2:], strict=False)
            assert not [row for row in rows if secret.issuperset(row)], path


def test_no_other_room_is_in_it(edition: Path) -> None:
    """No tests, no server's side of the grader, no configuration, no history, nothing compiled."""
    names = {path.relative_to(edition).as_posix() for path in edition.rglob("*")}
    for name in (
        "solutions",
        "tests",
        ".git",
        "deploy",
        "nbgrader_config.py",
        "course_secret",
        "grading/run/batch.py",
        "grading/run/preparation.py",
        "grading/verdict/compilation.py",
        "grading/verdict/cells.py",
        "grading/lms",
        "tools/exercises.py",
    ):
        assert name not in names
    assert not [name for name in names if name.endswith((".pyc", ".db"))]
    for path in (edition / "book").glob("*.ipynb"):
        assert not [cell for cell in cells(path) if cell.outputs], path


def run(edition: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Python in the edition, where nothing of this course can be found but what is there."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": str(edition),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=edition,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )


def test_chapters_find_all_that_they_import(edition: Path) -> None:
    """Every import of every chapter works, from the edition's own files."""
    lines = {
        line
        for path in (edition / "book").glob("0*.ipynb")
        for cell in cells(path)
        if cell.kind == "code"
        for line in cell.source.split("\n")
        if line.startswith(("from ", "import ")) and not line.endswith("(")
    }
    assert len(lines) > 40
    program = (
        "\n".join(sorted(lines, key=lambda line: "__future__" not in line))
        + f"""
import sys
own = [m for name, m in sys.modules.items()
       if name.partition(".")[0] in ("book", "transformer", "translator") and m.__file__]
assert len(own) > 5
assert all(m.__file__.startswith({str(edition)!r}) for m in own), own
"""
    )
    done = run(edition, "-c", program)
    assert done.returncode == 0, done.stderr


def test_an_exercise_is_done_and_checked_in_it(edition: Path, tmp_path: Path) -> None:
    """The command for students runs the visible tests, of a stub and of right answers."""
    copied = shutil.copytree(edition, tmp_path / "copy")
    folder = copied / "exercises" / "02-self-attention"
    done = run(copied, "-m", "grading", "check", str(folder))
    assert done.returncode == 1, done.stderr
    assert "not answered" in done.stdout
    (path,) = folder.glob("*.ipynb")
    source = ROOT / "solutions" / "02-self-attention" / path.name
    answers = {cell.grade_id: cell.source for cell in cells(source) if cell.is_solution}
    sample.write(
        path, helpers.fill(answers, json.loads(path.read_text(encoding="utf-8")))
    )
    done = run(copied, "-m", "grading", "check", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All the tests that you can see pass" in done.stdout


def test_the_translator_works_in_it(edition: Path) -> None:
    """The command of the README."""
    done = run(edition, "-m", "translator", "translate", "Guten Morgen!")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A small course with all that an edition is made of."""
    root = helpers.make_course(tmp_path / "course")
    for name in ("book", "transformer", "translator", "models"):
        (root / name).mkdir()
        (root / name / "__init__.py").touch()
    for name in (*student_edition.FILES, "requirements.txt"):
        sample.write(root / name, (ROOT / name).read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "tools" / "student", root / "tools" / "student")
    return root


SOLUTION = "    return sum(double(value) for value in values)"
HIDDEN = 'assert total([]) == 0, f"the sum of nothing is 0, got {total([])}"'
OUTPUT = {"output_type": "stream", "name": "stdout", "text": f"one\n{HIDDEN}\n"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("book/page.py", f'"""See:\n{SOLUTION}\n"""\n'),
        ("translator/notes.txt", HIDDEN),
        ("book/a.ipynb", sample.notebook([{**sample.code("x"), "outputs": [OUTPUT]}])),
        (
            "book/a.ipynb",
            sample.notebook([{**sample.code("x"), "metadata": {"kept": SOLUTION}}]),
        ),
        ("exercises/90-sample/sample.ipynb", sample.source_notebook()),
    ],
)
def test_an_answer_stops_it(
    course: Path, tmp_path: Path, name: str, content: str | dict
) -> None:
    """Wherever an answer has got to, nothing is written, and the file is named."""
    sample.write(course / name, content)
    if name.startswith("exercises"):  # shown there, it would be none
        sample.write(course / "book" / "a.ipynb", content)
        sample.write(course / name, helpers.release())
    out = tmp_path / "out"
    with pytest.raises(EditionError, match=r"book/|translator/notes\.txt"):
        student_edition.write(course, out)
    assert not out.exists()
    assert not list(tmp_path.glob(".student-edition*"))


def own_answer(root: Path) -> None:
    """Solve the first task in exercises/, in words that are not the solution's."""
    path = root / "exercises" / sample.NAME / "sample.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    filled = helpers.fill(
        {"double": "def double(x):\n    return x + x  # my own"}, notebook
    )
    sample.write(path, filled)


def own_cell(root: Path) -> None:
    """Add a cell to an exercise."""
    path = root / "exercises" / sample.NAME / "sample.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"].append(sample.code("x = 1") | {"id": "mine"})
    sample.write(path, notebook)


def copied(root: Path) -> None:
    """Keep a copy beside the exercise."""
    folder = root / "exercises" / sample.NAME
    own_answer(root)
    (folder / "sample.ipynb").rename(folder / "mine.ipynb")


@pytest.mark.parametrize("work", [own_answer, own_cell, copied])
def test_a_teachers_own_work_stops_it(course: Path, tmp_path: Path, work) -> None:
    """Who tries the course in its own folder leaves answers there that are nobody's solution."""
    work(course)
    with pytest.raises(
        EditionError, match=r"run `make exercises`(?s:.)*exercises/90-sample/"
    ):
        student_edition.write(course, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_only_what_belongs_to_the_course_is_in_it(course: Path, tmp_path: Path) -> None:
    """Grades beside the exercises; and in a repository, every file that git does not track."""
    sample.write(course / "exercises" / "grades.csv", "s01,3\n")
    sample.write(course / "models" / "mine.json", "{}")
    assert "exercises/grades.csv" not in student_edition.write(course, tmp_path / "out")
    untracked = "models/mine.json"
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["rm", "-q", "--cached", untracked],
    ):
        subprocess.run(["git", *command], cwd=course, check=True)
    names = student_edition.write(course, tmp_path / "out")
    assert untracked not in names
    assert "models/__init__.py" in names


def test_what_a_run_leaves_stays_behind(course: Path, tmp_path: Path) -> None:
    """Caches, checkpoints, hidden files and links are not copied."""
    for name in (
        "book/__pycache__/a.pyc",
        "book/.ipynb_checkpoints/a.ipynb",
        "translator/.env",
    ):
        sample.write(course / name, HIDDEN)
    (course / "models" / "link").symlink_to(
        course / "solutions" / sample.NAME / "sample.ipynb"
    )
    names = student_edition.write(course, tmp_path / "out")
    assert not [
        name
        for name in names
        if "cache" in name or "checkpoint" in name or "env" in name or "link" in name
    ]
    assert "exercises/90-sample/sample.ipynb" in names


def test_it_is_made_anew_and_keeps_its_repository(course: Path, tmp_path: Path) -> None:
    """A file that is gone goes; `.git` stays; somebody's own folder is refused."""
    out = tmp_path / "out"
    subprocess.run(["git", "init", "--quiet", str(out)], check=True)
    sample.write(course / "book" / "old.bib", "x")
    student_edition.write(course, out)
    (course / "book" / "old.bib").unlink()
    student_edition.write(course, out)
    assert (out / ".git" / "HEAD").exists()
    assert not (out / "book" / "old.bib").exists()
    other = tmp_path / "other"
    sample.write(other / "thesis.txt", "years of work")
    for place in (
        other,
        course,
        course / "book" / "inside",
        tmp_path,
        other / "thesis.txt",
    ):
        with pytest.raises(
            EditionError, match=r"holds other files|of the course|no folder"
        ):
            student_edition.write(course, place)
    assert (other / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("how", ["clone", "worktree", "earlier commit"])
def test_a_repository_that_knows_the_answers_is_refused(
    course: Path, tmp_path: Path, how: str
) -> None:
    """Whoever clones the edition gets its history, too."""
    out = tmp_path / "out"

    def git(folder: Path, *arguments: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True)

    git(course, "init", "--quiet")
    git(course, "add", "--all")
    git(course, "commit", "--quiet", "--message", "all")
    if how == "clone":
        git(tmp_path, "clone", "--quiet", "--no-checkout", str(course), "out")
    elif how == "worktree":
        git(course, "worktree", "add", "--quiet", "--no-checkout", str(out))
    else:
        git(tmp_path, "init", "--quiet", "out")
        student_edition.write(course, out)
        shutil.copytree(course / "solutions", out / "solutions")
        git(out, "add", "--all")
        git(out, "commit", "--quiet", "--message", "too much")
        shutil.rmtree(out / "solutions")
        git(out, "add", "--all")
        git(out, "commit", "--quiet", "--message", "never seen")
    held = sorted(out.iterdir())
    with pytest.raises(EditionError, match="history holds solutions/"):
        student_edition.write(course, out)
    assert sorted(out.iterdir()) == held


def test_the_command_says_what_it_did(course: Path, tmp_path: Path, capsys) -> None:
    """Names the folder and its rooms; without a folder it says how to name one."""
    assert student_edition.main([]) == 2
    assert "OUT=" in capsys.readouterr().err
    assert student_edition.main([str(tmp_path / "out"), "--root", str(course)]) == 0
    assert "exercises/" in capsys.readouterr().out
