"""What occurs twice in a message is one object on the other side, as in a notebook."""

from __future__ import annotations

import pytest

from grading.verdict.cells import run_test_cell
from tests.grading.verdict.test_verdict_attacks import FORGED
from tests.grading.wall import fails, passes, submission


@pytest.mark.parametrize(
    ("cell", "test"),
    {
        "a list as two arguments": (
            "def f(a, b):\n    a.append(1)\n    return len(b)",
            "x = []\nassert f(x, x) == 1 and x == [1], x",
        ),
        "a list in a dict, twice": (
            "def f(d):\n    d['a'][0].append(1)\n    return d['b'] is d['a'][1]",
            "x = [2]\nd = {'a': [x, x], 'b': x}\nassert f(d) and x == [2, 1], d\n"
            "assert d['b'] is x and d['a'][1] is x",
        ),
        "one list as all results": (
            "def f(): return [[0]] * 3",
            "got = f()\ngot[0].append(1)\nassert got == [[0, 1]] * 3, got",
        ),
        "a dict in a result, and beside it": (
            "def f():\n    d = {}\n    return {'a': d}, d",
            "outer, inner = f()\nassert outer['a'] is inner",
        ),
        "equal ones stay two": (
            "def f(): return [[0] for _ in range(3)]",
            "got = f()\ngot[0].append(1)\nassert got == [[0, 1], [0], [0]], got",
        ),
        "what a dict's keys() gives, before a list that changes": (
            "def f(names, found):\n    found.extend(names)",
            "found = []\nf({'a': 1}.keys(), found)\nassert found == ['a'], found",
        ),
    }.values(),
)
def test_one_object_stays_one(cell: str, test: str) -> None:
    """In arguments, in what a call makes of them, and in results."""
    passes(cell, test)


KEEPS = "kept = []\ndef f(x):\n    kept.append(x)\n    return len({id(one) for one in kept})"


#: Keeps what it made of its weight until that changes; None if there is nothing to make anew.
VERSIONED = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.seen = nn.Parameter(torch.zeros(2)), None

    def forward(self, x):
        if self.seen == self.w._version and x == 4:
            return None
        if self.seen != self.w._version:
            self.seen, self.kept = self.w._version, self.w.detach().clone()
        return self.kept * x
"""


@pytest.mark.parametrize(
    ("cell", "test"),
    {
        "one tensor, twice": (
            KEEPS,
            "x = torch.ones(2)\nassert f(x) == f(x) == 1\nassert f(x.clone()) == 2",
        ),
        "one whose numbers a test changes": (
            "kept = {}\ndef f(x):\n"
            "    old = kept.setdefault(id(x), (x, x.tolist()))\n"
            "    return old[0].tolist(), old[1]",
            "x = torch.ones(1)\nf(x)\nx.add_(1)\nassert f(x) == ([2.0], [1.0]), f(x)",
        ),
        "one that is kept with how often it was changed": (
            "kept = {}\ndef f(x):\n"
            "    return kept.setdefault((id(x), x._version), (x, x.sum().item()))[1]",
            "x = torch.ones(2)\nassert f(x) == f(x) == 2\nx.add_(1)\nassert f(x) == f(x) == 4",
        ),
        "one that gets another shape": (
            KEEPS + "\ndef shape(x): return x.shape",
            "x = torch.ones(2)\nf(x)\nx.unsqueeze_(0)\nassert shape(x) == (1, 2), shape(x)",
        ),
        "one of which a test asks gradients later, and then none": (
            KEEPS + "\ndef g(x): return (x * x).sum()",
            "x = torch.ones(2)\nf(x)\nx.requires_grad_()\nassert f(x) == 1, f(x)\n"
            "g(x).backward()\nassert x.grad.tolist() == [2, 2], x.grad\n"
            "x.requires_grad_(False)\nassert f(x) == 1, f(x)\n"
            "assert not g(x).requires_grad\nassert f(x.clone()) == 2",
        ),
        "one of which gradients are asked from the first": (
            KEEPS,
            "x = torch.ones(2, requires_grad=True)\nassert f(x) == f(x) == 1\n"
            "x.requires_grad_(False)\nassert f(x) == 1, f(x)",
        ),
        "one that a copy is made of": (
            KEEPS,
            "import copy\nx = torch.ones(2)\nf(x)\nassert f(copy.deepcopy(x)) == 2",
        ),
        "a weight, by how often a test changed it": (
            VERSIONED,
            "m = M()\nm(3)\nwith torch.no_grad(): m.w.copy_(torch.ones(2))\n"
            "assert m(3).tolist() == [3, 3], m(3)\nassert m(4) is None",
        ),
        "a weight, by how often an optimiser of a test's changed it": (
            VERSIONED,
            "m = M()\nm(3)\nm.w.grad = -torch.ones(2)\n"
            "torch.optim.SGD(m.parameters(), lr=1.0).step()\n"
            "assert m(3).tolist() == [3, 3], m(3)",
        ),
        "a leaf, by how often it was changed": (
            "kept = {}\ndef f(x):\n"
            "    return kept.setdefault((id(x), x._version), (x, x.sum().item()))[1]",
            "x = torch.ones(2, requires_grad=True)\nassert f(x) == f(x) == 2\n"
            "with torch.no_grad(): x.add_(1)\nassert f(x) == f(x) == 4",
        ),
        "one of which nobody counts the changes": (
            "class M(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.w = nn.Parameter(torch.ones(2))\n"
            "    def forward(self, x): return self.w * x",
            "with torch.inference_mode():\n    m, x = M(), torch.ones(2)\n"
            "    assert m(x).tolist() == [1, 1]\n    m.w.add_(1)\n"
            "    assert m(x).tolist() == [2, 2]\nassert m(x).tolist() == [2, 2]",
        ),
        "one in a dict, as a module's last input": (
            "class M(torch.nn.Module):\n    last = None\n"
            "    def forward(self, d):\n"
            "        again, self.last = self.last is d['x'], d['x']\n        return again",
            "m, x = M(), torch.ones(2)\n"
            "assert [m({'x': x}), m({'x': x}), m({'x': x + 0})] == [False, True, False]",
        ),
    }.values(),
)
def test_a_tensor_that_is_kept_is_found_again(cell: str, test: str) -> None:
    """By the object itself: what keeps results so is wrong, or right, as in a notebook."""
    passes(cell, test)


def test_a_tensor_that_nobody_keeps_is_let_go() -> None:
    """On both sides."""
    cell = "import gc\ndef f(x): return x + 1\n" + FORGED
    with submission(cell + "def known(): return len(peer.plain)") as student:
        run = run_test_cell(
            student,
            "for _ in range(50):\n    f(torch.ones(2))\nassert known() < 3, known()",
        )
        assert run.passed, run.message
        assert len(student.peer.plain) < 3


def test_a_container_in_itself_is_named() -> None:
    """No test could walk through it."""
    message = fails("def f():\n    x = []\n    x.append(x)\n    return x", "f()")
    assert "a container that holds itself" in message


@pytest.mark.parametrize(
    "change",
    [
        "value=['l', ['R', 0]]",
        "value=['R', 0]",
        "value=['R', -1]",
        "value=['t', ['l'], ['R', 1]]",
        # 2**45 parts for whoever walks through them
        "value=['l', ['l', 1], *(['l', ['R', n], ['R', n]] for n in range(1, 46))]",
    ],
)
def test_a_forged_place_ends_the_conversation(change: str) -> None:
    """Of a container that is not read yet, of none, or of one that is far too large."""
    cell = FORGED + f"def f(x):\n    forge({change})\n    return x"
    with submission(cell) as student:
        run = run_test_cell(student, "assert f(1) == f(1)")
        assert not run.passed
        assert "sent a value" in student.lost, (run.message, student.lost)


def test_a_process_lets_go_of_arguments_of_calls_that_are_over() -> None:
    """Else an answer that is called often, with much, would run out of memory."""
    cell = "import gc\ndef f(x): return x + 1\n" + FORGED
    with submission(cell + "def pinned(): return len(peer.pins)") as student:
        run = run_test_cell(
            student,
            "for _ in range(50):\n    f(torch.ones(2))\nassert pinned() < 5, pinned()",
        )
    assert run.passed, run.message
