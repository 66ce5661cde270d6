"""A student's page about one submission: one HTML file that needs nothing else.

    feedback/<student>/<assignment>/<notebook>.html

Everything on it is text. What a student wrote, printed or raised is escaped by the template; a
page has no script, no link and nothing from elsewhere, and a Content-Security-Policy that allows
its own style sheet and nothing else. Of the tests it holds the messages that `error_text` lets
through, and the points.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import math
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter

from grading.course import files
from grading.course.states import NO_TIME, NOT_RUN, Result, State
from grading.course.submission import Form
from grading.feedback import words
from grading.feedback.error_text import HAPPENED, PRINTED, Rule
from grading.feedback.highlight import coloured_code
from grading.feedback.words import Message
from grading.gradebook.standing import Standing

#: Seconds of CPU time for one page, which takes a tenth of one.
PAGE_SECONDS = 20.0
#: The largest page, in bytes.
MOST_BYTES = 1_000_000
#: Bytes of a page that are kept free for what is not code and output.
FRAME_BYTES = 250_000
#: Characters of one cell's code and of one cell's output, and how many lines are kept of a list.
MOST_CODE, MOST_OUTPUT, MOST_LINES = 40_000, 10_000, 40
#: How many differences of the same kind are told one by one.
MOST_ALIKE = 3
#: Characters of what a person wrote about a task.
MOST_COMMENT = 2_000
#: Longer code is shown in one colour: colours take many times its room.
MOST_COLOURED = 20_000

FOLDER = Path(__file__).parent
STYLES = (("light", "a11y-high-contrast-light"), ("dark", "a11y-high-contrast-dark"))

#: What each state says to the student: a word, and what it means.
STATES = {
    State.GRADED: ("Graded", ""),
    State.SUSPECT: (
        "Waiting for a person",
        "Your submission was graded automatically. Something in the file was not as the grader "
        "expects it, so a person looks at it before the points count. This also happens by "
        "accident, for example when a program rewrites a notebook. You need not do anything: if "
        "there is a question, your instructor will ask you.",
    ),
    State.FAILED: (
        "Not graded yet",
        "The grader could not grade this submission. This is not a zero: there are no points yet. "
        "Your instructor sees it, too.",
    ),
    State.MISSING: (
        "Nothing found",
        "No notebook of this assignment was found under your name.",
    ),
}


@dataclass(frozen=True)
class Test:
    """One test of a task: what it looks at, its points, and what it said."""

    __test__ = False  # pytest: not a class of tests

    aspect: str
    points: str
    most: str
    passed: bool
    message: Message | None = None
    ran: bool = True

    @property
    def mark(self) -> str:
        """How it went, in a word or two."""
        return "Passed" if self.passed else "Failed" if self.ran else "Did not run"


@dataclass(frozen=True)
class Cell:
    """Code that a student wrote, as HTML, and what it printed."""

    code: Markup
    output: str = ""
    error: Message | None = None
    left_out: str = ""


@dataclass
class Task:
    """One task: its points, its tests, and the student's cells."""

    name: str
    title: str
    points: str = ""
    most: str = ""
    answered: bool = True
    full: bool = False
    comment: str = ""
    tests: list[Test] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    @property
    def status(self) -> str:
        """The task's result in a few words."""
        if not self.answered:
            return "not answered"
        if self.full:
            return "all tests pass"
        if told := words.failures(
            len(self.tests),
            sum(test.ran and not test.passed for test in self.tests),
            sum(not test.ran for test in self.tests),
        ):
            return told
        return "points from a person" if self.points != self.most else ""


def write(
    root: Path, standing: Standing, result: Result, form: Form, notebook: str | None
) -> Path:
    """Write a student's page, and return where it is.

    Args:
        root: the course's folder.
        standing: the student's state and points, with what people changed.
        result: what the grader found.
        form: the assignment.
        notebook: the graded notebook as `autograded.notebook` makes it, None if there is none.

    Raises:
        ValueError: if the student or the assignment is no name of a folder.

    """
    for name in (standing.student, standing.assignment):
        if name in ("", ".", "..") or {"/", "\\", "\0"} & set(name):
            raise ValueError(f"standing: expected names of folders, got {name!r}")
    folder = root / "feedback" / standing.student / standing.assignment
    target = folder / f"{Path(form.name).stem}.html"
    text = page(standing, result, form, notebook)
    files.write(target, text.encode("utf-8", "replace"))
    return target


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where this block takes more of the processor's time than this.

    For the main thread, as all that handles signals.
    """

    def stop(*_: object) -> None:
        raise TimeoutError(f"it takes more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def page(standing: Standing, result: Result, form: Form, notebook: str | None) -> str:
    """Return a student's page; the arguments are those of `write`."""
    state, meaning = STATES[standing.state]
    style, policy = style_sheet()
    cells = json.loads(notebook)["cells"] if notebook else []
    rule = Rule(form)
    tasks = _tasks(standing, result, form, rule) if standing.state.has_points else []
    others, left = _code(tasks, result, cells, rule) if tasks else ([], [])
    late = None
    if standing.late_seconds > 0:
        late = {
            "for": duration(standing.late_seconds),
            "penalty": number(standing.late_penalty),
        }
    return _template().render(
        style=Markup(style),
        policy=policy,
        state=state,
        kind=str(standing.state),
        meaning=meaning,
        title=words.printable(words.title(form), 200),
        student=words.printable(standing.student, 130),
        total=number(standing.points),
        raw=number(standing.raw_points),
        most=number(standing.max_points),
        late=late,
        tasks=tasks,
        others=others,
        graded_at=standing.graded_at if tasks else None,
        handed_in_at=standing.submitted_at,
        why=_why(standing, result, form),
        file=_file(result) if tasks else [],
        stopped=_stopped(result),
        left_out=left,
        unsafe=standing.state.has_points and not result.sandboxed,
    )


def _why(standing: Standing, result: Result, form: Form) -> list[str]:
    """Return the reasons that a student can do something about."""
    if standing.state is State.MISSING:
        found = result.reasons
    elif (
        standing.state is State.FAILED
    ):  # what is wrong with the file begins with its name
        found = [reason for reason in result.reasons if reason.startswith(form.name)]
        if any(reason.startswith(NO_TIME) for reason in result.reasons):
            found += [
                words.TOO_SLOW,
                *(f"Your code {line}." for line in _stopped(result)),
            ]
    else:
        return []
    return [
        words.without_paths(words.printable(reason, 300))
        for reason in found[:MOST_LINES]
    ]


def _stopped(result: Result) -> list[str]:
    """Return where the student's process was stopped, and why."""
    stops = result.stops[:MOST_LINES]
    return [words.without_paths(words.printable(reason, 200)) for reason in stops]


def _file(result: Result) -> list[tuple[str, str]]:
    """Return how the file differed from the one handed out, and what to do."""
    found, count = [], Counter()
    for note in result.notes[:MOST_LINES]:
        kind = note.partition(":")[0]
        count[kind] += 1
        if count[kind] <= MOST_ALIKE:
            found.append(words.finding(note))
        elif count[kind] == MOST_ALIKE + 1:
            found.append(("it is the same with other cells", ""))
    return found


def _tasks(standing: Standing, result: Result, form: Form, rule: Rule) -> list[Task]:
    """Return the tasks with their points and tests."""
    titles = words.titles(form)
    tasks: dict[str, Task] = {}
    for cell in form.cells:
        name = words.task_of(cell.grade_id)
        if cell.role == "solution" or cell.is_graded:
            tasks.setdefault(
                name, Task(name, words.printable(titles.get(name, name), 200))
            )
        if cell.role == "solution" and cell.grade_id in result.unchanged:
            tasks[name].answered = False
        if cell.role == "test":
            points = result.points.get(cell.grade_id)
            passed = points is not None and points >= cell.points
            error = result.messages.get(cell.grade_id, "")
            told = None
            if not passed:
                told = (
                    rule.of_test(cell.grade_id, result)
                    if error
                    else Message("Part of this test passes.")
                )
            tasks[name].tests.append(
                Test(
                    words.aspect_of(cell.grade_id),
                    number(points),
                    number(cell.points),
                    passed,
                    told,
                    error != NOT_RUN,
                )
            )
    for name, task in tasks.items():
        points, most = standing.notebook_points.get(name, (None, None))
        task.points, task.most = number(points), number(most)
        task.full = points is not None and most is not None and points >= most
        task.answered = task.answered or bool(points)
        task.comment = words.printable(standing.comments.get(name, ""), MOST_COMMENT)
    return list(tasks.values())


def _code(
    tasks: list[Task], result: Result, cells: list[dict], rule: Rule
) -> tuple[list[Cell], list[str]]:
    """Put the student's cells into the tasks; return the others, and what was left out."""
    by_task = {task.name: task for task in tasks}
    room = MOST_BYTES - FRAME_BYTES
    others: list[Cell] = []
    dropped, after, shown = 0, False, []
    for data in cells:
        if _is_written(data, result):
            shown.append((data, after))
        after = after or _name(data) in rule.hidden
    # Answers come first: cells of one's own must not take their room.
    for data, late in sorted(shown, key=lambda one: _is_own(one[0])):
        name, own = _name(data), data["cell_type"] == "code"
        error = result.messages.get(name, "") if own else ""
        cell, size = _cell(data, error, rule, coloured=own, after=late)
        if size > room:
            dropped += 1
            continue
        room -= size
        task = by_task.get(words.task_of(name))
        (others if task is None else task.cells).append(cell)
    left = (
        [f"{dropped} of your cells: this page would be too large."] if dropped else []
    )
    return others, left


def _name(data: dict) -> str:
    """Return a cell's grade_id, or ""."""
    return (data["metadata"].get("nbgrader") or {}).get("grade_id", "")


def _is_written(data: dict, result: Result) -> bool:
    """Tell whether a student wrote a cell."""
    tags = data["metadata"].get("nbgrader") or {}
    if tags:
        return (
            bool(tags.get("solution")) and tags.get("grade_id") not in result.unchanged
        )
    return _is_own(data)


def _is_own(data: dict) -> bool:
    """Tell whether a cell without a grade_id was added or edited by the student."""
    return data["cell_type"] == "code" and str(data.get("id", "")).startswith("extra-")


def _cell(
    data: dict, error: str, rule: Rule, *, coloured: bool, after: bool
) -> tuple[Cell, int]:
    """Return a cell, and how many bytes it takes; after: of a hidden test."""
    source = "".join(data["source"])
    outputs = [
        part for part in data.get("outputs", []) if part["output_type"] == "stream"
    ]
    errors = [
        part for part in data.get("outputs", []) if part["output_type"] == "error"
    ]
    output = "".join("".join(part["text"]) for part in outputs)
    left = []
    if after and _is_own(
        data
    ):  # their number is the student's choice: each would be a letter
        output, error, errors, left = "", "", [], [HAPPENED]
    elif after and output:
        output, left = "", [PRINTED]
    left += [
        f"the {kind} has {len(text)} characters, {most} are shown"
        for kind, text, most in (
            ("code", source, MOST_CODE),
            ("output", output, MOST_OUTPUT),
        )
        if len(text) > most
    ]
    code = words.printable(source, MOST_CODE)
    html = (
        coloured_code(code) if coloured and len(code) <= MOST_COLOURED else escape(code)
    )
    if not error and errors:
        error = f"{errors[0].get('ename', '')}: {errors[0].get('evalue', '')}"
    told = rule.of_cell(error, source, after=after) if error else None
    output = words.without_paths(words.printable(output, MOST_OUTPUT))
    made = Cell(html, output, told, "; ".join(left))
    texts = (str(html), str(escape(output)), str(escape(told.text if told else "")))
    return made, 1000 + sum(len(text.encode("utf-8", "replace")) for text in texts)


def number(value: float | None) -> str:
    """Return points as text: at most two decimals."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{round(value, 2):g}"


def duration(seconds: float) -> str:
    """Return how long something is, in the two largest units."""
    minutes = math.ceil(seconds / 60)
    units = (
        (minutes // 1440, "day"),
        (minutes // 60 % 24, "hour"),
        (minutes % 60, "minute"),
    )
    parts = [
        f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in units if count
    ]
    return " and ".join(parts[:2])


@functools.cache
def style_sheet() -> tuple[str, str]:
    """Return the style sheet, and the policy that allows it alone, by its hash."""
    sheet = (FOLDER / "page.css").read_text(encoding="utf-8")
    for mode, style in STYLES:
        rules = HtmlFormatter(style=style).get_token_style_defs(".code")
        sheet += (
            f"@media (prefers-color-scheme: {mode}) {{\n" + "\n".join(rules) + "\n}\n"
        )
    return sheet, policy_of(sheet)


def policy_of(sheet: str) -> str:
    """Return the policy of a page that may load nothing, and has this style sheet alone."""
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )


def templates(folder: Path) -> Environment:
    """Return a folder's templates: every value is escaped, an unknown one is an error."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def _template() -> object:
    environment = templates(FOLDER)
    environment.filters["day"] = lambda when: when.strftime(
        "%d %B %Y, %H:%M UTC"
    ).lstrip("0")
    return environment.get_template("page.html.j2")
