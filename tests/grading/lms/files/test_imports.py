"""Canvas's, Moodle's and plain downloads into nbgrader's layout, with a roster."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.lms.files import filenames, imports, times
from grading.lms.files.archive import Entry
from grading.lms.files.imports import Options
from grading.lms.files.roster import Member, Roster, id_problem
from grading.lms.outcome import Report, Verdict
from tests.grading.lms.files.samples import (
    NAME,
    NOTEBOOK,
    make_zip,
    notebook,
    target,
    tree,
)

PEOPLE = [
    Member("s01", "Emmy", "Noether", "s01@example.org", "11"),
    Member("s02", "Søren", "Ångström_Öberg", "s02@example.org", "12"),
    Member("s03", "Anna", "Müller", "s03@example.org", "13"),
    Member("s04", "Anna", "Müller", "s04@example.org", "14"),
    Member("s05", "Conan", "O'Brien-Smith, Jr.", "s05@example.org", ""),
]


def take(
    path: Path, root: Path, people: list[Member] = PEOPLE, **options: object
) -> Report:
    """Import with the roster."""
    return imports.take(path, target(root), Roster(people), Options(**options))


def taken(root: Path) -> dict[str, bytes]:
    """Return each student's notebook."""
    found = tree(root / "submitted")
    return {
        path.split("/")[0]: data
        for path, data in found.items()
        if path.endswith(f"/{NAME}/{NOTEBOOK}") and not path.startswith(".")
    }


def line(report: Report, file: str) -> tuple[str, str, str]:
    """Return the verdict, student and reason of the one line about a file."""
    found = [one for one in report.lines if one.file == file]
    assert len(found) == 1, report.text()
    return str(found[0].verdict), found[0].student, found[0].reason


def test_a_download_of_canvas(tmp_path: Path) -> None:
    """LATE marks, numbers of resubmissions, umlauts, underscores, a text entry, other files."""
    path = make_zip(
        tmp_path / "s.zip",
        {
            "noetheremmy_11_101_sample.ipynb": notebook("emmy 1"),
            "noetheremmy_11_205_sample-1.ipynb": notebook("emmy 2"),
            "noetheremmy_11_206_plot.png": b"png",
            "ångström_öbergsøren_LATE_12_102_sample.ipynb": notebook("søren"),
            "obriensmithjrconan_15_103_my_work_2.ipynb": notebook("conan"),
            "mülleranna_13_104_sample-3.ipynb": notebook("anna 13"),
            "mülleranna_LATE_14_105_sample.ipynb": notebook("anna 14"),
            "eve_99_106_sample.ipynb": notebook("eve"),
            "eve_99_text.html": b"<p>",
            "anon_ab12_107_sample.ipynb": notebook("whose"),
            "__MACOSX/._x": b"",
            "README.txt": b"hello",
        },
    )
    report = take(path, tmp_path)
    assert taken(tmp_path) == {
        "s01": notebook("emmy 2"),
        "s02": notebook("søren"),
        "s03": notebook("anna 13"),
        "s04": notebook("anna 14"),
        "s05": notebook("conan"),
    }
    assert "read as: canvas" in report.notes
    assert "marked late by Canvas: s02, s04" in report.notes
    assert line(report, "noetheremmy_11_101_sample.ipynb") == (
        "skipped",
        "s01",
        "handed in again later",
    )
    assert line(report, "noetheremmy_11_206_plot.png")[0] == "skipped"
    assert line(report, "obriensmithjrconan_15_103_my_work_2.ipynb") == (
        "taken",
        "s05",
        "handed in as my_work_2.ipynb",
    )
    assert line(report, "eve_99_106_sample.ipynb")[0] == "refused"
    assert "not in the roster" in line(report, "eve_99_106_sample.ipynb")[2]
    assert line(report, "eve_99_text.html")[0] == "skipped"
    assert "hid whose it is" in line(report, "anon_ab12_107_sample.ipynb")[2]
    assert line(report, "README.txt")[0] == "refused"
    record = imports.read_record(target(tmp_path).record)
    assert (record["s02"].owner, record["s02"].number, record["s02"].late) == (
        "12",
        102,
        True,
    )
    assert record["s05"].prefix == "obriensmithjrconan"
    again = take(path, tmp_path)
    assert again.count(Verdict.TAKEN, Verdict.REPLACED) == 0
    assert again.count(Verdict.SAME) == 5


@pytest.mark.parametrize("file", ["work.zip", "answers.py", "report.pdf", "no-ending"])
def test_without_a_notebook_what_was_handed_in_is_refused(
    tmp_path: Path, file: str
) -> None:
    """A line that says what to ask for; beside a notebook the same file is left out."""
    path = make_zip(
        tmp_path / "s.zip",
        {
            f"ada_11_101_{file}": b"x",
            f"eve_12_102_{file}": b"x",
            f"eve_12_103_{NOTEBOOK}": notebook("eve"),
        },
    )
    report = imports.take(path, target(tmp_path), Roster(), Options(kind="canvas"))
    lines = {line.student: line for line in report.lines if line.file.endswith(file)}
    assert lines["11"].verdict is Verdict.REFUSED
    assert NOTEBOOK in lines["11"].reason
    assert lines["12"].verdict is Verdict.SKIPPED


def test_canvas_test_student_is_nobody(tmp_path: Path) -> None:
    """Left out with a line; a student who has that number in the roster is taken."""
    path = make_zip(
        tmp_path / "s.zip", {f"teststudent_99_101_{NOTEBOOK}": notebook("try")}
    )
    report = imports.take(path, target(tmp_path), Roster(), Options(kind="canvas"))
    assert [line.verdict for line in report.lines] == [Verdict.SKIPPED]
    assert "Test Student" in report.lines[0].reason
    assert not (tmp_path / "submitted" / "99").exists()
    known = Roster([Member("s99", "Test", "Student", lms_user_id="99")])
    report = imports.take(path, target(tmp_path), known, Options(kind="canvas"))
    assert [line.verdict for line in report.lines] == [Verdict.TAKEN]


def test_a_name_cannot_take_another_students_place(tmp_path: Path) -> None:
    """Numbers in a shown name or a file's name are not believed without the roster."""
    files = {
        "x_11_99_101_sample.ipynb": notebook("a name with emmy's number"),
        "noetheremmy_11_102_12_103_sample.ipynb": notebook(
            "a file's name with søren's"
        ),
        "noetheremmy_12_104_sample.ipynb": notebook("emmy's name, søren's number"),
    }
    report = take(make_zip(tmp_path / "s.zip", files), tmp_path, kind="canvas")
    assert "unclear whose it is" in line(report, "x_11_99_101_sample.ipynb")[2]
    assert line(report, "noetheremmy_11_102_12_103_sample.ipynb")[:2] == (
        "taken",
        "s01",
    )
    assert (
        "number is s02's and its name is s01's"
        in line(report, "noetheremmy_12_104_sample.ipynb")[2]
    )
    assert set(taken(tmp_path)) == {"s01"}
    moodle = make_zip(
        tmp_path / "m.zip",
        {
            "Eve Doe_55_assignsubmission_file_/x_17_assignsubmission_file_sample.ipynb": notebook(
                "a"
            ),
            "Eve Doe_55_assignsubmission_file_y_18_assignsubmission_file_sample.ipynb": notebook(
                "a"
            ),
        },
    )
    people = [
        Member("eve", "Eve", "Doe", participant="55"),
        Member("s17", participant="17"),
        Member("s18", participant="18"),
    ]
    take(moodle, tmp_path / "m", people)
    assert set(taken(tmp_path / "m")) == {"eve"}


def test_a_download_of_moodle(tmp_path: Path) -> None:
    """Folders with and without the last underscore, flat names, online text, one name twice."""
    path = make_zip(
        tmp_path / "s.zip",
        {
            f"Emmy Noether_501_assignsubmission_file_/{NOTEBOOK}": notebook("emmy"),
            "Emmy Noether_501_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
            "Søren Ångström Öberg_502_assignsubmission_file/sub/sample (1).ipynb": notebook(
                "søren"
            ),
            f"Conan O'Brien-Smith, Jr._503_assignsubmission_file_{NOTEBOOK}": notebook(
                "conan"
            ),
            f"Anna Müller_504_assignsubmission_file_/{NOTEBOOK}": notebook(
                "which anna"
            ),
        },
    )
    report = take(path, tmp_path)
    assert taken(tmp_path) == {
        "s01": notebook("emmy"),
        "s02": notebook("søren"),
        "s05": notebook("conan"),
    }
    assert (
        "s03, s04 have this name"
        in line(report, f"Anna Müller_504_assignsubmission_file_/{NOTEBOOK}")[2]
    )
    with_numbers = [*PEOPLE[:3], Member("s04", "Anna", "Müller", participant="504")]
    take(path, tmp_path, with_numbers)
    assert taken(tmp_path)["s04"] == notebook("which anna")
    assert imports.read_record(target(tmp_path).record)["s04"].owner == "504"


def test_two_of_one_name_in_moodle_without_a_roster(tmp_path: Path) -> None:
    """Without a roster the name makes the id: two of a name are nobody before there is one."""
    path = make_zip(
        tmp_path / "s.zip",
        {
            f"Emmy Noether_501_assignsubmission_file_/{NOTEBOOK}": notebook("one"),
            f"Emmy Noether_502_assignsubmission_file_/{NOTEBOOK}": notebook("other"),
        },
    )
    report = take(path, tmp_path, [])
    assert taken(tmp_path) == {}
    assert len(report.refused) == 2


@pytest.mark.parametrize(
    "layout",
    [
        "{id}/90-sample/sample.ipynb",
        "{id}/sample.ipynb",
        "{id}.ipynb",
        "{id}_sample.ipynb",
        "all/{id}.ipynb",
        "all/{id}/90-sample/sample.ipynb",
        "all/{id}/sample.ipynb",
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_a_plain_folder_or_zip(tmp_path: Path, layout: str, packed: bool) -> None:
    """Each plain layout, by id, email or name."""
    files = {
        layout.format(id=name): notebook(name)
        for name in ("s01", "s02@example.org", "Conan O'Brien-Smith, Jr")
    }
    if packed:
        source = make_zip(tmp_path / "s.zip", files)
    else:
        source = tmp_path / "in"
        for name, data in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(data)
    report = take(source, tmp_path)
    assert taken(tmp_path) == {
        "s01": notebook("s01"),
        "s02": notebook("s02@example.org"),
        "s05": notebook("Conan O'Brien-Smith, Jr"),
    }, report.text()


def test_times_come_from_beside_a_notebook_a_table_or_the_zip(tmp_path: Path) -> None:
    """And from nowhere else: without one there is no timestamp.txt."""
    path = make_zip(
        tmp_path / "s.zip",
        {
            "s01/sample.ipynb": notebook(),
            "s01/timestamp.txt": b"2026-03-01 12:00:00 UTC",
            "s02/sample.ipynb": notebook(),
            "s02/timestamp.txt": b"\xffnever",
            "s03/sample.ipynb": notebook(),
        },
    )
    report = take(
        path, tmp_path, times={"s03": datetime(2026, 3, 2, 1, 2, 3, tzinfo=UTC)}
    )
    found = {
        name: data
        for name, data in tree(tmp_path / "submitted").items()
        if name.endswith("timestamp.txt")
    }
    assert found == {
        f"s01/{NAME}/timestamp.txt": b"2026-03-01 12:00:00.000000 UTC\n",
        f"s03/{NAME}/timestamp.txt": b"2026-03-02 01:02:03.000000 UTC\n",
    }
    assert "no time" in line(report, "s02/timestamp.txt")[2]
    (tmp_path / "t.csv").write_text(
        "email;submitted_at\ns01@example.org;2026-03-01T12:00:00+01:00\n"
    )
    assert times.read_times(tmp_path / "t.csv", Roster(PEOPLE))[0] == {
        "s01": datetime(2026, 3, 1, 11, tzinfo=UTC)
    }
    take(path, tmp_path / "z", zone=ZoneInfo("Europe/Berlin"))
    stamp = (tmp_path / "z" / "submitted" / "s03" / NAME / "timestamp.txt").read_text()
    assert stamp.endswith(" UTC\n")


def one(
    root: Path, text: str, time: datetime | None = None, **options: object
) -> Report:
    """Import one student's notebook."""
    path = make_zip(root / "s.zip", {"s01/sample.ipynb": notebook(text)})
    return take(path, root, times={"s01": time} if time else {}, **options)


def test_an_older_submission_never_replaces_a_newer_one(tmp_path: Path) -> None:
    """Newer ones replace older ones, which are kept aside; what is unknown needs a person."""
    early, late = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
    one(tmp_path, "first", early)
    assert one(tmp_path, "second", late).count(Verdict.REPLACED) == 1
    kept = tmp_path / "submitted" / ".replaced" / "s01" / NAME / "1"
    assert (kept / NOTEBOOK).read_bytes() == notebook("first")
    assert (kept / "timestamp.txt").read_text().startswith("2026-03-01 00:00:00")
    for options in ({}, {"replace": True}):
        report = one(tmp_path, "first", early, **options)
        assert line(report, "s01/sample.ipynb")[::2] == (
            "skipped",
            "older than the one that is here",
        )
    report = one(tmp_path, "third")
    assert "--replace" in report.refused[0].reason
    assert taken(tmp_path)["s01"] == notebook("second")
    assert one(tmp_path, "third", replace=True).count(Verdict.REPLACED) == 1
    assert taken(tmp_path)["s01"] == notebook("third")
    stamp = tmp_path / "submitted" / "s01" / NAME / "timestamp.txt"
    assert not stamp.exists(), "the time of the second one says nothing about the third"
    assert one(tmp_path, "third", late).count(Verdict.SAME) == 1
    assert stamp.exists()


def test_canvas_numbers_tell_which_is_newer(tmp_path: Path) -> None:
    """A later download replaces, an earlier one doesn't."""

    def canvas(number: int, text: str) -> Report:
        path = make_zip(
            tmp_path / "s.zip",
            {f"noetheremmy_11_{number}_sample.ipynb": notebook(text)},
        )
        return take(path, tmp_path)

    assert canvas(105, "b").count(Verdict.TAKEN) == 1
    assert canvas(101, "a").count(Verdict.SKIPPED) == 1
    assert taken(tmp_path)["s01"] == notebook("b")
    assert canvas(109, "c").count(Verdict.REPLACED) == 1
    assert taken(tmp_path)["s01"] == notebook("c")


def test_two_notebooks_of_one_student(tmp_path: Path) -> None:
    """The named one counts; two unnamed ones are refused; equal ones are one."""
    folder = "Emmy Noether_501_assignsubmission_file_"
    path = make_zip(
        tmp_path / "a.zip",
        {
            f"{folder}/{NOTEBOOK}": notebook("right"),
            f"{folder}/scratch.ipynb": notebook("x"),
        },
    )
    assert line(take(path, tmp_path), f"{folder}/scratch.ipynb")[2] == f"not {NOTEBOOK}"
    path = make_zip(
        tmp_path / "b.zip",
        {f"{folder}/one.ipynb": notebook("1"), f"{folder}/two.ipynb": notebook("2")},
    )
    report = take(path, tmp_path / "b")
    assert len(report.refused) == 2
    assert "2 different notebooks" in report.refused[0].reason
    assert not taken(tmp_path / "b")
    path = make_zip(
        tmp_path / "c.zip",
        {
            f"{folder}/{NOTEBOOK}": notebook("1"),
            f"{folder}/sub/{NOTEBOOK}": notebook("1"),
        },
    )
    take(path, tmp_path / "c")
    assert taken(tmp_path / "c") == {"s01": notebook("1")}


def test_ids_that_collide_or_are_special(tmp_path: Path) -> None:
    """Upper and lower case, devices of Windows, dots at an end."""
    files = {
        f"{name}/sample.ipynb": notebook(name)
        for name in ("Ada", "ada", "CON", "nul.txt", "x.", " y", "a+b", "COM1", "-ok")
    }
    report = take(make_zip(tmp_path / "s.zip", files), tmp_path, [])
    assert set(taken(tmp_path)) == {"Ada", "-ok"}
    assert "can't be told apart" in line(report, "ada/sample.ipynb")[2]
    assert "device" in line(report, "nul.txt/sample.ipynb")[2]
    (tmp_path / "submitted" / "S01").mkdir()
    report = take(
        make_zip(tmp_path / "t.zip", {"s01/sample.ipynb": notebook()}), tmp_path
    )
    assert "differs in case only" in report.refused[0].reason


def test_a_dry_run_writes_nothing_and_says_the_same(tmp_path: Path) -> None:
    """The lines are those of the real run."""
    path = make_zip(tmp_path / "s.zip", {"noetheremmy_11_101_sample.ipynb": notebook()})
    dry = take(path, tmp_path, dry_run=True)
    assert not (tmp_path / "submitted").exists()
    assert "nothing was written" in dry.summary
    assert dry.lines == take(path, tmp_path).lines
    found = json.loads(dry.to_json())
    assert found["counts"]["taken"] == 1
    assert found["lines"][0] == {
        "verdict": "taken",
        "student": "s01",
        "reason": "",
        "file": "noetheremmy_11_101_sample.ipynb",
    }


def test_an_interrupted_import_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after any number of writes: the next run completes it, and nothing is in part."""
    files = {f"s0{n}_1{n}_10{n}_sample.ipynb": notebook(f"{n}") for n in range(1, 5)}
    path = make_zip(tmp_path / "s.zip", files)
    wanted = None
    for allowed in range(12):
        root = tmp_path / str(allowed)
        left = [allowed]
        real = imports.write_whole

        def stop(
            place: Path, data: bytes, left: list[int] = left, real: object = real
        ) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            real(place, data)

        monkeypatch.setattr(imports, "write_whole", stop)
        times = {f"s0{n}": datetime(2026, 1, n, tzinfo=UTC) for n in range(1, 5)}
        try:
            take(path, root, times=times)
        except KeyboardInterrupt:
            assert all(data in files.values() for data in taken(root).values())
        monkeypatch.setattr(imports, "write_whole", real)
        take(path, root, times=times)
        wanted = wanted or tree(root / "submitted")
        assert tree(root / "submitted") == wanted
        assert len(wanted) == 9


WORD = st.text(
    st.characters(categories=["Lu", "Ll", "Lo", "Nd", "Pc"]), min_size=1, max_size=12
)


@settings(max_examples=300, deadline=None)
@given(
    name=WORD,
    user=st.integers(1, 10**9),
    number=st.integers(1, 10**9),
    late=st.booleans(),
    file=st.from_regex(
        r"[a-z][a-z ()-]{0,8}(_[a-z0-9]{1,3}){0,2}\.ipynb", fullmatch=True
    ),
)
def test_each_name_that_canvas_writes_can_be_read(
    name: str, user: int, number: int, late: bool, file: str
) -> None:
    """One of the readings is the right one, and it is the only one if no number is near."""
    parts = [name.lower(), *(["LATE"] if late else []), str(user), str(number), file]
    claims = filenames.canvas(Entry("_".join(parts)))
    right = [
        c for c in claims if (c.owner, c.number, c.file) == (str(user), number, file)
    ]
    assert len(right) == 1
    assert right[0].late == late
    if not any(part.isdigit() for part in (*name.split("_"), *file.split("_"))):
        assert claims == right
        assert right[0].name == name.lower()


@settings(max_examples=300, deadline=None)
@given(
    name=st.text(
        st.characters(categories=["L", "M", "N", "P", "Zs"], exclude_characters="_/\\"),
        min_size=1,
        max_size=30,
    ),
    number=st.integers(1, 10**9),
    folder=st.booleans(),
    tail=st.booleans(),
)
def test_each_name_that_moodle_writes_can_be_read(
    name: str, number: int, folder: bool, tail: bool
) -> None:
    """Whatever the name, the number is Moodle's."""
    top = f"{name}_{number}_assignsubmission_file"
    path = f"{top}{'_' if tail else ''}/a.ipynb" if folder else f"{top}_a.ipynb"
    claim, plugin = filenames.moodle(Entry(path))
    assert (claim.owner, claim.file, plugin) == (str(number), "a.ipynb", "file")
    assert claim.name == name.strip()


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=20))
def test_an_id_that_is_accepted_is_one_safe_name(name: str) -> None:
    """No separators, no way up, nothing hidden, nothing that Windows or nbgrader changes."""
    if not id_problem(name):
        assert Path(name).name == name
        assert name not in (".", "..")
        assert not set(name) & set('/\\:*?"<>|+,\0\n')
        assert name == name.strip(". ")
        assert name.isprintable()
