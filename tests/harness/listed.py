"""What tests/answers/<assignment>.equal.toml says about mutants and answers.

    [[equal]]
    task = "soft-lookup"
    diff = '''
    -    if temperature <= 0:
    +    if temperature == 0:'''
    why = "..."

is a mutant that does the same as what it is made of, or what the statement leaves open
(`python -m tests.harness.same` runs it with inputs drawn anew).

    [[warned]]
    task = "soft-lookup"
    answer = "one_row"
    words = "Scores may be of any size"

is an answer of the bank (or, with `diff`, a mutant) that passes all that is visible and then loses
more than half of its task's points; the statement warns of it in these words.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from grading.course import notebooks
from tests.harness.assignment import Assignment, BankError


@dataclass(frozen=True)
class Listed:
    """Pairs of a task and a diff, or the name of an answer."""

    equal: frozenset[tuple[str, str]]
    warned: frozenset[tuple[str, str]]


def read_listed(assignment: Assignment, answers: Path) -> Listed:
    """Return what is listed about an assignment.

    Raises:
        BankError: if an entry lacks something, names no task, or says words that the statement
            does not.

    """
    path = answers / f"{assignment.name}.equal.toml"
    if not path.exists():
        return Listed(frozenset(), frozenset())
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BankError(f"{path}: {error}") from None
    if strange := tables.keys() - {"equal", "warned"}:
        raise BankError(f"{path}: neither equal nor warned: {', '.join(strange)}")
    found: dict[str, set[tuple[str, str]]] = {}
    for kind, reason in (("equal", "why"), ("warned", "words")):
        found[kind] = set()
        for number, entry in enumerate(tables.get(kind, []), 1):
            where = f"{path}: {kind}, entry {number}"
            key = "answer" if kind == "warned" and "answer" in entry else "diff"
            if missing := [x for x in ("task", key, reason) if not entry.get(x)]:
                raise BankError(f"{where}: no {', '.join(missing)}")
            if entry["task"] not in assignment.tasks:
                raise BankError(f"{where}: no task {entry['task']}")
            said = " ".join(statement(assignment, entry["task"]).split())
            if kind == "warned" and " ".join(entry["words"].split()) not in said:
                raise BankError(
                    f"{where}: the statement of {entry['task']} does not say "
                    f"{entry['words']!r}"
                )
            found[kind].add((entry["task"], entry[key].strip("\n")))
    return Listed(frozenset(found["equal"]), frozenset(found["warned"]))


def statement(assignment: Assignment, task: str) -> str:
    """Return what a student reads about a task: text above the first one, and its own."""
    before: list[str] = []
    own: list[str] = []
    first = next(iter(assignment.tasks))
    for cell in notebooks.cells(assignment.path):
        if cell.kind == "markdown":
            own.append(cell.source)
        elif cell.grade_id == task:
            break
        elif cell.grade_id == first:
            before, own = own[:-1], []
        elif cell.is_test:
            own = []
    return "\n\n".join(before + own)
