"""Tests of grading/verdict/cells.py: modules, objects, changes in place, and what tests pass."""

from grading.verdict.cells import run_test_cell
from tests.grading.wall import fails, passes, submission

SCALE = """
class Scale(nn.Module):
    def __init__(self, size, inner=None):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.register_buffer("calls", torch.tensor(0))
        self.linear = nn.Linear(size, size)
        self.inner = inner
        self.factor = 3
    def forward(self, x):
        self.calls += 1
        return self.linear(x * self.weight * (2 if self.training else 1))
"""


def test_modules():
    passes(
        SCALE,
        """
torch.manual_seed(1)
module = Scale(2)
torch.manual_seed(1)
linear = nn.Linear(2, 2)
assert torch.equal(module.linear.weight, linear.weight), "seeds differ"
assert isinstance(module, nn.Module)
assert [name for name, _ in module.named_parameters()] == [
    "weight", "linear.weight", "linear.bias"]
state = module.state_dict()
assert list(state) == ["weight", "calls", "linear.weight", "linear.bias"]
x = torch.randn(4, 2)
module(x).pow(2).sum().backward()
want = nn.Parameter(torch.ones(2))
linear(x * want * 2).pow(2).sum().backward()
assert torch.allclose(module.weight.grad, want.grad)
assert torch.allclose(module.linear.weight.grad, linear.weight.grad)
assert state["calls"] == 1, "a state dict shares its memory with the module"
module.zero_grad()
assert module.weight.grad is None
assert module.training is True and module.eval().training is False
assert torch.allclose(module(x), linear(x))
module.load_state_dict({**state, "weight": torch.tensor([3.0, 4.0])})
assert module.weight.tolist() == [3.0, 4.0]
with torch.no_grad():
    module.weight.mul_(2)
assert torch.allclose(module(x), linear(x * torch.tensor([6.0, 8.0])))
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
before = module.weight.detach().clone()
module(x).sum().backward()
optimizer.step()
assert not torch.equal(module.weight, before)
assert sum(p.numel() for p in module.parameters()) == 8
assert module.double().weight.dtype == torch.float64
module.factor = 5
assert module.factor == 5 and not hasattr(module, "nothing")
try:
    module.load_state_dict({"weight": torch.ones(2)})
except RuntimeError as error:
    assert "Missing key" in str(error)
import copy
twin = copy.deepcopy(module)
with torch.no_grad():
    twin.weight.zero_()
assert module.weight.any() and not twin.weight.any()
""",
    )


def test_training_in_the_submission_shows_here():
    passes(
        """
def step(parameters, loss_of, lr):
    loss = loss_of()
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p -= lr * p.grad
    return loss.item()
""",
        """
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = step([w], lambda: (w ** 2).sum(), 0.25)
assert loss == 5 and w.tolist() == [0.5, 1.0] and w.grad.tolist() == [2.0, 4.0]
""",
    )


def test_changes_in_place_are_seen():
    solution = """
def add_one(x): x += 1; return x
def grow(items): items.append(3); return items
def rename(table): table["b"] = 1; del table["a"]
def first(x): return x[0]
"""
    passes(
        solution,
        """
x = torch.zeros(2, 3)
view = x[0]
got = add_one(view)
assert view.tolist() == [1, 1, 1] and x[1].tolist() == [0, 0, 0]
got.zero_()
assert not x.any(), "the result shares the argument's memory"
row = first(x)
row.fill_(7)
assert x[0].tolist() == [7, 7, 7]
items, table = [1, 2], {"a": [1]}
assert grow(items) is items and items == [1, 2, 3]
rename(table)
assert table == {"b": 1}
""",
    )
    assert (
        fails(
            solution,
            "x = torch.zeros(2)\nadd_one(x)\n"
            "assert not x.any(), 'changed its argument'",
        )
        == "changed its argument"
    )


def test_beside_truth_values_may_lie_anything():
    """A part of what torch.empty gives: nobody sees the rest. Later ones are checked as well."""
    cell = """
room = torch.full((2, 9), 7, dtype=torch.uint8).view(torch.bool)
def f(n):
    room[:, :n] = torch.arange(2 * n).view(2, n) % 2 == 0
    return room[:, :n]
def flip(n): room[:, :n].logical_not_()
def spoil(): room[0, 1:2].view(torch.uint8).fill_(7)
"""
    test = """
x = f(3)
assert torch.equal(x, torch.tensor([[True, False, True], [False, True, False]])), x
flip(3)
assert torch.equal(x, torch.tensor([[False, True, False], [True, False, True]])), x
assert f(5)[1].tolist() == [False, True, False, True, False]
"""
    passes(cell, test)
    with submission(cell) as student:
        assert run_test_cell(student, "x = f(3)\nflip(3)").passed
        assert not run_test_cell(student, "spoil()").passed
        assert "truth values" in student.lost


def test_only_the_part_of_a_memory_that_was_passed_is_seen():
    passes(
        """
def peek(x): return x.untyped_storage().tolist()
def smash(x):
    x.untyped_storage().fill_(0)
""",
        """
secret = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
assert peek(secret[:2]) == [1, 2, 0, 0]
smash(secret[:2])
assert secret.tolist() == [0, 0, 3, 4]
""",
    )


def test_functions_modules_iterators_and_generators_of_a_test():
    passes(
        """
def apply(f, x): return f(x.clone()) * 2
def total(batches): return sum(batch.sum() for batch in batches)
def draw(generator, n): return torch.rand(n, generator=generator)
def choose(generator): return [generator.random(), generator.randint(1, 100)]
def switch(module):
    modes = [m.training for m in module.modules()]
    module.eval()
    inside = [m.training for m in module.modules()]
    for m, mode in zip(module.modules(), modes):
        m.training = mode
    return modes, inside
class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x): return x + self.inner(x)
""",
        """
import random
w = torch.tensor(3.0, requires_grad=True)
x = torch.tensor([1.0, 2.0], requires_grad=True)
got = apply(lambda t: t * w, x)
assert got.tolist() == [6.0, 12.0]
a, b = torch.autograd.grad(got.sum(), (w, x))
assert a == 6 and b.tolist() == [6.0, 6.0]
assert apply(torch.relu, torch.tensor([-1.0])) == 0 and apply(len, [1, 2]) == 4 if False else True
calls = []
assert apply(lambda t: calls.append(t) or t.mul_(5), torch.ones(1)) == 10 and calls[0] == 5
assert total(iter([torch.ones(2), torch.ones(3)])) == 5
generator, twin = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
assert torch.equal(draw(generator, 3), torch.rand(3, generator=twin))
assert torch.equal(draw(generator, 3), torch.rand(3, generator=twin))
mine, other = random.Random(4), random.Random(4)
assert choose(mine) == [other.random(), other.randint(1, 100)]
assert mine.random() == other.random()
module = nn.Sequential(nn.Linear(2, 2), nn.Identity())
module[1].eval()
assert switch(module) == ([True, True, False], [False, False, False])
assert [m.training for m in module.modules()] == [True, True, False]
residual = Residual(nn.Linear(2, 2))
y = torch.ones(1, 2)
assert torch.equal(residual(y), y + residual.inner(y))
assert residual.inner.training and residual.eval().inner.training is False
assert [name for name, _ in residual.named_parameters()] == ["inner.weight", "inner.bias"]
assert list(residual.state_dict()) == ["inner.weight", "inner.bias"]
residual(y).sum().backward()
assert residual.inner.weight.grad.tolist() == [[1, 1], [1, 1]]
residual.load_state_dict({"inner.weight": torch.eye(2), "inner.bias": torch.zeros(2)})
assert torch.equal(residual(y), 2 * y) and residual.inner.weight[0, 1] == 0
""",
    )


def test_an_error_in_a_function_of_a_test_comes_through():
    passes(
        "def call(f):\n    try:\n        f()\n    except IndexError:\n        return 'seen'",
        """
def broken():
    raise IndexError("here")
assert call(broken) == "seen"
""",
    )


def test_objects_by_reference():
    passes(
        """
import dataclasses, enum
@dataclasses.dataclass
class Point:
    x: int
    y: list
    def shifted(self, by): return Point(self.x + by, self.y)
class Bag:
    def __init__(self, *items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]
    def __iter__(self): return iter(self.items)
    def __enter__(self): return "inside"
    def __exit__(self, *error): return False
def count():
    yield 1
    yield 2
class Colour(enum.Enum):
    RED = 1
""",
        """
point = Point(1, [2])
assert point.x == 1 and point.shifted(2).x == 3 and repr(point) == "Point(x=1, y=[2])"
assert isinstance(point, Point) and not isinstance(3, Point) and not isinstance(Bag(), Point)
assert Point.__name__ == "Point" and point.shifted.__name__ == "shifted"
point.x = 9
assert point.x == 9 and Point(9, [2]) != point, "a proxy is equal to itself only"
assert point == point and Colour.RED.value == 1
bag = Bag(1, 2)
assert len(bag) == 2 and bag[1] == 2 and list(bag) == [1, 2] and 2 in bag and 3 not in bag
with bag as inside:
    assert inside == "inside"
try:
    bag[5]
except IndexError:
    pass
assert list(count()) == [1, 2] and not callable(bag) and callable(Bag)
try:
    len(point)
except TypeError:
    pass
""",
    )


def test_a_test_cannot_make_a_subclass():
    assert "can't make a subclass" in fails("class A: pass", "class B(A):\n    pass")


def test_what_a_test_cannot_pass_is_named():
    message = fails("def f(x): return x", "import types\nf(types.SimpleNamespace(a=1))")
    assert "a test passes a SimpleNamespace" in message


def test_many_calls_leave_nothing_behind():
    with submission(SCALE + "\ndef held(): return torch.zeros(3)") as student:
        result = run_test_cell(
            student, "for _ in range(200):\n    t = held()\n    m = held"
        )
        assert result.passed
        assert len(student.peer.storages.entries) < 20
