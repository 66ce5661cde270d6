"""Changes of a test's own data: seen by the test, undone after it, and worth no pass."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grading.course.states import Result, State
from grading.course.submission import Form
from grading.run.batch import with_doubts
from grading.run.pipeline import grade_one
from grading.verdict.cells import run_test_cell
from tests.grading import fakes, helpers
from tests.grading.run.test_pipeline import form, small  # noqa: F401 - fixtures
from tests.grading.verdict.test_verdict_attacks import FORGED
from tests.grading.wall import submission

#: What is expected is worked out after the call, from its argument.
AFTER = "x = torch.tensor([1.0, 2.0])\ngot = f(x)\nwant = x * 2\nassert torch.equal(got, want), got"
LEAF = (
    "x = torch.tensor([1.0, 2.0], requires_grad=True)\ngot = f(x)\n"
    "assert torch.equal(got.detach(), x.detach() * 2)"
)

#: Answers that make their input fit their output, and a test that believes it.
CHANGES = {
    "in place": ("def f(x): return x.zero_().clone()", AFTER),
    "through a view": (
        "def f(x):\n    x[:].fill_(0)\n    return torch.zeros(2)",
        AFTER,
    ),
    "other data": (
        "def f(x):\n    x.data = torch.zeros(2)\n    return torch.zeros(2)",
        LEAF,
    ),
    "in a dict": (
        "def f(d):\n    d['a'] = 0\n    return 0",
        "d = {'a': 1}\nassert f(d) == d['a']",
    ),
    "in a list": (
        "def f(items):\n    items.clear()\n    return []",
        "items = [1, 2]\nassert f(items) == [2 * n for n in items]",
    ),
    "turned": (
        "def f(x): return x.t_().clone()",
        "x = torch.arange(6.0).view(2, 3)\ngot = f(x)\nassert torch.equal(got, x), x.shape",
    ),
    "turned, in a list": (
        "def f(xs): return xs[1].squeeze_(0).clone()",
        "xs = [1, torch.ones(1, 3)]\ngot = f(xs)\nassert torch.equal(got, xs[1])",
    ),
    "other data of a plain tensor": (
        "def f(x):\n    x.data = torch.zeros(2)\n    return torch.zeros(2)",
        AFTER,
    ),
    "truth values": (
        "def f(m):\n    m.logical_not_()\n    return torch.tensor([False, True])",
        "m = torch.tensor([True, False])\nassert torch.equal(f(m), m)",
    ),
    "later": (
        "kept = []\ndef f(x): kept.append(x)\ndef g():\n    kept[0].zero_()\n    return 0",
        "x = torch.ones(1)\nf(x)\nassert g() == x.item()",
    ),
}


@pytest.mark.parametrize(("cell", "test"), CHANGES.values(), ids=CHANGES)
def test_a_pass_by_a_change_is_doubtful(cell: str, test: str) -> None:
    """And the test's data are afterwards what they were."""
    with submission(cell) as student:
        run = run_test_cell(student, test)
        assert (run.passed, bool(run.doubt)) == (True, True), (run.message, run.doubt)
        names = test.partition(" = ")[0]
        again = run_test_cell(
            student,
            f"{test.splitlines()[0].replace(names, 'fresh', 1)}\n"
            f"assert str({names}) == str(fresh), {names}",
        )
        assert again.passed, again.message


@pytest.mark.parametrize(
    ("cell", "test"),
    {
        "no change": ("def f(x): return x * 2", AFTER),
        "right before the change": (
            "def f(x):\n    y = x * 2\n    x.zero_()\n    return y",
            "x = torch.tensor([1.0, 2.0])\nwant = x * 2\nassert torch.equal(f(x), want)",
        ),
        "right, and then a change": (
            "def f(x):\n    y = x * 2\n    x += 1\n    return y",
            "x = torch.tensor([1.0, 2.0])\nassert f(x).tolist() == [2, 4]\n"
            "x = torch.tensor([3.0])\nassert f(x).tolist() == [6]",
        ),
        "a mode for as long as a call lasts": (
            "def f(m, x):\n    m.eval()\n    y = m(x)\n    m.train()\n    return y",
            "m, x = nn.Dropout(0.9), torch.ones(99)\nassert torch.equal(f(m, x), x) and m.training",
        ),
        "a mode that is left": (
            "def f(m, x):\n    m.eval()\n    return m(x)",
            "m, x = nn.Dropout(0.9), torch.ones(99)\nassert torch.equal(f(m, x), x)",
        ),
        "its own data": (
            "kept = torch.zeros(2)\ndef f(x):\n    kept.copy_(x * 2)\n    return kept",
            AFTER,
        ),
        "random numbers": (
            "def f(x):\n    x += 1\n    return torch.rand(1)",
            "torch.rand(3)\nassert f(torch.ones(1)).shape == (1,)",
        ),
    }.values(),
)
def test_an_honest_answer_is_not_doubtful(cell: str, test: str) -> None:
    """Also one that changes its argument without a use."""
    with submission(cell) as student:
        run = run_test_cell(student, test)
    assert (run.passed, run.doubt) == (True, ""), (run.message, run.doubt)


def test_a_pass_by_a_module_s_mode_is_doubtful() -> None:
    """And the module is afterwards in the mode in which it was."""
    with submission("def f(m, x):\n    m.eval()\n    return x") as student:
        run = run_test_cell(
            student,
            "m, x = nn.Dropout(0.9), torch.ones(99)\nassert torch.equal(f(m, x), m(x))",
        )
        assert (run.passed, bool(run.doubt)) == (True, True), (run.message, run.doubt)
        assert run_test_cell(student, "assert m.training").passed


def test_a_change_is_still_seen_by_the_test() -> None:
    """As in a notebook."""
    with submission("def f(x): return x.zero_()") as student:
        run = run_test_cell(
            student, "x = torch.ones(2)\nf(x)\nassert x.any(), 'changed'"
        )
    assert (run.passed, run.message) == (False, "changed")


def test_no_change_outlives_a_test() -> None:
    """Data of the release, or of an earlier test, are what they were, for the submission too."""
    cell = "kept = []\ndef f(x):\n    kept.append(x)\n    x.zero_()\ndef total(x): return x.sum()"
    with submission(cell) as student:
        student.run_given("TABLE = torch.ones(3)")
        run_test_cell(student, "f(TABLE)")
        student.run_cell("kept[0].fill_(7)")
        run = run_test_cell(
            student, "assert TABLE.sum() == 3, TABLE\nassert total(TABLE) == 3"
        )
    assert run.passed, run.message


def test_what_was_changed_long_ago_is_noticed_when_it_is_named_again() -> None:
    """Here or there, after messages that did not name it; also what the other side let go."""
    cell = (
        "kept = []\ndef keep(x): kept.append(x)\ndef drop(): kept.clear()\n"
        "def total(x): return x.sum()\ndef double(): kept[0].mul_(2)\ndef pass_by(): pass\n"
        "def now(): return kept[0].sum()"
    )
    passing = "for _ in range(30): pass_by()\n"
    with submission(cell) as student:
        run = run_test_cell(
            student,
            "x, y = torch.ones(2), torch.ones(3)\nkeep(x)\ntotal(y)\n"
            f"{passing}x += 1\ny += 1\n"
            "assert now() == 4, x\nassert total(y) == 6 and total(x) == 4, (x, y)\n"
            f"{passing}double()\nassert x.tolist() == [4, 4], x\n"
            f"drop()\n{passing}x -= 4\nassert total(x) == 0\n"
            f"keep(y)\n{passing}y.zero_()\ndouble()\nassert total(y) == 0",
        )
    assert run.passed, run.message


#: Ways to keep numbers in a memory other than in a tensor.
UNSEEN = {
    "an array": (
        "import numpy as np\nkept = np.zeros(3, dtype=np.float32)\n"
        "def shown(): return torch.from_numpy(kept)"
    ),
    "a buffer": (
        "kept = bytearray(12)\n"
        "def shown(): return torch.frombuffer(kept, dtype=torch.float32)"
    ),
    "a storage": (
        "kept = torch.zeros(3).untyped_storage()\n"
        "def shown(): return torch.empty(0).set_(kept)"
    ),
}


@pytest.mark.parametrize("kind", UNSEEN)
def test_a_memory_is_watched_in_which_no_tensor_lies(kind: str) -> None:
    """An earlier result is seen to change, as is what a test writes there; it comes back."""
    cell = f"{UNSEEN[kind]}\ndef add(): shown().add_(1)\ndef total(): return shown().clone()"
    passing = "for _ in range(3): total()\n"
    with submission(cell) as student:
        run = run_test_cell(
            student,
            f"got = shown()\n{passing}add()\nassert got.tolist() == [1] * 3, got\n"
            f"{passing}got.fill_(5)\nassert total().sum() == 15\n"
            f"del got\n{passing}assert shown().sum() == 15",
        )
    assert run.passed, run.message


def test_a_change_is_not_kept_by_letting_its_memory_go() -> None:
    """Without an entry in the tables, nobody would know what to undo."""
    cell = FORGED + (
        "def f(x): return x.zero_()\n"
        "def g(): forge(gone={'calls': [], 'refs': [], 'sent': [], 'leaves': [], "
        "'storages': list(range(0, 100, 2))})"
    )
    with submission(cell) as student:
        student.run_given("TABLE = torch.ones(3)")
        run_test_cell(student, "f(TABLE)\ng()")
        assert "needs no memory" in student.lost
        run = run_test_cell(student, "assert TABLE.sum() == 3, TABLE")
    assert run.message == student.lost  # and not that TABLE is zero
    assert student.namespace()["TABLE"].tolist() == [1, 1, 1]


def test_what_the_reference_needs_as_well_is_no_sign() -> None:
    """A step of an optimiser changes parameters: for the reference solutions, too."""
    result = Result("ann", State.GRADED, points={"a--b": 1.0}, doubts=["a--b"])
    assert with_doubts(result, {"a--b"}) == result
    found = with_doubts(result, set())
    assert (found.state, found.points) == (State.SUSPECT, result.points)
    assert found.suspicions == found.reasons
    assert found.reasons[0].startswith("a--b: passes only because the code changes")


def test_a_doubt_comes_to_the_result(form: Form) -> None:  # noqa: F811
    """By the name of the test."""

    class Doubtful(fakes.FakeProcess):
        def test(self, source: str) -> object:
            return replace(super().test(source), doubt="it fails")

    engine = fakes.FakeEngine()
    engine.open = Doubtful
    data = json.dumps(helpers.fill(helpers.RIGHT)).encode()
    assert grade_one(form.rebuild(data), engine).result.doubts == list(helpers.FULL)
