"""The bank of answers: one file a task, `tests/answers/<assignment>/<task>.py`.

Each answer is a cell of the percent format. A wrong one says which pattern the message that the
student reads must match:

    # %% right: loops
    # %% wrong: no_scale | says: scale is missing
    # %% wrong: one_loop, of: loops | says: every query

Comments below this line explain. Then comes the text of the whole solution cell, or what it
changes of the reference: commented lines, with `- ` before each line that goes, `+ ` before each
that comes and two spaces before each that stays, as difflib.ndiff writes them:

    # %% wrong: no_root | says: square root
    # -     scores = scores / math.sqrt(query.shape[-1])
    # +     scores = scores / query.shape[-1]

A blank line or another comment ends a block of such lines. The lines of a block that go or stay
follow each other at exactly one place of the base: the reference solution, or with `of:` the right
answer of this name above. Docstrings, comments and blank lines of the base do not count, nor do
spaces within a line; indentation does.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from tests.harness.assignment import Assignment, BankError

HEAD = re.compile(
    r"# %% (?P<kind>right|wrong): (?P<name>\w+)(, of: (?P<base>\w+))?( \| says: (?P<says>.+))?"
)
HEADS = "`# %% right: <name>` or `# %% wrong: <name> | says: <pattern>`"
CHANGE = re.compile(r"# (?P<sign>[-+ ])( (?P<line>.*))?")
CHANGES = "`# - <line>`, `# + <line>` and, to say where, `#   <line>`"
REFERENCE = "the reference"


@dataclass(frozen=True)
class Answer:
    """One answer of the bank, and the line of the file at which it begins."""

    path: Path
    line: int
    task: str
    name: str
    is_right: bool
    source: str
    message: re.Pattern | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'right' if self.is_right else 'wrong'} {self.name}"


def read_bank(assignment: Assignment, answers: Path) -> tuple[list[Answer], list[str]]:
    """Return the answers to an assignment, and what is wrong with them, one line each."""
    folder = answers / assignment.name
    bank: list[Answer] = []
    problems: list[str] = []
    if not folder.is_dir():
        return bank, [f"{folder}: no answers to {assignment.name}"]
    for path in sorted(folder.glob("[!._]*")):
        task = assignment.tasks.get(path.stem)
        if path.suffix != ".py" or not path.is_file():
            problems.append(f"{path}: the answers to a task are one file, <task>.py")
        elif task is None:
            problems.append(f"{path}: no task of {assignment.name} has this name")
        else:
            for item in parse(
                path, read_text(path), assignment.cells[task.index].source
            ):
                if isinstance(item, Answer):
                    bank.append(item)
                else:
                    problems.append(str(item))
    return bank, problems + duplicates(assignment, bank)


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        BankError: if it is none.

    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BankError(f"{path}: not a text: {error}") from None


def parse(path: Path, text: str, reference: str) -> Iterator[Answer | BankError]:
    """Yield each answer in the text of a file, or what is wrong with it."""
    try:
        bases = {REFERENCE: code_lines(reference)}
    except SyntaxError as error:
        yield BankError(
            f"{path}: the reference solution of this task is no Python: {error}"
        )
        return
    names: dict[str, int] = {}
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if re.match(r"#\s*%", line)]
    if any(map(is_code, lines[: (heads or [None])[0]])):
        yield BankError(
            f"{path}:1: code above the first answer; an answer begins with {HEADS}"
        )
    for start, end in pairwise([*heads, len(lines)]):
        try:
            answer = read_answer(path, start + 1, lines[start:end], bases)
            if answer.name in names:
                raise BankError(
                    f"{answer}: line {names[answer.name]} has an answer of this name"
                )
        except BankError as error:
            yield error
            continue
        names[answer.name] = answer.line
        if answer.is_right:
            bases[answer.name] = code_lines(answer.source)
        yield answer


def read_answer(
    path: Path, number: int, lines: list[str], bases: dict[str, list[str]]
) -> Answer:
    """Return the answer in some lines of a file.

    Args:
        path: the file.
        number: that of the first of the lines.
        lines: the head, and what stands below it.
        bases: the lines of code that it may change, by name.

    Raises:
        BankError: if the head, the changes or the Python cannot be read.

    """
    where = f"{path}:{number}"
    head = HEAD.fullmatch(lines[0].rstrip())
    if head is None or (head["kind"] == "wrong") != bool(head["says"]):
        raise BankError(f"{where}: {lines[0]!r}: an answer begins with {HEADS}")
    if (base := head["base"] or REFERENCE) not in bases:
        raise BankError(f"{where}: no right answer above is called {base}")
    message = pattern(where, head["says"]) if head["says"] else None
    code = next((index for index, line in enumerate(lines) if is_code(line)), None)
    changes = [
        (number + index, match)
        for index, match in enumerate(map(CHANGE.fullmatch, lines))
    ]
    for index, line in enumerate(lines):
        if re.match(r"# [-+]\S", line):
            raise BankError(
                f"{path}:{number + index}: a space follows the sign: {CHANGES}"
            )
    if code is None:
        source = apply(where, changes, base, bases[base])
    else:
        stray = [line for line, match in changes if match and match["sign"] != " "]
        if stray or head["base"]:
            at = f"{path}:{stray[0]}" if stray else where
            raise BankError(
                f"{at}: an answer is either code or changed lines: {CHANGES}"
            )
        source = "\n".join(lines[code:])
    try:
        ast.parse(source)
    except SyntaxError as error:
        at = (
            f"{path}:{number + code + error.lineno - 1}"
            if code and error.lineno
            else where
        )
        raise BankError(
            f"{at}: {head['name']}: broken answer: SyntaxError: {error.msg}: "
            f"{(error.text or '').strip()}"
        ) from None
    is_right = head["kind"] == "right"
    source = source.strip("\n") + "\n"
    return Answer(path, number, path.stem, head["name"], is_right, source, message)


def is_code(line: str) -> bool:
    """Return whether a line is neither blank nor a comment that begins in the first column."""
    return bool(line.strip()) and not line.startswith("#")


def pattern(where: str, text: str) -> re.Pattern:
    """Return the pattern of a wrong answer.

    Raises:
        BankError: if it is no regular expression, or one that says nothing.

    """
    try:
        compiled = re.compile(text, re.IGNORECASE)
    except re.error as error:
        problem = f"{where}: the pattern {text!r} is no regular expression: {error}"
        raise BankError(problem) from None
    if compiled.search(""):
        raise BankError(f"{where}: the pattern {text!r} matches anything")
    return compiled


def apply(
    where: str, changes: list[tuple[int, re.Match | None]], name: str, base: list[str]
) -> str:
    """Return a base after the changes.

    Args:
        where: the file and the line of the answer.
        changes: the number of each line, and its match if it is part of a change.
        name: what the base is called.
        base: its lines of code.

    Raises:
        BankError: if there are no changes, or they do not fit the base.

    """
    path = where.rpartition(":")[0]
    edits: list[tuple[int, int, list[str], int]] = []
    for is_change, group in groupby(changes, lambda change: change[1] is not None):
        if not is_change:
            continue
        block = [
            (number, match["sign"], match["line"] or "") for number, match in group
        ]
        if all(sign == " " for _, sign, _ in block):
            raise BankError(
                f"{path}:{block[0][0]}: these lines say where, but change nothing"
            )
        old = [
            (number, line) for number, sign, line in block if sign != "+" and key(line)
        ]
        start = end = find(path, block[0][0], old, name, base)
        new = []
        for _, sign, line in block:
            if sign == "+":
                new.append(line)
            elif key(line):
                new += base[end : end + 1] if sign == " " else []
                end += 1
        edits.append((start, end, new, block[0][0]))
    if not edits:
        raise BankError(f"{where}: no code, and no changed lines: {CHANGES}")
    edits.sort()
    for (_, end, _, upper), (start, _, _, lower) in pairwise(edits):
        if start < end:
            raise BankError(
                f"{path}:{lower}: changes lines that line {upper} changes: join them"
            )
    lines = list(base)
    for start, end, new, _ in reversed(edits):
        lines[start:end] = new
    return "\n".join(lines)


def find(
    path: str, number: int, old: list[tuple[int, str]], name: str, base: list[str]
) -> int:
    """Return the one place of the base where some lines follow each other.

    Args:
        path: the file.
        number: where its block begins.
        old: the number of each line, and the line.
        name: what the base is called.
        base: its lines of code.

    Raises:
        BankError: if there is none, or more than one.

    """
    more = "add the line above or below, with two spaces: `#   <line>`"
    if not old:
        raise BankError(f"{path}:{number}: does not say where in {name}: {more}")
    keys, wanted = [key(line) for line in base], [key(line) for _, line in old]
    places = [at for at in range(len(keys)) if keys[at : at + len(wanted)] == wanted]
    if len(places) > 1:
        raise BankError(
            f"{path}:{number}: {len(places)} places of {name} read so: {more}"
        )
    if places:
        return places[0]
    for row, line in old:
        if key(line) not in keys:
            nearest = next(iter(difflib.get_close_matches(line, base, 1, 0)), "")
            raise BankError(
                f"{path}:{row}: no line of {name} is {line!r}; the nearest is {nearest!r}: "
                "write it as it stands there, or name another right answer with `of:`"
            )
    raise BankError(
        f"{path}:{number}: {name} has these lines, but not one after the other: "
        "write those between them, too, or leave a blank line"
    )


def key(line: str) -> str:
    """Return what counts of a line: the indentation, and the code without spaces and comment."""
    code = re.sub(r"(^|\s\s)#+ .*", "", line).rstrip()
    return code[: len(code) - len(code.lstrip())] + "".join(code.split())


def code_lines(source: str) -> list[str]:
    """Return the lines of a solution without docstrings, comments and blank lines."""
    tree = ast.parse(source)
    lines = source.split("\n")
    kept = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
        elif token.end[0] > token.start[0]:  # a string
            kept.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and len(node.body) > 1:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                for row in range(first.lineno, first.end_lineno + 1):
                    kept.discard(row)
                    lines[row - 1] = ""
    return [line for row, line in enumerate(lines, 1) if line.strip() or row in kept]


def duplicates(assignment: Assignment, bank: list[Answer]) -> list[str]:
    """Return a line for each answer that is the same code as another to its task."""
    seen: dict[tuple[str, str], object] = {
        (name, tree(assignment.cells[task.index].source)): REFERENCE
        for name, task in assignment.tasks.items()
    }
    problems = []
    for answer in bank:
        first = seen.setdefault((answer.task, tree(answer.source)), answer)
        if first is not answer:
            problems.append(f"{answer}: the same code as {first}")
    return problems


def tree(source: str) -> str:
    """Return what two solutions share if they differ in docstrings and comments only."""
    return ast.dump(ast.parse("\n".join(code_lines(source))))
