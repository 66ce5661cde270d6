"""What book/teaching-tests.md says that a test may do, and may not: each row is tried.

As in grading: a test uses only what the reference solution offers.
"""

from __future__ import annotations

import re

import pytest

from grading.bridge import student as untrusted  # noqa: F401 - imported before the process is forked
from grading.course.bindings import offered_names
from grading.course.notebooks import ROOT
from grading.verdict.cells import TestRun, run_test_cell
from tests.grading.wall import submission

LAYER = """
class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = nn.Linear(size, size)
        self.drop = nn.Dropout(0.5)
        self.weight = nn.Parameter(torch.ones(size))
        self.register_buffer("seen", torch.tensor(0))
        self.size = size
    def forward(self, x):
        return self.drop(self.inner(x) * self.weight)
    def total(self):
        return self.weight.sum()
"""
CUBE = "def cube(x):\n    return (x ** 3).sum()\n"
VECTOR = """
class Vector:
    def __init__(self, x): self.x = x
    def __add__(self, other): return Vector(self.x + other.x)
    def __eq__(self, other): return self.x == other.x
    def __lt__(self, other): return self.x < other.x
    def __matmul__(self, other): return self.x * other.x
    def __contains__(self, x): return x == self.x
"""

#: The first words of a row of the page: the reference solution, and a test that passes.
WORKS = {
    "call functions": (
        "def same(x, *more, **named): return x, more, named",
        "assert same([1, 2.5, 'a', None], (True,), k={'b': {3}}) == ("
        "[1, 2.5, 'a', None], ((True,),), {'k': {'b': {3}}})\n"
        "assert torch.equal(same(torch.arange(3))[0], torch.arange(3))",
    ),
    "compare results": (
        "def double(x): return 2 * x",
        "x = torch.rand(3)\nassert torch.equal(double(x), x + x) and double(2) == 4\n"
        "assert torch.allclose(double(x), 2 * x) and (double(x) == 2 * x).all()",
    ),
    "build classes": (
        LAYER,
        "layer = Layer(3).eval()\nassert layer(torch.ones(2, 3)).shape == (2, 3)\n"
        "assert layer.total() == 3 and isinstance(layer, nn.Module)",
    ),
    "read and set the attributes": (
        LAYER,
        "layer = Layer(3)\nassert layer.size == 3 and layer.weight.shape == (3,)\n"
        "layer.size = 5\nassert layer.size == 5\nlayer.drop.p = 0.0\nassert layer.drop.p == 0.0",
    ),
    "parameters, buffers": (
        LAYER,
        "layer, other = Layer(2), Layer(2)\n"
        "assert len(list(layer.parameters())) == 3 and len(list(layer.buffers())) == 1\n"
        "other.load_state_dict(layer.state_dict())\nx = torch.ones(1, 2)\n"
        "assert torch.equal(layer.eval()(x), other.eval()(x)) and layer.train().training",
    ),
    "gradients": (
        CUBE,
        "x = torch.ones(2, dtype=torch.float64, requires_grad=True)\ncube(x).backward()\n"
        "assert x.grad.tolist() == [3, 3] and torch.autograd.gradcheck(cube, (x,))\n"
        "assert torch.autograd.grad(cube(x), x)[0].tolist() == [3, 3]",
    ),
    "optimisers": (
        LAYER,
        "layer = Layer(2).eval()\nbefore = layer.weight.detach().clone()\n"
        "optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "layer(torch.ones(1, 2)).sum().backward()\noptimizer.step()\n"
        "assert not torch.equal(layer.weight, before)",
    ),
    "see changes in place": (
        "def spoil(x): return x.add_(1)",
        "x = torch.zeros(2)\nbefore = x.clone()\nspoil(x)\nassert not torch.equal(x, before)",
    ),
    "expect errors": (
        "class Own(ValueError): pass\ndef refuse(): raise Own('size: expected 3')",
        "try:\n    refuse()\nexcept ValueError as error:\n    assert 'size' in str(error)\n"
        "else:\n    assert False",
    ),
    "pass functions, modules": (
        "def apply(f, *x): return f(*x)\ndef add(items): return sum(items)",
        "class Add(nn.Module):\n    def forward(self, x): return x + 1\n"
        "x = torch.ones(2)\nassert torch.equal(apply(lambda t: 2 * t, x), 2 * x)\n"
        "assert torch.equal(apply(Add(), x), x + 1)\n"
        "assert add(iter([1, 2])) == 3",
    ),
    "seed `torch` and `random`": (
        "import random\ndef draw(): return torch.rand(2), random.random()",
        "import random\ntorch.manual_seed(3)\nrandom.seed(4)\ngot = draw()\ntorch.manual_seed(3)\n"
        "random.seed(4)\nassert torch.equal(got[0], torch.rand(2)) and got[1] == random.random()",
    ),
    "pass generators of": (
        "def draw(g, r): return torch.rand(2, generator=g), r.random()",
        "import random\ngot = draw(torch.Generator().manual_seed(1), random.Random(2))\n"
        "assert torch.equal(got[0], torch.rand(2, generator=torch.Generator().manual_seed(1)))\n"
        "assert got[1] == random.Random(2).random()",
    ),
    "forward hooks": (
        LAYER,
        "layer, seen = Layer(2), []\nx = torch.ones(1, 2, requires_grad=True)\n"
        "layer.inner.register_forward_hook(lambda m, i, o: seen.append(o.shape))\n"
        "x.register_hook(seen.append)\nlayer(x).sum().backward()\nassert seen[0] == (1, 2)\n"
        "assert len(seen) == 2",
    ),
    "NumPy arrays": (
        "def f(a): return a * 2",
        "import numpy as np\nassert f(np.arange(3)).tolist() == [0, 2, 4]",
    ),
    "`isinstance` with": (
        LAYER,
        "import copy\nlayer = Layer(2)\ntwin = copy.deepcopy(layer)\n"
        "assert isinstance(layer, Layer) and isinstance(twin, Layer)\n"
        "assert torch.equal(twin.weight, layer.weight) and not isinstance(3, Layer)",
    ),
    "generators and closures": (
        "def batches(n):\n    yield from range(n)\ndef adder(a):\n    return lambda x: x + a",
        "found = batches(4)\nassert next(found) == 0 and list(found) == [1, 2, 3]\n"
        "assert adder(2)(3) == 5",
    ),
}

#: Likewise: the solution, and a test that would pass in one process and fails here.
FAILS = {
    "make a subclass": ("class A: pass", ["class B(A): pass"]),
    "`inspect`": (
        "def f(x):\n    'Doc.'\n",
        [
            "import inspect\nassert list(inspect.signature(f).parameters) == ['x']",
            "assert f.__doc__ == 'Doc.'",
            "f.__code__",
            "import inspect\ninspect.getsource(f)",
        ],
    ),
    "a second derivative": (
        CUBE,
        [
            "x = torch.ones(2, requires_grad=True)\n"
            "g, = torch.autograd.grad(cube(x), x, create_graph=True)\ng.sum().backward()\n"
            "assert x.grad.tolist() == [6, 6]",
            "assert torch.autograd.functional.hessian(cube, torch.ones(2))[0, 0] == 6",
        ],
    ),
    "`torch.func`": (
        CUBE,
        [
            "assert torch.func.grad(cube)(torch.ones(2)).tolist() == [3, 3]",
            "assert torch.func.vmap(cube)(torch.ones(2, 2)).tolist() == [2, 2]",
            "assert torch.func.jacrev(cube)(torch.ones(2)).tolist() == [3, 3]",
            "import torch.autograd.forward_ad as fwd\nwith fwd.dual_level():\n"
            "    d = cube(fwd.make_dual(torch.ones(2), torch.ones(2)))\n"
            "    assert fwd.unpack_dual(d).tangent == 6",
        ],
    ),
    "operators between objects": (
        VECTOR,
        [
            "assert (Vector(1) + Vector(2)).x == 3",
            "assert Vector(1) == Vector(1)",
            "assert Vector(1) < Vector(2)",
            "assert Vector(2) @ Vector(2) == 4",
            "assert 5 in Vector(5)",
        ],
    ),
    "seed NumPy": (
        "import numpy as np\ndef f(): return float(np.random.rand())",
        [
            "import numpy as np\nnp.random.seed(3)\ngot = f()\nnp.random.seed(3)\n"
            "assert got == np.random.rand()"
        ],
    ),
    "pass an object of a class": (
        "def f(c): return c.x",
        [
            "import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: int = 3\n"
            "assert f(C()) == 3"
        ],
    ),
    "sparse, quantised": (
        "class Own(torch.Tensor): pass\n"
        "def f(kind):\n    x = torch.ones(2, 2)\n"
        "    return {'sparse': x.to_sparse, 'own': lambda: x.as_subclass(Own),\n"
        "            'meta': lambda: x.to('meta'),\n"
        "            'quantised': lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),\n"
        "            'nested': lambda: torch.nested.nested_tensor([x])}[kind]()",
        [f"f('{kind}')" for kind in ("sparse", "own", "meta", "quantised", "nested")],
    ),
    "catch what": (
        "import warnings\ndef f():\n    print('hello')\n    warnings.warn('old')",
        [
            "import contextlib, io\ntext = io.StringIO()\nwith contextlib.redirect_stdout(text):\n"
            "    f()\nassert 'hello' in text.getvalue()",
            "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n    f()\nassert seen",
        ],
    ),
    "replace a function": (
        "def f(x): return torch.softmax(x, -1)",
        [
            "from unittest import mock\nwith mock.patch.object(torch, 'softmax') as made:\n"
            "    f(torch.ones(2))\nassert made.called"
        ],
    ),
    "see what autograd keeps": (
        CUBE,
        [
            "kept = [0]\nhooks = torch.autograd.graph.saved_tensors_hooks\n"
            "with hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):\n"
            "    cube(torch.ones(7, requires_grad=True))\nassert max(kept) == 7"
        ],
    ),
    "set a global name": ("k = 2\ndef f(): return k", ["k = 5\nassert f() == 5"]),
    "attributes of a student's exception": (
        "class Own(ValueError):\n    def __init__(self):\n        super().__init__('x')\n"
        "        self.code = 4\ndef f(): raise Own()",
        ["try:\n    f()\nexcept ValueError as error:\n    assert error.code == 4"],
    ),
    "`torch.jit`": (
        CUBE,
        [
            "torch.jit.script(cube)",
            "torch.compile(cube, backend='eager')(torch.ones(2))",
        ],
    ),
}


def run(solution: str, test: str) -> TestRun:
    """Run a test on a solution, which is its own reference."""
    with submission() as student:
        student.peer.offer.strict = True
        assert student.run_cell(
            solution, 60, owns=tuple(sorted(offered_names(solution)))
        ).ok
        return run_test_cell(student, test, timeout=60)


@pytest.mark.parametrize("row", WORKS)
def test_what_works(row: str) -> None:
    """Each row of the first table."""
    found = run(*WORKS[row])
    assert found.passed, f"{found.error_name}: {found.message}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("row", "number"), [(row, n) for row in FAILS for n in range(len(FAILS[row][1]))]
)
def test_what_does_not_work(row: str, number: int) -> None:
    """Each row of the second table fails, and the submission's process lives on."""
    solution, tests = FAILS[row]
    found = run(solution, tests[number])
    assert not found.passed
    assert not found.student_died


def test_a_test_uses_only_what_the_solution_offers() -> None:
    """An object with a length that the reference's has not."""
    answer = "class Bag:\n    def __len__(self): return 3\ndef make(): return Bag()"
    for offered, passed in (
        (answer, True),
        ("class Bag: pass\ndef make(): pass", False),
    ):
        with submission() as student:
            student.peer.offer.strict = True
            student.run_cell(answer, 60, owns=tuple(sorted(offered_names(offered))))
            assert run_test_cell(student, "assert len(make()) == 3").passed is passed


def test_the_page_has_these_rows() -> None:
    """Each row of the page is tried here, and each one tried here is on the page."""
    page = (ROOT / "book" / "teaching-tests.md").read_text(encoding="utf-8")
    for heading, rows in (("### What works", WORKS), ("### What does not work", FAILS)):
        table = page.partition(heading)[2].partition("\n\n|")[2].partition("\n\n")[0]
        firsts = [line.split(" | ")[0].strip("| ") for line in table.splitlines()[2:]]
        assert len(firsts) == len(rows)
        for first in firsts:
            assert sum(first.startswith(row) for row in rows) == 1, first
    assert re.search(r"^\(teaching-forms\)=$", page, re.MULTILINE)
