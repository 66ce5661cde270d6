"""Values made to deceive a test or to harm the process that runs it, without a sandbox."""

from __future__ import annotations

import resource
import time

import pytest
import torch

from grading.course.bindings import inner_parts, offered_names
from grading.verdict import guards
from grading.verdict.canary import canary
from grading.verdict.cells import run_test_cell
from grading.wire import tensor_codec
from tests.grading.verdict.test_verdict_attacks import FORGED
from tests.grading.wall import submission


def ends(cell: str, test: str, offers: set[str] | None = None, timeout: float = 20.0):
    """Return how a test ends on a submission of which it may use what the reference offers."""
    with submission(cell, offers={"f"} if offers is None else offers) as student:
        run = run_test_cell(student, test, timeout=timeout)
        return run, student.lost


#: What a function returns, and a test that would believe it in one process.
DECEPTIONS = {
    "a list of two lengths": (
        "class L(list):\n    def __len__(self): return 2\n    def __iter__(self): return iter(())\n"
        "def f(): return L()",
        "got = f()\nassert len(got) == 2\nfor part in got: assert part == 3",
    ),
    "an iterator that is spent": (
        "def f(): return iter([1, 2])",
        "got = f()\nassert len(list(got)) == 2\nfor part in got: assert part == 3",
    ),
    "a number of its own": (
        "class N:\n    def __float__(self): return 3.0\n    __int__ = __index__ = lambda s: 3\n"
        "def f(): return N()",
        "assert math.isclose(f(), 3.0)",
    ),
    "true by itself": (
        "class T:\n    def __bool__(self): return True\ndef f(): return T()",
        "assert bool(f()) is True and not isinstance(f(), object)",
    ),
    "arithmetic by methods": (
        "class T:\n    def sub(self, other): return torch.zeros(1)\ndef f(): return T()",
        "assert f().sub(torch.ones(1)).abs().max() < 1e-6",
    ),
    "a module's arithmetic": (
        "class T(nn.Module):\n    def sub(self, other): return torch.zeros(1)\n"
        "def f(): return T()",
        "assert f().sub(torch.ones(1)).abs().max() < 1e-6",
    ),
    "a shape of its own": (
        "class T:\n    shape = torch.Size([3])\ndef f(): return T()",
        "assert f().shape == (3,)",
    ),
    "a named tuple's arithmetic": (
        "import collections\nT = collections.namedtuple('T', 'sub shape')\n"
        "def f(): return T(lambda other: torch.zeros(1), 3)",
        "assert f().sub(torch.ones(1)).abs().max() < 1e-6",
    ),
    "a module that is a list": (
        "class T(nn.Module):\n    def __len__(self): return 3\ndef f(): return T()",
        "assert len(f()) == 3",
    ),
    "an end of the iteration": (
        "def f(x=0): raise StopIteration",
        "assert all(map(f, [1, 2]))",
    ),
    "a name of its own": (
        "matches = lambda *a: True\ndef f(): return 1",
        "assert matches(f(), 2)",
    ),
    "a name of Python's": (
        "abs = len = lambda *a: 0\ndef f(): return 5",
        "assert abs(f() - 3) < 1",
    ),
}


@pytest.mark.parametrize(("cell", "test"), DECEPTIONS.values(), ids=DECEPTIONS)
def test_what_the_reference_does_not_offer_is_refused(cell: str, test: str) -> None:
    """And the test fails, without an end of the process."""
    run, _ = ends(cell, test)
    assert not run.passed
    assert run.message


def test_what_a_comparison_is_made_with_does_not_reach_the_submission() -> None:
    """A method of a false tensor never sees what was expected."""
    cell = (
        "seen = []\nclass T(nn.Module):\n    def sub(self, other): seen.append(other)\n"
        "    allclose = eq = __sub__ = sub\ndef f(): return T()\ndef count(): return len(seen)"
    )
    test = "got = f()\nfor name in ('sub', 'allclose', 'eq'):\n    " + (
        "try: getattr(got, name)(torch.ones(1))\n    except AttributeError: pass\n"
        "assert count() == 0"
    )
    run, lost = ends(cell, test, {"f", "count"})
    assert (run.passed, lost) == (True, "")


def test_what_the_reference_offers_is_there() -> None:
    """Special methods, attributes with a tensor's name, iterators, parts of modules."""
    reference = (
        "class Cache:\n    size: int = 0\n    def __len__(self): return self.size\n"
        "    def add(self): self.values = [1]\n"
        "def batches():\n    yield 1\n"
        "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])\n"
    )
    offers = offered_names(reference)
    assert {
        "Cache",
        ".size",
        ".__len__",
        ".add",
        ".values",
        "batches",
        ".__next__",
        ".layers",
    } <= (offers)
    test = (
        "cache = Cache(); cache.add()\nassert len(cache) == cache.size == 0\n"
        "assert cache.values == [1] and list(batches()) == [1]\n"
        "model = Model()\nassert len(model.layers) == 2\n"
        "assert [type(part).__name__ for part in model.layers] == ['Linear', 'ReLU']\n"
        "assert model.layers[0].weight.shape == (1, 1)"
    )
    run, _ = ends(reference, test, offers)
    assert run.passed, run.message


#: What a function returns to fill the memory, or to take the time, of the process with the tests.
BOMBS = {
    "a long range": ("def f(): return range(10 ** 9)", "list(f())", "MemoryError"),
    "endless large parts": (
        "def f():\n    while True: yield 'x' * 2_000_000",
        "list(f())",
        "MemoryError|StudentLost|TimeoutError",
    ),
    "keys with one hash": (
        FORGED + "pairs = [[['z', -1000003.0 * n, n], 0] for n in range(100_000)]\n"
        "def f(): forge(value=['d', *pairs])",
        "f()",
        "StudentLost|TimeoutError",
    ),
}


@pytest.mark.parametrize(("cell", "test", "how"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_costs_the_test_only(cell: str, test: str, how: str) -> None:
    """Memory and time are bounded, and afterwards everything works as before."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    started = time.thread_time()
    run, _ = ends(
        cell, test + "\nassert False, 'read'", {"f", ".__iter__", ".__next__"}, 2.0
    )
    assert not run.passed
    assert run.error_name in how.split("|"), (run.error_name, run.message)
    assert time.thread_time() - started < 30
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(list(range(1000))) == 1000


def test_memory_that_an_answer_takes_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too large an answer ends the submission's process, not this one."""
    monkeypatch.setattr(guards, "ROOM", 100 << 20)
    run, _ = ends("def f(): return torch.zeros(30_000_000)", "f()")
    assert not run.passed
    assert run.student_died


#: What comes instead of the answer to a cell.
NO_ANSWERS = {
    "an error": "error={'name': 'E', 'bases': ['KeyError'], 'arguments': ['why']}",
    "an error that can't be made": "error={'name': 'E', 'bases': ['ExceptionGroup'], "
    "'arguments': ['a', 'b']}",
    "changes": "changed=['l', ['t', 'x', ['l']]]",
    "a change that is no pair": "changed=['l', 3]",
    "a list": "value=['l', 1, 2]",
}


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_a_cell_is_answered_with_does_not_stop_the_grader(answer: str) -> None:
    """It costs that cell, or the process."""
    with submission(FORGED + f"forge({answer})\ndef f(): return 1") as student:
        run = student.run_cell("x = 1", 20)
        assert run.student_died == bool(student.lost)
        assert not run_test_cell(student, "assert f() == 1").passed


#: Each answer is five numbers, in a memory of 40 MiB that this side made.
MUCH = """
def f(): return torch.zeros(10 << 20, dtype=torch.float32)[:5]
"""


def test_what_stays_of_an_answer_counts_for_the_next_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a submission of many tests could take the limit for each of them."""
    monkeypatch.setattr(guards, "ROOM", 300 << 20)
    monkeypatch.setattr(tensor_codec, "LARGE", 64 << 20)
    with submission(MUCH) as student:
        before = guards.data_size()
        runs = [run_test_cell(student, f"x{number} = f()") for number in range(9)]
        assert guards.data_size() < before + (400 << 20)
        assert [run.passed for run in (runs[0], runs[-1])] == [True, False]
        assert "too much memory" in runs[-1].message
        student.close()
        assert guards.data_size() < before + (200 << 20)


def test_a_test_process_in_which_tests_cannot_fail_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The canaries sing where a comparison was replaced, and not before."""
    assert canary() == ""
    run, _ = ends("def f(): return 1", "assert f() == 1")
    assert (run.passed, run.tampered) == (True, "")
    for target, name, lie in (
        (torch, "allclose", lambda *a, **k: True),
        (torch, "equal", lambda *a: True),
        (torch.testing, "assert_close", lambda *a, **k: None),
        (torch.Tensor, "all", lambda *a: True),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, lie)
            run, _ = ends("def f(): return 1", "assert f() == 1")
            assert "a check that must fail passes" in run.tampered, name


def test_an_argument_with_a_history_that_is_changed_in_place_keeps_its_gradients() -> (
    None
):
    """As in one process: the change is seen, and belongs to what is differentiated."""
    cell = "def f(x): return x * 2\ndef g(y):\n    y *= 3\n    return y"
    test = (
        "x = torch.ones(2, requires_grad=True)\ny = f(x)\nz = g(y)\n"
        "assert torch.equal(y, torch.full((2,), 6.0)) and torch.equal(z, y), (y, z)\n"
        "gradient, = torch.autograd.grad(z.sum(), x)\n"
        "assert torch.equal(gradient, torch.full((2,), 6.0)), gradient"
    )
    run, _ = ends(cell, test, {"f", "g"})
    assert run.passed, run.message


@pytest.mark.parametrize(
    "text",
    [
        "import grading.bridge.student",
        "from grading.wire import channel",
        "sys.modules['grading.wire.codec']",
        "x = model._wire_peer",
        "open('/proc/self/mem')",
        "get_ipython().ast_transformers.append(1)",
        "libc.ptrace(0)",
        "open(f'/proc/{pid}/maps')",
        "StudentPeer",
    ],
)
def test_words_of_the_graders_inner_parts_are_found(text: str) -> None:
    """A person looks at who writes them."""
    assert inner_parts(f"x = 1\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "# good for grading. Students read this",
        "from upgrading import x",
        "trace = x.diagonal()",
        "process = path / 'proc' / 'self'",
        "student, peer, wire = 1, 2, 3",
        "get_ipython()",
        "gradebook = {}",
        "torch.trace(x)",
    ],
)
def test_ordinary_words_are_not(text: str) -> None:
    """Also those that look like it."""
    assert not inner_parts(text)
