"""Who belongs together: by the mistake that the tests name, or by what the answer gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grading.course import submission
from grading.course.states import NOT_RUN, STUB, STUCK, Result, State
from grading.course.submission import Form
from grading.report import mistakes
from tests.grading import helpers
from tests.harness import sample

FULL = helpers.FULL


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Form:
    """The sample assignment, as it is graded."""
    root = helpers.make_course(tmp_path_factory.mktemp("made") / "course")
    release = root / "exercises" / sample.NAME / "sample.ipynb"
    return submission.load(release, root / "solutions" / sample.NAME / "sample.ipynb")


def result(student: str, messages: Mapping[str, str], **more: object) -> Result:
    """Return a graded submission whose tests with a message have no points."""
    points = {test: 0.0 if test in messages else most for test, most in FULL.items()}
    told = {test: f"AssertionError: {text}" for test, text in messages.items()}
    return Result(student, State.GRADED, points=points, messages=told, **more)


def double(form: Form, *results: Result) -> mistakes.Task:
    """Return what the class made of the sample's first task."""
    return mistakes.tasks(form, results)[0]


def test_the_same_mistake_at_different_places_is_one_group(form: Form) -> None:
    """What was tested, its sizes and its numbers do not keep those apart whom a test names."""
    task = double(
        form,
        result(
            "s01", {"double--small": "the example: 3 rows are halved. Double them."}
        ),
        result(
            "s02", {"double--zero": "x (x (2, 3)): 12 rows are halved. Double them."}
        ),
        result("s03", {"double--zero": "the example: a sign was lost"}),
    )
    assert [group.students for group in task.groups] == [("s01", "s02"), ("s03",)]
    assert task.groups[0].text == "3 rows are halved. Double them."
    assert all(group.is_named for group in task.groups)


def test_a_name_counts_more_than_the_first_failure(form: Form) -> None:
    """Who fails first where nothing is named belongs to those whom a later test names."""
    unnamed = "result: expected 0.5 at index [0], got 0.25 (1 of 1 entries differ)."
    task = double(
        form,
        result("s01", {"double--small": unnamed, "double--zero": "a sign was lost"}),
        result("s02", {"double--small": "y: a sign was lost"}),
    )
    assert [group.students for group in task.groups] == [("s01", "s02")]
    assert task.groups[0].message == "AssertionError: a sign was lost"


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (
            "result: expected 0.5 at index [0], got 0.25001 (1 of 1 entries differ).",
            True,
        ),
        ("result: expected 0.5 at index [0], got 0.31 (1 of 1 entries differ).", False),
        (
            "weights: expected 0.5 at index [0], got 0.25 (1 of 1 entries differ).",
            False,
        ),
    ],
)
def test_without_a_name_equal_numbers_belong_together(
    form: Form, other: str, together: bool
) -> None:
    """Everybody has the same inputs: wrong in the same way gives the same wrong numbers."""
    first = "result: expected 0.5 at index [0], got 0.25 (1 of 1 entries differ)."
    task = double(
        form,
        result("s01", {"double--small": first}),
        result("s02", {"double--small": other}),
    )
    assert (len(task.groups) == 1) is together
    assert not task.groups[0].is_named


def test_without_name_and_numbers_all_failures_count(form: Form) -> None:
    """Hidden tests tell no numbers: who fails more of them made another mistake."""
    hidden = "A mask: the output is wrong, first at index of a hidden input"
    both = {"double--small": hidden, "double--zero": hidden}
    task = double(
        form,
        result("s01", {"double--small": hidden}),
        result("s02", both),
        result("s03", both),
    )
    assert [group.students for group in task.groups] == [("s02", "s03"), ("s01",)]


@pytest.mark.parametrize("hang", ["TimeoutError: ...", STUCK])
def test_errors_and_hangs_are_mistakes_of_their_own(form: Form, hang: str) -> None:
    """An error of Python is one by its text; what never ended is told in plain words."""
    hung = Result(
        "s02",
        State.GRADED,
        points={**FULL, "double--small": 0.0, "double--zero": 0.0},
        messages={"double--small": hang, "double--zero": NOT_RUN},
    )
    broken = Result(
        "s01",
        State.GRADED,
        points={**FULL, "double--small": 0.0},
        messages={"double--small": "NameError: name 'y' is not defined"},
    )
    texts = {group.students: group.text for group in double(form, hung, broken).groups}
    assert texts == {
        ("s01",): "NameError: name 'y' is not defined",
        ("s02",): mistakes.UNENDED,
    }


def test_open_solved_and_wrong_are_told_apart(form: Form) -> None:
    """A stub is no mistake, even where its error comes from a cell that calls another's."""
    stub = f"NotImplementedError: {STUB}"
    messages = dict.fromkeys(("double--small", "double--zero"), stub)
    zero = dict.fromkeys(messages, 0.0)
    task = double(
        form,
        result("s01", {}),
        Result(
            "s02", State.GRADED, points=zero, messages=messages, unchanged=["double"]
        ),
        Result("s03", State.GRADED, points=zero, messages=messages),
        result("s04", {"double--zero": "a sign was lost"}),
    )
    assert task.solved == ("s01",)
    assert task.unanswered == ("s02", "s03")
    assert [group.students for group in task.groups] == [("s04",)]
    assert task.points == {"s01": 3.0, "s02": 0.0, "s03": 0.0, "s04": 2.0}


def test_groups_stand_in_order_of_their_size(form: Form) -> None:
    """The commonest mistake first; everybody in at most one group of a task."""
    said = [text for n, text in enumerate("abcd", 1) for _ in range(n)]
    task = double(
        form,
        *(
            result(f"s{n:02}", {"double--zero": f"the mistake {text} was made"})
            for n, text in enumerate(said)
        ),
    )
    assert [group.text[12] for group in task.groups] == list("dcba")
    members = [student for group in task.groups for student in group.students]
    assert sorted(members) == [f"s{n:02}" for n in range(len(said))]


def test_the_bank_explains_what_its_patterns_match(form: Form, tmp_path: Path) -> None:
    """A mistake that the bank has is told by its name; another one is a candidate."""
    from grading.report.bank import Bank

    (tmp_path / "double.py").write_text(
        "# %% wrong: sign, of: add | says: sign was lost\n# - return 2\n"
        "# %% wrong: any | says: lost|halved\n"
    )
    task = double(
        form,
        result("s01", {"double--zero": "a sign was lost"}),
        result("s02", {"double--zero": "the rows change places"}),
    )
    bank = Bank(tmp_path)
    assert [bank.names(group) for group in task.groups] == [["sign", "any"], []]
    assert [bank.lacks(group) for group in task.groups] == [False, True]
    nowhere = Bank(tmp_path / "none")
    assert not any(nowhere.lacks(group) for group in task.groups)
