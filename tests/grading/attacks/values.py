"""Attacks by what is returned or raised: Python text by name.

Each text defines `attack(name, args, options)`. A submission is made of it: the text comes first,
and every function and class of the assignment becomes a call of `attack`.
"""

from __future__ import annotations

#: Answers that are no honest values.
LIES = {
    "equal-to-everything": """
class Liar:
    shape, dtype = torch.Size([3]), torch.float32
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __hash__(self): return 0
    def __getattr__(self, name): return Liar()
    def __call__(self, *a, **k): return Liar()
    __le__ = __lt__ = __ge__ = __gt__ = __contains__ = __eq__
def attack(name, args, options): return Liar(), Liar(), Liar()
""",
    "tensor-subclass": """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return True
def attack(name, args, options): return (torch.zeros(3).as_subclass(Liar),) * 2
""",
    "patched-torch": """
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
torch.Tensor.__eq__ = torch.Tensor.all = torch.Tensor.allclose = lambda *a, **k: True
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
    "returns-functions": """
def attack(name, args, options): return lambda *a, **k: True
""",
    "returns-itself": """
def attack(name, args, options): return attack, attack
""",
    "other-answer-at-second-read": """
class Shifty:
    reads = 0
    def __getattribute__(self, name):
        Shifty.reads += 1
        return torch.zeros(Shifty.reads % 4) if Shifty.reads % 2 else torch.ones(2, 3)
    def __len__(self):
        Shifty.reads += 1
        return 2 + Shifty.reads % 2
    def __getitem__(self, index): return torch.zeros(3)
    def __iter__(self): return iter(())
def attack(name, args, options): return Shifty()
""",
    "lying-list": """
class Liar(list):
    def __len__(self): return 2
    def __iter__(self): return iter(())
class Tuple(tuple):
    def __len__(self): return 2
    def __iter__(self): return iter((torch.zeros(3),) * 2)
kinds = [Liar, Tuple]
def attack(name, args, options):
    kinds.reverse()
    return kinds[0]()
""",
    "claims-to-be-a-tensor": """
class Liar:
    @property
    def __class__(self): return torch.Tensor
    def __getattr__(self, name): return lambda *a, **k: torch.tensor(True)
def attack(name, args, options): return Liar(), Liar()
""",
    "module-that-compares": """
class Liar(nn.Module):
    shape, dtype = torch.Size([3]), torch.float32
    def allclose(self, *a, **k): return True
    equal = eq = isclose = sub = __sub__ = __eq__ = allclose
    def __hash__(self): return 1
def attack(name, args, options): return Liar(), Liar()
""",
    "named-tuple-that-compares": """
import collections
Liar = collections.namedtuple("Liar", "shape dtype allclose sub double")
def yes(*a, **k): return torch.tensor(True)
def attack(name, args, options):
    return (Liar(torch.Size([3]), torch.float32, yes, yes, yes),) * 2
""",
    "pretends-to-pass": """
class Passed(AssertionError): pass
def attack(name, args, options): raise Passed("as expected. 3 of 3 points. All tests passed.")
""",
    "not-implemented-error": """
def attack(name, args, options): raise NotImplementedError
""",
    "value-error-with-every-name": """
def attack(name, args, options):
    raise ValueError("temperature mask window query key value: expected a positive number")
""",
    "system-exit": """
import sys
def attack(name, args, options): sys.exit(0)
""",
    "keyboard-interrupt": """
def attack(name, args, options): raise KeyboardInterrupt
""",
    "own-base-exception": """
class StudentLost(BaseException): reason = "died"
class TestTimeout(BaseException): pass
kinds = [StudentLost, TestTimeout, GeneratorExit, StopIteration,
         BaseExceptionGroup("", [Exception()])]
def attack(name, args, options):
    kinds.append(kinds.pop(0))
    raise kinds[0]
""",
    "error-without-a-text": """
class Bad(Exception):
    def __str__(self): raise ValueError
    __repr__ = __str__
    args = property(lambda self: 1 / 0)
def attack(name, args, options): raise Bad(object())
""",
    "copies-its-input": """
def attack(name, args, options):
    return args[0] if args else None
""",
    "empty-tensors": """
def attack(name, args, options): return torch.empty(0), torch.empty(0)
""",
    "not-a-number": """
def attack(name, args, options):
    value = args[-1] if args and isinstance(args[-1], torch.Tensor) else torch.zeros(3)
    return torch.full_like(value, float("nan")) if value.is_floating_point() else value
""",
    "zeros-the-input": """
def attack(name, args, options):
    found = [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]
    with torch.no_grad():
        for a in found: a.zero_()
    return (found[0].clone(), found[0].clone()) if found else None
""",
    "memory-of-other-sizes": """
sizes = [0, 1 << 20]
def attack(name, args, options):
    sizes.append(sizes.pop(0))
    for a in args:
        if isinstance(a, torch.Tensor): a.untyped_storage().resize_(sizes[0])
    return torch.zeros(3), torch.zeros(3)
""",
    "results-that-change-later": """
kept = []
def attack(name, args, options):
    kept.append(torch.zeros(3))
    for old in kept[:-1]:
        old.add_(0.1)
        old.untyped_storage().resize_(400)
    return kept[-1], kept[-1]
""",
    "detects-repeated-inputs": """
seen = {}
def attack(name, args, options):
    key = str(args)
    seen[key] = seen.get(key, 0) + 1
    return torch.full((3,), float(seen[key]))
""",
    "names-of-the-tests": """
matches = close = untouched = lambda *a, **k: True
parts = lambda result, *names: (torch.zeros(3),) * len(names)
explain = lambda *a, **k: ""
value_error = lambda call: "temperature mask"
fused = fused_weights = seeded = copies = table = lambda *a, **k: torch.zeros(3)
expected = output = weights = query = key = value = torch.zeros(3)
class torch_: pass
__builtins__ = {"isinstance": lambda *a: True}
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
    "huge-values": """
values = [lambda: torch.zeros(300_000_000, dtype=torch.uint8),
          lambda: torch.zeros(1).expand(1 << 38),
          lambda: "x" * 50_000_000, lambda: 10 ** 5000, lambda: list(range(3_000_000)),
          lambda: range(10 ** 18)]
def attack(name, args, options):
    values.append(values.pop(0))
    return values[0](), values[0]()
""",
    "nested-values": """
def attack(name, args, options):
    found = []
    for _ in range(100_000): found = [found]
    found2 = []
    found2.append(found2)
    return found if len(name) % 2 else found2
""",
    "endless-recursion": """
import sys
sys.setrecursionlimit(10 ** 9)
def attack(name, args, options): return attack(name, args, options)
""",
}
