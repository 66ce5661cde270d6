"""Tests of grading/verdict/cells.py: ordinary asserts on code that runs in another process."""

import contextlib
import subprocess
import sys
import time

import pytest

from grading.course.bindings import bound_names, needed_names
from grading.course.notebooks import ROOT
from grading.verdict import guards
from grading.verdict.cells import run_test_cell
from grading.verdict.errors import UNUSABLE
from tests.grading.wall import fails, passes, submission


@pytest.mark.slow
def test_values_come_back_as_they_were():
    passes(
        "def same(x): return x",
        """
import collections, numpy as np
values = [None, True, 0, -3, 10**30, 2.5, "ä", b"ab", 1 + 2j, (1, [2, {"a": (3,)}]), {1, 2},
          frozenset([3]), {(1, 2): "pair"}, slice(1, None), range(3), ..., torch.float64,
          collections.Counter("aab"), collections.OrderedDict(a=1), collections.deque([1]),
          torch.Size([2, 3]), torch.device("cpu")]
for value in values:
    got = same(value)
    assert got == value and type(got) is type(value), f"{value!r} came back as {got!r}"
assert math.isnan(same(math.nan))
array = same(np.arange(6).reshape(2, 3))
assert (array == np.arange(6).reshape(2, 3)).all() and type(same(np.float32(2))) is np.float32
for dtype in (torch.bool, torch.int64, torch.float16, torch.bfloat16, torch.complex64):
    x = torch.ones(2, 3, dtype=dtype).T
    assert torch.equal(same(x), x) and same(x).dtype == dtype and same(x).stride() == x.stride()
assert same(torch.empty(0, 3)).shape == (0, 3) and same(torch.tensor(4.0)).item() == 4
point = collections.namedtuple("Point", "x y")(1, torch.ones(2))
assert same(point)._fields == ("x", "y") and isinstance(same(point), tuple)
""",
    )


def test_an_assert_keeps_its_message_and_other_errors_their_name():
    assert fails("def f(): return 3", "assert f() == 4, f'expected 4, got {f()}'") == (
        "expected 4, got 3"
    )
    assert fails("def f(): raise KeyError('a')", "f()") == "KeyError: 'a'"
    assert fails("", "nothing(1)") == "NameError: name 'nothing' is not defined"
    assert fails("def f(", "f()").startswith("NameError")


@pytest.mark.parametrize(
    ("returned", "test", "kind"),
    [
        ("[[]]", "set(f())", "TypeError"),
        ("None", "len(f())", "TypeError"),
        ("object()", "sorted(f())", "TypeError"),
        ("1, 2, 3", "a, b = f()", "ValueError"),
        ("{}", "f()['names']", "KeyError"),
        ("'abc'", "f().isnan()", "AttributeError"),
        ("torch.ones(2)", "f() @ torch.ones(3)", "RuntimeError"),
        ("torch.ones(2)", "torch.autograd.grad(f().sum(), f())", "RuntimeError"),
    ],
)
@pytest.mark.parametrize("hidden", [False, True])
def test_what_a_test_can_not_use_is_told_in_words(returned, test, kind, hidden):
    lines = ("### BEGIN HIDDEN TESTS", test, "### END HIDDEN TESTS")
    source = "\n".join(lines) if hidden else test
    with submission(f"def f(): return {returned}") as student:
        found = run_test_cell(student, source)
    assert (found.passed, found.error_name, found.told) == (False, kind, UNUSABLE)
    assert found.message.startswith(f"{kind}: ")
    assert found.message.endswith(f"({UNUSABLE})")


@pytest.mark.parametrize(
    "body",
    ["[][1]", "torch.ones(2) @ torch.ones(3)", "raise AttributeError('x')", "g()"],
)
def test_an_error_of_the_submission_is_not_laid_to_what_it_returned(body):
    cell = f"class C:\n    def f(self): {body}\nc = C()"
    for test in ("c.f()", "call = lambda: c.f()\ncall()"):
        with submission(cell) as student:
            found = run_test_cell(student, test)
        assert (found.passed, found.told) == (False, "")
        assert UNUSABLE not in found.message


def test_exceptions_are_of_the_builtin_class():
    passes(
        """
class Own(ValueError): pass
def f(kind):
    raise {"value": ValueError("size: bad"), "index": IndexError("i"), "own": Own("mine"),
           "unicode": UnicodeDecodeError("utf-8", b"x", 0, 1, "why")}[kind]
""",
        """
for kind, expected in [("value", ValueError), ("index", IndexError), ("own", ValueError),
                       ("unicode", ValueError)]:
    try:
        f(kind)
    except expected as error:
        found = str(error)
        assert found
    else:
        assert False, "no error"
try:
    f("own")
except Own as error:  # its name may carry what a test passed: it stays there
    assert type(error) is ValueError
try:
    torch.ones(2) @ f_shape
except NameError:
    pass
""",
    )


def test_gradients_pass_the_wall():
    passes(
        "def f(x, y): return (x * y).sin(), x.sum() * 2, y.detach()",
        """
x = torch.randn(3, dtype=torch.float64, requires_grad=True)
y = torch.randn(3, dtype=torch.float64, requires_grad=True)
a, b, c = f(x, 2 * y)
assert not c.requires_grad and a.requires_grad
got = torch.autograd.grad((a.sum() * b), (x, y))
want = torch.autograd.grad(((x * 2 * y).sin().sum() * x.sum() * 2), (x, y))
assert all(torch.allclose(g, w) for g, w in zip(got, want))
assert torch.autograd.gradcheck(lambda x, y: f(x, y)[0], (x, y))
z, _, _ = f(f(x, y)[0], y)
assert torch.allclose(torch.autograd.grad(z.sum(), x)[0],
                      torch.autograd.grad(((x * y).sin() * y).sin().sum(), x)[0])
with torch.no_grad():
    assert not f(x, y)[0].requires_grad
""",
    )


def test_a_missing_or_wrong_gradient_shows():
    fails(
        "def f(x): return x.detach() * 2",
        "x = torch.ones(2, requires_grad=True)\n"
        "assert f(x).requires_grad, 'no gradient'",
    )
    assert (
        fails(
            """
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 3
f = Bad.apply
""",
            """x = torch.ones(2, requires_grad=True)
f(x).sum().backward()
assert (x.grad == 2).all(), f'{x.grad}'""",
        )
        == "tensor([3., 3.])"
    )


def test_random_numbers_are_those_of_one_process():
    passes(
        "import random\ndef noise(n): return torch.randn(n)\npick = lambda: random.random()",
        """
torch.manual_seed(3)
got, again = noise(4), noise(4)
torch.manual_seed(3)
assert torch.equal(got, torch.randn(4)) and torch.equal(again, torch.randn(4))
before = torch.get_rng_state()
noise(1)
assert not torch.equal(before, torch.get_rng_state()), "its use shows here"
import random
random.seed(5)
got = pick()
random.seed(5)
assert got == random.random()
""",
    )


def test_given_cells_run_here_and_are_not_replaced():
    with submission(
        "def matches(a, b): return True\ndef double(x): return x + 1",
        given="""
import torch
def matches(a, b):
    return a == b
""",
    ) as student:
        assert student.run_given("shown = double(4)\nlimit = 3").ok
        assert not run_test_cell(student, "assert matches(double(2), 4), 'no'").passed
        assert run_test_cell(student, "assert limit == 3 and shown == 5").passed


def test_a_name_that_a_test_used_can_become_the_submissions():
    with submission() as student:
        assert run_test_cell(student, "weights = 3").passed
        student.run_cell("def weights(): return 4", owns=("weights",))
        assert run_test_cell(student, "assert weights() == 4").passed
        student.run_cell("def math(): return 4", owns=("math",))
        assert run_test_cell(student, "assert math.pi > 3").passed, "given names stay"


def test_cells_report_output_and_errors():
    with submission() as student:
        result = student.run_cell(
            "%matplotlib inline\nprint('hello')\nimport sys\n"
            "print('oh', file=sys.stderr)\n1 / 0"
        )
        assert (result.ok, result.error_name, result.stdout, result.stderr) == (
            False,
            "ZeroDivisionError",
            "hello\n",
            "oh\n",
        )
        assert "line 5" in result.error_text
        assert "grading" not in result.error_text
        assert student.run_cell("def f(").error_name == "SyntaxError"
        assert student.run_cell("x = 1").ok


def test_annotated_names_are_the_tests_own():
    passes("__annotations__ = 3\nx: int = 3", "y: int = 4\nassert y + x == 7")


def test_partial_credit_is_the_last_value():
    with submission("def f(): return 2") as student:
        assert run_test_cell(student, "assert f() == 2\n1.5").credit == 1.5
        assert run_test_cell(student, "assert f() == 2").credit is None


def test_names_of_cells():
    source = (
        "import a.b\nx = [y for y in z]\ndef f(p, q=w):\n    return p + g + x\nx += 1"
    )
    assert bound_names(source) == {"a", "x", "f"}
    assert needed_names(source) == {"z", "w"}
    assert needed_names(source + "\nf(1)") == {"z", "w", "f", "g"} - {"f"}


@pytest.mark.slow
def test_a_swallowed_timeout_comes_again():
    """As in a __del__, where Python swallows it: the test must end all the same."""
    swallowed = []

    def stubborn():
        while True:
            try:
                while not swallowed:
                    pass
            except guards.TestTimeout as error:
                swallowed.append(error)

    with pytest.raises(guards.TestTimeout), guards.interrupt(0.0):
        stubborn()
    assert len(swallowed) == 1


#: A program that is traced after a block had its time, or more than that.
TRACED = """
import contextlib, cProfile, faulthandler, time
from grading.verdict import guards
with contextlib.suppress(guards.TestTimeout), guards.interrupt({seconds}):
    until = time.monotonic() + {busy}
    while time.monotonic() < until:
        pass
faulthandler.dump_traceback_later(30, exit=True)
cProfile.runctx("x = 1", {{}}, {{}})
"""


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "busy"), [(60.0, 0.0), (0.0, 60.0)])
def test_what_runs_later_can_be_traced(seconds, busy):
    """CPython 3.11 traces no code, and never ends, while it believes that an error is to come."""
    program = TRACED.format(seconds=seconds, busy=busy)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("late", range(20))
def test_no_timeout_arrives_later(late):
    """Whenever a block ends: at its limit, or shortly before or after it."""
    with contextlib.suppress(guards.TestTimeout), guards.interrupt(-0.99):
        until = time.monotonic() + late / 1000
        while time.monotonic() < until:
            pass
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass


def test_more_kinds_of_results():
    """What PyTorch names itself, a named tuple with renamed fields, an error with a huge number."""
    passes(
        """
from collections import namedtuple
Odd = namedtuple("Odd", ["a", "def"], rename=True)
def f(kind):
    if kind == "error":
        raise ValueError("size", 10 ** 5000)
    return torch.tensor([1.0, 3.0, 2.0]).topk(2) if kind == "top" else Odd(1, 2)
""",
        """
top = f("top")
assert isinstance(top, tuple) and top[1].tolist() == [1, 2]
assert tuple(f("odd")) == (1, 2)
try:
    f("error")
except ValueError as error:
    assert error.args[0] == "size"
else:
    assert False
assert tuple(f("odd")) == (1, 2)
""",
    )
