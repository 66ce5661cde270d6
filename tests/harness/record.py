"""The record of the mutants, tests/mutants.json: what became of those of each task.

A task's part of it *fits* while the task is what it was when its mutants ran: the reference, the
tests with the contract, the right answers and the lists. What all tasks have in common, the kit
of the contracts and the rules, has a digest of its own; `make mutants` follows a change of it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from grading.course.notebooks import ROOT
from tests.harness.assignment import Assignment, BankError
from tests.harness.bank import Answer, code_lines, read_bank
from tests.harness.listed import Listed, read_listed
from tools.contracts import KIT, kit

FILE = ROOT / "tests" / "mutants.json"
COMMON = "rules and kit"


def digest(*texts: str) -> str:
    """Return a short digest of some texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def common() -> str:
    """Return the digest of what all tasks have in common."""
    solutions = ROOT / "solutions"
    files = (Path(__file__).with_name("mutation.py"), *(solutions / x for x in KIT))
    return digest(*(path.read_text(encoding="utf-8") for path in files))


def digests(assignment: Assignment, answers: Path) -> dict[str, str]:
    """Return the digest of each task of an assignment."""
    bank, _ = read_bank(assignment, answers)
    listed = read_listed(assignment, answers)
    return {task: of_task(assignment, bank, listed, task) for task in assignment.tasks}


def of_task(
    assignment: Assignment, bank: list[Answer], listed: Listed, task: str
) -> str:
    """Return the digest of a task: comments and docstrings of answers do not count."""
    own = assignment.tasks[task]
    texts = ["\n".join(code_lines(assignment.cells[own.index].source))]
    for test in own.tests:
        full = test.full
        for text in kit(ROOT / "solutions"):
            full = full.replace(text, "")
        texts += [test.grade_id, f"{test.points:g}", full]
    for answer in bank:
        if answer.task == task and answer.is_right:
            texts += [answer.name, "\n".join(code_lines(answer.source))]
    for entries in (listed.equal, listed.warned):
        texts += sorted(text for name, text in entries if name == task)
    return digest(*texts)


def read(path: Path) -> dict:
    """Return a record; an empty one where there is no file yet.

    Raises:
        BankError: if the file holds something else.

    """
    if not path.exists():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BankError(f"{path}: not a record of mutants: {error}") from None
    if not isinstance(record, dict):
        raise BankError(f"{path}: not a record of mutants: no object")
    return record


def write(path: Path, record: dict) -> None:
    """Write a record."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    partial = path.with_suffix(".partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)


def changed(record: dict, assignment: Assignment, digests: dict[str, str]) -> list[str]:
    """Return the tasks of an assignment that a record does not fit, or does not have."""
    known = record.get(assignment.name, {})
    return [
        task
        for task, now in digests.items()
        if task not in known or known[task]["fits"] != now
    ]
