"""Judges answers that lie elsewhere with the tests of an assignment.

    python -m tests.harness.answers judge 02 FILES [--json]

FILES are folders with `<task>/right_<name>.py`, `<task>/wrong_<name>.py` (or any other name: then
the kind is "unknown"), such files, files of the form of tests/answers/<assignment>/<task>.py, and
solved notebooks, from which each solution cell is taken by its grade_id. Each answer is run by
itself in the source notebook, with the reference solutions of all other tasks; with your rights,
so judge no stranger's work. What hangs is ended after --limit seconds.

--json prints one object:

    assignment   its name
    answers      a list, by task, of
      task, name, kind, file
      cells      by grade_id, the test cells of the task, and others that lose points:
        points, maximum
        visible  the message of the visible tests, "" if they pass
        hidden   the message of the hidden tests, "" if they pass or the visible ones fail before
      lost       the points lost in all
      error      what the answer's own cell ends in, or writes on stderr
      died       why there are no results: TimeoutError, or how the process ended
      seconds    of the longer run
    unanswered   by file (or folder) of FILES, the tasks to which it holds no answer
    problems     a line for each thing that could not be judged: they are on stderr, too

The exit status is 0 if everything was judged, whatever it scored, 1 if there are problems, and 2 if
the command makes no sense. Right answers run to the end of the notebook, others to the end of
their task.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grading.course import notebooks
from tests.harness.assignment import Assignment, BankError
from tests.harness.bank import Answer, parse, read_text
from tests.harness.runner import CellResult, Job, Outcome, run

KINDS = ("right", "wrong")


@dataclass(frozen=True)
class Entry:
    """One answer to be judged."""

    file: Path
    task: str
    name: str
    kind: str
    source: str


def judge(
    assignment: Assignment, files: list[Path], processes: int, limit: int
) -> dict:
    """Return the object that the module's text describes.

    Raises:
        BankError: if the reference solutions do not score full.

    """
    entries, unanswered, problems = [], {}, []
    for file in files:
        items = list(collect(assignment, file))
        mine = [item for item in items if isinstance(item, Entry)]
        problems += [str(item) for item in items if isinstance(item, BankError)]
        if not items:
            problems.append(f"{file}: no answers to {assignment.name}")
        answered = {entry.task for entry in mine}
        unanswered[str(file)] = [
            task for task in assignment.tasks if task not in answered
        ]
        entries += mine
    order = list(assignment.tasks)
    entries.sort(key=lambda entry: order.index(entry.task))
    jobs = [Job({entry.task: entry.source}, True, entry.task) for entry in entries]
    jobs += [
        Job(
            {entry.task: entry.source},
            until=None if entry.kind == "right" else entry.task,
        )
        for entry in entries
    ]
    reference, outcomes = run(assignment, jobs, processes, limit)
    for test in assignment.tests.values():
        cell = reference.cells[test.grade_id]
        if cell.points < test.points:
            raise BankError(
                f"{assignment.path}: the reference solution scores {cell.points:g} of "
                f"{test.points:g} in {test.grade_id}: {cell.message}"
            )
    runs = zip(entries, outcomes[: len(entries)], outcomes[len(entries) :], strict=True)
    return {
        "assignment": assignment.name,
        "answers": [verdict(assignment, *one) for one in runs],
        "unanswered": unanswered,
        "problems": problems,
    }


def collect(assignment: Assignment, file: Path) -> Iterator[Entry | BankError]:
    """Yield the answers in a file or below a folder, and what cannot be judged there."""
    if not file.is_dir():
        try:
            yield from from_file(assignment, file)
        except BankError as error:
            yield error
        return
    for path in sorted(path.relative_to(file) for path in file.rglob("*")):
        hidden = any(part.startswith((".", "__")) for part in path.parts)
        if not hidden and path.suffix in {".py", ".ipynb"}:
            yield from collect(assignment, file / path)


def from_file(assignment: Assignment, file: Path) -> Iterator[Entry | BankError]:
    """Yield the answers in a file, and what cannot be judged there.

    Raises:
        BankError: if it cannot be read.

    """
    if not file.exists():
        yield BankError(f"{file}: there is no such file")
    elif file.suffix == ".ipynb":
        yield from from_notebook(assignment, file)
    elif file.suffix != ".py":
        yield BankError(
            f"{file}: neither a folder, nor a notebook, nor an answer in Python"
        )
    elif file.resolve().parent.name in assignment.tasks:
        kind, _, name = file.stem.partition("_")
        kind, name = (kind, name) if kind in KINDS and name else ("unknown", file.stem)
        task = file.resolve().parent.name
        yield readable(Entry(file, task, name, kind, read_text(file)))
    elif file.stem in assignment.tasks:
        reference = assignment.cells[assignment.tasks[file.stem].index].source
        for answer in parse(file, read_text(file), reference):
            if isinstance(answer, Answer):
                kind = KINDS[not answer.is_right]
                yield Entry(file, answer.task, answer.name, kind, answer.source)
            else:
                yield answer
    else:
        tasks = ", ".join(assignment.tasks)
        yield BankError(
            f"{file}: neither its folder nor the file itself is called after a task: {tasks}"
        )


def from_notebook(assignment: Assignment, file: Path) -> Iterator[Entry | BankError]:
    """Yield the solution cells of a notebook that were filled in, by grade_id."""
    try:
        cells = [
            cell
            for cell in notebooks.cells(file)
            if cell.kind == "code" and cell.grade_id in assignment.tasks
        ]
    except (notebooks.NotebookError, AttributeError, TypeError) as error:
        yield BankError(
            str(error) if str(file) in str(error) else f"{file}: not a notebook"
        )
        return
    for cell in cells:
        task = assignment.tasks[cell.grade_id]
        stubs = assignment.cells[task.index].source.count(notebooks.BEGIN_SOLUTION)
        blank = not notebooks.has_statements(cell.source)
        if not blank and cell.source.count("raise NotImplementedError") < max(stubs, 1):
            yield readable(
                Entry(file, cell.grade_id, file.stem, "unknown", cell.source)
            )


def readable(entry: Entry) -> Entry | BankError:
    """Return the answer, or why it is no Python."""
    try:
        ast.parse(entry.source)
    except (SyntaxError, ValueError) as error:
        where = f"{entry.file}:{getattr(error, 'lineno', None) or 1}"
        return BankError(
            f"{where}: {entry.task}: SyntaxError: {getattr(error, 'msg', error)}"
        )
    return entry


def verdict(
    assignment: Assignment, entry: Entry, visible: Outcome, full: Outcome
) -> dict:
    """Return what is said of one answer."""
    cells, own = {}, {test.grade_id for test in assignment.tasks[entry.task].tests}
    for name, test in assignment.tests.items():
        end = full.cells.get(name, CellResult() if name in own else None)
        if end is None or (name not in own and end.points == test.points):
            continue
        first = visible.cells.get(name, CellResult()).message
        hidden = "" if first else end.message
        cells[name] = {
            "points": end.points,
            "maximum": test.points,
            "visible": first,
            "hidden": hidden,
        }
    return {
        "task": entry.task,
        "name": entry.name,
        "kind": entry.kind,
        "file": str(entry.file),
        "cells": cells,
        "lost": sum(cell["maximum"] - cell["points"] for cell in cells.values()),
        "error": full.cells.get(entry.task, CellResult()).message,
        "died": full.died or visible.died,
        "seconds": round(max(visible.seconds, full.seconds), 3),
    }


def table(report: dict) -> str:
    """Return the report for a reader: a line for each answer, and for each message below it."""
    lines = [report["assignment"]]
    for answer in report["answers"]:
        most = sum(cell["maximum"] for cell in answer["cells"].values())
        lines.append(
            f"  {answer['task']}  {answer['kind']} {answer['name']}: "
            f"{most - answer['lost']:g} of {most:g} points, {answer['seconds']:.1f} s"
        )
        said = [("died", answer["died"]), ("its own cell", answer["error"])]
        for name, cell in answer["cells"].items():
            said += [(f"{name}, {part}", cell[part]) for part in ("visible", "hidden")]
        lines += [
            f"    {where}: {' '.join(text.split())}" for where, text in said if text
        ]
    for file, tasks in report["unanswered"].items():
        if tasks:
            lines.append(f"  {file}: no answer to {', '.join(tasks)}")
    return "\n".join(lines)
