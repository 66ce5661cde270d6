"""Which errors a student reads: the author's words, and nothing that carries a hidden input out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from grading import autograded, feedback, pipeline, sandboxed, submission
from grading import feedback_words as words
from grading.feedback_errors import OTHERS, RAISED, Rule, fits
from grading.feedback_words import Message, task_of
from grading.lms import gradescope_run
from grading.standing import Standing
from grading.states import State
from grading.submission import Form
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
    "assertion": HEAD + FIRST_THEN + "raise AssertionError(f'double(-1) is -2, got {x}: a sign')",
    "assert": HEAD + FIRST_THEN + "assert False, f'double({x}) is too large'",
    "name": HEAD + FIRST_THEN + "raise NameError(f\"name 'x{abs(x)}' is not defined\")",
    "attribute": HEAD + FIRST_THEN + "return getattr(x, f'a{abs(x)}')",
    "index": HEAD + FIRST_THEN + "raise IndexError(f'index {x} is out of bounds for dimension 0 "
                                 "with size 1')",
    "kind": HEAD + FIRST_THEN + "raise type(f'E{abs(x)}', (Exception,), {})('no')",
    "not implemented": HEAD + FIRST_THEN + "raise NotImplementedError(repr(x))",
    "group": HEAD + FIRST_THEN + "raise ExceptionGroup(repr(x), [ValueError(repr(x))])",
    "exit": HEAD + FIRST_THEN + "raise SystemExit(repr(x))",
    "syntax": HEAD + FIRST_THEN + "compile(f'{x} = 1 +', repr(x), 'exec')",
    "through a message of the author's": HEAD + FIRST_THEN + "raise LookupError(f'{x} is it')",
    "letters in such a message": HEAD + FIRST_THEN + "raise LookupError("
                                 "''.join(chr(97 + int(c)) for c in str(abs(x))))",
    "a name of a class in such a message": HEAD + FIRST_THEN + "raise type(f'E{abs(x)}', "
                                           "(LookupError,), {})('no')",
    "a long line in such a message": HEAD + FIRST_THEN + "raise LookupError(f'{x} ' + 'y' * 4000)",
    "many lines in such a message": HEAD + FIRST_THEN + "raise LookupError('\\n'.join([repr(x)] + ["
                                    "f'nothing but a decoy {i}' for i in range(150)]))",
    "text": HEAD + FIRST_THEN + "class Odd:\n        def __repr__(self): return repr(x)\n"
                                "    return Odd()",
    "late, a test without hidden lines": HEAD + "if x == 0 and KEPT[1:]:\n"
                                         "        raise ValueError(str(KEPT))\n    return 2 * x",
    "late, in the text of a name": HEAD + "if x == 0 and KEPT[1:]:\n"
                                   "        return None[KEPT[-2]]\n    return 2 * x",
    "printed later": HEAD + "return 2 * x",
}
#: A task's answer that comes after hidden tests: it prints and raises what was kept.
LATER = ("print(KEPT)\ndef total(values):\n    raise KeyError(str(KEPT))\n"
         "raise ValueError(str(KEPT))")
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
    source.write_text(text.replace("assert double(-1) == -2", f"{test}assert got == -2 * {INPUT}"),
                      encoding="utf-8")
    return submission.load(root / "exercises" / NOTEBOOK, source)


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[sandboxed.SandboxEngine]:
    """A sandbox for all of them."""
    made = sandboxed.make()
    yield made
    made.close()


def shown(form: Form, engine: sandboxed.SandboxEngine, notebook: dict) -> tuple[str, str, dict]:
    """Return a student's page, what Gradescope shows, and the messages before they are told."""
    rebuilt = form.rebuild(json.dumps(notebook).encode())
    graded = pipeline.grade_one(rebuilt, engine, student="s01")
    result = graded.result
    assert result.state is State.GRADED, result.reasons
    text = autograded.notebook(rebuilt, graded.outcomes, result.points, {})
    tasks = {task_of(name): (0.0, most) for name, most in form.most.items()}
    standing = Standing("s01", sample.NAME, result.state, result.total, 6.0, notebook_points=tasks)
    rule = Rule(form, [cell.source for cell in rebuilt.cells if cell.role in ("solution", "extra")])
    content = gradescope_run.results(form, result, rule, 1.0)
    return feedback.page(standing, result, form, text), json.dumps(content), result.messages


@pytest.mark.parametrize("name", ATTACKS)
def test_hidden_inputs_stay_hidden(form: Form, engine: sandboxed.SandboxEngine, name: str) -> None:
    """Raised, asserted, hidden in a name, kept for later, printed: no page has the input."""
    notebook = helpers.fill({"double": ATTACKS[name], "total": LATER})
    notebook["cells"].append(sample.code(OWN) | {"id": "own"})
    page, gradescope, raw = shown(form, engine, notebook)
    if name not in ("exit", "kind", "text", "printed later"):
        assert INPUT in str(raw) or LETTERS in str(raw), f"the attack never worked: {raw}"
    for secret in (INPUT, LETTERS):
        assert secret not in page
        assert secret not in gradescope


def test_before_hidden_tests_everything_is_told(form: Form, engine: sandboxed.SandboxEngine
                                                ) -> None:
    """A student's own error and output in the first task; the author's words everywhere."""
    answer = "print('so far')\ndef double(x):\n    return x + 2\nraise ValueError('my own', 5)"
    page, gradescope, _ = shown(form, engine, helpers.fill({"double": answer}))
    assert "so far" in page
    assert "my own" in page
    told = "double(3) is 6, got 5: is it x + 2?"
    assert told in page
    assert told in gradescope


SOURCE = '''def double(x):
    if x < 0:
        raise ValueError(f"x: expected at least 0, got {x}!")
    if x > 9:
        raise TypeError("x: the number is too large")
    return table[x]
'''


@pytest.mark.parametrize(("error", "told"), [
    ("AssertionError: double(-1) is -2, got 2: a sign was lost",
     Message("double(-1) is -2, got 2: a sign was lost")),
    ("AssertionError: the token is '" + "x" * 90 + "'",
     Message("the token is '" + "x" * 39 + "…'")),
    (f"{RAISED}: double(-1) is -2, got 2: a sign was lost",
     Message(f"The result is not what the test expects. {OTHERS}")),
    ("NotImplementedError: Replace this line with your code.", Message("Not answered yet.")),
    ("NameError: name 'table' is not defined",
     Message("name 'table' is not defined", "NameError")),
    ("NameError: name 'x17' is not defined",
     Message(f"Your code stopped with an error: NameError. {OTHERS}")),
    ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (15x8 and 16x4)",
     Message("mat1 and mat2 shapes cannot be multiplied (15x8 and 16x4)", "RuntimeError")),
    ("RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
     "dimension 1",
     Message("The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
             "dimension 1", "RuntimeError")),
    ("TypeError: double() missing 1 required positional argument: 'x'",
     Message("double() missing 1 required positional argument: 'x'", "TypeError")),
    ("TypeError: unsupported operand type(s) for +=: 'NoneType' and 'int'",
     Message("unsupported operand type(s) for +=: 'NoneType' and 'int'", "TypeError")),
    ("TypeError: '<' not supported between instances of 'list' and 'int'",
     Message("'<' not supported between instances of 'list' and 'int'", "TypeError")),
    ("IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)",
     Message("Dimension out of range (expected to be in range of [-2, 1], but got 2)",
             "IndexError")),
    ("ValueError: x: expected at least 0, got -1!",
     Message("x: expected at least 0, got …!", "ValueError")),
    ("TypeError: x: the number is too large", Message("x: the number is too large", "TypeError")),
    ("KeyError: 17", Message(f"Your code stopped with an error: KeyError. {OTHERS}")),
    ("E17: no", Message(f"Your code stopped with an error of its own. {OTHERS}")),
    ("TimeoutError: the test did not end",
     Message("This test took too long. Look for a loop that doesn't end.")),
])
def test_what_is_told_of_a_hidden_test(form: Form, error: str, told: Message) -> None:
    """The author's words; errors of Python and PyTorch; the student's own texts without values."""
    assert Rule(form, [SOURCE]).of_test("double--small", error) == told


def test_only_names_of_the_code_are_told(form: Form) -> None:
    """A text could hold every name that an input may be."""
    rule = Rule(form, ["TEXT = 'one two three'\ndef four(five, *, six=1):\n    return five.seven"])
    [test, *_] = sorted(rule.hidden)
    for name in ("TEXT", "four", "five", "six", "seven", "one", "two"):
        told = rule.of_test(test, f"NameError: name '{name}' is not defined").text
        assert (name in told) == (name not in ("one", "two")), told


def test_which_tests_are_told_in_full(form: Form) -> None:
    """Those before the first with hidden lines; here there is none."""
    rule = Rule(form, [])
    assert rule.hidden == {"double--small", "total--plain"}
    assert rule.secret == {"double--small", "double--zero", "total--plain"}
    told = rule.of_test("double--zero", "KeyError: 17")
    assert told == Message("Your code stopped with an error: KeyError. Run this test in your "
                           "notebook.")


@pytest.mark.parametrize(("pieces", "text", "fit"), [
    (("all",), "all", True), (("all",), "all of it", False), (("a", "b"), "a and b", True),
    (("a", "a"), "a", False), (("", "b", ""), "abc", True), (("a", "b", "c"), "axbyc", True),
    (("a", "bc", "c"), "abc", False),
])
def test_texts_with_values_fit(pieces: tuple[str, ...], text: str, fit: bool) -> None:
    """The pieces stand in this order, without overlap."""
    assert fits(pieces, text) is fit


@pytest.mark.parametrize(("error", "source", "told"), [
    ("SyntaxError: 'f(7654321' was never closed", "%time 1\nx = 1\ny = f(x\n",
     Message("'(' was never closed, line 3 of the cell", "SyntaxError")),
    ("IndentationError: unexpected indent", "x = 1\n  y = 2",
     Message("unexpected indent, line 2 of the cell", "IndentationError")),
    ("SyntaxError: 7654321", "x = 1",
     Message("Your code stopped with an error: SyntaxError. Run the notebook from the top to read "
             "it.")),
    ("EOFError: EOF when reading a line", "input()",
     Message("EOF when reading a line", "EOFError")),
    ("StudentLost: the submission's process ended", "exit()", Message(words.STOPPED)),
])
def test_what_is_told_of_a_cell_after_hidden_tests(
    form: Form, error: str, source: str, told: Message
) -> None:
    """What is wrong with its text, whatever the code said about it; and that it was stopped."""
    assert Rule(form, [source]).of_cell(error, source, after=True) == told


def test_a_loop_is_called_a_loop(form: Form) -> None:
    """A process that did not answer, and one that ended."""
    rule = Rule(form, [])
    late = rule.of_test("double--small", f"StudentLost: {words.LATE}")
    assert "Look for a loop" in late.text
    assert "ended Python" in rule.of_test("double--small", "StudentLost: it ended").text
    assert "while this cell ran" in rule.of_cell("StudentLost: it ended", "", after=False).text
