"""Attacks on the verdict: none gains a point, each ends in a defined state, nothing leaks."""

import pytest
import torch

from grading.bridge import proxies
from grading.verdict.cells import run_test_cell
from tests.grading.wall import submission

#: What the next test cell asks of every submission here; the right answer is `x * 2`.
TEST = """
x = torch.tensor([1.0, 2.0, 3.0])
expected = x * 2  # canary-3141592
got = f(x)
assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
assert got.shape == expected.shape and torch.allclose(got, expected), f"wrong: {got}"
torch.testing.assert_close(got, expected)
"""


def verdict(
    *cells: str, timeout: float = 20.0, call_timeout: float = 20.0, test: str = TEST
):
    """Return how a test ends on a submission, and a second test that needs nothing of it."""
    with submission(*cells, call_timeout=call_timeout) as student:
        return run_test_cell(student, test, timeout=timeout), student.lost


def test_the_right_answer_passes():
    assert verdict("def f(x): return x * 2")[0].passed


LIES = {
    "equal to everything": """
class Liar:
    shape = torch.Size([3])
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __getattr__(self, name): return Liar()
    def __call__(self, *a, **k): return True
def f(x): return Liar()
""",
    "a tensor subclass": """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
def f(x): return x.as_subclass(Liar)
""",
    "a parameter subclass": """
class Liar(nn.Parameter):
    def __eq__(self, other): return True
def f(x): return Liar(x)
""",
    "allclose is patched": """
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__eq__ = lambda *a: True
torch.Tensor.all = lambda *a: True
def f(x): return x
""",
    "sys.modules is replaced": """
import sys, types
for name in list(sys.modules):
    if name.startswith(("grading", "torch")):
        sys.modules[name] = types.ModuleType(name)
def f(x): return x
""",
    "sys.exit": "import sys\ndef f(x): sys.exit(0)",
    "KeyboardInterrupt": "def f(x): raise KeyboardInterrupt",
    "GeneratorExit": "def f(x): raise GeneratorExit",
    "its own AssertionError": "def f(x): raise AssertionError('')",
    "StopIteration": "def f(x): raise StopIteration",
    "an exception whose text fails": """
class Bad(Exception):
    def __str__(self): raise ValueError
def f(x): raise Bad(object())
""",
    "deep recursion": "def f(x): return f(x)",
    "a deep list": """
def f(x):
    found = []
    for _ in range(100_000): found = [found]
    return found
""",
    "a cycle": "def f(x):\n    found = []\n    found.append(found)\n    return found",
    "a huge reply": "def f(x): return 'x' * 50_000_000",
    "a huge tensor": "def f(x): return torch.zeros(300_000_000, dtype=torch.uint8)",
    "a huge view": "def f(x): return torch.zeros(1).expand(1 << 38)",
    "megabytes printed": "def f(x):\n    for _ in range(3000): print('x' * 10_000)\n    return x",
    "a huge number": "def f(x): return 10 ** 5000",
    "sparse": "def f(x): return (x * 2).to_sparse()",
    "meta": "def f(x): return x.to('meta')",
    "a class that claims to be a tensor": """
class Liar:
    @property
    def __class__(self): return torch.Tensor
def f(x): return Liar()
""",
    "lying arithmetic": """
class Liar:
    def __sub__(self, other): return torch.zeros(3)
    __rsub__ = __add__ = __sub__
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __eq__ = __contains__ = __lt__
    def allclose(self, *other, **options): return True
    equal = eq = isclose = allclose
def f(x): return Liar()
""",
    "a string subclass": """
class Liar(str):
    def __eq__(self, other): return True
def f(x): return Liar('a')
""",
    "inference mode": "def f(x):\n    with torch.inference_mode(): return x * 3",
    "nothing defined": "",
    "its own matches and torch": "torch = None\nx = expected = got = 3\ndef f(x): return x",
    "the argument is changed": "def f(x):\n    x.fill_(float('nan'))\n    return x",
    "the argument is resized": "def f(x):\n    x.resize_(1000)\n    return x",
    "a result without its memory": """
def f(x):
    found = x * 2
    found.untyped_storage().resize_(0)
    return found
""",
}


@pytest.mark.parametrize("cell", LIES.values(), ids=LIES)
def test_lies_and_failures_fail_and_the_process_lives(cell):
    result, lost = verdict(cell)
    assert not result.passed
    assert result.message
    assert len(result.message) <= 10_000
    assert not lost


LOSSES = {
    "builtins are patched": (
        "died",
        """
import builtins
builtins.isinstance = lambda *a: True
builtins.all = builtins.any = lambda *a: True
builtins.AssertionError = KeyError
def f(x): return x
""",
    ),
    "os._exit": ("died", "import os\ndef f(x): os._exit(0)"),
    "a signal": ("died", "import os\ndef f(x): os.kill(os.getpid(), 9)"),
    "os._exit in the cell": ("died", "import os\nos._exit(0)"),
    "endless": ("time", "def f(x):\n    while True: pass"),
    "asleep in a bare except": (
        "time",
        """
import time
def f(x):
    while True:
        try: time.sleep(1000)
        except: pass
""",
    ),
    "endless iterator": (
        "time",
        """
def f(x):
    while True: yield x
""",
    ),
    "garbage in the channel": (
        "wire",
        """
import gc, os
def f(x):
    from grading.wire.channel import Channel
    channel = next(o for o in gc.get_objects() if type(o) is Channel)
    os.write(channel.write_fd, b"garbage" * 100)
""",
    ),
    # PyTorch would read what lies behind it, in the trusted process.
    "the memory of an argument shrinks": (
        "wire",
        """
def f(x):
    x.untyped_storage().resize_(4)
    return torch.zeros(3)
""",
    ),
    "the channel is closed": ("died", "import os\ndef f(x): os.closerange(3, 4096)"),
}

FORGED = """
import gc
from grading.bridge.student import StudentPeer
peer = next(o for o in gc.get_objects() if type(o) is StudentPeer)
def forge(**changes):
    compose = peer.compose
    def changed(*a, **k):
        message = compose(*a, **k)
        message.update({name: value for name, value in changes.items()})
        return message
    peer.compose = changed
"""
FORGERIES = {
    "another number": "number=77",
    "no number": "number=None",
    "an unknown tag": "value=['?', 1]",
    "a tensor that is not there": "value=['T', 5]",
    "a tensor before the first": "value=['T', -1]",
    "a tensor outside its memory": "value=['T', 0], tensors=[{'s': 0, 'dt': 'float32', "
    "'sh': [100], 'st': [1], 'of': 0}]",
    "a negative stride": "value=['T', 0], tensors=[{'s': 0, 'dt': 'float32', 'sh': [3], "
    "'st': [-1], 'of': 2}]",
    "a tensor of 2**38 numbers": "value=['T', 0], tensors=[{'s': 0, 'dt': 'float32', "
    "'sh': [1 << 38], 'st': [0], 'of': 0}]",
    "a tensor of 2**27 numbers in one": "value=['T', 0], tensors=[{'s': 0, 'dt': 'int8', "
    "'sh': [1 << 27], 'st': [0], 'of': 0}]",
    "an object array": "value=['N', '|O', [1], 0, False], blobs=[bytes(8)]",
    "a callable that no test passed": "value=['X', 0]",
    "a request for anything": "request='exec', source='1'",
    "a leaf of the trusted side": "tensors=[{'k': 'leaf', 'id': 40, 's': 0, 'dt': 'float32', "
    "'sh': [1], 'st': [1], 'of': 0}]",
    "a history without leaves": "value=['T', 0], graph={'call': 0, 'outputs': [0], 'inputs': [], "
    "'kept': []}",
    "changes that are none": "changed=[[0, 3]]",
    "changes of what was not passed": "changed=['l', ['t', 7, ['l']]]",
    "an error that is none": "error='text'",
    "an error with a class": "error={'name': 3, 'bases': [], 'arguments': []}",
    "generators that no test passed": "generators=[[5, 'torch', '00']]",
    "a new memory with a taken number": "new=[[0, 0]], blobs=[bytes(4)]",
    "lists as numbers": "gone={'calls': [[]], 'storages': [{}], 'leaves': [], 'sent': [], "
    "'refs': []}",
    "held memories without numbers": "held=[[0], [None]]",
    "held memories of one kind": "held=[[0]]",
    "a memory let go": "gone={'calls': [], 'storages': [0], 'leaves': [], 'sent': [], 'refs': []}",
    "a leaf let go": "gone={'calls': [], 'storages': [], 'leaves': [40], 'sent': [], 'refs': []}",
    "no parts": "gone=None, new=None, sync=None, leaves=None",
    "truth values that are 7": "value=['T', 0], new=[[99, 0]], sync=[], blobs=[bytes([7, 7, 7])], "
    "tensors=[{'s': 99, 'dt': 'bool', 'sh': [3], 'st': [1], 'of': 0}]",
}


@pytest.mark.parametrize(
    "lines",
    [
        # The second half of a memory of which only the first was passed; what follows a view.
        (
            "def f(x): return torch.as_strided(x, (3,), (1,), 3)",
            "both = torch.randn(2, 3)\nx, want = both[0], both[1]",
        ),
        (
            "def f(x): return x.as_strided((2, 3), (5, 1), 2)",
            "text = torch.arange(10).view(2, 5)\nx, want = text[:, :3], text[:, 2:]",
        ),
    ],
)
def test_what_lies_beside_an_argument_stays_hidden(lines):
    cell, data = lines
    result, lost = verdict(cell, test=f"{data}\nassert torch.equal(f(x), want)")
    assert not result.passed
    assert "memory that it was not given" in lost
    same = f"{data}\nassert torch.equal(f(x), x[..., 1:].flip(0))"
    assert verdict("def f(x): return x[..., 1:].flip(0)", test=same)[0].passed
    assert verdict("def f(x): return x[..., 1:]", test=same.replace(".flip(0)", ""))[
        0
    ].passed


@pytest.mark.parametrize(("reason", "cell"), LOSSES.values(), ids=LOSSES)
def test_a_process_that_is_lost_is_named(reason, cell):
    test = (
        TEST + "\n"
        if reason != "time"
        else TEST.replace("got = f(x)", "got = list(f(x))")
    )
    with submission(cell, call_timeout=3.0) as student:
        result = run_test_cell(student, test, timeout=1.5)
        assert (result.passed, result.student_died) == (False, True)
        assert student.peer.lost.reason == reason
        again = run_test_cell(student, "f(1)")
        assert (again.passed, again.student_died) == (False, True)


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_answers_fail(change):
    cell = FORGED + f"def f(x):\n    forge({change})\n    return x"
    result, lost = verdict(cell)
    assert not result.passed
    assert result.student_died
    assert "sent" in lost


def test_a_view_far_larger_than_its_memory_does_not_arrive():
    """It would cost its sender nothing, and a product of two of them minutes in one call."""
    view = "torch.ones(1, dtype=torch.int8).expand(12000, 12000)"
    result, lost = verdict(f"def f(x): return {view}", test="f(1)")
    assert not result.passed
    assert not lost
    assert "a tensor of 144000000 bytes" in result.message
    forged = FORGERIES["a tensor of 2**27 numbers in one"]
    cell = FORGED + f"def f(x):\n    forge({forged})\n    return x"
    assert "far larger than its memory" in verdict(cell)[1]
    small = f"def f(x): return {view.replace('12000, 12000', '1000, 1000')}"
    assert verdict(small, test="assert f(1).sum() == 10**6")[0].passed


def test_no_except_of_a_test_hides_a_lost_process():
    test = "try:\n    f(1)\nexcept Exception:\n    pass\n"
    result, _ = verdict("import os\ndef f(x): os._exit(0)", test=test)
    assert not result.passed
    test = "try:\n    f(1)\nexcept:\n    pass\n"
    result, _ = verdict("import os\ndef f(x): os._exit(0)", test=test)
    assert not result.passed


def test_an_endless_test_ends():
    with submission("def f(x): return 1") as student:
        assert not run_test_cell(student, "assert f(1) == 2").passed
        assert not student.interrupted
        result = run_test_cell(student, "while True: pass", timeout=0.2)
    assert not result.passed
    assert result.error_name == "TimeoutError"
    assert student.interrupted


def test_the_tests_are_nowhere_in_the_process():
    spy = """
import gc, sys, os
def f(x):
    found = []
    frame = sys._getframe()
    while frame:
        found.append(repr(frame.f_code.co_consts) + repr(list(frame.f_locals)))
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing) in (list, tuple, dict):
            parts = thing.values() if type(thing) is dict else thing
            found += [part for part in parts if type(part) is str]
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            place, modes = line.split()[:2]
            if "rw" not in modes or "[v" in line:
                continue
            start, end = [int(n, 16) for n in place.split("-")]
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            # In two parts: what looks for the secret must not hold it.
            if any(part[:7] == b"2718281" for part in data.split(b"canary-")[1:]):
                return "in memory"
    return "found" if any(part[:7] == "2718281" for text in found
                          for part in text.split("canary-")[1:]) else "clean"
"""
    # The secret is made after the fork, as a test is read after it.
    number = 2718281
    test = "assert f(torch.ones(1)) == 'clean', f(torch.ones(1))"
    with submission(spy) as student:
        result = run_test_cell(student, f"secret = 'canary-{number}'\n{test}")
        assert result.passed, result.message
        # The spy does see what it is told.
        result = run_test_cell(
            student, f"told = f.__name__, f('canary-{number}')\n{test}"
        )
        assert not result.passed


def test_a_submission_can_use_a_module_of_a_test_only_as_a_module():
    spy = """
def f(module):
    found = []
    for name in ["__globals__", "_modules", "__class__", "__dict__", "secret", "register_buffer",
                 "apply", "forward"]:
        for what in ("get", "method", "set", "next", "eval", "parts"):
            try:
                found.append(module._wire_peer.request(
                    "use", {"call": [[name], {}]}, target=0, what=what))
            except Exception as error:
                pass
    return found
"""
    test = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret = ["expected"]
    def forward(self, x):
        return x
module = Inner()
assert f(module) == [], f(module)
assert module.training
"""
    with submission(spy) as student:
        result = run_test_cell(student, test)
    assert result.passed, result.message


@pytest.mark.parametrize(
    "modes",
    [
        [False, False, "int64"],
        [False, True, "int64"],
        [False, False, "bool"],
        [False, False, "complex64"],
        [False, False, "no type"],
        [0, 0, "float32"],
        [False, False],
    ],
    ids=str,
)
def test_modes_that_no_process_has_switch_nothing_off_here(modes):
    """Else all who are graded afterwards would lose what asks for a gradient."""
    spy = f"""
def f(function):
    peer = function._wire_peer
    peer.prepare = lambda message: message.update(modes={modes!r})
    try: function(1)
    except Exception: pass
"""
    with submission(spy) as student:
        result = run_test_cell(student, "f(lambda x: x)")
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert torch.get_default_dtype() is torch.float32
    assert (result.passed, result.error_name) == (False, "StudentLost")
    assert "modes that no process has" in result.message


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_modes_last_as_long_as_a_call(dtype):
    """A submission's own hold where it calls back, and are undone."""
    spy = f"""
def f(function):
    torch.set_default_dtype({dtype})
    with torch.inference_mode():
        return function()
"""
    test = f"""
def modes():
    return str(torch.get_default_dtype()), torch.is_grad_enabled()
assert f(modes) == ({str(dtype)!r}, False)
assert modes() == ("torch.float32", True)
"""
    with submission(spy) as student:
        result = run_test_cell(student, test)
    assert result.passed, result.message


def test_a_verdict_where_gradients_are_off_is_worth_nothing():
    """Whatever switched them off: it is told, and the next submission has them."""
    with submission("def f(): return 1") as student:
        result = run_test_cell(student, "torch.set_grad_enabled(False)\nassert f()")
    torch.set_grad_enabled(True)
    assert result.tampered == "gradients are switched off"


def test_a_function_of_a_test_is_only_called():
    spy = """
def f(function):
    found = [name for name in dir(function) if name in ("__globals__", "__code__", "__closure__")]
    for what in ("get", "method", "set", "next"):
        try:
            found.append(function._wire_peer.request(
                "use", {"call": [["__globals__"], {}]}, target=0, what=what))
        except AttributeError:
            pass
    return found
"""
    with submission(spy) as student:
        result = run_test_cell(student, "assert f(lambda: 1) == [], f(lambda: 1)")
    assert result.passed, result.message


def test_calls_back_and_forth_without_end_are_an_error():
    test = "def back(f2): return f2(back)\nf(back)"
    result, lost = verdict("def f(back): return back(f)", test=test)
    assert (result.passed, result.error_name, lost) == (False, "RecursionError", "")


@pytest.mark.parametrize(
    "test",
    [
        "assert f(1) == 3",
        "assert f(1) - 3 == 0",
        "assert f(1) < 3",
        "assert f(1) <= 3",
        "assert 3 in f(1)",
        "assert f(1).allclose(torch.ones(1))",
        "assert f(1).eq(3)",
        "assert not f(1) != 3",
        "assert 3 == f(1)",
        "assert abs(3 - f(1)) < 1",
    ],
)
def test_no_comparison_is_decided_by_the_submission(test):
    result, lost = verdict(LIES["lying arithmetic"], test=test)
    assert (result.passed, lost) == (False, "")


def test_a_proxy_has_only_the_methods_that_are_allowed():
    names = '["__eq__", "__sub__", "__getattr__", "__class__", "__del__", "__len__"]'
    cell = FORGED + (
        "class A:\n    def __eq__(self, o): return True\n    def __len__(self): return 4\n"
        f"def f(x):\n    forge(value=['P', 50, {{'type': 'A', 'special': {names}, 'module': 0}}])\n"
        "    return A()"
    )
    with submission(cell) as student:
        assert run_test_cell(student, "got = f(1)").passed
        kind = type(student.namespace()["got"])
        assert kind.__eq__ is object.__eq__
        assert "__len__" in vars(kind)
        assert not {"__eq__", "__sub__", "__getattr__", "__del__"} & vars(kind).keys()


def test_questions_without_end_end():
    with submission("def keep(f):\n    global kept\n    kept = f") as student:
        assert run_test_cell(student, "keep(lambda: None)").passed
        result = student.run_cell("while True: kept()", 0.5)
        assert (result.ok, result.student_died) == (False, True)
        assert student.peer.lost.reason == "time"


def test_values_of_a_submission_are_of_plain_classes():
    cell = (
        "class Int(int):\n    def __eq__(self, o): return True\n    __hash__ = None\n"
    )
    result, _ = verdict(cell + "def f(x): return Int(3)", test="assert f(1) == 4")
    assert not result.passed


def test_proxies_have_no_way_to_the_peer_by_name():
    with submission("class A: pass\na = A()") as student:
        proxy = student.namespace()["a"]
        assert isinstance(proxy, proxies.Proxy)
        with pytest.raises(AttributeError):
            _ = proxy.peer
        with pytest.raises(AttributeError):
            _ = proxy.__array__


def test_functions_of_an_earlier_test_can_be_had_again():
    """And nothing else of it: no assert, no call."""
    test = (
        "import math as m\nassert f(1) == 5, 'no'\ndef half(x): return m.floor(x / 2)\n"
        "def late(x=f(1)): return x\nclass Box: pass\nvalue = f(1)"
    )
    with submission(
        "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)"
    ) as student:
        student.namespace().recall(test)
        again = run_test_cell(
            student,
            "assert (half(5), Box.__name__) == (2, 'Box')\n"
            "assert f(1) == late() + 1 == 2\nvalue",
        )
    assert again.error_name == "NameError", again.message
