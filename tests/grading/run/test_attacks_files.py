"""What a submitted file can do, and what one submission can leave to the next."""

from __future__ import annotations

import pytest

from grading.course.notebooks import SEPARATOR
from grading.course.states import State
from tests.grading.attacks.files import FILES, hand_in
from tests.grading.attacks.hostile import FIRST, Class
from tests.grading.attacks.process import TRACES


@pytest.fixture(scope="module")
def graded(bubblewrap: None, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class of attackers, one process for all of them, and honest students."""
    made = Class(tmp_path_factory.mktemp("files") / "course")
    made.honest("a-honest")
    for name in FILES:
        hand_in(made, f"b-{name}", name)
    for number, (name, text) in enumerate(TRACES.items()):
        made.attack(f"c{number}-{name}", text)
    made.honest("d-honest")
    made.grade(jobs=1)
    return made


@pytest.mark.parametrize("name", FILES)
def test_a_file_earns_what_is_answered_in_it(graded: Class, name: str) -> None:
    """In the state that it must end in; nothing of it was executed outside the sandbox."""
    student = f"b-{name}"
    result = graded.results[student]
    assert str(result.state) == FILES[name][1], result.reasons
    if result.state.has_points:
        deserved = {
            test: points if test.startswith(FIRST + SEPARATOR) else 0.0
            for test, points in graded.tests.items()
        }
        assert result.points == deserved
    else:
        assert not result.points
        assert result.reasons
    assert not (graded.root / "executed").exists()
    graded.check_shown(student)


def test_a_submission_finds_nothing_of_the_one_before(graded: Class) -> None:
    """No file, variable, module, socket or process; and its points are its own."""
    before, after = (
        graded.results[f"c{number}-{name}"] for number, name in enumerate(TRACES)
    )
    for result in (before, after):
        assert (result.state, result.total) in {
            (State.GRADED, 0.0),
            (State.SUSPECT, 0.0),
        }
    told = {text for text in after.messages.values() if "SPY" in text}
    assert told
    assert all("SPY []" in text for text in told)


def test_honest_students_have_all_their_points(graded: Class) -> None:
    """The first and the last of the class."""
    for student in ("a-honest", "d-honest"):
        graded.check_honest(student)
        graded.check_shown(student)
