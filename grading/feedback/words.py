"""Messages to students: failed tests, problems with their file, titles of tasks.

The rule for messages. What an author writes after the comma of an assert is meant for the student,
in hidden tests as well; nothing else of a test is. So a message never has a traceback or a path.
What is told once hidden lines have run is in `grading.bridge.redaction` and `error_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from grading.course.notebooks import SEPARATOR
from grading.course.states import task_of
from grading.course.submission import Form, text_key
from grading.course.text import clean

#: Characters of one message.
MOST_MESSAGE = 1500

_ANSI = re.compile("[\x1b\N{REPLACEMENT CHARACTER}]\\[[0-9;?]*[A-Za-z]")
_PATH = re.compile(
    r"(?:(?<![\w/.])~?(?:/[\w.@+~-]+){2,}/?|(?<!\w)[A-Za-z]:\\[^\s\"'<>|]+)"
)
_FRAME = re.compile(r"^[ \t]*File \"[^\n]*\n?", re.MULTILINE)
_HEADING = re.compile(r"^(#+)\s+(.+?)\s*#*\s*$", re.MULTILINE)


#: What is told of errors that the grader itself raises.
FIXED_WORDS = {
    "StudentLost": "Your code ended Python, or had to be stopped, while this test ran.",
    "TimeoutError": "This test took too long. Look for a loop that doesn't end.",
    "Stuck": (
        "This test was still at work on what your code returned when its time was up. Is the "
        "result far too large?"
    ),
    "NotRun": (
        "This test did not run, because your code for this task had to be stopped before. "
        "Mend that first: look for a loop that doesn't end."
    ),
}
#: What it says of a process that did not answer, and of one that ended in a student's own cell.
LATE = "the submission's code did not answer in time"
STOPPED = (
    "Your code ended Python, or had to be stopped, while this cell ran. Look for a loop "
    "that doesn't end."
)
#: What is told where not all tests could run.
TOO_SLOW = (
    "Your code took too long, so not all tests could run. `python -m grading check` names "
    "the slowest cell: make it shorter, or take it out, and hand in again."
)


def failures(tests: int, failed: int, unrun: int) -> str:
    """Return how many of a task's tests fail and did not run, "" for none."""
    told = [f"{failed} of {tests} tests fail"] if failed else []
    return ", ".join(told + ([f"{unrun} did not run"] if unrun else []))


def printable(text: str, most: int) -> str:
    """Return text without control characters and colours of a terminal, bounded."""
    return clean(_ANSI.sub("", text[: 4 * most]), most)


def without_paths(text: str) -> str:
    """Return text without lines of a traceback, and without absolute paths."""
    head, found, tail = text.partition("Traceback (most recent call last)")
    if found:  # its last line says what went wrong
        text = head + (tail.strip().splitlines() or [""])[-1]
    return _PATH.sub("[path]", _FRAME.sub("", text))


@dataclass(frozen=True)
class Message:
    """What a student reads about a test: `kind` is the error's name, "" for the author's words."""

    text: str
    kind: str = ""


def message(error: str) -> Message:
    """Return an error "Type: text" of a test or of a student's own cell, fit for a page."""
    kind, found, text = error.partition(": ")
    if not re.fullmatch(r"[A-Za-z_][\w.]{0,80}", kind):
        kind, text = "", error
    elif not found:
        text = ""
    text = printable(
        without_paths(printable(text, 2 * MOST_MESSAGE)).strip(), MOST_MESSAGE
    )
    if kind == "AssertionError":
        if text and text != "AssertionError":
            return Message(text)
        return Message("The result is not what the test expects. It gives no reason.")
    if kind in FIXED_WORDS:
        late = kind == "StudentLost" and text.startswith(LATE)
        return Message(FIXED_WORDS["TimeoutError" if late else kind])
    return Message(text, kind)


def has_hidden(form: Form) -> dict[str, bool]:
    """Return for each test whether it has lines that students don't see."""
    return {
        cell.grade_id: text_key(form.released[cell.grade_id]) != text_key(cell.source)
        for cell in form.cells
        if cell.role == "test"
    }


def plain(heading: str) -> str:
    """Return a heading's Markdown as plain text."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"(\*\*|`|(?<!\w)[*_]|[*_](?!\w))", "", heading).strip()


def title(form: Form) -> str:
    """Return an assignment's title: its first heading, or the notebook's name."""
    for cell in form.cells:
        found = _HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            return plain(found.group(2))
    return form.name


def titles(form: Form) -> dict[str, str]:
    """Return each task's title: the last heading above its first cell, or its name."""
    found: dict[str, str] = {}
    last = ""
    for cell in form.cells:
        if cell.cell_type == "markdown" and cell.role == "text":
            headings = _HEADING.findall(cell.source)
            last = plain(headings[0][1]) if headings else last
        if cell.role in ("solution", "test"):
            found.setdefault(task_of(cell.grade_id), last or task_of(cell.grade_id))
    return found


def aspect_of(grade_id: str) -> str:
    """Return what of a task a test looks at, in words."""
    return (grade_id.partition(SEPARATOR)[2] or grade_id).replace("-", " ")


#: What findings mean to a student: what is so, and what to do.
_FINDINGS: dict[str, tuple[str, str]] = {
    "duplicated": (
        "the cell {cell} is there more than once",
        "Only the last one that you changed counts as your answer. Put everything into one "
        "of them and delete the others.",
    ),
    "missing": (
        "the cell {cell} is missing",
        "It counts as it was handed out. If it held your answer, take the cell from a "
        "fresh copy of the notebook and put your answer into it.",
    ),
    "moved": (
        "the cell {cell} is at another place than in the notebook handed out",
        "It is graded at its own place: make sure that it needs nothing that comes later.",
    ),
    "edited": (
        "the locked cell {cell} was changed",
        "The change is ignored: the cell is graded as it was handed out. Keep your own code "
        "in the answer cells.",
    ),
    "outdated": (
        "the test {cell} is from an earlier release of the assignment",
        "There is nothing to do: the tests and points of the present release count.",
    ),
    "untagged": (
        "the cell {cell} has lost its nbgrader metadata",
        "It was recognised all the same. Edit the notebook in JupyterLab, which keeps "
        "the metadata.",
    ),
    "re-tagged": (
        "what the notebook keeps about the cell {cell} was changed (its metadata)",
        "Take the cell from a fresh copy of the notebook. A person looks at a notebook "
        "like this before its points count.",
    ),
    "re-typed": (
        "the cell {cell} has changed its type",
        "Turn it back: a code cell into a code cell, a text cell into Markdown.",
    ),
    "unknown": (
        "there is a graded cell {cell} that this assignment doesn't have",
        "Delete it. A person looks at a notebook like this before its points count.",
    ),
    "inner": (
        "the code at {cell} has a word that few answers need ({detail})",
        "It costs nothing. Your instructor sees it beside your points.",
    ),
    "extra": ("you added or changed cells {cell}", "They run, too: that is fine."),
}


def finding(
    text: str, quote: Callable[[str], str] = lambda cell: f"“{cell}”"
) -> tuple[str, str]:
    """Return a finding "kind: cell: detail" in a student's words: what is so, and what to do.

    Args:
        text: the finding.
        quote: marks a cell's name.

    """
    kind, _, rest = text.partition(": ")
    cell, _, detail = rest.partition(": ")
    if kind not in _FINDINGS:
        return without_paths(printable(text, 300)), ""
    fact, advice = _FINDINGS[kind]
    name = printable(cell if detail else rest, 80)
    detail = printable(detail.rpartition(": ")[2], 120)
    return fact.format(
        cell=name if kind == "extra" else quote(name), detail=detail
    ), advice
