"""Tells a student, before handing in, what a grader would find in a notebook.

Only the visible tests run, so this needs neither the solutions nor the hidden tests.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from grading import engine, pipeline, submission
from grading.autograded import clean
from grading.states import SEPARATOR
from grading.submission import Form, SubmissionError
from tools import notebooks
from tools.grade import GradingError


@dataclass(frozen=True)
class Report:
    """What to print, and whether nothing needs mending."""

    lines: list[str]
    fine: bool


def find_release(notebook: Path, root: Path) -> Path:
    """Return the released notebook of the same name.

    Raises:
        GradingError: if there is none.

    """
    found = [
        path for path in notebooks.notebooks_in(root / "exercises") if path.name == notebook.name]
    if len(found) != 1:
        known = ", ".join(path.name for path in notebooks.notebooks_in(root / "exercises"))
        raise GradingError(
            f"no assignment has a notebook called {notebook.name}. Known: {known or 'none'}. "
            "Don't rename the notebook that you were given")
    return found[0]


def load(release: Path) -> Form:
    """Return an assignment as students have it: tests without their hidden parts."""
    return submission.load(release, release)


def check(notebook: Path, root: Path, *, sandbox: bool = True,
          factory: str = "grading.sandboxed:make") -> Report:
    """Run a notebook with the visible tests, and say what a grader would find.

    Args:
        notebook: the student's file.
        root: the course's folder, with exercises/.
        sandbox: False runs the code without a sandbox.
        factory: "module:function" that makes the engine.

    Raises:
        GradingError: if the notebook belongs to no assignment, or nothing can be run.

    """
    form = load(find_release(notebook, root))
    try:
        rebuilt = form.rebuild(submission.read(notebook))
    except SubmissionError as error:
        return Report([f"mend: {error}"], fine=False)
    lines = [f"note: {clean(str(f), 300)}" for f in rebuilt.findings if f.severity == "note"]
    started = time.monotonic()
    try:
        worker = engine.make(factory, sandbox=sandbox)
    except RuntimeError as error:
        raise GradingError(str(error)) from error
    try:
        result = pipeline.grade_one(rebuilt, worker).result
    finally:
        worker.close()
    lines += [f"mend: {reason}" for reason in result.reasons]
    tasks: dict[str, list[str]] = {}
    for name in form.most:
        if name in result.messages:
            task = name.partition(SEPARATOR)[0]
            tasks.setdefault(task, []).append(f"  {name}: {result.messages[name]}")
    for task, messages in tasks.items():
        if task in result.unchanged:
            lines.append(f"not answered: {task}")
        else:
            lines += [f"a test fails in {task}:", *messages]
    lines.append(f"visible tests: {result.total:g} of {sum(form.most.values()):g} points in "
                 f"{time.monotonic() - started:.0f} s. Hidden tests check more.")
    return Report(lines, fine=not tasks and not result.reasons)
