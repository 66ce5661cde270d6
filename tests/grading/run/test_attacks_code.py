"""What a cell can do: every attack through the whole pipeline, with honest students in between.

No attack gains a point, tells anything, or changes somebody else's grade.
"""

from __future__ import annotations

import pytest

from grading.course.bindings import inner_parts
from grading.course.states import State
from grading.run.pipeline import PASSES
from tests.grading.attacks.hostile import FIRST, Class
from tests.grading.attacks.process import HANGS, PROCESS, SPIES, SUSPECT, TRACES, WORDS
from tests.grading.attacks.values import LIES
from tests.grading.quick import CELL_SECONDS, SUBMISSION_SECONDS

ATTACKS = {**LIES, **PROCESS, **HANGS, **SPIES, **WORDS}
#: What takes its time in each test, until a limit ends it: there it attacks one task.
SLOW = {*HANGS, "memory-bomb", "fork-bomb", "endless-recursion"}
#: After every so many attackers sits an honest student.
EVERY = 6


@pytest.fixture(scope="module")
def graded(bubblewrap: None, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class of attackers and honest students, graded by two processes."""
    made = Class(tmp_path_factory.mktemp("code") / "course")
    for number, (name, text) in enumerate(ATTACKS.items()):
        made.attack(f"{number:02}-{name}", text, only=FIRST if name in SLOW else "")
        if number % EVERY == 0:
            made.honest(f"{number:02}-zz-honest")
    made.grade(jobs=2)
    return made


@pytest.mark.parametrize(("number", "name"), list(enumerate(ATTACKS)), ids=ATTACKS)
def test_an_attack_gains_nothing_and_ends(
    graded: Class, number: int, name: str
) -> None:
    """It ends in a defined state within its limits, has no points, and its spies found nothing."""
    student = f"{number:02}-{name}"
    result = graded.results[student]
    assert result.state is (State.SUSPECT if name in SUSPECT else State.GRADED), (
        result.reasons
    )
    told = [reason for reason in result.reasons if "worth a look" in reason]
    assert bool(told) == bool(inner_parts(ATTACKS[name]))
    assert result.total == 0, {n: p for n, p in result.points.items() if p}
    assert result.points.keys() == graded.tests.keys()
    limit = PASSES * SUBMISSION_SECONDS + 5 * CELL_SECONDS
    assert result.seconds < limit * graded.share
    if not any("a cell of the student's own" in reason for reason in result.reasons):
        assert "name 'attack' is not defined" not in str(result.messages), (
            "it was never made"
        )
    if name in SPIES:
        told = [text for text in result.messages.values() if "SPY" in text]
        assert told, "the spy never ran"
        assert all("SPY []" in text for text in told), told
    graded.check_shown(student)


def test_honest_students_have_all_their_points(graded: Class) -> None:
    """Also who was graded by the same process right after an attack."""
    honest = [student for student in graded.results if student.endswith("honest")]
    assert len(honest) >= len(ATTACKS) // EVERY
    for student in honest:
        graded.check_honest(student)
        graded.check_shown(student)


def test_there_are_enough_attacks() -> None:
    """At least 25 of them, by code alone."""
    assert len(ATTACKS) + len(TRACES) >= 25
