"""The whole way on the command line: a class list, a download, the grader, files for each LMS."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.files import exports
from grading.lms.files.roster import Roster, read_roster
from grading.lms.outcome import Report
from tests.grading import helpers
from tests.grading.lms.files.oracles import (
    CanvasCourse,
    CanvasUser,
    canvas_feedback,
    moodle_feedback,
    moodle_gradebook,
    moodle_worksheet,
)
from tests.grading.lms.files.samples import NAME, make_zip, tree

pytestmark = pytest.mark.slow

STUDENTS = [
    (11, "Emmy", "Noether", "s01"),
    (12, "Anna", "Müller", "s02"),
    (13, "Anna", "Müller", "s03"),
    (14, "Conan", "O'Brien, Jr.", "s04"),
    (15, "Ada", "-", "s05"),
]
EXPORT = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Sample (5)\n"
    + ('"    Points Possible",,,,,6.00\n')
    + "".join(
        f'"{last}, {first}",{number},,{login},A,\n'
        for number, first, last, login in STUDENTS
    ).replace("O'Brien, Jr., Conan", "O'Brien Jr., Conan")
)
SHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade)\n"
    + "".join(
        f'Participant {500 + n},"{first} {last}",{login}@example.org,Submitted,,6.00,-\n'
        for n, first, last, login in STUDENTS
    )
)


def lms(root: Path, *arguments: object) -> int:
    """Run a subcommand in a course."""
    return main(["lms", *map(str, arguments), "--root", str(root)])


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graded course: s01 full, s02 wrong in one task, s03 missing, s04 failed, s05 suspect."""
    root = helpers.make_course(tmp_path_factory.mktemp("course") / "course")
    (root / "canvas.csv").write_text(EXPORT)
    (root / "requirements.txt").write_text("torch==1\nnumpy==1\nmatplotlib==1\n")
    assert lms(root, "roster", root / "canvas.csv") == 0
    right = helpers.fill(helpers.RIGHT)
    tampered = helpers.fill(helpers.RIGHT)
    helpers.find(tampered, "double--zero")["metadata"]["nbgrader"]["points"] = 100
    wrong = helpers.fill({**helpers.RIGHT, "double": helpers.WRONG["double"]})
    other = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    files = {
        "noetheremmy": (11, right),
        "mülleranna": (12, wrong),
        "obrienjrconan": (14, other),
        "ada": (15, tampered),
    }
    make_zip(
        root / "s.zip",
        {
            f"{name}_{number}_{100 + number}_sample.ipynb": json.dumps(content).encode()
            for name, (number, content) in files.items()
        },
    )
    assert lms(root, "import", root / "s.zip", NAME) == 0
    engine = [
        "--engine",
        "tests.grading.fakes:make",
        "--unsafe-no-sandbox",
        "--jobs",
        "1",
    ]
    main(["run", NAME, "--root", str(root), *engine])
    return root


def test_the_class_list_came_into_the_gradebook(course: Path) -> None:
    """With both of one name, and the numbers by which Canvas knows them."""
    from grading.gradebook.standing import roster

    found = {
        person.id: person for person in roster(f"sqlite:///{course / 'gradebook.db'}")
    }
    assert {n: (found[n].first_name, found[n].last_name) for n in ("s02", "s03")} == {
        "s02": ("Anna", "Müller"),
        "s03": ("Anna", "Müller"),
    }
    assert found["s01"].lms_user_id == "11"


def test_to_canvas_and_back(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Through the exported gradebook: only who is graded has a score; suspect and failed told."""
    users = [
        CanvasUser(n, f"{first} {last}", f"{last}, {first}")
        for n, first, last, _ in STUDENTS
    ]
    for how in (["--template", course / "canvas.csv"], ["--column-id", "5"]):
        out = tmp_path / "upload.csv"
        assert (
            lms(
                course,
                "export",
                "canvas",
                NAME,
                "--out",
                out,
                "--title",
                "Sample",
                *how,
            )
            == 1
        )
        there = CanvasCourse(users, {5: "Sample"})
        there.upload(out.read_bytes())
        assert there.scores(5) == {11: "6.00", 12: "4.00"}
        assert there.points == {5: "6.00"}
        told = capsys.readouterr().out
        assert "refused   s04: failed: not a score" in told
        assert "refused   s05: suspect: not a score" in told
        assert "skipped   s03: missing" in told


def test_what_waits_for_a_person_is_no_score_yet() -> None:
    """Half a grade is not handed on; the report says who waits."""
    whole = Standing("s01", NAME, State.GRADED, 5.0, 6.0)
    reasons = ("1 answer waits for a person",)
    half = Standing("s02", NAME, State.GRADED, 3.0, 6.0, reasons, waiting=1)
    report = Report("test")
    found = exports.scores([half, whole], Roster(), report)
    assert [score.member.id for score in found] == ["s01"]
    assert "s02: not graded to the end: 1 answer waits for a person" in report.text()


def test_to_moodle_both_ways(course: Path, tmp_path: Path) -> None:
    """The course's gradebook and the assignment's worksheet."""
    (tmp_path / "people.csv").write_text(
        "id;email\n"
        + "".join(f"{login};{login}@example.org\n" for *_, login in STUDENTS)
    )
    out = tmp_path / "grades.csv"
    people = ["--roster", tmp_path / "people.csv"]
    assert (
        lms(
            course, "export", "moodle", NAME, "--out", out, *people, "--missing-as-zero"
        )
        == 1
    )
    users = {f"{login}@example.org" for *_, login in STUDENTS}
    assert moodle_gradebook(out.read_bytes(), users) == {
        "s01@example.org": 6.0,
        "s02@example.org": 4.0,
        "s03@example.org": 0.0,
    }
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET)
    filled = tmp_path / "filled.csv"
    command = [
        "export",
        "worksheet",
        NAME,
        "--worksheet",
        sheet,
        "--out",
        filled,
        *people,
    ]
    assert lms(course, *command) == 1
    assert moodle_worksheet(
        filled.read_bytes(),
        ("Identifier", "Grade", "Last modified (grade)"),
        "Participant ",
        ".",
        6.0,
    ) == {511: 6.0, 512: 4.0}


def test_from_moodle_with_the_worksheet(course: Path, tmp_path: Path) -> None:
    """Its numbers and addresses tell the two of one name apart; roster.csv keeps who they are."""
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET)
    content = json.dumps(helpers.fill(helpers.RIGHT)).encode()
    source = make_zip(
        tmp_path / "m.zip",
        {
            f"{first} {last}_{500 + n}_assignsubmission_file_/sample.ipynb": content
            for n, first, last, _ in STUDENTS
        },
    )
    root = helpers.make_course(tmp_path / "course")
    shutil.copy(course / "roster.csv", root)
    assert lms(root, "import", source, NAME) == 1, "two have one name"
    people = tmp_path / "people.csv"
    people.write_text(
        "id;email\n"
        + "".join(f"{login};{login}@example.org\n" for *_, login in STUDENTS)
    )
    command = ["import", source, NAME, "--worksheet", sheet, "--roster", people]
    assert lms(root, *command) == 0
    assert {
        path.parts[0]
        for path in map(Path, tree(root / "submitted"))
        if path.parts[0][0] != "."
    } == {login for *_, login in STUDENTS}
    known = read_roster(root / "roster.csv").members["s03"]
    assert (known.last_name, known.email, known.lms_user_id) == (
        "Müller",
        "s03@example.org",
        "13",
    )
    fresh = helpers.make_course(tmp_path / "fresh")
    assert lms(fresh, "import", source, NAME, "--worksheet", sheet) == 0
    assert "s03@example.org" in read_roster(fresh / "roster.csv").members


def test_feedback_for_both(course: Path, tmp_path: Path) -> None:
    """Each graded student's own page, and nobody else's."""
    out = tmp_path / "f.zip"
    assert lms(course, "export", "feedback", NAME, "--for", "canvas", "--out", out) == 1
    found = canvas_feedback(out.read_bytes(), {100 + n: n for n, *_ in STUDENTS})
    assert set(found) == {11, 12}
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        SHEET.replace("Anna Müller", "Anna M").replace("s02@example.org", "s02")
    )
    command = [
        "export",
        "feedback",
        NAME,
        "--for",
        "moodle",
        "--out",
        out,
        "--worksheet",
        sheet,
    ]
    assert lms(course, *command) == 1
    assert moodle_feedback(out.read_bytes(), {500 + n for n, *_ in STUDENTS}) == {
        511: ["sample.html"],
        512: ["sample.html"],
    }


def test_a_dry_run_changes_nothing(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Of any command that writes."""
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET)
    before = tree(course) | tree(tmp_path)
    out = ["--out", tmp_path / "out"]
    commands = [
        ["roster", course / "canvas.csv"],
        ["import", course / "s.zip", NAME],
        ["export", "canvas", NAME, "--template", course / "canvas.csv", *out],
        ["export", "moodle", NAME, "--by", "username", *out],
        ["export", "worksheet", NAME, "--worksheet", sheet, *out],
        ["export", "feedback", NAME, "--for", "canvas", *out],
        ["export", "gradescope", NAME, *out],
    ]
    for command in commands:
        extra = (
            ["--title", "Sample"]
            if "canvas" in command[:2] and "export" in command
            else []
        )
        assert lms(course, *command, *extra, "--dry-run") in (0, 1), command
        assert "nothing was written" in capsys.readouterr().out
    assert tree(course) | tree(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "canvas", NAME, "--out", "{tmp}/x"], "--template"),
        (
            [
                "export",
                "canvas",
                NAME,
                "--out",
                "{course}/canvas.csv",
                "--template",
                "{course}/canvas.csv",
            ],
            "not overwritten",
        ),
        (
            [
                "export",
                "canvas",
                NAME,
                "--out",
                "{tmp}/x",
                "--column-id",
                "5",
                "--scale-to",
                "-1",
            ],
            "points above 0",
        ),
        (
            ["export", "moodle", "nothing", "--out", "{tmp}/x"],
            "no assignment is called 'nothing'",
        ),
        (
            [
                "export",
                "worksheet",
                NAME,
                "--worksheet",
                "{course}/canvas.csv",
                "--out",
                "{tmp}/x",
            ],
            "Participant 17",
        ),
        (["import", "{tmp}/none.zip", NAME], "no such file"),
        (
            ["import", "{course}/s.zip", NAME, "--file-times", "Nowhere"],
            "Europe/Berlin",
        ),
        (["roster", "{tmp}/none.csv"], "cannot be opened"),
        (["export", "moodle", NAME, "--out", "{tmp}"], "it is a folder"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    course: Path,
    tmp_path: Path,
    arguments: list,
    message: str,
    capsys: pytest.CaptureFixture,
) -> None:
    """Exit status 2, a line on stderr, no file."""
    filled = [text.format(tmp=tmp_path, course=course) for text in arguments]
    assert lms(course, *filled) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_a_report_for_programs(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """As a file beside the text, or instead of it."""
    assert (
        lms(course, "import", course / "s.zip", NAME, "--json", tmp_path / "r.json")
        == 0
    )
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["counts"]["same"] == 4
    capsys.readouterr()
    assert lms(course, "import", course / "s.zip", NAME, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out) == found


def test_help_has_examples_and_loads_nothing_heavy() -> None:
    """The parser is made for every command: no torch and no nbgrader in it."""
    program = (
        "import sys; from grading.__main__ import parser; parser(); "
        "print({'torch', 'nbgrader', 'django'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
    done = subprocess.run(
        [sys.executable, "-m", "grading", "lms", "export", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "examples:" in done.stdout
    assert "Exit status" in done.stdout
