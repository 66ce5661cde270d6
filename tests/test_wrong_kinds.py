"""A result of a wrong kind gets a sentence from every test, and no error of the test's own."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import traceback
import types
from collections.abc import Callable, Iterator

import pytest

from grading.course import demos, notebooks
from grading.course.notebooks import ROOT
from grading.course.states import task_of
from grading.verdict.memory import Memory

#: What a function returns that forgot its return, or wraps its result otherwise than is asked.
KINDS: dict[str, Callable[[object], object]] = {
    "None": lambda found: None,
    "a number": lambda found: 3,
    "a list of what can't be hashed": lambda found: [[]],
    "the result in a list": lambda found: [found],
    "another dict": lambda found: {1: 2},
}
NOTEBOOKS = sorted((ROOT / "solutions").glob("*/*.ipynb"))


def cells(path: object) -> Iterator[tuple[str, str, str]]:
    """Yield the role, the name and the text of each code cell that draws for nobody."""
    for cell in notebooks.read(path)["cells"]:
        if cell["cell_type"] != "code":
            continue
        tags = cell["metadata"].get("nbgrader", {})
        source = notebooks.joined(cell["source"])
        names = demos.names_of(source)
        if not tags and (names is None or demos.PLOTTING in names[0]):
            continue
        role = "solution" if tags.get("solution") else "given"
        role = "test" if tags.get("grade") and role == "given" else role
        yield role, tags.get("grade_id", ""), source


def wrapped(call: Callable, change: Callable) -> Callable:
    """Return a function that returns something else."""

    @functools.wraps(call)
    def changed(*arguments: object, **options: object) -> object:
        return change(call(*arguments, **options))

    return changed


def targets(names: dict[str, object]) -> Iterator[tuple[object, str, Callable]]:
    """Yield the functions of an answer, and the methods of its classes, by where they are.

    What yields is left out: it returns nothing itself.
    """
    for name, value in names.items():
        if isinstance(value, types.FunctionType):
            if inspect.isgeneratorfunction(value):
                continue
            yield names, name, value
        elif isinstance(value, type):
            for inner, method in list(vars(value).items()):
                public = not inner.startswith("_") or inner == "__call__"
                if public and isinstance(method, types.FunctionType):
                    yield value, inner, method


@pytest.mark.slow
@pytest.mark.reads("solutions/*/{path}", "solutions/*.py")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_a_wrong_kind_of_result_is_told_in_words(path: object) -> None:
    """Whatever a function returns, an assert says what is wrong, and not Python."""
    space: dict = {"__name__": "__main__", "course_memory": Memory()}
    answers: dict[str, dict[str, object]] = {}
    tests: list[tuple[str, types.CodeType]] = []
    for role, name, source in cells(path):
        code = compile(source, f"<{role}>", "exec")
        before = dict(space)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, space)
        if role == "solution":
            answers[name] = {
                key: value
                for key, value in space.items()
                if before.get(key, space) is not value
            }
        elif role == "test":
            tests.append((name, code))
    whole, wrong = dict(space), []
    for name, code in tests:
        for owner, key, call in targets(answers.get(task_of(name), {})):
            for kind, change in KINDS.items():
                place = space if isinstance(owner, dict) else owner
                put = space.__setitem__ if place is space else None
                other = wrapped(call, change)
                put(key, other) if put else setattr(owner, key, other)
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(code, space)
                except AssertionError:
                    pass
                except Exception as error:
                    files = [
                        frame.filename
                        for frame in traceback.extract_tb(error.__traceback__)
                        if frame.filename in ("<test>", "<given>", "<solution>")
                    ]
                    if files[-1] != "<solution>":  # another answer stops at it
                        line = traceback.extract_tb(error.__traceback__)[1].lineno
                        wrong.append(f"{name}:{line}: {key}: {kind}: {error!r:.90}")
                finally:
                    if not put:
                        setattr(owner, key, call)
                    space.clear()
                    space.update(whole)
    assert not wrong, "\n".join(wrong)
