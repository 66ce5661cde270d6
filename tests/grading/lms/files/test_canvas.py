"""What Canvas's importer makes of the gradebooks written for it."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.files import canvas, csv_files, exports
from grading.lms.files.roster import Member, Roster
from grading.lms.outcome import Problem, Report, Verdict
from tests.grading.lms.files.oracles import (
    CanvasCourse,
    CanvasUser,
    rows_of,
    spreadsheet_computes,
)
from tests.grading.lms.files.samples import standing

CLASS = [
    standing("s01", 40.125),
    standing("s02", 0.0),
    standing("s03", None, State.MISSING),
    standing("s04", None, State.FAILED, 60.0, "the grader failed"),
    standing("s05", 60.0, State.SUSPECT, 60.0, "re-tagged: a: points"),
    standing("s06", 59.999),
]
PEOPLE = [
    Member(
        f"s0{n}",
        f"First{n}",
        f"Last{n}",
        f"s0{n}@example.org",
        f"1{n}",
        f"sis{n}",
        f"login{n}",
    )
    for n in range(1, 7)
]
USERS = [
    CanvasUser(
        10 + n, f"First{n} Last{n}", f"Last{n}, First{n}", f"sis{n}", f"login{n}"
    )
    for n in range(1, 7)
]


def course(users: list[CanvasUser] = USERS) -> CanvasCourse:
    """Return a Canvas course with the assignment and another one, which has grades."""
    grades = {(user.id, 6): "7.00" for user in users}
    return CanvasCourse(list(users), {5: "Work", 6: "Other (new)"}, grades)


def make(
    standings: list[Standing] = CLASS, people: list[Member] = PEOPLE, **options: object
) -> tuple[bytes, Report]:
    """Write a gradebook anew."""
    report = Report("test")
    roster = Roster(people)
    scores = exports.scores(standings, roster, report, **options)
    most = options.get("scale_to") or Decimal(60)
    column = canvas.heading("Work", "5")
    return canvas.gradebook(scores, column, most, roster, report), report


def test_only_scores_arrive() -> None:
    """Graded ones, two decimals; nothing of failed, suspect, missing; the other column stays."""
    data, report = make()
    there = course()
    there.grades[14, 5] = "33.00"
    there.upload(data)
    assert there.scores(5) == {11: "40.13", 12: "0.00", 16: "60.00", 14: "33.00"}
    assert there.scores(6) == {user.id: "7.00" for user in USERS}
    assert there.points == {5: "60.00"}
    assert not there.new_assignments
    assert not there.new_students
    assert {(line.student, str(line.verdict)) for line in report.lines} == {
        ("s01", "sent"),
        ("s02", "sent"),
        ("s06", "sent"),
        ("s03", "skipped"),
        ("s04", "refused"),
        ("s05", "refused"),
    }
    assert "not a score" in report.refused[0].reason


def test_missing_is_sent_where_it_is_asked_for() -> None:
    """As zero; failed and suspect still aren't."""
    there = course()
    there.upload(make(missing_as_zero=True)[0])
    assert there.scores(5)[13] == "0.00"
    assert not {14, 15} & there.scores(5).keys()


def test_scaled_to_the_points_in_canvas() -> None:
    """40.125 of 60 are 66.88 of 100."""
    there = course()
    there.upload(make(scale_to=Decimal(100))[0])
    assert there.scores(5)[11] == "66.88"
    assert there.points == {5: "100.00"}


def test_students_are_found_by_sis_id_login_or_a_name_that_is_unique() -> None:
    """And refused where Canvas could take another one."""
    people = [
        Member("s01", "First1", "Last1", sis_user_id="sis1"),
        Member("s02", login="login2"),
        Member("s06", "First6", "Last6"),
    ]
    there = course()
    there.upload(make(people=people)[0])
    assert set(there.scores(5)) == {11, 12, 16}
    twins = [
        Member("s01", "Anna", "Müller"),
        Member("s02", "Anna", "Müller"),
        Member("s06"),
    ]
    data, report = make(people=twins)
    assert len(rows_of(data)) == 2
    reasons = {line.student: line.reason for line in report.refused}
    assert "others have it" in reasons["s01"]
    assert "others have it" in reasons["s02"]
    assert "neither" in reasons["s06"]
    same = [
        Member("s01", "A", "B", lms_user_id="11"),
        Member("s02", "C", "D", lms_user_id="11"),
        Member("s06", "E", "F", lms_user_id="16x"),
    ]
    data, report = make(people=same)
    assert len(rows_of(data)) == 2
    assert {line.student for line in report.refused} == {
        "s01",
        "s02",
        "s04",
        "s05",
        "s06",
    }


@pytest.mark.parametrize(
    "name", ["=1+1", "Points Possible", "", "-, x", 'a"b,c', "  x ", "\tx"]
)
def test_odd_names_do_not_get_in_the_way(name: str) -> None:
    """The number finds the student; the name is only shown."""
    there = course()
    data, _ = make(
        people=[dataclasses.replace(PEOPLE[0], first_name="", last_name=name)]
    )
    there.upload(data)
    assert there.scores(5) == {11: "40.13"}
    assert not any(spreadsheet_computes(cell) for row in rows_of(data) for cell in row)


def test_a_formula_that_would_be_needed_to_find_somebody_is_refused() -> None:
    """It can't be sent unchanged, and changed it would find nobody."""
    _, report = make(
        people=[Member("s01", "", "=1+1"), Member("s02", "x", "y", login="=1+1")]
    )
    reasons = {line.student: line.reason for line in report.refused}
    assert "formula" in reasons["s01"]
    assert "formula" in reasons["s02"]


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("", None),
        ("=1+1", "5"),
        ("Final Score of it", "5"),
        ("Section", None),
        ("Work", "5)"),
        ("Work", "٥"),
    ],
)
def test_headings_that_canvas_would_misunderstand(
    title: str, number: str | None
) -> None:
    """A formula, one of Canvas's own columns, a number that is none."""
    with pytest.raises(Problem, match=r"title|assignment id"):
        canvas.heading(title, number)


EXPORT = (
    "\N{ZERO WIDTH NO-BREAK SPACE}"
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Other (6),Work (5),Current Score\r\n"
    ",,,,,,,Manual Posting,\r\n"
    "    Points Possible,,,,,,10.00,60.00,(read only)\r\n"
    '"Last1, First1",11,sis1,login1,"A, and B",hello,3.00,12.00,80.1\r\n'
    '"Last2, First2",12,sis2,login2,A,,4.00,EX,\r\n'
    '"Last3, First3",13,sis3,login3,A,,,5.00,\r\n'
    '"=""=1+1""",14,sis4,login4,A,,,8.00,\r\n'
    '"Last6, First6",16,sis6,login6,A,,5.00,N/A,\r\n'
    '"Student, Test",99,,t,A,,,,\r\n'
).encode()


def fill(
    data: bytes = EXPORT,
    title: str = "work",
    number: str | None = None,
    people: list[Member] = PEOPLE,
    **options: object,
) -> tuple[bytes, Report]:
    """Fill an exported gradebook."""
    report, roster = Report("test"), Roster(people)
    table = csv_files.parse_table(data, "export.csv")
    columns = canvas.find_columns(table, title, number)
    most = canvas.points_possible(table, columns)
    assert most == 60
    scores = exports.scores(CLASS, roster, report, **options)
    return canvas.fill(table, columns, scores, roster, report), report


def test_an_exported_gradebook_is_filled() -> None:
    """The row's identity and the heading stay; who has no score to be sent is not in it."""
    data, report = fill()
    assert data.startswith("\N{ZERO WIDTH NO-BREAK SPACE}".encode())
    rows = rows_of(data)
    assert rows[0] == [
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "Work (5)",
    ]
    assert rows[3] == ["Last1, First1", "11", "sis1", "login1", "A, and B", "40.13"]
    there = course()
    before = {
        (12, 5): "EX",
        (13, 5): "5.00",
        (14, 5): "9.50",  # 8.00 in the export: a teacher was here since
        (16, 5): "N/A",
        (11, 5): "12.00",
    }
    there.grades.update(before)
    there.upload(data)
    assert there.scores(5) == {11: "40.13", 12: "EX", 13: "5.00", 14: "9.50", 16: "N/A"}
    assert there.scores(6) == {user.id: "7.00" for user in USERS}, (
        "no other column is touched"
    )
    assert not there.new_assignments
    assert not any(spreadsheet_computes(cell) for row in rows for cell in row)
    reasons = {line.student: line.reason for line in report.lines if line.student}
    assert reasons["s01"] == "40.13, was 12.00"
    assert "excused" in reasons["s02"]
    assert "not assigned" in reasons["s06"]


def test_a_semicolon_export_with_decimal_commas() -> None:
    """As Canvas writes it in some languages: read, kept, and understood again."""
    text = EXPORT.decode().replace(",", ";").replace("; ", ", ").replace(".00", ",00")
    data, _ = fill(text.encode())
    there = course()
    there.upload(data)
    assert there.scores(5)[11] == "40.13"
    assert 13 not in there.scores(5)  # no score here: its row is not sent
    assert b"12,00" not in data


def test_an_export_with_two_columns_for_the_name() -> None:
    """First and last name apart: matched, filled, and without formulas."""
    export = (
        b"LastName,FirstName,ID,SIS Login ID,Section,Work (5)\n"
        b"    Points Possible,,,,,60.00\nLast1,First1,,,A,\n"
        b'"=""=1+1""",=2+2,12,login2,A,\n'
    )
    rows = rows_of(
        fill(export, people=[Member("s01", "First1", "Last1"), PEOPLE[1]])[0]
    )
    assert [row[-1] for row in rows] == ["Work (5)", "60.00", "40.13", "0.00"]
    assert rows[3] == ['\'="=1+1"', "'=2+2", "12", "login2", "A", "0.00"]


def test_rows_are_matched_as_canvas_does() -> None:
    """By ID before SIS id before login before a unique name."""
    people = [
        Member("s01", login="login1"),
        Member("s02", sis_user_id="sis2"),
        Member("sis3"),
        Member("s06", "First6", "Last6"),
    ]
    report = fill(people=people)[1]
    assert {line.student for line in report.lines if line.verdict is Verdict.SENT} == {
        "s01"
    }
    assert {line.file for line in report.lines if line.student == "s06"} == {
        "Last6, First6"
    }
    export = EXPORT.replace(b"16,sis6,login6,A,,5.00,N/A", b"17,,,A,,,") + (
        b'"Last6, First6",18,,,A,,,,\r\n'
    )
    report = fill(export, people=people)[1]
    assert "not to be told apart" in next(
        line.reason for line in report.refused if line.student == "s06"
    )


def test_the_column_is_found_by_number_or_title() -> None:
    """Anything else is an error that lists what is there."""
    table = csv_files.parse_table(EXPORT)
    assert canvas.find_columns(table, "x", "6").title == "Other (6)"
    with pytest.raises(Problem, match=r"Assignments in it: Other \(6\); Work \(5\)"):
        canvas.find_columns(table, "x", None)
    with pytest.raises(Problem, match="0 columns for '7'"):
        canvas.find_columns(table, "Work", "7")
    with pytest.raises(Problem, match="not a gradebook"):
        canvas.find_columns(csv_files.parse_table(b"a,b\n1,2\n"), "Work", None)
    locked = csv_files.parse_table(EXPORT.replace(b"60.00", b"(read only)"))
    columns = canvas.find_columns(locked, "Work", None)
    with pytest.raises(Problem, match="read only"):
        canvas.points_possible(locked, columns)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(max_examples=200, deadline=None)
@given(
    people=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=6),
    points=st.lists(st.floats(0, 60), min_size=6, max_size=6),
)
@example(people=[("0", "Points Possible")], points=[0.0] * 6)
def test_any_names_and_points_come_through(people: list, points: list) -> None:
    """Whatever the names, each score reaches its student, rounded to cents, and nobody else."""
    users = [
        CanvasUser(100 + n, f"{first} {last}", f"{last}, {first}")
        for n, (first, last) in enumerate(people)
    ]
    members = [
        Member(f"s{n}", first, last, lms_user_id=str(100 + n))
        for n, (first, last) in enumerate(people)
    ]
    class_ = [standing(f"s{n}", points[n]) for n in range(len(people))]
    data, _ = make(class_, members)
    there = course(users)
    there.upload(data)
    assert set(there.scores(5)) == {user.id for user in users}
    for n in range(len(people)):
        assert abs(float(there.scores(5)[100 + n]) - points[n]) <= 0.005 + 1e-9
    assert not any(spreadsheet_computes(cell) for row in rows_of(data) for cell in row)
    # Round trip: the exported students are read back as a roster, and filled again.
    export = there_export(users)
    table = csv_files.parse_table(export)
    columns = canvas.find_columns(table, "Work", None)
    report = Report("again")
    roster = Roster(members)
    filled = canvas.fill(
        table, columns, exports.scores(class_, roster, report), roster, report
    )
    again = course(users)
    again.upload(filled)
    assert again.scores(5) == there.scores(5)


def there_export(users: list[CanvasUser]) -> bytes:
    """Return what Canvas exports: names that begin with an equals sign in its own form."""
    rows = [
        ["Student", "ID", "SIS Login ID", "Section", "Work (5)"],
        ["    Points Possible", "", "", "", "60.00"],
    ]
    for user in users:
        name = (
            f'="{user.sortable}"'
            if user.sortable.lstrip().startswith("=")
            else user.sortable
        )
        rows.append([name, str(user.id), "", "A", ""])
    return csv_files.make_table(rows)
