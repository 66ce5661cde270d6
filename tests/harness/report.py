"""What the harness says of an assignment's bank: the sizes asked for, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.harness.assignment import Task


@dataclass(frozen=True)
class Rules:
    """How large an assignment and its bank must be: answers are by task.

    `named` is the share of wrong answers that get a message that names their mistake.
    """

    tasks: int = 6
    right: int = 2
    wrong: int = 5
    named: float = 0.85


@dataclass
class Row:
    """What the bank says about one task: names of wrong answers by how they fared."""

    task: Task
    right: int = 0
    visible: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    located: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How many wrong answers were run."""
        return len(self.visible) + len(self.hidden) + len(self.survivors)


@dataclass
class Report:
    """The verdict on an assignment: a row for each task, a line for each problem and each note."""

    assignment: str
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self) -> str:
        """Return the report as text."""
        head = [
            "task",
            "points",
            "right",
            "wrong",
            "by visible",
            "by hidden",
            "survivors",
            "named",
            "located",
        ]
        lines = [head] + [
            [
                row.task.name,
                f"{row.task.points:g}",
                *map(str, (row.right, row.wrong)),
                *(
                    str(len(names))
                    for names in (
                        *(row.visible, row.hidden, row.survivors),
                        *(row.named, row.located),
                    )
                ),
            ]
            for row in self.rows
        ]
        total = ["total", f"{sum(row.task.points for row in self.rows):g}"]
        total += [
            str(sum(int(line[column]) for line in lines[1:])) for column in range(2, 9)
        ]
        lines.append(total)
        widths = [
            max(len(line[column]) for line in lines) for column in range(len(head))
        ]
        text = [self.assignment]
        for line in lines:
            cells = [line[0].ljust(widths[0])]
            cells += [
                cell.rjust(width)
                for cell, width in zip(line[1:], widths[1:], strict=True)
            ]
            text.append("  " + "  ".join(cells))
        text += [f"  note: {note}" for note in self.notes]
        text += [f"  PROBLEM: {problem}" for problem in self.problems]
        return "\n".join(text)
