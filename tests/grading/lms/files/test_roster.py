"""Rosters and tables as people save them: any separator, encoding, order of names."""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.lms.files import csv_files
from grading.lms.files.roster import (
    FIELDS,
    Member,
    Roster,
    id_problem,
    read_roster,
    slug,
)
from grading.lms.outcome import Problem
from tests.grading.lms.files.oracles import rows_of, spreadsheet_computes

OWN = 'id,first_name,last_name,email,lms_user_id\ns01,Zoë,"Müller, Jr.",z@example.org,11\n'


def read(path: Path, data: bytes, **options: object) -> Roster:
    """Read a roster from these bytes."""
    file = path / "people.csv"
    file.write_bytes(data)
    return read_roster(file, **options)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Vorname;Nachname;E-Mail-Adresse;Rollen;Gruppen\n"
            "Zoë;Müller;z@example.org;Teilnehmer/in;\n",
            "z@example.org",
        ),
        (
            "Vorname,Nachname,ID-Nummer,Institution,E-Mail-Adresse,Kurs gesamt (Punkte)\n"
            'Zoë,Müller,7001,,z@example.org,"3,50"\n',
            "z@example.org",
        ),
        (
            "Anmeldename;Vollständiger Name;Matrikelnummer\nzmueller;Zoë Müller;7001\n",
            "zmueller",
        ),
    ],
    ids=["participants", "gradebook", "other"],
)
def test_a_german_moodles_tables(tmp_path: Path, text: str, names: str) -> None:
    """Names, addresses and numbers stand where an English table would have them."""
    (member,) = read(tmp_path, text.encode("utf-8-sig")).members.values()
    assert (member.id, member.first_name, member.last_name) == (names, "Zoë", "Müller")
    assert "7001" not in text or member.sis_user_id == "7001"


@pytest.mark.parametrize(
    "data",
    [
        OWN.encode(),
        OWN.encode("utf-8-sig"),
        OWN.encode("utf-16"),
        OWN.encode("cp1252"),
        OWN.replace("\n", "\r\n").encode(),
        OWN.replace("\n", "\r").encode(),
        OWN.replace("Müller, Jr.", "Müller; Jr.")
        .replace(",", ";")
        .replace("; Jr", ", Jr")
        .encode(),
        OWN.replace(",", "\t").replace("\t Jr", ", Jr").encode("utf-16"),
        OWN.rstrip().encode(),
        (OWN + "\n,,,,\n\n").encode(),
    ],
    ids=[
        "utf-8",
        "bom",
        "utf-16",
        "windows",
        "crlf",
        "cr",
        "semicolon",
        "tab",
        "no-end",
        "blank",
    ],
)
def test_the_roster_however_it_was_saved(tmp_path: Path, data: bytes) -> None:
    """The same student comes out."""
    found = read(tmp_path, data)
    assert list(found.members.values()) == [
        Member("s01", "Zoë", "Müller, Jr.", "z@example.org", "11")
    ]


def test_latin_1_bytes_that_windows_does_not_know(tmp_path: Path) -> None:
    """Bytes 0x81 and 0xFC: read as Latin-1, without an error."""
    found = read(tmp_path, b"id,last_name\ns01,M\xfcller\x81\n")
    assert found.members["s01"].last_name == "Müller"


def test_a_gradebook_of_canvas(tmp_path: Path) -> None:
    """The first rows are no students, nor is Canvas's Test Student; a login makes the id."""
    text = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Work (5)\n,,,,,Manual Posting\n"
        '"    Points Possible",,,,,60.00\n"Noether, Emmy",11,N1,emmy,A,\n'
        '"=""=1+1""",12,N2,eve,A,\n"Student, Test",13,N3,t3st,A,\n'
        f'"Student, Test",14,,{"0a" * 20},A,\n'
    )
    found = read(tmp_path, text.encode()).members
    assert found["emmy"] == Member("emmy", "Emmy", "Noether", "", "11", "N1", "emmy")
    assert found["eve"].full_name == "=1+1"
    assert set(found) == {"emmy", "eve", "t3st"}
    assert set(read(tmp_path, text.encode(), id_from="lms_user_id").members) == {
        "11",
        "12",
        "13",
    }


def test_headings_of_ones_own(tmp_path: Path) -> None:
    """Named on the command line."""
    found = read(
        tmp_path,
        b"Matrikel;Name\n77;Emmy Noether\n",
        columns={"id": "Matrikel", "name": "Name"},
    )
    assert found.members["77"] == Member("77", "Emmy", "Noether")
    with pytest.raises(Problem, match="no column 'Nummer'"):
        read(tmp_path, b"a;b\n1;2\n", columns={"id": "Nummer"})
    with pytest.raises(Problem, match="--columns: colour"):
        read(tmp_path, b"a;b\n1;2\n", columns={"colour": "a"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\na\nA\n", "row 3: the id 'A' stands in row 2, too"),
        ("id\n../x\n", "/ can't stand in it"),
        ("id\nCON\n", "device"),
        ("id,email\n,x@example.org\n", "row 2: no id"),
        ("", "empty"),
        ("id\n", "nobody"),
        ("a,b\n1,2\n", "no column with the students' ids"),
        ('id\n"abc\n', "never closed"),
        ("\0\0\0", "no text"),
    ],
)
def test_a_roster_that_cannot_be_used_says_why(
    tmp_path: Path, text: str, message: str
) -> None:
    """One line that names the row."""
    with pytest.raises(Problem, match=message):
        read(tmp_path, text.encode())


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn"]),
    max_size=20,
)
NAMES = TEXT.map(lambda text: unicodedata.normalize("NFC", " ".join(text.split())))
IDS = (
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=10)
    .map(lambda text: unicodedata.normalize("NFC", text))
    .filter(lambda text: not id_problem(text))
)
MEMBERS = st.builds(Member, IDS, NAMES, NAMES, NAMES, NAMES, NAMES, NAMES)


@settings(max_examples=200, deadline=None)
@given(
    people=st.lists(
        MEMBERS, min_size=1, max_size=5, unique_by=lambda m: m.id.casefold()
    )
)
def test_a_roster_comes_back(
    tmp_path_factory: pytest.TempPathFactory, people: list
) -> None:
    """What is written is read again, by us and by any other program."""
    roster = Roster(people)
    path = tmp_path_factory.getbasetemp() / "roster.csv"
    roster.write(path)
    again = read_roster(path)
    assert again.members == roster.members
    rows = rows_of(path.read_bytes())
    assert rows[0] == list(FIELDS[:-1])
    assert not any(spreadsheet_computes(cell) for row in rows for cell in row)
    for member in people:
        assert member in again.by("id", member.id)
        if slug(member.full_name):
            assert member in again.by_name(member.full_name)
            assert member in again.by_name(member.sortable_name)


@pytest.mark.parametrize(
    "name", ["=1+1", "'=1+1", "''=1+1", "'t Hoff", "'", "-2+3", "-๐"]
)
def test_names_like_formulas_come_back(tmp_path: Path, name: str) -> None:
    """roster.csv is opened in a spreadsheet, too."""
    roster = Roster([Member("s01", name, name)])
    roster.write(tmp_path / "roster.csv")
    cells = rows_of((tmp_path / "roster.csv").read_bytes())[1]
    assert not any(map(spreadsheet_computes, cells))
    assert read_roster(tmp_path / "roster.csv").members == roster.members


def test_the_index_follows_changes() -> None:
    """A student who is replaced is no longer found by what was."""
    roster = Roster([Member("a", "Emmy", "Noether", "old@example.org")])
    roster.put(Member("a", "Emmy", "Noether", "new@example.org"))
    assert not roster.by("email", "old@example.org")
    assert roster.by("email", "new@example.org")
    assert not roster.by("email", "NEW@example.org")
    assert roster.by_folded("email", "NEW@example.org")
    assert not roster.by("email", "")
    assert not roster.by_name("…")


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=1, max_size=5),
    mark=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_a_table_is_given_back_byte_for_byte(
    rows: list, mark: str, end: str, quoting: int
) -> None:
    """And its values are those that were written."""
    odd = (
        "\0\r" if quoting == csv.QUOTE_MINIMAL else "\0"
    )  # Python leaves \r without quotes
    rows = [
        [cell.translate(dict.fromkeys(map(ord, odd))) for cell in row] for row in rows
    ]
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator=end, quoting=quoting).writerows(
        [["a", "b"], *rows]
    )
    data = out.getvalue().encode()
    table = csv_files.parse_table(data)
    assert table.to_bytes() == data
    assert table.separator == mark
    assert [[csv_files.value(raw) for raw in row] for row in table.raw] == [
        ["a", "b"],
        *rows,
    ]


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_given_back_or_refused(data: bytes) -> None:
    """Nothing else happens to them."""
    try:
        table = csv_files.parse_table(data)
    except Problem:
        return
    assert table.to_bytes() == data


@settings(max_examples=500, deadline=None)
@given(
    text=st.text(st.sampled_from("=+-@\t\r '\"(|!A1ü"), max_size=8)
    | st.text(max_size=10)
)
def test_no_cell_is_computed(text: str) -> None:
    """What a spreadsheet would compute gets an apostrophe; what it shows anyway stays."""
    safe = csv_files.safe(text)
    assert not spreadsheet_computes(safe)
    if not spreadsheet_computes(text) and text.isprintable():
        assert safe in (text, f"'{text}")


@pytest.mark.parametrize(
    "name",
    [
        "Anna-Lena",
        "O'Brien",
        "-",
        "-, Anna",
        "D'Arcy-Smith, Jr.",
        "van 't Hoff",
        "Müller",
        "李 明",
        "--",
        "- Anna",
        "+Anna",
        "Al-Khwarizmi",
        "Björk Guðmundsdóttir",
        "X Æ A-12",
    ],
)
def test_legitimate_names_are_not_changed(name: str) -> None:
    """Hyphens, apostrophes, a lone dash."""
    assert csv_files.safe(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        " =1+1",
        "=cmd|' /C calc'!A0",
        "@SUM(1)",
        "+1+1",
        "-2+3+cmd|' /C calc'!A0",
        "\t=1",
        '=HYPERLINK("http://example.org")',
        "\N{FULLWIDTH EQUALS SIGN}1",
    ],
)
def test_formulas_are_neutralised(name: str) -> None:
    """Each gets an apostrophe in front."""
    assert csv_files.safe(name).startswith("'")
