"""What the bank of answers explains, and what it lacks: candidates for new wrong answers.

The bank is the course's collection of answers whose mistakes are known, one file a task
(tests/answers/<assignment>/<task>.py); each says which pattern the message must match. A student
edition has none: then nothing is known, and nothing is a candidate.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grading.course import files
from grading.course.bindings import parsed
from grading.report.mistakes import Group, Task

HEAD = re.compile(
    r"^# %% wrong: (?P<name>\w+)[^|\n]*\| says: (?P<says>.+)$", re.MULTILINE
)
#: How many names of wrong answers are told for a group.
MOST_NAMES = 3


@dataclass(frozen=True)
class Known:
    """A wrong answer of the bank: its name, and what its message matches."""

    name: str
    says: re.Pattern


class Bank:
    """The wrong answers to an assignment, by task."""

    def __init__(self, folder: Path) -> None:
        self.is_there = folder.is_dir()
        self.known: dict[str, list[Known]] = {}
        for path in sorted(folder.glob("*.py")) if self.is_there else ():
            heads = HEAD.finditer(path.read_text(encoding="utf-8"))
            self.known[path.stem] = [
                Known(head["name"], re.compile(head["says"])) for head in heads
            ]

    def names(self, group: Group) -> list[str]:
        """Return the wrong answers that get a group's message, the most exact pattern first."""
        found = [
            one
            for one in self.known.get(group.task, ())
            if one.says.search(group.message)
        ]
        found.sort(key=lambda one: (-len(one.says.pattern), one.name))
        return [one.name for one in found[:MOST_NAMES]]

    def lacks(self, group: Group) -> bool:
        """Tell whether a group's mistake would be new to the bank, or has no name in the tests."""
        return self.is_there and (not group.is_named or not self.names(group))


def write(
    folder: Path,
    tasks: list[Task],
    bank: Bank,
    answers: Mapping[str, Mapping[str, str]],
) -> list[Path]:
    """Write what the bank lacks as entries of its own form, a file a task; return the files.

    Args:
        folder: where to, outside the bank: a person reads them before they go there.
        tasks: what the class made of the assignment.
        bank: what is known.
        answers: by student and cell, what they wrote.

    """
    written = []
    for task in tasks:
        parts = [
            part
            for number, group in enumerate(task.groups, 1)
            if bank.lacks(group) and (part := _entry(number, group, answers))
        ]
        if parts:
            path = folder / f"{task.name}.py"
            files.write(path, "\n\n".join(parts))
            written.append(path)
    return written


def _entry(
    number: int, group: Group, answers: Mapping[str, Mapping[str, str]]
) -> str | None:
    """Return the shortest answer of a group as an entry, None if there is none to be read."""
    texts = []
    for student in group.students:
        source = answers.get(student, {}).get(group.task, "")
        try:  # without comments, which may name somebody
            texts.append(ast.unparse(parsed(source)))
        except (SyntaxError, ValueError, RecursionError):
            continue
    if not any(texts):
        return None
    says = re.escape(group.text.partition("\n")[0][:60]).replace(r"\ ", " ")
    count = len(group.students)
    return (
        f"# %% wrong: class_{number} | says: {says}\n"
        f"# {'One student' if count == 1 else f'{count} students'}: say which mistake this is.\n"
        f"{min(filter(None, texts), key=len)}\n"
    )
