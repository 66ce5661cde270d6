"""`python -m grading check`: what a grader would find in a notebook, told before handing in.

It looks at the file (copied, lost, changed cells, stubs, name, size), runs it from the top in a
fresh kernel with the tests that students see, and says what to do. It needs neither the solutions
nor the hidden tests nor a sandbox: the code and the machine are the student's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from grading.check import execution, file
from grading.check.execution import CellRun, KernelError, Run
from grading.check.file import CheckError, Item, Looked
from grading.course.bindings import bound_names
from grading.course.states import STUB
from grading.course.submission import RebuiltCell
from grading.feedback import words
from grading.feedback.words import Message

#: From here on, printed text and the seconds of a run are worth a word.
BIG_PRINT, LONG_RUN = 20_000, 60.0

#: What a report says where nothing needs mending.
PASSES = "All the tests that you can see pass."
MORE = "Grading runs more tests, with other sizes and values."


@dataclass
class Task:
    """One task: its visible tests and their points, and what the failing ones say."""

    title: str
    answered: bool = True
    tests: int = 0
    failed: list[tuple[str, Message]] = field(default_factory=list)
    unrun: int = 0
    points: float = 0.0
    earned: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether it is answered and all visible tests pass."""
        return self.answered and not self.failed and not self.unrun

    @property
    def score(self) -> str:
        """The points of the visible tests that pass."""
        return f"{self.earned:g} of {self.points:g} points"


@dataclass
class Report:
    """What was found in one notebook."""

    title: str
    path: Path
    items: list[Item] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    seconds: float | None = None

    @property
    def fine(self) -> bool:
        """Whether nothing needs mending."""
        return all(task.fine for task in self.tasks) and not any(
            i.mend for i in self.items
        )

    @property
    def solved(self) -> list[Task]:
        """The tasks whose visible tests all pass."""
        return [task for task in self.tasks if task.fine]

    @property
    def failed(self) -> list[Task]:
        """The tasks that are answered, and not all of whose visible tests pass."""
        return [task for task in self.tasks if task.answered and not task.fine]

    @property
    def open(self) -> list[Task]:
        """The tasks that still have their stub."""
        return [task for task in self.tasks if not task.answered]

    @property
    def score(self) -> str:
        """The points of all visible tests, and how many tasks are in which state."""
        earned = sum(task.earned for task in self.tasks)
        points = sum(task.points for task in self.tasks)
        return (
            f"{earned:g} of {points:g} points by the tests that you can see; tasks: "
            f"{len(self.solved)} solved, {len(self.failed)} not right yet, {len(self.open)} open"
        )

    @property
    def lines(self) -> list[str]:
        """The report as text."""
        lines = [f"{self.title} ({self.path.name})", ""]
        for task in self.tasks:
            if not task.answered:
                lines.append(f"  not answered  {task.title}")
                continue
            mark = (
                words.failures(task.tests, len(task.failed), task.unrun) or "all pass"
            )
            lines.append(f"  {mark:<12}  {task.title} ({task.score})")
            for aspect, told in task.failed:
                text = (
                    told.text
                    if not told.kind
                    else f"{told.kind}: {told.text}".rstrip(": ")
                )
                lines += [
                    f"      {aspect}:",
                    *(f"        {line}" for line in text.splitlines()),
                ]
        for heading, mend in (
            ("Mend before you hand in:", True),
            ("Good to know:", False),
        ):
            chosen = [item for item in self.items if item.mend is mend]
            if chosen:
                lines += ["", heading, *(f"  - {item}" for item in chosen)]
        lines.append("")
        if self.tasks:
            lines.append(f"{self.score}.")
        if self.seconds is not None:
            lines.append(f"It ran from the top in {self.seconds:.0f} s.")
        if self.fine:
            lines.append(f"{PASSES} {MORE}")
        else:
            lines.append(
                "Not ready yet: see above. You can hand in all the same: each test that "
                "passes counts."
            )
        return lines


def check(notebook: Path, root: Path) -> Report:
    """Return what a grader would find in a notebook, and run it.

    Args:
        notebook: the student's file, or its folder.
        root: the course's folder, with exercises/.

    Raises:
        CheckError: if there is no such notebook, or it belongs to no assignment, or no kernel runs.

    """
    return execution.finish(check_async(notebook, root))


async def check_async(
    notebook: Path, root: Path, cell_seconds: float = execution.CELL_SECONDS
) -> Report:
    """Do what `check` does, inside of a program that does other things meanwhile."""
    looked = file.look(file.find(notebook), root)
    report = Report(looked.title, looked.path, looked.items)
    if looked.rebuilt is not None:
        try:
            run = await execution.execute_async(
                looked.rebuilt.cells, looked.path.parent, cell_seconds
            )
        except KernelError as error:
            raise CheckError(str(error)) from error
        _tell_run(report, looked, run)
    return report


def _tell_run(report: Report, looked: Looked, run: Run) -> None:
    """Add to a report what the run showed."""
    rebuilt, titles = looked.rebuilt, words.titles(looked.form)
    tasks: dict[str, Task] = {}
    for cell in rebuilt.cells:
        name = words.task_of(cell.grade_id)
        if cell.role in ("solution", "test") and cell.cell_type == "code":
            task = tasks.setdefault(name, Task(titles.get(name, name)))
            task.tests += cell.role == "test"
            task.points += cell.points if cell.role == "test" else 0
            task.answered &= not (cell.role == "solution" and STUB in cell.source)
    ran = {id(found.cell) for found in run.cells}
    for cell in rebuilt.cells:
        if cell.role == "test" and id(cell) not in ran:
            tasks[words.task_of(cell.grade_id)].unrun += 1
    for found in run.cells:
        task = tasks.get(words.task_of(found.cell.grade_id))
        if found.cell.role == "test" and not found.error:
            task.earned += found.cell.points
        if found.error and found.cell.role == "test":
            task.failed.append((words.aspect_of(found.cell.grade_id), _message(found)))
        elif found.error and not (found.cell.role == "demo" and STUB in found.error):
            demo = found.cell.role == "demo"
            report.items.append(
                Item(
                    f"{label(found.cell)} stops with an error: {_text(_message(found))}",
                    "It gives no points, but shows that something is wrong."
                    if demo
                    else "What comes after it may fail for that reason alone: mend it first.",
                    mend=not demo,
                )
            )
        if found.printed > BIG_PRINT:
            report.items.append(
                Item(
                    f"{label(found.cell)} prints {found.printed} characters",
                    "Your feedback shows the first few thousand. Print less.",
                    mend=False,
                )
            )
    if run.died is not None:
        report.items.insert(
            0,
            Item(
                f"Python ended, or could not be stopped, in {label(run.died)}",
                "Look there for a loop that does not end, for a call that ends Python, or for a "
                "tensor that is larger than the memory. The cells after it did not run.",
            ),
        )
    if run.seconds > LONG_RUN:
        slowest = max(run.cells, key=lambda found: found.seconds, default=None)
        where = f" The slowest is {label(slowest.cell)}." if slowest else ""
        report.items.append(
            Item(
                f"the notebook takes {run.seconds:.0f} s",
                f"Grading stops a submission that takes several minutes.{where}",
                mend=False,
            )
        )
    for name, task in tasks.items():
        if task.tests and not (task.failed or task.unrun):
            task.answered = True  # by a cell of the student's own
        if not task.answered:
            report.items += _answers_elsewhere(name, rebuilt.cells)
    report.tasks += tasks.values()
    report.seconds = run.seconds


def _answers_elsewhere(task: str, cells: tuple[RebuiltCell, ...]) -> list[Item]:
    """Return what to say of the student's own cells that define what a stub still leaves open."""
    stubs = [
        cell
        for cell in cells
        if cell.role == "solution" and words.task_of(cell.grade_id) == task
    ]
    wanted = {name for cell in stubs for name in _bound(cell.source)}
    return [
        Item(
            f"{label(cell)} defines {', '.join(sorted(found))}, and {label(stubs[0])} still has "
            "its stub",
            "Move your code into the cell with the stub: your answer belongs there.",
        )
        for cell in cells
        if cell.role == "extra" and (found := wanted & _bound(cell.source))
    ]


def _bound(source: str) -> set[str]:
    """Return the names that a cell binds, none if it is no Python, or too deeply nested."""
    try:
        return bound_names(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _message(found: CellRun) -> Message:
    """Return what to tell about a cell's error, with the line of the student's code."""
    if found.late:
        return Message(
            f"It took longer than {found.seconds:.0f} s, and was stopped. Look for a "
            "loop that does not end."
        )
    told = words.message(found.error)
    if found.place is None:
        return told
    cell, line = found.place
    return Message(f"{told.text} (line {line} of {label(cell)})".strip(), told.kind)


def _text(told: Message) -> str:
    """Return a message in one line."""
    return " ".join((f"{told.kind}: {told.text}" if told.kind else told.text).split())


def label(cell: RebuiltCell) -> str:
    """Return words by which a student finds a cell."""
    if cell.grade_id:
        return f"the cell “{cell.grade_id}”"
    first = next(
        (line.strip() for line in cell.source.splitlines() if line.strip()), ""
    )
    return f"the cell that begins with “{words.printable(first, 50)}”"
