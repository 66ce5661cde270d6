"""The form of the bank of answers: what is read, and what is said of a file that cannot be."""

from __future__ import annotations

import ast
import difflib
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.course.notebooks import ROOT
from tests.harness import assignment, bank
from tests.harness.assignment import BankError

FILE = Path("scale.py")
REFERENCE = '''def scale(x, by=2):
    """Return x times `by`."""
    ### BEGIN SOLUTION
    if by < 0:
        raise ValueError("by: expected a number from 0 on")

    total = 0  # a sum
    # once for each
    for _ in range(by):
        total = total + x
    return total
    ### END SOLUTION


def twice(x):
    total = 0
    return total + scale(x)
'''
PRODUCT = "# %% right: product\ndef scale(x, by=2):\n    return x * by\n"


def read(text: str) -> list[bank.Answer | str]:
    """Return the answers in a text, and the messages about those that cannot be read."""
    items = bank.parse(FILE, text, REFERENCE)
    return [str(item) if isinstance(item, BankError) else item for item in items]


def changed(*lines: str, head: str = "# %% wrong: x | says: y") -> str:
    """Return the source of an answer with these lines of changes."""
    (answer,) = read("\n".join([head, *lines]))
    return answer.source


def test_three_lines_make_a_wrong_answer() -> None:
    """The rest is the reference; spaces within a line and its comment do not count."""
    plain = "\n".join(bank.code_lines(REFERENCE)) + "\n"
    wrong = plain.replace("total + x", "x")
    assert wrong != plain
    assert changed("# -         total = total + x", "# +         total = x") == wrong
    assert (
        changed("# -         total=total  +x  # adds", "# +         total = x") == wrong
    )


def test_heads() -> None:
    """Name, kind, pattern with strokes in it, base, explanation, whole text, number of the line."""
    changes = "# Adds.\n# -     return x * by\n# +     return x + by\n"
    right, wrong = read(
        f"{PRODUCT}\n\n# %% wrong: sum, of: product | says: a|b\n{changes}"
    )
    assert (right.name, right.is_right, right.message, right.line) == (
        "product",
        True,
        None,
        1,
    )
    assert (wrong.name, wrong.is_right, wrong.task, wrong.line) == (
        "sum",
        False,
        "scale",
        6,
    )
    assert right.source == "def scale(x, by=2):\n    return x * by\n"
    assert wrong.source == "def scale(x, by=2):\n    return x + by\n"
    assert wrong.message.pattern == "a|b"
    assert wrong.message.search("only B")


def test_several_blocks() -> None:
    """Lines that stay say which; a line goes, one comes, in whatever order."""
    source = changed(
        "# -     return total + scale(x)",
        "# +     return scale(x)",
        "",
        "#   def twice(x):",
        "# -     total = 0",
        "# and, first of all:",
        "# +     # a note",
        "# +     print(x)",
        "#       if by < 0:",
    )
    assert source.startswith(
        "def scale(x, by=2):\n    # a note\n    print(x)\n    if by < 0:\n"
    )
    assert source.endswith("return total\ndef twice(x):\n    return scale(x)\n")


GOES = "# -         total = total + x\n"
MESSAGES = {
    "a line that is not there": (
        "# -         total = total + y\n# +         total = x\n",
        "scale.py:2: no line of the reference is '        total = total + y'; the nearest is "
        "'        total = total + x': write it as it stands there",
    ),
    "another indentation": (
        "# -     total = total + x\n",
        "scale.py:2: no line of the reference is '    total = total",
    ),
    "a second line that is not there": (
        GOES + "# -     return x\n",
        "scale.py:3: no line of",
    ),
    "two places": (
        "# -     total = 0\n",
        "scale.py:2: 2 places of the reference read so: add the",
    ),
    "not together": (
        "# -     if by < 0:\n# -     return total\n",
        "scale.py:2: the reference has these lines, but not one after the other: write those",
    ),
    "no place": (
        "# +     return x\n",
        "scale.py:2: does not say where in the reference: add the",
    ),
    "the same lines twice": (
        f"{GOES}\n{GOES}",
        "scale.py:4: changes lines that line 2 changes: join them",
    ),
    "nothing": (
        "# It is wrong.\n",
        "scale.py:1: no code, and no changed lines: `# - <line>`",
    ),
    "only lines that stay": (
        "#       return total\n",
        "scale.py:2: these lines say where, but",
    ),
    "a sign without a space": (
        f"{GOES}\n# +import math\n",
        "scale.py:4: a space follows the sign",
    ),
    "code and changes": (
        f"{GOES}x = 1\n",
        "scale.py:2: an answer is either code or changed lines",
    ),
    "no Python any more": (
        "# -     for _ in range(by):\n",
        "scale.py:1: x: broken answer: SyntaxError: unexpected",
    ),
    "no Python": (
        "\ndef scale(x)\n    pass\n",
        "scale.py:3: x: broken answer: SyntaxError: exp",
    ),
}
HEADS = {
    "no pattern": (
        "# %% wrong: x",
        "scale.py:1: '# %% wrong: x': an answer begins with",
    ),
    "a pattern too many": (
        "# %% right: x | says: y",
        "scale.py:1: '# %% right: x | says: y': an",
    ),
    "no kind": ("# %% maybe: x", "scale.py:1: '# %% maybe: x': an answer begins with"),
    "no space": ("#%% right: x", "scale.py:1: '#%% right: x': an answer begins with"),
    "one sign": ("# % right: x", "scale.py:1: '# % right: x': an answer begins with"),
    "no name": (
        "# %% right: a b",
        "scale.py:1: '# %% right: a b': an answer begins with",
    ),
    "no base": (
        "# %% right: x, of: y",
        "scale.py:1: no right answer above is called y",
    ),
    "its own base": (
        "# %% right: x, of: x",
        "scale.py:1: no right answer above is called x",
    ),
    "any message": (
        "# %% wrong: x | says: .*",
        "scale.py:1: the pattern '.*' matches anything",
    ),
    "no expression": (
        "# %% wrong: x | says: (",
        "scale.py:1: the pattern '(' is no regular",
    ),
}


@pytest.mark.parametrize(("text", "message"), MESSAGES.values(), ids=MESSAGES)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    """By file and line, with what to do; the next answer is read."""
    (said, right) = read(f"# %% wrong: x | says: y\n{text}{PRODUCT}")
    assert said.startswith(message)
    assert right.name == "product"


@pytest.mark.parametrize(("head", "message"), HEADS.values(), ids=HEADS)
def test_a_bad_head_is_named(head: str, message: str) -> None:
    """By file and line; its text is no part of the answer above it."""
    (said, right) = read(f"{head}\n{GOES}\n{PRODUCT}")
    assert said.startswith(message)
    assert (right.name, right.source.count("\n")) == ("product", 2)


def test_names_are_used_once_and_code_has_a_head() -> None:
    """Also a right and a wrong answer have different names; a base is no wrong answer."""
    twin = "# %% wrong: product | says: y\n" + GOES.replace("-", "+") + GOES
    first, said = read(PRODUCT + twin)
    assert first.name == "product"
    assert said == "scale.py:4: wrong product: line 1 has an answer of this name"
    assert read("x = 1\n" + PRODUCT)[0].startswith(
        "scale.py:1: code above the first answer"
    )
    *_, said = read(twin + "# %% right: y, of: product\n" + GOES)
    assert said == "scale.py:4: no right answer above is called product"


def test_a_base_changed_by_right_answers_in_turn() -> None:
    """`of:` reaches what an answer above has made of the reference."""
    first = "# %% right: a\n# -     return total\n# +     return 1 * total\n"
    *_, last = read(
        first + "# %% wrong: b, of: a | says: y\n# -     return 1 * total\n"
    )
    assert "return total" not in last.source.partition("def twice")[0]


LINE = st.sampled_from(
    ["x = 0", "x = 1", "y = x  # a  b", "print('# no  comment')", "y = (x)"]
)


@settings(deadline=None)
@given(
    st.lists(LINE, min_size=1, max_size=9),
    st.lists(LINE, min_size=1, max_size=9),
    st.randoms(use_true_random=False),
)
def test_changes_give_what_they_were_made_from(
    base: list[str], wanted: list[str], chance: random.Random
) -> None:
    """What difflib.ndiff says of two solutions leads from one to the other.

    Lines that stay may be left out: then the answer is the same, or refused; never another one.
    """
    lines = [f"# {line}" for line in difflib.ndiff(base, wanted) if line[0] != "?"]
    if all(line.startswith("#   ") for line in lines):
        return
    for kept in (1.0, 0.5, 0.0):
        text = [
            line if line[2] != " " or chance.random() <= kept else "" for line in lines
        ]
        text = "\n".join(["# %% right: x", *text])
        (item,) = bank.parse(FILE, text, "\n".join(base))
        if isinstance(item, BankError):
            assert kept < 1
            assert re.search("places of|does not say where|change nothing", str(item))
        else:
            assert bank.code_lines(item.source) == bank.code_lines("\n".join(wanted))


def without_docstrings(source: str) -> str:
    """Return the dumped tree of a source that keeps a docstring only where it stands alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and len(body) > 1
            and ast.get_docstring(node) is not None
        ):
            del body[0]
    return ast.dump(tree)


def solutions() -> list[str]:
    """Return the source of every solution cell of the course, and of some worse ones."""
    loaded = map(assignment.load, assignment.discover(ROOT / "solutions"))
    found = [
        one.cells[task.index].source for one in loaded for task in one.tasks.values()
    ]
    odd = 'def f():\n    """Alone."""\n\n\ntext = """a  # b\n\n    # c\n"""\nx = "# d"  # "e"\n'
    return [
        *found,
        odd,
        f"class A:\n    '''B.\n\n    C.\n    '''\n\n    {odd.splitlines()[-1]}\n",
    ]


def test_lines_of_code_are_the_same_program() -> None:
    """Docstrings, comments and blank lines are gone, except those within a string."""
    assert len(solutions()) > 50
    for source in solutions():
        lines = bank.code_lines(source)
        assert ast.dump(ast.parse("\n".join(lines))) == without_docstrings(source)
        assert not any(line.lstrip().startswith("### ") for line in lines)
        assert all(lines) or "text = " in source, "only a string has lines without code"


def test_the_examples_are_answers() -> None:
    """Those of the page for teachers, and of the module."""
    loaded = assignment.load(ROOT / "solutions" / "02-self-attention")
    reference = loaded.cells[loaded.tasks["masked-attention"].index].source
    page = (ROOT / "book" / "teaching-tests.md").read_text(encoding="utf-8")
    for text in (page, re.sub("(?m)^    ", "", bank.__doc__)):
        example = re.search(r"# %% wrong: \w+ \| says: .*\n# - .*\n# \+ .*\n", text)[0]
        (answer,) = bank.parse(FILE, example, reference)
        assert "scores / query.shape" in answer.source
