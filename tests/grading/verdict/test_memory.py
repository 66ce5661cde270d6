"""What tests work out is kept for the next submission, and for nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from grading.sandbox import bubblewrap
from grading.verdict.cells import run_test_cell
from grading.verdict.memory import Memory
from tests.grading.wall import submission

#: A test whose expectation is worked out by a helper, as in the kit.
TEST = (
    "made = []\n"
    "def work():\n    made.append(1)\n    return x * 2\n"
    "x = torch.tensor([1.0, 2.0])\n"
    "want = course_memory(work, [x])\n"
    "assert torch.equal(f(x), want), 'wrong'"
)


def asked(memory: Memory, source: str, *given: object, make: Callable) -> object:
    """Return what a cell with one question gets."""
    memory.begin(source)
    return memory(make, given)


def counted(value: object) -> tuple[Callable[[], object], list]:
    """Return a function that returns a value, and the list of its calls."""
    calls: list = []

    def make() -> object:
        calls.append(value)
        return value

    return make, calls


def saying(word: str) -> Callable[[], str]:
    """Return a function of this one code, whatever it returns."""
    return lambda: word


@pytest.mark.parametrize(
    "given",
    [
        (torch.ones(2), 3, "a"),
        ([torch.ones(2), None], {"a": (1.5, torch.zeros(1).bool())}),
        (torch.float64, {"w": torch.ones(2, 3)}),
    ],
)
def test_the_same_question_is_worked_out_once(given: tuple) -> None:
    """By the second submission, which brings equal values, and not the same objects."""
    memory, (make, calls) = Memory(), counted([torch.ones(1)])
    for _ in range(3):
        again = [x.clone() if isinstance(x, torch.Tensor) else x for x in given]
        assert asked(memory, "cell", *again, make=make) == [1]
    assert len(calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        (torch.tensor([1.0, 3.0]), [1]),
        (torch.tensor([1.0, 2.0]).double(), [1]),
        (torch.tensor([[1.0, 2.0]]), [1]),
        (torch.tensor([1.0, 2.0]), [1.0]),
        (torch.tensor([1.0, 2.0]), (1,)),
        (torch.tensor([1.0, 2.0]), [1, 1]),
        (torch.tensor([1.0, 2.0]), [True]),
        (torch.tensor([1.0, float("nan")]), [1]),
        ([1.0, 2.0], [1]),
    ],
)
def test_another_question_is_another_answer(other: tuple) -> None:
    """Other numbers, another data type or shape, or a value of another type."""
    memory = Memory()
    asked(memory, "cell", torch.tensor([1.0, 2.0]), [1], make=saying("old"))
    assert asked(memory, "cell", *other, make=saying("new")) == "new"


def test_another_place_or_cell_is_another_answer() -> None:
    """Also for equal values: what is asked there may be another thing."""
    memory = Memory()
    memory.begin("cell")
    assert [memory(saying("first"), [1]), memory(saying("second"), [1])] == [
        "first",
        "second",
    ]
    memory.begin("cell")
    assert [memory(saying("x"), [1]), memory(saying("x"), [1])] == ["first", "second"]
    assert asked(memory, "cell of another draw", 1, make=saying("other")) == "other"


def test_another_thing_that_is_worked_out_of_the_same_is_another_answer() -> None:
    """Which one comes at a place hangs on the errors of the submission, as in the kit."""
    memory, source = Memory(), "cell"
    for _ in range(2):
        assert asked(memory, source, 1, make=lambda: "results") == "results"
        assert asked(memory, source, 1, make=lambda: "gradients") == "gradients"


def test_what_is_given_may_be_changed_afterwards() -> None:
    """Copies are compared."""
    memory, x = Memory(), torch.ones(2)
    asked(memory, "cell", x, make=saying("ones"))
    x.zero_()
    assert asked(memory, "cell", x, make=saying("zeros")) == "zeros"


@pytest.mark.parametrize("draw", [lambda: torch.rand(1), random.random])
def test_what_draws_is_made_each_time(draw: Callable) -> None:
    """The numbers that come after it are the same for everybody."""
    memory = Memory()
    for _ in range(2):
        torch.manual_seed(1)
        random.seed(1)
        asked(memory, "cell", make=draw)
        found = torch.rand(1).item(), random.random()
    torch.manual_seed(1)
    random.seed(1)
    draw()
    assert found == (torch.rand(1).item(), random.random())


@pytest.mark.parametrize(("answer", "right"), [("x * 2", True), ("x + 1", False)])
def test_the_second_submission_is_compared_with_what_was_kept(
    answer: str, right: bool
) -> None:
    """It gets what it would have got, and nothing is worked out again."""
    memory, made = Memory(), []
    for cell in ("x * 2", answer):
        with submission(f"def f(x): return {cell}") as student:
            student.memory = student.namespace()["course_memory"] = memory
            run = run_test_cell(student, TEST)
            made += student.namespace()["made"]
    assert run.passed is right, run.message
    assert made == [1]


def test_a_submission_finds_nothing_of_it() -> None:
    """No name of it is there, and its code is not in the sandbox."""
    spy = "def f(x):\n    assert 'course_memory' not in globals()\n    return x * 2"
    with submission(spy) as student:
        run = run_test_cell(student, TEST)
    assert run.passed, run.message
    assert not [name for name in bubblewrap.FILES if name.startswith("verdict/")]
