"""What Moodle's importers make of the gradebooks and worksheets written for it."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.files import csv_files, exports, moodle
from grading.lms.files.roster import Member, Roster
from grading.lms.outcome import Problem, Report, Verdict
from tests.grading.lms.files.oracles import (
    Rejected,
    moodle_gradebook,
    moodle_worksheet,
    rows_of,
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
        f"S0{n}@example.org",
        f"1{n}",
        f"id{n}",
        f"user{n}",
    )
    for n in range(1, 7)
]
EMAILS = {member.email for member in PEOPLE}


def make(
    standings: list[Standing] = CLASS,
    people: list[Member] = PEOPLE,
    by: str = "email",
    known: bytes | None = None,
    **options: object,
) -> tuple[bytes, Report]:
    """Write a gradebook."""
    report, roster = Report("test"), Roster(people)
    scores = exports.scores(
        standings, roster, report, missing_as_zero=options.pop("missing_as_zero", False)
    )
    table = csv_files.parse_table(known, "users.csv") if known is not None else None
    return moodle.gradebook(scores, "Work", by, report, known=table, **options), report


@pytest.mark.parametrize(
    ("by", "users"),
    [
        ("email", EMAILS),
        ("username", {m.login for m in PEOPLE}),
        ("idnumber", {m.sis_user_id for m in PEOPLE}),
        ("userid", {m.lms_user_id for m in PEOPLE}),
    ],
)
def test_only_scores_arrive(by: str, users: set[str]) -> None:
    """Whichever way the users are known; nothing of failed, suspect and missing."""
    data, report = make(by=by)
    field = moodle.KEYS[by][0]
    found = moodle_gradebook(data, users)
    assert found == {
        getattr(PEOPLE[0], field): 40.13,
        getattr(PEOPLE[1], field): 0.0,
        getattr(PEOPLE[5], field): 60.0,
    }
    assert {line.student for line in report.refused} == {"s04", "s05"}


def test_missing_is_sent_where_it_is_asked_for() -> None:
    """As zero."""
    data, _ = make(missing_as_zero=True)
    assert moodle_gradebook(data, EMAILS)[PEOPLE[2].email] == 0.0


def test_nobody_stops_the_import_of_the_others() -> None:
    """No address, a shared one, a formula, a stray blank: left out, with a line each."""
    odd = [
        "",
        "same@example.org",
        "=1+1@example.org",
        " x@example.org",
        "a\\b@example.org",
        "0",
    ]
    for text in odd:
        people = [
            dataclasses.replace(PEOPLE[0], email=text),
            dataclasses.replace(PEOPLE[1], email=text if "same" in text else "b@x.org"),
            PEOPLE[5],
        ]
        data, report = make(people=people)
        found = moodle_gradebook(data, {"b@x.org", PEOPLE[5].email})
        assert PEOPLE[5].email in found
        assert "s01" in {line.student for line in report.refused}, text


def test_users_are_spelt_as_moodle_spells_them() -> None:
    """Addresses are compared with their case; who isn't in the course is left out."""
    known = b"First name,Email address\nA,s01@example.org\nB,S02@EXAMPLE.org\n"
    data, report = make(known=known)
    assert set(moodle_gradebook(data, {"s01@example.org", "S02@EXAMPLE.org"})) == {
        "s01@example.org",
        "S02@EXAMPLE.org",
    }
    with pytest.raises(Rejected, match="unknown user"):
        moodle_gradebook(make()[0], {"s01@example.org", "S02@EXAMPLE.org"})
    reasons = {line.student: line.reason for line in report.refused}
    assert "not among the users" in reasons["s06"]
    with pytest.raises(Problem, match="is it the right course"):
        make(known=b"Email address\nother@example.org\n")


def test_a_grade_above_100_is_told_before_moodle_stops() -> None:
    """Unless the site allows it."""
    class_ = [standing("s01", 120.0, most=120.0)]
    with pytest.raises(Problem, match="--scale-to 100"):
        make(class_)
    data, _ = make(class_, unlimited=True)
    with pytest.raises(Rejected, match="too large"):
        moodle_gradebook(data, EMAILS)
    assert moodle_gradebook(data, EMAILS, unlimited=True) == {PEOPLE[0].email: 120.0}


# As Moodle writes them: the headings of id, grade and time, the word before the number, a decimal
# mark, and the rest of the headings.
LANGUAGES = {
    "en": (
        ("Identifier", "Grade", "Last modified (grade)"),
        "Participant ",
        ".",
        (
            "Full name",
            "Email address",
            "Status",
            "Maximum Grade",
            "Grade can be changed",
            "Last modified (submission)",
            "Feedback comments",
        ),
    ),
    "de": (
        ("ID", "Bewertung", "Zuletzt geändert (Bewertung)"),
        "Teilnehmer/in",
        ",",
        (
            "Vollständiger Name",
            "E-Mail-Adresse",
            "Status",
            "Bestwertung",
            "Bewertung kann geändert werden",
            "Zuletzt geändert (Abgabe)",
            "Feedback als Kommentar",
        ),
    ),
    "fr": (
        ("Identifiant", "Note", "Dernière modification (note)"),
        "Participant",
        ",",
        (
            "Nom complet",
            "Adresse de courriel",
            "Statut",
            "Note maximale",
            "La note peut être modifiée",
            "Dernière modification (travail remis)",
            "Feedback par commentaires",
        ),
    ),
    "ja": (
        ("ID", "評点", "最終更新日時 (評点)"),
        "参加者",
        ".",
        (
            "フルネーム",
            "メールアドレス",
            "ステータス",
            "最大評点",
            "評点を変更できますか?",
            "最終更新日時 (提出)",
            "フィードバックコメント",
        ),
    ),
    "ar": (
        ("المعرف", "درجة", "آخر تعديل (الدرجة)"),
        "مشارك",
        ".",
        (
            "الاسم الكامل",
            "البريد",
            "الحالة",
            "الدرجة القصوى",
            "يمكن تغيير الدرجة",
            "آخر تعديل (التسليم)",
            "التعليقات",
        ),
    ),
}


def sheet(
    language: str,
    rows: list[tuple[int, str, str, str]],
    most: float = 60.0,
    quoting: int = csv.QUOTE_MINIMAL,
) -> bytes:
    """Return a worksheet as Moodle writes it; rows: number, name, address, grade."""
    (number, grade, time), word, mark, rest = LANGUAGES[language]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=quoting)
    writer.writerow(
        [
            number,
            rest[0],
            rest[1],
            rest[2],
            grade,
            rest[3],
            rest[4],
            rest[5],
            time,
            rest[6],
        ]
    )
    for who, name, email, points in rows:
        writer.writerow(
            [
                f"{word}{who}",
                name,
                email,
                "Submitted for grading - 3",
                points,
                f"{most:.2f}".replace(".", mark),
                "Yes",
                "Sunday, 1 March 2026, 9:05 AM",
                "-",
                'said "fine",\nthen left',
            ]
        )
    return ("\N{ZERO WIDTH NO-BREAK SPACE}" + out.getvalue()).encode()


ROWS = [
    (501, "First1 Last1", "s01@example.org", ""),
    (502, "First2 Last2", "", "3"),
    (503, "First3 Last3", "s03@example.org", ""),
    (504, "First4 Last4", "", ""),
    (505, "First5 Last5", "", ""),
    (777, "Somebody Else", "", "9"),
]


def fill(
    path: Path,
    data: bytes,
    people: list[Member] = PEOPLE,
    standings: list[Standing] = CLASS,
    **options: object,
) -> tuple[bytes, Report]:
    """Fill a worksheet."""
    file = path / "Grades.csv"
    file.write_bytes(data)
    report, roster = Report("test"), Roster(people)
    found = moodle.read_sheet(file, options.pop("heading", None))
    scores = exports.scores(standings, roster, report)
    return moodle.fill(found, scores, roster, report, **options), report


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_worksheet_in_any_language(
    tmp_path: Path, language: str, quoting: int
) -> None:
    """Grades reach the right participants; every other byte is as it was."""
    headings, word, mark, _ = LANGUAGES[language]
    rows = [
        (n, name, email, grade and f"{grade}{mark}00") for n, name, email, grade in ROWS
    ]
    before = sheet(language, rows, quoting=quoting)
    after, report = fill(tmp_path, before)
    assert moodle_worksheet(after, headings, word, mark, 60.0) == {
        501: 40.13,
        502: 0.0,
        777: 9.0,
    }
    # Byte for byte: what Moodle itself would have written with these two grades in it.
    filled = {501: f"40{mark}13", 502: f"0{mark}00"}
    rows = [(n, name, email, filled.get(n, grade)) for n, name, email, grade in rows]
    assert after == sheet(language, rows, quoting=quoting)
    reasons = {
        line.student or line.file: line.reason
        for line in report.lines
        if line.verdict is not Verdict.SENT
    }
    assert "not in Grades.csv" in reasons["s06"]
    assert "not in the gradebook" in reasons[f"{word}777"]
    assert "failed" in reasons["s04"]


def test_a_worksheet_without_names(tmp_path: Path) -> None:
    """Blind marking: only the numbers, which an import has noted."""
    data = b"Identifier,Status,Grade,Maximum Grade,Last modified (grade)\n" + b"".join(
        b"Participant %d,Submitted,,60.00,-\n" % n for n in (501, 502)
    )
    people = [dataclasses.replace(PEOPLE[0], participant="502")]
    after, _ = fill(tmp_path, data, people)
    assert after == data.replace(b"502,Submitted,,", b"502,Submitted,40.13,")


def test_participants_of_one_name(tmp_path: Path) -> None:
    """Neither gets the other's grade."""
    rows = [(501, "Anna Müller", "", ""), (502, "Anna Müller", "", "")]
    people = [
        Member("s01", "Anna", "Müller"),
        Member("s02", "Anna", "Müller", "a2@example.org"),
    ]
    after, report = fill(tmp_path, sheet("en", rows), people)
    assert after == sheet("en", rows)
    assert {line.student for line in report.refused} >= {"s01", "s02"}
    after, _ = fill(tmp_path, sheet("en", rows), people[:1])
    assert after == sheet("en", rows), "one of them is not on the roster: which?"
    rows[1] = (502, "Anna Müller", "A2@example.org", "")
    after, _ = fill(tmp_path, sheet("en", rows), people)
    headings, word, mark, _ = LANGUAGES["en"]
    assert moodle_worksheet(after, headings, word, mark, 60.0) == {502: 0.0}


def test_what_moodle_would_drop_silently_is_told(tmp_path: Path) -> None:
    """A grade above the worksheet's maximum."""
    after, report = fill(
        tmp_path, sheet("en", ROWS, most=50.0), standings=[standing("s01", 55.0)]
    )
    assert after == sheet("en", ROWS, most=50.0)
    assert "above the maximum" in report.refused[0].reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n", "Participant 17"),
        (b"Identifier,Grade\n", "no students"),
        (
            b"Identifier,Full name,Grade,Scale\nParticipant 1,x,,Good\nParticipant 2,y,,Good\n",
            "scale",
        ),
        (
            b"Identifier,Grade,Maximum Grade\nParticipant 1,,60.00\nParticipant 2,60.00\n",
            "row 3",
        ),
        (
            b"Identifier,Extra,Grade,Max\nParticipant 1,5,60.00,60.00\n",
            "several columns",
        ),
    ],
)
def test_what_is_no_worksheet_says_why(
    tmp_path: Path, data: bytes, message: str
) -> None:
    """One line; an open question is settled on the command line."""
    with pytest.raises(Problem, match=message):
        fill(tmp_path, data)
    if "several" in message:
        after, _ = fill(
            tmp_path, data, [Member("s01", participant="1")], heading="Grade"
        )
        assert after == data.replace(b"5,60.00,", b"5,40.13,")


def test_a_worksheet_is_a_roster(tmp_path: Path) -> None:
    """Addresses make ids; numbers are known for this assignment only."""
    file = tmp_path / "w.csv"
    file.write_bytes(sheet("de", ROWS))
    found = moodle.sheet_roster(moodle.read_sheet(file))
    assert found.members["s01@example.org"] == Member(
        "s01@example.org", "First1", "Last1", "s01@example.org", participant="501"
    )
    assert "somebody-else" in found.members
    assert b"501" not in found.to_bytes()
    roster = Roster(PEOPLE)
    assert moodle.link(moodle.read_sheet(file), roster) == 5
    assert roster.members["s02"].participant == "502"


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(max_examples=150, deadline=None)
@given(
    names=st.lists(NAMES, min_size=1, max_size=6),
    language=st.sampled_from(sorted(LANGUAGES)),
    points=st.lists(st.floats(0, 60), min_size=6, max_size=6),
)
def test_any_names_and_points_come_through(
    tmp_path_factory: pytest.TempPathFactory, names: list, language: str, points: list
) -> None:
    """By the participants' numbers: each score reaches its student, and nothing else changes."""
    headings, word, mark, _ = LANGUAGES[language]
    before = sheet(language, [(500 + n, name, "", "") for n, name in enumerate(names)])
    people = [Member(f"s{n}", participant=str(500 + n)) for n in range(len(names))]
    class_ = [standing(f"s{n}", points[n]) for n in range(len(names))]
    after, _ = fill(tmp_path_factory.getbasetemp(), before, people, class_)
    found = moodle_worksheet(after, headings, word, mark, 60.0)
    assert set(found) == {500 + n for n in range(len(names))}
    for n in range(len(names)):
        assert abs(found[500 + n] - points[n]) <= 0.005 + 1e-9
    old, new = rows_of(before), rows_of(after)
    assert [row[:4] + row[5:] for row in old] == [row[:4] + row[5:] for row in new]


@settings(max_examples=150, deadline=None)
@given(emails=st.lists(NAMES, min_size=1, max_size=5))
def test_no_address_stops_the_import(emails: list) -> None:
    """Whatever stands in the roster: the file is taken whole, or the address was left out."""
    people = [
        Member(f"s{n}", email=f"{email}@example.org") for n, email in enumerate(emails)
    ]
    class_ = [standing(f"s{n}", 1.0 + n) for n in range(len(emails))]
    data, report = make(class_, people)
    found = moodle_gradebook(data, {member.email for member in people})
    sent = {line.student for line in report.lines if line.verdict is Verdict.SENT}
    assert found == {m.email: 1.0 + n for n, m in enumerate(people) if m.id in sent}
    assert len(sent) + len(report.refused) == len(people)
