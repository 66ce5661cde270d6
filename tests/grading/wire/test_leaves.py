"""Parameters that crossed the wall are forgotten when no test knows them, and not before."""

from __future__ import annotations

from grading.verdict.cells import run_test_cell
from tests.grading.wall import submission

#: A module to be built again and again, and one that the student keeps.
CELL = (
    "def make(): return nn.Linear(3, 2)\n"
    "kept = nn.Linear(3, 2)\n"
    "def total(): return sum(p.sum() for p in kept.parameters())\n"
    "def train(x): kept(x).sum().backward()\n"
    "def double():\n"
    "    with torch.no_grad():\n"
    "        for p in kept.parameters(): p.mul_(2)\n"
    "def grads(): return [p.grad is None for p in kept.parameters()]"
)


def test_modules_built_in_a_loop_leave_the_table_as_it_was() -> None:
    """A hundred modules, each with two parameters that a test looked at."""
    build = "m = make()\nassert m.weight.shape == (2, 3)\nassert m.bias.shape == (2,)"
    sizes = []
    with submission(CELL) as student:
        for _ in range(2):
            assert run_test_cell(student, build).passed
        for _ in range(3):
            loop = "for _ in range(30):\n" + "\n".join(
                f"    {line}" for line in build.splitlines()
            )
            run = run_test_cell(student, loop)
            assert run.passed, run.message
            sizes.append(len(student.peer.leaves.entries))
    assert max(sizes) < 20, sizes
    assert sizes[0] == sizes[-1], sizes


def test_what_happens_to_a_parameter_after_it_was_let_go_is_seen() -> None:
    """New numbers and a gradient, when a test looks at it again; in both directions."""
    with submission(CELL) as student:
        run = run_test_cell(
            student,
            "before = kept.weight.sum().item()\n"
            "assert kept.weight.grad is None\n"
            "double()\n"
            "assert math.isclose(kept.weight.sum().item(), 2 * before, rel_tol=1e-5)\n"
            "train(torch.ones(4, 3))\n"
            "assert torch.equal(kept.weight.grad, torch.full((2, 3), 4.0)), kept.weight.grad\n"
            "kept.weight.grad = None\n"
            "assert grads() == [True, False], grads()\n"
            "with torch.no_grad():\n"
            "    kept.weight.zero_()\n"
            "    kept.bias.fill_(1.5)\n"
            "assert total().item() == 3.0",
        )
    assert run.passed, run.message


def test_what_a_test_does_just_before_it_lets_go_of_a_parameter_is_told() -> None:
    """A gradient that is added to in place, and numbers, after messages about something else."""
    cell = (
        "class M(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.w, self.seen = nn.Parameter(torch.ones(2)), 0\n"
        "    def forward(self): return (self.w * self.w).sum()\n"
        "    def since(self):\n"
        "        old, self.seen = self.seen, self.w._version\n"
        "        return self.seen > old\n"
        "def nothing(): pass\n"
    )
    tests = [
        "m = M()\nfor _ in range(3): m().backward()\n"
        "assert m.w.grad.tolist() == [6, 6], m.w.grad",
        "def step(m):\n"
        "    w = m.w\n    nothing()\n    nothing()\n"
        "    with torch.no_grad(): w.add_(1)\n"
        "m = M()\nstep(m)\nassert m.since() and not m.since()\n"
        "assert m().item() == 8, m()",
    ]
    with submission(cell) as student:
        for test in tests:
            run = run_test_cell(student, test)
            assert run.passed, f"{test}: {run.message}"


def test_a_parameter_that_a_test_holds_is_never_let_go() -> None:
    """By a name, in a list, through a view, or in a graph of autograd."""
    with submission(CELL) as student:
        run = run_test_cell(
            student,
            "named, listed, view = kept.weight, [kept.bias], kept.weight[0]\n"
            "graph = (kept.weight ** 2).sum()\n"
            "for _ in range(5):\n    make().weight\n"
            "graph.backward()\n"
            "assert grads() == [False, True], grads()\n"
            "double()\n"
            "assert torch.equal(view, kept.weight[0])\n"
            "assert named is kept.weight and listed[0] is kept.bias",
        )
    assert run.passed, run.message
