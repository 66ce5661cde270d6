"""The course's secret: hidden inputs are drawn from it, and nobody else sees it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course import draws, submission
from grading.gradebook.standing import standings
from tests.grading import helpers
from tests.harness import sample

FAKE = ["--engine", "tests.grading.fakes:make", "--jobs", "1"]
SANDBOX = ["--engine", "grading.run.sandbox_runner:make", "--jobs", "1"]
ONE, TWO = b"1" * 32, b"2" * 32

HELPERS = "course_seed = 0"
HIDDEN = """assert double(3) == 6, f"double(3) is 6, got {double(3)}"
### BEGIN HIDDEN TESTS
for _x in (7 + course_seed, 8 + course_seed):
    assert double(_x) == 2 * _x, f"double({_x}): got {double(_x)}"
### END HIDDEN TESTS"""
#: What everybody can look up in the repository.
TABLE = {
    **helpers.RIGHT,
    "double": "def double(x):\n    return {3: 6, 7: 14, 8: 16, 0: 0, 1: 2, "
    "2: 4}.get(x, 0)\n",
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A course whose first test draws its hidden inputs, and two students."""
    root = helpers.make_course(tmp_path / "course")
    for place in ("solutions", "exercises"):
        path = root / place / sample.NAME / "sample.ipynb"
        notebook = json.loads(path.read_text())
        helpers.find(notebook, "double--small")["source"] = (
            HIDDEN if place == "solutions" else HIDDEN.partition("\n")[0] + "\n"
        )
        given = sample.code(
            HELPERS, "helpers", grade=False, solution=False, locked=True
        )
        notebook["cells"].insert(2, {**given, "id": "helpers"})
        sample.write(path, notebook)
        release = notebook
    helpers.hand_in(root, "honest", helpers.fill(helpers.RIGHT, release))
    helpers.hand_in(root, "table", helpers.fill(TABLE, release))
    return root


def run(root: Path, *arguments: str) -> int:
    """Grade the class."""
    return main(["run", "90", "--root", str(root), *FAKE, *arguments])


def points(root: Path) -> dict[str, float]:
    """Return what each student has."""
    url = f"sqlite:///{root / 'gradebook.db'}"
    return {one.student: one.points for one in standings(url, sample.NAME)}


def put(root: Path, secret: bytes) -> Path:
    """Give a course a secret."""
    path = root / draws.FILE
    path.touch(mode=0o600)
    path.write_text(secret.hex(), encoding="ascii")
    return path


def test_a_table_of_answers_gets_nothing_for_it(made: Path, capfd) -> None:
    """Without a secret it has full points, and the run says so; with one it loses them."""
    assert run(made) == 0
    assert points(made) == {"honest": 6, "table": 6}
    assert capfd.readouterr().err.count("python -m grading secret") == 1
    assert main(["secret", "--root", str(made)]) == 0
    assert "grade those assignments anew, with --force" in capfd.readouterr().out
    assert run(made, "--force") == 0
    assert points(made) == {"honest": 6, "table": 4}
    out, err = capfd.readouterr()
    assert "python -m grading secret" not in err
    text = (made / draws.FILE).read_text().strip()
    assert len(text) == 64
    assert text not in out + err
    assert (made / draws.FILE).stat().st_mode & 0o777 == 0o600
    forms = (text.encode(), text.upper().encode(), bytes.fromhex(text))
    for path in made.rglob("*"):
        if path.is_file() and path.name != draws.FILE:
            assert not any(form in path.read_bytes() for form in forms), path


def test_one_secret_one_grade(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same secret asks the same; another one asks something else, and grades right answers."""
    asked = {}
    for name, secret in (("one", ONE), ("again", ONE), ("two", TWO)):
        put(made, secret)
        assert run(made, "--force") == 0
        assert points(made) == {"honest": 6, "table": 4}, name
        path = made / "autograded" / "table" / sample.NAME / "sample.ipynb"
        page = json.loads(path.read_text())
        outputs = helpers.find(page, "double--small")["outputs"]
        assert helpers.find(page, "double--small")["source"] == HIDDEN, (
            "as in solutions/"
        )
        asked[name] = outputs[0]["evalue"]
    assert asked["one"] == asked["again"]
    assert asked["one"] != asked["two"]


def test_a_class_is_graded_by_one_secret(made: Path, capsys) -> None:
    """A secret that changes, comes or goes is told, and nobody keeps a grade by another one."""
    assert run(made) == 0
    put(made, ONE)
    for arguments in ([], ["--student", "table", "--force"]):
        assert run(made, *arguments) == 2
        assert (
            "2 submissions were graded with other hidden inputs"
            in capsys.readouterr().err
        )
        assert points(made)["table"] == 6, "as it was"
    assert run(made, "--force") == 0
    assert run(made) == 0, "and nothing to do"
    put(made, TWO)
    assert run(made) == 2
    assert "the course's secret is another one" in capsys.readouterr().err
    (made / draws.FILE).unlink()
    assert run(made) == 2
    assert "the course's secret is not there" in capsys.readouterr().err


def test_a_run_that_was_stopped_is_told(made: Path) -> None:
    """Where some have a grade by another secret, their standing says so."""
    put(made, ONE)
    assert run(made) == 0
    put(made, TWO)
    other = made / "submitted" / "honest"
    other.rename(made / "honest")
    assert run(made, "--force") == 0
    url = f"sqlite:///{made / 'gradebook.db'}"
    told = {one.student: " ".join(one.reasons) for one in standings(url, sample.NAME)}
    assert "other hidden inputs" in told["honest"]
    assert told["table"] == ""


def test_a_submission_does_not_see_the_secret(
    made: Path, bubblewrap: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code finds neither the file nor its place, and no name of the tests."""
    path = put(made, ONE)
    monkeypatch.setenv(draws.VARIABLE, str(path))
    look = f"""
import os
def double(x):
    found = []
    for _where, _folders, _files in os.walk("/"):
        _folders[:] = [f for f in _folders if f not in ("proc", "sys", "lib", "lib64")]
        found += [n for n in _files if "secret" in n and n.startswith("course")]
    found += [k for k, v in os.environ.items() if "secret" in (k + v).lower()]
    found += [k for k in globals() if k == "course_seed" and globals()[k]]
    if os.path.exists({str(path)!r}) or found:
        return "leak"
    return 2 * x
"""
    release = json.loads(
        (made / "exercises" / sample.NAME / "sample.ipynb").read_text()
    )
    helpers.hand_in(
        made, "spy", helpers.fill({**helpers.RIGHT, "double": look}, release)
    )
    assert main(["run", "90", "--root", str(made), *SANDBOX]) == 0
    assert points(made) == {"honest": 6, "table": 4, "spy": 6}


def test_what_leaves_for_another_machine_has_no_secret(made: Path) -> None:
    """A job carries the drawn tests, not what they are drawn from."""
    import pickle

    from grading.course import layout
    from grading.run import preparation

    put(made, ONE)
    form = preparation.read_form(layout.find(made, "90"))
    sent = pickle.dumps(form)
    assert ONE not in sent
    assert ONE.hex().encode() not in sent
    drawn = next(cell.drawn for cell in form.cells if cell.grade_id == "double--small")
    assert drawn != HIDDEN
    put(made, TWO)
    other = preparation.read_form(layout.find(made, "90"))
    assert drawn != next(c.drawn for c in other.cells if c.grade_id == "double--small")
    assert other.fingerprint != form.fingerprint


def test_only_hidden_parts_are_drawn() -> None:
    """The part that students see asks what they see; also after a hidden part that failed."""
    drawn = draws.draw(
        "seen = course_seed\n    ### BEGIN HIDDEN TESTS\n    hidden = course_seed\n"
        "    ### END HIDDEN TESTS\n".replace("    ", ""),
        12345,
    )
    names = {"course_seed": 99}
    exec(drawn, names)
    assert (names["seen"], names["hidden"]) == (0, 12345)
    assert draws.draw("x = 1", None) == "x = 1"


def test_each_test_has_its_own_number() -> None:
    """Numbers differ by test, assignment and secret, and one doesn't tell another."""
    one = draws.seeds(ONE, "01", ["a", "b"])
    assert one == draws.seeds(ONE, "01", ["b", "a"])
    found = [
        *one.values(),
        *draws.seeds(ONE, "02", ["a", "b"]).values(),
        *draws.seeds(TWO, "01", ["a", "b"]).values(),
    ]
    assert len(set(found)) == 6
    assert all(0 <= number < 2**31 for number in found)
    assert draws.seeds(b"", "01", ["a"]) == {}


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("1" * 64, 0o644, "mode is 644"),
        ("1" * 64, 0o620, "mode is 620"),
        ("1" * 63, 0o600, "not complete"),
        ("", 0o600, "not complete"),
        ("é", 0o600, "secret"),
    ],
)
def test_a_secret_that_is_none_is_refused(
    made: Path, capsys, text: str, mode: int, told: str
) -> None:
    """Nobody is graded by a file that others could read, or that is broken."""
    path = made / draws.FILE
    path.write_text(text)
    path.chmod(mode)
    assert run(made) == 2
    err = capsys.readouterr().err
    assert told in err
    assert str(path) in err
    assert "1" * 60 not in err
    assert not (made / "gradebook.db").exists()


def test_a_secret_is_made_once(
    made: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second one is refused; configuration and environment say where it is."""
    assert main(["secret", "--root", str(made)]) == 0
    assert "--force" not in capsys.readouterr().out
    before = (made / draws.FILE).read_text()
    assert main(["secret", "--root", str(made)]) == 2
    assert "already" in capsys.readouterr().err
    assert (made / draws.FILE).read_text() == before
    with (made / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.Grading.course_secret = {str(made / 'elsewhere')!r}\n")
    assert main(["secret", "--root", str(made)]) == 0
    assert len((made / "elsewhere").read_text().strip()) == 64
    monkeypatch.setenv(draws.VARIABLE, str(made / "third"))
    assert main(["secret", "--root", str(made)]) == 0
    assert (made / "third").exists()


def test_git_never_takes_the_secret() -> None:
    """The usual place is one that .gitignore lists."""
    import subprocess

    from grading.course.notebooks import ROOT

    done = subprocess.run(
        ["git", "check-ignore", draws.FILE],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == draws.FILE, os.fspath(ROOT)


def test_gradescope_gets_numbers_and_no_secret(made: Path) -> None:
    """The autograder draws as the course does."""
    import io
    import zipfile

    from grading.course.notebooks import ROOT
    from grading.lms.gradescope import autograder

    places = [
        made / room / sample.NAME / "sample.ipynb"
        for room in ("exercises", "solutions")
    ]
    data = autograder.autograder(ROOT, *places, secret=ONE)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        settings = json.loads(archive.read("assignment/settings.json"))
        for name in archive.namelist():
            assert ONE not in archive.read(name)
            assert ONE.hex().encode() not in archive.read(name)
    form = submission.load(*places)
    assert settings["seeds"] == draws.seeds(ONE, sample.NAME, form.most)
    assert form.drawn(settings["seeds"]).fingerprint != form.fingerprint
