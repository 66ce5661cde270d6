"""Who is in the large class, what its record says, and that a record goes on with its own class."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import large_class
from benchmarks.grading import BenchError
from grading.course.states import Result, State
from grading.gradebook.ledger import Entry
from tests.grading import helpers
from tests.harness import sample

pytestmark = pytest.mark.slow

RECORD = {"assignment": "90-sample", "students": 10, "jobs": 2, "ways": {}}


def entry(student: str, seconds: float, total: float, minute: int) -> Entry:
    """Return what the ledger holds for a student."""
    result = Result(student, State.GRADED, points={"a--b": total}, seconds=seconds)
    return Entry(result, datetime(2026, 1, 1, 12, minute, tzinfo=UTC))


def test_twenty_attack_and_twenty_hang_evenly_among_five_hundred() -> None:
    """Both in each fifth of the class, in an order that stays."""
    found = large_class.kinds(500)
    assert [found.count(x) for x in ("attacker", "hanging")] == [20, 20]
    for first in range(0, 500, 100):
        assert {"attacker", "hanging"} < set(found[first : first + 100])
    assert found == large_class.kinds(500)
    assert {"attacker", "hanging", "honest"} == set(large_class.kinds(10))
    with pytest.raises(BenchError, match="--students: expected at least 10, got 9"):
        large_class.kinds(9)


def test_a_summary_tells_the_kinds_apart_and_the_fifths_in_the_order_of_grading() -> (
    None
):
    """Ten honest ones that take 1 to 10 s, graded from the last to the first."""
    who = ["honest"] * 10 + ["attacker", "hanging"]
    found = {f"s{n:03}": entry(f"s{n:03}", n + 1.0, 3.0, 30 - n) for n in range(10)}
    found["s010"] = entry("s010", 40.0, 0.5, 40)
    found["s011"] = entry("s011", 60.0, 2.0, 41)
    seen = [(1.0, 0, 7 << 20), (2.0, 3, 8 << 20), (90.0, 12, 9 << 20)]
    told = large_class.summary(found, who, seen)
    assert told["seconds_each"]["honest"] == {"mean": 5.5, "most": 10.0}
    assert told["seconds_each"]["hanging"]["most"] == 60.0
    by_fifth = told["seconds_of_an_honest_one_by_fifth"]
    assert by_fifth == [9.5, 7.5, 5.5, 3.5, 1.5]
    assert told["points_of_attackers"] == 0.5
    assert (told["wall_seconds"], told["seconds_until_the_first"]) == (90.0, 2.0)
    assert max(told["memory_mib_by_fifth"]) == 9
    assert told["states"] == {"graded": 12}


def test_a_record_goes_on_with_its_own_class_only(tmp_path: Path) -> None:
    """Without a file it begins; with one of another size nothing is mixed."""
    path = tmp_path / "record.json"
    assert large_class.measured_before(path, RECORD) is RECORD
    path.write_text(json.dumps({**RECORD, "ways": {"dask": {}}}), encoding="utf-8")
    assert "dask" in large_class.measured_before(path, RECORD)["ways"]
    with pytest.raises(BenchError, match="students differs"):
        large_class.measured_before(path, {**RECORD, "students": 500})


def test_other_grades_by_another_way_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is a class that differs after a part was killed; what was measured stays written."""
    root = helpers.make_course(tmp_path / "course")
    marks = {"s000": ("graded", 3.0)}
    other = {"s000": ("graded", 2.0)}
    given = {"sqlite": marks, "dask": other}
    monkeypatch.setattr(
        large_class,
        "grade",
        lambda _r, _a, _n, way, _j, kills: (other if kills else given[way], {}),
    )
    path = tmp_path / "record.json"

    def bench(*ways: str) -> dict:
        return large_class.bench(root, sample.NAME, 10, ways, 2, path, print)

    with pytest.raises(BenchError, match="killed: other grades"):
        bench("sqlite")
    with pytest.raises(BenchError, match="dask: other grades than the ways before"):
        bench("sqlite", "dask")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(kept["ways"]) == ["sqlite"]
