"""Work handed in together, and without names."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grading.lms.files import imports, packing
from grading.lms.files.groups import read_groups
from grading.lms.files.roster import Member, Roster
from grading.lms.outcome import Problem, Report
from tests.grading.lms.files.samples import NOTEBOOK, make_zip, notebook, target
from tests.grading.lms.files.test_imports import line, take, taken

PEOPLE = [
    Member("s01", "Emmy", "Noether", "s01@example.org", "11", "9001", "emmy"),
    Member("s02", "Marie", "Curie", "s02@example.org", "12", "9002", "marie"),
    Member("s03", "Anna", "Müller", "s03@example.org", "13", "9003", "anna"),
    Member("s04", "Ada", "King", "s04@example.org", "14", "9004", "ada"),
]
#: As Canvas exports the groups of a category.
CANVAS = (
    "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
    "Emmy Noether,11,9001,emmy,A,Group 1,501,\n"
    "Marie Curie,12,9002,marie,A,Group 1,501,\n"
    "Ada King,14,9004,ada,A,Group 2,502,\n"
    "Anna Müller,13,9003,anna,A,,,\n"
    "Some Body,99,,some,A,Group 2,502,\n"
)


def groups(folder: Path, text: str = CANVAS) -> tuple[dict, list[str]]:
    """Read a table of groups."""
    path = folder / "groups.csv"
    path.write_text(text, encoding="utf-8")
    return read_groups(path, Roster(PEOPLE))


def hand_in(folder: Path, *files: tuple[str, int, int, str]) -> Path:
    """Make Canvas's zip of (name, user, number, text)."""
    return make_zip(
        folder / f"s{files[0][2]}.zip",
        {
            f"{name}_{user}_{number}_{NOTEBOOK}": notebook(text)
            for name, user, number, text in files
        },
    )


def test_canvas_tells_who_is_in_which_group(tmp_path: Path) -> None:
    """By Canvas's number or another of its ids; who is in none, or unknown, is in none."""
    found, lost = groups(tmp_path)
    assert found == {"Group 1": ("s01", "s02"), "Group 2": ("s04",)}
    assert lost == ["row 6, 99 some: nobody here"]
    text = "Gruppe;E-Mail-Adresse\nA;s03@example.org\nA;s03@example.org\n"
    assert groups(tmp_path, text)[0] == {"A": ("s03",)}
    with pytest.raises(Problem, match="s03 is in A, too"):
        groups(tmp_path, text + "B;s03@example.org\n")
    with pytest.raises(Problem, match="group_name"):
        groups(tmp_path, "name,login\nA,emmy\n")


def test_the_representatives_file_is_the_groups(tmp_path: Path) -> None:
    """Each member has it, with its time and a line; a file of one's own counts more."""
    found, _ = groups(tmp_path)
    time = datetime(2026, 3, 1, tzinfo=UTC)
    report = take(
        hand_in(
            tmp_path, ("noetheremmy", 11, 100, "ours"), ("kingada", 14, 101, "mine")
        ),
        tmp_path,
        PEOPLE,
        groups=found,
        times={"s01": time},
    )
    assert taken(tmp_path) == {
        "s01": notebook("ours"),
        "s02": notebook("ours"),
        "s04": notebook("mine"),
    }
    told = [one for one in report.lines if one.student == "s02"]
    assert [(str(one.verdict), one.reason) for one in told] == [
        ("taken", "handed in by s01 for Group 1")
    ]
    for student in ("s01", "s02"):
        stamp = target(tmp_path).folder(student) / "timestamp.txt"
        assert stamp.read_text().startswith("2026-03-01 00:00:00")
    record = imports.read_record(target(tmp_path).record)
    assert packing.canvas_name(record["s01"], "sample")[1] == ""
    assert (
        "Group 1's file in Canvas is s01's"
        in packing.canvas_name(record["s02"], "sample")[1]
    )


def test_a_groups_later_file_replaces_the_earlier(tmp_path: Path) -> None:
    """By Canvas's numbers, also where another member hands in for the group."""
    found, _ = groups(tmp_path)
    take(
        hand_in(tmp_path, ("noetheremmy", 11, 100, "old")),
        tmp_path,
        PEOPLE,
        groups=found,
    )
    take(
        hand_in(tmp_path, ("curiemarie", 12, 105, "new")),
        tmp_path,
        PEOPLE,
        groups=found,
    )
    assert taken(tmp_path) == {"s01": notebook("new"), "s02": notebook("new")}
    take(
        hand_in(tmp_path, ("noetheremmy", 11, 100, "old")),
        tmp_path,
        PEOPLE,
        groups=found,
    )
    assert taken(tmp_path) == {"s01": notebook("new"), "s02": notebook("new")}


def test_a_group_that_disagrees_decides_nothing(tmp_path: Path) -> None:
    """Two files of one group: who has none is told, and gets neither."""
    three = CANVAS.replace("anna,A,,,", "anna,A,Group 1,501,")
    found, _ = groups(tmp_path, three)
    path = hand_in(
        tmp_path, ("noetheremmy", 11, 100, "one"), ("curiemarie", 12, 101, "other")
    )
    report = take(path, tmp_path, PEOPLE, groups=found)
    assert set(taken(tmp_path)) == {"s01", "s02"}
    assert [one.student for one in report.refused] == ["s03"]
    assert "s01, s02 of Group 1" in report.refused[0].reason


def test_moodle_writes_the_team_before_the_name(tmp_path: Path) -> None:
    """Every member has a folder: the name behind the team finds the student, hyphens or not."""
    people = [*PEOPLE[:2], Member("s05", "Conan", "O'Brien-Smith")]
    names = (
        "Team A-Emmy Noether",
        "Default group-Marie Curie",
        "T-1-Conan O'Brien-Smith",
    )
    path = make_zip(
        tmp_path / "m.zip",
        {
            f"{name}_{500 + n}_assignsubmission_file_/{NOTEBOOK}": notebook(name)
            for n, name in enumerate(names)
        },
    )
    report = take(path, tmp_path, people)
    assert set(taken(tmp_path)) == {"s01", "s02", "s05"}, report.text()


def test_moodles_hidden_names_need_the_worksheet(tmp_path: Path) -> None:
    """All are called Participant: no student is made of it, and the line says what helps."""
    names = [f"Participant_{number}_assignsubmission_file_" for number in (501, 502)]
    path = make_zip(
        tmp_path / "m.zip", {f"{name}/{NOTEBOOK}": notebook(name) for name in names}
    )
    for people in ([], PEOPLE):
        report: Report = take(path, tmp_path, people)
        assert taken(tmp_path) == {}
        assert "--worksheet" in line(report, f"{names[0]}/{NOTEBOOK}")[2]
