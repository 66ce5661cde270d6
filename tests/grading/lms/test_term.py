"""A term by the teaching page: its commands, in its order, on zips as Canvas and Moodle make them.

The commands are read from book/teaching-lms.md, so a page that says something false fails here.
"""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course.notebooks import ROOT
from grading.course.states import State
from grading.gradebook.standing import Standing, roster, standings
from grading.lms.files.archive import Source
from tests.grading import helpers
from tests.grading.lms.files.oracles import (
    CanvasCourse,
    CanvasUser,
    canvas_feedback,
    moodle_feedback,
    moodle_worksheet,
)
from tests.grading.lms.files.samples import NAME, make_zip

pytestmark = pytest.mark.slow

PAGE = (ROOT / "book" / "teaching-lms.md").read_text(encoding="utf-8")
ENGINE = "--engine tests.grading.fakes:make --unsafe-no-sandbox --jobs 1"


def page(title: str) -> list[str]:
    """Return the commands of a section, one a line, for the sample assignment."""
    section = re.search(
        rf"^### {title}\n(.*?)(?=^###? |\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
    text = section[1].replace("\\\n", " ")
    blocks = re.findall(r"^ *```bash\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    lines = [" ".join(line.split()) for block in blocks for line in block.splitlines()]
    return [re.sub(r"\b02\b", NAME, line) for line in lines if line.strip()]


class Term:
    """A course whose teacher types what the page says."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture) -> None:
        self.root, self._capsys, self.said = root, capsys, ""

    def type(self, line: str) -> int:
        """Do a command of the page; `make grade` runs the fake engine."""
        line = re.sub(
            r"^make grade ASSIGNMENT=(\S+)", rf"python -m grading run \1 {ENGINE}", line
        )
        words = shlex.split(line)
        assert words[:3] == ["python", "-m", "grading"], line
        places = [
            str(self.root / word) if (self.root / word).is_file() else word
            for word in words[3:]
        ]
        if "--out" in places:
            at = places.index("--out") + 1
            places[at] = str(self.root / places[at])
        status = main([*places, "--root", str(self.root)])
        self.said = self._capsys.readouterr().out
        return status

    def standings(self) -> dict[str, Standing]:
        """Return how everybody stands."""
        url = f"sqlite:///{self.root / 'gradebook.db'}"
        return {
            one.student: one
            for one in standings(url, NAME, submitted=self.root / "submitted")
        }


@pytest.fixture
def term(tmp_path: Path, capsys: pytest.CaptureFixture) -> Term:
    """An empty course."""
    return Term(helpers.make_course(tmp_path / "course"), capsys)


RIGHT = json.dumps(helpers.fill(helpers.RIGHT)).encode()
WRONG = json.dumps(
    helpers.fill({**helpers.RIGHT, "double": helpers.WRONG["double"]})
).encode()

#: Canvas's own number, names, SIS id, login.
CANVAS = [
    (2101, "Emmy", "Noether", "900001", "noether"),
    (2102, "Anna", "Müller", "900002", "amueller"),
    (2103, "Anna", "Müller", "900003", "amueller2"),
    (2104, "Conan", "O'Brien", "", "obrien@uni.example"),
    (2105, "Grace", "Hopper", "900005", "hopper"),
    (2106, "Ada", "King", "900006", "king"),
]
TEST_STUDENT = (
    '"Student, Test",2199,,4c3c7c8d9e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b,Sec 1,,,\r\n'
)
EXPORT = (
    "\N{ZERO WIDTH NO-BREAK SPACE}"
    "Student;ID;SIS User ID;SIS Login ID;Section;Sample (771);Other (772);Final Score\r\n"
    "    Points Possible;;;;;6,00;10,00;(read only)\r\n"
    + "".join(
        f'"{last}, {first}";{number};{sis};{login};Sec 1;;1,00;50,0\r\n'
        for number, first, last, sis, login in CANVAS
    )
    + TEST_STUDENT.replace(",", ";").replace("Student; Test", "Student, Test")
)
DOWNLOAD = {
    "noetheremmy_LATE_2101_88001_sample-2.ipynb": RIGHT,
    "noetheremmy_2101_87001_sample-1.ipynb": WRONG,
    "mülleranna_2102_88002_sample.ipynb": WRONG,
    "obrienconan_2104_88004_homework.zip": b"PK\x05\x06" + bytes(18),
    "hoppergrace_2105_88005_sample.py": b"print()",
    "kingada_2106_text.html": b"<p>see the other one</p>",
    "studenttest_2199_88099_sample.ipynb": RIGHT,
    "teststudent_2199_88098_sample.ipynb": RIGHT,
}


def test_a_term_with_canvas(term: Term) -> None:
    """As the page says it: roster, dry run, import, grade, back; late work and groups besides."""
    (roster_line,) = page("The roster")
    dry, take, grade, back, feedback, late, groups = page(
        "Canvas, from empty to graded"
    )
    (term.root / "exported.csv").write_text(EXPORT, encoding="utf-8")
    (term.root / "gradebook.csv").write_text(EXPORT, encoding="utf-8")
    make_zip(term.root / "submissions.zip", DOWNLOAD)

    assert term.type(roster_line) == 0
    people = {p.id: p for p in roster(f"sqlite:///{term.root / 'gradebook.db'}")}
    assert set(people) == {
        "noether",
        "amueller",
        "amueller2",
        "obrien@uni.example",
        "hopper",
        "king",
    }
    assert people["amueller2"].sis_user_id == "900003"
    assert people["noether"].lms_user_id == "2101"

    assert term.type(dry) == 1
    assert not (term.root / "submitted").exists()
    assert term.type(take) == 1, "a .zip and a .py alone are to be told"
    for file in ("homework.zip", "sample.py"):
        assert re.search(rf"refused .*{file}", term.said)
    assert "marked late by Canvas: noether" in term.said
    assert re.search(r"skipped .*teststudent", term.said)

    term.type(grade)
    found = term.standings()
    assert (found["noether"].points, found["amueller"].points) == (6.0, 4.0)
    assert {name for name, one in found.items() if one.state is State.MISSING} == {
        "amueller2",
        "obrien@uni.example",
        "hopper",
        "king",
    }

    times = [
        {"user_id": number, "submitted_at": "2026-03-03T22:59:00Z"}
        for number in (2101, 2199)
    ]
    for part, name in zip(
        (times[:1], times[1:]), ("times-1.json", "times-2.json"), strict=True
    ):
        (term.root / name).write_text("while(1);" + json.dumps(part))
    assert term.type(late) == 1
    assert "times-2.json: Canvas's 2199: nobody here" in term.said
    stamp = term.root / "submitted" / "noether" / NAME / "timestamp.txt"
    assert stamp.read_text().startswith("2026-03-03 22:59:00")

    (term.root / "groups.csv").write_text(
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        "Emmy Noether,2101,900001,noether,Sec 1,Team 7,31,\n"
        "Ada King,2106,900006,king,Sec 1,Team 7,31,\n"
    )
    term.type(groups)
    assert "handed in by noether for Team 7" in term.said
    term.type(grade)
    assert term.standings()["king"].points == 6.0

    users = [
        CanvasUser(number, f"{first} {last}", f"{last}, {first}", sis, login)
        for number, first, last, sis, login in CANVAS
    ]
    there = CanvasCourse(users, {771: "Sample", 772: "Other"})
    there.grades = {
        (2103, 771): "5.50",
        (2101, 772): "1.00",
    }  # typed in since the export
    assert term.type(f"{back} --title Sample") == 0
    there.upload((term.root / "upload.csv").read_bytes())
    assert there.scores(771) == {2101: "6.00", 2102: "4.00", 2103: "5.50", 2106: "6.00"}
    assert there.scores(772) == {2101: "1.00"}
    assert not there.new_assignments
    assert not there.new_students

    assert term.type(feedback) == 1
    assert "Team 7's file in Canvas is noether's" in term.said
    sent = canvas_feedback(
        (term.root / "feedback.zip").read_bytes(), {88001: 2101, 88002: 2102}
    )
    assert set(sent) == {2101, 2102}


MOODLE = [
    (3501, "Emmy Noether", "noether@uni.example"),
    (3502, "Anna Müller", "am1@uni.example"),
    (3503, "Anna Müller", "am2@uni.example"),
    (3504, "Wen Li", "li@uni.example"),
]
SHEET = (
    "\N{ZERO WIDTH NO-BREAK SPACE}"
    "ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Bestwertung;"
    "Bewertung kann geändert werden;Zuletzt geändert (Abgabe);"
    "Zuletzt geändert (Bewertung);Feedback als Kommentar\n"
    + "".join(
        f'Teilnehmer/in{number};"{name}";{email};Zur Bewertung abgegeben;;6,00;Ja;'
        f'"Dienstag, {day}. März 2026, 23:59";-;\n'
        for day, (number, name, email) in enumerate(MOODLE, 1)
    )
)
HEADINGS = ("ID", "Bewertung", "Zuletzt geändert (Bewertung)")
PARTICIPANTS = (
    "Vorname;Nachname;E-Mail-Adresse;Rollen;Gruppen;Letzter Zugriff\n"
    + "".join(
        f"{name.split()[0]};{name.split()[1]};{email};Teilnehmer/in;Gruppe A;heute\n"
        for _, name, email in MOODLE
    )
)


def moodle_zip(path: Path, team: str = "") -> Path:
    """Make what "Download all submissions" gives; Wen Li handed in nothing."""
    return make_zip(
        path,
        {
            f"{team}{name}_{number}_assignsubmission_file_/sample.ipynb": (
                WRONG if number == 3502 else RIGHT
            )
            for number, name, _ in MOODLE[:3]
        },
    )


@pytest.mark.parametrize("team", ["", "Team A-"])
def test_a_term_with_a_german_moodle(term: Term, team: str) -> None:
    """Semicolons, German headings and decimal commas, two of one name; alone and in teams."""
    (roster_line,) = page("The roster")
    take, grade, back, feedback, late = page("Moodle, from empty to graded")
    (term.root / "exported.csv").write_text(PARTICIPANTS, encoding="utf-8")
    (term.root / "worksheet.csv").write_text(SHEET, encoding="utf-8")
    moodle_zip(term.root / "submissions.zip", team)
    assert term.type(roster_line) == 0
    assert term.type(take) == 0, term.said
    assert term.type(late) == 0, term.said
    stamp = term.root / "submitted" / "am2@uni.example" / NAME / "timestamp.txt"
    assert stamp.read_text().startswith("2026-03-03 22:59:00")
    term.type(grade)
    points = {name: one.points for name, one in term.standings().items()}
    assert points == {
        "noether@uni.example": 6.0,
        "am1@uni.example": 4.0,
        "am2@uni.example": 6.0,
        "li@uni.example": None,
    }
    assert term.standings()["noether@uni.example"].submitted_at == datetime(
        2026, 3, 1, 22, 59, tzinfo=UTC
    )
    assert term.type(back) == 0
    filled = (term.root / "filled.csv").read_bytes()
    grades = moodle_worksheet(filled, HEADINGS, "Teilnehmer/in", ",", 6.0, ";")
    assert grades == {3501: 6.0, 3502: 4.0, 3503: 6.0}
    assert term.type(feedback) == 0
    sent = moodle_feedback(
        (term.root / "feedback.zip").read_bytes(), {3501, 3502, 3503}
    )
    assert sent == {key: ["sample.html"] for key in (3501, 3502, 3503)}


def test_a_term_without_names(term: Term) -> None:
    """Anonymous in Moodle: graded and sent back by number; no roster learns a pseudonym."""
    (roster_line,) = page("The roster")
    take, grade, back, feedback, _ = page("Moodle, from empty to graded")
    (term.root / "exported.csv").write_text(PARTICIPANTS, encoding="utf-8")
    sheet = re.sub(r'(?<=\d);"[^"]+";[^;]+(?=;Zur)', "", SHEET).replace(
        "Vollständiger Name;E-Mail-Adresse;", ""
    )
    (term.root / "worksheet.csv").write_text(sheet, encoding="utf-8")
    make_zip(
        term.root / "submissions.zip",
        {
            f"Teilnehmer_in_{number}_assignsubmission_file_/sample.ipynb": data
            for number, data in ((3501, RIGHT), (3502, WRONG))
        },
    )
    assert term.type(roster_line) == 0
    before = (term.root / "roster.csv").read_bytes()
    assert term.type(take) == 0, term.said
    assert "anonymous" in term.said
    assert (term.root / "roster.csv").read_bytes() == before
    term.type(grade)
    assert term.standings()["teilnehmer-in3502"].points == 4.0
    assert term.type(back) == 0, term.said
    filled = (term.root / "filled.csv").read_bytes()
    grades = moodle_worksheet(filled, HEADINGS, "Teilnehmer/in", ",", 6.0, ";")
    assert grades == {3501: 6.0, 3502: 4.0}
    assert term.type(feedback) == 0
    sent = moodle_feedback((term.root / "feedback.zip").read_bytes(), {3501, 3502})
    assert set(sent) == {3501, 3502}


def test_a_roster_that_imports_wrote_keeps_nobody_out(term: Term) -> None:
    """Without a class list newcomers are taken each time; with one they are told."""
    _, take, *_ = page("Canvas, from empty to graded")

    def hand_in(*students: int) -> int:
        files = {f"name{n}_{n}_{900 + n}_sample.ipynb": RIGHT for n in students}
        make_zip(term.root / "submissions.zip", files)
        return term.type(take)

    assert hand_in(1) == 0
    assert hand_in(1, 2) == 0, term.said
    assert {path.name for path in (term.root / "submitted").glob("[0-9]*")} == {
        "1",
        "2",
    }
    (term.root / "list.csv").write_text("id,lms_user_id\n1,1\n2,2\n7,7\n")
    assert (
        main(["lms", "roster", str(term.root / "list.csv"), "--root", str(term.root)])
        == 0
    )
    assert hand_in(1, 3) == 1
    assert "not in the roster" in term.said


def test_the_samples_are_as_the_products_make_them(tmp_path: Path) -> None:
    """Every name in them can be read: nothing is refused for the sample's own sake."""
    for source in (
        make_zip(tmp_path / "c.zip", DOWNLOAD),
        moodle_zip(tmp_path / "m.zip"),
    ):
        with Source(source) as archive:
            assert not [entry for entry in archive.entries() if entry.problem]
