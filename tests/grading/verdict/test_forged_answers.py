"""What else a submission's process may answer than texts, and what it may make of a message."""

from __future__ import annotations

import pytest

from grading.bridge.redaction import MOST_PIECES
from grading.course.states import HOLE
from grading.verdict.cells import run_test_cell
from tests.grading.wall import submission

#: An object that ends its process when it is shown.
ENDS = """
import gc, os
class Ends:
    def __str__(self): os._exit(3)
    __repr__ = __str__
def ends(): return Ends()
"""
#: The submission's process answers that it has executed a cell with this value.
FORGES = """
peer = next(one for one in gc.get_objects() if type(one).__name__ == "StudentPeer")
type(peer).on_exec = lambda self, message: ({})
"""
#: One that asks for something else again and again when it is shown.
ASKS = """
class Asks:
    def __repr__(self):
        while True:
            try: peer.request("backward", {"gradients": []}, call=999)
            except Exception: pass
def ends(): return Asks()
"""


@pytest.mark.parametrize(
    "answer",
    [
        "{'error': None, 'stdout': Ends(), 'stderr': Ends()}",
        "{'error': {'name': Ends(), 'text': Ends()}, 'stdout': [Ends()]}",
        "{'error': {'name': ['a'], 'text': 5}, 'stdout': ['a'] * 9, 'stderr': {}}",
        "[1]",
    ],
)
def test_what_is_no_text_is_never_shown(answer: str) -> None:
    """To show it could take all memory, or ask the submission's process outside of all limits."""
    with submission(ENDS + FORGES.format(answer)) as student:
        run = student.run_cell("pass", 60)
        assert {run.stdout, run.stderr, run.error_name, run.error_text} == {""}
        assert not student.lost


def test_error_that_holds_an_object_of_the_submission() -> None:
    """It is shown within the test's limits: a process that ends by that costs its own test."""
    with submission(ENDS) as student:
        run = run_test_cell(student, "{}[ends()]", timeout=60)
    assert (run.passed, run.error_name, run.student_died) == (
        False,
        "StudentLost",
        True,
    )


def test_questions_without_end_when_an_error_is_shown() -> None:
    """Each is answered at once, so that only the limit on the test ends them."""
    with submission(ENDS + FORGES.format("{}") + ASKS) as student:
        run = run_test_cell(student, "{}[ends()]", timeout=2)
    assert (run.passed, run.student_died) == (False, True)


def test_test_that_is_no_python() -> None:
    """It fails as any other."""
    with submission() as student:
        run = run_test_cell(student, "x = = 1", timeout=60)
    assert (run.passed, run.error_name) == (False, "SyntaxError")


@pytest.mark.parametrize("words", [1, 2000])
@pytest.mark.parametrize("length", [10, 10_000, 20_000])
def test_submission_spells_nothing_with_the_authors_words(
    words: int, length: int
) -> None:
    """Not even in a text so long that a part of the message is cut off."""
    test = (
        "text = 'squeezed away'\n"
        "try: f()\n"
        "except ValueError as error:\n"
        "    raise AssertionError(f'It fails: {error}') from None"
    )
    solution = f"def f(): raise ValueError('squeezed away|' * {words} + 'z' * {length})"
    with submission(solution) as student:
        run = run_test_cell(student, test, timeout=60)
    assert run.told == f"It fails: {HOLE}"
    assert run.message.startswith("It fails: squeezed away|")


@pytest.mark.parametrize("count", [1, MOST_PIECES - 1, MOST_PIECES, 2000])
def test_few_pieces_of_a_message_are_told(count: int) -> None:
    """An author puts few together; with many, a submission could spell."""
    test = "text = 'squeezed away'\nassert 0, 'It fails: ' + f()"
    with submission(f"def f(): return 'squeezed away|' * {count}") as student:
        run = run_test_cell(student, test, timeout=60)
    few = f"It fails: {'squeezed away' + HOLE}" + f"squeezed away{HOLE}" * (count - 1)
    assert run.told == (few if count < MOST_PIECES else HOLE)


def test_named_tuple_with_a_function_that_a_tensor_has() -> None:
    """It decides no comparison, and is no broken rule: a student may return one."""
    solution = (
        "import collections\n"
        "def f(): return collections.namedtuple('N', 'mean size')(lambda: 1, 2)"
    )
    with submission(solution, offers={"f"}) as student:
        run = run_test_cell(student, "assert f().mean() == 1", timeout=60)
        assert run.error_name == "AttributeError"
        assert run_test_cell(student, "assert f()[1] == 2", timeout=60).passed
