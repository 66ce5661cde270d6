"""Which errors a student reads: the author's words, and nothing that carries a hidden input out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from grading.course import submission
from grading.course.states import HOLE, STUB, Result, State
from grading.course.submission import Form
from grading.feedback import page as feedback_page
from grading.feedback import words
from grading.feedback.error_text import HAPPENED, OTHERS, RAISED, UNKNOWN, VALUES, Rule
from grading.feedback.words import Message, task_of
from grading.gradebook.standing import Standing
from grading.lms.gradescope import grade
from grading.run import autograded, pipeline, sandbox_runner
from grading.verdict.errors import UNUSABLE
from tests.grading import helpers
from tests.harness import sample

#: The input of a hidden test, which no page may show.
INPUT = "7654321"
#: The input in letters.
LETTERS = "".join(chr(ord("a") + int(digit)) for digit in INPUT)
#: How the test calls the answer: a message of the author's quotes some errors.
QUOTING = """try:
    got = double(-{})
except LookupError as error:
    kind = type(error).__name__
    raise AssertionError(f"double fails with {{kind}}: {{error}}. Is it a dict?") from None
"""
NOTEBOOK = f"{sample.NAME}/sample.ipynb"

HEAD = "KEPT = []\ndef double(x):\n    KEPT.append(repr(x))\n    "
FIRST_THEN = "if abs(x) < 1000:\n        return 2 * x\n    "
#: Answers that try to tell their inputs, and what else they have.
ATTACKS = {
    "value error": HEAD + FIRST_THEN + "raise ValueError(repr(x))",
    "assertion": HEAD
    + FIRST_THEN
    + "raise AssertionError(f'double(-1) is -2, got {x}: a sign')",
    "assert": HEAD + FIRST_THEN + "assert False, f'double({x}) is too large'",
    "name": HEAD + FIRST_THEN + "raise NameError(f\"name 'x{abs(x)}' is not defined\")",
    "attribute": HEAD + FIRST_THEN + "return getattr(x, f'a{abs(x)}')",
    "index": HEAD
    + FIRST_THEN
    + "raise IndexError(f'index {x} is out of bounds for dimension 0 "
    "with size 1')",
    "kind": HEAD + FIRST_THEN + "raise type(f'E{abs(x)}', (Exception,), {})('no')",
    "not implemented": HEAD + FIRST_THEN + "raise NotImplementedError(repr(x))",
    "group": HEAD + FIRST_THEN + "raise ExceptionGroup(repr(x), [ValueError(repr(x))])",
    "exit": HEAD + FIRST_THEN + "raise SystemExit(repr(x))",
    "syntax": HEAD + FIRST_THEN + "compile(f'{x} = 1 +', repr(x), 'exec')",
    "through a message of the author's": HEAD
    + FIRST_THEN
    + "raise LookupError(f'{x} is it')",
    "letters in such a message": HEAD + FIRST_THEN + "raise LookupError("
    "''.join(chr(97 + int(c)) for c in str(abs(x))))",
    "a name of a class in such a message": HEAD
    + FIRST_THEN
    + "raise type(f'E{abs(x)}', "
    "(LookupError,), {})('no')",
    "a long line in such a message": HEAD
    + FIRST_THEN
    + "raise LookupError(f'{x} ' + 'y' * 4000)",
    "many lines in such a message": HEAD
    + FIRST_THEN
    + "raise LookupError('\\n'.join([repr(x)] + ["
    "f'nothing but a decoy {i}' for i in range(150)]))",
    "text": HEAD
    + FIRST_THEN
    + "class Odd:\n        def __repr__(self): return repr(x)\n"
    "    return Odd()",
    "late, a test without hidden lines": HEAD + "if x == 0 and KEPT[1:]:\n"
    "        raise ValueError(str(KEPT))\n    return 2 * x",
    "late, in the text of a name": HEAD + "if x == 0 and KEPT[1:]:\n"
    "        return None[KEPT[-2]]\n    return 2 * x",
    "printed later": HEAD + "return 2 * x",
}
#: A task's answer that comes after hidden tests: it prints and raises what was kept.
LATER = (
    "print(KEPT)\ndef total(values):\n    raise KeyError(str(KEPT))\n"
    "raise ValueError(str(KEPT))"
)
#: A cell of one's own at the end of the notebook.
OWN = "print('the inputs', KEPT)\nraise ValueError(str(KEPT))"


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Form:
    """The sample, with another input in its first hidden test."""
    root = helpers.make_course(tmp_path_factory.mktemp("errors") / "course")
    source = root / "solutions" / NOTEBOOK
    text = source.read_text(encoding="utf-8")
    assert "double(-1) == -2" in text
    test = json.dumps(QUOTING.format(INPUT))[1:-1]
    source.write_text(
        text.replace("assert double(-1) == -2", f"{test}assert got == -2 * {INPUT}"),
        encoding="utf-8",
    )
    return submission.load(root / "exercises" / NOTEBOOK, source)


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[sandbox_runner.SandboxEngine]:
    """A sandbox for all of them."""
    made = sandbox_runner.make()
    yield made
    made.close()


def shown(
    form: Form, engine: sandbox_runner.SandboxEngine, notebook: dict
) -> tuple[str, str, dict]:
    """Return a student's page, what Gradescope shows, and the messages before they are told."""
    rebuilt = form.rebuild(json.dumps(notebook).encode())
    graded = pipeline.grade_one(rebuilt, engine, student="s01")
    result = graded.result
    assert result.state is State.GRADED, result.reasons
    text = autograded.notebook(rebuilt, graded.outcomes, result.points, {})
    tasks = {task_of(name): (0.0, most) for name, most in form.most.items()}
    standing = Standing(
        "s01", sample.NAME, result.state, result.total, 6.0, notebook_points=tasks
    )
    content = grade.results(form, result, Rule(form), 1.0)
    return (
        feedback_page.page(standing, result, form, text),
        json.dumps(content),
        result.messages,
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_hidden_inputs_stay_hidden(
    form: Form, engine: sandbox_runner.SandboxEngine, name: str
) -> None:
    """Raised, asserted, hidden in a name, kept for later, printed: no page has the input."""
    notebook = helpers.fill({"double": ATTACKS[name], "total": LATER})
    notebook["cells"].append(sample.code(OWN) | {"id": "own"})
    page, gradescope, raw = shown(form, engine, notebook)
    if name not in ("exit", "kind", "text", "printed later"):
        assert INPUT in str(raw) or LETTERS in str(raw), (
            f"the attack never worked: {raw}"
        )
    for secret in (INPUT, LETTERS):
        assert secret not in page
        assert secret not in gradescope


def test_late_cells_of_ones_own_tell_nothing(
    form: Form, engine: sandbox_runner.SandboxEngine
) -> None:
    """Whether one of hundreds prints, fails or ends well would be a letter of a hidden input."""
    act = "\ndef act(number):\n    if number == 1:\n        print(KEPT)\n    return {3: 1}[number]"
    notebook = helpers.fill({"double": HEAD + "return 2 * x" + act})
    notebook["cells"] += [
        sample.code(f"act({number})") | {"id": f"own-{number}"} for number in (1, 2, 3)
    ]
    page = shown(form, engine, notebook)[0]
    cells = [
        part for part in re.split(r'(?=<pre class="code")', page) if "act" in part
    ][-3:]
    told = {
        re.sub(r"\d+", "0", part.partition("</main>")[0]).rstrip() for part in cells[:2]
    }
    assert len(cells) == 3
    assert len(told) == 1
    for part in cells:
        assert HAPPENED in part
        assert "When this cell ran" not in part


def test_before_hidden_tests_everything_is_told(
    form: Form, engine: sandbox_runner.SandboxEngine
) -> None:
    """A student's own error and output in the first task; the author's words everywhere."""
    answer = "print('so far')\ndef double(x):\n    return x + 2\nraise ValueError('my own', 5)"
    page, gradescope, _ = shown(form, engine, helpers.fill({"double": answer}))
    assert "so far" in page
    assert "my own" in page
    told = "double(3) is 6, got 5: is it x + 2?"
    assert told in page
    assert told in gradescope


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("AssertionError: a sign was lost", Message("a sign was lost")),
        (
            f"AssertionError: double is -2, got {HOLE}",
            Message(f"double is -2, got {HOLE} {VALUES}"),
        ),
        ("AssertionError: ", Message(f"{UNKNOWN} {OTHERS}")),
        (f"{RAISED}: ", Message(f"{UNKNOWN} {OTHERS}")),
        (f"NotImplementedError: {STUB}", Message("Not answered yet.")),
        ("KeyError: ", Message(f"Your code stopped with an error: KeyError. {OTHERS}")),
        ("KeyError: 'my own key'", Message("'my own key'", "KeyError")),
        (f"KeyError: {UNUSABLE}", Message(UNUSABLE, "KeyError")),
        ("E17: ", Message(f"Your code stopped with an error of its own. {OTHERS}")),
        (
            "TimeoutError: the test did not end",
            Message("This test took too long. Look for a loop that doesn't end."),
        ),
    ],
)
def test_what_is_told_of_a_test(form: Form, error: str, told: Message) -> None:
    """What the trusted side let through, in a student's words."""
    assert of_test(form, error) == told


def of_test(form: Form, error: str, grade_id: str = "double--small") -> Message:
    """Return what is told of an error of a test."""
    result = Result(
        "s01", State.GRADED, messages={grade_id: "A: secret"}, told={grade_id: error}
    )
    return Rule(form).of_test(grade_id, result)


def test_what_nobody_allowed_is_not_told(form: Form) -> None:
    """A result of a grader that did not note what may be told."""
    assert Rule(form).hidden == {"double--small", "total--plain"}
    old = Result("s01", State.GRADED, messages={"double--zero": "KeyError: 17"})
    assert Rule(form).of_test("double--zero", old) == Message(
        "Your code stopped with an error of its own. Run this test in your notebook."
    )


@pytest.mark.parametrize(
    ("error", "source", "told"),
    [
        (
            "SyntaxError: 'f(7654321' was never closed",
            "%time 1\nx = 1\ny = f(x\n",
            Message("'(' was never closed, line 3 of the cell", "SyntaxError"),
        ),
        (
            "IndentationError: unexpected indent",
            "x = 1\n  y = 2",
            Message("unexpected indent, line 2 of the cell", "IndentationError"),
        ),
        (
            "SyntaxError: 7654321",
            "x = 1",
            Message(
                "Your code stopped with an error: SyntaxError. Run the notebook "
                "from the top to read "
                "it."
            ),
        ),
        (f"NotImplementedError: {STUB}", "", Message("Not answered yet.")),
        (
            "StudentLost: the submission's process ended",
            "exit()",
            Message(words.STOPPED),
        ),
    ],
)
def test_what_is_told_of_a_cell_after_hidden_tests(
    form: Form, error: str, source: str, told: Message
) -> None:
    """What is wrong with its text, whatever the code said about it; and that it was stopped."""
    assert Rule(form).of_cell(error, source, after=True) == told


def test_a_loop_is_called_a_loop(form: Form) -> None:
    """A process that did not answer, and one that ended."""
    assert "Look for a loop" in of_test(form, f"StudentLost: {words.LATE}").text
    assert "ended Python" in of_test(form, "StudentLost: it ended").text
    stopped = Rule(form).of_cell("StudentLost: it ended", "", after=False)
    assert "while this cell ran" in stopped.text
