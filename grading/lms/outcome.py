"""What became of each file and student: lines for a person, JSON for a program."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Problem(ValueError):
    """Nothing could be done; the message says what to change."""


class Verdict(StrEnum):
    """What became of one file or one student.

    taken: new here. same: was here already. replaced: a newer one, the older one kept aside.
    sent: in the exported file. skipped: left out as expected (a file of another kind, a student
    without a score). refused: left out, and a person should look.
    """

    TAKEN = "taken"
    SAME = "same"
    REPLACED = "replaced"
    SENT = "sent"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True)
class Line:
    """One line of a report: about a student, a file, or both."""

    verdict: Verdict
    student: str
    file: str
    reason: str = ""

    def __str__(self) -> str:
        parts = [shown(part, 200) for part in (self.student, self.file) if part]
        text = " <- ".join(parts) or "-"
        why = f": {shown(self.reason, 500)}" if self.reason else ""
        return f"{self.verdict:<8}  {text}{why}"


@dataclass
class Report:
    """The lines of one import or export.

    `title` says what was done; `dry_run` that nothing was written.
    """

    title: str
    dry_run: bool = False
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self, verdict: Verdict, student: str = "", file: str = "", reason: str = ""
    ) -> None:
        """Add a line."""
        self.lines.append(Line(verdict, student, file, reason))

    def count(self, *verdicts: Verdict) -> int:
        """Return how many lines have one of these verdicts."""
        return sum(line.verdict in verdicts for line in self.lines)

    @property
    def refused(self) -> list[Line]:
        """The lines that a person should look at."""
        return [line for line in self.lines if line.verdict is Verdict.REFUSED]

    @property
    def summary(self) -> str:
        """The counts in one line."""
        counts = [f"{self.count(kind)} {kind}" for kind in Verdict if self.count(kind)]
        dry = " (dry run: nothing was written)" if self.dry_run else ""
        return f"{self.title}: {', '.join(counts) or 'nothing to do'}{dry}"

    def text(self) -> str:
        """Return the report for a person."""
        return "\n".join([*map(str, self.lines), *map(shown, self.notes), self.summary])

    def to_json(self) -> str:
        """Return the report for a program."""
        whole = asdict(self) | {
            "counts": {str(kind): self.count(kind) for kind in Verdict}
        }
        # Half a surrogate pair, from a file name that is no Unicode, can't be written.
        return json.dumps(whole, indent=1)


def shown(text: str, most: int = 1000) -> str:
    """Return text for a terminal: one line, no control or invisible characters."""
    kept = text[:most] + ("…" if len(text) > most else "")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in kept)
