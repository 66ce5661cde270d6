"""Which part of an error a student may read: its author's words, no hidden test and no value.

A hidden test calls the student's code, so that code sees the test's inputs. It could raise them as
an error, or print them later. So, once hidden lines have run:

- Of a failed assert the author's words are told, without the values between them
  (`grading.bridge.redaction`).
- Of any other error, of a test or of a student's cell, the kind is told.
- What cells print is not told.
- Of a cell of the student's own nothing is told: there may be hundreds.
"""

from __future__ import annotations

import builtins

from grading.course.bindings import parsed
from grading.course.states import HOLE, STUB, Result
from grading.course.submission import Form
from grading.feedback import words
from grading.feedback.words import Message

#: What a failed assert is called that the test's author did not write: the code tested raised it.
RAISED = "RaisedAssertionError"
UNKNOWN = "The result is not what the test expects."
OTHERS = (
    "The lines of this test that you can see in the notebook may pass: it has others, with "
    "other sizes and edge cases."
)
VALUES = (
    "“…” stands for a value. The values of hidden lines are not shown; run this test in your "
    "notebook to see the others."
)
PRINTED = "what it printed: hidden tests had run by then"
HAPPENED = "what became of this cell of your own: hidden tests had run by then"

#: Errors of what is no Python.
SYNTAX = ("SyntaxError", "IndentationError", "TabError")


class Rule:
    """What may be told about submissions to an assignment.

    Attributes:
        hidden: the tests with hidden lines.

    """

    def __init__(self, form: Form) -> None:
        """Take the assignment."""
        self.hidden = {name for name, has in words.has_hidden(form).items() if has}

    def of_test(self, grade_id: str, result: Result) -> Message:
        """Return what to tell about the error of a test."""
        kind, text = parts(result.told.get(grade_id, "Error: "))
        advice = (
            OTHERS if grade_id in self.hidden else "Run this test in your notebook."
        )
        kind = "AssertionError" if kind == RAISED else kind
        if kind == "AssertionError" and not text:
            return Message(f"{UNKNOWN} {advice}")
        if kind == "AssertionError" or kind in words.FIXED_WORDS:
            told = words.message(f"{kind}: {text}")
            return Message(f"{told.text} {VALUES}") if HOLE in told.text else told
        return _told(kind, text, advice)

    def of_cell(self, error: str, source: str, *, after: bool) -> Message:
        """Return what to tell about the error of a student's cell; after: of a hidden test."""
        kind, text = parts(error)
        if kind == "StudentLost":
            return Message(words.STOPPED)
        if not after:
            return words.message(error)
        if kind in SYNTAX and (problem := syntax_problem(source)):
            return Message(problem, kind)
        text = text if text == STUB else ""
        return _told(kind, text, "Run the notebook from the top to read it.")


def _told(kind: str, text: str, advice: str) -> Message:
    """Return an error by its kind, with its text if there is one that may be told."""
    if kind == "NotImplementedError" and text == STUB:
        return Message("Not answered yet.")
    if text:
        return words.message(f"{kind}: {text}")
    known = getattr(builtins, kind, None)
    if not (isinstance(known, type) and issubclass(known, BaseException)):
        return Message(f"Your code stopped with an error of its own. {advice}")
    return Message(f"Your code stopped with an error: {kind}. {advice}")


def parts(error: str) -> tuple[str, str]:
    """Return the kind and the text of "Type: text"."""
    kind, _, text = error.partition(":")
    return kind.strip(), text.strip()


def syntax_problem(source: str) -> str:
    """Return why a cell is no Python, "" if it is: what depends on nothing but its text."""
    plain = "\n".join(
        "" if line.startswith(("%", "!")) else line for line in source.split("\n")
    )
    try:
        parsed(plain)
    except SyntaxError as error:
        return f"{error.msg}, line {error.lineno} of the cell"
    except (ValueError, RecursionError, MemoryError):
        pass
    return ""
