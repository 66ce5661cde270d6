"""Answers that cost nothing, tried on every hidden test: none of them may pass.

Each test cell runs with the reference solutions up to its hidden lines. These run once for each
cheat, in which every function and method of the task returns something of the right kind and
shape, and of no worth: zeros, noise, an argument, what it returned before. That is the best that an
answer without the idea can do, since it takes kind and shape from the reference solution.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from grading.course.bindings import bound_names, needed_names
from grading.course.notebooks import SEPARATOR, Cell, split_hidden
from tests.harness import assignment as form
from tests.harness.assignment import Assignment
from tests.harness.runner import run

#: Seconds for a cell, with all cheats on its hidden lines.
LIMIT = 300
PASSED = re.compile(r"passed by: (.*)")


def filled(number: float) -> Callable:
    """Return the cheat that gives one number everywhere, with a gradient of zeros."""

    def cheat(leaf: object, _: list) -> object:
        if isinstance(leaf, torch.Tensor):
            kept = leaf.nan_to_num() * 0 if leaf.is_floating_point() else leaf.clone()
            return (
                torch.full_like(leaf, number).detach() + kept
                if leaf.is_floating_point()
                else (kept.fill_(0 if number != number else number))
            )
        return type(leaf)(0 if number != number and type(leaf) is not float else number)

    return cheat


def noise(leaf: object, _: list) -> object:
    """Other numbers at every call."""
    if isinstance(leaf, torch.Tensor):
        return (torch.rand(leaf.shape) * 3).to(leaf.dtype)
    return type(leaf)(3 * float(torch.rand(())))


def constant(leaf: object, _: list) -> object:
    """The same numbers at every call."""
    if isinstance(leaf, torch.Tensor):
        return (torch.arange(leaf.numel()).reshape(leaf.shape) % 7 / 3).to(leaf.dtype)
    return type(leaf)(2)


def argument(leaf: object, arguments: list) -> object:
    """An argument of that kind and shape, or of that kind."""
    alike = [part for part in arguments if type(part) is type(leaf)]
    if isinstance(leaf, torch.Tensor):
        sized = [part for part in alike if part.shape == leaf.shape]
        sized += [
            part.reshape(leaf.shape) for part in alike if part.numel() == leaf.numel()
        ]
        alike = sized or [torch.zeros_like(leaf)]
        return alike[0].to(leaf.dtype)
    return alike[0] if alike else type(leaf)()


CHEATS = {
    "zeros": filled(0.0),
    "ones": filled(1.0),
    "NaN": filled(float("nan")),
    "noise": noise,
    "a constant": constant,
    "an argument": argument,
}
#: Cheats that are no map of single leaves.
STALE, NOTHING = "the first result of that shape", "nothing"
NAMES = (*CHEATS, STALE, NOTHING)


class Cheater:
    """Stands between the tests and the functions of the task whose hidden tests are running."""

    def __init__(self) -> None:
        self.task, self.cheat, self.sees, self.called = "", "", True, False
        self.first: dict[tuple, object] = {}

    def wrap(self, task: str, before: set[str], namespace: dict) -> None:
        """Wrap what a solution cell defined: functions, and the methods of classes."""
        for name in [name for name in namespace if name not in before]:
            value = namespace[name]
            if isinstance(value, types.FunctionType):
                namespace[name] = self.wrapped(task, name, value)
            elif isinstance(value, type):
                for part, method in list(vars(value).items()):
                    if isinstance(method, types.FunctionType) and part != "__init__":
                        setattr(
                            value, part, self.wrapped(task, f"{name}.{part}", method)
                        )

    def wrapped(self, task: str, name: str, real: Callable) -> Callable:
        """Return a function that cheats while the hidden tests of its task run."""

        @functools.wraps(real)
        def answer(*arguments: object, **options: object) -> object:
            if self.task != task:
                result = real(*arguments, **options)
                if self.sees and not inspect.isgenerator(result):
                    self.first.setdefault((name, shape_of(result)), copy_of(result))
                return result
            self.called = True
            self.task = ""  # what the reference solution calls is the reference's
            module = (
                arguments[0]
                if arguments and isinstance(arguments[0], nn.Module)
                else None
            )
            state = None if module is None else copy_of(dict(module.state_dict()))
            try:
                result = real(*arguments, **options)
                if inspect.isgenerator(result):
                    return iter(self.instead(name, list(result), (arguments, options)))
                return self.instead(name, result, (arguments, options))
            except Exception:
                return None  # no cheat knows what to refuse
            finally:
                self.task = task
                if state is not None:
                    module.load_state_dict(state)

        return answer

    def instead(self, name: str, result: object, given: tuple) -> object:
        """Return what the cheat gives for a result."""
        if self.cheat == NOTHING:
            return type(result)() if isinstance(result, (list, dict, str)) else None
        if self.cheat == STALE:
            known = self.first.get((name, shape_of(result)))
            return (
                copy_of(known)
                if known is not None
                else mapped(result, CHEATS["zeros"], [])
            )
        return mapped(result, CHEATS[self.cheat], leaves(given))

    def try_all(self, task: str, visible: str, hidden: str, namespace: dict) -> None:
        """Execute hidden lines once for each cheat, and raise an error that tells which passed.

        Each runs twice: after visible lines with the reference solutions, as of an answer that
        knows these by heart, and after visible lines with the cheat, whose failures don't count.
        """
        passed = {}
        uses = bool(needed_names(hidden) & bound_names(visible))
        lines = [ast.Module([node], []) for node in ast.parse(visible).body]
        for cheat in NAMES:
            for before in ([],) if cheat == STALE else ([], lines):
                scope = dict(namespace)
                torch.manual_seed(0)
                self.task, self.cheat = task, cheat
                with contextlib.suppress(Exception):
                    for line in before:
                        try:
                            exec(compile(line, "<visible>", "exec"), scope)
                        except Exception:
                            if isinstance(
                                line.body[0], ast.Assign
                            ):  # nothing to go on with
                                raise
                    self.called = uses and bool(before)
                    exec(compile(hidden, "<hidden>", "exec"), scope)
                    if self.called:  # else they ask only how a module is made
                        passed[cheat] = True
                self.task = ""
        assert not passed, f"passed by: {', '.join(passed)}"


def leaves(value: object) -> list:
    """Return the tensors, numbers and texts in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, nn.Module):
        return []
    if isinstance(value, (list, tuple, set)) and not isinstance(value, torch.Size):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def mapped(value: object, cheat: Callable, arguments: list) -> object:
    """Return a value with each tensor, number and text in it replaced."""
    if isinstance(value, dict):
        return {key: mapped(part, cheat, arguments) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[mapped(part, cheat, arguments) for part in value])
    if type(value) in (list, tuple, set):
        return type(value)(mapped(part, cheat, arguments) for part in value)
    if isinstance(value, torch.Tensor) or type(value) in (bool, int, float):
        return cheat(value, arguments)
    return "" if type(value) is str else value


def shape_of(value: object) -> tuple:
    """Return what two results of one kind and shape have in common."""
    return tuple(
        (tuple(leaf.shape), leaf.dtype)
        if isinstance(leaf, torch.Tensor)
        else type(leaf)
        for leaf in leaves(value)
    )


def copy_of(value: object) -> object:
    """Return a value with copies of its tensors, without their history."""
    return mapped(
        value,
        lambda leaf, _: (
            leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf
        ),
        [],
    )


def gains(folder: Path) -> dict[str, list[str]]:
    """Return for each test with hidden lines the cheats that pass these.

    Raises:
        RuntimeError: if the reference solutions fail.

    """
    loaded = form.load(folder)
    outcome, _ = run(with_cheats(loaded), [], limit=LIMIT)
    found = {}
    for name, test in loaded.tests.items():
        message = outcome.cells[name].message
        passed = PASSED.search(message)
        if message and not passed:
            raise RuntimeError(f"{folder.name}: {name}: {message}")
        if test.full != test.visible:
            found[name] = passed.group(1).split(", ") if passed else []
    return found


def with_cheats(loaded: Assignment) -> Assignment:
    """Return an assignment whose test cells try every cheat on their hidden lines."""

    def text(cell: Cell) -> str:
        visible, hidden = split_hidden(cell) if cell.is_test else ("", "")
        if cell.is_solution:
            return (
                f"_harness_before = set(globals())\n{cell.source}\n"
                f"_harness_cheater.wrap({cell.grade_id!r}, _harness_before"
                " | {'_harness_before'}, globals())"
            )
        if not hidden:
            return cell.source
        task = cell.grade_id.partition(SEPARATOR)[0]
        arguments = f"{task!r}, {visible!r}, {hidden!r}, _harness_before"
        return (
            f"{visible}\n_harness_before, _harness_cheater.sees = dict(globals()), False\n"
            f"{hidden}\n"
            f"_harness_cheater.sees = True\n_harness_cheater.try_all({arguments})"
        )

    return instrumented(
        loaded,
        "from tests.harness.cheats import Cheater\n_harness_cheater = Cheater()\n",
        text,
    )


def instrumented(
    loaded: Assignment, start: str, text: Callable[[Cell], str]
) -> Assignment:
    """Return an assignment with another text for each of its cells, and a text at the start."""
    texts = [text(cell) for cell in loaded.cells]
    texts[0] = start + texts[0]
    cells = [
        with_source(cell, text) for cell, text in zip(loaded.cells, texts, strict=True)
    ]
    full = {cell.grade_id: cell.source for cell in cells if cell.is_test}
    tasks = {
        name: replace(
            task, tests=[replace(test, full=full[test.grade_id]) for test in task.tests]
        )
        for name, task in loaded.tasks.items()
    }
    return replace(loaded, cells=cells, tasks=tasks)


def with_source(cell: Cell, source: str) -> Cell:
    """Return a cell with another text."""
    return replace(cell, data={**cell.data, "source": source})
