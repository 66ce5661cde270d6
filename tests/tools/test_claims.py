"""The ledger of claims on a small course: declared, run, resumed, recorded, checked."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from book import claims as ledger
from tests.harness import sample
from tools import check_claims, claims
from tools.fingerprint import fingerprint

MODULE = '''
from book.claims import claim, exact
from book.helpers import effect_of

CHAPTER = "01-sample"

@claim(id="1-grows", sentence="It *grows* with the seed.", control="the seed held fixed",
       effect="points", at_least=0)
def grows(seed):
    """Words only."""
    return {"effect": effect_of(seed)}

@exact("1-adds", "One and one are two")
def adds():
    assert 1 + 1 == 2
'''
HELPERS = '''
"""Help."""
import functools
FACTOR = 2
UNUSED = 1

def effect_of(seed):
    """Twice the seed."""
    return FACTOR * seed
'''
PAGE = "# Sample\n\nIt grows\nwith the seed {claim}`1-grows`. One and one are two {claim}`1-adds`."


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with one chapter and two claims, committed; the checks ask for two a chapter."""
    folder = tmp_path / "book" / "claims"
    folder.mkdir(parents=True)
    (folder / "chapter_01.py").write_text(MODULE, encoding="utf-8")
    (folder.parent / "helpers.py").write_text(HELPERS, encoding="utf-8")
    sample.write(
        folder.parent / "01-sample.ipynb", sample.notebook([sample.markdown(PAGE)])
    )
    for command in ("init -q", "add -A", "commit -qm declared"):
        git(tmp_path, *command.split())
    monkeypatch.setattr(check_claims, "FEWEST", 2)
    return tmp_path


def git(root: Path, *command: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *command], cwd=root, check=True)


def recorded(course: Path, monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Write the record that the course's claims make, with changes to the first claim's part."""
    monkeypatch.syspath_prepend(str(course))
    module = load(course, monkeypatch)
    parts = []
    for one in ledger.declared(module):
        code = fingerprint(module.__name__, one.run.__name__, course)
        results = [{"seconds": 0.1}]
        if not one.exact:
            results = [
                {"seed": s, "effect": 2.0 * s, "seconds": 0.1} for s in range(1, 11)
            ]
        parts.append(claims.entry(one, code, results))
    parts[0].update(changes)
    claims.write("01-sample", parts, course / "book" / "claims")


def load(course: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the course's module of claims, beside the real package `book`."""
    import book

    monkeypatch.setattr(book, "__path__", [*book.__path__, str(course / "book")])
    monkeypatch.delitem(sys.modules, "book.helpers", raising=False)
    (module,) = check_claims.modules(course)
    return module


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# Declaring


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "bottleneck"}, "expected an id such as"),
        ({"at_least": None}, "expected one finite number"),
        ({"at_most": 1.0}, "expected one finite number"),
        ({"at_least": float("nan")}, "expected one finite number"),
        ({"holds": "median"}, "expected one of interval, every seed, mean"),
        ({"control": "  "}, "control is empty"),
    ],
)
def test_a_bad_declaration_is_refused(changes: dict, message: str) -> None:
    good = {
        "id": "1-a",
        "sentence": "s",
        "control": "c",
        "effect": "points",
        "at_least": 0.0,
    }
    with pytest.raises(ValueError, match=message):
        ledger.claim(**(good | changes))


@pytest.mark.parametrize(
    ("holds", "side", "met"),
    [
        ("interval", {"at_least": 1.0}, False),
        ("interval", {"at_least": 0.5}, True),
        ("every seed", {"at_least": 0.5}, False),
        ("every seed", {"at_least": 0.0}, True),
        ("mean", {"at_least": 2.0}, True),
        ("mean", {"at_least": 2.1}, False),
        ("interval", {"at_most": 3.0}, False),
        ("interval", {"at_most": 3.5}, True),
        ("every seed", {"at_most": 3.5}, False),
        ("mean", {"at_most": 2.0}, True),
    ],
)
def test_what_holding_means(holds: str, side: dict, met: bool) -> None:
    one = ledger.Claim("1-a", "s", print, holds=holds, **side)
    assert one.is_met(effects=[0.0, 2.0, 4.0], interval=[0.5, 3.5]) is met


# Seeds and intervals


def test_seeds_are_ranges_and_numbers() -> None:
    assert claims.parse_seeds("101-104") == (101, 102, 103, 104)
    assert claims.parse_seeds("9, 1,5-6,5") == (1, 5, 6, 9)


@pytest.mark.parametrize("text", ["", "x", "5-1", "1-", "-3", "1,2", "1 2 3", "1-3;"])
def test_bad_seeds_are_named(text: str) -> None:
    with pytest.raises(ValueError, match="SEEDS: expected"):
        claims.parse_seeds(text)


def test_the_interval_is_that_of_all_resamples() -> None:
    """Three seeds have 27 resamples: the interval's ends are percentiles of their means."""
    effects = [1.0, 2.0, 6.0]
    means = sorted(np.mean(some) for some in itertools.product(effects, repeat=3))
    low, high = claims.interval(effects)
    expected = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    assert [low, high] == pytest.approx(expected)


# The hash of the code


def test_the_hash_knows_code_from_words(course: Path) -> None:
    def now() -> str:
        return fingerprint("book.claims.chapter_01", "grows", course)

    before = now()
    edit(course / "book/claims/chapter_01.py", "Words only", "Other words")
    edit(course / "book/claims/chapter_01.py", "at_least=0", "at_least=1")
    edit(course / "book/helpers.py", "Twice the seed", "Two times the seed")
    edit(course / "book/helpers.py", "UNUSED = 1", "# a comment\nUNUSED = 3")
    assert now() == before
    edit(course / "book/helpers.py", "FACTOR = 2", "FACTOR = 3")
    assert now() != before


def test_the_hash_follows_modules_and_local_imports(course: Path) -> None:
    edit(
        course / "book/claims/chapter_01.py",
        "    assert 1 + 1 == 2",
        "    from book import helpers as h\n    assert h.effect_of(1) == 2",
    )
    before = fingerprint("book.claims.chapter_01", "adds", course)
    edit(course / "book/helpers.py", "FACTOR * seed", "FACTOR * seed * 1")
    assert fingerprint("book.claims.chapter_01", "adds", course) != before


# Running


@pytest.fixture
def counted(course: Path, monkeypatch: pytest.MonkeyPatch):
    """Run jobs in this process, and count the runs; returns (function to run, runs)."""
    module = load(course, monkeypatch)
    runs = []

    def run(_module: str, id: str, seed: int | None) -> dict:
        runs.append((id, seed))
        return real(module, id, seed)

    class Here:
        def __init__(self, *arguments):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def submit(self, function, *arguments):
            result = function(*arguments)
            return type("Done", (), {"result": lambda self: result})()

    real = claims.run
    monkeypatch.setattr(claims, "ROOT", course)
    monkeypatch.setattr(claims, "code_of", lambda one: code(course, one))
    monkeypatch.setattr(claims, "run", run)
    monkeypatch.setattr(claims, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(claims, "as_completed", list)
    monkeypatch.setattr(
        claims, "read", lambda c: ledger.read(c, course / "book/claims")
    )
    monkeypatch.setattr(
        claims, "declared", lambda m: ledger.declared(m if m != "m" else module)
    )

    def go(trial: tuple[int, ...] = ()) -> int:
        runs.clear()
        return claims.carry_out(
            [("m", "01-sample", ledger.declared(module))], trial, jobs=1
        )

    return go, runs


def code(course: Path, one: ledger.Claim) -> str:
    return fingerprint(one.run.__module__, one.run.__name__, course)


def test_a_run_writes_the_record_and_the_next_has_nothing_to_do(
    course: Path, counted
) -> None:
    go, runs = counted
    assert go() == 0
    assert len(runs) == 11
    (grows, adds) = ledger.read("01-sample", course / "book/claims")
    assert [seed["seed"] for seed in grows["seeds"]] == list(range(1, 11))
    assert grows["effect"] == pytest.approx(11.0)
    assert grows["holds"] is True
    assert adds["exact"] is True
    assert go() == 0
    assert runs == []


def test_a_killed_run_goes_on(course: Path, counted) -> None:
    """Half a last line costs its own seed, and none that is whole; nor the next line."""
    go, runs = counted
    go()
    (course / "book/claims/01-sample.json").unlink()
    path = course / "_build/claims/1-grows.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][:20], encoding="utf-8")
    assert go() == 0
    assert runs == [("1-grows", seed) for seed in range(5, 11)]
    (course / "book/claims/01-sample.json").unlink()
    assert go() == 0
    assert runs == []


def test_changed_code_is_run_again(course: Path, counted) -> None:
    go, runs = counted
    go()
    edit(course / "book/helpers.py", "FACTOR = 2", "FACTOR = 2.0")
    go()
    assert [id for id, _ in runs] == ["1-grows"] * 10


def test_other_seeds_leave_the_record_alone(course: Path, counted, capsys) -> None:
    go, _ = counted
    go()
    before = (course / "book/claims/01-sample.json").read_bytes()
    assert go((101, 102, 103)) == 0
    assert (course / "book/claims/01-sample.json").read_bytes() == before
    assert "204 [202, 206] over 3 seeds" in capsys.readouterr().out


def test_a_claim_that_does_not_hold_fails_the_run(course: Path, counted) -> None:
    go, _ = counted
    edit(course / "book/helpers.py", "FACTOR = 2", "FACTOR = -2")
    sys.modules["book.helpers"].FACTOR = -2
    assert go() == 1
    assert ledger.read("01-sample", course / "book/claims")[0]["holds"] is False


def test_an_experiment_that_raises_is_reported_and_the_others_are_kept(
    course: Path, counted, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    go, _ = counted
    monkeypatch.setattr(sys.modules["book.helpers"], "FACTOR", None)
    assert go() == 1
    assert "claim 1-grows, seed 1 failed" in capsys.readouterr().err
    (only,) = ledger.read("01-sample", course / "book/claims")
    assert only["id"] == "1-adds"


def test_numbers_that_are_not_finite_are_refused(
    course: Path, counted, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    go, _ = counted
    monkeypatch.setattr(sys.modules["book.helpers"], "FACTOR", float("nan"))
    assert go() == 1
    assert "expected finite numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--claim", "1-nothing"], "CLAIM=1-nothing: no such claim"),
        (["--chapter", "77"], "CHAPTER=77: no such claim"),
        (["--seeds", "7-1"], "SEEDS: expected"),
        (["--seeds", "1-3", "--jobs", "0"], "JOBS: expected at least 1"),
    ],
)
def test_the_command_line_names_what_is_wrong(
    arguments: list[str], message: str, capsys
) -> None:
    assert claims.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_no_record_for_a_threshold_that_is_not_committed(course: Path) -> None:
    assert claims.uncommitted("book.claims.chapter_01", course) == ""
    edit(course / "book/claims/chapter_01.py", "at_least=0", "at_least=-5")
    assert "not committed" in claims.uncommitted("book.claims.chapter_01", course)


# Checking


def test_a_good_course_has_no_findings(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(course, monkeypatch)
    found = check_claims.check(course)
    assert (found.problems, found.stale) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{claim}`1-adds`", "", "claim 1-adds is marked nowhere"),
        ("`1-adds`", "`1-adds` {claim}`1-odd`", "cell 1.*: marks claim '1-odd'"),
        (
            "are two",
            "make two",
            "marks claim 1-adds but does not say 'One and one are two'",
        ),
    ],
)
def test_marks_and_claims_belong_together(
    course: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    recorded(course, monkeypatch)
    edit(course / "book/01-sample.ipynb", old, new)
    (problem,) = check_claims.check(course).problems
    assert re.search(message, problem), problem


def test_metadata_and_quizzes_mark_too() -> None:
    data = {
        "cell_type": "code",
        "source": "",
        "metadata": {
            "claims": ["1-alt"],
            "mystnb": {"figure": {"caption": "So {claim}`1-caption`."}},
        },
    }
    cell = check_claims.Cell(Path("x"), 0, data)
    assert check_claims.marks(cell) == ["1-alt", "1-caption"]
    quiz = {"cell_type": "markdown", "source": ":::{quiz}\n:claims: 1-a, 1-b\n"}
    assert check_claims.marks(check_claims.Cell(Path("x"), 0, quiz)) == ["1-a", "1-b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"holds": False}, "claim 1-grows does not hold"),
        ({"threshold": {"at_least": -9, "holds": "interval"}}, "another threshold"),
        ({"id": "1-gone"}, "has claim 1-gone, which is not declared"),
    ],
)
def test_a_record_that_does_not_fit_is_a_problem(
    course: Path, monkeypatch: pytest.MonkeyPatch, changes: dict, message: str
) -> None:
    recorded(course, monkeypatch, **changes)
    assert message in "\n".join(check_claims.check(course).problems)


def test_a_missing_record_is_a_problem(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(course, monkeypatch)
    problems = "\n".join(check_claims.check(course).problems)
    assert "01-sample.json: has no claim 1-grows: run `make claims CLAIM=1-grows`" in (
        problems
    )


def test_a_stale_record_is_listed_and_fails_a_release(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    recorded(course, monkeypatch)
    edit(course / "book/helpers.py", "FACTOR = 2", "FACTOR = 3")
    found = check_claims.check(course)
    assert found.problems == []
    assert "claim 1-grows is stale: its code has changed" in found.stale[0]
    assert check_claims.main(["--root", str(course)]) == 0
    assert check_claims.main(["--root", str(course), "--strict"]) == 1
    assert "1-grows is stale" in capsys.readouterr().err


def test_a_threshold_that_came_with_its_record_is_told(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threshold is lowered and the record made in one commit: the history shows it."""
    edit(course / "book/claims/chapter_01.py", "at_least=0", "at_least=-5")
    recorded(course, monkeypatch)
    git(course, "add", "-A")
    git(course, "commit", "-qm", "lowered and recorded")
    (late,) = check_claims.check(course).stale
    assert "its threshold was not committed before its record" in late


def test_numbers_come_from_the_record(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(course, monkeypatch)
    folder = course / "book/claims"
    assert ledger.numbers("1-grows", folder=folder) == [2.0 * s for s in range(1, 11)]
    with pytest.raises(KeyError, match="it has effect"):
        ledger.numbers("1-grows", "loss", folder)
    with pytest.raises(KeyError, match="run `make claims CLAIM=1-none`"):
        ledger.record("1-none", folder)


def test_the_records_on_disk_are_whole_json() -> None:
    for path in sorted(ledger.FOLDER.glob("*.json")):
        assert set(json.loads(path.read_text(encoding="utf-8"))) == {"claims"}
