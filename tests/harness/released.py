"""Released functions, tried as answers: none of them may give what a task asks for.

Students have every function of the release: those of the given cells, and those that visible tests
define. One run of the reference solutions notes each call that a test makes, and what came of it.
Then each released function is called with the same arguments: all of them or some, in any order,
and with its weights in place of a module.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import json
import signal
import tempfile
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from grading.course.bindings import bound_names
from grading.course.notebooks import split_hidden
from tests.harness import assignment as form
from tests.harness.cheats import copy_of, instrumented, leaves
from tests.harness.runner import run

#: Seconds for a cell; the last one tries all functions.
LIMIT = 300
#: Calls of one function of a task that are tried, of a visible test and of a hidden one each.
CALLS = 4
#: Seconds of computing for one call of a released function.
SLOW = 0.5
#: Calls with more numbers than that only cost time.
LARGE = 10_000
#: With more arguments than that, they keep their order.
FEW = 4


@dataclass
class Call:
    """One call of a function of a task, its arguments in order, and the values that came of it."""

    name: str
    arguments: list
    values: list[torch.Tensor]


class Probe:
    """Notes calls of tests and released functions, and compares them at the end."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.calls: dict[tuple[str, bool], list[Call]] = {}
        self.released: list[tuple[str, Callable]] = []
        self.hidden, self.inside, self.trying = False, False, False

    def wrap(self, before: set[str], namespace: dict) -> None:
        """Wrap what a solution cell defined: functions, and the methods of classes."""
        for name in [name for name in namespace if name not in before]:
            value = namespace[name]
            if isinstance(value, types.FunctionType):
                namespace[name] = self.wrapped(name, value)
            elif isinstance(value, type):
                for part, method in list(vars(value).items()):
                    if isinstance(method, types.FunctionType) and part != "__init__":
                        setattr(value, part, self.wrapped(f"{name}.{part}", method))

    def wrapped(self, name: str, real: Callable) -> Callable:
        """Return a function that notes the calls of tests."""
        signature = inspect.signature(real)

        @functools.wraps(real)
        def answer(*arguments: object, **options: object) -> object:
            if self.trying:
                raise NotImplementedError  # what calls an answer needs one
            known = self.calls.setdefault((name, self.hidden), [])
            if self.inside or len(known) >= CALLS:
                return real(*arguments, **options)
            given = signature.bind(*arguments, **options)
            given.apply_defaults()
            given = [copied(value) for value in given.arguments.values()]
            self.inside = True
            try:
                result = real(*arguments, **options)
                result = list(result) if inspect.isgenerator(result) else result
            finally:
                self.inside = False
            values = telling(result, given)
            if values and sum(map(size, leaves(given))) <= LARGE:
                known.append(Call(name, given, values))
            return iter(result) if inspect.isgeneratorfunction(real) else result

        return answer

    def collect(self, names: list[str], namespace: dict) -> None:
        """Note the functions among the names that a released cell bound."""
        found = [
            (name, namespace[name]) for name in names if callable(namespace.get(name))
        ]
        self.released += [  # a module is of a class of the answer's, or of the library's
            (name, value) for name, value in found if not isinstance(value, nn.Module)
        ]

    def report(self) -> None:
        """Write down which function gives a value of which task, and for how many calls."""
        self.trying = True
        signal.signal(signal.SIGVTALRM, give_up)
        found: dict[str, int] = {}
        for calls in self.calls.values():
            for call, (name, helper) in itertools.product(calls, self.released):
                if any(
                    gives(helper, chosen, call.values)
                    for chosen in choices(helper, call)
                ):
                    pair = f"{name} for {call.name}"
                    found[pair] = found.get(pair, 0) + 1
        self.path.write_text(json.dumps(found))


def copied(value: object) -> object:
    """Return a copy of an argument, the weights of a module in its place."""
    return copy_of(dict(value.state_dict()) if isinstance(value, nn.Module) else value)


def telling(result: object, arguments: list) -> list[torch.Tensor]:
    """Return the tensors in a result that are neither an argument nor one number throughout."""
    given = [leaf for leaf in leaves(arguments) if isinstance(leaf, torch.Tensor)]
    found = [
        leaf.detach().clone()
        for leaf in leaves(result)
        if isinstance(leaf, torch.Tensor)
    ]
    return [
        value
        for value in found
        if value.numel() > 1
        and (value != value.flatten()[0]).any()
        and not any(same(value, leaf) for leaf in given)
    ]


def size(leaf: object) -> int:
    """Return how many numbers a leaf holds."""
    return leaf.numel() if isinstance(leaf, torch.Tensor) else 1


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Tell whether two tensors have one shape and hold the same numbers."""
    return one.shape == other.shape and torch.allclose(
        one.double(), other.double(), rtol=1e-4, atol=1e-4, equal_nan=True
    )


def choices(helper: Callable, call: Call) -> Iterator[tuple]:
    """Yield the arguments of a call as a function can take them."""
    try:
        parameters = inspect.signature(helper).parameters.values()
    except ValueError:
        return
    own = [
        part
        for part in parameters
        if part.kind in (part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD)
    ]
    needed = sum(part.default is part.empty for part in own)
    several = any(part.kind == part.VAR_POSITIONAL for part in parameters)
    most = len(call.arguments) if several else min(len(own), len(call.arguments))
    pick = (
        itertools.permutations if len(call.arguments) <= FEW else itertools.combinations
    )
    arguments = [
        copy_of(value) for value in call.arguments
    ]  # for what changes them in place
    for number in range(max(needed, 1), most + 1):
        yield from pick(arguments, number)


def gives(helper: Callable, arguments: tuple, values: list[torch.Tensor]) -> bool:
    """Tell whether a function returns one of these values."""
    with contextlib.suppress(Exception):
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            result = leaves(helper(*arguments))
            return any(
                same(leaf.detach(), value)
                for leaf in result
                if isinstance(leaf, torch.Tensor)
                for value in values
            )
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return False


def give_up(*_: object) -> None:
    """End a call with arguments that were not meant for it."""
    raise TimeoutError


def defined(source: str) -> list[str]:
    """Return the names that a released cell binds, but for those of its imports."""
    imported = {
        (name.asname or name.name).partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    return sorted(bound_names(source) - imported)


def solved(folder: Path) -> dict[str, int]:
    """Return for each released function and function of a task how many calls it can answer.

    Raises:
        RuntimeError: if the reference solutions fail, or tests call nothing.

    """
    loaded = form.load(folder)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "solved.json"
        start = f"from tests.harness.released import Probe\n_harness_probe = Probe({str(path)!r})\n"
        last = loaded.cells[-1]

        def text(cell) -> str:
            visible, hidden = split_hidden(cell) if cell.is_test else (cell.source, "")
            if cell.is_solution:
                lines = [
                    "_harness_before = set(globals())",
                    visible,
                    "_harness_probe.wrap(_harness_before | {'_harness_before'}, globals())",
                ]
            else:
                lines = [
                    visible,
                    f"_harness_probe.collect({defined(visible)!r}, globals())",
                    "_harness_probe.hidden = True",
                    hidden,
                    "_harness_probe.hidden = False",
                ]
            return "\n".join(
                [*lines, "_harness_probe.report()" if cell is last else ""]
            )

        outcome, _ = run(instrumented(loaded, start, text), [], limit=LIMIT)
        failed = [
            f"{name}: {cell.message}"
            for name, cell in outcome.cells.items()
            if cell.error
        ]
        if failed:
            raise RuntimeError(f"{folder.name}: {'; '.join(failed)}")
        return json.loads(path.read_text())
