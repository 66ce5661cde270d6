"""Times of hand-ins, as tables, Moodle's worksheets and Canvas's API have them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grading.lms.files.roster import Member, Roster
from grading.lms.files.times import moodle_time, read_times
from grading.lms.outcome import Problem

BERLIN = ZoneInfo("Europe/Berlin")
PEOPLE = [
    Member("s01", "Emmy", "Noether", "s01@example.org", "11", "900"),
    Member("s02", "Anna", "Müller", "twin@example.org", "12"),
    Member("s03", "Marie", "Curie", "twin@example.org", "13"),
]
ENGLISH = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    "Participant 501,Emmy Noether,s01@example.org,Submitted,,6.00,Yes,"
    '"Tuesday, 3 March 2026, 11:59 PM",-,\n'
    "Participant 502,Anna Müller,x@example.org,No submission,,6.00,Yes,-,-,\n"
    "Participant 509,Some Body,y@example.org,Submitted,,6.00,Yes,"
    '"Wednesday, 4 March 2026, 12:05 AM","Thursday, 5 March 2026, 1:00 PM",\n'
)
GERMAN = (
    "ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Bestwertung;"
    "Bewertung kann geändert werden;Zuletzt geändert (Abgabe);Zuletzt geändert (Bewertung)\n"
    "Teilnehmer/in501;Emmy Noether;s01@example.org;Abgegeben;;6,00;Ja;"
    "Dienstag, 3. März 2026, 23:59;-\n"
)


def read(
    folder: Path, text: str, people: list[Member] = PEOPLE, zone: ZoneInfo | None = None
) -> tuple[dict[str, datetime], list[str]]:
    """Read times from a file."""
    path = folder / "times"
    path.write_text(text, encoding="utf-8")
    return read_times(path, Roster(people), zone)


def test_a_row_about_nobody_is_told(tmp_path: Path) -> None:
    """An unknown id, and an address that two have, give nobody a time; without roster all count."""
    text = (
        "id,email,submitted_at\ns01,,2026-03-01T10:00+01:00\ns09,,2026-03-01\n"
        ",twin@example.org,2026-03-02\n"
    )
    times, lost = read(tmp_path, text)
    assert times == {"s01": datetime(2026, 3, 1, 9, tzinfo=UTC)}
    assert lost == [
        "row 3, s09: nobody here",
        "row 4, twin@example.org: s02, s03 could be meant",
    ]
    assert set(read(tmp_path, text, people=[])[0]) == {"s01", "s09"}


def test_a_zone_for_times_that_name_none(tmp_path: Path) -> None:
    """Midnight in Berlin is the day before in UTC; a named offset counts more."""
    text = "sis_user_id;time\n900;2026-03-04 00:00\n"
    assert read(tmp_path, text, zone=BERLIN)[0]["s01"] == datetime(
        2026, 3, 3, 23, tzinfo=UTC
    )
    assert read(tmp_path, text)[0]["s01"] == datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize("text", [ENGLISH, GERMAN], ids=["English", "German"])
def test_moodles_worksheet_knows_when(tmp_path: Path, text: str) -> None:
    """The submission's time, not the grade's; in the zone of whoever exported it."""
    times, lost = read(tmp_path, text, zone=BERLIN)
    assert times == {"s01": datetime(2026, 3, 3, 22, 59, tzinfo=UTC)}
    assert lost == (["row 4, Participant 509: nobody here"] if text is ENGLISH else [])
    with pytest.raises(Problem, match="--zone"):
        read(tmp_path, text)


def test_canvas_answers_with_times(tmp_path: Path) -> None:
    """As its API sends it to a browser; who handed in nothing is no line."""
    answer = [
        {"user_id": 11, "submitted_at": "2026-03-03T22:59:00Z", "late": True},
        {"user_id": 12, "submitted_at": None},
        {"user_id": 99, "submitted_at": "2026-03-03T22:59:00Z"},
    ]
    times, lost = read(tmp_path, f"while(1);{json.dumps(answer)}")
    assert times == {"s01": datetime(2026, 3, 3, 22, 59, tzinfo=UTC)}
    assert lost == ["Canvas's 99: nobody here"]
    for wrong in ('{"errors": []}', "[1]", '[{"user_id": 11, "submitted_at": "soon"}]'):
        with pytest.raises(Problem, match="user_id and submitted_at"):
            read(tmp_path, wrong)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Sunday, 1 March 2026, 12:30 AM", 0),
        ("1 March 2026, 12:30 PM", 12),
        ("Sonntag, 1. März 2026, 18:30", 18),
    ],
)
def test_hours_of_both_clocks(text: str, hour: int) -> None:
    """Twelve is midnight before noon."""
    assert moodle_time(text, UTC) == datetime(2026, 3, 1, hour, 30, tzinfo=UTC)


def test_another_language_is_told(tmp_path: Path) -> None:
    """A month that nobody here knows, and a day that there is not, are no times."""
    for text in ("dimanche 1 février 2026, 18:30", "32. Mai 2026, 10:00", "gestern"):
        with pytest.raises(Problem, match=r"2026|expected a time"):
            moodle_time(text, UTC)
    with pytest.raises(Problem, match="two columns with times"):
        read(tmp_path, ENGLISH.replace(",-,\n", ",x,\n"), zone=BERLIN)
    with pytest.raises(Problem, match="submitted_at"):
        read(tmp_path, "a,b\n1,2\n")
